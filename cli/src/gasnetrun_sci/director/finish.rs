//! The end of the launcher: what is still printed, what still runs, and the status.

use super::super::branch;
use super::super::matrix::Wanted;
use super::Director;
use super::remote::Remote;
use gasnet_sci::supervise::conductor::{self, Hands};
use gasnet_sci::supervise::silence::Silence;
use std::time::{Duration, Instant};

/// How long the launcher waits for what the commands that started agents may still print.
const LINGER: Duration = Duration::from_millis(200);
/// How long a command that started an agent may run on when that has ended: longer than a connection takes to close, and so short
/// that a launcher that got a signal leaves within a second, even if the command is stopped.
const LEAVING: Duration = Duration::from_millis(500);
const _: () = assert!(LINGER.as_millis() + LEAVING.as_millis() < 1000, "docs/hosts.md: it leaves within a second");
const _: () = assert!(LEAVING.as_millis() > branch::LEAVING.as_millis(), "a branch ends its commands first");

impl Director {
    // Shows the output that is still on its way, and waits for the commands that started agents.
    pub(super) fn clear_up(&mut self) {
        self.pass_on(); // a branch ends by itself, and with it what it has started
        self.remotes.retain(Remote::is_direct);
        let until = Instant::now() + LEAVING;
        let mut silence = Silence::begin(LINGER);
        for (rank, stream) in (0..self.plan.order.nodes + self.tasks.all().end).flat_map(|rank| [(rank, 0), (rank, 1)])
        {
            self.feed(rank, stream, &[]);
        }
        while self.lead.output.has_sources()
            || self.lead.output.is_holding()
            || self.remotes.iter_mut().any(Remote::is_running)
        {
            let now = Instant::now();
            if now >= until {
                self.remotes.iter_mut().for_each(Remote::end);
            }
            silence.look(now, self.lead.output.is_clogged());
            let mut set = vec![self.lead.signals()];
            self.lead.output.interests(&mut set);
            let due =
                [Some(Duration::from_millis(50)), self.lead.output.next().map(|at| at.saturating_duration_since(now))];
            if self.lead.poller.poll(&mut set, due.into_iter().flatten().min()).is_err()
                && !self.lead.output.has_sources()
            {
                self.record(1); // what the reader has not taken is lost
                return;
            }
            let heard = self.lead.output.transfer(&set[1..]) || self.lead.poller.hopes();
            if silence.is_over(heard) && !self.remotes.iter_mut().any(Remote::is_running) {
                self.lead.output.close_sources();
            }
            if set[0].revents != 0 && conductor::ends_by_signal(self) {
                self.lead.output.close_sources(); // lines that waited for more are shown; the user does not wait for a slow reader
                return;
            }
        }
    }

    // Joins the parts that the agents have sent.
    pub(super) fn write_matrix(&mut self) {
        let status = conductor::status(self);
        let wanted = self.matrix.as_ref().filter(|wanted| !wanted.is_in_vain(status));
        if let Some(Err(problem)) = wanted.map(Wanted::write) {
            self.lead.report(&problem);
            self.lead.failed = true;
            self.record(1);
        }
    }
}
