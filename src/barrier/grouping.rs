//! The members of a team, host by host.
//!
//! A host's first member, in the team's order, is its leader. Members are counted by places: first those of the first member's host,
//! then those of the next host, and so on. Within a host they keep the team's order.
//!
//! Must not know: what members do.

/// The members of a team whose members are on several hosts.
#[derive(Debug)]
pub struct Grouping {
    /// The member at each place.
    order: Box<[u32]>,
    /// The place of each member.
    places: Box<[u32]>,
    /// The first place of each host; as last entry the number of members.
    starts: Box<[usize]>,
}

impl Grouping {
    /// Groups the members, whose hosts `host` tells. `None`: all are on one host.
    pub fn new(members: usize, host: impl Fn(usize) -> u32) -> Option<Grouping> {
        let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
        for member in 0..members {
            let name = host(member);
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, group)) => group.push(member as u32),
                None => groups.push((name, vec![member as u32])),
            }
        }
        if groups.len() < 2 {
            return None;
        }
        let mut starts = vec![0];
        let mut order = Vec::with_capacity(members);
        for (_, group) in groups {
            order.extend(group);
            starts.push(order.len());
        }
        let mut places = vec![0; members];
        (0..).zip(&order).for_each(|(place, member)| places[*member as usize] = place);
        Some(Grouping { order: order.into(), places: places.into(), starts: starts.into() })
    }

    /// Number of hosts.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.order.len()
    }

    /// True if some members share a host, so that it pays to go through leaders.
    pub fn are_shared(&self) -> bool {
        self.count() < self.members()
    }

    /// True if places are the team's own numbers: each host's members follow one another.
    pub fn are_in_order(&self) -> bool {
        (0..).zip(&self.order).all(|(place, member)| place == *member)
    }

    /// The number of a member's host.
    pub fn host(&self, member: usize) -> usize {
        self.starts.partition_point(|start| *start <= self.place(member)) - 1
    }

    /// The members of a host. The first is its leader.
    pub fn of(&self, host: usize) -> &[u32] {
        &self.order[self.starts[host]..self.starts[host + 1]]
    }

    /// The leaders of all hosts.
    pub fn leaders(&self) -> impl ExactSizeIterator<Item = u32> + Clone {
        self.starts[..self.count()].iter().map(|start| self.order[*start])
    }

    /// The first place of a host. `host` may be the number of hosts.
    pub fn start(&self, host: usize) -> usize {
        self.starts[host]
    }

    /// A member's place.
    pub fn place(&self, member: usize) -> usize {
        self.places[member] as usize
    }

    /// The member at a place.
    pub fn member(&self, place: usize) -> usize {
        self.order[place] as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn members_are_grouped_by_host_and_keep_their_order() {
        let names = [7, 3, 7, 9, 3, 7];
        let hosts = Grouping::new(names.len(), |m| names[m]).unwrap();
        assert_eq!((hosts.count(), hosts.members()), (3, 6));
        assert_eq!([hosts.of(0), hosts.of(1), hosts.of(2)], [&[0, 2, 5][..], &[1, 4], &[3]]);
        assert_eq!(hosts.leaders().collect::<Vec<_>>(), [0, 1, 3]);
        for member in 0..names.len() {
            assert_eq!(hosts.member(hosts.place(member)), member);
            assert!(hosts.of(hosts.host(member)).contains(&(member as u32)));
        }
        assert!(hosts.are_shared() && !hosts.are_in_order());
    }

    #[test]
    fn one_host_has_no_groups_and_blocks_of_members_are_in_order() {
        assert!(Grouping::new(4, |_| 2).is_none());
        assert!(Grouping::new(0, |_| 2).is_none());
        let blocks = Grouping::new(5, |m| (m / 2) as u32).unwrap();
        assert!(blocks.are_in_order() && blocks.are_shared());
        assert!(!Grouping::new(3, |m| m as u32).unwrap().are_shared());
    }
}
