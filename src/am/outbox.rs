//! The sending half of a pair: request slots, the request ring, and the space in both.
//!
//! It reaches the peer's memory through [`RemoteMap`] only: it stores and never loads. The peer's progress comes through the
//! inbox as one number in our own memory: how many requests are retired.
//!
//! Must not know: what a message carries, when it is answered.

#![allow(unsafe_code)] // addresses that the header stores to

use super::direct::Direct;
use super::slot::Meta;
use crate::am::region::{LINE, Layout, RING};
use crate::sci::{Adapter, RemoteInterrupt, RemoteMap};
use crate::sync::{Locked, ModeLock, Ordering};
use crate::verbs::Flags;
use std::cell::Cell;

/// This node's way to one peer.
#[repr(C, align(128))] // one peer's hot words never share a line, or its adjacent line, with another's
pub struct Peer<A: Adapter> {
    /// What the header sends Shorts by. It is the first field, because the header takes the address of the way for its address.
    pub direct: Direct,
    /// The sender's half, one client thread at a time. It is the second field, because the header takes its lock.
    pub outbox: ModeLock<Outbox>,
    /// The queue that we write in the peer's command region.
    pub queue: A::Remote,
    /// The peer's control region.
    pub control: A::Remote,
    /// The peer's interrupt.
    pub bell: A::RemoteInterrupt,
}

/// Of a flood: after request *n*, if *n* is a multiple of this and requests before it are outstanding, the sender claims slots *n* + `CLAIM_BATCH`
/// to *n* + 2 `CLAIM_BATCH` - 1, if all of them are free. It has claimed the slots in between with the batch before.
///
/// The peer has read each slot in the lap before. So the first store to a slot waits until the peer's copy of the line is gone: 37 ns where two
/// cores share a cache, 140 where they share none. The stores after it wait in the store buffer, which holds little more than one message: 64
/// stores on Zen 3, of which a post to a mail box takes 44. So a core waits for one line after the other. If it stores to several lines directly
/// one after the other, it waits for all of them at once. Hence claims by stores, in batches. A prefetch for writing does not help: an EPYC
/// ignores it for a line that the core has written before and the peer has read since. Floods, ns for each message (2026-11, EPYC VM; before,
/// each request claimed one slot by a prefetch):
///
/// | | cores share a cache | they share none |
/// |---|---|---|
/// | mail boxes, 16 bytes, one sender | 41 -> 27 | 145 -> 86 |
/// | the same, four senders | 46 -> 40 | 155 -> 92 |
/// | Mediums of 64 and 1,024 bytes | 43 -> 35, 53 -> 43 | 156 -> 114, 157 -> 134 |
///
/// With batches of 8 these Mediums take 40 and 52 ns. The header's Shorts follow one another more closely: in batches of 8
/// (`GASNETI_SCI_CLAIM_BATCH`) they take 17.0 ns, in batches of 4 20.1, and took 18.9 before; in PAR 16.6, 20.1 and 23. Neither was measured on
/// Intel's processors, whose prefetches do fetch such lines, nor on Arm.
pub const CLAIM_BATCH: u32 = 4;
const _: () = assert!(CLAIM_BATCH.is_power_of_two(), "multiples stay multiples where numbers of requests wrap around");

/// State of the sender's half.
pub struct Outbox {
    ring_head: Cell<u64>,
    /// For each slot: the ring position behind the payload of its request.
    ring_ends: Box<[Cell<u64>]>,
    /// Payload bytes that went through the ring or the slot.
    pub medium_bytes: Cell<u64>,
    /// The payload of the last request that the library has sent went on in the second line of its slot, and the next one's probably does.
    crosses_lines: Cell<bool>,
}

impl Outbox {
    /// An empty half with `slots` slots.
    pub fn new(slots: usize) -> Outbox {
        Outbox {
            ring_head: Cell::new(0),
            ring_ends: vec![Cell::new(0); slots].into(),
            medium_bytes: Cell::new(0),
            crosses_lines: Cell::new(false),
        }
    }
}

/// Where a payload lies in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of its first byte in the ring.
    pub offset: usize,
    /// Position behind it; positions count all bytes ever taken.
    pub end: u64,
}

