//! The answer as JSON (`gasnet-sci place --json`). It holds all that a page needs to draw the mappings and to compute
//! the costs of others.
//!
//! ```text
//! {"format":"gasnet-sci placement","version":1,
//!  "matrix":{"program":"prog" or null,"nodes":N,"seconds":1.9 or null,"operations":n,"bytes":n,
//!    "rows":[{"from":0,"to":1,"amounts":[{"kind":"put","class":"write","count":n,"bytes":n},…]},…]},
//!  "kinds":[{"name":"long","rules":[{"below":65536,"class":"write"},{"below":null,"class":"dma"}]},…],
//!  "machine":{"topology":"torus:4x2","model":"scipos","positions":P,"places":["pos:0",…],
//!    "drawing":D,
//!    "classes":["packet","write",…],"reads":[false,false,…],
//!    "levels":["own","1 link, back 3 links",…],
//!    "level":[[l,…],…],
//!    "costs":[[[alpha,beta],…],…],
//!    "loads":[{"way":[x,y],"back":[x,y]},…],
//!    "links":[{"from":"0","to":"1","rate":r or null},…],
//!    "routes":[[{"way":[link,…],"back":[link,…]},…],…] or null},
//!  "objective":{"cost":1,"link":0},
//!  "mappings":[{"name":"identity","at":[position of each rank],"cost":ns,"writes":ns,"reads":ns,"objective":ns,
//!    "busiest":{"link":k,"bytes":b,"ns":t} or null,"links":[bytes of each link],"nodes":[[writes ns, reads ns],…]},
//!    {"name":"present",…},{"name":"proposal",…}],
//!  "answer":{"verdict":"move","gain_percent":8.2,"min_gain_percent":0.1,"bound":ns or null,"proved":true,
//!    "iterations":n,"nodes":n,"tried":n,"seed":1,"cut":false},
//!  "pairs":[{"from":0,"to":1,"before":ns,"after":ns},…],
//!  "segments":S or null,
//!  "notes":["what the user should know of the input",…]}
//! ```
//!
//! | part | meaning |
//! |---|---|
//! | `kinds` | how an operation gets its class: the first rule whose `below` is above bytes / count of the kind between two ranks |
//! | `drawing` D | `{"kind":"ring","nodes":N}`; `{"kind":"torus","x":X,"y":Y}`, position row·X + column; `{"kind":"switch","nodes":N}`; `{"kind":"points"}`; `{"kind":"links","machines":[names],"links":[{"name":…,"ends":[0,1],"alpha":ns,"beta":ns per byte},…]}`, where link k of `links` above is 2k there and 2k+1 back; `{"kind":"tree","vertices":[{"name":…,"parent":k},…],"leaves":[vertex of each position]}`, where vertex 0 is the root and its own parent |
//! | `level[p][q]` | the level of position q seen from p, a number of `levels`; 0 is the own position |
//! | `costs[c][l]` | of class c on level l: `count` operations of `bytes` bytes cost count·alpha + bytes·beta ns |
//! | `loads[c]` | each link of `routes[p][q].way` carries count·x + bytes·y bytes of `way` for class c; `back` likewise |
//! | `rate` | bytes per ns; null: no limit is known. A link takes bytes / rate ns |
//! | `routes` | null with more than 128 positions; empty lists where only costs are known |
//! | cost of a mapping | the sum over rows (from ≠ to) and amounts of what they cost on `level[at[from]][at[to]]`; it belongs to node `from`, to its reads if `reads[class]` |
//! | `objective` | objective.cost · cost + objective.link · ns of the busiest link, the one with most ns; null without loads |
//! | `verdict` | `move`; `stay`: the gain is below the least one that is worth it; `equal`: all mappings cost the same; `fixed`: fixed ranks forbid the present mapping, and the proposal costs more |
//! | `bound` | what no mapping costs less than, in ns of cost |
//! | `tried` | of `--segments`: arrangements of the processes that were tried, each with the best positions for the segments; else 0 |
//! | `cut` | `--seconds` ended the search: another run may find another mapping |
//! | `pairs` | the heaviest pairs of ranks of the present mapping and of the proposal: their cost in both directions, before and after |
//! | `segments` S | of `--segments` (then `matrix.rows` is empty and costs are those of accesses): `{"names":[…],"processes":[names of ranks],"accesses":[{"process":i,"segment":j,"read":true,"count":n,"bytes":size of one}],"messages":[{"from":i,"to":k,"count":n,"bytes":size of one}],"room":n or null,"access":[{"read":true,"bytes":size,"ns":[by level]}],"whole_packets":true,"mappings":[{"name":"present","at":[position of each segment]},…]}`, in the order of `mappings`; an access costs count · `ns` of its size on `level[at[i]][at of j]`; a message of process i to process k is a write that goes to where k is |
//! | `whole_packets` | how `access` goes on for other sizes, by alpha and beta of the classes `read` and `write`. False: alpha + size·beta. True: sizes count in whole packets of 64 bytes, and a write's alpha has the first of them |
//!
//! Fields stay, new ones may come. Must not know: how a mapping is found.

