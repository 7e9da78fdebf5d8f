//! The host's network addresses, and connections that notice when the other side is silent.

#![allow(unsafe_code)] // system calls

use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;
use std::{io, ptr};

/// The IPv4 addresses of this host's interfaces that are up. Those of loopback are the last.
///
/// # Errors
/// The system's.
pub fn addresses() -> io::Result<Vec<Ipv4Addr>> {
    let mut list = ptr::null_mut();
    // SAFETY: `list` is writable.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: null or an entry of the list, which lives until freeifaddrs.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: null or an address that lives as long as the list; every address begins with its family.
        let family = unsafe { entry.ifa_addr.as_ref() }.map(|address| address.sa_family);
        if family == Some(libc::AF_INET as libc::sa_family_t) && entry.ifa_flags & libc::IFF_UP as u32 != 0 {
            // SAFETY: an address of this family has this type.
            let address = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in>().read() };
            found.push(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)));
        }
    }
    // SAFETY: what getifaddrs gave, once.
    unsafe { libc::freeifaddrs(list) };
    found.sort_by_key(Ipv4Addr::is_loopback);
    Ok(found)
}

/// Makes a connection fail when the other side has been silent for about `time`: its host is gone, or the way to it.
///
/// # Errors
/// The system's.
pub fn notice_silence(stream: &TcpStream, time: Duration) -> io::Result<()> {
    let seconds = time.as_secs().clamp(1, 1000) as i32;
    for (level, option, value) in [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, seconds),
        (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 1000 * seconds),
    ] {
        let size = size_of_val(&value) as libc::socklen_t;
        // SAFETY: `value` is an integer of that size.
        if unsafe { libc::setsockopt(stream.as_raw_fd(), level, option, (&raw const value).cast(), size) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_host_has_addresses_and_loopback_is_the_last() {
        let found = super::addresses().unwrap();
        let first = found.iter().position(|address| address.is_loopback()).unwrap_or(found.len());
        assert!(found[first..].iter().all(|address| address.is_loopback()), "{found:?}");
    }
}
