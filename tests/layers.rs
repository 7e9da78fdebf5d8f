//! Data goes straight down: no folder of the library, of a command or of xtask uses one that stands above it.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Folders of the library, and files beside them, from the lowest to the highest.
const LIBRARY: &[&str] = &[
    "sync", "explore", "os", "base", "trace", "tools", "supervise", "boot", "sci", "peers", "verbs", "am", "xfer",
    "atomic", "vis", "barrier", "coll", "deck", "job", "api",
];

/// The same of the command `gasnet-sci`; what it shares with the other one is below.
const COMMAND: &[&str] = &[
    "timed", "man", "completion", "registry", "results", "reach", "policy", "report", "again", "host", "network",
    "info", "doctor", "jobs", "tree", "sisci", "sock", "page", "trace", "tune", "agent", "bench", "cli",
];

/// The same of the package `place`.
const PLACE: &[&str] = &[
    "paint", "progress", "results", "map", "format", "model", "matrix", "net", "links", "machine", "measure", "host",
    "topology", "cost", "search", "segments", "scipos", "report", "text", "shell", "quadratic", "page", "options",
];

/// The same of the package `sisci`.
const SISCI: &[&str] = &[
    "error", "constants", "model", "hosts", "config", "calm", "trace", "card", "name", "nap", "state", "worker",
    "fault", "memory", "dirty", "net", "far", "handle", "report", "packet", "event", "service", "descriptor", "door",
    "segment", "map", "pio", "flow", "dma", "interrupt", "message", "query", "survey", "watch", "agent", "entry",
    "library", "fuzzing", "api",
];

/// The same of the launcher.
const LAUNCHER: &[&str] = &[
    "timed", "man", "completion", "registry", "reach", "policy", "cli", "hint", "hosts", "stop", "place", "branch",
    "mapping", "options", "program", "timing", "debugger", "fuzzing", "matrix", "part", "start", "director", "launch",
    "agent",
];

/// The same of `cargo xtask`.
const XTASK: &[&str] = &[
    "results", "options", "repo", "leftovers", "verdicts", "abi", "compare", "headers", "symbols", "test", "netlab",
    "peers", "soak",
];

/// What commands, `place` and xtask take by `#[path]`.
const SHARED: Option<&str> = Some("cli/src/shared");

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

/// The uses of higher folders below `root`, whose folders have this order. `beside` has files that are taken by `#[path]`. `least`: so many uses must be seen.
fn upward(root: &str, beside: Option<&str>, order: &[&str], least: usize) -> BTreeSet<String> {
    let here = |folder: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let (root, beside) = (here(root), beside.map(here));
    let rank = |name: &str| order.iter().position(|folder| *folder == name);
    let mut all = Vec::new();
    common::files(&root, &mut all);
    beside.iter().for_each(|folder| common::files(folder, &mut all));
    let mut upward = BTreeSet::new();
    let mut seen = 0;
    for path in &all {
        let inside =
            [Some(&root), beside.as_ref()].into_iter().flatten().find_map(|folder| path.strip_prefix(folder).ok());
        let inside = inside.expect("below one of the two");
        let at = module(inside);
        let Some(own) = rank(&at[0]) else {
            let is_taken = path.starts_with(&root) && !["lib", "main"].contains(&&*at[0]); // not each takes all that is beside
            assert!(!is_taken, "{} has no place in the order", at[0]);
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
        ("src", None, LIBRARY, 200),
        ("cli/src/gasnet-sci", SHARED, COMMAND, 10),
        ("place/src", SHARED, PLACE, 30),
        ("sisci/src", None, SISCI, 60),
        ("cli/src/gasnetrun_sci", SHARED, LAUNCHER, 30),
        ("xtask/src", SHARED, XTASK, 20),
    ];
    let upward: Vec<String> =
        roots.into_iter().flat_map(|(root, beside, order, least)| upward(root, beside, order, least)).collect();
    assert!(upward.is_empty(), "upward uses:\n{}", upward.join("\n"));
}

#[test]
fn no_face_of_the_library_names_another_and_what_they_share_names_none() {
    const FACES: [&str; 3] = ["g1", "ex", "deck"];
    let api = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api");
    for room in ["shared"].into_iter().chain(FACES) {
        let mut all = Vec::new();
        common::files(&api.join(room), &mut all);
        assert!(!all.is_empty(), "no files in {room}");
        for path in all {
            let text = fs::read_to_string(&path).expect("a text");
            let code = text.lines().map(|line| line.split("//").next().unwrap_or(""));
            let words = code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && !"_:".contains(c)));
            for face in FACES.into_iter().filter(|face| *face != room) {
                let named = [format!("api::{face}"), format!("super::{face}")];
                let is_other = |word: &&str| named.iter().any(|name| format!("{word}:").contains(&format!("{name}:")));
                assert_eq!(words.clone().find(is_other), None, "in {}", path.display());
            }
        }
    }
}
