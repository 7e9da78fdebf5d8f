//! For tests: words that change just before this thread looks at them, as a peer may change them between two looks.

use crate::sync::{AtomicU64, Ordering};
use std::cell::Cell;

thread_local!(static NEXT: Cell<(u32, u64)> = const { Cell::new((0, 0)) });

/// The `looks`-th look from now on finds its word changed by exclusive or with `bits`; 0: none does. Returns what was
/// planned before.
pub(crate) fn plan(looks: u32, bits: u64) -> (u32, u64) {
    NEXT.replace((looks, bits))
}

pub(in crate::sci) fn touch(word: &AtomicU64) {
    let (looks, bits) = NEXT.get();
    if looks > 0 {
        NEXT.set((looks - 1, bits));
        if looks == 1 {
            word.fetch_xor(bits, Ordering::Relaxed); // Relaxed: one thread
        }
    }
}
