//! Tests of the engine with several nodes in one process, each on a thread of its own, over the heap adapter and over
//! the one that delays and reorders stores; and models of its protocols for loom (`ci/loom`). Names of tests are rules
//! of slot.rs, of the module heads, or of the contract.

#[cfg(not(loom))]
mod barrier;
#[cfg(loom)]
mod cells;
#[cfg(not(loom))]
mod double;
#[cfg(not(loom))]
mod groups;
#[cfg(not(loom))]
mod handlers;
#[cfg(not(loom))]
mod hostile;
#[cfg(loom)]
mod models;
#[cfg(loom)]
mod news;
#[cfg(not(loom))]
mod plan;
#[cfg(not(loom))]
mod served;
#[cfg(not(loom))]
mod steps;
#[cfg(not(loom))]
mod stream;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
mod traffic;
use super::world;
#[cfg(not(loom))]
mod wrap;
