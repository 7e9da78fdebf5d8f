//! Ways to peers, made at the first contact: a node pays for the peers that it talks to, not for all peers of the job.
//!
//! There are two steps, because barriers and collectives reach every peer without a message. A [`Post`] is enough to announce
//! something to a peer. A [`Peer`] adds the queue and what a sender must know of it.
//!
//! Must not know: what is sent, how regions are connected.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use super::outbox::{Outbox, Peer};
use crate::am::region::Layout;
use crate::base::error::{Error, bad_arg};
use crate::sci::Adapter;
use crate::sync::{ModeLock, OnceBox, Ordering};
use std::ffi::c_void;
use std::ops::Index;

/// Connects the regions that peers have made. Several threads may call at once, at any time between init and exit, in handlers
/// too.
pub trait Connector<A: Adapter>: Send + Sync {
    /// `peer`'s control region and its interrupt.
    fn post(&self, peer: u32) -> Result<(A::Remote, A::RemoteInterrupt), Error>;
    /// Our queue in `peer`'s command region.
    fn queue(&self, peer: u32) -> Result<A::Remote, Error>;
}

/// The regions by which this node announces something to a peer.
pub struct Post<A: Adapter> {
    /// The peer's control region.
    pub control: A::Remote,
    /// The peer's interrupt.
    pub bell: A::RemoteInterrupt,
}

/// The ways to all nodes, this one included. `peers[rank]` makes the way if there is none yet. If that fails the job ends with
/// a line, because a node that must be answered, or takes part in a barrier, can't be left out.
pub struct Peers<A: Adapter> {
    posts: Box<[OnceBox<Post<A>>]>,
    ways: Box<[OnceBox<Peer<A>>]>,
    connector: Box<dyn Connector<A>>,
    layout: Layout,
    me: u32,
    threaded: bool,
}

impl<A: Adapter> Peers<A> {
    /// The table without any way yet, for node `me` in a job of this layout.
    ///
    /// # Safety
    /// As [`ModeLock::new`].
    pub unsafe fn new(threaded: bool, me: u32, layout: Layout, connector: Box<dyn Connector<A>>) -> Peers<A> {
        let nodes = layout.nodes();
        Peers {
            posts: (0..nodes).map(|_| OnceBox::default()).collect(),
            ways: (0..nodes).map(|_| OnceBox::default()).collect(),
            connector,
            layout,
            me,
            threaded,
        }
    }

    /// The table that the header reads: by rank, the address of the way, or null.
    pub(super) fn table(&self) -> *const c_void {
        const _: () = assert!(cfg!(loom) || size_of::<OnceBox<u8>>() == size_of::<*const u8>(), "an address each");
        self.ways.as_ptr().cast()
    }

    /// Number of nodes.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)] // a job has a node at least
    pub fn len(&self) -> usize {
        self.ways.len()
    }

    /// The way to node `rank`, made now if there is none. `BadArg`: there is no such node. `Resource`: the way cannot be made.
    #[inline(always)]
    pub fn way(&self, rank: u32) -> Result<&Peer<A>, Error> {
        match self.ways.get(rank as usize).and_then(OnceBox::get) {
            Some(way) => Ok(way),
            None => self.make_way(rank),
        }
    }

    /// The way to node `rank` (below the number of nodes), if there is one.
    #[inline(always)]
    pub fn known(&self, rank: usize) -> Option<&Peer<A>> {
        self.ways[rank].get()
    }

    /// Number of requests that were sent to node `rank` (below the number of nodes), modulo 2³².
    #[inline(always)]
    pub fn sent(&self, rank: usize) -> u32 {
        // Relaxed: a thread that sees an answer sees, through the peer, that its request was counted (`Peer::commit`).
        self.known(rank).map_or(0, |way| way.direct.sent.load(Ordering::Relaxed))
    }

    /// True if a request to node `rank` (below the number of nodes) is not retired yet.
    #[inline(always)]
    pub fn is_answer_due(&self, rank: usize) -> bool {
        self.known(rank).is_some_and(|way| way.outstanding() > 0)
    }

    /// The ways that have been made.
    pub fn all_known(&self) -> impl Iterator<Item = &Peer<A>> {
        self.ways.iter().filter_map(OnceBox::get)
    }

    /// Where node `rank` (below the number of nodes) gets announcements. Ends the job if the node cannot be reached.
    #[inline(always)]
    pub fn post(&self, rank: usize) -> &Post<A> {
        match self.posts[rank].get() {
            Some(post) => post,
            None => self.make_post(rank as u32).unwrap_or_else(|error| lost(rank, &error)),
        }
    }

    #[cold]
    #[inline(never)]
    fn make_post(&self, rank: u32) -> Result<&Post<A>, Error> {
        let (control, bell) = self.connector.post(rank)?;
        // If two threads come here at once, the second one's `Post` is dropped.
        Ok(self.posts[rank as usize].get_or_keep(Box::new(Post { control, bell })))
    }

    #[cold]
    #[inline(never)]
    fn make_way(&self, rank: u32) -> Result<&Peer<A>, Error> {
        if rank as usize >= self.len() {
            return bad_arg(format_args!("node {rank} is out of range: the job has {} nodes", self.len()));
        }
        let post = match self.posts[rank as usize].get() {
            Some(post) => post,
            None => self.make_post(rank)?,
        };
        let queue = self.connector.queue(rank)?;
        // SAFETY: the caller of `new` promised what `ModeLock::new` asks for.
        let outbox = unsafe { ModeLock::new(self.threaded, Outbox::new(self.layout.slots())) };
        let (control, bell) = (post.control.clone(), post.bell.clone());
        let way = Peer::new(queue, control, bell, outbox, &self.layout, self.me as usize);
        Ok(self.ways[rank as usize].get_or_keep(way))
    }
}

impl<A: Adapter> Index<usize> for Peers<A> {
    type Output = Peer<A>;

    #[inline(always)]
    fn index(&self, rank: usize) -> &Peer<A> {
        match self.ways[rank].get() {
            Some(way) => way,
            None => self.make_way(rank as u32).unwrap_or_else(|error| lost(rank, &error)),
        }
    }
}

#[cold]
fn lost(rank: usize, error: &Error) -> ! {
    crate::base::fatal(format_args!("no way to node {rank}: {error}"))
}
