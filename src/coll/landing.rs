//! The memory in which this node expects bytes of collectives by Active Messages, for as long as it waits there; and the
//! handlers of the engine's messages: words for the collective region, bytes for the landings.
//!
//! A peer's memory is not trusted: the address in its message only serves to find the landing.

#![forbid(unsafe_code)]

use super::{cells, moves};
use crate::am::Am;
use crate::am::library::{COLL_DATA, COLL_STORE, Library};
use crate::sci::Adapter;
use parking_lot::Mutex;
use std::sync::Arc;

/// Registers the handlers of the engine's messages. Messages may come before this node makes its first collective.
pub fn register<A: Adapter>(library: &mut Library<Am<A>>, region: A::Local, landings: Arc<Landings>) {
    library.on(COLL_STORE, move |_, _, [at], words| cells::on_store(&region, at as usize, words));
    library.on(COLL_DATA, move |_, token, [address], bytes| {
        moves::on_data(&landings, token.source(), address as usize, bytes);
        Ok(())
    });
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Open {
    node: u32,
    address: usize,
    len: usize,
}

/// A node's open landings.
#[derive(Default)]
pub struct Landings(Mutex<Vec<Open>>);

/// An open landing; closed when it is dropped.
pub struct Landing<'a> {
    all: &'a Landings,
    open: Open,
}

impl Landings {
    /// From now on `node` may put bytes into `[address, address + len)`.
    pub fn open(&self, node: u32, address: usize, len: usize) -> Landing<'_> {
        let open = Open { node, address, len };
        self.0.lock().push(open);
        Landing { all: self, open }
    }

    /// Calls `put` if `node` may put bytes into `[address, address + len)` now, and returns whether it did. No landing is
    /// closed meanwhile.
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
