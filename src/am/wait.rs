//! Waiting: poll, then pause, then yield, then sleep on this node's interrupt (design.md §4).
//!
//! Every sleep is bounded (50 µs growing to 1 ms): a peer's direct put or another thread may change what a client waits for,
//! and neither wakes anybody. Where both do, as with mail boxes, sleeps grow to 50 ms. Many nodes of a core sleep longer ([`crowd`]).
//! Progress never depends on the mode.
//!
//! A client's own polls (`gasnet_AMPoll`) may be a wait. Then a peer may need this core to answer at all. Or they may stand
//! beside computing; then the core must not be given away. The library decides after `MISSES_SHARED` or more empty polls:
//! 1. In a job of one node a poll never yields: no peer needs the core.
//! 2. If nodes share cores, it yields: a peer needs the core, whatever this client does beside.
//! 3. Otherwise it reads the clock. If a poll, with what the client did before it, took `COMPUTES` or longer on average, the
//!    client computes, and nothing happens. If it took less, the client waits, and the library yields.
//! 4. A pause before the first of these polls (long computing, a handler, time that another process had the core) may make one
//!    wait look like computing. The next reading, as many polls later, corrects that.
//! 5. A client that asks to spin has counted the nodes of its host. If nodes of other hosts are on its cores, it gets the default.
//!
//! Yields are bounded by time as well as by number. On a core that others use, a yield may last their whole time slice, and a
//! sleeper is served sooner than a thread that yields. So a yield counts as often as it took shares of `YIELD_TIME`.
//!
//! Must not know: what is waited for, messages.

use crate::os::{signal_stack, sys};
use crate::sci::Interrupt;
use crate::sync::{AtomicU32, AtomicU64, Ordering, spin_loop, yield_now};
#[cfg(test)]
use std::cell::Cell;
use std::time::{Duration, Instant};

pub mod crowd;
mod kinds;

pub use kinds::{Look, Mode, Rest};

/// Failed polls before a waiting thread yields, when every node has a core: 20 to 40 µs with the gaps between them, by processor. It is the
/// first value and the largest, unless [`SPIN_SOLE`] is.
const SPIN_DEDICATED: u32 = 500;
/// [`SPIN_DEDICATED`] of a node of one thread, all of whose peers are on this host ([`Waiter::sole_thread`]): 80 to 160 µs, about what a
/// sleep costs both sides: 45 µs until an idle core runs, and interruptions of the peer's core by the fences and the wake-up. With 500 polls
/// a node that got messages of 1 MiB, one each 50 µs, slept before each of them, and its peer copied 12.7 instead of 21 GB/s (2026-11,
/// Xeon VM). Of several threads another one may need the core, and a look at the network takes longer.
const SPIN_SOLE: u32 = 2000;
/// The smallest number of failed polls before a yield: 0.6 to 1.3 µs. A yield that took longer than [`SWITCHED`] let another thread run, so the
/// core is shared after all: with another job or user, with the very peer that is waited for, or with other threads of this node. Then the next
/// wait spins this often. Each yield that comes back at once doubles the number.
///
/// An answer comes after 0.15 to 0.5 µs, as long as a cache line takes there and back. With 2 polls, threads of a node give the core away before
/// that; in the end they sleep, and each message wakes one. With many polls a node keeps off the peer that shares its core.
///
/// Nanoseconds per message, each row measured in turns in one run (EPYC VM, 2 cores, 2026-11); of the second and third the column of 16 is of
/// another run of `gasnet-sci bench --only am`:
///
/// | | 2 polls | 16 | 32 |
/// |---|---|---|---|
/// | two nodes on one core, there and back | 3,850 | 4,300 | 5,100 |
/// | Shorts by 2 threads of each of two nodes, a core per node (1 thread: 180) | 1,131 | 204 | 205 |
/// | Shorts by 8 threads of each | 1,280 | 220 | 205 |
/// | Shorts by 1 thread beside 4 that wait for something else (alone: 570), cores that share no cache | 12,400 | 1,000 | – |
///
/// With 500, two nodes on one core took 58 µs there and back, in an earlier run.
const SPIN_LEAST: u32 = 16;
/// A yield alone is a system call, 0.3–0.5 µs; with two context switches at least 1.3 µs (Xeon VM, Linux 6.18, 2026-11).
const SWITCHED: Duration = Duration::from_nanos(1000);
/// [`SPIN_DEDICATED`] when nodes share cores: the peer needs this core to answer at all.
const SPIN_SHARED: u32 = 1; // barrier of 16 nodes on 2 cores, 8 runs each: 0, 1, 2, 4 give 18.9, 17.1, 20.9, 20.8 µs
/// Yields before sleeping; a yield lets a runnable node in for about a microsecond, a sleep and wake-up cost several.
const YIELDS_DEDICATED: u32 = 20;
const YIELDS_SHARED: u32 = 40;
/// The longest time for all yields before a sleep, not counting the last of them. It is less than a time slice (1.4 ms on 2
/// cores, Linux 6.18) and more than what 40 yields among 16 nodes on 2 cores take.
const YIELD_TIME: Duration = Duration::from_millis(1);
const SLEEP_MIN_US: u64 = 50;

