//! Hints about lines of memory, of any address: they neither fault nor change what a program can see. Processors without one do nothing.
//!
//! Must not know: segments.

#![allow(unsafe_code)] // instructions

/// Asks for the line at `line`, to read it.
#[inline(always)]
pub(crate) fn will_read(line: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint.
    unsafe {
        std::arch::asm!("prefetcht0 [{}]", in(reg) line, options(nostack, preserves_flags))
    };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = line;
}

/// Asks for the line at `line`, to write it.
#[inline(always)]
pub(crate) fn claim(line: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint. `nomem`: a loop need not load again for each line what it knows.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) line.addr(), options(nomem, nostack, preserves_flags))
    };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = line;
}

/// Moves the line at `line` out of this core's own caches, towards the core that reads it next (CLDEMOTE): bare ring
/// of one line 260 -> 247 ns per round trip, with a second line of payload 314 -> 283 ns. Long payloads are slower
/// with it (4 KiB 1.1 -> 1.8 µs).
#[inline(always)]
pub(crate) fn hand_over(line: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: a hint.
    unsafe {
        std::arch::asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags))
    };
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    let _ = line;
}
