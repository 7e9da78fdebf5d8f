//! Positions on hosts: a tree of hosts, packages, NUMA nodes, caches and cores, and what it costs to cross its tiers.
//!
//! A host is this machine, a copy of another one's /sys/devices/system, or a description by numbers. Its positions are
//! its cores, or its CPUs where there are more ranks than cores. The cost of a pair goes by the nearest tier that both
//! have in common; the figures are assumptions (contract, B5).
//!
//! Must not know: traffic, the command line.

use super::links::{Shape, Tree, Vertex};
use super::machine::Machine;
use super::measure;
use super::model::Line;
use crate::map::{Place, Spot};
use gasnet_sci::os::levels::homes_below;
use gasnet_sci::os::sys;
use gasnet_sci::os::topology::{Topology, parse_list};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// What a vertex of the tree is; also the nearest thing that two positions have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    Network,
    Host,
    Package,
    Die,
    Numa,
    L3,
    L2,
    Core,
    Cpu,
}

impl Tier {
    const ALL: [Tier; 9] =
        [Tier::Network, Tier::Host, Tier::Package, Tier::Die, Tier::Numa, Tier::L3, Tier::L2, Tier::Core, Tier::Cpu];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        ["network", "host", "package", "die", "numa", "l3", "l2", "core", "cpu"][self as usize]
    }

    /// The tier of this name.
    pub fn named(name: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.name() == name)
    }
}

/// The line of each tier, by number.
pub type Costs = [Line; Tier::ALL.len()];

/// The costs that hold unless the user gives others.
pub fn assumed() -> Costs {
    let line = |alpha, beta| Line { alpha, beta };
    let near = |alpha| line(alpha, 0.05);
    [
        line(2000.0, 0.1),
        line(250.0, 0.08),
        near(120.0),
        near(120.0),
        near(120.0),
        near(80.0),
        near(40.0),
        near(30.0),
        near(0.0),
    ]
}

/// A position of a host: its names from the package down, and what a map calls it.
struct Seat {
    /// Numbers of what it is in, from the package to the CPU. Equal beginnings mean the same thing.
    within: Vec<(Tier, usize)>,
    spot: Spot,
}

/// A host.
pub struct Host {
    pub name: String,
    cores: Vec<Seat>,
    /// Empty: it is not known what CPUs the cores have.
    cpus: Vec<Seat>,
    /// How far the system says that NUMA nodes are apart, by their numbers: 10 for one and the same.
    distances: HashMap<(usize, usize), usize>,
}

impl Host {
    /// This machine as far as this process may use it.
    pub fn this(name: &str) -> Host {
        Self::read(name, Path::new("/sys/devices/system"), sys::usable_cpus())
    }

    /// The machine of which `root` is a copy of /sys/devices/system.
    ///
    /// # Errors
    /// It has no list of CPUs that are online.
    pub fn copied(name: &str, root: &Path) -> Result<Host, String> {
        let file = root.join("cpu/online");
        let list = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let cpus = parse_list(&list);
        if cpus.is_empty() {
            return Err(format!("{}: no CPUs", file.display()));
        }
        Ok(Self::read(name, root, cpus))
    }

    fn read(name: &str, root: &Path, usable: Vec<usize>) -> Host {
        let topology = Topology::read_below(root, usable);
        let (mut cores, mut cpus) = (Vec::new(), Vec::new());
        for (number, (core, home)) in topology.cores.iter().zip(homes_below(root, &topology)).enumerate() {
            let mut within = vec![(Tier::Package, home.package), (Tier::Die, home.die.1), (Tier::Numa, home.numa)];
            within.extend(home.l3.map(|cpu| (Tier::L3, cpu)));
            within.extend(home.l2.map(|cpu| (Tier::L2, cpu)));
            within.push((Tier::Core, number));
            for cpu in core {
                let within = [&within[..], &[(Tier::Cpu, *cpu)]].concat();
                cpus.push(Seat { within, spot: Spot::Cpus(vec![*cpu]) });
            }
            let mut all = core.clone();
            all.sort_unstable();
            cores.push(Seat { within, spot: Spot::Cpus(all) });
        }
        let ids: Vec<usize> = topology.numa.iter().map(|node| node.id).collect();
        Host { name: name.into(), cores, cpus, distances: distances_below(root, &ids) }
    }

