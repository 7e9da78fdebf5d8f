//! Checks the headers that clients include. The generated part must be fresh. All headers must compile without
//! warnings in every dialect and mode, and must have every name of the contract with its type.

mod checks;
mod dialects;
mod expansions;
mod names;
mod refusals;
mod rows;

use crate::repo::Repo;
use crate::verdicts::Verdicts;
use anyhow::{Context, Result, bail};
use checks::Checks;
use serde_json::Value;
use similar::TextDiff;
use std::fs;
use std::path::{Path, PathBuf};

/// The headers that build.rs makes from src/api.
const MADE: [&str; 3] = ["gasnet_sci_abi.h", "gasnet_sci_tools_abi.h", "gasnet_sci_tools_lib_abi.h"];

/// Checks the headers; with `update` writes the generated ones instead.
pub fn run(repo: &Repo, update: bool) -> Result<bool> {
    repo.set_up("gcc g++ clang")?;
    let directory = made(repo)?;
    let mut made = rows::made(repo)?;
    for name in MADE {
        made.push((
            name,
            fs::read_to_string(directory.join(name)).with_context(|| format!("build.rs made no {name}"))?,
        ));
    }
    if update {
        for (name, text) in made {
            if repo.read(&format!("include/{name}")).ok().as_ref() != Some(&text) {
                repo.write(&format!("include/{name}"), &text)?;
            }
        }
        return Ok(true);
    }
    let verdicts = Verdicts::new("headers");
    for (name, new) in made {
        let old = repo.read(&format!("include/{name}"))?;
        let difference = TextDiff::from_lines(&old, &new).unified_diff().to_string();
        verdicts.none(&format!("include/{name} is stale: cargo xtask headers --update"), &difference, 12);
    }
    version_lines(repo, &verdicts)?;

    let directory = tempfile::tempdir()?;
    let mut checks = Checks::new(repo, directory.path());
    dialects::add(&mut checks)?;
    names::add(&mut checks)?;
    expansions::add(&mut checks)?;
    refusals::add(&mut checks)?;
    checks.run(&verdicts)?;
    Ok(verdicts.finish())
}

/// The directory of the headers that build.rs made.
fn made(repo: &Repo) -> Result<PathBuf> {
    let check = ["check", "--package", "gasnet-sci", "--lib", "--quiet", "--message-format=json"];
    let output = repo.cargo().args(check).output()?;
    let messages = String::from_utf8_lossy(&output.stdout);
    // Dependencies have build scripts too; those come from a registry.
    let ours = |message: &Value| {
        message["reason"] == "build-script-executed"
            && message["package_id"].as_str().is_some_and(|id| id.starts_with("path+file:"))
    };
    let mut scripts = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(ours);
    match scripts.next().as_ref().and_then(|script| script["out_dir"].as_str()) {
        Some(directory) => Ok(Path::new(directory).to_path_buf()),
        None => bail!("the library's build script did not run:\n{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Build systems read the release's numbers from the third field of the line with the name, so there must be one such
/// line.
fn version_lines(repo: &Repo, verdicts: &Verdicts) -> Result<()> {
    let text = repo.read("include/gasnet_config.h")?;
    let line_of = |name: &str, right: &dyn Fn(&str) -> bool| {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(name)).collect();
        let value = lines.first().and_then(|line| line.split_whitespace().nth(2));
        let findings =
            if lines.len() == 1 && value.is_some_and(right) { String::new() } else { lines.join("\n") + "\n" };
        verdicts.none(&format!("line of {name}"), &findings, 12);
        value.unwrap_or_default()
    };
    let number = |word: &str| word.parse::<u32>().is_ok();
    let numbers = ["MAJOR", "MINOR", "PATCH"].map(|part| line_of(&format!("GASNET_RELEASE_VERSION_{part}"), &number));
    line_of("GASNETI_RELEASE_VERSION", &|word| word == numbers.join("."));
    for name in ["GASNETI_BUILD_ID", "GASNETI_CONFIGURE_ARGS"] {
        line_of(name, &|word| word.len() > 2 && word.starts_with('"') && word.ends_with('"'));
    }
    Ok(())
}
