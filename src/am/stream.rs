//! Long payloads to memory that this process cannot write (EVERYTHING, without process_vm_writev): through the rings.
//!
//! A request's payload goes ahead of it, as requests that run no handler; the queue keeps them in order. A reply has one slot
//! only, so its payload follows it. The slot counts the bytes written. The requester copies what is there each time it looks,
//! and runs the handler when all has come. Neither side blocks inside a poll.
//!
//! Must not know: handlers, which queue is looked at.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use super::corrupt::corrupt;
use super::engine::Am;
use super::inbox::Inbox;
use super::outbox::{Peer, take};
use super::run::ring_offset;
use super::slot::{self, COUNT_WORD, Carry, Meta, Slot};
use super::source::{Args, Source};
use super::token::{Deferred, Token};
use crate::am::region::{LINE, RING};
use crate::base::error::Error;
use crate::sci::{Adapter, LocalMap, RemoteMap};

/// Bytes that travel in one piece: an eighth of a ring, so that several are under way.
const PIECE: usize = RING / 8;

impl<A: Adapter> Am<A> {
    /// Sends the payload of a Long request ahead of it.
    pub(crate) fn stream_request(
        &self,
        dest: u32,
        peer: &Peer<A>,
        source: Source,
        address: usize,
    ) -> Result<(), Error> {
        let mut at = 0;
        while at < source.len() {
            let piece = source.part(at, PIECE.min(source.len() - at));
            let room = self.reserve(dest, peer, piece.len())?;
            let taken = room.taken;
            slot::write(room.queue(), self.layout.request_ring() + taken.span.offset, piece);
            room.queue().barrier(); // the piece must be there before the packet that announces it
            let meta = Meta::new(self.layout.sequence(taken.index), 0, 0, Carry::Stream, piece.len());
            room.commit(&self.layout, self.me, meta, &[taken.span.offset as u64, (address + at) as u64]);
            at += piece.len();
        }
        Ok(())
    }

    /// Takes one piece of a request's payload. Returns the ring bytes that it held.
    #[cold]
    pub(crate) fn piece_in(&self, inbox: &Inbox<A>, slot: &Slot<'_, A::Local>, meta: Meta, source: u32) -> usize {
        let offset = ring_offset(slot.word(1), meta.len(), source);
        let ring = self.layout.queue(source as usize) + self.layout.request_ring();
        self.land(inbox, ring + offset, slot.word(2) as usize, meta.len(), source);
        meta.len().next_multiple_of(LINE)
    }

    /// Copies `len` bytes of our command region to `address` in this process.
    fn land(&self, inbox: &Inbox<A>, at: usize, address: usize, len: usize, source: u32) {
        if !self.table().holds(self.me, address, len) {
            corrupt(source, "Long target outside the segment");
        }
        // SAFETY: the bytes lie in our command region, which `ptr` checks at the first and `ring_offset` at the last.
        let bytes = unsafe { Source::new(inbox.command.bytes(at, len), len) };
        // SAFETY: the target lies in this node's segment; in EVERYTHING the sender's client promises that it is valid
        // (contract: core.md §8).
        unsafe { bytes.move_to(address as *mut u8) };
    }

    /// Sends a Long reply whose payload follows in pieces.
    #[cold]
    pub(crate) fn stream_reply(
        &self,
        inbox: &Inbox<A>,
        token: &Token,
        handler: u8,
        source: Source,
        address: usize,
        args: Args<'_>,
    ) {
        let peer = token.source() as usize;
        let way = &self.peers[peer];
        let slot = self.layout.reply(token.index());
        slot::store_args(&way.queue, slot, Some(address as u64), args.words());
        way.queue.store(slot + 8 * COUNT_WORD, &[0]); // the count starts at none
        let meta = self.reply_meta(token, handler, args, Carry::Stream, source.len());
        way.queue.barrier(); // the words must be there before the meta word
        self.commit_reply(inbox, token, meta, &[]);
        let mut at = 0;
        while at < source.len() {
            let piece = source.part(at, PIECE.min(source.len() - at));
            let span = self.reply_space(inbox, peer, piece.len());
            slot::write(&way.queue, self.layout.reply_ring() + span.offset, piece);
            way.queue.barrier(); // the piece must be there before the count that covers it
            at += piece.len();
            let last = at == source.len();
            if last && token.holds_buffer() {
                token.defer(Deferred::Count(at as u64));
            } else {
                way.queue.publish(slot + 8 * COUNT_WORD, at as u64);
                self.announce_count(peer);
            }
        }
    }

    /// Copies what has come of the streamed reply to request `index`. When all has come, returns the meta word that the slot
    /// held first.
    #[cold]
    pub(crate) fn stream_in(
        &self,
        inbox: &Inbox<A>,
        peer: usize,
        index: u32,
        slot: &Slot<'_, A::Local>,
        meta: Meta,
    ) -> Option<Meta> {
        let (from, stream) = (&inbox.from[peer], &inbox.streams[peer]);
        if stream.index.get() != Some(index) {
            let address = slot.word(1) as usize;
            if !self.table().holds(self.me, address, meta.len()) {
                corrupt(peer as u32, "Long target outside the segment");
            }
            stream.index.set(Some(index));
            stream.meta.set(meta);
            stream.address.set(address);
            stream.done.set(0);
        }
        let total = stream.meta.get().len();
        loop {
            let at = stream.done.get();
            if at == total {
                stream.index.set(None);
                return Some(stream.meta.get());
            }
            let len = PIECE.min(total - at);
            if slot.count(COUNT_WORD) < (at + len) as u64 {
                return None;
            }
            let done = from.ring_done.get();
            let Some(span) = take(done, done, len) else { corrupt(peer as u32, "piece larger than its ring") };
            let ring = self.layout.queue(peer) + self.layout.reply_ring();
            // In EVERYTHING any address is inside, so an address at the end of the address space may wrap to 0.
            self.land(inbox, ring + span.offset, stream.address.get().wrapping_add(at), len, peer as u32);
            inbox.reply_ring_done(self, peer, span.offset, len);
            stream.done.set(at + len);
        }
    }
}
