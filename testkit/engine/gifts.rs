//! Messages that are given to a box of a node on another host: where their bytes go, and what is left when a side gives up. Over the adapter that
//! ships, with each node on a host of its own, since the others have no such boxes.

#![allow(unsafe_code)] // writes of a peer

use crate::am::library::{DECK_BACK, DECK_CAME};
use crate::base::fatal::caught::catch;
use crate::deck::engine::{Handle, Tables};
use crate::deck::message::{Message, Storage};
use crate::deck::owner::Credit;
use crate::deck::{Failure, LINE_MOST, Until};
use crate::sci::far::wire::{HEAP as HEAP_AREA, Kept, Sink, offset_in};
use crate::testkit::party::{Options, Party, letter, lie, pattern, plan_lie, write};
use crate::testkit::shipping::Apart;
use crate::testkit::world::{Shape, Steady, Watchdog};
use std::time::{Duration, Instant};

const HEAP: usize = 256 << 10;
/// Given messages of so many bytes get a place.
const LIMIT: usize = 1000;

fn party(nodes: u32) -> Party<Apart> {
    let mut shape = Shape::new(nodes, 4);
    shape.config.spin = Some(0);
    let options = Options { limit: LIMIT, boxes: 4, heap: HEAP, near: true };
    Party::new(&shape, &Apart::steady(nodes), options, lie)
}

/// A box of node 0 and a handle of node 1.
fn with_box(party: &Party<Apart>) -> (Handle, Handle) {
    let capacity = Credit { messages: 20, bytes: 1 << 20 };
    let own = party.help(0, |deck| deck.open(None, capacity)).unwrap();
    (own, party.help(1, |deck| deck.handle(own.id, false)))
}

fn patience() -> Until {
    Until::Time(Instant::now() + Duration::from_secs(30))
}

fn message(party: &Party<Apart>, node: usize, bytes: &[u8]) -> Message {
    let mut message = party.alone(node, |deck| deck.create(bytes.len(), true, false)).unwrap();
    write(&mut message, bytes);
    message
}

fn give(party: &Party<Apart>, to: &Handle, bytes: &[u8]) -> Result<(), Failure> {
    let mut gift = message(party, 1, bytes);
    let result = party.help(1, |deck| deck.give(to, &mut gift, patience()));
    party.alone(1, |deck| deck.release(gift.storage)).unwrap();
    result
}

fn take(party: &Party<Apart>, own: &Handle) -> Result<Message, Failure> {
    party.help(0, |deck| deck.take(own, Until::Now))
}

/// Bytes that a node has copied, and that have gone into a place.
fn counts(party: &Party<Apart>, node: usize) -> [u64; 2] {
    let [_, copied, placed] = party.0[node].deck.counters();
    [copied.1, placed.1]
}

/// Neither node keeps anything of gifts, and `blocks` of the owner's heap are in use.
#[track_caller]
fn nothing_is_left(party: &Party<Apart>, blocks: usize) {
    party.settle();
    for (node, blocks) in [(0, blocks), (1, 0)] {
        let Tables { gifts, due, blocks: used, .. } = party.tables(node);
        assert_eq!((gifts, due, used), (0, 0, blocks), "node {node}");
    }
}

#[test]
fn a_given_message_lies_in_the_owners_heap_and_nobody_has_copied_it() {
    let _watch = Watchdog::start();
    let party = party(2);
    let (own, to) = with_box(&party);
    let mut placed = 0;
    for (number, len) in (0..).zip([LIMIT, LIMIT + 1, 4096, 32 << 10, (32 << 10) + 1, 100_000, HEAP / 2 - 256]) {
        let bytes = pattern(1, number, len);
        give(&party, &to, &bytes).unwrap();
        placed += len as u64;
        let taken = take(&party, &own).unwrap();
        assert!(matches!(&taken.storage, Storage::Shared(block) if block.owner == 0), "{len} bytes");
        assert!((taken.source, taken.bytes() == bytes) == (Some(1), true), "{len} bytes");
        assert_eq!((counts(&party, 1), counts(&party, 0)), ([0, placed], [0, 0]), "{len} bytes");
        nothing_is_left(&party, 1);
        party.help(0, |deck| deck.release(taken.storage)).unwrap();
    }
    // What was taken goes on to a third node, or back, from where it lies.
    nothing_is_left(&party, 0);
    party.check_guards();
}

