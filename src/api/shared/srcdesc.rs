//! The descriptors of Active Messages of negotiated payload: what a thread keeps between prepare and commit (contract: ex-core.md
//! §12).
//!
//! Must not know: messages.

#![allow(unsafe_code)] // memory of a thread that has ended

use super::constants::GASNETI_SCI_MAX_MEDIUM;
use crate::os::thread_end::ThreadEnd;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::null_mut;

/// `what` of the calls here: a request.
pub const GASNETI_SCI_NPAM_REQUEST: u32 = 1;
/// A reply.
pub const GASNETI_SCI_NPAM_REPLY: u32 = 2;
/// A Medium.
pub const GASNETI_SCI_NPAM_MEDIUM: u32 = 4;
/// A Long.
pub const GASNETI_SCI_NPAM_LONG: u32 = 8;

/// `gex_AM_SrcDesc_t` points here.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gasneti_sci_srcdesc_t {
    /// First byte of the payload to be.
    pub addr: *mut c_void,
    /// Most bytes that may be sent.
    pub size: usize,
}

/// A line of a buffer.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line(#[allow(dead_code)] [u8; 64]);

/// A thread's descriptor for one direction: the message between prepare and commit. Each field is a cell of its own, because
/// copies of the whole stall a processor that has just stored its parts (10 ns per message; 2026-11, EPYC 9004 VM).
pub(in crate::api) struct Descriptor {
    pub(in crate::api) shown: Cell<gasneti_sci_srcdesc_t>,
    /// The sort of message; 0: none is open.
    pub(in crate::api) what: Cell<u32>,
    pub(in crate::api) numargs: Cell<u32>,
    /// Receiver of a request.
    pub(in crate::api) node: Cell<u32>,
    /// Token of the request that a reply answers.
    pub(in crate::api) token: Cell<*mut c_void>,
    pub(in crate::api) dest: Cell<*mut c_void>,
    /// Where the client wants the event of local completion; NULL: it wants none.
    pub(in crate::api) event: Cell<*mut usize>,
    /// Number of the request whose ring bytes are lent; `None`: the bytes are a buffer.
    pub(in crate::api) lent: Cell<Option<u32>>,
    buffer: RefCell<Vec<Line>>,
}

impl Descriptor {
    fn new() -> Descriptor {
        Descriptor {
            shown: Cell::new(gasneti_sci_srcdesc_t { addr: null_mut(), size: 0 }),
            what: Cell::new(0),
            numargs: Cell::new(0),
            node: Cell::new(0),
            token: Cell::new(null_mut()),
            dest: Cell::new(null_mut()),
            event: Cell::new(null_mut()),
            lent: Cell::new(None),
            buffer: RefCell::default(),
        }
    }

    /// The thread's own buffer.
    pub(in crate::api) fn bytes(&self) -> *mut c_void {
        let mut buffer = self.buffer.borrow_mut();
        if buffer.is_empty() {
            buffer.resize(GASNETI_SCI_MAX_MEDIUM / size_of::<Line>(), Line([0; 64]));
        }
        buffer.as_mut_ptr().cast()
    }
}

thread_local! {
    /// This thread's descriptors, for requests and for replies. A pointer without a destructor: the client's own destructors of
    /// the thread may still send.
    static DESCRIPTORS: Cell<Option<&'static [Descriptor; 2]>> = const { Cell::new(None) };
}

/// Frees a thread's descriptors when it ends.
static END: ThreadEnd = ThreadEnd::new(|| {
    if let Some(descriptors) = DESCRIPTORS.take() {
        // SAFETY: leaked in `descriptors`, and this thread, which alone knows them, has forgotten them.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(descriptors).cast_mut()) });
    }
});

/// The thread's descriptor for a message of the sort `what`.
#[inline(always)]
pub(in crate::api) fn descriptor(what: u32) -> &'static Descriptor {
    let descriptors = DESCRIPTORS.get().unwrap_or_else(made);
    &descriptors[usize::from(what & GASNETI_SCI_NPAM_REPLY != 0)]
}

#[cold]
#[inline(never)]
fn made() -> &'static [Descriptor; 2] {
    END.watch();
    let made: &[Descriptor; 2] = Box::leak(Box::new([Descriptor::new(), Descriptor::new()]));
    DESCRIPTORS.set(Some(made));
    made
}

/// True between a prepare of this thread and its commit or cancel: the thread may neither communicate nor poll.
pub fn is_open() -> bool {
    DESCRIPTORS.get().is_some_and(|descriptors| descriptors.iter().any(|own| own.what.get() != 0))
}
