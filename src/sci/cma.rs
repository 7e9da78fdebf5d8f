//! Another process's memory that is not mapped here: process_vm_writev(2) and process_vm_readv(2), where the kernel
//! allows them.

use super::SciError;

/// Writes `len` bytes to `address` of process `pid`. `System` with the kernel's errno: EFAULT when the target is not
/// writable memory, EPERM, ENOSYS when this way is closed.
///
/// # Safety
/// `src` is readable for `len` bytes.
pub unsafe fn write(pid: i32, address: usize, src: *const u8, len: usize) -> Result<(), SciError> {
    // SAFETY: the kernel checks the remote addresses; the local ones are readable by this function's contract.
    let call =
        |local: &libc::iovec, remote: &libc::iovec| unsafe { libc::process_vm_writev(pid, local, 1, remote, 1, 0) };
    all("process_vm_writev", src.cast_mut(), address, len, call)
}

/// Reads `len` bytes from `address` of process `pid`. Errors as for [`write()`].
///
/// # Safety
/// `to` is writable for `len` bytes.
pub unsafe fn read(pid: i32, address: usize, to: *mut u8, len: usize) -> Result<(), SciError> {
    // SAFETY: the kernel checks the remote addresses; the local ones are writable by this function's contract.
    let call =
        |local: &libc::iovec, remote: &libc::iovec| unsafe { libc::process_vm_readv(pid, local, 1, remote, 1, 0) };
    all("process_vm_readv", to, address, len, call)
}

/// Repeats `call` until all is moved: the kernel may do a part.
fn all(
    name: &'static str,
    local: *mut u8,
    remote: usize,
    len: usize,
    call: impl Fn(&libc::iovec, &libc::iovec) -> isize,
) -> Result<(), SciError> {
    let mut done = 0;
    while done < len {
        let here = libc::iovec { iov_base: local.wrapping_add(done).cast(), iov_len: len - done };
        let there = libc::iovec { iov_base: remote.wrapping_add(done) as *mut libc::c_void, iov_len: len - done };
        let n = call(&here, &there);
        if n <= 0 {
            let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
            return Err(SciError::System { call: name, errno });
        }
        done += n as usize;
    }
    Ok(())
}
