//! What an agent says to its caller: frames, whole and in order. The thread of the connection waits while the caller takes nothing. Other threads, which
//! tell news, wait for a limited time: what there is no room for then stays here, and goes before what is said next.
//!
//! At most one frame of news waits here ([`Agent::tell`]): the next one is made only when all before it has gone. So news need no list and no limit. What a
//! slow caller was not told yet the next comparison finds again, as it is by then.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;
use rustix::event::PollFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendFlags, send};

use super::Agent;
use crate::calm;
use crate::error::{Error, Result};
use crate::name::{Deadline, wait_for};
use crate::net::say::{self, Said};
use crate::net::{ORDER, news, proof};
use crate::watch::{Changes, Watch};

/// How long a thread tells news to one caller that takes them, but slowly.
const SLOWLY: Duration = ORDER;

/// What is going out.
#[derive(Default)]
pub(super) struct Out {
    bytes: Vec<u8>,
    /// So many of them have gone.
    done: usize,
    /// The connection and number of the last news in them: others may be told of these when all has gone.
    news: Option<(u64, u64)>,
}

impl Agent {
    /// Sends what is in `out`, until this time. False if something is left then.
    fn push(&self, out: &mut Out, until: Deadline) -> Result<bool> {
        let flags = if until.is_some() { SendFlags::DONTWAIT } else { SendFlags::empty() };
        while out.done < out.bytes.len() {
            match retry_on_intr(|| send(&self.socket, &out.bytes[out.done..], flags | SendFlags::NOSIGNAL)) {
                Ok(count) => out.done += count,
                Err(Errno::AGAIN) if self.wait_for_room(until) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(_) => return Err(Error::TransferFailed),
            }
        }
        out.bytes.clear();
        out.done = 0;
        if let Some((connection, number)) = out.news.take() {
            news::note(connection, number);
        }
        Ok(true)
    }

    fn wait_for_room(&self, until: Deadline) -> bool {
        calm::with_lock(|| wait_for(&self.socket, PollFlags::OUT, until)).is_ok()
    }

    /// The right to say something, when all that was said before has gone, and there is room for more. Nothing if that is not so until this time.
    fn turn(&self, until: Deadline) -> Option<MutexGuard<'_, Out>> {
        let mut out = calm::lock(&self.out, |out| match until {
            Some(until) => out.try_lock_until(until),
            None => Some(out.lock()),
        })?;
        let has_room = self.push(&mut out, until).ok()? && (until.is_none() || self.wait_for_room(until));
        has_room.then_some(out)
    }

    /// Tells the caller what it shall know, but for the bytes `but`: in how many frames. Each of them may wait for room as long as `patience` says; without,
    /// until the end of the connection. Nothing if the caller did not take all of it.
    pub(super) fn tell(&self, watch: &mut Watch, but: &Range<usize>, patience: Option<Duration>) -> Option<usize> {
        let told = self.tell_all(watch, but, patience);
        // However it went, this thread may have had the right to say something just when another one wanted to say this.
        self.say_leave();
        told
    }

    fn tell_all(&self, watch: &mut Watch, but: &Range<usize>, patience: Option<Duration>) -> Option<usize> {
        let end = Instant::now() + SLOWLY;
        let until = || patience.map(|patience| end.min(Instant::now() + patience));
        if patience == Some(Duration::ZERO) {
            // Perhaps something was left the last time, and nothing will be said now.
            drop(self.turn(until())?);
        }
        let (mut next, mut count) = (Some(0), 0);
        while let Some(changes) = next.and_then(|next| watch.changes(next, but)) {
            let until = until();
            let mut out = self.turn(until)?;
            watch.note_told(&changes);
            next = changes.next;
            let Changes { after, pieces, bytes, .. } = changes;
            say::frame(&Said::News { after, pieces }, &bytes, &mut out.bytes).ok()?;
            out.news = Some((watch.connection, watch.news));
            let has_gone = self.push(&mut out, until);
            drop(out);
            count += 1;
            if has_gone != Ok(true) {
                return None;
            }
        }
        Some(count)
    }

    /// Says something to the caller; waits while it does not take it.
    pub(super) fn say(&self, said: &Said, body: &[u8]) -> Result {
        let mut out = self.turn(None).ok_or(Error::TransferFailed)?;
        say::frame(said, body, &mut out.bytes)?;
        self.push(&mut out, None)?;
        drop(out);
        self.say_leave();
        Ok(())
    }

    /// Tells the caller that the owner asks it to leave, unless another thread is saying something and will do that afterwards.
    pub(super) fn say_leave(&self) {
        // Ordering: SeqCst, with the lock between: if a thread sets the word and finds the lock taken, the thread that lets the lock go sees the word.
        while self.shall_leave.load(Ordering::SeqCst) {
            let Some(mut out) = self.out.try_lock() else { return };
            if self.shall_leave.swap(false, Ordering::SeqCst) {
                let framed = say::frame(&Said::Leave, &[], &mut out.bytes);
                if framed.is_err() || self.push(&mut out, Some(Instant::now())) != Ok(true) {
                    // A caller that takes nothing more will not leave.
                    proof::end(&self.socket);
                }
            }
        }
    }
}

#[cfg(test)]
impl Agent {
    /// Frames of these news that are to go at once, the last of which has this number. Whether all of them have gone.
    pub(super) fn news_come(&self, said: &Said, body: &[u8], frames: usize, number: (u64, u64)) -> Result<bool> {
        let mut out = self.out.lock();
        (0..frames).try_for_each(|_| say::frame(said, body, &mut out.bytes))?;
        out.news = Some(number);
        self.push(&mut out, Some(Instant::now()))
    }
}