/// The position at which `len` bytes, whole lines, begin in one piece, in a ring that is used up to position `head`.
#[inline(always)]
fn piece_start(head: u64, len: usize) -> u64 {
    let at = head as usize & (RING - 1);
    if at + len > RING { head + (RING - at) as u64 } else { head }
}

/// The offset at which `len` bytes in one piece will begin in a ring that is used up to position `head`.
#[inline(always)]
pub fn next_offset(head: u64, len: usize) -> usize {
    piece_start(head, len.next_multiple_of(LINE)) as usize & (RING - 1)
}

/// Takes `len` bytes in one piece from a ring with positions `head` (next free) and `tail` (oldest in use); `None` while
/// they do not fit.
#[inline(always)]
pub fn take(head: u64, tail: u64, len: usize) -> Option<Span> {
    let len = len.next_multiple_of(LINE);
    let start = piece_start(head, len);
    let end = start + len as u64;
    (end - tail <= RING as u64).then_some(Span { offset: start as usize & (RING - 1), end })
}

const _: () = assert!(RING.is_power_of_two(), "positions are reduced by a mask");

/// A request slot that was taken, not yet published.
#[derive(Clone, Copy)]
pub struct Taken {
    /// Number of the request.
    pub index: u32,
    /// Ring bytes for its payload; empty when none were asked for.
    pub span: Span,
    /// Requests that are sent before it and not yet retired.
    pub outstanding: usize,
    /// The peer probably waits for this request: all earlier ones are retired, or a message of the peer was run since the last
    /// one. In a flood neither holds, and handing lines over would cost the sender 5 ns each.
    pub awaited: bool,
}

impl<A: Adapter> Peer<A> {
    /// Node `me`'s way through these.
    pub fn new(
        queue: A::Remote,
        control: A::Remote,
        bell: A::RemoteInterrupt,
        outbox: ModeLock<Outbox>,
        layout: &Layout,
        me: usize,
    ) -> Box<Peer<A>> {
        let direct = Direct::to(&queue, &control, &bell, layout, me);
        let mut peer = Box::new(Peer { direct, outbox, queue, control, bell });
        (peer.direct.ends, peer.direct.head) =
            peer.outbox.with(|out| (out.ring_ends.as_ptr(), &raw const out.ring_head));
        peer
    }

    /// Requests that are sent and not yet retired.
    #[inline(always)]
    pub fn outstanding(&self) -> u32 {
        // Relaxed: the poller's view of `sent` may lag behind another thread's send; the next poll sees it.
        self.direct.sent.load(Ordering::Relaxed).wrapping_sub(self.direct.retired.load(Ordering::Relaxed))
    }

    /// True if the peer probably waits for the next request.
    #[inline(always)]
    pub fn is_next_awaited(&self) -> bool {
        // Relaxed: a hint.
        self.direct.heard.load(Ordering::Relaxed) != 0 || self.outstanding() == 0
    }

