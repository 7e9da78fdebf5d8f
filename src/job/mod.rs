//! The job: its nodes' processes and their end, and the wiring of the layers in a node ([`state`]).
//!
//! One job is one memfd, inherited by every node and never a file with a name. Its head is the [`JobHeader`]; what
//! follows at [`crate::boot::JobMemory::fabric_offset`] belongs to the SCI fabric. Every node has a supervisor above it, the launcher or
//! the process that forked at init, except in a job of one without launcher. Must not know: messages, segments, GASNet
//! calls.

pub mod debug;
pub mod ending;
pub mod environment;
pub mod exit;
pub mod family;
pub mod guard;
pub mod header;
pub mod layout;
pub mod limits;
pub mod node;
pub mod output;
pub mod signals;
pub mod spawn;
pub mod state;
pub mod supervise;

pub use exit::{exit, fatal};
pub use header::{JobHeader, Phase};
pub use state::Job;
