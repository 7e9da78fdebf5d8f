//! poll(2) in a loop that must end, also where the kernel refuses the call. Must not know: what is polled for.

use super::sys;
use libc::pollfd;
use std::io;
use std::time::Duration;

/// A loop learns nothing any more if the kernel has refused to poll this often in a row, with a millisecond between. A guess.
const MOST: u32 = 500;

/// Polls, and counts refusals in a row.
#[derive(Default)]
pub struct Poller {
    refused: u32,
}

impl Poller {
    /// Polls once. After a refusal nothing is ready, and the loop may go on.
    ///
    /// # Errors
    /// The kernel has refused for long: the loop must end, and say why. From then on every refusal is an error.
    pub fn poll(&mut self, set: &mut [pollfd], timeout: Option<Duration>) -> io::Result<()> {
        match sys::poll(set, timeout) {
            Ok(()) => self.refused = 0,
            Err(_) if self.refused + 1 < MOST => self.refused += 1,
            Err(error) => {
                self.refused = MOST;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether the last poll was refused, and the next one may not be.
    pub fn hopes(&self) -> bool {
        self.refused > 0 && !self.is_deaf()
    }

    /// Whether the kernel has refused for long.
    pub fn is_deaf(&self) -> bool {
        self.refused == MOST
    }
}
