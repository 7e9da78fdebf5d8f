//! The boxes of this node: what they hold, whose turn it is, and what their senders may send.
//!
//! Fairness has two parts:
//! - Whose message is retrieved next: the accounts with messages have their turns, one message each (`Turns`, `Own::next`).
//! - Who may send how much: credits, as follows (`ask` and `grant`; `give_back` after retrievals; `PART` in `account`).
//!
//! A sender that needs credits asks. It gets some of what is free, so that others get some as well: a quarter, until it has the bytes of a
//! quarter of the box. As long as no other has ever asked, it gets half of the bytes, until it has half of the box's. If there is too little,
//! and it may wait, it gives back what it has, and waits here, and the others are asked to return what they do not use: at once, and again when
//! they get some while senders wait. So a sender waits for others only while the box is full.
//!
//! Must not know: how messages travel.

#![allow(unsafe_code)] // receive slots of waiting threads

mod account;

pub use self::account::Credit;
pub(super) use self::account::Payer;
use self::account::{Account, PART};
use super::BoxId;
use super::item::{Content, Item, Retrieved};
use super::message::{Bytes, Message, Storage};
use super::receive_slot::{Accepts, Listed};
use super::turns::Turns;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

/// A message of which some pieces have come.
pub struct Partial {
    /// Its bytes.
    pub bytes: Bytes,
    /// How many there will be, and how many are here.
    pub len: usize,
    /// See `len`.
    pub here: usize,
}

/// What became of a message that has come.
pub(super) enum Came {
    /// The thread that waited for it has it.
    Granted(Listed, Payer),
    /// It is in the queue. `true`: the box was empty.
    Queued(bool),
}

/// Why a piece was not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// It fits no message of its thread, or its node has no credit for that.
    Nonsense,
    /// There is no memory for the message.
    Memory,
}

/// A box of this node.
pub struct Own {
    /// Which one.
    pub id: BoxId,
    /// Its name.
    pub name: Option<Box<[u8]>>,
    /// What it may hold.
    pub capacity: Credit,
    /// One part in [`PART`] of that, or a little more.
    part: Credit,
    /// What its messages count for, and what senders may still send. A message that arrives moves its credit from its sender to the box,
    /// so this sum stays.
    committed: Credit,
    /// The nodes that ever asked for credits, side by side to be searched, and their accounts, in the same order.
    nodes: Vec<u32>,
    accounts: Vec<Account>,
    /// The account that the last message was for: the next one is probably for the same.
    recent: usize,
    /// Places of accounts that have messages here, in the order of their turns.
    turns: Turns,
    /// Nodes that wait for credits, and what they need for their next message.
    waiting: VecDeque<(u32, Credit)>,
    /// A `Due::Serve` for those in `waiting` is in the list of dues.
    pub serve_due: bool,
    /// The descriptor for poll(2), once the client has asked for it.
    pub fd: Option<OwnedFd>,
    /// The number of the `select` that named it last (`State::selected`); 0: none has.
    pub(super) named: u64,
    /// A thread that waits for the next message. Only while the box is empty.
    pub(super) receive_slot: Option<Listed>,
}

impl Own {
    /// An empty box.
    pub fn new(id: BoxId, name: Option<Box<[u8]>>, capacity: Credit) -> Own {
        Own {
            id,
            name,
            capacity,
            part: Credit { messages: capacity.messages.div_ceil(PART), bytes: capacity.bytes.div_ceil(PART) },
            committed: Credit::default(),
            nodes: Vec::new(),
            accounts: Vec::new(),
            recent: 0,
            turns: Turns::default(),
            waiting: VecDeque::new(),
            serve_due: false,
            fd: None,
            named: 0,
            receive_slot: None,
        }
    }

    /// Messages that wait.
    pub fn pending(&self) -> usize {
        self.accounts.iter().map(|account| account.items.len()).sum()
    }

