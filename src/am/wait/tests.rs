//! The rules of waiting, with a clock that tests set.

#![allow(unsafe_code)] // cells that one thread uses

use super::*;
use crate::sci::Berth;

thread_local! {
    /// The time instead of the clock's, in nanoseconds.
    pub(super) static CLOCK: Cell<Option<u64>> = const { Cell::new(None) };
    static YIELDS: Cell<u32> = const { Cell::new(0) };
    static YIELD_TAKES: Cell<u64> = const { Cell::new(0) };
}

pub(super) fn count_yield() {
    YIELDS.set(YIELDS.get() + 1);
    pass(YIELD_TAKES.get());
}

fn pass(nanoseconds: u64) {
    CLOCK.set(CLOCK.get().map(|time| time + nanoseconds));
}

/// From now on this thread's time passes by `pass` only, and a yield takes so long.
fn stop_the_clock(yield_takes: u64) {
    CLOCK.set(Some(1_000_000));
    YIELD_TAKES.set(yield_takes);
    YIELDS.set(0);
}

/// Yields in so many polls in vain, each with so much time before it.
fn yields_in(waiter: &Waiter, polls: u32, nanoseconds: u64) -> u32 {
    let before = YIELDS.get();
    for _ in 0..polls {
        pass(nanoseconds);
        waiter.missed(1);
    }
    YIELDS.get() - before
}

#[test]
fn polls_that_come_back_to_back_yield_and_polls_beside_computing_do_not() {
    stop_the_clock(3_000_000);
    let waiter = Waiter::new(2, 2, 2, Some(MISSES_SHARED));
    assert_eq!(yields_in(&waiter, MISSES_SHARED * 100, 5), 99, "the first reading of the clock has none before it");
    assert_eq!(yields_in(&waiter, MISSES_SHARED * 100, 2_000), 0, "it computes");
    assert_eq!(yields_in(&waiter, MISSES_SHARED * 100, 5), 100, "it waits again");
    pass(1_000_000_000);
    assert_eq!(yields_in(&waiter, MISSES_SHARED, 5), 0, "a long pause looks like computing");
    assert_eq!(yields_in(&waiter, MISSES_SHARED, 5), 1, "only once");
    waiter.set_mode(Mode::Spin);
    assert_eq!(yields_in(&waiter, MISSES_SHARED * 100, 5), 0);
}

#[test]
fn polls_of_nodes_that_share_cores_yield_whatever_is_beside_them() {
    stop_the_clock(3_000_000);
    let waiter = Waiter::new(3, 3, 2, None);
    assert_eq!(yields_in(&waiter, MISSES_SHARED * 100, 5), 100);
    assert_eq!(yields_in(&waiter, MISSES_SHARED * 100, 20_000), 100, "a peer needs the core");
}

#[test]
fn a_client_that_asks_to_spin_beside_nodes_that_it_cannot_see_yields_all_the_same() {
    stop_the_clock(3_000_000);
    let seen = Waiter::new(4, 4, 2, None);
    seen.set_mode(Mode::Spin);
    assert_eq!(yields_in(&seen, MISSES_SHARED * 100, 5), 0, "it has counted them");
    assert_eq!(seen.spins(), u32::MAX);
    let unseen = Waiter::new(4, 4, 2, None).among_unseen();
    unseen.set_mode(Mode::Spin);
    assert_eq!(yields_in(&unseen, MISSES_SHARED * 100, 5), 100);
    assert_eq!(unseen.spins(), SPIN_SHARED);
}

#[test]
fn a_poll_in_a_job_of_one_node_never_yields() {
    stop_the_clock(3_000_000);
    let waiter = Waiter::new(1, 1, 1, None);
    assert_eq!(yields_in(&waiter, 100_000, 5), 0);
    waiter.adapt(SWITCHED * 2); // a wait for another thread has learned
    waiter.adapt(SWITCHED / 2);
    assert_eq!(yields_in(&waiter, 100_000, 5), 0);
    waiter.missed.count.store(NEVER - 1, Ordering::Relaxed);
    assert_eq!(yields_in(&waiter, 100, 5), 0, "counted as far as it goes, and on");
}

/// Yields of a wait before its first sleep.
fn yields_before_a_sleep(waiter: &Waiter, yield_takes: u64) -> u32 {
    stop_the_clock(yield_takes);
    let interrupt = Sleeps(Cell::new(0));
    let mut failed = 0;
    while interrupt.0.get() == 0 {
        failed = waiter.step(failed, &interrupt, true, Rest::Short, |_| false);
    }
    YIELDS.get()
}

