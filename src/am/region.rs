//! Layout of the control and command regions: each offset is computed here, once.
//!
//! Control region, one per node, written by all peers:
//! ```text
//! header line | exist: u64 per 64 peers | ready: {requests u32, replies u32} per peer | credit: u64 per peer
//!             | reply credit: u64 per peer | barrier cells: u64 per peer, twice     (each kind begins at a multiple of APART)
//! ```
//! Command region, one per node: a queue per peer, written by that peer alone:
//! ```text
//! request slots | reply slots (reply i answers request i) | request ring | reply ring (bytes of Medium payloads)
//! ```
//! Rings: a payload stays in one piece, so at worst a message wastes its own length at the ring's end; credits are held
//! back for less than an eighth of a ring. Four payloads of the maximum length therefore always suffice for progress.
//!
//! Must not know: what the words mean to their readers.

use crate::os::machine;
use crate::sci::SegmentId;

/// The unit of the layout, and bytes of an SCI packet, whatever the processor's lines are. For longer ones see `APART` below.
pub const LINE: usize = 64;
/// Words of two kinds are this far apart, so that they share no cache line of any processor that the library is built for
/// (docs/architectures.md). Nodes look at the words of one kind while peers write those of another.
const APART: usize = if cfg!(loom) { LINE } else { 256 }; // every word is an object of a loom model
/// Bytes of a slot: two lines, so that one adjacent-line prefetch brings both.
pub const SLOT: usize = 128;
/// Part of every sequence, so that zeroed memory is no message. The bits below it count laps.
pub const SEQUENCE: u16 = 0x8000;
/// `gasnet_AMMaxMedium`, bytes (core.md §9.1: at least 512).
pub const MAX_MEDIUM: usize = if cfg!(loom) { 64 } else { 64 << 10 }; // every word is an object of a loom model
/// `gasnet_AMMaxLongRequest` and `…Reply`, bytes: the largest that fits an `int` (contract: core.md §9.1).
pub const MAX_LONG: usize = i32::MAX as usize;
/// `gasnet_AMMaxArgs`.
pub const MAX_ARGS: usize = 16;
/// Words of as many arguments as a message can have.
pub const ARG_WORDS: usize = MAX_ARGS / 2;
/// Bytes of a request or reply ring.
pub const RING: usize = 4 * MAX_MEDIUM;
/// Peers that share one exist word.
pub const GROUP: usize = if cfg!(loom) { LINE / 8 } else { 64 }; // as above

/// The control region's segment id.
pub const CONTROL: SegmentId = SegmentId(1);
/// The command region's segment id.
pub const COMMAND: SegmentId = SegmentId(2);
/// The payload region's segment id: the GASNet segment.
pub const PAYLOAD: SegmentId = SegmentId(3);
/// Node 0's environment, during init.
pub const ENVIRONMENT: SegmentId = SegmentId(100);
/// The collective region's segment id; its layout is `coll::area`.
pub const COLLECTIVE: SegmentId = SegmentId(4);
/// Segment id of the DECK heap.
pub const DECK: SegmentId = SegmentId(5);
/// Node 0's segment with the words of all links, in timing mode.
#[cfg(feature = "timed")]
pub const LINKS: SegmentId = SegmentId(6);

/// Changes whenever a region's layout or the protocol does; a peer with another value is refused. The size of a slot is part of
/// it. Raise the number for any other change.
const LAYOUT_VERSION: u64 = 0x5C1_0004 << 16 | SLOT as u64;

/// What a node says of its layout, and of its kind of machine: nodes of a job say the same.
pub fn layout_version() -> u64 {
    machine::layout(LAYOUT_VERSION)
}

const PAGE: usize = if cfg!(loom) { LINE } else { 4096 };

/// Offsets within the regions of a job with this many nodes and slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    nodes: usize,
    slots: usize,
    // The fields below are derived from these two, once, because every message needs them (32 instructions of 100 in a poll
    // that finds nothing).
    shift: u32,
    ready: usize,
    credit: usize,
    queue_len: usize,
}

impl Layout {
    /// `slots`: request slots per queue, a power of two.
    pub fn new(nodes: u32, slots: u32) -> Layout {
        assert!(slots.is_power_of_two() && nodes > 0);
        let (nodes, shift, slots) = (nodes as usize, slots.trailing_zeros(), slots as usize);
        let ready = APART + apart(8 * nodes.div_ceil(GROUP));
        let credit = ready + apart(8 * nodes);
        Layout { nodes, slots, shift, ready, credit, queue_len: pages(2 * slots * SLOT + 2 * RING) }
    }

