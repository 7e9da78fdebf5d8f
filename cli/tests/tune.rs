//! `gasnet-sci tune` writes a file that `gasnet-sci info` and jobs read. A fault in a file is reported, and the
//! defaults stand. These tests assert nothing about what was measured.

use gasnet_sci::base::config::{VARS, tune};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("sci-tune-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn gasnet_sci(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    for var in VARS {
        for name in var.aliases.iter().chain([&var.name]) {
            command.env_remove(name);
        }
    }
    command.args(arguments).envs(environment.iter().copied()).output().unwrap()
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_gasnet-sci"))
}

fn info(program: &Path, environment: &[(&str, &str)]) -> Value {
    let output = gasnet_sci(program, &["info", "--json"], environment);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn origin(report: &Value, name: &str) -> String {
    let list = report["environment"].as_array().unwrap();
    list.iter().find(|variable| variable["name"] == name).unwrap()["origin"].as_str().unwrap().into()
}

#[test]
fn what_tune_writes_is_what_info_reads_and_the_environment_goes_before_it() {
    let directory = Directory::new("whole");
    let file = directory.0.join("tune.conf");
    let name = file.to_str().unwrap();
    let output = gasnet_sci(program(), &["tune", "--quick", "--out", name], &[]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(&format!("written to {name}")) && said.contains("GASNET_SCI_DMA_MIN"), "{said}");
    let text = std::fs::read_to_string(&file).unwrap();
    let values = tune::parse(&text).unwrap();
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    let report = info(program(), &[(tune::VARIABLE, name)]);
    assert_eq!(report["tune_file"]["read"], name);
    for known in tune::NAMES {
        let expected = if values.iter().any(|(set, _)| set == known) { "tune file" } else { "default" };
        assert_eq!(origin(&report, known), expected, "{known}");
    }
    // With known values, because the measured ones may be anything.
    std::fs::write(&file, "GASNET_SCI_DMA_MIN = 12K\nGASNET_VIS_MAXCHUNK = 3K\n").unwrap();
    let report = info(program(), &[(tune::VARIABLE, name), ("GASNET_VIS_MAXCHUNK", "5K")]);
    assert_eq!(report["thresholds"]["dma_min_bytes"], 12 << 10);
    assert_eq!(report["thresholds"]["vis_maxchunk_bytes"], 5 << 10);
    assert_eq!(origin(&report, "GASNET_VIS_MAXCHUNK"), "GASNET_VIS_MAXCHUNK");
    let text = gasnet_sci(program(), &["info"], &[(tune::VARIABLE, name)]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("12288 bytes (12 KiB)   (tune file)") && text.contains(name), "{text}");
}

#[test]
fn a_wrong_file_is_told_and_counts_for_nothing() {
    let directory = Directory::new("wrong");
    let file = directory.0.join("tune.conf");
    std::fs::write(&file, "GASNET_SCI_DMA_MIN = 12K\nGASNET_SCI_NODES = 7\n").unwrap();
    let name = file.to_str().unwrap();
    for (named, word) in [(name, "line 2"), ("/nonexistent/tune.conf", "No such file")] {
        let report = info(program(), &[(tune::VARIABLE, named)]);
        assert!(report["tune_file"]["problem"].as_str().unwrap().contains(word), "{report}");
        assert_eq!(report["thresholds"]["dma_min_bytes"], 64 << 10);
        assert!(report["tune_file"]["read"].is_null());
    }
    assert!(info(program(), &[(tune::VARIABLE, "none")])["tune_file"]["problem"].is_null());
}

#[test]
fn an_installation_has_its_own_file() {
    let prefix = Directory::new("prefix");
    let (bin, etc) = (prefix.0.join("bin"), prefix.0.join("etc/gasnet-sci"));
    std::fs::create_dir_all(&bin).unwrap();
    let installed = bin.join("gasnet-sci");
    // By another process: the copy must not be open for writing here while another test forks, or it cannot be executed.
    assert!(Command::new("cp").args([program(), &installed]).status().unwrap().success());
    let output = gasnet_sci(&installed, &["tune", "--quick"], &[]);
    assert!(output.status.success(), "{output:?}");
    assert!(tune::parse(&std::fs::read_to_string(etc.join("tune.conf")).unwrap()).is_ok());
    std::fs::write(etc.join("tune.conf"), "GASNET_SCI_DMA_MIN = 20K\n").unwrap();
    assert_eq!(info(&installed, &[])["thresholds"]["dma_min_bytes"], 20 << 10);
}

#[test]
fn a_place_that_cannot_be_written_is_an_error_before_anything_is_measured() {
    let output = gasnet_sci(program(), &["tune", "--out", "/proc/nowhere/tune.conf"], &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.lines().count() == 1, "{said}");
    assert!(said.contains("cannot write /proc/nowhere/tune.conf") && said.contains("--out"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_directory_that_is_not_there_is_told_and_not_made() {
    let directory = Directory::new("nowhere");
    for missing in ["typo", "typo/deep"] {
        let missing = directory.0.join(missing);
        let name = missing.join("tune.conf");
        let output = gasnet_sci(program(), &["tune", "--quick", "--out", name.to_str().unwrap()], &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty() && said.lines().count() == 1, "{said}");
        let folder = missing.display();
        let expected =
            format!("directory {folder} does not exist; make it (mkdir -p {folder}) or name another with --out");
        assert!(said.contains(&expected), "{said}");
        assert_eq!(std::fs::read_dir(&directory.0).unwrap().count(), 0, "nothing is made");
    }
    // A name alone is a file of the directory in which the command runs.
    let mut command = Command::new(program());
    command.current_dir(&directory.0).args(["tune", "--quick", "--out", "tune.conf"]);
    assert!(command.output().unwrap().status.success());
    assert!(tune::parse(&std::fs::read_to_string(directory.0.join("tune.conf")).unwrap()).is_ok());
}
