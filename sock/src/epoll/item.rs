//! What an epoll descriptor watches, and what memory says of it.

use crate::conn::Conn;
use crate::poll;
use libc::{EPOLLERR, EPOLLET, EPOLLHUP, EPOLLIN, EPOLLONESHOT, EPOLLOUT, EPOLLRDHUP, EPOLLRDNORM, EPOLLWRNORM, c_int};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What each bell is for.
pub const BITS: [u32; 2] = [(EPOLLIN | EPOLLRDNORM | EPOLLRDHUP) as u32, (EPOLLOUT | EPOLLWRNORM) as u32];

/// A descriptor that is watched.
pub struct Item {
    pub data: u64,
    pub events: u32,
    pub generation: u64,
    /// A one shot that was reported.
    pub silent: bool,
    /// The program has removed it; the kernel still watches it.
    pub gone: bool,
    /// Added before this process was forked off: what the kernel watches is the parent's as well.
    pub inherited: bool,
    pub ours: Option<Ours>,
}

/// What an item has beside, if it is a connection of ours.
pub struct Ours {
    pub conn: Arc<Conn>,
    /// What the kernel watches the socket for.
    pub mask: u32,
    pub has_bell: [bool; 2],
    pub armed: [bool; 2],
    pub idle: usize,
    /// What had been there at the last report; none: nothing was reported yet.
    pub seen: Option<Seen>,
}

#[derive(Clone, Copy, PartialEq)]
pub struct Seen {
    tail: u64,
    full: u32,
    ended: bool,
    shuts: u32,
}

impl Ours {
    pub fn new(conn: Arc<Conn>) -> Self {
        Ours { conn, mask: 0, has_bell: [false; 2], armed: [false; 2], idle: 0, seen: None }
    }

    /// What the kernel has to watch the socket for now.
    pub fn wanted(&self, events: u32) -> u32 {
        let ways = (EPOLLET | EPOLLONESHOT | libc::EPOLLEXCLUSIVE | libc::EPOLLWAKEUP) as u32;
        if events & EPOLLET as u32 != 0 {
            return events; // edges do not wake twice; a change would make new ones
        }
        // By rings, it is the same whatever is asked for: only the end can come this way.
        let found = if poll::is_by_ring(&self.conn) {
            events & !(BITS[0] | BITS[1]) | (EPOLLIN | EPOLLRDHUP) as u32
        } else {
            events & ways | poll::mask(&self.conn, events as i16) as u16 as u32
        };
        // The kernel refuses the two together.
        if events & libc::EPOLLEXCLUSIVE as u32 != 0 { found & !(EPOLLRDHUP as u32) } else { found }
    }

    /// Arms the bells of these events, and no others.
    pub fn arm(&mut self, events: u32) {
        for (what, bell) in self.conn.mine().bells.iter().enumerate() {
            let is_armed = events & BITS[what] != 0;
            if self.armed[what] != is_armed {
                self.armed[what] = is_armed;
                if is_armed { bell.arm() } else { bell.disarm() }
            }
        }
    }

    /// What an edge is seen by. Bytes are none for who did not ask for them; the end is one for everybody.
    pub fn look(&self, events: u32) -> Seen {
        let asks_in = events & (EPOLLIN | EPOLLRDNORM) as u32 != 0;
        let tail = if asks_in { self.conn.inc().tail.load(Ordering::Acquire) } else { 0 };
        let room = self.conn.can_write();
        let full =
            if room { self.conn.out().full.load(Ordering::Relaxed) } else { self.seen.map_or(0, |seen| seen.full) };
        let shuts = self.conn.mine().shuts.load(Ordering::Relaxed);
        Seen { tail, full, ended: self.conn.is_eof(), shuts }
    }
}

impl Item {
    /// Whether memory has something to report, and what to remember when it is. An edge is one that came since.
    pub fn news(&self) -> Option<Seen> {
        let ours = self.ours.as_ref().filter(|_| !self.silent)?;
        let seen = ours.look(self.events);
        let is_new = self.events & EPOLLET as u32 == 0 || ours.seen != Some(seen);
        (is_new && poll::memory(&ours.conn) as u16 as u32 & (self.events | EPOLLHUP as u32) != 0).then_some(seen)
    }

    /// All that is to be said of a connection now.
    pub fn state(&self, fd: c_int) -> u32 {
        let Some(ours) = &self.ours else { return 0 };
        let found = poll::memory(&ours.conn)
            | if poll::is_by_ring(&ours.conn) { 0 } else { poll::now(&ours.conn, fd, self.events as i16) };
        found as u16 as u32 & (self.events | (EPOLLHUP | EPOLLERR) as u32)
    }

    pub fn reported(&mut self, seen: Option<Seen>) {
        self.silent = self.events & EPOLLONESHOT as u32 != 0;
        if let (Some(ours), Some(_)) = (&mut self.ours, seen) {
            ours.seen = seen;
            ours.idle = 0;
        }
    }
}
