//! What a node knows: its boxes, its sides as a sender, requests about names, its heap, blocks to be used again. One lock guards it.
//!
//! Must not know: how messages travel, C types.

mod senders;

use super::gift::{Gifts, Place};
use super::heap::Heap;
use super::item::Retrieved;
use super::message::{Bytes, Message};
use super::names::Names;
use super::owner::{Credit, Own, Payer};
use super::pool::Pool;
use super::receive_slot::Listed;
use super::sender::Sender;
use super::survive::roll::Dead;
use super::{BoxId, Failure, Outcome};
use crate::am::Am;
use crate::os::event;
use crate::sci::Adapter;
use std::collections::{HashMap, VecDeque};

/// A place for a box.
pub(super) enum Slot {
    Free,
    Open(Own),
    /// Destroyed. The list has those who have not said yet that they are done with it: nodes that sent to it, and [`OWNER`].
    Closing(BoxId, Vec<u32>),
}

/// Stands in the list of [`Slot::Closing`] for the call that destroys the box. No node has this number.
pub(super) const OWNER: u32 = u32::MAX;

/// Places for boxes: as many as an index can name.
const PLACES: usize = 1 << 16;

/// What comes of an attempt to make a box.
pub(super) enum Opened {
    /// It is there.
    Box(BoxId),
    /// The node has its most boxes open.
    TooMany,
    /// Every index is that of a box whose senders have not said farewell yet. They will, so the caller may wait.
    AllClosing,
}

/// A message to be sent by the call that owes it, or by the next poll outside handlers.
#[derive(Clone, Copy)]
pub(super) enum Due {
    /// A block goes back to its owner.
    Back(u32, usize),
    /// Messages were retrieved, and senders wait.
    Serve(BoxId),
    /// Credits for a sender that waits, and what the box may hold.
    More(u32, BoxId, Credit, Credit),
    /// A node is to return credits.
    Recall(u32, BoxId),
    /// The answer to a request for a name that was not there.
    Found(u32, u32, BoxId),
    /// This node sends nothing more to the box, which is gone.
    Forgot(BoxId),
    /// No thread waits any more for credits of the box.
    Stop(BoxId),
    /// This node asked a home for a name, in this request, and no thread waits for it any more: `State::unwanted`.
    Unwanted(u32, u32),
    /// The home of the box's name is to hear of it again, in this request.
    Name(u32, BoxId),
    /// What this node has called so is not given to the box: the call's time was over.
    NoGift(BoxId, u32),
}

impl Due {
    /// The node that gets it; `None`: none, or one that is found out when it is sent.
    pub(super) fn node(&self) -> Option<u32> {
        match self {
            Due::Back(node, _)
            | Due::More(node, ..)
            | Due::Recall(node, _)
            | Due::Found(node, ..)
            | Due::Unwanted(node, _) => Some(*node),
            Due::Forgot(id) | Due::Stop(id) | Due::NoGift(id, _) => Some(id.owner.into()),
            Due::Serve(_) | Due::Name(..) => None,
        }
    }
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// None yet.
    Waits,
    /// It is done; of this box.
    Done(BoxId),
    /// It can't be done.
    Refused,
}

/// No request has this number.
pub(super) const NO_REQUEST: u32 = 0;

/// A request about a name.
pub(super) struct Request {
    /// The node that was asked.
    pub(super) home: u32,
    /// It is one for a name that need not be there yet.
    pub(super) may_wait: bool,
    pub(super) answer: Answer,
}

/// The state of a node.
#[derive(Default)]
pub(super) struct State {
    /// The boxes of this node, by index.
    pub(super) boxes: Vec<Slot>,
    /// Indices of free places, the one that was free for longest first.
    free: VecDeque<u16>,
    /// How many boxes are open.
    opened: usize,
    /// The serial of the last box.
    serial: u32,
    /// This node as a sender: one for each box that it may send to.
    pub(super) senders: Vec<Option<Sender>>,
    /// The indices in `senders`, which are also called their numbers.
    pub(super) by_id: HashMap<BoxId, u32>,
    /// Boxes of which credits came when the program had no handle, by owner and index.
    strays: HashMap<(u16, u16), BoxId>,
    pub(super) names: Names,
    /// Requests about names that this node has made, by number.
    pub(super) requests: HashMap<u32, Request>,
    /// Names that no thread waits for any more, by the requests that asked for them; their homes are to hear of it.
    pub(super) unwanted: HashMap<u32, (u32, Box<[u8]>)>,
    next_request: u32,
    pub(super) heap: Heap,
    /// Blocks of the heap into which nodes of other hosts write what they give, by node and by its number for that.
    pub(super) places: HashMap<(u32, u32), Place>,
    pub(super) gifts: Gifts,
    pub(super) due: VecDeque<Due>,
    pub(super) pool: Pool,
    /// The nodes that are lost.
    pub(super) dead: Dead,
    /// Number of the last message that went in pieces.
    pub(super) streams: u32,
    /// How often `select` has named a box.
    pub(super) selected: u64,
}

