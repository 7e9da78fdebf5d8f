//! Events under loom: operations that one thread starts, another completes and a third one syncs. A block is two ops here.

use super::event::{self, NotLive, Whose};
use super::home::{self, Taken};
use super::op::Op;
use crate::explore::explore;
use crate::sync::{AtomicU32, AtomicU64, Ordering, yield_now};
use loom::thread;
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
