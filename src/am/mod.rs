//! Active Messages: the engine's verbs — request, reply, poll (contract: core.md §9, §10).
//!
//! Budget of the hot path, from a Short request to the first instruction of its handler:
//! - no allocation, no system call, no lock in SEQ and PARSYNC, no atomic read-modify-write, no remote read;
//! - one packet and one ready count stored;
//! - one look at the peer's sleep word, which stays in our cache.
//!
//! The slow cases are `#[cold]` functions next to their callers.
//!
//! Locks: the client thread that sends to a peer holds that peer's `outbox`. The thread that polls holds the `inbox` for as
//! long as handlers run. A thread that finds the inbox taken returns at once, because another thread is already polling.
//!
//! No deadlock: handlers reply while their thread holds the inbox. A reply waits for reply-ring space only, and meanwhile polls
//! replies only. Reply handlers wait for nothing, so replies drain whatever the flood.
//!
//! Files are of two kinds. Behaviour names data: `request`, `reply`, `receive`, `run`, `progress` and others work on `engine`,
//! `inbox`, `outbox`. Data never names behaviour.
//!
//! Must not know: `gasnet_*` names, error codes, processes.

pub mod announced;
pub mod bulk;
pub mod corrupt;
pub mod direct;
pub mod dispatch;
pub mod endpoint;
pub mod engine;
pub mod flood;
pub mod handlers;
pub mod inbox;
pub mod lend;
pub mod library;
pub mod lookout;
pub mod loopback;
pub mod lost;
pub mod outbox;
pub mod peers;
pub mod poll;
pub mod pool;
pub mod progress;
pub mod receive;
pub mod region;
pub mod reply;
pub mod request;
pub mod run;
mod running;
pub mod shorts;
pub mod slot;
pub mod source;
pub mod stats;
pub mod stream;
pub mod token;
pub mod transfer;
pub mod wait;
pub mod watched;

pub use engine::{Am, Wiring};