#[test]
fn long_yields_are_few() {
    let shared = |takes| yields_before_a_sleep(&Waiter::new(3, 3, 2, None), takes);
    assert_eq!(shared(20_000), YIELDS_SHARED, "a round of 16 nodes on 2 cores");
    assert_eq!(shared(5_000_000), 2, "somebody else's time slice; the first is not timed");
    assert_eq!(shared(100_000), 1 + 8, "five shares each");
    let dedicated = |takes| yields_before_a_sleep(&Waiter::new(2, 2, 2, None), takes);
    assert_eq!(dedicated(400), YIELDS_DEDICATED);
    assert_eq!(dedicated(5_000_000), 1);
}

/// Interrupts of these tests have none.
macro_rules! no_berths {
    () => {
        fn take_berth(&self, _: u32) -> Option<Berth> {
            None
        }
        fn sleep_in(&self, _: &Berth, _: Duration) {}
        fn leave_berth(&self, _: &Berth) -> bool {
            false
        }
    };
}

struct Sleeps(Cell<u32>);
// SAFETY: used by one thread in these tests.
unsafe impl Sync for Sleeps {}
impl Interrupt for Sleeps {
    fn arm(&self) {}
    fn disarm(&self) {}
    fn wait(&self, timeout: Duration) -> bool {
        assert!(timeout <= Duration::from_micros(Rest::Short as u64), "every sleep is bounded");
        self.0.set(self.0.get() + 1);
        false
    }
    fn settling(&self) -> Duration {
        Duration::ZERO
    }
    no_berths!();
}

/// A peer published just after `arm`, and did not see it: only a look finds that.
struct Unseen(Cell<Duration>);
// SAFETY: used by one thread in these tests.
unsafe impl Sync for Unseen {}
impl Interrupt for Unseen {
    fn arm(&self) {}
    fn disarm(&self) {}
    fn settling(&self) -> Duration {
        Duration::from_micros(50)
    }
    fn wait(&self, timeout: Duration) -> bool {
        self.0.set(self.0.get() + timeout);
        false
    }
    no_berths!();
}

#[test]
fn what_a_peer_published_without_seeing_us_armed_is_found_before_a_long_sleep() {
    let waiter = Waiter::new(1, 1, 1, Some(0));
    let interrupt = Unseen(Cell::new(Duration::ZERO));
    let ready = |look| look == Look::Last && !interrupt.0.get().is_zero();
    assert_eq!(
        waiter.step(SLEEPING + 9, &interrupt, true, Rest::Short, ready),
        0,
        "the look after the first part of the sleep found it"
    );
    assert_eq!(interrupt.0.get(), interrupt.settling());
    let interrupt = Unseen(Cell::new(Duration::ZERO));
    assert_eq!(waiter.step(SLEEPING + 9, &interrupt, true, Rest::Short, |_| false), SLEEPING + 10);
    assert_eq!(interrupt.0.get(), Duration::from_micros(Rest::Short as u64), "the whole sleep, in two parts");
}

/// The longest sleep of a wait without end, of one of `nodes` nodes on two cores.
fn longest_sleep(nodes: u32, rest: Rest) -> Duration {
    let waiter = Waiter::new(nodes, nodes, 2, Some(0));
    let sleep = |slept| {
        let interrupt = Unseen(Cell::new(Duration::ZERO));
        waiter.step(SLEEPING + slept, &interrupt, true, rest, |_| false);
        interrupt.0.get()
    };
    (0..100).map(sleep).max().unwrap()
}

#[test]
fn sleeps_of_many_nodes_on_a_core_grow_with_their_number() {
    assert_eq!(longest_sleep(16, Rest::Short), Duration::from_micros(Rest::Short as u64));
    assert_eq!(longest_sleep(256, Rest::Short), Duration::from_micros(crowd::longest_sleep(256, 2)));
    assert_eq!(longest_sleep(16, Rest::Long), Duration::from_micros(Rest::Long as u64));
    let yields = |nodes| Waiter::new(nodes, nodes, 2, None).yields;
    assert_eq!([3, 256].map(yields), [YIELDS_SHARED, crowd::yields(256, 2, YIELDS_SHARED)]);
}

fn sleeps_after(mode: Mode, steps: u32) -> u32 {
    stop_the_clock(0);
    let waiter = Waiter::new(1, 1, 1, Some(10));
    waiter.set_mode(mode);
    let interrupt = Sleeps(Cell::new(0));
    let mut failed = 0;
    for _ in 0..steps {
        failed = waiter.step(failed, &interrupt, true, Rest::Short, |_| false);
    }
    interrupt.0.get()
}

#[test]
fn modes_differ_in_when_the_cpu_is_given_up() {
    assert_eq!(sleeps_after(Mode::Spin, 500), 0);
    assert_eq!(sleeps_after(Mode::SpinBlock, 30), 0);
    assert!(sleeps_after(Mode::SpinBlock, 40) > 0);
    assert!(sleeps_after(Mode::Block, 25) > 0);
}

