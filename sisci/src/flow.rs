//! Copies by a thread of the library, or by a caller who waits for them anyway: what DMA queues and block transfers have in common.
#![allow(unsafe_code)] // Copies between segments.

use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::calm;
use crate::card;
use crate::error::{Error, Result};
use crate::far::{self, Until};
use crate::fault;
use crate::handle::{self, Slot};
use crate::map::Map;
use crate::name::Deadline;
use crate::nap::Nap;
use crate::segment::local::LocalSegment;
use crate::segment::remote::RemoteSegment;
use crate::worker::{self, Caller};

/// `sci_dma_queue_state_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// Nothing to do.
    Idle = 0,
    /// Has transfers that are not posted.
    Gather,
    /// Is being worked on.
    Posted,
    /// All bytes are where they belong.
    Done,
    /// Aborted by the program.
    Aborted,
    /// A peer is gone, or SISCI_FAULT wants it.
    Error,
}

/// Bytes that are copied before the next look whether the transfer is aborted.
const STRETCH: usize = 1 << 20;

/// Bytes that are copied before signals may come: some milliseconds.
const BREATH: usize = 64 << 20;

/// Where bytes are.
#[derive(Clone, Copy)]
pub enum Spot {
    /// At this address.
    Here(usize),
    /// So far from the beginning of the transfer's remote segment, which is on another host.
    There(usize),
}

impl Spot {
    /// So many bytes behind it.
    fn behind(self, bytes: usize) -> Spot {
        match self {
            Spot::Here(address) => Spot::Here(address + bytes),
            Spot::There(at) => Spot::There(at + bytes),
        }
    }
}

/// One stretch of bytes to copy.
#[derive(Clone, Copy)]
pub struct Piece {
    /// From there.
    pub from: Spot,
    /// To there.
    pub to: Spot,
    /// So many bytes.
    pub size: usize,
}

/// What has to stay while a transfer runs.
pub enum Held {
    /// A segment of this process.
    Local(Arc<LocalSegment>),
    /// A peer's.
    Remote(Arc<RemoteSegment>),
    /// A map, and what it shows.
    Map(Arc<Map>),
}

impl Held {
    fn transfers(&self) -> &AtomicUsize {
        match self {
            Held::Local(segment) => &segment.body.transfers,
            Held::Remote(segment) => &segment.body.transfers,
            Held::Map(map) => &map.transfers,
        }
    }

    /// Whether the peer behind it is there.
    fn is_there(&self) -> bool {
        match self {
            Held::Local(_) => true,
            Held::Remote(segment) => segment.is_connected(),
            Held::Map(map) => handle::at(map.shown.place()).is_none_or(|slot| !slot.broken.load(Ordering::Acquire)),
        }
    }
}

/// Counts as a use of what it holds.
pub struct Use(Held);

impl Use {
    /// Something is used from now on.
    pub fn new(held: Held) -> Use {
        held.transfers().fetch_add(1, Ordering::AcqRel);
        Use(held)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.0.transfers().fetch_sub(1, Ordering::AcqRel);
    }
}

/// Pieces, in order, and what they need.
pub struct Transfer {
    /// The pieces.
    pub pieces: Vec<Piece>,
    /// What they need.
    pub uses: Vec<Use>,
}

impl Transfer {
    /// Whether all peers are there.
    fn is_there(&self) -> bool {
        self.uses.iter().all(|held| held.0.is_there())
    }

    /// The remote segment that is on another host.
    fn remote(&self) -> Option<&RemoteSegment> {
        self.uses.iter().find_map(|held| match &held.0 {
            Held::Remote(segment) if segment.targets().is_some() => Some(&**segment),
            _ => None,
        })
    }

    /// Whether all its bytes have arrived where they go, as far as another host has told. `of_maps`: what was stored to maps leaves first.
    fn has_settled(&self, of_maps: bool) -> bool {
        let targets = self.remote().and_then(RemoteSegment::targets);
        (!of_maps || far::flush(Until::Acknowledged)) && targets.is_none_or(|targets| targets.settle())
    }

    /// Whether it is between maps, which may be far.
    fn is_of_maps(&self) -> bool {
        self.uses.iter().any(|held| matches!(held.0, Held::Map(_)))
    }

