//! Variables of what can be seen of a job from outside: traces, statistics, stack traces, freezing, the debug heap. Contract:
//! environment.md §2.2.
//!
//! Must not know: which code uses a value.

use super::super::settings::{Var, put, row};
use super::super::{Mask, NodeSet, memory_size, parse};
use super::coll::{FLAG, Form, ignored};

const MASK: &str = "letters of GPRSWXBLAICDNOHU, or ^ and those left out";
const NODES: &str = "a list of nodes such as 0,2-4";
const SIGNAL: &str = "a signal that can be caught, such as SIGUSR1";

fn catchable(text: &str) -> Option<i32> {
    parse::signal_number(text).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
}

/// A pattern in memory of the debug heap.
const PATTERN: Form = ("a number of 64 bits, a byte such as 0xA5, or NAN", |v| {
    if v.trim().eq_ignore_ascii_case("nan") { Some(()) } else { memory_size(v, 1).map(drop) }
});

/// This part of the table.
pub(super) const VARS: &[Var] = &[
    row! { "GASNET_FREEZE_SIGNAL", "", "a signal that freezes the process, until a debugger or SIGCONT lets it go on",
    SIGNAL, |c, v| catchable(v).map(|signal| c.observe.freeze_signal = Some(signal)) },
    row! { "GASNET_BACKTRACE_SIGNAL", "", "a signal upon which a stack trace is printed, after which the process goes on",
    SIGNAL, |c, v| catchable(v).map(|signal| c.observe.backtrace_signal = Some(signal)) },
    row! { "GASNET_BACKTRACE_TYPE", "all there are",
    "mechanisms for stack traces in order of preference, of EXECINFO, GDB, LLDB, PSTACK and the name of the client's own; the first that works is used",
    "a list of names such as EXECINFO,GDB", |c, v| {
        let words = v.split([',', ' ', '\t', '|', ';']).filter(|word| !word.is_empty());
        c.observe.backtrace_types = words.map(str::to_ascii_uppercase).collect();
        Some(())
    } },
    row! { "GASNET_BACKTRACE_MT", "no", "prefer mechanisms for stack traces that show all threads",
    parse::YES_NO, |c, v| put(&mut c.observe.backtrace_threads, parse::yes_no(v)) },
    row! { "GASNET_TRACEFILE", "",
    "file for a trace of all operations; % is the node's number, stderr or - and stdout are the streams",
    "a file name", |c, v| put(&mut c.observe.trace.file, Some(Some(v.trim().to_string()))) },
    row! { "GASNET_TRACEMASK", "GPRSWXBLAICDNOHU",
    "what the trace shows: G gets, P puts, S syncs, W collectives, X syncs of them, B barriers, L locks, A AMs, I information, C conduit, D data, N line numbers, H the client's messages",
    MASK, |c, v| put(&mut c.observe.trace.mask, Mask::parse(v)) },
    row! { "GASNET_TRACENODES", "*", "nodes that write a trace",
    NODES, |c, v| put(&mut c.observe.trace.nodes, NodeSet::parse(v)) },
    row! { "GASNET_TRACEFLUSH", "no", "write each line of the trace at once, so that none is missing after a crash",
    parse::YES_NO, |c, v| put(&mut c.observe.flush, parse::yes_no(v)) },
    row! { "GASNET_TRACELOCAL", "yes", "record a node's transfers with itself as well",
    parse::YES_NO, |c, v| parse::yes_no(v).map(|local| c.observe.no_local = !local) },
    row! { "GASNET_STATSFILE", "",
    "file for statistics at exit: per kind of operation count, bytes and time; names as for GASNET_TRACEFILE",
    "a file name", |c, v| put(&mut c.observe.stats.file, Some(Some(v.trim().to_string()))) },
    row! { "GASNET_STATSMASK", "GPRSWXBLAICDNOHU", "what the statistics show; see GASNET_TRACEMASK",
    MASK, |c, v| put(&mut c.observe.stats.mask, Mask::parse(v)) },
    row! { "GASNET_STATSNODES", "*", "nodes that write statistics",
    NODES, |c, v| put(&mut c.observe.stats.nodes, NodeSet::parse(v)) },
    row! { "GASNET_SCI_MATRIX", "",
    "file for the traffic matrix at exit: what each node did with each other one; % is the node's number. Without % gasnetrun_sci joins the nodes' parts in this one file, as with --matrix",
    "a file name",
    |c, v| Some(v.trim()).filter(|name| !name.is_empty()).map(|name| c.observe.matrix = Some(name.into())) },
    row! { "GASNET_FS_SYNC", "no", "gasnett_flush_streams calls sync(2)",
    parse::YES_NO, |c, v| put(&mut c.observe.fs_sync, parse::yes_no(v)) },
    row! { "GASNET_DISABLE_ENVDECODE", "no",
    "gasnett_getenv leaves %0HH in values as it is; else it stands for the character with that code",
    "anything; 0, N and NO mean no", |c, v| put(&mut c.observe.raw_values, Some(parse::yes_no(v).unwrap_or(true))) },
    row! { "GASNET_MALLOC_EXTRACHECK", "no", "debug heap: look at the guards of all memory in each call; slow",
    parse::YES_NO, |c, v| put(&mut c.observe.heap_check, parse::yes_no(v)) },
    row! { "GASNET_MALLOCFILE", "", "debug heap: file for a list of what was not freed at exit; names as for GASNET_TRACEFILE",
    "a file name", |c, v| put(&mut c.observe.heap_file, Some(Some(v.trim().to_string()))) },
    row! { "GASNET_MALLOCNODES", "*", "debug heap: nodes that write it",
    NODES, |c, v| put(&mut c.observe.heap_nodes, NodeSet::parse(v)) },
    ignored!(FLAG, "GASNET_MALLOC_INIT", "no", "filling new memory of the debug heap"),
    ignored!(PATTERN, "GASNET_MALLOC_INITVAL", "NAN", "with what"),
    ignored!(FLAG, "GASNET_MALLOC_CLOBBER", "no", "filling freed memory of the debug heap"),
    ignored!(PATTERN, "GASNET_MALLOC_CLOBBERVAL", "NAN", "with what"),
    ignored!(FLAG, "GASNET_MALLOC_LEAKALL", "no", "keeping freed memory of the debug heap"),
    ignored!(FLAG, "GASNET_MALLOC_SCANFREED", "no", "looking for writes to it"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_nobody_can_catch_is_refused() {
        assert_eq!(catchable("usr1"), Some(libc::SIGUSR1));
        assert_eq!(catchable("SIGKILL"), None);
        assert_eq!(catchable("0"), None);
    }
}
