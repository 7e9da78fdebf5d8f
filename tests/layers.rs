//! Data goes straight down: no folder of `src` uses one that stands above it.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Folders, and files beside them, from the lowest to the highest.
const ORDER: [&str; 20] = [
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

fn rank(name: &str) -> Option<usize> {
    ORDER.iter().position(|folder| *folder == name)
}

/// The names that follow `crate::` in `line`, those in braces included.
fn used(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    for rest in line.split("crate::").skip(1) {
        let list = rest.strip_prefix('{').map_or(rest, |braced| braced.split('}').next().unwrap_or(""));
        let parts: Vec<&str> = if rest.starts_with('{') { list.split(',').collect() } else { vec![list] };
        for part in parts {
            let name = part.trim().split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            names.push(name.to_owned());
        }
    }
    names
}

#[test]
fn no_folder_uses_a_higher_one() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    common::files(&src, &mut all);
    let mut upward = BTreeSet::new();
    let mut seen = 0;
    for path in &all {
        let inside = path.strip_prefix(&src).expect("below src");
        let folder = inside.iter().next().and_then(|f| f.to_str()).expect("a name").trim_end_matches(".rs");
        let Some(own) = rank(folder) else {
            assert!(folder == "lib", "{folder} has no place in ORDER");
            continue;
        };
        for line in fs::read_to_string(path).expect("a text").lines() {
            let code = line.split("//").next().unwrap_or("");
            for name in used(code) {
                seen += 1;
                if rank(&name).is_some_and(|rank| rank > own) {
                    upward.insert(format!("{}: {folder} uses {name}", inside.display()));
                }
            }
        }
    }
    assert!(seen > 200, "only {seen} uses were found: the test does not see them");
    assert!(upward.is_empty(), "upward uses:\n{}", upward.into_iter().collect::<Vec<_>>().join("\n"));
}
