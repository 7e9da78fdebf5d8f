//! The machine and the process: name, CPUs, memory, limits, streams (contract: tools.md §10, §12).

#![allow(unsafe_code)] // system calls

use crate::os::sys;
use libc::{c_int, c_void};
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd};
use std::sync::OnceLock;
use std::{io, ptr};

/// The name of this process's effective user, if it has one.
pub fn user() -> Option<String> {
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::zeroed();
    let mut text = vec![0; 16 << 10];
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers are writable, and `text` has the length that is given.
    let error = unsafe {
        libc::getpwuid_r(super::sys::effective_user(), entry.as_mut_ptr(), text.as_mut_ptr(), text.len(), &mut found)
    };
    if error != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call has filled in the entry.
    let name = unsafe { entry.assume_init() }.pw_name;
    // SAFETY: a C string in `text`, which is still there.
    unsafe { std::ffi::CStr::from_ptr(name) }.to_str().ok().map(String::from)
}

/// The number that the kernel drew at its start; empty if it does not say. Hosts with equal numbers are one machine.
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_string()
}

/// Name of this host; `?` if it has none.
pub fn name() -> &'static CString {
    static NAME: OnceLock<CString> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = rustix::system::uname().nodename().to_owned();
        if name.is_empty() { c"?".into() } else { name }
    })
}

fn system(what: c_int) -> i64 {
    // SAFETY: sysconf takes an integer.
    unsafe { libc::sysconf(what) }
}

/// Number of CPUs online; 0 if the system does not say.
pub fn cpus() -> u32 {
    u32::try_from(system(libc::_SC_NPROCESSORS_ONLN)).unwrap_or(0)
}

/// Bytes of physical memory; 0 if the system does not say.
pub fn memory() -> u64 {
    let pages = u64::try_from(system(libc::_SC_PHYS_PAGES)).unwrap_or(0);
    pages * u64::try_from(system(libc::_SC_PAGESIZE)).unwrap_or(0)
}

/// Binds the calling thread to one of the CPUs that the first caller could use: number `rank`, modulo how many they
/// are. False: it is not bound, for instance because that CPU went offline.
pub fn bind_thread(rank: i64) -> bool {
    static USABLE: OnceLock<Vec<usize>> = OnceLock::new();
    let usable = USABLE.get_or_init(sys::usable_cpus);
    let cpu = usable.get(rank.rem_euclid(usable.len().max(1) as i64) as usize);
    cpu.is_some_and(|cpu| sys::bind_to_cpus(&[*cpu]).is_ok())
}

/// Raises the soft limit on `resource` to the hard one. Returns whether it is there now.
pub fn maximize_limit(resource: c_int) -> bool {
    let Ok(resource) = libc::__rlimit_resource_t::try_from(resource) else { return false };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable; a wrong resource is refused by an error.
    if unsafe { libc::getrlimit(resource, &mut limit) } != 0 {
        return false;
    }
    if limit.rlim_cur == limit.rlim_max {
        return true;
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is valid.
    unsafe { libc::setrlimit(resource, &limit) == 0 }
}

/// Zeroed private memory of `len` bytes, rounded up to pages.
pub fn map(len: usize) -> io::Result<*mut c_void> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
    let at = unsafe { libc::mmap(ptr::null_mut(), len, access, kind, -1, 0) };
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(at) }
}

/// Memory at a multiple of `align`, which is a power of two; `None` if there is none.
pub fn allocate_aligned(align: usize, len: usize) -> Option<*mut c_void> {
    let mut memory = ptr::null_mut();
    let align = align.max(size_of::<*mut c_void>());
    // SAFETY: `memory` is writable; a wrong alignment is refused by an error.
    let result = unsafe { libc::posix_memalign(&mut memory, align, len.max(1)) };
    (result == 0).then_some(memory)
}

/// `len` bytes of the C library's heap; `None` if it has none left.
pub fn allocate(len: usize, zeroed: bool) -> Option<*mut c_void> {
    // SAFETY: calloc and malloc take integers.
    let memory = if zeroed { unsafe { libc::calloc(1, len) } } else { unsafe { libc::malloc(len) } };
    (!memory.is_null()).then_some(memory)
}

/// Writes out what stdio has buffered, and what the kernel has buffered of stdout and stderr; with `all`, of all
/// files.
pub fn flush_streams(all: bool) {
    sys::flush_all_stdio();
    // Terminals, pipes and closed descriptors give errors that mean nothing here.
    let _ = [rustix::fs::fsync(io::stdout()), rustix::fs::fsync(io::stderr())];
    if all {
        rustix::fs::sync();
    }
}

/// Makes the descriptors of the three standard streams refer to the null device. If they were closed instead, the
/// next file to be opened would get one of their numbers, and would receive what is written to stderr.
pub fn close_streams() {
    sys::set_plain(libc::SIGPIPE, libc::SIG_IGN);
    sys::flush_all_stdio();
    let Ok(null) = File::options().read(true).write(true).open("/dev/null") else { return };
    (0..3).for_each(|fd| drop(sys::redirect(null.as_fd(), fd)));
    if null.as_raw_fd() < 3 {
        let _ = null.into_raw_fd(); // it is one of them
    }
}

#[cfg(test)]
mod tests {
    use super::super::limit;
    use super::*;

    #[test]
    fn the_host_is_known() {
        assert!(!name().is_empty() && cpus() >= 1);
        assert!((1 << 20..1 << 50).contains(&memory()), "{}", memory());
    }

    #[test]
    fn limits_are_raised_to_the_hard_ones() {
        assert!(maximize_limit(libc::RLIMIT_NOFILE as c_int));
        let (soft, hard) = limit::descriptors();
        assert_eq!(soft, hard);
        assert!(!maximize_limit(-1) && !maximize_limit(9999));
    }

    #[test]
    fn threads_bind_to_any_number_and_do_not_lose_cpus() {
        let before = sys::usable_cpus();
        let bound = std::thread::spawn(|| {
            let sets = [0, 1, 999, -1].map(|rank| {
                bind_thread(rank);
                sys::usable_cpus()
            });
            sets.concat()
        });
        let bound = bound.join().unwrap();
        assert!(bound.len() == 4 && bound.iter().all(|cpu| before.contains(cpu)), "{bound:?}");
        assert_eq!(sys::usable_cpus(), before, "other threads are not bound");
        assert_eq!(bound[3], *before.last().unwrap());
    }

    #[test]
    fn memory_is_aligned_and_absurd_wishes_are_refused() {
        let at = allocate_aligned(4096, 10).unwrap();
        assert_eq!(at as usize % 4096, 0);
        // SAFETY: allocated above by the C library.
        unsafe { libc::free(at) };
        assert!(allocate_aligned(64, usize::MAX - 4096).is_none());
        assert!(map(usize::MAX - 8192).is_err());
    }
}
