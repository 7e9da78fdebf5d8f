//! SCIQuery: what programs ask about the library, adapters, segments, maps and DMA.
#![allow(unsafe_code)] // Structures of the program's.

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::constants as c;
use crate::error::{Error, Result};
use crate::handle::{self, Handle, Kind};
use crate::segment::local::LocalSegment;
use crate::segment::remote::RemoteSegment;
use crate::state;

/// `sci_query_string_t`
#[repr(C)]
struct QueryString {
    text: *mut c_char,
    length: u32,
}

/// `sci_query_adapter_t`
#[repr(C)]
struct QueryAdapter {
    adapter: u32,
    _port: u32,
    subcommand: u32,
    data: *mut c_void,
}

/// `sci_query_system_t`
#[repr(C)]
struct QuerySystem {
    subcommand: u32,
    data: *mut c_void,
}

/// `sci_query_local_segment_t`, `sci_query_remote_segment_t`, `sci_query_map_t`
#[repr(C)]
struct QueryHandle {
    handle: Handle,
    subcommand: u32,
    data: u64,
}

/// `sci_query_dma_t`
#[repr(C)]
struct QueryDma {
    adapter: u32,
    subcommand: u32,
    data: *mut c_void,
}

/// `sci_dma_capabilities_t`
#[repr(C)]
struct DmaCapabilities {
    num_channels: u32,
    max_transfer_size: u32,
    max_vector_length: u32,
    support_mem2io: u32,
    support_io2mem: u32,
    support_io2io: u32,
    min_align_bytes: u32,
    suggested_align_bytes: u32,
}

/// When the library was asked first: the link is up since then.
static SINCE: OnceLock<Instant> = OnceLock::new();

/// Bytes of a transfer, at most.
const MOST_BYTES: u32 = 0x8000_0000;
/// The number of the adapter's type (`adapter_type` has its text).
pub const TYPE: u32 = 1;

/// SCIQuery.
///
/// # Safety
/// `data` is null or the structure of the command, with pointers to what that says.
pub unsafe fn query(command: u32, data: *mut c_void, flags: u32) -> Result {
    state::config()?;
    SINCE.get_or_init(Instant::now);
    if data.is_null() {
        return Err(Error::IllegalParameter);
    }
    match command {
        c::Q_VENDORID => {
            // SAFETY: the caller's, as in the arms below.
            unsafe { text(data.cast(), c"gasnet-sci, software SCI") }
        }
        c::Q_API => {
            // SAFETY: the caller's.
            unsafe { text(data.cast(), c"SISCI API version 2.0, software SCI") }
        }
        c::Q_SISCI_DRIVER_VERSION => {
            let version = concat!("gasnet-sci ", env!("CARGO_PKG_VERSION"), "\0");
            // SAFETY: the caller's.
            unsafe {
                text(data.cast(), std::ffi::CStr::from_bytes_with_nul(version.as_bytes()).unwrap_or(c"gasnet-sci"))
            }
        }
        c::Q_ADAPTER => {
            // SAFETY: the caller's.
            let query = unsafe { &*data.cast::<QueryAdapter>() };
            let value = adapter(query)?;
            // SAFETY: it points to a number, or is null.
            unsafe { number(query.data, value) }
        }
        c::Q_SYSTEM => {
            // SAFETY: the caller's.
            let query = unsafe { &*data.cast::<QuerySystem>() };
            let value = match query.subcommand {
                c::Q_SYSTEM_HOSTBRIDGE => c::HOSTBRIDGE_NOT_AVAILABLE,
                c::Q_SYSTEM_WRITE_POSTING_ENABLED | c::Q_SYSTEM_WRITE_COMBINING_ENABLED => 1,
                c::Q_SYSTEM_CPU_CACHE_LINE_SIZE => 64,
                _ => return Err(Error::IllegalQuery),
            };
            // SAFETY: as above.
            unsafe { number(query.data, value) }
        }
        c::Q_LOCAL_SEGMENT | c::Q_REMOTE_SEGMENT | c::Q_MAP => {
            // SAFETY: the caller's.
            let query = unsafe { &mut *data.cast::<QueryHandle>() };
            query.data = of_handle(command, query.handle, query.subcommand)?;
            Ok(())
        }
        c::Q_DMA => {
            // SAFETY: the caller's.
            let query = unsafe { &*data.cast::<QueryDma>() };
            // SAFETY: the caller's.
            unsafe { dma(query, flags) }
        }
        c::Q_DEVICE => Err(Error::NotSupported),
        _ => Err(Error::IllegalQuery),
    }
}