/// How the threads of this node wait.
pub struct Waiter {
    mode: AtomicU32,
    /// Failed polls before yielding: now, and the bounds it moves within.
    spin: AtomicU32,
    least: u32,
    most: u32,
    yields: u32,
    pauses: u32,
    gap: u32,
    /// The longest sleep of [`Rest::Short`], in microseconds.
    short: u64,
    /// This machine has fewer cores for the job than nodes.
    shared: bool,
    /// The client cannot know that (rule 5).
    among_unseen: bool,
    missed: Missed,
    /// Where the clock starts.
    start: Instant,
    /// When this node last came back from a yield of a wait, by that clock in nanoseconds.
    yielded: AtomicU64,
}

/// The client's own polls that found nothing, in a row, and how many it takes until a yield. They have a line of their own:
/// every poll writes it, while all waiters read the rest.
#[repr(align(128))]
struct Missed {
    count: AtomicU32,
    /// Empty polls until the clock is read. `NEVER` in a job of one node.
    patience: AtomicU32,
    /// When it was last read, in nanoseconds.
    read: AtomicU64,
}

/// More empty polls than are ever counted.
const NEVER: u32 = u32::MAX;

/// Time per poll from which on a client is taken to compute between its polls. A loop that waits takes 4 to 60 ns per poll, and
/// 0.3 µs if it also looks at queues of its own.
const COMPUTES: Duration = Duration::from_micros(1);

/// Empty polls after which a client's own loop yields when nodes share cores. Without the yield a spinning node keeps its peers
/// off the core for a whole time slice (4 nodes on 2 cores: milliseconds per round trip).
const MISSES_SHARED: u32 = 32;
/// A yield that comes back at once let no other thread run. Each such yield doubles the number of polls between yields, up to
/// this one. So an empty poll costs 5 ns and not 15 (a yield in 32) where the other nodes sleep.
const MISSES_ALONE: u32 = 1024;

/// Empty polls with a gap, after a poll that found something: an answer is probably on its way. After these a poll costs a
/// tenth, because a client that polls beside computing should not wait. There are none where nodes share cores and a peer waits
/// for this one.
const PAUSES: u32 = 24;

/// Time between two looks at a line that a peer is about to write: the line arrives sooner if fewer looks at it are in flight.
/// The bare ring of two processes with 0, 1, 2, 3, 4, 6 pauses of 20 ns between looks takes 1.08, 1, 0.96, 0.92, 0.92, 0.95;
/// with 20 ns of work besides at each side 1.15, 1.08, 1.01, 1.01 from one pause on (Xeon VM, 2026-11). But a line that has arrived waits for
/// the next look. Of a message that takes some work, looks each 40 instead of 60 ns are worth more: one pause of 24 ns instead of two, a Short
/// there and back 178 -> 157 ns, 8 bytes to a mail box 125 -> 108 ns one way, where cores share a cache; without a pause no more. Where they
/// share none it makes no difference (EPYC VM, 2026-11).
const GAP: Duration = Duration::from_nanos(40);
/// The most pauses between two looks: where a pause takes no time it does not help either.
const MOST_PAUSES: u32 = 4;

