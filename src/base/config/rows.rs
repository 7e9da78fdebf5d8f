//! The table of all variables, joined from its parts.
//!
//! Must not know: where values come from.

mod coll;
mod heap;
mod hosts;
mod job;
mod observe;
mod timing;

use super::Var;

/// The table of all variables.
pub const VARS: &[Var] = &joined::<{ ALMOST.len() + timing::VARS.len() }>(ALMOST, timing::VARS);
const ALMOST: &[Var] = &joined::<{ MOST.len() + heap::VARS.len() }>(MOST, heap::VARS);
const MOST: &[Var] = &joined::<{ MORE.len() + observe::VARS.len() }>(MORE, observe::VARS);
const MORE: &[Var] = &joined::<{ FIRST.len() + hosts::VARS.len() }>(FIRST, hosts::VARS);
const FIRST: &[Var] = &joined::<{ job::VARS.len() + coll::VARS.len() }>(job::VARS, coll::VARS);

const fn joined<const N: usize>(first: &[Var], second: &[Var]) -> [Var; N] {
    let mut all = [first[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}
