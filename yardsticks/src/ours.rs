//! The wire over UDP of this library: its links, without sockets.

use super::net::End;
use super::{DATAGRAM, PIECE};
use gasnet_sci::sci::far::udp::head::HEAD;
use gasnet_sci::sci::far::udp::link::Link;
use gasnet_sci::sci::far::udp::mode::Mode;
use gasnet_sci::sci::far::udp::pipe::Terms;
use gasnet_sci::sci::far::wire::{Lost, Sink};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a node writes into its peer.
struct Segment(Vec<u8>);

impl Sink for Segment {
    fn frame(&self, _: u32, _: &[u8]) {}
    fn place(&self, _: u32, offset: u64, len: usize, _: bool) -> Option<*mut u8> {
        let at = self.0.as_ptr().wrapping_add(offset as usize).cast_mut();
        (offset as usize + len <= self.0.len()).then_some(at)
    }
    fn written(&self, _: u64) {}
    fn lost(&self, _: u32, why: &Lost) {
        panic!("{why:?}");
    }
    fn left(&self, _: u32) {}
}

pub struct Ours {
    link: Link,
    peer: u32,
    segment: Segment,
    source: &'static [u8],
    pieces: u64,
    posted: u64,
    done: &'static AtomicU64,
}

impl Ours {
    /// Both ends: the first one writes so many pieces, of which at most `window` packets are on their way.
    pub fn pair(pieces: u64, mode: Mode, window: u32) -> [Ours; 2] {
        [(0, pieces), (1, 0)].map(|(me, pieces)| Ours::new(me, pieces, mode, window as u16))
    }

    fn new(me: u32, pieces: u64, mode: Mode, window: u16) -> Ours {
        let terms = Terms {
            mode,
            job: 1,
            me,
            peer: 1 - me,
            incarnation: me,
            first: 0,
            seeds: if me == 0 { [1, 2] } else { [2, 1] },
            window,
            most: DATAGRAM - HEAD,
            dead: 10_000_000,
            contact: 60_000_000,
        };
        Ours {
            link: Link::new(terms, 0),
            peer: 1 - me,
            segment: Segment(vec![0; PIECE]),
            source: vec![1; PIECE].leak(),
            pieces,
            posted: 0,
            done: Box::leak(Box::default()),
        }
    }

    /// Writes are posted some at a time, as a client does.
    fn post(&mut self) {
        while self.posted < self.pieces && self.posted < self.done.load(Ordering::Acquire) + 4 {
            if !self.link.write_later(0, self.source.as_ptr(), self.source.len(), Some(self.done)) {
                return;
            }
            self.posted += 1;
        }
    }
}

impl End for Ours {
    fn hear(&mut self, now: u64, mut datagram: Vec<u8>) {
        self.link.on_datagram(now, &mut datagram, self.peer, &self.segment).expect("a datagram of ours");
    }

    fn on_timer(&mut self, now: u64) {
        self.link.pipe().on_timer(now);
    }

    fn timer(&mut self) -> u64 {
        self.link.pipe().timer()
    }

    fn next(&mut self, now: u64) -> Option<Vec<u8>> {
        self.post();
        let mut bytes = Vec::new();
        self.link.pipe().next(now)?.put(&mut bytes);
        Some(bytes)
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.pieces
    }

    fn moved(&self) -> u64 {
        if self.pieces == 0 { u64::MAX } else { self.done.load(Ordering::Acquire) * PIECE as u64 }
    }
}
