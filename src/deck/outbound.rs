//! Messages that a call or a handler owes: the call itself sends them before it returns, or the next poll outside handlers does.
//!
//! Must not know: C types.

use super::engine::Deck;
use super::heap::UNIT;
use super::messages;
use super::pace::Kind;
use super::state::Due;
use crate::am::corrupt::corrupt;
use crate::os::sys;
use crate::sci::Adapter;
use crate::verbs::Flags;
use smallvec::SmallVec;

/// What may be due to one node beside blocks of its heap: several messages for each box that it has or sends to.
const PER_NODE: usize = 16 << 16;

/// So many messages for nodes without room are passed over by one poll.
const KEPT: usize = 64;

impl<A: Adapter> Deck<A> {
    /// Has `due` sent by this call, if it sends what is due, or by the next poll outside handlers, and wakes the thread that serves.
    pub(super) fn due(&self, due: Due) {
        self.with(|state| state.due.push_back(due));
        self.am.background(1);
        self.waiting.ring();
    }

    /// As [`Self::due`], because of something that `source` has sent. A node that sends and takes nothing itself would let the list
    /// grow without bound.
    pub(super) fn owe(&self, source: u32, due: Due) {
        let most = self.nodes() as usize * (self.heap_len() / UNIT + PER_NODE);
        if self.with(|state| state.due.len()) >= most {
            corrupt(source, "so many messages that the answers cannot be kept");
        }
        self.due(due);
    }

    /// Sends what is due, if anything is. For places behind which nobody need poll soon. What finds no room waits for a poll, of the thread that
    /// serves if there is one. In a job that survives deaths handlers may run (`look_at_losses`), so the caller holds no lock.
    #[inline(always)]
    pub(super) fn send_dues(&self) {
        if self.am.has_work() {
            self.progress();
            if self.is_threaded() && self.am.has_work() {
                self.waiting.ring();
            }
        }
    }

    /// A call has found all it needs, and no poll follows by itself. Sends what is due, such as credits of what was retrieved: the program may
    /// compute from now on, and a sender may wait for them. Polls now and then.
    #[inline(always)]
    pub(super) fn look_after_others(&self, kind: Kind) {
        let (call, is_look_due) = self.pace.count();
        if is_look_due || self.am.has_work() {
            self.look_further(call, is_look_due, kind);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_further(&self, call: u64, is_look_due: bool, kind: Kind) {
        self.send_dues();
        if !is_look_due {
            return;
        }
        if kind == Kind::Post && self.pace.is_turn_over(call) {
            self.am.waiter.offer_core();
        }
        if self.pace.look(call, kind, sys::counter()) {
            self.am.poll();
            self.pace.polled(call, sys::counter());
        }
    }

    /// Sends what is due. True if there was anything. Any poll outside handlers calls this, and handlers must not.
    pub fn progress(&self) -> bool {
        let mut any = self.look_at_losses() | (self.network.is_some() && self.free_gifts());
        // Those that come meanwhile wait for the next poll: what this node owes itself may go on for as long as a thread of its own has
        // not taken its credits.
        let mut left = self.with(|state| state.due.len());
        // A node without room does not hold up what others get, as far as that is near the front. What it gets stays in its order.
        let (mut full, mut kept) = (SmallVec::<[u32; 4]>::new(), Vec::new());
        while left > 0
            && kept.len() < KEPT
            && let Some(due) = self.with(|state| state.due.pop_front())
        {
            left -= 1;
            if due.node().is_some_and(|node| full.contains(&node)) {
                kept.push(due);
                continue;
            }
            let sent = match due {
                _ if self.is_for_lost(&due) => {
                    self.drop_due(due);
                    Ok(true)
                }
                Due::Serve(id) => {
                    // Who waits for these credits gets them now: the next poll may come late, and the thread that serves may sleep.
                    left += self.with(|state| {
                        let before = state.due.len();
                        state.serve(id, self.am);
                        state.due.len() - before
                    });
                    Ok(true)
                }
                Due::Back(node, offset) => messages::back(self, node, offset, Flags::IMMEDIATE),
                // The box is gone, and its senders are told so.
                Due::More(_, id, ..) if self.with(|state| state.own(id).is_err()) => Ok(true),
                Due::More(node, id, credit, capacity) => messages::more(self, node, id, credit, capacity),
                Due::Recall(node, id) => messages::recall(self, node, id),
                Due::Forgot(id) => messages::forgot(self, id),
                Due::Stop(id) => messages::stop(self, id),
                Due::Unwanted(_, request) => messages::unwanted(self, request),
                Due::Found(node, request, id) => messages::found(self, node, request, id),
                Due::Name(request, id) => self.rename(request, id),
                Due::NoGift(id, number) => self.end_gift(id, number),
            };
            match sent {
                Ok(true) => {
                    self.am.background(-1);
                    any = true;
                }
                Ok(false) => {
                    full.extend(due.node());
                    kept.push(due);
                }
                Err(error) if error.is_lost() => self.with(|state| state.due.push_front(due)), // `is_for_lost` now
                Err(error) => crate::base::fatal(format_args!("DECK: {error}")),
            }
        }
        if !kept.is_empty() {
            self.with(|state| kept.into_iter().rev().for_each(|due| state.due.push_front(due)));
        }
        any
    }
}
