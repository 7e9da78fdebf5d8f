//! What messages of a node to itself need while their handlers run: a token, and a buffer for the copy of a payload. They are kept for the
//! next ones.
//!
//! Rules:
//! 1. In PAR a thread has a seat, once it has sent to its own node. What lies there only it touches, so a message takes no lock.
//!    With locks for tokens and for buffers, and counters that all threads shared, a Medium of 8 bytes took 30.6 ns; it takes 11.4 (a loop
//!    of them in PAR, 2026-11, EPYC VM).
//! 2. A seat is never given back. A thread that finds none, because many threads came before it, takes from the list that all share.
//! 3. Without PAR one seat is for all, since one thread calls at a time.
//!
//! Must not know: what is sent, handlers.

#![allow(unsafe_code)] // the client's payload

use super::running::thread_number;
use super::source::Source;
use super::token::Token;
use crate::am::region::MAX_MEDIUM;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, ModeLock, Ordering};
use std::cell::{Cell, OnceCell};

// Models have few threads, whose stacks are small, and make the engine there.
const SEATS: usize = if cfg!(loom) { 2 } else { 16 };

/// A Medium's private copy; aligned for anything.
#[repr(C, align(64))]
struct Buffer([u8; MAX_MEDIUM]);

/// What one run of a handler needs. It is never freed, because clients may keep the token.
pub(super) struct Stand {
    pub(super) token: &'static Token,
    buffer: OnceCell<Box<std::cell::UnsafeCell<Buffer>>>,
    next: Cell<Option<&'static Stand>>,
}

/// Those that are not in use.
#[derive(Default)]
struct Free(Cell<Option<&'static Stand>>);

impl Free {
    #[inline(always)]
    fn pop(&self) -> Option<&'static Stand> {
        let first = self.0.get()?;
        self.0.set(first.next.get());
        Some(first)
    }

    #[inline(always)]
    fn push(&self, stand: &'static Stand) {
        stand.next.set(self.0.replace(Some(stand)));
    }
}

/// A thread's own. A cache line and the next one, which processors fetch with it.
#[repr(align(128))]
struct Seat {
    /// Messages that it sent to this node.
    count: AtomicU64,
    /// Handlers for such messages that run.
    running: Cell<u32>,
    free: Free,
}

#[derive(Default)]
#[repr(align(128))]
struct Owners([AtomicUsize; SEATS]);

/// Everything for messages to the own node.
pub(crate) struct Loopback {
    threaded: bool,
    /// The numbers of the threads that have the seats; 0: nobody. Apart from these, because threads without a seat look at all.
    owners: Owners,
    seats: [Seat; SEATS],
    /// A thread has sent to the own node. A thread that has not looks no further ([`Self::runs_here`]).
    looped: AtomicBool,
    /// For threads without a seat (rule 2).
    shared: ModeLock<Free>,
    shared_count: AtomicU64,
}

// SAFETY: the cells of a seat are its owner's (rules 1 and 3), `shared` has a lock, and the rest is atomic. A stand is in one list, or in the
// hands of the thread that took it.
unsafe impl Sync for Loopback {}
// SAFETY: nothing in it is tied to a thread but the numbers of owners, which mean the same to each thread.
unsafe impl Send for Loopback {}

#[cfg(not(loom))]
thread_local! {
    /// Handlers for messages to the own node that run on this thread, if it has no seat.
    static STANDING: Cell<u32> = const { Cell::new(0) };
}
#[cfg(loom)]
loom::thread_local! {
    static STANDING: Cell<u32> = Cell::new(0);
}

/// A handler's run, from [`Loopback::enter`] to [`Loopback::leave`].
pub(super) struct Entered<'a> {
    pub(super) stand: &'static Stand,
    seat: Option<&'a Seat>,
    /// How many messages this thread, or all without a seat, had sent before.
    pub(super) before: u64,
}

impl Loopback {
    /// # Safety
    /// As [`ModeLock::new`].
    pub(crate) unsafe fn new(threaded: bool) -> Loopback {
        let seat = |_| Seat { count: AtomicU64::new(0), running: Cell::new(0), free: Free::default() };
        Loopback {
            threaded,
            owners: Owners::default(),
            seats: std::array::from_fn(seat),
            looped: AtomicBool::new(false),
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            shared: unsafe { ModeLock::new(threaded, Free::default()) },
            shared_count: AtomicU64::new(0),
        }
    }

    /// Without PAR `Running` knows of handlers for messages to the own node, too.
    #[inline(always)]
    pub(super) fn is_counted_by_running(&self) -> bool {
        !self.threaded
    }

