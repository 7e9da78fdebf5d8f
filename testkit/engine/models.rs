//! The engine under loom. It tries every order in which the accesses of two or three nodes can fall, with at most two
//! preemptions. Layouts are tiny, so that a few messages use everything again: two slots, and rings of four lines.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::world::{Node, Shape, nodes};
use crate::am::source::{Args, Source};
use crate::am::token::Token;
use crate::am::wait::Look;
use crate::explore::explore;
use crate::sci::heap::{Heap, HeapFabric};
use crate::sci::{Interrupt, LocalMap, NodeId, RemoteMap};
use crate::sync::Ordering;
use loom::thread;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

loom::thread_local! {
    static NODE: Cell<*const Node<Heap>> = Cell::new(std::ptr::null());
    static LOG: RefCell<Vec<i32>> = RefCell::new(Vec::new());
}

/// Notes its argument.
pub(super) const NOTE: u8 = 128;
/// Notes its argument, and replies to NOTE the argument + 100.
pub(super) const ECHO: u8 = 129;
/// Notes the first and last of 16 arguments.
const WIDE: u8 = 130;
/// Medium: notes the sum of the payload's bytes.
const SUM: u8 = 131;
/// Medium: notes the sum, replies, and notes the sum again.
const SUM_ECHO: u8 = 132;
/// Replies to SUM with a Long of 160 bytes. That is more than the ring takes if Longs are streamed.
const STREAM: u8 = 133;

pub(super) fn log(value: i32) {
    LOG.with(|log| log.borrow_mut().push(value));
}

fn with_args<R>(values: &[i32], f: impl FnOnce(Args<'_>) -> R) -> R {
    let pair = |p: &[i32]| u64::from(p[0] as u32) | u64::from(p.get(1).map_or(0, |v| *v as u32)) << 32;
    let words: Vec<u64> = values.chunks(2).map(pair).collect();
    // SAFETY: `words` has as many words as the arguments take.
    f(unsafe { Args::from_raw(words.as_ptr(), values.len()) })
}

fn here<'a>() -> &'a Node<Heap> {
    // SAFETY: set at the start of each thread; nodes outlive their threads.
    unsafe { &*NODE.with(Cell::get) }
}

fn token<'a>(raw: *mut c_void) -> &'a Token {
    // SAFETY: `raw` is the handler's token.
    unsafe { Token::from_raw(raw) }.unwrap()
}

extern "C" fn note(_: *mut c_void, value: i32) {
    log(value);
}

extern "C" fn echo(raw: *mut c_void, value: i32) {
    log(value);
    with_args(&[value + 100], |args| here().am.reply_short(token(raw), NOTE, args)).unwrap();
}

#[allow(clippy::too_many_arguments)] // as clients have them
extern "C" fn wide(
    _: *mut c_void,
    first: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    _: i32,
    last: i32,
) {
    log(first);
    log(last);
}

fn sum_of(buf: *mut c_void, len: usize) -> i32 {
    // Loom sees looks at words. What a Long has brought lies in the segment, and was looked at before.
    let command = here().command();
    let at = buf.addr().wrapping_sub(command.ptr(0).addr());
    if at < command.len() {
        command.bytes(at, len);
    }
    // SAFETY: `buf` is the handler's payload of `len` bytes.
    (0..len).map(|i| i32::from(unsafe { buf.cast::<u8>().wrapping_add(i).read() })).sum()
}

extern "C" fn sum(_: *mut c_void, buf: *mut c_void, len: usize) {
    log(sum_of(buf, len));
}

extern "C" fn sum_echo(raw: *mut c_void, buf: *mut c_void, len: usize) {
    log(sum_of(buf, len));
    with_args(&[100], |args| here().am.reply_short(token(raw), NOTE, args)).unwrap();
    log(sum_of(buf, len));
}

extern "C" fn stream(raw: *mut c_void) {
    let bytes: [u8; 160] = std::array::from_fn(|i| i as u8);
    // SAFETY: `bytes` live during the call.
    let source = unsafe { Source::new(bytes.as_ptr(), bytes.len()) };
    let address = here().bases[token(raw).source() as usize];
    with_args(&[], |args| here().am.reply_long(token(raw), SUM, source, address, args)).unwrap();
}

impl Node<Heap> {
    pub(super) fn short(&self, to: u32, handler: u8, value: i32) {
        with_args(&[value], |args| self.am.request_short(to, handler, args)).unwrap();
    }

    fn medium(&self, to: u32, handler: u8, bytes: &[u8]) {
        // SAFETY: `bytes` live during the call.
        let source = unsafe { Source::new(bytes.as_ptr(), bytes.len()) };
        with_args(&[], |args| self.am.request_medium(to, handler, source, args)).unwrap();
    }

    /// Polls until this thread's handlers have noted `count` values; takes them.
    pub(super) fn serve_until(&self, count: usize) -> Vec<i32> {
        let mut failed = 0;
        while LOG.with(|log| log.borrow().len()) < count {
            failed = self.am.wait_step(failed);
        }
        self.noted()
    }

    /// Like [`Self::serve_until`], but with polls as a client makes them in its own loop. These never look as
    /// thoroughly as the poll before a sleep.
    pub(super) fn poll_until(&self, count: usize) -> Vec<i32> {
        while LOG.with(|log| log.borrow().len()) < count {
            self.am.poll_in_loop();
            thread::yield_now();
        }
        self.noted()
    }

    pub(super) fn noted(&self) -> Vec<i32> {
        LOG.with(|log| log.take())
    }
}

/// Checks `first` on node 0 against `second` on node 1. Both start after `start` answered requests. With
/// `everything`, Longs are streamed.
fn model(
    (start, everything): (u32, bool),
    first: impl Fn(&Node<Heap>) + Sync + Send + 'static,
    second: impl Fn(&Node<Heap>) + Sync + Send + 'static,
) {
    let (first, second) = (Arc::new(first), Arc::new(second));
    explore(move || {
        let mut shape = Shape { start, everything, acquainted: true, ..Shape::new(2, 2) };
        // A waiting thread looks this often before it lets the others run, because loom does not run a thread that
        // has yielded. Streams take many steps, so there it looks less often.
        shape.config.spin = Some(if everything { 0 } else { 3 });
        let made = Arc::new(made(&shape, Bells::Wake));
        let (other, second) = (made.clone(), second.clone());
        let peer = thread::spawn(move || act(&other[1], &*second));
        act(&made[0], &*first);
        peer.join().unwrap();
    });
}

/// Whether a model's senders fence before they look for sleepers. That wakes every sleeper, but hides that a barrier is missing.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Bells {
    /// They fence.
    Wake,
    /// They do not. No sleep is without end.
    Silent,
}

