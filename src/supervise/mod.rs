//! The processes of a job and their end: who starts them, what they print, how they leave, and who cleans up.
//!
//! Every node has a supervisor above it: the launcher, an agent, or the process that forked at init. A job of one without
//! launcher has none; under PMIx a thread stands in for it (`boot/pmix/watch`). Supervisor and nodes look at the same records
//! in the head of the job's memory.
//!
//! In a job of several hosts each host has such a supervisor, the agent, and the launcher above them judges. They talk over a
//! channel: `channel` (frames), `supervisor/agent` (the agent's side), `relay` (the nodes' output on its way).
//!
//! | in | files |
//! |---|---|
//! | the supervisor | `spawn` (starts the nodes), `conductor` (its loop, and the launcher's), `supervisor` (what it does there), `output` (lines), `outlet`, `ending` (deadlines), `silence` (of their streams), `guard` (above it) |
//! | a node | `node` (what this process is), `exit`, `signals`, `debug` |
//! | both | `header`, `tasks` (programs that nodes start) |
//!
//! Must not know: messages, segments, GASNet calls, what is in a bulletin.

pub mod channel;
pub mod conductor;
pub mod debug;
pub mod ending;
pub mod exit;
pub mod guard;
pub mod header;
pub mod node;
pub mod outlet;
pub mod output;
pub mod relay;
pub mod signals;
pub mod silence;
pub mod spawn;
pub mod supervisor;
pub mod tasks;

pub use exit::{exit, fatal};
pub use header::{Boxes, JobHeader, Phase};
