//! What a node's end means for the job. The supervisor of a host and the launcher of several judge by the same rules.

use super::Ending;
use crate::supervise::channel::{End, How};
use crate::supervise::header::Phase;
use crate::supervise::signals::signal_name;
use std::time::Instant;

impl Ending {
    /// A node has ended. `place` stands behind its process number, such as ` on hostB`. Returns the code that counts for the job
    /// from now on, unless it has a better one.
    pub fn ended(&mut self, now: Instant, end: &End, place: &str) -> Option<u8> {
        let who = format!("node {}/{} (pid {}{place})", end.rank, self.nodes, end.pid);
        let exiting = end.phase == Phase::Exiting;
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