/// The adapters of `nodes` nodes of one fabric.
pub(super) fn adapters(nodes: u32, bells: Bells) -> Vec<Heap> {
    let fabric = HeapFabric::fencing(nodes, bells == Bells::Wake);
    (0..nodes).map(|node| Heap::join(&fabric, NodeId(node as u16)).unwrap()).collect()
}

/// The nodes of a model, with all handlers.
pub(super) fn made(shape: &Shape, bells: Bells) -> Vec<Node<Heap>> {
    let table: [(u8, *const ()); 6] = [
        (NOTE, note as *const ()),
        (ECHO, echo as *const ()),
        (WIDE, wide as *const ()),
        (SUM, sum as *const ()),
        (SUM_ECHO, sum_echo as *const ()),
        (STREAM, stream as *const ()),
    ];
    let made = nodes(shape, &adapters(shape.nodes, bells));
    for node in &made {
        node.register(&table.map(|(index, function)| (index, function.addr())));
    }
    made
}

/// Makes this thread one of `node` while `body` runs.
pub(super) fn act(node: &Node<Heap>, body: impl Fn(&Node<Heap>)) {
    NODE.with(|cell| cell.set(node));
    body(node);
}

#[test]
fn loom_who_sees_a_sequence_sees_both_lines_of_the_message() {
    model(
        (0, false),
        |a| {
            with_args(&std::array::from_fn::<i32, 16, _>(|i| i as i32 + 1), |args| a.am.request_short(1, WIDE, args))
                .unwrap()
        },
        |b| assert_eq!(b.serve_until(2), [1, 16]),
    );
}

#[test]
fn loom_slots_are_used_again_only_when_the_credit_came_back() {
    model((0, false), |a| (1..=3).for_each(|i| a.short(1, NOTE, i)), |b| assert_eq!(b.serve_until(3), [1, 2, 3]));
}

/// Lap 0x7fff is followed by lap 0x8000, whose sequence is that of lap 0.
#[test]
fn loom_a_message_of_the_lap_before_is_not_run_again_also_when_the_sequence_wraps() {
    model((0xffff, false), |a| (1..=3).for_each(|i| a.short(1, NOTE, i)), |b| assert_eq!(b.serve_until(3), [1, 2, 3]));
}

