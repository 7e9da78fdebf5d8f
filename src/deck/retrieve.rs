//! The owner's side: what a program gets out of its boxes.
//!
//! Must not know: C types, the form of messages.

#![allow(unsafe_code)] // blocks of DECK heaps

use super::engine::{Deck, Handle};
use super::item::{Content, Item, Retrieved};
use super::message::{Block, Bytes, LEAST, Message, Storage};
use super::messages;
use super::pace::Kind;
use super::receive_slot::ReceiveSlot;
use super::state::Due;
use super::waiting::Key;
use super::{BoxId, Failure, Outcome, Until};
use crate::am::corrupt::corrupt;
use crate::os::event;
use crate::sci::Adapter;
use crate::verbs::Flags;
use std::os::fd::{AsRawFd, OwnedFd};

impl<A: Adapter> Deck<A> {
    /// The memory of a message is not needed any more.
    pub fn release(&self, storage: Storage) -> Outcome<()> {
        match storage {
            Storage::Local(bytes) => self.with(|state| state.keep(bytes)),
            Storage::Shared(block) => {
                // A call that returns a block waits for nobody.
                if !messages::back(self, block.owner, block.offset, Flags::IMMEDIATE)? {
                    self.due(Due::Back(block.owner, block.offset));
                }
            }
        }
        Ok(())
    }

    /// The index of the box, if the handle is its owner's.
    fn owned(&self, handle: &Handle) -> Outcome<u16> {
        match handle.owns {
            true => Ok(handle.id.index),
            false => Err(Failure::argument("the box is another node's, or the handle a sender's")),
        }
    }

    /// Retrieves into `message`, which must be large enough if it is fixed.
    #[inline(always)]
    pub fn retrieve(&self, handle: &Handle, message: &mut Message, until: Until) -> Outcome<()> {
        self.owned(handle)?;
        let found = self.lock().borrow_mut().next_line(handle.id, message, self.am);
        if found {
            self.look_after_others(Kind::Retrieval);
            return Ok(());
        }
        self.retrieve_any(handle.id, message, until)
    }

    /// As [`Self::retrieve`], any message. It is a function of its own, so that short messages that are there take few instructions.
    #[inline(never)]
    fn retrieve_any(&self, id: BoxId, message: &mut Message, until: Until) -> Outcome<()> {
        let mut taken = None;
        if !self.with(|state| state.next(id, message, &mut taken, self.am))? {
            return self.await_next(id, message, until);
        }
        self.look_after_others(Kind::Retrieval);
        self.finish(message, taken)
    }

    /// Takes a message out of the box.
    pub fn take(&self, handle: &Handle, until: Until) -> Outcome<Message> {
        self.owned(handle)?;
        let mut message = Message::new(Storage::default(), 0, false);
        self.retrieve_any(handle.id, &mut message, until)?;
        Ok(message)
    }

    /// Makes what was taken out of the box the content of `message`; `None`: it is there already.
    #[inline(always)]
    fn finish(&self, message: &mut Message, taken: Retrieved) -> Outcome<()> {
        match taken {
            Some((source, item)) => self.fill(message, source, item),
            None => Ok(()),
        }
    }

    /// Waits for the next message.
    fn await_next(&self, id: BoxId, message: &mut Message, until: Until) -> Outcome<()> {
        if let Some(failure) = until.over() {
            let mut taken = None;
            self.am.poll();
            if !self.with(|state| state.next(id, message, &mut taken, self.am))? {
                return Err(failure);
            }
            self.send_dues();
            return self.finish(message, taken);
        }
        let slot = ReceiveSlot::new(message);
        let keys = [Key::Box(id.index), Key::ReceiveSlot(slot.listed().number())];
        let waited = self.wait(&keys, until, || self.look_for(id, &slot));
        if !slot.is_granted() && waited.is_err() {
            self.with(|state| state.forget(id, slot.listed())); // until that has returned, a handler may still grant it
        }
        if !slot.is_granted() {
            waited?;
        }
        self.finish(message, slot.into_taken())
    }

    /// True if the slot was granted. Else it takes the next message, if there is one, or lists the slot at the box, if no other thread has one there.
    #[inline(always)]
    fn look_for(&self, id: BoxId, slot: &ReceiveSlot) -> Outcome<Option<()>> {
        if slot.is_granted() {
            return Ok(Some(()));
        }
        self.look_in_box(id, slot)
    }

