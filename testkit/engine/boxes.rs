//! Mail boxes of several nodes over the adapter that delays and reorders stores, and over the one that ships: order, bytes and bounds for
//! many seeds, and what is kept when nobody needs it any more. A seed repeats a run.

use crate::deck::engine::{Deck, Handle, Tables};
use crate::deck::message::Message;
use crate::deck::messages::PIECE_MOST;
use crate::deck::owner::Credit;
use crate::deck::{BoxId, Failure, LINE_MOST, Until, names};
use crate::sci::heap::Heap;
use crate::sci::random::Random;
use crate::sci::reorder::Reorder;
use crate::testkit::party::{Options, Party, letter, pattern, write};
use crate::testkit::shipping::{Apart, Paired, Together};
use crate::testkit::world::{Kit, Shape, Watchdog, tests_over};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

type Double = Reorder<Heap>;

/// Seeds, and steps of each: so many that every form meets every other, and each run takes some milliseconds. The adapter that ships
/// gets fewer of them, because it does not reorder stores.
const SEEDS: u64 = 1000;
const SHIPPING_SEEDS: u64 = 80;
const STEPS: usize = 120;
/// Messages of so many bytes are loans, or go in pieces.
const LIMIT: usize = 1000;

fn party<A: Kit>(nodes: u32, seed: u64, near: bool) -> Party<A> {
    let mut shape = Shape::new(nodes, 4);
    shape.config.spin = Some(0);
    let options = Options { limit: LIMIT, boxes: 4, heap: 256 << 10, near };
    Party::new(&shape, &A::kit(nodes, seed), options, |_, _| ())
}

/// A box, as the test knows it.
struct Known {
    handle: Handle,
    owner: usize,
    capacity: Credit,
    name: Option<Vec<u8>>,
    /// By sender: its handle, and what it has posted and nobody retrieved: number and length.
    senders: HashMap<usize, (Handle, VecDeque<(u32, usize)>)>,
    destroyed: bool,
}

impl Known {
    /// What all senders have posted. Credits are taken for all of it.
    fn posted(&self) -> impl Iterator<Item = usize> + '_ {
        self.senders.values().flat_map(|(_, posted)| posted.iter().map(|(_, len)| *len))
    }

    /// Rule 3 of `deck`.
    fn check_bound(&self) {
        let bytes: u64 = self.posted().map(|len| len as u64).sum();
        let messages = self.posted().count() as u64;
        let is_in_bounds = messages <= self.capacity.messages && bytes <= self.capacity.bytes;
        assert!(is_in_bounds || messages == 1, "{messages} messages, {bytes} bytes of {:?}", self.capacity);
    }
}

struct Run<A: Kit> {
    party: Party<A>,
    random: Random,
    boxes: Vec<Known>,
    next: u32,
    done: Done,
}

/// What runs did.
#[derive(Default)]
struct Done {
    retrieved: [usize; 4],
    refused: usize,
    gone: usize,
    destroyed: usize,
    timed_out: usize,
    truncated: usize,
}

impl<A: Kit> Run<A> {
    fn pick(&mut self) -> Option<usize> {
        (!self.boxes.is_empty()).then(|| self.random.below(self.boxes.len()))
    }

    fn len(&mut self) -> usize {
        match self.random.below(8) {
            0 => 0,
            1 | 2 => self.random.below(LINE_MOST + 1),
            3 | 4 => LINE_MOST + 1 + self.random.below(LIMIT - LINE_MOST),
            5 | 6 => LIMIT + self.random.below(3000),
            _ => 30_000 + self.random.below(50_000),
        }
    }

    fn step(&mut self) {
        let node = self.random.below(self.party.0.len());
        match self.random.below(32) {
            0 | 1 => self.create(node),
            2..=11 => self.post(node, false),
            12..=14 => self.post(node, true),
            15..=22 => self.retrieve(),
            23 => self.destroy(),
            24 => self.drop_sender(),
            _ => {
                self.party.poll(node);
            }
        }
    }

