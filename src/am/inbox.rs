//! What the receiving half knows: of each peer's messages, of replies under way, of what to look at next. The code that receives
//! is in `receive`, `poll`, `announced`, `run` and `watched`.
//!
//! Must not know: how messages are run, the engine.

#![allow(unsafe_code)] // addresses of what one peer has

use super::direct::{GRANT, GRANT_ALONE};
use super::lookout::Lookout;
use super::outbox::Peer;
use super::slot::Meta;
use super::token::Token;
use crate::am::region::Layout;
use crate::sci::Adapter;
use std::cell::Cell;

/// Peers that are looked at directly.
pub(super) const PREDICTED: usize = if cfg!(loom) { 2 } else { 4 };

/// After this many polls that served what the header had seen, one poll looks at every predicted peer. So a busy peer does not
/// starve the others, nor its requests its replies.
pub(super) const AROUND: u64 = 8;
/// [`AROUND`] for a job with one peer and no network, where replies alone could be left behind; as many as a poll runs of one kind. With 8 a Short there and
/// back takes 55 instructions more.
pub(super) const AROUND_ALONE: u64 = 32;

const _: () = assert!(AROUND.is_power_of_two() && AROUND_ALONE.is_power_of_two(), "one less is a mask");

/// What is known of one peer's messages. 64 bytes: a line per peer.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct From {
    /// Number of the next request to run.
    pub(crate) next_request: Cell<u32>,
    /// Number of the next request to retire, by its reply or, if it gets none, by the peer's credit count.
    pub(crate) next_reply: Cell<u32>,
    /// Requests run and not given back yet.
    pub(super) unacked: Cell<u32>,
    pub(super) unacked_bytes: Cell<u32>,
    /// One more than the last request that was answered.
    pub(crate) replied_to: Cell<u32>,
    /// Replies sent to the peer: our half of its ready counts.
    pub(crate) replies_sent: Cell<u32>,
    /// The payload of the last reply to the peer that the library has sent went on in the second line of its slot.
    pub(super) crosses_lines: Cell<bool>,
    /// Replies of the peer that were run.
    pub(super) replies_seen: Cell<u32>,
    /// Position up to which we wrote the reply ring at the peer.
    pub(crate) reply_head: Cell<u64>,
    /// Position up to which we consumed our own reply ring, and the position last sent to the peer.
    pub(crate) ring_done: Cell<u64>,
    pub(crate) ring_told: Cell<u64>,
}

/// A streamed reply under way: what its slot said at the first look. It is kept here because the peer may write to the slot
/// meanwhile.
#[derive(Default)]
pub(crate) struct Stream {
    /// The request that it answers.
    pub(crate) index: Cell<Option<u32>>,
    pub(crate) meta: Cell<Meta>,
    /// Where its bytes go.
    pub(crate) address: Cell<usize>,
    /// Bytes copied so far.
    pub(crate) done: Cell<usize>,
}

/// What a node has of the peer that it watches; null before it watches any, and the way as long as there is none.
struct Watched<A: Adapter>(Cell<(*const From, *const Peer<A>)>);

// SAFETY: whoever has the inbox uses these addresses, one thread after the other.
unsafe impl<A: Adapter> Send for Watched<A> {}

/// State of the receiving half. One thread at a time has it. Its cells make it harmless when that thread enters again.
pub struct Inbox<A: Adapter> {
    pub(super) me: usize,
    pub(super) layout: Layout,
    pub(crate) command: A::Local,
    pub(crate) control: A::Local,
    pub(crate) from: Box<[From]>,
    /// Streamed replies, beside `from`, whose lines are full. Few jobs have any.
    pub(crate) streams: Box<[Stream]>,
    pub(super) predicted: [Cell<u32>; PREDICTED],
    pub(super) predictions: usize,
    /// How many of the predicted peers are looked at now, the newest first.
    pub(super) likely: Cell<usize>,
    /// Every peer is predicted, so each poll looks at all slots.
    pub(super) covered: bool,
    pub(super) lookout: Lookout,
    /// The watched peer's own, so that the path of a message that was seen there looks nothing up: [`Self::watched`].
    watched: Watched<A>,
    /// Polls that are granted to the header at once, and one less than a power of two: which polls that found something look at all peers.
    pub(super) grant: u32,
    pub(super) around: u64,
    pub(super) request_token: &'static Token,
    pub(super) reply_token: &'static Token,
    pub(crate) counters: Counters,
}

