//! `gasnet-sci tree` writes what the builds of clients read. `ci/install-test` does with such a tree what UPC++'s build does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("sci-tree-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(fs::canonicalize(path).unwrap())
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What the command reads of an installation in `at`: headers, and the fragments of conduit sci.
fn install(at: &Path) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::create_dir_all(at.join("include/sci-conduit")).unwrap();
    for name in ["gasnet_config.h", "gasnet_portable_platform.h", "portable_platform.h"] {
        fs::copy(repository.join("include").join(name), at.join("include").join(name)).unwrap();
    }
    let template = fs::read_to_string(repository.join("packaging/conduit.mak.in")).unwrap();
    for mode in ["seq", "par"] {
        let text = template.replace("@prefix@", "/where/it/was").replace("@conduit@", "sci").replace("@mode@", mode);
        let text = text.replace("@MODE@", &mode.to_uppercase()).replace("@libdirs@", "-L$(GASNET_PREFIX)/lib");
        fs::write(at.join(format!("include/sci-conduit/sci-{mode}.mak")), text).unwrap();
    }
}

fn tree(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gasnet-sci")).arg("tree").args(arguments).output().unwrap()
}

fn refusal(arguments: &[&str]) -> String {
    let output = tree(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The value of a variable of a fragment, as it stands there.
fn value<'a>(fragment: &'a str, name: &str) -> &'a str {
    let line = fragment.lines().find(|line| line.starts_with(&format!("{name} ="))).unwrap_or_else(|| panic!("{name}"));
    line.split_once('=').unwrap().1.trim()
}

#[test]
fn a_tree_is_for_one_mode_and_uses_the_installation() {
    let directory = Directory::new("written");
    let installation = directory.0.join("inst");
    install(&installation);
    let out = directory.0.join("out");
    let said = tree(&["--installation", installation.to_str().unwrap(), out.to_str().unwrap()]);
    assert!(said.status.success(), "{said:?}");
    for (mode, defines, level) in [("opt", "-D_GNU_SOURCE=1", "-O2"), ("debug", "-DGASNET_DEBUG=1", "-g")] {
        let at = out.join(mode);
        for threads in ["seq", "par"] {
            let fragment = directory.read(&format!("out/{mode}/smp-conduit/smp-{threads}.mak"));
            assert_eq!(value(&fragment, "GASNET_PREFIX"), installation.to_str().unwrap());
            assert_eq!(value(&fragment, "GASNET_TREE"), at.to_str().unwrap());
            assert_eq!(
                value(&fragment, "GASNET_INCLUDES"),
                "-I$(GASNET_PREFIX)/include -I$(GASNET_TREE)/smp-conduit",
                "the headers that name the conduit are the tree's"
            );
            assert!(value(&fragment, "GASNET_DEFINES").starts_with(defines), "{mode}: {fragment}");
            assert!(value(&fragment, "GASNET_DEFINES").contains(&format!("-DGASNET_{}", threads.to_uppercase())));
            assert_eq!(value(&fragment, "GASNET_OPT_CXXFLAGS"), level);
            assert!(value(&fragment, "GASNET_LIBS").contains(&format!("-lgasnet-sci-{threads}")), "{fragment}");
        }
        let header = directory.read(&format!("out/{mode}/smp-conduit/gasnet_sci_conduit.h"));
        assert!(header.contains("#define GASNET_CONDUIT_SMP 1\n") && !header.contains('@'), "{header}");
        for program in ["config.status", "bin/gasnetrun_smp", "smp-conduit/contrib/gasnetrun_smp"] {
            let mode = fs::metadata(at.join(program)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755, "{program}");
        }
    }
}

/// UPC++'s configure takes the first number after a space of the first line that has the name.
#[test]
fn versions_are_found_by_the_word_of_a_line() {
    let directory = Directory::new("versions");
    install(&directory.0);
    let config = directory.read("include/gasnet_config.h");
    for (name, expected) in [("EX_SPEC_VERSION_MAJOR", "0"), ("EX_SPEC_VERSION_MINOR", "19")] {
        let lines: Vec<&str> = config.lines().filter(|line| line.contains(name)).collect();
        let [line] = lines[..] else { panic!("{name}: {lines:?}") };
        assert_eq!(line.split(' ').collect::<Vec<_>>(), ["#define", &format!("GASNETI_{name}"), expected]);
    }
}

#[test]
fn the_tree_of_udp_has_its_launcher() {
    let directory = Directory::new("udp");
    install(&directory.0);
    let at = directory.0.to_str().unwrap();
    assert!(tree(&["--installation", at, "--as", "udp", &format!("{at}/out")]).status.success());
    for name in ["bin/amudprun", "bin/gasnetrun_udp", "other/amudp/amudprun"] {
        assert!(directory.read(&format!("out/debug/{name}")).contains("/bin/gasnetrun_sci \"$@\""), "{name}");
    }
    assert!(directory.read("out/opt/udp-conduit/gasnet_sci_conduit.h").contains("GASNET_CONDUIT_UDP 1"));
}

#[test]
fn what_cannot_be_written_is_refused_with_the_reason() {
    let directory = Directory::new("refused");
    install(&directory.0);
    let at = directory.0.to_str().unwrap();
    let no_installation = refusal(&["--installation", "/usr/share", &format!("{at}/out")]);
    assert!(
        no_installation.contains("/usr/share is no installation") && no_installation.contains("ci/install"),
        "{no_installation}"
    );
    let missing = refusal(&["--installation", "/nonexistent", &format!("{at}/out")]);
    assert!(missing.contains("/nonexistent: No such file"), "{missing}");
    let conduit = refusal(&["--installation", at, "--as", "a-b", &format!("{at}/out")]);
    assert!(conduit.contains("--as is 'a-b'"), "{conduit}");
    let space = refusal(&["--installation", at, &format!("{at}/with space")]);
    assert!(space.contains("with space/opt': makefiles take"), "{space}");
    assert!(!directory.0.join("out").exists() && !directory.0.join("with space").exists(), "nothing is left of them");
    fs::write(directory.0.join("file"), "").unwrap();
    let file = refusal(&["--installation", at, &format!("{at}/file")]);
    assert!(file.contains("file/opt") && file.contains("ot a directory"), "{file}");
    fs::write(directory.0.join("include/sci-conduit/sci-par.mak"), "# of another version\nGASNET_PREFIX = /x\n")
        .unwrap();
    let old = refusal(&["--installation", at, &format!("{at}/out")]);
    assert!(old.contains("sci-par.mak: it is not a make fragment of this version"), "{old}");
}
