//! The sender's side: credits are taken, then a message goes in the form that fits its length.
//!
//! Must not know: C types.

#![allow(unsafe_code)] // clients' memory, blocks of DECK heaps

use super::engine::{Deck, Handle};
use super::heap::Heap;
use super::message::{Block, Message, Storage};
use super::messages;
use super::owner::Credit;
use super::pace::Kind;
use super::sender::{Need, Taken};
use super::state::{Due, State};
use super::waiting::Key;
use super::{BoxId, Failure, LINE_MOST, Outcome, UNDER_LOCK, Until};
use crate::am::source::Source;
use crate::base::error::Error;
use crate::sci::Adapter;
use crate::verbs::Flags;
use std::time::Instant;

/// Messages of so many bytes are copied into a block that is lent, if there is one, although they lie below the limit: their receiver
/// need not copy them. One way of 1 KiB takes 350 instead of 583 ns, of 4 KiB 332 instead of 782; of 504 bytes 399 (2026-11, Xeon VM).
pub(super) const LENT: usize = 512;

/// Before a message of so many bytes is copied, blocks on their way back are taken. Else a sender that never polls goes through all of its
/// heap, and each copy leaves the caches.
const LARGE: usize = 32 << 10;

const NONE: Credit = Credit { messages: 0, bytes: 0 };
/// What is asked before all credits are used.
const AHEAD: Need = Need { credit: Credit { messages: 1, bytes: 0 }, back: NONE };

impl<A: Adapter> Deck<A> {
    /// Takes the credits of a message of `len` bytes. The caller has copied the handle: another thread may destroy it meanwhile.
    pub(super) fn pay(&self, handle: Handle, len: usize, until: Until) -> Outcome<Credit> {
        if matches!(until, Until::Now) {
            return self.try_to_pay(handle, len);
        }
        let Handle { sender, id, .. } = handle;
        let look = || -> Outcome<Option<Credit>> {
            match self.take_credits(handle, len, until)? {
                Ok(spent) => return Ok(Some(spent)),
                Err(Some(need)) => self.ask_in_time(sender, id, need, until.for_an_answer())?,
                Err(None) => {}
            }
            Ok(None)
        };
        if let Some(paid) = look()? {
            return Ok(paid);
        }
        // The owner's answer may have come with the call that asked.
        if let Some(paid) = look()? {
            return Ok(paid);
        }
        // Also if the time is over already: the owner was asked for what a thread waits for, and must hear that none does any more.
        if !self.with(|state| state.begin_wait(sender, id)) {
            return Err(self.why_gone(id));
        }
        let paid = self.wait(&[Key::Sender(sender)], until.for_an_answer(), look);
        let gives_up = matches!(paid, Err(Failure::TimedOut));
        if let Some(id) = self.with(|state| state.end_wait(sender, gives_up)) {
            if !messages::stop(self, id)? {
                self.due(Due::Stop(id));
            }
            self.send_dues(); // a box of this node may have room for others now
        }
        paid
    }

    /// As [`Self::pay`], with time 0. Once for each call it asks the owner, and waits a moment for the answer.
    #[cold]
    fn try_to_pay(&self, handle: Handle, len: usize) -> Outcome<Credit> {
        let Handle { sender, id, .. } = handle;
        let (mut asked, mut polled) = (false, false);
        loop {
            match self.take_credits(handle, len, Until::Now)? {
                Ok(spent) => return Ok(spent),
                Err(Some(need)) if !asked => {
                    asked = true;
                    self.try_to_ask(sender, id, need, messages::Ask::Try)?;
                    let answered = || self.with(|state| state.sender(sender).is_none_or(|sender| !sender.asked));
                    let soon = Until::Time(Instant::now()).for_an_answer();
                    let _ = self.wait(&[Key::Sender(sender)], soon, || Ok(answered().then_some(()))); // or not: the next look says
                }
                // A call before this one has asked.
                Err(None) if !asked && !polled => {
                    polled = true;
                    self.am.poll();
                }
                Err(need) => {
                    if let Some(need) = need {
                        self.did_not_ask(sender, need); // the owner has just said what it can give
                    }
                    return Err(Failure::Again);
                }
            }
        }
    }

    /// Takes the credits of a message of `len` bytes if they are there. `Err`: what the owner is to be asked; `None`: it was asked.
    fn take_credits(&self, handle: Handle, len: usize, until: Until) -> Outcome<Result<Credit, Option<Need>>> {
        let Handle { sender, id, .. } = handle;
        match self.with(|state| state.pay(sender, id, len as u64, !matches!(until, Until::Now)))? {
            Taken::Gone => Err(self.why_gone(id)),
            Taken::No(need) => Ok(Err(need)),
            Taken::Yes(spent, is_low) => {
                if is_low {
                    self.ask_ahead(sender, id, until)?;
                }
                Ok(Ok(spent))
            }
        }
    }

