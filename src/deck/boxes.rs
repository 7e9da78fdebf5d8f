//! Boxes come and go: creation, names, handles, destruction.
//!
//! Must not know: C types.

use super::engine::{Deck, Handle};
use super::item::Content;
use super::message::Storage;
use super::messages::{self, NameOperation};
use super::owner::{Credit, Own};
use super::state::{Answer, Due, OWNER, Opened, Request};
use super::waiting::Key;
use super::{BoxId, Failure, NAME_MOST, Outcome, Until};
use crate::am::corrupt::corrupt;
use crate::sci::Adapter;

impl<A: Adapter> Deck<A> {
    /// Makes a box of this node. Waits while every index is that of a box that is closing.
    pub fn open(&self, name: Option<&[u8]>, capacity: Credit) -> Outcome<Handle> {
        if name.is_some_and(|name| name.is_empty() || name.len() > NAME_MOST) {
            return Err(Failure::argument(format!("a name has 1 to {NAME_MOST} bytes")));
        }
        let most = self.most_boxes;
        let open = || match self.with(|state| state.open(self.am.me(), most, name, capacity)) {
            Opened::Box(id) => Ok(Some(id)),
            Opened::TooMany => {
                Err(Failure::memory(format!("this node has {most} boxes, which is the limit (GASNET_SCI_DECK_BOXES)")))
            }
            Opened::AllClosing => Ok(None),
        };
        let id = match open()? {
            Some(id) => id,
            None => self.wait(&[], Until::Forever, open)?,
        };
        if let Some(name) = name
            && self.ask_for_name(NameOperation::Add, name, id, Until::Forever)? == Answer::Refused
        {
            self.with(|state| state.close(id));
            self.with(|state| state.closed_by(OWNER, id));
            return Err(Failure::Exists);
        }
        Ok(self.handle(id, true))
    }

    /// Makes a handle of a box. `owns`: it is the owner's.
    pub fn handle(&self, id: BoxId, owns: bool) -> Handle {
        Handle { id, owns, sender: self.with(|state| state.sender_of(id)) }
    }

    /// The box of this name, once it is there.
    pub fn find(&self, name: &[u8], until: Until) -> Outcome<Handle> {
        if name.is_empty() || name.len() > NAME_MOST {
            return Err(Failure::argument(format!("a name has 1 to {NAME_MOST} bytes")));
        }
        let operation = if matches!(until, Until::Now) { NameOperation::Look } else { NameOperation::Await };
        match self.ask_for_name(operation, name, BoxId::from_word(0), until.for_an_answer())? {
            Answer::Done(id) => Ok(self.handle(id, false)),
            _ => Err(Failure::Again),
        }
    }

    /// Asks the node that has `name`, and waits for its answer. Where that node is lost meanwhile, the next one is asked.
    fn ask_for_name(&self, operation: NameOperation, name: &[u8], id: BoxId, until: Until) -> Outcome<Answer> {
        // Only a name that is waited for may take long; the other answers are on their way.
        let until = if operation == NameOperation::Await { until } else { Until::Forever };
        loop {
            let (home, has_settled) = self.home(name, until)?;
            let answer = match self.ask_home(home, operation, name, id, until) {
                Err(Failure::Peer) => {
                    self.am.poll(); // so that this node sees the loss
                    continue;
                }
                answer => answer?,
            };
            // The answer of a node that has not seen a loss yet: what it knows of a name is the lost node's box.
            let is_doubtful = match answer {
                Answer::Done(of) => operation != NameOperation::Remove && self.has_lost(of.owner.into()),
                _ => operation == NameOperation::Add && !has_settled,
            };
            if !is_doubtful {
                return Ok(answer);
            }
            if operation == NameOperation::Look {
                return Ok(Answer::Refused);
            }
            self.await_settled(home, until)?;
        }
    }

    /// Asks `home`, and waits for its answer. [`Failure::Peer`]: it is lost.
    fn ask_home(&self, home: u32, operation: NameOperation, name: &[u8], id: BoxId, until: Until) -> Outcome<Answer> {
        let request = self.with(|state| {
            let request = state.new_request(home, operation == NameOperation::Await);
            if operation == NameOperation::Add {
                state.dead.naming.insert(id, request);
            }
            request
        });
        let look = || {
            self.with(|state| match state.requests.get(&request) {
                Some(Request { answer: Answer::Waits, .. }) if state.dead.has(home) => Err(Failure::Peer),
                asked => Ok(asked.map(|asked| asked.answer).filter(|answer| *answer != Answer::Waits)),
            })
        };
        let asked = self.send(until, |flags| messages::name(self, home, operation, request, id, name, flags));
        let was_asked = asked.is_ok();
        let answer = asked.and_then(|_| match look()? {
            Some(answer) => Ok(answer),
            None => self.wait(&[Key::Request(request)], until, look),
        });
        if home == self.me() {
            // The answer was not waited for. Who waits for the name is told now, and a program that tries again and again hears of what other nodes
            // do with the name.
            self.am.poll();
        }
        self.with(|state| {
            state.requests.remove(&request);
            if matches!(answer, Ok(Answer::Done(_))) {
                state.dead.naming.remove(&id);
            }
        });
        if was_asked && matches!(answer, Err(Failure::TimedOut | Failure::Again)) {
            self.with(|state| state.unwanted.insert(request, (home, name.into())));
            match messages::unwanted(self, request)? {
                true => {}
                false => self.due(Due::Unwanted(home, request)),
            }
        }
        answer
    }

    /// `from` answers a request. One that nobody waits for any more is of no interest.
    pub(super) fn answered(&self, from: u32, request: u32, answer: Answer) {
        if let Answer::Done(id) = answer
            && u32::from(id.owner) >= self.nodes()
        {
            corrupt(from, "box of a node that does not exist");
        }
        self.with(|state| {
            let Some(asked) = state.requests.get_mut(&request) else { return };
            if asked.home != from || (answer == Answer::Waits && !asked.may_wait) {
                corrupt(from, "answer about a name that was not asked for");
            }
            if answer != Answer::Waits {
                asked.answer = answer;
            }
        });
        self.waiting.wake(Key::Request(request));
    }

    /// The handle is not needed any more. If it is the owner's, the box goes, too.
    pub fn destroy(&self, handle: &Handle) -> Outcome<()> {
        let id = handle.id;
        if handle.owns
            && let Some(own) = self.with(|state| state.close(id))
        {
            self.waiting.wake_all(Key::Box(id.index)); // other threads that wait there learn that it is gone
            if let Some(name) = &own.name {
                self.ask_for_name(NameOperation::Remove, name, id, Until::Forever)?;
            }
            let senders = own.senders().to_vec();
            self.discard(own)?;
            for node in &senders {
                messages::gone(self, *node, id)?;
            }
            self.with(|state| state.closed_by(OWNER, id));
        }
        self.with(|state| state.drop_handle(handle.sender, handle.owns));
        Ok(())
    }

    /// Frees what the box holds.
    fn discard(&self, mut own: Own) -> Outcome<()> {
        while let Some((_, item)) = own.take() {
            match item.content {
                Content::Line(_) | Content::Nothing => {}
                Content::Bytes(bytes) => self.release(Storage::Local(bytes))?,
                Content::Loan(block) => self.release(Storage::Shared(block))?,
            }
        }
        Ok(())
    }

    /// Ends all boxes of this node.
    pub fn close_all(&self) -> Outcome<()> {
        let open = self.with(|state| state.open_boxes());
        for id in open {
            self.destroy(&Handle { id, owns: true, sender: u32::MAX })?; // no sender has this number: the program's handles stay
        }
        Ok(())
    }
}
