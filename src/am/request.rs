//! Requests: each takes a slot of the way to its peer, and ring bytes for the payload of a Medium. A sender without room runs
//! its receiver's replies until there is some.
//!
//! Must not know: how requests are run, when slots are given back.

use super::bulk::Placed;
use super::engine::Am;
use super::outbox::{Peer, Reserved};
use super::slot::{self, Carry, MediumPlace, Meta};
use super::source::{Args, Source};
use super::token::Kind;
use crate::am::region::{LINE, MAX_LONG, MAX_MEDIUM};
use crate::am::wait::Rest;
use crate::base::error::{Error, bad_arg};
use crate::peers::table::PeerSegment;
use crate::sci::{Adapter, RemoteMap};
use crate::sync::Ordering;
use crate::trace;
use crate::verbs::Flags;

/// A sender without room makes room by serving its receiver's answers alone. Each time this many such rounds have passed, it
/// serves all peers. One round makes room for several messages, so that the poll costs each below a nanosecond.
const ROOMS_PER_POLL: u32 = 16;

/// What makes the argument words of a Short that fills its line. A trait, since closures with several callers become functions of their own, and
/// the words would go through memory.
pub trait LineWords {
    /// The words.
    fn words(self) -> [u64; LINE / 8 - 1];
}

impl<A: Adapter> Am<A> {
    /// Short request; waits for room.
    #[inline(always)]
    pub fn request_short(&self, dest: u32, handler: u8, args: Args<'_>) -> Result<(), Error> {
        self.send_short(dest, handler, args, Flags::NONE).map(drop)
    }

    /// Medium request; waits for room. `source` is free for reuse at return.
    #[inline]
    pub fn request_medium(&self, dest: u32, handler: u8, source: Source, args: Args<'_>) -> Result<(), Error> {
        self.send_medium(dest, handler, source, args, Flags::NONE).map(drop)
    }

    /// Long request; waits for room. The payload is in the peer's segment before the handler starts; `source` is free for reuse
    /// at return (LongAsync is the same).
    pub fn request_long(
        &self,
        dest: u32,
        handler: u8,
        source: Source,
        address: usize,
        args: Args<'_>,
    ) -> Result<(), Error> {
        self.send_long(dest, handler, source, address, args, Flags::NONE).map(drop)
    }

    /// Short request. False: it was not sent, because there was no room and `flags` say not to wait.
    #[inline(always)]
    pub fn send_short(&self, dest: u32, handler: u8, args: Args<'_>, flags: Flags) -> Result<bool, Error> {
        args.check()?;
        if dest == self.me {
            self.loop_short(Kind::LoopRequest, handler, args);
            return Ok(true);
        }
        self.send_short_to_peer(dest, handler, args, flags)
    }

    /// As [`Self::send_short`], to another node than this, with no more than 16 arguments.
    #[inline(always)]
    pub fn send_short_to_peer(&self, dest: u32, handler: u8, args: Args<'_>, flags: Flags) -> Result<bool, Error> {
        let Some((room, meta)) = self.room_for_short(dest, handler, args.count(), flags)? else { return Ok(false) };
        if args.words().len() < LINE / 8 {
            room.commit(&self.layout, self.me, meta, args.words());
        } else {
            self.send_two_lines(room, meta, args);
        }
        Ok(true)
    }

    /// As [`Self::send_short_to_peer`], with 14 arguments. Their words are made only once there is room, so that they are not kept
    /// while room is sought: 19 instructions less for each message.
    #[inline(always)]
    pub fn send_line_to_peer(&self, dest: u32, handler: u8, flags: Flags, line: impl LineWords) -> Result<bool, Error> {
        let count = 2 * (LINE / 8 - 1);
        let Some((room, meta)) = self.room_for_short(dest, handler, count, flags)? else { return Ok(false) };
        room.commit(&self.layout, self.me, meta, &line.words());
        Ok(true)
    }

    /// Room for a Short of `count` arguments, and its meta word.
    #[inline(always)]
    fn room_for_short(
        &self,
        dest: u32,
        handler: u8,
        count: usize,
        flags: Flags,
    ) -> Result<Option<(Reserved<'_, A>, Meta)>, Error> {
        let peer = self.peers.way(dest)?;
        let room = self.room(dest, peer, 0, flags)?;
        Ok(room.map(|room| {
            let meta = Meta::new(self.layout.sequence(room.taken.index), handler, count, Carry::Short, 0);
            (room, meta)
        }))
    }

