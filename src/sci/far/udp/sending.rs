//! How datagrams leave: those of one size to one peer in one call, up to [`BATCH`] of them; with the faults that are wanted.
//!
//! Must not know: what a datagram says.

#![allow(unsafe_code)] // memory of clients, until it is acknowledged

use super::Udp;
use super::contact::{Path, Peer};
use super::datagram::Datagram;
use crate::os::{sys, udp};
use crate::sci::far::tcp::chunk::Memory;
use crate::sync::Ordering;
use smallvec::SmallVec;
use socket2::SockAddr;
use std::io::{self, IoSlice};
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Datagrams in one call; bytes of them.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 65_000;

/// Bytes of a packet from which on the system takes them from where they lie. Copying shorter ones costs less than another part.
const LONG: usize = 1 << 10;

/// Datagrams that go in one call: all have as many bytes as the first, but the last, which may have fewer.
#[derive(Default)]
pub(super) struct Batch {
    /// Heads and what is short.
    bytes: Vec<u8>,
    /// All bytes in their order: how many of `bytes`, then some from elsewhere.
    parts: Vec<(usize, Memory)>,
    /// Of `bytes`, those that no part has.
    rest: usize,
    len: usize,
    each: usize,
    count: usize,
}

impl Batch {
    /// Another datagram of `len` bytes fits.
    fn takes(&self, len: usize) -> bool {
        let is_whole = self.len == self.each * self.count;
        self.count == 0 || is_whole && len <= self.each && self.count < BATCH && self.len + len <= BATCH_BYTES
    }

    /// Adds another datagram. What is sealed is copied meanwhile.
    fn put(&mut self, datagram: Datagram<'_>) {
        let len = datagram.size();
        self.each = if self.count == 0 { len } else { self.each };
        self.count += 1;
        self.len += len;
        if datagram.is_sealed() {
            datagram.put(&mut self.bytes);
            self.rest += len;
        } else {
            datagram.parts().into_iter().for_each(|part| self.add(part));
        }
    }

    /// Adds bytes, which stay where they are, and as they are, until the batch is sent.
    fn add(&mut self, bytes: Memory) {
        if bytes.len >= LONG {
            self.parts.push((std::mem::take(&mut self.rest), bytes));
            return;
        }
        // SAFETY: the caller promises that they are readable.
        self.bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(bytes.at, bytes.len) });
        self.rest += bytes.len;
    }

    /// What goes, part by part.
    fn list(&self) -> SmallVec<[IoSlice<'_>; 2 * BATCH]> {
        let (mut list, mut from) = (SmallVec::new(), 0);
        for (own, elsewhere) in &self.parts {
            list.push(IoSlice::new(&self.bytes[from..from + own]));
            // SAFETY: as `add` demands.
            list.push(IoSlice::new(unsafe { std::slice::from_raw_parts(elsewhere.at, elsewhere.len) }));
            from += own;
        }
        list.push(IoSlice::new(&self.bytes[from..]));
        list
    }

    fn clear(&mut self) {
        (self.rest, self.len, self.count) = (0, 0, 0);
        self.bytes.clear();
        self.parts.clear();
    }
}

impl Udp {
    /// All datagrams that go now (rule 2).
    pub(super) fn send(&self, peer: &mut Peer, now: u64) {
        let Peer { link, path: Some(path), batch, refusal, .. } = peer else { return };
        while let Some(datagram) = link.pipe().next(now) {
            if !batch.takes(datagram.size()) {
                self.put_out(path, batch, refusal, now);
            }
            if !datagram.is_whole {
                batch.put(datagram);
                continue;
            }
            self.put_out(path, batch, refusal, now);
            batch.put(datagram);
            // What is too long even for this host is not answered, and that is all.
            let socket = &self.sockets[path.socket];
            udp::keep_whole(socket, true);
            self.put_out(path, batch, &mut None, now);
            udp::keep_whole(socket, false);
        }
        self.put_out(path, batch, refusal, now);
    }

    /// Sends a batch, with the faults that are wanted. It is empty afterwards. `refusal`: why the system did not take it, if it did not.
    fn put_out(&self, path: &Path, batch: &mut Batch, refusal: &mut Option<io::Error>, now: u64) {
        if batch.count == 0 {
            return;
        }
        if let Some(faults) = &self.faults {
            let mut faults = faults.lock();
            for datagram in joined(&batch.list()).chunks(batch.each) {
                faults.send(now, path.socket, &path.to, datagram, &mut |at, to, one| {
                    note(refusal, put_out(&self.sockets[at], to, &[IoSlice::new(one)], one.len(), one.len()));
                });
            }
            self.due.fetch_min(faults.timer(), Ordering::Relaxed); // Relaxed: a time
        } else {
            note(refusal, put_out(&self.sockets[path.socket], &path.to, &batch.list(), batch.len, batch.each));
        }
        batch.clear();
    }

    /// Sends what faults have kept back until now.
    pub(super) fn send_late(&self) {
        if let Some(faults) = &self.faults {
            let mut faults = faults.lock();
            faults.send_late(self.now(), &mut |at, to, one| {
                drop(put_out(&self.sockets[at], to, &[IoSlice::new(one)], one.len(), one.len()));
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

/// Sends a batch of `len` bytes. What the system does not take counts as lost on the way; the error says why.
fn put_out(socket: &UdpSocket, to: &SockAddr, batch: &[IoSlice<'_>], len: usize, each: usize) -> io::Result<()> {
    let segment = (len > each).then_some(each as u16);
    match udp::send(socket, to, batch, segment) {
        Ok(false) => {
            sys::poll_one(socket.as_fd(), libc::POLLOUT);
            udp::send(socket, to, batch, segment).map(drop)
        }
        // A system that cannot cut batches, or not this one, has them one by one.
        Err(_) if segment.is_some() => {
            let bytes = joined(batch);
            let one = |bytes| udp::send(socket, to, &[IoSlice::new(bytes)], None).map(drop);
            bytes.chunks(each).map(one).fold(Ok(()), Result::and)
        }
        result => result.map(drop),
    }
}

fn joined(parts: &[IoSlice<'_>]) -> Vec<u8> {
    parts.iter().flat_map(|part| part.iter().copied()).collect()
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
            let len = 65_508;
            peer.batch = Batch { bytes: vec![0; len], rest: len, len, each: len, count: 1, ..Batch::default() };
        }
        let _ = node.post(1, b"more");
        let why = node.loss();
        assert!(why.contains("takes no datagram of") && why.contains("Message too long"), "{why}");
        assert!(node.post(1, b"more").is_err());
    }
}
