//! What this wire has of the library: the segment and the interrupt of this node, and the way to those of a peer.
//!
//! The rules of the hardware that stands behind such a library, which all of this keeps:
//! - No load goes to a peer's memory: it would take the way there and back, and cards of today do not offer it. What this node stores there
//!   it knows, and what it must know of the peer, the peer stores here.
//! - Stores are posted. They have arrived when a sequence was checked after them ([`Remote::confirm`]), and may have to be made again.
//! - Copies have the length and the place of whole lines.
//!
//! Must not know: records.

#![allow(unsafe_code)] // calls of the library, mapped memory

use super::layout::{LINE, Line};
use super::library::{CONTINUE, Code, ENDS, Handle, Library, SEQ_NOT_RETRIABLE, SEQ_OK, SEQ_RETRIABLE};
use crate::os::event;
use crate::sync::fixed::{AtomicU64, Ordering};
use crate::sync::spin_loop;
use libc::{c_int, c_void};
use std::os::fd::OwnedFd;
use std::ptr;

/// Adapter 0: the first card, or both as one where a library binds them.
pub const ADAPTER: u32 = 0;
/// Ids of segments that are tried.
const IDS: usize = 8;
/// How often stores are made again in one call.
const TRIES: usize = 64;
/// How often it is asked in one call whether stores have arrived.
const ASKED: usize = 1000;
/// Milliseconds for a peer's system to answer when a link is made. Who is there answers sooner.
pub const ANSWER: u32 = 100;

/// A number in shared memory.
///
/// # Safety
/// 8 bytes at `at` are mapped, aligned, and touched as this type alone, as long as `'a` lasts.
unsafe fn word<'a>(at: *mut u8) -> &'a AtomicU64 {
    // SAFETY: the caller's promise.
    unsafe { AtomicU64::from_ptr(at.cast()) }
}

/// What owns a number of resources: the library limits those of each.
pub struct Descriptor(&'static Library, Handle);

impl Descriptor {
    pub fn open(library: &'static Library) -> Result<Descriptor, String> {
        let mut handle = ptr::null_mut();
        // SAFETY: places for the handle and the error.
        library.call("SCIOpen", |error| unsafe { (library.calls.open)(&raw mut handle, 0, error) })?;
        Ok(Descriptor(library, handle))
    }

    pub fn library(&self) -> &'static Library {
        self.0
    }

    pub fn handle(&self) -> Handle {
        self.1
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: an open handle, used for the last time. If something of it is still in use, it stays until the process ends.
        unsafe { (self.0.calls.close)(self.1, 0, &mut Code::default()) };
    }
}

/// Memory of this node that others may reach, or that an engine reads.
pub struct Segment {
    descriptor: Descriptor,
    pub handle: Handle,
    map: Handle,
    base: *mut u8,
    len: usize,
    pub id: u32,
}

// SAFETY: the library's calls may come from any thread, and its memory belongs to none.
unsafe impl Send for Segment {}
// SAFETY: as above; words are atomics, and of the rest only one thread at a time looks at a place.
unsafe impl Sync for Segment {}

impl Segment {
    /// `len` bytes, all 0, that peers can connect to from now on.
    pub fn shared(library: &'static Library, len: usize) -> Result<Segment, String> {
        Segment::publish(library, len, |id| Segment::new(library, id, len, 0))
    }

    /// Memory that this process has, which peers can connect to from now on.
    ///
    /// # Safety
    /// `len` bytes at `base` are readable and writable as long as the process lives, and no thread writes to them during this call.
    pub unsafe fn of_memory(library: &'static Library, base: *mut u8, len: usize) -> Result<Segment, String> {
        let direct = library.direct.as_ref().ok_or("this library takes no memory of programs")?;
        Segment::publish(library, len, |id| {
            let mut segment = Segment::empty(library, id, len, direct.empty)?;
            segment.base = base;
            // SAFETY: the caller's promise; a segment that has no memory.
            library.call("SCIRegisterSegmentMemory", |error| unsafe {
                (direct.register)(base.cast(), len, segment.handle, 0, error);
            })?;
            segment.prepare()?;
            Ok(segment)
        })
    }