    /// A Short of more arguments than its first line takes.
    #[inline(never)]
    fn send_two_lines(&self, room: Reserved<'_, A>, meta: Meta, args: Args<'_>) {
        let slot = self.layout.request(room.taken.index);
        slot::store_args(room.queue(), slot, None, args.words());
        if room.taken.awaited {
            room.queue().hand_over(slot + LINE);
        }
        room.commit_stored(&self.layout, self.me, meta);
    }

    /// Medium request, as [`Self::request_medium`]. False as in [`Self::send_short`].
    #[inline(always)]
    pub fn send_medium(
        &self,
        dest: u32,
        handler: u8,
        source: Source,
        args: Args<'_>,
        flags: Flags,
    ) -> Result<bool, Error> {
        args.check()?;
        if source.len() > MAX_MEDIUM {
            return bad_arg(format_args!("Medium payload of {} bytes; the limit is {MAX_MEDIUM}", source.len()));
        }
        if dest == self.me {
            self.loop_medium(Kind::LoopRequest, handler, source, args);
            return Ok(true);
        }
        let peer = self.peers.way(dest)?;
        let inline = source.len() <= slot::inline_max(args.count());
        let ring = if inline { 0 } else { source.len() };
        let Some(room) = self.room(dest, peer, ring, flags)? else { return Ok(false) };
        let (taken, len) = (room.taken, source.len());
        let place = MediumPlace { inline, ring: self.layout.request_ring(), at: taken.span.offset };
        let meta = Meta::new(self.layout.sequence(taken.index), handler, args.count(), place.carry(), len);
        place.store(room.queue(), self.layout.request(taken.index), source, args, taken.awaited);
        room.count_medium(len);
        room.commit_stored(&self.layout, self.me, meta);
        if taken.awaited {
            // Once the peer has been woken: the lock of the outbox, which this takes again in PAR, is not held while that takes a system call.
            peer.with_next_room(&self.layout, ring, |next| {
                let place = MediumPlace { at: next.span.offset, ..place };
                place.claim_lines(self.layout.request(next.index), meta, |line| peer.queue.claim_by_store(line));
            });
        }
        Ok(true)
    }

    /// Long request, as [`Self::request_long`]. False as in [`Self::send_short`]. To memory that this node cannot write it may
    /// wait all the same, once it has begun.
    pub fn send_long(
        &self,
        dest: u32,
        handler: u8,
        source: Source,
        address: usize,
        args: Args<'_>,
        flags: Flags,
    ) -> Result<bool, Error> {
        args.check()?;
        if dest == self.me {
            self.check_long(dest, source.len(), address)?;
            self.loop_long(Kind::LoopRequest, handler, source, address, args);
            return Ok(true);
        }
        let peer = self.peers.way(dest)?;
        if flags.has(Flags::IMMEDIATE) && !self.has_room(dest)? {
            return Ok(false); // before any byte of the payload is written
        }
        let target = self.check_long(dest, source.len(), address)?;
        if peer.is_next_awaited() {
            self.claim_target(target, address, source.len());
        }
        let placed = match self.place(dest, target, source, address)? {
            Some(placed) => placed,
            None => {
                self.stream_request(dest, peer, source, address)?;
                Placed::whole()
            }
        };
        // Where the room that was there is gone, another thread has taken it. The payload is in place, so this one waits.
        let room = self.reserve(dest, peer, 0)?;
        let index = room.taken.index;
        let meta = Meta::new(self.layout.sequence(index), handler, args.count(), placed.carry, source.len());
        placed.store(room.queue(), self.layout.request(index), address, args);
        room.commit_stored(&self.layout, self.me, meta);
        Ok(true)
    }

    /// Limits of a Long and of its target (contract: core.md §9.4). Returns the segment that the target is in; `None`: there are no bytes.
    pub(crate) fn check_long(&self, dest: u32, len: usize, address: usize) -> Result<Option<&PeerSegment<A>>, Error> {
        if len > MAX_LONG {
            return bad_arg(format_args!("Long payload of {len} bytes; the limit is {MAX_LONG}"));
        }
        if len == 0 {
            return Ok(None);
        }
        if let Some(target) = self.table().find(dest, address, len) {
            return Ok(Some(target));
        }
        let (base, size) = self.table().bounds(dest);
        bad_arg(format_args!(
            "Long target [{address:#x}, +{len}) is outside the segment of node {dest}: [{base:#x}, +{size})"
        ))
    }

