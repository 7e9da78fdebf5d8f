//! A datagram to be sent: where its bytes lie, and what seals them.
//!
//! Must not know: when it is sent.

#![allow(unsafe_code)] // memory of clients, until it is acknowledged

use super::guard::{Guard, Seal};
use super::head::{HEAD, Head};
use crate::sci::far::seal::TAG;
use crate::sci::far::tcp::chunk::Memory;

/// A datagram to be sent.
pub struct Datagram<'a> {
    head: [u8; HEAD],
    /// What follows, from the packet's own bytes.
    own: &'a [u8],
    /// What follows that, from memory of others.
    theirs: Option<Memory>,
    /// What seals all that, if the pipe is protected.
    seal: Option<&'a mut Seal>,
    /// It asks how long datagrams may be: nobody on the way may cut it.
    pub is_whole: bool,
}

impl<'a> Datagram<'a> {
    /// With a checksum, or with a number under which [`Datagram::put`] seals it.
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
            None => head.write(is_protected, seed, &[own, slice(&theirs)]), // before there are keys, what makes them
        };
        Datagram { head, own, theirs, seal, is_whole: false }
    }

    /// Bytes of it.
    pub fn size(&self) -> usize {
        let theirs = self.theirs.map_or(0, |memory| memory.len);
        HEAD + self.own.len() + theirs + if self.seal.is_some() { TAG } else { 0 }
    }

    /// Its bytes come to be by [`Datagram::put`] alone.
    pub fn is_sealed(&self) -> bool {
        self.seal.is_some()
    }

    /// Where its bytes lie, if it is not sealed: its head; a packet's own, which stay until it is acknowledged, or those of another datagram,
    /// which are few, or stay until the next one is made; memory of others.
    pub fn parts(&self) -> [Memory; 3] {
        let of = |bytes: &[u8]| Memory { at: bytes.as_ptr(), len: bytes.len() };
        [of(&self.head), of(self.own), self.theirs.unwrap_or(of(&[]))]
    }

    /// Adds it to `bytes`.
    pub fn put(self, bytes: &mut Vec<u8>) {
        let begin = bytes.len();
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(self.own);
        bytes.extend_from_slice(slice(&self.theirs));
        let Some(seal) = self.seal else { return };
        let tag = seal.seal(&self.head, &mut bytes[begin + HEAD..]);
        if tag.is_err() {
            bytes[begin..].fill(0); // nothing leaves in the clear; nobody takes zeros
        }
        bytes.extend_from_slice(&tag.unwrap_or_default());
    }
}

fn slice(memory: &Option<Memory>) -> &[u8] {
    // SAFETY: who pushed the packet keeps its memory readable until the packet is acknowledged.
    memory.as_ref().map_or(&[], |memory| unsafe { std::slice::from_raw_parts(memory.at, memory.len) })
}
