//! Mail boxes.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::constants::DECK_FOREVER;
use super::msg::deck_msg;
use super::{DESTROYED, GIVEN, Object, deck, hand_out, number, object, shared, status, take_back, text, until, wrong};
use crate::deck::engine::Handle;
use crate::deck::owner::Credit;
use crate::deck::waiting::Key;
use crate::deck::{Failure, Until};
use crate::os::{event, own_threads};
use parking_lot::Mutex;
use std::ffi::{c_char, c_int};

/// `struct deck_mbox`.
pub struct deck_mbox {
    magic: u32,
    handle: Handle,
}

impl Object for deck_mbox {
    const MAGIC: u32 = 0x626f_785c;
    const NAME: &'static str = "mail box";
    type Content = Handle;
    fn word(&self) -> u32 {
        self.magic
    }
    fn magic(&mut self) -> &mut u32 {
        &mut self.magic
    }
    fn content(&mut self) -> Handle {
        self.handle
    }
}

impl deck_mbox {
    pub(super) fn new(handle: Handle) -> deck_mbox {
        deck_mbox { magic: Self::MAGIC, handle }
    }
}

/// The handle of a box that a client names. Threads share it.
///
/// # Safety
/// NULL or a box.
#[inline(always)]
pub(super) unsafe fn handle<'a>(mbox: *mut deck_mbox) -> Result<&'a Handle, Failure> {
    // SAFETY: as the caller promises.
    unsafe { shared(mbox) }.map(|object| &object.handle)
}

/// `deck_mbox_attr_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct deck_mbox_attr_t {
    /// `sizeof(deck_mbox_attr_t)`.
    pub size: usize,
    /// Bytes.
    pub capacity_bytes: usize,
    /// Messages.
    pub capacity_msgs: usize,
}

/// The capacity of a box without attributes.
const DEFAULT: Credit = Credit { messages: 1024, bytes: 16 << 20 };

/// `deck_mbox_create`.
///
/// # Safety
/// `name` is NULL or a C string, `attr` NULL or a structure, `mbox` NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_create(
    name: *const c_char,
    attr: *const deck_mbox_attr_t,
    mbox: *mut *mut deck_mbox,
) -> c_int {
    status("deck_mbox_create", || {
        let deck = deck()?;
        if mbox.is_null() {
            return wrong("NULL for the result");
        }
        // SAFETY: as the caller promises.
        let name = if name.is_null() { None } else { Some(unsafe { text(name) }?) };
        let capacity = match attr.is_null() {
            true => DEFAULT,
            // SAFETY: as the caller promises.
            false => capacity(unsafe { attr.read() })?,
        };
        let handle = deck.open(name, capacity)?;
        // SAFETY: not NULL, so the caller promises that it is writable.
        unsafe { hand_out(mbox, deck_mbox::new(handle)) };
        Ok(())
    })
}

/// The capacity that the attributes ask for, if a box can have it.
fn capacity(attr: deck_mbox_attr_t) -> Result<Credit, Failure> {
    if attr.size != size_of::<deck_mbox_attr_t>() {
        return wrong(format!("size {} of the attributes is not sizeof(deck_mbox_attr_t)", attr.size));
    }
    let (messages, bytes) = (attr.capacity_msgs as u64, attr.capacity_bytes as u64);
    if !(1..=1 << 31).contains(&messages) || !(1..=1 << 48).contains(&bytes) {
        return wrong(format!("a box for {messages} messages, of 1 to 2^31, and {bytes} bytes, of 1 to 2^48"));
    }
    Ok(Credit { messages, bytes })
}