    /// [`Self::reserve`], or `None` instead of waiting, if `flags` say so.
    #[inline(always)]
    pub(super) fn room<'a>(
        &self,
        dest: u32,
        peer: &'a Peer<A>,
        ring: usize,
        flags: Flags,
    ) -> Result<Option<Reserved<'a, A>>, Error> {
        if flags.has(Flags::IMMEDIATE) {
            return match self.reserve_now(dest, peer, ring) {
                None if self.is_lost(dest) => Err(Error::lost(dest)),
                room => Ok(room.map(|room| room.for_waiter(flags))),
            };
        }
        self.reserve(dest, peer, ring).map(|room| Some(room.for_waiter(flags)))
    }

    /// Reserves without waiting. If there is no room it first takes what `dest` has given back: polls look for that at the predicted
    /// peers alone, because it is not announced. It runs no handler, so it stops at a reply, which a poll will find.
    #[inline(always)]
    fn reserve_now<'a>(&self, dest: u32, peer: &'a Peer<A>, ring: usize) -> Option<Reserved<'a, A>> {
        match peer.reserve(&self.layout, ring) {
            None if self.take_back(dest) => peer.reserve(&self.layout, ring),
            room => room,
        }
    }

    #[cold]
    #[inline(never)]
    fn take_back(&self, dest: u32) -> bool {
        self.inbox.try_with(|inbox| inbox.take_back(self, dest as usize, false)).is_some_and(|found| found > 0)
    }

    /// A hint: this node is about to send to `dest`, which waits for it. The line of the next slot is claimed meanwhile. Much earlier it is
    /// in vain, since the peer's looks take the line back. On a Xeon VM claims by prefetches took 8 bytes to a mail box from 195 to 174 ns one way. What
    /// stores are worth beyond that on an EPYC 7003 VM (why: `CLAIM_BATCH`), those to slots of replies included (2026-11):
    ///
    /// | ns with claims by prefetches, by stores | cores that share no cache | cores that share one |
    /// |---|---|---|
    /// | a Short there and back | 532, 520 | 161, 143 |
    /// | 8 bytes to a mail box, one way; in PAR | 302, 277; 304, 274 | 117, 97; 119, 105 |
    /// | 100 bytes, the same | 357, 333 | 118, 106 |
    #[inline(always)]
    pub fn will_send(&self, dest: u32) {
        if let Some(peer) = self.peers.known(dest as usize) {
            peer.claim_next_slot(&self.layout);
        }
    }

    /// Reserves a slot and `ring` ring bytes of the way to `dest`. Polls while there is no room.
    #[inline(always)]
    pub(crate) fn reserve<'a>(&self, dest: u32, peer: &'a Peer<A>, ring: usize) -> Result<Reserved<'a, A>, Error> {
        let mut failed = 0;
        loop {
            if let Some(room) = peer.reserve(&self.layout, ring) {
                return Ok(room);
            }
            failed = self.wait_for_room(dest, failed)?;
        }
    }

    /// True if a request without ring bytes could go to `dest` now, without waiting. Another thread may take the room first.
    pub fn has_room(&self, dest: u32) -> Result<bool, Error> {
        let peer = match dest == self.me {
            true => return Ok(true),
            false => self.peers.way(dest)?,
        };
        Ok(self.reserve_now(dest, peer, 0).is_some())
    }

    /// One step of waiting for `dest` to give slots back. Returns the value for the next step.
    #[cold]
    #[inline(never)]
    fn wait_for_room(&self, dest: u32, failed: u32) -> Result<u32, Error> {
        if self.in_handler() {
            return bad_arg(format_args!("an AM request to node {dest} from a handler, and no room to send it"));
        }
        if self.is_lost(dest) {
            return Err(Error::lost(dest));
        }
        if !self.collect(dest) {
            let next = self.wait_step_with(failed, Rest::Short, || self.collect(dest));
            if next != 0 {
                trace::waits_for_room(dest);
            }
            return Ok(next);
        }
        // A receiver that keeps up always gives room, and the other peers must not wait until the flood ends. Nor must what the replies have
        // left to be sent. Relaxed, and no read-modify-write: if another thread overwrites the count, a poll comes later.
        let rooms = self.rooms.load(Ordering::Relaxed).wrapping_add(1);
        self.rooms.store(rooms, Ordering::Relaxed);
        if rooms.is_multiple_of(ROOMS_PER_POLL) || self.has_work() {
            self.poll();
        }
        Ok(0)
    }

    /// Runs replies of `dest` and takes its credits. True if there was anything.
    pub(crate) fn collect(&self, dest: u32) -> bool {
        self.inbox.try_with(|inbox| inbox.retire(self, dest as usize)).is_some_and(|found| found > 0)
    }
}
