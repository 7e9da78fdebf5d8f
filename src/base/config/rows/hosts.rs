//! Variables of jobs on several hosts. Contract: design-hosts of the project; docs/environment.md.
//!
//! Must not know: which code uses a value.

use super::super::parse;
use super::super::settings::{Var, put};
use std::ops::RangeInclusive;

/// One port, or two with a dash between.
fn ports(text: &str) -> Option<RangeInclusive<u16>> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high): (u16, u16) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high && (low > 0 || high == 0)).then_some(low..=high)
}

/// This part of the table.
pub(super) const VARS: &[Var] = &[
    Var {
        name: "GASNET_SCI_IFACE",
        aliases: &[],
        default: "the first that reaches other hosts",
        doc: "network interface for nodes of other hosts, by its name or its address",
        form: "a name such as eth0, or an IPv4 address",
        set: |c, v| (!v.trim().is_empty()).then(|| c.interface = Some(v.trim().into())),
    },
    Var {
        name: "GASNET_SCI_PORTS",
        aliases: &[],
        default: "any",
        doc: "TCP ports at which the nodes of a job on several hosts listen",
        form: "a port, or a range such as 40000-40100; one for each node of a host",
        set: |c, v| put(&mut c.ports, if v.trim() == "any" { Some(0..=0) } else { ports(v) }),
    },
    Var {
        name: "GASNET_SCI_SPLIT",
        aliases: &[],
        default: "1",
        doc: "as how many hosts each host counts: its nodes, in blocks, reach each other over the network (for tests)",
        form: "an integer from 1 to 65535",
        set: |c, v| put(&mut c.split, parse::integer(v, 1, 65535)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_one_or_a_range() {
        assert_eq!(ports("40000-40100"), Some(40000..=40100));
        assert_eq!(ports("7"), Some(7..=7));
        for wrong in ["", "9-8", "0-7", "x", "1-70000"] {
            assert_eq!(ports(wrong), None, "{wrong}");
        }
    }
}