impl Waiter {
    /// A waiter for one of `nodes` nodes, `locals` of which share `cores` cores of this machine. `spin` overrides the number of
    /// failed polls before yielding.
    pub fn new(nodes: u32, locals: u32, cores: u32, spin: Option<u32>) -> Waiter {
        let shared = locals > cores;
        let (least, most) = match spin {
            // So many take a minute or longer. Such a wait spins for ever, so that its count never reaches those of yields.
            Some(YIELDING..) => (u32::MAX, u32::MAX),
            Some(fixed) => (fixed, fixed),
            None if shared => (SPIN_SHARED, SPIN_SHARED),
            None => (SPIN_LEAST, SPIN_DEDICATED),
        };
        let patience = if nodes == 1 { NEVER } else { MISSES_SHARED.max(most) };
        let yields = if shared { crowd::yields(locals, cores, YIELDS_SHARED) } else { YIELDS_DEDICATED };
        Waiter {
            mode: AtomicU32::new(Mode::SpinBlock as u32),
            spin: AtomicU32::new(most),
            least,
            most,
            yields,
            pauses: if shared { 0 } else { PAUSES },
            gap: if shared { 1 } else { pauses_in(GAP) },
            short: crowd::longest_sleep(locals, cores),
            shared,
            among_unseen: false,
            missed: Missed { count: AtomicU32::new(0), patience: AtomicU32::new(patience), read: AtomicU64::new(0) },
            start: Instant::now(),
            yielded: AtomicU64::new(0),
        }
    }

    /// The same waiter for a node of one thread, all of whose peers are on this host.
    pub fn sole_thread(mut self) -> Waiter {
        if self.least < self.most {
            self.most = SPIN_SOLE;
            self.spin = AtomicU32::new(SPIN_SOLE);
        }
        self
    }

    /// The same waiter for a node that shares its cores with nodes of hosts that are this machine, too (rule 5).
    pub fn among_unseen(mut self) -> Waiter {
        self.among_unseen = true;
        self
    }

    /// `gasnet_set_waitmode`.
    pub fn set_mode(&self, mode: Mode) {
        let mode = if mode == Mode::Spin && self.among_unseen { Mode::SpinBlock } else { mode };
        self.mode.store(mode as u32, Ordering::Relaxed); // Relaxed: a hint, alone
    }

    /// Counts a poll that the client made by itself, which found something or not.
    #[inline]
    pub fn polled(&self, found: bool) {
        if found { self.found() } else { self.missed(1) }
    }

    /// Counts a poll that the client made by itself and that found something.
    #[inline]
    pub fn found(&self) {
        self.missed.count.store(0, Ordering::Relaxed); // Relaxed: as in `missed`
    }

    /// Counts `polls` of the client's own polls, the last of them just now, that found nothing.
    #[inline]
    pub fn missed(&self, polls: u32) {
        let Missed { count, patience, .. } = &self.missed;
        // Relaxed, and not read-modify-write: threads may lose counts, which only delays a yield.
        let missed = count.load(Ordering::Relaxed).wrapping_add(polls);
        count.store(missed, Ordering::Relaxed); // Relaxed: as above
        if missed <= self.pauses {
            self.pause();
        }
        // Relaxed: as above.
        if missed >= patience.load(Ordering::Relaxed) {
            self.give_way();
        }
    }

    /// Pauses between two looks at a line that a peer is about to write.
    #[inline(always)]
    pub fn pause(&self) {
        for _ in 0..self.gap {
            spin_loop();
        }
    }

    /// Spin hints between two looks, which together are one pause; at least one.
    pub fn gap(&self) -> u32 {
        self.gap
    }

    /// This machine has fewer cores for the job than nodes.
    pub fn shares_cores(&self) -> bool {
        self.shared
    }

    /// How many empty polls pause after one that found something.
    pub fn pauses(&self) -> u32 {
        self.pauses
    }

    /// Failed steps after which a wait does more than to poll and pause, as it stands now.
    pub fn spins(&self) -> u32 {
        match self.mode.load(Ordering::Relaxed) {
            // Relaxed, both: as in `step`
            mode if mode == Mode::Spin as u32 => u32::MAX,
            mode if mode == Mode::Block as u32 => 0,
            _ => self.spin.load(Ordering::Relaxed),
        }
    }

    #[cold]
    #[inline(never)]
    fn give_way(&self) {
        let polls = self.missed.count.load(Ordering::Relaxed); // Relaxed: as in `missed`
        self.missed.count.store(0, Ordering::Relaxed); // Relaxed: as above
        // Relaxed: as in `set_mode`. A job of one comes here once in 2^32 polls.
        if self.mode.load(Ordering::Relaxed) == Mode::Spin as u32 || polls == NEVER {
            return;
        }
        if cfg!(loom) {
            return yield_core(); // it has no clock
        }
        let now = self.now();
        if self.is_waiting(now, polls) {
            yield_core();
            let back = self.now();
            self.adapt(Duration::from_nanos(back.saturating_sub(now)));
            self.missed.read.store(back, Ordering::Relaxed); // Relaxed: as in `is_waiting`
        }
    }

