//! `gasnet-sci sisci`: what it says of two nodes, and that they do not notice.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The directory of the library that cargo built with these tests.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().skip(1).find(|directory| directory.join("libsisci.so").exists());
    found.expect("cargo has built libsisci.so").to_owned()
}

/// Compiles `c-tests/sisci/hold.c`.
fn program(to: &Path) -> PathBuf {
    let (root, library) = (Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap(), library());
    let hold = to.join("hold");
    let compiled = Command::new("gcc")
        .args(["-std=gnu11", "-D_REENTRANT", "-pthread", "-I"])
        .arg(root.join("sisci/include"))
        .arg(root.join("c-tests/sisci/hold.c"))
        .arg("-o")
        .arg(&hold)
        .arg("-L")
        .arg(&library)
        // cargo's LD_LIBRARY_PATH may have an older build of the library first: the old form of the path is looked at before it.
        .args(["-lsisci", "-Wl,--disable-new-dtags", &format!("-Wl,-rpath,{}", library.display())])
        .status();
    assert!(compiled.unwrap().success());
    hold
}

/// Starts a node, which has all that it shall have when this returns.
fn node(program: &Path, id: &str, directory: &Path) -> Child {
    let mut command = Command::new(program);
    command.env("SISCI_NODE_ID", id).env("SISCI_DIR", directory).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

/// What the command prints.
fn says(arguments: &[&str], directory: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gasnet-sci"));
    let output = command.arg("sisci").args(arguments).env("SISCI_DIR", directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn object(directory: &Path) -> Value {
    serde_json::from_str(&says(&["--json"], directory)).unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// The end of a node that found all as it should be.
fn end(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn owners_and_connections_are_listed_and_do_not_notice() {
    use std::os::unix::fs::DirBuilderExt;
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sisci-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&directory).unwrap();
    assert_eq!(says(&[], &directory), "there are no nodes\n");
    let program = program(&directory);
    let owner = node(&program, "4", &directory);
    let peer = node(&program, "8", &directory);
    let found = object(&directory);
    let nodes: Vec<_> =
        found["nodes"].as_array().unwrap().iter().map(|node| (&node["node"], &node["process"])).collect();
    assert_eq!(nodes, [(&4.into(), &owner.id().into()), (&8.into(), &peer.id().into())]);
    let segments = &found["segments"];
    let [first, second] = &segments.as_array().unwrap()[..] else { panic!("{segments}") };
    assert_eq!((&first["id"], &first["size"], &first["available"]), (&17.into(), &5000.into(), &true.into()));
    assert_eq!((&second["id"], &second["size"], &second["available"]), (&18.into(), &64.into(), &false.into()));
    assert_eq!((&first["owner"]["process"], &first["owner"]["program"]), (&owner.id().into(), &"hold".into()));
    let connection = |of: &Value| {
        let [one] = &of["connections"].as_array().unwrap()[..] else { panic!("{of}") };
        assert_eq!((&one["node"], &one["process"]), (&8.into(), &peer.id().into()));
        assert!(one["since"].as_u64() >= of["since"].as_u64());
    };
    assert_eq!((&found["interrupts"][0]["id"], &found["interrupts"][0]["not_taken"]), (&6.into(), &2.into()));
    [first, &found["interrupts"][0], &found["data_interrupts"][0]].into_iter().for_each(connection);
    assert_eq!((&found["members"][0]["node"], &found["members"][0]["id"]), (&4.into(), &3.into()));
    let text = says(&[], &directory);
    for line in
        ["  segment 17: 5000 bytes, available, of ", "    node 8 is connected: ", "group 3: 4096 bytes, nodes 4"]
    {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    signal(&owner, "-STOP");
    let stopped = object(&directory);
    signal(&owner, "-CONT");
    assert_eq!((&stopped["segments"][0]["id"], &stopped["segments"][0]["answers"]), (&17.into(), &false.into()));
    assert_eq!(stopped["segments"][0]["owner"]["process"], owner.id());
    end(peer);
    end(owner);
    assert_eq!(says(&[], &directory), "there are no nodes\n");
    std::fs::remove_dir_all(&directory).unwrap();
}
