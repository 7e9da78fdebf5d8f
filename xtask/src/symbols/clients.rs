//! Tries out what the other checks only read: clients that define common names, that have their own settings, or that
//! bring another Rust library with a standard library of its own.

use crate::repo::{Repo, outcome};
use anyhow::Result;
use std::fs;
use std::path::Path;

const OWN: &str = include_str!("clients/own.c");
const TWO: &str = include_str!("clients/two.c");
const OTHER: &str = include_str!("clients/other.rs");

/// Seconds that a client may take to run.
const PATIENCE: &str = "20";

pub fn check(repo: &Repo, none: &dyn Fn(&str, &str)) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let directory = scratch.path();
    let file = |name: &str| directory.join(name).to_string_lossy().into_owned();
    for (name, text) in [("own.c", OWN), ("two.c", TWO), ("other.rs", OTHER)] {
        fs::write(file(name), text)?;
    }
    let library = repo.stage.join("lib").to_string_lossy().into_owned();
    let shared = [format!("-L{library}"), "-lgasnet_sci".into(), format!("-Wl,-rpath,{library}")];
    let archive = format!("{library}/libgasnet_sci.a");
    let own = |libraries: &[String]| client(repo, directory, "own", libraries);
    let with_own = "client with names and a segment size of its own";
    none(&format!("{with_own}, shared"), &own(&shared)?);
    none(&format!("{with_own}, static"), &own(std::slice::from_ref(&archive))?);

    let (source, other) = (file("other.rs"), file("libother.a"));
    let mut rustc = repo.command("rustc");
    let (built, log) = outcome(rustc.args(["--edition", "2024", "--crate-type", "staticlib", &source, "-o", &other]))?;
    let two = |libraries: [&String; 2]| match built {
        true => client(repo, directory, "two", &libraries.map(String::clone)),
        false => Ok(log.clone() + "(rustc failed)\n"),
    };
    none("client with another Rust library, ours first", &two([&archive, &other])?);
    none("client with another Rust library, ours last", &two([&other, &archive])?);
    Ok(())
}

/// Builds a client and runs it. Returns what the compiler and the client print, and how they failed.
fn client(repo: &Repo, directory: &Path, name: &str, libraries: &[String]) -> Result<String> {
    let program = directory.join(name);
    let mut gcc = repo.command("gcc");
    gcc.args(["-std=c99", "-D_GNU_SOURCE", "-DGASNET_SEQ", "-I"]).arg(repo.stage.join("include"));
    gcc.arg(directory.join(format!("{name}.c"))).arg("-o").arg(&program);
    gcc.args(libraries).args(["-lm", "-ldl", "-pthread"]);
    let (built, said) = outcome(&mut gcc)?;
    if !built {
        return Ok(said + "(gcc failed)\n");
    }
    let (passed, more) = outcome(repo.command("timeout").arg(PATIENCE).arg(&program))?;
    let end = if passed { "" } else { "(the client failed)\n" };
    Ok(said + &more + end)
}
