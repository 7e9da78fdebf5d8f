//! The library's side of tests and fuzzers: nodes in one process, and the fuzz targets.
//!
//! It is compiled into the library for `cargo test` and for fuzzers only; `src/lib.rs` names its place.

#[cfg(test)]
mod engine;
#[cfg(not(loom))]
pub mod fuzzing;
pub(crate) mod party;
pub(crate) mod payload;
#[cfg(test)]
pub(crate) mod scratch;
#[cfg(all(test, not(loom)))]
pub(crate) mod shipping;
pub(crate) mod world;
