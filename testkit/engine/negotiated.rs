//! Negotiated payload (`am::lend`) under loom, in the manner of `models` and `lent`: room in the peer's ring that a client fills itself. Each
//! line of the ring has a cell of loom's beside it. The client writes the cells of all the room that was lent, since it may
//! fill all of it; the receiver's handler reads those of the bytes that came. Loom reports two owners at a time.
//!
//! A ring has four lines here. Loom sees what is stored by offset, so the client finds the offset of the bytes that it was lent.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::models::{Bells, NOTE, act, log, made};
use super::world::{Node, Shape};
use crate::am::lend::Lent;
use crate::am::region::{LINE, RING};
use crate::am::source::Args;
use crate::am::token::Token;
use crate::explore::explore;
use crate::sci::heap::Heap;
use crate::sci::{LocalMap, RemoteMap};
use crate::verbs::Flags;
use loom::cell::UnsafeCell;
use loom::thread;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;

/// A cell for each line of the ring from node 0 to node 1.
#[derive(Default)]
struct Lines([UnsafeCell<()>; RING / LINE]);

// SAFETY: nothing is in the cells.
unsafe impl Sync for Lines {}
// SAFETY: as above.
unsafe impl Send for Lines {}

impl Lines {
    fn of(&self, at: usize, len: usize) -> &[UnsafeCell<()>] {
        &self.0[at / LINE..(at + len).div_ceil(LINE)]
    }
}

struct Place {
    nodes: Vec<Node<Heap>>,
    lines: Lines,
}

loom::thread_local! {
    static PLACE: Cell<*const Place> = Cell::new(std::ptr::null());
}

fn place<'a>() -> &'a Place {
    // SAFETY: set at the start of each thread; the place outlives the threads.
    unsafe { &*PLACE.with(Cell::get) }
}

/// Makes this thread one of node number `node` while `body` runs.
fn at(place: &Place, node: usize, body: impl Fn(&Node<Heap>)) {
    PLACE.with(|cell| cell.set(place));
    act(&place.nodes[node], body);
}

/// Medium from node 0 to node 1: notes the sum of the payload's bytes.
const ADD: u8 = 150;
/// The same; it replies, and then notes the sum again.
const ADD_ECHO: u8 = 151;

/// Reads a payload that lies in node 1's ring.
fn sum(buf: *mut c_void, len: usize) -> i32 {
    let (node, command) = (&place().nodes[1], place().nodes[1].command());
    let ring = node.am.layout.queue(0) + node.am.layout.request_ring();
    let at = buf.addr() - command.ptr(ring).addr();
    place().lines.of(at, len).iter().for_each(|line| line.with(|_| ()));
    let bytes = command.bytes(ring + at, len);
    // SAFETY: the payload, which was looked at just now.
    (0..len).map(|i| i32::from(unsafe { bytes.wrapping_add(i).read() })).sum()
}

extern "C" fn add(_: *mut c_void, buf: *mut c_void, len: usize) {
    log(sum(buf, len));
}

extern "C" fn add_echo(raw: *mut c_void, buf: *mut c_void, len: usize) {
    log(sum(buf, len));
    // SAFETY: `raw` is the handler's token.
    let token = unsafe { Token::from_raw(raw) }.unwrap();
    let word = [100u64];
    // SAFETY: one word for one argument.
    let args = unsafe { Args::from_raw(word.as_ptr(), 1) };
    place().nodes[1].am.reply_short(token, NOTE, args).unwrap();
    log(sum(buf, len));
}

/// Two nodes with queues of `slots`.
fn job(slots: u32, threaded: bool) -> Arc<Place> {
    let mut shape = Shape { threaded, acquainted: true, ..Shape::new(2, slots) };
    shape.config.spin = Some(1);
    let nodes = made(&shape, Bells::Silent);
    for node in &nodes {
        node.register(&[(ADD, (add as *const ()).addr()), (ADD_ECHO, (add_echo as *const ()).addr())]);
    }
    Arc::new(Place { nodes, lines: Lines::default() })
}

impl Node<Heap> {
    fn lend(&self, len: usize) -> Lent {
        self.am.lend(1, len, Flags::NONE).unwrap().unwrap()
    }

    /// The client fills all of `lent`, which are `len` bytes, with `byte`.
    fn fill(&self, lent: &Lent, len: usize, byte: u8) {
        let queue = &self.am.peers[1].queue;
        let at = lent.bytes.addr() - queue.place().unwrap().addr();
        let ring = self.am.layout.request_ring();
        place().lines.of(at - ring, len).iter().for_each(|line| line.with_mut(|_| ()));
        let bytes = vec![byte; len];
        // SAFETY: `bytes` are as many as are to be written.
        unsafe { queue.write(at, bytes.as_ptr(), len) }.unwrap();
    }

    /// Sends the first `used` of `len` lent bytes; false if it was refused.
    fn commit(&self, handler: u8, lent: Lent, len: usize, used: usize) -> bool {
        // SAFETY: no words for no arguments.
        let args = unsafe { Args::from_raw(std::ptr::null(), 0) };
        self.am.send_lent(1, handler, lent.index, len, used, args).is_ok()
    }

    /// Lends `len` bytes, fills all of them, and sends `used`. Credits that come meanwhile do not move the room.
    fn negotiate(&self, handler: u8, len: usize, used: usize, byte: u8) {
        let lent = self.lend(len);
        self.fill(&lent, len, byte);
        self.am.collect(1);
        assert!(self.commit(handler, lent, len, used));
    }
}

