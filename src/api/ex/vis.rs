//! Vector, indexed and strided transfers of GASNet-EX.

#![allow(unsafe_code)] // clients' pointers; exported names