    /// Tries random numbers until `make` makes a segment, and lets peers connect to it.
    fn publish(
        library: &'static Library,
        len: usize,
        make: impl Fn(u32) -> Result<Segment, String>,
    ) -> Result<Segment, String> {
        let mut why = String::new();
        for _ in 0..IDS {
            // By chance, since there is no number that is free for sure; 0 is kept for nobody.
            let id = getrandom::u32().map_err(|error| error.to_string())?.max(1);
            match make(id) {
                Ok(segment) => {
                    // SAFETY: a segment that is prepared.
                    library.call("SCISetSegmentAvailable", |error| unsafe {
                        (library.calls.available)(segment.handle, ADAPTER, 0, error);
                    })?;
                    return Ok(segment);
                }
                Err(error) => why = error,
            }
        }
        Err(format!("{why} (a segment of {len} bytes)"))
    }

    /// `len` bytes for this node's engine alone.
    pub fn private(library: &'static Library, len: usize) -> Result<Segment, String> {
        Segment::new(library, 0, len, library.private)
    }

    fn new(library: &'static Library, id: u32, len: usize, flags: u32) -> Result<Segment, String> {
        let mut segment = Segment::empty(library, id, len, flags)?;
        segment.prepare()?;
        // SAFETY: a segment of this process; the whole of it, anywhere.
        segment.base = library
            .call("SCIMapLocalSegment", |error| unsafe {
                (library.calls.map_local)(segment.handle, &raw mut segment.map, 0, len, ptr::null_mut(), 0, error)
            })?
            .cast();
        if segment.base.is_null() || !segment.base.addr().is_multiple_of(LINE) {
            return Err("SCIMapLocalSegment gave an address that is none".into());
        }
        Ok(segment)
    }

    fn prepare(&self) -> Result<(), String> {
        let Descriptor(library, _) = self.descriptor;
        // SAFETY: a segment of this process.
        library.call("SCIPrepareSegment", |error| unsafe { (library.calls.prepare)(self.handle, ADAPTER, 0, error) })
    }

    /// A segment that is not prepared and has no address in this process.
    fn empty(library: &'static Library, id: u32, len: usize, flags: u32) -> Result<Segment, String> {
        let mut segment = Segment {
            descriptor: Descriptor::open(library)?,
            handle: ptr::null_mut(),
            map: ptr::null_mut(),
            base: ptr::null_mut(),
            len,
            id,
        };
        let (calls, none) = (&library.calls, ptr::null_mut());
        // SAFETY: an open descriptor, no callback, and places for the results.
        library.call("SCICreateSegment", |error| unsafe {
            (calls.create)(segment.descriptor.1, &raw mut segment.handle, id, len, none, none, flags, error);
        })?;
        Ok(segment)
    }

    /// The descriptor that owns it, which may own more.
    pub fn owner(&self) -> Handle {
        self.descriptor.1
    }

    /// The word at `offset`.
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.len);
        // SAFETY: in the map, which lasts as long as the segment. Peers store whole words there.
        unsafe { word(self.base.wrapping_add(offset)) }
    }

    /// `len` bytes at `offset`, which a peer may overwrite at any time, if it breaks the rules.
    pub fn bytes(&self, offset: usize, len: usize) -> *mut u8 {
        assert!(len <= self.len && offset <= self.len - len);
        self.base.wrapping_add(offset)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let Descriptor(library, _) = self.descriptor;
        if !self.map.is_null() {
            // SAFETY: a map that nobody uses any more, since words and bytes are borrowed from this segment.
            unsafe { (library.calls.unmap)(self.map, 0, &mut Code::default()) };
        }
        if !self.handle.is_null() {
            // SAFETY: a segment, used for the last time. Peers may still be there: what they store then goes nowhere.
            unsafe { (library.calls.remove)(self.handle, library.force_remove, &mut Code::default()) };
        }
    }
}

/// What peers ring at this node when it sleeps: it makes a descriptor readable.
pub struct Bell {
    descriptor: Descriptor,
    handle: Handle,
    pub number: u32,
    /// What the library's thread raises. Boxed, because its address is the library's.
    event: Box<OwnedFd>,
}

// SAFETY: as of `Segment`.
unsafe impl Send for Bell {}
// SAFETY: as of `Segment`; a descriptor.
unsafe impl Sync for Bell {}

