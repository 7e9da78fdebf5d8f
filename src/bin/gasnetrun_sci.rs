//! `gasnetrun_sci -n N program args…`: starts N nodes on this host and supervises them.
//! Contract: environment.md §3.1.
// Rust's start-up code would make SIGPIPE ignored, and then so would be every node's.
#![cfg_attr(not(test), no_main)]

use clap::{Arg, ArgAction, Command, value_parser};
use gasnet_sci::config::Config;
use gasnet_sci::job::boot::{HANDOFF, handoff};
use gasnet_sci::job::header::JobHeader;
use gasnet_sci::job::spawn::{self, Spawned};
use gasnet_sci::job::{supervise, sys};
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[path = "shared/man.rs"]
mod man;

const NAME: &str = "gasnetrun_sci";
/// The shell's statuses for a program that is not there, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Entry point; see the crate's head for why it is not Rust's.
#[cfg_attr(not(test), unsafe(export_name = "main"))]
#[cfg_attr(test, allow(dead_code))]
pub extern "C" fn start() -> i32 {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.iter().eq(["--man"]) {
        return write_man();
    }
    match parse(&arguments).and_then(launch) {
        Ok(status) => status,
        Err(stop) => stop.tell(),
    }
}

// Ends the launcher before there is a job.
struct Stop {
    status: u8,
    text: String,
}

impl Stop {
    fn new(status: u8, text: impl Into<String>) -> Stop {
        Stop { status, text: text.into() }
    }

    fn tell(self) -> i32 {
        let text = self.text.trim_end();
        // A failure to write has nowhere to be told.
        let _ = if self.status == 0 { writeln!(io::stdout(), "{text}") } else { writeln!(io::stderr(), "{text}") };
        self.status.into()
    }
}

fn advise(text: &str) {
    let _ = writeln!(io::stderr(), "{NAME}: {text}");
}

struct Order {
    nodes: u32,
    cpus: usize,
    verbose: bool,
    dry: bool,
    program: OsString,
    arguments: Vec<OsString>,
}

// --- the command line ----------------------------------------------------------------------------

// Other launchers of the family have long options with one dash, and values joined to them. All become clap's forms.
// The second part is the program with its arguments.
fn normalise(arguments: &[OsString]) -> (Vec<OsString>, &[OsString]) {
    let mut options = vec![OsString::from(NAME)];
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let text = argument.to_string_lossy();
        if text == "--" {
            return (options, &arguments[at + 1..]);
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        at += 1;
        let (option, needs_value) = canonical(&text);
        options.push(option.into());
        if needs_value && let Some(value) = arguments.get(at) {
            options.push(value.clone());
            at += 1;
        }
    }
    (options, &arguments[at..])
}

// The option in clap's form, and whether its value is the next argument.
fn canonical(text: &str) -> (String, bool) {
    for (spelling, long) in
        [("-np", "--nodes"), ("-n", "--nodes"), ("-N", "--hosts"), ("-c", "--cpus"), ("-E", "--env")]
    {
        match text.strip_prefix(spelling) {
            Some("") => return (long.into(), true),
            Some(value)
                if spelling == "-E" || value.trim_start_matches('=').starts_with(|c: char| c.is_ascii_digit()) =>
            {
                return (format!("{long}={}", value.trim_start_matches('=')), false);
            }
            _ => {}
        }
    }
    let word = text.trim_start_matches('-');
    match word {
        "h" | "help" => ("--help".into(), false),
        "spawner" => ("--spawner".into(), true),
        _ if word.starts_with("spawner=") => (format!("--{word}"), false),
        _ if word.starts_with("encode") || word.starts_with("noencode") => ("--encode".into(), false),
        _ => (text.into(), false),
    }
}

