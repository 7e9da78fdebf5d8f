//! The giver's side of messages that go to nodes of other hosts: where the owner has a place for a message (`places`), the network writes the
//! message's own memory there. So it is copied on neither side.
//!
//! | | the giver | the owner |
//! |---|---|---|
//! | 1 | takes the credits, asks with `PLACE` | |
//! | 2 | | answers with a place (`PLACED`) |
//! | 3 | has the network write there; behind the bytes it says that they are there (`CAME`) | |
//! | 4 | | puts the message into the box |
//! | 5 | frees the message's memory when the network is done with it | |
//!
//! Rules:
//! 1. Up to the answer the call may end because its time is over. Then the giver gives the place back when the answer comes, and has its
//!    credits from then on. So what timed out is never delivered.
//! 2. Once bytes are on their way the message is delivered. `CAME` goes through the queue of requests, behind what the thread sent before: so
//!    the order stays.
//! 3. Memory that the network still has is in `leaving`, and is background work: each poll looks.
//!
//! Must not know: what carries the bytes.

#![allow(unsafe_code)] // memory of a message, while the network reads it

use super::engine::{Deck, Handle};
use super::gift::{Gift, Gifts, Leaving, Where};
use super::message::{Message, Storage};
use super::messages;
use super::state::Due;
use super::waiting::Key;
use super::{BoxId, Failure, Outcome, Until};
use crate::am::corrupt::corrupt;
use crate::base::error::Error;
use crate::deck::heap::UNIT;
use crate::sci::Adapter;
use crate::sync::{AtomicU64, Ordering};
use crate::verbs::Flags;
use smallvec::SmallVec;

/// From so many bytes on, the round trip for the place costs less than the copies that it spares. Between two nodes of one machine over TCP, given and
/// posted: 128 KiB 1.6 and 2.3 GB/s, 256 KiB 2.9 and 2.7, 512 KiB 5.0 and 2.4, 1 MiB 6.1 and 2.2, which takes 305 and 860 µs of both
/// processors; over UDP 1 MiB 2.3 and 0.69 GB/s (2026-11, EPYC VM that others loaded).
pub const PLACE_MIN: usize = 256 << 10;

impl<A: Adapter> Deck<A> {
    /// A given message of `len` bytes goes to `node` so: it is on another host, the message is long, and the call may wait.
    pub(super) fn gives_in_place(&self, node: u32, len: usize, until: Until) -> bool {
        len >= self.place_min && !matches!(until, Until::Now) && self.is_far(node)
    }

    /// The node is on another host.
    pub(super) fn is_far(&self, node: u32) -> bool {
        self.network.as_ref().is_some_and(|network| network.reaches(node))
    }

    /// Gives `message` to a box of a node of another host. Its memory is free then.
    pub(super) fn give_in_place(&self, handle: Handle, message: &mut Message, until: Until) -> Outcome<()> {
        let (id, len) = (handle.id, message.size);
        let spent = self.pay(handle, len, until)?;
        let gift = Gift { id, sender: handle.sender, spent, len, place: None, is_given_up: false };
        let number = self.with(|state| state.gifts.begin(gift));
        if let Err(failure) = self.send(until, |flags| messages::place(self, id, number, len, flags)) {
            self.with(|state| state.gifts.all.remove(&number));
            return self.delivered(handle, spent, Err(failure));
        }
        let place = self.await_place(number, until)?;
        let sent = match place {
            Where::At(at) => self.write_there(id, number, at, message),
            Where::Pieces => self.deliver(id, message, until),
            Where::Gone => Err(self.why_gone(id)),
        };
        self.delivered(handle, spent, sent)
    }

