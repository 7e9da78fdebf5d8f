//! What the system knows of a TCP connection.
//!
//! Must not know: what is sent.

#![allow(unsafe_code)] // system calls

use super::{net, sys};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, Error};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

/// After a time that no cut lasts, the system may give a connection up: the time for TCP_USER_TIMEOUT where this library judges itself.
pub const NEVER: Duration = Duration::from_secs(14 * 24 * 3600);

/// When a connection was active last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// So long ago the peer's system sent something, be it an acknowledgement alone.
    pub heard: Duration,
    /// So long ago bytes were sent, for the first time or again.
    pub sent: Duration,
    /// Questions whether the peer has room again that its system has not answered. The answer that there is none yet counts.
    pub probes: u8,
}

/// What the system says of `fd`.
///
/// # Errors
/// Those of getsockopt(2).
pub fn activity(fd: BorrowedFd<'_>) -> io::Result<Activity> {
    // The head of `struct tcp_info`, up to the last field that is read.
    const PROBES: usize = 3;
    const LAST_DATA_SENT: usize = 11;
    const LAST_DATA_RECV: usize = 13;
    const LAST_ACK_RECV: usize = 14;
    let mut words = [0u32; LAST_ACK_RECV + 1];
    let size = size_of_val(&words);
    let mut len = size as libc::socklen_t;
    // SAFETY: `words` has room for `len` bytes, and the call writes at most so many.
    let result = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, words.as_mut_ptr().cast(), &raw mut len)
    };
    if result != 0 {
        return Err(Error::last_os_error());
    }
    if (len as usize) < size {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let ago = |at: usize| Duration::from_millis(words[at].into());
    Ok(Activity {
        heard: ago(LAST_ACK_RECV).min(ago(LAST_DATA_RECV)),
        sent: ago(LAST_DATA_SENT),
        probes: words[0].to_ne_bytes()[PROBES],
    })
}

/// Since when the peer's system owes a sign of life, if it does; `before` is the answer of the look before. The time that counts begins
/// with the first thing that was sent and that no sign of life has followed.
pub fn owed_since(before: Option<Instant>, activity: Activity, now: Instant) -> Option<Instant> {
    let ago = |time: Duration| now.checked_sub(time).unwrap_or(now);
    let heard = ago(activity.heard);
    match before {
        Some(since) if since >= heard => Some(since),
        _ if activity.sent < activity.heard => Some(ago(activity.sent)),
        _ if activity.probes > 0 => Some(now),
        _ => None,
    }
}

/// How the congestion control of connections is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// The system's, unless it is BBR: that holds back what is sent after a pause, and a node that waits for its puts pauses all the time.
    /// Puts of 64 KiB in groups of 32 get 0.55 of a bare stream with BBR, 0.98 with Reno (docs/figures.md).
    #[default]
    Auto,
    /// The system's.
    System,
    /// This one.
    Named(String),
}

/// Chooses the congestion control of `socket`.
///
/// # Errors
/// A named one that the system does not have, or does not allow.
pub fn choose_congestion(socket: BorrowedFd<'_>, choice: &Congestion) -> io::Result<()> {
    let socket = SockRef::from(&socket);
    match choice {
        Congestion::System => Ok(()),
        Congestion::Named(name) => socket.set_tcp_congestion(name.as_bytes()).map_err(|error| {
            Error::new(error.kind(), format!("congestion control {name} (GASNET_SCI_TCP_CONGESTION): {error}"))
        }),
        Congestion::Auto => {
            if socket.tcp_congestion().is_ok_and(|name| name.starts_with(b"bbr")) {
                // The system may allow neither; then its own is left.
                let _ = ["cubic", "reno"].iter().any(|name| socket.set_tcp_congestion(name.as_bytes()).is_ok());
            }
            Ok(())
        }
    }
}