    /// Number of nodes.
    #[inline(always)]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Request (and reply) slots of a queue.
    #[inline(always)]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The words of the control region's header line; both sides must agree on all of them.
    pub fn header(&self) -> [u64; 4] {
        [layout_version(), self.nodes as u64, self.slots as u64, RING as u64]
    }

    /// True if there is more than one group of peers, so that exist words are used.
    #[inline(always)]
    pub fn grouped(&self) -> bool {
        self.nodes > GROUP
    }

    /// Exist word of `peer`'s group.
    pub fn exist(&self, peer: usize) -> usize {
        APART + 8 * (peer / GROUP)
    }

    /// Ready counts that `peer` writes: requests in the low half, replies in the high half.
    #[inline(always)]
    pub fn ready(&self, peer: usize) -> usize {
        self.ready + 8 * peer
    }

    /// Requests that `peer` has consumed (low half), and one more than the last of them it replied to (high half).
    #[inline(always)]
    pub fn credit(&self, peer: usize) -> usize {
        self.credit + 8 * peer
    }

    /// Position up to which `peer` has consumed our reply ring at its side.
    pub fn reply_credit(&self, peer: usize) -> usize {
        self.credit(0) + apart(8 * self.nodes) + 8 * peer
    }

    /// Barrier cell that `peer` writes in phases of this parity.
    pub fn barrier(&self, parity: usize, peer: usize) -> usize {
        self.reply_credit(0) + apart(8 * self.nodes) + 8 * (parity * self.nodes + peer)
    }

    /// Bytes of a control region.
    pub fn control_len(&self) -> usize {
        pages(self.barrier(1, self.nodes))
    }

    /// Bytes of one peer's queue.
    #[inline(always)]
    pub fn queue_len(&self) -> usize {
        self.queue_len
    }

    /// Offset of `peer`'s queue in the command region.
    #[inline(always)]
    pub fn queue(&self, peer: usize) -> usize {
        peer * self.queue_len()
    }

    /// Bytes of a command region.
    pub fn command_len(&self) -> usize {
        self.queue(self.nodes)
    }

    /// Request slot of request number `index`, within a queue.
    #[inline(always)]
    pub fn request(&self, index: u32) -> usize {
        (index as usize & (self.slots - 1)) * SLOT
    }

    /// Reply slot paired with request number `index`, within a queue.
    #[inline(always)]
    pub fn reply(&self, index: u32) -> usize {
        self.slots * SLOT + self.request(index)
    }

    /// Start of the request ring within a queue.
    #[inline(always)]
    pub fn request_ring(&self) -> usize {
        2 * self.slots * SLOT
    }

    /// Start of the reply ring within a queue.
    #[inline(always)]
    pub fn reply_ring(&self) -> usize {
        self.request_ring() + RING
    }

    /// Sequence that request or reply number `index` carries: the lap modulo 2¹⁵, never that of the lap before, never 0.
    #[inline(always)]
    pub fn sequence(&self, index: u32) -> u16 {
        (index >> (self.shift & 31)) as u16 | SEQUENCE
    }

    /// True if request, or reply, number `index` has the first slot: the first of a lap.
    #[inline(always)]
    pub fn begins_lap(&self, index: u32) -> bool {
        index as usize & (self.slots - 1) == 0
    }

    /// True if one of these requests belongs to a lap in which stale reply slots are cleared (slot rule 4). Such laps come
    /// twice as often as a sequence number comes again. `count` ≤ slots.
    #[inline(always)]
    pub fn clears(&self, first: u32, count: u32) -> bool {
        let clearing = |index| self.sequence(index) & 0x3fff == 0;
        clearing(first) || clearing(first.wrapping_add(count.wrapping_sub(1)))
    }

    /// May `peer` write there in a control region? The words are its own, but for the exist word of its group.
    pub fn may_write_control(&self, peer: u32, offset: usize, len: usize) -> bool {
        let peer = peer as usize;
        let words = [self.ready(peer), self.credit(peer), self.reply_credit(peer), self.exist(peer)];
        let barrier = [self.barrier(0, peer), self.barrier(1, peer)];
        words.iter().chain(&barrier).any(|word| offset >= *word && offset + len <= word + 8)
    }

