//! How threads of a node wait: one serves messages, the others sleep until somebody has something for them.
//!
//! Rules:
//! 1. A thread that waits and finds no other serving serves. One without a key always does, since nobody would wake it. When it is
//!    done it wakes one that sleeps, which then serves.
//! 2. A thread that sleeps is in the list, with the keys that it waits for, before it looks once more. So nobody who changes
//!    something before that look, or wakes the key after it, is missed.
//! 3. Every sleep is bounded.
//! 4. In GASNET_SEQ there is one thread, which serves.
//! 5. The thread that serves looks again only after somebody has called `wake`, or `changed` and `rouse`: who changes what a thread
//!    with a key waits for calls them afterwards.
//! 6. A thread that leaves stores that nobody serves, and then looks for sleepers; one that sleeps gets into the list, and then looks
//!    whether somebody serves. So that not both look too early, the sleeper looks once more a moment later (`park::settle`).
//! 7. A thread that waits for a box sleeps in a [berth](crate::sci::Interrupt::take_berth), if there is one. A sender then wakes it
//!    instead of the thread that serves and sleeps. It polls; if another thread is polling, that one polls once more.
//! 8. Once the program's part of the job is over ([`Waiting::end`]), nobody waits any more.
//!
//! Must not know: what threads wait for.

use super::{Failure, Outcome, Until};
use crate::am::Am;
use crate::am::wait::Rest;
use crate::sci::{Adapter, Berth, Interrupt, RemoteInterrupt};
use crate::sync::park::{self, Mutex, Thread};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest sleep. It matters only to a thread whose time is over, and after it the thread looks again.
const SLEEP: Duration = if cfg!(loom) { Duration::MAX } else { Duration::from_millis(100) };

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A message in the box of this index.
    Box(u16),
    /// The slot of this number was granted.
    ReceiveSlot(usize),
    /// Credits of the sender of this number.
    Sender(u32),
    /// The answer to this request.
    Request(u32),
    /// This object of the program.
    Object(usize),
    /// The thread with this ticket ([`Waiting::ticket`]).
    Ticket(u64),
    /// A place for this gift.
    Gift(u32),
}

impl Key {
    /// A number for the key, which no other key has.
    fn number(self) -> u64 {
        let (kind, value) = match self {
            Key::Box(index) => (1, u64::from(index)),
            Key::ReceiveSlot(number) => (2, number as u64),
            Key::Sender(number) => (3, number.into()),
            Key::Request(number) => (4, number.into()),
            Key::Object(number) => (5, number as u64),
            Key::Ticket(number) => (6, number),
            Key::Gift(number) => (7, number.into()),
        };
        kind << 56 | value // addresses of programs have fewer bits
    }

    /// What [`Flags::for_waiter`](crate::verbs::Flags::for_waiter) says in a message for a box.
    pub fn of_box(index: u16) -> u32 {
        u32::from(index) + 1
    }
}

/// Stands in `serving_for` for a thread with more keys than fit there: any key may be one of its.
const MANY: u64 = u64::MAX;

struct Sleeper {
    keys: SmallVec<[Key; 2]>,
    thread: Thread,
    /// Where the thread sleeps (rule 7); else it is parked.
    berth: Option<Berth>,
    woken: AtomicBool,
}

impl Sleeper {
    fn sleep(&self, interrupt: &impl Interrupt, time: Duration) {
        match &self.berth {
            Some(berth) => interrupt.sleep_in(berth, time),
            None => park::sleep(&self.thread, time),
        }
    }
}

/// The threads that wait.
pub struct Waiting<A: Adapter> {
    threaded: bool,
    /// A thread serves.
    serving: AtomicBool,
    /// What the thread that serves waits for: the numbers of its keys (0: none), or `MANY`.
    serving_for: [AtomicU64; 2],
    sleepers: Mutex<Vec<Arc<Sleeper>>>,
    /// How many threads are in `sleepers`.
    count: AtomicU32,
    /// Calls of `wake` (rule 5). A look takes the lock of the state, which in a loop that finds nothing would cost 8 ns a round in PAR.
    events: AtomicU64,
    /// Calls of `changed`.
    changes: AtomicU64,
    /// Tickets given.
    tickets: AtomicU64,
    /// See rule 8.
    ended: AtomicBool,
    /// Wakes the thread that serves, should it sleep.
    bell: A::RemoteInterrupt,
}

impl<A: Adapter> Waiting<A> {
    /// `bell` is this node's own.
    pub fn new(threaded: bool, bell: A::RemoteInterrupt) -> Waiting<A> {
        Waiting {
            threaded,
            serving: AtomicBool::new(false),
            serving_for: [AtomicU64::new(MANY), AtomicU64::new(MANY)],
            sleepers: Mutex::default(),
            count: AtomicU32::new(0),
            events: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            tickets: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            bell,
        }
    }

