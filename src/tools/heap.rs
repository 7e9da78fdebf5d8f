//! The debug heap: the C library's heap with guards around each block and a list of live blocks (contract: tools.md
//! §15).
//!
//! Rules:
//! 1. A block is GUARD bytes, the client's bytes, and GUARD bytes. The guards hold a pattern that depends on the
//!    address.
//! 2. A block that is not in the list was never allocated, or was freed. Using it is fatal.
//! 3. If the settings ask to detect uses of freed blocks, these are filled and kept. They must not change any more.

#![allow(unsafe_code)] // system calls, guarded memory

use crate::base::config::{Config, Heap};
use crate::base::fatal;
use crate::os::host;
use crate::trace::{Sink, source};
use libc::c_void;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::OnceLock;
use std::time::Duration;

/// Bytes of a guard. The number keeps malloc's alignment.
const GUARD: usize = 16;
/// The time that [`Sink::flush`] may wait. A guess.
const PATIENCE: Duration = Duration::from_millis(200);

/// The list's entry for a block.
#[derive(Clone, Copy)]
struct Block {
    size: usize,
    // Position of the client's source at the allocation, if the client reports it (GASNETT_TRACE_SETSOURCELINE).
    place: Option<(&'static std::ffi::CStr, u32)>,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.size)?;
        match self.place {
            Some((file, line)) => write!(f, " allocated at {}:{line}", file.to_string_lossy()),
            None => Ok(()),
        }
    }
}

/// Numbers for `gasnett_getheapstats`.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Stats {
    /// Bytes given out so far.
    pub allocated_bytes: u64,
    /// Bytes freed so far.
    pub freed_bytes: u64,
    /// The most bytes that lived at once.
    pub live_bytes_max: u64,
    /// Blocks given out so far.
    pub allocated_objects: u64,
    /// Blocks freed so far.
    pub freed_objects: u64,
    /// The most blocks that lived at once.
    pub live_objects_max: u64,
}

impl Stats {
    /// Number of bytes that are allocated now.
    pub fn live_bytes(&self) -> u64 {
        self.allocated_bytes - self.freed_bytes
    }

    /// Number of blocks that are allocated now.
    pub fn live_objects(&self) -> u64 {
        self.allocated_objects - self.freed_objects
    }

    /// Bytes that the heap itself uses for guards and entries of the list.
    pub fn overhead_bytes(&self) -> u64 {
        self.live_objects() * (2 * GUARD + size_of::<(usize, Block)>()) as u64
    }

    fn came(&mut self, size: usize) {
        self.allocated_bytes += size as u64;
        self.allocated_objects += 1;
        self.live_bytes_max = self.live_bytes_max.max(self.live_bytes());
        self.live_objects_max = self.live_objects_max.max(self.live_objects());
    }

    fn went(&mut self, size: usize) {
        self.freed_bytes += size as u64;
        self.freed_objects += 1;
    }
}

struct Inner {
    live: BTreeMap<usize, Block>,
    kept: BTreeMap<usize, Block>,
    stats: Stats,
    // The block that `check_one` looks at next.
    next: usize,
}

static INNER: Mutex<Inner> = Mutex::new(Inner {
    live: BTreeMap::new(),
    kept: BTreeMap::new(),
    stats: Stats {
        allocated_bytes: 0,
        freed_bytes: 0,
        live_bytes_max: 0,
        allocated_objects: 0,
        freed_objects: 0,
        live_objects_max: 0,
    },
    next: 0,
});

fn settings() -> &'static Heap {
    static SETTINGS: OnceLock<Heap> = OnceLock::new();
    SETTINGS.get_or_init(|| match Config::from_env() {
        Ok((config, _)) => config.heap,
        Err(error) => fatal(format_args!("{error}")),
    })
}

/// The pattern in freed blocks that are kept.
fn freed_pattern(settings: &Heap) -> u64 {
    settings.clobber.unwrap_or(0x7ff8_f4ee_f4ee_f4ee)
}

