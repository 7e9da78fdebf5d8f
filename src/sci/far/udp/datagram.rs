//! A datagram to be sent: where its bytes lie, and what seals them.
//!
//! Must not know: when it is sent.

#![allow(unsafe_code)] // memory of clients, until it is acknowledged

use super::guard::{Guard, Seal};
use super::head::{self, HEAD, Head};
use crate::sci::far::seal::TAG;
use crate::sci::far::tcp::chunk::Memory;

/// Shorter pieces are copied. Longer ones go from where they lie: gets of 64 KiB at 3.0 GB/s instead of 2.85, puts of 1 MiB at 4.1 instead of
/// 3.85 (loopback, EPYC VM, 2026-11).
const WORTH: usize = 1024;

/// A datagram to be sent.
pub struct Datagram<'a> {
    head: [u8; HEAD],
    /// What follows, from the packet's own bytes.
    own: &'a [u8],
    /// What follows that, from memory of others.
    theirs: Option<Memory>,
    /// What its checksum begins with.
    seed: u32,
    /// What seals all that, if the pipe is protected.
    seal: Option<&'a mut Seal>,
    /// It asks how long datagrams may be: nobody on the way may cut it.
    pub is_whole: bool,
    /// What follows the head stays where it is as long as the link is locked, and may go from there.
    pub stays: bool,
}

impl<'a> Datagram<'a> {
    /// [`Datagram::put`] gives it a checksum, or seals it under a number that is spent with this.
    pub fn new(
        guard: &'a mut Option<Guard>,
        seed: u32,
        head: &Head,
        own: &'a [u8],
        theirs: Option<Memory>,
    ) -> Datagram<'a> {
        let is_protected = guard.is_some();
        let mut seal = guard.as_mut().filter(|_| !head.kind.makes_keys()).and_then(Guard::seal);
        debug_assert!(!is_protected || seal.is_some() || head.kind.makes_keys(), "nothing goes in the clear");
        let head = match &mut seal {
            Some(seal) => seal.head(head),
            None => head.bytes(is_protected), // before there are keys, what makes them
        };
        Datagram { head, own, theirs, seed, seal, is_whole: false, stays: false }
    }

    /// Bytes of it.
    pub fn size(&self) -> usize {
        let theirs = self.theirs.map_or(0, |memory| memory.len);
        HEAD + self.own.len() + theirs + if self.seal.is_some() { TAG } else { 0 }
    }

    /// Adds it to `bytes`.
    pub fn put(self, bytes: &mut Vec<u8>) {
        let begin = bytes.len();
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(self.own);
        self.theirs.iter().for_each(|theirs| bytes.extend_from_slice(bytes_of(theirs)));
        // The memory may change meanwhile, so it is read once: what is checked is what goes.
        let Some(seal) = self.seal else { return head::close(&mut bytes[begin..], &[], self.seed) };
        let tag = seal.seal(&self.head, &mut bytes[begin + HEAD..]);
        if tag.is_err() {
            bytes[begin..].fill(0); // nothing leaves in the clear; nobody takes zeros
        }
        bytes.extend_from_slice(&tag.unwrap_or_default());
    }

    /// Adds its front to `bytes`. Returns the rest, which goes behind that from where it lies: none, if it is short, must be sealed, or
    /// may not stay. Memory that changes meanwhile spoils the checksum. So a packet that is sent again is copied, and arrives.
    pub fn put_front(self, bytes: &mut Vec<u8>) -> Option<Memory> {
        let rest = self.theirs.unwrap_or(Memory { at: self.own.as_ptr(), len: self.own.len() });
        if !self.stays || self.seal.is_some() || rest.len < WORTH {
            self.put(bytes);
            return None;
        }
        let begin = bytes.len();
        bytes.extend_from_slice(&self.head);
        if self.theirs.is_some() {
            bytes.extend_from_slice(self.own);
        }
        head::close(&mut bytes[begin..], bytes_of(&rest), self.seed);
        Some(rest)
    }
}

/// What a packet has, or refers to.
pub(super) fn bytes_of(memory: &Memory) -> &[u8] {
    // SAFETY: who pushed the packet keeps its memory readable until the packet is acknowledged, and its own bytes live as long.
    unsafe { std::slice::from_raw_parts(memory.at, memory.len) }
}
