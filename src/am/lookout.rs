//! Where the search for announced messages stands. The search itself, and what peers announce: `announced`.
//!
//! Must not know: what is done with what is found.

use crate::am::region::{GROUP, LINE, Layout};
use std::cell::Cell;

/// Words of a line: ready counts, or exist words.
pub(super) const WORDS: usize = LINE / 8;

/// Where the search for announced messages stands.
pub(super) struct Lookout {
    /// The line of announcements whose turn it is, how many there are, and where they begin.
    pub(super) line: Cell<usize>,
    pub(super) lines: usize,
    pub(super) first: usize,
    /// For each line of ready counts: the counts of its peers at the time when everything that they announce had been run.
    pub(super) seen: Box<[[Cell<u64>; WORDS]]>,
    /// For each line of exist words, a bit for each group whose scan was cut short by the budget.
    pub(super) unfinished: Box<[Cell<u8>]>,
}

impl Lookout {
    /// A search that begins at the first line.
    pub(super) fn new(layout: &Layout) -> Lookout {
        let (nodes, grouped) = (layout.nodes(), layout.grouped());
        Lookout {
            line: Cell::new(0),
            lines: nodes.div_ceil(if grouped { GROUP * WORDS } else { WORDS }),
            first: if grouped { layout.exist(0) } else { layout.ready(0) },
            seen: (0..nodes.div_ceil(WORDS)).map(|_| Default::default()).collect(),
            unfinished: vec![Cell::new(0); nodes.div_ceil(GROUP * WORDS)].into(),
        }
    }

    #[inline(always)]
    pub(super) fn next_line(&self) {
        let next = self.line.get() + 1;
        self.line.set(if next == self.lines { 0 } else { next });
    }
}