    /// The answer of the owner. If the time is over first, the gift ends by itself, later (rule 1).
    fn await_place(&self, number: u32, until: Until) -> Outcome<Where> {
        let look = || Ok(self.with(|state| state.gifts.place(number)));
        let waited = self.wait(&[Key::Gift(number)], until.for_an_answer(), look);
        self.with(|state| {
            let all = &mut state.gifts.all;
            // It may have come since the last look.
            if let Some(place) = all.get(&number).and_then(|gift| gift.place) {
                all.remove(&number);
                return Ok(place);
            }
            if let Some(gift) = all.get_mut(&number) {
                gift.is_given_up = true;
            }
            waited
        })
    }

    fn write_there(&self, id: BoxId, number: u32, at: usize, message: &mut Message) -> Outcome<()> {
        let Some(network) = &self.network else { return Err(Failure::Peer) }; // `gives_in_place` has looked
        let kept = self.with(|state| state.gifts.counters.pop());
        let done = kept.unwrap_or_else(|| Box::leak(Box::new(AtomicU64::new(0))));
        let before = done.load(Ordering::Relaxed); // Relaxed: nobody else has it
        let from = (message.at().cast_const(), message.size);
        // SAFETY: the message's memory, which `leaving` has until the network is done with it.
        unsafe { network.write(id.owner.into(), at, from, done) }?;
        let storage = std::mem::take(&mut message.storage);
        self.with(|state| state.gifts.leaving.push(Leaving { done, before, storage }));
        self.am.background(1);
        match messages::came(self, id, number, true, Flags::NONE) {
            Err(error) if !error.is_lost() => crate::base::fatal(format_args!("DECK: {error}")),
            _ => {} // a lost node of another host ends the job
        }
        Self::count(&self.placed, message.size);
        Ok(())
    }

    /// Frees the memory that the network is done with. True if there was any.
    pub(super) fn free_gifts(&self) -> bool {
        let over: SmallVec<[Storage; 4]> = self.with(|state| {
            let Gifts { leaving, counters, .. } = &mut state.gifts;
            let over = leaving.extract_if(.., |one| one.is_over());
            over.map(|one| {
                counters.push(one.done);
                one.storage
            })
            .collect()
        });
        let any = !over.is_empty();
        self.am.background(-(over.len() as i32));
        for storage in over {
            if let Err(error) = self.release(storage) {
                crate::base::fatal(format_args!("DECK: {error:?}"));
            }
        }
        any
    }

    /// The owner, on node `from`, has answered about this gift.
    pub(super) fn placed(&self, from: u32, number: u32, place: Where) {
        let given_up = self.with(|state| {
            let gift = state.gifts.all.get_mut(&number)?;
            if let Where::At(at) = place {
                let end = at.checked_add(gift.len).filter(|end| *end <= self.heap_len() && at.is_multiple_of(UNIT));
                end?;
            }
            let is_expected = u32::from(gift.id.owner) == from && gift.place.is_none();
            is_expected.then(|| {
                gift.place = Some(place);
                gift.is_given_up.then_some(gift.id)
            })
        });
        match given_up {
            Some(None) => self.waiting.wake(Key::Gift(number)),
            Some(Some(id)) => self.owe(from, Due::NoGift(id, number)),
            None => corrupt(from, "place that was not asked for, or outside its heap"),
        }
    }

    /// A gift that was given up ends, now that its answer is here: the owner gets its place back, and this node its credits. False: there is no room
    /// for the message.
    pub(super) fn end_gift(&self, id: BoxId, number: u32) -> Result<bool, Error> {
        let is_placed = matches!(self.with(|state| state.gifts.place(number)), Some(Where::At(_)));
        if is_placed && !messages::came(self, id, number, false, Flags::IMMEDIATE)? {
            return Ok(false);
        }
        let ended = self.with(|state| {
            let gift = state.gifts.all.remove(&number)?;
            Some((gift.sender, state.post_ended(gift.sender, gift.spent)))
        });
        if let Some((sender, farewell)) = ended {
            if let Some(id) = farewell {
                self.due(Due::Forgot(id));
            }
            self.waiting.wake_all(Key::Sender(sender));
        }
        Ok(true)
    }
}
