//! Ticks: the cpu's counter where it is invariant and the kernel trusts it, else the monotonic clock in nanoseconds.
//!
//! Invariants: the source is chosen once per process; so is the worth of a tick, and conversions are exact multiples of it.
//! The header reads the counter itself, hence `counter` must stay the instruction that is there.

#![allow(unsafe_code)] // system calls, guarded memory

use crate::base::config::Config;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Factors are nanoseconds per tick times 2 to this power: 2^-48 of a tick of at most 65 µs is below 1 ns in 8 years.
pub const SHIFT: u32 = 48;

/// Between two looks at both clocks: with 20 ns of doubt at each, the worth of a tick is known to 10 ppm.
const BASE: Duration = Duration::from_millis(5);

/// What a tick is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The cpu's counter.
    Counter,
    /// A nanosecond of the monotonic clock.
    Clock,
}

/// Both clocks at one moment, as near as they can be read.
#[derive(Clone, Copy)]
struct Sample {
    nanos: u64,
    ticks: u64,
}

struct Start {
    source: Source,
    first: Sample,
}

static START: OnceLock<Start> = OnceLock::new();
static FACTOR: OnceLock<u64> = OnceLock::new();
static COST: OnceLock<Cost> = OnceLock::new();

fn start() -> &'static Start {
    START.get_or_init(|| {
        let config =
            Config::from_env().map_or_else(|error| crate::base::fatal(format_args!("{error}")), |(config, _)| config);
        let source = if config.ticks_by_clock || !trusted() { Source::Clock } else { Source::Counter };
        Start { source, first: sample() }
    })
}

/// What ticks are in this process.
pub fn source() -> Source {
    start().source
}

/// The tick now. Never decreases within a thread; greater than 0.
pub fn ticks() -> u64 {
    match source() {
        Source::Counter => counter(),
        Source::Clock => nanos(),
    }
}

/// Nanoseconds per tick times 2^[`SHIFT`]. The first call may take `BASE`.
pub fn factor() -> u64 {
    *FACTOR.get_or_init(|| match source() {
        Source::Clock => 1 << SHIFT,
        Source::Counter => known_rate().map_or_else(measured_factor, |hertz| ratio(1_000_000_000, hertz)),
    })
}

/// A difference of ticks in nanoseconds.
pub fn to_nanos(ticks: u64) -> u64 {
    ((u128::from(ticks) * u128::from(factor())) >> SHIFT) as u64
}

fn ratio(nanos: u64, ticks: u64) -> u64 {
    ((u128::from(nanos) << SHIFT) / u128::from(ticks.max(1))) as u64
}

fn measured_factor() -> u64 {
    let first = start().first;
    let passed = Duration::from_nanos(nanos() - first.nanos);
    if passed < BASE {
        std::thread::sleep(BASE - passed);
    }
    let last = sample();
    ratio(last.nanos - first.nanos, last.ticks - first.ticks)
}

/// The clock read between two readings of the counter that are close together: an interrupted attempt is not taken.
fn sample() -> Sample {
    let attempt = || {
        let before = counter();
        let nanos = nanos();
        let after = counter();
        (after.wrapping_sub(before), Sample { nanos, ticks: before + after.wrapping_sub(before) / 2 })
    };
    let (_, best) = (0..16).map(|_| attempt()).min_by_key(|(width, _)| *width).expect("16 attempts");
    best
}

/// Monotonic, in ns since a moment before the first call.
fn nanos() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    // A reading is greater than the least tick, so the first one is not 0.
    1 + ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Wall clock, µs since 1970; 0 before.
pub fn wall_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// What reading costs and how fine it is, in µs.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The smallest step seen.
    pub granularity: f64,
    /// One reading.
    pub overhead: f64,
}

/// Measured once (some 0.1 ms), then always the same.
pub fn cost() -> Cost {
    *COST.get_or_init(|| {
        const READINGS: u32 = 1000;
        let (mut step, mut total) = (u64::MAX, u64::MAX);
        // The best of several rounds, for a round may be interrupted.
        for _ in 0..8 {
            let first = ticks();
            let mut last = first;
            for _ in 0..READINGS {
                let now = ticks();
                if now > last {
                    step = step.min(now - last);
                }
                last = now;
            }
            total = total.min(last - first);
        }
        let micros = |ticks: f64| ticks * factor() as f64 / (1u64 << SHIFT) as f64 / 1000.0;
        Cost { granularity: micros(step.max(1) as f64), overhead: micros(total.max(1) as f64 / f64::from(READINGS)) }
    })
}

