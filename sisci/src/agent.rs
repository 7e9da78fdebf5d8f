//! Who stands in for a caller on another host, in the process of the owner: a thread for each connection. To the owner it is a peer of this host,
//! with the caller's node: it connects by the owner's name, counts as a guest, and gets the memory, to which it does what the caller says. It ends with
//! the caller, or when the owner ends the connection.
#![allow(unsafe_code)] // Memory of segments.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::error::{Error, Result};
use crate::far;
use crate::memory::{Mapping, Memory};
use crate::name::{Name, What, deadline};
use crate::net::proof;
use crate::net::say::{self, Answer, Inbox, MOST, Said, Say};
use crate::packet::{self, IS_FAR, Packet, Verb, refused};
use crate::service::{self, Ticket, Watch};
use crate::{interrupt, message, worker};

/// Milliseconds that the owner, which is this process, may take to answer.
const PATIENCE: u32 = 5_000;

/// Whom a caller wants.
struct Wanted {
    /// The caller's node.
    from: u32,
    /// A number of its process.
    process: u64,
    /// The name that it wants.
    name: Name,
    what: What,
}

/// What the caller may do.
enum Target {
    /// Write and read this memory.
    Memory(Mapping),
    /// Trigger the interrupts of this page.
    Page(Mapping),
    /// Trigger with data.
    Socket,
}

/// A connection. The first field is closed first: when the caller sees the end, the owner sees it as well.
struct Agent {
    near: OwnedFd,
    socket: OwnedFd,
    ticket: OnceLock<Ticket>,
    /// One thread at a time says something to the caller.
    out: Mutex<Vec<u8>>,
    /// The owner asks the caller to leave, which nobody has said yet.
    shall_leave: AtomicBool,
}

/// Another process of this host has let a caller in, who wants something of this process.
pub fn take(socket: OwnedFd, packet: Packet) {
    let Some(what) = What::far(packet.status) else { return };
    let name = Name::new(packet.size as u32 & 0xffff, what, packet.flags);
    let wanted = Wanted { from: packet.node, process: packet.size >> 16, name, what };
    // Without a thread the connection is closed, which the caller takes for NO_SUCH_SEGMENT.
    let _ = worker::spawn("sisci-agent", move || serve(socket, &wanted));
}

/// The packet that brings `socket` to the owner of a name, which is one of `node`.
pub fn packet(node: u32, (what, id): (What, u32), from: u32, process: u64) -> Packet {
    Packet {
        node: from,
        status: what as u32,
        flags: id,
        size: u64::from(node) | process << 16,
        ..Packet::new(Verb::Far)
    }
}

fn serve(socket: OwnedFd, wanted: &Wanted) {
    let until = deadline(PATIENCE);
    let (near, target, size) = match attach(wanted) {
        Ok(attached) => attached,
        Err(error) => {
            return proof::answer(&socket, &Answer { status: error as u32, ..Answer::default() }, until);
        }
    };
    proof::answer(&socket, &Answer { size, ..Answer::default() }, until);
    let agent = Arc::new(Agent {
        near,
        socket,
        ticket: OnceLock::new(),
        out: Mutex::default(),
        shall_leave: AtomicBool::new(false),
    });
    if service::watch(&agent.near, agent.clone(), &agent.ticket).is_ok() {
        let _ = agent.run(&target);
        agent.forget();
    }
}

/// Connects to the owner.
fn attach(wanted: &Wanted) -> Result<(OwnedFd, Target, u64)> {
    let until = deadline(PATIENCE);
    let near = wanted.name.connect(until)?;
    let connect = Packet { node: wanted.from, flags: IS_FAR, size: wanted.process, ..Packet::new(Verb::Connect) };
    let (answer, mut fds) = packet::ask(&near, connect, until)?;
    if answer.status != 0 {
        return Err(refused(answer.status));
    }
    let mut whole = || {
        let memory = Memory::from_peer(fds.pop().ok_or(Error::ConnectionRefused)?, answer.size)?;
        memory.map(0, memory.length, ptr::null_mut(), false)
    };
    let target = match wanted.what {
        What::DataInterrupt => Target::Socket,
        What::Interrupt => Target::Page(whole()?),
        _ => Target::Memory(whole()?),
    };
    Ok((near, target, answer.size))
}

impl Agent {
    /// Looks at the owner no longer.
    fn forget(&self) {
        if let Some(&ticket) = self.ticket.get() {
            service::forget(&self.near, ticket);
        }
    }

