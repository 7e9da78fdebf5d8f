//! How positions are connected: the hops and turns from one to another, and which links a transfer loads.
//!
//! A ring's links lead from each position to the next one. In a torus a packet goes along the ring of its row to the target's column,
//! and then along the ring of that column. At a switch each position has a link up and a link down.
//!
//! Must not know: which rank has which position, clocks.

use super::file::{is_file, value_of_file};
use serde_json::Value;
use std::fmt;

/// Who is connected with whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Each pair has a link of its own: one hop, and nobody waits for another.
    Apart,
    /// One ring of so many positions.
    Ring(u32),
    /// Rows of so many positions, so many rows. Position y·X + x is column x of row y.
    Torus(u32, u32),
    /// So many positions around a switch.
    Switch(u32),
}

/// The route of a packet from one position of a [`Topology`] to another, as far as it costs time: how many links the packet passes, and how
/// often it changes rings. [`Topology::way`] makes it, and `gasnet-sci place` does for positions of its own; the formulas of
/// [`Parameters`](super::Parameters) read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// Links that the packet passes.
    pub hops: u32,
    /// How often it goes from one ring over to another.
    pub turns: u32,
}

/// Bytes on a link: (for a whole line, for a piece of 16), for a link on the way, and for another one of a ring that is used.
/// They are sizes of the SCI standard: packets with their head, responses of 16 bytes, echoes of 8.
pub const LINK_BYTES: [(u32, u32); 2] = [(88, 40), (24, 24)];

/// A link that a packet loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Its number, below [`Topology::links`].
    pub link: u32,
    /// The packet itself passes it; else only responses and echoes do.
    pub is_on_way: bool,
}

/// The most positions: SCI has 16 bits for a node, and reserves the last 16 numbers.
const MOST: u32 = 65_520;

impl Topology {
    /// `ring:N`, `torus:XxY` or `switch:N`, in the positions that there are; else what is wrong.
    pub fn parse(text: &str) -> Result<Topology, String> {
        let form = || format!("'{text}' is not ring:N, torus:XxY or switch:N");
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| (1..=MOST).contains(n));
        let (kind, size) = text.trim().split_once(':').ok_or_else(form)?;
        let topology = match kind {
            "ring" => number(size).map(Topology::Ring),
            "switch" => number(size).map(Topology::Switch),
            "torus" => size.split_once('x').and_then(|(x, y)| Some(Topology::Torus(number(x)?, number(y)?))),
            _ => None,
        };
        let topology = topology.ok_or_else(form)?;
        match topology.positions() {
            Some(n) if n > MOST => Err(format!("'{text}' has {n} positions, SCI has {MOST}")),
            _ => Ok(topology),
        }
    }

    /// The same, or the name of a JSON file (with a slash, or .json at its end) with an object such as
    /// `{"kind":"torus","x":4,"y":2}` or `{"kind":"ring","nodes":8}`. Its other fields are not for timing mode.
    pub fn read(text: &str) -> Result<Topology, String> {
        let file = text.trim();
        if !is_file(file) {
            return Topology::parse(text);
        }
        Topology::of_json(&value_of_file(file)?).map_err(|error| format!("{file}: {error}"))
    }

    /// Reads the object of such a file.
    pub fn of_json(value: &Value) -> Result<Topology, String> {
        let number =
            |name: &str| value[name].as_u64().ok_or_else(|| format!("\"{name}\" is not a number of positions"));
        match value["kind"].as_str() {
            Some(kind @ ("ring" | "switch")) => Topology::parse(&format!("{kind}:{}", number("nodes")?)),
            Some("torus") => Topology::parse(&format!("torus:{}x{}", number("x")?, number("y")?)),
            _ => Err("\"kind\" is not ring, torus or switch, which timing mode knows".into()),
        }
    }

    /// How many positions it has; `None`: any number.
    pub fn positions(self) -> Option<u32> {
        match self {
            Topology::Apart => None,
            Topology::Ring(n) | Topology::Switch(n) => Some(n),
            Topology::Torus(x, y) => Some(x.saturating_mul(y)),
        }
    }

    /// How many links it has that transfers share.
    pub fn links(self) -> u32 {
        match self {
            Topology::Apart => 0,
            Topology::Ring(n) => n,
            Topology::Torus(x, y) => 2 * x * y,
            Topology::Switch(n) => 2 * n,
        }
    }

    /// From position `a` to position `b`. To itself: no hop.
    pub fn way(self, a: u32, b: u32) -> Route {
        match self {
            _ if a == b => Route { hops: 0, turns: 0 },
            Topology::Apart => Route { hops: 1, turns: 0 },
            Topology::Ring(n) => Route { hops: forward(a, b, n), turns: 0 },
            Topology::Torus(x, y) => {
                let (along, across) = (forward(a % x, b % x, x), forward(a / x, b / x, y));
                Route { hops: along + across, turns: u32::from(along > 0 && across > 0) }
            }
            Topology::Switch(_) => Route { hops: 2, turns: 0 },
        }
    }

    /// Calls `each` for every link that a packet from `a` to `b` loads; those on its way come in the order in which it passes
    /// them.
    pub fn loads(self, a: u32, b: u32, mut each: impl FnMut(Load)) {
        match self {
            _ if a == b => {}
            Topology::Apart => {}
            Topology::Ring(n) => ring(a, b, n, |position| position, &mut each),
            Topology::Torus(x, y) => {
                let (row, column) = (a / x, b % x);
                ring(a % x, column, x, |position| row * x + position, &mut each);
                ring(row, b / x, y, |position| x * y + position * x + column, &mut each);
            }
            Topology::Switch(n) => {
                each(Load { link: a, is_on_way: true });
                each(Load { link: n + b, is_on_way: true });
                each(Load { link: b, is_on_way: false });
                each(Load { link: n + a, is_on_way: false });
            }
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topology::Apart => f.write_str("a link for each pair"),
            Topology::Ring(n) => write!(f, "ring:{n}"),
            Topology::Torus(x, y) => write!(f, "torus:{x}x{y}"),
            Topology::Switch(n) => write!(f, "switch:{n}"),
        }
    }
}

