//! The ways in which the bytes of a move come, as the sender's message says.
//!
//! The head of the message holds one of these ways and, above it, a count:
//!
//! | way | where the bytes are | who answers |
//! |---|---|---|
//! | `INLINE` | in the message | nobody |
//! | `AHEAD` | in the part of the sender's stage that belongs to this sequence number | nobody; see below |
//! | `PULL` | at an address in the sender's segment | each receiver, after it has read them |
//! | `STAGED` | in a stage buffer of the sender, chunk by chunk | each receiver, with the chunks that it has read |
//! | `BY_AM` | the receiver gives an address, the sender sends Mediums to it | nobody |
//! | `PUSHED` | in the receiver's segment, at an address that it gave before | nobody |
//!
//! The head's count is the number of filled chunks for `STAGED`, and 1 for `BY_AM` when all is sent.
//!
//! `AHEAD`: the sender is done at once. It uses the part again when all members have retired the number, as their
//! credit words show (rule 5 of `cells.rs`). If they do not show that yet, the sender chooses a way with answers, and
//! waits for them.
//!
//! Must not know: how senders and receivers take their steps.

pub(super) const HOW_INLINE: u32 = 1;
pub(super) const HOW_PULL: u32 = 2;
pub(super) const HOW_STAGED: u32 = 3;
pub(super) const HOW_BY_AM: u32 = 4;
pub(super) const HOW_PUSHED: u32 = 5;
pub(super) const HOW_AHEAD: u32 = 6;
/// Bits of a head that say how the bytes come.
pub(super) const HOW_BITS: u32 = 3;

/// The most bytes that one step moves, so that a poll returns soon (about 50 µs).
pub(super) const STEP: usize = 512 << 10;
