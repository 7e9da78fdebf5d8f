//! What a node's end means for the job. The supervisor of a host and the launcher of several judge by the same rules.

use super::Ending;
use crate::supervise::channel::{End, How};
use crate::supervise::header::{Boxes, Phase};
use crate::supervise::signals::signal_name;
use std::time::Instant;

/// What the end of a node means that the job survives.
#[derive(Debug, PartialEq)]
pub struct Loss {
    /// The line to print.
    pub line: String,
    /// The code that counts for the job, unless it has a better one.
    pub code: Option<u8>,
}

impl Ending {
    /// What the end of a node means in a job that survives losses; `None`: what it means in any other, as [`Ending::ended`] has it.
    /// That is so for a node that has no mail boxes, or no others but those of GASNet programs; for one that left in good order; and
    /// once the nodes were asked to end.
    pub fn survived(&self, end: &End, boxes: Boxes) -> Option<Loss> {
        let exiting = end.phase >= Phase::Exiting;
        if boxes == Boxes::None || boxes == Boxes::Done && exiting || self.was_asked() {
            return None;
        }
        let (what, code) = match end.how {
            How::Signal(signal) => {
                (format!("was killed by signal {}", signal_name(signal)), Some((128 + signal) as u8))
            }
            // As in other jobs, a node that skips its exit handlers has failed, whatever it says.
            How::Status(status) => {
                let code = if exiting { status } else { status.max(1) };
                (format!("exited with status {status} before deck_done"), Some(code).filter(|code| *code != 0))
            }
            How::Inner => ("ended before deck_done".into(), None),
        };
        let line = format!(
            "node {}/{} (pid {}) {what}; the job goes on without it (--survive)",
            end.rank, self.nodes, end.pid
        );
        Some(Loss { line, code })
    }

    /// A node has ended. `place` stands behind its process number, such as ` on hostB`. Returns the code that counts for the job
    /// from now on, unless it has a better one.
    pub fn ended(&mut self, now: Instant, end: &End, place: &str) -> Option<u8> {
        let who = format!("node {}/{} (pid {}{place})", end.rank, self.nodes, end.pid);
        let exiting = end.phase >= Phase::Exiting;
        let consequence = self.was_asked() && !exiting;
        let code = match end.how {
            How::Signal(signal) => {
                if self.was_asked() {
                    return None;
                }
                self.crash(
                    now,
                    end.rank,
                    format!("{who} was killed by signal {}; ending the job", signal_name(signal)),
                );
                return Some((128 + signal) as u8);
            }
            // Only the wrapper knows how the node ended, and that one usually ends soon.
            How::Inner => None,
            How::Status(status) => Some(status),
        };
        match code {
            _ if end.phase == Phase::Failed => self.failed(now),
            _ if exiting => self.orderly(now),
            None => self.premature(now, end.rank, format!("{who} ended without gasnet_exit; ending the job")),
            Some(code) if end.phase == Phase::Unborn => {
                let line = format!("{who} exited with status {code} before gasnet_init; ending the job");
                self.unjoined.get_or_insert((end.rank, line));
            }
            Some(code) => {
                let line = format!("{who} exited with status {code} without gasnet_exit; ending the job");
                self.premature(now, end.rank, line);
            }
        }
        code.filter(|code| *code != 0 && !consequence)
    }

    /// Whether a node has ended without joining. That is an error only if another node joins.
    pub fn has_unjoined(&self) -> bool {
        self.unjoined.is_some()
    }

