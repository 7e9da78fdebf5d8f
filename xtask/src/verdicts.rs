//! How checks are counted and told: what failed as it comes, and a line at the end that scripts read.

use std::sync::{Mutex, PoisonError};

/// The checks of one subcommand; any thread may report.
pub struct Verdicts {
    name: &'static str,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
}

/// Failures whose findings are shown. One mistake in a header fails hundreds of checks.
const SHOWN: usize = 20;

impl Verdicts {
    pub fn new(name: &'static str) -> Verdicts {
        Verdicts { name, counts: Mutex::default() }
    }

    /// A check that has passed if there are no findings. `lines` of them are shown.
    pub fn none(&self, check: &str, findings: &str, lines: usize) {
        // A thread that panicked has told of it; the counts are whole.
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

    /// Tells the sum; true if nothing failed.
    pub fn finish(self) -> bool {
        let counts = self.counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        println!("{}: {} passed, {} failed", self.name, counts.passed, counts.failed);
        counts.failed == 0
    }
}
