//! The plan of all measurements: every row of the result, the limit that it is compared with, and its target.
//!
//! The command and the nodes of its jobs make the same list. So a node names a measure by its place in the list.

mod ex;
mod hosts;
mod layers;
mod measure;
mod timed;

pub use hosts::{NETS, ONE_HOST};
pub use layers::{HAL, Layer, PORTS, Trip, layers};
pub use measure::{Batch, Job, Measure, Unit, View};

use super::kernels as k;
use measure::*;

/// Sections, in the order of the result.
pub const SECTIONS: [&str; 13] =
    ["limit", "sci", "am", "rma", "boxes", "atomic", "barrier", "poll", "lock", "coll", "hosts", "start", "memory"];

/// Jobs on this many cores, with more nodes than cores, measure how nodes share cores.
pub const CROWD_CORES: usize = 2;
/// Numbers of nodes of such jobs.
pub const CROWDS: [u32; 3] = [4, 8, 16];

/// Number of nodes of the job whose peers are not processes, but regions of memory alone (`played`).
pub const PLAYED: u32 = 1024;

/// All that a job measures in the wanted sections.
pub fn measures(job: Job, wanted: &dyn Fn(&str) -> bool) -> Vec<Measure> {
    let mut plan = Plan { wanted, list: Vec::new() };
    match job {
        Job::Native => {
            limits(&mut plan);
            hints(&mut plan);
            messages(&mut plan);
            transfers(&mut plan, true);
            plan.row("barrier", "barrier", k::BARRIERS, 300.0, 0, Some(&LINE_TRIP), Unit::Us, Some(1.05));
            computing(&mut plan);
            plan.row("lock", "lock and unlock", k::LOCK, 10.0, 0, Some(&BARE_LOCK), Unit::Ns, None);
            collectives(&mut plan);
            ex::rows(&mut plan);
        }
        Job::Timed => timed::rows(&mut plan),
        Job::Layers => layers::rows(&mut plan),
        Job::Reference => transfers(&mut plan, false),
        Job::Par => par(&mut plan),
        Job::Threads => {
            for (threads, kernel) in [(1, k::THREADS_1), (2, k::THREADS_2), (4, k::THREADS_4), (8, k::THREADS_8)] {
                let many = if threads == 1 { "thread" } else { "threads" };
                let operation = format!("short round trips of {threads} {many}, per message, PAR");
                plan.row("am", &operation, kernel, 1e3, 0, None, Unit::Ns, None);
            }
            threads_of_both(&mut plan);
        }
        Job::Crowd(nodes) => {
            let at = |targets: [f64; 3]| CROWDS.iter().position(|n| *n == nodes).map(|i| targets[i]);
            let operation = "short request-reply round trip, all pairs busy, 2 cores";
            plan.row("am", operation, k::SHORT_REPLY_TRIP, 5e3, 0, None, Unit::Us, at([5.0, 8.0, 16.0]));
            let target = at([0.0, 8.0, 25.0]).filter(|target| *target > 0.0);
            plan.row("barrier", "barrier, 2 cores", k::BARRIERS, 5e3, 0, None, Unit::Us, target);
        }
        Job::Silent(nodes) => {
            plan.row("poll", "idle poll", k::POLL, 5.0, 0, None, Unit::Ns, poll_target(nodes));
        }
        // The kernel of this measure is in `played`; the rest of the row is like any other.
        Job::Played(nodes) => {
            plan.row("poll", "idle poll, peers played", k::POLL, 5.0, 0, None, Unit::Ns, poll_target(nodes));
        }
        Job::Start(_) => {}
        Job::Hosts(net, 2) => hosts::pair(&mut plan, &NETS[net]),
        Job::Hosts(net, _) => hosts::two_each(&mut plan, &NETS[net]),
        Job::NearOfTwo | Job::NearOfOne => hosts::near(&mut plan),
    }
    plan.list
}

