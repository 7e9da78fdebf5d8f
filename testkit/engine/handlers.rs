//! Handlers as a C client has them: one function for each category, number of arguments and direction. They find
//! their node through a thread-local.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::plan::Category;
use super::traffic::Traffic;
use super::world::Kit;
use crate::am::token::Token;
use std::cell::Cell;
use std::ffi::c_void;

thread_local! {
    static CURRENT: Cell<*const c_void> = const { Cell::new(std::ptr::null()) };
}

/// Runs `f` as client code of the node whose traffic this is.
pub(super) fn on<A: Kit, R>(traffic: &Traffic<'_, A>, f: impl FnOnce() -> R) -> R {
    let before = CURRENT.replace(std::ptr::from_ref(traffic).cast());
    let result = f();
    CURRENT.set(before);
    result
}

fn current<'a, A: Kit>() -> &'a Traffic<'a, A> {
    // SAFETY: `on` set the pointer to a traffic of the same adapter type, which outlives the calls inside `on`.
    unsafe { CURRENT.get().cast::<Traffic<'a, A>>().as_ref() }.expect("a handler runs inside `on`")
}

fn token<'a>(raw: *mut c_void) -> &'a Token {
    // SAFETY: `raw` is the token that the handler was called with.
    unsafe { Token::from_raw(raw) }.expect("a handler's token")
}

const COUNTS: usize = 17;

/// Index of the handler for this kind of message.
pub(super) fn index(category: Category, reply: bool, args: usize) -> u8 {
    (128 + COUNTS * (category as usize + 3 * usize::from(reply)) + args) as u8
}

macro_rules! by_count {
    ($($n:literal [$($a:ident)*])*) => {
        fn short<A: Kit, const REPLY: bool>(count: usize) -> *const () {
            match count {
                $($n => {
                    extern "C" fn run<A: Kit, const REPLY: bool>(raw: *mut c_void $(, $a: i32)*) {
                        current::<A>().arrived(token(raw), REPLY, Category::Short, (std::ptr::null_mut(), 0), &[$($a),*]);
                    }
                    run::<A, REPLY> as *const ()
                })*
                _ => unreachable!(),
            }
        }

        fn payload<A: Kit, const REPLY: bool, const LONG: bool>(count: usize) -> *const () {
            match count {
                $($n => {
                    extern "C" fn run<A: Kit, const REPLY: bool, const LONG: bool>(
                        raw: *mut c_void, buf: *mut c_void, len: usize $(, $a: i32)*
                    ) {
                        let category = if LONG { Category::Long } else { Category::Medium };
                        current::<A>().arrived(token(raw), REPLY, category, (buf.cast(), len), &[$($a),*]);
                    }
                    run::<A, REPLY, LONG> as *const ()
                })*
                _ => unreachable!(),
            }
        }
    };
}

by_count! {
    0 [] 1 [a] 2 [a b] 3 [a b c] 4 [a b c d] 5 [a b c d e] 6 [a b c d e f] 7 [a b c d e f g] 8 [a b c d e f g h]
    9 [a b c d e f g h i] 10 [a b c d e f g h i j] 11 [a b c d e f g h i j k] 12 [a b c d e f g h i j k l]
    13 [a b c d e f g h i j k l m] 14 [a b c d e f g h i j k l m n] 15 [a b c d e f g h i j k l m n o]
    16 [a b c d e f g h i j k l m n o p]
}

/// The table that every node registers.
pub(super) fn table<A: Kit>() -> Vec<(u8, usize)> {
    let row = |args: usize| {
        [
            (index(Category::Short, false, args), short::<A, false>(args).addr()),
            (index(Category::Medium, false, args), payload::<A, false, false>(args).addr()),
            (index(Category::Long, false, args), payload::<A, false, true>(args).addr()),
            (index(Category::Short, true, args), short::<A, true>(args).addr()),
            (index(Category::Medium, true, args), payload::<A, true, false>(args).addr()),
            (index(Category::Long, true, args), payload::<A, true, true>(args).addr()),
        ]
    };
    (0..COUNTS).flat_map(row).collect()
}
