//! The programs of c-tests/peers that run the patterns, one per library.

use crate::repo::{Repo, outcome};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

pub struct Programs {
    pub gasnet: PathBuf,
    pub mpi: PathBuf,
    /// Debian's OpenMPI includes OpenSHMEM; other builds may not.
    pub shmem: Option<PathBuf>,
}

impl Programs {
    /// Builds the programs against the stage, unless they are fresh.
    pub fn build(repo: &Repo) -> Result<Programs> {
        let (include, library) = (repo.stage.join("include"), repo.stage.join("lib"));
        let ours = [
            "-pedantic".into(),
            "-DGASNET_SEQ".into(),
            format!("-I{}", include.display()),
            format!("-L{}", library.display()),
            "-lgasnet_sci".into(),
            format!("-Wl,-rpath,{}", library.display()),
        ];
        let gasnet = build(repo, "gasnet", "gcc", &ours)?;
        let mpi = build(repo, "mpi", "mpicc", &[])?;
        let (has_shmem, _) = outcome(repo.command("sh").args(["-c", "command -v oshcc"]))?;
        let shmem = if has_shmem { Some(build(repo, "shmem", "oshcc", &[])?) } else { None };
        if shmem.is_none() {
            println!("no oshcc: without OpenSHMEM");
        }
        Ok(Programs { gasnet, mpi, shmem })
    }
}

fn build(repo: &Repo, name: &str, compiler: &str, flags: &[String]) -> Result<PathBuf> {
    let sources = repo.root.join("c-tests/peers");
    let source = sources.join(format!("{name}.c"));
    let directory = repo.target.join("peers");
    fs::create_dir_all(&directory)?;
    let out = directory.join(name);
    let age = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let needs = [
        source.clone(),
        sources.join("peers.h"),
        sources.join("coll.h"),
        repo.stage.join("include/gasnet.h"),
        repo.stage.join("lib/libgasnet_sci.so"),
    ];
    let newest = needs.iter().map(|path| age(path)).max().context("there are some")?;
    if age(&out) > newest {
        return Ok(out);
    }
    let mut command = repo.command(compiler);
    command.args(["-std=c99", "-D_GNU_SOURCE", "-O3", "-Wall", "-Wextra"]).arg(&source).arg("-o").arg(&out);
    match outcome(command.args(flags))? {
        (true, _) => Ok(out),
        (false, log) => bail!("{} does not compile:\n{log}", source.display()),
    }
}
