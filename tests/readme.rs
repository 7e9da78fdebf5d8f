//! What the documents say is so: README's program compiles and prints what it should, the tables of variables are the library's.

use gasnet_sci::base::config::VARS;
use std::path::{Path, PathBuf};
use std::process::Command;

fn document(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn variables_in_readme_are_the_librarys() {
    let readme = document("README.md");
    let rows: Vec<(&str, &str)> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `GASNET_"))
        .map(|rest| {
            let mut cells = rest.split(" | ");
            (cells.next().unwrap().trim_end_matches('`'), cells.next().unwrap())
        })
        .collect();
    assert_eq!(rows.len(), 8, "{rows:?}");
    for (name, default) in rows {
        let var = VARS.iter().find(|var| var.name.strip_prefix("GASNET_") == Some(name));
        let var = var.unwrap_or_else(|| panic!("GASNET_{name} is not a variable"));
        assert_eq!(var.default, default, "default of {}", var.name);
    }
    assert!(readme.lines().count() <= 130, "README is to be read to the end");
}

#[test]
fn document_of_variables_has_the_librarys_table() {
    let document = document("docs/environment.md");
    let (_, table) = document.split_once("<!-- variables -->\n\n").expect("a mark");
    let (table, _) = table.split_once("\n<!-- end of variables -->").expect("a mark");
    assert!(
        table == gasnet_sci::base::config::table::markdown(),
        "docs/environment.md is stale: ci/docs --update renews it"
    );
}

/// A directory that goes with the test.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The static library that cargo has built for this test, beside the test itself or a level above.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().skip(1).take(2).map(|at| at.join("libgasnet_sci.a")).find(|file| file.exists());
    found.expect("cargo builds libgasnet_sci.a")
}

#[test]
fn program_in_readme_compiles_and_runs() {
    let readme = document("README.md");
    let program =
        readme.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("README has a program");
    let directory = Directory(std::env::temp_dir().join(format!("sci-readme-{}", std::process::id())));
    std::fs::create_dir_all(&directory.0).unwrap();
    let (source, executable) = (directory.0.join("hello.c"), directory.0.join("hello"));
    std::fs::write(&source, program).unwrap();
    for mode in ["-DGASNET_SEQ", "-DGASNET_PAR"] {
        let compiled = Command::new("gcc")
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", mode, "-pthread"])
            .arg("-I")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
            .arg(&source)
            .arg("-o")
            .arg(&executable)
            .arg(library())
            .args(["-ldl", "-lm"])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let mut command = Command::new(&executable);
        for var in VARS {
            for name in var.aliases.iter().chain([&var.name]) {
                command.env_remove(name);
            }
        }
        let ran = command.env("GASNET_SCI_NODES", "4").output().unwrap();
        assert!(ran.status.success() && ran.stderr.is_empty(), "{mode}: {ran:?}");
        let mut lines: Vec<String> = String::from_utf8(ran.stdout).unwrap().lines().map(String::from).collect();
        lines.sort();
        let greeted = |node: u32| format!("node {node}: greeted by node {} with 42", (node + 3) % 4);
        let got = |node: u32| format!("node {node} of 4: got {}", 100 + (node + 3) % 4);
        let mut expected: Vec<String> = (0..4).flat_map(|node| [greeted(node), got(node)]).collect();
        expected.sort();
        assert_eq!(lines, expected, "{mode}");
    }
}
