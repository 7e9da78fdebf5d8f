//! OptiSCI's problem: where shared segments should lie, which processes read and write.
//!
//! ```text
//! {"format":"gasnet-sci segments","version":1,
//!  "processes":[{"name":"M0","at":0},…],           at: the position; without it the process's number
//!  "segments":[{"name":"tasks","at":2},…],         several may share a position; without `at` it is the first with room
//!  "reads":[{"process":0,"segment":0,"count":300,"bytes":2048},…],   bytes: of one access
//!  "writes":[…],
//!  "messages":[{"from":0,"to":1,"count":9,"bytes":64},…],           between processes: a write to where the other one is
//!  "room":1,                                       the most segments at a position; without it there is no limit
//!  "topology":…}                                   a word or an object, as --topology reads it; for who gives no --topology
//! ```
//!
//! While the processes stay, each segment alone has a best position, or the segments have a best assignment if room is short.
//! While the segments stay, the same holds for the processes, unless they send messages. `Free::Both` tries all arrangements of the processes if they are few;
//! else it takes turns, from several beginnings.
//!
//! Must not know: the command line, how answers look.

use super::cost::Bill;
use super::machine::Machine;
use super::matrix::MOST;
use super::model::{Class, PACKET};
use super::search::hungarian;
use super::search::problem::MOST_COST;
use super::search::random::Random;
use crate::format::{self, Format};
use serde::Deserialize;
use serde_json::{Value, json};

/// The problem as the file has it.
#[derive(Clone, Debug, Deserialize)]
pub struct Input {
    format: String,
    version: u32,
    #[serde(default)]
    pub processes: Vec<Named>,
    #[serde(default)]
    pub segments: Vec<Named>,
    #[serde(default)]
    reads: Vec<Access>,
    #[serde(default)]
    writes: Vec<Access>,
    #[serde(default)]
    messages: Vec<Message>,
    #[serde(default)]
    room: Option<usize>,
    #[serde(default)]
    pub topology: Option<Value>,
}

/// A process or segment.
#[derive(Clone, Debug, Deserialize)]
pub struct Named {
    pub name: String,
    #[serde(default)]
    at: Option<usize>,
}

#[derive(Clone, Debug, Deserialize)]
struct Access {
    process: usize,
    segment: usize,
    count: u64,
    bytes: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct Message {
    from: usize,
    to: usize,
    count: u64,
    bytes: u64,
}

/// What may be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Free {
    Segments,
    Both,
}

/// Positions of processes and of segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub processes: Vec<usize>,
    pub segments: Vec<usize>,
}

/// The best placement that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub placement: Placement,
    /// Whether no other one is better.
    pub proved: bool,
    /// Arrangements of the processes that were tried, each with the best positions for the segments.
    pub tried: u64,
}

