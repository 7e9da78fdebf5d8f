//! Traces, statistics and the traffic matrix: what this node does, as it happens, in total, and with which node (contract:
//! environment.md §2.2, tools.md §13).
//!
//! They are always compiled in. While nothing is recorded, each point costs one relaxed load and a branch that is not
//! taken. Then transfers of mapped memory, which the header does inline, do not come here at all. While something is
//! recorded, attach makes the header call the library for all transfers.
//!
//! Points are in `api`, and where a handler is called. Must not know: what an operation does.

#![forbid(unsafe_code)]

mod matrix;
mod op;
mod sink;
pub mod source;
mod totals;

pub use matrix::{Hardware, KINDS, Place};
pub use op::TracedOp;
pub(crate) use sink::Sink;

use crate::base::config::{Config, Mask, Record};
use crate::base::error::Error;
use crate::base::log;
use crate::os::sys;
use crate::sync::fixed::{AtomicBool, AtomicU64, Ordering};
use matrix::Matrix;
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
    pid: i32,
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
    ON.load(Ordering::Relaxed) // Relaxed: set once, at init, before any operation
}

/// The state, in the process that began to record. In a child that the client forked it is `None`, so that only the
/// parent writes.
fn state() -> Option<&'static State> {
    STATE.get().filter(|state| state.pid == sys::pid())
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
        pid: sys::pid(),
        begin,
        local: AtomicBool::new(!observe.no_local),
        near: OnceLock::new(),
        trace,
        stats,
        totals: Totals::default(),
        matrix,
    };
    let _ = STATE.set(state); // one thread runs init
    ON.store(true, Ordering::Relaxed); // Relaxed: see `is_on`
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

/// Records that operation `op` with `node` and `bytes` begins. For kinds without a duration.
#[inline(always)]
pub fn event(op: TracedOp, node: u32, bytes: usize) {
    if is_on() {
        record(op, node, bytes, None);
    }
}

/// Sends a message to `$node` by the expression `$send`. `$words` are its arguments, for the trace of data.
///
/// This is a macro so that the captures of the second copy of `$send`, which records, are made where that copy is
/// called, off the hot path. The hot path has only the test (callgrind: 4 instructions of 100 to 180; with functions
/// it was 8 to 16).
macro_rules! message {
    ($op:expr, $node:expr, $bytes:expr, $words:expr, $send:expr) => {
        if crate::trace::is_on() {
            crate::trace::message_recorded($op, move || $node, $bytes, move || $words, move || $send)
        } else {
            $send
        }
    };
}

/// Runs the expression `$body`, an operation without node or bytes whose duration counts. A macro for the reason
/// given at [`message`].
macro_rules! timed {
    ($op:expr, $body:expr) => {
        if crate::trace::is_on() { crate::trace::timed_recorded($op, move || $body) } else { $body }
    };
}

/// Runs the expression `$body`, an operation with `$node` that moves `$bytes`. `$bytes` is computed only if the
/// operation is recorded. Its duration is recorded for kinds that have one. A macro for the reason given at
/// [`message`].
macro_rules! moved {
    ($op:expr, $node:expr, $bytes:expr, $body:expr) => {
        if crate::trace::is_on() { crate::trace::moved_recorded($op, $node, $bytes, move || $body) } else { $body }
    };
}

/// As [`message`], for a `$send` that may be refused if `$may`. If `$refused` says so of its result, nothing is recorded; so it is
/// recorded afterwards.
macro_rules! offered_message {
    ($op:expr, $node:expr, $bytes:expr, $words:expr, $may:expr, $refused:expr, $send:expr) => {
        if crate::trace::is_on() {
            if $may {
                crate::trace::offered_message_recorded($op, $node, $bytes, move || $words, $refused, move || $send)
            } else {
                crate::trace::message_recorded($op, move || $node, $bytes, move || $words, move || $send)
            }
        } else {
            $send
        }
    };
}

/// As [`moved`], for a `$body` that may be refused if `$may`, see [`offered_message`].
macro_rules! offered_move {
    ($op:expr, $node:expr, $bytes:expr, $may:expr, $refused:expr, $body:expr) => {
        if crate::trace::is_on() {
            crate::trace::offered_move_recorded($op, $node, $bytes, $may, $refused, move || $body)
        } else {
            $body
        }
    };
}

pub(crate) use {message, moved, offered_message, offered_move, timed};

/// See [`message`].
#[cold]
#[inline(never)]
pub(crate) fn message_recorded<'a, R>(
    op: TracedOp,
    node: impl FnOnce() -> u32,
    bytes: usize,
    words: impl FnOnce() -> &'a [u64],
    send: impl FnOnce() -> R,
) -> R {
    record(op, node(), bytes, None);
    arguments(op, words());
    send()
}

