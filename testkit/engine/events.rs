//! Waits for events under loom, in the manner of `models`: a thread of a node waits, and serves messages meanwhile, for what
//! another thread of the node began. `xfer::models` has the events alone.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::models::{Bells, act, made};
use super::world::{Node, Shape};
use crate::am::source::Source;
use crate::explore::explore;
use crate::sci::copier;
use crate::sci::heap::Heap;
use crate::sync::{AtomicBool, Ordering};
use crate::verbs::{Begun, Local};
use crate::xfer::event::{self, Part, Whose};
use crate::xfer::op::Op;
use crate::xfer::table::Table;
use crate::xfer::wait::How;
use crate::xfer::{Engines, Rma, home, reference};
use loom::cell::UnsafeCell;
use loom::thread;
use std::cell::Cell;
use std::convert::Infallible;
use std::sync::Arc;

/// Two nodes of clients with threads.
struct Place {
    nodes: Vec<Node<Heap>>,
    rma: Rma,
    /// Node 1 looks at its messages from now on. Relaxed: only a completed operation orders it.
    looks: AtomicBool,
    /// The source of a put.
    source: UnsafeCell<()>,
}

// SAFETY: the cell holds nothing; loom reports who touches it out of order.
unsafe impl Sync for Place {}
// SAFETY: as above.
unsafe impl Send for Place {}

impl Place {
    fn new() -> Arc<Place> {
        let mut shape = Shape { threaded: true, acquainted: true, ..Shape::new(2, 2) };
        shape.config.spin = Some(1);
        let (nodes, rma) = (made(&shape, Bells::Wake), Rma::new(false, None));
        Arc::new(Place { nodes, rma, looks: AtomicBool::new(false), source: UnsafeCell::new(()) })
    }

    fn on(&self) -> Engines<'_, Heap> {
        Engines { am: &self.nodes[0].am, rma: &self.rma }
    }

    /// Node 0 starts a put of a word, by a message.
    fn put(&self) -> usize {
        let word = [7u8; 8];
        // SAFETY: the message takes the word before the call returns.
        let source = unsafe { Source::new(word.as_ptr(), word.len()) };
        let begin = |c: crate::xfer::Completion<'static>| {
            reference::put(&self.nodes[0].am, 1, self.nodes[0].bases[1], source, c.counts).map(|()| Begun::InFlight)
        };
        self.on().transfer(How::Event(Local::AtReturn), begin).unwrap().unwrap()
    }
}

/// One thread begins, the second waits, and whichever of them polls at the right moment runs the answer. Then the op is the
/// first thread's again, complete.
#[test]
fn loom_a_thread_waits_for_the_root_of_what_another_began() {
    explore(|| {
        let place = Place::new();
        let root = Cell::new(0);
        act(&place.nodes[0], |_| root.set(place.put()));
        let (other, root) = (place.clone(), root.get());
        let waits = thread::spawn(move || {
            act(&other.nodes[0], |_| {
                other.on().wait(root, Whose::Any).unwrap();
                assert!(other.looks.load(Ordering::Relaxed), "what came before the answer");
                assert!(event::test(root, Whose::Any).is_err(), "synced once");
                assert_ne!(home::take().unwrap().0.bits() + 1, root as u32, "its op is the other thread's");
            });
        });
        place.looks.store(true, Ordering::Relaxed);
        act(&place.nodes[1], |b| drop(b.am.poll()));
        act(&place.nodes[0], |a| drop(a.am.poll()));
        waits.join().unwrap();
        assert_eq!(place.nodes[0].am.peers[1].outstanding(), 0);
        let ops: Vec<home::Taken> = (0..2).map(|_| home::take().unwrap()).collect();
        assert!(ops.iter().all(|(_, op)| op.is_done()), "nothing was given back too early");
    });
}

/// The leaf says that the source is free: the thread that waits for it writes there.
#[test]
fn loom_a_thread_waits_for_the_leaf_of_what_another_began() {
    explore(|| {
        let place = Place::new();
        let copied = Cell::new(None);
        let begin = |c: crate::xfer::Completion<'static>| {
            let op: &'static Op = Table::get().op(c.counts.id).unwrap();
            let queued: Result<(), Infallible> = op.queue(Local::WhenAsked, |count| {
                copied.set(Some(count));
                Ok(())
            });
            assert!(queued.is_ok());
            Ok(Begun::InFlight)
        };
        let root = place.on().transfer(How::Event(Local::WhenAsked), begin).unwrap().unwrap();
        let leaf = event::leaf(root, Part::Local).unwrap();
        let other = place.clone();
        let waits = thread::spawn(move || {
            act(&other.nodes[0], |_| {
                other.on().wait(leaf, Whose::Any).unwrap();
                other.source.with_mut(|_| ());
            });
        });
        // As the DMA thread.
        place.source.with(|_| ());
        copier::count(copied.get().unwrap());
        waits.join().unwrap();
        assert_eq!(event::test(root, Whose::Own), Ok(true));
    });
}
