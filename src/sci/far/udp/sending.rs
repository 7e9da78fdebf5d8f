//! How datagrams leave: those of one size to one peer in one call, as many as a [`Batch`] takes; with the faults that are wanted.
//!
//! Must not know: what a datagram says.

use super::Udp;
use super::batch::Batch;
use super::peer::{Path, Peer};
use crate::os::{net, sys, udp};
use crate::sync::Ordering;
use socket2::SockAddr;
use std::io::{self, IoSlice};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

impl Udp {
    /// All datagrams that go now (rule 2). The caller has the link locked, so no packet leaves it before its bytes have gone.
    pub(super) fn send(&self, peer: &mut Peer, now: u64) {
        let Peer { link, path: Some(path), refusal, .. } = peer else { return };
        link.pipe().begin(now, || self.in_host(path));
        let Some(mut datagram) = link.pipe().next(now) else { return };
        // Who finds them locked makes another one: who leaves waits for nobody.
        let mut batch = self.batches.try_lock().and_then(|mut batches| batches.pop()).unwrap_or_default();
        loop {
            if !batch.takes(datagram.size()) {
                self.put_out(path.socket, path, &mut batch, refusal, now);
            }
            if !datagram.is_whole {
                batch.put(datagram);
            } else {
                self.put_out(path.socket, path, &mut batch, refusal, now);
                batch.put(datagram);
                // What is too long even for this host is not answered, and that is all.
                self.put_out(self.sockets.len() + path.socket, path, &mut batch, &mut None, now);
            }
            match link.pipe().next(now) {
                Some(next) => datagram = next,
                None => break,
            }
        }
        self.put_out(path.socket, path, &mut batch, refusal, now);
        self.batches.try_lock().into_iter().for_each(|mut batches| batches.push(std::mem::take(&mut batch)));
        self.count(peer);
    }

    /// Bytes for a peer that have not left this host.
    fn in_host(&self, path: &mut Path) -> usize {
        let (socket, is_direct) = self.socket_of(path.socket, path);
        let all = net::unacknowledged(socket.as_fd());
        match self.given.get(path.socket).filter(|_| !is_direct) {
            Some(given) => path.lately.among(given.load(Ordering::Relaxed), all), // Relaxed: a count, of which the last bytes may be missing
            None => all,
        }
    }

    /// What goes from there goes by this socket. True: it is the peer's own, and connected.
    fn socket_of(&self, from: usize, path: &Path) -> (&UdpSocket, bool) {
        let direct =
            path.direct.filter(|_| from == path.socket).and_then(|number| self.direct[usize::from(number)].made());
        (direct.map_or_else(|| self.socket(from), |made| &made.socket), direct.is_some())
    }

    /// The sockets have numbers, and behind them those beside them, whose datagrams nobody cuts.
    fn socket(&self, number: usize) -> &UdpSocket {
        self.sockets.get(number).unwrap_or_else(|| &self.uncut[number - self.sockets.len()])
    }

    /// Sends a batch, with the faults that are wanted. It is empty afterwards. `refusal`: why the system did not take it, if it did not.
    fn put_out(&self, from: usize, path: &mut Path, batch: &mut Batch, refusal: &mut Option<io::Error>, now: u64) {
        if batch.count == 0 {
            return;
        }
        if let Some(faults) = &self.faults {
            let (Some(mut faults), to) = (self.enter(faults, Duration::ZERO), SockAddr::from(path.at)) else {
                return batch.clear();
            };
            for datagram in batch.copy().chunks(batch.each) {
                faults.send(now, from, &to, datagram, &mut |at, to, one| {
                    note(refusal, put_out(self.socket(at), Some(to), &[IoSlice::new(one)], None));
                });
            }
            self.due.fetch_min(faults.timer(), Ordering::Relaxed); // Relaxed: a time
        } else {
            note(refusal, self.put_out_all(from, path, batch));
        }
        batch.clear();
    }

