//! Traces, statistics and the traffic matrix: what this node does, as it happens, in total, and with which node (contract:
//! environment.md §2.2, tools.md §13).
//!
//! They are always compiled in. While nothing is recorded, each point costs one relaxed load and a branch that is not
//! taken. Then transfers of mapped memory, which the header does inline, do not come here at all. While something is
//! recorded, attach makes the header call the library for all transfers.
//!
//! Points are in `api`, where a handler is called, and where a step of a wait has found nothing. Must not know: what an operation does.

#![forbid(unsafe_code)]

mod matrix;
mod op;
mod points;
mod sink;
pub mod source;
mod totals;
mod waits;

pub use matrix::{Hardware, KINDS, Place};
pub use op::TracedOp;
pub use points::{NO_NODE, Span, TeamName, event, handler, span};
pub(crate) use points::{
    message, message_recorded, met, met_recorded, moved, moved_recorded, offered_message, offered_message_recorded,
    offered_move, offered_move_recorded, timed, timed_recorded,
};
pub(crate) use sink::Sink;
pub(crate) use waits::{waits, waits_for_room};

use crate::base::config::{Config, Mask, Record};
use crate::base::error::Error;
use crate::base::log;
use crate::os::{host, sys};
use crate::sync::fixed::{AtomicBool, AtomicU64, Ordering};
use matrix::Matrix;
use points::write;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;
use totals::Totals;

/// How long the end of a process waits for a thread that is in the middle of a line. A guess.
const PATIENCE: Duration = Duration::from_millis(200);

/// The trace or the statistics: the file, and the letters that are switched on.
struct Recording {
    sink: Sink,
    mask: AtomicU64,
}

impl Recording {
    fn mask(&self) -> Mask {
        Mask::from_bits(self.mask.load(Ordering::Relaxed) as u32) // Relaxed: a setting
    }
}

/// The state of a node that records.
struct State {
    node: u32,
    begin: u64,
    local: AtomicBool,
    /// By rank: the node shares memory with this one. Empty before init has told.
    near: OnceLock<Box<[bool]>>,
    trace: Option<Recording>,
    stats: Option<Recording>,
    totals: Totals,
    matrix: Option<Matrix>,
}

static ON: AtomicBool = AtomicBool::new(false);
static STATE: OnceLock<State> = OnceLock::new();

/// Whether this process records anything.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed) // Relaxed: set once, at init, before any operation; a forked child clears its own
}

/// The state, in the process that began to record. In a child that the client forked it is `None`, so that only the
/// parent writes.
fn state() -> Option<&'static State> {
    STATE.get().filter(|_| is_on())
}

/// Ends recording in a child that the client has forked. To compare the process's number for each line instead takes a system call: so a put that
/// statistics count took 195 ns, and takes 33 (VM, 2026-11).
extern "C" fn stop_in_child() {
    ON.store(false, Ordering::Relaxed); // Relaxed: the child has one thread
}

/// Whether node `node` will record anything, unless its files cannot be written.
pub fn is_wanted(config: &Config, node: u32) -> bool {
    let observe = &config.observe;
    let records = |record: &Record| record.file.is_some() && record.nodes.contains(node);
    records(&observe.trace) || records(&observe.stats) || observe.matrix.is_some() || observe.part.is_some()
}

/// Opens the files that the settings ask for. Called in init, when the rank is known. Node 0 calls it before the other nodes
/// pass init's last fence, because it empties the files that all nodes write to.
///
/// # Errors
/// There can be no traffic matrix. Without trace or statistics the job runs all the same, after a line.
pub fn open(config: &Config, place: Place, first: bool) -> Result<(), Error> {
    if STATE.get().is_some() {
        return Ok(());
    }
    let node = place.node;
    let way = |record: &Record, flush: bool| {
        let name = record.file.as_ref().filter(|_| record.nodes.contains(node))?;
        match Sink::open(name, node, flush) {
            Ok(sink) => Some(Recording { sink, mask: AtomicU64::new(record.mask.bits().into()) }),
            Err(error) => {
                log::error(format_args!("no trace or statistics: {name} cannot be written: {error}"));
                None
            }
        }
    };
    let observe = &config.observe;
    let names = || [&observe.trace, &observe.stats].into_iter().filter_map(|record| record.file.as_deref());
    let late = node != 0 && names().any(|name| !name.contains('%'));
    if first == late {
        return Ok(());
    }
    if node == 0 {
        names().for_each(sink::empty);
    }
    let (trace, stats) = (way(&observe.trace, observe.flush), way(&observe.stats, false));
    let matrix = match (&observe.part, &observe.matrix) {
        (Some(file), _) => Some(
            Matrix::part(file.clone(), place)
                .map_err(|why| Error::resource(format_args!("traffic matrix: {}: {why}", file.display())))?,
        ),
        (None, Some(name)) => Some(
            Matrix::new(name, place).map_err(|why| Error::resource(format_args!("GASNET_SCI_MATRIX={name}: {why}")))?,
        ),
        (None, None) => None,
    };
    if trace.is_none() && stats.is_none() && matrix.is_none() {
        return Ok(());
    }
    let begin = sys::clock_ns();
    let state = State {
        node,
        begin,
        local: AtomicBool::new(!observe.no_local),
        near: OnceLock::new(),
        trace,
        stats,
        totals: Totals::default(),
        matrix,
    };
    sys::on_fork_in_child(stop_in_child)
        .map_err(|why| Error::resource(format_args!("trace, statistics or traffic matrix: {why}")))?;
    let _ = STATE.set(state); // one thread runs init
    ON.store(true, Ordering::Relaxed); // Relaxed: see `is_on`
    let Place { nodes, .. } = place;
    note(b'U', format_args!("trace node={node} nodes={nodes} clock={begin} host={}", host::name().to_string_lossy()));
    Ok(())
}