#[inline(always)]
fn open_box(boxes: &mut [Slot], id: BoxId) -> Option<&mut Own> {
    match boxes.get_mut(usize::from(id.index)) {
        Some(Slot::Open(own)) if own.id == id => Some(own),
        _ => None,
    }
}

/// A message has left the box's queue.
#[inline(always)]
fn leave_queue<A: Adapter>(own: &mut Own, payer: Payer, due: &mut VecDeque<Due>, am: &Am<A>) {
    if let Some(fd) = &own.fd
        && own.is_empty()
    {
        event::lower(fd);
    }
    retrieved(own, payer, due, am);
}

/// Notes that a message was retrieved. If senders wait for credits, the next poll gives them those of all messages that were retrieved until
/// then. Else the message's own sender gets credits back, once it has used enough of them.
#[inline(always)]
pub(super) fn retrieved<A: Adapter>(own: &mut Own, payer: Payer, due: &mut VecDeque<Due>, am: &Am<A>) {
    if own.is_awaited() || payer.is_due {
        owe_credits(own, payer, due, am);
    }
}

/// The rare part of [`retrieved`]: has the next poll send credits.
#[inline(never)]
fn owe_credits<A: Adapter>(own: &mut Own, payer: Payer, due: &mut VecDeque<Due>, am: &Am<A>) {
    if !own.is_awaited() {
        let Some((node, credit)) = own.give_back(payer.place) else { return };
        due.push_back(Due::More(node, own.id, credit, own.capacity));
        am.background(1);
    } else if !std::mem::replace(&mut own.serve_due, true) {
        due.push_back(Due::Serve(own.id));
        am.background(1);
    }
}

impl State {
    /// Without boxes; the heap has `len` bytes.
    pub(super) fn new(len: usize) -> State {
        State { heap: Heap::new(len), ..State::default() }
    }

    /// A box of this node that is there.
    pub(super) fn own(&mut self, id: BoxId) -> Outcome<&mut Own> {
        open_box(&mut self.boxes, id).ok_or(Failure::Gone)
    }

    /// A new box. `most` boxes may be open.
    pub(super) fn open(&mut self, me: u32, most: usize, name: Option<&[u8]>, capacity: Credit) -> Opened {
        if self.opened >= most {
            return Opened::TooMany;
        }
        let index = match self.free.pop_front() {
            Some(index) => index,
            None if self.boxes.len() >= PLACES => return Opened::AllClosing,
            None => {
                self.boxes.push(Slot::Free);
                (self.boxes.len() - 1) as u16
            }
        };
        self.serial = self.serial.wrapping_add(1);
        self.opened += 1;
        let id = BoxId { owner: me as u16, index, serial: self.serial };
        self.boxes[usize::from(index)] = Slot::Open(Own::new(id, name.map(Into::into), capacity));
        if name.is_some() {
            self.dead.naming.insert(id, NO_REQUEST);
        }
        Opened::Box(id)
    }

    /// The boxes that are there.
    pub(super) fn open_boxes(&self) -> Vec<BoxId> {
        let id = |slot: &Slot| match slot {
            Slot::Open(own) => Some(own.id),
            _ => None,
        };
        self.boxes.iter().filter_map(id).collect()
    }

    /// The box takes no more messages. Each of its senders, and the caller, must say once that it is done with the box
    /// ([`Self::closed_by`]). Then its place is free.
    pub(super) fn close(&mut self, id: BoxId) -> Option<Own> {
        self.own(id).ok()?;
        self.dead.naming.remove(&id);
        let place = &mut self.boxes[usize::from(id.index)];
        let Slot::Open(own) = std::mem::replace(place, Slot::Free) else { return None };
        let others = own.senders().iter().copied().filter(|node| !self.dead.has(*node));
        *place = Slot::Closing(id, others.chain([OWNER]).collect());
        self.opened -= 1;
        Some(own)
    }

