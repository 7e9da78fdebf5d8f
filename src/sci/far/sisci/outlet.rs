//! What goes to one peer: records into its ring, the words that it looks at, and the way of large writes to its client's segment.
//!
//! A record's first line announces it: it is stored when all others of the record are confirmed. So whatever has not arrived can be stored again, and the
//! peer never sees half of it. A word may be stored again at any time, and so may the first line of the last record: if the peer has taken that record, it looks
//! there no more until this node puts the next one there.
//!
//! Invariant: the caller holds the lock of this peer, and no sink is called under it.
//! Must not know: what the peer sends.

#![allow(unsafe_code)] // memory of clients

use super::super::wire::Lost;
use super::adapter::{Remote, Verdict};
use super::dma::Dma;
use super::ground::Ground;
use super::layout::{Address, Head, IN_FIRST_LINE, Kind, LINE, Line, WORDS, Word};
use super::parts::{Announcement, STAGE, Stage};
use super::straight::Straight;
use super::transfer::{Call, PIECE, Reading, Task};
use crate::sync::{AtomicU64, Ordering};
use std::collections::VecDeque;
use std::ptr;
use std::time::{Duration, Instant};

/// Between two tries to make a link: so long at least, and so many times as long as the last one took.
const PAUSE: Duration = Duration::from_millis(1);
const REST: u32 = 10;

/// How things stand with the peer.
pub enum Link {
    /// Nothing was sent yet; since when it is tried, and when the next try is.
    None(Option<(Instant, Instant)>),
    Up(Remote),
    /// The library says that it is gone. Perhaps it has left: that stands in what it sent last.
    Gone(String),
    Lost(Lost),
    /// In good order. What is sent to it goes nowhere.
    Left,
}

/// See the head of this file.
pub struct Outlet {
    peer: u32,
    address: Option<Address>,
    token: u64,
    pub link: Link,
    is_heard: bool,
    has_said_bye: bool,
    /// The token is in the ring, before anything else.
    has_said_hello: bool,
    /// Since when it is unknown whether stores have arrived.
    unknown: Option<Instant>,
    /// Bytes that the peer knows of, and of these how many it has taken.
    sent: u64,
    taken: u64,
    /// The words of this node at the peer, as they must be, and where they are.
    words: [u64; WORDS.len()],
    at: [usize; WORDS.len()],
    /// The first line of the last record, and where it is.
    last: Option<(Line, usize)>,
    /// Words, or that line, may not have arrived.
    is_stale: bool,
    stage: Box<Stage>,
    pub tasks: VecDeque<Task>,
    pub kept: Vec<(Call, Task)>,
    /// Who waits until so many bytes are taken.
    pub awaited: VecDeque<(u64, &'static AtomicU64)>,
    pub reads: VecDeque<Reading>,
    dma: Option<Dma>,
    pub straight: Straight,
    /// By how much this node is busy with the peer, as it was counted last.
    weight: u64,
}

// SAFETY: the memory that it names belongs to no thread.
unsafe impl Send for Outlet {}

impl Outlet {
    pub fn new(ground: &Ground, peer: u32, token: u64) -> Outlet {
        Outlet {
            peer,
            address: None,
            token,
            link: Link::None(None),
            is_heard: false,
            has_said_bye: false,
            has_said_hello: false,
            unknown: None,
            sent: 0,
            taken: 0,
            words: [0; WORDS.len()],
            at: WORDS.map(|word| ground.layout.word(ground.me, word)),
            last: None,
            is_stale: false,
            stage: Box::new(Stage([0; STAGE])),
            tasks: VecDeque::new(),
            kept: Vec::new(),
            awaited: VecDeque::new(),
            reads: VecDeque::new(),
            dma: None,
            straight: Straight::default(),
            weight: 0,
        }
    }

    pub fn set_address(&mut self, address: Address) {
        self.address = Some(address);
    }

    /// By how many more things wait than at the last call that only calls can move: to be added to `SisciWire::busy`. It wraps if there are fewer.
    pub fn weigh(&mut self) -> u64 {
        let is_flying = self.dma.as_ref().is_some_and(Dma::is_flying);
        let things = [
            self.tasks.len(),
            self.awaited.len(),
            self.reads.len(),
            usize::from(self.is_stale),
            usize::from(is_flying),
        ];
        let now = things.iter().sum::<usize>() as u64;
        now.wrapping_sub(std::mem::replace(&mut self.weight, now))
    }

    /// Something of it can move.
    pub fn is_busy(&self) -> bool {
        self.weight > 0
    }

