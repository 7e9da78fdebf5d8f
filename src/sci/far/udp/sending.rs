//! How datagrams leave: those of one size to one peer in one call, up to [`BATCH`] of them; with the faults that are wanted.
//!
//! Must not know: what a datagram says.

use super::Udp;
use super::contact::{Path, Peer};
use crate::os::{sys, udp};
use crate::sync::Ordering;
use socket2::SockAddr;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Datagrams in one call; bytes of them.
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
}

impl Udp {
    /// All datagrams that go now (rule 2).
    pub(super) fn send(&self, peer: &mut Peer, now: u64) {
        let Peer { link, path: Some(path), batch, .. } = peer else { return };
        while let Some(datagram) = link.pipe().next(now) {
            let len = datagram.len();
            if !batch.takes(len) {
                self.put_out(path, batch, now);
            }
            batch.each = if batch.count == 0 { len } else { batch.each };
            batch.count += 1;
            datagram.put(&mut batch.bytes);
        }
        self.put_out(path, batch, now);
    }

    /// Sends a batch, with the faults that are wanted. It is empty afterwards.
    fn put_out(&self, path: &Path, batch: &mut Batch, now: u64) {
        let Batch { bytes, each, count } = batch;
        if *count == 0 {
            return;
        }
        *count = 0;
        let Some(faults) = &self.faults else {
            put_out(&self.sockets[path.socket], &path.to, bytes, *each);
            return bytes.clear();
        };
        let mut faults = faults.lock();
        for datagram in bytes.chunks(*each) {
            faults.send(now, path.socket, &path.to, datagram, &mut |at, to, one| {
                put_out(&self.sockets[at], to, one, one.len())
            });
        }
        self.due.fetch_min(faults.timer(), Ordering::Relaxed); // Relaxed: a time
        bytes.clear();
    }

    /// Sends what faults have kept back until now.
    pub(super) fn send_late(&self) {
        if let Some(faults) = &self.faults {
            let mut faults = faults.lock();
            faults.send_late(self.now(), &mut |at, to, one| put_out(&self.sockets[at], to, one, one.len()));
            self.due.fetch_min(faults.timer(), Ordering::Relaxed); // Relaxed: a time
        }
    }
}

/// Sends a batch. What the system does not take counts as lost on the way.
fn put_out(socket: &UdpSocket, to: &SockAddr, batch: &[u8], each: usize) {
    let segment = (batch.len() > each).then_some(each as u16);
    match udp::send(socket, to, batch, segment) {
        Ok(true) => {}
        Ok(false) => {
            sys::poll_one(socket.as_fd(), libc::POLLOUT);
            let _ = udp::send(socket, to, batch, segment);
        }
        // A system that cannot cut batches has them one by one.
        Err(_) if segment.is_some() => batch.chunks(each).for_each(|one| drop(udp::send(socket, to, one, None))),
        Err(_) => {}
    }
}
