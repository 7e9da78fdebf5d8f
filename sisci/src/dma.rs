//! DMA queues and block transfers: copies that a thread of the library makes, or the caller itself if it waits for them anyway.
#![allow(unsafe_code)] // Copies between segments.

use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

use parking_lot::{Condvar, Mutex};

use crate::constants as flag;
use crate::descriptor::Owned;
use crate::error::{Error, Result};
use crate::handle::{self, Handle, Kind, Named, Slot};
use crate::map::Map;
use crate::memory;
use crate::name::{Deadline, deadline};
use crate::segment::Body;
use crate::segment::local::LocalSegment;
use crate::segment::remote::RemoteSegment;
use crate::state;
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
    /// A peer is gone.
    Error,
}

/// Entries of a vector, at most.
pub const MOST: usize = 256;
/// Bytes that are copied before the next look whether the transfer is aborted.
const STRETCH: usize = 1 << 20;
/// The bit of a segment's adapters that says: prepared for DMA alone.
pub const FOR_DMA: u32 = 1 << 31;

/// One stretch of bytes to copy.
#[derive(Clone, Copy)]
struct Piece {
    from: usize,
    to: usize,
    size: usize,
}

/// What has to stay while a transfer runs.
enum Held {
    Local(Arc<LocalSegment>),
    Remote(Arc<RemoteSegment>),
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
struct Use(Held);

impl Use {
    fn new(held: Held) -> Use {
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
    pieces: Vec<Piece>,
    uses: Vec<Use>,
}

/// A program's function for the end of a transfer: it gets the status; false ends it for good.
pub type Callback = Box<dyn FnOnce(Error) -> bool + Send>;

/// What a queue and a block transfer have in common: transfers on their way, and how far they are.
pub struct Flow {
    /// Its `size` is the state, so that a program that polls it takes no lock.
    slot: &'static Slot,
    gathered: Mutex<Vec<Transfer>>,
    /// Whether a thread copies.
    is_running: Mutex<bool>,
    changed: Condvar,
    is_aborted: AtomicBool,
    caller: Arc<Caller>,
}

impl Flow {
    fn new(slot: &'static Slot) -> Flow {
        Flow {
            slot,
            gathered: Mutex::default(),
            is_running: Mutex::new(false),
            changed: Condvar::new(),
            is_aborted: AtomicBool::new(false),
            caller: Arc::default(),
        }
    }

    fn state(&self) -> State {
        state_of(self.slot)
    }

    fn set(&self, state: State) {
        // Ordering: Release; who sees DONE sees the bytes.
        self.slot.size.store(state as usize, Ordering::Release);
    }

    /// Copies; says how it went.
    fn copy(&self, transfers: &[Transfer]) -> Error {
        for transfer in transfers {
            let is_there = || transfer.uses.iter().all(|held| held.0.is_there());
            for piece in &transfer.pieces {
                let mut done = 0;
                while done < piece.size {
                    if self.is_aborted.load(Ordering::Relaxed) {
                        return Error::Cancelled;
                    }
                    if !is_there() {
                        return Error::TransferFailed;
                    }
                    let size = STRETCH.min(piece.size - done);
                    let from = ptr::with_exposed_provenance::<u8>(piece.from + done);
                    let to = ptr::with_exposed_provenance_mut::<u8>(piece.to + done);
                    // SAFETY: ranges were checked when the transfer was made, and what they are in is held. They may overlap.
                    unsafe { ptr::copy(from, to, size) };
                    done += size;
                }
            }
            if !is_there() {
                return Error::TransferFailed;
            }
        }
        fence(Ordering::SeqCst);
        Error::Ok
    }

