//! Calls a client's handler with exactly as many arguments as the message has.
//!
//! Calling a C function through a type with another parameter count is undefined, so there is one type per count.
//!
//! Handlers of real clients (XcalableMP) declare arguments as `size_t`, and rely on a conduit that loads each from an array of `int32_t`: on
//! x86-64 and Arm that clears the upper half of the register. So an argument is passed as a word there, its upper half 0. A handler that
//! declares `int32_t` looks at the lower half alone (System V ABI, AAPCS64). Elsewhere the caller has to extend the sign.
//!
//! Must not know: which handler, what its arguments mean.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use std::ffi::c_void;

type Token = *mut c_void;

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]
type Passed = u64;
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")))]
type Passed = i32;

/// An argument as it is passed.
#[inline(always)]
fn passed(arg: i32) -> Passed {
    arg as u32 as Passed
}

/// The type of a handler: its leading parameters, then one argument for each literal.
macro_rules! handler {
    (($($lead:ty),*) $($k:literal)*) => { extern "C" fn($($lead),* $(, handler!(@int $k))*) };
    (@int $k:literal) => { Passed };
}

macro_rules! invoke {
    ($f:ident ($($lead:expr),*) $a:ident $($k:literal)*) => { $f($($lead),* $(, passed($a($k)))*) };
}

macro_rules! call {
    ($address:expr, $lead:tt, $types:tt, $n:expr, $a:ident, [$($i:literal => [$($k:literal)*];)*]) => {
        match $n {
            $($i => {
                // SAFETY: the caller promises that `address` is a handler of this category and argument count.
                let f: handler!($types $($k)*) = unsafe { std::mem::transmute($address) };
                invoke!(f $lead $a $($k)*)
            })*
            _ => unreachable!("argument counts are at most 16"),
        }
    };
}

macro_rules! by_count {
    ($address:expr, $lead:tt, $types:tt, $n:expr, $a:ident) => {
        call!($address, $lead, $types, $n, $a, [
            0 => [];
            1 => [0];
            2 => [0 1];
            3 => [0 1 2];
            4 => [0 1 2 3];
            5 => [0 1 2 3 4];
            6 => [0 1 2 3 4 5];
            7 => [0 1 2 3 4 5 6];
            8 => [0 1 2 3 4 5 6 7];
            9 => [0 1 2 3 4 5 6 7 8];
            10 => [0 1 2 3 4 5 6 7 8 9];
            11 => [0 1 2 3 4 5 6 7 8 9 10];
            12 => [0 1 2 3 4 5 6 7 8 9 10 11];
            13 => [0 1 2 3 4 5 6 7 8 9 10 11 12];
            14 => [0 1 2 3 4 5 6 7 8 9 10 11 12 13];
            15 => [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14];
            16 => [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15];
        ])
    };
}

/// Calls a Short handler with the first `count` arguments. `arg` is asked for each of these once, and for no other.
///
/// # Safety
/// `address` is a C function `void (token, int32_t × count)`.
#[inline(always)]
pub unsafe fn short(address: usize, token: Token, arg: impl Fn(usize) -> i32, count: usize) {
    by_count!(address, (token), (Token), count, arg)
}

/// Calls a Medium or Long handler.
///
/// # Safety
/// `address` is a C function `void (token, void *, size_t, int32_t × count)`.
#[inline(always)]
pub unsafe fn payload(
    address: usize,
    token: Token,
    buf: *mut u8,
    len: usize,
    arg: impl Fn(usize) -> i32,
    count: usize,
) {
    #[cfg(all(any(test, fuzzing), not(loom)))]
    crate::testkit::fuzzing::watch::look(buf, len);
    let buf: *mut c_void = buf.cast();
    by_count!(address, (token, buf, len), (Token, *mut c_void, usize), count, arg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    thread_local!(static SEEN: RefCell<Vec<i64>> = const { RefCell::new(Vec::new()) });

    extern "C" fn three(token: Token, a: i32, b: i32, c: i32) {
        SEEN.with(|s| s.borrow_mut().extend([token as i64, a.into(), b.into(), c.into()]));
    }

    extern "C" fn buffer_and_two(_: Token, buf: *mut c_void, len: usize, a: i32, b: i32) {
        SEEN.with(|s| s.borrow_mut().extend([buf as i64, len as i64, a.into(), b.into()]));
    }

    #[test]
    fn handlers_get_their_arguments_in_order() {
        let arg = |i| i32::MIN + i as i32;
        // SAFETY: the function takes a token and three arguments.
        unsafe { short(three as *const () as usize, 7 as Token, arg, 3) };
        // SAFETY: the function takes a token, a buffer and two arguments.
        unsafe { payload(buffer_and_two as *const () as usize, 7 as Token, 9 as *mut u8, 5, arg, 2) };
        let min = i64::from(i32::MIN);
        SEEN.with(|s| assert_eq!(*s.borrow(), [7, min, min + 1, min + 2, 9, 5, min, min + 1]));
    }

    /// More than registers hold.
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]
    #[test]
    fn a_handler_that_declares_words_gets_what_was_sent() {
        #[allow(clippy::too_many_arguments)]
        extern "C" fn nine(
            _: Token,
            a: usize,
            b: usize,
            c: usize,
            d: usize,
            e: usize,
            f: usize,
            g: usize,
            h: usize,
            i: usize,
        ) {
            SEEN.with(|s| s.borrow_mut().extend([a, b, c, d, e, f, g, h, i].map(|n| n as i64)));
        }
        let words = [0x6500000064u64; 5];
        let arg = |k: usize| (words[k / 2] >> (32 * (k % 2))) as i32;
        // SAFETY: the function takes a token and nine arguments.
        unsafe { short(nine as *const () as usize, 7 as Token, arg, 9) };
        SEEN.with(|s| assert_eq!(s.take(), [0x64, 0x65, 0x64, 0x65, 0x64, 0x65, 0x64, 0x65, 0x64]));
    }
}