/// What polling did; read at exit.
#[derive(Default)]
pub struct Counters {
    /// Polls by the library; those that the header makes inline are not counted.
    pub polls: Cell<u64>,
    /// Polls that found something.
    pub polls_hit: Cell<u64>,
    /// Looks at all ready counts.
    pub scans: Cell<u64>,
    /// Credit counts sent.
    pub credits: Cell<u64>,
    /// Requests run.
    pub requests: Cell<u64>,
    /// Replies run.
    pub replies: Cell<u64>,
    /// Replies sent.
    pub replied: Cell<u64>,
    /// Bytes of Medium reply payloads sent.
    pub reply_bytes: Cell<u64>,
}

impl Counters {
    #[inline(always)]
    pub(crate) fn add(counter: &Cell<u64>, n: u64) {
        counter.set(counter.get() + n);
    }
}

impl<A: Adapter> Inbox<A> {
    /// From now on the messages of `peer` are watched, to which `way` leads, if there is one.
    #[inline(always)]
    pub(super) fn set_watched(&self, peer: usize, way: Option<&Peer<A>>) {
        self.watched.0.set((&raw const self.from[peer], way.map_or(std::ptr::null(), std::ptr::from_ref)));
    }

    /// What there is of the watched peer. `None`: no way leads there yet, so it has got no reply and no request.
    #[inline(always)]
    pub(super) fn watched(&self) -> Option<(&From, &Peer<A>)> {
        let (from, way) = self.watched.0.get();
        // SAFETY: null, or set by `set_watched`: ways stay as long as the engine, which has this inbox.
        let way = unsafe { way.as_ref() }?;
        // SAFETY: where there is a way, this was set to an element of `from`, which stays as long as this inbox.
        Some((unsafe { &*from }, way))
    }

    /// An empty inbox of node `me`. `has_network`: the adapter has one, which polls look at.
    pub fn new(me: u32, layout: Layout, command: A::Local, control: A::Local, has_network: bool) -> Inbox<A> {
        let nodes = layout.nodes();
        let others = (1..nodes).map(|d| ((me as usize + d) % nodes) as u32);
        let predicted: Vec<u32> = others.take(PREDICTED).collect();
        let alone = nodes == 2;
        Inbox {
            me: me as usize,
            layout,
            command,
            control,
            from: (0..nodes).map(|_| From::default()).collect(),
            streams: (0..nodes).map(|_| Stream::default()).collect(),
            predictions: predicted.len(),
            predicted: std::array::from_fn(|i| Cell::new(predicted.get(i).copied().unwrap_or(0))),
            covered: predicted.len() + 1 == nodes,
            likely: Cell::new(predicted.len()),
            lookout: Lookout::new(&layout),
            watched: Watched(Cell::new((std::ptr::null(), std::ptr::null()))),
            grant: if alone { GRANT_ALONE } else { GRANT },
            around: if alone && !has_network { AROUND_ALONE - 1 } else { AROUND - 1 },
            request_token: Token::leak(),
            reply_token: Token::leak(),
            counters: Counters::default(),
        }
    }

    /// The token that request handlers get.
    pub fn request_token(&self) -> &'static Token {
        self.request_token
    }

    /// Sets the counters as if `n` answered requests had been exchanged with each peer that is `known`: for tests of numbers that wrap.
    #[cfg(any(test, fuzzing))]
    pub(super) fn start_at(&self, n: u32, known: impl Fn(usize) -> bool) {
        use crate::sci::LocalMap;
        use crate::sync::Ordering;
        for (peer, from) in self.from.iter().enumerate().filter(|(peer, _)| known(*peer)) {
            for counter in
                [&from.next_request, &from.next_reply, &from.replied_to, &from.replies_sent, &from.replies_seen]
            {
                counter.set(n);
            }
            let twice = u64::from(n) << 32 | u64::from(n);
            for offset in [self.layout.ready(peer), self.layout.credit(peer)] {
                self.control.word(offset).store(twice, Ordering::Relaxed); // Relaxed: before there are peers
            }
        }
    }
}
