//! Nodes with mail boxes, in one process and on one thread. A test or a fuzz target calls for each of them, in an order of its own.
//!
//! A call that waits on this one thread would wait for ever, because its peers could not serve it. So while a node polls, the other nodes
//! may poll as well ([`Party::help`]).

#![cfg_attr(loom, allow(dead_code))] // models need less of it
#![allow(unsafe_code)] // heaps of messages, objects that live as long as a scene

use crate::am::Am;
use crate::am::library::Library;
#[cfg(not(loom))]
use crate::am::library::{
    DECK_ASK, DECK_GRANT, DECK_NAME, DECK_NAMED, DECK_PLACE, DECK_PLACED, DECK_RECALL, DECK_RETURNED,
};
use crate::am::source::{Args, Source};
use crate::deck::engine::{Deck, Region, Setting, Tables};
use crate::deck::message::{Bytes, Message, Storage};
use crate::deck::messages::{self, Place};
use crate::sci::{Adapter, NodeId};
use crate::testkit::payload::{mix, payload};
use crate::testkit::world::{Kit, Node, Shape, carry, nodes_with};
use crate::verbs::Flags;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};

/// Bytes on both sides of a heap that nobody may write.
const GUARD: usize = 1024;
const CANARY: u8 = 0x5a;

/// What engines are made with.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    /// Messages of so many bytes go as loans.
    pub limit: usize,
    /// Boxes of a node, at most.
    pub boxes: usize,
    /// Bytes of a heap.
    pub heap: usize,
    /// Nodes that have memory in common have mapped each other's heaps. Else no node has.
    pub near: bool,
}

/// A node.
pub(crate) struct Member<A: Adapter> {
    pub me: u32,
    pub deck: &'static Deck<A>,
    node: &'static Node<A>,
    heap: Box<[u8]>,
}

/// All nodes, and their adapters.
pub(crate) struct Party<A: Adapter>(pub Vec<Member<A>>, Vec<A>);

