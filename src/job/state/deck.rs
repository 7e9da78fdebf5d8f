//! The engine of mail boxes, and its heaps: made when the program begins with DECK, so that others pay nothing for it.

#![allow(unsafe_code)] // locks of the client's thread mode

use super::wiring::restore_file;
use super::{CONNECT, Job};
use crate::am::region::{DECK, MAX_MEDIUM};
use crate::base::error::Error;
use crate::base::log;
use crate::deck::engine::{Deck, Region, Setting};
use crate::deck::giving::PLACE_MIN;
use crate::deck::network;
use crate::deck::survive::holders::Holders;
use crate::sci::{Adapter, Host, JobAdapter, LocalMap, LocalSegment, NodeId, Placement, RemoteRead, RemoteSegment};

impl Job {
    /// The engine of mail boxes, once it is open.
    #[inline(always)]
    pub fn deck(&self) -> Option<&'static Deck<Host>> {
        self.deck.get().copied()
    }

    /// Makes it. Blocks until all nodes call. Once. `alone`: the program does not use GASNet.
    pub fn open_deck(&'static self, alone: bool) -> Result<&'static Deck<Host>, Error> {
        let len = self.config.deck_heap as usize;
        let no_room = |e| Error::resource(format_args!("DECK heap of {len} bytes (GASNET_SCI_DECK_HEAP): {e}"));
        restore_file(&self.adapter, self.memory.header())?;
        let losses = self.losses(alone);
        let survives = losses.is_some();
        let whole = if survives { Holders::end(len) } else { len };
        let segment = self.adapter.create(DECK, whole).map_err(no_room)?;
        let map = segment.map(Placement::Anywhere).map_err(no_room)?;
        segment.set_available().map_err(no_room)?;
        let heap = Region { at: map.ptr(0) as usize, len };
        let is_far = |node: u32| self.adapter.is_far(NodeId(node as u16));
        // SAFETY: the map is leaked below.
        let far = self.adapter.far().map(|far| unsafe { network::open(far, &map, len, is_far) });
        Box::leak(Box::new((segment, map))); // blocks of it are used until the process ends
        let setting = Setting {
            am: &self.am,
            threaded: self.client.threaded,
            limit: (self.config.deck_limit as usize).min(MAX_MEDIUM),
            place_min: PLACE_MIN,
            boxes: self.config.deck_boxes as usize,
            heap,
            connect: Box::new(move |node| self.connect_heap(node, len, whole)),
            far,
            bell: self.adapter.connect_interrupt(NodeId(self.rank as u16))?,
            losses,
        };
        // SAFETY: the client keeps to its thread mode (contract: core.md §5); the map, and so its `whole` bytes, was leaked above, and so
        // is each of `connect_heap`.
        let deck: &'static Deck<Host> = Box::leak(Box::new(unsafe { Deck::new(setting) }));
        assert!(self.deck.set(deck).is_ok(), "opened once");
        // All have their engine and their heap before anybody sends.
        self.coll()?.meet();
        if survives {
            self.survive(deck)?;
        }
        Ok(deck)
    }

    /// Maps the heap of `node`, of `len` bytes, and what is behind it up to `whole`, if its memory can be mapped here.
    fn connect_heap(&self, node: u32, len: usize, whole: usize) -> Option<Region> {
        // Both ways: what this node lends to `node` must be reached there. All nodes have the same settings.
        if self.hides(node) || self.config.unmapped.hides(node, self.rank) {
            return None;
        }
        let connect = || -> Result<_, Error> {
            restore_file(&self.adapter, self.memory.header())?;
            let segment = self.adapter.connect(NodeId(node as u16), DECK, CONNECT)?;
            let map = segment.map(0, whole, Placement::Anywhere)?;
            Ok((segment, map))
        };
        match connect() {
            Ok(mapped) => {
                let region = mapped.1.memory().map(|at| Region { at: at as usize, len });
                Box::leak(Box::new(mapped)); // as above
                region
            }
            Err(error) => {
                log::advise(&format!(
                    "the DECK heap of node {node} cannot be mapped, its long messages are copied: {error}"
                ));
                None
            }
        }
    }
}