    /// Bytes of writes and answers wait here.
    fn has_tasks(&self) -> bool {
        !self.tasks.is_empty() || self.is_stale || self.dma.as_ref().is_some_and(Dma::is_flying)
    }

    /// The link is there: made now, if it was not.
    pub fn is_up(&mut self, ground: &Ground) -> Result<bool, Lost> {
        match &mut self.link {
            Link::Up(_) if self.has_said_hello => Ok(true),
            Link::Up(_) => self.say_hello(ground),
            Link::Lost(lost) => Err(lost.clone()),
            Link::Gone(_) | Link::Left => Ok(false),
            Link::None(tries) => {
                let Some(address) = self.address else {
                    return Err(Lost(format!("node {} has no address on this network", self.peer)));
                };
                let now = Instant::now();
                if tries.is_some_and(|(_, next)| now < next) {
                    return Ok(false);
                }
                let len = ground.layout.len();
                match Remote::connect(ground.library, address.node, address.segment, address.interrupt, len) {
                    Ok(remote) => {
                        self.link = Link::Up(remote);
                        self.words[Word::Awake as usize] = ground.awake.load(Ordering::Relaxed); // Relaxed: a hint
                        // Relaxed: a number alone; who sets it tells it to links that are there.
                        self.words[Word::Client as usize] = ground.client_number.load(Ordering::Relaxed);
                        self.is_stale = true; // what was to be stored before there was a link
                        self.say_hello(ground)
                    }
                    Err(why) => {
                        let (since, _) = *tries.get_or_insert((now, now));
                        // A try that took long held up this thread: others come first.
                        *tries = Some((since, Instant::now() + PAUSE.max(REST * now.elapsed())));
                        if since.elapsed() < ground.contact {
                            return Ok(false);
                        }
                        let Address { node, segment, .. } = address;
                        Err(self.lose(Lost(format!("no way to segment {segment:#x} of SCI node {node}: {why}"))))
                    }
                }
            }
        }
    }

    /// Puts the token into the ring, which the peer wants to see first. False: not now; the next [`Self::is_up`] tries again.
    fn say_hello(&mut self, ground: &Ground) -> Result<bool, Lost> {
        let hello = Head { kind: Kind::Hello, len: 0, number: self.token };
        // SAFETY: no bytes.
        self.has_said_hello = unsafe { self.put(ground, hello, ptr::null()) }?;
        Ok(self.has_said_hello)
    }

    /// The peer is lost. The first reason counts.
    pub fn lose(&mut self, why: Lost) -> Lost {
        if let Link::Lost(lost) = &self.link {
            return lost.clone();
        }
        if let Link::Up(remote) = &self.link {
            let cut = self.at[Word::Cut as usize];
            // It shall not wait for what never comes. If it is gone it does not matter.
            let _ = remote.confirm(|remote| {
                remote.store(cut, 1);
                Ok(())
            });
            remote.ring();
        }
        self.link = Link::Lost(why.clone());
        self.forget();
        why
    }

    /// The peer has left: nobody waits for it any more.
    pub fn has_left(&mut self) {
        self.link = Link::Left;
        let reads = self.reads.drain(..).map(|reading| reading.done);
        let tasks = self.tasks.drain(..).filter_map(|task| task.done);
        let all: Vec<_> = self.awaited.drain(..).map(|(_, done)| done).chain(reads).chain(tasks).collect();
        all.into_iter().for_each(raise);
        self.forget();
    }

    fn forget(&mut self) {
        self.tasks.clear();
        self.kept.clear();
        self.awaited.clear();
        self.reads.clear();
        self.is_stale = false;
        self.dma = None;
        self.straight.give_up();
    }

    /// What has become of stores. True: they are there. If that stays unknown for longer than a first contact may take, the peer is gone.
    fn judge(&mut self, ground: &Ground, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Arrived => {
                self.unknown = None;
                true
            }
            Verdict::Unknown | Verdict::Dark => {
                let since = *self.unknown.get_or_insert_with(Instant::now);
                if since.elapsed() > ground.contact {
                    let seconds = ground.contact.as_secs_f64();
                    self.link =
                        Link::Gone(format!("the library has not said for {seconds} s that stores have arrived"));
                }
                false
            }
            Verdict::Gone(why) => {
                self.link = Link::Gone(why);
                false
            }
        }
    }

