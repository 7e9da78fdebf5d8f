//! Notices that the system of a peer no longer answers: its host is gone, or the way to it.
//!
//! The time that counts begins with the first thing that this node sent and that no sign of life has followed; on an idle connection
//! keepalive sends something each second. TCP_USER_TIMEOUT would also count the time in which a peer that computes takes
//! nothing. Such a peer is not silent: its system acknowledges what it gets, and answers the question whether there is room again.
//! Linux leaves out an answer within half a second of another one (tcp_invalid_ratelimit), so a healthy system is heard about once a
//! second. The limit must be longer than that.
//!
//! Nodes that greet each other or make keys are looked at as well. They wait as long as a peer computes, and so does this node; if keys
//! take longer than a first contact may, there is a line.
//!
//! Must not know: what is sent.

use super::greeting::Greeting;
use super::keys::Meeting;
use super::{Receiving, Tcp};
use crate::base::log;
use crate::os::{net, tcp};
use std::collections::HashMap;
use std::net::TcpStream;
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
    /// By rank, or by key of a greeting: since when a sign of life is owed.
    owed: HashMap<u64, Instant>,
}

impl Silence {
    /// True if a sign of life of the system at the other end of `socket` is owed for `limit`; if it is owed, `now_owed` has it.
    fn is_over(&self, now_owed: &mut HashMap<u64, Instant>, key: u64, socket: &TcpStream, limit: Duration) -> bool {
        let now = Instant::now();
        let Ok(activity) = tcp::activity(socket.as_fd()) else { return false };
        let Some(since) = tcp::owed_since(self.owed.get(&key).copied(), activity, now) else { return false };
        now_owed.insert(key, since);
        now.duration_since(since) >= limit
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
        let Receiving { silence, inputs, meetings, greetings, .. } = r;
        let (mut owed, limit) = (HashMap::new(), self.silence);
        let linked = (0..).zip(inputs.iter()).filter_map(|(rank, input)| Some((rank, &input.as_deref()?.1, "")));
        let meeting = meetings
            .iter()
            .map(|(rank, meeting)| (*rank, &meeting.socket, " while keys were made (GASNET_SCI_SECURE)"));
        for (rank, socket, what) in linked.chain(meeting) {
            if silence.is_over(&mut owed, rank.into(), socket, limit) {
                let (host, seconds) = (self.host(rank), limit.as_secs_f64());
                self.lose(rank, format!("no sign of life from {host} for {seconds} s (GASNET_SCI_LINK_TIMEOUT){what}"));
            }
        }
        let silent = |key: &u64, greeting: &mut Greeting| {
            greeting.to.is_some()
                && !greeting.is_connecting()
                && silence.is_over(&mut owed, *key, &greeting.socket, limit)
        };
        let silent: Vec<Greeting> = greetings.extract_if(silent).map(|(_, greeting)| greeting).collect();
        silence.next = Some(now + LOOK);
        silence.owed = owed;
        meetings.iter_mut().for_each(|(rank, meeting)| self.tell_of_long(*rank, meeting, now));
        silent.iter().for_each(|greeting| self.fell_silent(r, greeting, limit));
    }

    fn host(&self, rank: u32) -> String {
        self.peer(rank).at.get().map_or("its host".into(), |at| net::shown(*at))
    }

    /// The peer computes, or somebody on the way holds back what goes by. This node cannot know which, so it goes on.
    fn tell_of_long(&self, rank: u32, meeting: &mut Meeting, now: Instant) {
        if meeting.is_told || now.duration_since(meeting.since) <= self.contact {
            return;
        }
        meeting.is_told = true;
        let (host, seconds) = (self.host(rank), self.contact.as_secs_f64());
        log::advise(&format!(
            "node {}: waits for node {rank} at {host} to make keys (GASNET_SCI_SECURE), for {seconds} s (GASNET_SCI_START_TIMEOUT) \
             already; does that node compute, or does something between the hosts hold back what goes by (docs/security.md)?",
            self.who().me
        ));
    }
}
