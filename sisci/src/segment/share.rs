//! Segments that several processes of a node own. All owners have the same memory, listen at the same sockets, and hold the connection of each
//! peer: so a peer that comes is served by any of them, and a peer's connection ends only when the last owner has gone.
//!
//! Owners are connected in a tree: who attaches is connected to whom it found at the name. What one says goes through the tree to all.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::local::{Back, LocalSegment};
use super::peer::Peers;
use crate::constants as flag;
use crate::door::{Door, For, Guest, Host};
use crate::error::{Error, Result};
use crate::event::{Callback, Event, Reason};
use crate::handle::{self, Handle};
use crate::memory::Memory;
use crate::name::{Name, What, deadline, nodes_with};
use crate::packet::{self, Packet, Verb, refused};
use crate::service::{self, Ticket, Watch};
use crate::state;

/// The adapters in a word of an answer.
const STATE: u32 = 0xffff;
/// How long an owner may take to answer.
const PATIENCE: u32 = 5_000;

/// The connection to another owner.
pub struct Sibling {
    segment: Back,
    socket: OwnedFd,
    ticket: OnceLock<Ticket>,
}

impl Sibling {
    fn start(segment: Back, socket: OwnedFd) -> Option<Arc<Sibling>> {
        let sibling = Arc::new(Sibling { segment, socket, ticket: OnceLock::new() });
        service::watch(&sibling.socket, sibling.clone(), &sibling.ticket).ok()?;
        Some(sibling)
    }

    /// Looks at it no longer.
    pub fn forget(&self) {
        if let Some(&ticket) = self.ticket.get() {
            service::forget(&self.socket, ticket);
        }
    }

    /// A peer has connected.
    pub fn tell_guest(&self, guest: &Guest) {
        let (node, adapter) = guest.peer();
        let packet = Packet { node, status: adapter, ..Packet::new(Verb::Link) };
        let _ = packet.send(&self.socket, &[guest.socket().as_fd()]);
    }

    fn tell_state(&self, segment: &LocalSegment) {
        let (prepared, available) =
            (segment.prepared.load(Ordering::Acquire), segment.available.load(Ordering::Acquire));
        let _ = Packet { node: prepared, status: available, ..Packet::new(Verb::State) }.send(&self.socket, &[]);
    }

    /// Another owner has said something; the owners behind this one hear of it as well.
    fn hear(self: &Arc<Self>, packet: Packet, mut fds: Vec<OwnedFd>) {
        let Some(segment) = self.segment.upgrade() else { return };
        match packet.verb {
            Verb::State => {
                segment.prepared.store(packet.node, Ordering::Release);
                segment.available.store(packet.status, Ordering::Release);
                segment.tell_state_but(Some(self));
            }
            Verb::Link => {
                let Some(socket) = fds.pop() else { return };
                let host: Weak<dyn Host> = self.segment.clone();
                let guest = Guest::of_sibling(host, socket, packet.node, packet.status);
                let mut peers = segment.peers.lock();
                if !peers.add(guest.clone()) {
                    return;
                }
                for other in peers.siblings.iter().filter(|other| !Arc::ptr_eq(other, self)) {
                    other.tell_guest(&guest);
                }
                drop(peers);
                segment.events.push(Event {
                    reason: Reason::Connect,
                    node: packet.node,
                    adapter: packet.status,
                    status: Error::Ok,
                });
                guest.watch();
            }
            Verb::Owner => {
                let mut peers = segment.peers.lock();
                let sibling =
                    fds.pop().filter(|_| !peers.is_closed()).and_then(|socket| Sibling::start(segment.back(), socket));
                peers.siblings.extend(sibling);
            }
            _ => {}
        }
    }
}

impl Watch for Sibling {
    fn ready(self: Arc<Self>) {
        match Packet::receive(&self.socket) {
            Err(Errno::AGAIN) => {}
            Ok(Some((packet, fds))) => self.hear(packet, fds),
            Ok(None) | Err(_) => {
                self.forget();
                if let Some(segment) = self.segment.upgrade() {
                    segment.peers.lock().siblings.retain(|other| !Arc::ptr_eq(other, &self));
                }
            }
        }
    }
}

impl LocalSegment {
    /// Tells all other owners for which adapters it is prepared and available.
    pub fn tell_state(&self) {
        self.tell_state_but(None);
    }

    fn tell_state_but(&self, speaker: Option<&Arc<Sibling>>) {
        for sibling in &self.peers.lock().siblings {
            if speaker.is_none_or(|speaker| !Arc::ptr_eq(speaker, sibling)) {
                sibling.tell_state(self);
            }
        }
    }
}