    fn create(&mut self, owner: usize) {
        if self.boxes.len() > 4 {
            return;
        }
        let capacity = Credit {
            messages: [1, 2, 5, 40][self.random.below(4)],
            bytes: [52, 600, 4000, 100_000][self.random.below(4)],
        };
        self.next += 1;
        let name = (self.random.below(2) == 0).then(|| format!("box {}", self.next).into_bytes());
        let handle = match self.party.help(owner, |deck| deck.open(name.as_deref(), capacity)) {
            // Four boxes are the limit here.
            Err(Failure::Memory(_)) => return,
            handle => handle.unwrap(),
        };
        self.boxes.push(Known { handle, owner, capacity, name, senders: HashMap::new(), destroyed: false });
    }

    fn post(&mut self, node: usize, give: bool) {
        let (Some(at), len) = (self.pick(), self.len()) else { return };
        let how = self.random.below(8);
        let Run { party, boxes, next, done, .. } = self;
        let known = &mut boxes[at];
        let (id, name, is_gone) = (known.handle.id, known.name.clone(), known.destroyed);
        let (handle, posted) = known.senders.entry(node).or_insert_with(|| {
            let handle = party.help(node, |deck| match &name {
                Some(name) if !is_gone => deck.find(name, Until::Forever).unwrap(),
                _ => deck.handle(id, false),
            });
            (handle, VecDeque::new())
        });
        *next += 1;
        let bytes = pattern(node as u32, *next, len);
        let handle = *handle;
        let until = match how {
            0 => Until::Time(Instant::now() + Duration::from_micros(50)),
            1..=3 if give => Until::Time(Instant::now() + Duration::from_millis(2)), // long enough for a place on another host
            _ => Until::Now,
        };
        let result = party.help(node, |deck| {
            if !give {
                return deck.post(&handle, &letter(&bytes), until);
            }
            let Ok(mut message) = deck.create(len, true, false) else { return Err(Failure::Again) };
            write(&mut message, &bytes);
            let result = deck.give(&handle, &mut message, until);
            deck.release(message.storage).unwrap();
            result
        });
        match result {
            Ok(()) if is_gone => {}
            Ok(()) => {
                posted.push_back((*next, len));
                known.check_bound();
            }
            Err(Failure::Again) => done.refused += 1,
            Err(Failure::TimedOut) => done.timed_out += 1,
            Err(Failure::Gone) if is_gone => done.gone += 1,
            Err(error) => panic!("{error:?}"),
        }
    }

    fn retrieve(&mut self) {
        let Some(at) = self.pick() else { return };
        let how = self.random.below(4);
        let known = &mut self.boxes[at];
        if known.destroyed {
            return;
        }
        let handle = known.handle;
        let result = self.party.help(known.owner, |deck| {
            assert!(deck.pending(&handle).unwrap() as u64 <= known.capacity.messages);
            if how < 3 {
                return deck.take(&handle, Until::Now);
            }
            let mut message = deck.create(500, false, true).unwrap();
            let place = message.at();
            deck.retrieve(&handle, &mut message, Until::Now)?;
            assert_eq!(message.at(), place, "it is FIXED");
            Ok(message)
        });
        match result {
            Ok(message) => self.check(at, message),
            Err(Failure::Truncated) if how == 3 => self.done.truncated += 1,
            Err(error) => assert_eq!(error, Failure::Again),
        }
    }

    /// The message is the next one of its sender.
    fn check(&mut self, at: usize, message: Message) {
        let known = &mut self.boxes[at];
        let source = message.source.unwrap();
        let (_, posted) = known.senders.get_mut(&(source as usize)).expect("a sender");
        let (number, len) = posted.pop_front().expect("a message that was posted");
        assert_eq!((message.size, message.bytes() == pattern(source, number, len)), (len, true), "message {number}");
        let form = match len {
            0..=LINE_MOST => 0,
            _ if len < LIMIT => 1,
            _ if len < PIECE_MOST => 2,
            _ => 3,
        };
        self.done.retrieved[form] += 1;
        self.party.help(known.owner, |deck| deck.release(message.storage)).unwrap();
    }

    fn destroy(&mut self) {
        let Some(at) = self.pick() else { return };
        let known = &mut self.boxes[at];
        if !known.destroyed {
            let handle = known.handle;
            self.party.help(known.owner, |deck| deck.destroy(&handle)).unwrap();
            self.done.destroyed += 1;
            known.destroyed = true;
        } else if self.random.below(2) == 0 {
            self.forget(at);
        }
    }

    /// The senders of a box that is gone destroy their handles.
    fn forget(&mut self, at: usize) {
        let known = self.boxes.swap_remove(at);
        for (node, (handle, _)) in &known.senders {
            self.party.help(*node, |deck| deck.destroy(handle)).unwrap();
        }
    }

