//! Decides whether a run was right: its answer, its duration, and the line that names the cause.

use super::job::Run;
use super::plan::{Kind, Plan, Trouble, Victim};
use super::program::Program;
use crate::test::right_ends;
use regex_lite::Regex;
use std::time::Duration;

/// A pattern for every program of ours that may report a fault.
const SPEAKER: &str = "(node [0-9]+|gasnetrun_sci|gasnet-sci)";

/// Added to the limit if time is counted from the job's start.
const FROM_START: Duration = Duration::from_secs(2);

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(&format!("(?m){pattern}")).expect("patterns are constants of this file").is_match(text)
}

/// The faults of a run; empty if there were none.
pub fn verdict(plan: &Plan, run: &Run, limit: Duration) -> Vec<String> {
    let mut wrong = run.wrong.clone();
    let bad = r"CHECK\(|: FAIL \(|> ERROR: |internal error";
    if matches(bad, &run.out) || matches(bad, &run.err) {
        wrong.push("wrong data".into());
    }
    let Some(status) = run.status else { return wrong };
    if status == 0 {
        let passes = right_ends(plan.program.name(), plan.nodes, &run.out).len();
        if passes != plan.nodes {
            wrong.push(format!("status 0, but {passes} nodes passed"));
        }
        if matches!(plan.program, Program::Listed(program) if !program.noise) && !run.err.is_empty() {
            wrong.push("lines on stderr".into());
        }
        return wrong;
    }
    if !run.injected {
        wrong.push(format!("status {status} without a fault"));
    }
    if matches!(plan.kind(), Kind::None | Kind::Stop | Kind::Delay | Kind::Close | Kind::Scheduling) {
        wrong.push(format!("status {status}"));
    }
    let allowed = if plan.kind().is_limit() { limit + FROM_START } else { limit };
    if run.took > allowed {
        wrong.push(format!("the end came {} ms after the fault", run.took.as_millis()));
    }
    if let Some(line) = cause(plan, status)
        && !matches(&line, &run.err)
    {
        wrong.push(format!("no line says the cause: {line}"));
    }
    wrong
}

/// A pattern that a line of stderr must match. `None` if a killed launcher could not report the cause.
fn cause(plan: &Plan, status: i32) -> Option<String> {
    let signal_of_node = |signal: &str| format!("SIG{signal}.* on node [0-9]+/|node [0-9]+/.*SIG{signal}");
    match &plan.trouble {
        Trouble::Kill { victim: Victim::Launcher | Victim::Everything, .. } => None,
        Trouble::Kill { signal, .. } => Some(signal_of_node(signal)),
        Trouble::StopKill { .. } => Some(signal_of_node("KILL")),
        Trouble::Call { call, .. } => Some(match *call {
            "pthread_create" => format!("{SPEAKER}.*(pthread_create|thread)|no thread"),
            "futex_wait" | "futex_wake" => format!("{SPEAKER}.*futex"),
            // The LD_PRELOAD library does not know which call syscall(2) was used for.
            "syscall" => SPEAKER.into(),
            "open64" => format!("{SPEAKER}.*(open|/dev/|/proc/|/sys/|cannot)"),
            call => format!("{SPEAKER}.*{call}"),
        }),
        // The kernel may have killed the launcher.
        Trouble::Cgroup(_) if status == 137 => None,
        Trouble::Cgroup(_) => Some(format!("{SPEAKER}.*(memory|SIG)|wanted, [0-9]+ possible")),
        Trouble::Memory(_) => Some("memory|RLIMIT_AS|limit|no thread|failed to map|wanted, [0-9]+ possible".into()),
        Trouble::Descriptors(_) => Some("descriptor|RLIMIT_NOFILE|open files".into()),
        Trouble::None
        | Trouble::Stop { .. }
        | Trouble::Scheduling { .. }
        | Trouble::Delay { .. }
        | Trouble::Close(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::CASES;
    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);

    fn run(status: i32, out: &str, err: &str) -> Run {
        Run { status: Some(status), injected: true, out: out.into(), err: err.into(), ..Run::default() }
    }

    #[test]
    fn an_answer_needs_every_node() {
        let plan = Plan { nodes: 2, trouble: Trouble::None, ..CASES[0].plan() };
        let line = |node: u32| format!("testsoak: node {node}/2: PASS (5 checks)\n");
        assert_eq!(verdict(&plan, &run(0, &(line(0) + &line(1)), ""), LIMIT), [""; 0]);
        assert_eq!(verdict(&plan, &run(0, &line(0), ""), LIMIT), ["status 0, but 1 nodes passed"]);
        assert_eq!(verdict(&plan, &run(1, "", ""), LIMIT), ["status 1"]);
    }

    #[test]
    fn the_mix_of_gasnet_ex_ends_with_done() {
        let plan = Plan { nodes: 2, trouble: Trouble::None, program: Program::Mixed, ..CASES[0].plan() };
        assert_eq!(verdict(&plan, &run(0, "1> done.\n0> done.\n", ""), LIMIT), [""; 0]);
        assert_eq!(verdict(&plan, &run(0, "1> done.\n", ""), LIMIT), ["status 0, but 1 nodes passed"]);
        let bad = "1> ERROR: seed 5, line 3: same(a, b): a get\n0> done.\n1> done.\n";
        assert_eq!(verdict(&plan, &run(0, bad, ""), LIMIT), ["wrong data"]);
    }

    #[test]
    fn a_listed_program_prints_on_stderr_only_if_it_makes_refused_calls() {
        let plan = |noise| Plan {
            program: Program::Listed(super::super::program::Listed::of("testbad", "", noise)),
            nodes: 1,
            trouble: Trouble::None,
            ..CASES[0].plan()
        };
        let end = run(0, "testbad: node 0/1: PASS (5 checks)\n", "refused\n");
        assert_eq!(verdict(&plan(true), &end, LIMIT), [""; 0]);
        assert_eq!(verdict(&plan(false), &end, LIMIT), ["lines on stderr"]);
    }

    #[test]
    fn an_end_needs_a_line_and_is_soon() {
        let plan = Plan { nodes: 2, ..CASES[0].plan() };
        let mut end = run(1, "", "gasnetrun_sci: cannot make the job: memfd_create: Too many open files\n");
        assert_eq!(verdict(&plan, &end, LIMIT), [""; 0]);
        end.took = 2 * LIMIT;
        assert_eq!(verdict(&plan, &end, LIMIT), ["the end came 4000 ms after the fault"]);
        assert_eq!(verdict(&plan, &run(1, "", "gasnetrun_sci: no\n"), LIMIT).len(), 1);
    }

    #[test]
    fn wrong_bytes_are_wrong_whatever_the_end() {
        let plan = CASES[0].plan();
        let bad = run(1, "t.c:5: CHECK(a == b)\n", "gasnetrun_sci: memfd_create\n");
        assert_eq!(verdict(&plan, &bad, LIMIT), ["wrong data"]);
    }
}
