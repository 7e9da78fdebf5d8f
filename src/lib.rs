//! gasnet-sci: a GASNet-1 conduit over a software SCI layer. `ARCHITECTURE.md` has the map and the invariants.

pub mod config;
pub mod error;
pub mod job;
pub mod log;
pub mod sci;
pub mod sync;