/// Positions 0 to 192; then 256 to 384, because 128 bytes are not in one piece before the ring's end; then from 384, or from
/// 320 on, since the second message uses one line of two. Each waits for bytes that the receiver has read.
#[test]
fn loom_lent_ring_bytes_are_the_receivers_until_its_credit_comes_also_round_the_rings_end() {
    explore(|| {
        let job = job(4, false);
        let other = job.clone();
        let receiver = thread::spawn(move || at(&other, 1, |b| assert_eq!(b.poll_until(3), [192, 2 * 60, 3 * 64])));
        at(&job, 0, |a| {
            a.negotiate(ADD, 192, 192, 1);
            a.negotiate(ADD, 128, 60, 2);
            a.negotiate(ADD, 128, 64, 3);
        });
        receiver.join().unwrap();
    });
}

/// The first two messages fill the ring. The third waits for the first, of which it needs one line; the other line is then
/// there for the fourth, though the second message is still on its way.
#[test]
fn loom_lent_room_comes_back_message_by_message() {
    explore(|| {
        let job = job(4, false);
        let other = job.clone();
        let receiver = thread::spawn(move || {
            at(&other, 1, |b| assert_eq!(b.poll_until(4), [128, 2 * 128, 3 * 64, 4 * 64]));
        });
        at(&job, 0, |a| {
            a.negotiate(ADD, 128, 128, 1);
            a.negotiate(ADD, 128, 128, 2);
            a.negotiate(ADD, 64, 64, 3);
            let lent = a.am.lend(1, 64, Flags::IMMEDIATE).unwrap().expect("the first message's second line");
            a.fill(&lent, 64, 4);
            assert!(a.commit(ADD, lent, 64, 64));
        });
        receiver.join().unwrap();
    });
}

/// The reply gives the bytes back, and is published when the handler has read them again.
#[test]
fn loom_lent_ring_bytes_stay_whole_until_the_handler_that_replies_returns() {
    explore(|| {
        let job = job(4, false);
        let other = job.clone();
        let receiver = thread::spawn(move || {
            at(&other, 1, |b| assert_eq!(b.poll_until(4), [256, 256, 2 * 256, 2 * 256]));
        });
        at(&job, 0, |a| {
            a.negotiate(ADD_ECHO, 256, 256, 1);
            a.negotiate(ADD_ECHO, 256, 256, 2);
            assert_eq!(a.poll_until(2), [100, 100]);
        });
        receiver.join().unwrap();
    });
}

/// What a commit leaves of its room is there for the next message at once, whatever the receiver has done so far.
#[test]
fn loom_lent_room_that_a_commit_does_not_use_is_free_at_once() {
    explore(|| {
        let job = job(4, false);
        let other = job.clone();
        let receiver = thread::spawn(move || at(&other, 1, |b| assert_eq!(b.poll_until(3), [64, 0, 3 * 128])));
        at(&job, 0, |a| {
            a.negotiate(ADD, 256, 64, 1);
            a.negotiate(ADD, 192, 0, 2);
            let lent = a.am.lend(1, 128, Flags::IMMEDIATE).unwrap().expect("three lines of four are free");
            a.fill(&lent, 128, 3);
            assert!(a.commit(ADD, lent, 128, 128));
        });
        receiver.join().unwrap();
    });
}

/// A cancel is nothing but to forget the room: the receiver, which looks all the time, sees nothing of it, and the next message
/// has the same bytes, whether it fills them or not.
#[test]
fn loom_lent_room_that_is_given_up_was_never_taken() {
    explore(|| {
        let job = job(2, false);
        let other = job.clone();
        let receiver = thread::spawn(move || at(&other, 1, |b| assert_eq!(b.poll_until(3), [2 * 64, 7, 4 * 128])));
        at(&job, 0, |a| {
            let given_up = a.lend(128);
            a.fill(&given_up, 128, 1);
            let lent = a.lend(64);
            assert_eq!(lent.bytes, given_up.bytes);
            a.fill(&lent, 64, 2);
            assert!(a.commit(ADD, lent, 64, 64));
            let given_up = a.lend(128);
            a.fill(&given_up, 128, 3);
            a.short(1, NOTE, 7);
            assert!(!a.commit(ADD, given_up, 128, 128), "another message was sent");
            a.negotiate(ADD, 128, 128, 4);
        });
        receiver.join().unwrap();
    });
}

/// Another thread of the node sends to the same peer between lending and sending. Then the lent message is refused, and the
/// other arrives whole; or both arrive, one after the other.
#[test]
fn loom_lent_room_is_refused_when_another_thread_has_sent() {
    explore(|| {
        let job = job(2, true);
        let other = job.clone();
        let sends = thread::spawn(move || at(&other, 0, |a| a.short(1, NOTE, 7)));
        let sent = std::cell::Cell::new(false);
        at(&job, 0, |a| {
            let lent = a.lend(64);
            a.fill(&lent, 64, 1);
            sent.set(a.commit(ADD, lent, 64, 64));
        });
        sends.join().unwrap();
        at(&job, 1, |b| {
            let noted = b.serve_until(1 + usize::from(sent.get()));
            let expected: &[&[i32]] = if sent.get() { &[&[64, 7], &[7, 64]] } else { &[&[7]] };
            assert!(expected.contains(&&noted[..]), "{noted:?}");
            b.am.poll();
            assert!(b.noted().is_empty(), "nothing else was sent");
        });
        assert_eq!(
            job.nodes[0].am.peers[1].direct.sent.load(crate::sync::Ordering::Relaxed),
            1 + u32::from(sent.get())
        );
    });
}
