//! Messages.

#![allow(unsafe_code)] // clients' pointers; exported names

use super::constants::*;
use super::mbox::deck_mbox;
use super::{DESTROYED, Object, deck, hand_out, number, object, status, take_back, text, wrong};
use crate::deck::message::{Message, Storage};
use crate::deck::{BoxId, Failure};
use std::ffi::{c_char, c_int, c_void};

/// `struct deck_msg`.
pub struct deck_msg {
    magic: u32,
    pub(super) message: Message,
}

impl Object for deck_msg {
    const MAGIC: u32 = 0x6d73_675c;
    const NAME: &'static str = "message";
    type Content = Message;
    fn word(&self) -> u32 {
        self.magic
    }
    fn magic(&mut self) -> &mut u32 {
        &mut self.magic
    }
    fn content(&mut self) -> Message {
        std::mem::replace(&mut self.message, Message::new(Storage::default(), 0, false))
    }
}

impl deck_msg {
    pub(super) fn new(message: Message) -> deck_msg {
        deck_msg { magic: Self::MAGIC, message }
    }
}

/// What is packed and has no type of deck.h: texts and boxes. The numbers are in the bytes of messages, so they stay.
const TEXT: u8 = 100;
const MBOX: u8 = 101;

/// Bytes of an element of a type.
pub(super) fn size_of(kind: c_int) -> Option<usize> {
    match kind {
        DECK_BYTE | DECK_INT8 | DECK_UINT8 => Some(1),
        DECK_INT16 | DECK_UINT16 => Some(2),
        DECK_INT32 | DECK_UINT32 | DECK_FLOAT => Some(4),
        DECK_INT64 | DECK_UINT64 | DECK_DOUBLE => Some(8),
        _ => None,
    }
}

/// As [`size_of`], for all that is packed.
fn size_of_packed(kind: u8) -> Option<usize> {
    match kind {
        TEXT => Some(1),
        MBOX => Some(8),
        kind => size_of(kind.into()),
    }
}

/// `deck_msg_create`.
///
/// # Safety
/// `place` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_create(capacity: usize, place: c_int, msg: *mut *mut deck_msg) -> c_int {
    status("deck_msg_create", || {
        let deck = deck()?;
        if msg.is_null() {
            return wrong("NULL for the result");
        }
        if !(DECK_AUTO..=DECK_SHARED).contains(&(place & !DECK_FIXED)) {
            return wrong(format!(
                "{place} is no place: DECK_AUTO, DECK_LOCAL or DECK_SHARED, or one of them + DECK_FIXED"
            ));
        }
        let limit = deck.limit;
        let shared = match place & !DECK_FIXED {
            DECK_LOCAL => false,
            DECK_SHARED => true,
            _ => capacity >= limit,
        };
        let message = deck.create(capacity, shared, place & DECK_FIXED != 0)?;
        // SAFETY: not NULL, so the caller promises that it is writable.
        unsafe { hand_out(msg, deck_msg::new(message)) };
        Ok(())
    })
}

/// `deck_msg_destroy`.
///
/// # Safety
/// `msg` is NULL or a message, which nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_destroy(msg: *mut deck_msg) -> c_int {
    status("deck_msg_destroy", || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        let message = unsafe { take_back(msg, DESTROYED) }?;
        deck.release(message.storage)
    })
}

/// `deck_msg_data`.
///
/// # Safety
/// `msg` is NULL or a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_data(msg: *mut deck_msg) -> *mut c_void {
    // SAFETY: as the caller promises.
    unsafe { object(msg) }.map_or(std::ptr::null_mut(), |object| object.message.at().cast())
}

/// `deck_msg_size`.
///
/// # Safety
/// `msg` is NULL or a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_size(msg: *mut deck_msg) -> usize {
    // SAFETY: as the caller promises.
    unsafe { object(msg) }.map_or(0, |object| object.message.size)
}

/// `deck_msg_capacity`.
///
/// # Safety
/// `msg` is NULL or a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_capacity(msg: *mut deck_msg) -> usize {
    // SAFETY: as the caller promises.
    unsafe { object(msg) }.map_or(0, |object| object.message.capacity)
}

/// `deck_msg_source`.
///
/// # Safety
/// `msg` is NULL or a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_source(msg: *mut deck_msg) -> c_int {
    number("deck_msg_source", || {
        // SAFETY: as the caller promises.
        match unsafe { object(msg) }?.message.source {
            Some(source) => Ok(source as c_int),
            None => wrong("the message was not retrieved"),
        }
    })
}

/// `deck_msg_set_size`.
///
/// # Safety
/// `msg` is NULL or a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_set_size(msg: *mut deck_msg, size: usize) -> c_int {
    status("deck_msg_set_size", || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        deck.edit(&mut unsafe { object(msg) }?.message, |message| message.set_size(size))
    })
}

/// `deck_msg_clear`.
///
/// # Safety
/// `msg` is NULL or a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_clear(msg: *mut deck_msg) -> c_int {
    status("deck_msg_clear", || {
        deck()?;
        // SAFETY: as the caller promises.
        unsafe { object(msg) }?.message.clear();
        Ok(())
    })
}

/// `deck_msg_rewind`.
///
/// # Safety
/// `msg` is NULL or a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_rewind(msg: *mut deck_msg) -> c_int {
    status("deck_msg_rewind", || {
        deck()?;
        // SAFETY: as the caller promises.
        unsafe { object(msg) }?.message.rewind();
        Ok(())
    })
}

