//! When and how a job is ended: a plan of deadlines, without any system call.
//!
//! Rules:
//! 1. The first cause decides. Its consequences are not reported.
//! 2. After an orderly exit, or one that may become collective, the other nodes have a grace period. Only then are
//!    they asked to end (SIGQUIT). A node that has failed, and said why, leaves a short one, in which others may say the same.
//!    A crash leaves none.
//! 3. A node that was asked and still exists is killed: after the exit timeout in an orderly end, after [`HASTE`] in
//!    any other.

use std::time::{Duration, Instant};

mod verdict;

/// Time from asking to killing if the job has failed. Such a job must be over within a second.
pub const HASTE: Duration = Duration::from_millis(500);

/// A step that the supervisor has to take.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Print this line.
    Print(String),
    /// Ask all nodes that are left to end.
    Ask,
    /// Kill all nodes that are left.
    Kill,
}

/// The plan of deadlines.
pub struct Ending {
    nodes: u32,
    grace: Duration,
    short_grace: Duration,
    exit_time: Duration,
    begun: bool,
    // The line to print if the job is not over by itself at `ask_at`, and the rank that it is about.
    line: Option<(u32, String)>,
    // A node that ended without joining.
    unjoined: Option<(u32, String)>,
    ask_at: Option<Instant>,
    // After an orderly exit: how long the asking may be put off.
    latest_ask: Option<Instant>,
    kill_at: Option<Instant>,
    patience: Duration,
    requests: u32,
    asked: bool,
    killed: bool,
}

impl Ending {
    /// A job of `nodes` nodes, without a cause to end.
    pub fn new(nodes: u32, exit_time: Duration) -> Ending {
        Ending {
            nodes,
            // Nodes of a collective exit may still print or close files, on a machine with other work to do. 100 ms
            // were too few at a load of 20. A guess.
            grace: Duration::from_millis(1000 + 2 * u64::from(nodes)),
            // A job with a broken node is over within a second (docs/reliability.md). 64 nodes on two cores leave
            // within a few ms.
            short_grace: Duration::from_millis(100 + 2 * u64::from(nodes)),
            exit_time,
            begun: false,
            line: None,
            unjoined: None,
            ask_at: None,
            latest_ask: None,
            kill_at: None,
            patience: exit_time,
            requests: 0,
            asked: false,
            killed: false,
        }
    }

    /// Whether there is a cause already.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether nodes were signalled. What ends a node now is a consequence.
    pub fn was_asked(&self) -> bool {
        self.asked
    }

    /// A node has left by gasnet_exit or by returning from main.
    pub fn orderly(&mut self, now: Instant) {
        if !self.begun {
            self.begin(now + self.grace, self.exit_time);
            self.latest_ask = Some(now + self.grace + self.exit_time);
        }
    }

    /// Node `rank` has ended in another way. All others may have ended with it.
    pub fn premature(&mut self, now: Instant, rank: u32, line: String) {
        let better = self.line.as_ref().is_some_and(|(about, _)| *about == rank);
        if !self.begun {
            self.begin(now + self.short_grace, HASTE);
        } else if !better {
            return;
        }
        self.line = Some((rank, line));
    }

    /// A node has said why it ends the job, and has left.
    pub fn failed(&mut self, now: Instant) {
        let is_orderly = self.latest_ask.is_some() && !self.asked;
        if !self.begun || is_orderly {
            let soon = now + self.short_grace;
            self.begin(self.ask_at.map_or(soon, |at| at.min(soon)), HASTE);
        }
    }

    /// Node `rank` was killed by a signal that this supervisor did not send, or never ran.
    pub fn crash(&mut self, now: Instant, rank: u32, line: String) {
        if self.asked {
            return;
        }
        self.line.get_or_insert((rank, line));
        self.begin(now, HASTE);
    }

    /// The job's time is over. It ends as if it had failed; an end that is under way is hurried.
    pub fn overdue(&mut self, now: Instant, line: String) {
        if !self.killed {
            self.asked = false;
            self.line = Some((u32::MAX, line)); // about no node
            self.begin(now, HASTE);
        }
    }

    fn begin(&mut self, ask_at: Instant, patience: Duration) {
        self.begun = true;
        self.latest_ask = None;
        self.ask_at = Some(ask_at);
        self.patience = patience;
    }

