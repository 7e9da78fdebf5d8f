//! Interrupts: a node sleeps, a peer wakes it. While no node sleeps, the peer pays for a look at a cached line only.
//!
//! The race. The sleeper does S1 set sleep word, S2 look for news; the peer does P1 publish news, P2 look at the sleep
//! word. If each second step may run before its own first one becomes visible (the store waits in a store buffer), both
//! look too early: the sleeper sees no news, the peer no sleeper, and the wake-up is lost. Acquire and Release forbid
//! neither. One full fence between S1 and S2 *and* one between P1 and P2 forbid it: of two full fences one comes first,
//! and the side whose fence is second sees what the other did before the first.
//! The peer would pay that fence for every message. membarrier(2) GLOBAL_EXPEDITED makes the sleeper pay for both: it
//! returns only after every running thread of every registered process executed a full fence, somewhere in its own
//! order. If the peer's fell after P1, its P1 is visible to S2; if before P1, then P2 comes after it and sees S1. The
//! compiler must keep P1 before P2 as well, which a compiler fence does.
//!
//! Linux does not always keep that promise. The scheduler notes per CPU whether the process there is registered, and
//! renews the note only when the CPU passes from one process to *another*. A process that ran on a CPU, left it idle (or
//! to a kernel thread), and registers meanwhile elsewhere, finds the old note when it comes back: membarrier passes that
//! CPU over until some other process runs there. (Linux 6.1 in an emulator: 0 of 1000 membarriers reached such a CPU,
//! 1000 of 1000 after another process had run on it; kernel/sched/membarrier.c has the same rule from 5.4 to 6.18.)
//! Besides, membarrier may fail at run time (ENOMEM, a seccomp filter that comes late), and then the sleeper fences alone.
//! The senders cannot switch to fences then: their look is inlined in clients. So the sleeper does not rely on membarrier: where senders
//! do not fence, its first sleep after S1 lasts `SETTLE` at most, and it looks once more before it sleeps on. By then
//! P1 has left the sender's store buffer, which takes nanoseconds, or an interrupt of that CPU at most. A peer that looks
//! later sees S1. membarrier thus makes the wake-up prompt; the second look makes it certain.
//!
//! Rules:
//! 1. The sleep word counts the node's threads between `arm` and `disarm`. Only the node itself writes it.
//! 2. The event word counts triggers, and calls of berths. `wait` sleeps only while the word is what it was at `arm`. So a trigger between
//!    `arm` and `wait` is not lost. A trigger wakes all threads that sleep as the node, and none that sleeps in a berth.
//! 3. Senders go without a fence only after the whole job agreed that every sleeper uses membarrier.
//! 4. Then a sleeper looks again `SETTLE` after `arm`, before it sleeps longer.
//!
//! Must not know: what is waited for.

#![allow(unsafe_code)] // mapped memory, system calls

use super::berth::{Berth, Berths};
use super::{Interrupt, RemoteInterrupt};
use crate::sync::{AtomicU32, Ordering, compiler_fence, fence};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// The first sleep after `arm` where senders do not fence (rule 4). A store leaves its CPU's store buffer within a
/// microsecond; a sleep of this length costs a waiting thread one more wake-up per sleep.
pub(crate) const SETTLE: Duration = Duration::from_micros(50);

/// What a node's interrupt consists of; in shared memory, zero at first, in a block of its own (the adjacent-line
/// prefetcher takes lines in pairs): senders keep it in their caches as long as no thread of the node sleeps.
#[repr(C, align(128))]
pub struct Bell {
    /// Threads armed (rule 1).
    sleepers: AtomicU32,
    /// Triggers and calls (rule 2); the futex word.
    events: AtomicU32,
    /// Where threads sleep that wait for one thing.
    berths: Berths,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Bell>() == 128, "nothing else may lie in a sleep word's pair of lines");

impl Bell {
    /// Nobody sleeps. (Zero-filled shared memory is the same.)
    pub(crate) fn new() -> Self {
        Self { sleepers: AtomicU32::new(0), events: AtomicU32::new(0), berths: Berths::new() }
    }

