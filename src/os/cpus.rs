//! Processors and NUMA memory of this process.

#![allow(unsafe_code)] // system calls

use super::sys::{check, errno};
use libc::{c_int, c_void};
use std::io;

/// The CPUs that this process may use, however many.
pub fn usable_cpus() -> Vec<usize> {
    // The kernel refuses a set that is too small for all CPUs that it supports.
    for words in [16, 128, 1024, 8192] {
        let mut set = vec![0u64; words];
        let bytes = size_of_val(&set[..]);
        // SAFETY: `set` has `bytes` writable bytes.
        let got = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, bytes, set.as_mut_ptr()) };
        if got >= 0 {
            return (0..words * 64).filter(|cpu| set[cpu / 64] & (1 << (cpu % 64)) != 0).collect();
        }
    }
    Vec::new()
}

// A set of bits in the kernel's form, and the number of bits in it.
fn bit_set(bits: &[usize]) -> (Vec<u64>, usize) {
    let words = bits.iter().max().map_or(1, |highest| highest / 64 + 1);
    let mut set = vec![0u64; words];
    bits.iter().for_each(|bit| set[bit / 64] |= 1 << (bit % 64));
    (set, words * 64)
}

/// Confines this process to `cpus`.
pub fn bind_to_cpus(cpus: &[usize]) -> io::Result<()> {
    let (set, bits) = bit_set(cpus);
    // SAFETY: `set` has `bits / 8` readable bytes.
    check("sched_setaffinity", unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, bits / 8, set.as_ptr()) }
        as c_int)
    .map(drop)
}

/// Asks for time slices of `micros` microseconds for the calling thread and for threads that it makes later. Its share of the processor
/// stays the same: a shorter slice comes sooner. Kernels before 6.12 know no slice of a thread's own, and those that a sandbox guards may refuse
/// it: then nothing changes, because only speed depends on it. Threads of another policy than the normal one are left as they are.
pub fn shorten_time_slice(micros: u32) {
    // The first version of the kernel's `struct sched_attr`, which `libc` lacks on some platforms.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        /// Of the normal policy: the slice, in nanoseconds.
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    const NORMAL: u32 = libc::SCHED_OTHER as u32;
    let mut now = Attributes::default();
    let bytes = size_of::<Attributes>();
    // SAFETY: `now` has `bytes` writable bytes.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, bytes, 0) };
    if got == 0 && now.policy == NORMAL {
        now.runtime = u64::from(micros) * 1000;
        // SAFETY: `now` is readable, and says its size.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const now, 0) };
    }
}

/// Makes this process, and programs that it executes, take memory from NUMA node `node` while that has some. On a
/// kernel without NUMA it succeeds and does nothing.
pub fn prefer_memory_of(node: usize) -> io::Result<()> {
    let (set, bits) = bit_set(&[node]);
    // The number of bits is passed plus one, because the kernel takes it for the number of the first bit outside.
    // SAFETY: `set` has `bits / 8` readable bytes.
    let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_PREFERRED, set.as_ptr(), bits + 1) };
    match check("set_mempolicy", result as c_int) {
        Err(error) if errno(&error) == Some(libc::ENOSYS) => Ok(()),
        result => result.map(drop),
    }
}

/// Gives `len` bytes at `address` (page-aligned) this process's policy for new memory, if it has one. Shared memory
/// then comes from there, whichever process touches it first. Errors are ignored, because only speed depends on it.
///
/// # Safety
/// The range is a mapping of this process.
pub unsafe fn apply_memory_policy(address: *mut c_void, len: usize) {
    let mut mode: c_int = 0;
    let mut set = [0u64; 1024 / 64];
    let bits = set.len() * 64;
    let place = &raw mut mode;
    // SAFETY: `mode` and `set` are writable, `set` for `bits` bits.
    let got = unsafe { libc::syscall(libc::SYS_get_mempolicy, place, set.as_mut_ptr(), bits, 0usize, 0) };
    if got == 0 && mode != libc::MPOL_DEFAULT && len > 0 {
        // SAFETY: the caller promises a mapping of this process; a policy changes nothing that a program can see.
        unsafe { libc::syscall(libc::SYS_mbind, address, len, mode, set.as_ptr(), bits, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// The policy of the calling thread, and its slice in nanoseconds, as the kernel shows it: 0 on kernels before 6.12.
    fn policy_and_slice() -> (i32, u64) {
        let mut attributes = [0u64; 6];
        let bytes = size_of_val(&attributes);
        // SAFETY: `attributes` has `bytes` writable bytes.
        let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, attributes.as_mut_ptr(), bytes, 0) };
        assert_eq!(got, 0);
        ((attributes[0].to_ne_bytes()[4]).into(), attributes[3])
    }

    #[test]
    fn threads_inherit_the_slice_and_others_keep_theirs() {
        let before = policy_and_slice();
        let shortened = thread::spawn(|| {
            shorten_time_slice(100);
            (policy_and_slice(), thread::spawn(policy_and_slice).join().unwrap())
        });
        let shortened = shortened.join().unwrap();
        let is_known = before.1 != 0 && before.0 == libc::SCHED_OTHER;
        let expected = if is_known { (before.0, 100_000) } else { before };
        assert_eq!(shortened, (expected, expected));
        assert_eq!(policy_and_slice(), before);
    }
}
