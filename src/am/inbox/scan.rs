//! Which queue to look at: what a poll in vain costs, and how what it misses is found.
//!
//! A poll in vain looks at the slots where the predicted peers' next messages would appear, and at one line of what all
//! peers announce, the next poll at the next line: eight peers' ready counts, or beyond 64 nodes the exist words of
//! eight groups. So it touches as much whatever the number of nodes, and what it misses the next ones find: a line more
//! for each eight nodes, beyond 64 for each 512. While all peers are predicted (up to 5 nodes) announcements tell of
//! replies behind unanswered requests only, and every eighth poll is enough: the line stays with the senders.
//! All of it is looked at before the core is given away, and after every `SCAN_EVERY` successful polls.
//!
//! Must not know how messages are run.

use super::super::Am;
use super::{Counters, Inbox};
use crate::region::{GROUP, LINE, Layout};
use crate::sci::{Adapter, LocalMap};
use crate::sync::{AtomicU64, Ordering, fence};
use crate::wait::Look;
use std::cell::Cell;

/// Words of a line: ready counts, or exist words.
const WORDS: usize = LINE / 8;
/// Polls in vain between thorough ones: with every peer predicted, and else.
const THOROUGH_COVERED: u32 = 8;
const THOROUGH: u32 = 64;

/// Where the next messages of a predicted peer appear. Slots, and the sequences that messages there would carry.
#[derive(Clone, Copy, Default)]
struct Watched {
    request: usize,
    reply: usize,
    sequences: [u16; 2],
}

/// What looking around remembers.
pub(super) struct Lookout {
    watched: [Cell<Watched>; super::PREDICTED],
    /// How many of them count; none while `armed` is false.
    watching: Cell<usize>,
    armed: Cell<bool>,
    /// Thorough polls in a row that found nothing.
    missed: Cell<u32>,
    /// The line of announcements that comes next, how many there are, and where they begin.
    line: Cell<usize>,
    lines: usize,
    first: usize,
    /// For each line of ready counts: these, peer by peer, when all that they announce had been run.
    seen: Box<[[Cell<u64>; WORDS]]>,
    /// For each line of exist words, a bit for each group whose scan was cut short by the budget.
    unfinished: Box<[Cell<u8>]>,
}

impl Lookout {
    pub(super) fn new(layout: &Layout) -> Lookout {
        let (nodes, grouped) = (layout.nodes(), layout.grouped());
        Lookout {
            watched: Default::default(),
            watching: Cell::new(0),
            armed: Cell::new(false),
            missed: Cell::new(0),
            line: Cell::new(0),
            lines: nodes.div_ceil(if grouped { GROUP * WORDS } else { WORDS }),
            first: if grouped { layout.exist(0) } else { layout.ready(0) },
            seen: (0..nodes.div_ceil(WORDS)).map(|_| Default::default()).collect(),
            unfinished: vec![Cell::new(0); nodes.div_ceil(GROUP * WORDS)].into(),
        }
    }

    /// A thorough poll found something, or not.
    #[inline(always)]
    pub(super) fn found(&self, any: bool) {
        self.missed.set(if any { 0 } else { self.missed.get().saturating_add(1) });
        self.armed.set(false);
    }

    /// The next poll is a thorough one.
    pub(super) fn unwatch(&self) {
        self.armed.set(false);
    }
}

impl<A: Adapter> Inbox<A> {
    #[inline(always)]
    fn is_covered(&self) -> bool {
        self.predictions + 1 >= self.layout.nodes()
    }

    /// The predictions to look at: the newest when it has long been quiet, and others are announced.
    #[inline(always)]
    pub(super) fn likely(&self) -> &[Cell<u32>] {
        let all = self.is_covered() || self.lookout.missed.get() < 2;
        &self.predicted[..if all { self.predictions } else { 1 }]
    }

    /// After a poll in vain: where the next ones look.
    #[inline(always)]
    pub(super) fn watch(&self) {
        let likely = self.likely();
        for (predicted, watched) in likely.iter().zip(&self.lookout.watched) {
            let peer = predicted.get() as usize;
            let from = &self.from[peer];
            let (request, reply) = (from.next_request.get(), from.next_reply.get());
            let queue = self.layout.queue(peer);
            watched.set(Watched {
                request: queue + self.layout.request(request),
                reply: queue + self.layout.reply(reply),
                sequences: [self.layout.sequence(request), self.layout.sequence(reply)],
            });
        }
        self.lookout.watching.set(likely.len());
        self.lookout.armed.set(true);
    }

