//! The client's function that combines vectors (contract: coll.md §8).

#![allow(unsafe_code)] // client memory and mapped regions

use super::span::{Buffer, Span};
use std::ffi::{c_int, c_void};

/// C's type `gasnet_coll_reduce_fn_t`.
pub type Function = unsafe extern "C" fn(*mut c_void, usize, *const c_void, usize, *const c_void, usize, c_int, c_int);

/// The function may run in handler context.
pub const AMSAFE: u32 = 1;
/// The function is not commutative.
pub const NONCOMM: u32 = 2;

/// How a reduction combines. It goes in ascending image order, with lower images on the left. So operators need not
/// commute, and floating-point results do not depend on timing.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    function: Function,
    /// Bytes of an element.
    pub elem_size: usize,
    /// Flags with which the function was registered.
    flags: u32,
    arg: i32,
    exclusive: bool,
}

impl Reduction {
    /// # Safety
    /// `function` combines elements of `elem_size` bytes according to the contract, at any time at which collectives
    /// may run.
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

    /// `results` becomes `left` combined with `right`, for as many elements as `right` has. `left` may be `results`.
    pub fn combine_into(&self, results: &Span, left: &Span, right: &Span) {
        let count = right.len().checked_div(self.elem_size).unwrap_or(0);
        if count == 0 {
            return;
        }
        // The function wants operands that are aligned for their type. A client's memory is.
        let results = results.address().unwrap_or(0) as *mut c_void;
        let left = left.address().unwrap_or(0) as *const c_void;
        let right = right.address().unwrap_or(0) as *const c_void;
        let (flags, arg) = (self.flags as c_int, self.arg);
        // SAFETY: the caller of `new` promised what the function does. The vectors have `count` elements, and results
        // and right do not overlap.
        unsafe { (self.function)(results, count, left, count, right, self.elem_size, flags, arg) };
    }
}
