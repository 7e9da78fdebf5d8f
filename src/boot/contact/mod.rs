//! Connections between hosts of one job: where a process listens, and how two sides make sure of each other. The wire over TCP
//! connects nodes so, and under PMIx the hosts' first nodes tie the hosts together so.
//!
//! | file | what |
//! |---|---|
//! | `address` | where this process listens |
//! | `greet` | HELLO and PROOF |
//! | `greeting` | a connection on which they are said |
//!
//! Must not know: what is carried afterwards.

pub mod address;
pub mod greet;
pub mod greeting;