    /// Reserves the next slot and `ring` ring bytes, if there is room. The caller fills them and commits.
    #[inline(always)]
    pub fn reserve(&self, layout: &Layout, ring: usize) -> Option<Reserved<'_, A>> {
        let outbox = self.outbox.lock();
        self.take(&outbox, layout, ring).map(|taken| Reserved { peer: self, outbox, taken, what: 0 })
    }

    /// The numbers of the next request and of the oldest one that is not retired. The caller has the outbox.
    #[inline(always)]
    fn numbers(&self) -> (u32, u32) {
        // Relaxed: only holders of `outbox` change it, and the lock orders them.
        let index = self.direct.sent.load(Ordering::Relaxed);
        // ORDERING: Acquire ↔ the Release in `Inbox::retire`: the reply handler has finished with the paired reply slot
        // before we let the peer write into it again (rule 3).
        (index, self.direct.retired.load(Ordering::Acquire))
    }

    #[inline(always)]
    fn take(&self, out: &Outbox, layout: &Layout, ring: usize) -> Option<Taken> {
        let (index, retired) = self.numbers();
        let outstanding = index.wrapping_sub(retired) as usize;
        if outstanding >= layout.slots() {
            return None;
        }
        let heard = self.direct.heard.load(Ordering::Relaxed) != 0; // Relaxed: a hint
        let awaited = outstanding == 0 || heard;
        let head = out.ring_head.get();
        if ring == 0 {
            return Some(Taken { index, span: Span { offset: 0, end: head }, outstanding, awaited });
        }
        let tail = if index == retired {
            head
        } else {
            // The ring is free up to the end of the newest retired request's payload.
            out.ring_ends[retired.wrapping_sub(1) as usize & (layout.slots() - 1)].get()
        };
        take(head, tail, ring).map(|span| Taken { index, span, outstanding, awaited })
    }

    /// Publishes the request in the taken slot. It stores the words of the first line that are not stored yet and, last, the
    /// meta word. Then it stores the ready count. [`Reserved::commit`] wakes the peer if it sleeps. This is the one place in Rust where
    /// a request becomes visible; `gasneti_sci_send` in the header does the same in the same order.
    ///
    /// The caller puts a barrier before this call if it has stored something in the slot or in the ring.
    #[inline(always)]
    fn commit(&self, out: &Outbox, layout: &Layout, taken: Taken, me: usize, meta: Meta, words: &[u64]) {
        let (slot, sent) = (layout.request(taken.index), taken.index.wrapping_add(1));
        // Counted before the slot is published: the poller takes an answer to a request that was not counted for damage.
        // Relaxed: a thread that sees the answer sees, through the peer, what was stored before the request's Release.
        self.direct.sent.store(sent, Ordering::Relaxed);
        self.queue.packet(slot, meta.bits(), words);
        if taken.awaited {
            self.queue.hand_over(slot);
        }
        if out.crosses_lines.get() != meta.payload_crosses_lines() {
            out.crosses_lines.set(meta.payload_crosses_lines());
        }
        self.direct.heard.store(0, Ordering::Relaxed); // Relaxed: a hint
        out.ring_head.set(taken.span.end);
        out.ring_ends[taken.index as usize & (layout.slots() - 1)].set(taken.span.end);
        self.control.publish32(layout.ready(me), sent);
        self.mark_exist(layout, me);
        if taken.outstanding != 0 {
            self.claim_ahead(layout, &taken, meta.payload_crosses_lines());
        }
    }

    /// Calls `claim` with the room of a next request that has `ring` bytes, if it is there: its lines may be claimed by
    /// [`RemoteMap::claim_by_store`]. In PAR nobody else sends meanwhile, and this does nothing if another thread is sending; a read-modify-write
    /// that buys more than it costs (8 bytes to a mail box one way 119 -> 105 ns, EPYC VM). In SEQ no thread comes here between a reservation and
    /// its commit, since nothing polls there.
    #[inline(always)]
    pub fn with_next_room(&self, layout: &Layout, ring: usize, claim: impl FnOnce(Taken)) {
        let _ = self.outbox.try_with(|out| self.take(out, layout, ring).map(claim));
    }

    /// Claims the slot of the next request, if it is free, under the conditions of [`Self::with_next_room`].
    #[inline(always)]
    pub fn claim_next_slot(&self, layout: &Layout) {
        let Some(out) = self.outbox.try_lock() else { return };
        let (index, retired) = self.numbers();
        let outstanding = index.wrapping_sub(retired);
        if outstanding < self.direct.room && !cfg!(loom) {
            // SAFETY: the peer is reached by address, because there is `room`; the slot is free, as just seen.
            unsafe { Direct::claim(self.direct.request_slot(index), out.crosses_lines.get()) };
        } else if outstanding < layout.slots() as u32 {
            self.claim_by_offset(layout.request(index), out.crosses_lines.get());
        }
    }

    /// Claims a slot by stores (rule 5 of `slot`), both lines of it if the payload will probably cross lines. Both at once, because stores to the
    /// second line would have to wait until the first one is there. `slot`: its address as `direct` gives it; if that is null, `offset` says where
    /// it is.
    #[inline(always)]
    pub(super) fn claim_slot(&self, slot: *mut u64, offset: impl Fn() -> usize, crosses_lines: bool) {
        match !slot.is_null() && !cfg!(loom) {
            // SAFETY: an address of `direct`; callers have seen that the slot is free. Loom sees no stores by address.
            true => unsafe { Direct::claim(slot, crosses_lines) },
            false => self.claim_by_offset(offset(), crosses_lines),
        }
    }

    /// [`Self::claim_slot`] where stores go by offsets alone.
    #[inline(always)]
    fn claim_by_offset(&self, offset: usize, crosses_lines: bool) {
        self.queue.claim_by_store(offset);
        if crosses_lines {
            self.queue.claim_by_store(offset + LINE);
        }
    }

    /// Claims a batch of slots after the request in `taken` ([`CLAIM_BATCH`]). The caller has the outbox, and has announced the request, which must not
    /// wait behind these stores.
    #[inline(always)]
    fn claim_ahead(&self, layout: &Layout, taken: &Taken, crosses_lines: bool) {
        // The last slot is free if fewer than `slots` requests lie between the oldest outstanding one and it. `take` has read what is retired
        // with Acquire, so the peer's reads of these slots and this node's reads of the paired replies come before these stores.
        let due = taken.index.is_multiple_of(CLAIM_BATCH);
        if due && taken.outstanding + 2 * CLAIM_BATCH as usize <= layout.slots() {
            let first = taken.index.wrapping_add(CLAIM_BATCH);
            (0..CLAIM_BATCH).for_each(|i| self.claim_by_offset(layout.request(first.wrapping_add(i)), crosses_lines));
        }
    }

    /// Sets the exist word of our group at the peer; jobs of one group do without.
    #[inline(always)]
    pub fn mark_exist(&self, layout: &Layout, me: usize) {
        if layout.grouped() {
            self.control.barrier(); // ready count and credits must be there when the exist word is seen
            self.control.publish(layout.exist(me), 1);
        }
    }
}