    /// Does what the caller says, until the connection ends.
    fn run(&self, target: &Target) -> Result {
        let mut inbox = Inbox::default();
        loop {
            match retry_on_intr(|| recv(&self.socket, inbox.room(), RecvFlags::empty())) {
                Ok((0, _)) | Err(_) => return Ok(()),
                Ok((count, _)) => inbox.came(count),
            }
            while let Some((say, body)) = inbox.next::<Say>()? {
                self.obey(target, say, inbox.body(body))?;
            }
        }
    }

    /// Does one thing. An error ends the connection: the caller says what no caller says, or the owner has gone.
    fn obey(&self, target: &Target, say: Say, body: &[u8]) -> Result {
        match (say, target) {
            (Say::Stores(pieces), Target::Memory(memory)) => {
                let mut rest = body;
                for (at, size) in pieces {
                    let (bytes, behind) = rest.split_at_checked(size as usize).ok_or(Error::OutOfRange)?;
                    let place = place(memory, at, bytes.len())?;
                    // SAFETY: within the mapping.
                    unsafe { far::store(place, bytes) };
                    rest = behind;
                }
                if rest.is_empty() { Ok(()) } else { Err(Error::OutOfRange) }
            }
            (Say::Copy(at), Target::Memory(memory)) => {
                let place = place(memory, at, body.len())?;
                // Ordering: Release; who sees a flag that is copied sees what was copied before it. A processor may make plain stores seen in
                // any order, as those of AArch64 do.
                fence(Ordering::Release);
                // SAFETY: within the mapping.
                unsafe { ptr::copy_nonoverlapping(body.as_ptr(), place, body.len()) };
                Ok(())
            }
            (Say::Read { at, size }, Target::Memory(memory)) if size as usize <= MOST => {
                let place = place(memory, at, size as usize)?;
                let mut bytes = vec![0; size as usize];
                // SAFETY: within the mapping.
                unsafe { ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), bytes.len()) };
                self.say(&Said::Bytes, &bytes)
            }
            (Say::Ask(number), _) => {
                // Ordering: what was stored is there before anything that the caller does when it knows it.
                fence(Ordering::SeqCst);
                self.say(&Said::Done(number), &[])
            }
            (Say::Trigger, Target::Page(page)) if interrupt::trigger_page(page) => Ok(()),
            (Say::Data, Target::Socket) if body.len() <= message::MOST => loop {
                // While the owner takes nothing, nothing more is read from the caller, so TCP makes it wait.
                match message::put(&self.near, body) {
                    Err(Error::EwouldBlock) => {}
                    result => return result,
                }
            },
            _ => Err(Error::InconsistentVersions),
        }
    }

    /// Says something to the caller; waits while it does not take it.
    fn say(&self, said: &Said, body: &[u8]) -> Result {
        let mut out = self.out.lock();
        out.clear();
        say::frame(said, body, &mut out)?;
        let mut rest = &out[..];
        while !rest.is_empty() {
            let sent = retry_on_intr(|| send(&self.socket, rest, SendFlags::NOSIGNAL));
            rest = &rest[sent.map_err(|_| Error::TransferFailed)?..];
        }
        drop(out);
        self.pass_on();
        Ok(())
    }

    /// Tells the caller that the owner asks it to leave, unless another thread is saying something and will do that afterwards.
    fn pass_on(&self) {
        // Ordering: SeqCst, with the lock between: who sets the word and finds the lock taken is seen by who lets the lock go.
        while self.shall_leave.load(Ordering::SeqCst) {
            let Some(mut out) = self.out.try_lock() else { return };
            if self.shall_leave.swap(false, Ordering::SeqCst) {
                out.clear();
                let framed = say::frame(&Said::Leave, &[], &mut out);
                let sent = framed.is_ok()
                    && send(&self.socket, &out, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) == Ok(out.len());
                if !sent {
                    // A caller that takes nothing more will not leave.
                    proof::end(&self.socket);
                }
            }
        }
    }
}

/// The address of `size` bytes of a mapping.
fn place(memory: &Mapping, at: u64, size: usize) -> Result<*mut u8> {
    let at = usize::try_from(at).map_err(|_| Error::OutOfRange)?;
    let is_within = at.checked_add(size).is_some_and(|end| end <= memory.length);
    if is_within { Ok(memory.base.wrapping_add(at)) } else { Err(Error::OutOfRange) }
}

impl Watch for Agent {
    /// The owner says something, or has ended the connection.
    fn ready(self: Arc<Self>) {
        match Packet::receive(&self.near) {
            Err(Errno::AGAIN) => {}
            Ok(Some((Packet { verb: Verb::Leave, .. }, _))) => {
                self.shall_leave.store(true, Ordering::SeqCst);
                self.pass_on();
            }
            _ => {
                self.forget();
                // The thread sees the end, and so does the caller.
                proof::end(&self.socket);
            }
        }
    }
}

