//! The end of the launcher: what is still printed, what still runs, and the status.

use super::super::branch;
use super::super::matrix::Wanted;
use super::input::entry;
use super::remote::Remote;
use super::{Director, fed};
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
        let mut give_up = Instant::now() + LINGER;
        for stream in (0..self.plan.order.nodes).flat_map(|rank| [fed(rank, 0), fed(rank, 1)]) {
            self.output.feed(stream, &[]);
        }
        while self.output.has_sources() || self.output.is_holding() || self.remotes.iter_mut().any(Remote::is_running) {
            let now = Instant::now();
            if now >= until {
                self.remotes.iter_mut().for_each(Remote::end);
            }
            if self.output.has_sources() && now >= give_up && !self.remotes.iter_mut().any(Remote::is_running) {
                self.output.close_sources();
                continue;
            }
            let mut set = vec![entry(&self.signals, libc::POLLIN)];
            self.output.interests(&mut set);
            let due = [Some(Duration::from_millis(50)), self.output.next().map(|at| at.saturating_duration_since(now))];
            if self.poller.poll(&mut set, due.into_iter().flatten().min()).is_err() && !self.output.has_sources() {
                self.record(1); // what the reader has not taken is lost
                return;
            }
            if self.output.transfer(&set[1..]) || self.output.is_clogged() {
                give_up = Instant::now() + LINGER;
            }
            if set[0].revents != 0 && self.ends_by_signal() {
                self.output.close_sources(); // lines that waited for more are shown; the user does not wait for a slow reader
                return;
            }
        }
    }

    // Joins the parts that the agents have sent.
    pub(super) fn write_matrix(&mut self) {
        let status = self.status();
        let wanted = self.matrix.as_ref().filter(|wanted| !wanted.is_in_vain(status));
        if let Some(Err(problem)) = wanted.map(Wanted::write) {
            self.report(&problem);
            self.failed = true;
            self.record(1);
        }
    }

    pub(super) fn status(&self) -> i32 {
        let status = match (self.requested, self.code) {
            (Some(signal), _) => 128 + signal,
            (None, Some(code)) => code.into(),
            (None, None) => self.failed.into(),
        };
        // A job whose output could not be written must not end with success.
        if status == 0 { self.output.has_lost().into() } else { status }
    }
}
