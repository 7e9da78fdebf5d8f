//! What a peer says about mail boxes is not trusted: a message that no sender of ours writes ends the job with a line that says what was
//! wrong, and whose it was. Each of these is one kind of nonsense; the fuzz target `mailbox` tries all bytes.

use crate::am::library::*;
use crate::base::fatal::caught::catch;
use crate::deck::engine::Handle;
use crate::deck::owner::Credit;
use crate::deck::{BoxId, Failure, Until, names};
use crate::sci::heap::Heap;
use crate::testkit::party::{Options, Party, letter, lie, plan_lie};
use crate::testkit::shipping::{Apart, Paired, Together};
use crate::testkit::world::{Shape, Steady, tests_over};
use std::time::{Duration, Instant};

const HEAP: usize = 64 << 10;

fn party<A: Steady>(nodes: u32) -> Party<A> {
    let mut shape = Shape::new(nodes, 4);
    shape.config.spin = Some(0);
    let options = Options { limit: 1000, boxes: 4, heap: HEAP, near: true };
    Party::new(&shape, &A::steady(nodes), options, lie)
}

/// Node 0 ends the job, with this text, when it polls.
#[track_caller]
fn ends<A: Steady>(party: &Party<A>, text: &str) {
    party.carry();
    let end = catch(|| party.poll(0));
    let expected = format!("corrupt message from node 1: {text}");
    assert!(end.as_ref().is_err_and(|end| *end == expected), "{end:?} is not {expected}");
}

/// Node 1 sends this to a node that has a box of 10 messages and 1000 bytes.
#[track_caller]
fn ends_a_node_with_a_box<A: Steady>(index: u8, words: impl Fn(BoxId) -> Vec<u64>, payload: Option<&[u8]>, text: &str) {
    let party = party::<A>(2);
    let own = open(&party, 0);
    assert!(party.forge(1, 0, index, &words(own.id), payload));
    ends(&party, text);
}

fn open<A: Steady>(party: &Party<A>, node: usize) -> Handle {
    party.help(node, |deck| deck.open(None, Credit { messages: 10, bytes: 1000 })).unwrap()
}

