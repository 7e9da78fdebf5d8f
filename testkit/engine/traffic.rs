//! Nodes send each other what a plan says. Every handler checks that its message is the next of its pair, and checks
//! every byte.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::handlers::{index, on, table};
use super::plan::{Category, Leg, Message, Name, Plan, any_leg, args, bytes, lengths};
use super::world::{Kit, Node, Shape, over_all_adapters, run};
use crate::am::region::{MAX_ARGS, MAX_MEDIUM};
use crate::am::slot::inline_max;
use crate::am::source::{Args, Source};
use crate::am::token::Token;
use crate::am::wait::SLEEPING;
use crate::base::error::Error;
use crate::sci::heap::Heap;
use crate::sci::reorder::Reorder;
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use crate::testkit::payload::mix;
use crate::testkit::shipping::{Apart, Paired, Together};
use crate::verbs::Flags;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// The byte around Long targets, and in unused ones.
const BLANK: u8 = 0xee;
/// Number of blank bytes that are checked on both sides of a target.
const GUARD: usize = 24;

/// The state that all nodes of one run share.
pub(super) struct Course<'a> {
    pub shape: &'a Shape,
    pub seed: u64,
    pub plan: Plan<'a>,
    /// Bytes between two Long targets.
    stride: usize,
    ready: AtomicU32,
    done: AtomicU32,
    failed: AtomicBool,
    story: std::sync::Mutex<String>,
}

/// Bytes of segment that `plan` needs if its Longs have at most `longest` bytes.
fn segment(shape: &Shape, longest: usize) -> (usize, usize) {
    let stride = (longest + 128).next_multiple_of(64);
    (stride, stride * window(shape) * 2 * shape.active.len())
}

/// A pair uses its targets again after this many requests, which is more than can be under way.
fn window(shape: &Shape) -> usize {
    shape.slots as usize + 2
}

/// One node's part of a run.
pub(super) struct Traffic<'a, A: Kit> {
    pub node: &'a Node<A>,
    pub course: &'a Course<'a>,
    /// For each rank: requests sent to it, requests received from it, and the request whose reply comes next.
    sent: Vec<Cell<u32>>,
    got: Vec<Cell<u32>>,
    answered: Vec<Cell<u32>>,
    buffer: RefCell<Vec<u8>>,
}

impl<'a, A: Kit> Traffic<'a, A> {
    fn new(node: &'a Node<A>, course: &'a Course<'a>) -> Self {
        let zero = || vec![Cell::new(0); course.shape.nodes as usize];
        let (sent, got, answered) = (zero(), zero(), zero());
        Traffic { node, course, sent, got, answered, buffer: RefCell::default() }
    }

    fn fail(&self, text: std::fmt::Arguments<'_>) {
        let mut story = self.course.story.lock().unwrap();
        if story.is_empty() {
            *story = format!("node {}: {text}", self.node.me);
        }
        self.course.failed.store(true, Ordering::Relaxed); // Relaxed: the lock orders the story
    }