/// The bytes of `count` elements.
fn bytes_of(kind: c_int, count: usize) -> Result<usize, Failure> {
    let Some(size) = size_of(kind) else { return wrong(format!("{kind} is no type")) };
    // More than memory can have: no message has room for it.
    size.checked_mul(count).filter(|len| *len <= isize::MAX as usize).ok_or(Failure::Truncated)
}

/// `deck_msg_pack`.
///
/// # Safety
/// `msg` is NULL or a message; `from` is readable for `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_pack(msg: *mut deck_msg, from: *const c_void, kind: c_int, count: usize) -> c_int {
    status("deck_msg_pack", || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        let object = unsafe { object(msg) }?;
        let len = bytes_of(kind, count)?;
        if len > 0 && from.is_null() {
            return wrong("NULL for what is packed");
        }
        // SAFETY: readable for `len` bytes, as the caller promises; the message's own memory is another.
        let bytes = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(from.cast(), len) } };
        deck.edit(&mut object.message, |message| message.pack(kind as u8, count, bytes))
    })
}

/// `deck_msg_unpack`.
///
/// # Safety
/// `msg` is NULL or a message; `to` is writable for `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_unpack(msg: *mut deck_msg, to: *mut c_void, kind: c_int, count: usize) -> c_int {
    status("deck_msg_unpack", || {
        deck()?;
        // SAFETY: as the caller promises.
        let object = unsafe { object(msg) }?;
        if bytes_of(kind, count).map_or(count > 0, |len| len > 0) && to.is_null() {
            return wrong("NULL for where it goes");
        }
        if size_of(kind).is_none() {
            return wrong(format!("{kind} is no type"));
        }
        let (found, there, bytes) = object.message.packed_next(size_of_packed)?;
        if c_int::from(found) != kind || there != count {
            return Err(Failure::Type);
        }
        let len = bytes.len();
        // SAFETY: writable for these `count` elements, as the caller promises.
        unsafe { to.cast::<u8>().copy_from(bytes.as_ptr(), len) };
        object.message.take_packed(len);
        Ok(())
    })
}

/// `deck_msg_pack_str`.
///
/// # Safety
/// `msg` is NULL or a message; `from` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_pack_str(msg: *mut deck_msg, from: *const c_char) -> c_int {
    status("deck_msg_pack_str", || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        let object = unsafe { object(msg) }?;
        // SAFETY: as the caller promises.
        let text = unsafe { text(from) }?;
        deck.edit(&mut object.message, |message| message.pack(TEXT, text.len(), text))
    })
}

/// `deck_msg_unpack_str`.
///
/// # Safety
/// `msg` is NULL or a message; `to` is writable for `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_unpack_str(msg: *mut deck_msg, to: *mut c_char, room: usize) -> c_int {
    status("deck_msg_unpack_str", || {
        deck()?;
        // SAFETY: as the caller promises.
        let object = unsafe { object(msg) }?;
        if to.is_null() {
            return wrong("NULL for where the text goes");
        }
        let (found, len, bytes) = object.message.packed_next(size_of_packed)?;
        if found != TEXT {
            return Err(Failure::Type);
        }
        if len >= room {
            return Err(Failure::Truncated);
        }
        // SAFETY: writable for `room` bytes, more than `len`.
        unsafe { to.cast::<u8>().copy_from(bytes.as_ptr(), len) };
        // SAFETY: writable for `room` bytes, more than `len`.
        unsafe { to.wrapping_add(len).write(0) };
        object.message.take_packed(len);
        Ok(())
    })
}

/// `deck_msg_pack_mbox`.
///
/// # Safety
/// `msg` is NULL or a message, `mbox` NULL or a box.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_pack_mbox(msg: *mut deck_msg, mbox: *mut deck_mbox) -> c_int {
    status("deck_msg_pack_mbox", || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        let object = unsafe { object(msg) }?;
        // SAFETY: as the caller promises.
        let mbox = unsafe { super::mbox::handle(mbox) }?;
        deck.edit(&mut object.message, |message| message.pack(MBOX, 1, &mbox.id.word().to_ne_bytes()))
    })
}

/// `deck_msg_unpack_mbox`.
///
/// # Safety
/// `msg` is NULL or a message; `mbox` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_msg_unpack_mbox(msg: *mut deck_msg, mbox: *mut *mut deck_mbox) -> c_int {
    status("deck_msg_unpack_mbox", || {
        let deck = deck()?;
        // SAFETY: as the caller promises.
        let object = unsafe { object(msg) }?;
        if mbox.is_null() {
            return wrong("NULL for the result");
        }
        let (found, count, bytes) = object.message.packed_next(size_of_packed)?;
        let (MBOX, 1, Some(word)) = (found, count, bytes.first_chunk()) else { return Err(Failure::Type) };
        let id = BoxId::from_word(u64::from_ne_bytes(*word));
        if u32::from(id.owner) >= deck.nodes() {
            return wrong(format!("a box of node {}, which the job does not have", id.owner));
        }
        object.message.take_packed(8);
        // SAFETY: not NULL, so the caller promises that it is writable.
        unsafe { hand_out(mbox, deck_mbox::new(deck.handle(id, false))) };
        Ok(())
    })
}