    /// Asks for credits before all are used. A call that may not wait asks only if that can go at once.
    #[cold]
    fn ask_ahead(&self, sender: u32, id: BoxId, until: Until) -> Outcome<()> {
        match until {
            Until::Forever => messages::ask(self, id, AHEAD, messages::Ask::Ahead, Flags::NONE).map(drop)?,
            _ => self.try_to_ask(sender, id, AHEAD, messages::Ask::Ahead)?,
        }
        Ok(())
    }

    /// Asks for credits, if that can go at once. Else it is as if the sender had not wanted to.
    fn try_to_ask(&self, sender: u32, id: BoxId, need: Need, how: messages::Ask) -> Outcome<()> {
        if !messages::ask(self, id, need, how, Flags::IMMEDIATE)? {
            self.did_not_ask(sender, need);
        }
        Ok(())
    }

    /// Asks for the credits that a thread waits for. If that can't go in time, it is as if the thread had not wanted to.
    fn ask_in_time(&self, sender: u32, id: BoxId, need: Need, until: Until) -> Outcome<()> {
        let sent = self.send(until, |flags| messages::ask(self, id, need, messages::Ask::Wait, flags));
        if sent.is_err() {
            self.did_not_ask(sender, need);
        }
        sent
    }

    fn did_not_ask(&self, sender: u32, need: Need) {
        self.with(|state| state.has_not_asked(sender, need.back));
        self.waiting.wake(Key::Sender(sender)); // a thread that has found it asked meanwhile asks itself
    }

    /// Sends with `send`, which gets flags and says whether it did.
    pub(super) fn send(&self, until: Until, send: impl Fn(Flags) -> Result<bool, Error>) -> Outcome<()> {
        if matches!(until, Until::Forever) {
            send(Flags::NONE)?;
            return Ok(());
        }
        let look = || -> Outcome<Option<()>> { Ok(send(Flags::IMMEDIATE)?.then_some(())) };
        match look()? {
            Some(()) => Ok(()),
            None => match until.over() {
                Some(failure) => {
                    self.am.poll();
                    look()?.ok_or(failure)
                }
                None => self.wait(&[], until, look),
            },
        }
    }

    /// Posts a copy of `message`.
    #[inline(always)]
    pub fn post(&self, handle: &Handle, message: &Message, until: Until) -> Outcome<()> {
        if message.size <= UNDER_LOCK {
            match self.post_now(handle, message, until) {
                Ok(true) => {
                    self.look_after_others(Kind::Post);
                    return Ok(());
                }
                Ok(false) => {}
                Err(failure) => return self.after_burial(Err(failure), until),
            }
        }
        self.after_burial(self.post_copy(handle, message, until), until)
    }

    /// [`Self::post`], compiled once, for `give_away`. `give` then waits for burials again, and finds none left.
    #[inline(never)]
    fn post_out_of_line(&self, handle: &Handle, message: &Message, until: Until) -> Outcome<()> {
        self.post(handle, message, until)
    }

    /// The rest of [`Self::post`]: the message is long, or could not go at once.
    #[inline(never)]
    fn post_copy(&self, handle: &Handle, message: &Message, until: Until) -> Outcome<()> {
        let handle = *handle; // see `pay`
        let spent = self.pay(handle, message.size, until)?;
        self.delivered(handle, spent, self.deliver(handle.id, message, until))
    }

    /// Posts a message of at most [`UNDER_LOCK`] bytes, if its credits are there and it can go at once. That is the common case: one lock instead
    /// of two or three, and nothing to be paid back (what it buys: head of `receive_slot`). False: it has done nothing.
    #[inline(always)]
    fn post_now(&self, handle: &Handle, message: &Message, until: Until) -> Outcome<bool> {
        if u32::from(handle.id.owner) == self.me() {
            return Ok(false); // the node's own box is filled by a call, which takes the lock again
        }
        if message.size > LINE_MOST && self.region(handle.id.owner.into()).is_none() {
            return Ok(false); // to another host, so many bytes may take a while
        }
        let len = message.size as u64;
        let is_low = {
            let lock = self.lock();
            let mut state = lock.borrow_mut();
            let State { senders, heap, .. } = &mut *state;
            let sender = senders.get_mut(handle.sender as usize).and_then(Option::as_mut);
            let Some(sender) = sender.filter(|sender| sender.has(len)) else { return Ok(false) };
            let sent = match message.size {
                0..=LINE_MOST => messages::line_to_peer(self, handle.id, message, Flags::IMMEDIATE)?,
                size if size < self.lent_from() => {
                    messages::body(self, handle.id, message.payload(), Flags::IMMEDIATE)?
                }
                size => match self.block_of(heap, size) {
                    Some(block) => self.lend_copy(heap, &block, handle.id, message)?,
                    None if size < self.limit => messages::body(self, handle.id, message.payload(), Flags::IMMEDIATE)?,
                    None => false,
                },
            };
            if !sent {
                return Ok(false);
            }
            sender.spend(len)
        };
        Self::count(&self.sent, 1);
        if message.size > LINE_MOST {
            Self::count(&self.copied, message.size);
        }
        if is_low {
            self.ask_ahead(handle.sender, handle.id, until)?;
        }
        Ok(true)
    }

