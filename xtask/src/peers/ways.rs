//! Decides which library runs when, and in which ways.

use super::bench::{Bench, OURS};
use super::ucx::{Layer, ucx};
use anyhow::Result;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

const OB1: [&str; 6] = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader"];

/// The ways in which Open MPI moves messages on one host.
pub fn openmpi_ways() -> [(&'static str, Vec<&'static str>); 3] {
    let copies = |mechanism| [&OB1[..], &["--mca", "btl_vader_single_copy_mechanism", mechanism]].concat();
    let over_ucx = [
        ["--mca", "pml", "ucx"],
        ["--mca", "osc", "ucx"],
        ["--mca", "pml_ucx_tls", "any"],
        ["--mca", "pml_ucx_devices", "any"],
    ];
    [
        ("openmpi, vader with cma", copies("cma")),
        ("openmpi, vader with copies", copies("none")),
        ("openmpi over ucx", over_ucx.concat()),
    ]
}

/// Runs every way of every library once, for one section and number of nodes.
pub fn all(bench: &mut Bench, section: &str, nodes: usize) -> Result<()> {
    if section == "hosts" {
        return two_hosts(bench);
    }
    let mut words: Vec<OsString> = ["-n".into(), nodes.to_string().into()].into();
    words.extend(program(bench, &bench.program("gasnet"), section));
    let mut ours = bench.command(300, bench.launcher.clone());
    bench.job(OURS, nodes, ours.args(words))?;

    for (how, options) in openmpi_ways() {
        openmpi(bench, section, nodes, how, &options)?;
    }
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

/// Two processes over TCP: on two namespaces of ci/netlab if these are permitted, else on this host.
fn two_hosts(bench: &mut Bench) -> Result<()> {
    let ours = program(bench, &bench.program("gasnet"), "hosts");
    let mpi = program(bench, &bench.program("mpi"), "hosts");
    // One-sided calls would find that both processes have this machine's memory.
    let tcp = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "osc", "pt2pt"];
    let (mut gasnet, mut openmpi) = if bench.namespaces()? {
        let inside = |bench: &Bench, script: &str| -> Result<Command> {
            let mut command = bench.command(300, std::env::current_exe()?);
            command.args(["netlab", "hosts", "2", "--", "sh", "-c", script, "sh"]);
            Ok(command)
        };
        let mut gasnet = inside(bench, "exec \"$@\"")?;
        gasnet.arg(&bench.launcher).args(["-n", "2", "-N", "2", "--host", "hA:1,hB:1"]).args(ours);
        // It starts its daemon on the other host as our launcher starts its agent.
        let mut openmpi = inside(bench, "exec mpirun --mca plm_rsh_agent \"$GASNET_SCI_RSH\" --host hA:1,hB:1 \"$@\"")?;
        openmpi.args(launch(bench, 2)).args(tcp).args(mpi);
        (gasnet, openmpi)
    } else {
        let mut gasnet = bench.command(300, bench.launcher.clone());
        gasnet.env("GASNET_SCI_SPLIT", "2").args(["-n", "2"]).args(ours);
        let mut openmpi = bench.command(300, "mpirun");
        openmpi.args(launch(bench, 2)).args(tcp).args(mpi);
        (gasnet, openmpi)
    };
    bench.job(OURS, 2, &mut gasnet)?;
    bench.job("openmpi, tcp", 2, &mut openmpi)
}

/// A program of c-tests/peers with its arguments.
fn program(bench: &Bench, program: &Path, section: &str) -> Vec<OsString> {
    let quick = bench.options.quick.then(|| "quick".into());
    [program.into(), section.into()].into_iter().chain(quick).collect()
}

/// The options with which mpirun and oshrun start `nodes` processes. All programs pin themselves in the same way, so
/// Open MPI is told not to bind them. It has to be allowed to start more processes than cores, and then yields while
/// it waits.
pub fn launch(bench: &Bench, nodes: usize) -> Vec<OsString> {
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
    command.args(launch(bench, nodes)).args(options).args(program(bench, &bench.program("mpi"), section));
    bench.job(how, nodes, &mut command)
}

fn oshmem(bench: &mut Bench, section: &str, nodes: usize) -> Result<()> {
    if !bench.has("shmem") {
        return Ok(());
    }
    let mut command = bench.command(300, "oshrun");
    command.args(launch(bench, nodes)).args(program(bench, &bench.program("shmem"), section));
    bench.job("oshmem", nodes, &mut command)
}
