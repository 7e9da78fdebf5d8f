//! What the supervisor does when all nodes have ended: no process of theirs stays, and no output is lost.

use super::agent::Link;
use super::{Supervisor, readable};
use crate::os::family;
use crate::supervise::conductor;
use crate::supervise::header::Phase;
use crate::supervise::silence::Silence;
use std::time::{Duration, Instant};

/// How long the supervisor waits for output that a process outside the job may still write. A guess.
const LINGER: Duration = Duration::from_millis(200);

impl Supervisor {
    /// Leaves nothing behind: ends processes that nodes started, and writes out the output that is still on its way.
    pub(super) fn clear_up(&mut self) {
        self.tasks.close();
        self.hear_last_guests();
        let killed = family::kill_all(&self.earlier_children);
        let has_joined = self.header.records().iter().any(|record| record.phase() != Phase::Unborn);
        if killed > 0 && !has_joined && self.header.exit_code().unwrap_or(0) == 0 && self.lead.requested.is_none() {
            self.lead.report(&format!(
                "no node has joined the job, and the programs that were started have ended and left processes behind ({killed}, \
                 which are killed now): a wrapper must `exec` its program or `wait` for it"
            ));
        }
        let mut silence = Silence::begin(LINGER);
        while self.lead.output.has_sources() || self.lead.output.is_holding() {
            let now = Instant::now();
            silence.look(now, self.lead.output.is_clogged());
            let mut set = vec![self.lead.signals()];
            set.extend(self.options.guard.as_ref().map(readable));
            let own = set.len();
            self.lead.output.interests(&mut set);
            if let Some(link) = &self.link {
                link.interests(&mut set);
            }
            let beat = self.link.as_ref().and_then(Link::next);
            let dues = [self.lead.output.has_sources().then_some(silence.until()), self.lead.output.next(), beat];
            let due = dues.into_iter().flatten().min();
            self.poll(&mut set, due.map(|at| at.saturating_duration_since(now)));
            let heard = self.lead.output.transfer(&set[own..]) || self.lead.poller.hopes();
            if silence.is_over(heard) && self.lead.output.has_sources() {
                if self.lead.output.give_way() {
                    silence = Silence::begin(LINGER);
                } else {
                    self.lead.output.close_sources();
                }
            }
            self.serve_launcher(&set);
            if set[0].revents != 0 && conductor::ends_by_signal(self) {
                self.lead.output.close_sources(); // lines that waited for more are shown; the user does not wait for a slow reader
                return;
            }
            if self.lead.poller.is_deaf() && !self.lead.output.has_sources() {
                self.header.record_exit(1); // what the reader has not taken is lost
                return;
            }
            if set[1..own].iter().any(|guard| guard.revents != 0) {
                self.lead.output.close_sources();
                return; // no process waits for this one any more
            }
        }
    }
}
