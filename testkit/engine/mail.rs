//! Mail boxes under loom: credits that go round, blocks that come back, threads that sleep until somebody wakes them. What the
//! messages themselves do is in `models`.

#![allow(unsafe_code)] // a cell that threads share

use super::models::{Bells, adapters};
use super::world::Shape;
use crate::deck::engine::{Deck, Handle};
use crate::deck::owner::Credit;
use crate::deck::waiting::Key;
use crate::deck::{Failure, LINE_MOST, Until};
use crate::explore::{explore, explore_within};
use crate::sci::heap::Heap;
use crate::sync::park::Mutex;
use crate::testkit::party::{Options, Party, letter};
use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;

/// Room for one short message.
const ONE: Credit = Credit { messages: 1, bytes: LINE_MOST as u64 };

/// Room for more messages than a test posts.
const FOUR: Credit = Credit { messages: 4, bytes: 400 };

fn party(nodes: u32, threaded: bool) -> Arc<Party<Heap>> {
    let mut shape = Shape { threaded, acquainted: true, ..Shape::new(nodes, 2) };
    shape.config.spin = Some(1);
    let options = Options { limit: 1000, boxes: 4, heap: 256, near: true };
    Arc::new(Party::new(&shape, &adapters(nodes, Bells::Wake), options, |_, _| ()))
}

fn post(deck: &Deck<Heap>, handle: &Handle, byte: u8) {
    deck.post(handle, &letter(&[byte]), Until::Forever).unwrap();
}

fn take(deck: &Deck<Heap>, handle: &Handle) -> u8 {
    let message = deck.take(handle, Until::Forever).unwrap();
    let byte = message.bytes()[0];
    deck.release(message.storage).unwrap();
    byte
}

/// A box of node 0, a handle of it that node 1 has, and all its credits, before anything is done at the same time.
fn with_credits(party: &Party<Heap>, capacity: Credit) -> (Handle, Handle) {
    let own = party.0[0].deck.open(None, capacity).unwrap();
    let there = party.0[1].deck.handle(own.id, false);
    let asked = party.0[1].deck.post(&there, &letter(&[0; LINE_MOST]), Until::Now);
    assert_eq!(asked, Err(Failure::Again), "it asks first");
    (0..2).for_each(|_| (0..2).for_each(|node| drop(party.0[node].deck.am().poll())));
    (own, there)
}

/// A thread of node 0 that waits for [`Key::Object`] 1, and serves messages meanwhile, until it finds that it `may_leave`.
fn serve_until(party: &Arc<Party<Heap>>, may_leave: &Arc<Mutex<bool>>) -> thread::JoinHandle<()> {
    let (party, may_leave) = (party.clone(), may_leave.clone());
    thread::spawn(move || {
        let deck = party.0[0].deck;
        let look = || Ok(may_leave.lock().then_some(()));
        deck.waiting.wait(deck.am(), &[Key::Object(1)], Until::Forever, look).unwrap();
    })
}

#[test]
fn loom_a_sender_waits_for_the_credit_of_its_last_message() {
    explore(|| {
        let party = party(2, false);
        let (own, there) = with_credits(&party, ONE);
        post(party.0[1].deck, &there, 1);
        let other = party.clone();
        let sender = thread::spawn(move || post(other.0[1].deck, &there, 2));
        assert_eq!([(); 2].map(|()| take(party.0[0].deck, &own)), [1, 2]);
        sender.join().unwrap();
    });
}

/// Node 1 has the only credit and does not use it; the owner's own thread posts to the box. Node 1 is asked to return the credit.
#[test]
fn loom_credits_that_one_sender_has_go_to_another() {
    explore(|| {
        let party = party(2, false);
        let (own, _) = with_credits(&party, ONE);
        let other = party.clone();
        let holds = thread::spawn(move || {
            let (deck, mut failed) = (other.0[1].deck, 0);
            while deck.tables().credit > 0 {
                failed = deck.am().wait_step(failed);
            }
        });
        post(party.0[0].deck, &own, 3);
        assert_eq!(take(party.0[0].deck, &own), 3);
        holds.join().unwrap();
    });
}

/// The bytes of the only block of a heap, as loom sees them.
struct Bytes(UnsafeCell<()>);
// SAFETY: the cell holds nothing; loom reports who touches it out of order.
unsafe impl Sync for Bytes {}
// SAFETY: as above.
unsafe impl Send for Bytes {}

