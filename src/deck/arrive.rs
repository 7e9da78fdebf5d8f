//! What handlers do with what has come. Nothing that comes is trusted. Handlers wait for nothing, and send nothing but replies.
//!
//! Must not know: the form of messages.

#![allow(unsafe_code)] // payloads

use super::BoxId;
use super::engine::Deck;
use super::item::{Content, Item};
use super::message::{Bytes, Message};
use super::messages;
use super::owner::{Came, Credit, Own, Refused};
use super::pool::Pool;
use super::post::LENT;
use super::sender::{Need, Sender, Word};
use super::state::{Due, Slot, State, retrieved};
use super::waiting::Key;
use crate::am::corrupt::corrupt;
use crate::am::source::Source;
use crate::os::event;
use crate::sci::Adapter;

#[cold]
fn no_memory(len: usize) -> ! {
    crate::base::fatal(format_args!("DECK: no memory for a message of {len} bytes"))
}

impl<A: Adapter> Deck<A> {
    /// A short message of `len` bytes for the box of this index has come from `node`; `word` gives its words. The caller has the lock.
    /// Returns what [`Self::handed_over`] needs.
    #[inline(always)]
    pub(super) fn line(
        &self,
        state: &mut State,
        node: u32,
        index: u16,
        len: usize,
        word: impl Fn(usize) -> u64,
    ) -> Option<Key> {
        self.hand_over_locked(state, node, index, |own, _| {
            let store = |message: &mut Message| message.fill_line(len, node, &word);
            own.deliver(node, len, Some(store), || {
                Content::Line([word(0), word(1), word(2), word(3), word(4), word(5), word(6)])
            })
        })
    }

    /// The same of one with more bytes. They are copied where a thread waits for them, or into a block that a message adopts.
    pub(super) fn body(&self, node: u32, index: u16, payload: Source) {
        let len = payload.len();
        let copied = |block: Option<Bytes>| {
            let bytes = block.unwrap_or_else(|| no_memory(len));
            // SAFETY: the block has room for `len` bytes.
            unsafe { payload.move_to(bytes.at()) };
            Content::Bytes(bytes)
        };
        if len >= LENT {
            // So many are copied before the lock is taken.
            let content = copied(self.with(|state| state.pool.take(len)));
            return self.arrived(node, index, Item { content, len });
        }
        self.hand_over(node, index, |own, pool| {
            let store = |message: &mut Message| message.fill(payload, node);
            own.deliver(node, len, Some(store), || copied(pool.take(len)))
        });
    }

    /// A message for the box of this index has come from `node`. `put` gives it to a thread that waits for it, or queues it; `None`: the
    /// node has no credit for it.
    fn hand_over(&self, node: u32, index: u16, put: impl FnOnce(&mut Own, &mut Pool) -> Option<Came>) {
        let key = self.with(|state| self.hand_over_locked(state, node, index, put));
        self.handed_over(node, key);
    }

    /// Called without the lock after a message of `node` was handed over. It wakes the thread with this key. If `node` is this one, it sends what is
    /// due: no poll follows, as one does behind a handler, and nobody need be serving. The thread that waited for this message may have been
    /// the one that serves, and computes from now on.
    #[inline(always)]
    pub(super) fn handed_over(&self, node: u32, key: Option<Key>) {
        if let Some(key) = key {
            self.waiting.rouse(key);
        }
        if node == self.me() {
            self.send_dues();
        }
    }

    /// As [`Self::hand_over`]; the caller has the lock. Returns the key of the thread that is to be woken without it, where threads can wait.
    #[inline(always)]
    fn hand_over_locked(
        &self,
        state: &mut State,
        node: u32,
        index: u16,
        put: impl FnOnce(&mut Own, &mut Pool) -> Option<Came>,
    ) -> Option<Key> {
        let State { boxes, due, pool, .. } = state;
        // Open boxes first, with one test.
        let Some(Slot::Open(own)) = boxes.get_mut(usize::from(index)) else {
            match boxes.get(usize::from(index)) {
                Some(Slot::Closing(..)) => return None,
                _ => corrupt(node, "message for a box that does not exist"),
            }
        };
        let granted = match put(own, pool) {
            Some(Came::Granted(slot, payer)) => {
                self.am.will_send(node); // the thread that waits will probably answer
                retrieved(own, payer, due, self.am);
                Some(slot)
            }
            Some(Came::Queued(was_empty)) => {
                if let Some(fd) = &own.fd
                    && was_empty
                {
                    event::raise(fd);
                }
                None
            }
            None => corrupt(node, "message for a box without its credit"),
        };
        self.waiting.changed();
        // The key is made only where it is used.
        self.is_threaded().then(|| granted.map_or(Key::Box(index), |slot| Key::ReceiveSlot(slot.number())))
    }

