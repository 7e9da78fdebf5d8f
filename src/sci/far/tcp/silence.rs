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
use crate::os::{net, tcp};
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
            let Some(since) = tcp::owed_since(silence.owed.get(&rank).copied(), activity, now) else { continue };
            if now.duration_since(since) < self.silence {
                owed.insert(rank, since);
                continue;
            }
            let host = self.peer(rank).at.get().map_or("its host".into(), |at| net::shown(*at));
            let seconds = self.silence.as_secs_f64();
            self.lose(rank, format!("no sign of life from {host} for {seconds} s (GASNET_SCI_LINK_TIMEOUT)"));
        }
        silence.next = Some(now + LOOK);
        silence.owed = owed;
    }
}