    /// A host of `packages` with `numa` NUMA nodes each, with `l3` third-level caches each, with `cores` each.
    pub fn described(name: &str, [packages, numa, l3, cores]: [usize; 4]) -> Host {
        let seat = |core: usize| {
            let cache = core / cores;
            let node = cache / l3;
            let within = vec![(Tier::Package, node / numa), (Tier::Numa, node), (Tier::L3, cache), (Tier::Core, core)];
            Seat { within, spot: Spot::Core(core) }
        };
        Host {
            name: name.into(),
            cores: (0..packages * numa * l3 * cores).map(seat).collect(),
            cpus: Vec::new(),
            distances: HashMap::new(),
        }
    }

    /// `costs`, with what was measured on this machine between two CPUs of each tier that it has.
    ///
    /// # Errors
    /// A CPU cannot be used.
    pub fn measured(&self, mut costs: Costs) -> Result<Costs, String> {
        for tier in Tier::ALL {
            let pairs = pairs(&self.cpus).filter(|(a, b)| nearest(a, b) == tier);
            // Those that are farther apart cost more by their distance.
            let Some((a, b)) = pairs.min_by_key(|(a, b)| self.distance(a, b)) else { continue };
            if let (Spot::Cpus(a), Spot::Cpus(b)) = (&a.spot, &b.spot) {
                costs[tier as usize] = measure::between(a[0], b[0])
                    .map_err(|error| format!("--measure between CPUs {} and {}: {error}", a[0], b[0]))?;
            }
        }
        Ok(costs)
    }

    /// How far the NUMA nodes of two seats are apart. `None`: they are the same, or the system does not say.
    fn distance(&self, a: &Seat, b: &Seat) -> Option<usize> {
        let numa = |seat: &Seat| seat.within.iter().find(|(tier, _)| *tier == Tier::Numa).map(|(_, id)| *id);
        numa(a).zip(numa(b)).filter(|(a, b)| a != b).and_then(|pair| self.distances.get(&pair).copied())
    }

    /// The least distance of seats in different NUMA nodes, by the nearest thing that they have in common.
    fn least_distances(&self) -> HashMap<Tier, usize> {
        let mut least = HashMap::new();
        for (a, b) in pairs(if self.distances.is_empty() { &[] } else { &self.cores }) {
            if let Some(distance) = self.distance(a, b) {
                let known = least.entry(nearest(a, b)).or_insert(distance);
                *known = distance.min(*known);
            }
        }
        least
    }

    fn seats(&self, by_cpu: bool) -> &[Seat] {
        if by_cpu { &self.cpus } else { &self.cores }
    }
}

fn pairs(seats: &[Seat]) -> impl Iterator<Item = (&Seat, &Seat)> {
    seats.iter().enumerate().flat_map(|(at, a)| seats[at + 1..].iter().map(move |b| (a, b)))
}

// The nearest thing that two seats of a host have in common.
fn nearest(a: &Seat, b: &Seat) -> Tier {
    let common = a.within.iter().zip(&b.within).take_while(|(x, y)| x == y).last();
    common.map_or(Tier::Host, |((tier, _), _)| *tier)
}

// The distances of NUMA nodes, from their files, which have a number for each node that is there.
fn distances_below(root: &Path, ids: &[usize]) -> HashMap<(usize, usize), usize> {
    let online = fs::read_to_string(root.join("node/online")).map(|list| parse_list(&list)).unwrap_or_default();
    let row = |from: usize| {
        let text = fs::read_to_string(root.join(format!("node/node{from}/distance"))).unwrap_or_default();
        let row: Vec<usize> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        online.iter().copied().zip(row).map(move |(to, distance)| ((from, to), distance)).collect::<Vec<_>>()
    };
    ids.iter().flat_map(|from| row(*from)).collect()
}