type Others<A> = Arc<OnceLock<Vec<(u32, &'static Am<A>)>>>;

thread_local! {
    /// The node whose code runs.
    static ACTING: Cell<u32> = const { Cell::new(0) };
    /// While a node polls, the others poll, too.
    static HELPS: Cell<bool> = const { Cell::new(false) };
    static LIE: Cell<Option<[u64; 4]>> = const { Cell::new(None) };
}

/// The node whose code ran last: of a fatal error, the one that ended the job.
pub(crate) fn acting() -> u32 {
    ACTING.get()
}

fn act<R>(node: u32, f: impl FnOnce() -> R) -> R {
    let before = ACTING.replace(node);
    let result = f();
    ACTING.set(before);
    result
}

impl<A: Kit> Party<A> {
    /// Nodes of `shape` on `adapters`. `change` may change what serves a node's messages.
    pub fn new(shape: &Shape, adapters: &[A], options: Options, change: impl Fn(u32, &mut Library<Am<A>>)) -> Party<A> {
        let places: Vec<Place<A>> = (0..shape.nodes).map(|_| Place::default()).collect();
        let made = nodes_with(shape, adapters, |rank, library| {
            messages::register(library, &places[rank as usize]);
            change(rank, library);
        });
        let heap = |_| vec![CANARY; options.heap + 2 * GUARD].into_boxed_slice();
        let heaps: Vec<Box<[u8]>> = (0..shape.nodes).map(heap).collect();
        let start = |heap: &[u8]| (heap.as_ptr().addr() + GUARD).next_multiple_of(256);
        let region = |heap: &[u8]| Region { at: start(heap), len: options.heap };
        let regions: Arc<Vec<Region>> = Arc::new(heaps.iter().map(|heap| region(heap)).collect());
        let others: Others<A> = Arc::default();
        let member = |(node, heap): (Node<A>, Box<[u8]>)| {
            let (me, node): (u32, &'static Node<A>) = (node.me, Box::leak(Box::new(node)));
            let (regions, adapter) = (regions.clone(), adapters[me as usize].clone());
            let is_mapped = move |peer: u32| options.near && adapter.shares_memory_with(peer);
            let own = regions[me as usize];
            let setting = Setting {
                am: &node.am,
                threaded: shape.threaded,
                limit: options.limit,
                place_min: options.limit,
                boxes: options.boxes,
                heap: own,
                connect: Box::new(move |peer| is_mapped(peer).then(|| regions[peer as usize])),
                far: adapters[me as usize].reach(own),
                bell: adapters[me as usize].connect_interrupt(NodeId(me as u16)).unwrap(),
                losses: None,
            };
            // SAFETY: one thread, or `threaded`; the heap lives as long as the party.
            let deck: &'static Deck<A> = Box::leak(Box::new(unsafe { Deck::new(setting) }));
            assert!(places[me as usize].set(deck).is_ok());
            let others = others.clone();
            node.am.set_background(move || {
                let any = deck.progress();
                others.get().is_some_and(|others| help(me, others)) || any
            });
            // A model's nodes have threads of their own.
            if !cfg!(loom) {
                node.am.background(1);
            }
            Member { me, deck, node, heap }
        };
        let members: Vec<Member<A>> = made.into_iter().zip(heaps).map(member).collect();
        let _ = others.set(members.iter().map(|member| (member.me, &member.node.am)).collect());
        HELPS.set(false);
        Party(members, adapters.to_vec())
    }

    /// Runs `f` as code of `node`. While it polls, the other nodes poll, too.
    pub fn help<R>(&self, node: usize, f: impl FnOnce(&'static Deck<A>) -> R) -> R {
        HELPS.set(true);
        let result = self.alone(node, f);
        HELPS.set(false);
        result
    }

    /// As [`Self::help`], but the others do nothing.
    pub fn alone<R>(&self, node: usize, f: impl FnOnce(&'static Deck<A>) -> R) -> R {
        let member = &self.0[node];
        act(member.me, || f(member.deck))
    }

    pub fn poll(&self, node: usize) -> bool {
        self.alone(node, |deck| deck.am().poll())
    }

    /// Lets all nodes poll until nothing comes and nothing is found for some rounds: so many that a wire which brings things by chance
    /// has brought them all.
    pub fn settle(&self) {
        self.settle_within(usize::MAX);
    }

    /// The same, for so many rounds at most. A node that lies may keep messages going for ever: one that waits for credits, and says
    /// that it has none of those that it has, is asked to return them with each answer that it gives.
    pub fn settle_within(&self, rounds: usize) {
        let mut quiet = 0;
        for _ in 0..rounds {
            if quiet == 50 {
                return;
            }
            let came = self.carry();
            let found = (0..self.0.len()).filter(|node| self.poll(*node)).count();
            quiet = if found == 0 && !came { quiet + 1 } else { 0 };
        }
    }

    /// Brings what the nodes have sent to where it belongs, as far as the adapter lets it through now, and runs nothing.
    pub fn carry(&self) -> bool {
        carry(&self.1)
    }

    /// Sends a message of the library's own with any words, and with a payload if it is a Medium. False: there is no room.
    pub fn forge(&self, from: usize, to: u32, index: u8, words: &[u64], payload: Option<&[u8]>) -> bool {
        // SAFETY: two arguments to a word.
        let args = unsafe { Args::from_raw(words.as_ptr(), 2 * words.len()) };
        self.alone(from, |deck| match payload {
            Some(bytes) => {
                // SAFETY: the bytes stay during the call.
                let source = unsafe { Source::new(bytes.as_ptr(), bytes.len()) };
                deck.am().send_medium(to, index, source, args, Flags::IMMEDIATE)
            }
            None => deck.am().send_short(to, index, args, Flags::IMMEDIATE),
        })
        .expect("a message of the right form")
    }

    /// The nodes' adapters.
    #[cfg(test)]
    pub fn adapters(&self) -> &[A] {
        &self.1
    }

    /// A node's heap, and what is beside it.
    #[cfg(test)]
    pub fn heap(&self, node: usize) -> &[u8] {
        &self.0[node].heap
    }

    /// What a node keeps.
    pub fn tables(&self, node: usize) -> Tables {
        self.0[node].deck.tables()
    }

    /// Panics if somebody wrote beside a heap.
    pub fn check_guards(&self) {
        for member in &self.0 {
            let (first, last) = (&member.heap[..GUARD - 256], &member.heap[member.heap.len() - GUARD + 256..]);
            assert!(first.iter().chain(last).all(|byte| *byte == CANARY), "bytes beside the heap of {}", member.me);
        }
    }
}

/// For [`Party::new`]: all nodes but the first answer with these words where they are set, once, and else as they should.
#[cfg(not(loom))]
pub(crate) fn lie<A: Adapter>(rank: u32, library: &mut Library<Am<A>>) {
    let answer = |index| match index {
        DECK_ASK => Some((DECK_GRANT, 5)),
        DECK_RECALL => Some((DECK_RETURNED, 3)),
        DECK_NAME => Some((DECK_NAMED, 2)),
        DECK_PLACE => Some((DECK_PLACED, 2)),
        _ => None,
    };
    library.wrap(|index, serve| match answer(index) {
        Some((answer, count)) if rank > 0 => Box::new(move |am, token, words, payload| match LIE.take() {
            Some(lie) => {
                // SAFETY: two arguments to a word, and there are as many words.
                let args = unsafe { Args::from_raw(lie.as_ptr(), 2 * count) };
                am.reply_short(token, answer, args).expect("an answer");
            }
            None => serve(am, token, words, payload),
        }),
        _ => serve,
    });
}

/// What the next node that is asked for something answers, if it lies.
pub(crate) fn plan_lie(words: Option<[u64; 4]>) {
    LIE.set(words);
}

/// Lets the nodes beside `me` poll, unless that is what runs already.
fn help<A: Adapter>(me: u32, others: &[(u32, &'static Am<A>)]) -> bool {
    if !HELPS.replace(false) {
        return false;
    }
    let polled = others.iter().filter(|(node, _)| *node != me).filter(|(node, am)| act(*node, || am.poll())).count();
    HELPS.set(true);
    polled > 0
}

impl<A: Adapter> Drop for Party<A> {
    fn drop(&mut self) {
        HELPS.set(false);
        for member in self.0.drain(..) {
            // SAFETY: leaked in `new`; nothing of this party runs any more.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(member.deck).cast_mut()) });
            // SAFETY: as above; the engine that used it is gone.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(member.node).cast_mut()) });
        }
    }
}

/// The bytes of message `number` of `sender`.
pub(crate) fn pattern(sender: u32, number: u32, len: usize) -> Vec<u8> {
    payload(mix(&[sender.into(), number.into()]), len)
}

/// A message with these bytes, in memory of this process.
pub(crate) fn letter(bytes: &[u8]) -> Message {
    let storage = Storage::Local(Bytes::new(bytes.len()).expect("few bytes"));
    let mut message = Message::new(storage, bytes.len(), false);
    write(&mut message, bytes);
    message
}

/// Makes these bytes the content of a message that has room for them.
pub(crate) fn write(message: &mut Message, bytes: &[u8]) {
    message.set_size(bytes.len()).expect("room");
    // SAFETY: the message has room for as many bytes.
    unsafe { message.at().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
}
