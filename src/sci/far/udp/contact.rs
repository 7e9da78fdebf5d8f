//! A peer: its link, its addresses, and which of them is tried until one has answered.
//!
//! Must not know: what is carried.

use super::guard::Guard;
use super::head::{Differs, VERSIONS};
use super::link::Link;
use super::peer::{Path, Peer};
use super::pipe::Terms;
use super::sending::is_too_long;
use super::size::{LEAST, MOST};
use super::{HEAD, Udp};
use crate::os::{net, sys, udp};
use crate::sci::far::seal::TAG;
use std::net::UdpSocket;

/// What the system counts for a datagram beside its bytes, with what it rounds up.
const EXTRA: usize = 1024;

impl Udp {
    /// A peer that nobody has heard of yet.
    pub(super) fn make(&self, rank: u32) -> Peer {
        let ways = self.book.get().map_or(Err("nodes have not met yet".into()), |book| book.ways(&self.card, rank));
        let (ways, lost) = match ways {
            Ok(ways) => (ways, None),
            Err(why) => (Vec::new(), Some(self.report(rank, why))),
        };
        let most = ways.first().and_then(|way| udp::most(way.to).ok()).unwrap_or(LEAST).min(MOST);
        // What the socket keeps is for all who send at once; a window of half of it leaves room for another one.
        let room = self.sockets.iter().map(udp::room).min().unwrap_or(0) / (2 * (most + EXTRA));
        let terms = Terms {
            mode: self.mode,
            job: self.job(),
            me: self.me,
            peer: rank,
            incarnation: self.incarnation,
            first: if self.mode.is_seed { 0 } else { sys::random() as u32 },
            seeds: [self.seed(self.me, rank), self.seed(rank, self.me)],
            window: room.clamp(8, self.mode.window as usize) as u16,
            most: most - HEAD - if self.is_protected() { TAG } else { 0 },
            dead: self.silence.as_micros() as u64,
            contact: self.contact.as_micros() as u64,
        };
        let now = self.now();
        let mut link = Link::new(terms, now);
        let mut lost = lost;
        match self.is_protected().then(|| Guard::new(self.secret, self.mode, self.me, rank)) {
            Some(Ok(guard)) => link.pipe().protect(guard),
            Some(Err(why)) => lost = Some(self.report(rank, format!("this node {why}"))),
            None => {}
        }
        let mut peer = Peer {
            link,
            ways,
            path: None,
            is_sure: false,
            tried: now,
            attempts: 0,
            lost,
            refusal: None,
            is_counted: false,
            sendings: 0,
        };
        self.try_next_way(&mut peer, now);
        peer
    }

    /// The next address of a peer that has not been heard.
    pub(super) fn try_next_way(&self, peer: &mut Peer, now: u64) {
        let Some(way) = peer.ways.get(peer.attempts as usize % peer.ways.len().max(1)).copied() else { return };
        let is_from =
            |socket: &UdpSocket| socket.local_addr().is_ok_and(|at| way.from.is_some_and(|from| from.ip() == at.ip()));
        let is_of_family = |socket: &UdpSocket| socket.local_addr().is_ok_and(|at| at.is_ipv4() == way.to.is_ipv4());
        let socket = self.sockets.iter().position(is_from).or_else(|| self.sockets.iter().position(is_of_family));
        self.disconnect(peer);
        peer.path = socket.map(|socket| Path::new(socket, way.to));
        (peer.attempts, peer.tried) = (peer.attempts + 1, now);
    }

    /// Why a peer must be given up, if it must.
    pub(super) fn hopeless(&self, peer: &mut Peer, now: u64) -> Option<String> {
        if let Some(error) = peer.refusal.as_ref().filter(|error| is_too_long(error)) {
            let at = peer.path.as_ref().map_or(String::new(), |path| net::shown(path.at));
            let most = peer.link.most();
            return Some(format!(
                "the way to {at} takes no datagram of up to {most} bytes: {error}; GASNET_SCI_IFACE chooses another interface"
            ));
        }
        // Of what is protected nothing is believed before there are keys: anybody may have said that.
        let pipe = peer.link.pipe();
        let is_other = matches!(pipe.differs, Some(Differs::Version(_))) && !pipe.is_open() && !self.is_protected();
        // Not before it has heard this node's version, so that it can say the same.
        let is_dead = is_other && pipe.has_greeted() || pipe.is_dead(now);
        is_dead.then(|| match (self.silence_of(peer), &peer.refusal) {
            (silence, None) => silence,
            (silence, Some(error)) => format!("{silence}; this host refuses what is sent there: {error}"),
        })
    }

    fn silence_of(&self, peer: &mut Peer) -> String {
        let at = peer.path.as_ref().map_or(String::new(), |path| net::shown(path.at));
        match peer.is_sure {
            true => format!("no sign of life from {at} for {} s (GASNET_SCI_UDP_DEAD)", self.silence.as_secs_f64()),
            false => {
                let tried: Vec<String> = peer.ways.iter().map(|way| net::shown(way.to)).collect();
                let seconds = self.contact.as_secs_f64();
                let tried = tried.join(", ");
                match (peer.link.pipe().differs, self.is_protected()) {
                    (Some(Differs::Version(theirs)), is_protected) => format!(
                        "{tried} speaks version {theirs} of the udp wire, this node {}; install the same version on all hosts",
                        VERSIONS[usize::from(is_protected)]
                    ),
                    (None, _) => format!(
                        "no answer for {seconds} s (GASNET_SCI_START_TIMEOUT) from {tried}; does a firewall drop what is sent \
                         there (GASNET_SCI_PORTS), is this the wrong interface (GASNET_SCI_IFACE), or has the node another \
                         GASNET_SCI_SECURE than this one?"
                    ),
                    (Some(Differs::Protection), true) => {
                        format!("what {tried} sends is not protected; set GASNET_SCI_SECURE for all nodes")
                    }
                    (Some(Differs::Protection), false) => format!(
                        "what {tried} sends is protected, and this node's is not; set GASNET_SCI_SECURE for all nodes"
                    ),
                }
            }
        }
    }
}
