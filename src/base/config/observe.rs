//! What can be seen of a job from outside: traces, statistics, stack traces, freezing. Contract: environment.md §2.2.

use super::{NodeSet, Var, parse, put};

/// Settings of these variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observe {
    /// The trace: each event when it happens.
    pub trace: Record,
    /// The statistics: totals per kind of operation, at exit.
    pub stats: Record,
    /// Whether each line of the trace is written at once.
    pub flush: bool,
    /// Whether transfers of a node with itself are left out.
    pub no_local: bool,
    /// Mechanisms for stack traces in order of preference, in capitals; empty: all that there are.
    pub backtrace_types: Vec<String>,
    /// Whether mechanisms that show all threads come first.
    pub backtrace_threads: bool,
    /// The signal that prints a stack trace.
    pub backtrace_signal: Option<i32>,
    /// The signal that freezes the process.
    pub freeze_signal: Option<i32>,
    /// Whether flushing streams calls sync(2).
    pub fs_sync: bool,
    /// Whether values of variables are taken as they are, even with `%0HH` in them.
    pub raw_values: bool,
}

/// The file for records of events, and the kinds that are recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The file's name; `None`: nothing is recorded. `%` in it stands for the node. `stdout`, `stderr` and `-`
    /// (stderr) are the streams.
    pub file: Option<String>,
    /// The kinds that are recorded.
    pub mask: Mask,
    /// The nodes that record.
    pub nodes: NodeSet,
}

/// A set of kinds of events, which are letters: `G` gets, `P` puts, `S` sync, `W` collectives, `X` syncs of them,
/// `B` barriers, `L` locks, `A` AMs, `I` information, `C` conduit, `D` details of data, `N` line numbers, `H` client, `U`
/// what cannot be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask(u32);

impl Mask {
    /// The letters, in the order in which they are printed.
    pub const LETTERS: &str = "GPSWXBLAICDNHU";

    /// All kinds.
    pub const fn all() -> Mask {
        let (letters, mut bits, mut i) = (Self::LETTERS.as_bytes(), 0, 0);
        while i < letters.len() {
            bits |= Self::bit(letters[i]);
            i += 1;
        }
        Mask(bits)
    }

    /// Only what cannot be switched off.
    pub const fn none() -> Mask {
        Mask(1 << (b'U' - b'A'))
    }

    /// The letters of `text` in any case, with blanks and commas between them. `None` if there is any other
    /// character.
    pub fn parse(text: &str) -> Option<Mask> {
        let letters = text.chars().filter(|c| !c.is_whitespace() && *c != ',').map(|c| c.to_ascii_uppercase());
        letters.map(|c| Self::LETTERS.contains(c).then_some(c)).try_fold(Mask::none(), |mask, c| Some(mask.with(c?)))
    }

    /// The known letters in `text`; others are ignored.
    pub fn of(text: &str) -> Mask {
        let letters = text.chars().map(|c| c.to_ascii_uppercase()).filter(|c| Self::LETTERS.contains(*c));
        letters.fold(Mask::none(), Mask::with)
    }

    fn with(self, letter: char) -> Mask {
        Mask(self.0 | Self::bit(letter as u8))
    }

    const fn bit(letter: u8) -> u32 {
        1 << (letter - b'A')
    }

    /// Whether the set has the kind `letter`.
    pub const fn has(self, letter: u8) -> bool {
        self.0 & Self::bit(letter) != 0
    }

    /// One bit per letter, `A` lowest.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The set that [`Self::bits`] was called on.
    pub const fn from_bits(bits: u32) -> Mask {
        Mask(bits)
    }

    /// The letters of the set.
    pub fn letters(self) -> String {
        Self::LETTERS.chars().filter(|letter| self.has(*letter as u8)).collect()
    }
}

impl Default for Mask {
    fn default() -> Self {
        Mask::all()
    }
}

const MASK: &str = "letters of GPSWXBLAICDNHU";
const NODES: &str = "a list of nodes such as 0,2-4";
const SIGNAL: &str = "a signal that can be caught, such as SIGUSR1";

fn catchable(text: &str) -> Option<i32> {
    parse::signal_number(text).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
}