    fn check(&self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.fail(format_args!("{error}"));
        }
    }

    fn name(&self, from: u32, to: u32, m: u32, reply: bool) -> Name {
        [self.course.seed, from.into(), to.into(), m.into(), reply.into()]
    }

    /// Offset of the target of Long `name` in the segment of `owner`. `other` is the node that writes.
    fn target(&self, owner: u32, other: u32, name: Name, leg: Leg) -> usize {
        let active = &self.course.shape.active;
        let place = active.iter().position(|rank| *rank == other).unwrap();
        let window = window(self.course.shape);
        let at = (place * 2 + name[4] as usize) * window + name[3] as usize % window;
        self.node.bases[owner as usize] + at * self.course.stride + 64 + leg.to
    }

    /// Sends `leg` as a request to `to`, or as the reply through `token`.
    fn send(&self, to: u32, token: Option<&Token>, name: Name, leg: Leg) {
        let values = args(name, leg.args);
        let words: Vec<u64> = values
            .chunks(2)
            .map(|pair| u64::from(pair[0] as u32) | (pair.get(1).map_or(0, |v| *v as u32) as u64) << 32)
            .collect();
        // SAFETY: as many words as the arguments take.
        let args = unsafe { Args::from_raw(words.as_ptr(), leg.args) };
        let mut buffer = std::mem::take(&mut *self.buffer.borrow_mut());
        buffer.resize(buffer.len().max(leg.len + 128), 0);
        let skew = (buffer.as_ptr() as usize).wrapping_neg() % 64 + leg.from;
        buffer[skew..][..leg.len].copy_from_slice(&bytes(name, leg.len));
        // SAFETY: the bytes stay as they are until after the call.
        let source = unsafe { Source::new(buffer.as_ptr().wrapping_add(skew), leg.len) };
        let am = &self.node.am;
        let handler = index(leg.category, token.is_some(), leg.args);
        let target = || self.target(to, self.node.me, name, leg);
        self.check(match (leg.category, token) {
            (Category::Short, None) => am.request_short(to, handler, args),
            (Category::Medium, None) => self.request_medium(to, handler, source, args),
            (Category::Long, None) => am.request_long(to, handler, source, target(), args),
            (Category::Short, Some(token)) => am.reply_short(token, handler, args),
            (Category::Medium, Some(token)) => am.reply_medium(token, handler, source, args),
            (Category::Long, Some(token)) => am.reply_long(token, handler, source, target(), args),
        });
        // The source belongs to the caller again.
        buffer[skew..skew + leg.len].fill(0x55);
        *self.buffer.borrow_mut() = buffer;
    }

    /// Sends a Medium, one of three by room that is lent, where the ring can be written by address. The room is longer than the
    /// payload, and sometimes it is given up first.
    fn request_medium(&self, to: u32, handler: u8, source: Source, args: Args<'_>) -> Result<(), Error> {
        let (am, most) = (&self.node.am, self.sent[to as usize].get() as usize * 37 % 1000);
        if to == self.node.me || self.course.shape.threaded || !most.is_multiple_of(3) || !am.can_lend(to)? {
            return am.request_medium(to, handler, source, args);
        }
        let most = (source.len() + most).clamp(inline_max(0) + 1, MAX_MEDIUM);
        let lend = || am.lend(to, most, Flags::NONE).map(|lent| lent.expect("the call waits for room"));
        if most.is_multiple_of(2) {
            // SAFETY: writable for as many bytes.
            unsafe { lend()?.bytes.write_bytes(BLANK, most) };
        }
        let lent = lend()?;
        // SAFETY: writable for at least as many bytes as the payload has.
        unsafe { source.move_to(lent.bytes) };
        am.send_lent(to, handler, lent.index, most, source.len(), args)
    }

    /// Sends the next request to `to`. Returns false if there is none left.
    fn send_next(&self, to: u32) -> bool {
        let m = self.sent[to as usize].get();
        let Some(message) = (self.course.plan)(self.node.me, to, m) else { return false };
        self.sent[to as usize].set(m + 1);
        self.send(to, None, self.name(self.node.me, to, m, false), message.request);
        true
    }

    /// Called by every handler: checks the message and replies as planned.
    pub fn arrived(&self, token: &Token, reply: bool, category: Category, load: (*mut u8, usize), values: &[i32]) {
        let peer = token.source();
        if reply {
            return self.reply_arrived(peer, category, load, values);
        }
        let m = self.got[peer as usize].get();
        self.got[peer as usize].set(m + 1);
        let Some(message) = (self.course.plan)(peer, self.node.me, m) else {
            return self.fail(format_args!("request {m} from {peer}, which was never sent"));
        };
        let name = self.name(peer, self.node.me, m, false);
        self.verify(peer, name, message.request, category, load, values);
        if let Some(leg) = message.reply {
            self.send(peer, Some(token), self.name(peer, self.node.me, m, true), leg);
            if category == Category::Medium {
                // Slot rule 2: the buffer belongs to the handler until it returns, whether or not it has replied.
                self.verify(peer, name, message.request, category, load, values);
            }
        }
        if category == Category::Long {
            self.blank(load);
        }
    }

    fn reply_arrived(&self, peer: u32, category: Category, load: (*mut u8, usize), values: &[i32]) {
        let answered = &self.answered[peer as usize];
        while let Some(message) = (self.course.plan)(self.node.me, peer, answered.get()) {
            let m = answered.replace(answered.get() + 1);
            let Some(leg) = message.reply else { continue };
            if m >= self.sent[peer as usize].get() {
                return self.fail(format_args!("reply {m} from {peer} to a request not yet sent"));
            }
            self.verify(peer, self.name(self.node.me, peer, m, true), leg, category, load, values);
            if category == Category::Long {
                self.blank(load);
            }
            return;
        }
        self.fail(format_args!("a reply from {peer} to no request"));
    }

    fn verify(&self, peer: u32, name: Name, leg: Leg, category: Category, load: (*mut u8, usize), values: &[i32]) {
        if (category, values.len(), load.1) != (leg.category, leg.args, leg.len) {
            let got = (category, values.len(), load.1);
            return self.fail(format_args!("message {name:?} from {peer} is {leg:?}, but {got:?} came"));
        }
        if values != args(name, leg.args) {
            return self.fail(format_args!("message {name:?} from {peer}, {leg:?}: arguments differ"));
        }
        // SAFETY: the handler's payload and bytes beside it; nothing else changes them while the handler runs.
        let at = |i: usize| unsafe { load.0.wrapping_add(i).read() };
        let expected = bytes(name, leg.len);
        let came = match leg.len {
            0 => &[],
            // SAFETY: as `at`: the payload has `len` bytes.
            len => unsafe { std::slice::from_raw_parts(load.0, len) },
        };
        if came != expected {
            let i = (0..leg.len).find(|i| came[*i] != expected[*i]).expect("they differ");
            return self.fail(format_args!("message {name:?} from {peer}, {leg:?}: byte {i} is {:#x}", came[i]));
        }
        if category == Category::Medium && leg.len > 0 && !(load.0 as usize).is_multiple_of(8) {
            self.fail(format_args!("message {name:?} from {peer}: Medium buffer at {:?}", load.0));
        }
        if category == Category::Long && leg.len > 0 {
            if load.0 as usize != self.target(self.node.me, peer, name, leg) {
                self.fail(format_args!("message {name:?} from {peer}, {leg:?}: payload at {:?}", load.0));
            }
            let around = (1..=GUARD).flat_map(|i| [i.wrapping_neg(), leg.len - 1 + i]);
            if around.into_iter().any(|i| at(i) != BLANK) {
                self.fail(format_args!("message {name:?} from {peer}, {leg:?}: bytes beside the payload changed"));
            }
        }
    }

    fn blank(&self, load: (*mut u8, usize)) {
        // SAFETY: the target of a Long that has arrived, in this node's segment.
        unsafe { load.0.write_bytes(BLANK, load.1) };
    }

    /// Whether handlers have run for all that is sent to this node, and for all answers to what it sent.
    fn complete(&self) -> bool {
        let me = self.node.me;
        self.course.shape.active.iter().all(|rank| {
            let replies_left = (self.answered[*rank as usize].get()..)
                .map_while(|m| (self.course.plan)(me, *rank, m))
                .any(|message| message.reply.is_some());
            (self.course.plan)(*rank, me, self.got[*rank as usize].get()).is_none() && !replies_left
        })
    }

    fn state(&self) -> String {
        let per_rank = |cells: &[Cell<u32>]| {
            self.course.shape.active.iter().map(|rank| cells[*rank as usize].get()).collect::<Vec<_>>()
        };
        let (sent, got, answered) = (per_rank(&self.sent), per_rank(&self.got), per_rank(&self.answered));
        format!("sent {sent:?}, got {got:?}, answered {answered:?} to and from ranks {:?}", self.course.shape.active)
    }

    /// Sends everything, polls now and then, and serves until every node is done.
    fn go(&self) {
        let me = self.node.me;
        // Every node starts with a different peer.
        let mut others = self.course.shape.active.clone();
        let own = others.iter().position(|rank| *rank == me).unwrap();
        others.rotate_left(own);
        let mut step = 0u64;
        while !self.course.failed.load(Ordering::Relaxed) {
            others.retain(|rank| self.send_next(*rank));
            if others.is_empty() {
                break;
            }
            step += 1;
            for _ in 0..mix(&[self.course.seed, u64::from(me), step]) % 4 {
                self.node.am.poll();
            }
        }
        let complete = || self.complete();
        self.serve_until("all messages", &complete);
        self.course.done.fetch_add(1, Ordering::Relaxed); // Relaxed: a count; messages have their own order
        let all = self.course.shape.active.len() as u32;
        self.serve_until("the other nodes", &|| self.course.done.load(Ordering::Relaxed) == all);
        for _ in 0..20 {
            self.node.am.poll(); // nothing must come any more
        }
    }

    fn serve_until(&self, what: &str, condition: &dyn Fn() -> bool) {
        let mut failed = 0;
        let mut last = (Instant::now(), String::new());
        while !condition() {
            failed = self.node.am.wait_step(failed);
            if failed % 256 == 255 {
                let state = self.state();
                if state != last.1 {
                    last = (Instant::now(), state);
                }
                // A node without any progress for this long is stuck, not slow.
                if last.0.elapsed() > Duration::from_secs(15) {
                    self.fail(format_args!("waits for {what}: {}", last.1));
                }
            }
            if self.course.failed.load(Ordering::Relaxed) {
                // Serves a little longer, so that no other node gets stuck in the engine.
                for _ in 0..500 {
                    self.node.am.wait_step(SLEEPING + 4); // sleeps for 0.8 ms
                }
                return;
            }
        }
    }
}