fn command() -> Command {
    let flag = |short: char, id: &'static str, help: &'static str| {
        Arg::new(id).short(short).long(id).action(ArgAction::Count).help(help)
    };
    let value = |id: &'static str, name: &'static str| Arg::new(id).long(id).value_name(name).hide(true);
    let number = |id, name, lowest: i64| value(id, name).value_parser(value_parser!(u32).range(lowest..=65535));
    Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .override_usage(format!("{NAME} -n N [options] [--] program [arguments]"))
        .about("Starts N nodes of a GASNet program on this host and supervises them.")
        .after_help(HELP)
        .arg(number("nodes", "N", 1).required(true))
        .arg(number("hosts", "M", 1))
        .arg(number("cpus", "K", 0))
        .arg(value("env", "VARS").action(ArgAction::Append))
        .arg(value("spawner", "NAME"))
        .arg(flag('v', "verbose", "show what is run; sets GASNET_VERBOSEENV=1").hide(true))
        .arg(flag('t', "dry-run", "show only; implies -v").hide(true))
        .arg(flag('k', "keep", "accepted: there are no temporary files; implies -v").hide(true))
        .arg(Arg::new("encode").long("encode").action(ArgAction::Count).hide(true))
}

const HELP: &str = "\
Options of the job:
  -n N, -np N     number of nodes (processes); required
  -N M            number of hosts, at most N; all nodes run on this host
  -c K            bind each node to K CPUs
  -E VAR1,VAR2    accepted: nodes get the whole environment
  -spawner=NAME   accepted: nodes are started by this launcher itself
  -v              show what is run; sets GASNET_VERBOSEENV=1
  -t              show only, run nothing; implies -v
  -k              accepted: there are no temporary files; implies -v
  --              end of options

Exit status: 0 if every node ended with 0, else the code given to gasnet_exit, or 128 + the signal that killed
a node; 1 wrong usage; 126 the program cannot be run; 127 it is not found.";

// For ci/install.
fn write_man() -> i32 {
    let wanted =
        |name: &str| name.starts_with("GASNET_EXIT") || name == "GASNET_SCI_NODES" || name == "GASNET_VERBOSEENV";
    match man::page(command(), wanted, "gasnet-sci").and_then(|page| io::stdout().write_all(&page)) {
        Ok(()) => 0,
        Err(error) => Stop::new(1, format!("{NAME}: cannot write the man page: {error}")).tell(),
    }
}

fn parse(arguments: &[OsString]) -> Result<Order, Stop> {
    let (options, program) = normalise(arguments);
    let found = command().try_get_matches_from(options).map_err(|error| {
        let text = error.to_string();
        if error.use_stderr() {
            Stop::new(1, format!("{NAME}: {}", text.trim_start_matches("error: ").replace("--nodes <N>", "-n N")))
        } else {
            Stop::new(0, text)
        }
    })?;
    let number = |id: &str| found.get_one::<u32>(id).copied();
    let nodes = number("nodes").unwrap_or(1);
    let usage = |problem: String| Stop::new(1, format!("{NAME}: {problem}\n\n{}", command().render_usage()));
    let hosts = number("hosts").unwrap_or(1);
    if hosts > nodes {
        return Err(usage(format!("-N {hosts} hosts are more than -n {nodes} nodes")));
    }
    let Some((program, arguments)) = program.split_first() else {
        return Err(usage("no program is given".into()));
    };
    let dry = found.get_count("dry-run") > 0;
    let verbose = dry || found.get_count("verbose") > 0 || found.get_count("keep") > 0;
    if verbose && hosts > 1 {
        advise(&format!("-N {hosts}: all nodes run on this host"));
    }
    if found.contains_id("spawner") {
        advise("-spawner has no effect: nodes are started by this launcher itself");
    }
    let cpus = number("cpus").unwrap_or(0) as usize;
    Ok(Order { nodes, cpus, verbose, dry, program: program.clone(), arguments: arguments.to_vec() })
}

// --- the program ---------------------------------------------------------------------------------

