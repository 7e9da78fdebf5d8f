//! Faults to which a job once gave a wrong answer. These runs check that the repairs still work.

use super::job::Run;
use super::plan::{How, Plan, Trouble};
use super::program::Program;
use regex_lite::Regex;

/// The start, the build, the number of nodes; PROCESS CALL NTH ERRNO TIMES, for c-tests/soak/faults.c; the status; and a pattern
/// that a line of stderr must match, which is empty if nothing is required.
pub struct Case(How, &'static str, usize, &'static str, i32, &'static str);

use How::{Fork, Launcher};
#[rustfmt::skip] // a table
pub const CASES: [Case; 16] = [
    Case(Launcher, "par", 2, "0 memfd_create 1 24 1", 1, "gasnetrun_sci: .*memfd_create: Too many open files"),
    Case(Fork, "par", 2, "0 ftruncate 1 12 1", 1, "gasnet-sci: .*ftruncate: Cannot allocate memory"),
    Case(Launcher, "par", 3, "0 mmap 1 12 1", 1, "gasnetrun_sci: .*mmap: Cannot allocate memory"),
    Case(Launcher, "seq", 3, "0 pipe2 3 24 1", 1, "gasnetrun_sci: .*node 0 of 3: pipe2: Too many open files"),
    Case(Fork, "seq", 3, "0 fork 3 11 1", 1, "gasnet-sci: .*node 2 of 3: fork: .*limit on processes"),
    Case(Fork, "seq", 3, "2 dup2 1 12 1", 1, "gasnet-sci: node 1: dup2: Cannot allocate memory"),
    Case(Fork, "seq", 3, "0 signalfd 1 24 1", 1, "gasnet-sci: cannot supervise the nodes: signalfd: Too many open files"),
    Case(Fork, "par", 4, "3 fcntl 4 12 1", 1, "gasnet-sci: node 2/4: gasnet_init: .*fcntl: Cannot allocate memory"),
    Case(Launcher, "seq", 4, "3 mmap 1 12 1", 1, "gasnet-sci: node 2/4: gasnet_init: .*mmap: Cannot allocate memory"),
    Case(Launcher, "par", 4, "-1 futex_wait 1 38 1000000", 0, ""),
    Case(Fork, "par", 4, "-1 futex_wake 1 38 1000000", 0, ""),
    Case(Launcher, "par", 4, "-1 poll 1 12 20", 0, ""),
    Case(Launcher, "par", 4, "0 poll 1 12 1000000", 1, "gasnetrun_sci: cannot hear of the nodes: poll: Cannot allocate memory"),
    Case(Launcher, "par", 4, "-1 membarrier 3 1 1000000", 0, ""),
    Case(Fork, "par-everything", 4, "2 process_vm_writev 2 1 1000000", 0, ""),
    Case(Fork, "par-everything", 4, "2 process_vm_readv 2 38 1000000", 0, ""),
];

impl Case {
    pub fn plan(&self) -> Plan {
        let Case(how, build, nodes, fault, ..) = *self;
        let call = fault.split(' ').nth(1).unwrap_or_default();
        let trouble = Trouble::Call { call, fault: fault.into() };
        Plan { program: Program::Soak, trouble, how, build, nodes, program_seed: 1, settings: Vec::new(), rounds: 24 }
    }

    /// The differences between the run and the repaired behaviour.
    pub fn findings(&self, run: &Run) -> Vec<String> {
        let Case(.., status, says) = *self;
        let mut wrong = Vec::new();
        if run.fault.is_empty() {
            wrong.push("the fault did not happen".into());
        }
        if run.status != Some(status) {
            wrong.push(format!("{}, not {status}", run.status_text()));
        }
        if !Regex::new(says).expect("patterns are constants of this file").is_match(&run.err) {
            wrong.push(format!("not found: {says}"));
        }
        wrong
    }
}