    /// `who` is done with the box. False: the box is not closing, or `who` has said it before, or never sent anything.
    #[must_use]
    pub(super) fn closed_by(&mut self, who: u32, id: BoxId) -> bool {
        let Some(Slot::Closing(closing, left)) = self.boxes.get_mut(usize::from(id.index)) else { return false };
        let Some(at) = left.iter().position(|one| *closing == id && *one == who) else { return false };
        left.swap_remove(at);
        if left.is_empty() {
            self.boxes[usize::from(id.index)] = Slot::Free;
            self.free.push_back(id.index);
        }
        true
    }

    /// The number of a request about a name to `home`, which has no answer yet.
    pub(super) fn new_request(&mut self, home: u32, may_wait: bool) -> u32 {
        loop {
            self.next_request = self.next_request.wrapping_add(1);
            let request = self.next_request;
            if request != NO_REQUEST && !self.requests.contains_key(&request) {
                self.requests.insert(request, Request { home, may_wait, answer: Answer::Waits });
                return request;
            }
        }
    }

    /// Takes the next message out of the box, as [`Own::next`]; false: there is none. A fixed message must be large enough for it.
    #[inline(always)]
    pub(super) fn next<A: Adapter>(
        &mut self,
        id: BoxId,
        message: &mut Message,
        taken_out: &mut Retrieved,
        am: &Am<A>,
    ) -> Outcome<bool> {
        let State { boxes, due, .. } = self;
        let Some(own) = open_box(boxes, id) else { return Err(Failure::Gone) };
        if message.fixed && own.first().is_some_and(|first| first > message.capacity) {
            return Err(Failure::Truncated);
        }
        let Some(payer) = own.next(message, taken_out) else { return Ok(false) };
        leave_queue(own, payer, due, am);
        Ok(true)
    }

    /// As [`Self::next`], but only a short message that is there, and for which `message` has the room.
    #[inline(always)]
    pub(super) fn next_line<A: Adapter>(&mut self, id: BoxId, message: &mut Message, am: &Am<A>) -> bool {
        let State { boxes, due, .. } = self;
        let Some(own) = open_box(boxes, id) else { return false };
        let Some(payer) = own.next_line(message) else { return false };
        leave_queue(own, payer, due, am);
        true
    }

    /// A thread waits no longer with this slot.
    pub(super) fn forget(&mut self, id: BoxId, slot: Listed) {
        if let Ok(own) = self.own(id)
            && own.receive_slot == Some(slot)
        {
            own.receive_slot = None;
        }
    }

    /// Those that wait for credits of the box get them, as far as there are any. If others still wait, nodes that have credits are
    /// asked to return what they do not use.
    pub(super) fn serve<A: Adapter>(&mut self, id: BoxId, am: &Am<A>) {
        let State { boxes, due, .. } = self;
        let Some(Slot::Open(own)) = boxes.get_mut(usize::from(id.index)) else { return };
        let (capacity, before) = (own.capacity, due.len());
        own.serve_due = false;
        while let Some((node, credit)) = own.serve_next() {
            due.push_back(Due::More(node, id, credit, capacity));
        }
        own.recall(|node| due.push_back(Due::Recall(node, id)));
        am.background((due.len() - before) as i32);
    }

    /// `tries` has got no credits, and does not wait: the others are asked to return what they do not use, so that it gets some next time.
    pub(super) fn recall_for<A: Adapter>(&mut self, id: BoxId, tries: u32, am: &Am<A>) {
        let State { boxes, due, .. } = self;
        let Some(own) = open_box(boxes, id) else { return };
        let before = due.len();
        own.recall_for(Some(tries), &mut |node| due.push_back(Due::Recall(node, id)));
        am.background((due.len() - before) as i32);
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn tables(&mut self) -> super::engine::Tables {
        for slot in &mut self.boxes {
            if let Slot::Open(own) = slot {
                own.check_credits();
            }
        }
        super::engine::Tables {
            boxes: self.boxes.iter().filter(|slot| !matches!(slot, Slot::Free)).count(),
            senders: self.senders.iter().flatten().count(),
            strays: self.strays.len(),
            credit: self.senders.iter().flatten().map(|sender| sender.credit.messages).sum(),
            requests: self.requests.len(),
            names: self.names.known(),
            due: self.due.len(),
            blocks: self.heap.in_use(),
            gifts: self.gifts.count() + self.places.len(),
        }
    }

    /// `bytes` may be used again for another message.
    pub(super) fn keep(&mut self, bytes: Bytes) {
        self.pool.keep(bytes);
    }
}
