//! Room in a peer's ring that a client fills itself: Mediums of negotiated payload, without a copy.
//!
//! The client gets the address of the ring bytes. Lending takes nothing. Between prepare and commit the client sends nothing else
//! (contract: ex-core.md §12), so `send_lent` finds the same room again, and a cancel has nothing to give back.
//!
//! This is for requests in jobs with one client thread (SEQ). With several, another thread could send a request in between; and if
//! a lock was held until the client commits, threads could wait for each other.
//!
//! Must not know: descriptors, C types.

use super::engine::Am;
use super::slot::{self, Carry, Meta};
use super::source::Args;
use crate::am::region::LINE;
use crate::base::error::{Error, bad_arg};
use crate::sci::{Adapter, RemoteMap};
use crate::verbs::Flags;

/// Room that a client fills.
#[derive(Clone, Copy)]
pub struct Lent {
    /// Number of the request that will carry it.
    pub index: u32,
    /// First of the bytes; they are writable until the request is sent, or until another is.
    pub bytes: *mut u8,
}

impl<A: Adapter> Am<A> {
    /// True if the ring to `dest`, another node, can be written by address.
    #[inline(always)]
    pub fn can_lend(&self, dest: u32) -> Result<bool, Error> {
        Ok(self.peers.way(dest)?.queue.place().is_some())
    }

    /// Lends `len` bytes of the ring to `dest`, to which it [can](Self::can_lend), after waiting for room. `None`: there is no
    /// room, and `flags` say not to wait.
    #[inline(always)]
    pub fn lend(&self, dest: u32, len: usize, flags: Flags) -> Result<Option<Lent>, Error> {
        let peer = self.peers.way(dest)?;
        let Some(queue) = peer.queue.place() else { return Ok(None) };
        let Some(room) = self.room(dest, peer, len, flags)? else { return Ok(None) };
        let at = self.layout.request_ring() + room.taken.span.offset;
        Ok(Some(Lent { index: room.taken.index, bytes: queue.wrapping_add(at) }))
    }

    /// Sends a Medium request of the first `used` of the `len` bytes that were lent for the request `index`.
    #[inline(always)]
    pub fn send_lent(
        &self,
        dest: u32,
        handler: u8,
        index: u32,
        len: usize,
        used: usize,
        args: Args<'_>,
    ) -> Result<(), Error> {
        args.check()?;
        // The same room again: the place depends on what was sent before, and room only grows.
        let room = self.peers.way(dest)?.reserve(&self.layout, len).filter(|room| room.taken.index == index);
        let Some(mut room) = room else {
            return bad_arg(format_args!("another message was sent to node {dest} between prepare and commit"));
        };
        room.taken.span.end -= (len.next_multiple_of(LINE) - used.next_multiple_of(LINE)) as u64;
        let meta = Meta::new(self.layout.sequence(index), handler, args.count(), Carry::Ring, used);
        let place = Some(room.taken.span.offset as u64);
        slot::store_args(room.queue(), self.layout.request(index), place, args.words());
        room.count_medium(used);
        room.commit_stored(&self.layout, self.me, meta);
        Ok(())
    }
}
