//! Which addresses two processes use to meet: from the cards of all, so that all come to the same result.
//!
//! Rules:
//! 1. An address that cards of two machines have names neither of them, and is never tried: each host has such a one for itself, as
//!    docker0 and virbr0 are.
//! 2. The loopback reaches the own machine alone.
//! 3. Two processes meet at addresses of one kind that both have: of IPv4 first, then of IPv6; only if they have neither in common, at
//!    link-local ones. Of one kind those come first that are of one network.
//! 4. A process reaches any address of its own machine, so the first one of the other's will do; the first that no other machine has,
//!    if there is one.
//! 5. Processes of one machine may listen at different addresses, because each may have an interface of its own (GASNET_SCI_IFACE). What
//!    is found out about one counts for another only if both have the same addresses.
//!
//! Must not know: interfaces, sockets, when what is tried.

use super::card::{Card, Reach, Spot};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

/// Where to connect to, and the own address to connect from; `None`: the system chooses that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Of the other process.
    pub to: SocketAddr,
    /// The own one, with port 0.
    pub from: Option<SocketAddr>,
}

/// The ways from the process with card `own`, whose addresses have the numbers of their interfaces, to the one with card `peer`, the
/// best one first. None of the addresses in `shared` is tried, nor one that both have although their machines differ.
pub fn ways(own: &Card, peer: &Card, shared: &HashSet<IpAddr>) -> Vec<Way> {
    if own.machine == peer.machine {
        let own_alone = peer.spots.iter().find(|spot| !shared.contains(&spot.at.ip()));
        return own_alone.or(peer.spots.first()).map(|spot| to_itself(own, spot)).into_iter().collect();
    }
    let is_own = |ip: IpAddr| own.spots.iter().any(|spot| spot.at.ip() == ip);
    let usable = |spot: &&Spot| {
        let ip = spot.at.ip();
        spot.reach() != Reach::Loopback && !shared.contains(&ip) && !is_own(ip)
    };
    let mut found: Vec<((Reach, bool), Way)> = Vec::new();
    for theirs in peer.spots.iter().filter(usable) {
        let reach = theirs.reach();
        let ours: Vec<&Spot> =
            own.spots.iter().filter(|spot| spot.reach() == reach && !shared.contains(&spot.at.ip())).collect();
        match (reach, &ours[..]) {
            (_, []) => {}
            // Each link has all such addresses, so the interface decides which host is meant.
            (Reach::Link6, all) => found.extend(all.iter().map(|from| ((reach, true), on_link(theirs, from)))),
            (_, all) => {
                let beside = all.iter().find(|spot| spot.is_beside(theirs));
                let from = beside.or(all.first().filter(|_| all.len() == 1));
                found.push(((reach, beside.is_none()), Way { to: theirs.at, from: from.map(|spot| source(spot)) }));
            }
        }
    }
    found.sort_by_key(|(rank, _)| *rank); // stable: else in the order of the card
    let reach_all = |reach: Reach| reach <= Reach::V6;
    let is_wide = found.iter().any(|((reach, _), _)| reach_all(*reach));
    found.into_iter().filter(|((reach, _), _)| !is_wide || reach_all(*reach)).map(|(_, way)| way).collect()
}

fn source(spot: &Spot) -> SocketAddr {
    let mut at = spot.at;
    at.set_port(0);
    at
}

/// With the number of the interface that `from` has.
fn on_link(theirs: &Spot, from: &Spot) -> Way {
    let mut to = theirs.at;
    if let (SocketAddr::V6(to), SocketAddr::V6(from)) = (&mut to, from.at) {
        to.set_scope_id(from.scope_id());
    }
    Way { to, from: Some(source(from)) }
}

fn to_itself(own: &Card, theirs: &Spot) -> Way {
    let same = own.spots.iter().find(|spot| spot.at.ip() == theirs.at.ip());
    same.map_or(Way { to: theirs.at, from: None }, |same| on_link(theirs, same))
}

