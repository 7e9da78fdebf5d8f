//! Timers of the tools: the part that the header does not do itself (contract: tools.md §2, §8).

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::tools::timer::{self, Source};
use std::ffi::c_int;
use std::time::Duration;

/// Ticks times the factor of `gasneti_sci_tools_tick_factor`, shifted right by this many bits, are nanoseconds.
pub const GASNETI_SCI_TICK_SHIFT: u32 = 48;
const _: () = assert!(GASNETI_SCI_TICK_SHIFT == timer::SHIFT);

/// The current tick. Sets `*native` to 1 if the header may read the cpu's counter itself from now on.
///
/// # Safety
/// `native` points to a 32-bit word of the client's that is only accessed atomically.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_ticks(native: *mut u32) -> u64 {
    if timer::source() == Source::Counter {
        // SAFETY: the caller promises that `native` is aligned, and changed by atomics only.
        let native = unsafe { AtomicU32::from_ptr(native) };
        native.store(1, Ordering::Relaxed); // Relaxed: the word orders no other memory
    }
    timer::ticks()
}

/// The factor that converts ticks to nanoseconds, also stored to `*factor`. The first call takes up to 5 ms.
///
/// # Safety
/// `factor` points to a 64-bit word of the client's that is only accessed atomically.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_tick_factor(factor: *mut u64) -> u64 {
    // SAFETY: the caller promises that `factor` is aligned, and changed by atomics only.
    let place = unsafe { AtomicU64::from_ptr(factor) };
    let factor = timer::factor();
    place.store(factor, Ordering::Relaxed); // Relaxed: the word orders no other memory
    factor
}

/// `gasnett_tick_granularityus`: the smallest step between ticks that is seen, in µs. Always the same value.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_tools_tick_granularity() -> f64 {
    timer::cost().granularity
}

/// `gasnett_tick_overheadus`: the time that one reading takes, in µs. Always the same value.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_tools_tick_overhead() -> f64 {
    timer::cost().overhead
}

/// `gasnett_gettimeofday_us`: wall clock, µs since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_tools_wall_us() -> u64 {
    timer::wall_micros()
}

/// `gasnett_nsleep`: sleeps at least `ns` nanoseconds, also if signals arrive. Returns 0.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_tools_nsleep(ns: u64) -> c_int {
    std::thread::sleep(Duration::from_nanos(ns));
    0
}
