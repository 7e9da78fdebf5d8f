//! An agent stands in for a caller on another host, in the process of the owner: a thread for each connection. To the owner it is a peer of this host,
//! with the caller's node: it connects by the owner's name, counts as a guest, and gets the memory, to which it does what the caller says. It ends with
//! the caller, or when the owner ends the connection.
#![allow(unsafe_code)] // Memory of segments.

mod out;

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use crate::calm;
use crate::error::{Error, Result};
use crate::far;
use crate::memory::{Mapping, Memory, page};
use crate::name::{Name, What, deadline};
use crate::net::news::{self, Teller};
use crate::net::say::{Answer, Inbox, MOST, Said, Say};
use crate::net::{self, proof};
use crate::packet::{self, IS_FAR, Packet, Verb, refused};
use crate::service::{self, Ticket};
use crate::watch::Watch;
use crate::{interrupt, message, worker};
use out::Out;

/// Milliseconds that the owner, which is this process, may take to answer.
const PATIENCE: u32 = 5_000;

/// What a caller wants to be connected to.
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
    /// Write and read a segment. A thread holds the lock while it says what the segment holds, so the caller hears things in the order in which they were so.
    Memory(Mutex<Watch>),
    /// Trigger the interrupts of this page.
    Page(Mapping),
    /// Trigger with data.
    Socket,
}

/// A connection.
struct Agent {
    near: OwnedFd,
    socket: OwnedFd,
    ticket: OnceLock<Ticket>,
    /// One thread at a time says something to the caller.
    out: Mutex<Out>,
    /// The owner asks the caller to leave, which nobody has said yet.
    shall_leave: AtomicBool,
}

/// What tells the caller of a segment its news.
struct CallerNews {
    agent: Arc<Agent>,
    target: Arc<Target>,
    /// The caller took none the last time, in the time that it had.
    is_slow: AtomicBool,
}

/// How long a thread that tells news waits for one caller that takes nothing, at most: most likely it is stopped. From then on it is told without waiting,
/// until it has taken all once.
const TELL: Duration = Duration::from_millis(100);

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
    // 0 for interrupts and members of groups, which have no news.
    let connection = if wanted.what == What::Segment { news::number() } else { 0 };
    let (near, target, size) = match attach(wanted, connection) {
        Ok(attached) => attached,
        Err(error) => {
            news::forget(connection);
            return proof::answer(&socket, &Answer { status: error as u32, ..Answer::default() }, until);
        }
    };
    proof::answer(&socket, &Answer { size, connection, ..Answer::default() }, until);
    let agent = Arc::new(Agent {
        near,
        socket,
        ticket: OnceLock::new(),
        out: Mutex::default(),
        shall_leave: AtomicBool::new(false),
    });
    let target = Arc::new(target);
    let teller: Option<Arc<dyn Teller>> = (connection != 0).then(|| {
        Arc::new(CallerNews { agent: agent.clone(), target: target.clone(), is_slow: AtomicBool::new(false) }) as _
    });
    teller.iter().for_each(news::add);
    agent.attend(&target);
    teller.iter().for_each(news::remove);
    news::forget(connection);
}

