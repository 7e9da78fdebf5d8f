//! Trees over the members of a team, and the order in which they count members.
//!
//! Members are counted by places, from a root on. On several hosts the root's host comes first, with the root first in it; the
//! others follow, each with its leader first. A tree has one edge to each other host: leaders are joined by a tree over hosts, and
//! each host's members by one below their leader. So a subtree is a run of places.
//!
//! Must not know: what moves along the edges.

use crate::barrier::grouping::Grouping;

/// The place of one member in a tree: its parent, and its children with their subtrees.
#[derive(Debug, PartialEq, Eq)]
pub struct Tree {
    /// `None` at the root.
    pub parent: Option<usize>,
    /// First place and number of members of each child's subtree, in the order of places.
    pub children: Vec<(usize, usize)>,
    /// Number of members of this member's subtree.
    pub size: usize,
}

impl Tree {
    /// The k-nomial tree: a member's parent has the same number with its lowest non-zero digit (base `radix`)
    /// cleared.
    pub fn new(radix: usize, place: usize, members: usize) -> Tree {
        let mut children = Vec::new();
        let mut level = 1;
        while level < members && place.is_multiple_of(level * radix) {
            let firsts = (1..radix).map(|digit| place + digit * level).filter(|first| *first < members);
            children.extend(firsts.map(|first| (first, level.min(members - first))));
            level *= radix;
        }
        let parent = (place != 0).then(|| place - place % (level * radix));
        let size = if place == 0 { members } else { level.min(members - place) };
        Tree { parent, children, size }
    }
}

/// The order in which a tree counts members.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    kind: Kind<'a>,
    /// The radix of trees inside a host, if it is another one.
    near: Option<usize>,
}

