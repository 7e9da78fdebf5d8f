//! Segments, connections, maps.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Later, only, only_or, put, reporting, silent};
use crate::constants as flag;
use crate::error::{Error, Result};
use crate::event::{Callback, Event};
use crate::handle::{self, Handle, Kind};
use crate::map;
use crate::name::deadline;
use crate::segment::local::{self, LocalSegment};
use crate::segment::remote::{self, RemoteSegment};
use crate::segment::share;

/// `sci_cb_local_segment_t`
type LocalFunction = Option<unsafe extern "C" fn(*mut c_void, Handle, u32, u32, u32, u32) -> u32>;
/// `sci_cb_remote_segment_t`
type RemoteFunction = Option<unsafe extern "C" fn(*mut c_void, Handle, u32, u32) -> u32>;
/// `SCI_CALLBACK_CANCEL`: no more calls. Anything else goes on.
pub const CANCEL: u32 = 1;

/// The flags of SCICreateSegment.
const CREATE: u32 = flag::USE_CALLBACK
    | flag::EMPTY
    | flag::PRIVATE
    | flag::AUTO_ID
    | flag::DMA_SOURCE_ONLY
    | flag::DMA_GLOBAL
    | flag::PHYSICAL
    | flag::CUDA_BUFFER
    | flag::BROADCAST
    | flag::ALLOW_UNICAST;
/// The flags of SCIMapRemoteSegment, also those that mean nothing here.
const MAP: u32 = flag::FIXED_MAP_ADDR
    | flag::READONLY_MAP
    | flag::LOCK_OPERATION
    | flag::CONDITIONAL_INTERRUPT_MAP
    | flag::UNCONDITIONAL_DATA_INTERRUPT_MAP
    | flag::READ_PREFETCH_AGGR_HOLD_MAP
    | flag::READ_PREFETCH_NO_HOLD_MAP
    | flag::IO_MAP_IOSPACE
    | flag::DMOVE_MAP
    | flag::WRITES_DISABLE_GATHER_MAP
    | flag::DISABLE_128_BYTES_PACKETS
    | flag::NO_MEMORY_LOOPBACK_MAP
    | flag::SHARED_MAP
    | flag::BROADCAST
    | flag::WRITE_BACK_CACHE_MAP;

/// The handle, once the call that makes it has got it.
fn wait_for(later: &Later) -> Handle {
    *later.wait()
}

/// The program's function for a local segment, and where its handle goes.
fn local_callback(function: LocalFunction, argument: *mut c_void, flags: u32) -> (Option<Callback>, Later) {
    let later = Later::default();
    let argument = argument as usize;
    let own = later.clone();
    let callback = function.filter(|_| flags & flag::USE_CALLBACK != 0).map(|function| -> Callback {
        Arc::new(move |event: Event| {
            let (argument, status) = (argument as *mut c_void, event.status as u32);
            // SAFETY: the program's function, with its own argument.
            let action =
                unsafe { function(argument, wait_for(&own), event.reason as u32, event.node, event.adapter, status) };
            action != CANCEL
        })
    });
    (callback, later)
}

