//! Events under loom: operations that one thread starts, another completes and others test or sync, by their root and by their
//! leaves. A block is two ops here.

#![allow(unsafe_code)] // client memory and mapped segments

use super::event::{self, NotLive, Part, Whose};
use super::home::{self, Taken};
use super::op::Op;
use crate::explore::explore;
use crate::sci::copier;
use crate::sync::{AtomicU32, AtomicU64, ModelCell, Ordering, yield_now};
use crate::verbs::Local;
use loom::thread;
use std::convert::Infallible;
use std::sync::Arc;

fn sync(event: usize, whose: Whose) {
    while !event::test(event, whose).unwrap() {
        yield_now();
    }
}

fn dead(event: usize) -> Option<NotLive> {
    event::find(event, Whose::Any).err()
}

/// One thread starts, the second completes, the third tests and frees, while the first takes ops until it may have the same
/// one again: it is complete once, is never two operations at a time, and no completion is lost.
#[test]
fn loom_an_event_is_synced_by_a_third_thread_and_its_op_used_again() {
    explore(|| {
        let fetched = Arc::new(AtomicU64::new(0));
        // Relaxed: as a get's bytes, ordered by the completion alone.
        let bytes = |fetched: &AtomicU64| fetched.load(Ordering::Relaxed);
        let (first, other) = (home::take().unwrap(), home::take().unwrap());
        let event = first.1.handle(first.0);
        first.1.start();
        let (to, from) = (fetched.clone(), fetched.clone());
        let replies = thread::spawn(move || {
            to.store(1, Ordering::Relaxed); // Relaxed: as above
            assert!(first.1.finish(), "its request is in flight");
        });
        let third = thread::spawn(move || {
            sync(event, Whose::Any);
            assert_eq!(bytes(&from), 1, "the bytes of a get that is complete");
            assert_eq!(dead(event), Some(NotLive::Synced), "whoever has its op now");
        });
        // The home has no more: what the third thread gave back, or a new block.
        let next = home::take().unwrap();
        assert!(next.0 != other.0 && next.1.is_done());
        if next.0 == first.0 {
            assert_eq!(bytes(&fetched), 1, "what came before it was given back");
        }
        next.1.start();
        let again = next.1.handle(next.0);
        assert!(again != event && !event::test(again, Whose::Own).unwrap(), "another operation, in flight");
        replies.join().unwrap();
        assert!(next.1.finish() && event::test(again, Whose::Own).unwrap(), "no completion is lost");
        assert_eq!(dead(again), Some(NotLive::Synced));
        third.join().unwrap();
        assert!(other.1.is_done() && first.1.is_done());
    });
}

/// The client must not do this, but it harms nobody: one thread syncs the event, the other gets an error.
#[test]
fn loom_an_event_that_two_threads_sync_is_given_back_once() {
    explore(|| {
        let (id, op) = home::take().unwrap();
        let event = op.handle(id);
        let other = thread::spawn(move || event::test(event, Whose::Any).is_ok());
        let third = thread::spawn(move || event::test(event, Whose::Any).is_ok());
        assert_eq!(u32::from(other.join().unwrap()) + u32::from(third.join().unwrap()), 1);
        let again: Vec<_> = (0..3).map(|_| home::take().unwrap().0).filter(|taken| *taken == id).collect();
        assert_eq!(again.len(), 1, "its op is in the home's list once");
    });
}