/// Called by the library's thread.
unsafe extern "C" fn ring(event: *mut c_void, _: Handle, _: Code) -> c_int {
    // SAFETY: the event of the bell whose interrupt this is; it lives until the interrupt is removed.
    event::raise(unsafe { &*event.cast::<OwnedFd>() });
    CONTINUE
}

impl Bell {
    pub fn new(library: &'static Library) -> Result<Bell, String> {
        let event = Box::new(event::new().map_err(|error| format!("eventfd: {error}"))?);
        let mut bell = Bell { descriptor: Descriptor::open(library)?, handle: ptr::null_mut(), number: 0, event };
        let argument = (&raw const *bell.event).cast_mut().cast();
        // SAFETY: an open descriptor, places for the results, and a callback whose argument lives as long as the interrupt.
        library.call("SCICreateInterrupt", |error| unsafe {
            let create = library.calls.create_interrupt;
            create(
                bell.descriptor.1,
                &raw mut bell.handle,
                ADAPTER,
                &raw mut bell.number,
                Some(ring),
                argument,
                library.use_callback,
                error,
            );
        })?;
        Ok(bell)
    }

    pub fn event(&self) -> &OwnedFd {
        &self.event
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: an interrupt, used for the last time; this waits until its callback is over.
            unsafe { (self.descriptor.0.calls.remove_interrupt)(self.handle, 0, &mut Code::default()) };
        }
    }
}

/// What has become of stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They are in the peer's memory.
    Arrived,
    /// That is not known, or they did not. They have to be made again.
    Unknown,
    /// As `Unknown`, and the library does not begin to notice what goes wrong either: later.
    Dark,
    /// The peer is gone, for this reason.
    Gone(String),
}

impl Verdict {
    /// Stores have to be made again.
    pub fn is_open(&self) -> bool {
        matches!(self, Verdict::Unknown | Verdict::Dark)
    }
}

/// The way to a peer's segment.
pub struct Remote {
    descriptor: Descriptor,
    pub handle: Handle,
    map: Handle,
    sequence: Handle,
    interrupt: Handle,
    base: *mut u8,
    len: usize,
}

// SAFETY: as of `Segment`.
unsafe impl Send for Remote {}

impl Remote {
    /// Makes it. The error says why that does not work now.
    pub fn connect(
        library: &'static Library,
        node: u32,
        segment: u32,
        interrupt: u32,
        len: usize,
    ) -> Result<Remote, String> {
        let null = ptr::null_mut();
        let descriptor = Descriptor::open(library)?;
        let owner = descriptor.1;
        let mut remote =
            Remote { descriptor, handle: null, map: null, sequence: null, interrupt: null, base: null.cast(), len };
        let calls = &library.calls;
        // SAFETY: an open descriptor, handles that were just made, no callbacks, places for the results.
        library.call("SCIConnectSegment", |error| unsafe {
            (calls.connect)(owner, &raw mut remote.handle, node, segment, ADAPTER, null, null, ANSWER, 0, error);
        })?;
        // SAFETY: as above.
        remote.base = library
            .call("SCIMapRemoteSegment", |error| unsafe {
                (calls.map_remote)(remote.handle, &raw mut remote.map, 0, len, null, 0, error)
            })?
            .cast();
        if remote.base.is_null() || !remote.base.addr().is_multiple_of(LINE) {
            return Err("SCIMapRemoteSegment gave an address that is none".into());
        }
        // SAFETY: as above.
        library.call("SCICreateMapSequence", |error| unsafe {
            (calls.create_sequence)(remote.map, &raw mut remote.sequence, 0, error);
        })?;
        let mut connect = || {
            // SAFETY: as above.
            library.call("SCIConnectInterrupt", |error| unsafe {
                (calls.connect_interrupt)(owner, &raw mut remote.interrupt, node, ADAPTER, interrupt, ANSWER, 0, error);
            })
        };
        connect().or_else(|_| connect())?; // twice: the segment was there, so a refusal is a moment's
        match remote.start() {
            SEQ_OK => Ok(remote),
            answer => Err(format!("SCIStartSequence answers {answer}")),
        }
    }

    /// Begins to notice what goes wrong. Asks until there is an answer, but not for ever.
    fn start(&self) -> u32 {
        for _ in 0..ASKED {
            // SAFETY: a sequence of this link.
            let answer = unsafe { (self.descriptor.0.calls.start_sequence)(self.sequence, 0, &mut Code::default()) };
            if answer == SEQ_OK || answer == SEQ_NOT_RETRIABLE {
                return answer;
            }
            spin_loop();
        }
        SEQ_RETRIABLE
    }