/// `deck_mbox_clone`.
///
/// # Safety
/// `name` is NULL or a C string, `mbox` NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_clone(name: *const c_char, time: i64, mbox: *mut *mut deck_mbox) -> c_int {
    status("deck_mbox_clone", || {
        let deck = deck()?;
        if mbox.is_null() {
            return wrong("NULL for the result");
        }
        // SAFETY: as the caller promises.
        let handle = deck.find(unsafe { text(name) }?, until(time)?)?;
        // SAFETY: not NULL, so the caller promises that it is writable.
        unsafe { hand_out(mbox, deck_mbox::new(handle)) };
        Ok(())
    })
}

/// `deck_mbox_destroy`.
///
/// # Safety
/// `mbox` is NULL or a box, which nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_destroy(mbox: *mut deck_mbox) -> c_int {
    status("deck_mbox_destroy", || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        let handle = unsafe { take_back(mbox, DESTROYED) }?;
        deck.destroy(&handle)
    })
}

/// `deck_mbox_post`.
///
/// # Safety
/// `mbox` is NULL or a box, `msg` NULL or a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_post(mbox: *mut deck_mbox, msg: *mut deck_msg) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { post::<false>(mbox, msg, DECK_FOREVER) }
}

/// `deck_mbox_post_timed`.
///
/// # Safety
/// As [`deck_mbox_post`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_post_timed(mbox: *mut deck_mbox, msg: *mut deck_msg, time: i64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { post::<true>(mbox, msg, time) }
}

/// `deck_mbox_post` and `deck_mbox_post_timed`. Compiled for each of the two, so that `deck_mbox_post` neither converts a time nor makes
/// another call. `time` is used only if `TIMED`.
///
/// # Safety
/// As [`deck_mbox_post`].
#[inline(always)]
unsafe fn post<const TIMED: bool>(mbox: *mut deck_mbox, msg: *mut deck_msg, time: i64) -> c_int {
    status(if TIMED { "deck_mbox_post_timed" } else { "deck_mbox_post" }, || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        let handle = unsafe { handle(mbox) }?;
        // SAFETY: as the caller promises.
        let object = unsafe { object(msg) }?;
        deck.post(handle, &object.message, if TIMED { until(time)? } else { Until::Forever })
    })
}

/// `deck_mbox_retrv`.
///
/// # Safety
/// `mbox` is NULL or a box, `msg` NULL or a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_retrv(mbox: *mut deck_mbox, msg: *mut deck_msg) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { retrieve::<false>(mbox, msg, DECK_FOREVER) }
}

/// `deck_mbox_retrv_timed`.
///
/// # Safety
/// As [`deck_mbox_retrv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_retrv_timed(mbox: *mut deck_mbox, msg: *mut deck_msg, time: i64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { retrieve::<true>(mbox, msg, time) }
}

/// `deck_mbox_retrv` and `deck_mbox_retrv_timed`, as [`post`].
///
/// # Safety
/// As [`deck_mbox_retrv`].
#[inline(always)]
unsafe fn retrieve<const TIMED: bool>(mbox: *mut deck_mbox, msg: *mut deck_msg, time: i64) -> c_int {
    status(if TIMED { "deck_mbox_retrv_timed" } else { "deck_mbox_retrv" }, || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        let handle = unsafe { handle(mbox) }?;
        // SAFETY: as the caller promises.
        let object = unsafe { object(msg) }?;
        deck.retrieve(handle, &mut object.message, if TIMED { until(time)? } else { Until::Forever })
    })
}

/// `deck_mbox_give`.
///
/// # Safety
/// `mbox` is NULL or a box; `msg` is NULL or points to a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_give(mbox: *mut deck_mbox, msg: *mut *mut deck_msg, time: i64) -> c_int {
    status("deck_mbox_give", || {
        let deck = deck()?;
        if msg.is_null() {
            return wrong("NULL for the place of the message");
        }
        // SAFETY: as the caller promises.
        let handle = unsafe { handle(mbox) }?;
        // SAFETY: as the caller promises.
        let given = unsafe { msg.read() };
        let until = until(time)?;
        // SAFETY: as the caller promises.
        let object = unsafe { object(given) }?;
        deck.give(handle, &mut object.message, until)?;
        // SAFETY: as the caller promises; the message is gone, and what is left of the object is freed.
        drop(unsafe { take_back(given, GIVEN) }?);
        // SAFETY: it pointed to a message, so it is writable.
        unsafe { msg.write(std::ptr::null_mut()) };
        Ok(())
    })
}

