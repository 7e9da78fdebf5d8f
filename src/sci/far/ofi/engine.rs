//! Messages: sending them, receiving them, and everything that the completion queue says. Transfers are in `transfer`.
//!
//! Invariant: the caller holds the lock of the wire, and no sink is called under it. So a sink may post.

#![allow(unsafe_code)] // calls of libfabric with buffers of this engine

use super::super::wire::{AREAS, Area, Lost};
use super::bindings::{FI_MULTI_RECV, fi_cq_data_entry};
use super::context::{Contexts, What};
use super::fabric::{Begun, Endpoint, Look, Region};
use super::message::{FRAME, HEAD, Head, Keys, Kind, MESSAGE, NUMBERS, Secret, Segment};
use super::peer::Peer;
use super::receive::{Arrived, Buffers};
use super::transfer::Transfer;
use libc::c_void;
use std::mem::MaybeUninit;

/// Entries taken from the queue at once.
const ENTRIES: usize = 16;
/// Messages whose bytes the provider still has.
const SLOTS: usize = 128;
/// Operations under way, where the provider allows more.
const OPERATIONS: usize = 1024;

/// Everything behind the lock of the wire. What libfabric uses is freed after the endpoint is closed: members are dropped in the
/// order in which they stand.
pub struct Engine {
    pub(super) regions: Vec<Region>,
    pub(super) endpoint: Endpoint,
    pub(super) contexts: Contexts,
    buffers: Buffers,
    /// Messages that wait for their completion, and the free ones among them.
    slots: Vec<Box<[u8; MESSAGE]>>,
    free_slots: Vec<usize>,
    scratch: Box<[u8; MESSAGE]>,
    pub(super) transfers: Vec<Transfer>,
    pub(super) free_transfers: Vec<usize>,
    /// Bytes of sources that were copied.
    pub(super) copied: usize,
    pub(super) peers: Vec<Peer>,
    pub(super) me: u32,
    secret: Secret,
    /// This node's areas as peers name them.
    pub(super) own: [Option<Segment>; AREAS],
    /// Sends after writes stay behind them.
    pub(super) ordered: bool,
    /// Operations that are not complete, but receives.
    pub(super) under_way: usize,
    pub(super) most: usize,
    /// Registrations are not longer; tests make it short.
    pub(super) longest_region: usize,
    /// Peers for which something must be sent.
    due: Vec<u32>,
    /// Buffers that the provider had no room for.
    unposted: Vec<usize>,
    /// Frames for the sink, in order.
    pub(super) ready: Vec<(u32, Arrived)>,
    /// Peers that were lost, for the sink.
    pub(super) losses: Vec<u32>,
    /// The last look at the queue found nothing.
    dry: bool,
    /// Messages that no node of this job has sent to this one.
    pub(super) strange: u64,
}

impl Engine {
    pub fn new(endpoint: Endpoint, secret: Secret, me: u32, nodes: u32, ordered: bool) -> Result<Engine, String> {
        let (multi, receives, sends) = (endpoint.traits.multi_receive, endpoint.traits.receives, endpoint.traits.sends);
        let mut engine = Engine {
            regions: Vec::new(),
            endpoint,
            contexts: Contexts::default(),
            buffers: Buffers::new(multi),
            slots: Vec::new(),
            free_slots: Vec::new(),
            scratch: Box::new([0; MESSAGE]),
            transfers: Vec::new(),
            free_transfers: Vec::new(),
            copied: 0,
            peers: (0..nodes).map(|_| Peer::default()).collect(),
            me,
            secret,
            own: Default::default(),
            ordered,
            under_way: 0,
            most: sends.clamp(1, OPERATIONS),
            longest_region: usize::MAX,
            due: Vec::new(),
            unposted: Vec::new(),
            ready: Vec::new(),
            losses: Vec::new(),
            dry: false,
            strange: 0,
        };
        for _ in 0..engine.buffers.first(receives) {
            engine.add_buffer()?;
        }
        Ok(engine)
    }