    /// A handler for a message of this node to itself is about to run.
    #[inline(always)]
    pub(super) fn enter(&self) -> Entered<'_> {
        let Some(seat) = self.seat() else { return self.enter_without_seat() };
        let before = seat.count.load(Ordering::Relaxed); // Relaxed, both: this thread's; others read it for a report
        seat.count.store(before + 1, Ordering::Relaxed);
        seat.running.set(seat.running.get() + 1);
        Entered { stand: seat.free.pop().unwrap_or_else(Stand::leak), seat: Some(seat), before }
    }

    /// The handler has returned.
    #[inline(always)]
    pub(super) fn leave(&self, entered: &Entered<'_>) {
        match entered.seat {
            Some(seat) => {
                seat.running.set(seat.running.get() - 1);
                seat.free.push(entered.stand);
            }
            None => {
                STANDING.with(|running| running.set(running.get() - 1));
                self.shared.with(|free| free.push(entered.stand));
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn enter_without_seat(&self) -> Entered<'_> {
        STANDING.with(|running| running.set(running.get() + 1));
        let stand = self.shared.with(Free::pop).unwrap_or_else(Stand::leak);
        let before = self.shared_count.fetch_add(1, Ordering::Relaxed); // Relaxed: a count, alone
        Entered { stand, seat: None, before }
    }

    /// PAR: this thread runs a handler for a message of this node to itself.
    #[inline(always)]
    pub(super) fn runs_here(&self) -> bool {
        self.looped.load(Ordering::Relaxed) && self.is_running() // Relaxed: only what this thread has stored matters
    }

    // Never inlined, as it is not for polls of threads that send to other nodes alone.
    #[inline(never)]
    fn is_running(&self) -> bool {
        match self.place(thread_number()) {
            Ok(at) => self.seats[at].running.get() > 0,
            Err(Some(_)) => false,
            Err(None) => STANDING.with(Cell::get) > 0,
        }
    }

    /// Messages of this node to itself.
    pub(super) fn count(&self) -> u64 {
        let seats: u64 = self.seats.iter().map(|seat| seat.count.load(Ordering::Relaxed)).sum(); // Relaxed, both: a report
        seats + self.shared_count.load(Ordering::Relaxed)
    }

    /// This thread's seat. `None`: other threads have all.
    #[inline(always)]
    fn seat(&self) -> Option<&Seat> {
        if !self.threaded {
            return Some(&self.seats[0]);
        }
        let me = thread_number();
        let first = first(me);
        // Relaxed: this thread's own store
        if self.owners.0[first].load(Ordering::Relaxed) == me { Some(&self.seats[first]) } else { self.find(me) }
    }

    #[inline(never)]
    fn find(&self, me: usize) -> Option<&Seat> {
        self.looped.store(true, Ordering::Relaxed); // Relaxed: only this thread needs to see it before it asks
        loop {
            match self.place(me) {
                Ok(at) => return Some(&self.seats[at]),
                // Relaxed: a seat that was nobody's has nothing in it.
                Err(Some(at)) => _ = self.owners.0[at].compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed),
                Err(None) => return None,
            }
        }
    }

    /// The place of the seat of the thread with this number, or the one where it may sit down, if there is any.
    fn place(&self, me: usize) -> Result<usize, Option<usize>> {
        for k in 0..SEATS {
            let at = (first(me) + k) % SEATS;
            // Relaxed: a thread knows its own seat. Seats are never given back, so behind one that is nobody's no thread sits whose first is here.
            match self.owners.0[at].load(Ordering::Relaxed) {
                0 => return Err(Some(at)),
                owner if owner == me => return Ok(at),
                _ => {}
            }
        }
        Err(None)
    }
}

/// Where a thread looks first for its seat. Numbers are addresses, mostly some pages apart.
#[inline(always)]
fn first(me: usize) -> usize {
    (me as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> (usize::BITS - SEATS.ilog2())
}

impl Stand {
    #[cold]
    #[inline(never)]
    fn leak() -> &'static Stand {
        Box::leak(Box::new(Stand { token: Token::leak(), buffer: OnceCell::new(), next: Cell::new(None) }))
    }

    /// A private copy of `source`, until the stand is left.
    #[inline(always)]
    pub(super) fn copy(&self, source: Source) -> *mut u8 {
        let buffer = self.buffer.get_or_init(|| Box::new(Buffer([0; MAX_MEDIUM]).into()));
        let start = buffer.get().cast::<u8>();
        // SAFETY: the buffer takes MAX_MEDIUM bytes, the most that a Medium has (checked by the verbs). The run that has the stand has it.
        unsafe { source.move_to(start) };
        start
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn loopback() -> Loopback {
        // SAFETY: threaded.
        unsafe { Loopback::new(true) }
    }

    #[test]
    fn runs_inside_runs_have_stands_of_their_own_and_leave_them_for_the_next() {
        let loopback = loopback();
        assert!(!loopback.runs_here());
        let (request, reply) = (loopback.enter(), loopback.enter());
        assert!(!std::ptr::eq(request.stand, reply.stand) && loopback.runs_here());
        assert!(!std::thread::scope(|scope| scope.spawn(|| loopback.runs_here()).join().unwrap()));
        loopback.leave(&reply);
        assert!(loopback.runs_here());
        loopback.leave(&request);
        assert!(!loopback.runs_here());
        assert!(std::ptr::eq(loopback.enter().stand, request.stand) && loopback.count() == 3);
    }

    #[test]
    fn more_threads_than_seats_lose_no_count_and_share_no_stand() {
        let (loopback, all) = (loopback(), std::sync::Barrier::new(SEATS + 5));
        std::thread::scope(|scope| {
            for k in 0..SEATS + 5 {
                let (loopback, all) = (&loopback, &all);
                scope.spawn(move || {
                    for round in 0..200u64 {
                        let run = loopback.enter();
                        assert!(loopback.runs_here());
                        if round == 0 {
                            all.wait();
                        }
                        let bytes = [k as u8; 100];
                        // SAFETY: the bytes live longer than the copy is made.
                        let copy = run.stand.copy(unsafe { Source::new(bytes.as_ptr(), 100) });
                        std::thread::yield_now();
                        // SAFETY: the stand is this run's.
                        assert_eq!(unsafe { std::slice::from_raw_parts(copy, 100) }, bytes);
                        loopback.leave(&run);
                        assert!(!loopback.runs_here());
                    }
                });
            }
        });
        assert_eq!(loopback.count(), 200 * (SEATS as u64 + 5));
    }
}
