//! Peers write whatever they like in the messages of mail boxes: boxes, lengths, places, blocks, credits, names, answers. Node 0 uses
//! boxes meanwhile, as a program does. What it gets from itself must be right. What nobody of ours sends may end the job, with a line that
//! blames a peer.

#![allow(unsafe_code)] // bytes of messages

use super::Input;
use crate::am::library::*;
use crate::base::fatal::caught::catch;
use crate::deck::engine::Handle;
use crate::deck::message::{Message, Storage};
use crate::deck::owner::Credit;
use crate::deck::{BoxId, Failure, LINE_MOST, Until, names};
use crate::sci::fickle;
use crate::sci::heap::Heap;
use crate::testkit::party::{Options, Party, acting, letter, lie, pattern, plan_lie, write};
use crate::testkit::world::{Kit, Shape};
use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::time::Instant;

/// Messages of so many bytes are loans, or go in pieces.
const LIMIT: usize = 300;
const HEAP: usize = 16 << 10;
/// Handles and messages that a node keeps.
const KEPT: usize = 6;

struct Side {
    own: Vec<Handle>,
    foreign: Vec<Handle>,
    messages: Vec<Message>,
}

struct Posted {
    number: u32,
    len: usize,
    /// It lies in the heap, where peers may write, or say that they give the block back.
    is_exposed: bool,
}

struct Scene<'a> {
    party: Party<Heap>,
    sides: Vec<Side>,
    names: [Vec<u8>; 4],
    input: Input<'a>,
    /// What node 0 has posted to its boxes and not retrieved.
    posted: HashMap<BoxId, VecDeque<Posted>>,
    next: u32,
    /// A word of a message has changed while node 0 looked at it.
    has_changed: bool,
}

pub(super) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let flags = input.u8();
    let nodes = 2 + u32::from(flags >> 2 & 1);
    // Many slots, so that many messages are run in a row.
    let mut shape = Shape::new(nodes, if flags & 8 == 0 { 4 } else { 64 });
    shape.config.spin = Some(0);
    let options = Options { limit: LIMIT, boxes: KEPT, heap: HEAP, near: flags & 3 != 0 };
    let party = Party::new(&shape, &Heap::kit(nodes, 0), options, lie);
    plan_lie(None);
    fickle::plan(0, 0);
    let side = |_| Side { own: Vec::new(), foreign: Vec::new(), messages: Vec::new() };
    let named = |n: usize| {
        let mut all = (0..).map(|i: u32| format!("{n}-{i}").into_bytes());
        // Two names that node 0 has, and two of node 1.
        all.find(|name| names::home(name, nodes) == n as u32 / 2).expect("one of many")
    };
    let scene = Scene {
        party,
        sides: (0..nodes).map(side).collect(),
        names: std::array::from_fn(named),
        input,
        posted: HashMap::new(),
        next: 0,
        has_changed: false,
    };
    scene.play();
}

/// Whether the line that ends a job names a peer of node 0 as its cause. A peer can also turn its slot into a message for a handler of
/// the client's, and there is none here.
fn blames_a_peer(line: &str) -> bool {
    let of_node = |begin| line.strip_prefix(begin).is_some_and(|rest: &str| rest.starts_with(['1', '2']));
    of_node("corrupt message from node ") || of_node("AM from node ")
}

