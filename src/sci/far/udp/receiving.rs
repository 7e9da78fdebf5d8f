//! Takes what has come at all sockets, and gives it to the links.
//!
//! Must not know: what a datagram says.

use super::direct::{DIRECT, Taking};
use super::peer::{Path, Peer};
use super::{Udp, head};
use crate::os::lock::Guard;
use crate::os::{net, udp};
use crate::sci::far::wire::Sink;
use std::net::SocketAddr;
use std::time::Duration;

/// Calls that one look takes what has come with, at most.
const LOOKS: usize = 64;
/// So often something is taken before what it makes goes to the peer, at most: an acknowledgement of more costs both sides less.
const ANSWERED: usize = 8;
/// One in so many looks looks at all sockets.
const AT_ALL: u32 = 64;
/// The peer that was heard last, which has not been answered.
type Heard<'a> = Option<(u32, Guard<'a, Peer>)>;

/// Where something is looked for, and room for it.
pub(super) struct Receiving {
    room: Vec<u8>,
    looks: u32,
    /// Sockets, as bits, at which each look looks, and those where something has come since the last look at all.
    likely: u64,
    used: u64,
    taking: [Taking; DIRECT],
}

impl Default for Receiving {
    fn default() -> Receiving {
        Receiving { room: vec![0; 1 << 16], looks: 0, likely: u64::MAX, used: 0, taking: Default::default() }
    }
}

impl Udp {
    /// Takes what has come. Returns when the last of it came. A look that is not thorough looks at the sockets alone that peers use, and
    /// not behind a datagram that came alone: on a host with three addresses a Short takes 12.4 µs there and back instead of 14.1 (EPYC VM,
    /// 2026-11).
    pub(super) fn receive(&self, at: &mut Receiving, thorough: bool, sink: &dyn Sink) -> Option<u64> {
        at.looks = at.looks.wrapping_add(1);
        let is_at_all = thorough || at.looks.is_multiple_of(AT_ALL);
        if is_at_all {
            at.likely = if at.used == 0 { at.likely } else { at.used };
            at.used = 0;
        }
        let mut has_come = None;
        for place in 0..self.sockets.len() + DIRECT {
            let bit = 1 << (place % 64);
            if !is_at_all && at.likely & bit == 0 {
                continue;
            }
            let direct = place.checked_sub(self.sockets.len());
            let made = direct.and_then(|direct| self.direct[direct].made());
            if direct.is_some() && made.is_none() {
                continue;
            }
            let number = made.map_or(place, |made| made.beside);
            let (mut last, mut now) = (None, 0);
            for look in 1..=LOOKS {
                let came = match (direct, made) {
                    (Some(direct), Some(made)) => at.taking[direct].receive(made, &mut at.room),
                    _ => udp::receive(&self.sockets[number], &mut at.room),
                };
                let Some(came) = came else { break };
                at.used |= bit;
                now = self.now();
                has_come = Some(now);
                self.take(number, came.from, at.room[..came.len].chunks_mut(came.each), now, &mut last, sink);
                if !thorough && came.len <= came.each {
                    break;
                }
                if look % ANSWERED == 0 {
                    self.let_go(&mut last, now);
                }
            }
            self.let_go(&mut last, now);
        }
        has_come
    }

    /// Sends what there is to say to the peer that was heard last.
    fn let_go(&self, last: &mut Heard<'_>, now: u64) {
        if let Some((rank, peer)) = last.take() {
            self.flush(rank, peer, now);
        }
    }

    /// Datagrams from one address. Who has sent them is answered with what comes next.
    fn take<'a, 'b>(
        &'b self,
        socket: usize,
        from: SocketAddr,
        datagrams: impl Iterator<Item = &'a mut [u8]>,
        now: u64,
        last: &mut Heard<'b>,
        sink: &dyn Sink,
    ) {
        let Some(book) = self.book.get() else { return }; // a peer has met the others earlier; what it says comes again
        for datagram in datagrams {
            let Some(rank) = head::rank(datagram).filter(|rank| *rank < self.nodes && *rank != self.me) else {
                continue;
            };
            if self.peers[rank as usize].get().is_none() && !self.knows_secret(rank, datagram) {
                continue;
            }
            if last.as_ref().is_none_or(|(other, _)| *other != rank) {
                self.let_go(last, now);
                *last = self.enter(self.peer(rank), Duration::ZERO).map(|peer| (rank, peer));
            }
            let Some((_, peer)) = last else { continue };
            if peer.lost.is_some() {
                continue;
            }
            let refused = peer.link.pipe().refused();
            if let Err(why) = peer.link.on_datagram(now, datagram, rank, sink) {
                peer.lost = Some(self.report(rank, format!("at {} {why}", net::shown(from))));
                continue;
            }
            // Rule 3. Nobody proves where a datagram comes from: one that somebody has copied leads to no other address than the peer's.
            let is_there = peer.is_sure && peer.path.as_ref().is_some_and(|path| path.at == from);
            let is_good = peer.link.pipe().refused() == refused && peer.link.pipe().is_met();
            if !is_there && is_good && book.has(rank, from) {
                self.disconnect(peer);
                peer.path = Some(Path::new(socket, from));
                peer.is_sure = peer.link.pipe().is_open();
            }
        }
    }

    /// Whoever does not know the job's secret makes no link. One of another version does: it hears this node's, and this node says why it is lost.
    fn knows_secret(&self, rank: u32, datagram: &[u8]) -> bool {
        let seed = self.seed(rank, self.me);
        head::Head::read(datagram, self.is_protected(), seed).is_some() || head::other_version(datagram, seed).is_some()
    }
}
