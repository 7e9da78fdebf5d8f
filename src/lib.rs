//! gasnet-sci: a GASNet-1 conduit over a software SCI layer. `ARCHITECTURE.md` has the map and the invariants.

// Client pointers come through the C ABI as the C names of their types.
#![allow(non_camel_case_types, non_upper_case_globals)]

#[cfg(not(loom))]
pub mod abi;
pub mod am;
pub mod barrier;
pub mod coll;
pub mod config;
pub mod error;
#[cfg(all(test, loom))]
mod explore;
#[cfg(all(any(test, fuzzing), not(loom)))]
pub mod fuzzing;
#[cfg_attr(loom, path = "job/model.rs")]
pub mod job;
pub mod log;
pub mod region;
pub mod rma;
pub mod sci;
pub mod sync;
#[cfg(not(loom))]
pub mod tools;
#[cfg(not(loom))]
pub mod trace;
pub mod verbs;
#[cfg(not(loom))]
pub mod vis;
pub mod wait;