    /// The rest of [`Self::look_for`]. It is a function of its own, so that a wait whose slot was granted takes few instructions.
    #[inline(never)]
    fn look_in_box(&self, id: BoxId, slot: &ReceiveSlot) -> Outcome<Option<()>> {
        self.with(|state| {
            if slot.is_granted() {
                return Ok(Some(())); // by another thread, meanwhile
            }
            // SAFETY: this runs under the lock, and there is no other reference from here.
            let (message, taken) = unsafe { slot.places() };
            let found = state.next(id, message, taken, self.am)?;
            match found {
                true => state.forget(id, slot.listed()),
                false => _ = state.own(id)?.receive_slot.get_or_insert(slot.listed()),
            }
            Ok(found.then_some(()))
        })
    }

    #[inline(never)]
    fn fill(&self, message: &mut Message, source: u32, item: Item) -> Outcome<()> {
        let Item { content, len } = item;
        let (from, storage): (*const u8, Option<Storage>) = match content {
            Content::Line(words) => {
                self.make_room(message, LEAST)?;
                message.fill_line(len, source, |i| words[i]);
                return Ok(());
            }
            Content::Nothing => return Ok(()),
            Content::Bytes(bytes) => (bytes.at(), Some(Storage::Local(bytes))),
            Content::Loan(mut block) => {
                if block.owner != self.me() || block.at.is_null() {
                    block.at = self.reach(source, &block);
                }
                (block.at, Some(Storage::Shared(block)))
            }
        };
        let Some(storage) = storage else { return Ok(()) };
        let old = match message.fixed {
            false => {
                message.capacity = storage.place().1;
                std::mem::replace(&mut message.storage, storage)
            }
            true => {
                Self::count(&self.copied, len);
                // SAFETY: `next` has compared `len` with the capacity; the content is as long.
                unsafe { message.at().copy_from_nonoverlapping(from, len) };
                storage
            }
        };
        message.filled(len, source);
        self.release(old)
    }

    /// `message` gets room for `len` bytes.
    fn make_room(&self, message: &mut Message, len: usize) -> Outcome<()> {
        if message.storage.place().1 < len {
            let new = Bytes::new(len).ok_or_else(|| Failure::memory(format!("{len} bytes")))?;
            self.release(std::mem::replace(&mut message.storage, Storage::Local(new)))?;
        }
        Ok(())
    }

    /// The first byte of a block that `from` has lent. It lies inside its heap: `messages::loan_came` has seen to that.
    fn reach(&self, from: u32, block: &Block) -> *mut u8 {
        let Some(region) = self.region(block.owner) else { corrupt(from, "block of a heap that cannot be reached") };
        (region.at + block.offset) as *mut u8
    }

    /// Waits until one of the boxes has a message. Returns the box's index in the list. If several boxes have a message, the one returned least
    /// recently by any select call is chosen.
    pub fn select(&self, handles: &[Handle], until: Until) -> Outcome<usize> {
        let mut keys = Vec::new();
        for handle in handles {
            keys.push(Key::Box(self.owned(handle)?));
        }
        let look = || {
            self.with(|state| {
                let mut found: Option<(u64, usize)> = None;
                for (at, handle) in handles.iter().enumerate() {
                    let own = state.own(handle.id)?;
                    if !own.is_empty() && found.is_none_or(|(named, _)| own.named < named) {
                        found = Some((own.named, at));
                    }
                }
                let Some((_, at)) = found else { return Ok(None) };
                state.selected += 1;
                let call = state.selected;
                state.own(handles[at].id)?.named = call;
                Ok(Some(at))
            })
        };
        if let Some(found) = look()? {
            return Ok(found);
        }
        match until.over() {
            Some(failure) => {
                self.am.poll();
                look()?.ok_or(failure)
            }
            None => self.wait(&keys, until, look),
        }
    }

    /// How many messages wait in the box. Polls first.
    pub fn pending(&self, handle: &Handle) -> Outcome<usize> {
        self.owned(handle)?;
        self.am.poll();
        self.with(|state| Ok(state.own(handle.id)?.pending()))
    }

    /// An error unless [`Self::descriptor`] gives the handle one.
    pub fn may_have_descriptor(&self, handle: &Handle) -> Outcome<()> {
        self.owned(handle)?;
        self.with(|state| state.own(handle.id).map(drop))
    }

    /// The descriptor of the box. `make` makes it at the first call.
    pub fn descriptor(&self, handle: &Handle, make: impl FnOnce() -> Outcome<OwnedFd>) -> Outcome<i32> {
        self.owned(handle)?;
        self.with(|state| {
            let own = state.own(handle.id)?;
            let fd = match own.fd.take() {
                Some(fd) => fd,
                None => {
                    let fd = make()?;
                    if !own.is_empty() {
                        event::raise(&fd);
                    }
                    fd
                }
            };
            Ok(own.fd.insert(fd).as_raw_fd())
        })
    }
}