reporting! {
    /// Makes a segment of zeros.
    fn SCICreateSegment(
        descriptor: Handle, segment: *mut Handle, id: u32, size: usize, function: LocalFunction, argument: *mut c_void, flags: u32,
    ); {
        only(flags, CREATE)?;
        let (callback, later) = local_callback(function, argument, flags);
        let handle = local::create(descriptor, local::Wanted { id, size, flags, callback })?;
        // SAFETY: the program's place for the handle. It is there before the program's function is called.
        unsafe { put(segment, handle) };
        let _ = later.set(handle);
        Ok(())
    }

    /// Makes an adapter ready for it.
    fn SCIPrepareSegment(segment: Handle, adapter: u32, flags: u32); {
        only(flags, flag::DMA_SOURCE_ONLY | flag::BROADCAST)?;
        local::prepare(segment, adapter)
    }

    /// Peers may connect from now on.
    fn SCISetSegmentAvailable(segment: Handle, adapter: u32, flags: u32); {
        only(flags, 0)?;
        local::set_available(segment, adapter)
    }

    /// No longer.
    fn SCISetSegmentUnavailable(segment: Handle, adapter: u32, flags: u32); {
        only(flags, flag::NOTIFY | flag::FORCE_DISCONNECT)?;
        local::set_unavailable(segment, adapter, flags)
    }

    /// BUSY while it is mapped here, in a queue, or connected.
    fn SCIRemoveSegment(segment: Handle, flags: u32); {
        only(flags, flag::FORCE_REMOVE)?;
        local::remove(segment, flags & flag::FORCE_REMOVE != 0)
    }

    /// Other processes of this node may own it as well.
    fn SCIShareSegment(segment: Handle, flags: u32); {
        only(flags, flag::SHARE_EXTERNAL)?;
        share::share(segment)
    }

    /// Owns a segment of another process of this node as well.
    fn SCIAttachLocalSegment(
        descriptor: Handle, segment: *mut Handle, id: u32, size: *mut usize, function: LocalFunction, argument: *mut c_void, flags: u32,
    ); {
        only(flags, flag::USE_CALLBACK | flag::BROADCAST)?;
        let (callback, later) = local_callback(function, argument, flags);
        let (handle, bytes) = share::attach(descriptor, id, callback)?;
        // SAFETY: the program's places.
        unsafe { put(segment, handle) };
        // SAFETY: as above.
        unsafe { put(size, bytes) };
        let _ = later.set(handle);
        Ok(())
    }

    /// Makes memory of the program the memory of an EMPTY segment.
    fn SCIRegisterSegmentMemory(address: *mut c_void, size: usize, segment: Handle, flags: u32); {
        only(flags, flag::LOCK_USER_MEM | flag::CUDA_BUFFER)?;
        if flags & flag::CUDA_BUFFER != 0 {
            return Err(Error::NotSupported);
        }
        // SAFETY: the program vouches for this memory: private pages it gives away, shared ones stay as they are.
        unsafe { local::register(address.cast(), size, segment) }
    }

    /// Takes the oldest event that nobody took.
    fn SCIWaitForLocalSegmentEvent(segment: Handle, node: *mut u32, adapter: *mut u32, timeout: u32, flags: u32) -> u32, or 0; {
        only(flags, 0)?;
        let segment = handle::get::<LocalSegment>(segment)?;
        let event = segment.events.wait(deadline(timeout))?;
        // SAFETY: the program's places.
        unsafe { put(node, event.node) };
        // SAFETY: as above.
        unsafe { put(adapter, event.adapter) };
        Ok(event.reason as u32)
    }

    /// Connects to a peer's segment. Does not wait until there is one.
    fn SCIConnectSegment(
        descriptor: Handle, segment: *mut Handle, node: u32, id: u32, adapter: u32, function: RemoteFunction, argument: *mut c_void,
        timeout: u32, flags: u32,
    ); {
        only(flags, flag::USE_CALLBACK | flag::ASYNCHRONOUS_CONNECT | flag::BROADCAST | flag::LOCK_OPERATION)?;
        let later = Later::default();
        let (own, argument) = (later.clone(), argument as usize);
        let callback = function.filter(|_| flags & flag::USE_CALLBACK != 0).map(|function| -> Callback {
            Arc::new(move |event: Event| {
                let (argument, status) = (argument as *mut c_void, event.status as u32);
                // SAFETY: the program's function, with its own argument.
                CANCEL != unsafe { function(argument, wait_for(&own), event.reason as u32, status) }
            })
        });
        let handle = remote::connect(descriptor, remote::Wanted { node, id, adapter, timeout, flags, callback })?;
        // SAFETY: the program's place for the handle.
        unsafe { put(segment, handle) };
        let _ = later.set(handle);
        Ok(())
    }

    /// BUSY while it is mapped, or in a queue.
    fn SCIDisconnectSegment(segment: Handle, flags: u32); {
        only(flags, 0)?;
        remote::disconnect(segment)
    }

    /// Takes the oldest event that nobody took.
    fn SCIWaitForRemoteSegmentEvent(segment: Handle, status: *mut u32, timeout: u32, flags: u32) -> u32, or 0; {
        only(flags, 0)?;
        let segment = handle::get::<RemoteSegment>(segment)?;
        let event = segment.events.wait(deadline(timeout))?;
        // SAFETY: the program's place.
        unsafe { put(status, event.status as u32) };
        Ok(event.reason as u32)
    }

    /// Maps a peer's segment, or a part of it. Null on an error.
    fn SCIMapRemoteSegment(
        segment: Handle, place: *mut Handle, offset: usize, size: usize, address: *mut c_void, flags: u32,
    ) -> *mut c_void, or std::ptr::null_mut(); {
        only(flags, MAP)?;
        let (handle, base) = map::map_remote(segment, map::Wanted { offset, size, at: address.cast(), flags })?;
        // SAFETY: the program's place for the handle.
        unsafe { put(place, handle) };
        Ok(base.cast())
    }

    /// Maps a segment of this process, or a part of it. Null on an error.
    fn SCIMapLocalSegment(
        segment: Handle, place: *mut Handle, offset: usize, size: usize, address: *mut c_void, flags: u32,
    ) -> *mut c_void, or std::ptr::null_mut(); {
        only_or(flags, flag::FIXED_MAP_ADDR | flag::READONLY_MAP | flag::BROADCAST, MAP)?;
        let (handle, base) = map::map_local(segment, map::Wanted { offset, size, at: address.cast(), flags })?;
        // SAFETY: the program's place for the handle.
        unsafe { put(place, handle) };
        Ok(base.cast())
    }

    /// Unmaps it.
    fn SCIUnmapSegment(place: Handle, flags: u32); {
        only(flags, 0)?;
        map::unmap(place)
    }
}

