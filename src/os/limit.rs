//! Resource limits that the system sets this process (getrlimit(2)): open files, processes, address space.

#![allow(unsafe_code)] // system calls

/// Soft and hard limit of a resource; RLIM_INFINITY: none.
pub fn of(kind: libc::__rlimit_resource_t) -> (u64, u64) {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is writable.
    unsafe { libc::getrlimit(kind, &mut limit) };
    (limit.rlim_cur, limit.rlim_max)
}

/// Soft and hard limit on the number of open descriptors.
pub fn descriptors() -> (u64, u64) {
    of(libc::RLIMIT_NOFILE)
}

/// Raises the soft limit on open descriptors as far as the hard one. Returns it.
pub fn raise_descriptors() -> u64 {
    let (_, hard) = descriptors();
    set_descriptors((hard, hard));
    hard
}

/// Sets the soft and hard limit on open descriptors.
pub fn set_descriptors((soft, hard): (u64, u64)) {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: `limit` is valid.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
}