    /// A node has joined.
    pub fn joined(&mut self, now: Instant) {
        if let Some((rank, line)) = self.unjoined.take() {
            self.premature(now, rank, line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervise::ending::Step;
    use std::time::Duration;

    fn end(rank: u32, phase: Phase, how: How) -> End {
        End { rank, pid: 70 + rank as i32, phase, how }
    }

    #[test]
    fn the_first_cause_decides_and_the_line_names_the_host() {
        let (mut ending, now) = (Ending::new(8, Duration::from_secs(10)), Instant::now());
        assert_eq!(ending.ended(now, &end(3, Phase::Attached, How::Signal(11)), " on hostB"), Some(139));
        let line = "node 3/8 (pid 73 on hostB) was killed by signal 11 (SIGSEGV); ending the job";
        assert_eq!(ending.steps(now), [Step::Print(line.into()), Step::Ask]);
        assert_eq!(ending.ended(now, &end(4, Phase::Attached, How::Signal(9)), ""), None);
        assert_eq!(ending.ended(now, &end(5, Phase::Attached, How::Status(1)), ""), None);
        assert_eq!(ending.ended(now, &end(6, Phase::Exiting, How::Status(5)), ""), Some(5), "it had begun to leave");
    }

    #[test]
    fn a_node_that_has_said_why_it_ends_the_job_leaves_the_others_little_time_and_no_second_line() {
        let (mut ending, now) = (Ending::new(4, Duration::from_secs(10)), Instant::now());
        assert_eq!(ending.ended(now, &end(1, Phase::Failed, How::Status(1)), ""), Some(1));
        assert_eq!(ending.ended(now, &end(2, Phase::Failed, How::Status(1)), ""), Some(1));
        assert_eq!(ending.steps(now + Duration::from_millis(108)), [Step::Ask]);
        assert_eq!(ending.steps(now + Duration::from_millis(608)), [Step::Kill]);
    }

    #[test]
    fn a_node_that_fails_after_an_orderly_exit_hurries_the_others() {
        let (mut ending, now) = (Ending::new(4, Duration::from_secs(10)), Instant::now());
        ending.orderly(now);
        assert_eq!(ending.ended(now, &end(1, Phase::Failed, How::Status(1)), ""), Some(1));
        assert_eq!(ending.steps(now + Duration::from_millis(108)), [Step::Ask]);
        assert_eq!(ending.steps(now + Duration::from_millis(608)), [Step::Kill]);
    }

    #[test]
    fn nodes_that_are_killed_because_the_launcher_has_died_are_no_crash() {
        let (mut ending, now) = (Ending::new(2, Duration::from_secs(10)), Instant::now());
        ending.abandoned(now);
        assert_eq!(ending.steps(now), [Step::Kill]);
        assert_eq!(ending.ended(now, &end(1, Phase::Attached, How::Signal(9)), ""), None);
        assert_eq!(ending.steps(now + Duration::from_secs(20)), [], "no line");
    }

    #[test]
    fn a_job_that_survives_outlives_nodes_with_mail_boxes_only() {
        let mut ending = Ending::new(4, Duration::from_secs(10));
        let open = |how, phase| ending.survived(&end(1, phase, how), Boxes::Open);
        let loss = open(How::Signal(9), Phase::Attached).unwrap();
        assert_eq!(loss.code, Some(137));
        assert!(
            loss.line.starts_with("node 1/4 (pid 71) was killed by signal 9 (SIGKILL); the job goes on"),
            "{loss:?}"
        );
        let codes = [(How::Status(3), Some(3)), (How::Status(0), None), (How::Inner, None)];
        for (how, code) in codes {
            assert_eq!(open(how, Phase::Exiting).unwrap().code, code, "{how:?}");
        }
        assert_eq!(open(How::Status(0), Phase::Attached).unwrap().code, Some(1), "_exit(0)");
        let end = |how, phase| end(1, phase, how);
        assert_eq!(ending.survived(&end(How::Signal(9), Phase::Joining), Boxes::None), None);
        assert_eq!(ending.survived(&end(How::Status(3), Phase::Exiting), Boxes::Done), None, "in good order");
        assert!(ending.survived(&end(How::Signal(11), Phase::Attached), Boxes::Done).is_some());
        ending.request(Instant::now());
        assert_eq!(ending.survived(&end(How::Signal(9), Phase::Attached), Boxes::Open), None, "it was asked to end");
    }

    #[test]
    fn who_ends_before_init_is_told_once_another_joins() {
        let (mut ending, now) = (Ending::new(2, Duration::from_secs(10)), Instant::now());
        assert_eq!(ending.ended(now, &end(1, Phase::Unborn, How::Status(2)), ""), Some(2));
        assert!(ending.has_unjoined() && !ending.has_begun());
        ending.joined(now);
        let steps = ending.steps(now + Duration::from_secs(1));
        assert!(
            matches!(&steps[..], [Step::Print(line), Step::Ask] if line.contains("status 2 before gasnet_init")),
            "{steps:?}"
        );
    }

    #[test]
    fn an_orderly_exit_is_silent_and_a_lost_wrapper_is_not() {
        let (mut ending, now) = (Ending::new(2, Duration::from_secs(10)), Instant::now());
        assert_eq!(ending.ended(now, &end(0, Phase::Exiting, How::Status(0)), ""), None);
        assert_eq!(ending.steps(now + Duration::from_secs(2)), [Step::Ask]);
        let mut other = Ending::new(2, Duration::from_secs(10));
        assert_eq!(other.ended(now, &end(0, Phase::Attached, How::Inner), ""), None);
        let steps = other.steps(now + Duration::from_secs(1));
        assert!(
            matches!(&steps[..], [Step::Print(line), Step::Ask] if line.contains("without gasnet_exit")),
            "{steps:?}"
        );
    }
}
