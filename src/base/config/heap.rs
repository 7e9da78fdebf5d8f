//! Settings of the debug heap. Contract: tools.md §15.
//!
//! Must not know: the variables.

use super::NodeSet;

/// Settings of the debug heap.
#[derive(Clone, Debug, PartialEq)]
pub struct Heap {
    /// The pattern with which new memory is filled.
    pub init: Option<u64>,
    /// The pattern with which freed memory is filled.
    pub clobber: Option<u64>,
    /// Whether freed memory is never given back.
    pub leak_all: bool,
    /// Whether freed memory is kept, and checked for changes.
    pub scan_freed: bool,
    /// Whether each call checks everything.
    pub extra_check: bool,
    /// The file that lists, at exit, what was not freed. `%` in it stands for the node.
    pub file: Option<String>,
    /// The nodes that write this file.
    pub nodes: NodeSet,
    pub(super) init_value: u64,
    pub(super) clobber_value: u64,
}

/// The pattern unless a variable gives another: a quiet NaN with a payload that is easy to see.
pub(super) const FILL: u64 = 0x7ff8_dead_beef_dead;

impl Default for Heap {
    fn default() -> Self {
        Heap {
            init: None,
            clobber: None,
            leak_all: false,
            scan_freed: false,
            extra_check: false,
            file: None,
            nodes: NodeSet::default(),
            init_value: FILL,
            clobber_value: FILL,
        }
    }
}

impl Heap {
    pub(super) fn fill(&mut self, initial: Option<bool>, clobber: Option<bool>) {
        let wanted = |now: Option<u64>, change: Option<bool>| change.unwrap_or(now.is_some());
        self.init = wanted(self.init, initial).then_some(self.init_value);
        self.clobber = wanted(self.clobber, clobber).then_some(self.clobber_value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_when_filling_is_on_whatever_the_order() {
        let mut heap = Heap { init_value: 7, ..Heap::default() };
        heap.fill(None, None);
        assert_eq!(heap.init, None);
        heap.fill(Some(true), None);
        heap.clobber_value = 9;
        heap.fill(None, Some(true));
        assert_eq!((heap.init, heap.clobber), (Some(7), Some(9)));
    }
}