/// From lap 0x3fff to lap 0x4000, in which slots of unanswered requests are cleared (slot rule 4).
#[test]
fn loom_an_old_reply_is_cleared_but_never_one_that_has_just_come() {
    model(
        (0x7fff, false),
        |a| {
            a.short(1, NOTE, 1);
            a.short(1, NOTE, 2);
            a.short(1, ECHO, 3);
            assert_eq!(a.serve_until(1), [103]);
        },
        |b| assert_eq!(b.serve_until(3), [1, 2, 3]),
    );
}

#[test]
fn loom_a_reply_slot_is_written_again_only_when_its_reply_was_run() {
    model(
        (0, false),
        |a| {
            (1..=3).for_each(|i| a.short(1, ECHO, i));
            assert_eq!(a.serve_until(3), [101, 102, 103]);
        },
        |b| assert_eq!(b.serve_until(3), [1, 2, 3]),
    );
}

#[test]
fn loom_a_reply_overtakes_no_credit_of_an_unanswered_request() {
    model(
        (0, false),
        |a| {
            a.short(1, NOTE, 1);
            a.short(1, ECHO, 2);
            a.short(1, NOTE, 3);
            while a.am.collect(1) || a.am.peers[1].outstanding() > 0 {
                thread::yield_now();
            }
            assert_eq!(a.noted(), [102], "no reply is skipped for a credit that covers it");
        },
        |b| assert_eq!(b.serve_until(3), [1, 2, 3]),
    );
}

/// Only the slots show that there is a message, because these polls do not look at ready counts.
#[test]
fn loom_polls_alone_find_requests_and_replies_in_their_slots() {
    model(
        (0, false),
        |a| {
            (1..=3).for_each(|i| a.short(1, ECHO, i));
            assert_eq!(a.poll_until(3), [101, 102, 103]);
        },
        |b| assert_eq!(b.poll_until(3), [1, 2, 3]),
    );
}

/// Only the credit shows that the reply does not belong to the next request.
#[test]
fn loom_polls_alone_find_a_reply_behind_an_unanswered_request() {
    model(
        (0, false),
        |a| {
            a.short(1, NOTE, 1);
            a.short(1, ECHO, 2);
            assert_eq!(a.poll_until(1), [102]);
            assert_eq!(a.am.peers[1].outstanding(), 0);
        },
        |b| assert_eq!(b.poll_until(2), [1, 2]),
    );
}

/// Every such poll finds the stream under way and none serves it. Other messages must not wait for its end.
#[test]
fn loom_polls_alone_run_a_request_beside_a_stream_that_has_not_come_to_its_end() {
    model(
        (0, true),
        |a| {
            with_args(&[], |args| a.am.request_short(1, STREAM, args)).unwrap();
            let mut seen = a.poll_until(2);
            seen.sort();
            assert_eq!(seen, [7, (0..160).sum::<i32>()]);
        },
        |b| {
            b.short(0, NOTE, 7);
            while b.counter("requests run") < 1 {
                b.am.poll_in_loop();
                thread::yield_now();
            }
        },
    );
}

#[test]
fn loom_a_medium_buffer_stays_whole_until_its_handler_returns() {
    model(
        (0, false),
        |a| {
            (1..=3).for_each(|i| a.medium(1, SUM_ECHO, &[i; 8]));
            assert_eq!(a.serve_until(3), [100; 3]);
        },
        |b| assert_eq!(b.serve_until(6), [8, 8, 16, 16, 24, 24]),
    );
}

#[test]
fn loom_ring_bytes_of_a_streamed_reply_are_reused_only_when_they_were_read() {
    model(
        (0, true),
        |a| {
            with_args(&[], |args| a.am.request_short(1, STREAM, args)).unwrap();
            assert_eq!(a.serve_until(1), [(0..160).sum::<i32>()]);
        },
        |b| {
            let mut failed = 0;
            while b.counter("requests run") < 1 {
                failed = b.am.wait_step(failed);
            }
        },
    );
}

/// Loom reports it if the sleeper is never woken.
#[test]
fn loom_no_wake_up_is_lost_between_a_request_and_a_sleeper() {
    model(
        (0, false),
        |a| a.short(1, NOTE, 1),
        |b| {
            b.am.interrupt.arm();
            if !b.am.look(Look::Last).did {
                assert!(b.am.interrupt.wait(Duration::MAX));
                assert!(b.am.look(Look::Last).did, "a woken node finds the message");
            }
            b.am.interrupt.disarm();
            assert_eq!(b.noted(), [1]);
        },
    );
}