/// An agent, and the other ends of its connections.
#[cfg(any(test, fuzzing))]
fn agent() -> (Agent, OwnedFd, OwnedFd) {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    let pair = |kind| socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
    let ((near, owner), (socket, caller)) = (pair(SocketType::SEQPACKET), pair(SocketType::STREAM));
    let (ticket, out, shall_leave) = (OnceLock::new(), Mutex::default(), AtomicBool::new(false));
    (Agent { near, socket, ticket, out, shall_leave }, owner, caller)
}

/// Does what these bytes say with a segment, or with a page of interrupts, which stays mapped. For `fuzzing`.
#[cfg(any(test, fuzzing))]
pub fn obey_all(memory: Mapping, is_page: bool, mut stream: &[u8]) {
    let (agent, _owner, caller) = agent();
    let target = if is_page { Target::Page(memory) } else { Target::Memory(memory) };
    let (mut inbox, mut answers) = (Inbox::default(), vec![0; 2 * MOST]);
    'all: while !stream.is_empty() {
        let room = inbox.room();
        let (part, rest) = stream.split_at(room.len().min(stream.len()));
        room[..part.len()].copy_from_slice(part);
        inbox.came(part.len());
        stream = rest;
        loop {
            let Ok(next) = inbox.next::<Say>() else { break 'all };
            let Some((say, body)) = next else { break };
            if agent.obey(&target, say, inbox.body(body)).is_err() {
                break 'all;
            }
            let _ = recv(&caller, &mut answers[..], RecvFlags::DONTWAIT);
        }
    }
    std::mem::forget(target);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::page;

    fn mapping() -> Mapping {
        let memory = Memory::new(page()).unwrap();
        memory.map(0, memory.length, ptr::null_mut(), false).unwrap()
    }

    #[test]
    fn a_caller_writes_and_reads_within_the_segment_alone() {
        let (agent, _owner, _caller) = agent();
        let target = Target::Memory(mapping());
        let Target::Memory(memory) = &target else { unreachable!() };
        let end = page() as u64;
        let byte = |at: u64| {
            // SAFETY: within the mapping.
            unsafe { memory.base.wrapping_add(at as usize).read_volatile() }
        };
        let obeys = |say, body: &[u8]| agent.obey(&target, say, body).is_ok();
        assert!(obeys(Say::Stores(vec![(0, 1), (end - 2, 2)]), &[1, 2, 3]));
        assert!(obeys(Say::Copy(end - 3), &[9]));
        assert_eq!([byte(0), byte(end - 3), byte(end - 2), byte(end - 1)], [1, 9, 2, 3]);
        for (say, body) in [
            (Say::Stores(vec![(end - 1, 2)]), &[0, 0][..]),
            (Say::Stores(vec![(u64::MAX, 2)]), &[0, 0]),
            (Say::Stores(vec![(0, 2)]), &[0]),
            (Say::Stores(vec![(0, 1)]), &[0, 0]),
            (Say::Stores(vec![(0, u32::MAX)]), &[0]),
            (Say::Copy(end), &[0]),
            (Say::Copy(u64::MAX), &[0]),
            (Say::Read { at: end - 1, size: 2 }, &[]),
            (Say::Read { at: u64::MAX, size: 1 }, &[]),
            (Say::Read { at: 0, size: MOST as u32 + 1 }, &[]),
            (Say::Trigger, &[]),
            (Say::Data, &[]),
        ] {
            assert!(!obeys(say.clone(), body), "{say:?}");
        }
    }

    #[test]
    fn a_caller_of_an_interrupt_only_triggers_it() {
        let (agent, owner, _caller) = agent();
        assert!(agent.obey(&Target::Socket, Say::Data, &[7; message::MOST]).is_ok());
        assert!(agent.obey(&Target::Socket, Say::Data, &[7; message::MOST + 1]).is_err());
        assert!(agent.obey(&Target::Socket, Say::Copy(0), &[7]).is_err());
        drop(owner);
        assert!(agent.obey(&Target::Socket, Say::Data, &[7]).is_err(), "nobody takes it");
        // A page of interrupts of which none is left.
        assert!(agent.obey(&Target::Page(mapping()), Say::Trigger, &[]).is_err());
        assert!(agent.obey(&Target::Page(mapping()), Say::Read { at: 0, size: 8 }, &[]).is_err());
    }
}