/// The machine that `hosts` are. `ranks` says whether cores suffice. `between` gives the line between two hosts by
/// their numbers.
pub fn machine(
    topology: &str,
    hosts: &[Host],
    ranks: usize,
    costs: &Costs,
    between: impl Fn(usize, usize) -> Line,
) -> Machine {
    let cores: usize = hosts.iter().map(|host| host.cores.len()).sum();
    let by_cpu = ranks > cores && hosts.iter().all(|host| !host.cpus.is_empty());
    let mut builder = Builder::new(hosts.len());
    let mut places = Vec::new();
    let (mut homes, mut seats) = (Vec::new(), Vec::new());
    for (number, host) in hosts.iter().enumerate() {
        for seat in host.seats(by_cpu) {
            builder.add(number, host, seat);
            let name = (hosts.len() > 1).then(|| host.name.clone());
            places.push(Place { host: name, spot: seat.spot.clone() });
            homes.push(number);
            seats.push(seat);
        }
    }
    let Builder { tree, tiers, .. } = builder;
    // A link carries as much as its upper end passes on. To and from a host that is what the best line of that host says.
    let rate = |beta: f64| if beta > 0.0 { 1.0 / beta } else { f64::INFINITY };
    let mut rates: Vec<f64> =
        tree.vertices.iter().flat_map(|vertex| [rate(costs[tiers[vertex.parent] as usize].beta); 2]).collect();
    let tops = (0..tiers.len()).filter(|vertex| tiers[*vertex] == Tier::Host && hosts.len() > 1);
    for (vertex, host) in
        tops.zip(hosts.iter().enumerate().filter(|(_, host)| !host.seats(by_cpu).is_empty()).map(|(number, _)| number))
    {
        let least = |beta: &dyn Fn(usize) -> f64| {
            (0..hosts.len()).filter(|other| *other != host).map(beta).fold(f64::INFINITY, f64::min)
        };
        rates[2 * vertex] = rate(least(&|other| between(host, other).beta));
        rates[2 * vertex + 1] = rate(least(&|other| between(other, host).beta));
    }
    let shared = tree.clone();
    let least: Vec<HashMap<Tier, usize>> = hosts.iter().map(Host::least_distances).collect();
    Machine::plain(topology, Shape::Tree(tree), places, rates, |p, q| match tiers[shared.common(p, q)] {
        Tier::Network => (Tier::Network.name().into(), between(homes[p], homes[q])),
        tier => {
            // The line of a tier is that of the nearest such pair.
            let distance = hosts[homes[p]].distance(seats[p], seats[q]);
            let part = distance.zip(least[homes[p]].get(&nearest(seats[p], seats[q])));
            let far = part.map_or(1.0, |(distance, least)| distance as f64 / (*least).max(1) as f64);
            let line = costs[tier as usize];
            let apart = if far > 1.0 { format!(", {far:.2} times as far") } else { String::new() };
            (format!("same {}{apart}", tier.name()), Line { alpha: line.alpha * far, ..line })
        }
    })
}

// Makes the tree from seats.
struct Builder {
    tree: Tree,
    tiers: Vec<Tier>,
    known: HashMap<(usize, Tier, usize), usize>,
    several: bool,
}

impl Builder {
    fn new(hosts: usize) -> Builder {
        let mut builder =
            Builder { tree: Tree::default(), tiers: Vec::new(), known: HashMap::new(), several: hosts > 1 };
        let (tier, name) = if builder.several { (Tier::Network, "network") } else { (Tier::Host, "host") };
        builder.vertex(0, tier, name.into());
        builder
    }

    fn vertex(&mut self, parent: usize, tier: Tier, name: String) -> usize {
        let depth = self.tree.vertices.get(parent).map_or(0, |above: &Vertex| above.depth + 1);
        self.tree.vertices.push(Vertex { name, parent, depth });
        self.tiers.push(tier);
        self.tiers.len() - 1
    }

