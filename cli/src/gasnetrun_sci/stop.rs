//! Texts that the launcher prints on its own behalf.

use super::cli::NAME;
use std::io::{self, Write};

/// Ends the launcher before there is a job.
#[derive(Debug)]
pub struct Stop {
    status: u8,
    text: String,
}

impl Stop {
    /// Exit status and text. The text goes to stdout if the status is 0, else to stderr.
    pub fn new(status: u8, text: impl Into<String>) -> Stop {
        Stop { status, text: text.into() }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Prints the text and returns the status.
    pub fn print(self) -> i32 {
        let text = self.text.trim_end();
        // A failure to write cannot be reported anywhere.
        let _ = if self.status == 0 { writeln!(io::stdout(), "{text}") } else { writeln!(io::stderr(), "{text}") };
        self.status.into()
    }
}

/// Prints one line on stderr.
pub fn advise(text: &str) {
    let _ = writeln!(io::stderr(), "{NAME}: {text}");
}