/// What a function that does not report says of a segment; 0 of a handle that names none.
fn of<T: handle::Named>(segment: Handle, what: impl Fn(&T) -> Result<usize>) -> usize {
    let Ok(_calm) = crate::calm::enter() else { return 0 };
    handle::get::<T>(segment).and_then(|segment| what(&segment)).unwrap_or(0)
}

silent! {
    /// Bytes, as asked for at its creation.
    fn SCIGetLocalSegmentSize(segment: Handle) -> usize {
        of(segment, |segment: &LocalSegment| Ok(segment.body.size()))
    }

    /// Its number.
    fn SCIGetLocalSegmentId(segment: Handle) -> u32 {
        of(segment, |segment: &LocalSegment| Ok(segment.id as usize)) as u32
    }

    /// Bytes, as asked for at its creation.
    fn SCIGetRemoteSegmentSize(segment: Handle) -> usize {
        of(segment, |segment: &RemoteSegment| Ok(segment.body.size()))
    }

    /// Its number.
    fn SCIGetRemoteSegmentId(segment: Handle) -> u32 {
        of(segment, |segment: &RemoteSegment| Ok(segment.id as usize)) as u32
    }

    /// Its owner's node.
    fn SCIGetRemoteSegmentNodeId(segment: Handle) -> u32 {
        of(segment, |segment: &RemoteSegment| Ok(segment.node as usize)) as u32
    }

    /// Where a map is; null for a handle that names none.
    fn SCIGetMapPointer(place: Handle) -> *mut c_void {
        handle::find(place, Kind::Map).map_or(0, |slot| slot.base.load(Ordering::Relaxed)) as *mut c_void
    }

    /// There are no bus addresses: always 0.
    fn SCIGetMapPhysAddr(_place: Handle) -> u64 {
        0
    }
}