    fn add_buffer(&mut self) -> Result<(), String> {
        let context = self.contexts.take(What::Free);
        let i = self.buffers.add(context);
        self.contexts.set(context, What::Buffer(i));
        if !self.buffers.post(i, &self.endpoint)? {
            self.unposted.push(i);
        }
        Ok(())
    }

    /// The peer, if this wire is for it and it is not lost.
    pub(super) fn peer(&mut self, rank: u32) -> Result<&mut Peer, Lost> {
        let peer = &mut self.peers[rank as usize];
        match (&peer.lost, peer.address) {
            (Some(lost), _) => Err(lost.clone()),
            (None, None) => Err(Lost(format!("node {rank} has no address on this network"))),
            (None, Some(_)) => Ok(peer),
        }
    }

    /// As [`super::super::wire::Wire::post`].
    pub fn post(&mut self, to: u32, frame: &[u8]) -> Result<bool, Lost> {
        let peer = self.peer(to)?;
        if peer.partial.is_some() {
            return Ok(false);
        }
        if !peer.order.is_clear() {
            let held = peer.order.hold(frame);
            self.is_due(to);
            return Ok(held);
        }
        self.send(to, Kind::Frame, frame)
    }

    /// Sends a message now. False: there is no room.
    fn send(&mut self, to: u32, kind: Kind, body: &[u8]) -> Result<bool, Lost> {
        let len = HEAD + body.len();
        let tokens = self.tokens(to);
        let peer = &mut self.peers[to as usize];
        let Some(address) = peer.address else { return Ok(false) };
        let head = Head { token: tokens.0, from: self.me, kind: kind as u8, number: peer.sent };
        let begun = if len <= self.endpoint.traits.inject {
            fill(&mut self.scratch, &head, body);
            self.endpoint.inject(address, &self.scratch[..len])
        } else {
            if self.under_way >= self.most {
                return Ok(false);
            }
            let Some(slot) = self.free_slots.pop().or_else(|| self.one_more_slot()) else { return Ok(false) };
            fill(&mut self.slots[slot], &head, body);
            let context = self.contexts.take(What::Send { peer: to, slot });
            // SAFETY: the slot is taken until the completion of `context`, and is not moved (a box) nor freed before the endpoint.
            let begun = unsafe { self.endpoint.send(address, self.slots[slot].as_ptr(), len, context) };
            if begun == Begun::Yes {
                self.under_way += 1;
            } else {
                self.contexts.give_back(context);
                self.free_slots.push(slot);
            }
            begun
        };
        match begun {
            Begun::Yes => {
                let peer = &mut self.peers[to as usize];
                peer.sent = (peer.sent + 1) % NUMBERS;
                Ok(true)
            }
            Begun::NoRoom => Ok(false),
            Begun::Failed(error) => {
                let why = format!("a send to node {to} failed: {}", self.endpoint.error(error));
                Err(self.lose(to, why))
            }
        }
    }

    fn one_more_slot(&mut self) -> Option<usize> {
        (self.slots.len() < SLOTS).then(|| {
            self.slots.push(Box::new([0; MESSAGE]));
            self.slots.len() - 1
        })
    }

    /// What is in the heads of messages to, and from, a peer.
    fn tokens(&mut self, rank: u32) -> (u64, u64) {
        let (secret, me) = (&self.secret, self.me);
        let peer = &mut self.peers[rank as usize];
        *peer.tokens.get_or_insert_with(|| (secret.token(me, rank), secret.token(rank, me)))
    }

    pub(super) fn is_due(&mut self, rank: u32) {
        if !self.due.contains(&rank) {
            self.due.push(rank);
        }
    }

    /// The peer is lost. Its reason, which is the first one.
    pub(super) fn lose(&mut self, rank: u32, why: String) -> Lost {
        let peer = &mut self.peers[rank as usize];
        if let Some(lost) = &peer.lost {
            return lost.clone();
        }
        let lost = Lost(why);
        peer.lost = Some(lost.clone());
        peer.order.forget();
        if let Some(transfer) = peer.partial.take() {
            self.transfers[transfer].has_failed = true;
        }
        self.losses.push(rank);
        lost
    }