    fn add(&mut self, number: usize, host: &Host, seat: &Seat) {
        let mut at = 0;
        let host_part = self.several.then_some((Tier::Host, number));
        for (tier, value) in host_part.into_iter().chain(seat.within.iter().copied()) {
            let key = (at, tier, value);
            at = match self.known.get(&key) {
                Some(vertex) => *vertex,
                None => {
                    let own = if tier == Tier::Host { host.name.clone() } else { format!("{} {value}", tier.name()) };
                    let prefix =
                        if self.several && tier != Tier::Host { format!("{}/", host.name) } else { String::new() };
                    let vertex = self.vertex(at, tier, prefix + &own);
                    self.known.insert(key, vertex);
                    vertex
                }
            };
        }
        self.tree.leaves.push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alpha(machine: &Machine, p: usize, q: usize) -> f64 {
        machine.levels[machine.level(p, q)].lines[1].alpha
    }

    #[test]
    fn costs_go_by_the_nearest_common_tier() {
        let hosts = [Host::described("a", [2, 2, 2, 2]), Host::described("b", [1, 1, 1, 4])];
        let far = Line { alpha: 5000.0, beta: 1.0 };
        let machine = machine("hosts", &hosts, 4, &assumed(), |_, _| far);
        assert_eq!(machine.positions(), 20);
        assert_eq!([1, 2, 4, 8, 16].map(|q| alpha(&machine, 0, q)), [80.0, 120.0, 120.0, 250.0, 5000.0]);
        assert_eq!((alpha(&machine, 16, 19), alpha(&machine, 3, 3)), (80.0, 0.0));
        assert_eq!(machine.places[17].to_string(), "b/core:1");
        assert_eq!(machine.position(&"a/core:15".parse().unwrap()), Ok(15));
        assert_eq!(machine.shape.links().len(), machine.rates.len());
    }

    #[test]
    fn this_host_has_a_position_per_core_or_per_cpu() {
        let cores = Topology::read();
        let one = machine("host", &[Host::this("here")], 1, &assumed(), |_, _| Line::default());
        assert_eq!(one.positions(), cores.cores.len());
        let many = machine("host", &[Host::this("here")], cores.cores.len() + 1, &assumed(), |_, _| Line::default());
        assert_eq!(many.positions(), cores.cpus());
        assert!(one.places.iter().all(|place| place.host.is_none() && matches!(place.spot, Spot::Cpus(_))));
    }

    #[test]
    fn numa_nodes_that_are_farther_apart_cost_more() {
        let root = std::env::temp_dir().join(format!("gasnet-sci-distances-{}", std::process::id()));
        let write = |file: String, text: &str| {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("cpu/online".into(), "0-3\n");
        write("node/online".into(), "0-3\n");
        // Nodes 0 and 1 are in one package; 2 and 3 are packages of their own.
        let distances = ["10 12 20 30\n", "12 10 20 30\n", "20 20 10 20\n", "30 30 20 10\n"];
        for (node, distance) in distances.into_iter().enumerate() {
            write(format!("node/node{node}/cpulist"), &format!("{node}\n"));
            write(format!("node/node{node}/distance"), distance);
            write(format!("cpu/cpu{node}/topology/physical_package_id"), &format!("{}\n", node.max(1)));
        }
        let host = Host::copied("far", &root).unwrap();
        let machine = machine("host", &[host], 4, &assumed(), |_, _| Line::default());
        fs::remove_dir_all(root).unwrap();
        assert_eq!([1, 2, 3].map(|q| alpha(&machine, 0, q)), [120.0, 250.0, 375.0]);
        assert_eq!(alpha(&machine, 2, 3), 250.0);
        assert!(machine.levels.iter().any(|level| level.name == "same host, 1.50 times as far"));
    }

    #[test]
    fn what_is_measured_replaces_what_is_assumed() {
        let host = Host::this("here");
        let (assumed, measured) = (assumed(), host.measured(assumed()).unwrap());
        assert_eq!(measured[Tier::Network as usize], assumed[Tier::Network as usize]);
        assert_eq!(measured != assumed, host.cpus.len() > 1);
    }

    #[test]
    fn links_between_hosts_are_as_fast_as_the_lines_between_them() {
        let hosts = ["a", "b", "c"].map(|name| Host::described(name, [1, 1, 1, 1]));
        let beta = [[0.0, 0.5, 1.0], [2.0, 0.0, 4.0], [8.0, 4.0, 0.0]];
        let machine = machine("hosts", &hosts, 3, &assumed(), |a, b| Line { alpha: 1.0, beta: beta[a][b] });
        let links = machine.shape.links();
        let rate = |from: &str, to: &str| {
            machine.rates[links.iter().position(|link| link.from == from && link.to == to).unwrap()]
        };
        assert_eq!([rate("a", "network"), rate("b", "network"), rate("c", "network")], [2.0, 0.5, 0.25]);
        assert_eq!([rate("network", "a"), rate("network", "b"), rate("network", "c")], [0.5, 2.0, 1.0]);
    }
}