/// Runs `plan` on nodes of `shape`. Panics with the first fault that a node found. `after` looks at each node at the
/// end.
pub(super) fn travel<A: Kit>(
    shape: &Shape,
    longest: usize,
    seed: u64,
    plan: Plan<'_>,
    after: &(dyn Fn(&Node<A>) + Sync),
) {
    let (stride, segment) = segment(shape, longest);
    let shape = &Shape { segment, ..shape.clone() };
    let (ready, done) = (AtomicU32::new(0), AtomicU32::new(0));
    let (failed, story) = (AtomicBool::new(false), Default::default());
    let course = Course { shape, seed, plan, stride, ready, done, failed, story };
    run(shape, A::kit(shape.nodes, seed), |node| {
        node.register(&table::<A>());
        // SAFETY: this node's own segment, before any message.
        unsafe { (node.bases[node.me as usize] as *mut u8).write_bytes(BLANK, segment) };
        let traffic = Traffic::new(node, &course);
        // ORDERING: AcqRel ↔ Acquire below: no node sends into a segment that is not blank yet.
        course.ready.fetch_add(1, Ordering::AcqRel);
        while course.ready.load(Ordering::Acquire) < shape.active.len() as u32 {
            std::thread::yield_now();
        }
        on(&traffic, || traffic.go());
        if !course.failed.load(Ordering::Relaxed) {
            after(node);
        }
    });
    let story = course.story.lock().unwrap();
    assert!(story.is_empty(), "seed {seed}, {} slots: {story}", shape.slots);
}

