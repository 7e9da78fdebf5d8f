//! A connection to the owner of something on another host, on the side that connected.
//!
//! Threads of the program write to it and wait for what comes back; a thread that waits reads for all. The service looks at it when nobody does, so that an
//! end is noticed. What one thread sends arrives in order. Between connections order is made by waiting: before something goes out on one, this waits until
//! what went out on the others has arrived, for each of them three seconds at most ([`give_way`]).

mod back;

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use super::say::{CONNECTIONS, Inbox, Say, frame};
use super::{news, proof};
use crate::calm;
use crate::error::{Error, Result};
use crate::hosts::Place;
use crate::name::{Deadline, What, rest, wait_readable};
use back::Heard;
pub(super) use back::named;
pub use back::{AHEAD, Changed, hear};

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The other side has gone, or has withdrawn what was connected to.
    Gone,
    /// The host gives no sign of life, or a process there takes nothing or answers nothing for as long.
    Lost,
}

/// What the other side says without having been asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It asks to leave.
    Leave,
    /// It has ended.
    Over(End),
}

/// The function that is called, once for each, when the owner asks to leave and when the connection has ended.
type Notify = Box<dyn Fn(Notice) + Send + Sync>;

/// How long something that goes out on another connection waits for this one, at most, when its peer is stopped.
pub const ORDER: Duration = Duration::from_secs(3);
/// The same, if it did not answer the last time.
const SLOW: Duration = Duration::from_millis(1);
/// How long a connection that is closed may take until the owner knows it.
const FAREWELL: Duration = Duration::from_millis(500);
/// What a connection goes to: a node, and the kind and number of a name of it.
pub type Aim = (u32, What, u32);

/// A connection.
pub struct Line {
    socket: OwnedFd,
    place: Place,
    aim: Aim,
    timeout: Duration,
    /// One thread at a time sends: frames stay whole. The bytes are kept for the next one.
    out: Mutex<Vec<u8>>,
    /// One thread at a time reads.
    back: Mutex<Inbox>,
    /// The last question, and the last that was answered.
    asked: AtomicU64,
    answered: AtomicU64,
    /// Something was sent after the last question.
    has_sent: AtomicBool,
    /// Frames of stores and copies that were sent on this connection.
    frames: AtomicU64,
    /// Which news of other connections were said here: the stamp of `news::since`.
    said: AtomicU64,
    heard: Heard,
    /// The other side did not answer in time: nothing waits for it until it answers.
    is_slow: AtomicBool,
    end: OnceLock<End>,
    notify: OnceLock<Notify>,
}

/// The connections on which something was sent that nobody has waited for, each with the turn of its last frame. Turns are counted across all
/// connections, so that no two frames have the same.
struct Sent {
    turns: u64,
    lines: Vec<(Weak<Line>, u64)>,
}

static SENT: Mutex<Sent> = Mutex::new(Sent { turns: 0, lines: Vec::new() });

/// Tells this process's news, then does what [`give_way`] does. To be called before something is sent on these connections.
pub fn order(lines: &[Arc<Line>]) {
    news::tell();
    give_way(lines);
}

/// Waits until what was sent on all other connections has arrived, as long as their peers answer. To be called before something is sent on these
/// connections, by a thread that has told the news of this process.
///
/// `SENT` is not locked while this waits, so other threads send meanwhile. A connection that had a frame since then stays listed. One that did not
/// answer in time does not, so that later sends do not wait for it again.
pub fn give_way(lines: &[Arc<Line>]) {
    let is_one = |known: &Weak<Line>| lines.iter().any(|line| ptr::eq(known.as_ptr(), Arc::as_ptr(line)));
    let others: Vec<(Weak<Line>, u64)> =
        SENT.lock().lines.iter().filter(|(known, _)| !is_one(known)).cloned().collect();
    if others.is_empty() {
        return;
    }
    others.iter().filter_map(|(other, _)| other.upgrade()).for_each(|other| other.settle_for_order());
    let is_over =
        |(known, turn): &(Weak<Line>, u64)| others.iter().any(|(other, last)| other.ptr_eq(known) && last == turn);
    SENT.lock().lines.retain(|sent| !is_over(sent));
}

/// Locks, unless it takes too long. The thread that has the lock may wait for its peer.
fn lock_until<T>(mutex: &Mutex<T>, until: Deadline) -> Option<MutexGuard<'_, T>> {
    calm::lock(mutex, |mutex| until.map_or_else(|| Some(mutex.lock()), |until| mutex.try_lock_until(until)))
}

impl Line {
    /// A connection that is made.
    pub(super) fn new(socket: OwnedFd, place: Place, aim: Aim, timeout: Duration) -> Line {
        Line {
            socket,
            place,
            aim,
            timeout,
            out: Mutex::default(),
            back: Mutex::default(),
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            has_sent: AtomicBool::new(false),
            frames: AtomicU64::new(0),
            said: AtomicU64::new(0),
            heard: Heard::default(),
            is_slow: AtomicBool::new(false),
            end: OnceLock::new(),
            notify: OnceLock::new(),
        }
    }

