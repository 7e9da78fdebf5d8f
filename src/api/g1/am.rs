//! Tokens of GASNet-1 (contract: core.md §9). Its messages: `shared::am`.

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::am::token::Kind;
use crate::api::shared::am;
use crate::api::status;
use crate::base::error::bad_arg;
use std::ffi::{c_int, c_void};

/// Stores the sender's rank of the message of `token` to `*node`. Allowed in its handler, any number of times.
///
/// # Safety
/// `token` is NULL or was given to a handler; `node` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_msg_source(token: *mut c_void, node: *mut u32) -> c_int {
    status("gasnet_AMGetMsgSource", || {
        // SAFETY: the caller promises that the token is NULL or was given to a handler.
        let token = unsafe { am::token(token) }?;
        if token.kind() == Kind::Stale {
            return bad_arg(format_args!("the token's handler has returned"));
        }
        if node.is_null() {
            return bad_arg(format_args!("NULL to store the node in"));
        }
        // SAFETY: not null, hence writable by this function's contract.
        unsafe { node.write(token.source()) };
        Ok(())
    })
}
