//! Tests of the engine with several nodes in one process, each on a thread of its own or all on one. They run over the heap adapter, over
//! the adapter that delays and reorders stores, and over the one that ships (`testkit/shipping.rs`). A file that is tied to one of them says
//! why at its head. The models of the engine's protocols for loom
//! (`ci/loom`) are here too. Tests are named after rules of slot.rs, of the module heads, or of the contract.

#[cfg(not(loom))]
mod barrier;
#[cfg(not(loom))]
mod boxes;
#[cfg(loom)]
mod cells;
#[cfg(not(loom))]
mod double;
#[cfg(loom)]
mod events;
#[cfg(not(loom))]
mod floods;
#[cfg(not(loom))]
mod forged;
#[cfg(not(loom))]
mod gifts;
#[cfg(not(loom))]
mod groups;
#[cfg(not(loom))]
mod handlers;
#[cfg(not(loom))]
mod hostile;
#[cfg(loom)]
mod lent;
#[cfg(not(loom))]
mod levels;
#[cfg(loom)]
mod mail;
#[cfg(loom)]
mod models;
#[cfg(loom)]
mod negotiated;
#[cfg(loom)]
mod news;
#[cfg(not(loom))]
mod plan;
#[cfg(not(loom))]
mod served;
#[cfg(not(loom))]
mod sleepers;
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
