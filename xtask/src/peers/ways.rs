//! Who runs when, and in which ways.

use super::bench::{Bench, OURS};
use super::ucx::{Layer, ucx};
use anyhow::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const OB1: [&str; 6] = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader"];

/// Everybody's turn at one section with so many nodes.
pub fn all(bench: &mut Bench, section: &str, nodes: usize) -> Result<()> {
    let mut words: Vec<OsString> = ["-n".into(), nodes.to_string().into()].into();
    words.extend(program(bench, &bench.programs.gasnet.clone(), section));
    let mut ours = bench.command(300, bench.launcher.clone());
    bench.job(OURS, nodes, ours.args(words))?;

    let copies =
        |mechanism: &'static str| [&OB1[..], &["--mca", "btl_vader_single_copy_mechanism", mechanism]].concat();
    openmpi(bench, section, nodes, "openmpi, vader with cma", &copies("cma"))?;
    openmpi(bench, section, nodes, "openmpi, vader with copies", &copies("none"))?;
    let over_ucx = [
        ["--mca", "pml", "ucx"],
        ["--mca", "osc", "ucx"],
        ["--mca", "pml_ucx_tls", "any"],
        ["--mca", "pml_ucx_devices", "any"],
    ];
    openmpi(bench, section, nodes, "openmpi over ucx", &over_ucx.concat())?;
    if matches!(section, "barrier" | "coll") {
        let sm = [&OB1[..], &["--mca", "coll_sm_priority", "100"]].concat();
        openmpi(bench, section, nodes, "openmpi, coll sm", &sm)?;
    }
    if matches!(section, "rma" | "barrier") {
        oshmem(bench, section, nodes)?;
    }
    if matches!(section, "am" | "rma") {
        ucx(bench, section, nodes, Layer::Uct)?;
        ucx(bench, section, nodes, Layer::Ucp)?;
    }
    Ok(())
}

/// A program of c-tests/peers with its arguments.
fn program(bench: &Bench, program: &Path, section: &str) -> Vec<OsString> {
    let quick = bench.options.quick.then(|| "quick".into());
    [program.into(), section.into()].into_iter().chain(quick).collect()
}

/// How mpirun and oshrun are told to start `nodes` processes. The programs pin themselves, all alike; Open MPI is told to leave
/// the cores to them. More processes than cores have to be allowed, and make it yield while it waits.
fn launch(bench: &Bench, nodes: usize) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["--bind-to", "none"].map(Into::into).into();
    if rustix::process::geteuid().is_root() {
        words.push("--allow-run-as-root".into());
    }
    if nodes > bench.cores {
        words.push("--oversubscribe".into());
    }
    words.extend(["-n".into(), nodes.to_string().into()]);
    words
}

fn openmpi(bench: &mut Bench, section: &str, nodes: usize, how: &str, options: &[&str]) -> Result<()> {
    let mut command = bench.command(300, "mpirun");
    command.args(launch(bench, nodes)).args(options).args(program(bench, &bench.programs.mpi, section));
    bench.job(how, nodes, &mut command)
}

fn oshmem(bench: &mut Bench, section: &str, nodes: usize) -> Result<()> {
    let Some(shmem): Option<PathBuf> = bench.programs.shmem.clone() else { return Ok(()) };
    let mut command = bench.command(300, "oshrun");
    command.args(launch(bench, nodes)).args(program(bench, &shmem, section));
    bench.job("oshmem", nodes, &mut command)
}
