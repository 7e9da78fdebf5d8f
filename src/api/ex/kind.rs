//! Memory kinds of GASNet-EX (contract: ex-coll.md §10): there are no devices, so no kind is ever made.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::api::shared::objects::gasneti_sci_client_object_t;
use crate::api::{must, status};
use crate::base::error::{Error, bad_arg};
use std::ffi::{c_int, c_void};

/// `gex_MK_Create`: refuses every class of devices. `filled` is 0 if the client gave no arguments.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_mk_create(
    kind_p: *mut *mut c_void,
    client: *const gasneti_sci_client_object_t,
    filled: c_int,
    args_flags: u64,
    class: c_int,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_MK_Create";
    must(CALL, || {
        if kind_p.is_null() || client.is_null() || filled == 0 {
            return bad_arg(format_args!("NULL for the place of the result, the client or the arguments"));
        }
        if flags != 0 || args_flags != 0 {
            return bad_arg(format_args!("flags {flags:#x} and {args_flags:#x}; only 0 is possible"));
        }
        if class == 0 {
            return bad_arg(format_args!("GEX_MK_CLASS_HOST is the class of GEX_MK_HOST, which exists"));
        }
        Ok(())
    });
    status(CALL, || match class {
        1 => unsupported("GEX_MK_CLASS_CUDA_UVA"),
        2 => unsupported("GEX_MK_CLASS_HIP"),
        3 => unsupported("GEX_MK_CLASS_ZE"),
        _ => bad_arg(format_args!("no memory kind has the class {class}")),
    })
}

fn unsupported(class: &str) -> Result<(), Error> {
    bad_arg(format_args!("this build lacks support for {class}"))
}

fn none(call: &'static str, kind: *const c_void) -> usize {
    must(call, || bad_arg(format_args!("{kind:p} is no kind that gex_MK_Create has made")))
}

/// `gex_MK_Destroy`: ends the job, because no kind can be destroyed.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_mk_destroy(kind: *mut c_void, _flags: u32) {
    none("gex_MK_Destroy", kind);
}

/// `gex_MK_SetCData` and `gex_MK_QueryCData`: ends the job, because no kind has such a pointer.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_mk_cdata(kind: *mut c_void, _val: *const c_void) -> *mut c_void {
    none("gex_MK_QueryCData", kind) as *mut c_void
}

/// `gex_MK_QueryFlags`, `_QueryClient` and `_QueryClass`: ends the job, because no kind was made.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_mk_query(kind: *mut c_void) -> usize {
    none("gex_MK_Query", kind)
}
