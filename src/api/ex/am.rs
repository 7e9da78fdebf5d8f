//! Handlers and tokens of GASNet-EX (contract: ex-core.md §9, §13, §14). Its messages: `shared::am`, and of negotiated payload `npam`.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::am::handlers::{Entry, Free};
use crate::am::token::{Kind, Token};
use crate::api::shared::am;
use crate::api::shared::objects::{self, GASNETI_SCI_EP_MAGIC, gasneti_sci_ep_t};
use crate::api::{die, must, status};
use crate::base::error::{Error, bad_arg};
use crate::job::Job;
use crate::sync::fixed::{AtomicPtr, Ordering};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

/// `gex_AM_Entry_t`, with the function as a plain pointer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasneti_sci_am_entry_t {
    /// `GEX_AM_INDEX_BASE`–255; 0: registration assigns the highest free index and stores it here.
    pub gex_index: u8,
    /// The handler.
    pub gex_fnptr: *mut c_void,
    /// `GEX_FLAG_AM_*`: category and direction.
    pub gex_flags: u32,
    /// Number of arguments.
    pub gex_nargs: c_uint,
    /// The client's own pointer.
    pub gex_cdata: *const c_void,
    /// Name for messages; NULL: none.
    pub gex_name: *const c_char,
}

/// `gex_Token_Info_t`.
#[repr(C)]
pub struct gasneti_sci_token_info_t {
    /// Job rank of the sender.
    pub gex_srcrank: u32,
    /// 1 for a request, 0 for a reply.
    pub gex_is_req: c_int,
    /// 1 for a Long, else 0.
    pub gex_is_long: c_int,
    /// The endpoint that received the message.
    pub gex_ep: *mut gasneti_sci_ep_t,
    /// The handler's entry, as registered.
    pub gex_entry: *const gasneti_sci_am_entry_t,
}

const SHORT: u32 = 1;
const MEDIUM: u32 = 2;
const LONG: u32 = 4;
const REQUEST: u32 = 8;
const REPLY: u32 = 16;
/// `GEX_TI_ALL`.
const TI_ALL: u32 = 31;

/// The entries as registered, by index. Each is made once and stays.
static ENTRIES: [AtomicPtr<gasneti_sci_am_entry_t>; 256] = [const { AtomicPtr::new(null_mut()) }; 256];

/// The entry of a handler that was registered by attach.
struct Unnamed(gasneti_sci_am_entry_t);
// SAFETY: never written, and its pointers are NULL.
unsafe impl Sync for Unnamed {}
static UNNAMED: Unnamed = Unnamed(gasneti_sci_am_entry_t {
    gex_index: 0,
    gex_fnptr: null_mut(),
    gex_flags: SHORT | MEDIUM | LONG | REQUEST | REPLY,
    gex_nargs: 0,
    gex_cdata: std::ptr::null(),
    gex_name: std::ptr::null(),
});

fn entry_of(index: u8) -> *const gasneti_sci_am_entry_t {
    // ORDERING: Acquire ↔ Release in `gasneti_sci_ep_register`: the entry is seen as it was made.
    let entry = ENTRIES[usize::from(index)].load(Ordering::Acquire);
    if entry.is_null() { &raw const UNNAMED.0 } else { entry }
}

/// What a handler is called in messages.
fn name_of(index: u8) -> String {
    // SAFETY: `UNNAMED`, or a leaked entry.
    let entry = unsafe { &*entry_of(index) };
    if entry.gex_name.is_null() {
        return format!("AM handler {index} (function {:p})", entry.gex_fnptr);
    }
    // SAFETY: the client promises a C string that lives as long as the registration.
    format!("AM handler {index} ({})", unsafe { CStr::from_ptr(entry.gex_name) }.to_string_lossy())
}

/// Ends the job unless the message of `token` is what its handler was registered for.
pub(in crate::api) fn inspect(token: &Token) {
    let meta = token.meta();
    // SAFETY: `UNNAMED`, or a leaked entry.
    let entry = unsafe { &*entry_of(meta.handler()) };
    let (category, what) = match meta {
        m if m.is_long() => (LONG, "Long"),
        m if m.holds_buffer() => (MEDIUM, "Medium"),
        _ => (SHORT, "Short"),
    };
    let is_request = matches!(token.kind(), Kind::Request | Kind::LoopRequest);
    let (direction, way) = if is_request { (REQUEST, "request") } else { (REPLY, "reply") };
    let known = !std::ptr::eq(entry, &raw const UNNAMED.0);
    let count = known && entry.gex_nargs as usize != meta.args();
    if entry.gex_flags & category == 0 || entry.gex_flags & direction == 0 || count {
        die(
            &name_of(meta.handler()),
            format_args!(
                "a {what} {way} with {} arguments from node {}; registered with flags {:#x} and {} arguments",
                meta.args(),
                token.source(),
                entry.gex_flags,
                entry.gex_nargs
            ),
        )
    }
}

