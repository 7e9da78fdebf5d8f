//! Which node runs on which host.

use super::hosts::Host;

/// How nodes are placed.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Consecutive nodes together: the default.
    Block,
    /// `list:0,0,1`: the host of each node, by its position in the list of hosts.
    List(Vec<u32>),
    /// `next`: one after the other, and on from where the last job ended.
    Next,
    /// `load`: each node where the load is least.
    Load,
}

impl Place {
    /// Reads the value of `--place`.
    pub fn parse(text: &str) -> Result<Place, String> {
        let problem = || format!("'{text}' is none of block, next, load, and list:0,0,1 (a host for each node)");
        match text {
            "block" => Ok(Place::Block),
            "next" => Ok(Place::Next),
            "load" => Ok(Place::Load),
            _ => {
                let list = text.strip_prefix("list:").ok_or_else(problem)?;
                let hosts = list.split(',').map(|host| host.trim().parse().map_err(|_| problem()));
                Ok(Place::List(hosts.collect::<Result<_, _>>()?))
            }
        }
    }
}

/// What a host says of its load: processes that want to run and nodes that are placed, over usable CPUs, in hundredths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    pub load: u32,
    pub cpus: u32,
}

/// The hosts that may get nodes: with `-N M` the first M.
pub fn candidates(hosts: &[Host], wanted: Option<u32>, place: &Place) -> Result<Vec<Host>, String> {
    let wanted = wanted.map_or(hosts.len(), |wanted| wanted as usize);
    if wanted > hosts.len() {
        return Err(format!("-N {wanted}: the list has {} hosts", hosts.len()));
    }
    if matches!(place, Place::List(_)) && wanted < hosts.len() {
        return Err("-N and --place list: the list says which hosts there are".into());
    }
    Ok(hosts[..wanted].to_vec())
}

/// The host of each node, by its position in `hosts`. `even`: the user says how many hosts there are (-N), so that all get nodes.
/// `last`: the host that `next` goes on from. `loads`: what the hosts say, for `load`.
pub fn place(
    place: &Place,
    nodes: u32,
    hosts: &[Host],
    even: bool,
    last: Option<usize>,
    loads: &[Load],
) -> Result<Vec<u32>, String> {
    let room: Vec<u32> = hosts.iter().map(|host| host.slots.unwrap_or(u32::MAX)).collect();
    let sum = room.iter().fold(0u32, |sum, room| sum.saturating_add(*room));
    if sum < nodes && !matches!(place, Place::List(_)) {
        return Err(format!("{nodes} nodes are too many: the {} hosts have {sum} slots", hosts.len()));
    }
    match place {
        Place::List(list) => listed(list, nodes, hosts.len()),
        Place::Block => Ok(blocks(&counts(nodes, hosts, &room, even))),
        Place::Next => Ok(next(nodes, &room, last)),
        Place::Load => Ok(by_load(nodes, &room, loads)),
    }
}

fn listed(list: &[u32], nodes: u32, hosts: usize) -> Result<Vec<u32>, String> {
    if list.len() != nodes as usize {
        return Err(format!("--place list: it names {} hosts for {nodes} nodes", list.len()));
    }
    match list.iter().find(|host| **host as usize >= hosts) {
        Some(host) => Err(format!("--place list: there is no host {host} among {hosts}: the first one is 0")),
        None => Ok(list.to_vec()),
    }
}

// How many nodes each host gets.
fn counts(nodes: u32, hosts: &[Host], room: &[u32], even: bool) -> Vec<u32> {
    let some = hosts.iter().any(|host| host.slots.is_some());
    let mut counts = vec![0; hosts.len()];
    let mut left = nodes;
    if even || !some {
        // Rounds of one node each would do the same, in as many steps as there are nodes.
        while left > 0 {
            let free: Vec<usize> = (0..hosts.len()).filter(|at| counts[*at] < room[*at]).collect();
            let share = (left / free.len() as u32).max(1);
            for at in free {
                let more = share.min(room[at] - counts[at]).min(left);
                counts[at] += more;
                left -= more;
            }
        }
        return counts;
    }
    // In a list in which some hosts have slots, those without one have one each, as for other launchers; more if that is too few.
    for pass in [false, true] {
        for (count, host) in counts.iter_mut().zip(hosts) {
            let most = host.slots.unwrap_or(if pass { u32::MAX } else { 1 });
            let more = most.saturating_sub(*count).min(left);
            *count += more;
            left -= more;
        }
    }
    counts
}

fn blocks(counts: &[u32]) -> Vec<u32> {
    (0..).zip(counts).flat_map(|(host, count)| (0..*count).map(move |_| host)).collect()
}

fn next(nodes: u32, room: &[u32], last: Option<usize>) -> Vec<u32> {
    let mut left = room.to_vec();
    let mut at = last.map_or(0, |last| last + 1) % room.len();
    let mut map = Vec::new();
    while map.len() < nodes as usize {
        if left[at] > 0 {
            left[at] -= 1;
            map.push(at as u32);
        }
        at = (at + 1) % room.len();
    }
    map
}