/// Is the cpu's counter the same on all cpus, and always of one rate?
#[cfg(target_arch = "x86_64")]
fn trusted() -> bool {
    // The kernel drops these flags when it finds that they do not hold, and takes another clock when it sees the counter
    // go wrong later.
    let flags = first_flags().unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let clock = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let poor = clock.is_ok_and(|name| ["hpet", "acpi_pm", "refined-jiffies", "jiffies"].contains(&name.trim()));
    has("constant_tsc") && has("nonstop_tsc") && !poor
}

/// The flags of the first cpu; the file may be large.
#[cfg(target_arch = "x86_64")]
fn first_flags() -> Option<String> {
    use std::io::BufRead as _;
    let file = std::fs::File::open("/proc/cpuinfo").ok()?;
    std::io::BufReader::new(file).lines().map_while(Result::ok).find(|line| line.starts_with("flags"))
}

/// The counter that the header reads, too.
#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every x86-64 cpu has the instruction; Linux leaves it to user programs.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Ticks per second, where the cpu says so.
#[cfg(target_arch = "x86_64")]
fn known_rate() -> Option<u64> {
    None // what cpuid says of it is often rounded, and a hypervisor may scale the counter
}

#[cfg(target_arch = "aarch64")]
fn trusted() -> bool {
    true // the architecture demands it of the virtual counter
}

#[cfg(target_arch = "aarch64")]
fn counter() -> u64 {
    let count;
    // SAFETY: reads a register that Linux opens to user programs; the barrier keeps it in its place.
    unsafe { std::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) count, options(nostack, preserves_flags)) };
    count
}

#[cfg(target_arch = "aarch64")]
fn known_rate() -> Option<u64> {
    let hertz: u64;
    // SAFETY: reads a register that every process may read.
    unsafe { std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hertz, options(nostack, nomem, preserves_flags)) };
    (hertz > 0).then_some(hertz)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn trusted() -> bool {
    false
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> u64 {
    nanos()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn known_rate() -> Option<u64> {
    Some(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_never_decrease_and_stay_inside_the_range() {
        let mut last = ticks();
        assert!(last > 0);
        for _ in 0..100_000 {
            let now = ticks();
            assert!(now >= last && now < u64::MAX);
            last = now;
        }
    }

    #[test]
    fn both_sources_agree_with_the_clock() {
        let measured = measured_factor();
        let (clock, begin) = (Instant::now(), counter());
        std::thread::sleep(Duration::from_millis(50));
        let (passed, ticks) = (clock.elapsed().as_nanos() as f64, counter() - begin);
        let converted = ((u128::from(ticks) * u128::from(measured)) >> SHIFT) as f64;
        // 0.1 % allows for what runs between the readings on a busy machine; the factor is good to 0.001 %.
        assert!(
            (converted - passed).abs() < passed * 1e-3 + 100_000.0,
            "{converted} ns by ticks, {passed} ns by the clock"
        );
    }

    #[test]
    fn conversion_is_additive_and_keeps_zero() {
        assert_eq!(to_nanos(0), 0);
        for (a, b) in [(1, 1), (999_999_937, 3), (1 << 53, 12345), (u64::MAX / 3, u64::MAX / 5)] {
            assert!(to_nanos(a + b).abs_diff(to_nanos(a) + to_nanos(b)) <= 1, "{a} {b}");
        }
    }

    #[test]
    fn a_clock_tick_is_a_nanosecond() {
        assert_eq!(ratio(1, 1), 1 << SHIFT);
        assert_eq!(ratio(1_000_000_000, 1_000_000) >> SHIFT, 1000);
    }

    #[test]
    fn cost_is_plausible_and_stable() {
        let Cost { granularity, overhead } = cost();
        assert!(granularity > 0.0 && granularity < 100.0 && overhead > 0.0 && overhead < 100.0);
        assert_eq!((cost().granularity, cost().overhead), (granularity, overhead));
    }
}
