//! A record as it is copied into a ring: whole lines, whatever its length and wherever its bytes lie.
//!
//! Must not know: where it goes.

#![allow(unsafe_code)] // memory of clients

use super::layout::{FRAME, HEAD_BYTES, Head, LINE};

/// Bytes that are put together before they are copied: a frame, and what of a piece is no whole line.
pub const STAGE: usize = (FRAME + HEAD_BYTES).next_multiple_of(LINE);

/// Memory for them, where a line begins.
#[repr(align(64))]
pub struct Stage(pub [u8; STAGE]);

/// Cuts a record into parts that are whole lines, and gives each to `copy`, with the place where it goes. `copy` may read the bytes until it
/// returns.
///
/// # Safety
/// As many bytes as `head` says are readable at `from`.
pub unsafe fn parts(
    stage: &mut [u8; STAGE],
    head: Head,
    from: *const u8,
    place: usize,
    mut copy: impl FnMut(*const u8, usize, usize) -> Result<(), String>,
) -> Result<(), String> {
    stage[..HEAD_BYTES].copy_from_slice(&head.bytes());
    // The first line, or all of a short record.
    let first = if head.len <= STAGE - HEAD_BYTES { head.len } else { LINE - HEAD_BYTES };
    // SAFETY: the caller's promise; the stage has room.
    unsafe { from.copy_to_nonoverlapping(stage[HEAD_BYTES..][..first].as_mut_ptr(), first) };
    let lines = (HEAD_BYTES + first).next_multiple_of(LINE);
    copy(stage.as_ptr(), place, lines)?;
    let (mut place, mut from, mut left) = (place + lines, from.wrapping_add(first), head.len - first);
    while left > 0 {
        // Whole lines go as they lie, if cards can take them from there; others by the stage.
        let goes_as_it_lies = left >= LINE && from.addr().is_multiple_of(8);
        let some = if goes_as_it_lies { left - left % LINE } else { left.min(STAGE) };
        let lines = some.next_multiple_of(LINE);
        if goes_as_it_lies {
            copy(from, place, lines)?;
        } else {
            // SAFETY: the caller's promise; the stage has room.
            unsafe { from.copy_to_nonoverlapping(stage.as_mut_ptr(), some) };
            copy(stage.as_ptr(), place, lines)?;
        }
        (from, place, left) = (from.wrapping_add(some), place + lines, left - some);
    }
    Ok(())
}