/// Every category with every number of arguments, and with lengths around every threshold, as request and as reply.
fn every_leg() -> Vec<Leg> {
    let mut legs: Vec<Leg> = (0..=MAX_ARGS).map(Leg::short).collect();
    for args in 0..=MAX_ARGS {
        let inline = crate::am::slot::inline_max(args);
        let around = [inline - 1, inline, inline + 1];
        let longer = lengths(4096).iter().copied().filter(|len| (len + args).is_multiple_of(4));
        legs.extend(around.into_iter().chain(longer).map(|len| Leg { from: args, ..Leg::medium(args, len) }));
    }
    legs.extend([MAX_MEDIUM - 1, MAX_MEDIUM].map(|len| Leg::medium(3, len)));
    for (i, len) in lengths(131_072).iter().copied().enumerate() {
        let skews = if len <= 4096 { 64 } else { 4 };
        legs.extend((0..skews).map(|skew| {
            let (from, to) = (skew % 8, (skew / 8 + i) % 8);
            Leg { from, to, ..Leg::long((i + skew) % 17, len) }
        }));
    }
    legs
}

pub(super) fn every_category_count_and_length<A: Kit>() {
    let legs = every_leg();
    let plan = |from: u32, to: u32, m: u32| {
        let request = *legs.get(m as usize)?;
        let reply = legs[(m as usize * 7 + from as usize) % legs.len()];
        (from != to).then_some(Message { request, reply: Some(reply) })
    };
    travel::<A>(&Shape::new(2, 4), 131_073, 1, &plan, &|node| {
        for counter in ["PIO bytes", "DMA bytes", "bounced bytes"] {
            assert!(node.counter(counter) > 0, "{counter}: not every way of moving a Long was used");
        }
    });
}

