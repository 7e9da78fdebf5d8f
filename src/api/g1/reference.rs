//! The handlers of the reference Extended API: messages' arguments to the verbs of `rma::reference` at the target and back
//! at the initiator. Arguments are what those send: 64-bit values low half first.

use super::rma::am;
use crate::am::Am;
use crate::am::handlers;
use crate::am::source::Source;
use crate::am::token::Token;
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::sci::Host;
use crate::xfer::reference::{self, Asked};
use std::ffi::{c_int, c_void};

/// Registers them. In attach, before peers may send.
pub(in crate::api) fn register(job: &'static Job) {
    for (index, function) in [
        (handlers::RMA_PUT, on_put as *const () as usize),
        (handlers::RMA_PUT_WORD, on_put_word as *const () as usize),
        (handlers::RMA_GET, on_get as *const () as usize),
        (handlers::RMA_GET_LONG, on_get_long as *const () as usize),
        (handlers::RMA_SET, on_set as *const () as usize),
        (handlers::RMA_DONE, on_done as *const () as usize),
        (handlers::RMA_LANDED, on_landed as *const () as usize),
        (handlers::RMA_ARRIVED, on_arrived as *const () as usize),
        (handlers::RMA_FETCHED, on_fetched as *const () as usize),
    ] {
        job.am().handlers().set_internal(index, function);
    }
}

fn wide(low: c_int, high: c_int) -> usize {
    (u64::from(low as u32) | u64::from(high as u32) << 32) as usize
}

/// # Safety
/// `raw` is the running handler's token.
pub(in crate::api) unsafe fn handled(
    name: &'static str,
    raw: *mut c_void,
    body: impl FnOnce(&Am<Host>, &Token) -> Result<(), Error>,
) {
    let run = || {
        let (am, _) = am()?;
        // SAFETY: this function's own contract.
        match unsafe { Token::from_raw(raw) } {
            Some(token) => body(am, token),
            None => bad_arg(format_args!("no token")),
        }
    };
    if let Err(error) = run() {
        crate::job::fatal(format_args!("serving a peer's {name}: {error}"))
    }
}

extern "C" fn on_put(token: *mut c_void, _buf: *mut c_void, _len: usize, id: c_int) {
    // SAFETY: called by the engine with its token.
    unsafe { handled("put", token, |am, t| reference::on_put(am, t, id as u32)) };
}

extern "C" fn on_put_word(token: *mut c_void, a: c_int, b: c_int, c: c_int, d: c_int, id: c_int, len: c_int) {
    let put = |am: &Am<Host>, t: &Token| {
        reference::on_put_word(am, t, wide(a, b), wide(c, d) as u64, len as u32 as usize, id as u32)
    };
    // SAFETY: as above.
    unsafe { handled("put", token, put) };
}

/// # Safety
/// `token` is the running handler's.
unsafe fn serve_get(token: *mut c_void, long: bool, from: usize, len: c_int, asked: Asked) {
    // SAFETY: this function's own contract.
    unsafe { handled("get", token, |am, t| reference::on_get(am, t, long, from, len as u32 as usize, asked)) };
}

fn asked(to: usize, id: c_int, seal: c_int) -> Asked {
    Asked { to, id: id as u32, seal: seal as u32 }
}

extern "C" fn on_get(token: *mut c_void, a: c_int, b: c_int, c: c_int, d: c_int, id: c_int, len: c_int, seal: c_int) {
    // SAFETY: as above.
    unsafe { serve_get(token, false, wide(a, b), len, asked(wide(c, d), id, seal)) };
}

extern "C" fn on_get_long(
    token: *mut c_void,
    a: c_int,
    b: c_int,
    c: c_int,
    d: c_int,
    id: c_int,
    len: c_int,
    seal: c_int,
) {
    // SAFETY: as above.
    unsafe { serve_get(token, true, wide(a, b), len, asked(wide(c, d), id, seal)) };
}

extern "C" fn on_set(token: *mut c_void, a: c_int, b: c_int, c: c_int, d: c_int, id: c_int, byte: c_int) {
    let set = |am: &Am<Host>, t: &Token| reference::on_set(am, t, wide(a, b), wide(c, d), byte as u8, id as u32);
    // SAFETY: as above.
    unsafe { handled("memset", token, set) };
}

extern "C" fn on_done(token: *mut c_void, id: c_int) {
    let done = |_: &Am<Host>, t: &Token| {
        reference::on_done(id as u32, t.source());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { handled("acknowledgement", token, done) };
}

extern "C" fn on_landed(token: *mut c_void, buf: *mut c_void, len: usize, id: c_int, seal: c_int) {
    let landed = |_: &Am<Host>, t: &Token| {
        reference::on_landed(len, asked(buf as usize, id, seal), t.source());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { handled("answer to a get", token, landed) };
}

extern "C" fn on_fetched(
    token: *mut c_void,
    a: c_int,
    b: c_int,
    id: c_int,
    seal: c_int,
    c: c_int,
    d: c_int,
    len: c_int,
) {
    let fetched = |_: &Am<Host>, t: &Token| {
        let value = wide(c, d) as u64;
        reference::on_fetched(value, len as u32 as usize, asked(wide(a, b), id, seal), t.source());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { handled("answer to a get", token, fetched) };
}

extern "C" fn on_arrived(token: *mut c_void, buf: *mut c_void, len: usize, a: c_int, b: c_int, id: c_int, seal: c_int) {
    let arrived = |_: &Am<Host>, t: &Token| {
        // SAFETY: the payload that the engine hands to this handler.
        let bytes = unsafe { Source::new(buf.cast(), len) };
        reference::on_arrived(bytes, asked(wide(a, b), id, seal), t.source());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { handled("answer to a get", token, arrived) };
}
