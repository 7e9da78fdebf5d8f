//! The types, constants and functions of PMIx that the library uses, as `pmix_common.h` and `pmix.h` declare them.
//!
//! They are the same from PMIx 2 on, and keep to the name `libpmix.so.2`. The library is loaded at run time, so the
//! header is not needed to build; `tests/pmix_header.rs` compares all of this with it where it is installed.
//!
//! Must not know: what is done with them.

use libc::{c_char, c_int, c_void};

/// `pmix_status_t`; negative values are errors.
pub type Status = c_int;
/// `PMIX_SUCCESS`.
pub const SUCCESS: Status = 0;
/// `PMIX_ERR_LOST_CONNECTION`: the launcher's daemon is gone.
pub const LOST_CONNECTION: Status = -61;

/// `PMIX_MAX_NSLEN`: the longest name of a job, without the zero byte.
pub const NAMESPACE_LEN: usize = 255;
/// `PMIX_MAX_KEYLEN`: the longest name of a value, without the zero byte.
pub const KEY_LEN: usize = 511;
/// `PMIX_RANK_WILDCARD`: all processes of a job, or the job itself.
pub const WILDCARD: u32 = u32::MAX - 1;
/// `PMIX_GLOBAL`: a value for all processes of the job.
pub const GLOBAL: u8 = 3;

/// `PMIX_BOOL`.
pub const BOOL: u16 = 1;
/// `PMIX_STRING`.
pub const STRING: u16 = 3;
/// `PMIX_UINT32`.
pub const UINT32: u16 = 14;
/// `PMIX_BYTE_OBJECT`.
pub const BYTES: u16 = 27;

/// `PMIX_JOB_SIZE`.
pub const JOB_SIZE: &str = "pmix.job.size";
/// `PMIX_COLLECT_DATA`.
pub const COLLECT_DATA: &str = "pmix.collect";

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Proc {
    /// Name of the job, ended by a zero byte.
    pub namespace: [c_char; NAMESPACE_LEN + 1],
    /// `pmix_rank_t`.
    pub rank: u32,
}

/// `pmix_byte_object_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes {
    /// The first byte.
    pub bytes: *mut c_char,
    /// How many.
    pub size: usize,
}

/// The member `data` of `pmix_value_t`: the members that are used, and the size of the largest one (`pmix_envar_t`).
#[repr(C)]
#[derive(Clone, Copy)]
pub union Data {
    /// With [`BOOL`].
    pub flag: bool,
    /// With [`STRING`].
    pub string: *mut c_char,
    /// With [`UINT32`].
    pub uint32: u32,
    /// With [`BYTES`].
    pub bytes: Bytes,
    /// The size and alignment of the whole.
    pub all: [u64; 3],
}

/// `pmix_value_t`.
#[repr(C)]
pub struct Value {
    /// `pmix_data_type_t`: which member of `data` counts.
    pub kind: u16,
    /// The value.
    pub data: Data,
}

/// `pmix_info_t`.
#[repr(C)]
pub struct Info {
    /// Name of the attribute, ended by a zero byte.
    pub key: [c_char; KEY_LEN + 1],
    /// `pmix_info_directives_t`.
    pub flags: u32,
    /// Its value.
    pub value: Value,
}

/// `pmix_event_notification_cbfunc_fn_t`.
pub type EventDone = unsafe extern "C" fn(Status, *mut Info, usize, *mut c_void, *mut c_void, *mut c_void);
/// `pmix_notification_fn_t`.
pub type EventHandler = unsafe extern "C" fn(
    usize,
    Status,
    *const Proc,
    *mut Info,
    usize,
    *mut Info,
    usize,
    Option<EventDone>,
    *mut c_void,
);

/// `PMIx_Init`.
pub type Init = unsafe extern "C" fn(*mut Proc, *mut Info, usize) -> Status;
/// `PMIx_Finalize`.
pub type Finalize = unsafe extern "C" fn(*const Info, usize) -> Status;
/// `PMIx_Put`.
pub type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> Status;
/// `PMIx_Commit`.
pub type Commit = unsafe extern "C" fn() -> Status;
/// `PMIx_Fence`.
pub type Fence = unsafe extern "C" fn(*const Proc, usize, *const Info, usize) -> Status;
/// `PMIx_Get`.
pub type Get = unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> Status;
/// `PMIx_Abort`.
pub type Abort = unsafe extern "C" fn(c_int, *const c_char, *mut Proc, usize) -> Status;
/// `PMIx_Error_string`.
pub type ErrorString = unsafe extern "C" fn(Status) -> *const c_char;
/// `PMIx_Register_event_handler`; the two pointers before the last one are a function and its argument.
pub type Register =
    unsafe extern "C" fn(*mut Status, usize, *mut Info, usize, EventHandler, *mut c_void, *mut c_void) -> Status;

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Proc>() == 260 && offset_of!(Proc, rank) == 256);
    assert!(size_of::<Value>() == 32 && offset_of!(Value, data) == 8);
    assert!(size_of::<Info>() == 552 && offset_of!(Info, flags) == 512 && offset_of!(Info, value) == 520);
};