impl Input {
    /// Neither processes nor segments.
    pub fn empty() -> Input {
        Input {
            format: String::new(),
            version: 1,
            processes: Vec::new(),
            segments: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            messages: Vec::new(),
            room: None,
            topology: None,
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is not of this format and version, or an access names what there is not.
    pub fn parse(json: &str) -> Result<Input, String> {
        format::check(json, "--segments", &[Format::Segments])?;
        let input: Input = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if input.format != "gasnet-sci segments" || input.version != 1 {
            let Input { format, version, .. } = input;
            return Err(format!("'{format}' version {version}; --segments reads 'gasnet-sci segments' version 1"));
        }
        if input.processes.is_empty() || input.processes.len().max(input.segments.len()) > MOST {
            return Err(format!("it needs processes, and {MOST} at most; the same of segments"));
        }
        for Access { process, segment, .. } in input.reads.iter().chain(&input.writes) {
            if *process >= input.processes.len() || *segment >= input.segments.len() {
                return Err(format!("an access of process {process} to segment {segment}: there is no such one"));
            }
        }
        for Message { from, to, .. } in &input.messages {
            if *from.max(to) >= input.processes.len() {
                return Err(format!("a message of process {from} to process {to}: there is no such one"));
            }
        }
        Ok(input)
    }

    /// Where processes and segments are now.
    ///
    /// # Errors
    /// A position does not exist, two processes share one, or there is no room for a segment.
    pub fn present(&self, positions: usize) -> Result<Placement, String> {
        let place = |named: &Named, otherwise: usize| match named.at.unwrap_or(otherwise) {
            at if at < positions => Ok(at),
            at => Err(format!("{} is at position {at}; there are {positions}", named.name)),
        };
        let processes: Vec<usize> =
            self.processes.iter().enumerate().map(|(i, named)| place(named, i)).collect::<Result<_, _>>()?;
        let count = |list: &[usize], at: usize| list.iter().filter(|other| **other == at).count();
        let room = self.room.unwrap_or(usize::MAX);
        let mut segments: Vec<Option<usize>> = Vec::new();
        let mut held = vec![0; positions];
        for named in &self.segments {
            let at = named.at.map(|_| place(named, 0)).transpose()?;
            at.into_iter().for_each(|at| held[at] += 1);
            segments.push(at);
        }
        // The others get the first position that has room.
        let mut first = 0;
        for segment in segments.iter_mut().filter(|at| at.is_none()) {
            while first < positions && held[first] >= room {
                first += 1;
            }
            if first == positions {
                return Err(format!("{} segments have no room at {positions} positions", self.segments.len()));
            }
            held[first] += 1;
            *segment = Some(first);
        }
        let segments: Vec<usize> = segments.into_iter().flatten().collect();
        for at in 0..positions {
            if count(&processes, at) > 1 {
                return Err(format!("two processes are at position {at}"));
            }
            if count(&segments, at) > room {
                return Err(format!("more than {room} segments are at position {at}"));
            }
        }
        Ok(Placement { processes, segments })
    }
}

/// Accesses with their times, ready for sums.
pub struct Sums<'a> {
    input: &'a Input,
    machine: &'a Machine,
    accesses: Vec<Timed>,
}

// Accesses of one process to one target.
struct Timed {
    process: usize,
    target: Target,
    reads: bool,
    /// Of all of them, by level.
    ns: Vec<f64>,
    count: f64,
    /// Of one.
    bytes: f64,
}

// What is read or written: a segment, or by a message another process.
#[derive(Clone, Copy)]
enum Target {
    Segment(usize),
    Process(usize),
}

/// Up to so many arrangements of the processes all are tried, if that takes no more than so many steps: a second or so.
const ARRANGEMENTS: u64 = 50_000;
const STEPS: u64 = 500_000_000;
/// Beginnings that are tried if there are more.
const BEGINNINGS: u64 = 64;
/// A cost above this part of another one is not less: sums of the same numbers in another order differ as much.
const LESS: f64 = 1.0 - 1e-12;

impl<'a> Sums<'a> {
    /// Of a problem on a machine.
    pub fn new(input: &'a Input, machine: &'a Machine) -> Sums<'a> {
        let timed = |process: usize, target: Target, reads: bool, [count, bytes]: [u64; 2]| {
            let (count, bytes) = (count as f64, bytes as f64);
            let ns = machine.access(reads, bytes).iter().map(|ns| ns * count).collect();
            Timed { process, target, reads, ns, count, bytes }
        };
        let access = |access: &Access, reads: bool| {
            timed(access.process, Target::Segment(access.segment), reads, [access.count, access.bytes])
        };
        let message = |sent: &Message| timed(sent.from, Target::Process(sent.to), false, [sent.count, sent.bytes]);
        let reads = input.reads.iter().map(|one| access(one, true));
        let writes = input.writes.iter().map(|one| access(one, false));
        let accesses = reads.chain(writes).chain(input.messages.iter().map(message)).collect();
        Sums { input, machine, accesses }
    }

    /// Whether all accesses together cost little enough to be added up, at their dearest.
    pub fn are_small(&self) -> bool {
        let dearest = |access: &Timed| access.ns.iter().copied().fold(0.0, f64::max);
        self.accesses.iter().map(dearest).sum::<f64>() <= MOST_COST
    }

