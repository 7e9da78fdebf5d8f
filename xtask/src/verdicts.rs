//! Counts checks and reports them: each failure when it happens, and at the end one line that scripts read.

use std::sync::{Mutex, PoisonError};

/// The checks of one subcommand. Any thread may report one.
pub struct Verdicts {
    name: &'static str,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
}

/// The number of failures whose findings are shown. One mistake in a header fails hundreds of checks.
const SHOWN: usize = 20;

impl Verdicts {
    pub fn new(name: &'static str) -> Verdicts {
        Verdicts { name, counts: Mutex::default() }
    }

    /// Counts a check, which has passed if `findings` is empty. At most `lines` of the findings are shown.
    pub fn none(&self, check: &str, findings: &str, lines: usize) {
        // A thread that panicked has printed why, and the counts are consistent.
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if findings.is_empty() {
            counts.passed += 1;
            return;
        }
        counts.failed += 1;
        println!("FAILED: {}: {check}", self.name);
        let shown = if counts.failed <= SHOWN { lines } else { 0 };
        findings.lines().take(shown).for_each(|line| println!("    {line}"));
    }

    /// Prints the sum. Returns true if no check failed.
    pub fn finish(self) -> bool {
        let counts = self.counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        println!("{}: {} passed, {} failed", self.name, counts.passed, counts.failed);
        counts.failed == 0
    }
}