// Threads of both nodes at once, beside one thread of each. With more threads than cores they share these, which must not cost
// them more.
fn threads_of_both(plan: &mut Plan<'_>) {
    let shorts = [k::BOTH_SHORT_2, k::BOTH_SHORT_4, k::BOTH_SHORT_8];
    let polls = [k::BOTH_POLLS_2, k::BOTH_POLLS_4, k::BOTH_POLLS_8];
    let mediums = [k::BOTH_MEDIUM_2, k::BOTH_MEDIUM_4, k::BOTH_MEDIUM_8];
    let puts = [k::BOTH_PUT_2, k::BOTH_PUT_4, k::BOTH_PUT_8];
    let atomics = [k::BOTH_ATOMIC_2, k::BOTH_ATOMIC_4, k::BOTH_ATOMIC_8];
    let kinds = [
        ("am", "short round trips", shorts, &ONE_SHORT, 0, 500.0),
        ("am", "short round trips by polls", polls, &ONE_POLLING, 0, 500.0),
        ("am", "medium round trips", mediums, &ONE_MEDIUM, 64, 500.0),
        ("rma", "puts with polls", puts, &ONE_PUT, 64, 3.0),
        ("atomic", "fetch-adds with polls", atomics, &ONE_ATOMIC, 8, 4.0),
    ];
    for (section, what, kernels, one, bytes, cost) in kinds {
        for (threads, kernel) in [2, 4, 8].into_iter().zip(kernels) {
            let operation = format!("{what} both ways, {threads} threads per node, PAR");
            plan.row(section, &operation, kernel, cost, bytes, Some(one), Unit::Ns, Some(1.5));
        }
    }
    // A thread of each node computes, and calls nothing. It shares its core with those that wait, which get half of the time at most, and
    // not at the same times as those of the other node.
    let beside =
        [(1, k::BOTH_COMPUTING_1), (2, k::BOTH_COMPUTING_2), (4, k::BOTH_COMPUTING_4), (8, k::BOTH_COMPUTING_8)];
    for (threads, kernel) in beside {
        let operation = format!("short round trips both ways, {threads} beside a thread that computes, PAR");
        plan.row("am", &operation, kernel, 1e4, 0, Some(&ONE_SHORT), Unit::Ns, None);
    }
}

fn poll_target(nodes: u32) -> Option<f64> {
    [(64, 5.0), (PLAYED, 10.0)].into_iter().find(|(n, _)| *n == nodes).map(|(_, target)| target)
}

// A client that polls beside its computing, on a core that something else also uses. The library must not give the core
// away at its polls: every node has a core, so no peer needs this one. The ratio is 1 if the library keeps to that.
fn computing(plan: &mut Plan<'_>) {
    let (operation, alone) = ("computing with polls, busy core", Some(&COMPUTING));
    plan.row("poll", operation, k::COMPUTING_WITH_POLLS, COMPUTING_COST, 0, alone, Unit::Us, None);
}

fn limits(plan: &mut Plan<'_>) {
    plan.row("limit", LINE_STREAM.operation, k::LINE_STREAM, 20.0, 64, Some(&LINE_TRIP), Unit::Ns, None);
    for bytes in MEDIUM {
        plan.row("limit", COPY_TRIP.operation, k::COPY_TRIP, 300.0, bytes, Some(&LINE_TRIP), Unit::Us, None);
    }
}

// Hints that the protocol uses, each beside the same ring without it. A ratio below 1: it pays on this processor.
fn hints(plan: &mut Plan<'_>) {
    let (trip, stream, copies) = (Some(&LINE_TRIP), Some(&LINE_STREAM), Some(&COPY_TRIP));
    let handed = "line ring round trip, lines handed over";
    plan.row("limit", handed, k::LINE_TRIP_HANDED, 250.0, 64, trip, Unit::Us, None);
    // The plain ring pauses once.
    for (pauses, kernel) in [(0, k::LINE_TRIP_0), (2, k::LINE_TRIP_2), (3, k::LINE_TRIP_3), (4, k::LINE_TRIP_4)] {
        let operation = format!("line ring round trip, {pauses} pauses between looks");
        plan.row("limit", &operation, kernel, 250.0, 64, trip, Unit::Us, None);
    }
    let claimed = "line stream, lines claimed ahead";
    plan.row("limit", claimed, k::LINE_STREAM_CLAIMED, 20.0, 64, stream, Unit::Ns, None);
    let handed = "copy ring round trip, lines handed over";
    plan.row("limit", handed, k::COPY_TRIP_HANDED, 300.0, 64, copies, Unit::Us, None);
    for bytes in [64, 1 << 10, 4 << 10, 16 << 10] {
        let claimed = "copy ring round trip, lines claimed ahead";
        plan.row("limit", claimed, k::COPY_TRIP_CLAIMED, 300.0, bytes, copies, Unit::Us, None);
    }
}

