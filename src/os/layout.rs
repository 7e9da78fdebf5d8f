//! Where the parts of a program that this process executes lie in memory: at random addresses, or at the same ones
//! each time.
//!
//! The kernel applies the choice at exec, and passes it on over fork and exec (personality(2), ADDR_NO_RANDOMIZE).
//! Programs that are started in the same way without randomisation have functions, static data, libraries and the
//! first heap at the same addresses. Must not know: nodes, options.

#![allow(unsafe_code)] // system calls

use super::sys;
use libc::c_ulong;
use std::io;

/// The argument with which personality(2) changes nothing and only returns the setting.
const ASK: c_ulong = 0xffff_ffff;

fn personality(value: c_ulong) -> io::Result<c_ulong> {
    // SAFETY: personality takes an integer and touches no memory of this process.
    let before = unsafe { libc::personality(value) };
    if before < 0 {
        return Err(sys::refused("personality")(io::Error::last_os_error()));
    }
    Ok(c_ulong::from(before as u32))
}

/// Sets whether programs get random addresses. It holds for programs that this thread, or a process forked from it,
/// executes from now on. Returns the setting before. The running program keeps its addresses.
///
/// # Errors
/// The system forbids it, as container runtimes do with a seccomp filter. Nothing has changed then.
pub fn set_random(random: bool) -> io::Result<bool> {
    const FIXED: c_ulong = libc::ADDR_NO_RANDOMIZE as c_ulong;
    let before = personality(ASK)?;
    let was_random = before & FIXED == 0;
    if was_random != random {
        personality(if random { before & !FIXED } else { before | FIXED })?;
    }
    Ok(was_random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_tells_what_was_before() {
        // Only this thread has the setting, so no other test sees it.
        let Ok(was_random) = set_random(false) else { return }; // the system forbids it, so there is nothing to test
        assert!(!set_random(false).unwrap());
        assert!(!set_random(true).unwrap());
        assert!(set_random(was_random).unwrap());
    }
}