    /// Sees to it that all words, and the last record, are at the peer as they must be.
    fn settle(&mut self, ground: &Ground) -> bool {
        if !self.is_stale {
            return true;
        }
        let Link::Up(remote) = &self.link else { return false };
        let verdict = remote.confirm(|remote| {
            self.at.iter().zip(self.words).for_each(|(at, value)| remote.store(*at, value));
            self.last.as_ref().map_or(Ok(()), |(line, place)| remote.copy_line(line, *place))
        });
        self.is_stale = verdict.is_open();
        self.judge(ground, verdict)
    }

    /// Gives the peer a word, and wakes it if it sleeps.
    pub fn tell(&mut self, ground: &Ground, word: Word, value: u64) {
        let i = word as usize;
        self.words[i] = value;
        let Link::Up(remote) = &self.link else {
            self.is_stale = true; // said when there is a link
            return;
        };
        let verdict = remote.confirm(|remote| {
            remote.store(self.at[i], value);
            Ok(())
        });
        if word != Word::Awake {
            self.wake(ground);
        }
        self.is_stale |= verdict.is_open();
        self.judge(ground, verdict);
    }

    /// Wakes the peer if it sleeps. The caller has just stored what it shall see.
    fn wake(&self, ground: &Ground) {
        // ORDERING: relaxed. Over cards nothing orders this load behind that store, so sleeps are short. Our own library's SCICheckSequence has a fence.
        let is_asleep = ground.own.word(ground.layout.word(self.peer, Word::Awake)).load(Ordering::Relaxed) == 0;
        if is_asleep && let Link::Up(remote) = &self.link {
            remote.ring();
        }
    }

    /// Stores the first line of a record whose other lines are there: the peer has the record with it.
    fn announce(&mut self, ground: &Ground, Announcement { line, place, size }: Announcement) {
        let Link::Up(remote) = &self.link else { return };
        let verdict = remote.confirm(|remote| remote.copy_line(&line, place));
        self.last = Some((line, place));
        self.sent += size as u64;
        self.wake(ground);
        self.is_stale |= verdict.is_open();
        self.judge(ground, verdict);
    }

    /// Looks how much the peer has taken. True if that is more than before.
    fn look(&mut self, ground: &Ground) -> bool {
        // ORDERING: Acquire ↔ the Release with which the peer stores it: its ring is free so far, and writes are in place.
        let taken = ground.own.word(ground.layout.word(self.peer, Word::Credit)).load(Ordering::Acquire);
        if taken == self.taken {
            return false;
        }
        if taken < self.taken || taken > self.sent {
            self.lose(Lost(format!("node {} has taken {taken} bytes, and {} were sent", self.peer, self.sent)));
            return true;
        }
        self.taken = taken;
        let count = self.awaited.iter().take_while(|(position, _)| *position <= taken).count();
        self.awaited.drain(..count).for_each(|(_, done)| raise(done));
        true
    }

    /// So many bytes the peer has taken out of its ring, as far as this node has looked.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether the peer has taken so many bytes out of its ring.
    pub fn has_taken(&mut self, ground: &Ground, position: u64) -> bool {
        if self.taken < position {
            self.look(ground);
        }
        self.taken >= position
    }

