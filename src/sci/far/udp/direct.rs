//! Sockets that are connected to the peers with which this node talks most, at the address and port at which it listens. The system
//! finds the way there once and not for each datagram, and what comes from there comes to that socket. A Short takes 9.0 µs there and
//! back over the loopback instead of 10.4 (EPYC VM, 2026-11, as the figures below).
//!
//! A peer has one from its [`POPULAR`]th sending on, if one is free, until it falls silent or comes from another address. A socket that
//! was made stays, since what had come to it must be read, and is connected to the next peer.
//!
//! 1. They are watched (`epoll`) only as long as a thread sleeps there: each datagram that comes or goes would pay for it, 0.4 µs.
//! 2. While what comes is short, it is taken by the shortest call, 0.3 µs: one datagram in each. Else those that belong together come
//!    together (GRO).
//!
//! Must not know: what a datagram says.

use super::Udp;
use super::peer::{Lately, Peer};
use crate::os::lock::Lock;
use crate::os::udp::{self, Came};
use crate::os::{net::Epoll, sys};
use crate::sci::far::wire::OTHERS;
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::Duration;

/// So many of them: each look at the network has to look at those that are used.
pub(super) const DIRECT: usize = 2;
/// Sendings to a peer after which it gets one.
const POPULAR: u32 = 64;
/// Datagrams of more bytes may come together.
const SHORT: usize = 1200;
/// Datagrams in a row, short ones after which each is taken alone, and others after which they are not.
const SHORT_ONES: u32 = 64;
const LONG_ONES: u32 = 4;
/// Looks that find something, after which a thread that was about to sleep is awake.
const AWAKE: u32 = 8;

/// One of them.
#[derive(Default)]
pub(super) struct Direct {
    made: OnceLock<Made>,
    /// Peers that have it: one, or none.
    users: AtomicU32,
}

/// One that was made.
pub(super) struct Made {
    pub(super) socket: UdpSocket,
    /// The number of the socket at whose address it is.
    pub(super) beside: usize,
    to: Lock<SocketAddr>,
}

impl Direct {
    /// It, if it was made.
    pub(super) fn made(&self) -> Option<&Made> {
        self.made.get()
    }
}

/// How datagrams are taken from one of them.
#[derive(Default)]
pub(super) struct Taking {
    alone: bool,
    /// They come alone from now on, but what has come before may have come together.
    soon_alone: bool,
    /// Datagrams in a row that want the other way.
    others: u32,
}

impl Taking {
    /// Takes what has come first.
    pub(super) fn receive(&mut self, made: &Made, into: &mut [u8]) -> Option<Came> {
        // Locked: it is being connected to another peer, and what comes can wait.
        let from = *made.to.try_lock()?;
        if !self.alone {
            let came = udp::receive(&made.socket, into);
            match &came {
                Some(came) if came.len <= SHORT => self.others += 1,
                Some(_) => self.others = 0,
                None if self.soon_alone => (self.alone, self.soon_alone, self.others) = (true, false, 0),
                None => {}
            }
            if self.others >= SHORT_ONES && !self.soon_alone {
                self.soon_alone = udp::put_together(&made.socket, false).is_ok();
            }
            return came;
        }
        let len = udp::receive_one(&made.socket, into)?;
        self.others = if len > SHORT { self.others + 1 } else { 0 };
        if self.others >= LONG_ONES {
            *self = Taking { alone: udp::put_together(&made.socket, true).is_err(), ..Taking::default() };
        }
        Some(Came { len, from, each: len.max(1) })
    }
}

/// Who sleeps.
#[derive(Default)]
pub(super) struct Sleepers {
    /// The sockets are watched.
    is_watched: AtomicBool,
    /// Threads that were about to sleep, by number, and looks since then that have found something.
    threads: Lock<(Vec<usize>, u32)>,
}

impl Udp {
    /// Something was sent to a peer.
    #[inline]
    pub(super) fn count(&self, peer: &mut Peer) {
        peer.sendings = peer.sendings.saturating_add(1);
        if peer.sendings == POPULAR && peer.is_sure && self.faults.is_none() && !self.leaver.is_there() {
            self.connect(peer);
        }
    }

    #[cold]
    fn connect(&self, peer: &mut Peer) {
        let Some(path) = &mut peer.path else { return };
        let free = |direct: &&Direct| direct.users.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        // Relaxed, above: the socket is the system's, which has its own order.
        let Some((number, direct)) = (0..).zip(&self.direct).find(|(_, direct)| free(direct)) else { return };
        let is_connected = match direct.made() {
            Some(made) if made.beside == path.socket => {
                let mut to = made.to.lock();
                *to = path.at;
                made.socket.connect(path.at).is_ok()
            }
            Some(_) => false,
            None => udp::beside(&self.sockets[path.socket], path.at, super::ROOM).is_ok_and(|socket| {
                let sleepers = self.sleepers.threads.lock();
                let made = Made { socket, beside: path.socket, to: Lock::new(path.at) };
                let is_set = direct.made.set(made).is_ok(); // who has it alone makes it
                if self.sleepers.is_watched.load(Ordering::Relaxed) {
                    self.watch(Epoll::add_readable); // Relaxed: under the lock
                }
                drop(sleepers);
                is_set
            }),
        };
        match is_connected {
            true => path.direct = Some(number),
            false => direct.users.store(0, Ordering::Relaxed), // Relaxed: as above. It goes as before
        }
    }

