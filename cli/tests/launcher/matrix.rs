//! `--matrix`: the launcher joins the parts that nodes leave. What is in a part is tested where it is made (`src/trace/matrix.rs`,
//! `ci/matrix`); here the node program writes a small one.

use super::driver::{Act, Start, Victim, hosted, launched, rsh, run, scratch};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A directory of the test's own, which is the user's session too, and the file for the matrix in it.
fn place(name: &str) -> (PathBuf, PathBuf) {
    let directory = scratch(&format!("matrix-{name}"));
    let file = directory.join("m.json");
    (directory, file)
}

fn with_matrix(mut start: Start, (session, file): &(PathBuf, PathBuf)) -> Start {
    start.insert_option(&["--matrix", file.to_str().unwrap()]);
    start.with_env("XDG_RUNTIME_DIR", session.to_str().unwrap())
}

/// What launchers have left in a session. The directory itself stays when a launcher was killed.
fn left_in(session: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(session.join("gasnet-sci")).into_iter().flatten();
    files.map(|entry| entry.unwrap().path()).collect()
}

fn expect_whole(file: &Path, nodes: usize) {
    let matrix: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!((&matrix["format"], &matrix["nodes"]), (&"gasnet-sci matrix".into(), &nodes.into()));
    let all = |list: &str, key: &str| -> Vec<u64> {
        matrix[list].as_array().unwrap().iter().map(|entry| entry[key].as_u64().unwrap()).collect()
    };
    let ranks: Vec<u64> = (0..nodes as u64).collect();
    assert_eq!((all("places", "rank"), all("rows", "from")), (ranks.clone(), ranks.clone()));
    assert_eq!(
        matrix["rows"].as_array().unwrap().iter().map(|row| row["put"][1].as_u64().unwrap()).sum::<u64>(),
        64 * nodes as u64
    );
}

#[test]
fn parts_of_all_nodes_become_one_file_whatever_host_they_are_on() {
    let tree = || {
        let mut start =
            launched(5, "join part exit:0").with_env("GASNET_SCI_RSH", &rsh()).with_env("GASNET_SCI_TREE", "1");
        start.insert_option(&["--host", "a,b,c"]);
        start
    };
    for (name, start) in
        [("one", launched(5, "join part exit:0")), ("hosts", hosted(5, "join part exit:0")), ("tree", tree())]
    {
        let place = place(name);
        let outcome = run(with_matrix(start, &place));
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{name}: {outcome:?}");
        expect_whole(&place.1, 5);
        assert!(left_in(&place.0).is_empty(), "{name}: {:?}", left_in(&place.0));
    }
}

#[test]
fn a_long_part_arrives_whole_from_another_host() {
    let place = place("long");
    let outcome = run(with_matrix(hosted(2, "join part:300000 exit:0"), &place));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    assert!(fs::metadata(&place.1).unwrap().len() > 2 * 300_000);
    expect_whole(&place.1, 2);
}

#[test]
fn an_exit_code_does_not_keep_a_matrix_from_being_written() {
    let place = place("code");
    assert_eq!(run(with_matrix(launched(2, "join part exit:3"), &place)).status, 3);
    expect_whole(&place.1, 2);
}

#[test]
fn a_job_whose_node_dies_leaves_no_file_and_says_why() {
    for (name, start) in [("dead", launched as fn(u32, &str) -> Start), ("dead-hosts", hosted)] {
        for script in ["join attach fence @1:raise:KILL part sleep", "join @1:_exit:0 part exit:0"] {
            let place = place(name);
            let outcome = run(with_matrix(start(3, script), &place));
            assert_ne!(outcome.status, 0, "{name} {script}: {outcome:?}");
            assert!(outcome.err.contains("no matrix ") && outcome.err.contains("node 1"), "{name}: {}", outcome.err);
            assert!(!place.1.exists() && left_in(&place.0).is_empty(), "{name}: {:?}", left_in(&place.0));
        }
    }
}

