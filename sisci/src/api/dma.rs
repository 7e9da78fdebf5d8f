//! DMA queues and channels.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{only, only_or, put, quick, reporting, silent};
use crate::calm::{self, Calm};
use crate::constants as flag;
use crate::descriptor::Owned;
use crate::dma::{self, Moved, Queue, Side};
use crate::error::{Error, Result};
use crate::flow::{Callback, State};
use crate::handle::{self, Handle, Kind, Named};
use crate::segment::local::LocalSegment;
use crate::trace::{self, Show};
use crate::{far, state};

/// `sci_cb_dma_t`
type Function = Option<unsafe extern "C" fn(*mut c_void, Handle, u32) -> u32>;

/// `dis_dma_vec_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Entry {
    size: u32,
    local: u32,
    remote: u32,
    flags: u32,
}

impl Show for *const Entry {
    fn show(&self, _: &str, _: bool, line: &mut String) {
        trace::address(*self, line);
    }
}

/// `sci_dma_channel_t`: there is one engine, so a channel is only a name for it.
struct Channel(Owned);

impl Named for Channel {
    const KIND: Kind = Kind::DmaChannel;
}

/// The flags of the functions that start a transfer.
const START: u32 = flag::DMA_READ
    | flag::DMA_WAIT
    | flag::USE_CALLBACK
    | flag::DMA_GLOBAL
    | flag::DMA_SYSDMA
    | flag::DMA_ADAPTER
    | flag::BROADCAST
    | flag::DMA_USER_MEM;

/// The program's function for the end of a transfer of `queue`.
fn callback(queue: Handle, function: Function, argument: *mut c_void, flags: u32) -> Option<Callback> {
    let argument = argument as usize;
    function.filter(|_| flags & flag::USE_CALLBACK != 0).map(|function| -> Callback {
        Box::new(move |status| {
            // SAFETY: the program's function, with its own argument. What it answers is for callbacks that come again; this one does not.
            unsafe { function(argument as *mut c_void, queue, status as u32) };
            true
        })
    })
}

reporting! {
    /// A queue of transfers.
    fn SCICreateDMAQueue(descriptor: Handle, queue: *mut Handle, adapter: u32, most: u32, flags: u32); {
        if flags & flag::DMA_PHDMA != 0 {
            return Err(Error::NotSupported);
        }
        only_or(flags, 0, START & !flag::USE_CALLBACK)?;
        let handle = dma::create(descriptor, adapter, most)?;
        // SAFETY: the program's place for the handle.
        unsafe { put(queue, handle) };
        Ok(())
    }

    /// Frees it; not while it is posted.
    fn SCIRemoveDMAQueue(queue: Handle, flags: u32); {
        only(flags, 0)?;
        dma::remove(queue)
    }

    /// Adds a transfer; with DMA_POST, DMA_WAIT and DMA_RESET also makes it.
    fn SCIEnqueueDMATransfer(
        queue: Handle, segment: Handle, remote: Handle, local: u32, there: u32, size: u32, flags: u32,
    ) -> u32, or dma::state(queue) as u32; {
        only(flags, flag::DMA_READ | flag::DMA_POST | flag::DMA_WAIT | flag::DMA_RESET | flag::DMA_GLOBAL | flag::DMA_SYSDMA | flag::DMA_ADAPTER)?;
        let pieces = [(local as usize, there as usize, size as usize)];
        dma::enqueue(queue, &Moved { local: Side::Segment(segment), remote, pieces: &pieces, flags })?;
        Ok(dma::state(queue) as u32)
    }

    /// Starts what was enqueued.
    fn SCIPostDMAQueue(queue: Handle, function: Function, argument: *mut c_void, flags: u32); {
        only(flags, flag::USE_CALLBACK)?;
        dma::post(queue, callback(queue, function, argument, flags))
    }

    /// Makes the queue idle.
    fn SCIResetDMAQueue(queue: Handle, flags: u32); {
        only(flags, 0)?;
        dma::reset(queue)
    }

    /// Ends what is posted; an unknown part was copied.
    fn SCIAbortDMAQueue(queue: Handle, flags: u32); {
        only(flags, 0)?;
        dma::abort(queue)
    }

    /// Waits until it is no longer posted. Programs pass the transfer's flags: they are ignored.
    fn SCIWaitForDMAQueue(queue: Handle, timeout: u32, _flags: u32) -> u32, or dma::state(queue) as u32; {
        Ok(dma::wait(queue, timeout)? as u32)
    }
}

/// A call begins that starts a transfer.
fn enter() -> Result<Calm> {
    calm::enter_copying(!far::is_on() && !trace::is_on())
}

