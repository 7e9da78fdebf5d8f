//! What comes back on a connection: answers, bytes that were read, and news.
#![allow(unsafe_code)] // What is read goes to memory of the program's.

use std::collections::VecDeque;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::event::PollFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, recv};

use super::super::news;
use super::super::say::{Inbox, MOST, Said, Say, frame};
use super::{Line, Notice, ORDER, lock_until};
use crate::calm;
use crate::error::{Error, Result};
use crate::name::{Deadline, wait_for, wait_readable};

/// Bodies that are asked for before the first has come.
pub const AHEAD: usize = 8;
/// How long a thread sleeps for the lock for reading, until it looks whether the thread that has it has read what this one waits for.
const SLICE: Duration = Duration::from_millis(1);
/// How long news are waited for that others claim to have heard of. Tests make it longer than they run, so that a wait that ends only by it fails them.
const CLAIMED: Duration = if cfg!(test) { Duration::from_secs(60) } else { ORDER };

/// News as they have come: after so many frames of stores and copies of this side, these places of the owner's memory held these words. Without pieces they
/// only say how many frames have come there.
pub struct Changed {
    /// Their number, from 1 on.
    pub number: u64,
    /// So many frames.
    pub after: u64,
    /// Places and sizes.
    pub pieces: Vec<(u64, u32)>,
    /// The pieces, one behind the other.
    pub bytes: Vec<u8>,
}

/// Shows news. It may be called by a thread that holds the lock for reading. So it takes no lock that another thread may hold while it waits for that one.
pub type Shows = Box<dyn Fn() + Send + Sync>;

/// The news of a connection.
#[derive(Default)]
pub(super) struct Heard {
    count: AtomicU64,
    /// Those that have come and that nobody has taken yet.
    news: Mutex<VecDeque<Changed>>,
    shows: OnceLock<Shows>,
}

impl Heard {
    /// How many have come.
    pub(super) fn count(&self) -> u64 {
        // Ordering: Acquire meets the Release of `put`: a thread that sees the number finds the news.
        self.count.load(Ordering::Acquire)
    }

    /// A frame of news has come. The thread holds the lock for reading.
    fn put(&self, after: u64, pieces: Vec<(u64, u32)>, bytes: &[u8]) {
        let number = self.count.load(Ordering::Relaxed) + 1;
        if self.shows.get().is_some() {
            self.news.lock().push_back(Changed { number, after, pieces, bytes: bytes.to_vec() });
        }
        self.count.store(number, Ordering::Release);
    }

    /// Shows what has come. The thread may hold the lock for reading.
    fn show(&self) {
        if let Some(shows) = self.shows.get()
            && !self.news.lock().is_empty()
        {
            shows();
        }
    }
}

/// The connections of this process to segments, by the numbers that their owners gave them.
static LINES: Mutex<Vec<(u64, Weak<Line>)>> = Mutex::new(Vec::new());

/// This connection has that number, if its owner has news.
pub(in super::super) fn named(number: u64, line: &Arc<Line>) {
    if number == 0 {
        return; // an interrupt, or a member of a group
    }
    let mut lines = LINES.lock();
    lines.retain(|(_, line)| line.strong_count() > 0);
    lines.push((number, Arc::downgrade(line)));
}

/// Waits until this process has heard and shown so many news of each connection, and notes the numbers so that it says them with what it sends. For its own
/// connections it notes what has really come. A peer's claim about a connection that this process owns is ignored.
///
/// All of these news are on their way, or have come: the peer that claims them knows that they had been told before. So this waits for the network, and for
/// threads of this process that read, none of which waits for anything else meanwhile. What is claimed and was never told is waited for as long as `CLAIMED`.
pub fn hear(news: &[(u64, u64)]) {
    let until = Instant::now() + CLAIMED;
    for &(connection, count) in news {
        let lines = LINES.lock();
        let line = lines.iter().find(|(number, _)| *number == connection).and_then(|(_, line)| line.upgrade());
        drop(lines);
        if let Some(line) = line {
            news::note(connection, line.hear(count, until));
        } else if !news::is_own(connection) {
            news::note(connection, count);
        }
    }
}

/// The questions of a thread that reads, some of them ahead of the answers.
///
/// That thread has the lock for reading. So while it waits for anything, it takes what comes: the owner may be unable to go on before somebody does.
struct Questions<'a> {
    line: &'a Line,
    at: usize,
    size: usize,
    is_shown: bool,
    /// So much was asked for.
    asked: usize,
    /// A question that has not gone out wholly, and how much of it has. The lock is kept, so that frames stay whole.
    begun: Option<(MutexGuard<'a, Vec<u8>>, usize)>,
}