    /// A peer needs none any more.
    pub(super) fn disconnect(&self, peer: &mut Peer) {
        peer.sendings = 0;
        peer.path.iter_mut().for_each(|path| path.lately = Lately::default());
        if let Some(number) = peer.path.as_mut().and_then(|path| path.direct.take()) {
            self.direct[usize::from(number)].users.store(0, Ordering::Relaxed); // Relaxed: as in `connect`
        }
    }

    fn watch(&self, how: impl Fn(&Epoll, std::os::fd::BorrowedFd<'_>) -> std::io::Result<()>) {
        // One that is watched already is refused, and that is all.
        self.direct.iter().filter_map(Direct::made).for_each(|made| drop(how(&self.epoll, made.socket.as_fd())));
    }

    /// This thread is about to sleep.
    pub(super) fn falls_asleep(&self) {
        let Some(mut threads) = self.enter(&self.sleepers.threads, OTHERS) else { return };
        let me = sys::thread_number();
        if !threads.0.contains(&me) {
            threads.0.push(me);
        }
        threads.1 = 0;
        if !self.sleepers.is_watched.swap(true, Ordering::Relaxed) {
            self.watch(Epoll::add_readable); // Relaxed, above: under the lock
        }
    }

    /// This thread has found something, and does not sleep next. Others that were about to sleep keep the sockets watched.
    #[inline]
    pub(super) fn is_awake(&self) {
        if self.sleepers.is_watched.load(Ordering::Relaxed) {
            self.wakes(); // Relaxed, above: a hint; the lock follows
        }
    }

    #[cold]
    fn wakes(&self) {
        let Some(mut threads) = self.enter(&self.sleepers.threads, Duration::ZERO) else { return };
        threads.1 += 1;
        let me = sys::thread_number();
        if threads.1 >= AWAKE {
            threads.0.retain(|other| *other != me);
        }
        if threads.0.is_empty() && self.sleepers.is_watched.swap(false, Ordering::Relaxed) {
            self.watch(Epoll::remove); // Relaxed, above: under the lock
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::boot::contact::address::Endpoint;
    use crate::sci::far::conformance::Pair;
    use crate::sci::far::udp::mode::Mode;
    use crate::sci::far::wire::Wire;
    use std::net::Ipv4Addr;

    fn nodes(count: u32) -> Pair<Udp> {
        let here = Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0);
        Pair::new((0..count).map(|me| Udp::new(me, count, [7; 16], &here, Mode::NORMAL).unwrap()).collect())
    }

    /// Frames there and back, each of `len` bytes, one after the other: all come, in their order.
    fn talk(pair: &Pair<Udp>, peer: u32, len: usize) {
        for number in 0..2 * POPULAR as u8 {
            for (from, to) in [(0, peer), (peer, 0)] {
                let frame = vec![number; len];
                pair.post(from as usize, to, &frame);
                pair.until("a frame", || pair.came(to as usize) == 1);
                assert_eq!(pair.frames(to as usize), [(from, frame)]);
            }
        }
    }

    fn number(pair: &Pair<Udp>, peer: u32) -> Option<usize> {
        pair.nodes[0].wire.peer(peer).lock().path.as_ref().and_then(|path| path.direct).map(usize::from)
    }

    #[test]
    fn peers_with_which_a_node_talks_most_have_a_socket_until_they_fall_silent() {
        let pair = nodes(4);
        for (peer, len) in [(1, 100), (2, 1300), (3, 100), (1, 1300), (2, 100)] {
            talk(&pair, peer, len);
        }
        assert_eq!([1, 2, 3].map(|peer| number(&pair, peer)), [Some(0), Some(1), None]);
        pair.until("silence", || number(&pair, 1).is_none() && number(&pair, 2).is_none());
        talk(&pair, 3, 100);
        assert_eq!([1, 2, 3].map(|peer| number(&pair, peer)), [None, None, Some(0)]);
        talk(&pair, 1, 100);
        talk(&pair, 2, 100);
    }

    #[test]
    fn what_comes_to_such_a_socket_wakes_who_sleeps_and_costs_who_is_awake_nothing() {
        let pair = nodes(2);
        talk(&pair, 1, 100);
        let wire = &pair.nodes[0].wire;
        assert_eq!(number(&pair, 1), Some(0));
        let is_watched = || wire.sleepers.is_watched.load(Ordering::Relaxed); // Relaxed: one thread
        assert!(!is_watched());
        pair.until("rest", || !wire.is_busy() && !wire.progress(&pair.nodes[0], true));
        let fd = wire.descriptor().unwrap();
        assert!(is_watched());
        pair.post(1, 0, b"wake up");
        assert!(sys::await_readable(&[fd], Duration::from_secs(60))[0]);
        let count = pair.came(0);
        for _ in 0..AWAKE {
            pair.post(1, 0, b"more");
            let before = pair.came(0);
            while pair.came(0) == before {
                wire.progress(&pair.nodes[0], false);
                pair.nodes[1].wire.progress(&pair.nodes[1], false);
            }
        }
        assert!(pair.came(0) > count && !is_watched());
    }
}