    /// Lets the provider work and takes what is complete. True if anything was.
    pub fn pump(&mut self) -> bool {
        let mut entries = [const { MaybeUninit::<fi_cq_data_entry>::uninit() }; ENTRIES];
        let found = self.endpoint.look(&mut entries);
        self.dry = matches!(found, Look::Nothing);
        match found {
            Look::Nothing => return false,
            Look::Entries(count) => {
                for entry in &entries[..count] {
                    // SAFETY: libfabric has written so many.
                    let entry = unsafe { entry.assume_init_ref() };
                    self.complete(entry);
                }
            }
            Look::Failed(context, flags, why) => self.failed(context, flags, &why),
            Look::Broken(why) => {
                for rank in 0..self.peers.len() as u32 {
                    if self.peers[rank as usize].address.is_some() {
                        self.lose(rank, why.clone());
                    }
                }
            }
        }
        true
    }

    fn complete(&mut self, entry: &fi_cq_data_entry) {
        match self.contexts.what(entry.op_context) {
            What::Free => {}
            What::Buffer(i) => {
                let message = match entry.len {
                    0 => None, // it only gives the buffer back
                    len => self.buffers.arrived(i, entry.buf.cast_const().cast(), len),
                };
                if !self.buffers.is_multi() || entry.flags & FI_MULTI_RECV != 0 {
                    self.buffers.given_back(i);
                }
                match message {
                    Some(message) => self.accept(message),
                    None => self.post_buffer(i),
                }
            }
            What::Send { slot, .. } => {
                self.contexts.give_back(entry.op_context);
                self.free_slots.push(slot);
                self.under_way -= 1;
            }
            What::Piece(transfer) => {
                self.contexts.give_back(entry.op_context);
                self.under_way -= 1;
                self.piece_is_complete(transfer);
            }
        }
    }

    #[cold]
    fn failed(&mut self, context: *mut c_void, flags: u64, why: &str) {
        match self.contexts.what(context) {
            What::Free => {} // no operation of this engine
            What::Buffer(i) => {
                self.strange += 1; // a message that is longer than any of ours
                if !self.buffers.is_multi() || flags & FI_MULTI_RECV != 0 {
                    self.buffers.given_back(i);
                } else {
                    self.buffers.doubt(i);
                }
                self.post_buffer(i);
            }
            What::Send { peer, slot } => {
                self.contexts.give_back(context);
                self.free_slots.push(slot);
                self.under_way -= 1;
                self.lose(peer, format!("a send to node {peer} failed: {why}"));
            }
            What::Piece(transfer) => {
                self.contexts.give_back(context);
                self.under_way -= 1;
                self.piece_has_failed(transfer, why);
            }
        }
    }

    /// Posts a buffer again, if nothing lies in it.
    fn post_buffer(&mut self, i: usize) {
        if self.buffers.is_free(i) && !matches!(self.buffers.post(i, &self.endpoint), Ok(true)) {
            self.unposted.push(i);
        }
    }

    /// Nobody reads the message any more.
    pub fn done_with(&mut self, message: Arrived) {
        let i = self.buffers.done(message);
        self.post_buffer(i);
    }

    /// A message has come from anybody.
    fn accept(&mut self, message: Arrived) {
        // SAFETY: it is not done.
        let bytes = unsafe { message.bytes() };
        let known = Head::read(bytes).filter(|head| {
            (head.from as usize) < self.peers.len()
                && self.peers[head.from as usize].address.is_some()
                && self.tokens(head.from).1 == head.token
        });
        let Some(head) = known else {
            self.strange += 1;
            self.done_with(message);
            return;
        };
        let peer = &mut self.peers[head.from as usize];
        if peer.lost.is_some() {
            self.done_with(message);
            return;
        }
        match peer.turns.take(head.number, message) {
            None => {
                self.done_with(message);
                self.lose(head.from, format!("node {} sent a message out of turn", head.from));
            }
            Some(false) => {}
            Some(true) => {
                self.take(head, message);
                while let Some(next) = self.peers[head.from as usize].turns.follows() {
                    // SAFETY: it is not done.
                    let bytes = unsafe { next.bytes() };
                    let Some(head) = Head::read(bytes) else { break }; // it has one: it was read when it came
                    self.take(head, next);
                }
            }
        }
    }

