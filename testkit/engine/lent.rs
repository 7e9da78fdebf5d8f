//! Who owns a slot, and so may touch it, under loom, in the manner of `models` (rules 2 to 4 of slot.rs). A load of loom's never returns what
//! is stored later, so words alone do not show that a slot is used again before its last reader is done with it. Here each
//! slot has a cell of loom's beside it, which its owner of the moment writes or reads. Loom reports two owners at a time.
//!
//! The models of `am::lend`, room in a ring that a client fills, are in `negotiated`.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::models::{Bells, ECHO, NOTE, act, log, made};
use super::world::{Node, Shape};
use crate::am::source::Args;
use crate::am::token::Token;
use crate::explore::explore;
use crate::sci::heap::Heap;
use loom::cell::UnsafeCell;
use loom::thread;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;

/// A cell for each of two slots.
#[derive(Default)]
pub(super) struct Lent([UnsafeCell<()>; 2]);

// SAFETY: nothing is in the cells; loom reports who touches one out of order.
unsafe impl Sync for Lent {}
// SAFETY: as above.
unsafe impl Send for Lent {}

impl Lent {
    /// The owner of slot `index` fills it.
    pub(super) fn fill(&self, index: u32) {
        self.0[index as usize % 2].with_mut(|_| ());
    }

    /// The owner of slot `index` reads it.
    pub(super) fn read(&self, index: u32) {
        self.0[index as usize % 2].with(|_| ());
    }
}

loom::thread_local! {
    static PLACE: Cell<*const Place> = Cell::new(std::ptr::null());
}

/// What a thread's handlers use.
struct Place {
    nodes: Vec<Node<Heap>>,
    lent: Lent,
}

fn place<'a>() -> &'a Place {
    // SAFETY: set at the start of each thread; the place outlives the threads.
    unsafe { &*PLACE.with(Cell::get) }
}

/// Makes this thread one of node number `node` while `body` runs.
fn at(place: &Place, node: usize, body: impl Fn(&Node<Heap>, &Lent)) {
    PLACE.with(|cell| cell.set(place));
    act(&place.nodes[node], |node| body(node, &place.lent));
}

/// Reads the slot of its request, and notes its argument.
const READ: u8 = 140;
/// Fills the paired reply slot, and replies to READ.
const FILL: u8 = 141;

extern "C" fn read(_: *mut c_void, index: i32) {
    place().lent.read(index as u32);
    log(index);
}

extern "C" fn fill(raw: *mut c_void, index: i32) {
    log(index);
    place().lent.fill(index as u32);
    let word = [u64::from(index as u32)];
    // SAFETY: one word for one argument.
    let args = unsafe { Args::from_raw(word.as_ptr(), 1) };
    // SAFETY: `raw` is the handler's token, of node 1: requests go there.
    let token = unsafe { Token::from_raw(raw) }.unwrap();
    place().nodes[1].am.reply_short(token, READ, args).unwrap();
}

/// Two nodes, 0 and 1, with queues of `slots`, that have exchanged `start` answered requests.
fn job(slots: u32, start: u32, threaded: bool) -> Arc<Place> {
    let mut shape = Shape { start, threaded, acquainted: true, ..Shape::new(2, slots) };
    shape.config.spin = Some(1);
    let nodes = made(&shape, Bells::Silent);
    for node in &nodes {
        node.register(&[(READ, (read as *const ()).addr()), (FILL, (fill as *const ()).addr())]);
    }
    Arc::new(Place { nodes, lent: Lent::default() })
}

/// The credit says that the receiver has read the slot.
#[test]
fn loom_a_request_slot_is_lent_to_the_receiver_until_its_credit_comes() {
    explore(|| {
        let job = job(2, 0, false);
        let other = job.clone();
        let receiver = thread::spawn(move || {
            at(&other, 1, |b, _| assert_eq!(b.poll_until(3), [0, 1, 2]));
        });
        at(&job, 0, |a, lent| {
            for index in 0..3 {
                while !a.am.has_room(1).unwrap() {
                    a.am.collect(1);
                    thread::yield_now();
                }
                lent.fill(index);
                a.short(1, READ, index as i32);
            }
        });
        receiver.join().unwrap();
    });
}

