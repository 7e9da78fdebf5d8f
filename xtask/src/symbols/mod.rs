//! Compares what the libraries show to the linker and the loader with ci/symbols.txt (contract: environment.md §5;
//! CONTRIBUTING.md, "Versions").

mod archive;
mod clients;
mod shared;

use crate::repo::Repo;
use crate::verdicts::Verdicts;
use anyhow::Result;
use similar::TextDiff;

const WRITTEN: &str = "ci/symbols.txt";

/// Checks the staged libraries; with `update` writes the list of the exports instead.
pub fn run(repo: &Repo, update: bool) -> Result<bool> {
    repo.set_up("gcc")?;
    repo.make_stage()?;
    let library = repo.stage.join("lib/libgasnet_sci.so");
    let shared = shared::Shared::read(&library)?;
    let exports: String = shared.exports.iter().map(|name| format!("{name}\n")).collect();
    if update {
        repo.write(WRITTEN, &exports)?;
        return Ok(true);
    }
    let verdicts = Verdicts::new("symbols");
    let none = |check: &str, findings: &str| verdicts.none(check, findings, 20);
    let written = repo.read(WRITTEN)?;
    none("exports differ from ci/symbols.txt (cargo xtask symbols --update)", &difference(&written, &exports));
    shared::check(&shared, &none);
    let archive = archive::Archive::read(&repo.stage.join("lib/libgasnet_sci.a"))?;
    none("the archive does not define exactly the exports", &difference(&written, &archive.names()));
    none("a variable that a client may define is not weak in the archive", &archive.strong_overridables());
    clients::check(repo, &none)?;
    Ok(verdicts.finish())
}

fn difference(written: &str, found: &str) -> String {
    TextDiff::from_lines(written, found).unified_diff().context_radius(0).to_string()
}