    /// A sender that has nothing in the box destroys its handle, and perhaps gets another one later.
    fn drop_sender(&mut self) {
        let Some(at) = self.pick() else { return };
        let idle = self.boxes[at].senders.iter().find(|(_, (_, posted))| posted.is_empty()).map(|(node, _)| *node);
        let Some(node) = idle else { return };
        let (handle, _) = self.boxes[at].senders.remove(&node).unwrap();
        self.party.help(node, |deck| deck.destroy(&handle)).unwrap();
    }

    /// Everything that was posted is retrieved, then all boxes and handles go.
    fn end(&mut self) {
        while self.boxes.iter().any(|known| !known.destroyed && known.posted().count() > 0) {
            for at in 0..self.boxes.len() {
                let known = &self.boxes[at];
                if known.destroyed || known.posted().count() == 0 {
                    continue;
                }
                let handle = known.handle;
                let message = self.party.help(known.owner, |deck| deck.take(&handle, Until::Forever)).unwrap();
                self.check(at, message);
            }
        }
        while let Some(at) = self.boxes.len().checked_sub(1) {
            if !self.boxes[at].destroyed {
                let (owner, handle) = (self.boxes[at].owner, self.boxes[at].handle);
                self.party.help(owner, |deck| deck.destroy(&handle)).unwrap();
            }
            self.forget(at);
        }
        self.party.settle();
        for node in 0..self.party.0.len() {
            assert_eq!(self.party.tables(node), Tables::default(), "node {node} keeps something");
        }
        self.party.check_guards();
    }
}

fn play<A: Kit>(seed: u64, all: &mut Done) {
    let nodes = 2 + (seed % 2) as u32;
    let party = party::<A>(nodes, seed, seed % 4 < 2);
    let mut run = Run { party, random: Random::new(seed), boxes: Vec::new(), next: 0, done: std::mem::take(all) };
    (0..STEPS).for_each(|_| run.step());
    run.end();
    *all = run.done;
}

fn play_all<A: Kit>(seeds: u64) {
    let mut all = Done::default();
    for seed in 0..seeds {
        let _watch = Watchdog::start();
        play::<A>(seed, &mut all);
    }
    let Done { retrieved, refused, gone, destroyed, timed_out, truncated } = all;
    assert!(retrieved.iter().all(|form| *form as u64 > seeds / 2), "each form was tried: {retrieved:?}");
    let others = [refused, gone, destroyed, timed_out, truncated];
    assert!(others.iter().all(|count| *count as u64 > seeds / 10), "each end was tried: {others:?}");
}

#[test]
fn order_bytes_and_bounds_hold_whatever_the_order_of_stores() {
    play_all::<Double>(SEEDS);
    play_all::<Together>(SHIPPING_SEEDS);
    play_all::<Apart>(SHIPPING_SEEDS);
    play_all::<Paired>(SHIPPING_SEEDS);
}

/// Posts a message of 52 zeros.
fn post_line<A: Kit>(party: &Party<A>, node: usize, handle: &Handle) -> Result<(), Failure> {
    let until = Until::Time(Instant::now() + Duration::from_secs(30));
    party.help(node, |deck| deck.post(handle, &letter(&[0; LINE_MOST]), until))
}

fn credits_that_come_after_the_last_handle_are_kept_and_returned<A: Kit>() {
    let _watch = Watchdog::start();
    let party = party::<A>(3, 1, true);
    // Room for one message: who has its credit has all.
    let capacity = Credit { messages: 1, bytes: LINE_MOST as u64 };
    let own = party.help(0, |deck| deck.open(None, capacity)).unwrap();
    let [first, second] = [1, 2].map(|node| party.help(node, |deck| deck.handle(own.id, false)));
    post_line(&party, 1, &first).unwrap();
    party.help(1, |deck| deck.destroy(&first)).unwrap();
    assert_eq!(party.tables(1), Tables::default(), "it has no credit left");
    party.settle();
    // Retrieving gives the credit back to node 1, which has no handle any more.
    party.help(0, |deck| deck.take(&own, Until::Now)).unwrap();
    party.settle();
    let kept = Tables { senders: 1, strays: 1, credit: 1, ..Tables::default() };
    assert_eq!(party.tables(1), kept, "the credit is kept");
    post_line(&party, 2, &second).unwrap();
    assert_eq!(party.tables(1), Tables::default(), "the credit went back");
    party.settle();
    party.help(0, |deck| deck.take(&own, Until::Now)).unwrap();
}