impl<'a> Questions<'a> {
    fn new(line: &'a Line, at: usize, size: usize, is_shown: bool) -> Questions<'a> {
        Questions { line, at, size, is_shown, asked: 0, begun: None }
    }

    /// Asks for what comes next, as far as it can go out at once; `got` has come. Whether the time begins anew: a question has gone out behind all
    /// answers, or another thread is sending, which keeps the time itself.
    fn ask(&mut self, got: usize) -> Result<bool> {
        let was_idle = self.asked == got;
        while self.asked < self.size && self.asked < got + AHEAD * MOST {
            let part = MOST.min(self.size - self.asked);
            let (out, done) = match self.begun.take() {
                Some(begun) => begun,
                None => {
                    let Some(mut out) = self.turn(got) else { return Ok(self.asked == got) };
                    out.clear();
                    let (at, size, is_shown) = ((self.at + self.asked) as u64, part as u32, self.is_shown);
                    frame(&Say::Read { at, size, is_shown }, &[], &mut out)?;
                    (out, 0)
                }
            };
            let done = done + self.line.put(&out[done..])?;
            if done < out.len() {
                self.begun = Some((out, done));
                break;
            }
            self.asked += part;
        }
        Ok(was_idle && self.asked > got)
    }

    /// The right to send. A thread that has something else to wait for does not wait for it.
    fn turn(&self, got: usize) -> Option<MutexGuard<'a, Vec<u8>>> {
        if self.asked > got {
            return self.line.out.try_lock();
        }
        lock_until(&self.line.out, Some(Instant::now() + SLICE))
    }

    /// Waits until something has come, or what has begun to go out can go on.
    fn wait(&self, got: usize, until: Instant) -> Result {
        let (flags, until) = match self.begun {
            Some(_) => (PollFlags::IN | PollFlags::OUT, until),
            None if self.asked > got => (PollFlags::IN, until),
            // Another thread is sending, which this one has waited for.
            None => return Ok(()),
        };
        wait_for(&self.line.socket, flags, Some(until))
    }
}

impl Line {
    /// Waits until so many news have come and are shown, or the connection or the time ends. How many have come.
    fn hear(&self, count: u64, until: Instant) -> u64 {
        let is_there = || self.heard.count() >= count;
        while !is_there() && self.end().is_none() && Instant::now() < until {
            // In between others may read.
            self.wait_back(Some(until.min(Instant::now() + SLICE)), is_there);
        }
        let count = self.heard.count();
        // Another thread may have taken them. It shows them under a lock that this call takes as well.
        if let Some(shows) = self.heard.shows.get() {
            shows();
        }
        count
    }

    /// Takes the bytes that are there, without waiting.
    fn take(&self, back: &mut Inbox) -> Result {
        match retry_on_intr(|| recv(&self.socket, back.room(), RecvFlags::DONTWAIT)) {
            Ok((0, _)) => return Err(self.ended(None)),
            Ok((count, _)) => back.came(count),
            Err(Errno::AGAIN) => {}
            Err(errno) => return Err(self.ended(Some(errno))),
        }
        Ok(())
    }

    /// Takes what is there, without waiting.
    fn receive(&self, back: &mut Inbox) -> Result {
        self.take(back)?;
        // Nobody has asked for bytes.
        if self.next(back)?.is_some() { Err(self.ended(Some(Errno::PROTO))) } else { Ok(()) }
    }

    /// Takes frames up to the next body; nothing if there is none yet.
    fn next(&self, back: &mut Inbox) -> Result<Option<std::ops::Range<usize>>> {
        loop {
            match back.next::<Said>() {
                Ok(None) => return Ok(None),
                Ok(Some((Said::Bytes, body))) => return Ok(Some(body)),
                Ok(Some((Said::Done(number), _))) => {
                    self.is_slow.store(false, Ordering::Relaxed);
                    // Ordering: Release, so that a thread that sees it may say that all has arrived.
                    self.answered.fetch_max(number, Ordering::Release);
                }
                Ok(Some((Said::Leave, _))) => {
                    if let Some(notify) = self.notify.get() {
                        notify(Notice::Leave);
                    }
                }
                // Each piece has a word at least.
                Ok(Some((Said::News { pieces, .. }, body))) if pieces.len() > body.len() / 8 => {
                    return Err(self.ended(Some(Errno::PROTO)));
                }
                Ok(Some((Said::News { after, pieces }, body))) => {
                    self.heard.put(after, pieces, back.body(body));
                }
                Err(_) => return Err(self.ended(Some(Errno::PROTO))),
            }
        }
    }

