//! The debug heap: the C library's heap with guards around each block and a list of live blocks (contract: tools.md
//! §15).
//!
//! Rules:
//! 1. A block is GUARD bytes, the client's bytes, and GUARD bytes. The guards hold a pattern that depends on the
//!    address.
//! 2. A block that is not in the list was never allocated, or was freed. Using it is fatal.
//!
//! Must not know: what finds uses of memory that was freed or never filled. Sanitizers do.

#![allow(unsafe_code)] // system calls, guarded memory

use crate::base::config::{Config, Observe};
use crate::base::fatal;
use crate::os::host;
use crate::os::lock::{Guard, Lock};
use crate::trace::{Sink, source};
use libc::c_void;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::LazyLock;
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

/// `gasnett_heapstats_t`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Stats {
    /// Bytes given out so far.
    pub allocated_bytes: u64,
    /// Bytes freed so far.
    pub freed_bytes: u64,
    /// Bytes in use now.
    pub live_bytes: u64,
    /// Largest value of `live_bytes` so far.
    pub live_bytes_max: u64,
    /// Blocks given out so far.
    pub allocated_objects: u64,
    /// Blocks freed so far.
    pub freed_objects: u64,
    /// Blocks in use now.
    pub live_objects: u64,
    /// Largest value of `live_objects` so far.
    pub live_objects_max: u64,
    /// Bytes that the heap uses for itself.
    pub overhead_bytes: u64,
}

impl Stats {
    /// Counts blocks and bytes that were given out, and those that were freed.
    fn count(&mut self, given: [u64; 2], freed: [u64; 2]) {
        self.allocated_objects += given[0];
        self.allocated_bytes += given[1];
        self.freed_objects += freed[0];
        self.freed_bytes += freed[1];
        self.live_objects = self.allocated_objects - self.freed_objects;
        self.live_bytes = self.allocated_bytes - self.freed_bytes;
        self.live_objects_max = self.live_objects_max.max(self.live_objects);
        self.live_bytes_max = self.live_bytes_max.max(self.live_bytes);
        self.overhead_bytes = self.live_objects * (2 * GUARD + size_of::<(usize, Block)>()) as u64;
    }
}

#[derive(Default)]
struct Inner {
    live: BTreeMap<usize, Block>,
    stats: Stats,
    // The block that `check_one` looked at last.
    last: usize,
}

static INNER: LazyLock<Lock<Inner>> = LazyLock::new(Lock::default);

static SETTINGS: LazyLock<Observe> = LazyLock::new(|| match Config::from_env() {
    Ok((config, _)) => config.observe,
    Err(error) => fatal(format_args!("{error}")),
});

fn guard(block: usize) -> [u8; GUARD] {
    (block as u128 ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0x94d0_49bb_1331_11eb_bf58_476d_1ce4_e5b9).to_ne_bytes()
}

/// Checks rule 1. A violation is fatal.
fn check(call: &str, at: usize, block: &Block) {
    for (place, what) in [(at - GUARD, "before"), (at + block.size, "behind")] {
        // SAFETY: `place` is a guard of a block in the list. The client may write there at any time by mistake, which is what this
        // heap looks for; hence volatile.
        if unsafe { (place as *const [u8; GUARD]).read_volatile() } != guard(at) {
            fatal(format_args!("{call}: somebody wrote {what} the block {at:#x} of {block}"));
        }
    }
}

/// Allocates `size` bytes, zeroed if that is asked for. Lack of memory is fatal.
pub fn allocate(call: &str, size: usize, zeroed: bool) -> *mut c_void {
    let mut inner = lock(call);
    let whole = size.checked_add(2 * GUARD).and_then(|whole| host::allocate(whole, zeroed));
    let Some(start) = whole else {
        fatal(format_args!("{call}: no memory for {size} bytes; {} bytes are in use", inner.stats.live_bytes))
    };
    let at = start as usize + GUARD;
    for place in [at - GUARD, at + size] {
        // SAFETY: `place` is one of the two guards of the block that was just allocated.
        unsafe { (place as *mut [u8; GUARD]).write(guard(at)) };
    }
    inner.live.insert(at, Block { size, place: source::get() });
    inner.stats.count([1, size as u64], [0, 0]);
    at as *mut c_void
}

