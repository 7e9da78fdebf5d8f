//! The job: who am I, how many are we, exchange at start-up, exit, death of a peer.
//!
//! One job is one memfd, inherited by every node and never a file with a name. Its head is the [`JobHeader`]; what
//! follows at [`Boot::fabric_offset`] belongs to the SCI fabric. Every node has a supervisor above it, the launcher or
//! the process that forked at init, except in a job of one without launcher. Must not know: messages, segments, GASNet
//! calls.

pub mod boot;
pub mod debug;
pub mod ending;
pub mod environment;
pub mod exit;
pub mod header;
pub mod limits;
pub mod node;
pub mod output;
pub mod signals;
pub mod spawn;
pub mod state;
pub mod supervise;

pub use boot::{Boot, JobError, join};
pub use exit::{exit, fatal};
pub use header::{JobHeader, Phase};
pub use state::Job;
