//! What an owner has to do with its peers: a segment as the host of who connects.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fd::AsFd;

use super::local::LocalSegment;
use super::share::Sibling;
use super::{group, share};
use crate::door::{Door, For, Guest, Host};
use crate::error::{Error, Result};
use crate::event::{Event, Reason};
use crate::packet::{Packet, Verb};
use crate::report::Report;
use crate::service::Watch;

/// The doors, guests and other owners of a segment.
#[derive(Default)]
pub struct Peers {
    doors: Vec<Arc<Door>>,
    guests: Vec<Arc<Guest>>,
    /// Other processes that own the segment.
    pub siblings: Vec<Arc<Sibling>>,
    is_closed: bool,
}

impl Peers {
    /// Opens a door: from now on somebody may come.
    pub fn open(segment: &LocalSegment, door: Arc<Door>) -> Result {
        let mut peers = segment.peers.lock();
        door.open()?;
        peers.doors.push(door);
        Ok(())
    }

    /// Adds a peer; false if the segment is being removed.
    pub fn add(&mut self, guest: Arc<Guest>) -> bool {
        if !self.is_closed {
            self.guests.push(guest);
        }
        !self.is_closed
    }

    /// The door for `whom`.
    pub fn door(&self, whom: For) -> Option<&Arc<Door>> {
        self.doors.iter().find(|door| door.whom == whom)
    }

    /// The peers that are connected.
    pub fn guests(&self) -> &[Arc<Guest>] {
        &self.guests
    }

    /// Whether a peer is connected.
    pub fn is_connected(&self) -> bool {
        !self.guests.is_empty()
    }

    /// Whether the segment is removed.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether no other process owns the segment.
    pub fn is_alone(&self) -> bool {
        self.siblings.is_empty()
    }

    /// Ends everything; if this was the last owner, the peers are told.
    pub fn close(&mut self, is_last: bool) {
        self.is_closed = true;
        for guest in self.guests.drain(..) {
            if is_last {
                guest.dismiss(Verb::Withdrawn);
            }
            guest.forget();
        }
        for sibling in self.siblings.drain(..) {
            sibling.forget();
        }
        for door in self.doors.drain(..) {
            door.close();
        }
    }
}

impl LocalSegment {
    /// Lets a peer in, if the segment is available.
    fn admit(&self, guest: &Arc<Guest>, node: u32, adapter: u32) -> Result {
        // Under the lock: who makes the segment unavailable, and throws out its peers, finds this one among them.
        let mut peers = self.peers.lock();
        // Ordering: Acquire, so that who may connect also finds the memory.
        let is_available = self.available.load(Ordering::Acquire) & 1 << adapter != 0;
        let memory = self.body.memory().filter(|_| is_available).ok_or(Error::NoSuchSegment)?;
        let (flags, size, offset) = (self.flags, self.body.size() as u64, memory.offset);
        let answer = Packet { flags, size, offset, ..Packet::new(Verb::Answer) };
        if !peers.add(guest.clone()) {
            return Err(Error::NoSuchSegment);
        }
        guest.admit(node, adapter);
        for sibling in &peers.siblings {
            sibling.tell_guest(guest);
        }
        // Under the lock: the answer comes before whatever this side says next. A peer that has ended meanwhile is noticed by the end of its connection.
        let _ = answer.send(guest.socket(), &[memory.fd.as_fd()]);
        drop(peers);
        self.events.push(Event { reason: Reason::Connect, node, adapter, status: Error::Ok });
        Ok(())
    }

    /// Takes into account ends of peers, and of other owners, that the kernel knows of and the service has not looked at yet.
    pub fn notice_ends(&self) {
        let (guests, siblings) = {
            let peers = self.peers.lock();
            (peers.guests.clone(), peers.siblings.clone())
        };
        guests.into_iter().for_each(Watch::ready);
        siblings.into_iter().for_each(Watch::ready);
    }

    /// Tells all peers of an adapter to leave; or throws them out.
    pub fn dismiss(&self, adapter: u32, verb: Verb) {
        let peers = self.peers.lock();
        peers.guests.iter().filter(|guest| guest.peer().1 == adapter).for_each(|guest| guest.dismiss(verb));
    }
}

impl Host for LocalSegment {
    fn report(&self, whom: For) -> Report {
        let peers = self.peers.lock();
        let adapter = if let For::Peers(adapter) = whom { adapter } else { 0 };
        let guests = peers.guests.iter().filter(|guest| guest.peer().1 == adapter);
        Report {
            size: self.body.size() as u64,
            flags: self.flags,
            is_available: self.available.load(Ordering::Acquire) & 1 << adapter != 0,
            others: peers.siblings.len() as u32,
            has_callback: self.events.has_callback(),
            peers: guests.map(|guest| guest.report()).collect(),
            ..Report::own(self.since)
        }
    }

    fn greet(&self, guest: &Arc<Guest>, packet: Packet) -> Result {
        match (guest.whom, packet.verb) {
            (For::Peers(adapter), Verb::Connect) => self.admit(guest, packet.node, adapter),
            (For::Owners, Verb::Join) => {
                guest.forget();
                share::admit(self, guest.socket().try_clone().map_err(|_| Error::NoSpc)?);
                Ok(())
            }
            (For::Members, Verb::Join) => {
                let door = self.peers.lock().door(For::Members).cloned().ok_or(Error::NoSuchSegment)?;
                let (answer, fds) = group::admit(&self.body, &door, packet.size)?;
                let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
                let _ = answer.send(guest.socket(), &fds);
                guest.forget();
                Ok(())
            }
            _ => Err(Error::InconsistentVersions),
        }
    }

    fn left(&self, guest: &Arc<Guest>) {
        let mut peers = self.peers.lock();
        let before = peers.guests.len();
        peers.guests.retain(|other| !Arc::ptr_eq(other, guest));
        let was_connected = peers.guests.len() < before;
        drop(peers);
        if was_connected {
            let (node, adapter) = guest.peer();
            self.events.push(Event { reason: Reason::Disconnect, node, adapter, status: Error::Ok });
        }
    }
}
