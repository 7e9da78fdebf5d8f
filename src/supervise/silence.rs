//! When a stream that does not end has been silent for so long that it is given up.
//!
//! The clock alone must not decide: a process that was not scheduled for a while, or whose reader was slow, has not looked, and bytes
//! may lie in the pipe. So silence is over only if a look that began after its end has found nothing.
//! Must not know: what is looked at.

use std::time::{Duration, Instant};

/// The silence of some streams so far.
pub struct Silence {
    length: Duration,
    until: Instant,
    // The last look began after `until`.
    is_last: bool,
}

impl Silence {
    /// It begins now, and lasts `length`.
    pub fn begin(length: Duration) -> Silence {
        Silence { length, until: Instant::now() + length, is_last: false }
    }

    /// The time of a look at the streams that decides, if it finds nothing.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// A look at the streams begins. It is `blind` if nothing could be taken from them now.
    pub fn look(&mut self, now: Instant, blind: bool) {
        if blind {
            self.until = self.until.max(now + self.length);
        }
        self.is_last = now >= self.until;
    }

    /// The look has ended, and has `heard` something or not. True: the streams have been silent for the whole length.
    pub fn is_over(&mut self, heard: bool) -> bool {
        if heard {
            *self = Silence::begin(self.length);
        }
        self.is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_millis(200);

    #[test]
    fn the_look_after_the_last_moment_decides() {
        let mut silence = Silence::begin(LENGTH);
        silence.look(silence.until() - Duration::from_millis(1), false);
        assert!(!silence.is_over(false), "it began before");
        silence.look(silence.until(), false);
        assert!(silence.is_over(false));
    }

    #[test]
    fn what_came_while_nobody_looked_begins_it_anew() {
        let mut silence = Silence::begin(LENGTH);
        silence.look(silence.until() + LENGTH, false);
        assert!(!silence.is_over(true));
        assert!(silence.until() > Instant::now());
    }

    #[test]
    fn the_time_of_a_look_that_could_not_see_does_not_count() {
        let mut silence = Silence::begin(LENGTH);
        let late = silence.until() + LENGTH;
        silence.look(late, true);
        assert!(!silence.is_over(false));
        assert_eq!(silence.until(), late + LENGTH);
    }
}