/// The cards of all nodes, by rank.
#[derive(Debug, Default)]
pub struct Book {
    cards: Vec<Option<Card>>,
    /// Addresses that no node has for itself (rule 1).
    shared: HashSet<IpAddr>,
    known: HashSet<IpAddr>,
}

impl Book {
    /// A book of what the nodes have sent, by rank. What is no card is left out.
    pub fn read(cards: &[Vec<u8>]) -> Book {
        Book::new(cards.iter().map(|bytes| Card::read(bytes)).collect())
    }

    /// True if node `rank` says of this address that it is one of its own.
    pub fn has(&self, rank: u32, at: SocketAddr) -> bool {
        let card = self.cards.get(rank as usize).and_then(Option::as_ref);
        card.is_some_and(|card| card.spots.iter().any(|spot| (spot.at.ip(), spot.at.port()) == (at.ip(), at.port())))
    }

    fn new(cards: Vec<Option<Card>>) -> Book {
        let (mut machines, mut shared) = (HashMap::new(), HashSet::new());
        for card in cards.iter().flatten() {
            for ip in card.spots.iter().map(|spot| spot.at.ip()) {
                if *machines.entry(ip).or_insert(card.machine) != card.machine {
                    shared.insert(ip);
                }
            }
        }
        let known = machines.into_keys().collect();
        Book { cards, shared, known }
    }

    /// True if a node has this address.
    pub fn knows(&self, ip: IpAddr) -> bool {
        self.known.contains(&ip)
    }

    /// The ways from the process with card `own` to node `peer`; see [`ways`].
    ///
    /// # Errors
    /// Why there is none.
    pub fn ways(&self, own: &Card, peer: u32) -> Result<Vec<Way>, String> {
        let Some(Some(card)) = self.cards.get(peer as usize) else {
            return Err("it has no address on this network".into());
        };
        match ways(own, card, &self.shared) {
            ways if ways.is_empty() => Err(format!("there is no way to its addresses ({})", card.addresses())),
            ways => Ok(ways),
        }
    }

    /// Whether a node may connect to `at`, an address of the process with card `own`.
    pub fn is_used(&self, own: &Card, at: SocketAddr) -> bool {
        let mut seen = HashSet::new();
        let addresses = |card: &Card| card.spots.iter().map(|spot| (spot.at.ip(), spot.prefix)).collect::<Vec<_>>();
        let others = self.cards.iter().flatten().filter(|card| seen.insert((card.machine, addresses(card)))); // rule 5
        let is_at = |way: &Way| (way.to.ip(), way.to.port()) == (at.ip(), at.port());
        others.into_iter().any(|card| ways(card, own, &self.shared).iter().any(is_at))
    }

    /// True if all nodes are processes of one machine.
    pub fn is_of_one_machine(&self) -> bool {
        let mut machines = self.cards.iter().flatten().map(|card| card.machine);
        let first = machines.next();
        machines.all(|machine| Some(machine) == first)
    }