// As a path, in the current directory, then in PATH. The second part is the program's argv[0].
fn find(program: &OsStr) -> Result<(PathBuf, OsString), Stop> {
    let name = program.to_string_lossy();
    if program.as_bytes().contains(&b'/') {
        return runnable(Path::new(program))
            .map(|()| (program.into(), program.into()))
            .map_err(|(status, why)| Stop::new(status, format!("{NAME}: cannot run {name}: {why}")));
    }
    let here = Path::new(".").join(program);
    #[allow(clippy::disallowed_methods)] // a path of the user's shell, not a setting of ours
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|directory| (directory.join(program), program.to_os_string()));
    let mut refusal = None;
    for (file, zeroth) in std::iter::once((here.clone(), here.into_os_string())).chain(in_path) {
        match runnable(&file) {
            Ok(()) => return Ok((file, zeroth)),
            Err((NOT_EXECUTABLE, why)) => refusal = refusal.or(Some(format!("{}: {why}", file.display()))),
            Err(_) => {}
        }
    }
    Err(match refusal {
        Some(why) => Stop::new(NOT_EXECUTABLE, format!("{NAME}: cannot run {why}")),
        None => Stop::new(NOT_FOUND, format!("{NAME}: {name}: not found in the current directory nor in PATH")),
    })
}

fn runnable(file: &Path) -> Result<(), (u8, String)> {
    let metadata = file.metadata().map_err(|error| {
        let status = if error.kind() == io::ErrorKind::PermissionDenied { NOT_EXECUTABLE } else { NOT_FOUND };
        (status, error.to_string())
    })?;
    if metadata.is_dir() {
        return Err((NOT_EXECUTABLE, "it is a directory".into()));
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err((NOT_EXECUTABLE, "it is not executable".into()));
    }
    Ok(())
}

fn c_string(text: &OsStr) -> Result<CString, Stop> {
    CString::new(text.as_bytes()).map_err(|_| Stop::new(1, format!("{NAME}: an argument contains a zero byte")))
}

// --- the job -------------------------------------------------------------------------------------

fn launch(order: Order) -> Result<i32, Stop> {
    let (file, zeroth) = find(&order.program)?;
    let config = Config::from_env().map_err(|error| Stop::new(1, format!("{NAME}: {error}")))?.0;
    if order.verbose {
        show(&order, &file);
    }
    if order.dry {
        return Ok(0);
    }
    let blocks = cpu_blocks(order.nodes as usize, order.cpus);
    let system = |what: &'static str| move |error: io::Error| Stop::new(1, format!("{NAME}: {what}: {error}"));
    let path = c_string(file.as_os_str())?;
    let argv = std::iter::once(&zeroth).chain(&order.arguments).map(|a| c_string(a)).collect::<Result<Vec<_>, _>>()?;
    let (memory, header) = JobHeader::create(order.nodes).map_err(system("no memory for the job"))?;
    let (exec_errors, exec_report) = io::pipe().map_err(system("no pipe"))?;
    match spawn::spawn_all(&header).map_err(system("cannot start the nodes"))? {
        Spawned::Node { rank, lifeline } => {
            let cpus = blocks.get(rank as usize).map(Vec::as_slice);
            run_program(
                &Program { path, argv, verbose: order.verbose, cpus },
                &header,
                rank,
                memory,
                lifeline,
                exec_report,
            )
        }
        Spawned::Supervisor(children) => {
            drop((memory, exec_report));
            let exit_time = Duration::from_secs_f64(config.exit_seconds(order.nodes));
            let options = supervise::Options { prefix: NAME, exit_time, exec_errors: Some(exec_errors) };
            sys::exit_now(supervise::run(header, children, options))
        }
    }
}

fn show(order: &Order, file: &Path) {
    let words = order.arguments.iter().map(|argument| format!(" {argument:?}"));
    advise(&format!("{} nodes of {:?}{}", order.nodes, file, words.collect::<String>()));
}

struct Program<'a> {
    path: CString,
    argv: Vec<CString>,
    verbose: bool,
    cpus: Option<&'a [usize]>,
}

