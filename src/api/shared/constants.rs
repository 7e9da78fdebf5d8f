//! Constants that C and Rust share; the headers take them from the generated `gasnet_sci_abi.h`.

#![allow(missing_docs)] // each is the GASNET_* constant of the same name (contract: core.md §2.3)

pub const GASNETI_SCI_OK: i32 = 0;
pub const GASNETI_SCI_ERR_NOT_INIT: i32 = 10001;
pub const GASNETI_SCI_ERR_RESOURCE: i32 = 10002;
pub const GASNETI_SCI_ERR_BAD_ARG: i32 = 10003;
pub const GASNETI_SCI_ERR_NOT_READY: i32 = 10004;
pub const GASNETI_SCI_ERR_BARRIER_MISMATCH: i32 = 10005;

pub const GASNETI_SCI_BARRIERFLAG_ANONYMOUS: i32 = 1;
pub const GASNETI_SCI_BARRIERFLAG_MISMATCH: i32 = 2;
pub const GASNETI_SCI_BARRIERFLAG_IMAGES: i32 = 4;
pub const GASNETI_SCI_BARRIERFLAG_UNNAMED: i32 = 9;

pub const GASNETI_SCI_WAIT_SPIN: i32 = 0;
pub const GASNETI_SCI_WAIT_BLOCK: i32 = 1;
pub const GASNETI_SCI_WAIT_SPINBLOCK: i32 = 2;

/// `gasnet_AMMaxArgs`.
pub const GASNETI_SCI_MAX_ARGS: usize = 16;
/// `gasnet_AMMaxMedium`, bytes.
pub const GASNETI_SCI_MAX_MEDIUM: usize = 65536;
/// `gasnet_AMMaxLongRequest` and `gasnet_AMMaxLongReply`, bytes.
pub const GASNETI_SCI_MAX_LONG: usize = 2147483647;
/// Bytes of a page. Segments are whole pages.
pub const GASNETI_SCI_PAGESIZE: usize = 4096;
/// `GASNET_MAXNODES`. SCI node ids have 16 bits, so a job has 65,535 nodes at most.
pub const GASNETI_SCI_MAXNODES: u32 = 65536;

/// Thread modes in `gasneti_sci_client_t.modes`.
pub const GASNETI_SCI_MODE_SEQ: u32 = 1;
pub const GASNETI_SCI_MODE_PARSYNC: u32 = 2;
pub const GASNETI_SCI_MODE_PAR: u32 = 4;
/// Segment modes, in the same word.
pub const GASNETI_SCI_MODE_FAST: u32 = 16;
pub const GASNETI_SCI_MODE_LARGE: u32 = 32;
pub const GASNETI_SCI_MODE_EVERYTHING: u32 = 64;
/// Debug mode or not, in the same word.
pub const GASNETI_SCI_MODE_DEBUG: u32 = 256;
pub const GASNETI_SCI_MODE_NDEBUG: u32 = 512;
/// In the same word: the process belongs to another runtime (`api/ex/guest`).
pub const GASNETI_SCI_MODE_GUEST: u32 = 1024;

/// Forms of vector, indexed and strided transfers.
pub const GASNETI_SCI_VIS_BLOCKING: u32 = 0;
pub const GASNETI_SCI_VIS_NB: u32 = 1;
pub const GASNETI_SCI_VIS_NBI: u32 = 2;

/// Flags of transfers, of the header's own: a bulk form of GASNet-1.
pub const GASNETI_SCI_FLAG_BULK: u32 = 1 << 28;
/// They move a value.
pub const GASNETI_SCI_FLAG_VALUE: u32 = 1 << 29;
/// A call of GASNet-EX.
pub const GASNETI_SCI_FLAG_EX: u32 = 1 << 30;

/// Rules that `gasneti_sci_check` checks for a debug client: not in an AM handler, nor between prepare and commit of a message.
pub const GASNETI_SCI_RULE_NO_HANDLER: u32 = 1;
/// Not while the thread holds a handler-safe lock.
pub const GASNETI_SCI_RULE_NO_LOCK: u32 = 2;
/// Not in a no-interrupt section.
pub const GASNETI_SCI_RULE_NO_NIS: u32 = 4;
/// Only after `gasnet_attach`.
pub const GASNETI_SCI_RULE_ATTACHED: u32 = 8;
/// Only in an AM handler.
pub const GASNETI_SCI_RULE_IN_HANDLER: u32 = 16;
/// Not in an AM handler.
pub const GASNETI_SCI_RULE_OUTSIDE: u32 = 32;

const _: () = {
    use crate::am::region::{MAX_ARGS, MAX_LONG, MAX_MEDIUM};
    use crate::barrier;
    assert!(
        GASNETI_SCI_MAX_ARGS == MAX_ARGS && GASNETI_SCI_MAX_MEDIUM == MAX_MEDIUM && GASNETI_SCI_MAX_LONG == MAX_LONG
    );
    assert!(GASNETI_SCI_PAGESIZE as u64 == crate::job::limits::PAGE);
    assert!(GASNETI_SCI_BARRIERFLAG_ANONYMOUS as u32 == barrier::ANONYMOUS);
    assert!(GASNETI_SCI_BARRIERFLAG_MISMATCH as u32 == barrier::MISMATCH);
};
