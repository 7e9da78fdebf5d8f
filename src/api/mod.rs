//! The C ABI: the functions that `include/gasnet.h` calls. Each function checks its arguments, converts them, and calls
//! one verb of an engine.
//!
//! All exported functions are in this module, except the assembler copy in `sci::copy`. Only this module sees clients'
//! pointers before they are checked, and only this module knows the `GASNET_*` codes. cbindgen generates
//! `include/gasnet_sci_abi.h` from it, which is checked in and never edited. The header takes only the first line of
//! each doc comment, so that line must be a whole sentence.
//!
//! `g1`, `ex` and `deck` are faces: none of them names another. What GASNet-1 and GASNet-EX have in common is in `shared`.

pub mod deck;
pub mod ex;
pub mod g1;
pub mod shared;
pub mod tools;

pub(in crate::api) use shared::outcome::{die, failed, must, status};
