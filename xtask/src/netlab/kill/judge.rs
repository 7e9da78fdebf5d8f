//! Which end of a job is right for which victim.

use super::victim::Victim;
use crate::netlab::job::Outcome;
use regex_lite::Regex;

/// A pattern for the line that must be on stderr. `None`: nobody is left who could print one.
fn line(victim: Victim, several_hosts: bool) -> Option<&'static str> {
    match victim {
        Victim::Node => {
            Some(r"SIGKILL.* on node [0-9]+/|node [0-9]+/.*SIGKILL|node [0-9]+/.*ended without gasnet_exit")
        }
        // On several hosts, too: who starts all others reports nothing after its own end.
        Victim::Launcher => None,
        Victim::Agent | Victim::Rsh if several_hosts => Some(r"\bh[A-Z]\b.*(gone|lost|ended|closed|agent was killed)"),
        Victim::Link | Victim::Host if several_hosts => Some(
            r"heard.*\bh[A-Z]\b|(\bh[A-Z]\b|node [0-9]+/[0-9]+).*(lost|silent|no sign|unreachable|timed out|heard)",
        ),
        Victim::Pair => Some(r"node [0-9]+/[0-9]+: lost the connection to node [0-9]+: .*(sign of life|timed out)"),
        Victim::Agent | Victim::Rsh | Victim::Link | Victim::Host => None,
    }
}

/// What is wrong with the end.
pub fn findings(victim: Victim, phase: &str, several_hosts: bool, outcome: &Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    if outcome.err.contains("panicked") || outcome.err.contains("internal error") {
        wrong.push("a panic".into());
    }
    if outcome.status == Some(3) {
        wrong.push("the nodes came to their end undisturbed".into());
    }
    // A job whose nodes are leaving may come to its end before the deed matters. Then the first cause is that end.
    if phase == "exit" {
        return wrong;
    }
    if outcome.status == Some(0) {
        wrong.push("status 0".into());
    }
    if victim == Victim::Launcher && outcome.status != Some(137) {
        wrong.push(format!("status {:?} of a launcher that was killed", outcome.status));
    }
    // As of a host that is lost, docs/hosts.md says.
    if victim == Victim::Pair && outcome.status != Some(1) {
        wrong.push(format!("status {:?} of a way that was cut", outcome.status));
    }
    if let Some(pattern) = line(victim, several_hosts)
        && !Regex::new(pattern).expect("patterns are constants of this file").is_match(&outcome.err)
    {
        wrong.push(format!("no line says the cause: {pattern}"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(victim: Victim, phase: &str, status: i32, err: &str) -> Vec<String> {
        findings(victim, phase, true, &Outcome { status: Some(status), out: String::new(), err: err.into() })
    }

    #[test]
    fn an_end_needs_its_line_and_its_status() {
        let line = "gasnetrun_sci: SIGKILL on node 2/4 (pid 5); ending the job";
        assert_eq!(of(Victim::Node, "flood", 137, line), [""; 0]);
        assert_eq!(of(Victim::Node, "flood", 0, line), ["status 0"]);
        assert!(of(Victim::Node, "flood", 137, "")[0].starts_with("no line"));
        assert_eq!(of(Victim::Launcher, "flood", 137, ""), [""; 0]);
        assert_eq!(of(Victim::Launcher, "flood", 1, "").len(), 1);
        assert_eq!(
            of(Victim::Link, "barrier", 1, "gasnetrun_sci: nothing was heard of host hB for 5 s; ending"),
            [""; 0]
        );
        assert_eq!(of(Victim::Agent, "barrier", 1, "gasnetrun_sci: the agent on host hB has gone: killed"), [""; 0]);
        let cut =
            "*** FATAL ERROR: node 1/4: lost the connection to node 2: no sign of life from 10.0.0.3; ending the job";
        assert_eq!(of(Victim::Pair, "flood", 1, cut), [""; 0]);
        assert_eq!(of(Victim::Pair, "flood", 134, cut).len(), 1);
    }

    #[test]
    fn an_exit_may_be_over_before_the_deed() {
        assert_eq!(of(Victim::Node, "exit", 0, ""), [""; 0]);
        assert_eq!(of(Victim::Node, "exit", 3, "").len(), 1);
        assert_eq!(of(Victim::Node, "exit", 1, "thread panicked at x.rs").len(), 1);
    }
}
