//! A record behind its first line, as it is copied into a ring: whole lines, whatever its length and wherever its bytes lie.
//!
//! Must not know: what else is in the ring.

#![allow(unsafe_code)] // memory of clients

use super::adapter::{Remote, Verdict};
use super::layout::{FRAME, Head, IN_FIRST_LINE, LINE, Line};

/// Bytes that are put together before they are copied: those of a record of up to 8 KiB, so that one call copies them, the last line of a longer one, and what
/// cards cannot take from where it lies.
pub const STAGE: usize = (FRAME - IN_FIRST_LINE).next_multiple_of(LINE);

/// A record whose other lines are there, or on their way, and whose first line is not.
pub struct Announcement {
    pub line: Line,
    /// Where it goes, and how many bytes of the ring the record takes.
    pub place: usize,
    pub size: usize,
}

/// Memory for them, where a line begins.
#[repr(align(64))]
pub struct Stage(pub [u8; STAGE]);

impl Stage {
    /// Stores all of a record but its first line. Its parts are confirmed together; if some did not arrive, then one by one, so that a link on which
    /// each fifth copy is lost brings a record of five all the same.
    ///
    /// # Safety
    /// As many bytes as `head` says are readable at `from`.
    pub unsafe fn store(&mut self, remote: &Remote, head: Head, from: *const u8, place: usize) -> Verdict {
        let together = |remote: &Remote| {
            // SAFETY: `parts` promises the bytes.
            let one = |from, at, len| unsafe { remote.copy(from, at, len) };
            // SAFETY: the caller's promise.
            unsafe { parts(&mut self.0, head, from, place, one) }
        };
        match remote.attempt(together) {
            Verdict::Unknown => {}
            verdict => return verdict,
        }
        let mut verdict = Verdict::Arrived;
        let one = |from, at, len| {
            // SAFETY: `parts` promises the bytes.
            verdict = remote.confirm(|remote| unsafe { remote.copy(from, at, len) });
            if verdict == Verdict::Arrived { Ok(()) } else { Err(String::new()) }
        };
        // SAFETY: the caller's promise. What goes wrong stands in the verdict.
        let _ = unsafe { parts(&mut self.0, head, from, place, one) };
        verdict
    }
}

/// Cuts what does not lie in the record's first line into parts that are whole lines, and gives each to `copy`, with the place where it goes. `copy` may
/// read the bytes until it returns.
///
/// # Safety
/// As many bytes as `head` says are readable at `from`.
unsafe fn parts(
    stage: &mut [u8; STAGE],
    head: Head,
    from: *const u8,
    place: usize,
    mut copy: impl FnMut(*const u8, usize, usize) -> Result<(), String>,
) -> Result<(), String> {
    let (mut place, mut from, mut left) =
        (place + LINE, from.wrapping_add(IN_FIRST_LINE), head.len.saturating_sub(IN_FIRST_LINE));
    while left > 0 {
        // Whole lines of long records go as they lie, if cards can take them from there.
        let goes_as_it_lies = left > STAGE && from.addr().is_multiple_of(8);
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
