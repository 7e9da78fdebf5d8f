//! Nodes that die while the job goes on (`gasnetrun_sci --survive`), seen by a node that lives.
//!
//! A thread of its own hears of a loss and polls ([`Deck::see_to_losses`]). The first poll of any thread outside handlers runs what the dead
//! node has sent, and then ends everything that waits for it:
//!
//! | of the dead node | what becomes of it |
//! |---|---|
//! | its boxes | senders get [`Failure::Peer`] |
//! | messages that it sent whole | stay in the boxes; pieces without their end go |
//! | credits that it had, or waited for | are free |
//! | blocks that it had of this node's heap | are free once all who live have settled the loss, see [`holders`](super::holders) |
//! | its heap | stays readable |
//! | its names | are free |
//! | names that it had as their home | are those of the next node that lives; owners of boxes tell that one |
//! | farewells that it owes | nobody waits for them |
//!
//! A loss is settled at a node once the node has done all this, and the new homes of its names have answered. Who builds on that waits
//! until the others have settled the losses that it has seen: a name that has another home now is asked about only then.
//!
//! Nothing here costs a message anything. Only loans do something more, in jobs that survive (`Deck::passing`).
//!
//! Must not know: who says that a node is lost, processes.

#![allow(unsafe_code)] // tables behind the heaps

use super::super::engine::{Deck, Region};
use super::super::message::Block;
use super::super::messages::{self, NameOperation};
use super::super::names;
use super::super::state::{Answer, Due, Request, Slot, State};
use super::super::waiting::Key;
use super::super::{BoxId, Failure, Outcome, Until};
use super::holders::{Holder, Holders};
use super::roll::Losses;
use crate::am::Am;
use crate::am::corrupt::corrupt;
use crate::base::error::Error;
use crate::sci::Adapter;
use crate::sync::fixed::{Ordering, fence};
use crate::verbs::Flags;
use std::thread;
use std::time::Duration;

/// Between two looks of the thread that sees to losses.
const STEP: Duration = Duration::from_millis(1);

impl State {
    /// The nodes `lost` are lost, and all that they have sent has come. `seen`: how many losses the job has now. Returns the keys of
    /// threads that are to be woken, and how many dues are gone.
    fn bury<A: Adapter>(&mut self, lost: &[u32], seen: u32, am: &Am<A>) -> (Vec<Key>, i32) {
        let named = self.named_boxes();
        let old: Vec<u32> = named.iter().map(|(_, name)| self.dead.home(name, am.nodes())).collect();
        self.dead.nodes.extend(lost);
        self.dead.seen = seen;
        lost.iter().for_each(|node| {
            self.names.bury(*node);
            self.bury_in_boxes(*node, am);
        });
        let before = self.due.len();
        let dead = &self.dead;
        self.due.retain(|due| !due.node().is_some_and(|node| dead.has(node)));
        let gone = (before - self.due.len()) as i32;
        let mut keys: Vec<Key> = self.requests.keys().map(|request| Key::Request(*request)).collect();
        for number in 0..self.senders.len() as u32 {
            let is_lost = self.sender(number).is_some_and(|sender| lost.contains(&u32::from(sender.id.owner)));
            if is_lost {
                self.owner_lost(number);
                keys.push(Key::Sender(number));
            }
        }
        for ((id, name), old) in named.into_iter().zip(old) {
            let home = self.dead.home(&name, am.nodes());
            if home != old {
                self.rename(id, home, am);
            }
        }
        (keys, gone)
    }

    fn bury_in_boxes<A: Adapter>(&mut self, node: u32, am: &Am<A>) {
        for index in 0..self.boxes.len() {
            match &mut self.boxes[index] {
                Slot::Open(own) => {
                    let id = own.id;
                    own.bury(node);
                    self.serve(id, am);
                }
                Slot::Closing(id, left) => {
                    let id = *id;
                    if left.contains(&node) {
                        let _ = self.closed_by(node, id); // true: the box is closing, and `node` was in its list
                    }
                }
                Slot::Free => {}
            }
        }
    }

    /// The boxes of this node whose names the home has given to them, or that wait to hear it again.
    fn named_boxes(&self) -> Vec<(BoxId, Box<[u8]>)> {
        let has_name = |id: &BoxId| match self.dead.naming.get(id) {
            None => true,
            // The answer has come, and the thread that waits for it has not seen it yet.
            Some(request) => matches!(self.requests.get(request), Some(Request { answer: Answer::Done(_), .. })),
        };
        let of = |slot: &Slot| match slot {
            Slot::Open(own) if has_name(&own.id) => own.name.clone().map(|name| (own.id, name)),
            _ => None,
        };
        self.boxes.iter().filter_map(of).collect()
    }