    /// The costs of a placement; Φ is their sum.
    pub fn bill(&self, placement: &Placement) -> Bill {
        let loads = vec![0.0; self.machine.rates.len()];
        let mut bill = Bill { nodes: vec![[0.0; 2]; self.input.processes.len()], loads };
        for access in &self.accesses {
            let p = placement.processes[access.process];
            let q = match access.target {
                Target::Segment(segment) => placement.segments[segment],
                Target::Process(process) => placement.processes[process],
            };
            bill.nodes[access.process][usize::from(access.reads)] += access.ns[self.machine.level(p, q)];
            let class = match access.reads {
                false => Class::write(access.bytes),
                true if access.bytes <= PACKET => Class::Word,
                true => Class::Read,
            };
            let load = self.machine.loads[class as usize];
            let of = |share: [f64; 2]| access.count * (share[0] + access.bytes * share[1]);
            self.machine.shape.way(p, q, |link| bill.loads[link] += of(load.way));
            self.machine.shape.back(p, q, |link| bill.loads[link] += of(load.back));
        }
        bill
    }

    /// The best placement. With processes that stay it is always proved, else if all of their arrangements could be tried.
    pub fn best(&self, present: &Placement, free: Free, seed: u64) -> Result<Found, String> {
        let n = self.machine.positions();
        if self.input.room.is_some_and(|room| room.saturating_mul(n) < self.input.segments.len()) {
            return Err(format!("{} segments have no room at {n} positions", self.input.segments.len()));
        }
        let first = self.with_best_segments(present.processes.clone(), present);
        Ok(match free {
            Free::Segments => Found { placement: first, proved: true, tried: 1 },
            Free::Both if self.has_few_arrangements() => self.of_all(first, present),
            Free::Both => self.of_some(first, present, seed),
        })
    }

    fn with_best_segments(&self, processes: Vec<usize>, present: &Placement) -> Placement {
        Placement { segments: self.segments(&processes, &present.segments), processes }
    }

    // Whether all arrangements of the processes can be tried.
    fn has_few_arrangements(&self) -> bool {
        let (n, count) = (self.machine.positions() as u64, self.input.processes.len() as u64);
        let segments = self.input.segments.len() as u64;
        let mut all = 1;
        for choices in (n.saturating_sub(count) + 1)..=n {
            all *= choices;
            if all > ARRANGEMENTS {
                return false;
            }
        }
        // Each access at each position, and its way over links; then each segment at each position, or their assignment.
        let costs = (self.accesses.len() as u64).saturating_mul(3 * n);
        let choice = match self.input.room.filter(|room| (*room as u64) < segments) {
            Some(room) => segments.saturating_mul(segments).saturating_mul(n).saturating_mul(room as u64),
            None => segments * n,
        };
        costs.saturating_add(choice).saturating_mul(all) <= STEPS
    }

    fn of_all(&self, first: Placement, present: &Placement) -> Found {
        let (mut best, mut least, mut tried) = (first.clone(), self.bill(&first).cost(), 0);
        arrange(self.machine.positions(), first.processes.len(), &mut Vec::new(), &mut |processes| {
            tried += 1;
            let next = self.with_best_segments(processes.to_vec(), present);
            let cost = self.bill(&next).cost();
            if cost < least * LESS {
                (best, least) = (next, cost);
            }
        });
        Found { placement: best, proved: true, tried }
    }

    fn of_some(&self, first: Placement, present: &Placement, seed: u64) -> Found {
        let n = self.machine.positions();
        let mut random = Random::new(seed);
        let (mut best, mut least, mut tried) = (first.clone(), self.bill(&first).cost(), 1);
        for beginning in 0..BEGINNINGS {
            let mut processes: Vec<usize> = (0..n).collect();
            random.shuffle(&mut processes);
            processes.truncate(first.processes.len());
            let mut now = first.clone();
            if beginning > 0 {
                now = self.with_best_segments(processes, present);
                tried += 1;
            }
            let mut cost = self.bill(&now).cost();
            loop {
                let next = self.with_best_segments(self.processes(&now), present);
                let then = self.bill(&next).cost();
                tried += 1;
                if then >= cost * LESS {
                    break;
                }
                (now, cost) = (next, then);
            }
            if cost < least * LESS {
                (best, least) = (now, cost);
            }
        }
        Found { placement: best, proved: false, tried }
    }