/// This part of the table.
pub(super) const VARS: &[Var] = &[
    Var {
        name: "GASNET_FREEZE_SIGNAL",
        aliases: &[],
        default: "",
        doc: "a signal that freezes the process, until a debugger or SIGCONT lets it go on",
        form: SIGNAL,
        set: |c, v| catchable(v).map(|signal| c.observe.freeze_signal = Some(signal)),
    },
    Var {
        name: "GASNET_BACKTRACE_SIGNAL",
        aliases: &[],
        default: "",
        doc: "a signal upon which a stack trace is printed, after which the process goes on",
        form: SIGNAL,
        set: |c, v| catchable(v).map(|signal| c.observe.backtrace_signal = Some(signal)),
    },
    Var {
        name: "GASNET_BACKTRACE_TYPE",
        aliases: &[],
        default: "all there are",
        doc: "mechanisms for stack traces in order of preference, of EXECINFO, GDB, LLDB, PSTACK and the name of the client's own; the first that works is used",
        form: "a list of names such as EXECINFO,GDB",
        set: |c, v| {
            let words = v.split([',', ' ', '\t', '|', ';']).filter(|word| !word.is_empty());
            c.observe.backtrace_types = words.map(str::to_ascii_uppercase).collect();
            Some(())
        },
    },
    Var {
        name: "GASNET_BACKTRACE_MT",
        aliases: &[],
        default: "no",
        doc: "prefer mechanisms for stack traces that show all threads",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.observe.backtrace_threads, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_TRACEFILE",
        aliases: &[],
        default: "",
        doc: "file for a trace of all operations; % is the node's number, stderr or - and stdout are the streams",
        form: "a file name",
        set: |c, v| put(&mut c.observe.trace.file, Some(Some(v.trim().to_string()))),
    },
    Var {
        name: "GASNET_TRACEMASK",
        aliases: &[],
        default: "GPSWXBLAICDNHU",
        doc: "what the trace shows: G gets, P puts, S syncs, W collectives, X syncs of them, B barriers, L locks, A AMs, I information, C conduit, D data, N line numbers, H the client's messages",
        form: MASK,
        set: |c, v| put(&mut c.observe.trace.mask, Mask::parse(v)),
    },
    Var {
        name: "GASNET_TRACENODES",
        aliases: &[],
        default: "*",
        doc: "nodes that write a trace",
        form: NODES,
        set: |c, v| put(&mut c.observe.trace.nodes, NodeSet::parse(v)),
    },
    Var {
        name: "GASNET_TRACEFLUSH",
        aliases: &[],
        default: "no",
        doc: "write each line of the trace at once, so that none is missing after a crash",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.observe.flush, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_TRACELOCAL",
        aliases: &[],
        default: "yes",
        doc: "record a node's transfers with itself as well",
        form: parse::YES_NO,
        set: |c, v| parse::yes_no(v).map(|local| c.observe.no_local = !local),
    },
    Var {
        name: "GASNET_STATSFILE",
        aliases: &[],
        default: "",
        doc: "file for statistics at exit: per kind of operation count, bytes and time; names as for GASNET_TRACEFILE",
        form: "a file name",
        set: |c, v| put(&mut c.observe.stats.file, Some(Some(v.trim().to_string()))),
    },
    Var {
        name: "GASNET_STATSMASK",
        aliases: &[],
        default: "GPSWXBLAICDNHU",
        doc: "what the statistics show; see GASNET_TRACEMASK",
        form: MASK,
        set: |c, v| put(&mut c.observe.stats.mask, Mask::parse(v)),
    },
    Var {
        name: "GASNET_STATSNODES",
        aliases: &[],
        default: "*",
        doc: "nodes that write statistics",
        form: NODES,
        set: |c, v| put(&mut c.observe.stats.nodes, NodeSet::parse(v)),
    },
    Var {
        name: "GASNET_FS_SYNC",
        aliases: &[],
        default: "no",
        doc: "gasnett_flush_streams calls sync(2)",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.observe.fs_sync, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_DISABLE_ENVDECODE",
        aliases: &[],
        default: "no",
        doc: "gasnett_getenv leaves %0HH in values as it is; else it stands for the character with that code",
        form: "anything; 0, N and NO mean no",
        set: |c, v| put(&mut c.observe.raw_values, Some(parse::yes_no(v).unwrap_or(true))),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_sets_of_letters() {
        let mask = Mask::parse("gP, a").unwrap();
        assert_eq!(mask.letters(), "GPAU");
        assert!(mask.has(b'G') && !mask.has(b'B') && mask.has(b'U'));
        assert_eq!(Mask::from_bits(mask.bits()).letters(), "GPAU");
        assert_eq!(Mask::all().letters(), Mask::LETTERS);
        assert_eq!(Mask::parse("GZ"), None);
        assert_eq!(Mask::of("GZ").letters(), "GU");
    }

    #[test]
    fn a_signal_that_nobody_can_catch_is_refused() {
        assert_eq!(catchable("usr1"), Some(libc::SIGUSR1));
        assert_eq!(catchable("SIGKILL"), None);
        assert_eq!(catchable("0"), None);
    }
}
