//! Variables of timing mode.
//!
//! Must not know: which code uses a value.

use super::super::parse;
use super::super::settings::{Var, put};

/// This part of the table.
pub(super) const VARS: &[Var] = &[
    Var {
        name: "GASNET_SCI_TIMING",
        aliases: &[],
        default: "off",
        doc: "SCI hardware as which the library for timing mode behaves (docs/timing.md); the normal library takes off only",
        form: "off, count, scipos, d312, d312-deck, d339, d339-2004 or a JSON file, and changes such as ,setup=12us",
        set: |c, v| {
            c.timing.set_profile(v);
            Some(())
        },
    },
    Var {
        name: "GASNET_SCI_TIMING_SCALE",
        aliases: &[],
        default: "1",
        doc: "in timing mode all delays are so many times as long, and gasnett_ticks run so many times as slowly",
        form: "an integer from 1 to 1000",
        set: |c, v| put(&mut c.timing.scale, parse::integer(v, 1, 1000)),
    },
    Var {
        name: "GASNET_SCI_TOPOLOGY",
        aliases: &[],
        default: "a link for each pair",
        doc: "in timing mode: how the nodes are connected",
        form: "ring:N, torus:XxY, switch:N or a JSON file",
        set: |c, v| put(&mut c.timing.topology, Some(Some(v.trim().to_owned()))),
    },
];
