//! The card that `SISCI_TIMING` asks for: when packets leave this process and arrive, when its DMA engine is done, and the waiting for that.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

use crate::calm;
use crate::config::Config;
use crate::model::{Issuer, Left, Packet, Parameters, Route};

/// From a node to another: all are neighbours.
const WAY: Route = Route { hops: 1, turns: 0 };
/// The system wakes a thread up to so many nanoseconds late, most often: the end of a wait is spun.
const LATE: f64 = 150_000.0;
/// Below so many nanoseconds a waiting thread does not even yield.
const SHORT: f64 = 3_000.0;

/// The card of this process.
pub struct Card {
    /// Its times.
    pub hardware: Parameters,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    issuer: Issuer,
    /// When the DMA engine is done with all that it was given.
    engine: f64,
}

static CARD: OnceLock<Card> = OnceLock::new();
/// Whether there is one, for calls whose cost counts.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// There is a card if the variables want one.
pub fn configure(config: &Config) {
    if let Some(timing) = config.timing.as_ref().filter(|timing| !timing.hardware.is_instant()) {
        CARD.get_or_init(|| Card { hardware: timing.hardware.clone(), state: Mutex::default() });
        // Ordering: Release; who sees it finds the card.
        IS_ON.store(true, Ordering::Release);
    }
}

/// The card; nothing without timing.
#[inline]
pub fn get() -> Option<&'static Card> {
    if IS_ON.load(Ordering::Acquire) { CARD.get() } else { None }
}

/// Nanoseconds of a clock that only goes forward.
pub fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Waits until then; false if `goes_on` ends it.
pub fn wait_while(end: f64, goes_on: impl Fn() -> bool) -> bool {
    loop {
        let rest = end - now();
        if rest <= 0.0 {
            return true;
        }
        if !goes_on() {
            return false;
        }
        if rest > 2.0 * LATE {
            calm::open(|| std::thread::sleep(Duration::from_nanos((rest - LATE).min(1e6) as u64)));
        } else if rest > SHORT {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Waits until then.
pub fn wait_until(end: f64) {
    wait_while(end, || true);
}

impl Card {
    /// Packets of `bytes` bytes leave that the processor stores from `ready` on.
    pub fn send(&self, packets: impl Iterator<Item = (Packet, usize)>, bytes: usize, ready: f64) -> Left {
        let issuer = &mut self.state.lock().issuer;
        if !self.hardware.staged {
            return issuer.leave(&self.hardware, WAY, packets, ready, 0.0);
        }
        // A sum of stages: one transfer after the other.
        let issue = ready.max(issuer.all_acknowledged());
        let arrive = issue + self.hardware.staged_write(bytes, WAY);
        issuer.sent(&self.hardware, issue, arrive);
        Left { last: arrive, arrive }
    }

    /// When all that was sent is acknowledged.
    pub fn acknowledged(&self) -> f64 {
        self.state.lock().issuer.all_acknowledged()
    }

    /// Reading `bytes` bytes.
    pub fn read(&self, bytes: usize) -> f64 {
        self.hardware.read_of(bytes, WAY, WAY)
    }

    /// When the DMA engine is done with `bytes` bytes that it was given at `asked`.
    pub fn transfer(&self, bytes: usize, asked: f64) -> f64 {
        let engine = &mut self.state.lock().engine;
        *engine = asked.max(*engine) + self.hardware.dma(bytes, WAY);
        *engine
    }

    /// A message of `bytes` bytes that wakes somebody: its flight, and the interrupt.
    pub fn wake(&self, bytes: usize) -> f64 {
        self.hardware.write(bytes.max(1), WAY) + self.hardware.interrupt
    }
}
