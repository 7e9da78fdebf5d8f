//! The table of all variables, joined from its parts.
//!
//! Must not know: where values come from.

mod coll;
mod deck;
mod hosts;
mod job;
mod observe;
mod timing;

use super::Var;

const PARTS: [&[Var]; 6] = [job::VARS, coll::VARS, deck::VARS, hosts::VARS, observe::VARS, timing::VARS];

/// The table of all variables.
pub const VARS: &[Var] = &joined::<{ count() }>();

const fn count() -> usize {
    let (mut count, mut part) = (0, 0);
    while part < PARTS.len() {
        count += PARTS[part].len();
        part += 1;
    }
    count
}

const fn joined<const N: usize>() -> [Var; N] {
    let mut all = [PARTS[0][0]; N];
    let (mut filled, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut i = 0;
        while i < PARTS[part].len() {
            all[filled] = PARTS[part][i];
            filled += 1;
            i += 1;
        }
        part += 1;
    }
    all
}