/// Writes a text, cut to the room that is there.
///
/// # Safety
/// The structure's text has `length` bytes.
unsafe fn text(query: *mut QueryString, value: &std::ffi::CStr) -> Result {
    // SAFETY: the caller's.
    let query = unsafe { &*query };
    if query.text.is_null() || query.length == 0 {
        return Err(Error::IllegalParameter);
    }
    // SAFETY: the caller's.
    let room = unsafe { std::slice::from_raw_parts_mut(query.text.cast::<u8>(), query.length as usize) };
    let bytes = value.to_bytes();
    let length = bytes.len().min(room.len() - 1);
    room[..length].copy_from_slice(&bytes[..length]);
    room[length] = 0;
    Ok(())
}

/// Writes a number.
///
/// # Safety
/// `data` is null or points to a number, aligned or not.
unsafe fn number(data: *mut c_void, value: u32) -> Result {
    if data.is_null() {
        return Err(Error::IllegalParameter);
    }
    // SAFETY: the caller's.
    unsafe { data.cast::<u32>().write_unaligned(value) };
    Ok(())
}

/// What there is to know of an adapter.
fn adapter(query: &QueryAdapter) -> Result<u32> {
    let node = state::node_of(query.adapter)?;
    let config = state::config()?;
    Ok(match query.subcommand {
        c::Q_ADAPTER_NODEID
        | c::Q_ADAPTER_SERIAL_NUMBER
        | c::Q_ADAPTER_PHYS_MEM_NODEID
        | c::Q_ADAPTER_PHYS_MBX_NODEID
        | c::Q_ADAPTER_PHYS_LINK_PORT_NODEID => node,
        c::Q_ADAPTER_NUMBER => query.adapter,
        c::Q_ADAPTER_CARD_TYPE => TYPE,
        c::Q_ADAPTER_CONFIGURED
        | c::Q_ADAPTER_LINK_OPERATIONAL
        | c::Q_ADAPTER_HW_LINK_STATUS_IS_OK
        | c::Q_ADAPTER_FIRMWARE_OK
        | c::Q_ADAPTER_CONNECTED_TO_EXPECTED_SWITCH_PORT
        | c::Q_ADAPTER_NUMBER_OF_LINKS
        | c::Q_ADAPTER_LINK_CABLE_INSERTED
        | c::Q_ADAPTER_LINK_ENABLED => 1,
        c::Q_ADAPTER_DMA_SIZE_ALIGNMENT | c::Q_ADAPTER_DMA_OFFSET_ALIGNMENT => config.dma_align as u32,
        c::Q_ADAPTER_DMA_MTU => MOST_BYTES,
        c::Q_ADAPTER_SUGGESTED_MIN_DMA_SIZE => 4096,
        c::Q_ADAPTER_SUGGESTED_MIN_BLOCK_SIZE | c::Q_ADAPTER_STREAM_BUFFER_SIZE => 64,
        c::Q_ADAPTER_NUMBER_OF_STREAMS | c::Q_ADAPTER_LINK_WIDTH => 16,
        c::Q_ADAPTER_ATT_PAGE_SIZE => crate::memory::page() as u32,
        c::Q_ADAPTER_ATT_NUMBER_OF_ENTRIES | c::Q_ADAPTER_ATT_AVAILABLE_ENTRIES => 0x1_0000,
        c::Q_ADAPTER_LINK_SPEED => 3,
        c::Q_ADAPTER_LINK_UPTIME => SINCE.get().map_or(0, |since| since.elapsed().as_secs() as u32),
        c::Q_ADAPTER_MCAST_MAX_GROUPS => 4,
        c::Q_ADAPTER_INSTANCE_NUMBER
        | c::Q_ADAPTER_CONNECTED_TO_SWITCH
        | c::Q_ADAPTER_LOCAL_SWITCH_TYPE
        | c::Q_ADAPTER_LOCAL_SWITCH_PORT_NUMBER
        | c::Q_ADAPTER_SCI_LINK_FREQUENCY
        | c::Q_ADAPTER_B_LINK_FREQUENCY
        | c::Q_ADAPTER_IO_BUS_FREQUENCY
        | c::Q_ADAPTER_BDF
        | c::Q_ADAPTER_LINK_DOWNTIME
        | c::Q_ADAPTER_LINK_PARTNER_PORT_NO => 0,
        _ => return Err(Error::IllegalQuery),
    })
}