quick! {
    /// Starts one transfer.
    fn SCIStartDmaTransfer(
        queue: Handle, segment: Handle, remote: Handle, local: usize, size: usize, there: usize, function: Function, argument: *mut c_void, flags: u32,
    ); {
        let _calm = enter()?;
        state::config()?;
        only(flags, START)?;
        let moved = Moved { local: Side::Segment(segment), remote, pieces: &[(local, there, size)], flags };
        dma::start(queue, &moved, callback(queue, function, argument, flags))
    }

    /// Starts a vector of transfers, made in order.
    fn SCIStartDmaTransferVec(
        queue: Handle, segment: Handle, remote: Handle, entries: usize, vector: *const Entry, function: Function, argument: *mut c_void, flags: u32,
    ); {
        let _calm = enter()?;
        state::config()?;
        only(flags, START)?;
        if entries > dma::MOST {
            return Err(Error::MaxEntries);
        }
        if entries == 0 || vector.is_null() {
            return Err(Error::IllegalParameter);
        }
        // SAFETY: the program's vector.
        let vector = unsafe { std::slice::from_raw_parts(vector, entries) };
        if vector.iter().any(|entry| entry.flags != 0) {
            return Err(Error::IllegalFlag);
        }
        let pieces: Vec<_> = vector.iter().map(|entry| (entry.local as usize, entry.remote as usize, entry.size as usize)).collect();
        let moved = Moved { local: Side::Segment(segment), remote, pieces: &pieces, flags };
        dma::start(queue, &moved, callback(queue, function, argument, flags))
    }

    /// Starts a transfer of the program's memory, which has to stay until it is done.
    fn SCIStartDmaTransferMem(
        queue: Handle, memory: *mut c_void, remote: Handle, size: usize, there: usize, function: Function, argument: *mut c_void, flags: u32,
    ); {
        let _calm = enter()?;
        state::config()?;
        only(flags, START)?;
        let moved = Moved { local: Side::Memory(memory.cast()), remote, pieces: &[(0, there, size)], flags };
        dma::start(queue, &moved, callback(queue, function, argument, flags))
    }
}

reporting! {
    /// A DMA channel: any type and number, all are the same engine.
    fn SCIRequestDMAChannel(descriptor: Handle, channel: *mut Handle, adapter: u32, kind: u32, _id: u32, flags: u32); {
        state::node_of(adapter)?;
        only(flags, flag::DMA_CHANNEL_SHARED)?;
        if !(flag::DMA_TYPE_DONTCARE..=flag::DMA_TYPE_TRANSPARENT).contains(&kind) {
            return Err(Error::DmaNotAvailable);
        }
        let owned = Owned::new(descriptor, Kind::DmaChannel)?;
        let handle = handle::reserve(Kind::DmaChannel)?.fill(Arc::new(Channel(owned)));
        // SAFETY: the program's place for the handle.
        unsafe { put(channel, handle) };
        Ok(())
    }

    /// Gives it back.
    fn SCIReturnDMAChannel(channel: Handle); {
        handle::get::<Channel>(channel)?.0.release();
        handle::remove(channel);
        Ok(())
    }

    /// A queue uses this channel.
    fn SCIAssignDMAChannel(channel: Handle, queue: Handle, flags: u32); {
        only(flags, 0)?;
        handle::get::<Channel>(channel)?;
        handle::get::<Queue>(queue).map(drop)
    }

    /// Counts as prepared, for DMA.
    fn SCIPrepareLocalSegmentForDMA(channel: Handle, segment: Handle, flags: u32); {
        only(flags, START)?;
        handle::get::<Channel>(channel)?;
        let segment = with_memory(segment)?;
        segment.prepared.fetch_or(dma::FOR_DMA, Ordering::AcqRel);
        Ok(())
    }

    /// No longer.
    fn SCIUnprepareLocalSegmentForDMA(channel: Handle, segment: Handle, flags: u32); {
        only(flags, START)?;
        handle::get::<Channel>(channel)?;
        handle::get::<LocalSegment>(segment)?.prepared.fetch_and(!dma::FOR_DMA, Ordering::AcqRel);
        Ok(())
    }
}

/// A segment that has memory.
fn with_memory(segment: Handle) -> Result<Arc<LocalSegment>> {
    let segment = handle::get::<LocalSegment>(segment)?;
    if segment.body.memory().is_some() { Ok(segment) } else { Err(Error::IllegalOperation) }
}

silent! {
    /// How far a queue is. Cheap: programs poll it.
    fn SCIDMAQueueState(queue: Handle) -> u32 {
        let state: State = dma::state(queue);
        state as u32
    }
}