fn a_sender_that_only_tries_gets_the_room_that_others_do_not_use<A: Kit>() {
    let _watch = Watchdog::start();
    let party = party::<A>(3, 3, true);
    let capacity = Credit { messages: 1, bytes: LINE_MOST as u64 };
    let own = party.help(0, |deck| deck.open(None, capacity)).unwrap();
    let [first, second] = [1, 2].map(|node| party.help(node, |deck| deck.handle(own.id, false)));
    post_line(&party, 1, &first).unwrap();
    party.help(0, |deck| deck.take(&own, Until::Forever)).unwrap();
    party.settle();
    assert_eq!(party.tables(1).credit, 1, "node 1 got its credit back");
    let tries = |_: &usize| {
        party.settle();
        party.help(2, |deck| deck.post(&second, &letter(&[1]), Until::Now)).is_ok()
    };
    assert!((0..5).position(|n| tries(&n)).is_some(), "the box is empty");
}

/// A time that is over at once is enough for the answer of a node that polls: what is there is found, as with time 0.
fn the_shortest_time_is_long_enough_for_an_answer<A: Kit>() {
    let _watch = Watchdog::start();
    let party = party::<A>(2, 4, true);
    let names = (0..).map(|n| format!("short {n}").into_bytes());
    let name = names.into_iter().find(|name| names::home(name, 2) == 1).unwrap();
    let capacity = Credit { messages: 10, bytes: 1000 };
    let own = party.help(1, |deck| deck.open(Some(&name), capacity)).unwrap();
    // This process may lose its core for all of the time, so it has more than one.
    let some = |call: &dyn Fn(Until) -> bool| (0..10).any(|_| call(Until::Time(Instant::now())));
    assert!(some(&|until| party.help(0, |deck| deck.find(&name, until).map(|found| deck.destroy(&found))).is_ok()));
    let to = party.help(0, |deck| deck.find(&name, Until::Forever)).unwrap();
    assert!(some(&|until| party.help(0, |deck| deck.post(&to, &letter(&[7]), until)).is_ok()));
    assert_eq!(party.help(1, |deck| deck.take(&own, Until::Forever)).unwrap().bytes(), [7]);
}

/// A message that is longer than its box comes to no other one, and no other one comes to it, however short and whoever posts it.
fn a_message_that_is_longer_than_its_box_is_alone<A: Kit>() {
    let _watch = Watchdog::start();
    const MOST: u64 = 100;
    // Shorter ones are lines, bodies or loans; longer ones bodies, loans or pieces.
    for (long, short) in [(101, 0), (101, 1), (101, 100), (600, 0), (1500, 0), (1500, 60), (70_000, 0), (70_000, 100)] {
        for is_near in [true, false] {
            // Who posts first, and then: the same node, two of them, the owner and another one, another one and the owner.
            for (first, second) in [(1, 1), (1, 2), (0, 1), (1, 0)] {
                for (before, after) in [(long, short), (short, long)] {
                    let party = party::<A>(3, 5, is_near);
                    let capacity = Credit { messages: 8, bytes: MOST };
                    let own = party.help(0, |deck| deck.open(None, capacity)).unwrap();
                    let [sent, refused] =
                        [first, second].map(|node| party.help(node, |deck| deck.handle(own.id, false)));
                    let letters = [(first, before), (second, after)].map(|(node, len)| pattern(node as u32, 1, len));
                    party.help(first, |deck| deck.post(&sent, &letter(&letters[0]), Until::Forever)).unwrap();
                    let case = format!("{before} and {after} bytes, nodes {first} and {second}");
                    for _ in 0..5 {
                        party.settle(); // what a try has asked for has come
                        let post = |until| party.help(second, |deck| deck.post(&refused, &letter(&letters[1]), until));
                        assert_eq!(post(Until::Now), Err(Failure::Again), "{case}");
                        assert_eq!(post(Until::Time(Instant::now())), Err(Failure::TimedOut), "{case}");
                        assert_eq!(party.help(0, |deck| deck.pending(&own)), Ok(1), "{case}");
                    }
                    for (node, bytes) in [(first, &letters[0]), (second, &letters[1])] {
                        let message = party.help(0, |deck| deck.take(&own, Until::Now)).unwrap();
                        assert!(message.source == Some(node as u32) && message.bytes() == &**bytes, "{case}");
                        party.help(0, |deck| deck.release(message.storage)).unwrap();
                        if node == first && bytes.len() == before {
                            let post = |deck: &Deck<A>| deck.post(&refused, &letter(&letters[1]), Until::Forever);
                            party.help(second, post).unwrap();
                            party.settle();
                        }
                    }
                }
            }
        }
    }
}