#[test]
fn every_category_count_and_length_arrives_whole_and_in_order() {
    every_category_count_and_length::<Heap>();
}

#[test]
fn every_category_count_and_length_arrives_whole_and_in_order_whatever_the_order_of_stores() {
    every_category_count_and_length::<Reorder<Heap>>();
    every_category_count_and_length::<Together>();
    every_category_count_and_length::<Apart>();
    every_category_count_and_length::<Paired>();
}

/// `count` messages of any kind per pair. Of every 16 requests, `answers` get an answer.
pub(super) fn mixed(
    seed: u64,
    count: u32,
    answers: u64,
    most: usize,
) -> impl Fn(u32, u32, u32) -> Option<Message> + Sync {
    move |from, to, m| {
        let bits = |leg: u64| mix(&[seed, from.into(), to.into(), m.into(), 0xbeef, leg]);
        let answered = bits(2) % 16 < answers;
        let message = || Message { request: any_leg(bits(0), most), reply: answered.then(|| any_leg(bits(1), most)) };
        (m < count).then(message)
    }
}

fn mixtures<A: Kit>(answers: u64) {
    for seed in 0..A::SEEDS {
        for (nodes, slots, count) in [(2, 4, 400), (3, 64, 300), (7, 4, 60)] {
            travel::<A>(&Shape::new(nodes, slots), 2000, seed, &mixed(seed, count, answers, 2000), &|_| {});
        }
    }
}

#[test]
fn requests_without_reply_give_their_slots_back_in_batches() {
    over_all_adapters!(mixtures, 0);
}

#[test]
fn every_reply_comes_once_and_in_order() {
    over_all_adapters!(mixtures, 16);
}

#[test]
fn answered_and_unanswered_requests_mix_in_any_order() {
    for answers in [1, 8, 15] {
        over_all_adapters!(mixtures, answers);
    }
}

#[test]
fn payloads_of_odd_sizes_wrap_the_rings() {
    fn wrap<A: Kit>(slots: u32) {
        let plan = |from: u32, to: u32, m: u32| {
            let len = |leg: u64| 200 + mix(&[from.into(), to.into(), m.into(), leg]) as usize % (MAX_MEDIUM - 199);
            let reply = (!m.is_multiple_of(3)).then(|| Leg::medium(5, len(1)));
            (m < 150 && from != to).then(|| Message { request: Leg::medium(2, len(0)), reply })
        };
        travel::<A>(&Shape::new(2, slots), 0, 3, &plan, &|_| {});
    }
    wrap::<Heap>(4);
    over_all_adapters!(wrap, 64);
}