    /// A message for the box of this index has come from `node`, as an item: a thread that waits for it makes it the content of its message itself.
    pub(super) fn arrived(&self, node: u32, index: u16, item: Item) {
        let (len, mut content) = (item.len, Some(item.content));
        let store = None::<fn(&mut Message)>;
        self.hand_over(node, index, |own, _| {
            own.deliver(node, len, store, || content.take().unwrap_or(Content::Nothing))
        });
        // A box that is closing has not taken it.
        if let Some(Content::Loan(block)) = content {
            self.owe(node, Due::Back(block.owner, block.offset));
        }
    }

    /// As [`Self::arrived`], a piece.
    pub(super) fn piece(&self, node: u32, index: u16, stream: u32, (len, at): (usize, usize), bytes: Source) {
        let whole = self.with(|state| match state.boxes.get_mut(usize::from(index)) {
            Some(Slot::Open(own)) => {
                // SAFETY: the box has found that there is room.
                let put = |to| unsafe { bytes.move_to(to) };
                own.piece(node, stream, len, (at, bytes.len()), put).unwrap_or_else(|refused| match refused {
                    Refused::Nonsense => corrupt(node, "piece of a message that does not fit"),
                    Refused::Memory => no_memory(len),
                })
            }
            Some(Slot::Closing(..)) => None,
            _ => corrupt(node, "piece for a box that does not exist"),
        });
        if let Some(item) = whole {
            self.arrived(node, index, item);
        }
    }

    /// `node` asks for credits. `None`: the box is gone.
    pub(super) fn asked(&self, node: u32, id: BoxId, need: Need, how: messages::Ask) -> Option<(Credit, Credit)> {
        self.with(|state| {
            let own = state.own(id).ok()?;
            if !own.returned(node, need.back) {
                corrupt(node, "credits of a box that it does not have");
            }
            let credit = match how {
                messages::Ask::Stop => {
                    own.stop_waiting(node);
                    Credit::default()
                }
                _ => own.ask(node, need.credit, how == messages::Ask::Wait),
            };
            let (capacity, tries) = (own.capacity, how == messages::Ask::Try && credit == Credit::default());
            state.serve(id, self.am); // what came back may be enough for another
            if tries {
                state.recall_for(id, node, self.am);
            }
            Some((credit, capacity))
        })
    }

    /// Credits have come for this node's messages; `None`: the box is gone.
    pub(super) fn granted(&self, id: BoxId, grant: Option<(Credit, Credit)>, word: Word) {
        let sender = self.with(|state| {
            let number = match state.by_id.get(&id) {
                Some(number) => *number,
                // Credits may come after the program has destroyed its last handle. They are kept, so that the owner gets them back.
                None if grant.is_some_and(|(credit, _)| credit != Credit::default()) => state.stray(id)?,
                None => return None,
            };
            let sender = state.senders[number as usize].as_mut()?;
            if word != Word::Late {
                sender.answers = sender.answers.saturating_sub(1);
            }
            match grant {
                Some((credit, capacity)) => {
                    if !sender.granted(credit, capacity, word) {
                        corrupt(id.owner.into(), "credits that no box has");
                    }
                }
                None => sender.gone = true,
            }
            state.drop_unused(number);
            Some(number)
        });
        if let Some(sender) = sender {
            self.waiting.wake_all(Key::Sender(sender));
        }
    }

    /// The owner wants back what is not used.
    pub(super) fn recalled(&self, id: BoxId) -> Credit {
        self.with(|state| {
            let Some(number) = state.by_id.get(&id).copied() else { return Credit::default() };
            let credit = state.sender(number).map(Sender::return_unused).unwrap_or_default();
            state.drop_unused(number);
            credit
        })
    }

    /// `node` has returned credits. If others still wait, and it has some that were on their way to it, it is asked again.
    pub(super) fn returned(&self, node: u32, id: BoxId, credit: Credit) {
        self.with(|state| {
            let Ok(own) = state.own(id) else { return };
            if !own.answered(node) || !own.returned(node, credit) {
                corrupt(node, "credits of a box that it does not have");
            }
            state.serve(id, self.am);
        });
    }

    /// The box is gone, as its owner says.
    pub(super) fn gone(&self, id: BoxId) {
        let (sender, is_due) = self.with(|state| state.box_gone(id));
        if is_due {
            self.owe(id.owner.into(), Due::Forgot(id));
        }
        if let Some(sender) = sender {
            self.waiting.wake_all(Key::Sender(sender));
        }
    }

    /// `node` knows that the box is gone.
    pub(super) fn forgotten(&self, node: u32, id: BoxId) {
        if !self.with(|state| state.closed_by(node, id)) {
            corrupt(node, "farewell to a box that is there, or a second one");
        }
    }
}