#[test]
fn loom_no_wake_up_is_lost_between_a_credit_and_a_sender_that_waits_for_it() {
    model(
        (0, false),
        |a| {
            (1..=2).for_each(|i| a.short(1, NOTE, i)); // both slots
            a.am.interrupt.arm();
            if !a.am.collect(1) {
                assert!(a.am.interrupt.wait(Duration::MAX));
                assert!(a.am.collect(1), "a woken node finds the credit");
            }
            a.am.interrupt.disarm();
        },
        |b| assert_eq!(b.serve_until(2), [1, 2]),
    );
}

#[test]
fn loom_no_wake_up_is_lost_between_an_arrival_and_a_node_in_the_barrier() {
    model(
        (0, false),
        |a| a.barrier.notify(&a.am, 1, 0).unwrap(),
        |b| {
            b.barrier.notify(&b.am, 1, 0).unwrap();
            b.am.interrupt.arm();
            if b.barrier.finished(&b.am, 1, 0).unwrap().is_none() {
                assert!(b.am.interrupt.wait(Duration::MAX));
                assert_eq!(b.barrier.finished(&b.am, 1, 0), Ok(Some(true)));
            }
            b.am.interrupt.disarm();
        },
    );
}

/// Each node writes a word of the other's segment before each notify. A fast node is one phase ahead.
#[test]
fn loom_what_was_stored_before_notify_is_seen_after_wait_over_three_phases() {
    fn phases(node: &Node<Heap>) {
        let other = node.maps[1 - node.me as usize].as_ref().unwrap();
        for phase in 1..=3u64 {
            let place = phase as usize % 2 * 8;
            other.store(place, &[phase]);
            node.barrier.notify(&node.am, phase as i32, 0).unwrap();
            while node.barrier.finished(&node.am, phase as i32, 0).unwrap().is_none() {
                thread::yield_now();
            }
            // Relaxed: the barrier orders it.
            assert_eq!(node.segment().word(place).load(Ordering::Relaxed), phase);
        }
    }
    model((0, false), phases, phases);
}

/// Node 0 leads nodes 0 and 1 of one host; node 2 is another host's.
fn two_hosts(threaded: bool) -> Arc<Vec<Node<Heap>>> {
    let mut shape = Shape { threaded, hosts: vec![0, 0, 1], ..Shape::new(3, 2) };
    shape.config.spin = Some(3);
    Arc::new(made(&shape, Bells::Silent))
}

fn finish(node: &Node<Heap>) {
    while node.barrier.finished(&node.am, 1, 0).unwrap().is_none() {
        thread::yield_now();
    }
}

/// Node 1's arrival reaches node 2 by node 0 alone. Nobody waits here: three threads that look again and again are too much for loom.
#[test]
fn loom_what_was_stored_before_notify_is_seen_behind_a_leader_that_forwards() {
    fn look(node: &Node<Heap>) -> bool {
        let over = node.barrier.finished(&node.am, 1, 0).unwrap().is_some();
        if over {
            // Relaxed: the barrier orders it.
            assert_eq!(node.segment().word(0).load(Ordering::Relaxed), 7);
        }
        over
    }
    explore(|| {
        let made = two_hosts(false);
        act(&made[2], |node| node.barrier.notify(&node.am, 1, 0).unwrap());
        let (leader, other) = (made.clone(), made.clone());
        let leader = thread::spawn(move || act(&leader[0], |node| node.barrier.notify(&node.am, 1, 0).unwrap()));
        let other = thread::spawn(move || {
            act(&other[1], |node| {
                node.maps[2].as_ref().unwrap().store(0, &[7]);
                node.barrier.notify(&node.am, 1, 0).unwrap();
            })
        });
        let over = Cell::new(false);
        act(&made[2], |node| over.set(look(node)));
        leader.join().unwrap();
        other.join().unwrap();
        act(&made[0], finish);
        act(&made[2], |node| assert!(over.get() || look(node)));
    });
}

/// Two threads carry a leader's stages. When its wait ends, all has been told.
#[test]
fn loom_a_leader_s_wait_ends_behind_all_that_its_threads_tell() {
    explore(|| {
        let made = two_hosts(true);
        (1..3).for_each(|n| act(&made[n], |node| node.barrier.notify(&node.am, 1, 0).unwrap()));
        let other = made.clone();
        let polls = thread::spawn(move || {
            act(&other[0], |node| {
                node.barrier.advance(&node.am);
            })
        });
        act(&made[0], |node| {
            node.barrier.notify(&node.am, 1, 0).unwrap();
            finish(node);
            assert!(!node.barrier.owes());
            for told in &made[1..] {
                assert_eq!(told.barrier.finished(&told.am, 1, 0), Ok(Some(true)));
            }
        });
        polls.join().unwrap();
    });
}
