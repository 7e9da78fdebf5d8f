//! The table of handles. A handle is a number in the clothes of a pointer: a place in the table, what stands there, and how often the place was
//! used before. So a handle that was freed, or never was one, is recognised without touching memory that it might point to.
//!
//! What the fast calls need (a map's address and size, whether its peer is gone) stands in the table's slots, which are never freed: such a
//! call takes no lock and counts no reference.
#![allow(unsafe_code)] // The table is memory of its own, of which only the slots in use are touched.

use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::error::{Error, Result};

/// A handle as C has it.
pub type Handle = usize;

/// Bits of a handle for the kind of what it names.
const KIND_BITS: u32 = 4;
/// Bits of a handle for its place in the table.
const PLACE_BITS: u32 = 20;
/// Slots of the table.
const SLOTS: usize = 1 << PLACE_BITS;

/// What a handle may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// `sci_desc_t`
    Descriptor = 1,
    /// `sci_local_segment_t`
    LocalSegment,
    /// `sci_remote_segment_t`
    RemoteSegment,
    /// `sci_map_t`
    Map,
    /// `sci_sequence_t`
    Sequence,
    /// `sci_dma_queue_t`
    DmaQueue,
    /// `sci_dma_channel_t`
    DmaChannel,
    /// `sci_local_interrupt_t`
    LocalInterrupt,
    /// `sci_remote_interrupt_t`
    RemoteInterrupt,
    /// `sci_local_data_interrupt_t`
    LocalDataInterrupt,
    /// `sci_remote_data_interrupt_t`
    RemoteDataInterrupt,
    /// `sci_block_transfer_t`
    BlockTransfer,
}

/// How many kinds there are, and one more.
pub const KINDS: usize = 13;

/// What a handle can name.
pub trait Named: Any + Send + Sync {
    /// Its kind.
    const KIND: Kind;
}

/// A place of the table. Memory of zeros is one that nothing stands at, of which only the key may be looked at.
#[repr(C, align(64))]
pub struct Slot {
    /// The handle that names what stands here; 0 while nothing does.
    key: AtomicUsize,
    /// How often something stood here.
    used: AtomicUsize,
    /// Of a map: where it is.
    pub base: AtomicUsize,
    /// Of a map: its size in bytes.
    pub size: AtomicUsize,
    /// Of a map or sequence: the place of the segment, 0 if it has none.
    pub segment: AtomicUsize,
    /// Of a remote segment or interrupt: nobody is there any more.
    pub broken: AtomicBool,
    /// Of a segment: a copy to it was lost since the last check (SISCI_FAULT).
    pub has_lost: AtomicBool,
    /// What stands here.
    object: RwLock<Option<Arc<dyn Any + Send + Sync>>>,
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            key: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            base: AtomicUsize::new(0),
            size: AtomicUsize::new(0),
            segment: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            has_lost: AtomicBool::new(false),
            object: RwLock::new(None),
        }
    }
}

/// The slots: addresses that are reserved by the first handle, pages by use. A table that grows by pieces cost two loads more on the way of each copy:
/// SCIMemCpy of 64 bytes 11.3 -> 6.5 ns (EPYC VM, loaded, 2026-11).
static TABLE: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

/// Places that nothing stands at, longest free first, and the first place that was never used.
static FREE: Mutex<(std::collections::VecDeque<usize>, usize)> = Mutex::new((std::collections::VecDeque::new(), 1));

/// A place is used again only after so many others were freed, so that a stale handle meets an empty place for long.
const REST: usize = 64;

/// The address of a place's slot; null before there is a table.
#[inline]
fn address(place: usize) -> *mut Slot {
    // Ordering: Acquire meets the Release of `reserve`.
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() { table } else { table.wrapping_add(place & (SLOTS - 1)) }
}

/// The slot at a place that was used before.
///
/// # Safety
/// It was.
unsafe fn slot(place: usize) -> &'static Slot {
    // SAFETY: the slot was written before it was used, and stays.
    unsafe { &*address(place) }
}

/// The key of a place, whether it was ever used or not.
#[inline]
fn key(place: usize) -> usize {
    let slot = address(place);
    if slot.is_null() {
        return 0;
    }
    // SAFETY: a slot of the table: a key, or the zero of memory that was never used.
    let key = unsafe { &(*slot).key };
    // Ordering: Acquire meets the Release of `fill`, so that the slot's words are those of this handle.
    key.load(Ordering::Acquire)
}

/// The slot that `handle` names, if it names a `kind` that still stands there.
#[inline]
pub fn find(handle: Handle, kind: Kind) -> Result<&'static Slot> {
    if handle & ((1 << KIND_BITS) - 1) == kind as usize && key(place(handle)) == handle {
        // SAFETY: something stands there.
        return Ok(unsafe { slot(place(handle)) });
    }
    Err(missing())
}

/// What a call says of a handle that names nothing.
#[cold]
fn missing() -> Error {
    if crate::state::is_initialized() { Error::IllegalParameter } else { Error::NotInitialized }
}

/// The slot at `place`, whatever stands there; the fast calls ask it whether a peer is gone.
#[inline]
pub fn at(place: usize) -> Option<&'static Slot> {
    // SAFETY: places but 0 come from `reserve`.
    if place == 0 { None } else { Some(unsafe { slot(place) }) }
}

/// What stands at `place`, if it is a `T`.
pub fn object<T: Named>(place: usize) -> Option<Arc<T>> {
    at(place)?.object.read().clone()?.downcast().ok()
}

/// The place that a handle names.
#[inline]
pub fn place(handle: Handle) -> usize {
    handle >> KIND_BITS & ((1 << PLACE_BITS) - 1)
}

