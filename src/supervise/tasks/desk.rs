//! Where a supervisor hears the nodes of its host: a socket without a name in the file system, and a connection for each call that waits.
//!
//! A message is its length (four bytes, little-endian) and so many bytes as postcard writes them. Only processes of the same user are
//! heard. Such a process could do to the supervisor whatever it likes anyway. Must not know: tasks.

use super::{Answer, Refusal, Request};
use crate::os::{net, sys};
use crate::supervise::channel::{LONGEST, read};
use crate::supervise::header::JobHeader;
use libc::pollfd;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

const GUESTS_AT_ONCE: usize = 64;

/// The address of the supervisor of this host.
pub(super) fn address(header: &JobHeader) -> io::Result<SocketAddr> {
    net::hidden_address("tasks", header.cookie(), header.host().into())
}

/// A message in its form on the connection.
pub(super) fn framed(message: &impl serde::Serialize) -> Vec<u8> {
    // Every value has an encoding: there are no maps, and no sequences of unknown length.
    let body = postcard::to_stdvec(message).unwrap_or_default();
    [&(body.len() as u32).to_le_bytes()[..], &body].concat()
}

/// The message at the beginning of `bytes`, if all of it has come. It takes all of them, since each side waits for the other.
///
/// # Errors
/// It is none.
pub(super) fn message<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<Option<T>, ()> {
    let Some((head, body)) = bytes.split_first_chunk() else { return Ok(None) };
    let len = u32::from_le_bytes(*head) as usize;
    match body.len() {
        _ if len > LONGEST => Err(()),
        got if got < len => Ok(None),
        _ => read(body).map(Some).ok_or(()),
    }
}

struct Guest {
    number: u64,
    stream: UnixStream,
    input: Vec<u8>,
    output: Vec<u8>,
    // It has been answered.
    answered: bool,
    // There was no descriptor for it but the spare one, so it is refused.
    unwelcome: bool,
}

/// What the desk has heard of the guest with this number.
pub enum Heard {
    /// It asks for this.
    Request(u64, Request),
    /// It has gone, and has read its answer, or has not.
    Left(u64, bool),
}

/// How long the desk is closed if there is no descriptor for it at all.
const CLOSED: Duration = Duration::from_millis(100);

/// The desk of a supervisor.
pub struct Desk {
    listener: UnixListener,
    // A descriptor that makes room for one guest more, who can be told that there is none. Without it nobody is listened to.
    spare: Option<OwnedFd>,
    guests: Vec<Guest>,
    next: u64,
}

impl Desk {
    /// The desk of the supervisor of this job on this host.
    ///
    /// # Errors
    /// Those of bind(2) and listen(2).
    pub fn open(header: &JobHeader) -> io::Result<Desk> {
        Desk::at(&address(header)?)
    }

    pub(super) fn at(address: &SocketAddr) -> io::Result<Desk> {
        let listener = UnixListener::bind_addr(address)?;
        listener.set_nonblocking(true)?;
        Ok(Desk { listener, spare: None, guests: Vec::new(), next: 0 })
    }

    /// Adds what to poll for now.
    pub fn interests(&mut self, set: &mut Vec<pollfd>) {
        if self.spare.is_none() {
            self.spare = self.listener.as_fd().try_clone_to_owned().ok();
        }
        if self.spare.is_some() {
            set.push(pollfd { fd: self.listener.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        }
        set.extend(self.guests.iter().map(|guest| {
            let events = if guest.output.is_empty() { libc::POLLIN } else { libc::POLLOUT };
            pollfd { fd: guest.stream.as_raw_fd(), events, revents: 0 }
        }));
    }

    /// When the desk may open again, if it is closed.
    pub fn next(&self) -> Option<Instant> {
        self.spare.is_none().then(|| Instant::now() + CLOSED)
    }

    /// Takes what poll(2) found.
    pub fn serve(&mut self, polled: &[pollfd]) -> Vec<Heard> {
        let is_ready = |fd: i32| polled.iter().any(|entry| entry.fd == fd && entry.revents != 0);
        let mut heard = Vec::new();
        self.guests.retain_mut(|guest| {
            if !is_ready(guest.stream.as_raw_fd()) {
                return true;
            }
            let gone = guest.hear(&mut heard).err();
            heard.extend(gone.map(|has_read| Heard::Left(guest.number, has_read)));
            gone.is_none()
        });
        // No more in one turn: anybody on the host can knock, without an end.
        for _ in 0..GUESTS_AT_ONCE {
            if !is_ready(self.listener.as_raw_fd()) {
                break;
            }
            let Some((stream, unwelcome)) = self.accept() else { break };
            let is_own = net::peer(stream.as_fd()).is_ok_and(|peer| peer.uid == sys::effective_user());
            if is_own && stream.set_nonblocking(true).is_ok() {
                let (number, input, output, answered) = (self.next, Vec::new(), Vec::new(), false);
                self.guests.push(Guest { number, stream, input, output, answered, unwelcome });
                self.next += 1;
            }
        }
        heard
    }

    // The next guest, and whether it is refused. Where descriptors are short, it is the last one until there is one again: a listener that
    // is ready, and accepts nobody, would be polled without an end.
    fn accept(&mut self) -> Option<(UnixStream, bool)> {
        match self.listener.accept() {
            Ok((stream, _)) => Some((stream, false)),
            Err(error) if matches!(sys::errno(&error), Some(libc::EMFILE | libc::ENFILE)) => {
                self.spare.take()?;
                self.listener.accept().ok().map(|(stream, _)| (stream, true))
            }
            Err(_) => None,
        }
    }

    /// Tells a guest. False: it has gone.
    pub fn answer(&mut self, number: u64, answer: &Answer) -> bool {
        let Some(guest) = self.guests.iter_mut().find(|guest| guest.number == number) else { return false };
        guest.answer(answer).is_ok()
    }
}

impl Guest {
    fn answer(&mut self, answer: &Answer) -> io::Result<()> {
        self.answered = true;
        self.output.extend(framed(answer));
        self.flush()
    }

    // An error: it has gone, or says what nobody says; true: it has read its answer.
    fn hear(&mut self, heard: &mut Vec<Heard>) -> Result<(), bool> {
        self.flush().map_err(|_| false)?;
        let mut piece = [0; 4096];
        loop {
            match (&self.stream).read(&mut piece) {
                // Of one that has not read all the system says ECONNRESET.
                Ok(0) => return Err(self.answered && self.output.is_empty()),
                Ok(n) => self.input.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Err(false),
            }
            if self.input.len() > LONGEST + 4 {
                return Err(false);
            }
        }
        if let Some(request) = message(&self.input).map_err(|()| false)? {
            self.input.clear();
            if self.unwelcome {
                let why = "this host's supervisor has no descriptor left for a call (RLIMIT_NOFILE: ulimit -Hn)";
                return self.answer(&Answer::Refused(Refusal::Resource(why.into()))).map_err(|_| false);
            }
            heard.push(Heard::Request(self.number, request));
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match (&self.stream).write(&self.output) {
                Ok(n) => drop(self.output.drain(..n)),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}
