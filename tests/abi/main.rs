//! The binary interface, as clang reads the headers: `layout` compares it with what the library was compiled with, `dump` with
//! what is written down in ci/abi.txt.

mod clang;
mod deck;
mod dump;
mod layout;
