//! Settings of what can be seen of a job from outside: traces, statistics, stack traces, freezing.
//!
//! Must not know: the variables.

use super::NodeSet;
use std::path::PathBuf;

/// These settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observe {
    /// The trace: each event when it happens.
    pub trace: Record,
    /// The statistics: totals per kind of operation, at exit.
    pub stats: Record,
    /// The traffic matrix: what this node does with each other one, at exit. The file's name; `%` in it stands for the node.
    /// `None`: none is written.
    pub matrix: Option<String>,
    /// The file that the launcher wants for this node's part of the job's matrix, instead of `matrix`. Known when the node has joined.
    pub part: Option<PathBuf>,
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
    /// Whether each call of the debug heap checks all blocks.
    pub heap_check: bool,
    /// The file that lists, at exit, which blocks of the debug heap were not freed. `%` in it stands for the node.
    pub heap_file: Option<String>,
    /// The nodes that write it.
    pub heap_nodes: NodeSet,
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
    pub const LETTERS: &str = "GPRSWXBLAICDNOHU";

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

    /// The letters of `text` in any case, with blanks and commas between them; all others if `^` stands in front. `None` if
    /// there is any other character.
    pub fn parse(text: &str) -> Option<Mask> {
        let (text, others) = Self::split(text);
        let letters = text.chars().filter(|c| !c.is_whitespace() && *c != ',').map(|c| c.to_ascii_uppercase());
        let mut known = letters.map(|c| Self::LETTERS.contains(c).then_some(c));
        Some(known.try_fold(Mask::none(), |mask, c| Some(mask.with(c?)))?.or_others(others))
    }

    /// The known letters in `text`, or with `^` in front the others; unknown ones are ignored.
    pub fn of(text: &str) -> Mask {
        let (text, others) = Self::split(text);
        let letters = text.chars().map(|c| c.to_ascii_uppercase()).filter(|c| Self::LETTERS.contains(*c));
        letters.fold(Mask::none(), Mask::with).or_others(others)
    }

    /// The letters in `text`, and whether the others are meant.
    fn split(text: &str) -> (&str, bool) {
        let text = text.trim_start();
        text.strip_prefix('^').map_or((text, false), |rest| (rest, true))
    }

    fn or_others(self, others: bool) -> Mask {
        if others { Mask(Mask::all().0 & !self.0 | Mask::none().0) } else { self }
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
        assert_eq!(Mask::parse(" ^gu,P").unwrap().letters(), "RSWXBLAICDNOHU");
        assert_eq!(Mask::of("^").letters(), Mask::LETTERS);
        assert_eq!(Mask::parse("G^"), None);
    }
}