    // The best positions of segments for these processes. A segment stays where it is if no position is better.
    fn segments(&self, processes: &[usize], present: &[usize]) -> Vec<usize> {
        let (n, count) = (self.machine.positions(), present.len());
        let mut cost = vec![0.0; count * n];
        for access in &self.accesses {
            let Target::Segment(segment) = access.target else { continue };
            for q in 0..n {
                cost[segment * n + q] += access.ns[self.machine.level(processes[access.process], q)];
            }
        }
        // Room for all of them at one position is no limit.
        let Some(room) = self.input.room.filter(|room| *room < count) else {
            let best = |segment: usize| {
                let row = &cost[segment * n..(segment + 1) * n];
                let all = std::iter::once(present[segment]).chain(0..n);
                all.min_by(|p, q| row[*p].total_cmp(&row[*q])).unwrap_or(0)
            };
            return (0..count).map(best).collect();
        };
        let places = (0..count * n * room).map(|at| cost[at / room]).collect::<Vec<f64>>();
        hungarian::assign(count, n * room, &places).column.iter().map(|column| column / room).collect()
    }

    // The best positions of processes for these segments. For messages each process is placed as if the others stayed, so what
    // comes out may be worse; who calls this compares.
    fn processes(&self, now: &Placement) -> Vec<usize> {
        let (n, count) = (self.machine.positions(), self.input.processes.len());
        let mut cost = vec![0.0; count * n];
        for access in &self.accesses {
            let ns = |p: usize, q: usize| access.ns[self.machine.level(p, q)];
            for p in 0..n {
                match access.target {
                    Target::Segment(segment) => cost[access.process * n + p] += ns(p, now.segments[segment]),
                    // To itself a process sends for nothing, wherever it is.
                    Target::Process(other) if other == access.process => {}
                    Target::Process(other) => {
                        cost[access.process * n + p] += ns(p, now.processes[other]);
                        cost[other * n + p] += ns(now.processes[access.process], p);
                    }
                }
            }
        }
        hungarian::assign(count, n, &cost).column
    }

    /// The part of the answer's file; `named` has the positions of segments in each mapping.
    pub fn to_json(&self, named: &[(&str, &[usize])]) -> Value {
        let names = |list: &[Named]| list.iter().map(|named| named.name.clone()).collect::<Vec<_>>();
        let access = |timed: &Timed| match timed.target {
            Target::Segment(segment) => Some(json!({"process": timed.process, "segment": segment,
                "read": timed.reads, "count": timed.count, "bytes": timed.bytes})),
            Target::Process(_) => None,
        };
        let message = |timed: &Timed| match timed.target {
            Target::Segment(_) => None,
            Target::Process(to) => {
                Some(json!({"from": timed.process, "to": to, "count": timed.count, "bytes": timed.bytes}))
            }
        };
        let mut sizes: Vec<(bool, u64)> = self.accesses.iter().map(|timed| (timed.reads, timed.bytes as u64)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let times = |(reads, bytes): &(bool, u64)| json!({"read": reads, "bytes": bytes, "ns": self.machine.access(*reads, *bytes as f64)});
        json!({
            "names": names(&self.input.segments),
            "processes": names(&self.input.processes),
            "accesses": self.accesses.iter().filter_map(access).collect::<Vec<_>>(),
            "messages": self.accesses.iter().filter_map(message).collect::<Vec<_>>(),
            "room": self.input.room,
            "access": sizes.iter().map(times).collect::<Vec<_>>(),
            "whole_packets": self.machine.access(true, 1.0) == self.machine.access(true, PACKET),
            "mappings": named.iter().map(|(name, at)| json!({"name": name, "at": at})).collect::<Vec<_>>(),
        })
    }
}

// Calls `each` for every way to give `count` things different positions of `n`. `begun` has those that have one.
fn arrange(n: usize, count: usize, begun: &mut Vec<usize>, each: &mut impl FnMut(&[usize])) {
    if begun.len() == count {
        return each(begun);
    }
    for position in 0..n {
        if !begun.contains(&position) {
            begun.push(position);
            arrange(n, count, begun, each);
            begun.pop();
        }
    }
}

#[cfg(test)]
pub mod tests;
