//! The constants of deck.h. tests/abi compares both.

#![allow(missing_docs)] // each is the constant of the same name in deck.h, where it is explained

use std::ffi::c_int;

pub const DECK_VERSION_MAJOR: u32 = 1;
pub const DECK_VERSION_MINOR: u32 = 0;

pub const DECK_FOREVER: i64 = -1;

pub const DECK_EAGAIN: c_int = -1;
pub const DECK_ETIMEDOUT: c_int = -2;
pub const DECK_EEXIST: c_int = -3;
pub const DECK_EGONE: c_int = -4;
pub const DECK_EPEER: c_int = -5;
pub const DECK_EPLACE: c_int = -6;
pub const DECK_ETRUNC: c_int = -7;
pub const DECK_ETYPE: c_int = -8;
pub const DECK_ENOMEM: c_int = -9;
pub const DECK_EMODE: c_int = -10;
pub const DECK_EINIT: c_int = -11;
pub const DECK_EARG: c_int = -12;
pub const DECK_ETWICE: c_int = -13;

pub const DECK_AUTO: c_int = 0;
pub const DECK_LOCAL: c_int = 1;
pub const DECK_SHARED: c_int = 2;
pub const DECK_FIXED: c_int = 16;

pub const DECK_NEXT: c_int = -1;
pub const DECK_LEAST: c_int = -2;

pub const DECK_BYTE: c_int = 1;
pub const DECK_INT8: c_int = 2;
pub const DECK_UINT8: c_int = 3;
pub const DECK_INT16: c_int = 4;
pub const DECK_UINT16: c_int = 5;
pub const DECK_INT32: c_int = 6;
pub const DECK_UINT32: c_int = 7;
pub const DECK_INT64: c_int = 8;
pub const DECK_UINT64: c_int = 9;
pub const DECK_FLOAT: c_int = 10;
pub const DECK_DOUBLE: c_int = 11;

pub const DECK_SUM: c_int = 1;
pub const DECK_PROD: c_int = 2;
pub const DECK_MIN: c_int = 3;
pub const DECK_MAX: c_int = 4;
pub const DECK_AND: c_int = 5;
pub const DECK_OR: c_int = 6;
pub const DECK_XOR: c_int = 7;
