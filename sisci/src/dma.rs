//! DMA queues and block transfers. How they copy: `flow`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use crate::constants as flag;
use crate::descriptor::Owned;
use crate::error::{Error, Result};
use crate::flow::{Callback, Flow, Held, Piece, Spot, State, Transfer, Use, state_of};
use crate::handle::{self, Handle, Kind, Named};
use crate::map::Map;
use crate::memory;
use crate::name::deadline;
use crate::segment::Body;
use crate::segment::local::LocalSegment;
use crate::segment::remote::RemoteSegment;
use crate::state;

/// Entries of a vector, at most.
pub const MOST: usize = 256;
/// The bit of a segment's adapters that says: prepared for DMA alone.
pub const FOR_DMA: u32 = 1 << 31;

/// `sci_dma_queue_t`
pub struct Queue {
    owned: Owned,
    flow: Arc<Flow>,
    most: usize,
    /// Held by calls that start something: only one does. True once the queue is being freed: nothing starts any more.
    starting: Mutex<bool>,
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
    if !remote.is_reached() {
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
    let remote_base = if remote.targets().is_some() { None } else { Some(remote.body.whole()? as usize) };
    let mut pieces = Vec::with_capacity(moved.pieces.len());
    for &(at, there, size) in moved.pieces {
        remote.body.check(there, size)?;
        if let Some(segment) = &local {
            Body::check(&segment.body, at, size)?;
        }
        check_alignment(at, there, size)?;
        let near = Spot::Here(local_base + at);
        let far = remote_base.map_or(Spot::There(there), |base| Spot::Here(base + there));
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
        // Its callback may start it again until it sees this.
        *queue.starting.lock() = true;
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
        let waits = moved.flags & flag::DMA_WAIT != 0;
        let posted = post_and(&queue, None, waits);
        if waits && moved.flags & flag::DMA_RESET != 0 {
            reset(handle)?;
        }
        return posted;
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
    if *one || queue.flow.state() != State::Gather {
        return Err(Error::IllegalOperation);
    }
    let transfers = std::mem::take(&mut *queue.flow.gathered.lock());
    queue.flow.arm();
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
    if *one {
        return Err(Error::IllegalParameter);
    }
    match queue.flow.state() {
        State::Posted => return Err(Error::Busy),
        State::Gather => return Err(Error::IllegalOperation),
        State::Idle | State::Done | State::Aborted | State::Error => {}
    }
    let transfer = prepare(moved)?;
    // Who looks at the state from now on sees POSTED, so the lock is not needed while this thread copies.
    queue.flow.arm();
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
    if maps[1].is_readonly {
        return Err(Error::IllegalOperation);
    }
    let uses = maps.into_iter().map(|map| Use::new(Held::Map(map))).collect();
    let pieces = vec![Piece { from: Spot::Here(source as usize), to: Spot::Here(target as usize), size }];
    let place = handle::reserve(Kind::BlockTransfer)?;
    let flow = Arc::new(Flow::new(place.slot()));
    flow.arm();
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
    let started = flow.start(vec![Transfer { pieces, uses }], callback, false);
    started.inspect_err(|_| handle::remove(handle))?;
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