#[test]
fn loom_a_block_is_used_again_when_its_borrower_has_done() {
    explore(|| {
        let party = party(2, false);
        let (own, there) = with_credits(&party, Credit { messages: 1, bytes: 200 });
        let bytes = Arc::new(Bytes(UnsafeCell::new(())));
        let (other, block) = (party.clone(), bytes.clone());
        let lender = thread::spawn(move || {
            let deck = other.0[1].deck;
            let mut message = deck.create(200, true, false).unwrap();
            block.0.with_mut(|_| ());
            message.set_size(200).unwrap();
            deck.give(&there, &mut message, Until::Forever).unwrap();
            let mut failed = 0;
            let again = loop {
                match deck.create(200, true, false) {
                    Ok(message) => break message,
                    Err(_) => failed = deck.am().wait_step(failed),
                }
            };
            block.0.with_mut(|_| ());
            deck.release(again.storage).unwrap();
        });
        let message = party.0[0].deck.take(&own, Until::Forever).unwrap();
        assert_eq!(message.size, 200);
        bytes.0.with(|_| ());
        party.0[0].deck.release(message.storage).unwrap();
        lender.join().unwrap();
    });
}

#[test]
fn loom_a_thread_that_waits_gets_what_another_posts() {
    explore(|| {
        let party = party(1, true);
        let own = party.0[0].deck.open(None, FOUR).unwrap();
        let other = party.clone();
        let waits = thread::spawn(move || take(other.0[0].deck, &own));
        post(party.0[0].deck, &own, 7);
        assert_eq!(waits.join().unwrap(), 7);
    });
}

#[test]
fn loom_of_two_threads_that_wait_each_gets_its_own() {
    explore_within(1, || {
        let party = party(1, true);
        let boxes = [(); 2].map(|()| party.0[0].deck.open(None, FOUR).unwrap());
        let waits = [0, 1].map(|n| {
            let (other, own) = (party.clone(), boxes[n]);
            thread::spawn(move || take(other.0[0].deck, &own))
        });
        for n in [0, 1] {
            post(party.0[0].deck, &boxes[n], n as u8);
        }
        for (n, thread) in waits.into_iter().enumerate() {
            assert_eq!(usize::from(thread.join().unwrap()), n);
        }
    });
}

#[test]
fn loom_two_threads_at_one_box_share_what_comes() {
    explore_within(1, || {
        let party = party(1, true);
        let own = party.0[0].deck.open(None, FOUR).unwrap();
        let waits = [0, 1].map(|_| {
            let other = party.clone();
            thread::spawn(move || take(other.0[0].deck, &own))
        });
        post(party.0[0].deck, &own, 1);
        post(party.0[0].deck, &own, 2);
        let sum: u8 = waits.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(sum, 3);
    });
}

/// A thread that serves leaves. Another one, which has found it serving, serves in its place: a message that comes then is found.
#[test]
fn loom_who_leaves_hands_serving_over() {
    explore(|| {
        let party = party(2, true);
        let (own, there) = with_credits(&party, FOUR);
        let may_leave = Arc::new(Mutex::<bool>::default());
        let serves = serve_until(&party, &may_leave);
        *may_leave.lock() = true;
        party.0[0].deck.waiting.wake(Key::Object(1));
        post(party.0[1].deck, &there, 5);
        assert_eq!(take(party.0[0].deck, &own), 5);
        serves.join().unwrap();
    });
}

/// A sender wakes the thread in the berth, or the thread that serves, which may sleep and then wakes that one: the message is found.
#[test]
fn loom_a_thread_in_a_berth_gets_what_a_peer_posts() {
    explore_within(1, || {
        let party = party(2, true);
        let (own, there) = with_credits(&party, FOUR);
        let over = Arc::new(Mutex::<bool>::default());
        let serves = serve_until(&party, &over);
        let other = party.clone();
        let sender = thread::spawn(move || post(other.0[1].deck, &there, 5));
        assert_eq!(take(party.0[0].deck, &own), 5);
        *over.lock() = true;
        party.0[0].deck.waiting.wake(Key::Object(1));
        sender.join().unwrap();
        serves.join().unwrap();
    });
}