    /// The first node that cannot meet all others, and why. All nodes come to the same one, so that it alone need tell.
    pub fn gap(&self) -> Option<(u32, String)> {
        if self.is_of_one_machine() {
            return None;
        }
        // Nodes with the same kinds of addresses meet the same nodes of other machines. So the first nodes of each kind will do, of two
        // machines if there are as many: a node need not meet those of its own machine at such addresses (rule 4).
        let mut firsts: BTreeMap<Vec<Reach>, Vec<(u64, u32)>> = BTreeMap::new();
        for (rank, card) in (0..).zip(&self.cards) {
            if let Some(card) = card {
                let known = firsts.entry(self.kinds(card)).or_default();
                if known.len() < 2 && known.iter().all(|(machine, _)| *machine != card.machine) {
                    known.push((card.machine, rank));
                }
            }
        }
        if let Some([(_, lonely), ..]) = firsts.get(&Vec::new()).map(Vec::as_slice) {
            return Some((*lonely, self.without_any(*lonely)));
        }
        let apart = |a: &[Reach], b: &[Reach]| a.iter().all(|kind| !b.contains(kind));
        let all = || firsts.iter().flat_map(|(kinds, nodes)| nodes.iter().map(move |node| (kinds, node)));
        let pairs = all().flat_map(|a| all().map(move |b| (a, b)));
        let found = pairs
            .filter(|((a, (here, first)), (b, (there, second)))| first < second && here != there && apart(a, b))
            .map(|((a, (_, first)), (b, (_, second)))| (a, *first, b, *second))
            .min_by_key(|pair| (pair.1, pair.3));
        let (kinds, first, other_kinds, second) = found?;
        let list = |rank: u32, kinds: &[Reach]| {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            format!("{} addresses ({})", names.join(" and "), self.shown(rank))
        };
        let why = format!(
            "this host has only {}, and that of node {second} only {}: they cannot meet; give both hosts addresses of one family, or \
             choose interfaces that have such (GASNET_SCI_IFACE)",
            list(first, kinds),
            list(second, other_kinds)
        );
        Some((first, why))
    }

