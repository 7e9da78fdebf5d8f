//! Where the parts of a program that this process executes lie in memory: at random addresses, or at the same ones
//! each time.
//!
//! The kernel applies the choice at exec, and passes it on over fork and exec (personality(2), ADDR_NO_RANDOMIZE).
//! Programs that are started in the same way without randomisation have functions, static data, libraries and the
//! first heap at the same addresses. Must not know: nodes, options.

#![allow(unsafe_code)] // system calls, the loader's list

use super::sys;
use libc::{c_int, c_ulong, c_void};
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

/// Whether `address` lies in what the loader put in place: static data and code of the program and of its libraries, but no
/// stack, no heap and no thread-local variable.
pub fn is_static(address: *const c_void) -> bool {
    let mut address = address as usize;
    // SAFETY: `holds_address` fits, and gets the pointer to `address` while this function waits.
    unsafe { libc::dl_iterate_phdr(Some(holds_address), (&raw mut address).cast()) != 0 }
}

/// Whether one program or library has the address at which `address` points. The loader calls it for each, until it says so.
unsafe extern "C" fn holds_address(info: *mut libc::dl_phdr_info, _size: usize, address: *mut c_void) -> c_int {
    // SAFETY: `is_static` passes a `usize`.
    let address = unsafe { *address.cast::<usize>() };
    // SAFETY: the loader passes a complete description.
    let info = unsafe { &*info };
    // SAFETY: the loader's own table, of that many entries.
    let parts = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let base = info.dlpi_addr as usize;
    let holds = |part: &libc::Elf64_Phdr| {
        let offset = address.wrapping_sub(base).wrapping_sub(part.p_vaddr as usize);
        part.p_type == libc::PT_LOAD && offset < part.p_memsz as usize
    };
    c_int::from(parts.iter().any(holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_is_neither_on_the_stack_nor_in_the_heap_nor_of_a_thread() {
        static ZEROED: [crate::sync::fixed::AtomicU64; 100] = [const { crate::sync::fixed::AtomicU64::new(0) }; 100];
        thread_local!(static OWN: std::cell::Cell<u64> = const { std::cell::Cell::new(7) });
        assert!(is_static((&raw const ZEROED[99]).cast()));
        assert!(is_static("a word".as_ptr().cast()));
        assert!(is_static(libc::getpid as *const c_void), "code of a library");
        let (local, boxed) = (1, Box::new(2));
        assert!(!is_static((&raw const local).cast()));
        assert!(!is_static((&raw const *boxed).cast()));
        assert!(!is_static(OWN.with(std::cell::Cell::as_ptr).cast()));
        assert!(!is_static(std::ptr::null()));
    }

    #[test]
    fn each_change_tells_what_was_before() {
        // Only this thread has the setting, so no other test sees it.
        let Ok(was_random) = set_random(false) else { return }; // the system forbids it, so there is nothing to test
        assert!(!set_random(false).unwrap());
        assert!(!set_random(true).unwrap());
        assert!(set_random(was_random).unwrap());
    }
}