    /// The futex word.
    pub(crate) fn events(&self) -> &AtomicU32 {
        &self.events
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// How an adapter reaches a bell, sleeps on it and fences.
pub trait BellPlace: Clone + Send + Sync {
    /// The bell.
    fn bell(&self) -> &Bell;
    /// Whether senders must fence (rule 3).
    fn senders_fence(&self) -> bool;
    /// Orders the sleeper's store of the sleep word before its next look, and the peers' publishing before theirs. The
    /// latter may fail where senders do not fence (see the head of this file); rule 4 makes up for it.
    fn sleeper_fence(&self);
    /// Sleeps while the event word is `seen`, at most `timeout`, in the berth of this number or as the node. May return early. True: the
    /// adapter may have something that no trigger says. Then the node must not sleep on before it has looked.
    fn sleep(&self, berth: Option<usize>, seen: u32, timeout: Duration) -> bool;
    /// Ends the sleep in this berth, or all sleeps of the node, but not those in berths.
    fn wake(&self, berth: Option<usize>);
}

#[cfg(not(loom))]
thread_local! {
    static ARMED: RefCell<Armed> = const { RefCell::new(Armed::NONE) };
}

/// Bells that this thread has armed, and the event word at that time (rule 2). Rarely more than one. Without a
/// destructor: clients wait in exit handlers too, when a thread's values with destructors are gone.
struct Armed {
    list: [(usize, u32); 8],
    len: usize,
}

impl Armed {
    const NONE: Armed = Armed { list: [(0, 0); 8], len: 0 };

    /// Notes that this thread has armed `bell`. False: the list is full. Then the bell must not count this thread: no trigger wakes it, and
    /// it sleeps until its time is over.
    fn push(&mut self, bell: usize, seen: u32) -> bool {
        let Some(place) = self.list.get_mut(self.len) else { return false };
        *place = (bell, seen);
        self.len += 1;
        true
    }

    /// The newest entry of `bell`.
    fn find(&mut self, bell: usize) -> Option<&mut (usize, u32)> {
        self.list[..self.len].iter_mut().rev().find(|entry| entry.0 == bell)
    }

    /// Removes it; false if there is none.
    fn remove(&mut self, bell: usize) -> bool {
        let Some(at) = self.list[..self.len].iter().rposition(|entry| entry.0 == bell) else { return false };
        self.len -= 1;
        self.list[at] = self.list[self.len];
        true
    }
}

#[cfg(loom)]
loom::thread_local! {
    static ARMED: RefCell<Armed> = RefCell::new(Armed::NONE);
}

/// This node's interrupt.
pub struct OwnInterrupt<P>(P);

impl<P> OwnInterrupt<P> {
    pub(crate) fn new(place: P) -> Self {
        Self(place)
    }
}

impl<P: BellPlace> Interrupt for OwnInterrupt<P> {
    fn arm(&self) {
        let bell = self.0.bell();
        // Relaxed: a trigger that is counted already belongs to news. The look after `arm` finds that news, because the adapter's
        // fence below lies between.
        let seen = bell.events.load(Ordering::Relaxed);
        if ARMED.with(|armed| armed.borrow_mut().push(bell.identity(), seen)) {
            bell.sleepers.fetch_add(1, Ordering::Relaxed); // Relaxed: the fence below orders it
        }
        self.0.sleeper_fence();
    }

    fn disarm(&self) {
        let bell = self.0.bell();
        if ARMED.with(|armed| armed.borrow_mut().remove(bell.identity())) {
            bell.sleepers.fetch_sub(1, Ordering::Relaxed); // Relaxed: a trigger too many is harmless
        }
    }

    fn settling(&self) -> Duration {
        if self.0.senders_fence() { Duration::ZERO } else { SETTLE }
    }

    fn wait(&self, timeout: Duration) -> bool {
        let bell = self.0.bell();
        let seen = armed_at(bell);
        let end = Deadline::after(timeout);
        loop {
            // ORDERING: Acquire ↔ Release in `trigger`: a woken thread sees what was published before.
            let now = bell.events.load(Ordering::Acquire);
            if now != seen {
                rearm(bell, now);
                return true;
            }
            let Some(left) = end.left() else { return false };
            if self.0.sleep(None, seen, left) {
                return true;
            }
        }
    }

    fn take_berth(&self, what: u32) -> Option<Berth> {
        self.0.bell().berths.take(what)
    }

    fn sleep_in(&self, berth: &Berth, timeout: Duration) {
        let bell = self.0.bell();
        let end = Deadline::after(timeout);
        loop {
            // ORDERING: Acquire ↔ Release of who calls: who sees the event sees the call (berth.rs, rule 3).
            let seen = bell.events.load(Ordering::Acquire);
            if !bell.berths.is_waiting(berth) {
                return;
            }
            let Some(left) = end.left() else { return };
            let _ = self.0.sleep(Some(berth.place()), seen, left); // no thread in a berth looks for other things
        }
    }

    fn leave_berth(&self, berth: &Berth) -> bool {
        self.0.bell().berths.leave(berth)
    }
}

/// The event word at this thread's `arm`; without one, as it is now.
fn armed_at(bell: &Bell) -> u32 {
    let entry = ARMED.with(|armed| armed.borrow_mut().find(bell.identity()).copied());
    match entry {
        Some((_, seen)) => seen,
        None => bell.events.load(Ordering::Relaxed), // Relaxed: an unannounced wait has no news to order
    }
}

/// Notes the event word as it is `now`, so that the next wait of this thread is for the next trigger.
fn rearm(bell: &Bell, now: u32) {
    ARMED.with(|armed| {
        if let Some(entry) = armed.borrow_mut().find(bell.identity()) {
            entry.1 = now;
        }
    });
}

/// When a wait ends. Loom has no clock: there a wait of any length but `MAX` may end after one look.
pub(crate) struct Deadline {
    timeout: Duration,
    end: Option<Instant>,
    #[cfg(loom)]
    looks: std::cell::Cell<u32>,
}

impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        Self {
            timeout,
            end: if cfg!(loom) { None } else { Instant::now().checked_add(timeout) },
            #[cfg(loom)]
            looks: std::cell::Cell::new(0),
        }
    }

