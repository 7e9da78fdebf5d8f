//! Tests of the engine with several nodes in one process, each on a thread of its own, over the heap adapter and over
//! the one that delays and reorders stores. Names of tests are rules of slot.rs, of the module heads, or of the contract.

mod barrier;
mod double;
mod groups;
mod handlers;
mod plan;
mod steps;
mod stream;
mod threads;
mod traffic;
mod world;
mod wrap;
