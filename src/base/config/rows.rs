//! The table of all variables, joined from its parts.
//!
//! Must not know: where values come from.

mod coll;
mod heap;
mod hosts;
mod job;
mod observe;

use super::Var;

/// The table of all variables.
pub const VARS: &[Var] = &joined::<{ NEARLY.len() + hosts::VARS.len() }>(NEARLY, hosts::VARS);
const NEARLY: &[Var] = &joined::<{ MOST.len() + heap::VARS.len() }>(MOST, heap::VARS);
const MOST: &[Var] = &joined::<{ FIRST.len() + observe::VARS.len() }>(FIRST, observe::VARS);
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
