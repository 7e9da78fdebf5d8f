//! The connected collective regions of peers. A region is connected at the first contact, so a node pays only for the peers
//! that its collectives talk to.
//!
//! Must not know: how regions are connected, and what they contain.

use crate::barrier::grouping::Grouping;
use crate::base::error::Error;
use crate::base::fatal;
use crate::peers::places::Places;
use crate::sci::Adapter;
use std::sync::{Arc, OnceLock};

/// Connects the collective region of a node. May be called by several threads at once, at any time from attach on.
pub type Connect<A> = Box<dyn Fn(u32) -> Result<<A as Adapter>::Remote, Error> + Send + Sync>;

/// The collective regions of all nodes by rank, as far as they are connected.
pub struct MemberReach<A: Adapter> {
    maps: Box<[OnceLock<A::Remote>]>,
    connect: Option<Connect<A>>,
    places: Arc<Places>,
    /// This node's host. Regions of others are not mapped.
    here: u32,
}

impl<A: Adapter> MemberReach<A> {
    /// For node `me` of `nodes`. Without `connect`, no region is mapped, and words and bytes travel as messages.
    pub fn new(me: u32, nodes: u32, places: Arc<Places>, connect: Option<Connect<A>>) -> MemberReach<A> {
        let here = places.host(me);
        MemberReach { maps: (0..nodes).map(|_| OnceLock::new()).collect(), connect, places, here }
    }

    /// True if the region of node `rank` is mapped, or will be at the first contact.
    pub fn maps(&self, rank: u32) -> bool {
        self.connect.is_some() && self.places.host(rank) == self.here
    }

    /// The hosts of some nodes, as a team's members are. `None`: all are on one host.
    pub fn hosts(&self, members: usize, rank: impl Fn(usize) -> u32) -> Option<Grouping> {
        if self.places.is_one_host() { None } else { Grouping::new(members, |member| self.places.host(rank(member))) }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.maps.len()
    }

    /// The region of node `rank`, which is below [`MemberReach::nodes`]. Connects it if necessary. `None`: it is not
    /// mapped. If connecting fails the job ends with a line, because a collective cannot leave out a member.
    pub fn map(&self, rank: u32) -> Option<&A::Remote> {
        let connect = self.connect.as_ref().filter(|_| self.maps(rank))?;
        let lost = |error: Error| fatal(format_args!("no way to the collective region of node {rank}: {error}"));
        Some(self.maps[rank as usize].get_or_init(|| connect(rank).unwrap_or_else(lost)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::am::region::COLLECTIVE;
    use crate::sci::heap::Heap;
    use crate::sci::{LocalSegment, NodeId, Placement, RemoteSegment};
    use crate::testkit::world::Kit;
    use std::sync::Mutex;
    use std::time::Duration;

    #[test]
    fn a_region_is_connected_at_the_first_contact_and_once() {
        let adapters = Heap::kit(3, 0);
        let segments: Vec<_> = adapters.iter().map(|adapter| adapter.create(COLLECTIVE, 4096).unwrap()).collect();
        segments.iter().for_each(|segment| segment.set_available().unwrap());
        static ASKED: Mutex<Vec<u32>> = Mutex::new(Vec::new());
        let me = adapters[0].clone();
        let connect = move |rank: u32| {
            ASKED.lock().unwrap().push(rank);
            let segment = me.connect(NodeId(rank as u16), COLLECTIVE, Duration::ZERO)?;
            Ok(segment.map(0, 4096, Placement::Anywhere)?)
        };
        let places = |hosts: &[u32]| Arc::new(Places::on(hosts));
        let reach = MemberReach::<Heap>::new(0, 3, places(&[0; 3]), Some(Box::new(connect)));
        assert!(ASKED.lock().unwrap().is_empty());
        for rank in [2, 1, 2] {
            assert!(reach.map(rank).is_some());
        }
        assert_eq!(*ASKED.lock().unwrap(), [2, 1]);
        assert!(MemberReach::<Heap>::new(0, 3, places(&[0; 3]), None).map(1).is_none());
        let reach = MemberReach { places: places(&[0, 0, 1]), ..reach };
        assert!(reach.map(1).is_some() && reach.map(2).is_none());
        assert_eq!([0, 1, 2].map(|rank| reach.maps(rank)), [true, true, false]);
    }
}