/// Says which nodes share memory with this one. Called in init, before there are transfers.
pub fn set_near(near: impl FnOnce() -> Box<[bool]>) {
    if let Some(state) = state() {
        let _ = state.near.set(near()); // one thread runs init
    }
}

/// Letters of the trace and of the statistics, as bits. 0 if nothing is recorded.
pub fn letters() -> (u32, u32) {
    let bits = |way: &Option<Recording>| way.as_ref().map_or(0, |way| way.mask().bits());
    state().map_or((0, 0), |state| (bits(&state.trace), bits(&state.stats)))
}

/// Makes the trace (else the statistics) show the kinds in `letters` from now on. Does nothing if it is not recorded.
pub fn set_letters(of_trace: bool, letters: &str) {
    let Some(state) = state() else { return };
    if let Some(way) = if of_trace { &state.trace } else { &state.stats } {
        way.mask.store(Mask::of(letters).bits().into(), Ordering::Relaxed); // Relaxed: a setting
    }
}

/// Whether a node's transfers with itself are recorded. False if nothing is recorded.
pub fn records_local() -> bool {
    state().is_some_and(|state| state.local.load(Ordering::Relaxed)) // Relaxed: a setting
}

/// Sets what [`records_local`] returns, if anything is recorded.
pub fn record_local(record: bool) {
    if let Some(state) = state() {
        state.local.store(record, Ordering::Relaxed); // Relaxed: a setting
    }
}

/// Writes a line of information about the job, category I, or `U` for what cannot be switched off.
pub fn note(letter: u8, text: fmt::Arguments<'_>) {
    if let Some(state) = state() {
        write(state, letter, None, text);
    }
}

/// Writes a message of the client's, category H, or U if it is forced.
pub fn client(text: &str, force: bool) {
    note(if force { b'U' } else { b'H' }, format_args!("{}", text.trim_end_matches('\n')));
}

/// Writes one line to the statistics, if `letter` is on or with `force`.
pub fn into_stats(letter: u8, text: fmt::Arguments<'_>, force: bool) {
    let Some(state) = state() else { return };
    if let Some(way) = state.stats.as_ref().filter(|way| force || way.mask().has(letter)) {
        way.sink.line(format_args!("{} ({}) {text}", state.node, letter as char));
    }
}

/// Writes the totals so far. `client` writes about itself first, then come `conduit`'s counters, then the totals of
/// this module. With `reset` the totals start again from zero.
pub fn dump(client: impl FnOnce(), conduit: &[(&str, u64)], reset: bool) {
    let Some(state) = state() else { return };
    let Some(way) = &state.stats else { return };
    into_stats(b'U', format_args!("statistics of node {} on {}", state.node, host::name().to_string_lossy()), true);
    if way.mask().has(b'H') {
        client();
    }
    for (name, value) in conduit {
        into_stats(b'C', format_args!("{name}: {value}"), false);
    }
    for (op, line) in state.totals.lines() {
        into_stats(op.letter(), format_args!("{line}"), false);
    }
    if reset {
        state.totals.clear();
    }
    way.sink.flush(PATIENCE);
}

/// Writes this node's part of the traffic matrix. For a node that leaves in good order.
pub fn write_matrix(hardware: &Hardware<'_>) {
    let Some(state) = state() else { return };
    let seconds = (sys::clock_ns() - state.begin) as f64 / 1e9;
    if let Some(Err(problem)) = state.matrix.as_ref().map(|matrix| matrix.write(seconds, hardware)) {
        log::error(format_args!("no traffic matrix: {problem}"));
    }
}

/// This thread leaves the job, and may be a signal handler that has interrupted itself in the middle of a line.
pub fn leaves() {
    let Some(state) = state() else { return };
    [&state.trace, &state.stats].into_iter().flatten().for_each(|way| way.sink.leaves());
}

/// Writes out the lines that are held back. For a process that ends, in whatever state: it waits for other threads
/// only a moment.
pub fn flush() {
    let Some(state) = state() else { return };
    [&state.trace, &state.stats].into_iter().flatten().for_each(|way| way.sink.flush(PATIENCE));
}