impl Scene<'_> {
    fn play(mut self) {
        let end = catch(|| {
            while let Some(step) = self.input.next() {
                self.step(step);
                self.check();
                // A changed message may be one that node 0 counts on, so that nothing after it can be checked.
                if self.has_changed {
                    break;
                }
            }
            self.party.settle_within(10_000);
        });
        if let (Err(text), 0) = (&end, acting()) {
            let (own, memory) = (text.contains("was given back twice"), text.starts_with("DECK: no memory"));
            assert!(blames_a_peer(text) || own || memory, "{text}");
        }
        self.check();
        self.party.check_guards();
    }

    fn check(&self) {
        let tables = self.party.tables(0);
        assert!(tables.boxes <= 4 * KEPT && tables.senders <= 1000 && tables.due <= 10_000, "{tables:?}");
    }

    fn step(&mut self, step: u8) {
        let attacker = 1 + usize::from(step >> 7) % (self.sides.len() - 1);
        match step & 31 {
            0..=3 => drop(self.party.poll(0)),
            4 => drop(self.party.poll(attacker)),
            5 => self.open(0),
            6 => self.open(attacker),
            7 | 8 => self.post(0),
            9 | 10 => self.post(attacker),
            11 => self.give(0),
            12 => self.give(attacker),
            13 | 14 => self.retrieve(0),
            15 => self.retrieve(attacker),
            16 => self.clone_handle(0),
            17 => self.clone_handle(attacker),
            18 => self.release(),
            19 => self.destroy(0),
            20 => self.destroy(attacker),
            21 => self.find(),
            22 | 23 => {
                let words = std::array::from_fn(|at| self.word(at));
                plan_lie(Some(words));
            }
            24 => {
                // A peer writes to a slot between two looks.
                fickle::plan(1 + u32::from(self.input.u8() & 31), self.input.any());
                self.party.poll(0);
                self.has_changed = fickle::plan(0, 0).0 == 0; // no look is left, so the word has changed
            }
            _ => self.forge(attacker),
        }
    }

    fn open(&mut self, node: usize) {
        let capacity =
            Credit { messages: self.input.pick(&[1, 4, 100]), bytes: self.input.pick(&[1, 60, 2000, 1 << 20]) };
        let name = self.input.pick(&[0, 1, 9]);
        let name = self.names.get(name).cloned();
        if self.sides[node].own.len() < KEPT {
            match self.party.help(node, |deck| deck.open(name.as_deref(), capacity)) {
                Ok(handle) => self.sides[node].own.push(handle),
                Err(error) => assert!(matches!(error, Failure::Exists | Failure::Memory(_)), "{error:?}"),
            }
        }
    }

    /// A box of any node.
    fn any_box(&mut self) -> Option<BoxId> {
        let node = self.input.below(self.sides.len());
        let own = &self.sides[node].own;
        (!own.is_empty()).then(|| own[self.input.below(own.len())].id)
    }

    fn clone_handle(&mut self, node: usize) {
        if let Some(id) = self.any_box()
            && self.sides[node].foreign.len() < KEPT
        {
            let handle = self.party.alone(node, |deck| deck.handle(id, false));
            self.sides[node].foreign.push(handle);
        }
    }

    /// A handle to post with.
    fn handle(&mut self, node: usize) -> Option<Handle> {
        let side = &self.sides[node];
        let count = side.own.len() + side.foreign.len();
        let at = (count > 0).then(|| self.input.below(count))?;
        Some(*side.own.iter().chain(&side.foreign).nth(at).expect("below the count"))
    }

    fn len(&mut self) -> usize {
        match self.input.u8() {
            n @ 0..=127 => usize::from(n),
            n @ 128..=191 => usize::from(n - 128) * 20,
            n => 30_000 + usize::from(n - 192) * 200,
        }
    }

    fn post(&mut self, node: usize) {
        let (Some(handle), len) = (self.handle(node), self.len()) else { return };
        self.next += 1;
        let bytes = pattern(node as u32, self.next, len);
        let result = self.party.help(node, |deck| deck.post(&handle, &letter(&bytes), Until::Now));
        self.sent(node, &handle, len, len >= LIMIT, result);
    }

    fn give(&mut self, node: usize) {
        let (Some(handle), len) = (self.handle(node), self.len()) else { return };
        self.next += 1;
        let bytes = pattern(node as u32, self.next, len);
        let result = self.party.help(node, |deck| {
            let mut message = deck.create(len, true, false)?;
            write(&mut message, &bytes);
            let result = deck.give(&handle, &mut message, Until::Now);
            deck.release(message.storage)?;
            result
        });
        self.sent(node, &handle, len, len > LINE_MOST, result);
    }

    fn sent(&mut self, node: usize, handle: &Handle, len: usize, is_exposed: bool, result: Result<(), Failure>) {
        match result {
            Ok(()) if node == 0 && handle.id.owner == 0 => {
                let posted = Posted { number: self.next, len, is_exposed };
                self.posted.entry(handle.id).or_default().push_back(posted);
            }
            Ok(()) | Err(Failure::Again | Failure::Gone | Failure::Memory(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }

    fn retrieve(&mut self, node: usize) {
        let (how, count) = (self.input.u8(), self.sides[node].own.len());
        if count == 0 {
            return;
        }
        let handle = self.sides[node].own[self.input.below(count)];
        let mut message = None;
        let result = self.party.help(node, |deck| {
            match how & 3 {
                0 => deck.pending(&handle).map(drop)?,
                1 => deck.select(&[handle], Until::Now).map(drop)?,
                2 => {
                    message = Some(deck.create(64, false, how & 4 != 0)?);
                    deck.retrieve(&handle, message.as_mut().expect("just made"), Until::Now)?;
                }
                _ => message = Some(deck.take(&handle, Until::Now)?),
            }
            Ok(())
        });
        match (result, message) {
            (Ok(()), Some(message)) => self.retrieved(node, handle.id, message),
            (Ok(()) | Err(Failure::Again | Failure::Truncated), _) => {}
            (Err(error), _) => panic!("{error:?}"),
        }
    }

    fn retrieved(&mut self, node: usize, id: BoxId, message: Message) {
        let (at, room) = message.storage.place();
        assert!(message.size <= room && message.size <= message.capacity, "{message:?}");
        let sum = message.bytes().iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        black_box(sum);
        if room > 0 {
            let last = at.wrapping_add(room - 1);
            // SAFETY: the last byte of the message's memory.
            let byte = unsafe { last.read_volatile() };
            // SAFETY: as above; a program may write it.
            unsafe { last.write_volatile(byte) };
        }
        if node == 0 && message.source == Some(0) {
            let posted = self.posted.get_mut(&id).and_then(VecDeque::pop_front);
            let Posted { number, len, is_exposed } = posted.expect("it was posted");
            assert_eq!(message.size, len, "message {number}");
            assert!(is_exposed || message.bytes() == pattern(0, number, len), "message {number}");
        }
        let messages = &mut self.sides[node].messages;
        messages.push(message);
        if messages.len() > KEPT {
            let storage = messages.remove(0).storage;
            self.give_back(node, storage);
        }
    }

    fn give_back(&self, node: usize, storage: Storage) {
        self.party.help(node, |deck| deck.release(storage)).expect("no error but fatal ones");
    }

    fn release(&mut self) {
        let node = self.input.below(self.sides.len());
        if let Some(message) = self.sides[node].messages.pop() {
            self.give_back(node, message.storage);
        }
    }

    fn destroy(&mut self, node: usize) {
        let which = self.input.u8();
        let side = &mut self.sides[node];
        let list = if which & 1 == 0 { &mut side.own } else { &mut side.foreign };
        if list.is_empty() {
            return;
        }
        let handle = list.swap_remove(usize::from(which >> 1) % list.len());
        if handle.owns {
            self.posted.remove(&handle.id);
        }
        self.party.help(node, |deck| deck.destroy(&handle)).expect("no error but fatal ones");
    }

    /// Node 0 looks for a box by its name.
    fn find(&mut self) {
        let name = self.input.below(self.names.len());
        // Node 0 itself answers for these at once.
        let until = if name < 2 { Until::Now } else { Until::Time(Instant::now()) };
        match self.party.help(0, |deck| deck.find(&self.names[name], until)) {
            Ok(handle) if self.sides[0].foreign.len() < KEPT => self.sides[0].foreign.push(handle),
            Ok(handle) => self.party.help(0, |deck| deck.destroy(&handle)).expect("no error but fatal ones"),
            Err(error) => assert!(matches!(error, Failure::Again | Failure::TimedOut), "{error:?}"),
        }
    }

    /// A word of a message: a box, a length, a place, several small numbers, or anything.
    fn word(&mut self, at: usize) -> u64 {
        match self.input.u8() {
            n @ 0..=95 if at == 0 => {
                let id = self.any_box().unwrap_or(BoxId { owner: 1, index: n.into(), serial: 1 });
                // The messages themselves have an index in the low half, and a length, a thread or a node.
                if n < 48 { id.word() } else { u64::from(id.index) | u64::from(n & 7) << 32 | u64::from(n & 1) << 16 }
            }
            n @ 0..=95 => u64::from(n),
            n @ 96..=127 => u64::from(n - 96) << 61 | u64::from(self.input.u8()),
            128..=159 => self.input.number(2) & !15,
            160..=191 => u64::from(self.input.u8() & 7) | u64::from(self.input.u8() & 7) << 32,
            192..=207 => 1 << 33 | u64::from(self.input.u8()),
            208..=223 => self.any_box().map_or(0, |id| u64::from(id.index) | u64::from(LINE_MOST as u32) << 16),
            _ => self.input.any(),
        }
    }

    fn forge(&mut self, attacker: usize) {
        let forms: [(u8, usize, bool); 14] = [
            (DECK_LINE, 7, false),
            (DECK_BODY, 1, true),
            (DECK_PIECE, 3, true),
            (DECK_LOAN, 7, false),
            (DECK_BACK, 1, false),
            (DECK_ASK, 4, false),
            (DECK_MORE, 5, false),
            (DECK_RECALL, 1, false),
            (DECK_GONE, 1, false),
            (DECK_FORGOT, 1, false),
            (DECK_NAME, 2, true),
            (DECK_FOUND, 2, false),
            (DECK_PLACE, 2, false),
            (DECK_CAME, 1, false),
        ];
        let (index, count, medium) = self.input.pick(&forms);
        let mut words: Vec<u64> = (0..count.min(5)).map(|at| self.word(at)).collect();
        words.resize(count, 7);
        if index == DECK_LINE {
            // The head of a line is in its last word.
            words[count - 1] = words[0].rotate_left(32);
        }
        let bytes = match self.input.u8() {
            _ if !medium => Vec::new(),
            n if index == DECK_NAME && n < 200 => self.names[usize::from(n) % self.names.len()].clone(),
            n @ 0..=199 => vec![n; n.into()],
            n => vec![n; usize::from(n) * 100],
        };
        self.party.forge(attacker, 0, index, &words, medium.then_some(&bytes));
    }
}