/// Connects to the owner.
fn attach(wanted: &Wanted, connection: u64) -> Result<(OwnedFd, Target, u64)> {
    let until = deadline(PATIENCE);
    let near = wanted.name.connect(until)?;
    let connect = Packet { node: wanted.from, flags: IS_FAR, size: wanted.process, ..Packet::new(Verb::Connect) };
    let (answer, mut fds) = packet::ask(&near, connect, until)?;
    if answer.status != 0 {
        return Err(refused(answer.status));
    }
    let mut whole = |size: u64| {
        let memory = Memory::from_peer(fds.pop().ok_or(Error::ConnectionRefused)?, size, answer.offset)?;
        memory.map(0, memory.length, ptr::null_mut(), false)
    };
    let target = match wanted.what {
        What::DataInterrupt => Target::Socket,
        What::Interrupt => Target::Page(whole(page() as u64)?),
        _ => Target::Memory(Watch::new(whole(answer.size)?, connection).into()),
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

    /// Does what the caller says, and passes on what the owner says, until the connection ends. Owner and caller see the end at once, although other threads
    /// may have the agent for a while: those that tell news to all callers, one after the other.
    fn attend(self: &Arc<Self>, target: &Target) {
        if service::watch(&self.near, self.clone(), &self.ticket).is_ok() {
            let _ = self.run(target);
            self.forget();
        }
        // In this order: when the caller sees the end, the owner sees it as well.
        let _ = shutdown(&self.near, Shutdown::Both);
        proof::end(&self.socket);
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
            (Say::Stores(pieces), Target::Memory(watch)) => {
                let mut watch = watch.lock();
                let was_on = watch.is_on();
                watch.store(&pieces, body)?;
                // The thread `sisci-far` tells news also while this process sends nothing.
                if watch.is_on() && !was_on { far::start_thread() } else { Ok(()) }
            }
            (Say::Copy(at), Target::Memory(watch)) => watch.lock().copy(at, body),
            (Say::Read { at, size, is_shown }, Target::Memory(watch)) if size as usize <= MOST => {
                let mut watch = watch.lock();
                let bytes = watch.read(at, size as usize, is_shown)?;
                // What the owner had stored before these bytes comes before them.
                let at = if is_shown { at as usize..at as usize + bytes.len() } else { 0..0 };
                self.tell(&mut watch, &at, None);
                self.say(&Said::Bytes, &bytes)
            }
            (Say::After(connections), _) => {
                net::hear(&connections);
                Ok(())
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
}

impl Teller for CallerNews {
    fn tell(&self) {
        let Target::Memory(watch) = &*self.target else { return };
        // Ordering: a hint.
        let patience = if self.is_slow.load(Ordering::Relaxed) { Duration::ZERO } else { TELL };
        // The thread that has the lock may wait for the caller, until that has taken the bytes that it has asked for.
        let watch = calm::lock(watch, |watch| watch.try_lock_for(patience));
        let Some(mut watch) = watch else { return self.is_slow.store(true, Ordering::Relaxed) };
        let told = self.agent.tell(&mut watch, &(0..0), Some(patience));
        // If there was nothing to tell, the caller has not shown whether it is slow.
        if told != Some(0) {
            self.is_slow.store(told.is_none(), Ordering::Relaxed);
        }
    }
}

impl service::Watch for Agent {
    /// The owner says something, or has ended the connection.
    fn ready(self: Arc<Self>) {
        match Packet::receive(&self.near) {
            Err(Errno::AGAIN) => {}
            Ok(Some((Packet { verb: Verb::Leave, .. }, _))) => {
                self.shall_leave.store(true, Ordering::SeqCst);
                self.say_leave();
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
    let (socket, caller) = std::os::unix::net::UnixStream::pair().unwrap();
    let (agent, owner) = agent_of(socket.into());
    (agent, owner, caller.into())
}

/// An agent of the caller at the other end of `socket`, and the owner's end.
#[cfg(any(test, fuzzing))]
fn agent_of(socket: OwnedFd) -> (Agent, OwnedFd) {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    let (near, owner) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    let (ticket, out, shall_leave) = (OnceLock::new(), Mutex::default(), AtomicBool::new(false));
    (Agent { near, socket, ticket, out, shall_leave }, owner)
}

/// Does what these bytes say with a segment, or with a page of interrupts, which stays mapped. For `fuzzing`.
#[cfg(any(test, fuzzing))]
pub fn obey_all(memory: Mapping, is_page: bool, mut stream: &[u8]) {
    let (agent, _owner, caller) = agent();
    let target = if is_page { Target::Page(memory) } else { Target::Memory(Watch::new(memory, 1).into()) };
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
mod tests;
