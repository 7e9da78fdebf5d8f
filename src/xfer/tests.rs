//! Verbs and waits through the engine of messages, on nodes of this process.

#![allow(unsafe_code)] // client memory and mapped segments

use super::event::{self, Events, Sets, Whose};
use super::home::{self, Set};
use super::overlap::Overlap;
use super::wait::How;
use super::{Engines, Landing, Rma, reference};
use crate::am::source::Source;
use crate::sci::heap::Heap;
use crate::testkit::world::{Kit, Node, Shape, Watchdog, nodes};
use crate::verbs::{Flags, Local, Target};
use std::sync::mpsc;
use std::thread;

fn job(shape: &Shape) -> Vec<Node<Heap>> {
    nodes(shape, &Heap::kit(shape.nodes, 0))
}

fn source(bytes: &[u8]) -> Source {
    // SAFETY: callers keep the bytes until the operation is complete.
    unsafe { Source::new(bytes.as_ptr(), bytes.len()) }
}

fn array(words: &mut [usize]) -> Events {
    // SAFETY: the slice's own words; callers use it for one call.
    unsafe { Events::new(words.as_mut_ptr(), words.len()) }.unwrap()
}

#[test]
fn a_put_that_may_not_wait_is_refused_when_there_is_no_room() {
    let nodes = job(&Shape::new(2, 4));
    let (node, rma) = (&nodes[0], Rma::new(false, None));
    let on = Engines { am: &node.am, rma: &rma };
    let to = Target::node(1);
    let put =
        |how, flags| on.transfer(how, |c| rma.put(&node.am, to, node.bases[1], source(&[7; 8]), flags, c)).unwrap();
    let implicit = How::Implicit(Set::Puts, Local::AtReturn);
    let roots: Vec<usize> = (0..3).map(|_| put(How::Event(Local::AtReturn), Flags::IMMEDIATE).unwrap()).collect();
    assert_eq!(put(implicit, Flags::IMMEDIATE), Some(0));
    assert!(!Sets::PUTS.test().unwrap() && Sets::PUTS.and(Sets::GETS).test() == Ok(false));
    for how in [implicit, How::Event(Local::AtReturn), How::Event(Local::Later), How::Blocking] {
        assert_eq!(put(how, Flags::IMMEDIATE), None, "node 1 answers nothing, so the slots are taken");
    }
    let done = |handle: usize| reference::on_done(handle as u32 - 1, 1);
    roots.iter().for_each(|root| done(*root));
    assert!(roots.iter().all(|root| event::test(*root, Whose::Own) == Ok(true)), "each counts its own");
    let (id, op) = home::here().implicit(Set::Puts).unwrap();
    assert!(op.expects() && Sets::LOCAL.test() == Ok(true));
    reference::on_done(id.bits(), 1);
    assert!(!op.expects() && Sets::PUTS.test() == Ok(true), "what was refused was not counted");
}

#[test]
fn a_put_for_the_dma_thread_has_an_event_whose_leaf_says_that_its_source_is_free() {
    const LEN: usize = 1024;
    let nodes = job(&Shape::new(2, 4));
    let _watch = Watchdog::start();
    let (node, rma) = (&nodes[0], Rma::new(true, Some(Overlap::new(64))));
    let on = Engines { am: &node.am, rma: &rma };
    let bytes = [5u8; LEN];
    // To its own segment: of this adapter's peers no plain memory is mapped.
    let to = |local, len: usize| {
        let put = |c| rma.put(&node.am, Target::node(0), node.bases[0], source(&bytes[..len]), Flags::NONE, c);
        on.transfer(How::Event(local), put).unwrap().unwrap()
    };
    assert_eq!(to(Local::AtReturn, LEN), 0, "made at once, because the source is free at return");
    assert_eq!(to(Local::Later, 63), 0, "too short for the thread");
    for _ in 0..50 {
        let root = to(Local::Later, LEN);
        assert_ne!(root, 0, "whether it is over by now or not: both sides of an exchange decide alike");
        let leaf = event::leaf(root, event::Part::Local).unwrap();
        on.wait(leaf, Whose::Any).unwrap();
        on.wait(root, Whose::Own).unwrap();
    }
    let mut back = [0u8; LEN];
    // SAFETY: lives until the get, which is blocking, is over.
    let landing = unsafe { Landing::new(back.as_mut_ptr(), LEN) };
    on.transfer(How::Blocking, |c| rma.get(&node.am, Target::node(0), node.bases[0], landing, Flags::NONE, c)).unwrap();
    assert_eq!(back, bytes);
}