/// Two threads give back one op each: the home's thread finds both, and each once.
#[test]
fn loom_ops_that_two_threads_give_back_are_all_found() {
    explore(|| {
        let given = Arc::new(AtomicU32::new(0));
        let ops: Vec<Taken> = (0..2).map(|_| home::take().unwrap()).collect();
        let threads: Vec<_> = ops
            .iter()
            .map(|&(id, op)| {
                let (given, event) = (given.clone(), op.handle(id));
                thread::spawn(move || {
                    sync(event, Whose::Any);
                    given.fetch_add(1, Ordering::Relaxed); // Relaxed: nothing but the list orders what the others did
                })
            })
            .collect();
        while given.load(Ordering::Relaxed) < 2 {
            yield_now();
        }
        let again: Vec<Taken> = (0..2).map(|_| home::take().unwrap()).collect();
        let numbers = |list: &[Taken]| list.iter().map(|(id, _)| id.bits()).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(numbers(&again), numbers(&ops), "none is lost, none is found twice");
        assert!(again.iter().all(|&(_, op): &(_, &Op)| op.is_done()));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// The client's memory in an operation. Nothing is in the cells; loom reports who touches one out of order.
#[derive(Default)]
struct Memory {
    /// The source of a put, which the DMA thread copies.
    source: ModelCell<()>,
    /// Where that put lands.
    target: ModelCell<()>,
    /// What an answer brings.
    fetched: ModelCell<()>,
}

// SAFETY: the cells hold nothing.
unsafe impl Sync for Memory {}
// SAFETY: the cells hold nothing.
unsafe impl Send for Memory {}

/// Queues one copy of `op`, as for the DMA thread: the count that says when it is made.
fn queue(op: &'static Op) -> &'static AtomicU64 {
    let mut copied = None;
    let queued: Result<(), Infallible> = op.queue(Local::WhenAsked, |count| {
        copied = Some(count);
        Ok(())
    });
    assert!(queued.is_ok());
    copied.unwrap()
}

/// An operation of one copy and one message. One thread waits for local completion, and then has the source back. Another
/// tests the leaf of a category, and has everything if it is complete. The root outlives both leaves' uses, and is synced once,
/// by a thread that did not start it.
#[test]
fn loom_leaves_and_root_of_an_operation_are_used_by_several_threads() {
    explore(|| {
        let memory = Arc::new(Memory::default());
        let (id, op) = home::take().unwrap();
        op.start();
        let copied = queue(op);
        let root = op.handle(id);
        let leaves = [Part::Local, Part::Category].map(|part| event::leaf(root, part).unwrap());
        assert!(leaves[0] != leaves[1] && leaves.iter().all(|leaf| *leaf != 0 && *leaf != root));
        let of = memory.clone();
        let dma = thread::spawn(move || {
            of.source.with(|_| ());
            of.target.with_mut(|_| ());
            copier::count(copied);
        });
        let of = memory.clone();
        let local = thread::spawn(move || {
            sync(leaves[0], Whose::Any);
            of.source.with_mut(|_| ());
            assert_eq!(event::test(leaves[0], Whose::Any), Ok(true), "what is complete stays so");
        });
        let of = memory.clone();
        let category = thread::spawn(move || {
            // Two threads that wait would give way to each other for ever.
            if event::test(leaves[1], Whose::Any).unwrap() {
                of.target.with(|_| ());
                of.fetched.with(|_| ());
            }
        });
        memory.fetched.with_mut(|_| ());
        assert!(op.finish(), "its request is in flight");
        local.join().unwrap();
        category.join().unwrap();
        let of = memory.clone();
        let last = thread::spawn(move || {
            sync(root, Whose::Any);
            of.target.with(|_| ());
            of.fetched.with(|_| ());
            assert_eq!(dead(root), Some(NotLive::Synced));
        });
        last.join().unwrap();
        assert!(leaves.iter().all(|leaf| event::is_leaf_done(*leaf) == Ok(None)), "leaves die with their root");
        dma.join().unwrap();
    });
}

/// A thread waits for a leaf while another syncs the root, and the op is used again. The client must not do this, but the wait
/// ends: it does not wait for the op's next operation.
#[test]
fn loom_a_wait_for_a_leaf_ends_with_its_root_though_the_op_is_used_again() {
    explore(|| {
        let (first, other) = (home::take().unwrap(), home::take().unwrap());
        let copied = queue(first.1);
        let root = first.1.handle(first.0);
        let leaf = event::leaf(root, Part::Local).unwrap();
        let waits = thread::spawn(move || {
            while matches!(event::is_leaf_done(leaf), Ok(Some(false))) {
                yield_now();
            }
        });
        copier::count(copied);
        assert_eq!(event::test(root, Whose::Own), Ok(true));
        let again = home::take().unwrap();
        assert!(again.0 == first.0 && again.1.handle(again.0) != root);
        let copied = queue(again.1);
        let next = event::leaf(again.1.handle(again.0), Part::Local).unwrap();
        waits.join().unwrap();
        assert_eq!(event::is_leaf_done(leaf), Ok(None));
        assert_eq!(event::is_leaf_done(next), Ok(Some(false)), "its copy is under way");
        copier::count(copied);
        assert_eq!(event::is_leaf_done(next), Ok(Some(true)));
        assert!(other.1.is_done());
    });
}
