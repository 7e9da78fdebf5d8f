//! A connection as this process has it: the mapping, the bells, the control channel; and what can be said of it by looking at memory.

use crate::fds;
use crate::real;
use crate::shared::*;
use libc::c_int;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// One side of a connection. Descriptors that are copies of one another share it.
pub struct Conn {
    map: *mut u8,
    /// 0: it connected; 1: it accepted.
    pub side: usize,
    /// The eventfds: `[side][IN or OUT]`.
    pub bells: [[c_int; 2]; 2],
    /// The control channel to the other side's porter; -1: none yet.
    pub ctl: AtomicI32,
    /// The socket at which the offer is fetched, and the memfd; -1: none, or no longer.
    pub offer: AtomicI32,
    pub memfd: AtomicI32,
    /// Descriptors of this process.
    pub fds: AtomicU32,
    /// Rounds that it is worth looking before sleeping; learnt.
    pub spin: AtomicU32,
    pub id: u64,
}

// SAFETY: the mapping is shared memory of atomics, and bytes that the ways' locks guard; it lives as long as the connection.
unsafe impl Send for Conn {}
// SAFETY: as above.
unsafe impl Sync for Conn {}

impl Conn {
    /// Maps what `memfd` has. The connection has the descriptors then, and closes them.
    pub fn new(memfd: c_int, side: usize, bells: [[c_int; 2]; 2], ctl: c_int, offer: c_int) -> Option<Conn> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping; its size is sealed.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), SIZE, rights, libc::MAP_SHARED, memfd, 0) };
        let map = if map == libc::MAP_FAILED { std::ptr::null_mut() } else { map.cast() };
        let conn = Conn {
            map,
            side,
            bells,
            ctl: ctl.into(),
            offer: offer.into(),
            memfd: memfd.into(),
            fds: 0.into(),
            spin: 64.into(),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        };
        (!map.is_null()).then_some(conn)
    }

    pub fn shared(&self) -> &Shared {
        // SAFETY: the mapping begins with it, and has zeros where nothing was stored; all of it are atomics.
        unsafe { &*self.map.cast::<Shared>() }
    }

    /// The first byte of the ring of a way.
    pub fn ring(&self, way: usize) -> *mut u8 {
        // SAFETY: two rings follow the head.
        unsafe { self.map.add(SIZE - (2 - way) * RING as usize) }
    }

    pub fn mine(&self) -> &End {
        &self.shared().ends[self.side]
    }

    pub fn peer(&self) -> &End {
        &self.shared().ends[1 - self.side]
    }

    /// What this side sends.
    pub fn out(&self) -> &Way {
        &self.shared().ways[self.side]
    }

    /// What this side receives.
    pub fn inc(&self) -> &Way {
        &self.shared().ways[1 - self.side]
    }

    pub fn is_joined(&self) -> bool {
        // ORDERING: Acquire ↔ the exchange in `meet`: the other side's marks are there.
        self.shared().state.load(Ordering::Acquire) == JOINED
    }

    /// Takes an offer back. False: the other side has it.
    pub fn withdraw(&self) -> bool {
        let state = &self.shared().state;
        state.compare_exchange(OFFERED, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire) != Err(JOINED)
    }

    /// Whether what is to be read next is the ring's. False: the kernel's.
    pub fn reads_ring(&self) -> bool {
        let way = self.inc();
        self.is_joined() && way.kernel_left(true, 0).is_none() && !way.is_over()
    }

    /// Whether what is written next goes to the ring. False: to the kernel.
    pub fn writes_ring(&self) -> bool {
        self.is_joined() && !self.out().is_stepped() && !self.peer_closed() && !self.is_refused()
    }

    pub fn peer_closed(&self) -> bool {
        self.peer().closed.load(Ordering::Acquire) != OPEN
    }

    /// The other side has shut down both ways: what comes there now, TCP answers with a reset, which the kernel does.
    fn is_refused(&self) -> bool {
        self.inc().fin.load(Ordering::Acquire) != 0 && self.peer().deaf.load(Ordering::Acquire) != 0
    }

    /// Whether the way to this side ends where the ring is empty.
    pub fn is_eof(&self) -> bool {
        self.inc().fin.load(Ordering::Acquire) != 0
            || self.peer_closed()
            || self.mine().deaf.load(Ordering::Acquire) != 0
    }

    /// An end is closed, or its last process is gone. What has stepped down both ways may live on where nobody knows of rings.
    pub fn mark_closed(&self, end: &End, how: u32) {
        if !self.out().is_stepped() || !self.inc().is_stepped() {
            // ORDERING: Release ↔ Acquire in `peer_closed`: what was sent before is in the ring. The first mark stays.
            let _ = end.closed.compare_exchange(OPEN, how, Ordering::Release, Ordering::Relaxed);
        }
    }

    /// The other side is gone, this side's bytes are unread, and the kernel, which does not know of them, says nothing.
    pub fn is_lost(&self) -> bool {
        self.peer().closed.load(Ordering::Acquire) == CLOSED && !self.out().is_stepped() && self.out().unread() > 0
    }

    /// The error of a connection that is lost: TCP resets it, and says so once.
    pub fn lost(&self) -> Option<c_int> {
        let code = if self.inc().fin.load(Ordering::Acquire) != 0 { libc::EPIPE } else { libc::ECONNRESET };
        (self.is_lost() && self.mine().reset.swap(1, Ordering::Relaxed) == 0).then_some(code)
    }

    pub fn has_shut(&self) -> bool {
        self.out().fin.load(Ordering::Acquire) != 0
    }

    /// This side has shut down both ways.
    pub fn has_ended_both(&self) -> bool {
        self.has_shut() && self.mine().deaf.load(Ordering::Acquire) != 0
    }

    /// Whether one of the two sides ended something, so that only the kernel knows all flags.
    pub fn is_ending(&self) -> bool {
        self.is_eof() || self.has_shut()
    }

    /// Whether a read would not wait, as far as memory tells.
    pub fn can_read(&self) -> bool {
        // What is in the ring was sent behind what is left in the kernel: that is there, too.
        let has_bytes = self.is_joined() && self.inc().unread() > 0 && !self.inc().is_over();
        has_bytes || self.reads_ring() && self.is_eof()
    }

    /// Whether a write would not wait, as far as memory tells.
    pub fn can_write(&self) -> bool {
        self.writes_ring() && (RING - self.out().unread() >= ROOM || self.has_shut())
    }

    pub fn is_nonblocking(&self) -> bool {
        self.mine().nonblock.load(Ordering::Relaxed) != 0
    }

    /// Rings for whoever waits on `end` for `what`, if anyone does.
    pub fn ring_for(&self, end: usize, what: usize) {
        let bell = &self.shared().ends[end].bells[what];
        if bell.must_ring(me()) {
            self.ring_always(end, what);
            bell.has_rung(me());
        }
    }

    pub fn ring_always(&self, end: usize, what: usize) {
        let one = 1u64;
        // SAFETY: eight bytes.
        unsafe { real::write(self.bells[end][what], (&raw const one).cast(), 8) };
    }

    /// Rings at all four bells: something changed that everybody has to look at.
    pub fn ring_all(&self) {
        (0..4).for_each(|n| self.ring_for(n / 2, n % 2));
    }

    /// Empties the bell of this side.
    pub fn drain(&self, what: usize) {
        let mut count = 0u64;
        // SAFETY: eight bytes.
        unsafe { real::read(self.bells[self.side][what], (&raw mut count).cast(), 8) };
        self.mine().bells[what].heard();
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        if !self.map.is_null() {
            // SAFETY: nobody has the connection any more.
            unsafe { libc::munmap(self.map.cast(), SIZE) };
        }
        self.bells.iter().flatten().for_each(|&bell| fds::close(bell));
        [&self.ctl, &self.offer, &self.memfd].into_iter().for_each(|fd| fds::close(fd.swap(-1, Ordering::Relaxed)));
    }
}
