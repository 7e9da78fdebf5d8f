//! The C ABI of DECK: the functions of `include/deck.h`, where their rules stand (contract: deck.md).

#![allow(unsafe_code)] // objects that clients hold

pub mod coll;
pub mod constants;
pub mod job;
pub mod mbox;
pub mod msg;
pub mod task;
pub mod thread;

use self::constants::*;
use super::shared::debug::{NamedCall, checks_deck};
use crate::base::log;
use crate::deck::engine::Deck;
use crate::deck::{Failure, Until};
use crate::sci::Host;
use crate::sync::fixed::{AtomicPtr, Ordering};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::VecDeque;
use std::ffi::{c_char, c_int};
use std::time::{Duration, Instant};

/// The engine, between deck_init and deck_done; else NULL.
static ENGINE: AtomicPtr<Deck<Host>> = AtomicPtr::new(std::ptr::null_mut());

fn set_engine(deck: Option<&'static Deck<Host>>) {
    let deck = deck.map_or(std::ptr::null_mut(), |deck| std::ptr::from_ref(deck).cast_mut());
    ENGINE.store(deck, Ordering::Release); // ORDERING: Release ↔ Acquire in `engine`: who sees the engine sees what it consists of
}

/// The engine, between deck_init and deck_done, in handlers as well.
#[inline(always)]
fn engine() -> Result<&'static Deck<Host>, Failure> {
    // SAFETY: NULL or an engine that lives as long as the process. ORDERING: Acquire as in `set_engine`.
    unsafe { ENGINE.load(Ordering::Acquire).as_ref() }.ok_or(Failure::Init)
}

/// The engine, between deck_init and deck_done, outside handlers.
#[inline(always)]
fn deck() -> Result<&'static Deck<Host>, Failure> {
    let deck = engine()?;
    match deck.am().in_handler() {
        false => Ok(deck),
        true => wrong("called in an AM handler"),
    }
}

/// The code of a failure of `call`, and its line on stderr, if it gets one:
///
/// | failure | line |
/// |---|---|
/// | a program may expect it: time over, box gone, too little room, … | never |
/// | a wrong argument, or something used up | always |
/// | another mistake | if the client says where it calls (DECK_DEBUG) |
#[cold]
fn failed(call: &str, failure: &Failure) -> c_int {
    let (code, name) = match failure {
        Failure::Again => return DECK_EAGAIN,
        Failure::TimedOut => return DECK_ETIMEDOUT,
        Failure::Exists => return DECK_EEXIST,
        Failure::Gone => return DECK_EGONE,
        Failure::Peer => return DECK_EPEER,
        Failure::Truncated => return DECK_ETRUNC,
        Failure::Place => (DECK_EPLACE, "DECK_EPLACE"),
        Failure::Type => (DECK_ETYPE, "DECK_ETYPE"),
        Failure::Mode => (DECK_EMODE, "DECK_EMODE"),
        Failure::Init => (DECK_EINIT, "DECK_EINIT"),
        Failure::Twice => (DECK_ETWICE, "DECK_ETWICE"),
        Failure::Memory(_) => (DECK_ENOMEM, "DECK_ENOMEM"),
        Failure::Argument(_) => (DECK_EARG, "DECK_EARG"),
        Failure::Engine(error) => crate::job::fatal(format_args!("{call}: {error}")),
    };
    let call = NamedCall::named(call);
    match failure {
        Failure::Memory(what) | Failure::Argument(what) => {
            log::error(format_args!("{} returning {name}: {what}{}", call.name(), call.place()));
        }
        _ if call.has_place() => {
            let what = job::text(code).to_string_lossy();
            log::error(format_args!("{} returning {name}: {what}{}", call.name(), call.place()));
        }
        _ => {}
    }
    code
}

/// The result of a call whose success is a number.
#[inline(always)]
fn number(call: &str, body: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    super::shared::threads::note();
    body().unwrap_or_else(|failure| failed(call, &failure))
}

/// The result of a call.
#[inline(always)]
fn status(call: &str, body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    number(call, || body().map(|()| 0))
}

fn wrong<T>(what: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::argument(what))
}

