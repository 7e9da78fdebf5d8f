//! What peers announce. An empty poll looks at one line of it; before the core is given away, all of it is looked at.
//!
//! Each peer has ready counts, eight peers to a line. Beyond 64 nodes each group of 64 has an exist word as well, eight groups
//! to a line. A poll that finds nothing at the predicted peers looks at one such line, and the next poll at the next line. So a
//! poll touches as much whatever the number of nodes. The delay grows instead: one poll for each eight nodes, beyond 64 nodes
//! one for each 512. All lines are looked at before the core is given away, by each poll that has run as many messages of a peer as
//! one look runs, and now and then by others that find something.
//!
//! A peer may write anything. Words and counts are compared with what was consumed, and only say where to look.
//!
//! Must not know: how messages are run.

use super::engine::Am;
use super::inbox::{Counters, Inbox};
use super::lookout::WORDS;
use crate::am::region::{GROUP, LINE};
use crate::sci::{Adapter, LocalMap};
use crate::sync::{Ordering, fence};

impl<A: Adapter> Inbox<A> {
    /// Looks at everything that peers announce.
    #[cold]
    #[inline(never)]
    pub(super) fn scan(&self, am: &Am<A>) -> u32 {
        Counters::add(&self.counters.scans, 1);
        (0..self.lookout.lines).map(|line| self.scan_announced(am, line)).sum()
    }

    /// Before a sleep: looks at all ready counts, whatever the exist words say. A sender sets its exist word before it looks
    /// whether we sleep. But when several senders set one word, only the last store is ordered before what we see.
    #[cold]
    #[inline(never)]
    pub(super) fn scan_everything(&self, am: &Am<A>) -> u32 {
        Counters::add(&self.counters.scans, 1);
        (0..self.lookout.seen.len()).map(|line| self.scan_peers(am, line)).sum()
    }

    /// True if this line announces nothing.
    #[inline(always)]
    pub(super) fn is_line_quiet(&self, line: usize) -> bool {
        let first = self.lookout.first + LINE * line;
        if self.layout.grouped() { !self.is_announced(line, first) } else { self.is_seen(line, first) }
    }

    /// True if a group in this line of exist words, which lies at `first`, has something to look at.
    #[inline(always)]
    fn is_announced(&self, line: usize, first: usize) -> bool {
        let words = self.control.words::<WORDS>(first);
        // Relaxed: what is announced is looked at with Acquire, slot by slot. The loop reads word by word: reading all at once
        // takes registers that a poll would have to save.
        let any = (0..WORDS).any(|i| words.word(i).load(Ordering::Relaxed) != 0);
        any || self.lookout.unfinished[line].get() != 0
    }

    /// True if the ready counts of these eight peers, which lie at `first`, are the same as when all their messages had been
    /// run.
    #[inline(always)]
    fn is_seen(&self, line: usize, first: usize) -> bool {
        let (words, seen) = (self.control.words::<WORDS>(first), &self.lookout.seen[line]);
        // Relaxed: a hint; the slots themselves are looked at with Acquire. Word by word, to save no registers.
        (0..WORDS).all(|i| words.word(i).load(Ordering::Relaxed) == seen[i].get())
    }

    /// Serves the peers that this line announces.
    #[cold]
    #[inline(never)]
    pub(super) fn scan_announced(&self, am: &Am<A>, line: usize) -> u32 {
        match self.layout.grouped() {
            true if self.is_line_quiet(line) => 0,
            true => self.scan_groups(am, line),
            false => self.scan_peers(am, line),
        }
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
            // ORDERING: full fence ↔ the store barrier between ready and exist in `Peer::mark_exist`. It orders our clearing of
            // the exist word before our reads of ready counts. Without it, a clearing still in the store buffer could wipe out
            // a sender's exist word after we have read its old ready count. That message would then wait for the sender's next
            // one.
            fence(Ordering::SeqCst);
            let lines = first / WORDS..(first + GROUP).min(nodes).div_ceil(WORDS);
            let served: u32 = lines.map(|line| self.scan_peers(am, line)).sum();
            // Look again: the budget may have left something.
            let others = unfinished.get() & !(1 << bit);
            unfinished.set(others | u8::from(served > 0) << bit);
            found += served;
        }
        found
    }

    /// Serves those of eight peers whose ready counts differ from what was consumed.
    fn scan_peers(&self, am: &Am<A>, line: usize) -> u32 {
        if self.is_seen(line, self.layout.ready(line * WORDS)) {
            return 0;
        }
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
                self.predict(am, peer as u32);
            }
            found += served;
        }
        found
    }
}
