//! The programs of c-tests that run the patterns, one per library.

use crate::repo::{Repo, outcome};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// The compiler's options for a program of ours.
pub fn ours(repo: &Repo) -> Vec<String> {
    let (include, library) = (repo.stage.join("include"), repo.stage.join("lib"));
    vec![
        format!("-I{}", include.display()),
        format!("-L{}", library.display()),
        "-lgasnet_sci".into(),
        format!("-Wl,-rpath,{}", library.display()),
    ]
}

/// Builds the programs of bench-peers against the stage, unless they are fresh.
pub fn build_peers(repo: &Repo) -> Result<()> {
    let gasnet = [ours(repo), vec!["-pedantic".into(), "-DGASNET_SEQ".into()]].concat();
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

/// Builds a program, named after its source, unless it is newer than the source, the headers beside it and the
/// library.
pub fn build(repo: &Repo, compiler: &str, source: &str, flags: &[String]) -> Result<PathBuf> {
    let source = repo.root.join(source);
    fs::create_dir_all(directory(repo))?;
    let out = directory(repo).join(source.file_stem().context("a source has a name")?);
    let age = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let beside = fs::read_dir(source.parent().context("a file lies in a directory")?)?;
    let headers =
        beside.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension() == Some("h".as_ref()));
    let needs = [source.clone(), repo.stage.join("include/gasnet.h"), repo.stage.join("lib/libgasnet_sci.so")];
    let newest = headers.chain(needs).map(|path| age(&path)).max().context("there are some")?;
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