    /// May `peer` write there in a command region? Its queue is its own.
    pub fn may_write_command(&self, peer: u32, offset: usize, len: usize) -> bool {
        let queue = self.queue(peer as usize);
        offset >= queue && offset + len <= queue + self.queue_len()
    }
}

const fn apart(bytes: usize) -> usize {
    bytes.next_multiple_of(APART)
}

const fn pages(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}

const _: () = assert!(MAX_ARGS * 4 + 16 <= SLOT, "arguments, meta and one more word fit a slot");
const _: () = assert!(RING / 8 + 3 * MAX_MEDIUM <= RING, "held-back credits and wrap waste leave room for one payload");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap() {
        for nodes in [1, 2, 3, 64, 65, 1024] {
            let l = Layout::new(nodes, 64);
            let n = nodes as usize;
            let mut fields = vec![(0, 64)];
            fields.extend((0..n.div_ceil(64)).map(|g| (l.exist(g * 64), 8)));
            fields.extend((0..n).map(|p| (l.ready(p), 8)));
            fields.extend((0..n).map(|p| (l.credit(p), 8)));
            fields.extend((0..n).map(|p| (l.reply_credit(p), 8)));
            fields.extend((0..2 * n).map(|i| (l.barrier(i / n, i % n), 8)));
            fields.sort();
            assert!(fields.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0), "{nodes} nodes");
            let (last, len) = *fields.last().unwrap();
            assert!(last + len <= l.control_len());
        }
    }

    #[test]
    fn words_of_two_kinds_share_no_line_of_any_processor() {
        for nodes in [1, 2, 8, 9, 64, 1000] {
            let l = Layout::new(nodes, 64);
            let last = nodes as usize - 1;
            let starts = [l.exist(0), l.ready(0), l.credit(0), l.reply_credit(0), l.barrier(0, 0)];
            let ends = [32, l.exist(last) + 8, l.ready(last) + 8, l.credit(last) + 8, l.reply_credit(last) + 8];
            assert!(starts.iter().zip(ends).all(|(start, end)| start / 256 > (end - 1) / 256), "{nodes} nodes");
        }
    }

    #[test]
    fn a_peer_writes_its_own_words_and_its_own_queue() {
        let layout = Layout::new(3, 64);
        let control = |peer, at, len| layout.may_write_control(peer, at, len);
        let command = |peer, at, len| layout.may_write_command(peer, at, len);
        for peer in 0..3 {
            let at = peer as usize;
            assert!(control(peer, layout.ready(at) + 4, 4) && control(peer, layout.credit(at), 8));
            assert!(control(peer, layout.barrier(1, at), 8) && control(peer, layout.exist(at), 8));
            assert!(!control(peer, 0, 8) && !control(peer, layout.ready(at), 16));
            assert!(!control(peer, layout.credit((at + 1) % 3), 8));
            assert!(command(peer, layout.queue(at), layout.queue_len()));
            assert!(!command(peer, layout.queue(at) + 1, layout.queue_len()));
            assert!(!command(peer, layout.queue((at + 1) % 3), 8));
        }
    }

    #[test]
    fn sequence_differs_from_the_lap_before_also_when_it_wraps() {
        let l = Layout::new(2, 4);
        for index in (0..1_200_000u32).step_by(3).chain([u32::MAX - 4, u32::MAX]) {
            assert_ne!(l.sequence(index), l.sequence(index.wrapping_add(4)));
            assert_eq!(l.request(index), l.request(index.wrapping_add(4)));
        }
        let mut every_lap = (0..1 << 18).step_by(4);
        assert!(every_lap.all(|index| l.sequence(index) != 0), "zeroed memory must not look like a message");
    }

    #[test]
    fn between_two_laps_of_one_sequence_lies_one_that_clears() {
        let l = Layout::new(2, 4);
        for first in [0, 1 << 14, 1 << 15, 77] {
            assert_eq!(l.sequence(first * 4), l.sequence((first + 0x8000) * 4));
            assert!((first + 1..first + 0x8000).any(|lap| l.clears(lap * 4, 4)));
        }
        assert!(l.clears(0x4000 * 4 - 1, 2) && l.clears(0x4000 * 4 + 3, 4) && !l.clears(0x4000 * 4 - 4, 4));
    }
}
