//! How datagrams leave: those of one size to one peer in one call, up to [`BATCH`] of them; with the faults that are wanted.
//!
//! Must not know: what a datagram says.

use super::Udp;
use super::contact::{Path, Peer};
use super::datagram::Datagram;
use crate::os::{sys, udp};
use crate::sync::Ordering;
use socket2::SockAddr;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Datagrams in one call; bytes of them. Cut by the system (GSO) and put together again (GRO), Longs of 64 KiB go at 575 MB/s over datagrams
/// of 1,472 bytes; one by one at 97, put together no more at 175; over those of 16 KiB at 540 and one by one at 418 (a loaded EPYC VM,
/// 2026-11, best of three). What goes is copied to one place first: a list of parts in its stead was no faster.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 65_000;

/// Datagrams that go in one call: all have as many bytes as the first, but the last, which may have fewer.
#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    each: usize,
    count: usize,
}

impl Batch {
    /// Another datagram of `len` bytes fits.
    fn takes(&self, len: usize) -> bool {
        let is_whole = self.bytes.len() == self.each * self.count;
        self.count == 0 || is_whole && len <= self.each && self.count < BATCH && self.bytes.len() + len <= BATCH_BYTES
    }

    /// Adds another datagram.
    fn put(&mut self, datagram: Datagram<'_>) {
        self.each = if self.count == 0 { datagram.size() } else { self.each };
        self.count += 1;
        datagram.put(&mut self.bytes);
    }
}

impl Udp {
    /// All datagrams that go now (rule 2).
    pub(super) fn send(&self, peer: &mut Peer, now: u64) {
        let Peer { link, path: Some(path), batch, refusal, .. } = peer else { return };
        while let Some(datagram) = link.pipe().next(now) {
            if !batch.takes(datagram.size()) {
                self.put_out(path.socket, path, batch, refusal, now);
            }
            if !datagram.is_whole {
                batch.put(datagram);
                continue;
            }
            self.put_out(path.socket, path, batch, refusal, now);
            batch.put(datagram);
            // What is too long even for this host is not answered, and that is all.
            self.put_out(self.sockets.len() + path.socket, path, batch, &mut None, now);
        }
        self.put_out(path.socket, path, batch, refusal, now);
    }

    /// The sockets have numbers, and behind them those beside them, whose datagrams nobody cuts.
    fn socket(&self, number: usize) -> &UdpSocket {
        self.sockets.get(number).unwrap_or_else(|| &self.uncut[number - self.sockets.len()])
    }

    /// Sends a batch, with the faults that are wanted. It is empty afterwards. `refusal`: why the system did not take it, if it did not.
    fn put_out(&self, from: usize, path: &Path, batch: &mut Batch, refusal: &mut Option<io::Error>, now: u64) {
        let Batch { bytes, each, count } = batch;
        if *count == 0 {
            return;
        }
        *count = 0;
        let Some(faults) = &self.faults else {
            note(refusal, put_out(self.socket(from), &path.to, bytes, *each));
            return bytes.clear();
        };
        let mut faults = faults.lock();
        for datagram in bytes.chunks(*each) {
            faults.send(now, from, &path.to, datagram, &mut |at, to, one| {
                note(refusal, put_out(self.socket(at), to, one, one.len()));
            });
        }
        self.due.fetch_min(faults.timer(), Ordering::Relaxed); // Relaxed: a time
        bytes.clear();
    }

    /// Sends what faults have kept back until now.
    pub(super) fn send_late(&self) {
        if let Some(faults) = &self.faults {
            let mut faults = faults.lock();
            faults.send_late(self.now(), &mut |at, to, one| drop(put_out(self.socket(at), to, one, one.len())));
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

/// Sends a batch. What the system does not take counts as lost on the way; the error says why.
fn put_out(socket: &UdpSocket, to: &SockAddr, batch: &[u8], each: usize) -> io::Result<()> {
    let segment = (batch.len() > each).then_some(each as u16);
    match udp::send(socket, to, batch, segment) {
        Ok(false) => {
            sys::poll_one(socket.as_fd(), libc::POLLOUT);
            udp::send(socket, to, batch, segment).map(drop)
        }
        // A system that cannot cut batches, or not this one, has them one by one.
        Err(_) if segment.is_some() => {
            batch.chunks(each).map(|one| udp::send(socket, to, one, None).map(drop)).fold(Ok(()), Result::and)
        }
        result => result.map(drop),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::boot::contact::address::Endpoint;
    use crate::sci::far::conformance::Pair;
    use crate::sci::far::udp::mode::Mode;
    use std::net::Ipv4Addr;
    use std::time::Duration;

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
        // A socket of the loopback reaches no other host.
        let elsewhere = std::net::SocketAddr::from(([192, 0, 2, 1], 9));
        node.wire.peers[1].get().unwrap().lock().path.as_mut().unwrap().to = elsewhere.into();
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
            peer.batch = Batch { bytes: vec![0; 65_508], each: 65_508, count: 1 };
        }
        let _ = node.post(1, b"more");
        let why = node.loss();
        assert!(why.contains("takes no datagram of") && why.contains("Message too long"), "{why}");
        assert!(node.post(1, b"more").is_err());
    }
}
