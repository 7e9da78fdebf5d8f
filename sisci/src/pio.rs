//! Copies by the processor, barriers, and sequences, which say whether all has arrived.
#![allow(unsafe_code)] // Copies into and out of maps.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

use crate::calm;
use crate::card;
use crate::constants as flag;
use crate::descriptor::Owned;
use crate::error::{Error, Result};
use crate::far::{self, Until};
use crate::fault::{self, Status};
use crate::handle::{self, Handle, Kind, Named, Slot};
use crate::map::Map;
use crate::net;
use crate::segment::remote::RemoteSegment;
use crate::state::{self, CARE, FAR, FAULTS, READONLY};

/// `sci_sequence_t`
pub struct Sequence(Owned);

impl Named for Sequence {
    const KIND: Kind = Kind::Sequence;
}

/// What copies have to look at, from the variables.
pub fn configure(config: &crate::config::Config) {
    let faults = if config.fault == crate::config::Fault::default() { 0 } else { FAULTS };
    let far = if card::get().is_some() { FAR } else { 0 };
    if far != 0 {
        far::set_on();
    }
    CARE.fetch_or((config.pio_align - 1) | faults | far, Ordering::Relaxed);
}

/// Whether faults are asked for.
#[inline]
fn has_faults() -> bool {
    CARE.load(Ordering::Relaxed) & FAULTS != 0
}

/// Whether offset and size have the alignment that SISCI_PIO_ALIGN demands.
#[inline]
fn check_alignment(offset: usize, size: usize) -> Result {
    let mask = CARE.load(Ordering::Relaxed) & (FAULTS - 1);
    match () {
        () if (offset | size) & mask == 0 => Ok(()),
        () if offset & mask != 0 => Err(Error::OffsetAlignment),
        () => Err(Error::SizeAlignment),
    }
}

/// Whether the peer of a map or sequence is gone.
#[inline]
fn is_broken(slot: &Slot) -> bool {
    // Ordering: Acquire meets the Release of `RemoteSegment::lost`.
    handle::at(slot.segment.load(Ordering::Relaxed)).is_some_and(|segment| segment.broken.load(Ordering::Acquire))
}

/// The address of `size` bytes from `offset` on in a map.
#[inline]
pub fn address(map: Handle, offset: usize, size: usize) -> Result<(&'static Slot, *mut u8)> {
    let slot = handle::find(map, Kind::Map)?;
    // Ordering: `find` has met what was stored before the handle was given out.
    let end = slot.size.load(Ordering::Relaxed);
    if offset > end || size > end - offset {
        return Err(Error::OutOfRange);
    }
    check_alignment(offset, size)?;
    Ok((slot, ptr::with_exposed_provenance_mut(slot.base.load(Ordering::Relaxed) + offset)))
}

/// How often a copy with ERROR_CHECK is repeated before it has failed.
const TRIES: usize = 16;

/// SCIMemCpy: into the map, or out of it with BLOCK_READ.
///
/// # Safety
/// `memory` has `size` bytes.
#[inline]
pub unsafe fn copy(memory: *mut u8, map: Handle, offset: usize, size: usize, flags: u32) -> Result {
    let (slot, remote) = address(map, offset, size)?;
    if memory.is_null() && size > 0 {
        return Err(Error::IllegalParameter);
    }
    let (from, to) = if flags & flag::BLOCK_READ == 0 { (memory, remote) } else { (remote, memory) };
    if CARE.load(Ordering::Relaxed) & (FAULTS | FAR | READONLY) != 0 {
        // SAFETY: as this function's.
        return unsafe { copy_with_care(memory, map, offset, size, flags) };
    }
    // SAFETY: the map has these bytes (`address`), the memory as well (the caller). They may overlap: the program may map its own segment.
    unsafe { ptr::copy(from, to, size) };
    if flags & flag::ERROR_CHECK != 0 && is_broken(slot) { Err(Error::TransferFailed) } else { Ok(()) }
}

