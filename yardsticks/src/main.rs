//! The wire over UDP beside quinn-proto: both are state machines, which run here in one thread over one simulated network of 1 Gbit/s with
//! round trips of 1 ms. Prints the goodput in simulated time, and the processor time of both ends with the simulator, which is the same
//! for both. quinn-proto encrypts (TLS's AES-128-GCM); here there is a checksum
//! alone, so the processor times are not of the same work.

mod net;
mod ours;
mod quinn;

use net::{End, run};

/// Bytes of UDP in a datagram: what Ethernet takes.
const DATAGRAM: usize = 1472;
/// Bytes of one write, and how many of them.
const PIECE: usize = 1 << 20;
const PIECES: usize = 64;
/// The median of so many runs.
const RUNS: usize = 5;

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
    let took = run(ends, loss);
    ((PIECES * PIECE) as f64 / took as f64, (used() - begin) * 1e3 / PIECES as f64)
}

fn ours(loss: f64) -> (f64, f64) {
    let (mut sender, mut receiver) = (ours::Ours::new(0, PIECES as u64), ours::Ours::new(1, 0));
    measure([&mut sender, &mut receiver], loss)
}

fn quinn(loss: f64) -> (f64, f64) {
    let [mut sender, mut receiver] = quinn::Quinn::pair(PIECES * PIECE);
    measure([&mut sender, &mut receiver], loss)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    println!("| loss | | goodput, MB/s | processor time per MiB, µs |");
    println!("|---|---|---|---|");
    for loss in [0.0, 0.01] {
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
}
