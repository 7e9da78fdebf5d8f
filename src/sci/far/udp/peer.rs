//! What is known of a peer.
//!
//! Must not know: what is carried, sockets.

use super::link::Link;
use crate::boot::contact::book::Way;
use crate::sci::far::wire::Lost;
use std::io;
use std::net::SocketAddr;

/// How a peer is reached.
pub(super) struct Path {
    /// The socket's number.
    pub(super) socket: usize,
    /// That of the peer's own socket, if it has one.
    pub(super) direct: Option<u8>,
    pub(super) at: SocketAddr,
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