/// Links from `a` to `b` on a ring of `n` that goes one way.
fn forward(a: u32, b: u32, n: u32) -> u32 {
    (b + n - a) % n
}

/// The links of a ring of `n`; `link` numbers them by the position that they begin at. A packet that does not leave its place on the ring
/// does not use it.
fn ring(a: u32, b: u32, n: u32, link: impl Fn(u32) -> u32, each: &mut impl FnMut(Load)) {
    let hops = forward(a, b, n);
    if hops > 0 {
        (0..n).for_each(|i| each(Load { link: link((a + i) % n), is_on_way: i < hops }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_way(topology: Topology, a: u32, b: u32) -> Vec<u32> {
        let mut links = Vec::new();
        topology.loads(a, b, |load| links.extend(load.is_on_way.then_some(load.link)));
        links
    }

    #[test]
    fn names_are_read_and_printed() {
        for text in ["ring:4", "torus:4x2", "switch:16"] {
            assert_eq!(Topology::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "ring", "ring:0", "torus:4", "torus:4x0", "torus:400x400", "mesh:4", "ring:-1", "ring:4x"] {
            assert!(Topology::parse(text).unwrap_err().contains(text), "{text}");
        }
    }

    #[test]
    fn files_describe_what_words_do() {
        let read = |text: &str| Topology::of_json(&serde_json::from_str(text).unwrap());
        assert_eq!(read(r#"{"kind":"torus","x":4,"y":2,"model":{"profile":"d339"}}"#), Ok(Topology::Torus(4, 2)));
        assert_eq!(read(r#"{"kind":"switch","nodes":3}"#), Ok(Topology::Switch(3)));
        for (text, part) in [
            (r#"{"kind":"ring"}"#, "nodes"),
            (r#"{"kind":"torus","x":-4,"y":2}"#, "\"x\""),
            (r#"{"kind":"ring","nodes":0}"#, "ring:0"),
            (r#"{"kind":"host"}"#, "ring, torus or switch"),
            ("[]", "kind"),
        ] {
            assert!(read(text).unwrap_err().contains(part), "{text}");
        }
        assert!(Topology::read("./none.json").unwrap_err().contains("./none.json"));
    }

    #[test]
    fn rings_go_one_way_and_tori_along_the_row_first() {
        let (ring, torus) = (Topology::Ring(4), Topology::Torus(4, 2));
        assert_eq!((ring.way(0, 3).hops, ring.way(3, 0).hops), (3, 1));
        assert_eq!(on_way(ring, 3, 1), [3, 0]);
        assert_eq!(torus.way(0, 5), Route { hops: 2, turns: 1 });
        assert_eq!(torus.way(5, 0), Route { hops: 4, turns: 1 });
        assert_eq!(torus.way(0, 4), Route { hops: 1, turns: 0 });
        assert_eq!(on_way(torus, 0, 5), [0, 8 + 1], "column 1 of row 0 downwards");
        assert_eq!(on_way(torus, 5, 0), [5, 6, 7, 8 + 4]);
        assert_eq!(Topology::Switch(4).way(1, 2).hops, 2);
        assert_eq!(on_way(Topology::Switch(4), 1, 2), [1, 6]);
    }

    #[test]
    fn a_way_has_as_many_links_as_hops_and_no_link_twice() {
        for topology in [Topology::Ring(5), Topology::Torus(3, 4), Topology::Torus(1, 3), Topology::Switch(6)] {
            let n = topology.positions().unwrap();
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                assert_eq!(on_way(topology, a, b).len() as u32, topology.way(a, b).hops, "{topology} {a} {b}");
                let mut all = Vec::new();
                topology.loads(a, b, |load| all.push(load.link));
                let count = all.len();
                all.sort_unstable();
                all.dedup();
                assert!(all.len() == count && all.iter().all(|link| *link < topology.links()), "{topology} {a} {b}");
            }
        }
    }
}