use super::cost::{Bill, Busiest, Flow, Objective};
use super::links::Shape;
use super::machine::Machine;
use super::matrix::{self, KINDS, Matrix};
use super::model::Class;
use crate::map::Place;
use gasnet_sci::sci::model::Topology;
use serde_json::{Value, json};

/// More positions than these get no routes in the file: their number grows with the square, and each has several links.
const MOST_ROUTES: usize = 128;

/// A mapping with its name and bill.
pub struct Mapping {
    pub name: &'static str,
    /// The position of each rank.
    pub at: Vec<usize>,
    /// The position of each segment.
    pub segments: Vec<usize>,
    pub bill: Bill,
}

/// What the search said.
pub struct Verdict {
    /// `move`, `stay`, `equal` or `fixed`.
    pub verdict: &'static str,
    /// Whether fixed ranks allow the present mapping.
    pub may_stay: bool,
    /// Whether there are fixed ranks.
    pub has_fixed: bool,
    pub gain: f64,
    pub min_gain: f64,
    pub bound: Option<f64>,
    pub proved: bool,
    pub iterations: u64,
    pub nodes: u64,
    /// Arrangements of processes, where segments are placed; else 0.
    pub tried: u64,
    pub seed: u64,
    pub cut: bool,
}

/// A pair of ranks and what it costs, in both directions.
pub struct HeavyPair {
    pub from: usize,
    pub to: usize,
    pub before: f64,
    pub after: f64,
}

/// All of the answer.
pub struct Report<'a> {
    pub matrix: &'a Matrix,
    pub dma_min: u64,
    pub machine: &'a Machine,
    pub objective: Objective,
    /// Identity, present, proposal.
    pub mappings: [Mapping; 3],
    pub verdict: Verdict,
    pub pairs: Vec<HeavyPair>,
    /// As the head of this file has it.
    pub segments: Option<Value>,
    /// What the user should know of the input, a line each.
    pub notes: Vec<String>,
}

impl Report<'_> {
    /// The present mapping.
    pub fn present(&self) -> &Mapping {
        &self.mappings[1]
    }

    /// What is proposed.
    pub fn proposal(&self) -> &Mapping {
        &self.mappings[2]
    }

    /// The mapping that a map file should have: the present one if moving does not pay.
    pub fn advised(&self) -> &Mapping {
        let stays = self.verdict.may_stay && matches!(self.verdict.verdict, "stay" | "equal");
        if stays { self.present() } else { self.proposal() }
    }

    /// The segments' names, and their places in that mapping.
    pub fn advised_segments(&self) -> Vec<(&str, &Place)> {
        let names = self.segments.as_ref().and_then(|part| part["names"].as_array()).into_iter().flatten();
        let positions = &self.advised().segments;
        names.filter_map(Value::as_str).zip(positions.iter().map(|at| &self.machine.places[*at])).collect()
    }

    /// The text of the file.
    pub fn to_json(&self) -> String {
        let Verdict { verdict, gain, min_gain, bound, proved, iterations, nodes, tried, seed, cut, .. } = &self.verdict;
        let pair =
            |pair: &HeavyPair| json!({"from": pair.from, "to": pair.to, "before": pair.before, "after": pair.after});
        let value = json!({
            "format": "gasnet-sci placement",
            "version": 1,
            "matrix": matrix(self.matrix, self.dma_min),
            "kinds": kinds(self.dma_min),
            "machine": machine(self.machine),
            "objective": {"cost": self.objective.cost, "link": self.objective.link},
            "mappings": self.mappings.iter().map(|mapping| self.mapping(mapping)).collect::<Vec<_>>(),
            "answer": {"verdict": verdict, "gain_percent": gain, "min_gain_percent": min_gain, "bound": bound,
                "proved": proved, "iterations": iterations, "nodes": nodes, "tried": tried, "seed": seed, "cut": cut},
            "pairs": self.pairs.iter().map(pair).collect::<Vec<_>>(),
            "segments": self.segments,
            "notes": self.notes,
        });
        format!("{value}\n")
    }

    fn mapping(&self, mapping: &Mapping) -> Value {
        let Mapping { name, at, bill, .. } = mapping;
        let [writes, reads] = bill.sums();
        let busiest = bill.busiest(self.machine);
        let busiest = busiest.map(|Busiest { link, bytes, ns }| json!({"link": link, "bytes": bytes, "ns": ns}));
        json!({"name": name, "at": at, "cost": bill.cost(), "writes": writes, "reads": reads,
            "objective": self.objective.of(bill, self.machine), "busiest": busiest, "links": bill.loads, "nodes": bill.nodes})
    }
}