/// `deck_mbox_take`.
///
/// # Safety
/// `mbox` is NULL or a box; `msg` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_take(mbox: *mut deck_mbox, msg: *mut *mut deck_msg, time: i64) -> c_int {
    status("deck_mbox_take", || {
        let deck = deck()?;
        if msg.is_null() {
            return wrong("NULL for the result");
        }
        // SAFETY: as the caller promises.
        let message = deck.take(unsafe { handle(mbox) }?, until(time)?)?;
        // SAFETY: not NULL, so the caller promises that it is writable.
        unsafe { hand_out(msg, deck_msg::new(message)) };
        Ok(())
    })
}

/// `deck_mbox_select`.
///
/// # Safety
/// `set` points to `n` boxes; `which` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_select(set: *const *mut deck_mbox, n: c_int, time: i64, which: *mut c_int) -> c_int {
    status("deck_mbox_select", || {
        let deck = deck()?;
        if set.is_null() || which.is_null() || n < 1 {
            return wrong(match n {
                ..1 => format!("a set of {n} boxes; it has at least 1"),
                _ if set.is_null() => "NULL for the set of boxes".into(),
                _ => "NULL for the result, the index in the set".into(),
            });
        }
        // SAFETY: below `n`, as the caller promises.
        let each = (0..n as usize).map(|i| unsafe { set.wrapping_add(i).read() });
        // SAFETY: as the caller promises.
        let one = |mbox| unsafe { handle(mbox) }.copied();
        // Copies: another thread may destroy a box meanwhile.
        let handles = each.map(one).collect::<Result<Vec<Handle>, Failure>>()?;
        let found = deck.select(&handles, until(time)?)?;
        // SAFETY: not NULL, so the caller promises that it is writable.
        unsafe { which.write(found as c_int) };
        Ok(())
    })
}

/// `deck_mbox_pending`.
///
/// # Safety
/// `mbox` is NULL or a box.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_pending(mbox: *mut deck_mbox) -> c_int {
    number("deck_mbox_pending", || {
        // SAFETY: as the caller promises.
        let pending = deck()?.pending(unsafe { handle(mbox) }?)?;
        Ok(c_int::try_from(pending).unwrap_or(c_int::MAX))
    })
}

/// The thread `deck-poll` has been started. It serves messages while the program sleeps in poll(2).
static SERVED: Mutex<bool> = Mutex::new(false);

/// `deck_mbox_fd`.
///
/// # Safety
/// `mbox` is NULL or a box.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_mbox_fd(mbox: *mut deck_mbox) -> c_int {
    number("deck_mbox_fd", || {
        let deck = deck()?;
        if !deck.is_threaded() {
            return Err(Failure::Mode);
        }
        // SAFETY: as the caller promises.
        let handle = unsafe { handle(mbox) }?;
        deck.may_have_descriptor(handle)?; // a call that is refused starts no thread
        let mut served = SERVED.lock();
        if !*served {
            let serve = || {
                let _listed = own_threads::listed();
                // It waits for what never comes, and so serves until `deck_done` ends all waits.
                let nothing = Key::Ticket(deck.waiting.ticket());
                let _ = deck.wait(&[nothing], crate::deck::Until::Forever, || Ok(None::<()>));
            };
            let started = std::thread::Builder::new().name("deck-poll".into()).spawn(serve);
            if let Err(error) = started {
                return Err(Failure::memory(format!("the thread that serves the network: {error}")));
            }
            *served = true;
        }
        deck.descriptor(handle, || event::new().map_err(|error| Failure::memory(error.to_string())))
    })
}
