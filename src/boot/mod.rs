//! Joining a job, and the few words that its nodes exchange before they have any other way.
//!
//! The rest of the library knows the program that started the job as [`Bootstrap`] only. [`join()`] finds out what it
//! was.
//!
//! | starter of the nodes | implementation | put and get | fence |
//! |---|---|---|---|
//! | `gasnetrun_sci`, `gasnet_init` (forks), or none (one node) | [`Shared`] | in the head of the job's memory | a counter |
//! | `gasnetrun_sci`, on several hosts | [`Shared`] | as above | a counter on each host; the last node asks the agent, and the launcher releases all |
//! | a launcher that speaks PMIx, on one host | [`Shared`] | as above | as above |
//! | the same, on several hosts | [`pmix::Exchange`] | one value of PMIx per node and round | PMIx's |
//! | a test, as threads of its own | `Memory` | in a table | a condition variable |
//!
//! Must not know: engines, segments, what the values mean. May use: the supervisor's files, `config`, `os`.

pub mod board;
mod bootstrap;
#[cfg(test)]
mod conformance;
pub mod contact;
mod fork;
pub mod join;
pub mod launcher;
mod member;
#[cfg(any(test, fuzzing))]
pub mod memory;
pub mod pmix;
pub mod share;
mod shared;
#[cfg(test)]
mod tests;

pub use bootstrap::{BootError, Bootstrap, Key, LIMIT, get_words, put_words};
pub use join::{OwnHost, is_alone, join};
pub use launcher::{HANDOFF, PARTS, handoff, is_launched, own_part, part, parts};
pub use member::{JobError, JobMemory, Joined};
pub use shared::Shared;
