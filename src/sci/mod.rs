//! The software SCI layer: segments that are created, made available, connected, mapped and written remotely, as
//! Dolphin's SISCI API has it in hardware. Engines are generic over [`Adapter`] (`adapter`); the library uses [`Host`].
//!
//! Invariants: a remote segment mapped for commands exposes stores only ([`RemoteMap`] has no load); every failure is a
//! [`SciError`], never a panic, but for word stores outside a map, which are bugs of the engine and assert.
//! Must not know: messages, slots, handlers, GASNet.

pub mod adapter;
pub mod address;
mod berth;
mod call;
pub mod cma;
#[cfg(all(test, not(loom)))]
mod conformance;
pub mod copier;
pub mod copy;
#[cfg(all(any(test, feature = "timed"), not(loom)))]
pub(crate) mod delayed;
pub mod dma;
mod error;
#[cfg(not(loom))]
mod fabric;
#[cfg(not(loom))]
pub mod far;
#[cfg(all(any(test, fuzzing), not(loom)))]
pub(crate) mod fickle;
pub mod heap;
pub(crate) mod hint;
#[cfg(not(loom))]
pub mod hosts;
pub mod interrupt;
#[cfg(not(loom))]
pub mod job;
mod kept;
#[cfg(not(loom))]
mod mapping;
pub mod model;
mod pio;
pub mod process;
#[cfg(all(test, not(loom)))]
pub(crate) mod random;
#[cfg(all(test, not(loom)))]
pub(crate) mod reorder;
#[cfg(not(loom))]
pub(crate) mod room;
pub mod segment;
#[cfg(not(loom))]
pub mod shm;
mod storage;
#[cfg(all(feature = "timed", not(loom)))]
pub mod timed;
pub mod window;

pub use adapter::{
    Adapter, DmaQueue, DmaState, DmaTicket, Effort, Interrupt, LocalMap, LocalSegment, Mapped, Placement, Properties,
    RemoteInterrupt, RemoteMap, RemoteRead, RemoteSegment, Words,
};
pub use address::{NodeId, SciAddr, SegmentId};
pub use berth::Berth;
pub use error::SciError;
#[cfg(not(loom))]
pub use job::JobAdapter;

/// The adapter that the library is built with. Loom cannot see into mapped memory, so it gets the heap.
#[cfg(loom)]
pub type Host = heap::Heap;
/// The adapter that the library is built with.
#[cfg(not(any(loom, feature = "timed")))]
pub type Host = hosts::Hosts;
/// The adapter of the library for timing mode.
#[cfg(all(feature = "timed", not(loom)))]
pub type Host = timed::Timed<hosts::Hosts>;

/// True in the library for timing mode: nothing may go round the adapter, so each node is a supernode of its own.
pub const IS_TIMED: bool = cfg!(feature = "timed");
