//! Variables of timing mode.
//!
//! Must not know: which code uses a value.

use super::super::parse;
use super::super::settings::{Var, put, row};

/// This part of the table.
pub(super) const VARS: &[Var] = &[
    row! { "GASNET_SCI_TIMING", "off",
    "SCI hardware as which the library for timing mode behaves (docs/timing.md); the normal library takes off only",
    "off, count, scipos, d312, d312-deck, d339, d339-2004 or a JSON file, and changes such as ,setup=12us", |c, v| {
        c.timing.set_profile(v);
        Some(())
    } },
    row! { "GASNET_SCI_TIMING_SCALE", "1",
    "in timing mode all delays are so many times as long, and gasnett_ticks run so many times as slowly",
    "an integer from 1 to 1000", |c, v| put(&mut c.timing.scale, parse::integer(v, 1, 1000)) },
    row! { "GASNET_SCI_TOPOLOGY", "a link for each pair", "in timing mode: how the nodes are connected",
    "ring:N, torus:XxY, switch:N or a JSON file", |c, v| put(&mut c.timing.topology, Some(Some(v.trim().to_owned()))) },
];
