//! How vectors are combined: by the client's function of GASNet-1 (contract: coll.md §8), or as GASNet-EX does (`operator`).

#![allow(unsafe_code)] // client memory and mapped regions

use super::operator::Operator;
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

/// How a reduction combines, in either API.
#[derive(Clone, Copy, Debug)]
pub enum Combine {
    /// As GASNet-1: results may replace the left operand.
    Table(Reduction),
    /// As GASNet-EX: results replace the right operand.
    Operator(Operator),
}

impl Combine {
    /// Bytes of an element.
    pub fn elem_size(&self) -> usize {
        match self {
            Combine::Table(how) => how.elem_size,
            Combine::Operator(how) => how.elem_size(),
        }
    }

    /// `left` combined with `right`. The bytes of both are used up.
    pub fn join(&self, left: Buffer, right: Buffer) -> Buffer {
        match self {
            Combine::Table(how) => {
                how.combine(&left, &Span::of(&right));
                left
            }
            Combine::Operator(how) => {
                how.combine(&Span::of(&left), &Span::of(&right));
                right
            }
        }
    }

    /// Combines `operands` in their order. `sum`, which overlaps none of them, gets the result.
    pub fn fold(&self, operands: &[Span], sum: &Span) {
        match (self, operands) {
            (_, []) => {}
            (_, [one]) => sum.copy_from(one),
            (Combine::Table(how), [first, second, rest @ ..]) => {
                how.combine_into(sum, first, second);
                rest.iter().for_each(|operand| how.combine_into(sum, sum, operand));
            }
            (Combine::Operator(how), [before @ .., last]) => {
                sum.copy_from(last);
                before.iter().rev().for_each(|operand| how.combine(operand, sum));
            }
        }
    }
}
