//! Reserved address space, in which every node of a host maps the same segments at the same addresses.
//!
//! Invariants: a map is placed only inside a live reservation and never over another map, so [`Window`] keeps a list
//! of those of this process (address space is the process's, hence a static). When a map goes, the reservation is put
//! back in its place: no hole that somebody else's mmap could fall into. A reservation lives as long as its maps.
//! Must not know which candidate the job agreed on, nor what is mapped.

#![allow(unsafe_code)] // mapped memory, system calls

use super::SciError;
use crate::os::machine::page_size;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// Addresses that are usually free. x86-64 (47 bits): programs lie at 0x55…, libraries and stacks at 0x7f…;
/// AddressSanitizer has its shadow below 0x1000_8000_0000 and its heap at 0x50… or 0x60…; ThreadSanitizer and
/// MemorySanitizer accept the first TiB only. aarch64: 48 bits like x86-64, shadow up to 0x2010_0000_0000; 42 and 39
/// bits with some kernels.
const CANDIDATES: [usize; 6] =
    [0x2100_0000_0000, 0x4000_0000_0000, 0x1100_0000_0000, 0x0100_0000_0000, 0x0040_0000_0000, 0x0010_0000_0000];

static LIVE: Mutex<Vec<Weak<Reservation>>> = Mutex::new(Vec::new());

/// A reserved window, `stride` bytes for each node. Released when it and all maps inside are dropped.
pub struct Window {
    reservation: Arc<Reservation>,
    stride: usize,
    nodes: u32,
}

impl Window {
    /// How many candidate addresses there are.
    pub const CANDIDATES: usize = CANDIDATES.len();

    /// Reserves `nodes` times `stride` bytes at candidate `index`. `None` when that space is not free in this process,
    /// there is no such candidate, or `stride` is not a multiple of the page size.
    pub fn reserve(index: usize, stride: usize, nodes: u32) -> Option<Window> {
        let base = *CANDIDATES.get(index)?;
        let len = stride.checked_mul(nodes as usize).filter(|len| *len > 0)?;
        if !stride.is_multiple_of(page_size()) || base.checked_add(len).is_none() {
            return None;
        }
        let reservation = Arc::new(Reservation::new(base, len)?);
        let mut live = LIVE.lock();
        live.retain(|old| old.strong_count() > 0);
        live.push(Arc::downgrade(&reservation));
        Some(Window { reservation, stride, nodes })
    }

    /// Where node `node`'s part begins; `None` when the window has no such part.
    pub fn address(&self, node: u32) -> Option<usize> {
        (node < self.nodes).then(|| self.reservation.base + self.stride * node as usize)
    }

    /// Nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Bytes of all.
    pub fn bytes(&self) -> u64 {
        self.reservation.len as u64
    }

    /// Bytes per node.
    pub fn stride(&self) -> usize {
        self.stride
    }
}

struct Reservation {
    base: usize,
    len: usize,
    taken: Mutex<Vec<Range<usize>>>,
}

impl Reservation {
    fn new(base: usize, len: usize) -> Option<Self> {
        // A hint: what is free there is taken there. ThreadSanitizer makes of MAP_FIXED_NOREPLACE at an address that it wants
        // for itself a map at 0, and ends the process.
        // SAFETY: nothing that exists is touched.
        let got = unsafe { reserve_at(base, len, 0) }?;
        let reservation = Self { base: got, len, taken: Mutex::new(Vec::new()) };
        (got == base).then_some(reservation) // else given back
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: this range is this value's own, and no map is left inside: each keeps the reservation alive.
        unsafe { libc::munmap(self.base as *mut _, self.len) };
    }
}

/// Inaccessible memory without backing at `base`; where it came to lie.
///
/// # Safety
/// With MAP_FIXED in `fixed` the range belongs to the caller.
unsafe fn reserve_at(base: usize, len: usize, fixed: libc::c_int) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: by this function's contract nothing of anybody else's is replaced.
    let got = unsafe { libc::mmap(base as *mut _, len, libc::PROT_NONE, flags, -1, 0) };
    (got != libc::MAP_FAILED).then_some(got as usize)
}

/// A range of a live window that one map owns. Dropped after the map is of no more use, it puts the reservation back.
pub(crate) struct Hold {
    reservation: Arc<Reservation>,
    range: Range<usize>,
}

impl Hold {
    /// Takes `len` bytes at `address`. `BadPlacement` unless they are free space of one live window, on whole pages.
    pub(crate) fn take(address: usize, len: usize) -> Result<Hold, SciError> {
        Self::find(address, len).ok_or(SciError::BadPlacement { address, len })
    }

    fn find(address: usize, len: usize) -> Option<Hold> {
        let page = page_size();
        if !address.is_multiple_of(page) {
            return None;
        }
        let len = len.checked_next_multiple_of(page)?;
        let range = address..address.checked_add(len)?;
        let live: Vec<_> = LIVE.lock().iter().filter_map(Weak::upgrade).collect();
        let inside = |r: &Reservation| r.base <= range.start && range.end <= r.base + r.len;
        let reservation = live.into_iter().find(|r| inside(r))?;
        {
            let mut taken = reservation.taken.lock();
            if taken.iter().any(|t| t.start < range.end && range.start < t.end) {
                return None;
            }
            taken.push(range.clone());
        }
        Some(Hold { reservation, range })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let len = self.range.len();
        // SAFETY: the range is this value's own, inside the reservation that it keeps; its map's users are gone.
        unsafe { reserve_at(self.range.start, len, libc::MAP_FIXED) };
        self.reservation.taken.lock().retain(|taken| *taken != self.range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test, because candidates are the process's and tests run side by side.
    #[test]
    fn a_window_is_exclusive_and_hands_out_each_range_once() {
        let (page, last) = (page_size(), Window::CANDIDATES - 1);
        let stride = 16 * page;
        assert!(Window::reserve(Window::CANDIDATES, stride, 2).is_none());
        assert!(Window::reserve(last, page - 1, 2).is_none());
        assert!(Window::reserve(last, usize::MAX & !(page - 1), 2).is_none());
        assert!(Window::reserve(last, 0, 2).is_none());
        let window = Window::reserve(last, stride, 2).expect("free in a test process");
        assert!(Window::reserve(last, stride, 2).is_none(), "taken, and must not be replaced");
        let first = window.address(0).unwrap();
        let second = window.address(1).unwrap();
        assert_eq!(second - first, window.stride());
        assert_eq!(window.address(2), None);
        let hold = Hold::take(second, stride).map_err(|e| e.to_string()).expect("free");
        assert!(Hold::take(second + page, page).is_err(), "overlaps");
        assert!(Hold::take(first + 1, page).is_err(), "not on a page");
        assert!(Hold::take(second, 2 * stride).is_err(), "leaves the window");
        assert!(Hold::take(usize::MAX & !(page - 1), page).is_err(), "overflows");
        drop(hold);
        let hold = Hold::take(first, 2 * stride).map_err(|e| e.to_string()).expect("free again");
        drop(window);
        assert!(Window::reserve(last, stride, 2).is_none(), "a map keeps the window");
        drop(hold);
        assert!(Window::reserve(last, stride, 2).is_some());
    }
}