/// The same where faults or times are asked for, or some map is for loads alone.
///
/// # Safety
/// As `copy`.
#[cold]
unsafe fn copy_with_care(memory: *mut u8, map: Handle, offset: usize, size: usize, flags: u32) -> Result {
    let _calm = calm::enter()?;
    let ready = if card::get().is_some() { card::now() } else { 0.0 };
    let (slot, remote) = address(map, offset, size)?;
    let is_read = flags & flag::BLOCK_READ != 0;
    let shown = handle::get::<Map>(map)?;
    if shown.is_readonly && !is_read {
        return Err(Error::IllegalOperation);
    }
    let Some((shadow, first)) = shown.shadow() else {
        let (from, to) = if is_read { (remote, memory) } else { (memory, remote) };
        // SAFETY: as the caller's.
        return unsafe { copy_with_faults(from, to, size, flags, slot) };
    };
    if has_faults() && fault::copy() && flags & flag::ERROR_CHECK == 0 {
        return lose(slot);
    }
    let read = if is_read {
        // SAFETY: as the caller's.
        unsafe { shadow.read(first + offset, memory, size) }
    } else {
        // SAFETY: as the caller's.
        unsafe { shadow.write(ready, (first + offset, size), memory) };
        Ok(())
    };
    if flags & flag::ERROR_CHECK == 0 {
        return Ok(());
    }
    let begin = Instant::now();
    far::flush(Until::Acknowledged);
    // A peer that is slow is waited for until it counts as lost.
    while is_unsettled(slot) && !is_broken(slot) && net::timeout().is_some_and(|most| begin.elapsed() < most) {
        far::flush(Until::Acknowledged);
    }
    if read.is_ok() && !is_unsettled(slot) && !is_broken(slot) { Ok(()) } else { Err(Error::TransferFailed) }
}

/// Whether it is not known if all has arrived at the segment of a map or sequence, which is on another host.
#[cold]
fn is_unsettled(slot: &Slot) -> bool {
    let segment = handle::object::<RemoteSegment>(slot.segment.load(Ordering::Relaxed));
    segment.and_then(|segment| Some(!segment.targets()?.is_settled())).unwrap_or(false)
}

/// A copy is lost: the next check says so.
fn lose(slot: &Slot) -> Result {
    if let Some(segment) = handle::at(slot.segment.load(Ordering::Relaxed)) {
        segment.has_lost.store(true, Ordering::Release);
    }
    Ok(())
}

/// The same where faults are asked for. A copy that is lost is really not made, so that a program that does not look is found out.
///
/// # Safety
/// As `copy`.
unsafe fn copy_with_faults(from: *mut u8, to: *mut u8, size: usize, flags: u32, slot: &Slot) -> Result {
    let is_checked = flags & flag::ERROR_CHECK != 0;
    if is_checked && (is_broken(slot) || fault::is_dead()) {
        return Err(Error::TransferFailed);
    }
    for _ in 0..TRIES {
        if !has_faults() || !fault::copy() {
            // SAFETY: as the caller's.
            unsafe { ptr::copy(from, to, size) };
            return Ok(());
        }
        if !is_checked {
            return lose(slot);
        }
    }
    Err(Error::TransferFailed)
}

/// SCIMemWrite: to an address inside of some map.
///
/// # Safety
/// Both have `size` bytes.
#[inline]
pub unsafe fn write(memory: *const u8, remote: *mut u8, size: usize) -> Result {
    if !state::is_initialized() {
        return Err(Error::NotInitialized);
    }
    if size > 0 && (memory.is_null() || remote.is_null()) {
        return Err(Error::IllegalParameter);
    }
    check_alignment(0, size)?;
    if CARE.load(Ordering::Relaxed) & FAR != 0 {
        let _calm = calm::enter()?;
        for map in handle::all(Kind::Map) {
            let Ok((slot, base)) = address(map, 0, 0) else { continue };
            let inside = (remote as usize).wrapping_sub(base as usize);
            if inside < slot.size.load(Ordering::Relaxed) {
                // SAFETY: the caller's.
                return unsafe { copy_with_care(memory.cast_mut(), map, inside, size, 0) };
            }
        }
    }
    // SAFETY: the caller's.
    unsafe { ptr::copy(memory, remote, size) };
    Ok(())
}