// In the new process: becomes the program.
fn run_program(
    program: &Program<'_>,
    header: &JobHeader,
    rank: u32,
    memory: OwnedFd,
    lifeline: OwnedFd,
    exec_report: io::PipeWriter,
) -> ! {
    let error = prepare_and_exec(program, header, rank, memory, lifeline);
    let path = program.path.to_string_lossy();
    let (status, why) = match error.raw_os_error() {
        Some(libc::ENOENT) => (NOT_EXECUTABLE, "its interpreter (#! line or ELF loader) does not exist".into()),
        Some(libc::ENOEXEC) => {
            (NOT_EXECUTABLE, "it is no program for this machine, nor a script with a #! line".into())
        }
        _ => (NOT_EXECUTABLE, error.to_string()),
    };
    let line = format!("cannot run {path}: {why}\n");
    let bytes: Vec<u8> = std::iter::once(status).chain(line.into_bytes()).collect();
    let _ = File::from(OwnedFd::from(exec_report)).write_all(&bytes);
    sys::exit_now(status.into())
}

fn prepare_and_exec(
    program: &Program<'_>,
    header: &JobHeader,
    rank: u32,
    memory: OwnedFd,
    lifeline: OwnedFd,
) -> io::Error {
    let memory = match sys::duplicate_high(memory.as_fd(), spawn::HIGH) {
        Ok(memory) => memory,
        Err(error) => return error,
    };
    for fd in [&memory, &lifeline] {
        if let Err(error) = sys::set_close_on_exec(fd.as_fd(), false) {
            return error;
        }
    }
    let value = handoff(header, rank, memory.as_raw_fd(), lifeline.as_raw_fd());
    // SAFETY: this process has one thread.
    unsafe { std::env::set_var(HANDOFF, value) };
    if program.verbose {
        // SAFETY: as above.
        unsafe { std::env::set_var("GASNET_VERBOSEENV", "1") };
    }
    if let Some(cpus) = program.cpus {
        sys::bind_to_cpus(cpus);
    }
    sys::execute(&program.path, &program.argv)
}

// One block of CPUs per node, from those that this process may use; none when -c is not given or there are too few.
fn cpu_blocks(nodes: usize, each: usize) -> Vec<Vec<usize>> {
    if each == 0 {
        return Vec::new();
    }
    let cpus = sys::usable_cpus();
    if nodes * each > cpus.len() {
        advise(&format!(
            "-c {each}: {nodes} nodes need {} CPUs, {} are usable; nodes are not bound",
            nodes * each,
            cpus.len()
        ));
        return Vec::new();
    }
    cpus.chunks(each).map(<[usize]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalised(line: &str) -> (Vec<String>, Vec<String>) {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let (options, program) = normalise(&arguments);
        let text = |list: &[OsString]| list.iter().map(|a| a.to_string_lossy().into_owned()).collect();
        (text(&options[1..]), text(program))
    }

    #[test]
    fn every_spelling_becomes_the_form_that_clap_knows() {
        for (line, options) in [
            ("-n 4 p", "--nodes 4"),
            ("-n4 p", "--nodes=4"),
            ("-np 4 p", "--nodes 4"),
            ("-np4 p", "--nodes=4"),
            ("-N2 -c3 -EA,B p", "--hosts=2 --cpus=3 --env=A,B"),
            ("-spawner=ssh -encode-args -noencode p", "--spawner=ssh --encode --encode"),
            ("-spawner ssh -help p", "--spawner ssh --help"),
        ] {
            let expected: Vec<&str> = options.split(' ').collect();
            assert_eq!(
                normalised(line),
                (expected.iter().map(|s| s.to_string()).collect(), vec!["p".into()]),
                "{line}"
            );
        }
    }

    #[test]
    fn what_follows_the_program_is_its_own() {
        let program = |line| normalised(line).1;
        assert_eq!(program("-n 1 p -n 2 -- -v"), ["p", "-n", "2", "--", "-v"]);
        assert_eq!(program("-n 1 -- -p --"), ["-p", "--"]);
        assert_eq!(program("-n 1 - x"), ["-", "x"]);
    }
}