#[test]
fn a_killed_launcher_leaves_no_parts() {
    let script = "join attach fence @0:part ready spin"; // node 1 has not come to its end
    for acts in [Act::Signal(libc::SIGKILL), Act::Signal(libc::SIGTERM)] {
        let place = place("killed");
        run(with_matrix(launched(2, script).with_acts(&[acts]), &place));
        assert!(!place.1.exists() && left_in(&place.0).is_empty(), "{acts:?}: {:?}", left_in(&place.0));
    }
    let place = place("killed-deputy");
    run(with_matrix(launched(2, script).with_kill(Duration::from_millis(700), Victim::Deputy), &place));
    assert!(!place.1.exists() && left_in(&place.0).is_empty(), "{:?}", left_in(&place.0));
}

#[test]
fn the_variable_without_a_nodes_number_means_the_option() {
    let place = place("variable");
    let start = launched(3, "join part exit:0").with_env("XDG_RUNTIME_DIR", place.0.to_str().unwrap());
    let outcome = run(start.with_env("GASNET_SCI_MATRIX", place.1.to_str().unwrap()));
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    expect_whole(&place.1, 3);
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_any_node_runs() {
    let outcome = run(Start::launcher(&["-n", "2", "--matrix", "/nowhere/m.json", "echo", "ran"]));
    assert_eq!((outcome.status, outcome.out.as_str()), (1, ""), "{outcome:?}");
    assert!(outcome.err.contains("--matrix /nowhere/m.json: it cannot be written"), "{}", outcome.err);
    let directory = scratch("matrix-directory");
    for name in [directory.display().to_string(), format!("{}/", directory.display()), "/".into()] {
        let outcome = run(Start::launcher(&["-n", "2", "--matrix", &name, "echo", "ran"]));
        assert_eq!((outcome.status, outcome.out.as_str()), (1, ""), "{name}: {outcome:?}");
        assert!(outcome.err.contains("it cannot be written: Is a directory"), "{name}: {}", outcome.err);
    }
}

#[test]
fn any_directory_of_the_session_will_do() {
    for name in ["100%", "a%b%c d,e"] {
        let (directory, file) = place("percent");
        let session = directory.join(name);
        fs::create_dir_all(&session).unwrap();
        let start = with_matrix(launched(3, "join part exit:0"), &(session.clone(), file.clone()));
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{name}: {outcome:?}");
        expect_whole(&file, 3);
        assert!(left_in(&session).is_empty());
    }
}

#[test]
fn nodes_do_not_see_the_users_variable() {
    let place = place("inner");
    let outcome = run(with_matrix(launched(2, "join env:GASNET_SCI_MATRIX part exit:0"), &place));
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert_eq!(outcome.out.matches("GASNET_SCI_MATRIX unset").count(), 2, "{}", outcome.out);
    expect_whole(&place.1, 2);
}

#[test]
fn the_option_and_files_of_the_nodes_own_are_one_too_many() {
    let place = place("both");
    let start = with_matrix(launched(2, "join part exit:0"), &place);
    let outcome = run(start.with_env("GASNET_SCI_MATRIX", "own.%"));
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(outcome.err.contains("and GASNET_SCI_MATRIX=own.%: "), "{}", outcome.err);
    assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
}

#[test]
fn a_program_that_cannot_be_run_is_the_only_complaint() {
    let directory = scratch("matrix-no-program");
    let program = directory.join("prog");
    fs::write(&program, "#!/nowhere/interpreter\n").unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let file = directory.join("m.json");
    let [program, file] = [&program, &file].map(|path| path.to_str().unwrap());
    for hosts in [&[][..], &["--host", "a,b"]] {
        for program in [program, "/nowhere/prog"] {
            let words = [&["-n", "2"], hosts, &["--matrix", file, program]].concat();
            let outcome = run(Start::launcher(&words).with_env("GASNET_SCI_RSH", &rsh()));
            assert!([126, 127].contains(&outcome.status), "{hosts:?} {program}: {outcome:?}");
            assert!(outcome.err.contains("cannot run") && !outcome.err.contains("no matrix"), "{}", outcome.err);
        }
    }
}