/// SCITransferBlock: from map to map.
pub fn transfer(from: (Handle, usize), to: (Handle, usize), size: usize) -> Result {
    let (source, from) = address(from.0, from.1, size)?;
    let map = handle::get::<Map>(to.0)?;
    let (target, to) = address(to.0, to.1, size)?;
    if map.is_readonly {
        return Err(Error::IllegalOperation);
    }
    if is_broken(source) || is_broken(target) {
        return Err(Error::TransferFailed);
    }
    fetch();
    // SAFETY: both maps have these bytes.
    unsafe { ptr::copy(from, to, size) };
    barrier();
    Ok(())
}

/// All stores of this thread are visible before any later one. Near maps are coherent memory: the processor's own fence does it.
#[inline]
pub fn barrier() {
    fence(Ordering::SeqCst);
    if far::is_on() {
        far::flush(Until::Acknowledged);
    }
}

/// Loads of maps show what peers have stored until now.
pub fn fetch() {
    if far::is_on() {
        far::flush(Until::Left);
        far::fetch();
    }
}

/// Empties what the processor may have gathered of stores (write combining).
#[inline]
pub fn drain() {
    if far::is_on() {
        far::flush(Until::Left);
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has SSE.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    fence(Ordering::Release);
}

/// SCICreateMapSequence.
pub fn create_sequence(map: Handle) -> Result<Handle> {
    let shown = handle::get::<Map>(map)?;
    let owned = Owned::new(shown.descriptor(), Kind::Sequence)?;
    let place = handle::reserve(Kind::Sequence)?;
    place.slot().segment.store(shown.shown.place(), Ordering::Relaxed);
    Ok(place.fill(Arc::new(Sequence(owned))))
}

/// SCIRemoveSequence.
pub fn remove_sequence(handle: Handle) -> Result {
    handle::get::<Sequence>(handle)?.0.release();
    handle::remove(handle);
    Ok(())
}

/// SCIStartSequence: what is so now.
#[inline]
pub fn start(sequence: Handle) -> Result<Status> {
    let slot = handle::find(sequence, Kind::Sequence)?;
    if is_broken(slot) {
        return Ok(Status::NotRetriable);
    }
    if CARE.load(Ordering::Relaxed) & (FAULTS | FAR) == 0 {
        return Ok(Status::Ok);
    }
    start_with_care(slot)
}

/// The same where faults are asked for, or segments are far. Starting is how a program waits for the end of PENDING: only what lasts is said.
#[cold]
fn start_with_care(slot: &Slot) -> Result<Status> {
    let _calm = calm::enter()?;
    if has_faults() && fault::is_dead() {
        return Ok(Status::NotRetriable);
    }
    if is_unsettled(slot) {
        far::flush(Until::Acknowledged);
        if is_unsettled(slot) {
            return Ok(Status::Pending);
        }
    }
    Ok(Status::Ok)
}

/// SCICheckSequence: what has become of the transfers since the start.
#[inline]
pub fn check(sequence: Handle, flags: u32) -> Result<Status> {
    let slot = handle::find(sequence, Kind::Sequence)?;
    if flags & flag::NO_FLUSH == 0 {
        drain();
    }
    if flags & flag::NO_STORE_BARRIER == 0 {
        barrier();
    }
    if is_broken(slot) {
        return Ok(Status::NotRetriable);
    }
    if CARE.load(Ordering::Relaxed) & (FAULTS | FAR) == 0 {
        return Ok(Status::Ok);
    }
    check_with_care(slot, flags)
}

/// The same where faults are asked for, or segments are far.
#[cold]
fn check_with_care(slot: &Slot, flags: u32) -> Result<Status> {
    let _calm = calm::enter()?;
    if flags & flag::NO_STORE_BARRIER == 0 && is_unsettled(slot) {
        return Ok(if is_broken(slot) { Status::NotRetriable } else { Status::Pending });
    }
    if !has_faults() {
        return Ok(Status::Ok);
    }
    let segment = handle::at(slot.segment.load(Ordering::Relaxed));
    let status = fault::check(segment.is_some_and(|segment| segment.has_lost.load(Ordering::Acquire)));
    // After PENDING the program asks again: only then it learns what was lost.
    if let Some(segment) = segment.filter(|_| status != Status::Pending) {
        segment.has_lost.store(false, Ordering::Release);
    }
    Ok(status)
}
