//! Another process's memory that is not mapped here: process_vm_writev(2) and process_vm_readv(2), where the kernel
//! allows them.

#![allow(unsafe_code)] // mapped memory, system calls

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

/// Ranges of equal length here and in another process, in order.
#[derive(Default)]
pub struct Batch {
    local: Vec<libc::iovec>,
    remote: Vec<libc::iovec>,
    bytes: usize,
}

impl Batch {
    /// Ranges that the kernel takes at a time (UIO_MAXIOV).
    pub const MOST: usize = 1024;

    /// Has it as many ranges as the kernel takes?
    pub fn is_full(&self) -> bool {
        self.local.len() >= Self::MOST || self.remote.len() >= Self::MOST
    }

    /// Adds `len` bytes. On each side bytes that follow the last ones make one range with them.
    pub fn push(&mut self, local: usize, remote: usize, len: usize) {
        for (list, address) in [(&mut self.local, local), (&mut self.remote, remote)] {
            match list.last_mut() {
                Some(last) if (last.iov_base as usize).wrapping_add(last.iov_len) == address => last.iov_len += len,
                _ => list.push(libc::iovec { iov_base: address as *mut libc::c_void, iov_len: len }),
            }
        }
        self.bytes += len;
    }

    /// Bytes in all.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the remote side's first range is, for error messages.
    pub fn remote(&self) -> (usize, usize) {
        self.remote.first().map_or((0, 0), |range| (range.iov_base as usize, range.iov_len))
    }

    /// Where the local side's first range is, for error messages.
    pub fn local(&self) -> *const u8 {
        self.local.first().map_or(std::ptr::null(), |range| range.iov_base.cast_const().cast())
    }

    /// Starts anew.
    pub fn clear(&mut self) {
        self.local.clear();
        self.remote.clear();
        self.bytes = 0;
    }

    /// Writes (`write`) or reads everything in the batch. Parts that are done leave the batch. Errors as for [`write()`].
    ///
    /// # Safety
    /// The local ranges are readable, for reading writable.
    pub unsafe fn transfer(&mut self, pid: i32, write: bool) -> Result<(), SciError> {
        while self.bytes > 0 {
            let (local, n_local) = (self.local.as_ptr(), self.local.len() as libc::c_ulong);
            let (remote, n_remote) = (self.remote.as_ptr(), self.remote.len() as libc::c_ulong);
            let n = if write {
                // SAFETY: the kernel checks the remote addresses; the local ones are readable by this function's contract.
                unsafe { libc::process_vm_writev(pid, local, n_local, remote, n_remote, 0) }
            } else {
                // SAFETY: the kernel checks the remote addresses; the caller promises that the local ones are writable.
                unsafe { libc::process_vm_readv(pid, local, n_local, remote, n_remote, 0) }
            };
            if n <= 0 {
                let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
                let call = if write { "process_vm_writev" } else { "process_vm_readv" };
                return Err(SciError::System { call, errno });
            }
            self.bytes -= n as usize; // never more than was asked for
            skip(&mut self.local, n as usize);
            skip(&mut self.remote, n as usize);
        }
        Ok(())
    }
}

/// Takes the first `n` bytes out of a list.
fn skip(list: &mut Vec<libc::iovec>, mut n: usize) {
    let whole = list.iter().take_while(|range| {
        let is_done = range.iov_len <= n;
        n -= if is_done { range.iov_len } else { 0 };
        is_done
    });
    let whole = whole.count();
    list.drain(..whole);
    if let Some(first) = list.first_mut() {
        first.iov_base = first.iov_base.cast::<u8>().wrapping_add(n).cast();
        first.iov_len -= n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens(list: &[libc::iovec]) -> Vec<(usize, usize)> {
        list.iter().map(|r| (r.iov_base as usize, r.iov_len)).collect()
    }

    #[test]
    fn what_follows_is_one_range_on_that_side_only() {
        let mut batch = Batch::default();
        batch.push(100, 1000, 4);
        batch.push(104, 2000, 4);
        batch.push(200, 2004, 4);
        assert_eq!((lens(&batch.local), lens(&batch.remote)), (vec![(100, 8), (200, 4)], vec![(1000, 4), (2000, 8)]));
        assert_eq!(batch.bytes(), 12);
    }

    #[test]
    fn a_partial_transfer_goes_on_where_it_stopped() {
        let range = |base: usize, len| libc::iovec { iov_base: base as *mut libc::c_void, iov_len: len };
        let all = || vec![range(100, 8), range(200, 4), range(300, 2)];
        for (n, rest) in [
            (0, vec![(100, 8), (200, 4), (300, 2)]),
            (3, vec![(103, 5), (200, 4), (300, 2)]),
            (8, vec![(200, 4), (300, 2)]),
            (13, vec![(301, 1)]),
            (14, vec![]),
        ] {
            let mut list = all();
            skip(&mut list, n);
            assert_eq!(lens(&list), rest, "{n} bytes");
        }
    }

    #[test]
    fn own_memory_is_moved_in_pieces() {
        let from: Vec<u8> = (0..100).collect();
        let mut to = vec![0u8; 100];
        let pid = std::process::id() as i32;
        let base = to.as_mut_ptr() as usize;
        for write in [true, false] {
            let mut batch = Batch::default();
            let (a, b) = (from.as_ptr() as usize, base);
            for k in [0, 7, 20] {
                if write { batch.push(a + k, b + 2 * k, 5) } else { batch.push(b + 2 * k + 50, a + k, 5) }
            }
            // SAFETY: the ranges lie in the two vectors.
            match unsafe { batch.transfer(pid, write) } {
                Ok(()) => {}
                Err(SciError::System { errno: libc::EPERM | libc::ENOSYS, .. }) => return, // closed here
                Err(e) => panic!("{e}"),
            }
        }
        for k in [0, 7, 20] {
            assert_eq!(to[2 * k..2 * k + 5], from[k..k + 5]);
            assert_eq!(to[2 * k + 50..2 * k + 55], from[k..k + 5]);
        }
    }
}