/// What there is to know of a segment or map. There are no bus addresses here: a program that prints or compares them gets a number that
/// no other segment has, and that stays.
fn of_handle(command: u32, handle: Handle, subcommand: u32) -> Result<u64> {
    let invented = |handle: Handle| (handle::place(handle) as u64) << 32;
    match (command, subcommand) {
        (
            c::Q_LOCAL_SEGMENT,
            c::Q_LOCAL_SEGMENT_IOADDR | c::Q_LOCAL_SEGMENT_PHYS_ADDR | c::Q_LOCAL_SEGMENT_VIRTUAL_KERNEL_ADDR,
        ) => handle::get::<LocalSegment>(handle).map(|_| invented(handle)),
        (c::Q_REMOTE_SEGMENT, c::Q_REMOTE_SEGMENT_IOADDR) => {
            handle::get::<RemoteSegment>(handle).map(|_| invented(handle))
        }
        (c::Q_MAP, c::Q_MAP_MAPPED_TO_LOCAL_TARGET | c::Q_MAP_QUERY_REMOTE_MAPPED_TO_LOCAL_TARGET) => {
            let map = handle::get::<crate::map::Map>(handle)?;
            Ok(match &map.shown {
                crate::map::Shown::Local(_) => 1,
                crate::map::Shown::Remote(segment) => state::config()?.nodes.contains(&segment.node).into(),
            })
        }
        (c::Q_MAP, c::Q_MAP_IOADDR) => {
            let slot = handle::find(handle, Kind::Map)?;
            Ok((slot.segment.load(Ordering::Relaxed) as u64) << 32)
        }
        (c::Q_MAP, c::Q_MAP_PHYS_ADDR) => handle::find(handle, Kind::Map).map(|_| 0),
        _ => Err(Error::IllegalQuery),
    }
}

/// What there is to know of DMA. The flags name an engine; all are the same one here.
///
/// # Safety
/// The structure's pointer is that of the subcommand.
unsafe fn dma(query: &QueryDma, flags: u32) -> Result {
    state::node_of(query.adapter)?;
    if flags & !(c::DMA_ADAPTER | c::DMA_SYSDMA | c::DMA_GLOBAL) != 0 {
        return Err(Error::IllegalFlag);
    }
    match query.subcommand {
        c::Q_DMA_AVAILABLE => {
            // SAFETY: the caller's.
            unsafe { number(query.data, 1) }
        }
        c::Q_DMA_CAPABILITIES if query.data.is_null() => Err(Error::IllegalParameter),
        c::Q_DMA_CAPABILITIES => {
            let align = state::config()?.dma_align as u32;
            let capabilities = DmaCapabilities {
                num_channels: 1,
                max_transfer_size: MOST_BYTES,
                max_vector_length: crate::dma::MOST as u32,
                support_mem2io: 1,
                support_io2mem: 1,
                support_io2io: 0,
                min_align_bytes: align,
                suggested_align_bytes: 64,
            };
            // SAFETY: the caller's.
            unsafe { query.data.cast::<DmaCapabilities>().write_unaligned(capabilities) };
            Ok(())
        }
        _ => Err(Error::IllegalQuery),
    }
}
