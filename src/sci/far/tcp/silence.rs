//! Notices that the system of a peer no longer answers: its host is gone, or the way to it.
//!
//! The time that counts begins with the first thing that this node sent and that no sign of life has followed; on an idle connection
//! keepalive sends something each second. TCP_USER_TIMEOUT would also count the time in which a peer that computes takes
//! nothing. Such a peer is not silent: its system acknowledges what it gets, and answers the question whether there is room again.
//! Linux leaves out an answer within half a second of another one (tcp_invalid_ratelimit), so a healthy system is heard about once a
//! second. The limit must be longer than that.
//!
//! Must not know: what is sent.

use super::{Receiving, Tcp};
use crate::os::tcp::{self, Activity};
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Between two looks at all connections: a system call for each.
const LOOK: Duration = Duration::from_millis(250);
/// Progress that is not thorough between two looks at the clock.
const CALLS: u32 = 256;

/// What is known of silent peers.
#[derive(Default)]
pub(super) struct Silence {
    calls: u32,
    next: Option<Instant>,
    /// By rank: since when a sign of life is owed.
    owed: HashMap<u32, Instant>,
}

/// Since when the peer owes a sign of life, if it does; `before` is the answer of the look before.
fn owes(before: Option<Instant>, activity: Activity, now: Instant) -> Option<Instant> {
    let ago = |time: Duration| now.checked_sub(time).unwrap_or(now);
    let heard = ago(activity.heard);
    match before {
        Some(since) if since >= heard => Some(since),
        _ if activity.sent < activity.heard => Some(ago(activity.sent)),
        _ if activity.probes > 0 => Some(now),
        _ => None,
    }
}

impl Tcp {
    /// How long a peer's system may be silent although it was sent something.
    pub fn with_silence(mut self, limit: Duration) -> Tcp {
        self.silence = limit;
        self
    }

    /// Looks for silent peers, now and then.
    pub(super) fn look_for_silence(&self, r: &mut Receiving, thorough: bool) {
        r.silence.calls += 1;
        if !thorough && r.silence.calls < CALLS {
            return;
        }
        r.silence.calls = 0;
        let now = Instant::now();
        if *r.silence.next.get_or_insert(now + LOOK) <= now {
            self.look_at_all(r, now);
        }
    }

    #[cold]
    fn look_at_all(&self, r: &mut Receiving, now: Instant) {
        let Receiving { silence, inputs, .. } = r;
        let mut owed = HashMap::new();
        for (rank, input) in (0..).zip(inputs.iter()) {
            let Some((_, socket)) = input.as_deref() else { continue };
            let Ok(activity) = tcp::activity(socket.as_fd()) else { continue };
            let Some(since) = owes(silence.owed.get(&rank).copied(), activity, now) else { continue };
            if now.duration_since(since) < self.silence {
                owed.insert(rank, since);
                continue;
            }
            let host = socket.peer_addr().map_or("its host".into(), |address| address.ip().to_string());
            let seconds = self.silence.as_secs_f64();
            self.lose(rank, format!("no sign of life from {host} for {seconds} s (GASNET_SCI_LINK_TIMEOUT)"));
        }
        silence.next = Some(now + LOOK);
        silence.owed = owed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity(heard: u64, sent: u64, probes: u8) -> Activity {
        Activity { heard: Duration::from_millis(heard), sent: Duration::from_millis(sent), probes }
    }

    #[test]
    fn what_was_answered_owes_nothing() {
        let long_ago = Instant::now();
        let now = long_ago + Duration::from_secs(100);
        for quiet in [activity(5, 5, 0), activity(5, 7000, 0), activity(20_000, 20_004, 0)] {
            assert_eq!(owes(None, quiet, now), None, "{quiet:?}");
            assert_eq!(owes(Some(long_ago), quiet, now), None, "{quiet:?}: heard since");
        }
    }

    #[test]
    fn a_sign_of_life_is_owed_since_the_first_thing_that_none_followed() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let first = owes(None, activity(300, 100, 0), at(1000)).unwrap();
        assert_eq!(first, at(900));
        // Sent again and again.
        assert_eq!(owes(Some(first), activity(1300, 50, 0), at(2000)), Some(first));
        assert_eq!(owes(Some(first), activity(6300, 3000, 0), at(7000)), Some(first));
        // Busy both ways: what was owed has been answered, what was sent last not yet.
        assert_eq!(owes(Some(first), activity(10, 4, 0), at(3000)), Some(at(2996)));
    }

    #[test]
    fn a_full_peer_that_answers_is_not_silent() {
        let now = Instant::now();
        assert_eq!(owes(None, activity(9000, 30_000, 0), now), None, "the next question comes later");
        assert_eq!(owes(None, activity(9000, 30_000, 1), now), Some(now), "it was asked, and owes the answer");
        let later = now + Duration::from_secs(3);
        assert_eq!(owes(Some(now), activity(12_000, 33_000, 2), later), Some(now));
        assert_eq!(owes(Some(now), activity(1, 33_000, 0), later), None);
    }
}
