//! Who stands in for a caller on another host, in the process of the owner: a thread for each connection. To the owner it is a peer of this host,
//! with the caller's node: it connects by the owner's name, counts as a guest, and gets the memory, to which it does what the caller says. It ends with
//! the caller, or when the owner ends the connection.
#![allow(unsafe_code)] // Memory of segments.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::calm;
use crate::error::{Error, Result};
use crate::far;
use crate::memory::{Mapping, Memory};
use crate::name::{Name, What, deadline, rest};
use crate::net::news::{self, Teller};
use crate::net::say::{self, Answer, Inbox, MOST, Said, Say};
use crate::net::{self, proof};
use crate::packet::{self, IS_FAR, Packet, Verb, refused};
use crate::service::{self, Ticket};
use crate::watch::{Changes, Watch};
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
    /// Write and read a segment. Who says something of it has the lock, so that it is said in the order in which it was so.
    Memory(Mutex<Watch>),
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

/// A caller of a segment, who is told news.
struct Listener {
    agent: Arc<Agent>,
    target: Arc<Target>,
    /// It took none the last time, in the time that it had.
    is_slow: AtomicBool,
}

/// How long a process that sends something waits for a caller who takes no news, since it is stopped.
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
    // Members of a group have no news.
    let connection = if wanted.what == What::Segment { news::number() } else { 0 };
    let (near, target, size) = match attach(wanted, connection) {
        Ok(attached) => attached,
        Err(error) => {
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
    let listener: Option<Arc<dyn Teller>> = (connection != 0).then(|| {
        Arc::new(Listener { agent: agent.clone(), target: target.clone(), is_slow: AtomicBool::new(false) }) as _
    });
    listener.iter().for_each(news::add);
    if service::watch(&agent.near, agent.clone(), &agent.ticket).is_ok() {
        let _ = agent.run(&target);
        agent.forget();
    }
    listener.iter().for_each(news::remove);
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
    let mut whole = || {
        let memory = Memory::from_peer(fds.pop().ok_or(Error::ConnectionRefused)?, answer.size)?;
        memory.map(0, memory.length, ptr::null_mut(), false)
    };
    let target = match wanted.what {
        What::DataInterrupt => Target::Socket,
        What::Interrupt => Target::Page(whole()?),
        _ => Target::Memory(Watch::new(whole()?, connection).into()),
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
            (Say::Stores(pieces), Target::Memory(watch)) => {
                let mut watch = watch.lock();
                let was_on = watch.is_on();
                watch.store(&pieces, body)?;
                // A thread tells news that nothing follows from.
                if watch.is_on() && !was_on { far::run() } else { Ok(()) }
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

    /// The right to say something that the caller takes at once; without `patience` it is waited for. Nothing if the caller takes nothing in this time.
    fn turn(&self, patience: Option<Duration>) -> Option<MutexGuard<'_, Vec<u8>>> {
        let Some(patience) = patience else { return Some(self.out.lock()) };
        let until = Some(Instant::now() + patience);
        let out = calm::lock(&self.out, |out| out.try_lock_for(patience))?;
        loop {
            // What there is room for nobody else takes while this has the lock.
            let rest = rest(until);
            let poll = || poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], rest.as_ref());
            match calm::with_lock(|| calm::open(poll)) {
                Err(Errno::INTR) => {}
                Ok(1) => return Some(out),
                _ => return None,
            }
        }
    }

    /// Tells the caller what it shall know, but for the bytes `but`: in how many frames. Nothing if it did not take all of it in this time.
    fn tell(&self, watch: &mut Watch, but: &Range<usize>, patience: Option<Duration>) -> Option<usize> {
        let (mut next, mut count) = (Some(0), 0);
        while let Some(changes) = next.and_then(|next| watch.changes(next, but)) {
            let out = self.turn(patience)?;
            watch.tell(&changes);
            next = changes.next;
            let Changes { after, pieces, bytes, .. } = changes;
            self.say_in(out, &Said::News { after, pieces }, &bytes).ok()?;
            news::note(watch.connection, watch.news);
            count += 1;
        }
        Some(count)
    }

    /// Says something to the caller; waits while it does not take it.
    fn say(&self, said: &Said, body: &[u8]) -> Result {
        self.say_in(self.out.lock(), said, body)
    }

    /// The same, by who has the right to.
    fn say_in(&self, mut out: MutexGuard<'_, Vec<u8>>, said: &Said, body: &[u8]) -> Result {
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

impl Teller for Listener {
    fn tell(&self) {
        let Target::Memory(watch) = &*self.target else { return };
        // Ordering: a hint. Somebody else who has the lock may wait for the caller, which takes what it has asked for.
        let patience = if self.is_slow.load(Ordering::Relaxed) { Duration::ZERO } else { TELL };
        let watch = calm::lock(watch, |watch| watch.try_lock_for(patience));
        let told = watch.and_then(|mut watch| self.agent.tell(&mut watch, &(0..0), Some(patience)));
        // Nothing to say says nothing of the caller.
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
        let mapping = mapping();
        let base = mapping.base;
        let target = Target::Memory(Watch::new(mapping, 1).into());
        let end = page() as u64;
        let byte = |at: u64| {
            // SAFETY: within the mapping, which the target has.
            unsafe { base.wrapping_add(at as usize).read_volatile() }
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
            (Say::Read { at: end - 1, size: 2, is_shown: true }, &[]),
            (Say::Read { at: u64::MAX, size: 1, is_shown: true }, &[]),
            (Say::Read { at: 0, size: MOST as u32 + 1, is_shown: true }, &[]),
            (Say::Trigger, &[]),
            (Say::Data, &[]),
        ] {
            assert!(!obeys(say.clone(), body), "{say:?}");
        }
    }

    #[test]
    fn a_caller_that_takes_nothing_is_waited_for_once() {
        let (agent, _owner, caller) = agent();
        let target = Arc::new(Target::Memory(Watch::new(mapping(), 1).into()));
        agent.obey(&target, Say::Stores(vec![(0, 1)]), &[1]).unwrap();
        let listener = Listener { agent: agent.into(), target: target.clone(), is_slow: AtomicBool::new(false) };
        let is_slow = || listener.is_slow.load(Ordering::Relaxed);
        // Answers leave no room.
        let full = [0; MOST];
        while send(&listener.agent.socket, &full, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_ok() {}
        listener.tell();
        assert!(is_slow());
        let Target::Memory(watch) = &*target else { panic!("it is memory") };
        let changes = watch.lock().changes(0, &(0..0)).unwrap();
        watch.lock().tell(&changes);
        listener.tell();
        assert!(is_slow(), "it had nothing to take");
        watch.lock().store(&[(64, 1)], &[1]).unwrap();
        let mut taken = vec![0; MOST];
        while recv(&caller, &mut taken[..], RecvFlags::DONTWAIT).is_ok() {}
        listener.tell();
        assert!(!is_slow());
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
        assert!(agent.obey(&Target::Page(mapping()), Say::Read { at: 0, size: 8, is_shown: true }, &[]).is_err());
    }
}
