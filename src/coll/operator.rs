//! How GASNet-EX reductions combine: by a loop for numbers, or by the client's function (contract: ex-coll.md §6).
//!
//! The left operand is read, and the result stands in the place of the right one. So vectors are combined from the last one
//! back to the first, and lower ranks stand on the left.

#![allow(unsafe_code)] // client memory

use super::span::Span;
use std::ffi::c_void;

/// C's type `gex_Coll_ReduceFn_t`: left operands, right operands and results, number of elements, the client's pointer.
pub type Function = unsafe extern "C" fn(*const c_void, *mut c_void, usize, *const c_void);

/// The types of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits.
    U64,
    /// Floating-point, 32 bits.
    F32,
    /// Floating-point, 64 bits.
    F64,
}

/// The operations on numbers. Integers wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Bits set in both.
    And,
    /// Bits set in one or both.
    Or,
    /// Bits set in one.
    Xor,
    /// Sum.
    Add,
    /// Product.
    Mult,
    /// The lesser one.
    Min,
    /// The greater one.
    Max,
}

/// Combines `count` numbers at the first address with those at the second, where the results stand.
type Loop = unsafe fn(*const u8, *mut u8, usize);

#[derive(Clone, Copy, Debug)]
enum How {
    Numbers(Loop),
    /// The function, and the client's pointer as a number, because a collective under way belongs to no thread.
    Client(Function, usize),
}

/// How a reduction combines.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    how: How,
    elem_size: usize,
}

/// # Safety
/// `left` is readable and `right` writable for `count` values, at any address. They do not overlap.
unsafe fn each<T: Copy>(left: *const u8, right: *mut u8, count: usize, f: impl Fn(T, T) -> T) {
    let (left, right) = (left.cast::<T>(), right.cast::<T>());
    for i in 0..count {
        // SAFETY: i < count, and the caller promises `count` readable values.
        let a = unsafe { left.wrapping_add(i).read_unaligned() };
        // SAFETY: i < count, and the caller promises `count` readable values.
        let b = unsafe { right.wrapping_add(i).read_unaligned() };
        // SAFETY: i < count, and the caller promises `count` writable values.
        unsafe { right.wrapping_add(i).write_unaligned(f(a, b)) };
    }
}

macro_rules! looped {
    ($type:ty, $f:expr) => {{
        /// # Safety
        /// As [`each`].
        unsafe fn numbers(left: *const u8, right: *mut u8, count: usize) {
            // SAFETY: the caller promises what `each` asks for.
            unsafe { each::<$type>(left, right, count, $f) }
        }
        Some(numbers as Loop)
    }};
}

macro_rules! integers {
    ($type:ty, $operation:expr) => {
        match $operation {
            Operation::And => looped!($type, |a, b| a & b),
            Operation::Or => looped!($type, |a, b| a | b),
            Operation::Xor => looped!($type, |a, b| a ^ b),
            Operation::Add => looped!($type, <$type>::wrapping_add),
            Operation::Mult => looped!($type, <$type>::wrapping_mul),
            Operation::Min => looped!($type, |a, b| if a < b { a } else { b }),
            Operation::Max => looped!($type, |a, b| if a > b { a } else { b }),
        }
    };
}

macro_rules! floats {
    ($type:ty, $operation:expr) => {
        match $operation {
            Operation::And | Operation::Or | Operation::Xor => None,
            Operation::Add => looped!($type, |a, b| a + b),
            Operation::Mult => looped!($type, |a, b| a * b),
            Operation::Min => looped!($type, |a, b| if a < b { a } else { b }),
            Operation::Max => looped!($type, |a, b| if a > b { a } else { b }),
        }
    };
}

impl Number {
    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Number::I8 | Number::U8 => 1,
            Number::I16 | Number::U16 => 2,
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::I64 | Number::U64 | Number::F64 => 8,
        }
    }
}

