//! Writing another process's memory that is not mapped here: process_vm_writev(2), where the kernel allows it.

use super::SciError;

/// Writes `len` bytes to `address` of process `pid`. `System` with the kernel's errno: EFAULT when the target is not
/// writable memory, EPERM, ENOSYS when this way is closed.
///
/// # Safety
/// `src` is readable for `len` bytes.
pub unsafe fn write(pid: i32, address: usize, src: *const u8, len: usize) -> Result<(), SciError> {
    let mut done = 0;
    while done < len {
        let local = libc::iovec { iov_base: src.wrapping_add(done).cast_mut().cast(), iov_len: len - done };
        let remote = libc::iovec { iov_base: address.wrapping_add(done) as *mut libc::c_void, iov_len: len - done };
        // SAFETY: one valid vector on each side; the kernel checks the remote addresses.
        let n = unsafe { libc::process_vm_writev(pid, &local, 1, &remote, 1, 0) };
        if n <= 0 {
            let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
            return Err(SciError::System { call: "process_vm_writev", errno });
        }
        done += n as usize;
    }
    Ok(())
}