/// Options that make an idle connection fail when the peer's system has been silent for `silence`: a probe each second, behind the first
/// second, and less often only if there were too many for the system.
pub fn keepalive(silence: Duration) -> TcpKeepalive {
    const PROBES_MOST: u64 = 100; // Linux takes 127
    let seconds = (silence.as_secs_f64().round() as u64).clamp(2, 30_000);
    let interval = seconds.div_ceil(PROBES_MOST);
    let retries = (seconds / interval - 1).max(1) as u32;
    let interval = Duration::from_secs(interval);
    TcpKeepalive::new().with_time(interval).with_interval(interval).with_retries(retries)
}

/// Whether bytes that `fd` was given may still reach the peer's system, and have not. Of a connection that was reset, the count of
/// such bytes stays as it was.
pub fn is_under_way(fd: BorrowedFd<'_>) -> bool {
    net::unacknowledged(fd) > 0 && sys::poll_one(fd, 0) & (libc::POLLHUP | libc::POLLERR) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn congestion_control_is_the_one_that_was_chosen() {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let has = |name: &str| socket.tcp_congestion().unwrap().starts_with(name.as_bytes());
        choose_congestion(socket.as_fd(), &Congestion::Named("reno".into())).unwrap(); // every Linux has it, and allows it
        assert!(has("reno"));
        choose_congestion(socket.as_fd(), &Congestion::System).unwrap();
        choose_congestion(socket.as_fd(), &Congestion::Auto).unwrap();
        assert!(has("reno"), "it is not bbr");
        let error = choose_congestion(socket.as_fd(), &Congestion::Named("nonsense".into())).unwrap_err().to_string();
        assert!(error.contains("nonsense (GASNET_SCI_TCP_CONGESTION)"), "{error}");
        if choose_congestion(socket.as_fd(), &Congestion::Named("bbr".into())).is_ok() {
            choose_congestion(socket.as_fd(), &Congestion::Auto).unwrap();
            assert!(!has("bbr"));
        }
    }
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_connection_that_was_just_used_was_active() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        ours.write_all(b"x").unwrap();
        theirs.read_exact(&mut [0]).unwrap();
        theirs.write_all(b"y").unwrap();
        ours.read_exact(&mut [0]).unwrap();
        let activity = activity(ours.as_fd()).unwrap();
        assert!(activity.heard < Duration::from_secs(60) && activity.sent < Duration::from_secs(60), "{activity:?}");
        assert_eq!(activity.probes, 0);
    }

    fn of(heard: u64, sent: u64, probes: u8) -> Activity {
        Activity { heard: Duration::from_millis(heard), sent: Duration::from_millis(sent), probes }
    }

    #[test]
    fn what_was_answered_owes_nothing() {
        let long_ago = Instant::now();
        let now = long_ago + Duration::from_secs(100);
        for quiet in [of(5, 5, 0), of(5, 7000, 0), of(20_000, 20_004, 0)] {
            assert_eq!(owed_since(None, quiet, now), None, "{quiet:?}");
            assert_eq!(owed_since(Some(long_ago), quiet, now), None, "{quiet:?}: heard since");
        }
    }

    #[test]
    fn a_sign_of_life_is_owed_since_the_first_thing_that_none_followed() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let first = owed_since(None, of(300, 100, 0), at(1000)).unwrap();
        assert_eq!(first, at(900));
        // Sent again and again.
        assert_eq!(owed_since(Some(first), of(1300, 50, 0), at(2000)), Some(first));
        assert_eq!(owed_since(Some(first), of(6300, 3000, 0), at(7000)), Some(first));
        // Busy both ways: what was owed has been answered, what was sent last not yet.
        assert_eq!(owed_since(Some(first), of(10, 4, 0), at(3000)), Some(at(2996)));
    }

    #[test]
    fn a_full_peer_that_answers_is_not_silent() {
        let now = Instant::now();
        assert_eq!(owed_since(None, of(9000, 30_000, 0), now), None, "the next question comes later");
        assert_eq!(owed_since(None, of(9000, 30_000, 1), now), Some(now), "it was asked, and owes the answer");
        let later = now + Duration::from_secs(3);
        assert_eq!(owed_since(Some(now), of(12_000, 33_000, 2), later), Some(now));
        assert_eq!(owed_since(Some(now), of(1, 33_000, 0), later), None);
    }
}
