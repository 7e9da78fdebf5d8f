//! Jobs under Open MPI's mpirun. They need it installed, so `ci/pmix` runs them.

use super::driver::{Outcome, Start, Victim, run};
use std::time::Duration;

const MPIRUN: [&str; 4] = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n"];

/// `script` by as many nodes under mpirun; `hosts` are shell arithmetic on the rank `r`, empty for the one real host.
fn started(nodes: u32, hosts: &str, script: &str) -> Start {
    let start = match hosts {
        "" => Start::alone(script),
        _ => {
            let shell = format!("r=$OMPI_COMM_WORLD_RANK; GASNET_SCI_HOST=h$(({hosts})) exec \"$0\"");
            Start::alone(script).under(&["sh", "-c", &shell])
        }
    };
    start.under(&[nodes.to_string().as_str()]).under(&MPIRUN)
}

fn expect(nodes: u32, hosts: &str, script: &str, status: i32) -> Outcome {
    let outcome = run(started(nodes, hosts, script));
    assert_eq!(outcome.status, status, "{script} on hosts '{hosts}': {outcome:?}");
    outcome
}

#[test]
#[ignore = "needs mpirun; ci/pmix runs it"]
fn the_start_up_exchange_conforms_under_mpirun() {
    for hosts in ["", "r/2", "r%2", "r"] {
        let outcome = expect(4, hosts, "join conform exit:0", 0);
        assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("", ""), "{hosts}");
    }
}

#[test]
#[ignore = "needs mpirun; ci/pmix runs it"]
fn one_process_of_mpirun_is_a_job_of_one() {
    expect(1, "", "join conform attach exit:3", 3);
}

#[test]
#[ignore = "needs mpirun; ci/pmix runs it"]
fn the_nodes_codes_are_the_jobs() {
    for hosts in ["", "r/2"] {
        expect(4, hosts, "join attach exit:0", 0);
        expect(4, hosts, "join attach return:0", 0);
        expect(4, hosts, "join attach exit:6", 6);
        expect(4, hosts, "join attach @3:exit:5 spin", 5);
        expect(4, hosts, "join attach @0:return:5 spin", 5);
        expect(4, hosts, "join @1:abort:7 fence", 7);
        expect(4, hosts, "join attach @2:abort:9 spin", 9);
        expect(4, hosts, "join attach @1:raise:KILL spin", 128 + 9);
        expect(4, hosts, "join attach @1:fatal spin", 128 + 6);
        expect(4, hosts, "join attach @1:_exit:4 spin", 4);
    }
}

#[test]
#[ignore = "needs mpirun; ci/pmix runs it"]
fn an_orderly_exit_of_one_node_ends_the_others_with_their_output() {
    for hosts in ["", "r/2"] {
        let outcome = expect(4, hosts, "join attach buffer:tail; fence @1:exit:0 spin", 0);
        assert_eq!(outcome.out.matches("tail;").count(), 4, "{hosts}: {outcome:?}");
        assert_eq!(outcome.err, "", "{hosts}");
    }
    // A node whose handler returns, and which never leaves by itself.
    let stubborn = started(3, "", "join attach slow_quit_handler @1:exit:0 spin").with_env("GASNET_EXITTIMEOUT", "1");
    assert_eq!(run(stubborn).status, 0);
}

#[test]
#[ignore = "needs mpirun; ci/pmix runs it"]
fn nodes_end_with_mpirun() {
    for hosts in ["", "r/2"] {
        let kill = started(3, hosts, "join attach spin").with_kill(Duration::from_millis(800), Victim::Supervisor);
        assert_eq!(run(kill).status, 128 + 9);
    }
}

#[test]
fn a_launcher_that_cannot_be_reached_is_an_error() {
    for (variables, parts) in [
        (&[("PMIX_NAMESPACE", "nobody"), ("PMIX_RANK", "1")][..], ["PMIX_NAMESPACE=nobody", "failed"]),
        (&[("PMI_SIZE", "2"), ("PMI_RANK", "0")], ["PMI-2", "gasnetrun_sci"]),
        (&[("SLURM_STEP_NUM_TASKS", "2")], ["srun", "--mpi=pmix"]),
        (&[("OMPI_COMM_WORLD_SIZE", "2")], ["mpirun", "PMIX_NAMESPACE"]),
    ] {
        let start = variables.iter().fold(Start::alone("join exit:0"), |s, (name, value)| s.with_env(name, value));
        let outcome = run(start);
        assert_eq!(outcome.status, 99, "{outcome:?}");
        let told = outcome.err.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(told, "{variables:?}: {}", outcome.err);
    }
}
