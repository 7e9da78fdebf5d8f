//! What both sides of a connection, and all processes that hold it, have in common: one mapping of a memfd, all words atomics.

use crate::bell::Bell;
pub use crate::way::{NEVER, RING, To, Way};
use libc::c_int;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// A reader rings for, and poll reports, room of this many bytes, so that a writer is not woken for each line.
pub const ROOM: u64 = RING / 4;
const HEAD: usize = 4096;
/// Bytes of the mapping.
pub const SIZE: usize = HEAD + 2 * RING as usize;
/// First word of the mapping: the form of what follows.
pub const MAGIC: u64 = 0x6761_7363_6973_6f01;

/// `Shared::state`: made by who connects; taken by who accepts; given up by who connects. It changes once.
pub const OFFERED: u32 = 0;
/// See `OFFERED`.
pub const JOINED: u32 = 1;
/// See `OFFERED`.
pub const WITHDRAWN: u32 = 2;

/// One side.
#[repr(C, align(64))]
pub struct End {
    /// Bytes to read, room to write.
    pub bells: [Bell; 2],
    pub nonblock: AtomicU32,
    /// Processes that hold it, as far as known: one that was killed is still counted.
    pub holders: AtomicI32,
    /// `OPEN` while somebody holds it.
    pub closed: AtomicU32,
    /// How often it was shut down: each time wakes who waits for edges.
    pub shuts: AtomicU32,
    /// It shut down its reading.
    pub deaf: AtomicU32,
    /// 1: the other side is gone and had not read everything, which was said.
    pub reset: AtomicU32,
    /// Nanoseconds; 0: none.
    pub timeouts: [AtomicU64; 2],
}

/// The head of the mapping; the rings follow.
#[repr(C)]
pub struct Shared {
    pub magic: AtomicU64,
    pub state: AtomicU32,
    /// 0: who connected; 1: who accepted.
    pub ends: [End; 2],
    /// `ways[n]` is what end `n` sends.
    pub ways: [Way; 2],
}

const _: () = assert!(size_of::<Shared>() <= HEAD);
/// `End::closed`.
pub const OPEN: u32 = 0;
/// Closed; or its last process is gone.
pub const CLOSED: u32 = 1;
/// Closed with bytes unread: the kernel has reset the connection.
pub const RESET: u32 = 2;

/// What waits on a bell.
pub const IN: usize = 0;
/// See `IN`.
pub const OUT: usize = 1;

/// A lock between threads of several processes: the holder's number. It is held while bytes are copied. If the holder was killed, the next takes
/// it over: what it had copied and not published counts as not done.
#[repr(transparent)]
pub struct Lock(AtomicU32);

/// No thread of Linux has a number above it.
const MOST_PROCESSES: u32 = 1 << 22;

/// Gives the lock back.
pub struct Held<'a>(&'a AtomicU32);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // ORDERING: Release ↔ Acquire in `take`.
        self.0.store(0, Ordering::Release);
    }
}

impl Lock {
    #[cfg(test)]
    pub fn spoil(&self, with: u32) {
        self.0.store(with, Ordering::Relaxed);
    }

    /// None: this very thread holds it, which a signal interrupted.
    pub fn take(&self) -> Option<Held<'_>> {
        let me = me();
        let mut tries = 0u32;
        loop {
            // ORDERING: Acquire ↔ Release in `drop`.
            let Err(holder) = self.0.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed) else {
                return Some(Held(&self.0));
            };
            if holder == me {
                return None;
            }
            tries += 1;
            if tries > 100 {
                // SAFETY: no conditions.
                unsafe { libc::sched_yield() };
            }
            if tries.is_multiple_of(4096) && holder != 0 {
                let is_number = (1..=MOST_PROCESSES).contains(&holder); // else somebody wrote nonsense, or asks for a group
                // SAFETY: signal 0 is none: it asks whether the thread is there.
                let died =
                    !is_number || unsafe { libc::kill(holder as c_int, 0) } < 0 && crate::real::errno() == libc::ESRCH;
                if died && self.0.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return Some(Held(&self.0));
                }
            }
        }
    }
}

/// This thread's number.
pub fn me() -> u32 {
    thread_local!(static ME: std::cell::Cell<(u32, u32)> = const { std::cell::Cell::new((0, 0)) });
    // ORDERING: it changes in a child before that has other threads.
    let forks = crate::fds::FORKS.load(Ordering::Relaxed);
    let (known, at) = ME.get();
    if known != 0 && at == forks {
        return known;
    }
    // SAFETY: no conditions.
    let tid = unsafe { libc::gettid() } as u32;
    ME.set((tid, forks));
    tid
}