    /// Where nodes share cores: lets another node have this one. A call that waits for nothing, and is made again and again, would keep the core
    /// for a whole time slice.
    #[cold]
    #[inline(never)]
    pub fn offer_core(&self) {
        // Relaxed: as in `set_mode`.
        if self.shared && self.mode.load(Ordering::Relaxed) != Mode::Spin as u32 {
            yield_core();
        }
    }

    /// True if the client's last `polls` polls, all of them empty, were a wait (rules 2 and 3). `now` becomes the last reading
    /// of the clock.
    fn is_waiting(&self, now: u64, polls: u32) -> bool {
        if self.shared {
            return true;
        }
        // Relaxed, both: a hint, alone. Of threads that poll at once, each sees part of the polls and part of the time.
        let took = now.saturating_sub(self.missed.read.load(Ordering::Relaxed));
        self.missed.read.store(now, Ordering::Relaxed); // Relaxed: as above
        Duration::from_nanos(took) < COMPUTES * polls
    }

    /// Nanoseconds since this waiter was made.
    fn now(&self) -> u64 {
        #[cfg(test)]
        if let Some(time) = tests::CLOCK.with(Cell::get) {
            return time;
        }
        self.start.elapsed().as_nanos() as u64
    }

    /// Nanoseconds of a clock that advances with the system's tick, 1 to 10 ms.
    fn coarse_now(&self) -> u64 {
        #[cfg(test)]
        if let Some(time) = tests::CLOCK.with(Cell::get) {
            return time;
        }
        sys::coarse_clock_ns()
    }

    /// Yields in a wait that has made `before` yields. It learns from the time of the yield how much spinning is worth. Returns
    /// for how many yields this one counts.
    fn give_core(&self, before: u32) -> u32 {
        if cfg!(loom) {
            yield_core();
            return 1; // it has no clock
        }
        if self.least == self.most {
            return self.give_fixed_core(before);
        }
        let start = self.now();
        yield_core();
        let took = Duration::from_nanos(self.now().saturating_sub(start));
        self.adapt(took);
        self.counts_for(took)
    }

    /// [`Self::give_core`] where the spin is fixed, so that there is nothing to learn. One look at a coarse clock is enough:
    /// the time between two yields counts with them, and all that matters is whether yields last for time slices. Barriers of
    /// 8 and 16 nodes on 2 cores, against a build that looks at no clock: 1.06–1.08 with the exact one (22 ns a look),
    /// 1.01–1.04 with this one (5 ns).
    fn give_fixed_core(&self, before: u32) -> u32 {
        yield_core();
        let back = self.coarse_now();
        // Relaxed: a hint, alone. Threads that wait at once shorten each other's times, and all keep counting.
        let last = self.yielded.load(Ordering::Relaxed);
        if last != back {
            self.yielded.store(back, Ordering::Relaxed); // Relaxed: as above
        }
        if before == 0 { 1 } else { self.counts_for(Duration::from_nanos(back.saturating_sub(last))) }
    }

    /// The number of yields for which one that took `time` counts.
    fn counts_for(&self, time: Duration) -> u32 {
        1 + (time.as_nanos() * u128::from(self.yields) / YIELD_TIME.as_nanos()).min(self.yields.into()) as u32
    }

    fn adapt(&self, yielded: Duration) {
        // Relaxed: hints, alone; threads may undo each other's steps.
        let (spin, patience) = (self.spin.load(Ordering::Relaxed), self.missed.patience.load(Ordering::Relaxed));
        let (next, patient) = match yielded > SWITCHED {
            true => (self.least, MISSES_SHARED.max(self.least)),
            false => {
                // A spin that the user has asked for holds in a client's own loop, too.
                let most = if self.least == self.most { MISSES_ALONE.max(self.most) } else { MISSES_ALONE };
                let patient = patience.saturating_mul(2).min(most);
                (spin.saturating_mul(2).clamp(self.least, self.most), patient)
            }
        };
        if next != spin {
            self.spin.store(next, Ordering::Relaxed); // Relaxed: as above
        }
        if patient != patience && patience != NEVER {
            self.missed.patience.store(patient, Ordering::Relaxed); // Relaxed: as above
        }
    }

