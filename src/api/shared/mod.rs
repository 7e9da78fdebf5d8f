//! What GASNet-1 and GASNet-EX have in common: two faces of the same verbs, whose headers say which of them calls.
//!
//! Must not know: the faces.

pub mod am;
pub mod coll;
pub mod constants;
pub mod debug;
pub mod direct;
pub(in crate::api) mod heads;
pub mod hsl;
pub mod objects;
pub mod outcome;
pub mod reach;
pub mod rma;
pub mod srcdesc;
pub mod start;
pub(in crate::api) mod threads;
pub mod vis;
