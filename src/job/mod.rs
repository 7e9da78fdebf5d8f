//! The job in a node: the wiring of the layers ([`state`]), what this host allows, and the job's environment.
//!
//! Each host of a job has one memfd, which its nodes inherit, or under PMIx open. It never is a file with a name. Its head is the [`JobHeader`]; what
//! follows at [`crate::boot::JobMemory::fabric_offset`] belongs to the SCI fabric.

pub mod crowd;
pub mod environment;
pub mod killed;
pub mod limits;
pub mod rooms;
pub mod state;

pub use crate::supervise::{JobHeader, Phase, debug, exit, fatal, signals};
pub use state::Job;
