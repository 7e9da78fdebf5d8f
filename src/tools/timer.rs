//! Ticks. They come from the cpu's counter if that is invariant and the kernel trusts it, else from the monotonic
//! clock in nanoseconds.
//!
//! Invariants: the source is chosen once per process, and so is the duration of a tick. Conversions are exact
//! multiples of it. The header reads the counter itself, so `sys::counter` must stay the same instruction as there.

#![allow(unsafe_code)] // system calls, guarded memory

use crate::base::config::Config;
use crate::os::sys::counter;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Factors are nanoseconds per tick times 2 to this power. An error of 2^-48 in a tick of at most 65 µs adds up to
/// less than 1 ns in 8 years.
pub const SHIFT: u32 = 48;

/// The time between two readings of both clocks. With an error of 20 ns in each, the duration of a tick is known to
/// 10 ppm.
const BASE: Duration = Duration::from_millis(5);

/// The source of ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The cpu's counter.
    Counter,
    /// A nanosecond of the monotonic clock.
    Clock,
}

/// Readings of both clocks at almost the same moment.
#[derive(Clone, Copy)]
struct Sample {
    nanos: u64,
    ticks: u64,
}

struct Start {
    source: Source,
    /// How many times as slow as the hardware timing mode makes everything. The clocks run as slowly.
    slowness: u32,
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
        let slowness = if cfg!(feature = "timed") { config.timing.scale } else { 1 };
        Start { source, slowness, first: sample() }
    })
}

/// The source of ticks in this process.
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

/// Nanoseconds per tick times 2^[`SHIFT`]. The first call may take as long as `BASE`.
pub fn factor() -> u64 {
    *FACTOR.get_or_init(|| {
        let factor = match source() {
            Source::Clock => 1 << SHIFT,
            Source::Counter => known_rate().map_or_else(measured_factor, |hertz| ratio(1_000_000_000, hertz)),
        };
        factor / u64::from(start().slowness)
    })
}

/// Converts a difference of ticks to nanoseconds.
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

/// Reads the clock between two readings of the counter that are close together. An interrupted attempt is repeated.
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

/// Nanoseconds since a moment before the first call. Monotonic.
fn nanos() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    // At least one tick, so that the first reading is not 0.
    1 + ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Wall clock in µs since 1970; 0 if it is earlier.
pub fn wall_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Cost and resolution of reading the ticks, in µs.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The smallest difference seen between two readings.
    pub granularity: f64,
    /// The duration of one reading.
    pub overhead: f64,
}

/// The cost, measured at the first call (some 0.1 ms); later calls return the same.
pub fn cost() -> Cost {
    *COST.get_or_init(|| {
        const READINGS: u32 = 1000;
        let (mut step, mut total) = (u64::MAX, u64::MAX);
        // The best of several rounds, because a round may be interrupted.
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

/// Whether the cpu's counter is the same on all cpus and always runs at one rate.
#[cfg(target_arch = "x86_64")]
fn trusted() -> bool {
    // The kernel removes these flags if it finds that they do not hold. It takes another clock if it later sees the
    // counter go wrong.
    let flags = first_flags().unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let clock = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let poor = clock.is_ok_and(|name| ["hpet", "acpi_pm", "refined-jiffies", "jiffies"].contains(&name.trim()));
    has("constant_tsc") && has("nonstop_tsc") && !poor
}

/// The flags of the first cpu. The whole file may be large.
#[cfg(target_arch = "x86_64")]
fn first_flags() -> Option<String> {
    use std::io::BufRead as _;
    let file = std::fs::File::open("/proc/cpuinfo").ok()?;
    std::io::BufReader::new(file).lines().map_while(Result::ok).find(|line| line.starts_with("flags"))
}

/// Ticks per second, if the cpu says so.
#[cfg(target_arch = "x86_64")]
fn known_rate() -> Option<u64> {
    None // what cpuid says of it is often rounded, and a hypervisor may scale the counter
}

#[cfg(target_arch = "aarch64")]
fn trusted() -> bool {
    true // the architecture demands it of the virtual counter
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
        // Each reading of the clock lies between two of the ticks, however long this thread has no core meanwhile.
        let moment = || (counter(), Instant::now(), counter());
        let (first, begin, second) = moment();
        std::thread::sleep(Duration::from_millis(50));
        let (third, end, fourth) = moment();
        let converted = |ticks: u64| ((u128::from(ticks) * u128::from(measured)) >> SHIFT) as f64;
        let (least, passed, most) =
            (converted(third - second), (end - begin).as_nanos() as f64, converted(fourth - first));
        // The factor is good to 0.001 %; a thousandth and a microsecond allow for ticks that differ from core to core.
        let some = passed * 1e-3 + 1000.0;
        assert!(
            least - some < passed && passed < most + some,
            "{least} to {most} ns by ticks, {passed} ns by the clock"
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
