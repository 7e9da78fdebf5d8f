//! Transfers and events of GASNet-EX.

#![allow(unsafe_code)] // clients' pointers; exported names
