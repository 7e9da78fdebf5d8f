//! The memory in which this node expects bytes of collectives by Active Messages, while it waits for them.
//!
//! Must not know: messages, collectives.

#![forbid(unsafe_code)]

use parking_lot::Mutex;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Open {
    node: u32,
    address: usize,
    len: usize,
}

/// A node's open landings.
#[derive(Default)]
pub struct Landings(Mutex<Vec<Open>>);

/// An open landing. Dropping it closes it.
pub struct Landing<'a> {
    all: &'a Landings,
    open: Open,
}

impl Landings {
    /// Lets `node` put bytes into `[address, address + len)` until the result is dropped.
    pub fn open(&self, node: u32, address: usize, len: usize) -> Landing<'_> {
        let open = Open { node, address, len };
        self.0.lock().push(open);
        Landing { all: self, open }
    }

    /// Calls `put` if `node` may put bytes into `[address, address + len)` now. Returns whether it did. No landing
    /// closes meanwhile.
    pub fn land(&self, node: u32, address: usize, len: usize, put: impl FnOnce()) -> bool {
        let landings = self.0.lock();
        let inside =
            |o: &Open| o.node == node && address >= o.address && len <= o.len && address - o.address <= o.len - len;
        let found = landings.iter().any(inside);
        if found {
            put();
        }
        found
    }
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        let mut landings = self.all.0.lock();
        if let Some(at) = landings.iter().position(|open| *open == self.open) {
            landings.swap_remove(at);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn bytes_land_where_and_while_they_are_waited_for_and_from_nobody_else() {
        let landings = Landings::default();
        let lands = |node, address, len| {
            let mut done = false;
            assert_eq!(landings.land(node, address, len, || done = true), done);
            done
        };
        assert!(!lands(1, 1000, 1));
        let landing = landings.open(1, 1000, 100);
        assert!(lands(1, 1000, 100) && lands(1, 1099, 1) && lands(1, 1050, 0));
        assert!(!lands(2, 1000, 100) && !lands(1, 999, 2) && !lands(1, 1099, 2) && !lands(1, 1000, usize::MAX));
        assert!(!lands(1, usize::MAX, 2));
        let twice = landings.open(1, 1000, 100);
        drop(landing);
        assert!(lands(1, 1000, 100));
        drop(twice);
        assert!(!lands(1, 1000, 100));
    }
}
