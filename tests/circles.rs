//! Files can be read one after the other: no circle of files that need each other has more than three.
//!
//! A file needs another if it names something that is defined there, in a `use` or by a path. Re-exports are followed: a file that names
//! `folder::Item` needs the file that defines it, and a `pub use` of its own child's item is no need of the folder's `mod.rs`.
//! Methods that are called on values do not count, nor what only tests compile.

mod common;
#[path = "common/modules.rs"]
mod modules;

use modules::Crate;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The most files that may need each other in a circle.
const MOST: usize = 3;

/// The circles of more than one file.
fn circles(needs: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..needs.len())
        .map(|file| {
            let (mut seen, mut left) = (BTreeSet::new(), vec![file]);
            while let Some(at) = left.pop() {
                left.extend(needs[at].iter().filter(|to| seen.insert(**to)));
            }
            seen
        })
        .collect();
    let circle = |file: usize| reached[file].iter().copied().filter(|to| reached[*to].contains(&file)).collect();
    let found: BTreeSet<BTreeSet<usize>> = (0..needs.len()).map(circle).collect();
    found.into_iter().filter(|circle| circle.len() > 1).collect()
}

/// The circle as text: each file with those of the circle that it needs.
fn shown(all: &Crate, needs: &[BTreeSet<usize>], circle: &BTreeSet<usize>) -> String {
    let line = |file: &usize| {
        let to: Vec<&str> = needs[*file].intersection(circle).map(|to| all.files[*to].as_str()).collect();
        format!("  {} needs {}", all.files[*file], to.join(", "))
    };
    format!("{} files:\n{}", circle.len(), circle.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Fails if more than [`MOST`] files of the crate in `folder` need each other. `beside` has files that the crate takes from elsewhere by
/// `#[path]`. The crate must have so many files and needs at least, so that a test which sees nothing fails.
fn check(folder: &str, beside: &str, least: [usize; 2]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for folder in [folder, beside].into_iter().filter(|folder| !folder.is_empty()).map(|folder| root.join(folder)) {
        let mut found = Vec::new();
        common::files(&folder, &mut found);
        let name = |path: &Path| path.strip_prefix(&folder).expect("below the folder").to_string_lossy().into_owned();
        let root_first = |name: String| if name == "main.rs" { "lib.rs".into() } else { name };
        texts.extend(found.iter().map(|path| (root_first(name(path)), fs::read_to_string(path).expect("a text"))));
    }
    let all = Crate::read(&texts);
    let needs = all.needs();
    let seen = [all.files.len(), needs.iter().map(BTreeSet::len).sum()];
    assert!(
        seen[0] >= least[0] && seen[1] >= least[1],
        "{folder}: files and needs are {seen:?}: the test does not see them"
    );
    let large: Vec<String> =
        circles(&needs).iter().filter(|circle| circle.len() > MOST).map(|circle| shown(&all, &needs, circle)).collect();
    assert!(large.is_empty(), "{folder}: at most {MOST} files may need each other; {}", large.join("\n"));
}

#[test]
fn no_circle_of_files_is_large() {
    check("src", "", [150, 600]);
    check("cli/src/gasnet-sci", "cli/src/shared", [40, 80]);
    check("place/src", "cli/src/shared", [25, 60]);
    check("sisci/src", "", [30, 80]);
    check("cli/src/gasnetrun_sci", "cli/src/shared", [20, 50]);
    check("xtask/src", "cli/src/shared", [25, 40]);
}

fn needed(files: &[(&str, &str)]) -> BTreeMap<String, Vec<String>> {
    let texts = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let all = Crate::read(&texts);
    let names = |set: &BTreeSet<usize>| set.iter().map(|file| all.files[*file].clone()).collect();
    all.files.iter().cloned().zip(all.needs().iter().map(names)).collect()
}

#[test]
fn re_exports_are_followed_and_are_no_need_of_the_folder() {
    let needs = needed(&[
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod one; mod two; pub(crate) use one::{One, deep::Deep as D}; pub use two::Two; type X = Two;"),
        ("a/one.rs", "use super::Two; pub struct One; pub mod deep { pub struct Deep; fn f(x: super::One) {} }"),
        ("a/two.rs", "pub struct Two; fn f() { super::X::new() }"),
        ("b.rs", "use crate::a::{self, One}; fn f() -> a::D { let c = '\"'; a::two::g('a', \"a::X\") } // a::X"),
    ]);
    assert_eq!(needs["a/mod.rs"], ["a/two.rs"], "it uses the name itself");
    assert_eq!(needs["a/one.rs"], ["a/two.rs"]);
    assert_eq!(needs["a/two.rs"], ["a/mod.rs"], "defined there");
    assert_eq!(needs["b.rs"], ["a/one.rs", "a/two.rs"]);
}

#[test]
fn what_tests_alone_compile_does_not_count() {
    let needs = needed(&[
        ("lib.rs", "mod a; mod b; #[cfg(all(test, not(loom)))] mod missing;"),
        (
            "a.rs",
            "#[cfg(any(test, fuzzing))] fn f<A, B>() { crate::b::X } #[cfg(test)] use crate::b::{X, Y}; struct S { #[cfg(test)] x: crate::b::X, y: u8 }",
        ),
        (
            "b.rs",
            "#[cfg(test)] mod tests { use crate::a::S; } #[cfg(not(test))] use crate::a::S; fn g() { #[cfg(test)] crate::b::f(1, 2); }",
        ),
    ]);
    assert!(needs["a.rs"].is_empty());
    assert_eq!(needs["b.rs"], ["a.rs"]);
}

#[test]
fn a_circle_is_found_whole() {
    let ring: Vec<BTreeSet<usize>> =
        [vec![1], vec![2], vec![3, 4], vec![0], vec![]].map(|to| to.into_iter().collect()).into();
    assert_eq!(circles(&ring), [BTreeSet::from([0, 1, 2, 3])]);
}