/// One thread of a node runs replies while another sends. The room for a request tells the sender, and through it the
/// replier, that the paired reply was run.
#[test]
fn loom_a_reply_slot_is_lent_to_the_thread_that_runs_the_reply() {
    explore(|| {
        let job = job(2, 0, true);
        at(&job, 0, |a, _| (0..2).for_each(|i| a.short(1, FILL, i)));
        at(&job, 1, |b, _| assert_eq!(b.serve_until(2), [0, 1]));
        let poller = job.clone();
        let poller = thread::spawn(move || at(&poller, 0, |a, _| drop(a.am.poll())));
        at(&job, 0, |a, _| {
            // Only the poller takes room back.
            while a.am.peers[1].reserve(&a.am.layout, 0).is_none() {
                thread::yield_now();
            }
            a.short(1, FILL, 2);
        });
        // The replier, on the same thread: what orders the sender orders it too.
        at(&job, 1, |b, _| assert_eq!(b.poll_until(1), [2]));
        poller.join().unwrap();
    });
}

/// Half the sequences after a reply, its slot is cleared, since nobody answers then; all of them later, it is no reply. The
/// laps between are left out.
#[test]
fn loom_an_old_reply_is_not_run_again_when_the_sequence_comes_round() {
    explore(|| {
        let job = job(2, 2, false);
        let go_on = |index| (0..2).for_each(|node| job.nodes[node].am.start_at(index));
        at(&job, 0, |a, _| a.short(1, ECHO, 1));
        at(&job, 1, |b, _| assert_eq!(b.serve_until(1), [1]));
        at(&job, 0, |a, _| assert_eq!(a.serve_until(1), [101]));
        go_on(0x4000 << 1);
        at(&job, 0, |a, _| (2..4).for_each(|i| a.short(1, NOTE, i)));
        at(&job, 1, |b, _| assert_eq!(b.serve_until(2), [2, 3]));
        at(&job, 0, |a, _| while a.am.collect(1) {});
        go_on((0x8000 << 1) + 2);
        let other = job.clone();
        let receiver = thread::spawn(move || at(&other, 1, |b, _| assert_eq!(b.serve_until(1), [4])));
        at(&job, 0, |a, _| {
            a.short(1, NOTE, 4);
            while a.am.peers[1].outstanding() > 0 {
                a.am.collect(1);
                thread::yield_now();
            }
            assert!(a.noted().is_empty(), "the reply of lap 1");
        });
        receiver.join().unwrap();
    });
}

/// The credit of the third request covers the second, which is answered.
#[test]
fn loom_a_credit_that_covers_an_answered_request_skips_no_reply() {
    explore(|| {
        let job = job(4, 0, false);
        let other = job.clone();
        let receiver = thread::spawn(move || at(&other, 1, |b, _| assert_eq!(b.poll_until(3), [1, 2, 3])));
        at(&job, 0, |a, _| {
            a.short(1, NOTE, 1);
            a.short(1, ECHO, 2);
            a.short(1, NOTE, 3);
            while a.am.peers[1].outstanding() > 0 {
                a.am.collect(1);
                thread::yield_now();
            }
            assert_eq!(a.noted(), [102]);
        });
        receiver.join().unwrap();
    });
}

/// Of eight slots one alone is not given back at once. A reply gives it back, or the requester would never find the reply.
#[test]
fn loom_a_reply_gives_back_the_unanswered_requests_before_it() {
    explore(|| {
        let job = job(8, 0, false);
        let other = job.clone();
        let receiver = thread::spawn(move || at(&other, 1, |b, _| assert_eq!(b.poll_until(2), [1, 2])));
        at(&job, 0, |a, _| {
            a.short(1, NOTE, 1);
            a.short(1, ECHO, 2);
            assert_eq!(a.poll_until(1), [102]);
            assert_eq!(a.am.peers[1].outstanding(), 0);
        });
        receiver.join().unwrap();
    });
}
