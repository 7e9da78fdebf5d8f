//! Data goes straight down: no folder of the library, of a command or of xtask uses one that stands above it.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Folders of the library, and files beside them, from the lowest to the highest.
const LIBRARY: &[&str] = &[
    "sync",
    "explore",
    "os",
    "base",
    "trace",
    "tools",
    "supervise",
    "boot",
    "sci",
    "peers",
    "verbs",
    "am",
    "xfer",
    "atomic",
    "vis",
    "barrier",
    "coll",
    "deck",
    "job",
    "api",
];

/// The same of the command `gasnet-sci`; what it shares with the other one is below.
const COMMAND: &[&str] = &[
    "timed", "man", "format", "map", "registry", "results", "report", "again", "host", "network", "info", "jobs",
    "tree", "page", "tune", "bench", "place", "cli",
];

/// The same of the launcher.
const LAUNCHER: &[&str] = &[
    "timed", "man", "format", "map", "registry", "cli", "hint", "hosts", "reach", "stop", "place", "policy", "branch",
    "mapping", "options", "program", "timing", "debugger", "fuzzing", "matrix", "start", "director", "launch", "agent",
];

/// The same of `cargo xtask`.
const XTASK: &[&str] =
    &["results", "repo", "leftovers", "verdicts", "abi", "compare", "headers", "symbols", "netlab", "peers", "soak"];

/// The names at the crate's root that `line` uses in the module `at`, by `crate::` or by enough `super::`; those in braces included.
fn used(line: &str, at: &[String]) -> Vec<String> {
    let climbed = "super::".repeat(at.len());
    let mut names = Vec::new();
    for start in ["crate::", &climbed] {
        for (place, _) in line.match_indices(start) {
            let rest = &line[place + start.len()..];
            if start == climbed && line[..place].ends_with("super::") || rest.starts_with("super::") {
                continue;
            }
            let list = rest.strip_prefix('{').map_or(rest, |braced| braced.split('}').next().unwrap_or(""));
            let parts: Vec<&str> = if rest.starts_with('{') { list.split(',').collect() } else { vec![list] };
            for part in parts {
                let name = part.trim().split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// The path of the module in a file.
fn module(inside: &Path) -> Vec<String> {
    let mut path: Vec<String> =
        inside.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    path.pop_if(|last| last == "mod");
    path
}

/// The uses of higher folders below `root`, whose folders have this order. `least`: so many uses must be seen.
fn upward(root: &str, order: &[&str], least: usize) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
    let rank = |name: &str| order.iter().position(|folder| *folder == name);
    let mut all = Vec::new();
    common::files(&root, &mut all);
    let mut upward = BTreeSet::new();
    let mut seen = 0;
    for path in &all {
        let inside = path.strip_prefix(&root).expect("below the root");
        let at = module(inside);
        let Some(own) = rank(&at[0]) else {
            assert!(["lib", "main"].contains(&&*at[0]), "{} has no place in the order", at[0]);
            continue;
        };
        for line in fs::read_to_string(path).expect("a text").lines() {
            let code = line.split("//").next().unwrap_or("");
            for name in used(code, &at) {
                seen += usize::from(rank(&name).is_some());
                if rank(&name).is_some_and(|rank| rank > own) {
                    upward.insert(format!("{}: {} uses {name}", inside.display(), at[0]));
                }
            }
        }
    }
    assert!(seen >= least, "only {seen} uses were found below {}: the test does not see them", root.display());
    upward
}

#[test]
fn no_folder_uses_a_higher_one() {
    let roots = [
        ("src", LIBRARY, 200),
        ("cli/src/gasnet-sci", COMMAND, 10),
        ("cli/src/gasnetrun_sci", LAUNCHER, 30),
        ("xtask/src", XTASK, 20),
    ];
    let upward: Vec<String> = roots.into_iter().flat_map(|(root, order, least)| upward(root, order, least)).collect();
    assert!(upward.is_empty(), "upward uses:\n{}", upward.join("\n"));
}