#[test]
fn who_spins_never_sleeps_however_long_it_takes() {
    let interrupt = Sleeps(Cell::new(0));
    let asked = Waiter::new(2, 2, 2, Some(u32::MAX));
    let client = Waiter::new(2, 2, 2, None);
    client.set_mode(Mode::Spin);
    for waiter in [&asked, &client] {
        for failed in [YIELDING, SLEEPING + 1, u32::MAX] {
            assert_eq!(waiter.step(failed, &interrupt, true, Rest::Short, |_| false), YIELDING);
        }
    }
    assert_eq!(interrupt.0.get(), 0);
    asked.adapt(SWITCHED / 2);
    client.set_mode(Mode::SpinBlock);
    stop_the_clock(0);
    client.step(YIELDING, &interrupt, true, Rest::Short, |_| false);
    assert_eq!(interrupt.0.get(), 0, "it yields first");
}

#[test]
fn the_look_between_arming_and_sleeping_is_a_complete_one() {
    let waiter = Waiter::new(1, 1, 1, Some(0));
    let interrupt = Sleeps(Cell::new(0));
    assert_eq!(
        waiter.step(SLEEPING, &interrupt, true, Rest::Short, |look| look == Look::Last),
        0,
        "it found something: that is progress"
    );
    assert_eq!(interrupt.0.get(), 0, "and no sleep follows");
}

#[test]
fn spinning_stops_on_a_core_that_others_use_and_comes_back() {
    let waiter = Waiter::new(2, 2, 2, None);
    let spin = || waiter.spin.load(Ordering::Relaxed);
    assert_eq!(spin(), SPIN_DEDICATED);
    waiter.adapt(SWITCHED * 2);
    assert_eq!(spin(), SPIN_LEAST);
    for _ in 0..20 {
        waiter.adapt(SWITCHED / 2);
    }
    assert_eq!(spin(), SPIN_DEDICATED);
    let patience = |waiter: &Waiter| waiter.missed.patience.load(Ordering::Relaxed);
    assert_eq!(patience(&waiter), MISSES_ALONE, "a client's own loop spins as well");
    let sole = Waiter::new(2, 2, 2, None).sole_thread();
    assert_eq!((sole.spins(), patience(&sole)), (SPIN_SOLE, SPIN_DEDICATED));
    assert_eq!(Waiter::new(3, 3, 2, None).sole_thread().spins(), SPIN_SHARED);
    assert_eq!(Waiter::new(2, 2, 2, Some(7)).sole_thread().spins(), 7);
    let fixed = Waiter::new(2, 2, 2, Some(7));
    fixed.adapt(SWITCHED * 2);
    assert_eq!(fixed.spin.load(Ordering::Relaxed), 7, "what the user asked for stays");
    let patient = Waiter::new(2, 2, 2, Some(5000));
    patient.adapt(SWITCHED * 2);
    assert_eq!(patience(&patient), 5000, "also in a client's own loop");
}

#[test]
fn all_yields_come_before_the_first_sleep_however_the_spin_changes() {
    stop_the_clock(0);
    let waiter = Waiter::new(1, 1, 1, None);
    let interrupt = Sleeps(Cell::new(0));
    let mut failed = SPIN_DEDICATED;
    for _ in 0..YIELDS_DEDICATED {
        failed = waiter.step(failed, &interrupt, true, Rest::Short, |_| false);
        assert_eq!(interrupt.0.get(), 0);
    }
    waiter.step(failed, &interrupt, true, Rest::Short, |_| false);
    assert_eq!(interrupt.0.get(), 1);
}

#[test]
fn a_wait_that_has_spun_for_long_still_yields_when_another_thread_ends_the_spin() {
    stop_the_clock(0);
    let waiter = Waiter::new(1, 1, 1, None);
    let interrupt = Sleeps(Cell::new(0));
    let failed =
        (0..SPIN_DEDICATED - 1).fold(0, |failed, _| waiter.step(failed, &interrupt, true, Rest::Short, |_| false));
    waiter.adapt(SWITCHED * 2); // by the other thread
    assert!(failed > waiter.spins() + YIELDS_DEDICATED);
    waiter.step(failed, &interrupt, true, Rest::Short, |_| false);
    assert_eq!(interrupt.0.get(), 0);
}

#[test]
fn progress_starts_the_count_again() {
    let waiter = Waiter::new(1, 1, 1, None);
    assert_eq!(waiter.step(7, &Sleeps(Cell::new(0)), true, Rest::Short, |_| true), 0);
}