    /// Puts a record into the ring. False: not now.
    ///
    /// # Safety
    /// As many bytes as `head` says are readable at `from`, until this returns.
    pub unsafe fn put(&mut self, ground: &Ground, head: Head, from: *const u8) -> Result<bool, Lost> {
        if !self.settle(ground) || self.dma.as_ref().is_some_and(Dma::is_flying) {
            return Ok(false);
        }
        let size = head.size();
        let (_, left) = ground.layout.place(ground.me, self.sent);
        if size > left {
            let skip = Head { kind: Kind::Skip, len: 0, number: left as u64 };
            // The record follows when it is sure that this one is there.
            // SAFETY: a record without bytes of its own.
            if !unsafe { self.put_here(ground, skip, ptr::null()) }? || self.is_stale {
                return Ok(false);
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.put_here(ground, head, from) }
    }

    /// Puts a record into the ring, where it fits before the ring's end.
    ///
    /// # Safety
    /// As of `put`.
    unsafe fn put_here(&mut self, ground: &Ground, head: Head, from: *const u8) -> Result<bool, Lost> {
        let size = head.size();
        let is_full = |outlet: &Outlet| (outlet.sent - outlet.taken) as usize + size > ground.layout.ring;
        if is_full(self) {
            self.look(ground);
        }
        if is_full(self) {
            return match &self.link {
                Link::Lost(lost) => Err(lost.clone()),
                _ => Ok(false),
            };
        }
        let (place, _) = ground.layout.place(ground.me, self.sent);
        // SAFETY: the caller's promise.
        let record = Announcement { line: unsafe { head.line(self.sent, from) }, place, size };
        if head.len > IN_FIRST_LINE {
            if ground.dma_from.is_some_and(|least| size >= least) && self.ready_dma(ground) {
                let (Some(dma), Link::Up(remote)) = (&mut self.dma, &self.link) else { return Ok(false) };
                // SAFETY: the caller's promise.
                unsafe { dma.start(remote, record, from, head.len) };
                return Ok(true);
            }
            let Link::Up(remote) = &self.link else { return Ok(false) };
            // SAFETY: the caller's promise.
            let verdict = unsafe { self.stage.store(remote, head, from, place) };
            if !self.judge(ground, verdict) {
                return Ok(false);
            }
        }
        if !matches!(self.link, Link::Up(_)) {
            return Ok(false);
        }
        self.announce(ground, record);
        Ok(true)
    }

    /// Whether there is a way to the client's segment of the peer: made now if it was not, and the peer has announced that segment.
    pub fn has_way(&mut self, ground: &Ground) -> bool {
        // Relaxed: a number alone.
        let number = ground.own.word(ground.layout.word(self.peer, Word::Client)).load(Ordering::Relaxed);
        self.address.is_some_and(|address| self.straight.has_way(ground.library, address.node, number))
    }

    /// There is an engine for this peer.
    fn ready_dma(&mut self, ground: &Ground) -> bool {
        if self.dma.is_none() {
            self.dma = Dma::new(ground.library, PIECE + LINE);
        }
        self.dma.is_some()
    }

    /// Announces what the engine has brought. True if it has.
    fn land(&mut self, ground: &Ground) -> bool {
        let (Some(dma), Link::Up(remote)) = (&mut self.dma, &self.link) else { return false };
        match dma.landed(remote) {
            None => false,
            Some(Ok(record)) => {
                self.announce(ground, record);
                true
            }
            Some(Err(why)) => {
                self.link = Link::Gone(why);
                true
            }
        }
    }

    /// How many bytes the peer will have to take until all that was given is there.
    pub fn end(&self) -> u64 {
        self.sent + self.dma.as_ref().map_or(0, Dma::flying) as u64
    }

    /// As [`super::super::wire::Wire::post`].
    pub fn post(&mut self, ground: &Ground, frame: &[u8]) -> Result<bool, Lost> {
        if matches!(self.link, Link::Left) {
            return Ok(true);
        }
        let head = Head { kind: Kind::Frame, len: frame.len(), number: 0 };
        // SAFETY: a slice.
        Ok(self.is_up(ground)? && unsafe { self.put(ground, head, frame.as_ptr()) }?)
    }

    /// Moves what can move. True if anything did.
    pub fn advance(&mut self, ground: &Ground) -> bool {
        if !matches!(self.link, Link::Up(_)) {
            return !self.tasks.is_empty() && self.is_up(ground).unwrap_or(false);
        }
        self.straight.begins_call();
        let landed = self.land(ground);
        let came = self.look(ground);
        self.settle(ground);
        let _ = self.pump(ground); // a loss stands in the link
        landed || came
    }

    /// The peer has made its link to this node.
    pub fn was_heard(&mut self) {
        self.is_heard = true;
    }

    /// See `was_heard`.
    pub fn is_heard(&self) -> bool {
        self.is_heard
    }

    /// Says that nothing comes any more, once. True: it is announced, or nobody hears it.
    pub fn leave(&mut self, ground: &Ground) -> bool {
        let is_up = matches!(self.link, Link::Up(_));
        if !(is_up || self.is_heard) {
            return true;
        }
        if is_up && self.has_tasks() {
            return false;
        }
        if self.has_said_bye {
            return true;
        }
        let bye = Head { kind: Kind::Bye, len: 0, number: 0 };
        self.has_said_bye = match self.is_up(ground) {
            // SAFETY: no bytes.
            Ok(true) => unsafe { self.put(ground, bye, ptr::null()) }.unwrap_or(true),
            Ok(false) => matches!(self.link, Link::Gone(_) | Link::Left),
            Err(_) => true,
        };
        self.has_said_bye && !self.has_tasks()
    }

    /// Asks the library whether the peer is still there.
    pub fn look_for_end(&mut self) {
        if let Link::Up(remote) = &self.link
            && let Some(why) = remote.end()
        {
            self.link = Link::Gone(why);
        }
    }
}

pub fn raise(done: &'static AtomicU64) {
    done.fetch_add(1, Ordering::Release); // ORDERING: ↔ the Acquire of who waits: the bytes are in place
}
