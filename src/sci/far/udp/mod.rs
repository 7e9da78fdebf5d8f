//! The wire over UDP: reliable, ordered, with one socket for all peers.
//!
//! | file | what |
//! |---|---|
//! | `mode` | the two sets of rules, and counters of their cases |
//! | `head` | the head of a datagram |
//! | `pace` | round trips and congestion |
//! | `outbox`, `inbox` | the sending and the receiving half |
//! | `pipe` | both, with the first contact and signs of life: no socket, clock or thread |

pub mod head;
pub mod inbox;
pub mod mode;
pub mod outbox;
pub mod pace;
pub mod pipe;
#[cfg(all(test, not(loom)))]
mod tests;
