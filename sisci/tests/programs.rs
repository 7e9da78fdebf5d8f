//! The C programs of `c-tests/sisci`, the headers under every compiler's strict eyes, and the names that the library exports.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The directory of the library that cargo built for these tests.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().skip(1).find(|directory| directory.join("libsisci.so").exists());
    found.expect("cargo has built libsisci.so").to_owned()
}

/// What `command` printed; it has to succeed.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Compiles a C program of ours and runs it.
fn program(name: &str) {
    program_with(name, &[]);
}

fn program_with(name: &str, arguments: &[&str]) {
    let (root, library) = (root(), library());
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join([&[name], arguments].concat().join("-"));
    run(Command::new("gcc")
        .args(["-O1", "-g", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-D_REENTRANT", "-pthread"])
        .arg("-I")
        .arg(root.join("sisci/include"))
        .arg(root.join("c-tests/sisci").join(format!("{name}.c")))
        .arg("-o")
        .arg(&to)
        .arg("-L")
        .arg(&library)
        // cargo's LD_LIBRARY_PATH may have an older build of the library first: the old form of the path is looked at before it.
        .args(["-lsisci", "-Wl,--disable-new-dtags", &format!("-Wl,-rpath,{}", library.display())]));
    // Each program has node ids of its own: programs of two tests, or of two test runs, must not meet. A directory keeps them apart.
    run(Command::new("unshare").args(["--net", "--map-root-user", "--"]).arg(&to).args(arguments));
}

#[test]
fn one_process() {
    program("single");
}

#[test]
fn two_nodes() {
    program("pair");
}

#[test]
fn two_nodes_on_two_hosts() {
    program_with("pair", &["hosts"]);
}

#[test]
fn ends_of_processes_on_two_hosts() {
    program_with("ends", &["hosts"]);
}

#[test]
fn several_nodes_on_two_hosts() {
    program("hosts");
}

#[test]
fn flags_that_are_set_and_cleared_on_two_hosts() {
    program("flags");
}

#[test]
fn flags_on_two_hosts_with_the_times_of_cards() {
    program_with("flags", &["timed"]);
}

#[test]
fn messages_in_the_manner_of_2004() {
    program("conduit");
}

#[test]
fn messages_on_two_hosts() {
    program_with("conduit", &["hosts"]);
}

#[test]
fn handlers_of_signals_tidy_up() {
    program("signals");
}

#[test]
fn handlers_of_signals_tidy_up_on_two_hosts() {
    program_with("signals", &["hosts"]);
}

#[test]
fn handlers_of_signals_tidy_up_with_the_times_of_cards() {
    program_with("signals", &["timing"]);
}

#[test]
fn handlers_of_signals_tidy_up_in_calls_that_are_traced() {
    program_with("signals", &["trace"]);
}

#[test]
fn odd_lives() {
    program("lives");
}

#[test]
fn many_processes() {
    program("many");
}

#[test]
fn ends_of_processes() {
    program("ends");
}

#[test]
fn strict_mode_faults_and_variables() {
    program("wrong");
}

#[test]
fn the_times_of_cards() {
    program("timing");
}

#[test]
fn traces() {
    program("trace");
}

/// Runs a compiler on a text that includes headers.
fn compiles(compiler: &str, arguments: &[&str], text: &str, language: &str) {
    use std::io::Write;
    let mut command = Command::new(compiler);
    let include = root().join("sisci/include");
    command
        .args(arguments)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I"])
        .arg(include)
        .args(["-x", language, "-"]);
    let mut child = command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command:?} with\n{text}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Compilers that are here: gcc always is.
fn compilers() -> Vec<(&'static str, &'static str)> {
    let all = [("gcc", "g++"), ("clang", "clang++")];
    all.into_iter().filter(|(c, _)| *c == "gcc" || Command::new(c).arg("--version").output().is_ok()).collect()
}

#[test]
fn headers_compile_alone_and_together_in_c_and_cpp() {
    let headers: Vec<String> = std::fs::read_dir(root().join("sisci/include"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "sisci_constants.h")
        .collect();
    assert!(headers.len() >= 8, "{headers:?}");
    let include = |names: &[String]| names.iter().map(|name| format!("#include <{name}>\n")).collect::<String>();
    // A text of nothing but comments and macros is no C.
    let mut texts: Vec<String> =
        headers.iter().map(|name| include(std::slice::from_ref(name)) + "typedef int anything;\n").collect();
    // What programs do with names: `switch`, `#if`, initialisers, `#`, functions as arguments of macros.
    let uses = "#define NAME(f) #f\n#if SCI_FLAG_USE_CALLBACK != 1\n#error\n#endif\nstatic unsigned flags = SCI_FLAG_DMA_READ;\n\
        int main(void) { sci_error_t e = SCI_ERR_OK; const char *n = NAME(SCIOpen); SCIInitialize(0, &e); flags = (unsigned)sizeof n;\n\
        struct sci_query_adapter q; q.subcommand = SCI_Q_ADAPTER_NODEID; q.data = &flags; SCIQuery(SCI_Q_ADAPTER, &q, 0, &e);\n\
        switch (e) { case SCI_ERR_OK: return 0; case SCI_ERR_NO_SUCH_SEGMENT: return 1; default: return (int)flags; } }\n";
    texts.push(include(&headers) + uses);
    for (c, cpp) in compilers() {
        for text in &texts {
            for extra in [
                &["-std=c89", "-Wno-declaration-after-statement"][..],
                &["-std=c99", "-DSISCI_API_V1"],
                &["-std=gnu99", "-D_REENTRANT"],
            ] {
                compiles(c, extra, text, "c");
            }
            if Command::new(cpp).arg("--version").output().is_ok() {
                compiles(cpp, &["-std=c++98"], text, "c++");
                compiles(cpp, &["-std=c++17"], text, "c++");
            }
        }
        compiles(c, &["-std=c99", "-DSISCI_CONSTANTS_FROM_LIBRARY"], &include(&headers), "c");
    }
}

#[test]
fn the_library_exports_each_function_thrice_the_constants_and_nothing_else() {
    let output = run(Command::new("nm").args(["-D", "--defined-only", "-S"]).arg(library().join("libsisci.so")));
    let mut names = BTreeSet::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = (*words.last().unwrap()).to_owned();
        if name.starts_with("_SISCI_PUBLIC_CONST_") {
            assert_eq!(words[1].trim_start_matches('0'), "4", "{name} has four bytes");
            assert_eq!(words[2], "R", "{name} is read-only");
        }
        names.insert(name);
    }
    let functions: BTreeSet<&str> =
        names.iter().filter_map(|name| name.strip_prefix("_SISCI_PUBLIC_FUNC_MT_")).collect();
    let mut expected: BTreeSet<String> = functions
        .iter()
        .flat_map(|name| {
            [(*name).to_owned(), format!("_SISCI_PUBLIC_FUNC_MT_{name}"), format!("_SISCI_PUBLIC_FUNC_ST_{name}")]
        })
        .collect();
    // The header names its functions and constants, each of which is there; devices are exported but not declared.
    let header = std::fs::read_to_string(root().join("sisci/include/sisci_api.h")).unwrap();
    let declared: BTreeSet<&str> =
        header.lines().filter_map(|line| line.strip_prefix("#define SCI")?.split(' ').nth(1)).collect();
    let declared: BTreeSet<&str> =
        declared.iter().filter_map(|name| name.strip_prefix("_SISCI_PUBLIC_FUNC_MT_")).collect();
    assert_eq!(declared.difference(&functions).collect::<Vec<_>>(), Vec::<&&str>::new(), "declared, but not exported");
    assert_eq!(functions.len() - declared.len(), 13, "functions for devices");
    let constants = std::fs::read_to_string(root().join("sisci/include/sisci_constants.h")).unwrap();
    let constants =
        constants.lines().filter_map(|line| line.strip_prefix("extern const unsigned int ")?.strip_suffix(';'));
    expected.extend(constants.map(str::to_owned));
    assert_eq!(names.symmetric_difference(&expected).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// The blocks of C of `docs/api/sisci/calls.md`: the first of each call, and the others.
fn blocks() -> (Vec<String>, Vec<String>) {
    let text = std::fs::read_to_string(root().join("docs/api/sisci/calls.md")).unwrap();
    let of =
        |page: &str| page.split("```").skip(1).step_by(2).map(|block| block[1..].trim().to_owned()).collect::<Vec<_>>();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for page in text.split("\n## ").skip(1) {
        let mut blocks = of(page).into_iter();
        first.extend(blocks.next());
        others.extend(blocks);
    }
    (first, others)
}

#[test]
fn the_pages_have_the_prototypes_of_the_header() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let header = std::fs::read_to_string(root().join("sisci/include/sisci_api.h")).unwrap();
    let header = header.split("#ifdef SISCI_API_V1").next().unwrap();
    let prototypes = header.split_inclusive(';').filter_map(|part| {
        let end = part.rfind("*/\n").map_or(part, |at| &part[at + 3..]).trim();
        let start = end.rfind("\n\n").map_or(end, |at| &end[at + 2..]);
        (start.contains(" SCI") || start.contains("*SCI")).then(|| words(start)).filter(|line| line.ends_with(");"))
    });
    let prototypes: BTreeSet<String> = prototypes.collect();
    let pages: BTreeSet<String> =
        blocks().0.iter().flat_map(|block| block.lines().map(words).collect::<Vec<_>>()).collect();
    assert!(prototypes.len() > 90, "{}", prototypes.len());
    assert_eq!(prototypes.symmetric_difference(&pages).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn the_examples_of_the_pages_compile() {
    let given = "#include <sisci_api.h>\n#include <stdio.h>\nsci_error_t error; sci_desc_t sd; sci_local_segment_t segment; sci_remote_segment_t remote;\n\
        sci_map_t map, other; sci_sequence_t sequence; sci_sequence_status_t status; sci_dma_queue_t queue; sci_dma_channel_t channel; sci_local_interrupt_t interrupt;\n\
        sci_remote_interrupt_t remote_interrupt; sci_local_data_interrupt_t data_interrupt; sci_remote_data_interrupt_t remote_data_interrupt;\n\
        unsigned node, type; size_t size; volatile int *flag; char data[64]; void *pages;\n";
    let examples = blocks().1;
    assert!(examples.len() > 40);
    let functions = examples.iter().enumerate();
    let functions: String = functions
        .map(|(k, example)| {
            let own = example.lines().fold(String::new(), |text, line| text + "  " + line + "\n");
            format!("int example_{k}(void);\nint example_{k}(void) {{\n{own}  return 0;\n}}\n")
        })
        .collect();
    for (c, _) in compilers() {
        compiles(c, &["-std=gnu11"], &(given.to_owned() + &functions), "c");
    }
}

#[test]
fn a_program_that_ends_without_farewell_leaks_nothing() {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unclosed");
    let source = to.with_extension("c");
    let text = "#include <sisci_api.h>\nint main(void) { sci_error_t e; sci_desc_t d; sci_local_segment_t s; sci_dma_queue_t q; sci_map_t m;\n\
        SCIInitialize(0, &e); SCIOpen(&d, 0, &e); SCICreateSegment(d, &s, 7, 4096, NULL, NULL, 0, &e); SCIMapLocalSegment(s, &m, 0, 0, NULL, 0, &e);\n\
        SCICreateDMAQueue(d, &q, 0, 1, 0, &e); return e != SCI_ERR_OK; }\n";
    std::fs::write(&source, text).unwrap();
    let library = library();
    run(Command::new("gcc")
        .args(["-fsanitize=address", "-I"])
        .arg(root().join("sisci/include"))
        .arg(&source)
        .arg("-o")
        .arg(&to)
        .arg("-L")
        .arg(&library)
        .args(["-lsisci", "-Wl,--disable-new-dtags", &format!("-Wl,-rpath,{}", library.display())]));
    run(Command::new("unshare")
        .args(["--net", "--map-root-user", "--"])
        .arg(&to)
        .env("ASAN_OPTIONS", "detect_leaks=1"));
}

#[test]
fn opened_and_closed_a_hundred_times() {
    let text = "import ctypes, _ctypes, sys\nfor i in range(100):\n l = ctypes.CDLL(sys.argv[1])\n e = ctypes.c_uint(1)\n\
        \n l._SISCI_PUBLIC_FUNC_ST_SCIInitialize(0, ctypes.byref(e))\n assert e.value == 0, e\n\
        \n d = ctypes.c_void_p()\n l.SCIOpen(ctypes.byref(d), 0, ctypes.byref(e))\n assert e.value == 0, e\n\
        \n s = ctypes.c_void_p()\n l.SCICreateSegment(d, ctypes.byref(s), 1234567, ctypes.c_size_t(64), None, None, 0, ctypes.byref(e))\n assert e.value == 0, e\n\
        \n l._SISCI_PUBLIC_FUNC_MT_SCITerminate()\n _ctypes.dlclose(l._handle)\n";
    run(Command::new("python3").args(["-c", text]).arg(library().join("libsisci.so")));
}