fn a_box_that_was_destroyed_gets_no_message_of_another_one<A: Kit>() {
    let _watch = Watchdog::start();
    let party = party::<A>(2, 2, true);
    let capacity = Credit { messages: 4, bytes: 4000 };
    let first = party.help(0, |deck| deck.open(None, capacity)).unwrap();
    let old = party.help(1, |deck| deck.handle(first.id, false));
    post_line(&party, 1, &old).unwrap();
    party.help(0, |deck| deck.destroy(&first)).unwrap();
    let mut places = Vec::new();
    for _ in 0..5 {
        let next = party.help(0, |deck| deck.open(None, capacity)).unwrap();
        places.push(BoxId { serial: 0, ..next.id });
        assert_eq!(post_line(&party, 1, &old), Err(Failure::Gone));
        party.help(0, |deck| assert_eq!(deck.pending(&next), Ok(0)));
        party.help(0, |deck| deck.destroy(&next)).unwrap();
        party.settle();
    }
    assert!(places.contains(&BoxId { serial: 0, ..first.id }), "the place was used again: {places:?}");
}

#[test]
fn a_post_that_finds_no_room_leaves_no_block_behind() {
    fn over<A: Kit>() {
        const LEN: usize = 600; // it is lent
        let mut shape = Shape::new(2, 4);
        shape.config.spin = Some(0);
        let options = Options { limit: LIMIT, boxes: 4, heap: 4 << 10, near: true };
        let party: Party<A> = Party::new(&shape, &A::kit(2, 1), options, |_, _| ());
        let capacity = Credit { messages: 100, bytes: 1 << 20 };
        let own = party.alone(0, |deck| deck.open(None, capacity)).unwrap();
        let mine = party.alone(1, |deck| deck.handle(own.id, false));
        let post = |party: &Party<A>, number: u32| {
            let message = letter(&pattern(1, number, LEN));
            party.alone(1, |deck| deck.post(&mine, &message, Until::Now))
        };
        while post(&party, 0) == Err(Failure::Again) {
            party.settle(); // the credits come
        }
        let mut posted = 1;
        while post(&party, posted) == Ok(()) {
            posted += 1;
            assert!(posted <= 4, "there are four slots");
        }
        assert_eq!(party.tables(1).blocks, posted as usize, "a block for each message that is on its way");
        for number in 0..posted {
            party.settle();
            let message = party.help(0, |deck| deck.take(&own, Until::Now)).unwrap();
            assert!(message.bytes() == pattern(1, number, LEN), "message {number}");
            party.help(0, |deck| deck.release(message.storage)).unwrap();
        }
        party.settle();
        assert_eq!(party.tables(1).blocks, 0);
        // Without a block it goes as a Medium.
        let all: Vec<_> = std::iter::from_fn(|| party.alone(1, |deck| deck.create(256, true, false)).ok()).collect();
        assert_eq!(party.tables(1).blocks, all.len());
        post(&party, 7).unwrap();
        party.settle();
        assert!(party.help(0, |deck| deck.take(&own, Until::Now)).unwrap().bytes() == pattern(1, 7, LEN));
        all.into_iter().for_each(|message| party.alone(1, |deck| deck.release(message.storage)).unwrap());
        party.check_guards();
    }
    // Blocks are lent to nodes that have mapped the heap: those of the same host.
    over::<Double>();
    over::<Together>();
}

tests_over! { [Double, Together, Apart, Paired]:
    credits_that_come_after_the_last_handle_are_kept_and_returned,
    a_sender_that_only_tries_gets_the_room_that_others_do_not_use,
    the_shortest_time_is_long_enough_for_an_answer,
    a_message_that_is_longer_than_its_box_is_alone,
    a_box_that_was_destroyed_gets_no_message_of_another_one,
}