    /// One step of waiting. `failed` is what the last step returned, 0 at first: failed polls while the wait spins, then `YIELDING` or
    /// [`SLEEPING`] with a count. `poll` gets how thoroughly to look, and returns whether it did anything. `gaps`: pause between two polls;
    /// without, if a poll takes time of its own. `rest`: how long a sleep may last. Returns the new count: 0 after progress.
    pub fn step<I: Interrupt>(
        &self,
        failed: u32,
        interrupt: &I,
        gaps: bool,
        rest: Rest,
        poll: impl Fn(Look) -> bool,
    ) -> u32 {
        let spin = self.spins();
        let phase = Phase::after(failed, spin);
        if poll(if matches!(phase, Phase::Spins) { Look::Spin } else { Look::Whole }) {
            return 0;
        }
        match phase {
            Phase::Spins => {
                if gaps {
                    self.pause();
                }
                // A mode that yields may be chosen meanwhile, and then finds no yields made.
                failed.saturating_add(1).min(YIELDING)
            }
            Phase::Yields(before) => match before + self.give_core(before) {
                yields if yields < self.yields => YIELDING + yields,
                _ => SLEEPING,
            },
            Phase::Sleeps(slept) => match self.sleep(slept, interrupt, rest, poll) {
                true => 0,
                false => failed.saturating_add(1),
            },
        }
    }

    /// Sleeps. True if the last look found something, so that there was no sleep.
    #[cold]
    fn sleep<I: Interrupt>(&self, slept: u32, interrupt: &I, rest: Rest, poll: impl Fn(Look) -> bool) -> bool {
        signal_stack::provide();
        interrupt.arm();
        // Look once more: a peer that published before it could see the word set has woken nobody.
        let mut found = poll(Look::Last);
        if !found {
            let settling = interrupt.settling();
            // Another thread may have been polling at the last look. Where none follows, no sleep is long.
            let rest = if settling.is_zero() { Rest::Short } else { rest };
            let longest = if rest == Rest::Short { self.short } else { self.short.max(rest as u64) };
            let us = (SLEEP_MIN_US << slept.min(16)).min(longest);
            let time = Duration::from_micros(us);
            let first = if settling.is_zero() { time } else { time.min(settling) };
            // A peer that published just after `arm` may not have seen it: no long sleep before another look.
            if !interrupt.wait(first) && first < time {
                found = poll(Look::Last);
                if !found {
                    interrupt.wait(time - first);
                }
            }
        }
        interrupt.disarm();
        found
    }
}

/// Counts of failed steps from here on are yields.
const YIELDING: u32 = 1 << 30;
/// Counts of failed steps from here on are sleeps: a wait with this count is about to make its first.
pub const SLEEPING: u32 = 1 << 31;

/// How a wait goes on. Yields and sleeps have counts of their own: other threads may change how long a wait spins, and a wait that has spun
/// for long must not pass its yields over then.
enum Phase {
    Spins,
    /// After so many yields.
    Yields(u32),
    /// After so many sleeps.
    Sleeps(u32),
}

impl Phase {
    /// After `failed` failed steps, of which `spin` may spin; `u32::MAX`: all.
    fn after(failed: u32, spin: u32) -> Phase {
        match failed {
            _ if failed < spin || spin == u32::MAX => Phase::Spins,
            SLEEPING.. => Phase::Sleeps(failed - SLEEPING),
            _ => Phase::Yields(failed.saturating_sub(YIELDING)),
        }
    }
}

fn yield_core() {
    #[cfg(test)]
    tests::count_yield();
    yield_now();
}

/// Pauses that take about `time` here: processors differ by a factor of ten.
fn pauses_in(time: Duration) -> u32 {
    if cfg!(loom) {
        return 1; // it has no clock
    }
    const MANY: u32 = 32;
    // The best of a few: others may have the core meanwhile.
    let once = || {
        let start = Instant::now();
        (0..MANY).for_each(|_| spin_loop());
        start.elapsed()
    };
    let took = (0..3).map(|_| once()).min().unwrap_or(time);
    let pauses = time.as_nanos() * u128::from(MANY) / took.as_nanos().max(1);
    pauses.clamp(1, MOST_PAUSES.into()) as u32
}

/// Cores that this process may use: the affinity mask, cut by the cgroup's CPU quota (both count in
/// `available_parallelism`).
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

#[cfg(test)]
mod tests;
