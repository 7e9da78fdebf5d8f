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
/// The number of calls that move no data: initialisation, a split, the end of a team.
pub const MEETING: u32 = 8;
/// The number of the barrier of GASNet-EX.
pub const BARRIER: u32 = 9;
/// The number of the making of an atomic domain.
pub const DOMAIN: u32 = 18;
/// What the calls of GASNet-EX have above their kind.
const EX: u32 = 10;

/// Names of the calls: those of GASNet-1 by [`Kind`], then those without a kind, then those of GASNet-EX by kind.
pub const NAMES: [&str; 19] = [
    "gasnet_coll_broadcast",
    "gasnet_coll_scatter",
    "gasnet_coll_gather",
    "gasnet_coll_gather_all",
    "gasnet_coll_exchange",
    "gasnet_coll_reduce",
    "gasnet_coll_scan",
    "",
    "the start of collectives, a split, or the end of a team",
    "gex_Coll_BarrierNB",
    "gex_Coll_BroadcastNB",
    "",
    "",
    "",
    "",
    "gex_Coll_ReduceToOneNB",
    "",
    "gex_Coll_ReduceToAllNB",
    "gex_AD_Create",
];

/// Names of types and operations of reductions of GASNet-EX, by their bits; others are the client's own.
const TYPES: [&str; 6] = ["I32", "U32", "I64", "U64", "FLT", "DBL"];
const OPERATIONS: [&str; 8] = ["AND", "OR", "XOR", "ADD", "SUB", "MULT", "MIN", "MAX"];

/// A description of a call, without its tag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Description(pub(super) [u64; WORDS]);

impl Description {
    /// The description of `call`.
    pub fn new(call: &Call) -> Description {
        let mut words = [0; WORDS];
        let root = if call.kind.is_rooted() { call.root as u64 } else { 0 };
        let is_ex = call.origin.as_ref().is_some_and(|origin| origin.is_ex);
        words[0] = u64::from(call.kind as u32 + if is_ex { EX } else { 0 });
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

    /// The description of a call that moves no data: [`MEETING`] or [`BARRIER`].
    pub fn without_data(number: u32) -> Description {
        let mut words = [0; WORDS];
        words[0] = u64::from(number);
        Description(words)
    }

    /// The description of the making of an atomic domain.
    pub fn of_domain(data_type: u32, operations: u32, flags: u32) -> Description {
        let mut words = [0; WORDS];
        words[..3].copy_from_slice(&[
            u64::from(DOMAIN),
            u64::from(flags),
            u64::from(data_type) << 32 | u64::from(operations),
        ]);
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
        let number = w[0] as u32;
        let name: Vec<u8> = w[FILE..].iter().flat_map(|word| word.to_le_bytes()).take_while(|b| *b != 0).collect();
        write!(f, "{}", NAMES.get(number as usize).unwrap_or(&"?"))?;
        if number == DOMAIN {
            write!(f, "(type {:#x}, operations {:#x}, flags {:#x})", w[2] >> 32, w[2] as u32, w[1])?;
        } else if number != MEETING && number != BARRIER {
            write!(f, "(")?;
            if Kind::from_number(number.checked_sub(EX).unwrap_or(number)).is_some_and(Kind::is_rooted) {
                write!(f, "root {}, ", w[1] >> 32)?;
            }
            write!(f, "{} bytes", w[2])?;
            let function = (w[3] >> 32) as u32;
            match number.checked_sub(EX).map(Kind::from_number) {
                // The flags of GASNet-EX say nothing of what is done.
                Some(Some(Kind::Reduce | Kind::ReduceAll)) if !name.is_empty() => {
                    let of = |names: &[&'static str], bit: u32| names.get(bit as usize).copied().unwrap_or("USER");
                    write!(f, ", GEX_DT_{}, GEX_OP_{}", of(&TYPES, function >> 8), of(&OPERATIONS, function & 0xff))?;
                }
                Some(_) => {}
                None => write!(f, ", flags {:#x}", w[1] as u32)?,
            }
            write!(f, ")")?;
        }
        if !name.is_empty() {
            write!(f, " at {}:{}", String::from_utf8_lossy(&name), w[3] as u32)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_that_differ_in_their_operation_read_differently() {
        let said = |number: u32, function: u64| {
            let mut words = [0; WORDS];
            (words[0], words[1], words[2]) = (number.into(), 0x92, 40);
            (words[3], words[FILE]) = (function << 32 | 9, u64::from_le_bytes(*b"sum.c\0\0\0"));
            Description(words).to_string()
        };
        assert_eq!(said(17, 2 << 8 | 3), "gex_Coll_ReduceToAllNB(40 bytes, GEX_DT_I64, GEX_OP_ADD) at sum.c:9");
        assert_eq!(
            said(15, 6 << 8 | 30),
            "gex_Coll_ReduceToOneNB(root 0, 40 bytes, GEX_DT_USER, GEX_OP_USER) at sum.c:9"
        );
        assert_eq!(said(10, 0), "gex_Coll_BroadcastNB(root 0, 40 bytes) at sum.c:9");
        assert_eq!(said(4, 0), "gasnet_coll_exchange(40 bytes, flags 0x92) at sum.c:9");
    }
}
