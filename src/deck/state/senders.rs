//! This node as a sender: which boxes it may send to, and what becomes of its credits there.
//!
//! Must not know: the boxes of this node.

use super::super::owner::Credit;
use super::super::sender::{Sender, Taken};
use super::super::{BoxId, Failure, Outcome};
use super::State;

impl State {
    /// The number of this node's sender to `id`, which one handle more uses.
    pub(in crate::deck) fn sender_of(&mut self, id: BoxId) -> u32 {
        let State { by_id, senders, dead, .. } = self;
        let number = *by_id.entry(id).or_insert_with(|| {
            let at = senders.iter().position(Option::is_none).unwrap_or_else(|| {
                senders.push(None);
                senders.len() - 1
            });
            let mut sender = Sender::new(id);
            sender.gone = dead.has(id.owner.into());
            senders[at] = Some(sender);
            at as u32
        });
        if let Some(sender) = &mut senders[number as usize] {
            sender.handles += 1;
        }
        number
    }

    /// As [`Self::sender_of`], for credits that have come when the program has no handle. There is one such box for each place of an
    /// owner, the newest: an owner uses a place again when the box before is gone. `None`: `id` is an older one.
    pub(in crate::deck) fn stray(&mut self, id: BoxId) -> Option<u32> {
        let place = (id.owner, id.index);
        if let Some(other) = self.strays.get(&place).copied() {
            if (id.serial.wrapping_sub(other.serial) as i32) < 0 {
                return None;
            }
            let number = self.by_id.get(&other).copied();
            if let Some(number) = number
                && let Some(sender) = self.sender(number)
            {
                sender.gone = true;
                self.drop_unused(number);
            }
        }
        self.strays.insert(place, id);
        let number = self.sender_of(id);
        if let Some(sender) = self.sender(number) {
            sender.handles -= 1;
        }
        Some(number)
    }

    fn is_no_stray(&mut self, id: BoxId) {
        if self.strays.get(&(id.owner, id.index)) == Some(&id) {
            self.strays.remove(&(id.owner, id.index));
        }
    }

    pub(in crate::deck) fn sender(&mut self, number: u32) -> Option<&mut Sender> {
        self.senders.get_mut(number as usize)?.as_mut()
    }

    /// A handle is gone. `owned`: it was the owner's, so the box is gone as well.
    pub(in crate::deck) fn drop_handle(&mut self, number: u32, owned: bool) {
        let Some(sender) = self.sender(number) else { return };
        sender.handles -= 1;
        sender.gone |= owned;
        self.drop_unused(number);
    }

    /// Forgets this node's sender of that number if nobody has use for it.
    pub(in crate::deck) fn drop_unused(&mut self, number: u32) {
        let Some(sender) = self.sender(number) else { return };
        // Credits are returned when the owner wants them, so a sender that has any is kept until the box is gone.
        let is_idle = sender.credit == Credit::default() && !sender.asked;
        let is_used = sender.handles > 0 || sender.under_way > 0 || sender.answers > 0 || sender.waiters > 0;
        if !is_used && (sender.gone || is_idle) {
            let id = sender.id;
            self.by_id.remove(&id);
            self.senders[number as usize] = None;
            self.is_no_stray(id);
        }
    }

    /// The owner says that the box is gone, and wants a farewell behind the last message. Returns the number of this node's sender, and
    /// whether the farewell is due now: [`Self::post_ended`] says so later, if messages are under way.
    pub(in crate::deck) fn box_gone(&mut self, id: BoxId) -> (Option<u32>, bool) {
        self.is_no_stray(id);
        let Some(number) = self.by_id.get(&id).copied() else { return (None, true) };
        let Some(sender) = self.sender(number) else { return (None, true) };
        sender.gone = true;
        sender.owes_farewell = sender.under_way > 0;
        let is_due = !sender.owes_farewell;
        self.drop_unused(number);
        (Some(number), is_due)
    }

    /// The owner of the box is lost. Nobody wants a farewell.
    pub(in crate::deck) fn owner_lost(&mut self, number: u32) {
        let Some(sender) = self.sender(number) else { return };
        (sender.gone, sender.owes_farewell) = (true, false);
        self.drop_unused(number);
    }

    /// This node's sender of that number, if it is still that of `id`. Another thread may have destroyed the handle that says so.
    fn sender_to(&mut self, number: u32, id: BoxId) -> Option<&mut Sender> {
        self.sender(number).filter(|sender| sender.id == id)
    }

    /// Takes the credits of a message of `len` bytes.
    #[inline]
    pub(in crate::deck) fn pay(&mut self, number: u32, id: BoxId, len: u64, may_wait: bool) -> Outcome<Taken> {
        let sender = self.sender_to(number, id).ok_or(Failure::Gone)?;
        Ok(sender.take(len, may_wait))
    }

    /// A message for which credits were taken was sent, or will not be sent. `back` are the credits that it did not use. Returns the box
    /// if its owner gets this node's farewell now.
    #[inline]
    pub(in crate::deck) fn post_ended(&mut self, number: u32, back: Credit) -> Option<BoxId> {
        let sender = self.sender(number)?;
        sender.pay_back(back);
        sender.under_way -= 1;
        if !sender.gone && sender.handles > 0 {
            return None;
        }
        let owes = sender.under_way == 0 && std::mem::take(&mut sender.owes_farewell);
        let farewell = owes.then_some(sender.id);
        self.drop_unused(number);
        farewell
    }

    /// The owner was not asked for credits, although [`Self::pay`] has said that it should be. `back` were to go with the question.
    pub(in crate::deck) fn has_not_asked(&mut self, number: u32, back: Credit) {
        if let Some(sender) = self.sender(number) {
            sender.has_not_asked(back);
            self.drop_unused(number);
        }
    }

    /// A thread begins to wait for credits. As long as it waits, the number is this sender's. False: it is not any more.
    #[must_use]
    pub(in crate::deck) fn begin_wait(&mut self, number: u32, id: BoxId) -> bool {
        let sender = self.sender_to(number, id);
        sender.map(|sender| sender.waiters += 1).is_some()
    }

    /// A thread waits no longer for credits. `gives_up`: it has not got them. Returns the box if its owner must know, because no other
    /// thread waits for what was asked.
    pub(in crate::deck) fn end_wait(&mut self, number: u32, gives_up: bool) -> Option<BoxId> {
        let sender = self.sender(number)?;
        sender.waiters -= 1;
        if gives_up && sender.waiters == 0 {
            sender.stop_waiting();
            if !sender.gone {
                sender.answers += 1;
                return Some(sender.id);
            }
        }
        self.drop_unused(number);
        None
    }
}