    /// Messages of so many bytes are lent, if there is a block.
    #[inline(always)]
    fn lent_from(&self) -> usize {
        self.limit.min(LENT)
    }

    /// Lends a copy of `message` to another node, in a block of this node, if it can go at once; the caller has the lock. Else the block is free
    /// again, and it returns false.
    #[inline(always)]
    fn lend_copy(&self, heap: &mut Heap, block: &Block, id: BoxId, message: &Message) -> Outcome<bool> {
        let sent = messages::copy_to_peer(self, id, block, message, Flags::IMMEDIATE);
        if !matches!(sent, Ok(true)) {
            let _ = heap.give(block.offset); // it was taken by the caller
        }
        Ok(sent?)
    }

    /// Ends a post, whose credits `spent` were taken before. If it has failed they are paid back (rule 4).
    pub(super) fn delivered(&self, handle: Handle, spent: Credit, result: Outcome<()>) -> Outcome<()> {
        let back = if result.is_ok() { Credit::default() } else { spent };
        let farewell = self.with(|state| state.post_ended(handle.sender, back));
        if let Some(id) = farewell {
            self.due(Due::Forgot(id));
        }
        match &result {
            Ok(()) => {
                Self::count(&self.sent, 1);
                self.look_after_others(Kind::Post);
            }
            Err(_) => self.waiting.wake_all(Key::Sender(handle.sender)), // the first may need more than came back
        }
        result
    }

    pub(super) fn deliver(&self, id: BoxId, message: &Message, until: Until) -> Outcome<()> {
        let (owner, len) = (u32::from(id.owner), message.size);
        if len <= LINE_MOST {
            return self.send(until, |flags| messages::line(self, id, message, flags));
        }
        let source = message.payload();
        Self::count(&self.copied, len);
        if len >= LARGE {
            self.am.poll(); // takes back the blocks that are still in the cache
        }
        if len >= self.lent_from()
            && self.region(owner).is_some()
            && let Some(block) = self.block(len)
        {
            // Before the way to the owner is taken, unlike a short copy (`lend_copy`): other threads may send meanwhile.
            // SAFETY: the block has `len` bytes, and nobody else uses it.
            unsafe { source.move_to(block.at) };
            let sent = self.send(until, |flags| messages::loan(self, id, &block, len, flags));
            if sent.is_err() {
                self.release(Storage::Shared(block))?;
            }
            return sent;
        }
        if len < self.limit {
            return self.send(until, |flags| messages::body(self, id, source, flags));
        }
        self.pieces(id, source, until)
    }

    fn pieces(&self, id: BoxId, source: Source, until: Until) -> Outcome<()> {
        let stream = self.with(|state| {
            state.streams = state.streams.wrapping_add(1);
            state.streams
        });
        let mut at = 0;
        while at < source.len() {
            let part = source.part(at, (source.len() - at).min(messages::PIECE_MOST));
            // A message that has begun is delivered, however long that takes: the box has room for it.
            let until = if at == 0 { until } else { Until::Forever };
            self.send(until, |flags| messages::piece(self, id, (stream, source.len(), at), part, flags))?;
            at += part.len();
        }
        Ok(())
    }

    /// Gives a message away. `message` keeps no memory then. At an error it stays as it is.
    pub fn give(&self, handle: &Handle, message: &mut Message, until: Until) -> Outcome<()> {
        self.after_burial(self.give_away(handle, message, until), until)
    }

    fn give_away(&self, handle: &Handle, message: &mut Message, until: Until) -> Outcome<()> {
        let handle = *handle; // see `pay`
        let (len, is_near) = (message.size, self.region(handle.id.owner.into()).is_some());
        match &message.storage {
            // What the library made, because it came from another host, is no choice of the program's.
            Storage::Local(_) if len >= self.limit && message.source.is_none() => return Err(Failure::Place),
            Storage::Shared(block) if is_near && len > LINE_MOST => {
                let spent = self.pay(handle, len, until)?;
                let sent = self.send(until, |flags| messages::loan(self, handle.id, block, len, flags));
                self.delivered(handle, spent, sent)?;
                message.storage = Storage::default();
            }
            _ if self.gives_in_place(handle.id.owner.into(), len, until) => {
                self.give_in_place(handle, message, until)?;
                self.release(std::mem::take(&mut message.storage))?;
            }
            _ => {
                self.post_out_of_line(&handle, message, until)?;
                self.release(std::mem::take(&mut message.storage))?;
            }
        }
        Ok(())
    }
}