// What most runtimes use: a client that may have threads.
fn par(plan: &mut Plan<'_>) {
    let line = Some(&LINE_TRIP);
    plan.row("poll", "idle poll, PAR", k::PAR_POLL, 8.0, 0, None, Unit::Ns, Some(8.0));
    let trip = "short request-reply round trip, PAR";
    plan.row("am", trip, k::PAR_SHORT_REPLY_TRIP, 300.0, 0, line, Unit::Us, Some(1.4));
    plan.row("am", "short flood, one way, PAR", k::PAR_SHORT_FLOOD, 40.0, 0, line, Unit::Ns, Some(0.2));
    for (name, kernel, copy) in [("put", k::PAR_PUT, &COPY_TO), ("get", k::PAR_GET, &COPY_FROM)] {
        plan.row("rma", &format!("{name}, PAR"), kernel, 3.0, 8, Some(copy), Unit::Ns, None);
        plan.view("rma", &format!("{name}, above the plain copy, PAR"), Unit::NsOver, Some(2.0));
    }
}

const MEDIUM: [usize; 7] = [8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];
const LONG: [usize; 8] = [8, 64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20, 4 << 20];
const TRANSFERS: [usize; 10] = [8, 64, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];

// The target of a row for one size.
fn of(bytes: usize, targets: &[(usize, f64)]) -> Option<f64> {
    targets.iter().find(|(size, _)| *size == bytes).map(|(_, target)| *target)
}

fn messages(plan: &mut Plan<'_>) {
    let line = Some(&LINE_TRIP);
    plan.row("am", "short request-reply round trip", k::SHORT_REPLY_TRIP, 300.0, 0, line, Unit::Us, Some(1.15));
    plan.row("am", "short request-request round trip", k::SHORT_REQUEST_TRIP, 300.0, 0, line, Unit::Us, Some(1.25));
    plan.row("am", "short flood, one way", k::SHORT_FLOOD, 30.0, 0, line, Unit::Ns, Some(0.13));
    plan.row("am", "short flood, request-reply", k::SHORT_REPLY_FLOOD, 60.0, 0, line, Unit::Ns, Some(0.25));
    let trips = [(64, 1.4), (1 << 10, 2.5), (4 << 10, 4.6), (64 << 10, 48.0)];
    for bytes in MEDIUM {
        let (ring, full) = (Some(&COPY_STREAM), of(bytes, &[(64 << 10, 0.9)]));
        let trip = of(bytes, &trips);
        plan.row("am", "medium request-reply round trip", k::MEDIUM_REPLY_TRIP, 400.0, bytes, line, Unit::Us, trip);
        plan.row("am", "medium request-request round trip", k::MEDIUM_REQUEST_TRIP, 400.0, bytes, line, Unit::Us, None);
        plan.row("am", "medium flood, one way", k::MEDIUM_FLOOD, 50.0, bytes, ring, Unit::Rate, full);
        plan.row("am", "medium flood, request-reply", k::MEDIUM_REPLY_FLOOD, 100.0, bytes, ring, Unit::Rate, None);
    }
    for bytes in LONG {
        // The time of a small one is bounded by the line that announces it, as that of a Medium is.
        let copy = Some(if bytes > 64 << 10 { &COPY_TO } else { &COPY_STREAM });
        let full = of(bytes, &[(1 << 20, 0.95)]);
        let trip = of(bytes, &[(64, 1.6), (4 << 10, 4.6), (16 << 10, 1.05), (64 << 10, 1.05)]);
        // That of these two is bounded by their bytes.
        let bare = if matches!(bytes, 16_384 | 65_536) { Some(&COPY_TRIP) } else { line };
        plan.row("am", "long request-reply round trip", k::LONG_REPLY_TRIP, 400.0, bytes, bare, Unit::Us, trip);
        plan.row("am", "long request-request round trip", k::LONG_REQUEST_TRIP, 400.0, bytes, line, Unit::Us, None);
        plan.row("am", "long flood, one way", k::LONG_FLOOD, 50.0, bytes, copy, Unit::Rate, full);
        plan.row("am", "long flood, request-reply", k::LONG_REPLY_FLOOD, 100.0, bytes, copy, Unit::Rate, None);
    }
}

