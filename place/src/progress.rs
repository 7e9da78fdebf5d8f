//! How far a command is, for who waits at a terminal: the share that is done, and the time that is left.
//!
//! It is drawn on stderr, if that is a terminal that can be drawn on; else nothing is written, so logs and pipes stay clean. What is
//! measured is not disturbed: nothing is drawn between two calls of these functions. It goes away with the last clone.
//!
//! Must not know: what takes so long.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::time::Instant;

/// A line that tells how far something is.
#[derive(Clone)]
pub struct Progress(Arc<Line>);

struct Line(ProgressBar);

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Progress {
    /// Of something that takes `steps` steps of about the same time; 0: nobody knows how many. `name` stands before it.
    pub fn new(name: &'static str, steps: u64) -> Progress {
        if !stderr().is_terminal() || !anstyle_query::term_supports_ansi_color() {
            return Progress::none();
        }
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        let form = match steps {
            0 => "{prefix}: {msg} {elapsed}",
            _ => "{prefix}: [{bar:20}] {percent:>3} %, {left} left  {msg}",
        };
        // The text is a constant, which is known to be right.
        let style = ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
        let left = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // At the beginning there is nothing to go by. Writing to the line does not fail.
            let _ = match state.fraction() > 0.0 {
                true => write!(out, "{}", in_words(state.eta().as_secs())),
                false => write!(out, "?"),
            };
        };
        bar.set_style(style.progress_chars("=> ").with_key("left", left));
        bar.set_prefix(name);
        Progress(Arc::new(Line(bar)))
    }

    /// Of something that tells nobody.
    pub fn none() -> Progress {
        Progress(Arc::new(Line(ProgressBar::hidden())))
    }

    /// What is under way from now on.
    pub fn say(&self, what: impl Into<String>) {
        self.0.0.set_message(what.into());
        self.0.0.tick();
    }

    /// So many steps more are done.
    pub fn advance(&self, steps: u64) {
        self.0.0.inc(steps);
    }

    /// So many steps are done.
    pub fn reach(&self, steps: u64) {
        self.0.0.set_position(steps);
    }

    /// The steps that are done.
    pub fn done(&self) -> u64 {
        self.0.0.position()
    }

    /// Prints a line on stderr, above the line of progress.
    pub fn tell(&self, line: &str) {
        self.0.0.suspend(|| eprintln!("{line}"));
    }
}

/// Parts that are shown of it.
const PARTS: u64 = 1000;

/// Shows how far something is: by its steps, or by the time that it may take, whichever is farther. It is told what is under way, the
/// steps that were made, and how many there will be at most; 0: nobody knows.
pub fn parts(name: &'static str, deadline: Option<Instant>) -> impl Fn(&str, u64, u64) {
    let progress = Progress::new(name, PARTS);
    let begin = Instant::now();
    let span = deadline.map(|end| end.saturating_duration_since(begin).as_secs_f64());
    move |what, done, all| {
        let by_steps = done as f64 / all.max(1) as f64;
        let by_time = span.map_or(0.0, |span| begin.elapsed().as_secs_f64() / span);
        let part = (by_steps.max(by_time) * PARTS as f64) as u64;
        // A part that begins anew, such as the proof after the search, begins the line anew.
        if part != progress.done() {
            progress.say(what);
            progress.reach(part.min(PARTS));
        }
    }
}

fn in_words(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_the_unit_that_fits() {
        assert_eq!([0, 59, 60, 3599, 3661].map(in_words), ["0 s", "59 s", "1:00 min", "59:59 min", "1:01 h"]);
    }

    #[test]
    fn what_tells_nobody_counts_all_the_same() {
        let progress = Progress::none();
        progress.advance(3);
        progress.reach(7);
        assert_eq!(progress.clone().done(), 7);
    }
}
