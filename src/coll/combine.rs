//! The client's function that combines vectors (contract: coll.md §8).

#![allow(unsafe_code)] // client memory and mapped regions

use super::span::{Buffer, Span};
use std::ffi::{c_int, c_void};

/// `gasnet_coll_reduce_fn_t`.
pub type Function = unsafe extern "C" fn(*mut c_void, usize, *const c_void, usize, *const c_void, usize, c_int, c_int);

/// The function may run in handler context.
pub const AMSAFE: u32 = 1;
/// The function is not commutative.
pub const NONCOMM: u32 = 2;

/// How a reduction combines: always in ascending image order, lower images on the left. So operators need not commute, and
/// floating-point results do not depend on timing.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    function: Function,
    /// Bytes of an element.
    pub elem_size: usize,
    /// Flags the function was registered with.
    flags: u32,
    arg: i32,
    exclusive: bool,
}

impl Reduction {
    /// # Safety
    /// `function` combines elements of `elem_size` bytes, as the contract has it, whenever collectives may run.
    pub unsafe fn new(function: Function, flags: u32, elem_size: usize, arg: i32, exclusive: bool) -> Reduction {
        Reduction { function, elem_size, flags, arg, exclusive }
    }

    /// True for an exclusive scan.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// `left` becomes `left` combined with `right`.
    pub fn combine(&self, left: &Buffer, right: &Span) {
        let left = Span::of(left);
        self.combine_into(&left, &left, right);
    }

    /// `results` becomes `left` combined with `right`, as many elements as that has; `left` may be `results`.
    pub fn combine_into(&self, results: &Span, left: &Span, right: &Span) {
        let count = right.len().checked_div(self.elem_size).unwrap_or(0);
        if count == 0 {
            return;
        }
        // The function wants its operands aligned for their type, which a client's memory is.
        let results = results.address().unwrap_or(0) as *mut c_void;
        let left = left.address().unwrap_or(0) as *const c_void;
        let right = right.address().unwrap_or(0) as *const c_void;
        let (flags, arg) = (self.flags as c_int, self.arg);
        // SAFETY: the caller of `new` promised what the function does; the vectors have `count` elements, and results and right
        // do not overlap.
        unsafe { (self.function)(results, count, left, count, right, self.elem_size, flags, arg) };
    }
}
