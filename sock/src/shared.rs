//! What both sides of a connection, and all processes that hold it, have in common: one mapping of a memfd, all words atomics.

use crate::ring::Bell;
use libc::c_int;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// Bytes of a ring: a power of two. Less than what a core's cache holds, as every byte of it is written and read in turn.
pub const RING: u64 = 256 << 10;
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

/// `switch_at` until the sender goes over to the ring.
pub const NEVER: u64 = u64::MAX;

/// One direction. `kernel_sent`, `switch_at`, `tail_end`, `tail` are the sender's, under `send_lock`; `kernel_read` and `head` the receiver's,
/// under `recv_lock`; who steps a way down for the other side holds both.
#[repr(C, align(128))]
pub struct Way {
    /// Bytes that were written to the ring.
    pub tail: AtomicU64,
    pub send_lock: Lock,
    /// The sender's processor, as it was lately.
    pub send_cpu: AtomicU32,
    /// `head` as the sender last saw it.
    pub head_seen: AtomicU64,
    /// Bytes that went through the kernel before the ring.
    pub kernel_sent: AtomicU64,
    /// How often a send found the ring full.
    pub full: AtomicU32,
    _pad: [u64; 10],
    /// Bytes that were read from the ring.
    pub head: AtomicU64,
    pub recv_lock: Lock,
    pub recv_cpu: AtomicU32,
    pub kernel_read: AtomicU64,
    _pad2: [u64; 13],
    /// How many bytes went through the kernel before the ring began.
    pub switch_at: AtomicU64,
    /// The sender has shut down: `tail` is the end.
    pub fin: AtomicU32,
    /// The ring ends at `tail_end`; the rest goes through the kernel. It is set behind `tail_end`.
    pub stepped: AtomicU32,
    pub tail_end: AtomicU64,
    /// Bytes that were taken out of the ring are not in the kernel yet; nothing may go there before them.
    pub pumping: AtomicU32,
}

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

impl Way {
    /// Bytes in the ring. Both words are the other side's or a sibling's, so nonsense is possible; no more than the ring holds is believed.
    pub fn unread(&self) -> u64 {
        let head = self.head.load(Ordering::Acquire);
        // ORDERING: Acquire ↔ Release of `tail` in `transfer::put`: the bytes below it are there.
        self.tail.load(Ordering::Acquire).wrapping_sub(head).min(RING)
    }

    pub fn room(&self) -> u64 {
        RING - self.unread()
    }

    /// Whether the ring is over, and everything else comes through the kernel.
    pub fn is_over(&self) -> bool {
        // ORDERING: Acquire ↔ Release in `step`: `tail_end` is there.
        self.stepped.load(Ordering::Acquire) != 0
            && self.head.load(Ordering::Acquire) == self.tail_end.load(Ordering::Relaxed)
    }

    /// Whether sends go to the ring.
    pub fn is_stepped(&self) -> bool {
        self.stepped.load(Ordering::Acquire) != 0
    }
}

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