    /// Copies, and tells the end. `transfers` are let go before that: the program may remove the segments at once.
    fn run(&self, transfers: Vec<Transfer>, callback: Option<Callback>) -> Error {
        let status = self.copy(&transfers);
        drop(transfers);
        let mut running = self.is_running.lock();
        *running = false;
        self.set(match status {
            Error::Ok => State::Done,
            Error::Cancelled => State::Aborted,
            _ => State::Error,
        });
        self.changed.notify_all();
        drop(running);
        if let Some(callback) = callback {
            self.caller.call(Box::new(move || callback(status)));
        }
        status
    }

    /// Starts: by the engine, or in this thread if the caller waits.
    fn start(self: &Arc<Self>, transfers: Vec<Transfer>, callback: Option<Callback>, waits: bool) -> Result {
        self.is_aborted.store(false, Ordering::Relaxed);
        *self.is_running.lock() = true;
        self.set(State::Posted);
        if waits {
            return match self.run(transfers, callback) {
                Error::Ok => Ok(()),
                error => Err(error),
            };
        }
        let own = self.clone();
        engine(Box::new(move || {
            own.run(transfers, callback);
        }))
        .inspect_err(|_| self.set(State::Error))
    }

    /// Waits until it is no longer posted.
    fn wait(&self, until: Deadline) -> Result<State> {
        let mut running = self.is_running.lock();
        while self.state() == State::Posted {
            match until {
                None => self.changed.wait(&mut running),
                Some(until) => {
                    if self.changed.wait_until(&mut running, until).timed_out() && self.state() == State::Posted {
                        return Err(Error::Timeout);
                    }
                }
            }
        }
        Ok(self.state())
    }

