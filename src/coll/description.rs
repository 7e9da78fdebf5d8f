//! The description of a call: what debug clients' members tell each other of it, and what a message says.
//!
//! Must not know: who compares descriptions, and how they travel.

use super::area::DESCRIPTION;
use super::call::{Call, Kind, flags};
use std::fmt;

/// Words of a description: tag and kind, root and flags, bytes, function and line, file.
pub(super) const WORDS: usize = DESCRIPTION / 8;
/// First word of the file's name.
const FILE: usize = 4;
/// The kind of calls that move no data: initialisation, a split, the end of a team.
pub const MEETING: u32 = 7;

/// Names of the calls, by kind.
pub const NAMES: [&str; 8] = [
    "gasnet_coll_broadcast",
    "gasnet_coll_scatter",
    "gasnet_coll_gather",
    "gasnet_coll_gather_all",
    "gasnet_coll_exchange",
    "gasnet_coll_reduce",
    "gasnet_coll_scan",
    "gasnet_coll_init, gasnet_coll_team_split or gasnet_coll_team_free",
];

/// A description of a call, without its tag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Description(pub(super) [u64; WORDS]);

impl Description {
    /// The description of `call`.
    pub fn new(call: &Call) -> Description {
        let mut words = [0; WORDS];
        let root = if call.kind.is_rooted() { call.root as u64 } else { 0 };
        words[0] = call.kind as u64;
        words[1] = root << 32 | u64::from(call.flags & !(flags::DST_IN_SEGMENT | flags::SRC_IN_SEGMENT));
        words[2] = call.each as u64;
        if let Some(origin) = &call.origin {
            words[3] = u64::from(origin.function) << 32 | u64::from(origin.line);
            let name = origin.file.as_bytes();
            let name = &name[name.len().saturating_sub(8 * (WORDS - FILE))..];
            for (word, bytes) in words[FILE..].iter_mut().zip(name.chunks(8)) {
                let mut eight = [0; 8];
                eight[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_le_bytes(eight);
            }
        }
        Description(words)
    }

    /// The description of a call that moves no data.
    pub fn meeting() -> Description {
        let mut words = [0; WORDS];
        words[0] = u64::from(MEETING);
        Description(words)
    }

    /// The parts that must be equal on all members.
    pub(super) fn agreed(&self) -> [u64; 4] {
        let w = &self.0;
        [w[0] & u64::from(u32::MAX), w[1], w[2], w[3] >> 32]
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let w = &self.0;
        let kind = w[0] as u32;
        write!(f, "{}", NAMES.get(kind as usize).unwrap_or(&"?"))?;
        if kind != MEETING {
            write!(f, "(")?;
            if Kind::from_number(kind).is_some_and(Kind::is_rooted) {
                write!(f, "root {}, ", w[1] >> 32)?;
            }
            write!(f, "{} bytes, flags {:#x})", w[2], w[1] as u32)?;
        }
        let name: Vec<u8> = w[FILE..].iter().flat_map(|word| word.to_le_bytes()).take_while(|b| *b != 0).collect();
        if !name.is_empty() {
            write!(f, " at {}:{}", String::from_utf8_lossy(&name), w[3] as u32)?;
        }
        Ok(())
    }
}
