//! What a node has and remembers of nodes that died, in a job that survives.
//!
//! Must not know: what is done about it.

use super::super::BoxId;
use super::super::names;
use crate::sync::fixed::{AtomicBool, AtomicU32};
use std::collections::{BTreeSet, HashMap};

/// What the job says of its nodes.
pub trait Roll: Send + Sync {
    /// How many are lost.
    fn losses(&self) -> u32;
    /// Whether `node` is.
    fn is_lost(&self, node: u32) -> bool;
    /// How many losses `node` has settled.
    fn settled(&self, node: u32) -> u32;
    /// `node`, this one, has settled so many.
    fn settle(&self, node: u32, losses: u32);
}

/// What an engine has in a job that survives.
pub struct Losses {
    pub(in crate::deck) roll: Box<dyn Roll>,
    /// Times that polls were told to look, and have not finished with.
    pub(in crate::deck) news: AtomicU32,
    /// A thread looks.
    pub(in crate::deck) is_looking: AtomicBool,
    /// For each node, threads that pass a block on to it just now.
    pub(in crate::deck) passing: Box<[AtomicU32]>,
}

impl Losses {
    /// Of `nodes` nodes, without any loss yet.
    pub fn new(roll: Box<dyn Roll>, nodes: u32) -> Losses {
        let passing = (0..nodes).map(|_| AtomicU32::new(0)).collect();
        Losses { roll, news: AtomicU32::new(0), is_looking: AtomicBool::new(false), passing }
    }
}

/// What a node remembers of the dead.
#[derive(Default)]
pub(in crate::deck) struct Dead {
    /// The nodes that are lost, as far as this one has seen.
    pub(in crate::deck) nodes: BTreeSet<u32>,
    /// How many losses the job had when this node last saw one.
    pub(in crate::deck) seen: u32,
    /// Boxes whose names are being given to them, and the number of the request, once there is one.
    pub(in crate::deck) naming: HashMap<BoxId, u32>,
    /// Boxes whose names the new home has not confirmed yet, by the number of the request.
    pub(in crate::deck) renaming: HashMap<u32, BoxId>,
}

impl Dead {
    /// Whether `node` is lost, as far as this node has seen.
    pub(in crate::deck) fn has(&self, node: u32) -> bool {
        self.nodes.contains(&node)
    }

    /// The node that has this name in its directory now.
    pub(in crate::deck) fn home(&self, name: &[u8], nodes: u32) -> u32 {
        names::living_home(name, nodes, |node| self.has(node))
    }
}