    /// The socket, for the service, which looks at it.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Where the other side is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What is called from now on when the other side says something without having been asked.
    pub fn on_notice(&self, notify: Notify) {
        let _ = self.notify.set(notify);
    }

    /// How it ended, if it has.
    pub fn end(&self) -> Option<End> {
        self.end.get().copied()
    }

    /// It has ended.
    fn ended(&self, errno: Option<Errno>) -> Error {
        let end = match errno {
            Some(Errno::TIMEDOUT | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN) => End::Lost,
            _ => End::Gone,
        };
        if self.end.set(end).is_ok() {
            crate::state::say(|| format!("connection to {}: {end:?} {errno:?}", self.place.host));
            // Threads that wait for room or for bytes see the end.
            proof::end(&self.socket);
            if let Some(notify) = self.notify.get() {
                notify(Notice::Over(end));
            }
        }
        Error::TransferFailed
    }

    /// Whether a frame would go out at once.
    pub fn has_room(&self) -> bool {
        let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        self.end().is_some() || poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], Some(&at_once)) != Ok(0)
    }

    /// Sends a frame; the thread has called `order` before. Waits while the other side has no room: EWOULD_BLOCK if there is none until then.
    pub fn send(self: &Arc<Self>, say: &Say, body: &[u8], until: Deadline) -> Result {
        self.send_numbered(say, body, until, |_| ())
    }

    /// The same. Of a frame of stores or copies `numbered` gets the number before it leaves, so before the owner can say that it has come.
    pub fn send_numbered(
        self: &Arc<Self>,
        say: &Say,
        body: &[u8],
        until: Deadline,
        numbered: impl FnOnce(u64),
    ) -> Result {
        let mut out = lock_until(&self.out, until).ok_or(Error::EwouldBlock)?;
        out.clear();
        // Ordering: `said` and `frames` change under the lock of `out` alone.
        let known = news::since(self.said.load(Ordering::Relaxed));
        for connections in known.iter().flat_map(|(_, connections)| connections.chunks(CONNECTIONS)) {
            frame(&Say::After(connections.to_vec()), &[], &mut out)?;
        }
        frame(say, body, &mut out)?;
        let number = self.frames.load(Ordering::Relaxed) + 1;
        let is_counted = matches!(say, Say::Stores(_) | Say::Copy(_));
        if is_counted {
            numbered(number);
        }
        calm::with_lock(|| self.write(&out, until))?;
        if let Some((stamp, _)) = known {
            self.said.store(stamp, Ordering::Relaxed);
        }
        if is_counted {
            self.frames.store(number, Ordering::Relaxed);
        }
        // Ordering: under the lock, against `settle`, which looks at it under the lock as well.
        self.has_sent.store(true, Ordering::Relaxed);
        drop(out);
        self.note_frame();
        Ok(())
    }

    /// A frame has gone out. Noted after that: noted before, another thread's `order` could find nothing to wait for, and take it off the list.
    fn note_frame(self: &Arc<Self>) {
        let mut sent = SENT.lock();
        sent.turns += 1;
        let turn = sent.turns;
        match sent.lines.iter_mut().find(|(known, _)| ptr::eq(known.as_ptr(), Arc::as_ptr(self))) {
            Some((_, last)) => *last = turn,
            None => sent.lines.push((Arc::downgrade(self), turn)),
        }
    }

    /// Sends a frame that wakes somebody. What went out before, on other connections as well, has arrived by then (as far as `order` waits).
    pub fn trigger(self: &Arc<Self>, say: &Say, body: &[u8], until: Deadline) -> Result {
        order(std::slice::from_ref(self));
        if self.is_there() { self.send(say, body, until) } else { Err(Error::TransferFailed) }
    }

    /// Waits until all that was sent has arrived, but no longer than `ORDER`.
    fn settle_for_order(&self) {
        self.settle(Some(Instant::now() + ORDER));
    }

    /// Writes all of `bytes`. A frame that has begun to go out is not given up until the end.
    fn write(&self, bytes: &[u8], until: Deadline) -> Result {
        let begin = Instant::now();
        let mut done = 0;
        while done < bytes.len() {
            if self.end().is_some() {
                return Err(Error::TransferFailed);
            }
            let count = self.put(&bytes[done..])?;
            done += count;
            if count == 0 {
                let until = if done == 0 { until } else { None };
                let rest = rest(until.or(Some(begin + self.timeout)));
                match calm::open(|| poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], rest.as_ref())) {
                    Ok(0) if until.is_some() => return Err(Error::EwouldBlock),
                    // It has been stopped for that long.
                    Ok(0) => return Err(self.ended(Some(Errno::TIMEDOUT))),
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(errno) => return Err(self.ended(Some(errno))),
                }
            }
        }
        Ok(())
    }

    /// Writes as much of `bytes` as there is room for now: how many.
    fn put(&self, bytes: &[u8]) -> Result<usize> {
        match retry_on_intr(|| send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)) {
            Ok(count) => Ok(count),
            Err(Errno::AGAIN) => Ok(0),
            Err(errno) => Err(self.ended(Some(errno))),
        }
    }

    /// Whether all that was sent is known to have arrived.
    pub fn is_settled(&self) -> bool {
        // Ordering: Acquire meets the Release of `receive`.
        !self.has_sent.load(Ordering::Relaxed)
            && self.answered.load(Ordering::Acquire) >= self.asked.load(Ordering::Relaxed)
    }

    /// Waits until all that was sent has arrived; false if that is not known by then, or never will be. A peer that did not answer in time once, since
    /// it is stopped, holds up nobody again until it answers.
    pub fn settle(&self, until: Deadline) -> bool {
        // Ordering: a hint.
        let is_slow = self.is_slow.load(Ordering::Relaxed);
        let is_settled = self.end().is_none() && {
            let until = if is_slow { Some(Instant::now() + SLOW) } else { until };
            calm::with_lock(|| self.wait(until))
        };
        if !is_settled {
            self.is_slow.store(true, Ordering::Relaxed);
        }
        is_settled
    }

    fn wait(&self, until: Deadline) -> bool {
        let number = {
            let Some(mut out) = lock_until(&self.out, until) else { return false };
            if self.has_sent.load(Ordering::Relaxed) {
                let number = self.asked.load(Ordering::Relaxed) + 1;
                out.clear();
                if frame(&Say::Ask(number), &[], &mut out).is_err() || self.write(&out, until).is_err() {
                    return false;
                }
                // Ordering: under the lock.
                self.asked.store(number, Ordering::Relaxed);
                self.has_sent.store(false, Ordering::Relaxed);
            }
            self.asked.load(Ordering::Relaxed)
        };
        let is_answered = || self.answered.load(Ordering::Acquire) >= number;
        loop {
            if is_answered() {
                return true;
            }
            if !self.wait_back(until, is_answered) {
                return is_answered();
            }
        }
    }

    /// Looks whether the other side is there, of a connection that nobody else looks at.
    pub fn is_there(&self) -> bool {
        self.look();
        self.end().is_none()
    }

    /// Ends it, and waits up to `FAREWELL` for the owner's end of it. When that has come, all that was sent has arrived, and the owner is no longer busy.
    /// If it does not come in time, the next connection to the same waits for it ([`left`]).
    pub fn close(self: &Arc<Self>) {
        let _ = self.end.set(End::Gone);
        if shutdown(&self.socket, Shutdown::Write).is_ok() && !self.hear_out(Instant::now() + FAREWELL) {
            let mut leaving = LEAVING.lock();
            calm::with_lock(|| leaving.retain(|line| !line.hear_out(Instant::now())));
            leaving.push(self.clone());
        }
    }

    /// Reads what the owner still says, to its end or until the time is over. Whether that was the end.
    fn hear_out(&self, until: Instant) -> bool {
        let mut rest = [0; 4096];
        loop {
            if wait_readable(&self.socket, Some(until)).is_err() {
                return false;
            }
            match retry_on_intr(|| recv(&self.socket, &mut rest, RecvFlags::DONTWAIT)) {
                Ok((0, _)) => return true,
                // While the owner keeps sending there always is something to read, also when the time is over.
                Ok(_) | Err(Errno::AGAIN) if Instant::now() < until => {}
                Ok(_) | Err(Errno::AGAIN) => return false,
                Err(_) => return true,
            }
        }
    }
}