fn guard(address: usize) -> [u8; GUARD] {
    let word = (address as u64 ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mut bytes = [0; GUARD];
    bytes[..8].copy_from_slice(&word.to_ne_bytes());
    bytes[8..].copy_from_slice(&(!word).to_ne_bytes());
    bytes
}

/// # Safety
/// `[at, at + len)` is in a block of this heap that no other code uses.
unsafe fn fill(at: usize, len: usize, pattern: u64) {
    for (i, byte) in pattern.to_ne_bytes().into_iter().cycle().take(len).enumerate() {
        // SAFETY: i < len, and the caller promises that `[at, at + len)` is ours.
        unsafe { (at as *mut u8).wrapping_add(i).write(byte) };
    }
}

/// # Safety
/// `[at, at + N)` is readable memory of this heap.
unsafe fn bytes<const N: usize>(at: usize) -> [u8; N] {
    // SAFETY: the caller promises readable memory. The client may write to it at any time by mistake, which is what
    // this heap looks for; hence volatile.
    unsafe { (at as *const [u8; N]).read_volatile() }
}

/// # Safety
/// `[at, at + GUARD)` is the place of a guard in a block of this heap.
unsafe fn set_guard(at: usize, of: usize) {
    // SAFETY: the caller promises the place of a guard, which has GUARD bytes.
    unsafe { (at as *mut [u8; GUARD]).write(guard(of)) };
}

/// Checks rule 1. A violation is fatal.
fn check(call: &str, at: usize, block: &Block) {
    for (place, what) in [(at - GUARD, "before"), (at + block.size, "behind")] {
        // SAFETY: `place` is a guard of a block in the list.
        if unsafe { bytes::<GUARD>(place) } != guard(at) {
            fatal(format_args!("{call}: somebody wrote {what} the block {at:#x} of {block}"));
        }
    }
}

/// Checks rule 3. A violation is fatal.
fn check_kept(call: &str, at: usize, block: &Block) {
    check(call, at, block);
    let pattern = freed_pattern(settings()).to_ne_bytes();
    let changed = (0..block.size).find(|i| {
        // SAFETY: a byte of a block that is kept.
        let [byte] = unsafe { bytes::<1>(at + i) };
        byte != pattern[i % 8]
    });
    if let Some(i) = changed {
        fatal(format_args!("{call}: somebody wrote to byte {i} of the freed block {at:#x} of {block}"));
    }
}

fn check_everything(call: &str, inner: &Inner) {
    inner.live.iter().for_each(|(at, block)| check(call, *at, block));
    if settings().scan_freed {
        inner.kept.iter().for_each(|(at, block)| check_kept(call, *at, block));
    }
}

fn lock(call: &str) -> parking_lot::MutexGuard<'static, Inner> {
    let inner = INNER.lock();
    if settings().extra_check {
        check_everything(call, &inner);
    }
    inner
}

/// Allocates `size` bytes, zeroed or filled as the settings say. Lack of memory is fatal.
pub fn allocate(call: &str, size: usize, zeroed: bool) -> *mut c_void {
    let mut inner = lock(call);
    let whole = size.checked_add(2 * GUARD).and_then(|whole| host::allocate(whole, zeroed));
    let Some(start) = whole else {
        let stats = inner.stats;
        fatal(format_args!("{call}: no memory for {size} bytes; {} bytes are in use", stats.live_bytes()))
    };
    let at = start as usize + GUARD;
    for place in [at - GUARD, at + size] {
        // SAFETY: `place` is one of the two guards of the block that was just allocated.
        unsafe { set_guard(place, at) };
    }
    if let Some(pattern) = settings().init.filter(|_| !zeroed) {
        // SAFETY: the client's part of the new block, which the client does not have yet.
        unsafe { fill(at, size, pattern) };
    }
    inner.live.insert(at, Block { size, place: source::get() });
    inner.stats.came(size);
    at as *mut c_void
}

/// Frees a block. Does nothing for NULL. Any other address is fatal.
pub fn free(call: &str, block: *mut c_void) {
    let at = block as usize;
    if at == 0 {
        return;
    }
    let mut inner = lock(call);
    let Some(block) = inner.live.remove(&at) else { unknown_block(call, at, &inner) };
    check(call, at, &block);
    inner.stats.went(block.size);
    let settings = settings();
    if settings.scan_freed || settings.clobber.is_some() {
        // SAFETY: the client's part of the block, which the client has given back.
        unsafe { fill(at, block.size, freed_pattern(settings)) };
    }
    if settings.scan_freed || settings.leak_all {
        inner.kept.insert(at, block);
    } else {
        // SAFETY: the start of a block that `host::allocate` gave and that was in the list until now.
        unsafe { libc::free((at - GUARD) as *mut c_void) };
    }
}

