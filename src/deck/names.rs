//! The part of the job's directory of names that this node has: those whose hash is this node's.
//!
//! Must not know: how messages travel.

use super::BoxId;
use std::collections::HashMap;

/// What is known of a name.
#[derive(Default)]
struct Entry {
    id: Option<BoxId>,
    /// Nodes that wait for the name, and their numbers of the request.
    waiting: Vec<(u32, u32)>,
}

/// The names.
#[derive(Default)]
pub struct Names {
    entries: HashMap<Box<[u8]>, Entry>,
    /// By node: what it has here.
    shares: HashMap<u32, Share>,
}

/// What a node has in the directory.
#[derive(Default)]
struct Share {
    names: usize,
    waiting: usize,
}

/// The most names that boxes of one node have here, and the most requests of one node that wait: as many as it can have boxes, and more
/// than it has threads. So no peer makes the directory grow without bound.
const SHARE: usize = 1 << 16;

/// A request that no sender of ours makes.
#[derive(Debug, PartialEq, Eq)]
pub struct Nonsense(pub &'static str);

/// The node of `nodes` that has `name`. While one is lost, that is the next one which is not.
pub fn living_home(name: &[u8], nodes: u32, is_lost: impl Fn(u32) -> bool) -> u32 {
    let first = home(name, nodes);
    (0..nodes).map(|step| (first + step) % nodes).find(|node| !is_lost(*node)).unwrap_or(first)
}

/// The node of `nodes` that has `name` while none is lost.
pub fn home(name: &[u8], nodes: u32) -> u32 {
    // FNV-1a: all nodes must agree, whatever their library's hash.
    let hash = name
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash % u64::from(nodes)) as u32
}

impl Names {
    /// `name` is that of `id` from now on. Returns who waits for it; `None`: the name is taken.
    pub fn add(&mut self, name: &[u8], id: BoxId) -> Result<Option<Vec<(u32, u32)>>, Nonsense> {
        match self.find(name) {
            None => {}
            // Its owner says so again, because the node that had the name is lost.
            Some(known) if known == id => return Ok(Some(Vec::new())),
            Some(_) => return Ok(None),
        }
        let share = self.shares.entry(id.owner.into()).or_default();
        if share.names == SHARE {
            return Err(Nonsense("more names than a node has boxes"));
        }
        share.names += 1;
        let entry = self.entries.entry(name.into()).or_default();
        entry.id = Some(id);
        let waiting = std::mem::take(&mut entry.waiting);
        waiting.iter().for_each(|(node, _)| self.waits_no_more(*node));
        Ok(Some(waiting))
    }

    /// Nobody has `name` any more, if `id` has it.
    pub fn remove(&mut self, name: &[u8], id: BoxId) {
        if self.find(name) == Some(id) {
            self.entries.remove(name);
            self.shares.entry(id.owner.into()).and_modify(|share| share.names -= 1);
        }
    }

    /// Who has `name`.
    pub fn find(&self, name: &[u8]) -> Option<BoxId> {
        self.entries.get(name)?.id
    }

    /// `node` waits for `name`.
    pub fn wait(&mut self, name: &[u8], node: u32, request: u32) -> Result<(), Nonsense> {
        let share = self.shares.entry(node).or_default();
        if share.waiting == SHARE {
            return Err(Nonsense("more requests for names than a node has threads"));
        }
        share.waiting += 1;
        self.entries.entry(name.into()).or_default().waiting.push((node, request));
        Ok(())
    }

    /// `node` is dead: its boxes have no names, and it waits for none.
    pub fn bury(&mut self, node: u32) {
        self.entries.retain(|_, entry| {
            entry.waiting.retain(|(waits, _)| *waits != node);
            entry.id = entry.id.filter(|id| u32::from(id.owner) != node);
            entry.id.is_some() || !entry.waiting.is_empty()
        });
        self.shares.remove(&node);
    }