    /// It is the turn of this message.
    fn take(&mut self, head: Head, message: Arrived) {
        // SAFETY: it is not done.
        let body = &unsafe { message.bytes() }[HEAD..];
        if head.kind == Kind::Frame as u8 && (1..=FRAME).contains(&body.len()) {
            self.ready.push((head.from, message));
            return;
        }
        let keys =
            (head.kind == Kind::Keys as u8).then(|| Keys::read(body, &self.secret, head.from, self.me)).flatten();
        self.done_with(message);
        match keys {
            Some(keys) => self.learn(head.from, keys),
            None => {
                let what =
                    if head.kind == Kind::Keys as u8 { "keys that are not valid" } else { "a message of no kind" };
                self.lose(head.from, format!("node {} sent {what}", head.from));
            }
        }
    }

    /// A peer tells an area of its own, or asks for this node's.
    fn learn(&mut self, from: u32, keys: Keys) {
        let have = self.own[keys.area].is_some();
        let area = &mut self.peers[from as usize].areas[keys.area];
        if keys.segment.is_some() {
            area.segment = keys.segment;
        }
        if keys.wants {
            area.waits = !have;
            area.keys_due |= have;
            self.is_due(from);
        }
    }

    /// Asks a peer for an area of its own, once.
    pub(super) fn ask(&mut self, rank: u32, area: Area) {
        let area = &mut self.peers[rank as usize].areas[area];
        if !area.asked {
            area.asked = true;
            area.keys_due = true;
            self.is_due(rank);
            self.advance();
        }
    }

    /// Sends what waits, as far as there is room.
    pub fn advance(&mut self) {
        if self.buffers.is_short() {
            let _ = self.add_buffer(); // what fails here is tried again: the provider has other buffers, or will have room
        }
        if !self.unposted.is_empty() {
            for i in std::mem::take(&mut self.unposted) {
                self.post_buffer(i);
            }
        }
        if self.due.is_empty() {
            return;
        }
        for rank in std::mem::take(&mut self.due) {
            self.serve(rank);
            if self.peers[rank as usize].is_due() {
                self.is_due(rank);
            }
        }
    }

    /// Sends what waits for one peer. A peer that is lost on the way has nothing that waits.
    fn serve(&mut self, rank: u32) {
        if let Some(transfer) = self.peers[rank as usize].partial {
            if !matches!(self.post_pieces(transfer), Ok(true)) {
                return;
            }
            self.peers[rank as usize].partial = None;
        }
        if self.peers[rank as usize].lost.is_some() {
            return;
        }
        for area in 0..AREAS {
            let known = &self.peers[rank as usize].areas[area];
            if !known.keys_due {
                continue;
            }
            let wants = known.asked && known.segment.is_none();
            let keys = Keys { area, wants, segment: self.own[area].clone() };
            let body = keys.write(&self.secret, self.me, rank);
            if !matches!(self.send(rank, Kind::Keys, &body), Ok(true)) {
                return;
            }
            self.peers[rank as usize].areas[area].keys_due = false;
        }
        while let Some(frame) = self.peers[rank as usize].order.first() {
            if !matches!(self.send(rank, Kind::Frame, &frame), Ok(true)) {
                self.peers[rank as usize].order.put_back(frame);
                return;
            }
        }
    }

    /// True while nothing waits in the queue that the last look left there.
    pub fn is_dry(&self) -> bool {
        self.dry
    }

    /// True while something that this node sends is under way.
    pub fn is_sending(&self) -> bool {
        self.under_way > 0 || !self.due.is_empty()
    }

    /// As [`super::super::wire::Wire::is_busy`].
    pub fn is_busy(&self) -> bool {
        self.under_way > 0 || !self.due.is_empty() || !self.ready.is_empty() || !self.losses.is_empty()
    }
}

fn fill(message: &mut [u8; MESSAGE], head: &Head, body: &[u8]) {
    head.write(&mut message[..HEAD]);
    message[HEAD..HEAD + body.len()].copy_from_slice(body);
}