    /// The kinds of addresses by which others can reach the process with this card, in order.
    fn kinds(&self, card: &Card) -> Vec<Reach> {
        let own = card.spots.iter().filter(|spot| !self.shared.contains(&spot.at.ip()));
        let mut kinds: Vec<Reach> = own.map(Spot::reach).filter(|reach| *reach != Reach::Loopback).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    fn shown(&self, rank: u32) -> String {
        let spots = self.cards[rank as usize].iter().flat_map(|card| &card.spots);
        let texts: Vec<String> = spots.map(|spot| spot.at.ip().to_string()).collect();
        texts.join(", ")
    }

    fn without_any(&self, rank: u32) -> String {
        let card = self.cards[rank as usize].as_ref();
        let is_alone = card.is_none_or(|card| card.spots.iter().all(|spot| spot.reach() == Reach::Loopback));
        let what = match is_alone {
            true => "this host has no interface that is up but the loopback",
            false => "other hosts have the same addresses as this one, such as each host's bridge of containers has",
        };
        let shown = self.shown(rank);
        format!(
            "{what} ({shown}), so nodes of other hosts cannot reach it; set up an interface to their network, or name one of another \
             address (GASNET_SCI_IFACE)"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses, each with the length of its prefix and the number of its interface: `10.0.0.1/24`, `fe80::1/64%2`.
    fn card(machine: u64, addresses: &[&str]) -> Card {
        let spot = |text: &&str| {
            let (text, scope) = text.split_once('%').unwrap_or((text, "0"));
            let (ip, prefix) = text.split_once('/').unwrap();
            let mut at = SocketAddr::new(ip.parse().unwrap(), 4000 + machine as u16);
            if let SocketAddr::V6(six) = &mut at {
                six.set_scope_id(scope.parse().unwrap());
            }
            Spot { at, prefix: prefix.parse().unwrap() }
        };
        Card { machine, spots: addresses.iter().map(spot).collect() }
    }

    fn book(cards: &[Card]) -> Book {
        Book::read(&cards.iter().map(Card::bytes).collect::<Vec<_>>())
    }

    /// The ways from each node to each other one, as `FROM>TO`, with blanks between.
    fn between(cards: &[Card], a: usize, b: usize) -> String {
        let text = |way: &Way| format!("{}>{}", way.from.map_or("?".into(), |from| from.ip().to_string()), way.to.ip());
        let ways = book(cards).ways(&cards[a], b as u32);
        ways.map_or_else(|why| why, |ways| ways.iter().map(text).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn ipv4_comes_before_ipv6_and_an_own_network_before_others() {
        let a = card(1, &["172.20.0.1/16", "10.0.0.1/24", "fd00::1/64", "fe80::1/64%2"]);
        let b = card(2, &["192.168.3.1/24", "10.0.0.2/24", "fd00::2/64", "fe80::2/64%7"]);
        let cards = [a, b];
        assert_eq!(between(&cards, 0, 1), "10.0.0.1>10.0.0.2 ?>192.168.3.1 fd00::1>fd00::2");
        assert_eq!(between(&cards, 1, 0), "10.0.0.2>10.0.0.1 ?>172.20.0.1 fd00::2>fd00::1");
        assert_eq!(book(&cards).gap(), None);
    }

    #[test]
    fn a_routed_network_is_reached_from_the_only_address_of_its_kind() {
        let cards = [card(1, &["10.0.0.1/24"]), card(2, &["10.0.1.1/24", "fd00::2/64"])];
        assert_eq!(between(&cards, 0, 1), "10.0.0.1>10.0.1.1");
        assert_eq!(between(&cards, 1, 0), "10.0.1.1>10.0.0.1");
    }

    #[test]
    fn hosts_without_ipv4_meet_over_ipv6() {
        let cards = [card(1, &["fd00::1/64", "fe80::1/64%2"]), card(2, &["10.0.0.2/24", "fd00:1::2/64"])];
        assert_eq!(between(&cards, 0, 1), "fd00::1>fd00:1::2");
        assert_eq!(book(&cards).gap(), None);
    }

    #[test]
    fn link_local_addresses_are_tried_over_each_own_interface_and_only_without_others() {
        let a = card(1, &["fe80::1/64%2", "fe80::11/64%3"]);
        let b = card(2, &["10.0.0.2/24", "fd00::2/64", "fe80::2/64"]);
        let cards = [a, b];
        let ways = book(&cards).ways(&cards[0], 1).unwrap();
        let text = |at: SocketAddr| match at {
            SocketAddr::V6(at) => format!("{}%{}:{}", at.ip(), at.scope_id(), at.port()),
            SocketAddr::V4(_) => panic!("{at}"),
        };
        let texts: Vec<String> =
            ways.iter().map(|way| format!("{}>{}", text(way.from.unwrap()), text(way.to))).collect();
        assert_eq!(texts, ["fe80::1%2:0>fe80::2%2:4002", "fe80::11%3:0>fe80::2%3:4002"]);
        let far = [card(1, &["169.254.0.1/16"]), card(2, &["169.254.0.2/16"])];
        assert_eq!(between(&far, 0, 1), "169.254.0.1>169.254.0.2");
    }

    /// docker0, virbr0: also where a third host sees two that have the same.
    #[test]
    fn an_address_of_two_hosts_is_never_chosen() {
        let cards = [
            card(1, &["172.17.0.1/16", "10.0.0.1/24", "fd17::1/64"]),
            card(2, &["172.17.0.1/16", "10.0.0.2/24", "fd17::1/64"]),
            card(3, &["10.0.1.3/24"]),
        ];
        assert_eq!(between(&cards, 0, 1), "10.0.0.1>10.0.0.2");
        assert_eq!(between(&cards, 2, 0), "10.0.1.3>10.0.0.1");
        assert_eq!(between(&cards, 0, 2), "10.0.0.1>10.0.1.3", "an address of two hosts is no way to leave, either");
        assert_eq!(
            ways(&cards[0], &cards[1], &HashSet::new()),
            book(&cards).ways(&cards[0], 1).unwrap(),
            "two cards are enough"
        );
        let at = |index: usize| cards[0].spots[index].at;
        let book = book(&cards);
        assert_eq!([0, 1, 2].map(|index| book.is_used(&cards[0], at(index))), [false, true, false]);
        assert!(book.knows(at(1).ip()) && !book.knows([10, 0, 0, 9].into()));
    }

    /// As with GASNET_SCI_SPLIT: one machine counts as several hosts, which have all addresses in common.
    #[test]
    fn nodes_of_one_machine_meet_at_any_address() {
        let cards = [card(1, &["127.0.0.1/8", "::1/128"]), card(1, &["127.0.0.1/8", "::1/128"])];
        assert_eq!(between(&cards, 0, 1), "127.0.0.1>127.0.0.1");
        assert_eq!(book(&cards).gap(), None);
        let cards = [card(1, &["fe80::1/64%4"]), card(1, &["fe80::1/64%4"])];
        let way = book(&cards).ways(&cards[0], 1).unwrap()[0];
        assert!(matches!(way.to, SocketAddr::V6(to) if to.scope_id() == 4), "{way:?}");
        assert!(book(&cards).is_used(&cards[1], cards[1].spots[0].at));
    }

    /// GASNET_SCI_IFACE differs between the nodes of machine 2.
    #[test]
    fn nodes_of_one_machine_may_listen_at_different_addresses() {
        let six = "fd00::1/64";
        let cards = [card(1, &["10.0.0.1/24", six]), card(2, &["10.0.0.2/24"]), card(2, &["fd00::2/64"])];
        assert_eq!(
            (between(&cards, 1, 0).as_str(), between(&cards, 2, 0).as_str()),
            ("10.0.0.2>10.0.0.1", "fd00::2>fd00::1")
        );
        let book_of_all = book(&cards);
        assert_eq!([0, 1].map(|at| book_of_all.is_used(&cards[0], cards[0].spots[at].at)), [true; 2]);
        assert_eq!((between(&cards, 1, 2).as_str(), between(&cards, 2, 1).as_str()), ("?>fd00::2", "?>10.0.0.2"));
        assert!(
            book_of_all.is_used(&cards[1], cards[1].spots[0].at)
                && book_of_all.is_used(&cards[2], cards[2].spots[0].at)
        );
        assert_eq!(book_of_all.gap(), None, "nodes of one machine meet whatever they have");
        // Where the first one of a kind is of the same machine, a later one of another is found.
        let cards = [
            card(2, &["10.0.0.2/24"]),
            card(2, &["fd00::2/64"]),
            card(3, &["10.0.0.3/24", "fd00::3/64"]),
            card(3, &[six]),
        ];
        let (rank, why) = book(&cards).gap().unwrap();
        assert!(rank == 0 && why.contains("node 3"), "{rank}: {why}");
    }

    #[test]
    fn a_host_that_others_cannot_reach_is_named_by_one_node() {
        let loopback = ["127.0.0.1/8", "::1/128"];
        let cards = [card(1, &["10.0.0.1/24"]), card(2, &loopback), card(2, &loopback), card(3, &["10.0.0.3/24"])];
        let (rank, why) = book(&cards).gap().unwrap();
        assert!(
            rank == 1 && why.contains("but the loopback (127.0.0.1, ::1)") && why.contains("_IFACE"),
            "{rank}: {why}"
        );
        assert!(between(&cards, 0, 1).contains("no way to its addresses"));
        let cards = [card(1, &["172.17.0.2/16"]), card(2, &["172.17.0.2/16"]), card(3, &["10.0.0.3/24"])];
        let (rank, why) = book(&cards).gap().unwrap();
        assert!(rank == 0 && why.contains("have the same addresses") && why.contains("172.17.0.2"), "{rank}: {why}");
    }

    #[test]
    fn hosts_without_a_common_family_are_named() {
        let cards = [
            card(1, &["10.0.0.1/24", "fd00::1/64"]),
            card(2, &["10.0.0.2/24"]),
            card(2, &["10.0.0.2/24"]),
            card(3, &["fd00::3/64", "fe80::3/64"]),
        ];
        let (rank, why) = book(&cards).gap().unwrap();
        let both =
            ["only IPv4 addresses (10.0.0.2)", "node 3", "only IPv6 and IPv6 link-local addresses (fd00::3, fe80::3)"];
        assert!(rank == 1 && both.iter().all(|part| why.contains(part)), "{rank}: {why}");
        assert_eq!(book(&cards[..3]).gap(), None);
        assert!(Book::read(&[cards[0].bytes(), Vec::new()]).ways(&cards[0], 1).unwrap_err().contains("no address"));
    }
}