/// The pairs of ranks that cost most, `most` of the one mapping and as many of the other.
pub fn heavy_pairs(
    flows: &[Flow],
    machine: &Machine,
    before: &[usize],
    after: &[usize],
    most: usize,
) -> Vec<HeavyPair> {
    let cost =
        |flow: &Flow, at: &[usize]| flow.cost(machine, machine.level(at[flow.from], at[flow.to])).iter().sum::<f64>();
    let mut sums = std::collections::BTreeMap::new();
    for flow in flows {
        let sum = sums.entry((flow.from.min(flow.to), flow.from.max(flow.to))).or_insert([0.0; 2]);
        sum[0] += cost(flow, before);
        sum[1] += cost(flow, after);
    }
    let mut all: Vec<HeavyPair> =
        sums.into_iter().map(|((from, to), [before, after])| HeavyPair { from, to, before, after }).collect();
    let mut chosen = Vec::new();
    for by in [|pair: &HeavyPair| pair.before, |pair: &HeavyPair| pair.after] {
        all.sort_by(|x, y| by(y).total_cmp(&by(x)).then((x.from, x.to).cmp(&(y.from, y.to))));
        chosen.extend(all.iter().take(most).map(|pair| (pair.from, pair.to)));
    }
    all.retain(|pair| chosen.contains(&(pair.from, pair.to)));
    all.sort_by(|x, y| y.before.total_cmp(&x.before).then((x.from, x.to).cmp(&(y.from, y.to))));
    all
}

fn matrix(matrix: &Matrix, dma_min: u64) -> Value {
    let amounts = |row: &matrix::Row| {
        let used = row.kinds.iter().enumerate().filter(|(_, amount)| amount.0 > 0 || amount.1 > 0);
        let one = |(kind, amount): (usize, &matrix::Amount)| {
            let class = matrix::class(kind, *amount, dma_min).name();
            json!({"kind": KINDS[kind], "class": class, "count": amount.0, "bytes": amount.1})
        };
        used.map(one).collect::<Vec<_>>()
    };
    let row = |row: &matrix::Row| json!({"from": row.from, "to": row.to, "amounts": amounts(row)});
    let sum = matrix.sum();
    json!({"program": matrix.program, "nodes": matrix.ranks, "seconds": matrix.seconds, "operations": sum.0,
        "bytes": sum.1, "rows": matrix.rows.iter().map(row).collect::<Vec<_>>()})
}

fn kinds(dma_min: u64) -> Value {
    let rule = |rule: &matrix::Rule| json!({"below": rule.below, "class": rule.class.name()});
    let rules = |kind: usize| matrix::rules(kind, dma_min).iter().map(rule).collect::<Vec<_>>();
    KINDS.iter().enumerate().map(|(kind, name)| json!({"name": name, "rules": rules(kind)})).collect()
}

fn machine(machine: &Machine) -> Value {
    let n = machine.positions();
    let costs = |class: Class| {
        let line = |level: &super::machine::Level| {
            let line = level.lines[class as usize];
            [line.alpha, line.beta]
        };
        machine.levels.iter().map(line).collect::<Vec<_>>()
    };
    let links = machine.shape.links().into_iter().zip(&machine.rates);
    let link = |(link, rate): (super::links::Link, &f64)| {
        let rate = rate.is_finite().then_some(*rate);
        json!({"from": link.from, "to": link.to, "rate": rate})
    };
    json!({
        "topology": machine.topology,
        "model": machine.model,
        "positions": n,
        "places": machine.places.iter().map(|place| place.to_string()).collect::<Vec<_>>(),
        "drawing": drawing(&machine.shape),
        "classes": Class::ALL.map(Class::name),
        "reads": Class::ALL.map(Class::is_read),
        "levels": machine.levels.iter().map(|level| &level.name).collect::<Vec<_>>(),
        "level": machine.level.chunks(n.max(1)).collect::<Vec<_>>(),
        "costs": Class::ALL.map(costs),
        "loads": machine.loads.map(|load| json!({"way": load.way, "back": load.back})),
        "links": links.map(link).collect::<Vec<_>>(),
        "routes": (n <= MOST_ROUTES).then(|| (0..n).map(|p| routes(&machine.shape, n, p)).collect::<Vec<_>>()),
    })
}

fn routes(shape: &Shape, n: usize, p: usize) -> Vec<Value> {
    let route = |q: usize| {
        let (mut way, mut back) = (Vec::new(), Vec::new());
        shape.way(p, q, |link| way.push(link));
        shape.back(p, q, |link| back.push(link));
        json!({"way": way, "back": back})
    };
    (0..n).map(route).collect()
}

fn drawing(shape: &Shape) -> Value {
    match shape {
        Shape::Sci(Topology::Ring(nodes)) => json!({"kind": "ring", "nodes": nodes}),
        Shape::Sci(Topology::Torus(x, y)) => json!({"kind": "torus", "x": x, "y": y}),
        Shape::Sci(Topology::Switch(nodes)) => json!({"kind": "switch", "nodes": nodes}),
        Shape::Sci(Topology::Apart) | Shape::Points => json!({"kind": "points"}),
        Shape::Net(net) => json!({"kind": "links", "machines": net.machines, "links": net.cables}),
        Shape::Tree(tree) => {
            let vertex = |vertex: &super::links::Vertex| json!({"name": vertex.name, "parent": vertex.parent});
            json!({"kind": "tree", "vertices": tree.vertices.iter().map(vertex).collect::<Vec<_>>(), "leaves": tree.leaves})
        }
    }
}