#[test]
fn what_gets_no_place_goes_in_pieces() {
    let _watch = Watchdog::start();
    let party = party(2);
    let (own, to) = with_box(&party);
    let half = message(&party, 0, &vec![0; HEAP / 2 - 1024]);
    // Too short, more than is left of half of the heap, and a call that only tries.
    for (len, until) in [(LIMIT - 1, patience()), (2000, patience()), (40_000, patience())] {
        let bytes = pattern(1, 3, len);
        let mut gift = message(&party, 1, &bytes);
        party.help(1, |deck| deck.give(&to, &mut gift, until)).unwrap();
        let taken = take(&party, &own).unwrap();
        assert!(matches!(taken.storage, Storage::Local(_)) && taken.bytes() == bytes, "{len} bytes");
        party.help(0, |deck| deck.release(taken.storage)).unwrap();
    }
    party.alone(0, |deck| deck.release(half.storage)).unwrap();
    let mut gift = message(&party, 1, &pattern(1, 4, 2000));
    party.help(1, |deck| deck.give(&to, &mut gift, Until::Now)).unwrap();
    assert_eq!(counts(&party, 1)[1], 0, "nothing was placed");
    assert!(take(&party, &own).unwrap().bytes() == pattern(1, 4, 2000));
    nothing_is_left(&party, 0);
}

#[test]
fn gifts_and_posts_come_in_their_order() {
    let _watch = Watchdog::start();
    let party = party(2);
    let (own, to) = with_box(&party);
    let lens = [2000, 10, 5000, 600, 9000, 40_000, LINE_MOST, 1001, 3000, 0];
    for (number, len) in (0..).zip(lens) {
        let bytes = pattern(1, number, len);
        match number % 4 {
            3 => party.help(1, |deck| deck.post(&to, &letter(&bytes), patience())),
            _ => give(&party, &to, &bytes),
        }
        .unwrap();
    }
    for (number, len) in (0..).zip(lens) {
        let taken = take(&party, &own).unwrap();
        assert!(taken.bytes() == pattern(1, number, len), "message {number}");
        party.help(0, |deck| deck.release(taken.storage)).unwrap();
    }
    nothing_is_left(&party, 0);
}

#[test]
fn a_gift_that_timed_out_is_not_delivered_and_leaves_nothing() {
    let _watch = Watchdog::start();
    let party = party(2);
    let (own, to) = with_box(&party);
    give(&party, &to, &[1; 2000]).unwrap(); // now there are credits
    let taken = take(&party, &own).unwrap();
    party.help(0, |deck| deck.release(taken.storage)).unwrap();
    party.settle();
    let before = party.tables(1).credit;
    let bytes = pattern(1, 9, 3000);
    let mut gift = message(&party, 1, &bytes);
    // Node 0 does nothing meanwhile.
    assert_eq!(party.alone(1, |deck| deck.give(&to, &mut gift, Until::Time(Instant::now()))), Err(Failure::TimedOut));
    assert!(gift.bytes() == bytes, "the message stays the giver's");
    assert_eq!((party.tables(1).gifts, party.tables(1).credit), (1, before - 1));
    party.alone(1, |deck| deck.release(gift.storage)).unwrap();
    nothing_is_left(&party, 0);
    assert_eq!(party.tables(1).credit, before, "it has its credits again");
    assert_eq!(party.help(0, |deck| deck.pending(&own)), Ok(0));
    give(&party, &to, &bytes).unwrap();
    assert!(take(&party, &own).unwrap().bytes() == bytes);
}

/// Node 1 has asked for a place for 3000 bytes, and node 0 has given it one. Node 1 does not know that yet, and has given up.
fn with_place(party: &Party<Apart>) -> (Handle, Handle) {
    let (own, to) = with_box(party);
    party.help(1, |deck| deck.post(&to, &letter(&[1]), patience())).unwrap(); // now there are credits
    party.settle();
    let mut gift = message(party, 1, &[3; 3000]);
    let until = Until::Time(Instant::now());
    assert_eq!(party.alone(1, |deck| deck.give(&to, &mut gift, until)), Err(Failure::TimedOut));
    party.alone(1, |deck| deck.release(gift.storage)).unwrap();
    party.carry();
    party.poll(0);
    assert_eq!((party.tables(0).gifts, party.tables(0).blocks), (1, 1));
    (own, to)
}

#[test]
fn a_box_that_goes_gets_no_gift_and_its_places_are_free_when_the_giver_is_done() {
    let _watch = Watchdog::start();
    let party = party(2);
    let (own, to) = with_place(&party);
    party.alone(0, |deck| deck.destroy(&own)).unwrap();
    assert_eq!((party.tables(0).gifts, party.tables(0).blocks), (1, 1), "somebody may still write there");
    nothing_is_left(&party, 0);
    assert_eq!(give(&party, &to, &[5; 3000]), Err(Failure::Gone));
    party.help(1, |deck| deck.destroy(&to)).unwrap();
    party.settle();
    for node in [0, 1] {
        assert_eq!(party.tables(node), Tables::default(), "node {node} keeps something");
    }
}