impl Operator {
    /// `operation` on numbers of this type; `None` if there is no such operation on them.
    pub fn numbers(number: Number, operation: Operation) -> Option<Operator> {
        let combine = match number {
            Number::I8 => integers!(i8, operation),
            Number::U8 => integers!(u8, operation),
            Number::I16 => integers!(i16, operation),
            Number::U16 => integers!(u16, operation),
            Number::I32 => integers!(i32, operation),
            Number::U32 => integers!(u32, operation),
            Number::I64 => integers!(i64, operation),
            Number::U64 => integers!(u64, operation),
            Number::F32 => floats!(f32, operation),
            Number::F64 => floats!(f64, operation),
        }?;
        Some(Operator { how: How::Numbers(combine), elem_size: number.size() })
    }

    /// The client's function, for elements of `elem_size` bytes.
    ///
    /// # Safety
    /// Until the collective is done, `function` may be called with `cdata`, and combines according to the contract.
    pub unsafe fn client(function: Function, cdata: *const c_void, elem_size: usize) -> Operator {
        Operator { how: How::Client(function, cdata as usize), elem_size }
    }

    /// Bytes of an element.
    pub fn elem_size(&self) -> usize {
        self.elem_size
    }

    /// `right` becomes `left` combined with `right`. Both are of the same length, in one piece, and do not overlap.
    pub fn combine(&self, left: &Span, right: &Span) {
        assert!(left.len() == right.len());
        let count = right.len().checked_div(self.elem_size).unwrap_or(0);
        let (Some(left), Some(right)) = (left.address(), right.address()) else { return };
        if count == 0 {
            return;
        }
        match self.how {
            // SAFETY: the spans' makers promised memory of that length, and the caller that they do not overlap.
            How::Numbers(combine) => unsafe { combine(left as *const u8, right as *mut u8, count) },
            // SAFETY: the spans' makers promised memory of that length, and the caller that they do not overlap; and
            // the caller of `client` promised what the function does.
            How::Client(function, cdata) => unsafe {
                function(left as *const c_void, right as *mut c_void, count, cdata as *const c_void)
            },
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::span::Buffer;
    use super::*;

    fn combined<T: Copy + Default>(number: Number, operation: Operation, left: T, right: T) -> T {
        let how = Operator::numbers(number, operation).unwrap();
        let (a, b) = (Buffer::new(size_of::<T>()), Buffer::new(size_of::<T>()));
        // SAFETY: as many bytes as the buffer has.
        unsafe { Span::of(&a).write(0, (&raw const left).cast(), size_of::<T>()) };
        // SAFETY: as many bytes as the buffer has.
        unsafe { Span::of(&b).write(0, (&raw const right).cast(), size_of::<T>()) };
        how.combine(&Span::of(&a), &Span::of(&b));
        let mut result = T::default();
        // SAFETY: as many bytes as the buffer has.
        unsafe { Span::of(&b).read(0, (&raw mut result).cast(), size_of::<T>()) };
        result
    }

    #[test]
    fn numbers_combine_as_in_c_and_integers_wrap() {
        use Operation::*;
        assert_eq!(combined(Number::I32, Add, i32::MAX, 1), i32::MIN);
        assert_eq!(combined(Number::U64, Mult, 1u64 << 63, 2), 0);
        assert_eq!(combined(Number::I64, Min, -3i64, 2), -3);
        assert_eq!(combined(Number::U64, Min, -3i64 as u64, 2), 2);
        assert_eq!(combined(Number::U32, Xor, 6u32, 3), 5);
        assert_eq!(combined(Number::I32, And, 6, 3), 2);
        assert_eq!(combined(Number::I32, Or, 6, 3), 7);
        assert_eq!(combined(Number::F32, Max, -1.5f32, -2.5), -1.5);
        assert_eq!(combined(Number::F64, Mult, 1.5, 3.0), 4.5);
        assert!(combined(Number::F64, Min, f64::NAN, 1.0) == 1.0, "unordered: the right one");
    }

    #[test]
    fn there_are_no_bit_operations_on_floating_point() {
        use Operation::*;
        for number in [Number::F32, Number::F64] {
            assert!([And, Or, Xor].iter().all(|operation| Operator::numbers(number, *operation).is_none()));
        }
    }
}