    /// No message waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Panics unless `committed` is the sum of what senders may send and what the messages here count for.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check_credits(&mut self) {
        let (mut sum, capacity) = (Credit::default(), self.capacity);
        let mut add = |messages, bytes| sum = Credit { messages: sum.messages + messages, bytes: sum.bytes + bytes };
        for account in &mut self.accounts {
            add(account.granted.messages, account.granted.bytes);
            account.items.each(|item| {
                let Credit { messages, bytes } = capacity.cost(item.len as u64);
                add(messages, bytes);
            });
        }
        assert_eq!(sum, self.committed);
    }

    /// The nodes that ever asked for credits.
    pub fn senders(&self) -> &[u32] {
        &self.nodes
    }

    /// The place of the account of `node`.
    #[inline(always)]
    fn place(&mut self, node: u32) -> usize {
        if self.accounts.get(self.recent).is_none_or(|account| account.node != node) {
            self.recent = self.search(node);
        }
        self.recent
    }

    #[inline(never)]
    fn search(&mut self, node: u32) -> usize {
        self.nodes.iter().position(|one| *one == node).unwrap_or_else(|| {
            self.nodes.push(node);
            self.accounts.push(Account { node, ..Account::default() });
            self.nodes.len() - 1
        })
    }

    fn account(&mut self, node: u32) -> &mut Account {
        let place = self.place(node);
        &mut self.accounts[place]
    }

    fn free(&self) -> Credit {
        Credit {
            messages: self.capacity.messages.saturating_sub(self.committed.messages),
            bytes: self.capacity.bytes.saturating_sub(self.committed.bytes),
        }
    }

    /// No more than one node has ever asked for credits.
    fn is_only(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// `node` asks for the credits that it needs for a message. `may_wait`: it waits for them, and has no others. Returns what it gets.
    pub fn ask(&mut self, node: u32, need: Credit, may_wait: bool) -> Credit {
        self.place(node);
        // At its first question a sender does not know what the box may hold.
        let most = if need.bytes > self.capacity.bytes { self.capacity } else { need };
        let need = most.least(self.capacity);
        let turn = self.waiting.iter().position(|(waits, _)| *waits == node);
        let is_next = turn.is_some_and(|turn| turn == 0) || self.waiting.is_empty();
        if is_next && self.has(need) {
            self.stop_waiting(node);
            return self.grant(node, need);
        }
        match turn {
            Some(turn) => self.waiting[turn].1 = need,
            None if may_wait => self.waiting.push_back((node, need)),
            None => {}
        }
        Credit::default()
    }

    /// As many credits are free.
    fn has(&self, lacks: Credit) -> bool {
        self.free().covers(lacks)
    }

    /// Gives what is needed, and up to a quarter of what is free, or an equal share of it if more than three others wait. Bytes that the
    /// node has already count: short messages use few of them, so that it would have all in the end.
    fn grant(&mut self, node: u32, need: Credit) -> Credit {
        let (free, parts) = (self.free(), PART.max(self.waiting.len() as u64 + 1));
        // Where each of its messages used up a quarter of the box, the owner had to give credits back for each: 4 MiB given there and back
        // took 560 instead of 490 ns, 64 KiB take 440 (2026-11, EPYC VM).
        let (byte_parts, share) = if self.is_only() { (2, self.capacity.bytes / 2) } else { (parts, self.part.bytes) };
        let lacks = share.saturating_sub(self.account(node).granted.bytes);
        let credit = Credit {
            messages: if need.messages == 0 { 0 } else { (free.messages / parts).max(need.messages) },
            bytes: (free.bytes / byte_parts).min(lacks).max(need.bytes),
        };
        self.add(node, credit);
        credit
    }

    /// `node` has so many credits more. What it had used is forgotten: four senders whose use was only reduced by what they got kept unequal
    /// numbers of credits, and the least share of them was 0.6 instead of 0.9 of its fair one.
    fn add(&mut self, node: u32, credit: Credit) {
        let (part, is_only) = (self.part.bytes, self.is_only());
        let account = self.account(node);
        account.used = Credit::default();
        account.granted.add(credit);
        // Not all that it has, so that the rest lasts until the new ones come.
        account.due_bytes = if is_only { part.max(account.granted.bytes / 4 * 3) } else { part };
        self.committed.add(credit);
    }

    /// True if senders wait for credits.
    pub fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next of those that wait for credits gets some, if there are enough.
    pub fn serve_next(&mut self) -> Option<(u32, Credit)> {
        let (node, lacks) = *self.waiting.front()?;
        if !self.has(lacks) {
            return None;
        }
        self.waiting.pop_front();
        Some((node, self.grant(node, lacks)))
    }

    /// `node` waits no longer for credits.
    pub fn stop_waiting(&mut self, node: u32) {
        self.waiting.retain(|(waits, _)| *waits != node);
    }

    /// `node` is dead: it waits for no credits and has none, and what came of a message without its end is gone. Whole ones stay.
    pub fn bury(&mut self, node: u32) {
        self.stop_waiting(node);
        let Some(place) = self.nodes.iter().position(|one| *one == node) else { return };
        let account = &mut self.accounts[place];
        account.partial.clear();
        account.recalled = false;
        account.is_dead = true;
        let granted = std::mem::take(&mut account.granted);
        self.committed.subtract(granted);
    }

    /// Calls `recall` for each node that has credits, which it may not need while others wait for some. One that waits has none, or
    /// what it has waited for is on its way.
    pub fn recall(&mut self, mut recall: impl FnMut(u32)) {
        if !self.waiting.is_empty() {
            self.recall_for(None, &mut recall);
        }
    }

    /// The same although nobody waits. `tries`: a node that has asked without waiting and has got nothing; it is not called for.
    pub fn recall_for(&mut self, tries: Option<u32>, recall: &mut impl FnMut(u32)) {
        for account in &mut self.accounts {
            let may_return = account.granted != Credit::default() && tries != Some(account.node);
            if may_return && !std::mem::replace(&mut account.recalled, true) {
                recall(account.node);
            }
        }
    }

    /// `node` has answered a recall. False: there was none.
    #[must_use]
    pub fn answered(&mut self, node: u32) -> bool {
        std::mem::take(&mut self.account(node).recalled)
    }

    /// `node` gives credits back. False: it has none such.
    #[must_use]
    pub fn returned(&mut self, node: u32, credit: Credit) -> bool {
        let spends = self.account(node).spend(credit);
        if spends {
            self.committed.subtract(credit);
        }
        spends
    }

    /// A message of `len` bytes of `node` has come. If a thread waits for it, `store` puts it where that thread wants it, if there is a `store` and
    /// the message has the room. Else `content` makes what the thread gets, or what goes into the queue. `None`: the node has no credit for it.
    #[must_use]
    #[inline(always)]
    pub(super) fn deliver(
        &mut self,
        node: u32,
        len: usize,
        store: Option<impl FnOnce(&mut Message)>,
        content: impl FnOnce() -> Content,
    ) -> Option<Came> {
        let place = self.place(node);
        let spent = self.capacity.cost(len as u64);
        let account = &mut self.accounts[place];
        if !account.spend(spent) {
            return None;
        }
        if let Some(slot) = self.receive_slot
            && self.turns.is_empty()
            // SAFETY: listed receive slots live, and the caller has the lock of the state.
            && let Some(accepts) = unsafe { slot.accepts(len) }
        {
            self.receive_slot = None;
            let payer = account.count_retrieved(place, spent, &mut self.committed, &self.part);
            match (accepts, store) {
                // SAFETY: listed receive slots live, and the caller has the lock of the state.
                (Accepts::Bytes, Some(store)) => unsafe { slot.grant(store) },
                // SAFETY: listed receive slots live, and the caller has the lock of the state.
                _ => unsafe { slot.grant_item(node, Item { content: content(), len }) },
            }
            return Some(Came::Granted(slot, payer));
        }
        Some(Came::Queued(account.append(&mut self.turns, place, len, content)))
    }

    /// A message of `len` bytes of `node` begins, and its bytes come later. False: it has no credit for that beside the others that have
    /// begun. So these take no more memory than the box may.
    #[must_use]
    pub(super) fn begin(&mut self, node: u32, len: usize) -> bool {
        let cost = self.capacity.cost(len as u64);
        let account = self.account(node);
        let mut begun = account.begun;
        begun.add(cost);
        let has = account.granted.covers(begun);
        if has {
            account.begun = begun;
        }
        has
    }

    /// A message that has begun is whole, or will not come.
    pub(super) fn end(&mut self, node: u32, len: usize) {
        let cost = self.capacity.cost(len as u64);
        self.account(node).begun.subtract(cost);
    }

    /// A piece of a message of thread `stream` of `node`: `put` stores it at the address that it gets. `None`: more will come.
    pub fn piece(
        &mut self,
        node: u32,
        stream: u32,
        len: usize,
        (at, bytes): (usize, usize),
        put: impl FnOnce(*mut u8),
    ) -> Result<Option<Item>, Refused> {
        if at == 0 {
            if self.account(node).partial.contains_key(&stream) || !self.begin(node, len) {
                return Err(Refused::Nonsense);
            }
            let whole = Bytes::new(len).ok_or(Refused::Memory)?;
            self.account(node).partial.insert(stream, Partial { bytes: whole, len, here: 0 });
        }
        let account = self.account(node);
        let partial = account.partial.get_mut(&stream).ok_or(Refused::Nonsense)?;
        if partial.len != len || partial.here != at || bytes > len - at {
            return Err(Refused::Nonsense);
        }
        put(partial.bytes.at().wrapping_add(at));
        partial.here += bytes;
        if partial.here < len {
            return Ok(None);
        }
        let partial = account.partial.remove(&stream).ok_or(Refused::Nonsense)?;
        self.end(node, len);
        Ok(Some(Item { content: Content::Bytes(partial.bytes), len }))
    }

    /// The bytes of the message that is retrieved next.
    #[inline(always)]
    pub fn first(&mut self) -> Option<usize> {
        let place = self.turns.first()?;
        self.accounts[place].items.first().map(|item| item.len)
    }

    /// Takes the next message out: a short one into `message`, if it has the room, another one into `retrieved`. Returns whose it was.
    /// The next sender has its turn.
    #[inline(always)]
    pub(super) fn next(&mut self, message: &mut Message, retrieved: &mut Retrieved) -> Option<Payer> {
        if let Some(payer) = self.next_line(message) {
            return Some(payer);
        }
        let place = self.turns.first()?;
        let account = &mut self.accounts[place];
        let item = account.items.first()?;
        let (len, item) = (item.len, std::mem::take(item));
        *retrieved = Some((account.node, item));
        let Own { turns, committed, capacity, part, .. } = self;
        Some(account.drop_first(turns, place, len, committed, capacity, part))
    }

    /// Takes the next message out, if it is a short one that `message` has the room for. Returns whose it was.
    #[inline(always)]
    pub(super) fn next_line(&mut self, message: &mut Message) -> Option<Payer> {
        let Own { accounts, turns, committed, capacity, part, .. } = self;
        let place = turns.first()?;
        let account = &mut accounts[place];
        let item = account.items.first()?;
        let len = item.len;
        let Content::Line(words) = &item.content else { return None };
        if !message.takes(len) {
            return None;
        }
        message.fill_line(len, account.node, |i| words[i]);
        Some(account.drop_first(turns, place, len, committed, capacity, part))
    }

    /// Takes the next message out.
    pub fn take(&mut self) -> Option<(u32, Item)> {
        let mut taken = None;
        self.next(&mut Message::new(Storage::default(), 0, false), &mut taken);
        taken
    }

    /// Of the credits that the node of this account has used, those that it gets back now without asking. `None`: it is dead. What it does not
    /// get it has to ask for, since others have taken it: else each of its messages would be due again.
    pub(super) fn give_back(&mut self, place: usize) -> Option<(u32, Credit)> {
        let (free, part, is_only) = (self.free(), self.part.bytes, self.is_only());
        let account = &mut self.accounts[place];
        let (node, used) = (account.node, std::mem::take(&mut account.used));
        if account.is_dead {
            return None;
        }
        let mut credit = used.least(free);
        if !is_only {
            // It may have been the only one, and have the bytes of half of the box. Four senders of 64 KiB, of which one kept so much more
            // than the others, got least shares of 0.06 to 0.94 instead of 0.24 to 0.89 of the fair one (2026-11, EPYC VM).
            credit.bytes = credit.bytes.min(part.max(used.bytes).saturating_sub(account.granted.bytes));
        }
        self.add(node, credit);
        Some((node, credit))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
