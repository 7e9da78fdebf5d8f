//! Maps: segments in the program's own address space.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::card;
use crate::constants as flag;
use crate::descriptor::Owned;
use crate::error::{Error, Result};
use crate::far::{self, Shadow, Until};
use crate::handle::{self, Handle, Kind, Named};
use crate::memory::{self, Mapping};
use crate::segment::Body;
use crate::segment::local::LocalSegment;
use crate::segment::remote::RemoteSegment;
use crate::state;

/// Whose segment a map shows.
#[derive(Clone)]
pub enum Shown {
    /// One of this process.
    Local(Arc<LocalSegment>),
    /// A peer's.
    Remote(Arc<RemoteSegment>),
}

impl Shown {
    /// Its memory.
    pub fn body(&self) -> &Body {
        match self {
            Shown::Local(segment) => &segment.body,
            Shown::Remote(segment) => &segment.body,
        }
    }

    /// What stands for its memory in timing mode, and of another host.
    fn shadow(&self) -> Result<Option<&Arc<Shadow>>> {
        if let Shown::Remote(segment) = self { segment.shadow() } else { Ok(None) }
    }

    /// The place of its handle.
    pub fn place(&self) -> usize {
        match self {
            Shown::Local(segment) => segment.place(),
            Shown::Remote(segment) => segment.place(),
        }
    }
}

/// `sci_map_t`
pub struct Map {
    owned: Owned,
    /// Whose it is.
    pub shown: Shown,
    /// It is for loads alone.
    pub is_readonly: bool,
    /// Where in the segment it begins.
    offset: usize,
    /// Block transfers that use it.
    pub transfers: AtomicUsize,
    mapping: parking_lot::Mutex<Option<Mapping>>,
}

impl Map {
    /// The shadow that it shows, if its segment is far, and where in that it begins.
    pub fn shadow(&self) -> Option<(&Arc<Shadow>, usize)> {
        Some((self.shown.shadow().ok()??, self.offset))
    }

    /// The descriptor that owns it.
    pub fn descriptor(&self) -> Handle {
        self.owned.descriptor
    }
}

impl Named for Map {
    const KIND: Kind = Kind::Map;
}

/// What the calls that map are asked for.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// Bytes from the segment's beginning.
    pub offset: usize,
    /// Bytes; 0 for all that follow.
    pub size: usize,
    /// Where to map, with FIXED_MAP_ADDR.
    pub at: *mut u8,
    /// The flags.
    pub flags: u32,
}

/// Offsets of maps are multiples of so many bytes.
const OFFSETS: usize = 8;

/// Maps a segment. Returns the handle and the address.
pub fn map(descriptor: Handle, shown: Shown, wanted: Wanted) -> Result<(Handle, *mut u8)> {
    let config = state::config()?;
    if wanted.flags & (flag::CONDITIONAL_INTERRUPT_MAP | flag::UNCONDITIONAL_DATA_INTERRUPT_MAP) != 0 {
        return Err(Error::NotSupported);
    }
    let body = shown.body();
    if matches!(&shown, Shown::Remote(segment) if !segment.is_connected()) {
        return Err(Error::SegmentNotConnected);
    }
    let began = card::now();
    let memory = match shown.shadow()? {
        Some(shadow) => &shadow.memory,
        None => body.memory().ok_or(Error::IllegalOperation)?,
    };
    let size = if wanted.size == 0 { body.size().saturating_sub(wanted.offset) } else { wanted.size };
    body.check(wanted.offset, size)?;
    if size == 0 {
        return Err(Error::OutOfRange);
    }
    if !wanted.offset.is_multiple_of(OFFSETS) {
        return Err(Error::OffsetAlignment);
    }
    if config.strict && !size.is_multiple_of(config.pio_align) {
        return Err(Error::SizeAlignment);
    }
    let is_fixed = wanted.flags & flag::FIXED_MAP_ADDR != 0;
    let within = wanted.offset % memory::page();
    if is_fixed && (wanted.at.is_null() || !(wanted.at as usize).is_multiple_of(memory::page())) {
        return Err(Error::IllegalAddress);
    }
    if is_fixed && within != 0 {
        return Err(Error::OffsetAlignment);
    }
    let owned = Owned::new(descriptor, Kind::Map)?;
    let place = handle::reserve(Kind::Map)?;
    let at = if is_fixed { wanted.at } else { ptr::null_mut() };
    let is_readonly = wanted.flags & flag::READONLY_MAP != 0;
    if let Some(shadow) = shown.shadow()? {
        shadow.fetch_far(wanted.offset - within, within + size).map_err(|_| Error::SegmentNotConnected)?;
    }
    let mapping = memory.map(wanted.offset - within, within + size, at, is_readonly)?;
    if is_readonly {
        // Ordering: published by the handle.
        state::CARE.fetch_or(state::READONLY, Ordering::Relaxed);
    }
    let base = mapping.base.wrapping_add(within);
    let slot = place.slot();
    // Ordering: published by the handle.
    slot.base.store(base as usize, Ordering::Relaxed);
    slot.size.store(size, Ordering::Relaxed);
    slot.segment.store(shown.place(), Ordering::Relaxed);
    body.maps.fetch_add(1, Ordering::AcqRel);
    if let Some(shadow) = shown.shadow()? {
        shadow.shown(&mapping, wanted.offset - within);
    }
    if let Some(card) = card::get().filter(|_| matches!(shown, Shown::Remote(_))) {
        card::wait_until(began + card.hardware.map);
    }
    let map = Map {
        owned,
        shown,
        is_readonly,
        offset: wanted.offset,
        transfers: AtomicUsize::new(0),
        mapping: Some(mapping).into(),
    };
    Ok((place.fill(Arc::new(map)), base))
}

/// SCIMapRemoteSegment.
pub fn map_remote(segment: Handle, wanted: Wanted) -> Result<(Handle, *mut u8)> {
    let segment = handle::get::<RemoteSegment>(segment)?;
    map(segment.descriptor(), Shown::Remote(segment.clone()), wanted)
}

/// SCIMapLocalSegment.
pub fn map_local(segment: Handle, wanted: Wanted) -> Result<(Handle, *mut u8)> {
    let segment = handle::get::<LocalSegment>(segment)?;
    map(segment.descriptor(), Shown::Local(segment.clone()), wanted)
}

/// SCIUnmapSegment.
pub fn unmap(handle: Handle) -> Result {
    let map = handle::get::<Map>(handle)?;
    if map.transfers.load(Ordering::Acquire) > 0 {
        return Err(Error::Busy);
    }
    far::flush(Until::Left);
    let Some(mapping) = map.mapping.lock().take() else { return Err(Error::IllegalParameter) };
    handle::remove(handle);
    if let Some((shadow, _)) = map.shadow() {
        shadow.hidden(&mapping);
    }
    drop(mapping);
    map.shown.body().maps.fetch_sub(1, Ordering::AcqRel);
    map.owned.release();
    Ok(())
}