    /// Ends what runs. When this returns no byte is written any more.
    fn abort(&self) -> Result {
        if self.state() != State::Posted {
            return Err(Error::IllegalOperation);
        }
        self.is_aborted.store(true, Ordering::Relaxed);
        self.wait(None).map(drop)
    }
}

/// The state that a slot has.
fn state_of(slot: &Slot) -> State {
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

/// `sci_dma_queue_t`
pub struct Queue {
    owned: Owned,
    flow: Arc<Flow>,
    most: usize,
    /// Held by calls that start something: only one does.
    starting: Mutex<()>,
}

impl Named for Queue {
    const KIND: Kind = Kind::DmaQueue;
}

/// What a transfer moves: stretches {local offset, remote offset, size}.
pub struct Moved<'a> {
    /// The local side: a segment, or memory of the program.
    pub local: Side,
    /// The remote segment.
    pub remote: Handle,
    /// The stretches.
    pub pieces: &'a [(usize, usize, usize)],
    /// Flags: DMA_READ and others.
    pub flags: u32,
}

/// The local side of a transfer.
#[derive(Clone, Copy)]
pub enum Side {
    /// A segment of this process.
    Segment(Handle),
    /// Memory of the program.
    Memory(*mut u8),
}

/// Whether offsets and size have the alignment that SISCI_DMA_ALIGN demands.
fn check_alignment(local: usize, remote: usize, size: usize) -> Result {
    let mask = state::config()?.dma_align - 1;
    match () {
        () if (local | remote) & mask != 0 => Err(Error::OffsetAlignment),
        () if size & mask != 0 => Err(Error::SizeAlignment),
        () => Ok(()),
    }
}

/// Checks a transfer, and finds its addresses.
fn prepare(moved: &Moved) -> Result<Transfer> {
    let remote = handle::get::<RemoteSegment>(moved.remote)?;
    if remote.body.memory().is_none() {
        return Err(Error::SegmentNotConnected);
    }
    let (local_base, local): (usize, Option<Arc<LocalSegment>>) = match moved.local {
        Side::Memory(address) => (address as usize, None),
        Side::Segment(segment) => {
            let segment = handle::get::<LocalSegment>(segment)?;
            if segment.prepared.load(Ordering::Acquire) == 0 {
                return Err(Error::SegmentNotPrepared);
            }
            (segment.body.whole()? as usize, Some(segment))
        }
    };
    let remote_base = remote.body.whole()? as usize;
    let mut pieces = Vec::with_capacity(moved.pieces.len());
    for &(at, there, size) in moved.pieces {
        remote.body.check(there, size)?;
        if let Some(segment) = &local {
            Body::check(&segment.body, at, size)?;
        }
        check_alignment(at, there, size)?;
        let (near, far) = (local_base + at, remote_base + there);
        let (from, to) = if moved.flags & flag::DMA_READ == 0 { (near, far) } else { (far, near) };
        pieces.push(Piece { from, to, size });
    }
    let uses = local.map(Held::Local).into_iter().chain([Held::Remote(remote)]).map(Use::new).collect();
    Ok(Transfer { pieces, uses })
}

/// SCICreateDMAQueue.
pub fn create(descriptor: Handle, adapter: u32, most: u32) -> Result<Handle> {
    state::node_of(adapter)?;
    let owned = Owned::new(descriptor, Kind::DmaQueue)?;
    let place = handle::reserve(Kind::DmaQueue)?;
    let flow = Arc::new(Flow::new(place.slot()));
    Ok(place.fill(Arc::new(Queue { owned, flow, most: most.max(1) as usize, starting: Mutex::default() })))
}

/// SCIRemoveDMAQueue.
pub fn remove(handle: Handle) -> Result {
    let queue = handle::get::<Queue>(handle)?;
    if queue.flow.state() == State::Posted {
        return Err(Error::IllegalOperation);
    }
    queue.flow.gathered.lock().clear();
    queue.owned.release();
    handle::remove(handle);
    queue.flow.caller.finish();
    Ok(())
}

/// Ends a queue or a block transfer, whatever it does.
pub fn forget(handle: Handle) -> Result {
    if let Ok(queue) = handle::get::<Queue>(handle) {
        let _ = queue.flow.abort();
        return remove(handle);
    }
    let block = handle::get::<Block>(handle)?;
    let _ = block.flow.abort();
    block.remove(handle);
    Ok(())
}

/// SCIEnqueueDMATransfer.
pub fn enqueue(handle: Handle, moved: &Moved) -> Result {
    let queue = handle::get::<Queue>(handle)?;
    {
        let _one = queue.starting.lock();
        if !matches!(queue.flow.state(), State::Idle | State::Gather) {
            return Err(Error::IllegalOperation);
        }
        let mut gathered = queue.flow.gathered.lock();
        if gathered.len() >= queue.most {
            return Err(Error::MaxEntries);
        }
        gathered.push(prepare(moved)?);
        queue.flow.set(State::Gather);
    }
    if moved.flags & flag::DMA_POST != 0 {
        post_and(&queue, None, moved.flags & flag::DMA_WAIT != 0)?;
        if moved.flags & flag::DMA_WAIT != 0 && moved.flags & flag::DMA_RESET != 0 {
            reset(handle)?;
        }
    }
    Ok(())
}

/// SCIPostDMAQueue.
pub fn post(handle: Handle, callback: Option<Callback>) -> Result {
    let queue = handle::get::<Queue>(handle)?;
    post_and(&queue, callback, false)
}

fn post_and(queue: &Queue, callback: Option<Callback>, waits: bool) -> Result {
    let one = queue.starting.lock();
    if queue.flow.state() != State::Gather {
        return Err(Error::IllegalOperation);
    }
    let transfers = std::mem::take(&mut *queue.flow.gathered.lock());
    queue.flow.set(State::Posted);
    drop(one);
    queue.flow.start(transfers, callback, waits)
}

/// SCIResetDMAQueue.
pub fn reset(handle: Handle) -> Result {
    let queue = handle::get::<Queue>(handle)?;
    let _one = queue.starting.lock();
    if queue.flow.state() == State::Posted {
        return Err(Error::IllegalOperation);
    }
    queue.flow.gathered.lock().clear();
    queue.flow.set(State::Idle);
    Ok(())
}

/// SCIStartDmaTransfer, and its relatives.
pub fn start(handle: Handle, moved: &Moved, callback: Option<Callback>) -> Result {
    let queue = handle::get::<Queue>(handle)?;
    if moved.pieces.len() > MOST {
        return Err(Error::MaxEntries);
    }
    let waits = moved.flags & flag::DMA_WAIT != 0;
    if waits && callback.is_some() {
        return Err(Error::IllegalFlag);
    }
    if let Side::Memory(address) = moved.local {
        let size = moved.pieces.first().map_or(0, |piece| piece.2);
        if address.is_null() || !memory::is_mapped(address, size) {
            return Err(Error::IllegalAddress);
        }
    }
    let one = queue.starting.lock();
    match queue.flow.state() {
        State::Posted => return Err(Error::Busy),
        State::Gather => return Err(Error::IllegalOperation),
        State::Idle | State::Done | State::Aborted | State::Error => {}
    }
    let transfer = prepare(moved)?;
    // Who looks at the state from now on sees POSTED, so the lock is not needed while this thread copies.
    queue.flow.set(State::Posted);
    drop(one);
    queue.flow.start(vec![transfer], callback, waits)
}

/// SCIAbortDMAQueue.
pub fn abort(handle: Handle) -> Result {
    handle::get::<Queue>(handle)?.flow.abort()
}

/// SCIDMAQueueState.
#[inline]
pub fn state(handle: Handle) -> State {
    handle::find(handle, Kind::DmaQueue).map_or(State::Error, state_of)
}

/// SCIWaitForDMAQueue.
pub fn wait(handle: Handle, timeout: u32) -> Result<State> {
    let queue = handle::get::<Queue>(handle)?;
    match queue.flow.state() {
        State::Idle | State::Gather => Err(Error::IllegalOperation),
        _ => queue.flow.wait(deadline(timeout)),
    }
}

/// `sci_block_transfer_t`
pub struct Block {
    flow: Arc<Flow>,
}

impl Named for Block {
    const KIND: Kind = Kind::BlockTransfer;
}

impl Block {
    fn remove(&self, handle: Handle) {
        handle::remove(handle);
        self.flow.caller.finish();
    }
}

/// SCITransferBlockAsync: from map to map.
pub fn transfer_block(
    from: (Handle, usize),
    to: (Handle, usize),
    size: usize,
    callback: Option<Box<dyn FnOnce(Handle, Error) -> bool + Send>>,
) -> Result<Handle> {
    let (_, source) = crate::pio::address(from.0, from.1, size)?;
    let (_, target) = crate::pio::address(to.0, to.1, size)?;
    let maps = [handle::get::<Map>(from.0)?, handle::get::<Map>(to.0)?];
    let uses = maps.into_iter().map(|map| Use::new(Held::Map(map))).collect();
    let pieces = vec![Piece { from: source as usize, to: target as usize, size }];
    let place = handle::reserve(Kind::BlockTransfer)?;
    let flow = Arc::new(Flow::new(place.slot()));
    flow.set(State::Posted);
    let handle = place.fill(Arc::new(Block { flow: flow.clone() }));
    let callback = callback.map(|callback| -> Callback {
        Box::new(move |status| {
            let goes_on = callback(handle, status);
            // It has told its end: nobody waits for it.
            if let Ok(block) = handle::get::<Block>(handle) {
                block.remove(handle);
            }
            goes_on
        })
    });
    flow.start(vec![Transfer { pieces, uses }], callback, false)?;
    Ok(handle)
}

/// SCIWaitForBlockTransfer: the handle names nothing afterwards.
pub fn wait_for_block(handle: Handle, timeout: u32) -> Result {
    let block = handle::get::<Block>(handle)?;
    let state = block.flow.wait(deadline(timeout))?;
    block.remove(handle);
    if state == State::Done { Ok(()) } else { Err(Error::TransferFailed) }
}

/// SCIAbortBlockTransfer.
pub fn abort_block(handle: Handle) -> Result {
    handle::get::<Block>(handle)?.flow.abort()
}
