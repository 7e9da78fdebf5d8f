//! How a transfer is counted: by which operation, and when the caller has its memory back.
//!
//! Must not know: transfers, where operations live.

use super::op::{Op, OpId};
use crate::verbs::Local;

/// The operation that counts a transfer.
#[derive(Clone, Copy)]
pub struct Counted<'a> {
    /// Its number.
    pub id: OpId,
    /// Itself.
    pub op: &'a Op,
}

/// The completion that a verb's caller wants: the operation that counts it, and when the local memory is the caller's again.
///
/// The operation may be the caller's own, or that of a set or an open region of its thread. It counts local completion
/// separately; a caller asks it for that ([`leaf`](super::event::leaf), [`Sets::LOCAL`](super::event::Sets::LOCAL)).
#[derive(Clone, Copy)]
pub struct Completion<'a> {
    /// The operation that counts what the verb starts.
    pub counts: Counted<'a>,
    /// When the local memory is the caller's again.
    pub local: Local,
}

impl<'a> Completion<'a> {
    /// As `counts`, but the verb is done with the caller's memory at return.
    pub fn at_return(counts: Counted<'a>) -> Completion<'a> {
        Completion { counts, local: Local::AtReturn }
    }
}
