//! The points where operations are recorded, and what a line of the trace looks like (docs/user-guide.md, "Look at a run").

use super::{State, TracedOp, is_on, source, state, waits};
use crate::os::sys;
use crate::sync::fixed::Ordering;
use std::fmt;

/// Records that operation `op` with `node` and `bytes` begins. For kinds without a duration.
#[inline(always)]
pub fn event(op: TracedOp, node: u32, bytes: usize) {
    if is_on() {
        record(op, node, bytes, None);
    }
}

/// Records that the handler with number `handler` is about to run on a message of `node`. Only while something is recorded.
#[cold]
#[inline(never)]
pub fn handler(op: TracedOp, node: u32, bytes: usize, handler: u8) {
    happened(Happened { op, node, bytes, handler: Some(handler), team: None, ns: None, end: None });
}

/// Sends a message to handler `$handler` of `$node` by the expression `$send`. `$words` are its arguments, for the trace of data.
///
/// This is a macro so that the captures of the second copy of `$send`, which records, are made where that copy is
/// called, off the hot path. The hot path has only the test (callgrind: 4 instructions of 100 to 180; with functions
/// it was 8 to 16).
macro_rules! message {
    ($op:expr, $node:expr, $bytes:expr, $handler:expr, $words:expr, $send:expr) => {
        if crate::trace::is_on() {
            crate::trace::message_recorded($op, move || $node, $bytes, $handler, move || $words, move || $send)
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
    ($op:expr, $node:expr, $bytes:expr, $handler:expr, $words:expr, $may:expr, $refused:expr, $send:expr) => {
        if crate::trace::is_on() {
            if $may {
                let send = move || $send;
                crate::trace::offered_message_recorded($op, $node, $bytes, $handler, move || $words, $refused, send)
            } else {
                crate::trace::message_recorded($op, move || $node, $bytes, $handler, move || $words, move || $send)
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

/// As [`timed`], for a barrier of the team whose name `$team` gives; `None`: of all nodes. `$team` is computed only if the operation is
/// recorded.
macro_rules! met {
    ($op:expr, $team:expr, $body:expr) => {
        if crate::trace::is_on() { crate::trace::met_recorded($op, move || $team, move || $body) } else { $body }
    };
}

pub(crate) use {message, met, moved, offered_message, offered_move, timed};

/// See [`message`].
#[cold]
#[inline(never)]
pub(crate) fn message_recorded<'a, R>(
    op: TracedOp,
    node: impl FnOnce() -> u32,
    bytes: usize,
    handler: u8,
    words: impl FnOnce() -> &'a [u64],
    send: impl FnOnce() -> R,
) -> R {
    sent(op, node(), bytes, handler, words());
    send()
}

/// See [`timed`].
#[cold]
#[inline(never)]
pub(crate) fn timed_recorded<R>(op: TracedOp, body: impl FnOnce() -> R) -> R {
    let _recorded = span(op, NO_NODE, 0);
    body()
}

/// See [`met`].
#[cold]
#[inline(never)]
pub(crate) fn met_recorded<R>(op: TracedOp, team: impl FnOnce() -> Option<TeamName>, body: impl FnOnce() -> R) -> R {
    // Afterwards it may be gone.
    let team = team();
    let recorded = span(op, NO_NODE, 0);
    let result = body();
    recorded.end_of(team);
    result
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
    handler: u8,
    words: impl FnOnce() -> &'a [u64],
    refused: impl FnOnce(&R) -> bool,
    send: impl FnOnce() -> R,
) -> R {
    let result = send();
    if !refused(&result) {
        sent(op, node, bytes, handler, words());
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
    let span = op.has_time().then(|| Span::begin(op, node, bytes));
    let result = body();
    match (span, refused(&result)) {
        (Some(span), true) => span.forget(),
        (Some(span), false) => drop(span),
        (None, true) => (),
        (None, false) => record(op, node, bytes, None),
    }
    result
}

/// Records an operation with its duration, which ends when the result is dropped.
#[inline(always)]
pub fn span(op: TracedOp, node: u32, bytes: usize) -> Span {
    if is_on() { Span::begin(op, node, bytes) } else { Span { begin: 0, op, node, bytes } }
}

/// An operation that is being recorded, see [`span`].
pub struct Span {
    begin: u64,
    op: TracedOp,
    node: u32,
    bytes: usize,
}

impl Span {
    #[cold]
    #[inline(never)]
    fn begin(op: TracedOp, node: u32, bytes: usize) -> Span {
        waits::enter();
        Span { begin: sys::clock_ns(), op, node, bytes }
    }

    /// Ends it without a record.
    fn forget(mut self) {
        waits::leave();
        self.begin = 0;
    }

    /// Ends it as one of a team.
    fn end_of(mut self, team: Option<TeamName>) {
        if self.begin != 0 {
            self.end(team);
            self.begin = 0;
        }
    }

    #[cold]
    #[inline(never)]
    fn end(&self, team: Option<TeamName>) {
        let end = sys::clock_ns();
        waits::leave();
        let Span { begin, op, node, bytes } = *self;
        happened(Happened { op, node, bytes, handler: None, team, ns: Some(end - begin), end: Some(end) });
    }
}

impl Drop for Span {
    #[inline(always)]
    fn drop(&mut self) {
        if self.begin != 0 {
            self.end(None);
        }
    }
}

/// Node of operations that concern no particular node.
pub const NO_NODE: u32 = u32::MAX;

/// What a team is called on all its members, and no other team of the job: its first member's node, and how many teams that node had made
/// before.
pub type TeamName = [u32; 2];

/// An operation that is to be recorded.
pub(super) struct Happened {
    pub op: TracedOp,
    /// With whom, or [`NO_NODE`].
    pub node: u32,
    pub bytes: usize,
    /// Of a message.
    pub handler: Option<u8>,
    /// Of a barrier; `None`: of all nodes.
    pub team: Option<TeamName>,
    /// How long it took, if that counts.
    pub ns: Option<u64>,
    /// When it ended, if that is known. Else it is now.
    pub end: Option<u64>,
}

#[cold]
#[inline(never)]
fn record(op: TracedOp, node: u32, bytes: usize, ns: Option<u64>) {
    happened(Happened { op, node, bytes, handler: None, team: None, ns, end: None });
}

fn sent(op: TracedOp, node: u32, bytes: usize, handler: u8, words: &[u64]) {
    happened(Happened { op, node, bytes, handler: Some(handler), team: None, ns: None, end: None });
    arguments(op, words);
}

fn happened(mut what: Happened) {
    let Some(state) = state() else { return };
    if waits::is_pending() {
        // A message ends a wait at this moment. Before anything else the wait has ended when it found something.
        let ends_wait = matches!(what.op, TracedOp::RequestHandler | TracedOp::ReplyHandler);
        what.end = what.end.or_else(|| Some(sys::clock_ns()));
        waits::finish(what.end.filter(|_| ends_wait));
    }
    put(state, &what);
}

/// Counts the operation, and writes its line.
pub(super) fn put(state: &State, what: &Happened) {
    let Happened { op, node, bytes, ns, .. } = *what;
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
    write(state, op.letter(), what.end, Line { what, suffix: op.suffix(near) });
}

/// An operation as the trace shows it.
struct Line<'a> {
    what: &'a Happened,
    suffix: &'static str,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Happened { op, node, bytes, handler, team, ns, .. } = *self.what;
        write!(f, "{}{}", op.name(), self.suffix)?;
        if node != NO_NODE {
            write!(f, " node={node}")?;
        }
        if op.has_bytes() {
            write!(f, " bytes={bytes}")?;
        }
        if let Some(handler) = handler {
            write!(f, " handler={handler}")?;
        }
        if let Some([maker, number]) = team {
            write!(f, " team={maker}.{number}")?;
        }
        ns.map_or(Ok(()), |ns| write!(f, " us={}", ns as f64 / 1e3))
    }
}

#[cold]
#[inline(never)]
fn arguments(op: TracedOp, words: &[u64]) {
    let Some(state) = state().filter(|state| state.trace.as_ref().is_some_and(|way| way.mask().has(b'D'))) else {
        return;
    };
    let list: String = words.iter().map(|word| format!(" {:#x} {:#x}", *word as u32, word >> 32)).collect();
    write(state, b'D', None, format_args!("{} arguments:{list}", op.name()));
}

/// Writes one line of the trace, if `letter` is on. `when`: by the clock of this host, else now.
pub(super) fn write(state: &State, letter: u8, when: Option<u64>, text: impl fmt::Display) {
    let Some(way) = state.trace.as_ref().filter(|way| way.mask().has(letter)) else { return };
    let ns = when.unwrap_or_else(sys::clock_ns).saturating_sub(state.begin);
    let (seconds, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let place = if way.mask().has(b'N') { source::shown() } else { String::new() };
    way.sink.line(format_args!("{} {seconds}.{ns:09}> {place}({}) {text}", state.node, letter as char));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_of_a_team_says_which() {
        let line = |team| {
            let what = Happened {
                op: TracedOp::Barrier,
                node: NO_NODE,
                bytes: 0,
                handler: None,
                team,
                ns: Some(1500),
                end: None,
            };
            Line { what: &what, suffix: "" }.to_string()
        };
        assert_eq!([line(None), line(Some([3, 17]))], ["BARRIER us=1.5", "BARRIER team=3.17 us=1.5"]);
    }
}