    /// The user wants the job to end, and the nodes have been told.
    pub fn request(&mut self, now: Instant) {
        self.requests += 1;
        self.begun = true;
        match self.requests {
            1 => {
                self.asked = true;
                self.ask_at = None;
                self.kill_at = Some(self.kill_at.unwrap_or(now + self.exit_time));
            }
            2 => {
                self.asked = false;
                self.begin(now, HASTE);
            }
            _ => self.kill_at = Some(now),
        }
        self.line = None;
    }

    /// The job must be cleaned up at once: no process waits for an orderly end any more.
    pub fn abandoned(&mut self, now: Instant) {
        self.begun = true;
        self.asked = true; // killed is more than asked
        self.line = None;
        self.ask_at = None;
        self.patience = HASTE;
        self.kill_at = Some(now);
    }

    /// The job and this process were stopped for `time`, which must not count.
    pub fn put_off(&mut self, time: Duration) {
        self.ask_at = self.ask_at.map(|at| at + time);
        self.latest_ask = self.latest_ask.map(|at| at + time);
        self.kill_at = self.kill_at.map(|at| at + time);
    }

    /// Puts off the killing, because the nodes wait for a slow reader of their output. Not if the user wants them
    /// dead.
    pub fn extend(&mut self, now: Instant) {
        if self.requests == 0 && self.patience == self.exit_time {
            self.kill_at = self.kill_at.map(|at| at.max(now + self.exit_time));
        }
    }

    /// The reader of the nodes' output has taken nothing for `time`, which does not count for how long they may print.
    pub fn put_off_latest(&mut self, time: Duration) {
        self.latest_ask = self.latest_ask.map(|at| at + time);
    }

    /// Puts off the asking after an orderly exit, because nodes are in the middle of what they print, and a node that is asked then loses
    /// the rest. Not for ever: a node may print for as long as it runs, and somebody reads.
    pub fn await_output(&mut self, now: Instant) {
        if let Some(latest) = self.latest_ask {
            self.ask_at = self.ask_at.map(|at| at.max((now + self.grace).min(latest)));
        }
    }

    /// The time at which [`Ending::steps`] has something to do.
    pub fn next(&self) -> Option<Instant> {
        let kill_at = self.kill_at.filter(|_| !self.killed);
        [self.ask_at, kill_at].into_iter().flatten().min()
    }

