//! Whether a launcher that is not ours started this process, and by which protocol it can be joined.
//!
//! Invariant: if a foreign launcher started several processes, the answer is never "none". So they become one job or
//! say why not, and never many jobs of one.
//!
//! Must not know: PMIx's calls.

use crate::base::config;

/// The finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// No foreign launcher, or one that started this process alone.
    None,
    /// One that speaks PMIx. The text names the job.
    Pmix(String),
    /// One that started several processes, but cannot be joined. The text says why, and what to do.
    Unusable(String),
}

/// What to do instead.
const ADVICE: &str = "start it with gasnetrun_sci, with Open MPI's mpirun, or with srun --mpi=pmix";

/// Looks at the environment.
pub fn found() -> Foreign {
    decide(config::variable)
}

fn decide(variable: impl Fn(&str) -> Option<String>) -> Foreign {
    let number = |name: &str| variable(name).and_then(|value| value.trim().parse::<u32>().ok());
    let open_mpi = number("OMPI_COMM_WORLD_SIZE");
    let slurm = number("SLURM_STEP_NUM_TASKS");
    if let Some(job) = variable("PMIX_NAMESPACE") {
        let size = if job.starts_with("slurm.") { slurm } else { open_mpi };
        if size == Some(1) {
            return Foreign::None;
        }
        let rank = variable("PMIX_RANK").unwrap_or_default();
        return Foreign::Pmix(format!("PMIX_NAMESPACE={job}, PMIX_RANK={rank}"));
    }
    let several = |size: Option<u32>| size.filter(|size| *size > 1);
    if let Some(size) = several(number("PMI_SIZE")) {
        return Foreign::Unusable(format!(
            "its launcher started {size} processes with PMI-1 or PMI-2 (PMI_SIZE), which this library does not speak: \
             {ADVICE}"
        ));
    }
    if let Some(size) = several(slurm) {
        return Foreign::Unusable(format!(
            "srun started {size} tasks (SLURM_STEP_NUM_TASKS) without PMIx: use srun --mpi=pmix or gasnetrun_sci; for \
             {size} jobs of one node unset SLURM_STEP_NUM_TASKS in each task"
        ));
    }
    if let Some(size) = several(open_mpi) {
        return Foreign::Unusable(format!(
            "mpirun started {size} processes (OMPI_COMM_WORLD_SIZE), but PMIX_NAMESPACE is not in the environment, so \
             this one cannot find the others: {ADVICE}, and let the program between mpirun and this one pass on the \
             environment"
        ));
    }
    Foreign::None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Foreign {
        decide(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn one_process_alone_is_a_job_of_one() {
        for variables in [
            &[][..],
            &[("SLURM_NTASKS", "16"), ("SLURM_PROCID", "0")], // a batch script, not a task
            &[("SLURM_STEP_NUM_TASKS", "1")],
            &[("PMI_SIZE", "1"), ("PMI_RANK", "0")],
            &[("PMIX_NAMESPACE", "9"), ("OMPI_COMM_WORLD_SIZE", "1"), ("SLURM_STEP_NUM_TASKS", "2")],
            &[("PMIX_NAMESPACE", "slurm.pmix.1.0"), ("SLURM_STEP_NUM_TASKS", "1")],
        ] {
            assert_eq!(of(variables), Foreign::None, "{variables:?}");
        }
    }

    #[test]
    fn pmix_is_used_unless_it_surely_has_one_process() {
        for variables in [
            &[("PMIX_NAMESPACE", "9"), ("PMIX_RANK", "3")][..],
            &[("PMIX_NAMESPACE", "9"), ("PMIX_RANK", "3"), ("SLURM_STEP_NUM_TASKS", "1")], // of mpirun's own daemons
            &[("PMIX_NAMESPACE", "9"), ("PMIX_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")],
        ] {
            assert_eq!(of(variables), Foreign::Pmix("PMIX_NAMESPACE=9, PMIX_RANK=3".into()), "{variables:?}");
        }
    }

    #[test]
    fn several_processes_without_pmix_are_told_what_to_do() {
        for (variables, parts) in [
            ([("PMI_SIZE", "4"), ("SLURM_STEP_NUM_TASKS", "4")], ["4 processes", "--mpi=pmix"]),
            ([("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "1")], ["2 tasks", "gasnetrun_sci"]),
            ([("OMPI_COMM_WORLD_SIZE", "8"), ("OMPI_COMM_WORLD_RANK", "1")], ["8 processes", "PMIX_NAMESPACE"]),
        ] {
            let Foreign::Unusable(text) = of(&variables) else { panic!("{variables:?}") };
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
    }
}