    /// It waits no longer.
    pub fn forget(&mut self, name: &[u8], node: u32, request: u32) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let Some(at) = entry.waiting.iter().position(|waits| *waits == (node, request)) else { return };
        entry.waiting.remove(at);
        if entry.id.is_none() && entry.waiting.is_empty() {
            self.entries.remove(name);
        }
        self.waits_no_more(node);
    }

    fn waits_no_more(&mut self, node: u32) {
        self.shares.entry(node).and_modify(|share| share.waiting -= 1);
    }

    /// Names that are in use or waited for, for tests.
    #[cfg(any(test, fuzzing))]
    pub fn known(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn id(serial: u32) -> BoxId {
        BoxId { owner: 1, index: 2, serial }
    }

    #[test]
    fn a_name_has_one_box_and_any_number_of_nodes_that_wait() {
        let mut names = Names::default();
        names.wait(b"a", 3, 1).unwrap();
        names.wait(b"a", 4, 2).unwrap();
        names.forget(b"a", 3, 1);
        assert_eq!(names.find(b"a"), None);
        assert_eq!(names.add(b"a", id(1)), Ok(Some(vec![(4, 2)])));
        assert_eq!(names.add(b"a", id(2)), Ok(None));
        names.remove(b"a", id(2));
        assert_eq!(names.find(b"a"), Some(id(1)));
        names.remove(b"a", id(1));
        assert_eq!(names.add(b"a", id(2)), Ok(Some(vec![])));
        names.wait(b"b", 3, 1).unwrap();
        names.forget(b"b", 3, 1);
        assert_eq!(names.known(), 1, "nothing is kept of b");
        assert!((0..100u8).map(|n| home(&[n], 3)).all(|node| node < 3));
    }

    #[test]
    fn the_names_of_a_lost_node_are_those_of_the_next_one() {
        for n in 0..100u8 {
            let first = living_home(&[n], 4, |_| false);
            assert_eq!(first, home(&[n], 4));
            assert_eq!(
                living_home(&[n], 4, |node| node != (first + 3) % 4),
                (first + 3) % 4,
                "the last one that is left"
            );
            assert_eq!(living_home(&[n], 4, |node| node == (first + 1) % 4), first);
        }
    }

    #[test]
    fn a_dead_node_has_no_names_and_waits_for_none() {
        let id = |owner, serial| BoxId { owner, index: 2, serial };
        let mut names = Names::default();
        assert!(names.add(b"a", id(1, 1)).is_ok() && names.add(b"b", id(2, 1)).is_ok());
        names.wait(b"c", 1, 1).unwrap();
        names.wait(b"d", 1, 1).unwrap();
        names.wait(b"d", 2, 7).unwrap();
        names.bury(1);
        assert_eq!((names.find(b"a"), names.find(b"b"), names.known()), (None, Some(id(2, 1)), 2));
        assert_eq!(names.add(b"b", id(2, 1)), Ok(Some(vec![])), "its owner says so again");
        assert_eq!(names.add(b"b", id(3, 1)), Ok(None));
        assert_eq!(names.add(b"d", id(3, 1)), Ok(Some(vec![(2, 7)])));
    }

    #[test]
    fn no_node_fills_the_directory() {
        let mut names = Names::default();
        let name = |n: usize| n.to_ne_bytes();
        (0..SHARE).for_each(|n| names.wait(&name(n), 7, n as u32).unwrap());
        assert!(names.wait(b"one more", 7, 0).is_err());
        names.forget(&name(0), 7, 0);
        names.forget(&name(0), 7, 0);
        names.wait(b"it left room", 7, 0).unwrap();
        assert!(names.wait(b"for one", 7, 0).is_err() && names.wait(b"another node has its own", 8, 0).is_ok());
        (0..SHARE).for_each(|n| assert!(names.add(&name(n), id(0)).unwrap().is_some()));
        assert!(names.add(b"one more", id(0)).is_err());
        (2..SHARE + 1).for_each(|n| names.wait(b"those that waited are served", 7, n as u32).unwrap());
        names.remove(&name(5), id(0));
        assert!(names.add(b"one more", id(0)).is_ok());
    }
}