#[test]
fn a_whole_gift_to_a_box_that_is_gone_is_discarded() {
    let _watch = Watchdog::start();
    let party = party(2);
    let (own, _) = with_place(&party);
    party.alone(0, |deck| deck.destroy(&own)).unwrap();
    assert!(party.forge(1, 0, DECK_CAME, &[1 | 1 << 32], None));
    party.carry();
    (0..20).for_each(|_| _ = party.poll(0));
    assert_eq!((party.tables(0).gifts, party.tables(0).blocks), (0, 0));
}

/// Node 0 ends the job because of `node` when it polls.
#[track_caller]
fn ends_the_owner(party: &Party<Apart>, node: u32, text: &str) {
    party.carry();
    let end = catch(|| (0..20).for_each(|_| _ = party.poll(0)));
    assert!(end.as_ref().is_err_and(|end| *end == format!("corrupt message from node {node}: {text}")), "{end:?}");
}

/// The block would be free, while a node may still write there: whoever gets it next, another giver or the program, would have it overwritten.
#[test]
fn no_node_of_another_host_gives_a_place_back() {
    let _watch = Watchdog::start();
    for node in [1, 2] {
        let party = party(3);
        with_place(&party);
        assert!(party.forge(node, 0, DECK_BACK, &[0], None));
        ends_the_owner(&party, node as u32, "block given back by a node of another host, which cannot have any");
        assert_eq!(party.tables(0).blocks, 1, "it is still in use");
    }
}

/// The body of a write may come after the handler has run for what was sent before it.
#[test]
fn a_place_becomes_no_message_while_a_write_is_under_way() {
    let _watch = Watchdog::start();
    let at = offset_in(HEAP_AREA, 0);
    for is_over in [false, true] {
        let party = party(2);
        let (own, _) = with_place(&party);
        let sink = party.adapters()[0].far().sink();
        assert!(sink.place(1, at, 3000, true).is_some());
        if is_over {
            sink.written(at);
        }
        assert!(party.forge(1, 0, DECK_CAME, &[1 | 1 << 32], None));
        if is_over {
            party.carry();
            (0..20).for_each(|_| _ = party.poll(0));
            // Node 1 does nothing: it would say that it gives nothing.
            let took = || party.alone(0, |deck| deck.take(&own, Until::Now)).unwrap().size;
            assert_eq!([took(), took()], [1, 3000], "the letter, and the gift");
            assert!(sink.place(1, at, 1, true).is_none());
        } else {
            ends_the_owner(&party, 1, "gift whose bytes are still on their way");
        }
    }
}

#[test]
fn no_peer_writes_beside_its_places() {
    let _watch = Watchdog::start();
    const BYTE: u8 = 0xee; // no other bytes of this test
    let bytes = [BYTE; 3001];
    for (node, at, len, may) in
        [(1, 0, 3000, true), (1, 2999, 1, true), (1, 0, 3001, false), (2, 0, 1, false), (1, 3000, 1, false)]
    {
        let party = party(3);
        with_place(&party);
        // SAFETY: the bytes live as long as the test.
        let write = unsafe {
            party.adapters()[node].far().wire().write(
                0,
                offset_in(HEAP_AREA, at),
                (bytes.as_ptr(), len),
                Kept::UntilDone,
                None,
            )
        };
        assert_eq!(write, Ok(true));
        party.carry();
        assert_eq!(party.heap(0).contains(&BYTE), may, "{len} bytes at {at} by node {node}");
    }
}

/// What node 1 answers when it is asked for a place.
#[track_caller]
fn ends_the_giver(answer: [u64; 4], text: &str) {
    let party = party(2);
    let own = party.help(1, |deck| deck.open(None, Credit { messages: 9, bytes: 1 << 20 })).unwrap();
    let to = party.help(0, |deck| deck.handle(own.id, false));
    party.help(0, |deck| deck.post(&to, &letter(&[1]), patience())).unwrap();
    let mut gift = message(&party, 0, &[3; 3000]);
    plan_lie(Some(answer));
    let end = catch(|| party.help(0, |deck| deck.give(&to, &mut gift, patience())));
    assert!(end.as_ref().is_err_and(|end| *end == format!("corrupt message from node 1: {text}")), "{end:?}");
}

#[test]
fn a_giver_takes_no_place_that_is_none() {
    let _watch = Watchdog::start();
    let none = "place that was not asked for, or outside its heap";
    for (number, at) in [(2, 0), (1, HEAP as u64), (1, HEAP as u64 - 2048), (1, 8), (1, u64::MAX - 255)] {
        ends_the_giver([number, at, 0, 0], none);
    }
    ends_the_giver([1 | 3 << 32, 0, 0, 0], "answer of no kind about a place");
}