fn transfers(plan: &mut Plan<'_>, native: bool) {
    let forms = [
        ("put", k::PUT, &COPY_TO),
        ("get", k::GET, &COPY_FROM),
        ("put nb", k::PUT_NB, &COPY_TO),
        ("get nb", k::GET_NB, &COPY_FROM),
        ("put nbi", k::PUT_NBI, &COPY_TO),
        ("get nbi", k::GET_NBI, &COPY_FROM),
        ("memset", k::MEMSET, &FILL),
    ];
    for (name, kernel, copy) in forms {
        let blocking = name == "put" || name == "get";
        for bytes in TRANSFERS {
            // Small transfers over messages are bounded by the line that carries them, not by the copy.
            let (limit, cost) = match native {
                true => (copy, 3.0),
                false if bytes < 1 << 10 => (&LINE_TRIP, 300.0),
                false => (copy, 400.0),
            };
            plan.add("rma", kernel, cost, bytes, Some(limit));
            let target = (!native && blocking && bytes == 8).then_some(1.3);
            plan.view("rma", name, Unit::Ns, target);
            if native && blocking && bytes == 8 {
                plan.view("rma", &format!("{name}, above the plain copy"), Unit::NsOver, Some(2.0));
            }
            if bytes >= 1 << 10 {
                let target = (native && blocking).then_some(0.97);
                plan.view("rma", &format!("{name} bandwidth"), Unit::Rate, target);
            }
        }
    }
    let values = [
        ("put value", k::PUT_VAL, &STORE),
        ("get value", k::GET_VAL, &LOAD),
        ("put nb value", k::PUT_NB_VAL, &STORE),
        ("get nb value", k::GET_NB_VAL, &LOAD),
    ];
    for (name, kernel, bare) in values {
        let (limit, cost) = if native { (bare, 3.0) } else { (&LINE_TRIP, 300.0) };
        plan.row("rma", name, kernel, cost, 8, Some(limit), Unit::Ns, None);
    }
}

fn collectives(plan: &mut Plan<'_>) {
    let kinds = [
        ("broadcast", k::BROADCAST, &COPY_BLOCK),
        ("gather_all", k::GATHER_ALL, &COPY_BLOCKS),
        ("exchange", k::EXCHANGE, &COPY_BLOCKS),
        ("reduce", k::REDUCE, &COPY_BLOCK),
    ];
    for (name, kernel, copies) in kinds {
        for bytes in [8, 4 << 10, 64 << 10, 1 << 20] {
            let limit = if bytes == 8 { &LINE_TRIP } else { copies };
            plan.row("coll", name, kernel, 500.0, bytes, Some(limit), Unit::Us, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_the_names_that_the_command_line_knows() {
        for name in super::super::jobs() {
            assert_eq!(Job::parse(name, 4).unwrap().name(), name);
        }
    }

    #[test]
    fn rows_are_named_once() {
        let mut names = Vec::new();
        let pairs = [Job::Native, Job::Reference, Job::Par, Job::Threads];
        let others = [Job::Crowd(8), Job::Silent(64), Job::Played(64), Job::NearOfTwo];
        for job in pairs.into_iter().chain(others).chain((0..NETS.len()).map(|net| Job::Hosts(net, 2))) {
            for measure in measures(job, &|_| true) {
                assert!(SECTIONS.contains(&measure.section) && !measure.views.is_empty());
                let name = |view: &View| (job.who(), view.operation.clone(), measure.bytes, view.unit.name());
                names.extend(measure.views.iter().map(name));
            }
        }
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn what_is_not_wanted_is_not_measured() {
        let sections = |job, wanted: &str| -> Vec<&str> {
            measures(job, &|section| section == wanted).iter().map(|measure| measure.section).collect()
        };
        assert_eq!(sections(Job::Native, "barrier"), ["barrier"; 2], "of GASNet-1 and of GASNet-EX");
        assert!(sections(Job::Reference, "am").is_empty());
        assert!(sections(Job::Silent(2), "start").is_empty());
    }
}