fn by_load(nodes: u32, room: &[u32], loads: &[Load]) -> Vec<u32> {
    let mut counts = vec![0u32; room.len()];
    for _ in 0..nodes {
        // Of the hosts with room, the one that one more node loads least.
        let loaded = |at: &usize| {
            let load = u64::from(loads[*at].load) + 100 * u64::from(counts[*at] + 1);
            load * 1_000_000 / u64::from(loads[*at].cpus.max(1))
        };
        if let Some(at) = (0..room.len()).filter(|at| counts[*at] < room[*at]).min_by_key(loaded) {
            counts[at] += 1;
        }
    }
    blocks(&counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts(slots: &[u32]) -> Vec<Host> {
        let host = |(at, slots): (usize, &u32)| Host { name: format!("h{at}"), slots: (*slots > 0).then_some(*slots) };
        slots.iter().enumerate().map(host).collect()
    }

    fn map(how: &str, nodes: u32, slots: &[u32], even: bool, last: Option<usize>) -> Result<Vec<u32>, String> {
        place(
            &Place::parse(how).unwrap(),
            nodes,
            &hosts(slots),
            even,
            last,
            &vec![Load { load: 0, cpus: 100 }; slots.len()],
        )
    }

    #[test]
    fn blocks_fill_slots_or_share_evenly() {
        for (nodes, slots, even, expected) in [
            (4, &[16, 16][..], false, vec![0, 0, 0, 0]),
            (4, &[16, 16], true, vec![0, 0, 1, 1]),
            (5, &[0, 0], false, vec![0, 0, 0, 1, 1]),
            (5, &[1, 16], true, vec![0, 1, 1, 1, 1]),
            (3, &[2, 2], false, vec![0, 0, 1]),
            (4, &[2, 0], false, vec![0, 0, 1, 1]),
            (2, &[0, 0, 0], false, vec![0, 1]),
        ] {
            let map = map("block", nodes, slots, even, None).unwrap();
            assert_eq!(map.len(), expected.len());
            assert!(
                (0..slots.len() as u32).all(|host| count(&map, host).abs_diff(count(&expected, host)) == 0)
                    && map.is_sorted(),
                "{map:?} {expected:?}"
            );
        }
    }

    fn count(map: &[u32], host: u32) -> usize {
        map.iter().filter(|at| **at == host).count()
    }

    #[test]
    fn lists_and_next_do_what_they_say() {
        assert_eq!(map("list:0,0,1", 3, &[0, 0], false, None), Ok(vec![0, 0, 1]));
        assert!(map("list:0,0", 3, &[0, 0], false, None).unwrap_err().contains("2 hosts for 3 nodes"));
        assert!(map("list:0,2", 2, &[0, 0], false, None).unwrap_err().contains("no host 2"));
        assert_eq!(map("next", 4, &[0, 0, 0], false, None), Ok(vec![0, 1, 2, 0]));
        assert_eq!(map("next", 4, &[0, 0, 0], false, Some(0)), Ok(vec![1, 2, 0, 1]));
        assert_eq!(map("next", 4, &[1, 0, 1], false, Some(2)), Ok(vec![0, 1, 2, 1]));
        assert!(Place::parse("list:a").is_err() && Place::parse("nonsense").unwrap_err().contains("nonsense"));
    }

    #[test]
    fn given_loads_make_the_expected_map() {
        let loads = [Load { load: 400, cpus: 400 }, Load { load: 0, cpus: 400 }, Load { load: 0, cpus: 100 }];
        let by = |nodes, slots: &[u32]| place(&Place::Load, nodes, &hosts(slots), false, None, &loads).unwrap();
        assert_eq!(by(4, &[0, 0, 0]), [1, 1, 1, 1]);
        assert_eq!(by(6, &[0, 0, 0]), [0, 1, 1, 1, 1, 2]);
        assert_eq!(by(4, &[0, 2, 0]), [0, 1, 1, 2]);
    }

    #[test]
    fn what_does_not_fit_is_told_with_both_numbers() {
        assert!(
            map("block", 5, &[2, 2], false, None)
                .unwrap_err()
                .contains("5 nodes are too many: the 2 hosts have 4 slots")
        );
        assert!(candidates(&hosts(&[0, 0]), Some(3), &Place::Block).unwrap_err().contains("-N 3"));
        assert_eq!(candidates(&hosts(&[0, 0]), Some(1), &Place::Block).unwrap().len(), 1);
        assert!(candidates(&hosts(&[0, 0]), Some(1), &Place::List(vec![0])).is_err());
    }

    proptest! {
        #[test]
        fn every_node_has_a_host_with_room(
            how in prop::sample::select(&["block", "next", "load"]), nodes in 1..200u32, even in any::<bool>(),
            slots in prop::collection::vec(0..40u32, 1..9), last in 0..9usize,
        ) {
            let given = hosts(&slots);
            let loads: Vec<Load> = slots.iter().map(|slots| Load { load: slots * 30, cpus: 100 + slots }).collect();
            match place(&Place::parse(how).unwrap(), nodes, &given, even, Some(last % slots.len()), &loads) {
                Ok(map) => {
                    prop_assert_eq!(map.len(), nodes as usize);
                    for (at, host) in given.iter().enumerate() {
                        prop_assert!(count(&map, at as u32) <= host.slots.unwrap_or(u32::MAX) as usize);
                    }
                }
                Err(_) => prop_assert!(slots.iter().all(|slots| *slots > 0) && slots.iter().sum::<u32>() < nodes),
            }
        }
    }
}