/// Frees a block. Does nothing for NULL. Any other address is fatal.
pub fn free(call: &str, block: *mut c_void) {
    if block.is_null() {
        return;
    }
    let (at, mut inner) = (block as usize, lock(call));
    let block = known(call, at, &inner);
    inner.live.remove(&at);
    inner.stats.count([0, 0], [1, block.size as u64]);
    // SAFETY: the start of a block that `host::allocate` gave and that was in the list until now.
    unsafe { libc::free((at - GUARD) as *mut c_void) };
}

/// The live block at `at`, which is checked. A violation of a rule is fatal.
fn known(call: &str, at: usize, inner: &Inner) -> Block {
    match inner.live.range(..=at).next_back() {
        Some((start, block)) if *start == at => {
            check(call, at, block);
            *block
        }
        Some((start, block)) if at < start + block.size => {
            fatal(format_args!("{call}: {at:#x} is {} bytes inside the block {start:#x} of {block}", at - start))
        }
        _ => fatal(format_args!("{call}: {at:#x} was not allocated by the debug heap, or was freed before")),
    }
}

/// Checks a live block and returns its size; 0 for NULL. Any other address is fatal.
pub fn size(call: &str, block: *const c_void) -> usize {
    if block.is_null() { 0 } else { known(call, block as usize, &lock(call)).size }
}

/// Checks one block, the next one at each call.
pub fn check_one(call: &str) {
    let mut inner = lock(call);
    let after = (Bound::Excluded(inner.last), Bound::Unbounded);
    let found = inner.live.range(after).next().or_else(|| inner.live.iter().next()).map(|(at, block)| (*at, *block));
    if let Some((at, block)) = found {
        inner.last = at;
        check(call, at, &block);
    }
}

/// Checks all blocks.
pub fn check_all(call: &str) {
    check_live(call, &INNER.lock());
}

fn check_live(call: &str, inner: &Inner) {
    inner.live.iter().for_each(|(at, block)| check(call, *at, block));
}

fn lock(call: &str) -> Guard<'static, Inner> {
    let inner = INNER.lock();
    if SETTINGS.heap_check {
        check_live(call, &inner);
    }
    inner
}

/// The statistics so far.
pub fn stats() -> Stats {
    INNER.lock().stats
}

/// Lists the live blocks if GASNET_MALLOCFILE asks for it. Called at the node's exit; waits for other threads only a
/// moment.
pub fn report_at_exit(node: u32) {
    let Some(inner) = INNER.within(PATIENCE) else { return };
    if inner.stats.allocated_objects == 0 {
        return; // the client does not use this heap
    }
    let Some(name) = SETTINGS.heap_file.as_ref().filter(|_| SETTINGS.heap_nodes.contains(node)) else { return };
    write(&inner, name, node, true);
}

/// Writes the statistics, and with `live` the live blocks, to the file `name`, in which `%` stands for `node`.
pub fn dump(name: &str, node: u32, live: bool) {
    write(&INNER.lock(), name, node, live);
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
        assert_eq!(unsafe { a.cast::<[u8; 10]>().read() }, [0; 10]);
        let now = stats();
        assert_eq!((now.live_bytes - before.live_bytes, now.live_objects - before.live_objects), (10, 2));
        assert!(now.overhead_bytes >= 2 * 2 * GUARD as u64);
        check_one("t");
        check_all("t");
        free("t", a);
        free("t", b);
        free("t", std::ptr::null_mut());
        assert_eq!((stats().live_objects, stats().live_objects_max), (before.live_objects, 2));
        assert_eq!((stats().freed_bytes, stats().allocated_bytes), (10, 10));
    }
}