#[test]
fn values_come_with_an_event_even_when_they_are_there_at_once() {
    let nodes = job(&Shape::new(2, 4));
    let (node, rma) = (&nodes[0], Rma::new(true, None));
    let on = Engines { am: &node.am, rma: &rma };
    let word = 0x0102_0304_0506_0708u64.to_ne_bytes();
    let put = |c| rma.put(&node.am, Target::node(1), node.bases[1], source(&word), Flags::NONE, c);
    assert_eq!(on.transfer(How::Blocking, put), Ok(Some(0)));
    for len in 1..=8 {
        let get = |c| rma.get_value(&node.am, Target::node(1), node.bases[1], len, c);
        let root = on.transfer(How::Value, get).unwrap().unwrap();
        let expected = u64::from_ne_bytes(std::array::from_fn(|i| if i < len { word[i] } else { 0 }));
        assert_eq!(on.wait_value(root, Whose::Own), Ok(expected));
        assert!(on.wait_value(root, Whose::Own).is_err(), "once");
    }
    let nothing = |c| rma.set(&node.am, Target::node(1), 0, (1, 0), Flags::NONE, c);
    assert_eq!(on.transfer(How::Event(Local::AtReturn), nothing), Ok(Some(0)), "no bytes: no address is looked at");
}

/// The client's hand-over: roots, and what they fetch.
type Batch = Vec<(usize, Box<[u64; 2]>)>;

/// One thread starts gets, a second one runs the replies, a third one waits for them in arrays and gives their ops back.
#[test]
fn events_are_completed_by_a_second_thread_and_waited_for_by_a_third() {
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 400 };
    let nodes = job(&Shape { threaded: true, ..Shape::new(2, 4) });
    let _watch = Watchdog::start();
    let (am, rma) = (&nodes[0].am, Rma::new(false, None));
    let (ask, asked) = mpsc::channel::<(u32, usize)>();
    let (give, given) = mpsc::sync_channel::<Batch>(4);
    thread::scope(|scope| {
        scope.spawn(move || {
            home::move_in();
            let mut ops = std::collections::HashSet::new();
            for round in 0..ROUNDS {
                let mut batch = Batch::new();
                for i in 0..1 + round % 70 {
                    let (id, op) = home::take().unwrap();
                    ops.insert(id.bits());
                    let bytes = Box::new([0u64; 2]);
                    op.start();
                    ask.send((id.bits(), bytes.as_ptr().expose_provenance())).unwrap();
                    batch.push((op.handle(id), bytes));
                    // Some by their own thread, between those of the other.
                    if i % 7 == 3 {
                        let (id, op) = home::take().unwrap();
                        assert_eq!(event::test(op.handle(id), Whose::Own), Ok(true));
                    }
                }
                give.send(batch).unwrap();
            }
            assert!(ops.len() < 70 * 8, "{} ops for at most six batches", ops.len());
        });
        scope.spawn(move || {
            for (id, to) in asked {
                for half in 0..2 {
                    // SAFETY: the words are the client's until the operation is complete.
                    unsafe { std::ptr::with_exposed_provenance_mut::<u64>(to).wrapping_add(half).write(to as u64) };
                }
                reference::on_done(id, 1);
            }
        });
        scope.spawn(move || {
            let on = Engines { am, rma: &rma };
            for batch in given {
                let mut roots: Vec<usize> = batch.iter().map(|(root, _)| *root).collect();
                let leaf = event::leaf(roots[0], event::Part::Category).unwrap();
                roots.push(leaf);
                on.wait_events(array(&mut roots), false, Whose::Any).unwrap();
                assert!(roots.contains(&0));
                on.wait_events(array(&mut roots), true, Whose::Any).unwrap();
                assert!(roots.iter().all(|root| *root == 0));
                for (root, words) in &batch {
                    assert_eq!(**words, [words.as_ptr().addr() as u64; 2], "the bytes are seen with the completion");
                    assert!(event::test(*root, Whose::Any).is_err(), "synced");
                }
            }
        });
    });
}