    /// Copies whole lines to `offset` of the peer's segment. [`Remote::confirm`] must follow.
    ///
    /// # Safety
    /// `len` bytes at `from` are readable.
    pub unsafe fn copy(&self, from: *const u8, offset: usize, len: usize) -> Result<(), String> {
        debug_assert!(offset.is_multiple_of(LINE) && len.is_multiple_of(LINE));
        let library = self.descriptor.0;
        // SAFETY: the caller's promise; the library checks the target.
        library.call("SCIMemCpy", |error| unsafe {
            (library.calls.copy)(self.sequence, from.cast(), self.map, offset, len, 0, error);
        })
    }

    /// The same of one line.
    pub fn copy_line(&self, line: &Line, offset: usize) -> Result<(), String> {
        // SAFETY: a line.
        unsafe { self.copy(line.0.as_ptr(), offset, LINE) }
    }

    /// Stores a word. [`Remote::confirm`] must follow.
    pub fn store(&self, offset: usize, value: u64) {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.len);
        // SAFETY: in the map, which lasts as long as this.
        let word = unsafe { word(self.base.wrapping_add(offset)) };
        word.store(value, Ordering::Release); // ORDERING: ↔ the Acquire with which the peer loads it. Over cards `confirm` keeps the order.
    }

    /// Makes stores by `make`, once.
    pub fn attempt(&self, make: impl FnOnce(&Remote) -> Result<(), String>) -> Verdict {
        if let Err(why) = make(self) {
            return Verdict::Gone(why);
        }
        // SAFETY: a sequence of this link. Without flags it waits for the stores.
        match unsafe { (self.descriptor.0.calls.check_sequence)(self.sequence, 0, &mut Code::default()) } {
            SEQ_OK => Verdict::Arrived,
            SEQ_NOT_RETRIABLE => Verdict::Gone("its segment is gone".into()),
            _ => {
                self.descriptor.0.repeats.fetch_add(1, Ordering::Relaxed); // Relaxed: a count
                // Not known, or not arrived: libraries differ in what they say after the first. So the stores are made again after both.
                match self.start() {
                    SEQ_OK => Verdict::Unknown,
                    SEQ_NOT_RETRIABLE => Verdict::Gone("its segment is gone".into()),
                    _ => Verdict::Dark,
                }
            }
        }
    }

    /// Makes stores by `make`, again until they have arrived.
    pub fn confirm(&self, mut make: impl FnMut(&Remote) -> Result<(), String>) -> Verdict {
        let mut attempts = (0..TRIES).map(|_| self.attempt(&mut make));
        attempts.find(|verdict| *verdict != Verdict::Unknown).unwrap_or(Verdict::Unknown)
    }

    /// Why the peer is of no use any more, if the library knows it.
    pub fn end(&self) -> Option<String> {
        let calls = &self.descriptor.0.calls;
        let (mut code, mut status) = (0, 0);
        // SAFETY: a connected segment; it does not wait.
        let reason = unsafe { (calls.segment_event)(self.handle, &raw mut status, 0, 0, &raw mut code) };
        if code == 0 && ENDS.contains(&reason) {
            return Some("its segment is gone".into());
        }
        None
    }

    /// Wakes the peer.
    pub fn ring(&self) {
        // SAFETY: a connected interrupt. What fails here a check of the sequence finds as well, and sleeps end by themselves.
        unsafe { (self.descriptor.0.calls.trigger)(self.interrupt, 0, &mut Code::default()) };
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let (calls, error) = (&self.descriptor.0.calls, &mut Code::default());
        let steps: [(Handle, unsafe extern "C" fn(Handle, u32, *mut Code)); 4] = [
            (self.interrupt, calls.disconnect_interrupt),
            (self.sequence, calls.remove_sequence),
            (self.map, calls.unmap),
            (self.handle, calls.disconnect),
        ];
        for (handle, end) in steps {
            if !handle.is_null() {
                // SAFETY: a handle of this link, used for the last time.
                unsafe { end(handle, 0, error) };
            }
        }
    }
}