/// When a time in nanoseconds, as clients give it, is over.
#[inline(always)]
fn until(time: i64) -> Result<Until, Failure> {
    match time {
        DECK_FOREVER => Ok(Until::Forever),
        0 => Ok(Until::Now),
        1.. => Ok(Instant::now().checked_add(Duration::from_nanos(time as u64)).map_or(Until::Forever, Until::Time)),
        _ => wrong(format!("a time of {time} ns; it is DECK_FOREVER, 0 or more")),
    }
}

/// The first word of an object that was destroyed, and of a message that was given.
const DESTROYED: u32 = 0x6465_6164;
const GIVEN: u32 = 0x6769_7665;

/// An object that clients hold. Its first word is its kind, or what became of it.
trait Object: Send + 'static {
    /// The first word of an object of this kind.
    const MAGIC: u32;
    /// Its name in messages.
    const NAME: &'static str;
    /// What the library needs of it when it ends.
    type Content;
    /// The first word.
    fn word(&self) -> u32;
    /// The first word, to be changed.
    fn magic(&mut self) -> &mut u32;
    /// Takes the content out.
    fn content(&mut self) -> Self::Content;
}

/// Objects that ended, the last [`KEPT`] of them, if the client wants checks: their words say what became of them.
static ENDED: Mutex<VecDeque<Box<dyn Any + Send>>> = Mutex::new(VecDeque::new());
const KEPT: usize = 16_384;

/// The failure for a pointer to something whose first word is not that of a `T`.
#[cold]
fn no_object<R, T: Object>(pointer: *const T, word: u32) -> Result<R, Failure> {
    match word {
        GIVEN => wrong(format!("the {} {pointer:p} was given", T::NAME)),
        DESTROYED => wrong(format!("the {} {pointer:p} was destroyed", T::NAME)),
        _ => wrong(format!("{pointer:p} is no {}, or was destroyed", T::NAME)),
    }
}

/// The object that a client names.
///
/// # Safety
/// NULL, or an object of that kind that no other thread uses now; or one that was destroyed, as far as that can still be told.
#[inline(always)]
unsafe fn object<'a, T: Object>(pointer: *mut T) -> Result<&'a mut T, Failure> {
    // SAFETY: as the caller promises.
    let Some(object) = (unsafe { pointer.as_mut() }) else { return wrong(format!("NULL for a {}", T::NAME)) };
    match object.word() {
        word if word == T::MAGIC => Ok(object),
        word => no_object(pointer, word),
    }
}

/// The object that a client names, which threads share.
///
/// # Safety
/// As [`object`], but other threads may use it, too.
#[inline(always)]
unsafe fn shared<'a, T: Object>(pointer: *const T) -> Result<&'a T, Failure> {
    // SAFETY: as the caller promises.
    let Some(object) = (unsafe { pointer.as_ref() }) else { return wrong(format!("NULL for a {}", T::NAME)) };
    match object.word() {
        word if word == T::MAGIC => Ok(object),
        word => no_object(pointer, word),
    }
}

/// Gives an object to the client.
///
/// # Safety
/// `place` is writable.
unsafe fn hand_out<T>(place: *mut *mut T, object: T) {
    // SAFETY: as the caller promises.
    unsafe { place.write(Box::into_raw(Box::new(object))) };
}

/// Takes an object back, of which `end` says what became, and returns its content.
///
/// # Safety
/// As [`object`], and nobody uses it afterwards.
unsafe fn take_back<T: Object>(pointer: *mut T, end: u32) -> Result<T::Content, Failure> {
    // SAFETY: as the caller promises.
    let object = unsafe { object(pointer) }?;
    let content = object.content();
    *object.magic() = end;
    // SAFETY: made by `hand_out`.
    let object = unsafe { Box::from_raw(pointer) };
    if checks_deck() {
        let mut ended = ENDED.lock();
        if ended.len() == KEPT {
            ended.pop_front();
        }
        ended.push_back(object);
    }
    Ok(content)
}

/// A text of the client's.
///
/// # Safety
/// NULL or a C string.
unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a [u8], Failure> {
    if pointer.is_null() {
        return wrong("NULL for a text");
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { std::ffi::CStr::from_ptr(pointer) }.to_bytes())
}