    fn put_out_all(&self, from: usize, path: &mut Path, batch: &Batch) -> io::Result<()> {
        let (socket, is_direct) = self.socket_of(from, path);
        if let Some(given) = self.given.get(from).filter(|_| !is_direct) {
            let before = given.fetch_add(batch.len as u64, Ordering::Relaxed); // Relaxed: a count
            path.lately.add(before + batch.len as u64, batch.len);
        }
        let there = (!is_direct).then(|| SockAddr::from(path.at));
        let to = there.as_ref();
        let segment = (batch.count > 1).then_some(batch.each as u16);
        let result = put_out(socket, to, &batch.parts(), segment);
        if result.is_ok() || segment.is_none() {
            return result;
        }
        // A system that cannot cut batches, or not this one, has them one by one.
        let one_by_one = |one| put_out(socket, to, &[IoSlice::new(one)], None);
        batch.copy().chunks(batch.each).map(one_by_one).fold(Ok(()), Result::and)
    }

    /// Sends what faults have kept back until now.
    pub(super) fn send_late(&self) {
        if let Some(mut faults) = self.faults.as_ref().and_then(|faults| self.enter(faults, Duration::ZERO)) {
            faults.send_late(self.now(), &mut |at, to, one| {
                let _ = put_out(self.socket(at), Some(to), &[IoSlice::new(one)], None);
            });
            self.due.fetch_min(faults.timer(), Ordering::Relaxed); // Relaxed: a time
        }
    }
}

/// A datagram that is too long is too long when it is sent again, whatever is sent in between.
pub(super) fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

fn note(refusal: &mut Option<io::Error>, result: io::Result<()>) {
    if !refusal.as_ref().is_some_and(is_too_long) {
        *refusal = result.err();
    }
}

/// Sends datagrams of `each` bytes, or one. What the system does not take counts as lost on the way; the error says why.
fn put_out(socket: &UdpSocket, to: Option<&SockAddr>, parts: &[IoSlice<'_>], each: Option<u16>) -> io::Result<()> {
    if !udp::send(socket, to, parts, each)? {
        sys::poll_one(socket.as_fd(), libc::POLLOUT);
        udp::send(socket, to, parts, each)?;
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::boot::contact::address::Endpoint;
    use crate::sci::far::conformance::Pair;
    use crate::sci::far::udp::mode::Mode;
    use crate::sci::far::wire::Wire;
    use std::net::Ipv4Addr;

    /// A node, and a peer whose link has this to send.
    fn pair() -> Pair<Udp> {
        let here = Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0);
        let wires = (0..2).map(|me| Udp::new(me, 2, [7; 16], &here, Mode::NORMAL).unwrap());
        Pair::new(wires.map(|wire| wire.with_times(Duration::from_millis(200), Duration::from_secs(60))).collect())
    }

    #[test]
    fn a_peer_to_which_nothing_can_be_sent_is_given_up_with_the_reason() {
        let mut pair = pair();
        pair.post(0, 1, b"there");
        pair.until("a frame", || pair.came(1) == 1);
        drop(pair.nodes.pop());
        let node = &pair.nodes[0];
        while node.wire.progress(node, true) {} // what it has still said
        // A socket of the loopback reaches no other host.
        let elsewhere = std::net::SocketAddr::from(([192, 0, 2, 1], 9));
        node.wire.peers[1].get().unwrap().lock().path.as_mut().unwrap().at = elsewhere;
        assert_eq!(node.post(1, b"more"), Ok(true));
        let why = node.loss();
        assert!(
            why.contains("no sign of life") && why.contains("refuses what is sent there: Invalid argument"),
            "{why}"
        );
    }

    #[test]
    fn a_datagram_that_is_too_long_for_the_way_ends_the_link_at_once() {
        let pair = pair();
        pair.post(0, 1, b"there");
        pair.until("a frame", || pair.came(1) == 1);
        let node = &pair.nodes[0];
        {
            let mut peer = node.wire.peers[1].get().unwrap().lock();
            let Peer { path: Some(path), refusal, .. } = &mut *peer else { unreachable!("it has answered") };
            let mut batch = Batch { bytes: vec![0; 65_508], each: 65_508, count: 1, len: 65_508, ..Batch::default() };
            node.wire.put_out(path.socket, path, &mut batch, refusal, 0);
        }
        let _ = node.post(1, b"more");
        let why = node.loss();
        assert!(why.contains("takes no datagram of") && why.contains("Message too long"), "{why}");
        assert!(node.post(1, b"more").is_err());
    }
}
