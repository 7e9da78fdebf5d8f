//! The wire over UDP beside quinn-proto: both are state machines, which run here in one thread over one simulated network. Prints three
//! tables:
//!
//! 1. Goodput in simulated time over 1 Gbit/s with round trips of 1 ms, and the processor time of both ends with the simulator, which is the
//!    same for both. quinn-proto encrypts (TLS's AES-128-GCM); here there is a checksum alone, so the processor times are not of the same work.
//! 2. The goodput there at equal windows, and by the rules of the seed, with and without losses.
//! 3. What each of both gets that share a link for a minute. quinn-proto's congestion control is CUBIC, as TCP's.

mod net;
mod ours;
mod quinn;

use gasnet_sci::sci::far::udp::mode::Mode;
use net::{End, Path, run};
use ours::Ours;
use quinn::Quinn;

/// Bytes of UDP in a datagram: what Ethernet takes.
const DATAGRAM: usize = 1472;
/// Bytes of one write, and how many of them.
const PIECE: usize = 1 << 20;
const PIECES: usize = 64;
/// The median of so many runs.
const RUNS: usize = 5;
/// 1 Gbit/s with a queue of 2.1 ms and round trips of 1 ms.
const FAST: Path = Path { delay: 500, rate: 125.0, queue: 256.0 * 1024.0, loss: 0.0 };
/// Nothing takes longer.
const LONG: u64 = 600_000_000;
/// Links of 100 Mbit/s: µs of one way, and what the queue holds, in µs.
const SHARED: [(u64, u64); 5] = [(100, 1_000), (100, 5_000), (100, 50_000), (100, 200_000), (10_000, 5_000)];
const MINUTE: u64 = 60_000_000;

/// Processor time of this thread, in ms.
fn used() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Goodput in MB/s of simulated time, and processor time per MiB in µs.
fn measure(ends: [&mut dyn End; 2], loss: f64) -> (f64, f64) {
    let begin = used();
    let took = run(&mut [ends], Path { loss, ..FAST }, LONG);
    ((PIECES * PIECE) as f64 / took as f64, (used() - begin) * 1e3 / PIECES as f64)
}

fn ours(loss: f64) -> (f64, f64) {
    by_rules(Mode::NORMAL, Mode::NORMAL.window, loss)
}

/// With rules, and at most so many packets on their way.
fn by_rules(mode: Mode, window: u32, loss: f64) -> (f64, f64) {
    let [mut sender, mut receiver] = Ours::pair(PIECES as u64, mode, window);
    measure([&mut sender, &mut receiver], loss)
}

fn quinn(loss: f64) -> (f64, f64) {
    let [mut sender, mut receiver] = Quinn::pair(PIECES * PIECE);
    measure([&mut sender, &mut receiver], loss)
}

/// What each of two gets on one link, in MB/s.
fn shared(pairs: &mut [[&mut dyn End; 2]; 2], (delay, queue): (u64, u64)) -> [f64; 2] {
    let rate = 12.5;
    let took = run(pairs, Path { delay, rate, queue: queue as f64 * rate, loss: 0.0 }, MINUTE);
    pairs.each_ref().map(|[sender, receiver]| sender.moved().min(receiver.moved()) as f64 / took as f64)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    println!("| loss | | goodput, MB/s | processor time per MiB, µs |");
    println!("|---|---|---|---|");
    for loss in [0.0, 0.001, 0.01, 0.05] {
        let mut runs = [Vec::new(), Vec::new()];
        for _ in 0..RUNS {
            runs[0].push(ours(loss));
            runs[1].push(quinn(loss));
        }
        for (name, runs) in ["gasnet-sci, udp", "quinn-proto 0.11"].iter().zip(runs) {
            let (goodput, time) = runs.into_iter().unzip();
            println!("| {} % | {name} | {:.1} | {:.0} |", loss * 100.0, median(goodput), median(time));
        }
    }
    println!("\n| rules | packets under way | goodput without loss, MB/s | with 1 % | ratio |");
    println!("|---|---|---|---|---|");
    let window = Mode::NORMAL.window;
    for (name, mode, window) in [
        ("normal", Mode::NORMAL, 16),
        ("normal", Mode::NORMAL, 64),
        ("normal", Mode::NORMAL, window),
        ("seed", Mode::SEED, Mode::SEED.window),
    ] {
        let [whole, lossy] = [0.0, 0.01].map(|loss| by_rules(mode, window, loss).0);
        println!("| {name} | ≤ {window} | {whole:.1} | {lossy:.1} | {:.2} |", lossy / whole);
    }
    println!("\n| round trip, ms | queue, ms | gasnet-sci, MB/s | quinn-proto | two of gasnet-sci |");
    println!("|---|---|---|---|---|");
    for (delay, queue) in SHARED {
        let [mut sender, mut receiver] = Ours::pair(u64::MAX, Mode::NORMAL, Mode::NORMAL.window);
        let [mut other, mut its] = Quinn::pair(usize::MAX);
        let mixed = shared(&mut [[&mut sender, &mut receiver], [&mut other, &mut its]], (delay, queue));
        let mut both = [0, 1].map(|_| Ours::pair(u64::MAX, Mode::NORMAL, Mode::NORMAL.window));
        let mut pairs = both.each_mut().map(|[sender, receiver]| [sender as &mut dyn End, receiver as &mut dyn End]);
        let [first, second] = shared(&mut pairs, (delay, queue));
        let (trip, queue) = (2.0 * delay as f64 / 1e3, queue as f64 / 1e3);
        println!("| {trip} | {queue} | {:.2} | {:.2} | {first:.2}, {second:.2} |", mixed[0], mixed[1]);
    }
}