    /// Copies `size` bytes.
    fn copy(&self, from: Spot, to: Spot, size: usize) -> Result {
        let remote = || self.remote().ok_or(Error::TransferFailed);
        match (from, to) {
            (Spot::Here(from), Spot::Here(to)) => {
                let (from, to) = (ptr::with_exposed_provenance::<u8>(from), ptr::with_exposed_provenance_mut::<u8>(to));
                // SAFETY: ranges were checked when the transfer was made, and what they are in is held. They may overlap.
                unsafe { ptr::copy(from, to, size) };
                Ok(())
            }
            // SAFETY: as above.
            (Spot::Here(from), Spot::There(at)) => unsafe {
                remote()?.put(at, ptr::with_exposed_provenance(from), size)
            },
            // SAFETY: as above.
            (Spot::There(at), Spot::Here(to)) => unsafe {
                remote()?.get(at, ptr::with_exposed_provenance_mut(to), size)
            },
            (Spot::There(_), Spot::There(_)) => Err(Error::TransferFailed),
        }
    }
}

/// A program's function for the end of a transfer: it gets the status; false ends it for good.
pub type Callback = Box<dyn FnOnce(Error) -> bool + Send>;

/// What a queue and a block transfer have in common: transfers on their way, and how far they are.
pub struct Flow {
    /// Its `size` is the state, so that a program that polls it takes no lock.
    slot: &'static Slot,
    /// Transfers that are not posted.
    pub gathered: Mutex<Vec<Transfer>>,
    /// How often it has ended, and how the last time. Held while the state changes from POSTED, so that who waits for that does not miss it.
    ending: Mutex<(u64, State)>,
    changed: Nap,
    is_aborted: AtomicBool,
    /// Calls the program at the end.
    pub caller: Arc<Caller>,
}

impl Flow {
    /// Nothing to do yet. The state stands in `slot`.
    pub fn new(slot: &'static Slot) -> Flow {
        Flow {
            slot,
            gathered: Mutex::default(),
            ending: Mutex::new((0, State::Idle)),
            changed: Nap::default(),
            is_aborted: AtomicBool::new(false),
            caller: Arc::default(),
        }
    }

    /// How far it is.
    pub fn state(&self) -> State {
        state_of(self.slot)
    }

    /// It is so far now.
    pub fn set(&self, state: State) {
        // Ordering: Release; who sees DONE sees the bytes.
        self.slot.size.store(state as usize, Ordering::Release);
    }

    /// It will start: from now on others see POSTED, and may abort it.
    pub fn arm(&self) {
        self.is_aborted.store(false, Ordering::Relaxed);
        self.set(State::Posted);
    }

    /// Copies; says how it went.
    fn copy(&self, transfers: &[Transfer]) -> Error {
        let is_cut_short = fault::transfer();
        for transfer in transfers {
            let is_far = far::is_on() && transfer.is_of_maps();
            if is_far {
                far::fetch();
            }
            for piece in &transfer.pieces {
                let mut done = 0;
                while done < piece.size {
                    if self.is_aborted.load(Ordering::Relaxed) {
                        return Error::Cancelled;
                    }
                    let all = STRETCH.min(piece.size - done);
                    let size = if is_cut_short { all / 2 } else { all };
                    if !transfer.is_there()
                        || transfer.copy(piece.from.behind(done), piece.to.behind(done), size).is_err()
                        || is_cut_short
                    {
                        return Error::TransferFailed;
                    }
                    done += size;
                    if done.is_multiple_of(BREATH) {
                        calm::breathe();
                    }
                }
            }
            // Done means that the bytes are there. A peer that is stopped is waited for, as long as it is not lost.
            while far::is_on() && !transfer.has_settled(is_far) {
                if self.is_aborted.load(Ordering::Relaxed) {
                    return Error::Cancelled;
                }
                if !transfer.is_there() {
                    return Error::TransferFailed;
                }
            }
            if !transfer.is_there() {
                return Error::TransferFailed;
            }
        }
        fence(Ordering::SeqCst);
        Error::Ok
    }

    /// Lets the time pass that the card's engine needs; false if the program aborts it.
    fn take_time(&self, transfers: &[Transfer], asked: f64) -> bool {
        let Some(card) = card::get() else { return true };
        let bytes = transfers.iter().flat_map(|transfer| &transfer.pieces).map(|piece| piece.size).sum();
        card::wait_while(card.transfer(bytes, asked), || !self.is_aborted.load(Ordering::Relaxed))
    }