/// Connections that were closed before their owners had taken all that was sent.
static LEAVING: Mutex<Vec<Arc<Line>>> = Mutex::new(Vec::new());

/// Before something is connected to again: waits until what was sent to it by connections that are closed has arrived, so that nothing that comes
/// later overtakes it. False when the time is over.
pub fn left(aim: Aim, until: Instant) -> bool {
    let known = LEAVING.lock().clone();
    if known.is_empty() {
        return true;
    }
    let is_over = known.iter().filter(|line| line.aim == aim).all(|line| line.hear_out(until));
    calm::with_lock(|| LEAVING.lock().retain(|line| !line.hear_out(Instant::now())));
    is_over
}

/// A connection, and the owner's end of it.
#[cfg(any(test, fuzzing))]
pub fn with_owner() -> (Arc<Line>, std::os::unix::net::UnixStream) {
    let (socket, owner) = std::os::unix::net::UnixStream::pair().unwrap();
    let place = Place { host: "owner".to_owned(), port: 1 };
    (Arc::new(Line::new(socket.into(), place, (4, What::Segment, 1), Duration::from_secs(20))), owner)
}

#[cfg(test)]
impl Line {
    /// It has this number.
    pub fn name(self: &Arc<Self>, number: u64) {
        named(number, self);
    }

    /// Whether a thread reads just now.
    pub fn is_read(&self) -> bool {
        self.back.is_locked()
    }
}

#[cfg(test)]
mod tests;