    /// Nothing new at the watched slots, nor in this poll's line of announcements; and no thorough poll is due. What was
    /// run since `watch` looks like news there, and the thorough poll finds out; see also `Lookout::unwatch`.
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        let lookout = &self.lookout;
        if !lookout.armed.get() {
            return false;
        }
        for watched in &lookout.watched[..lookout.watching.get()] {
            let watched = watched.get();
            // Relaxed: hints; the thorough poll looks with Acquire.
            let request = self.command.word(watched.request).load(Ordering::Relaxed) as u16;
            let reply = self.command.word(watched.reply).load(Ordering::Relaxed) as u16; // Relaxed: so
            if request == watched.sequences[0] || reply == watched.sequences[1] {
                return false;
            }
        }
        let tick = self.tick.get().wrapping_add(1);
        if self.is_covered() {
            if tick & (THOROUGH_COVERED - 1) == 0 {
                return false;
            }
        } else {
            if tick & (THOROUGH - 1) == 0 || !self.is_line_quiet(lookout.line.get()) {
                return false;
            }
            self.next_line();
        }
        self.tick.set(tick);
        true
    }

    #[inline(always)]
    fn next_line(&self) {
        let next = self.lookout.line.get() + 1;
        self.lookout.line.set(if next == self.lookout.lines { 0 } else { next });
    }

    #[inline(always)]
    fn is_line_quiet(&self, line: usize) -> bool {
        let first = self.lookout.first + LINE * line;
        if self.layout.grouped() { !self.is_announced(line, first) } else { self.is_seen(line, first) }
    }

    /// What a thorough poll does when the predicted peers sent nothing.
    #[inline(always)]
    pub(super) fn look_around(&self, am: &Am<A>, look: Look, tick: u32) -> u32 {
        if look == Look::Last {
            return self.scan_everything(am);
        }
        let whole = if self.is_covered() { tick & (THOROUGH_COVERED - 1) == 0 } else { look != Look::Glance };
        if whole {
            return self.scan(am);
        }
        if self.is_covered() {
            return 0;
        }
        let line = self.lookout.line.get();
        self.next_line();
        if self.is_line_quiet(line) { 0 } else { self.scan_announced(am, line) }
    }

    /// Looks at everything that peers announce.
    #[cold]
    #[inline(never)]
    pub(super) fn scan(&self, am: &Am<A>) -> u32 {
        Counters::add(&self.counters.scans, 1);
        let line = |line| if self.is_line_quiet(line) { 0 } else { self.scan_announced(am, line) };
        (0..self.lookout.lines).map(line).sum()
    }

    /// Before a sleep: looks at all ready counts, whatever exist words say. Who announces a message sets its exist word
    /// before it looks whether we sleep; but of several that set one word the last alone is who we see it from.
    #[cold]
    #[inline(never)]
    fn scan_everything(&self, am: &Am<A>) -> u32 {
        Counters::add(&self.counters.scans, 1);
        let lines = 0..self.layout.nodes().div_ceil(WORDS);
        lines.map(|line| self.scan_line(am, line)).sum()
    }

    #[cold]
    #[inline(never)]
    fn scan_announced(&self, am: &Am<A>, line: usize) -> u32 {
        if self.layout.grouped() { self.scan_groups(am, line) } else { self.scan_peers(am, line) }
    }

    /// Has a group in this line of exist words, which lies at `first`, something to look at?
    #[inline(always)]
    fn is_announced(&self, line: usize, first: usize) -> bool {
        let words: &[_; WORDS] = self.control.words(first);
        // Relaxed: what is announced is looked at with Acquire, slot by slot.
        let any = words.iter().fold(0, |any, word| any | word.load(Ordering::Relaxed));
        any | u64::from(self.lookout.unfinished[line].get()) != 0
    }

    /// Are these eight peers' ready counts, which lie at `first`, as they were when all had been run?
    #[inline(always)]
    fn is_seen(&self, line: usize, first: usize) -> bool {
        let words: &[_; WORDS] = self.control.words(first);
        // Relaxed: a hint; the slots themselves are looked at with Acquire. Word by word, not by way of an array: its
        // stores would hold up the wider loads behind them.
        let differ = |(word, seen): (&AtomicU64, &Cell<u64>)| word.load(Ordering::Relaxed) ^ seen.get();
        words.iter().zip(&self.lookout.seen[line]).fold(0, |any, pair| any | differ(pair)) == 0
    }

    /// Serves those of eight peers whose ready counts are not as they were when all had been run.
    #[inline]
    fn scan_line(&self, am: &Am<A>, line: usize) -> u32 {
        if self.is_seen(line, self.layout.ready(line * WORDS)) { 0 } else { self.scan_peers(am, line) }
    }

    /// Serves the groups of one line of exist words that have something.
    fn scan_groups(&self, am: &Am<A>, line: usize) -> u32 {
        let nodes = self.layout.nodes();
        let unfinished = &self.lookout.unfinished[line];
        let mut found = 0;
        for bit in 0..WORDS.min(nodes.div_ceil(GROUP) - line * WORDS) {
            let first = (line * WORDS + bit) * GROUP;
            let word = self.control.word(self.layout.exist(first));
            // Relaxed: what it announces is looked at with Acquire, slot by slot.
            let exist = word.load(Ordering::Relaxed) != 0;
            if !exist && unfinished.get() & 1 << bit == 0 {
                continue;
            }
            word.store(0, Ordering::Relaxed); // Relaxed: ordered by the fence that follows
            // ORDERING: full fence ↔ the store barrier between ready and exist in `Peer::mark_exist`: our clearing must
            // be done before we read ready counts, else a sender's exist could be wiped out by a clearing that is still
            // on its way, after we read the ready count from before it: the message would wait for the next one.
            fence(Ordering::SeqCst);
            let lines = first / WORDS..(first + GROUP).min(nodes).div_ceil(WORDS);
            let served: u32 = lines.map(|line| self.scan_line(am, line)).sum();
            // Look again: the budget may have left something.
            let others = unfinished.get() & !(1 << bit);
            unfinished.set(others | u8::from(served > 0) << bit);
            found += served;
        }
        found
    }

    /// Serves those of eight peers whose ready counts differ from what was consumed.
    fn scan_peers(&self, am: &Am<A>, line: usize) -> u32 {
        let mut found = 0;
        for peer in line * WORDS..(line * WORDS + WORDS).min(self.layout.nodes()) {
            // Relaxed: a hint; the slot itself is looked at with Acquire.
            let ready = self.control.word(self.layout.ready(peer)).load(Ordering::Relaxed);
            let from = &self.from[peer];
            if ready as u32 == from.next_request.get() && (ready >> 32) as u32 == from.replies_seen.get() {
                self.lookout.seen[line][peer % WORDS].set(ready);
                continue;
            }
            let served = self.retire(am, peer) + self.serve(am, peer);
            if served > 0 {
                self.predict(peer as u32);
            }
            found += served;
        }
        found
    }
}