/// Room for one request at a peer, from [`Peer::reserve`]. Its owner stores the request there, then commits. If it is dropped
/// without that, the room is as before. In PAR other threads that send to the peer wait meanwhile.
pub struct Reserved<'a, A: Adapter> {
    peer: &'a Peer<A>,
    outbox: Locked<'a, Outbox>,
    /// What is reserved.
    pub taken: Taken,
    /// What the thread waits for that the message is for ([`Flags::what`]), or 0.
    what: u32,
}

impl<A: Adapter> Reserved<'_, A> {
    /// The peer's queue, to store to.
    #[inline(always)]
    pub fn queue(&self) -> &A::Remote {
        &self.peer.queue
    }

    /// `flags` say what the thread waits for that the message is for.
    #[inline(always)]
    pub fn for_waiter(mut self, flags: Flags) -> Self {
        self.what = flags.what();
        self
    }

    /// Counts `bytes` of a Medium.
    #[inline(always)]
    pub fn count_medium(&self, bytes: usize) {
        self.outbox.medium_bytes.set(self.outbox.medium_bytes.get() + bytes as u64);
    }

    /// Publishes the request as `Peer::commit` does; node `me` sends it.
    #[inline(always)]
    pub fn commit(self, layout: &Layout, me: u32, meta: Meta, words: &[u64]) {
        let Reserved { peer, outbox, taken, what } = self;
        peer.commit(&outbox, layout, taken, me as usize, meta, words);
        drop(outbox); // other threads need not wait for the system call that wakes the peer
        peer.bell.stored_for(what);
    }

    /// [`Self::commit`] of a request of which all but the meta word is stored.
    #[inline(always)]
    pub fn commit_stored(self, layout: &Layout, me: u32, meta: Meta) {
        self.queue().barrier(); // all of it must be there before the meta word
        self.commit(layout, me, meta, &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_pieces_are_whole_and_never_overlap_what_is_in_use() {
        let mut state = 1u32;
        let (mut head, mut tail) = (0u64, 0u64);
        let mut live: Vec<(Span, usize)> = Vec::new();
        for _ in 0..20_000 {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            let len = 1 + state as usize % crate::am::region::MAX_MEDIUM;
            match take(head, tail, len) {
                Some(span) => {
                    assert!(span.offset + len <= RING && span.offset % 64 == 0);
                    for (other, n) in &live {
                        assert!(span.offset + len <= other.offset || other.offset + n <= span.offset);
                    }
                    head = span.end;
                    live.push((span, len));
                }
                None => {
                    assert!(!live.is_empty(), "an empty ring takes any payload up to the maximum");
                    tail = live.remove(0).0.end;
                    if live.is_empty() {
                        tail = head;
                    }
                }
            }
        }
    }
}