    /// The steps that are due.
    pub fn steps(&mut self, now: Instant) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.ask_at.is_some_and(|at| at <= now) {
            self.ask_at = None;
            self.asked = true;
            self.kill_at = Some(now + self.patience);
            steps.extend(self.line.take().map(|(_, line)| Step::Print(line)));
            steps.push(Step::Ask);
        }
        if !self.killed && self.kill_at.is_some_and(|at| at <= now) {
            self.killed = true;
            if self.patience == self.exit_time {
                let seconds = self.exit_time.as_secs_f64();
                steps.push(Step::Print(format!("not all nodes ended within {seconds} s; killing the rest")));
            }
            steps.push(Step::Kill);
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXIT: Duration = Duration::from_secs(10);
    const GRACE: Duration = Duration::from_millis(1008);
    const SHORT_GRACE: Duration = Duration::from_millis(108);

    fn plan() -> (Ending, Instant) {
        (Ending::new(4, EXIT), Instant::now())
    }

    #[test]
    fn orderly_exit_asks_after_the_grace_and_kills_after_the_timeout() {
        let (mut ending, now) = plan();
        ending.orderly(now);
        assert_eq!(ending.next(), Some(now + GRACE));
        assert!(ending.steps(now).is_empty());
        assert_eq!(ending.steps(now + GRACE), [Step::Ask]);
        assert_eq!(ending.next(), Some(now + GRACE + EXIT));
        assert!(matches!(&ending.steps(now + GRACE + EXIT)[..], [Step::Print(_), Step::Kill]));
        assert_eq!(ending.next(), None);
    }

    #[test]
    fn crash_is_told_at_once_and_the_job_is_over_within_a_second() {
        let (mut ending, now) = plan();
        ending.crash(now, 2, "crashed".into());
        assert_eq!(ending.steps(now), [Step::Print("crashed".into()), Step::Ask]);
        ending.crash(now, 1, "consequence".into());
        assert_eq!(ending.steps(now + HASTE), [Step::Kill]);
    }

    #[test]
    fn exit_without_gasnet_exit_is_told_only_if_the_others_stay() {
        let (mut ending, now) = plan();
        ending.premature(now, 1, "ended".into());
        ending.premature(now, 3, "another".into());
        assert!(ending.steps(now).is_empty());
        ending.premature(now, 1, "ended with status 3".into());
        assert_eq!(ending.steps(now + SHORT_GRACE), [Step::Print("ended with status 3".into()), Step::Ask]);
    }

    #[test]
    fn crash_within_the_grace_of_an_orderly_exit_is_told() {
        let (mut ending, now) = plan();
        ending.orderly(now);
        ending.crash(now, 0, "killed".into());
        assert_eq!(ending.steps(now), [Step::Print("killed".into()), Step::Ask]);
    }

    #[test]
    fn requests_escalate_from_patience_to_haste_to_killing() {
        let (mut ending, now) = plan();
        ending.request(now);
        ending.crash(now, 0, "consequence".into());
        assert!(ending.steps(now).is_empty());
        assert_eq!(ending.next(), Some(now + EXIT));
        ending.request(now);
        assert_eq!(ending.steps(now), [Step::Ask]);
        assert_eq!(ending.next(), Some(now + HASTE));
        ending.request(now);
        assert_eq!(ending.steps(now), [Step::Kill]);
    }

    #[test]
    fn a_job_that_is_overdue_is_over_within_a_second_whatever_it_was_doing() {
        let (mut ending, now) = plan();
        ending.overdue(now, "overdue".into());
        assert_eq!(ending.steps(now), [Step::Print("overdue".into()), Step::Ask]);
        assert_eq!(ending.steps(now + HASTE), [Step::Kill]);
        let (mut ending, now) = plan();
        ending.orderly(now);
        ending.steps(now + GRACE);
        ending.overdue(now + GRACE, "overdue".into());
        assert_eq!(ending.steps(now + GRACE), [Step::Print("overdue".into()), Step::Ask]);
        assert_eq!(ending.next(), Some(now + GRACE + HASTE));
    }

    #[test]
    fn time_in_which_the_job_stands_still_does_not_count() {
        let (mut ending, now) = plan();
        ending.orderly(now);
        ending.put_off(EXIT);
        assert_eq!(ending.next(), Some(now + GRACE + EXIT));
        ending.steps(now + GRACE + EXIT);
        ending.put_off(EXIT);
        assert_eq!(ending.next(), Some(now + GRACE + EXIT + EXIT + EXIT));
    }

    #[test]
    fn a_job_without_a_guard_is_killed_at_once() {
        let (mut ending, now) = plan();
        ending.orderly(now);
        ending.abandoned(now);
        assert_eq!(ending.steps(now), [Step::Kill]);
        assert_eq!(ending.next(), None);
    }

    #[test]
    fn nodes_that_still_print_have_more_grace_but_not_for_ever() {
        let (mut ending, now) = plan();
        ending.await_output(now);
        ending.orderly(now);
        ending.await_output(now + GRACE);
        assert_eq!(ending.next(), Some(now + GRACE + GRACE));
        ending.await_output(now + EXIT + EXIT);
        assert_eq!(ending.next(), Some(now + GRACE + EXIT));
        ending.put_off_latest(EXIT); // the reader has stood still
        ending.await_output(now + EXIT + EXIT);
        assert_eq!(ending.next(), Some(now + GRACE + EXIT + EXIT));
        let (mut ending, now) = plan();
        ending.crash(now, 0, "crashed".into());
        ending.await_output(now);
        assert_eq!(ending.next(), Some(now));
    }

    #[test]
    fn a_slow_reader_delays_killing_but_not_a_request() {
        let (mut ending, now) = plan();
        ending.orderly(now);
        ending.steps(now + GRACE);
        ending.extend(now + EXIT);
        assert_eq!(ending.next(), Some(now + EXIT + EXIT));
        ending.request(now);
        ending.request(now);
        ending.steps(now);
        ending.extend(now + EXIT);
        assert_eq!(ending.next(), Some(now + HASTE));
    }
}
