//! Several images on a node: threads that call the same collectives, each at its own pace. Their calls are matched by
//! order.
//!
//! The last image of a node to make a call starts one collective for the calls of all. It takes the sequence number
//! under the lock, so nodes agree on the order, however their threads run.
//!
//! Must not know: how threads come to their images.

#![allow(unsafe_code)] // client memory and mapped regions

use super::call::{Addresses, Call};
use super::description::Description;
use super::tasks::Counting;
use super::team::Images;
use crate::base::error::Error;
use crate::sync::ModeLock;
use crate::xfer::home::Taken;
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

impl Call {
    /// Makes one call from the calls of a node's images, given in image order.
    pub fn merge(images: &Images, member: usize, calls: &[Call]) -> Call {
        let first = &calls[0];
        let agreed = |c: &Call| (c.kind, c.root, c.each, c.flags, c.lists);
        if let Some(other) = calls.iter().position(|c| agreed(c) != agreed(first)) {
            let (a, b) = (Description::new(first), Description::new(&calls[other]));
            let base = images.first(member);
            crate::base::fatal(format_args!(
                "image {base} called {a}, image {} of the same node called {b}",
                base + other
            ));
        }
        let (root, which) = images.owner(first.root.min(images.total() - 1));
        let roots = if root == member { &calls[which] } else { first };
        let kind = first.kind;
        let each_one = |side: fn(&Call) -> &Addresses| -> Addresses {
            if first.lists { side(first).clone() } else { calls.iter().map(|c| side(c)[0]).collect() }
        };
        let dst = if kind.has_root_destination() { roots.dst.clone() } else { each_one(|c| &c.dst) };
        let src = if kind.has_root_source() { roots.src.clone() } else { each_one(|c| &c.src) };
        Call { dst, src, ..first.clone() }
    }
}

/// A collective that some of the node's images have called, and others not yet.
struct PendingCall {
    calls: Vec<Option<Call>>,
    counting: Counting,
}

#[derive(Default)]
struct Waiting {
    /// Number of the oldest pending call.
    base: u64,
    pending: VecDeque<PendingCall>,
    /// Calls that each image has made.
    made: Vec<u64>,
}

/// Matches the calls of the node's images.
pub struct ImageQueue(ModeLock<RefCell<Waiting>>);

impl ImageQueue {
    /// # Safety
    /// The caller keeps the contract of [`ModeLock::new`].
    pub unsafe fn new(threaded: bool) -> ImageQueue {
        // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
        ImageQueue(unsafe { ModeLock::new(threaded, RefCell::default()) })
    }

    /// Adds a call of image `image`, one of the `images.count(member)` images of this node. `taken` counts its
    /// call. For the last image, returns the result of `begin` with the merged call, and what counts the calls of all
    /// images.
    pub fn call<R>(
        &self,
        (images, member, image): (&Images, usize, usize),
        call: Call,
        taken: Taken,
        begin: impl FnOnce(Call) -> R,
    ) -> Option<(R, Counting)> {
        let count = images.count(member);
        self.0.with(|waiting| {
            let mut w = waiting.borrow_mut();
            w.made.resize(count, 0);
            let at = (w.made[image] - w.base) as usize;
            w.made[image] += 1;
            if at == w.pending.len() {
                w.pending.push_back(PendingCall { calls: vec![None; count], counting: Counting::new() });
            }
            let entry = &mut w.pending[at];
            entry.calls[image] = Some(call);
            entry.counting.push(taken);
            if entry.counting.len() < count {
                return None;
            }
            // Each image calls in order, so the complete call is the oldest.
            let oldest = w.pending.pop_front()?;
            w.base += 1;
            let calls: Vec<Call> = oldest.calls.into_iter().flatten().collect();
            Some((begin(Call::merge(images, member, &calls)), oldest.counting))
        })
    }

    /// The oldest call that some images have made and others have not, and those others.
    pub fn missing(&self) -> Option<(Call, Vec<usize>)> {
        self.0.with(|waiting| {
            let w = waiting.borrow();
            let calls = &w.pending.front()?.calls;
            let absent = calls.iter().enumerate().filter(|(_, call)| call.is_none()).map(|(image, _)| image);
            Some((calls.iter().flatten().next()?.clone(), absent.collect()))
        })
    }
}

thread_local! {
    /// Phase of the images' barrier in which this thread is.
    static PHASE: Cell<u64> = const { Cell::new(0) };
}

#[derive(Default)]
struct Phases {
    /// Images that have arrived in the phase that is not notified yet.
    arrived: u32,
    notified: u64,
    done: u64,
    /// Outcome of the last phase of each parity. Two are enough: an image can only be one phase behind, because the
    /// phase after the next needs its arrival.
    matched: [bool; 2],
}

/// The images of a node in a barrier of all images. The last image that arrives notifies for the node.
#[derive(Default)]
pub struct ImageBarrier(Mutex<Phases>);

impl ImageBarrier {
    /// Lets one of `images` images arrive. The last one runs `notify`.
    pub fn arrive(&self, images: u32, notify: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        {
            let mut phases = self.0.lock();
            PHASE.set(phases.notified);
            phases.arrived += 1;
            if phases.arrived < images {
                return Ok(());
            }
            phases.arrived = 0;
        }
        notify()?;
        self.0.lock().notified += 1;
        Ok(())
    }

    /// Waits for the end of the phase in which this thread arrived. `finished` is called by one thread at a time, and
    /// not again once it has returned a result. `step` waits a little.
    pub fn wait(
        &self,
        finished: impl Fn() -> Result<Option<bool>, Error>,
        step: impl Fn(u32) -> u32,
    ) -> Result<bool, Error> {
        let phase = PHASE.get();
        let mut failed = 0;
        loop {
            {
                let mut phases = self.0.lock();
                let mine = phases.notified > phase && phases.done == phase;
                if let Some(matched) = if mine { finished()? } else { None } {
                    phases.matched[phase as usize & 1] = matched;
                    phases.done += 1;
                }
                if phases.done > phase {
                    return Ok(phases.matched[phase as usize & 1]);
                }
            }
            failed = step(failed);
        }
    }
}