/// See [`timed`].
#[cold]
#[inline(never)]
pub(crate) fn timed_recorded<R>(op: TracedOp, body: impl FnOnce() -> R) -> R {
    let _recorded = span(op, NO_NODE, 0);
    body()
}

/// See [`moved`].
#[cold]
#[inline(never)]
pub(crate) fn moved_recorded<R>(op: TracedOp, node: u32, bytes: usize, body: impl FnOnce() -> R) -> R {
    if op.has_time() {
        let _recorded = span(op, node, bytes);
        return body();
    }
    record(op, node, bytes, None);
    body()
}

/// See [`offered_message`].
#[cold]
#[inline(never)]
pub(crate) fn offered_message_recorded<'a, R>(
    op: TracedOp,
    node: u32,
    bytes: usize,
    words: impl FnOnce() -> &'a [u64],
    refused: impl FnOnce(&R) -> bool,
    send: impl FnOnce() -> R,
) -> R {
    let result = send();
    if !refused(&result) {
        record(op, node, bytes, None);
        arguments(op, words());
    }
    result
}

/// See [`offered_move`].
#[cold]
#[inline(never)]
pub(crate) fn offered_move_recorded<R>(
    op: TracedOp,
    node: u32,
    bytes: usize,
    may: bool,
    refused: impl FnOnce(&R) -> bool,
    body: impl FnOnce() -> R,
) -> R {
    if !may {
        return moved_recorded(op, node, bytes, body);
    }
    let begin = op.has_time().then(sys::clock_ns);
    let result = body();
    if !refused(&result) {
        record(op, node, bytes, begin.map(|begin| sys::clock_ns() - begin));
    }
    result
}

/// Records an operation with its duration, which ends when the result is dropped.
#[inline(always)]
pub fn span(op: TracedOp, node: u32, bytes: usize) -> Span {
    Span { begin: if is_on() { sys::clock_ns() } else { 0 }, op, node, bytes }
}

/// An operation that is being recorded, see [`span`].
pub struct Span {
    begin: u64,
    op: TracedOp,
    node: u32,
    bytes: usize,
}

impl Drop for Span {
    #[inline(always)]
    fn drop(&mut self) {
        if self.begin != 0 {
            record(self.op, self.node, self.bytes, Some(sys::clock_ns() - self.begin));
        }
    }
}

/// Node of operations that concern no particular node.
pub const NO_NODE: u32 = u32::MAX;

#[cold]
#[inline(never)]
fn record(op: TracedOp, node: u32, bytes: usize, ns: Option<u64>) {
    let Some(state) = state() else { return };
    // Relaxed: a setting.
    if op.is_transfer() && node == state.node && !state.local.load(Ordering::Relaxed) {
        return;
    }
    let near = state.near.get().and_then(|near| near.get(node as usize)).is_some_and(|near| *near);
    if state.stats.as_ref().is_some_and(|way| way.mask().has(op.letter())) {
        state.totals.add(op, near, bytes as u64, ns);
    }
    if let Some(matrix) = &state.matrix {
        matrix.add(op, node, bytes as u64);
    }
    if state.trace.as_ref().is_some_and(|way| way.mask().has(op.letter())) {
        let peer = if node == NO_NODE { String::new() } else { format!(" node={node}") };
        let bytes = if op.has_bytes() { format!(" bytes={bytes}") } else { String::new() };
        let time = ns.map_or(String::new(), |ns| format!(" us={}", ns as f64 / 1e3));
        write(op.letter(), format_args!("{}{}{peer}{bytes}{time}", op.name(), op.suffix(near)));
    }
}

#[cold]
#[inline(never)]
fn arguments(op: TracedOp, words: &[u64]) {
    let list: String = words.iter().map(|word| format!(" {:#x} {:#x}", *word as u32, word >> 32)).collect();
    write(b'D', format_args!("{} arguments:{list}", op.name()));
}

/// Writes one line of the trace, if `letter` is on.
fn write(letter: u8, text: impl fmt::Display) {
    let Some(state) = state() else { return };
    let Some(way) = state.trace.as_ref().filter(|way| way.mask().has(letter)) else { return };
    let seconds = (sys::clock_ns() - state.begin) as f64 / 1e9;
    let place = if way.mask().has(b'N') { source::shown() } else { String::new() };
    way.sink.line(format_args!("{} {seconds:.6}> {place}({}) {text}", state.node, letter as char));
}

/// Writes a line of information about the job, category I, or `U` for what cannot be switched off.
pub fn note(letter: u8, text: fmt::Arguments<'_>) {
    if is_on() {
        write(letter, text);
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
    into_stats(
        b'U',
        format_args!("statistics of node {} on {}", state.node, crate::os::host::name().to_string_lossy()),
        true,
    );
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
    let Some(state) = STATE.get().filter(|state| is_on() && state.pid == sys::pid()) else { return };
    [&state.trace, &state.stats].into_iter().flatten().for_each(|way| way.sink.flush(PATIENCE));
}
