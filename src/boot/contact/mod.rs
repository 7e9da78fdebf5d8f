//! Connections between hosts of one job: where a process listens, and how two sides make sure of each other. The wire over TCP
//! connects nodes so, and under PMIx the hosts' first nodes tie the hosts together so.
//!
//! | file | what |
//! |---|---|
//! | `address` | where this process listens |
//! | `card` | what it tells others about that |
//! | `book` | the cards of all, and the ways between two processes |
//! | `greet` | HELLO and PROOF |
//! | `greeting` | a connection on which they are said |
//!
//! Must not know: what is carried afterwards.

pub mod address;
pub mod book;
pub mod card;
pub mod greet;
pub mod greeting;
