//! Variables of the debug heap. Contract: environment.md §2.2, tools.md §15.
//!
//! Must not know: which code uses a value.

use super::super::heap::FILL;
use super::super::settings::{Var, put};
use super::super::{NodeSet, parse};

/// 64 bits: a number, or `NAN`. A number that fits into a byte is repeated in each byte.
fn pattern(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("nan") {
        return Some(FILL);
    }
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    Some(if value < 256 { value * (u64::MAX / 255) } else { value })
}

const PATTERN: &str = "a number of 64 bits, a byte such as 0xA5, or NAN";

/// This part of the table.
pub(super) const VARS: &[Var] = &[
    Var {
        name: "GASNET_MALLOC_INIT",
        aliases: &[],
        default: "no",
        doc: "debug heap: fill new memory with GASNET_MALLOC_INITVAL",
        form: parse::YES_NO,
        set: |c, v| parse::yes_no(v).map(|yes| c.heap.fill(Some(yes), None)),
    },
    Var {
        name: "GASNET_MALLOC_INITVAL",
        aliases: &[],
        default: "NAN",
        doc: "debug heap: what new memory is filled with, a byte or 64 bits",
        form: PATTERN,
        set: |c, v| {
            c.heap.init_value = pattern(v)?;
            c.heap.fill(None, None);
            Some(())
        },
    },
    Var {
        name: "GASNET_MALLOC_CLOBBER",
        aliases: &[],
        default: "no",
        doc: "debug heap: fill freed memory with GASNET_MALLOC_CLOBBERVAL",
        form: parse::YES_NO,
        set: |c, v| parse::yes_no(v).map(|yes| c.heap.fill(None, Some(yes))),
    },
    Var {
        name: "GASNET_MALLOC_CLOBBERVAL",
        aliases: &[],
        default: "NAN",
        doc: "debug heap: what freed memory is filled with",
        form: PATTERN,
        set: |c, v| {
            c.heap.clobber_value = pattern(v)?;
            c.heap.fill(None, None);
            Some(())
        },
    },
    Var {
        name: "GASNET_MALLOC_LEAKALL",
        aliases: &[],
        default: "no",
        doc: "debug heap: give nothing back, so that no address comes twice",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.heap.leak_all, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_MALLOC_SCANFREED",
        aliases: &[],
        default: "no",
        doc: "debug heap: give nothing back, and look for writes to what was freed",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.heap.scan_freed, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_MALLOC_EXTRACHECK",
        aliases: &[],
        default: "no",
        doc: "debug heap: look at all memory in each call; slow",
        form: parse::YES_NO,
        set: |c, v| put(&mut c.heap.extra_check, parse::yes_no(v)),
    },
    Var {
        name: "GASNET_MALLOCFILE",
        aliases: &[],
        default: "",
        doc: "debug heap: file for a list of what was not freed at exit; names as for GASNET_TRACEFILE",
        form: "a file name",
        set: |c, v| put(&mut c.heap.file, Some(Some(v.trim().to_string()))),
    },
    Var {
        name: "GASNET_MALLOCNODES",
        aliases: &[],
        default: "*",
        doc: "debug heap: nodes that write it",
        form: "a list of nodes such as 0,2-4",
        set: |c, v| put(&mut c.heap.nodes, NodeSet::parse(v)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_bytes_or_words() {
        assert_eq!(pattern("0xA5"), Some(0xa5a5_a5a5_a5a5_a5a5));
        assert_eq!((pattern("0"), pattern("256")), (Some(0), Some(256)));
        assert_eq!((pattern("nan"), pattern("x"), pattern("-1")), (Some(FILL), None, None));
    }
}