    /// Reads `size` bytes of the other side's memory, from `at` on. With `before`, maps will show them: it gets how many news were heard before each `MOST`
    /// bytes.
    ///
    /// # Safety
    /// `to` has `size` bytes.
    pub unsafe fn read(&self, at: usize, to: *mut u8, size: usize, before: Option<&mut Vec<u64>>) -> Result {
        // SAFETY: the caller's.
        let read = calm::with_lock(|| unsafe { self.read_locked(at, to, size, before) });
        self.heard.show();
        read
    }

    /// # Safety
    /// As `read`.
    unsafe fn read_locked(&self, at: usize, to: *mut u8, size: usize, mut before: Option<&mut Vec<u64>>) -> Result {
        let mut back = lock_until(&self.back, None).ok_or(Error::TransferFailed)?;
        let (mut questions, mut got) = (Questions::new(self, at, size, before.is_some()), 0);
        // Of all that comes, news as well, only bytes that were asked for give the owner more time.
        let mut until = Instant::now() + self.timeout;
        while got < size {
            if questions.ask(got)? {
                until = Instant::now() + self.timeout;
            }
            if let Some(body) = self.next(&mut back)? {
                let body = back.body(body);
                if body.len() != MOST.min(size - got) {
                    return Err(self.ended(Some(Errno::PROTO)));
                }
                // SAFETY: the caller's room has what is left of `size`.
                unsafe { ptr::copy_nonoverlapping(body.as_ptr(), to.wrapping_add(got), body.len()) };
                got += body.len();
                until = Instant::now() + self.timeout;
                if let Some(before) = &mut before {
                    before.push(self.heard.count());
                }
                continue;
            }
            // However many come before the bytes, no more are kept than were received at once.
            self.heard.show();
            if until <= Instant::now() || questions.wait(got, until).is_err() {
                return Err(self.ended(Some(Errno::TIMEDOUT)));
            }
            self.take(&mut back)?;
        }
        // What came behind the last bytes was received with them, so the socket shows it to nobody.
        if self.next(&mut back)?.is_some() { Err(self.ended(Some(Errno::PROTO))) } else { Ok(()) }
    }

    /// Takes what has come, unless a thread waits for it and does so.
    pub fn look(&self) {
        match self.back.try_lock() {
            // What ended it has been told, or is being told.
            Some(mut back) => drop(self.receive(&mut back)),
            None => std::thread::yield_now(),
        }
        self.heard.show();
    }

    /// Takes what comes next, unless what is waited for is there: false if nothing comes by then, or never again.
    pub(super) fn wait_back(&self, until: Deadline, is_there: impl Fn() -> bool) -> bool {
        let Some(mut back) = self.lock_back(until, &is_there) else { return is_there() };
        let has_come = is_there() || wait_readable(&self.socket, until).is_ok() && self.receive(&mut back).is_ok();
        drop(back);
        self.heard.show();
        has_come
    }

    /// Locks what comes back, unless what is waited for is there by then. The thread that has the lock may take it, and then go on waiting for something else,
    /// which may come only when this thread goes on.
    fn lock_back(&self, until: Deadline, is_there: impl Fn() -> bool) -> Option<MutexGuard<'_, Inbox>> {
        loop {
            let slice = Instant::now() + SLICE;
            let back = lock_until(&self.back, Some(until.map_or(slice, |until| until.min(slice))));
            let is_over = || is_there() || self.end().is_some() || until.is_some_and(|until| until <= Instant::now());
            if back.is_some() || is_over() {
                return back;
            }
        }
    }

    /// `shows` is called from now on when news have come. False if another function is called already.
    pub fn on_news(&self, shows: Shows) -> bool {
        self.heard.shows.set(shows).is_ok()
    }

    /// The other side has said what no owner says.
    pub fn has_erred(&self) {
        self.ended(Some(Errno::PROTO));
    }

    /// Takes the news that have come and that nobody has taken yet.
    pub fn news(&self) -> VecDeque<Changed> {
        std::mem::take(&mut self.heard.news.lock())
    }
}
