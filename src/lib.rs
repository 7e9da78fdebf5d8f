//! gasnet-sci: a conduit for GASNet-1 and GASNet-EX over a software SCI layer. `ARCHITECTURE.md` has the map and the invariants.
//!
//! Folders from the lowest to the highest; `tests/layers.rs` fails when one uses a higher one, `tests/circles.rs` when many
//! files need each other.

// Client pointers come through the C ABI as the C names of their types.
#![allow(non_camel_case_types, non_upper_case_globals)]

pub mod am;
#[cfg(not(loom))]
pub mod api;
#[cfg(not(loom))]
pub mod atomic;
pub mod barrier;
pub mod base;
#[cfg(not(loom))]
pub mod boot;
pub mod coll;
pub mod deck;
#[cfg(all(test, loom))]
mod explore;
#[cfg(not(loom))]
pub mod job;
pub mod os;
pub mod peers;
pub mod sci;
#[cfg(not(loom))]
pub mod supervise;
pub mod sync;
#[cfg(not(loom))]
pub mod tools;
pub mod trace;
pub mod verbs;
#[cfg(not(loom))]
pub mod vis;
pub mod xfer;

#[cfg(any(test, fuzzing))]
#[path = "../testkit/mod.rs"]
pub mod testkit;