/// SCIShareSegment.
pub fn share(segment: Handle) -> Result {
    let segment = handle::get::<LocalSegment>(segment)?;
    if segment.flags & flag::PRIVATE != 0 || segment.body.memory().is_none() {
        return Err(Error::IllegalOperation);
    }
    if segment.peers.lock().door(For::Owners).is_some() {
        return Ok(());
    }
    let name = Name::new(segment.nodes[0], What::Shared, segment.id);
    let socket =
        name.listen().map_err(|errno| if errno == Errno::ADDRINUSE { Error::SegmentIdUsed } else { errno.into() })?;
    Peers::open(&segment, Door::new(segment.back(), socket, name, For::Owners))
}

/// Somebody wants to own the segment as well: gives it memory, doors, state and links.
pub fn admit(segment: &LocalSegment, socket: OwnedFd) {
    let mut peers = segment.peers.lock();
    let Some(memory) = segment.body.memory().filter(|_| !peers.is_closed()) else { return };
    // The doors of the adapters in their order, then the one for owners.
    let adapters = (0..segment.nodes.len() as u32).filter_map(|adapter| peers.door(For::Peers(adapter)));
    let doors: Result<Vec<OwnedFd>> = adapters.chain(peers.door(For::Owners)).map(|door| door.copy()).collect();
    let Ok(doors) = doors else { return };
    let fds: Vec<_> = [memory.fd.as_fd()].into_iter().chain(doors.iter().map(AsFd::as_fd)).collect();
    let (prepared, available) = (segment.prepared.load(Ordering::Acquire), segment.available.load(Ordering::Acquire));
    // Two numbers of a bit per adapter in one word.
    let state = (prepared & STATE) | (available & STATE) << 16;
    let (flags, size, offset) = (segment.flags, segment.body.size() as u64, memory.offset);
    let answer = Packet { node: state, flags, size, offset, ..Packet::new(Verb::Answer) };
    if answer.send(&socket, &fds).is_err() {
        return;
    }
    let Some(sibling) = Sibling::start(segment.back(), socket) else { return };
    for guest in peers.guests() {
        sibling.tell_guest(guest);
    }
    peers.siblings.push(sibling);
}

/// SCIAttachLocalSegment. Returns the handle and the size.
pub fn attach(descriptor: Handle, id: u32, callback: Option<Callback>) -> Result<(Handle, usize)> {
    let node = state::node_of(0)?;
    let until = deadline(PATIENCE);
    let socket = match Name::new(node, What::Shared, id).connect(until) {
        Err(Error::NoSuchSegment) if nodes_with(What::Segment).contains(&(node, id)) => {
            return Err(Error::Access);
        }
        result => result?,
    };
    let (answer, fds) = packet::ask(&socket, Packet { node, ..Packet::new(Verb::Join) }, until)?;
    if answer.status != 0 {
        return Err(refused(answer.status));
    }
    let (segment, place) = LocalSegment::new(descriptor, id, answer.flags, callback)?;
    let adapters = segment.nodes.len();
    if fds.len() != adapters + 2 {
        return Err(Error::InconsistentVersions);
    }
    let mut fds = fds.into_iter();
    let memory = fds.next().ok_or(Error::InconsistentVersions)?;
    let size = answer.size as usize;
    segment.body.set(Memory::from_peer(memory, answer.size, answer.offset)?, size)?;
    // Who comes through a door has to find the state, and the owner that hears of it.
    segment.prepared.store(answer.node & STATE, Ordering::Release);
    segment.available.store(answer.node >> 16 & STATE, Ordering::Release);
    let sibling = Sibling::start(segment.back(), socket).ok_or(Error::NoSpc)?;
    segment.peers.lock().siblings.push(sibling);
    let opened = open_doors(&segment, fds);
    if let Err(error) = opened {
        segment.peers.lock().close(false);
        return Err(error);
    }
    Ok((place.fill(segment), size))
}

/// Opens the doors that another owner has sent: those of the adapters, and that for owners.
fn open_doors(segment: &Arc<LocalSegment>, fds: impl Iterator<Item = OwnedFd>) -> Result {
    let (adapters, id) = (segment.nodes.len(), segment.id);
    for (door, socket) in fds.enumerate() {
        let (whom, what) =
            if door < adapters { (For::Peers(door as u32), What::Segment) } else { (For::Owners, What::Shared) };
        let name = Name::new(segment.nodes[door % adapters], what, id);
        Peers::open(segment, Door::new(segment.back(), socket, name, whom))?;
    }
    Ok(())
}

/// An owner leaves: those on its sides are connected to each other, so that all owners stay one tree.
pub fn introduce(peers: &Peers) {
    let Some((first, others)) = peers.siblings.split_first() else { return };
    for other in others {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let Ok((one, two)) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None) else { return };
        let _ = Packet::new(Verb::Owner).send(&first.socket, &[one.as_fd()]);
        let _ = Packet::new(Verb::Owner).send(&other.socket, &[two.as_fd()]);
    }
}