    /// A thread that waits for `key` can perhaps go on: wakes one that sleeps, and the thread that serves if it has the key. Allowed in
    /// handlers.
    #[inline]
    pub fn wake(&self, key: Key) {
        self.note();
        self.rouse(key);
    }

    /// As [`Self::wake`], after [`Self::changed`].
    #[inline(always)]
    pub fn rouse(&self, key: Key) {
        if self.threaded {
            self.rouse_threads(key);
        }
    }

    #[inline(never)]
    fn rouse_threads(&self, key: Key) {
        self.wake_where(|sleeper| sleeper.keys.contains(&key));
        // Relaxed: as the count in `wake_where`. Who serves stores it before its first look.
        let serves = |one: &AtomicU64| [MANY, key.number()].contains(&one.load(Ordering::Relaxed));
        if self.serving_for.iter().any(serves) {
            self.bell.stored();
        }
    }

    /// Something has changed (rule 5). The caller has the lock of the state, so that this takes no read-modify-write.
    #[inline(always)]
    pub fn changed(&self) {
        // Relaxed: under the lock. ORDERING: Release ↔ Acquire in `news`, as in `note`.
        self.changes.store(self.changes.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// How often `note` and `changed` were called.
    #[inline(always)]
    fn news(&self) -> (u64, u64) {
        // ORDERING: Acquire, both ↔ Release in `note` and `changed`: who sees the number sees the change.
        (self.events.load(Ordering::Acquire), self.changes.load(Ordering::Acquire))
    }

    /// Something has changed (rule 5).
    #[inline]
    fn note(&self) {
        if self.threaded {
            self.events.fetch_add(1, Ordering::Release); // ORDERING: Release ↔ Acquire in `news`
        } else {
            // Relaxed, both: there is one thread.
            self.events.store(self.events.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// A number that no other wait has.
    pub fn ticket(&self) -> u64 {
        self.tickets.fetch_add(1, Ordering::Relaxed) // Relaxed: a number, alone
    }

    /// Wakes the thread that serves, should it sleep, so that it polls. Allowed in any thread.
    pub fn ring(&self) {
        self.bell.stored();
    }

    /// As [`Self::wake`], all threads that wait for `key`: each finds something else than it waited for.
    pub fn wake_all(&self, key: Key) {
        self.wake_each(|sleeper| sleeper.keys.contains(&key));
    }

    /// The program's part of the job is over: all that wait, and all that begin to, fail with [`Failure::Init`] unless they find what they want.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed); // Relaxed: what follows orders it, as what threads wait for (rule 5; the lock of the list)
        self.wake_each(|_| true);
    }

    fn wake_each(&self, is_meant: impl Fn(&Sleeper) -> bool) {
        self.note();
        if self.threaded {
            self.sleepers.lock().iter().filter(|sleeper| is_meant(sleeper)).for_each(|one| self.unpark(one));
            self.bell.stored();
        }
    }

    fn wake_where(&self, is_meant: impl Fn(&Sleeper) -> bool) {
        // Relaxed: what threads wait for changes under a lock that the look in `sleep` takes, too. If that look came first, its lock
        // has made the count visible here; if it came later, it sees the change (rule 2).
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let sleepers = self.sleepers.lock();
        // Relaxed, both: under the lock.
        let meant = sleepers.iter().find(|one| is_meant(one) && !one.woken.load(Ordering::Relaxed));
        if let Some(sleeper) = meant {
            self.unpark(sleeper);
        }
    }

    /// The caller has the lock of the list.
    fn unpark(&self, sleeper: &Sleeper) {
        sleeper.woken.store(true, Ordering::Relaxed); // Relaxed: under the lock
        match &sleeper.berth {
            Some(berth) => self.bell.call(berth),
            None => sleeper.thread.unpark(),
        }
    }

    /// Waits until `look` returns something, or fails, and serves messages meanwhile. The caller has looked before, in vain. Without keys
    /// the thread looks at least each millisecond (rule 1).
    pub fn wait<T>(
        &self,
        am: &Am<A>,
        keys: &[Key],
        until: Until,
        mut look: impl FnMut() -> Outcome<Option<T>>,
    ) -> Outcome<T> {
        let mut look = || match look()? {
            None if self.ended.load(Ordering::Relaxed) => Err(Failure::Init), // Relaxed: see `end`
            found => Ok(found),
        };
        if !self.threaded || keys.is_empty() {
            return self.serve(am, keys, until, &mut look);
        }
        loop {
            // ORDERING: Acquire ↔ Release below: a thread that serves sees what the one before it has served.
            if self.serving.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                for (at, place) in self.serving_for.iter().enumerate() {
                    let number = if keys.len() > 2 { MANY } else { keys.get(at).map_or(0, |key| key.number()) };
                    place.store(number, Ordering::Relaxed); // Relaxed: see `rouse`
                }
                let result = self.serve(am, keys, until, &mut look);
                // ORDERING: Release ↔ Acquire above.
                self.serving.store(false, Ordering::Release);
                park::before_settled(); // the look of `wake_where` finds who is in the list, or that one sees this store (rule 6)
                self.wake_where(|_| true);
                return result;
            }
            let (found, woken) = self.sleep(am, keys, until, &mut look);
            let found = match found {
                Ok(None) => look(),
                found => found,
            };
            let result = match found {
                Ok(None) => until.over().map(Err),
                found => found.transpose(),
            };
            if let Some(result) = result {
                if woken {
                    self.pass_on(keys);
                }
                return result;
            }
        }
    }

    /// A thread that was woken leaves: what it was woken for may be another's business, or nobody may serve now.
    fn pass_on(&self, keys: &[Key]) {
        self.wake_where(|one| one.keys.iter().any(|key| keys.contains(key)));
        // Relaxed: who stops serving wakes somebody itself; this makes up for the thread that it woke and that leaves here.
        if !self.serving.load(Ordering::Relaxed) {
            self.wake_where(|_| true);
        }
    }

    fn enlist(&self, sleeper: &Arc<Sleeper>) {
        let mut sleepers = self.sleepers.lock();
        sleepers.push(sleeper.clone());
        self.count.store(sleepers.len() as u32, Ordering::Relaxed); // Relaxed: see `wake_where`
    }

    /// Sleeps until woken, unless a look finds something first. True: it was woken.
    fn sleep<T>(
        &self,
        am: &Am<A>,
        keys: &[Key],
        until: Until,
        look: &mut impl FnMut() -> Outcome<Option<T>>,
    ) -> (Outcome<Option<T>>, bool) {
        let interrupt = &am.interrupt;
        let berth = match keys.first() {
            Some(Key::Box(index)) => interrupt.take_berth(Key::of_box(*index)),
            _ => None,
        };
        let (keys, thread, woken) = (keys.into(), park::current(), AtomicBool::new(false));
        let me = Arc::new(Sleeper { keys, thread, berth, woken });
        self.enlist(&me);
        let found = look();
        // Relaxed, all: hints, but for the second look at `serving`, which rule 6 orders.
        if matches!(found, Ok(None)) && self.serving.load(Ordering::Relaxed) {
            let time = match until {
                Until::Time(end) => end.saturating_duration_since(Instant::now()).min(SLEEP),
                _ => SLEEP,
            };
            park::settle(time, |time| me.sleep(interrupt, time));
            if !me.woken.load(Ordering::Relaxed) && self.serving.load(Ordering::Relaxed) {
                me.sleep(interrupt, time);
            }
        }
        let mut sleepers = self.sleepers.lock();
        sleepers.retain(|one| !Arc::ptr_eq(one, &me));
        self.count.store(sleepers.len() as u32, Ordering::Relaxed); // Relaxed: a hint
        drop(sleepers);
        if me.berth.as_ref().is_some_and(|berth| interrupt.leave_berth(berth)) && !am.poll_whole() {
            self.bell.stored(); // the thread that polls may be about to sleep
        }
        (found, me.woken.load(Ordering::Relaxed)) // Relaxed: behind the lock
    }

    /// Serves messages until `look` returns something. Without keys it looks after each poll. Several threads may serve; `serving` and
    /// `serving_for` name one of them.
    fn serve<T>(
        &self,
        am: &Am<A>,
        keys: &[Key],
        until: Until,
        look: &mut impl FnMut() -> Outcome<Option<T>>,
    ) -> Outcome<T> {
        let (mut failed, mut seen) = (0, (u64::MAX, u64::MAX));
        // Who changes what has a key wakes this node; a time is over without that.
        let rest = if matches!(until, Until::Forever) && !keys.is_empty() { Rest::Long } else { Rest::Short };
        loop {
            failed = am.wait_step_with(failed, rest, || self.news() != seen);
            let now = self.news();
            if now != seen || keys.is_empty() {
                seen = now;
                if let Some(result) = look()? {
                    return Ok(result);
                }
            }
            if let Some(failure) = until.over() {
                return Err(failure);
            }
        }
    }
}