    /// What is left; `None` when it has passed.
    #[cfg(not(loom))]
    pub(crate) fn left(&self) -> Option<Duration> {
        match self.end {
            None => Some(self.timeout), // beyond what the clock can count
            Some(end) => end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()),
        }
    }

    /// What is left; `None` when it has passed.
    #[cfg(loom)]
    pub(crate) fn left(&self) -> Option<Duration> {
        let looks = self.looks.replace(1);
        let goes_on = self.timeout == Duration::MAX || (looks == 0 && !self.timeout.is_zero());
        (goes_on && self.end.is_none()).then_some(self.timeout)
    }
}

/// Lets other threads run for about `time`.
pub(crate) fn pause_for(time: Duration) {
    #[cfg(not(loom))]
    std::thread::sleep(time);
    #[cfg(loom)]
    {
        let _ = time; // loom has no clock
        loom::thread::yield_now();
    }
}

/// A peer's interrupt.
#[derive(Clone)]
pub struct PeerInterrupt<P>(P);

impl<P> PeerInterrupt<P> {
    pub(crate) fn new(place: P) -> Self {
        Self(place)
    }
}

impl<P: BellPlace> RemoteInterrupt for PeerInterrupt<P> {
    #[inline(always)]
    fn is_armed(&self) -> bool {
        if self.0.senders_fence() {
            // ORDERING: full fence ↔ the sleeper's in `arm` (see the head of this file): else both sides look too
            // early.
            fence(Ordering::SeqCst);
        } else {
            // ORDERING: keeps the compiler from looking before publishing; ↔ membarrier in `arm`, which does it to the
            // CPU.
            compiler_fence(Ordering::SeqCst);
        }
        // Relaxed: nothing is read on account of it.
        self.0.bell().sleepers.load(Ordering::Relaxed) != 0
    }

    #[inline(never)]
    fn trigger(&self) {
        // ORDERING: Release ↔ Acquire in `wait`: a woken thread sees what this node published before.
        self.0.bell().events.fetch_add(1, Ordering::Release);
        self.0.wake(None);
    }