/// Node 1 gets credits for two messages and 250 bytes from a box of node 0.
fn with_credits<A: Steady>(party: &Party<A>, own: &Handle) -> Handle {
    let handle = party.help(1, |deck| deck.handle(own.id, false));
    assert!(party.forge(1, 0, DECK_ASK, &[own.id.word(), 0, pair(0, 1), 0], None));
    party.settle();
    handle
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn messages_without_a_box_or_a_credit<A: Steady>() {
    let lined = |id: BoxId, len: u32| vec![0, 0, 0, 0, 0, 0, pair(0, u32::from(id.index) | len << 16)];
    ends_a_node_with_a_box::<A>(DECK_LINE, |id| lined(id, 53), None, "line of too many bytes");
    ends_a_node_with_a_box::<A>(DECK_LINE, |id| lined(id, 1), None, "message for a box without its credit");
    let other = |id: BoxId| BoxId { index: id.index + 1, ..id };
    ends_a_node_with_a_box::<A>(DECK_LINE, |id| lined(other(id), 1), None, "message for a box that does not exist");
    let bytes = [1; 100];
    let body = |id: BoxId| vec![id.index.into()];
    ends_a_node_with_a_box::<A>(DECK_BODY, body, Some(&bytes), "message for a box without its credit");
    let piece = |id: BoxId| vec![pair(id.index.into(), 1), 1 << 60, 0];
    ends_a_node_with_a_box::<A>(DECK_PIECE, piece, Some(&bytes), "piece of a message that does not fit");
    let piece = |id: BoxId| vec![pair((other(id)).index.into(), 1), 200, 0];
    ends_a_node_with_a_box::<A>(DECK_PIECE, piece, Some(&bytes), "piece for a box that does not exist");
}

fn more_bytes_begun_than_there_are_credits_for<A: Steady>() {
    let party = party::<A>(2);
    let own = open(&party, 0);
    with_credits(&party, &own);
    let piece = |stream, len| vec![pair(own.id.index.into(), stream), len, 0];
    assert!(party.forge(1, 0, DECK_PIECE, &piece(1, 400), Some(&[1; 100])));
    party.settle();
    assert!(party.forge(1, 0, DECK_PIECE, &piece(2, 160), Some(&[1; 10])));
    ends(&party, "piece of a message that does not fit");
}

fn loans_of_blocks_that_are_none<A: Steady>() {
    let loan =
        |id: BoxId, owner, [at, len, block]: [u64; 3]| vec![pair(id.index.into(), owner), at, len, block, 0, 0, 0];
    let long = "message longer than its block, or a block of too few bytes";
    ends_a_node_with_a_box::<A>(DECK_LOAN, |id| loan(id, 1, [0, 101, 100]), None, long);
    ends_a_node_with_a_box::<A>(DECK_LOAN, |id| loan(id, 1, [0, 1, 63]), None, long);
    let nobody = "block of a node that does not exist";
    ends_a_node_with_a_box::<A>(DECK_LOAN, |id| loan(id, 2, [0, 100, 100]), None, nobody);
    ends_a_node_with_a_box::<A>(DECK_BACK, |_| vec![0], None, "block that is not in use");
    let heap = HEAP as u64;
    for [at, block] in [[heap, 64], [heap - 256, 257], [16, 100], [u64::MAX - 255, 100], [0, heap + 1], [256, u64::MAX]]
    {
        ends_a_node_with_a_box::<A>(DECK_LOAN, |id| loan(id, 1, [at, 1, block]), None, "block outside its heap");
    }
}

fn gifts_that_have_no_place<A: Steady>() {
    let place = |id: BoxId, number, len| vec![pair(id.index.into(), number), len];
    let other = |id: BoxId| BoxId { index: id.index + 1, ..id };
    let early = "gift that has begun before, or without its credit";
    ends_a_node_with_a_box::<A>(DECK_PLACE, |id| place(id, 1, 200), None, early);
    ends_a_node_with_a_box::<A>(DECK_PLACE, |id| place(other(id), 1, 200), None, "gift for a box that does not exist");
    ends_a_node_with_a_box::<A>(DECK_CAME, |_| vec![pair(1, 1)], None, "gift that has not begun");
    // Credits for 250 bytes: what has begun counts.
    for (number, len) in [(2, 100), (1, 10)] {
        let party = party::<A>(2);
        let own = open(&party, 0);
        with_credits(&party, &own);
        assert!(party.forge(1, 0, DECK_PIECE, &[pair(own.id.index.into(), 1), 60, 0], Some(&[1; 10])));
        assert!(party.forge(1, 0, DECK_PLACE, &place(own.id, 1, 100), None));
        party.carry();
        (0..20).for_each(|_| _ = party.poll(0)); // node 1 would not know the answer
        if party.tables(0).gifts == 0 {
            continue; // no other host, so no place
        }
        assert!(party.forge(1, 0, DECK_PLACE, &place(own.id, number, len), None));
        ends(&party, early);
    }
}

fn credits_that_no_box_has<A: Steady>() {
    let none = "credits that no box has";
    let there = BoxId { owner: 1, index: 0, serial: 9 }.word();
    for words in [
        [there, 1, 1, 10, 0],
        [there, 1, 1, 0, 100],
        [there, 1, 101, 10, 100],
        [there, 11, 1, 10, 100],
        [there, 1, 1, 1 << 32, 100],
    ] {
        ends_a_node_with_a_box::<A>(DECK_MORE, |_| words.to_vec(), None, none);
    }
    ends_a_node_with_a_box::<A>(DECK_MORE, |id| vec![id.word(), 1, 1, 1, 1], None, "message about another node's box");
    let party = party::<A>(2);
    for serial in [1, u32::MAX, 2] {
        let word = BoxId { owner: 1, index: 7, serial }.word();
        assert!(party.forge(1, 0, DECK_MORE, &[word, 1, 1, 10, 100], None));
        party.settle();
        let tables = party.tables(0);
        assert_eq!((tables.strays, tables.senders), (1, 1), "one for each place where a box can be");
    }
}

fn credits_returned_that_were_not_there<A: Steady>() {
    let party = party::<A>(2);
    let own = open(&party, 0);
    with_credits(&party, &own);
    // Node 0 has nothing for a message of all bytes, and asks node 1.
    let mine = party.alone(0, |deck| deck.handle(own.id, false));
    plan_lie(Some([own.id.word(), 100, 0, 0]));
    let until = Until::Time(Instant::now() + Duration::from_secs(30));
    let end = catch(|| party.help(0, |deck| deck.post(&mine, &letter(&[0; 999]), until)));
    assert!(end.is_err_and(|end| end == "corrupt message from node 1: credits of a box that it does not have"));
}

fn farewells_that_are_none<A: Steady>() {
    let there = "farewell to a box that is there, or a second one";
    ends_a_node_with_a_box::<A>(DECK_FORGOT, |id| vec![id.word()], None, there);
    let party = party::<A>(3);
    let own = open(&party, 0);
    let handles = [1, 2].map(|node| party.help(node, |deck| deck.handle(own.id, false)));
    for (handle, node) in handles.iter().zip([1, 2]) {
        party.help(node, |deck| deck.post(handle, &letter(&[0]), Until::Forever)).unwrap();
    }
    party.settle();
    party.alone(0, |deck| deck.destroy(&own)).unwrap();
    // The box may not go before node 2 has said its farewell.
    assert!(party.forge(1, 0, DECK_FORGOT, &[own.id.word()], None));
    party.carry();
    party.poll(0);
    assert!(party.forge(1, 0, DECK_FORGOT, &[own.id.word()], None));
    ends(&party, there);
}

/// A name that this node has.
fn name_of(node: u32) -> Vec<u8> {
    let all = (0..1000).map(|n| format!("name {n}").into_bytes());
    all.into_iter().find(|name| names::home(name, 2) == node).unwrap()
}

fn names_that_no_node_asks_for<A: Steady>() {
    let (here, there) = (name_of(0), name_of(1));
    let ask = |kind| move |_: BoxId| vec![pair(kind, 1), BoxId { owner: 1, index: 0, serial: 1 }.word()];
    ends_a_node_with_a_box::<A>(DECK_NAME, ask(5), Some(&here), "request about a name that does not exist");
    ends_a_node_with_a_box::<A>(DECK_NAME, ask(0), Some(&there), "request about a name that another node has");
    let length = "name of a length that no name has";
    ends_a_node_with_a_box::<A>(DECK_NAME, ask(0), Some(&[]), length);
    ends_a_node_with_a_box::<A>(DECK_NAME, ask(0), Some(&[1; 64]), length);
    let another = |id: BoxId| vec![pair(0, 1), id.word()];
    ends_a_node_with_a_box::<A>(DECK_NAME, another, Some(&here), "message about another node's box");
}

fn answers_about_names_that_nobody_asked_for<A: Steady>() {
    let asks = |text: &str, answer: [u64; 4], named: bool| {
        let party = party::<A>(2);
        let name = name_of(1);
        plan_lie(Some(answer));
        let call = |deck: &'static crate::deck::engine::Deck<A>| match named {
            true => deck.open(Some(&name), Credit { messages: 1, bytes: 1 }).map(drop),
            false => deck.find(&name, Until::Time(Instant::now() + Duration::from_secs(30))).map(drop),
        };
        let end = catch(|| party.help(0, call));
        let expected = format!("corrupt message from node 1: {text}");
        assert!(end.as_ref().is_err_and(|end| *end == expected), "{end:?} is not {expected}");
    };
    let id = BoxId { owner: 1, index: 0, serial: 1 }.word();
    asks("answer about a name that does not exist", [pair(1, 3), id, 0, 0], false);
    asks("answer about a name that was not asked for", [pair(1, 2), id, 0, 0], true);
    asks("box of a node that does not exist", [pair(1, 0), id + 1, 0, 0], false);
    // Node 1 answers what node 0 has asked itself.
    let party = party::<A>(2);
    let found = |deck: &'static crate::deck::engine::Deck<A>| deck.find(&name_of(0), Until::Time(Instant::now()));
    assert_eq!(party.alone(0, found).map(drop), Err(Failure::TimedOut));
    assert!(party.forge(1, 0, DECK_FOUND, &[2, id], None));
    party.carry();
    let end = catch(|| party.alone(0, found).map(drop));
    assert!(end.as_ref().is_err_and(|end| end.ends_with("answer about a name that was not asked for")), "{end:?}");
}

#[test]
fn a_node_that_asks_and_takes_no_answer() {
    // Millions of messages: over one adapter. What is looked at is a list of the engine's.
    let party = party::<Heap>(2);
    let gone = BoxId { owner: 1, index: 0, serial: 1 }.word();
    let end = catch(|| {
        for _ in 0..4 << 20 {
            // Node 1 sends, but never polls.
            while !party.forge(1, 0, DECK_GONE, &[gone], None) {
                party.poll(0);
            }
        }
    });
    let text = "corrupt message from node 1: so many messages that the answers cannot be kept";
    assert!(end.as_ref().is_err_and(|end| end == text), "{end:?}");
    assert!(party.tables(0).due < 4 << 20);
}

tests_over! { [Heap, Together, Apart, Paired]:
    messages_without_a_box_or_a_credit,
    more_bytes_begun_than_there_are_credits_for,
    loans_of_blocks_that_are_none,
    gifts_that_have_no_place,
    credits_that_no_box_has,
    credits_returned_that_were_not_there,
    farewells_that_are_none,
    names_that_no_node_asks_for,
    answers_about_names_that_nobody_asked_for,
}