#[derive(Clone, Copy)]
enum Kind<'a> {
    /// From the root on.
    Round { root: usize, members: usize },
    /// Host by host. The root's host, the first of its places, and the root's place among that host's.
    Hosts { hosts: &'a Grouping, first: usize, start: usize, root: usize },
    /// These members alone, as they stand.
    Group(&'a [u32]),
}

impl<'a> Order<'a> {
    /// All `members` of a team, from `root` on. `hosts`: they are on several.
    pub fn from(root: usize, members: usize, hosts: Option<&'a Grouping>) -> Order<'a> {
        let Some(hosts) = hosts else { return Order { kind: Kind::Round { root, members }, near: None } };
        let first = hosts.host(root);
        let start = hosts.start(first);
        Order { kind: Kind::Hosts { hosts, first, start, root: hosts.place(root) - start }, near: None }
    }

    /// The same, where trees have another radix inside hosts. It changes nothing in teams on one host.
    pub fn near(self, radix: usize) -> Order<'a> {
        Order { near: Some(radix), ..self }
    }

    /// These members alone. The first is the root.
    pub fn of(members: &'a [u32]) -> Order<'a> {
        Order { kind: Kind::Group(members), near: None }
    }

    /// The member at a place.
    pub fn member(&self, place: usize) -> usize {
        match self.kind {
            Kind::Round { root, members } => (root + place) % members,
            Kind::Hosts { hosts, first, start, root } => {
                let here = hosts.of(first);
                match here.get((root + place) % here.len()) {
                    Some(member) if place < here.len() => *member as usize,
                    _ => hosts.member((start + place) % hosts.members()),
                }
            }
            Kind::Group(members) => members[place] as usize,
        }
    }

    /// The place of a member, which is one of those counted.
    pub fn place(&self, member: usize) -> usize {
        match self.kind {
            Kind::Round { root, members } => (member + members - root) % members,
            Kind::Hosts { hosts, first, start, root } => {
                let (here, place) = (hosts.of(first).len(), hosts.place(member));
                match place.checked_sub(start) {
                    Some(at) if at < here => (at + here - root) % here,
                    _ => (place + hosts.members() - start) % hosts.members(),
                }
            }
            Kind::Group(members) => members.iter().position(|m| *m as usize == member).unwrap_or(0),
        }
    }

    /// The part of the member at `place` in a tree of this radix.
    pub fn tree(&self, radix: usize, place: usize) -> Tree {
        let (hosts, first, start) = match self.kind {
            Kind::Round { members, .. } => return Tree::new(radix, place, members),
            Kind::Group(members) => return Tree::new(radix, place, members.len()),
            Kind::Hosts { hosts, first, start, .. } => (hosts, first, start),
        };
        let (count, members) = (hosts.count(), hosts.members());
        // Hosts are counted from the root's on as well.
        let begins = |at: usize| match at {
            _ if at == count => members,
            _ => (hosts.start((first + at) % count) + members - start) % members,
        };
        let at = (hosts.host(self.member(place)) + count - first) % count;
        let (base, end) = (begins(at), begins(at + 1));
        let inner = Tree::new(self.near.unwrap_or(radix), place - base, end - base);
        let mut children: Vec<_> = inner.children.iter().map(|(child, size)| (base + child, *size)).collect();
        if place != base {
            return Tree { parent: inner.parent.map(|parent| base + parent), children, size: inner.size };
        }
        let outer = Tree::new(radix, at, count);
        let runs = outer.children.iter().map(|(host, size)| (begins(*host), begins(host + size) - begins(*host)));
        children.extend(runs);
        Tree { parent: outer.parent.map(begins), children, size: begins(at + outer.size) - base }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Checks that each member but the root has one parent, that runs follow one another, and counts edges between hosts.
    fn check(order: &Order<'_>, radix: usize, members: usize, host: impl Fn(usize) -> u32) -> usize {
        let mut seen = vec![0; members];
        let mut crossing = 0;
        for place in 0..members {
            assert_eq!(order.place(order.member(place)), place);
            let tree = order.tree(radix, place);
            assert_eq!(tree.parent.is_none(), place == 0);
            let mut next = place + 1;
            for (first, count) in &tree.children {
                let child = order.tree(radix, *first);
                assert_eq!((*first, child.parent, child.size), (next, Some(place), *count));
                seen[*first] += 1;
                crossing += usize::from(host(order.member(*first)) != host(order.member(place)));
                next += count;
            }
            assert_eq!(next - place, tree.size, "{place} of {members}");
        }
        assert!(seen[1..].iter().all(|n| *n == 1));
        crossing
    }

    #[test]
    fn every_member_of_a_tree_has_one_parent_and_its_run_is_its_children_s() {
        for (radix, members) in [(2, 1), (2, 2), (2, 7), (2, 16), (3, 20), (4, 65), (8, 9)] {
            for root in [0, members / 2, members - 1] {
                check(&Order::from(root, members, None), radix, members, |_| 0);
            }
            let backwards: Vec<u32> = (0..members as u32).rev().collect();
            check(&Order::of(&backwards), radix, members, |_| 0);
        }
    }

    #[test]
    fn one_edge_goes_to_each_other_host_whatever_the_root() {
        let shapes: [&[u32]; 6] = [
            &[0, 1, 1, 2, 2, 2],
            &[0, 1, 2],
            &[4, 1, 4, 1, 4, 1, 4, 1],
            &[0, 0, 1, 2, 2, 2, 3, 4, 4],
            &[3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 4],
            &[0, 0, 0, 0, 0, 0, 0, 1],
        ];
        for names in shapes {
            let hosts = Grouping::new(names.len(), |m| names[m]).unwrap();
            for (radix, root) in [2, 3, 4].into_iter().flat_map(|radix| (0..names.len()).map(move |root| (radix, root)))
            {
                let order = Order::from(root, names.len(), Some(&hosts));
                assert_eq!(order.member(0), root);
                for order in [order, order.near(16)] {
                    assert_eq!(check(&order, radix, names.len(), |m| names[m]), hosts.count() - 1);
                }
            }
        }
    }

    #[test]
    fn places_are_the_team_s_own_numbers_where_hosts_are_in_order() {
        let hosts = Grouping::new(7, |m| [0, 0, 0, 1, 2, 2, 2][m]).unwrap();
        let order = Order::from(0, 7, Some(&hosts));
        assert!((0..7).all(|m| order.member(m) == m && order.place(m) == m));
    }
}