/// Ends the job for an entry whose flags or number of arguments cannot be.
fn check_entry(i: usize, entry: &gasneti_sci_am_entry_t) -> Result<(), Error> {
    let (category, direction) = (entry.gex_flags & (SHORT | MEDIUM | LONG), entry.gex_flags & (REQUEST | REPLY));
    let one_category = matches!(category, SHORT | MEDIUM | LONG) || category == MEDIUM | LONG;
    if one_category && direction != 0 && entry.gex_nargs <= 16 && entry.gex_flags < 32 {
        return Ok(());
    }
    bad_arg(format_args!(
        "entry {i} (index {}): flags {:#x} and {} arguments: one category, a direction, and up to 16 arguments",
        entry.gex_index, entry.gex_flags, entry.gex_nargs
    ))
}

/// Adds handlers to an endpoint. Contract: ex-core.md §9.
///
/// # Safety
/// `ep` is NULL or an endpoint; `table` points to `count` entries, which are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_ep_register(
    ep: *const gasneti_sci_ep_t,
    table: *mut gasneti_sci_am_entry_t,
    count: usize,
) -> c_int {
    const CALL: &str = "gex_EP_RegisterHandlers";
    status(CALL, || {
        let job = Job::get()?;
        // SAFETY: the caller promises NULL or an endpoint.
        if unsafe { ep.as_ref() }.is_none_or(|ep| ep.magic != GASNETI_SCI_EP_MAGIC) {
            return bad_arg(format_args!("{ep:p} is not an endpoint"));
        }
        if count == 0 {
            return Ok(());
        }
        if table.is_null() || count > 128 {
            return bad_arg(format_args!("a table at {table:p} of {count} entries"));
        }
        // SAFETY: the caller promises `count` entries; `i` is below that.
        let given: Vec<_> = (0..count).map(|i| unsafe { table.wrapping_add(i).read() }).collect();
        given.iter().enumerate().for_each(|(i, entry)| must(CALL, || check_entry(i, entry)));
        let mut entries: Vec<Entry> =
            given.iter().map(|e| Entry { index: e.gex_index, function: e.gex_fnptr as usize }).collect();
        let announce = |entries: &[Entry]| {
            for (entry, assigned) in given.iter().zip(entries) {
                let own = Box::new(gasneti_sci_am_entry_t { gex_index: assigned.index, ..*entry });
                // ORDERING: Release ↔ Acquire in `entry_of`.
                ENTRIES[usize::from(assigned.index)].store(Box::into_raw(own), Ordering::Release);
            }
        };
        job.am().handlers().register(&mut entries, Free::Highest, announce)?;
        for (i, assigned) in entries.iter().enumerate() {
            if given[i].gex_index == 0 {
                // The index is the first byte of the entry.
                let index = table.wrapping_add(i).cast::<u8>();
                // SAFETY: i < count, and the caller promises that the entries are writable.
                unsafe { index.write(assigned.index) };
            }
        }
        Ok(())
    })
}

const _: () = assert!(std::mem::offset_of!(gasneti_sci_am_entry_t, gex_index) == 0, "registration writes indices back");

/// Fills `info` for the message whose handler runs. Returns the bits of what is valid: everything.
///
/// # Safety
/// `token` was given to the handler that calls; `info` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_token_info(
    token: *mut c_void,
    info: *mut gasneti_sci_token_info_t,
    mask: u32,
) -> u32 {
    must("gex_Token_Info", || {
        // SAFETY: the caller promises a token.
        let token = unsafe { am::token(token) }?;
        if token.kind() == Kind::Stale || info.is_null() || mask & !TI_ALL != 0 {
            return bad_arg(format_args!("a token whose handler has returned, NULL, or unknown bits in {mask:#x}"));
        }
        let is_request = matches!(token.kind(), Kind::Request | Kind::LoopRequest);
        let meta = token.meta();
        let filled = gasneti_sci_token_info_t {
            gex_srcrank: token.source(),
            gex_is_req: is_request.into(),
            gex_is_long: meta.is_long().into(),
            gex_ep: objects::primordial()?.ep,
            gex_entry: entry_of(meta.handler()),
        };
        // SAFETY: the caller promises a writable place.
        unsafe { info.write(filled) };
        Ok(TI_ALL)
    })
}