    /// Tells the new home of the box's name that it is the box's.
    fn rename<A: Adapter>(&mut self, id: BoxId, home: u32, am: &Am<A>) {
        let State { dead, requests, .. } = self;
        dead.renaming.retain(|request, other| {
            if *other == id {
                requests.remove(request);
            }
            *other != id
        });
        let request = self.new_request(home, false);
        self.dead.renaming.insert(request, id);
        self.due.push_back(Due::Name(request, id));
        am.background(1);
    }

    /// What is to be said about a name again, and to whom; `None`: the box is gone, or the name has yet another home.
    pub(in crate::deck) fn renaming(&mut self, request: u32, id: BoxId, nodes: u32) -> Option<(u32, Box<[u8]>)> {
        let is_wanted = self.dead.renaming.contains_key(&request);
        let name = self.own(id).ok().filter(|_| is_wanted).and_then(|own| own.name.clone());
        if name.is_none() {
            self.dead.renaming.remove(&request);
            self.requests.remove(&request);
        }
        let home = self.requests.get(&request)?.home;
        name.filter(|_| home < nodes).map(|name| (home, name))
    }

    /// The homes of names have answered all that this node has told them again.
    fn is_renamed(&mut self) -> bool {
        let State { dead, requests, .. } = self;
        let answered = dead
            .renaming
            .keys()
            .copied()
            .filter(|request| requests.get(request).is_none_or(|asked| asked.answer != Answer::Waits));
        for request in answered.collect::<Vec<_>>() {
            dead.renaming.remove(&request);
            requests.remove(&request);
        }
        dead.renaming.is_empty()
    }

    /// Frees the blocks of this node's heap that a dead node had last, or was to get. All who live have settled the loss, so they have said
    /// what they got, and pass nothing more on to the dead.
    fn reclaim(&mut self, holders: &Holders) {
        let is_free = |offset: &usize| {
            holders.get(*offset).is_some_and(|Holder { to, from }| self.dead.has(to) || self.dead.has(from))
        };
        for offset in self.heap.used().filter(is_free).collect::<Vec<_>>() {
            let _ = self.heap.give(offset); // it was in use
        }
    }
}

impl<A: Adapter> Deck<A> {
    /// Settles losses beyond the first `told`, and serves messages until all others have settled them, too: they may need answers of
    /// this node. Returns how many losses that were. For a thread of its own, so that it does not matter what the program's threads do.
    pub fn see_to_losses(&self, mut told: u32) -> u32 {
        let Some(losses) = &self.losses else { return told };
        loop {
            let seen = losses.roll.losses();
            if seen != told {
                told = seen;
                losses.news.fetch_add(1, Ordering::Release); // ORDERING: Release ↔ Acquire in `look_at_losses`: who sees it sees the loss
                self.am.background(1);
                self.waiting.ring();
            }
            self.am.poll();
            let has_settled = |node| losses.roll.is_lost(node) || losses.roll.settled(node) >= told;
            // ORDERING: Acquire as in `look_at_losses`.
            if losses.news.load(Ordering::Acquire) == 0 && (0..self.nodes()).all(has_settled) {
                return told;
            }
            thread::sleep(STEP);
        }
    }

    /// Whether the job goes on without nodes that die.
    pub fn survives(&self) -> bool {
        self.losses.is_some()
    }

    /// Whether `node` is lost, as far as this node has seen.
    pub fn has_lost(&self, node: u32) -> bool {
        self.losses.is_some() && self.with(|state| state.dead.has(node))
    }

    /// A node that is lost; `None`: there is none, as far as this node has seen.
    pub fn any_lost(&self) -> Option<u32> {
        self.losses.as_ref()?;
        self.with(|state| state.dead.nodes.first().copied())
    }

    /// Fails if a node is lost.
    pub fn all_alive(&self) -> Result<(), Error> {
        self.any_lost().map_or(Ok(()), |node| Err(Error::lost(node)))
    }

    /// Why box `id` is gone.
    #[cold]
    pub(in crate::deck) fn why_gone(&self, id: BoxId) -> Failure {
        if self.has_lost(id.owner.into()) { Failure::Peer } else { Failure::Gone }
    }