    #[inline(always)]
    fn stored_for(&self, what: u32) {
        if self.is_armed() {
            self.ring(what);
        }
    }

    fn call(&self, berth: &Berth) {
        self.0.bell().berths.call_at_home(berth);
        self.wake(berth.place());
    }

    #[cfg(not(loom))]
    fn sleep_word(&self) -> Option<*const u32> {
        (!self.0.senders_fence()).then(|| self.0.bell().sleepers.as_ptr().cast_const())
    }

    /// Loom's atomics have no address.
    #[cfg(loom)]
    fn sleep_word(&self) -> Option<*const u32> {
        None
    }
}

impl<P: BellPlace> PeerInterrupt<P> {
    #[cold]
    #[inline(never)]
    fn ring(&self, what: u32) {
        let berth = if what == 0 { None } else { self.0.bell().berths.call(what) };
        match berth {
            Some(place) => self.wake(place),
            None => self.trigger(),
        }
    }

    /// Wakes the thread that sleeps in the berth of this number and was called.
    fn wake(&self, berth: usize) {
        // ORDERING: Release ↔ Acquire in `sleep_in` (berth.rs, rule 3).
        self.0.bell().events.fetch_add(1, Ordering::Release);
        self.0.wake(Some(berth));
    }
}

/// Linux' futex, shared between processes (never FUTEX_PRIVATE_FLAG), and membarrier.
#[cfg(not(loom))]
pub(crate) mod linux {
    use super::*;
    use crate::os::sys;

    const REGISTER_GLOBAL_EXPEDITED: libc::c_long = 1 << 2;
    const GLOBAL_EXPEDITED: libc::c_long = 1 << 1;
    /// Instead of a sleep that the system refuses.
    const REFUSED: Duration = Duration::from_millis(1);

    /// The bit by which the system tells sleepers apart that use one word: those of the node from those of each berth.
    fn bit(berth: Option<usize>) -> u32 {
        berth.map_or(1, |berth| 2 << berth)
    }

    /// Sleeps while `word` is `seen`, at most `timeout`; returns early on signals.
    pub(crate) fn futex_wait(word: &AtomicU32, berth: Option<usize>, seen: u32, timeout: Duration) {
        // A day bounds the sleep where the seconds would not fit; the caller loops.
        let end = Duration::from_nanos(sys::clock_ns()) + timeout.min(Duration::from_secs(86_400));
        let limit = libc::timespec { tv_sec: end.as_secs() as _, tv_nsec: end.subsec_nanos() as _ };
        let (at, unused) = (word.as_ptr(), std::ptr::null::<u32>());
        // SAFETY: `word` and `limit` are alive during the call.
        let slept =
            unsafe { libc::syscall(libc::SYS_futex, at, libc::FUTEX_WAIT_BITSET, seen, &limit, unused, bit(berth)) };
        // Every result means "look again"; but where the system has no futex to give, a thread that looks in a loop must not keep the core.
        let usual = [libc::EAGAIN, libc::EINTR, libc::ETIMEDOUT].map(Some);
        if slept < 0 && !usual.contains(&std::io::Error::last_os_error().raw_os_error()) {
            pause_for(timeout.min(REFUSED));
        }
    }

    /// Wakes all that sleep on `word` for the node or in the berth, in any process.
    pub(crate) fn futex_wake_all(word: &AtomicU32, berth: Option<usize>) {
        let (at, unused) = (word.as_ptr(), std::ptr::null::<u32>());
        // SAFETY: `word` is alive during the call; the kernel only uses its address.
        unsafe { libc::syscall(libc::SYS_futex, at, libc::FUTEX_WAKE_BITSET, i32::MAX, unused, unused, bit(berth)) };
    }

    /// Registers this process as one that membarriers of others reach. False where the system has none.
    pub(crate) fn register_membarrier() -> bool {
        // SAFETY: no memory is passed.
        unsafe { libc::syscall(libc::SYS_membarrier, REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0 }
    }

    /// Full fence on every CPU that runs a registered process. False when the system refused.
    pub(crate) fn membarrier() -> bool {
        // SAFETY: no memory is passed.
        unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL_EXPEDITED, 0, 0) == 0 }
    }
}