    /// Copies, and tells the end. `transfers` are let go before that: the program may remove the segments at once.
    fn run(&self, transfers: Vec<Transfer>, callback: Option<Callback>, asked: f64) -> Error {
        let status = if self.take_time(&transfers, asked) { self.copy(&transfers) } else { Error::Cancelled };
        drop(transfers);
        let mut ending = self.ending.lock();
        let state = match status {
            Error::Ok => State::Done,
            Error::Cancelled => State::Aborted,
            _ => State::Error,
        };
        *ending = (ending.0 + 1, state);
        self.set(state);
        self.changed.changed();
        drop(ending);
        if let Some(callback) = callback {
            self.caller.call(Box::new(move || callback(status)));
        }
        status
    }

    /// Starts: by the engine, or in this thread if the caller waits.
    pub fn start(self: &Arc<Self>, transfers: Vec<Transfer>, callback: Option<Callback>, waits: bool) -> Result {
        // What was stored before the transfer is there before it.
        let asked = if card::get().is_some() { card::now() } else { 0.0 };
        far::flush(Until::Left);
        if waits {
            // An abort by a handler would wait for what it has interrupted.
            return match calm::with_lock(|| self.run(transfers, callback, asked)) {
                Error::Ok => Ok(()),
                error => Err(error),
            };
        }
        let own = self.clone();
        engine(Box::new(move || {
            own.run(transfers, callback, asked);
        }))
        .inspect_err(|_| self.set(State::Error))
    }

    /// Waits until it is no longer posted, or has ended once meanwhile: somebody else may post it again before this thread runs.
    pub fn wait(&self, until: Deadline) -> Result<State> {
        let mut ending = self.ending.lock();
        let before = ending.0;
        let mut is_over = false;
        while self.state() == State::Posted && ending.0 == before {
            if is_over {
                return Err(Error::Timeout);
            }
            let count = self.changed.count();
            // One more look when the time is over.
            MutexGuard::unlocked(&mut ending, || is_over = !self.changed.sleep(count, until));
        }
        Ok(if ending.0 == before { self.state() } else { ending.1 })
    }

    /// Ends what runs. When this returns this process writes no byte any more; what another host was sent may still come there.
    pub fn abort(&self) -> Result {
        if self.state() != State::Posted {
            return Err(Error::IllegalOperation);
        }
        self.is_aborted.store(true, Ordering::Relaxed);
        self.wait(None).map(drop)
    }
}

/// The state that a slot has.
pub fn state_of(slot: &Slot) -> State {
    // Ordering: Acquire meets the Release of `set`.
    let states = [State::Idle, State::Gather, State::Posted, State::Done, State::Aborted, State::Error];
    states.get(slot.size.load(Ordering::Acquire)).copied().unwrap_or(State::Error)
}

/// The thread that copies, and what it has to do.
#[derive(Default)]
struct Engine {
    work: Mutex<VecDeque<Box<dyn FnOnce() + Send>>>,
    changed: Condvar,
}

/// The engine, once the first transfer has started it.
static ENGINE: Mutex<Option<Arc<Engine>>> = Mutex::new(None);

/// Gives the engine something to do.
fn engine(work: Box<dyn FnOnce() + Send>) -> Result {
    let mut place = ENGINE.lock();
    if place.is_none() {
        let engine = Arc::new(Engine::default());
        let own = engine.clone();
        worker::spawn("sisci-dma", move || {
            loop {
                let mut work = own.work.lock();
                let Some(next) = work.pop_front() else {
                    own.changed.wait(&mut work);
                    continue;
                };
                drop(work);
                next();
            }
        })?;
        *place = Some(engine);
    }
    if let Some(engine) = &*place {
        engine.work.lock().push_back(work);
        engine.changed.notify_one();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::{Kind, reserve};

    #[test]
    fn a_wait_ends_although_the_queue_is_posted_again_at_once() {
        let reserved = reserve(Kind::DmaQueue).unwrap();
        let flow = Flow::new(reserved.slot());
        flow.arm();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| flow.wait(None));
            // It ends, and is posted again before the waiter runs: as soon as there is a waiter.
            loop {
                let mut ending = flow.ending.lock();
                *ending = (ending.0 + 1, State::Done);
                flow.set(State::Done);
                let woken = flow.changed.changed();
                flow.arm();
                drop(ending);
                // Or before it sleeps.
                if woken == 1 || waiter.is_finished() {
                    break;
                }
                std::thread::yield_now();
            }
            assert_eq!(waiter.join().unwrap(), Ok(State::Done));
        });
    }
}