    /// Looks whether nodes are lost, and settles that. True if there was anything to do.
    pub(in crate::deck) fn look_at_losses(&self) -> bool {
        let Some(losses) = &self.losses else { return false };
        let news = losses.news.load(Ordering::Acquire); // ORDERING: as above
        // Relaxed, both: one thread does it; others have nothing to hand over, and the locks order what it does.
        if news == 0 || losses.is_looking.swap(true, Ordering::Relaxed) {
            return false;
        }
        let is_over = self.settle(losses);
        if is_over {
            losses.news.fetch_sub(news, Ordering::Relaxed); // Relaxed: what came meanwhile stays
            self.am.background(-(news as i32));
        }
        losses.is_looking.store(false, Ordering::Release); // ORDERING: Release ↔ the swap above, whose thread builds on what was done
        is_over
    }

    /// Does what is to be done after losses. False: not all can be done yet.
    fn settle(&self, losses: &Losses) -> bool {
        let seen = losses.roll.losses();
        // A node that has not settled the loss may still pass blocks on to the dead.
        let has_settled = |node| node == self.me() || losses.roll.is_lost(node) || losses.roll.settled(node) >= seen;
        let have_all = (0..self.nodes()).all(has_settled);
        if !have_all && losses.roll.settled(self.me()) >= seen {
            return false; // there is nothing to do but to wait for them
        }
        let lost: Vec<u32> =
            (0..self.nodes()).filter(|node| losses.roll.is_lost(*node) && !self.has_lost(*node)).collect();
        // A loss that is not counted yet is looked at again: it would pass for settled by those who have settled the others.
        if self.with(|state| state.dead.nodes.len()) + lost.len() > seen as usize {
            return false;
        }
        lost.iter().for_each(|node| self.am.lose(*node));
        // ORDERING: full fence ↔ the one in `pass`: a thread that passes a block on sees the loss, or is seen here.
        fence(Ordering::SeqCst);
        // ORDERING: Acquire ↔ Release in `pass`.
        let passes = |node: u32| losses.passing[node as usize].load(Ordering::Acquire) > 0;
        if lost.iter().any(|node| passes(*node) || !self.am.drain(*node)) {
            return false;
        }
        let (keys, gone) = self.with(|state| match lost.is_empty() && state.dead.seen == seen {
            true => (Vec::new(), 0),
            false => state.bury(&lost, seen, self.am),
        });
        self.am.background(-gone);
        keys.into_iter().for_each(|key| self.waiting.wake_all(key));
        let is_renamed = self.with(State::is_renamed);
        if is_renamed {
            losses.roll.settle(self.me(), seen);
        }
        if !is_renamed || !have_all {
            return false;
        }
        if let Some(holders) = self.holders(self.me()) {
            self.with(|state| state.reclaim(&holders));
        }
        true
    }

    /// The outcome of a call that may take `until`. That a node is lost is told only after all that the node has sent has come: the caller
    /// may count on it that nothing follows. If the time is over before, the call has not done anything, and the next one tells it.
    pub(in crate::deck) fn after_burial<T>(&self, outcome: Outcome<T>, until: Until) -> Outcome<T> {
        if matches!(outcome, Err(Failure::Peer)) {
            self.await_burial(until)?;
        }
        outcome
    }

    #[cold]
    fn await_burial(&self, until: Until) -> Outcome<()> {
        let mut failed = 0;
        while (0..self.nodes()).any(|node| self.am.is_lost(node) && !self.has_lost(node)) {
            if failed > 0
                && let Some(failure) = until.over()
            {
                return Err(failure);
            }
            failed = self.am.wait_step(failed).max(1);
        }
        Ok(())
    }

    /// The node that has `name` now, with which it can be spoken about the name, and whether that node has settled what this one has
    /// seen. Waits until all have settled it, if the name had another home.
    pub(in crate::deck) fn home(&self, name: &[u8], until: Until) -> Outcome<(u32, bool)> {
        let nodes = self.nodes();
        let Some(losses) = &self.losses else { return Ok((names::home(name, nodes), true)) };
        let look = || {
            let (home, seen) = self.with(|state| (state.dead.home(name, nodes), state.dead.seen));
            let has_settled = |node: u32| losses.roll.is_lost(node) || losses.roll.settled(node) >= seen;
            let is_ready = home == names::home(name, nodes) || (0..nodes).all(has_settled);
            Ok(is_ready.then(|| (home, has_settled(home))))
        };
        match look()? {
            Some(found) => Ok(found),
            None => self.wait(&[], until, look),
        }
    }