/// What `handle` names.
pub fn get<T: Named>(handle: Handle) -> Result<Arc<T>> {
    let slot = find(handle, T::KIND)?;
    let object = slot.object.read().clone().ok_or(Error::IllegalParameter)?;
    // Between the look at the key and the lock, another thread may have freed the place, and a third taken it.
    if slot.key.load(Ordering::Acquire) != handle {
        return Err(Error::IllegalParameter);
    }
    object.downcast().map_err(|_| Error::IllegalParameter)
}

/// A place that is taken for something that is being made; freed again unless `fill` is called.
pub struct Reserved {
    place: usize,
    handle: Handle,
    filled: bool,
}

/// Takes a place for a `kind`.
pub fn reserve(kind: Kind) -> Result<Reserved> {
    let mut free = FREE.lock();
    let place = if free.0.len() > REST {
        free.0.pop_front().ok_or(Error::ApiNoSpc)?
    } else {
        let place = free.1;
        if place >= SLOTS {
            return Err(Error::ApiNoSpc);
        }
        if TABLE.load(Ordering::Relaxed).is_null() {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: a new mapping.
            let table = unsafe {
                mmap_anonymous(ptr::null_mut(), SLOTS * size_of::<Slot>(), ProtFlags::READ | ProtFlags::WRITE, flags)
            }?;
            tell_leak_checker(table, SLOTS * size_of::<Slot>());
            TABLE.store(table.cast(), Ordering::Release);
        }
        // SAFETY: a slot of the table that nobody has used.
        unsafe { address(place).write(Slot::new()) };
        free.1 += 1;
        place
    };
    drop(free);
    // SAFETY: written, now or before.
    let slot = unsafe { slot(place) };
    // Ordering: only who reserved the place is here.
    let used = slot.used.fetch_add(1, Ordering::Relaxed) + 1;
    slot.base.store(0, Ordering::Relaxed);
    slot.size.store(0, Ordering::Relaxed);
    slot.segment.store(0, Ordering::Relaxed);
    slot.broken.store(false, Ordering::Relaxed);
    slot.has_lost.store(false, Ordering::Relaxed);
    Ok(Reserved { place, handle: (used << PLACE_BITS | place) << KIND_BITS | kind as usize, filled: false })
}

/// A program's leak checker (`gcc -fsanitize=address`), if it has one, looks into the table as well: else it takes all that stands there for lost when
/// a program ends without SCITerminate, and gives it an exit status of its own.
fn tell_leak_checker(table: *const c_void, size: usize) {
    // SAFETY: a name; the checker's function, if there is one, is found in the program or a library that stays.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__lsan_register_root_region".as_ptr()) };
    if !function.is_null() {
        // SAFETY: the function of this name takes these parameters (sanitizer/lsan_interface.h).
        let register: extern "C" fn(*const c_void, usize) = unsafe { std::mem::transmute(function) };
        register(table, size);
    }
}

impl Reserved {
    /// The slot.
    pub fn slot(&self) -> &'static Slot {
        // SAFETY: a reserved place was written.
        unsafe { slot(self.place) }
    }

    /// The place.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Puts `object` there. From now on the handle names it.
    pub fn fill<T: Named>(mut self, object: Arc<T>) -> Handle {
        let slot = self.slot();
        *slot.object.write() = Some(object);
        // Ordering: Release, so that who finds the key sees the words of the slot.
        slot.key.store(self.handle, Ordering::Release);
        self.filled = true;
        self.handle
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if !self.filled {
            FREE.lock().0.push_back(self.place);
        }
    }
}

/// Takes away what `handle` names. Whoever comes second finds nothing.
pub fn remove(handle: Handle) {
    let place = place(handle);
    if handle == 0 || key(place) != handle {
        return;
    }
    // SAFETY: something stands there.
    let slot = unsafe { slot(place) };
    // Ordering: AcqRel, one thread alone frees the place.
    if slot.key.compare_exchange(handle, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        let object = slot.object.write().take();
        FREE.lock().0.push_back(place);
        drop(object);
    }
}

/// Every handle of `kind` that names something.
pub fn all(kind: Kind) -> Vec<Handle> {
    let end = FREE.lock().1;
    let keys = (1..end).map(key);
    keys.filter(|&key| key != 0 && key & ((1 << KIND_BITS) - 1) == kind as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(u32);
    impl Named for Thing {
        const KIND: Kind = Kind::DmaChannel;
    }

    #[test]
    fn a_stale_handle_names_nothing_even_when_its_place_is_used_again() {
        let first = reserve(Kind::DmaChannel).unwrap().fill(Arc::new(Thing(1)));
        assert_eq!(get::<Thing>(first).unwrap().0, 1);
        remove(first);
        let mut later = Vec::new();
        for round in 0..1000 {
            let handle = reserve(Kind::DmaChannel).unwrap().fill(Arc::new(Thing(round)));
            later.push(handle);
            assert!(get::<Thing>(first).is_err());
            remove(handle);
        }
        assert!(later.iter().any(|&handle| place(handle) == place(first)), "no place was used again");
        assert!(later.iter().all(|&handle| find(handle, Kind::DmaChannel).is_err()));
    }

    #[test]
    fn any_number_may_be_asked_for() {
        for handle in [0, 1, 4, usize::MAX, 0x7fff_ffff_f000, 1 << 63] {
            assert!(get::<Thing>(handle).is_err());
        }
    }

    #[test]
    fn a_reserved_place_without_object_names_nothing() {
        let reserved = reserve(Kind::Map).unwrap();
        let handle = reserved.handle;
        assert!(find(handle, Kind::Map).is_err());
        drop(reserved);
        assert!(find(handle, Kind::Map).is_err());
    }
}
