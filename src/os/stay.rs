//! Keeps this code in memory when the object that holds it is unloaded.
//!
//! Signal handlers, functions that run at exit, destructors of threads' values and threads of the library outlive a dlclose. The shared
//! library says to the loader that it stays (`-z nodelete`). A client's plug-in that holds the static library does not.

#![allow(unsafe_code)] // the loader's calls

use std::sync::Once;

static ONCE: Once = Once::new();

/// From now on dlclose leaves the object that holds this code in place. Call it before anything that outlives a dlclose. The program
/// itself is never unloaded, so nothing happens there.
pub fn loaded() {
    ONCE.call_once(|| {
        if let Some(name) = super::sys::own_object() {
            // The loader looks for the name among its objects first, so a relative name is right in any directory. The reference that
            // this makes is never given back. For a program the loader finds nothing, because it has no name there.
            // SAFETY: the loader's own string; with RTLD_NOLOAD no code is loaded or run.
            unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
        }
    });
}
