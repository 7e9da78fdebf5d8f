//! Events under loom: operations that one thread starts, another completes and a third one syncs. A block is two ops here.

use super::event::{self, NotLive, Whose};
use super::home::{self, Taken};
use super::op::Op;
use super::table::Table;
use crate::explore::explore;
use crate::sync::{AtomicU32, AtomicU64, Ordering, yield_now};
use loom::thread;
use std::sync::Arc;

/// What threads tell each other, as the network and the client would.
#[derive(Default)]
struct Board {
    /// Requests for the thread that runs replies: number of the op + 1, and what it fetches.
    requests: [AtomicU32; 2],
    fetched: [AtomicU64; 2],
}

impl Board {
    /// Starts a get.
    fn request(&self, n: usize, (id, op): Taken) -> usize {
        op.start();
        // ORDERING: Release ↔ Acquire in `answer`, as a message and its answer.
        self.requests[n].store(id.bits() + 1, Ordering::Release);
        op.handle(id)
    }

    /// The thread that runs replies: what arrives, and that it has.
    fn answer(&self, n: usize) {
        let id = wait_for(|| self.requests[n].load(Ordering::Acquire) as usize) as u32 - 1; // ORDERING: see `request`
        self.fetched[n].store(n as u64 + 1, Ordering::Relaxed); // Relaxed: as a get's bytes, ordered by the completion
        let op = Table::get().op(super::op::OpId::from_bits(id)).unwrap();
        assert!(op.finish(), "its request is in flight");
    }

    fn check(&self, n: usize) {
        assert_eq!(self.fetched[n].load(Ordering::Relaxed), n as u64 + 1, "the bytes of a get that is complete");
    }
}

fn wait_for(look: impl Fn() -> usize) -> usize {
    loop {
        match look() {
            0 => yield_now(),
            seen => return seen,
        }
    }
}

fn sync(event: usize, whose: Whose) {
    while !event::test(event, whose).unwrap() {
        yield_now();
    }
}

/// One thread starts, the second completes, the third tests and frees, while the first takes ops until it has the same one
/// again: it is complete once, is never two operations at a time, and no completion is lost.
#[test]
fn loom_an_event_is_synced_by_a_third_thread_and_its_op_used_again() {
    explore(|| {
        let board = Arc::new(Board::default());
        let (b, c) = (board.clone(), board.clone());
        let first = home::take().unwrap();
        let event = board.request(0, first);
        let replies = thread::spawn(move || b.answer(0));
        let third = thread::spawn(move || {
            sync(event, Whose::Any);
            c.check(0);
            assert_eq!(dead(event), Some(NotLive::Synced));
        });
        let other = home::take().unwrap();
        assert_ne!(other.0, first.0);
        // The home has no more: what the third thread gave back, or a new block.
        let next = home::take().unwrap();
        assert!(next.0 != other.0 && next.1.is_done());
        let again = board.request(1, next);
        assert_ne!(again, event, "each use is another event");
        board.answer(1); // by this thread: waiting for a second answer as well made the model endless
        sync(again, Whose::Own);
        board.check(1);
        replies.join().unwrap();
        third.join().unwrap();
        assert!(other.1.is_done() && first.1.is_done());
    });
}

fn dead(event: usize) -> Option<NotLive> {
    event::find(event, Whose::Any).err()
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