    /// Waits until `home` has settled what this node has seen, or is lost.
    pub(in crate::deck) fn await_settled(&self, home: u32, until: Until) -> Outcome<()> {
        let Some(losses) = &self.losses else { return Ok(()) };
        let seen = self.with(|state| state.dead.seen);
        let look = || Ok((losses.roll.is_lost(home) || losses.roll.settled(home) >= seen).then_some(()));
        self.wait(&[], until, look)
    }

    /// The table of the heap of `node`; `None`: the job does not survive, or the heap cannot be reached.
    pub(in crate::deck) fn holders(&self, node: u32) -> Option<Holders> {
        self.losses.as_ref()?;
        let Region { at, len } = self.region(node)?;
        // SAFETY: in a job that survives all regions are mapped with their tables (`Losses`).
        Some(unsafe { Holders::new(at, len) })
    }

    /// Passes a block on with `send`, which gets flags and says whether it sent (rule 1 of `holders`). Fails if `to` is lost.
    pub(in crate::deck) fn passing(
        &self,
        to: u32,
        block: &Block,
        flags: Flags,
        send: impl Fn(Flags) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let (Some(losses), Some(holders)) = (&self.losses, self.holders(block.owner)) else { return send(flags) };
        let mut failed = 0;
        loop {
            // Never while it waits: a wait may settle a loss, and what is said of the block must be right then.
            let sent = self.pass(losses, &holders, (block.offset, to), || send(Flags::IMMEDIATE))?;
            if sent || flags.has(Flags::IMMEDIATE) {
                return Ok(sent);
            }
            failed = self.am.wait_step(failed);
        }
    }

    fn pass(
        &self,
        losses: &Losses,
        holders: &Holders,
        (offset, to): (usize, u32),
        send: impl Fn() -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let me = self.me();
        let passing = &losses.passing[to as usize];
        passing.fetch_add(1, Ordering::Relaxed); // Relaxed: the fence orders it
        fence(Ordering::SeqCst); // ORDERING: see `settle`
        let sent = match self.am.is_lost(to) {
            true => Err(Error::lost(to)),
            false => {
                let _ = holders.set(offset, Holder { to, from: me }); // the block was checked when it came
                send()
            }
        };
        if !matches!(sent, Ok(true)) {
            let _ = holders.set(offset, Holder::has(me)); // as above
        }
        // ORDERING: Release ↔ the fence in `settle`: who sees that nobody passes a block on sees the table as it is now.
        passing.fetch_sub(1, Ordering::Release);
        sent
    }

    /// A block has come from `from` (rule 2 of `holders`).
    pub(in crate::deck) fn received(&self, from: u32, block: &Block) {
        if self.losses.is_none() {
            return;
        }
        let holders = if block.owner < self.nodes() { self.holders(block.owner) } else { None };
        if !holders.is_some_and(|holders| holders.set(block.offset, Holder::has(self.me()))) {
            corrupt(from, "block outside its heap");
        }
    }

    /// Tells the home of a name again whose it is. False: there was no room.
    pub(in crate::deck) fn rename(&self, request: u32, id: BoxId) -> Result<bool, Error> {
        let Some((home, name)) = self.with(|state| state.renaming(request, id, self.nodes())) else { return Ok(true) };
        match messages::name(self, home, NameOperation::Add, request, id, &name, Flags::IMMEDIATE) {
            // That home is lost, too. Then the name is told to the next one, by a request of its own.
            Err(error) if error.is_lost() => Ok(true),
            sent => sent,
        }
    }

    /// The due is to a node that is lost.
    pub(in crate::deck) fn is_for_lost(&self, due: &Due) -> bool {
        self.losses.is_some() && due.node().is_some_and(|node| self.am.is_lost(node))
    }

    /// Does what is due to a node that is lost.
    pub(in crate::deck) fn drop_due(&self, due: Due) {
        match due {
            Due::More(node, id, credit, _) => self.with(|state| {
                if state.own(id).is_ok_and(|own| own.returned(node, credit)) {
                    state.serve(id, self.am);
                }
            }),
            Due::Unwanted(_, request) => _ = self.with(|state| state.unwanted.remove(&request)),
            _ => {}
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
