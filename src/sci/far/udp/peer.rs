//! What is known of a peer.
//!
//! Must not know: what is carried, sockets.

use super::link::Link;
use crate::boot::contact::book::Way;
use crate::sci::far::wire::Lost;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

/// Calls to one peer that are known: more bytes than a host's queue has for one.
const CALLS: usize = 32;

/// How a peer is reached.
pub(super) struct Path {
    /// The socket's number.
    pub(super) socket: usize,
    /// That of the peer's own socket, if it has one.
    pub(super) direct: Option<u8>,
    pub(super) at: SocketAddr,
    pub(super) lately: Lately,
}

impl Path {
    pub(super) fn new(socket: usize, at: SocketAddr) -> Path {
        Path { socket, direct: None, at, lately: Lately::default() }
    }
}

/// What a peer was sent lately by a socket that it shares with others: where each call ended among all bytes of the socket, and how many
/// bytes were its own.
#[derive(Default)]
pub(super) struct Lately {
    calls: VecDeque<(u64, usize)>,
    bytes: usize,
}

impl Lately {
    /// A call with `len` bytes ended at byte `end`.
    pub(super) fn add(&mut self, end: u64, len: usize) {
        if self.calls.len() == CALLS {
            self.forget();
        }
        self.calls.push_back((end, len));
        self.bytes += len;
    }

    /// Own bytes among the last `count` of the `end` bytes that the socket was given: those that have not left this host.
    pub(super) fn among(&mut self, end: u64, count: usize) -> usize {
        while self.calls.front().is_some_and(|(at, _)| at.saturating_add(count as u64) <= end) {
            self.forget();
        }
        self.bytes.min(count)
    }

    fn forget(&mut self) {
        self.bytes -= self.calls.pop_front().map_or(0, |(_, len)| len);
    }
}

/// One peer.
pub(super) struct Peer {
    pub(super) link: Link,
    /// All ways to it.
    pub(super) ways: Vec<Way>,
    pub(super) path: Option<Path>,
    /// The peer has been heard there.
    pub(super) is_sure: bool,
    pub(super) tried: u64,
    pub(super) attempts: u32,
    pub(super) lost: Option<Lost>,
    /// Why the system did not take what was sent last, if it did not.
    pub(super) refusal: Option<io::Error>,
    pub(super) is_counted: bool,
    /// Something was about to be sent so often since the peer was silent.
    pub(super) sendings: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_in_the_queue_of_a_shared_socket_is_not_counted() {
        let mut lately = Lately::default();
        lately.add(1_000, 1_000);
        lately.add(61_000, 2_000); // between them 58,000 bytes of others
        assert_eq!(lately.among(61_000, 61_000), 3_000);
        assert_eq!(lately.among(61_000, 60_000), 2_000);
        assert_eq!(lately.among(161_000, 150_000), 2_000);
        assert_eq!(lately.among(161_000, 100_000), 0);
        (1..=1_000).for_each(|call| lately.add(161_000 + call, 1));
        assert!(lately.calls.len() == CALLS && lately.bytes == CALLS);
    }
}