/// Reports a violation of rule 2.
fn unknown_block(call: &str, at: usize, inner: &Inner) -> ! {
    let around = inner.live.range(..at).next_back().filter(|(start, block)| at < *start + block.size);
    match (inner.kept.get(&at), around) {
        (Some(block), _) => fatal(format_args!("{call}: {at:#x} of {block} was freed before")),
        (_, Some((start, block))) => {
            fatal(format_args!("{call}: {at:#x} is {} bytes inside the block {start:#x} of {block}", at - start))
        }
        _ => fatal(format_args!("{call}: {at:#x} was not allocated by the debug heap, or was freed before")),
    }
}

/// Checks a live block and returns its size; 0 for NULL. Any other address is fatal.
pub fn size(call: &str, block: *const c_void) -> usize {
    let at = block as usize;
    if at == 0 {
        return 0;
    }
    let inner = lock(call);
    let Some(block) = inner.live.get(&at) else { unknown_block(call, at, &inner) };
    check(call, at, block);
    block.size
}

/// Checks one block, the next one at each call.
pub fn check_one(call: &str) {
    let mut inner = lock(call);
    let after = (Bound::Excluded(inner.next), Bound::Unbounded);
    let found = inner.live.range(after).next().or_else(|| inner.live.iter().next()).map(|(at, block)| (*at, *block));
    if let Some((at, block)) = found {
        inner.next = at;
        check(call, at, &block);
    }
}

/// Checks all blocks.
pub fn check_all(call: &str) {
    check_everything(call, &INNER.lock());
}

/// The statistics so far.
pub fn stats() -> Stats {
    INNER.lock().stats
}

/// Lists the live blocks if GASNET_MALLOCFILE asks for it. Called at the node's exit; waits for other threads only a
/// moment.
pub fn report_at_exit(node: u32) {
    let Some(inner) = INNER.try_lock_for(PATIENCE) else { return };
    if inner.stats.allocated_objects == 0 {
        return; // the client does not use this heap
    }
    let settings = settings();
    let Some(name) = settings.file.as_ref().filter(|_| settings.nodes.contains(node)) else { return };
    write(&inner, name, node, true);
}

/// Writes the statistics, and with `live` the live blocks, to the file `name`, in which `%` stands for `node`.
pub fn dump(call: &str, name: &str, node: u32, live: bool) {
    write(&lock(call), name, node, live);
}

fn write(inner: &Inner, name: &str, node: u32, live: bool) {
    match Sink::open(name, node, false) {
        Ok(sink) => {
            sink.line(format_args!("{node} debug heap: {:?}", inner.stats));
            for (at, block) in inner.live.iter().filter(|_| live) {
                sink.line(format_args!("{node} not freed: {at:#x} of {block}"));
            }
            sink.flush(PATIENCE);
        }
        Err(error) => crate::base::log::error(format_args!("no list of the heap: {name} cannot be written: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The only test that uses this heap, so that its numbers can be compared.
    #[test]
    fn blocks_are_counted_guarded_and_found() {
        let before = stats();
        let a = allocate("t", 10, true);
        let b = allocate("t", 0, false);
        assert_ne!(a, b);
        assert_eq!((size("t", a), size("t", b), size("t", std::ptr::null())), (10, 0, 0));
        // SAFETY: ten bytes were allocated, zeroed.
        assert_eq!(unsafe { bytes::<10>(a as usize) }, [0; 10]);
        let now = stats();
        assert_eq!((now.live_bytes() - before.live_bytes(), now.live_objects() - before.live_objects()), (10, 2));
        assert!(now.overhead_bytes() >= 2 * 2 * GUARD as u64);
        check_one("t");
        check_all("t");
        free("t", a);
        free("t", b);
        free("t", std::ptr::null_mut());
        assert_eq!((stats().live_objects(), stats().live_objects_max), (before.live_objects(), 2));
        assert_eq!((stats().freed_bytes, stats().allocated_bytes), (10, 10));
    }
}
