//! A packet, from when it is made until it is acknowledged.
//!
//! Must not know: what it carries.

use crate::sci::far::tcp::chunk::Memory;

/// Sendings of one packet after which, if none has come, its size may be why.
const STUCK: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It was never sent.
    Queued,
    /// It is under way.
    Flying,
    /// It is sent again.
    Lost,
    /// The peer has it, and not yet all before it.
    Come,
}

/// A packet: bytes of the library's own, and perhaps memory of a client behind them.
#[cfg_attr(test, derive(Clone))]
pub struct Packet {
    /// Own bytes.
    pub bytes: Vec<u8>,
    /// What follows them, from where it lies until the packet is acknowledged.
    pub memory: Option<Memory>,
    pub(super) state: State,
    pub(super) sent: u64,
    /// Counts all sendings of the link.
    pub(super) order: u64,
    /// It was sent so often. If once, an acknowledgement tells how long that took.
    pub(super) sendings: u32,
}

impl Packet {
    /// One that was never sent.
    pub(super) fn new(bytes: Vec<u8>, memory: Option<Memory>) -> Packet {
        Packet { bytes, memory, state: State::Queued, sent: 0, order: 0, sendings: 0 }
    }

    /// Its bytes, and those of the memory.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.memory.map_or(0, |memory| memory.len)
    }

    /// It is sent for the first time.
    pub fn is_new(&self) -> bool {
        self.sendings == 1
    }

    /// It was sent again and again.
    pub fn is_stuck(&self) -> bool {
        self.sendings >= STUCK
    }
}
