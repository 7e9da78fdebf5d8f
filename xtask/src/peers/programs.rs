//! The programs of c-tests that run the patterns, one per library.

use crate::repo::{Repo, outcome};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Builds the programs of bench-peers against the stage, unless they are fresh.
pub fn build_peers(repo: &Repo) -> Result<()> {
    let gasnet = [repo.client_flags(), vec!["-pedantic".into(), "-DGASNET_SEQ".into()]].concat();
    build(repo, "gcc", "c-tests/peers/gasnet.c", &gasnet)?;
    build(repo, "mpicc", "c-tests/peers/mpi.c", &[])?;
    // Debian's OpenMPI includes OpenSHMEM; other builds may not.
    if outcome(repo.command("sh").args(["-c", "command -v oshcc"]))?.0 {
        build(repo, "oshcc", "c-tests/peers/shmem.c", &[])?;
    } else {
        println!("no oshcc: without OpenSHMEM");
    }
    Ok(())
}

/// Where the programs lie.
pub fn directory(repo: &Repo) -> PathBuf {
    repo.target.join("peers")
}

/// Builds a program, named after its source, unless it is fresh.
pub fn build(repo: &Repo, compiler: &str, source: &str, flags: &[String]) -> Result<PathBuf> {
    let source = repo.root.join(source);
    let out = directory(repo).join(source.file_stem().context("a source has a name")?);
    let flags = [&["-std=c99".into(), "-O3".into()], flags].concat();
    repo.compile(compiler, &source, &out, &flags).map(|()| out)
}
