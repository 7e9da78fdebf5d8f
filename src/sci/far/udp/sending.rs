//! How datagrams leave: those of one size to one peer in one call, up to [`BATCH`] of them; with the faults that are wanted.
//!
//! Must not know: what a datagram says.

#![allow(unsafe_code)] // memory of clients, until it is acknowledged

use super::contact::{Path, Peer};
use super::{HEAD, Udp};
use crate::os::{sys, udp};
use crate::sync::Ordering;
use socket2::SockAddr;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Datagrams in one call; bytes of them.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 65_000;
impl Udp {
    /// All datagrams that go now (rule 2).
    pub(super) fn send(&self, peer: &mut Peer, now: u64) {
        let Peer { link, path: Some(path), .. } = peer else { return };
        let mut batch: Vec<u8> = Vec::new();
        let (mut each, mut count) = (0, 0);
        loop {
            let (len, is_more) = match link.pipe().next(now) {
                Some(datagram) => {
                    let theirs = datagram.theirs.map_or(0, |memory| memory.len);
                    let len = HEAD + datagram.own.len() + theirs;
                    // A smaller one may be the last of a batch, a larger one begins another.
                    if count > 0 && (len > each || count == BATCH || batch.len() + len > BATCH_BYTES) {
                        self.put_out(path, &batch, each, now);
                        batch.clear();
                        count = 0;
                    }
                    batch.extend_from_slice(&datagram.head);
                    batch.extend_from_slice(datagram.own);
                    if let Some(memory) = datagram.theirs {
                        // SAFETY: it is readable until the packet is acknowledged, as the wire's callers promise.
                        batch.extend_from_slice(unsafe { std::slice::from_raw_parts(memory.at, memory.len) });
                    }
                    (len, true)
                }
                None => (0, false),
            };
            if !is_more {
                break;
            }
            each = if count == 0 { len } else { each };
            count += 1;
            if len < each {
                self.put_out(path, &batch, each, now);
                batch.clear();
                count = 0;
            }
        }
        if count > 0 {
            self.put_out(path, &batch, each, now);
        }
    }

    /// Sends a batch, with the faults that are wanted.
    fn put_out(&self, path: &Path, batch: &[u8], each: usize, now: u64) {
        let Some(faults) = &self.faults else { return put_out(&self.sockets[path.socket], &path.to, batch, each) };
        let mut faults = faults.lock();
        for datagram in batch.chunks(each) {
            faults.send(now, path.socket, &path.to, datagram, &mut |at, to, one| {
                put_out(&self.sockets[at], to, one, one.len())
            });
        }
        self.due.fetch_min(faults.timer(), Ordering::Relaxed); // Relaxed: a time
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
