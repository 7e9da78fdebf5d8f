//! From the arguments to an [`Order`]. Spellings that other launchers of the family accept are first turned into
//! clap's forms.

use super::cli::{NAME, command};
use super::hosts::Source;
use super::place::Place;
use super::stop::{Stop, advise};
use clap::ArgMatches;
use gasnet_sci::os::topology::Bind;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The command line in a form that can be carried out. What is skipped is the launcher's own affair: agents are not told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub nodes: u32,
    /// The hosts, if the nodes are not all on this one.
    #[serde(skip)]
    pub hosts: Option<Hosts>,
    pub bind: Bind,
    /// Too few CPUs are an error only with `--bind`. With this set they are none, because other launchers take `-c`
    /// as a wish.
    pub bind_is_wish: bool,
    /// The file that says where each node runs.
    #[serde(skip)]
    pub map: Option<PathBuf>,
    /// The file for the traffic matrix.
    #[serde(skip)]
    pub matrix: Option<PathBuf>,
    /// Nodes keep address space layout randomisation.
    pub aslr: bool,
    pub output: Output,
    #[serde(skip)]
    pub time_limit: Option<Duration>,
    /// The job goes on without nodes that die.
    #[serde(skip)]
    pub survive: bool,
    pub debug: Option<Debug>,
    pub verbose: bool,
    #[serde(skip)]
    pub dry: bool,
    pub program: OsString,
    pub arguments: Vec<OsString>,
}

/// Several hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    pub source: Source,
    pub place: Place,
    /// The number of hosts that the user wants.
    pub wanted: Option<u32>,
}

/// The destination of the nodes' output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Output {
    /// To the launcher's own streams. With `tag`, each line has the node in front.
    Here { tag: bool },
    /// To files with these names, first stdout, then stderr. `%n` in a name stands for the node.
    Files([String; 2]),
}

/// The debugger and the nodes to be debugged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Debug {
    /// The user's debugger; empty: the first known one that is installed.
    pub command: String,
    /// Only this node.
    pub node: Option<u32>,
}

/// Reads the command line.
pub fn parse(arguments: &[OsString]) -> Result<Order, Stop> {
    let (options, program) = normalise(arguments);
    let found = command().try_get_matches_from(options).map_err(|error| {
        let text = error.to_string();
        if !error.use_stderr() {
            return Stop::new(0, text);
        }
        let text = text.trim_start_matches("error: ").replace("--nodes <N>", "-n N");
        let usage = if text.contains("Usage:") { String::new() } else { format!("\n{}", command().render_usage()) };
        Stop::new(1, format!("{NAME}: {text}{usage}"))
    })?;
    let usage = |problem: String| Stop::new(1, format!("{NAME}: {problem}\n\n{}", command().render_usage()));
    let Some((program, arguments)) = program.split_first() else {
        return Err(usage("no program is given".into()));
    };
    order(&found, program, arguments).map_err(usage)
}

fn order(found: &ArgMatches, program: &OsString, arguments: &[OsString]) -> Result<Order, String> {
    let number = |id: &str| found.get_one::<u32>(id).copied();
    let nodes = number("nodes").unwrap_or(1);
    let wanted = number("hosts");
    if let Some(wanted) = wanted.filter(|wanted| *wanted > nodes) {
        return Err(format!("-N {wanted} hosts are more than -n {nodes} nodes"));
    }
    let hosts = hosts(found, wanted)?;
    let survive = found.get_flag("survive");
    if survive && hosts.is_some() {
        return Err("--survive works on one host only: leave it out, or --host, -H, -N, and the hosts that the environment names".into());
    }
    let dry = found.get_count("dry-run") > 0;
    let verbose = dry || found.get_count("verbose") > 0 || found.get_count("keep") > 0;
    if let Some(wanted) = wanted.filter(|wanted| verbose && hosts.is_none() && *wanted > 1) {
        advise(&format!("-N {wanted}: all nodes run on this host"));
    }
    if found.contains_id("spawner") {
        advise("-spawner has no effect: nodes are started by this launcher itself");
    }
    let each = number("cpus").unwrap_or(0) as usize;
    let word = found.get_one::<String>("bind").map(String::as_str);
    if let Some(word) = word.filter(|word| each > 0 && *word != "core") {
        advise(&format!("-c {each} has no effect beside --bind {word}"));
    }
    let bind = match word {
        Some("core") => Bind::Cores(each.max(1)),
        Some("numa") => Bind::Numa,
        Some(_) => Bind::None,
        None if each > 0 => Bind::Cpus(each),
        None => Bind::None,
    };
    Ok(Order {
        nodes,
        hosts,
        bind,
        bind_is_wish: word.is_none(),
        map: file(found, "map")?,
        matrix: file(found, "matrix")?,
        aslr: found.get_flag("aslr"),
        output: output(found, nodes)?,
        time_limit: found.get_one::<f64>("timeout").map(|seconds| Duration::from_secs_f64(*seconds)),
        survive,
        debug: debug(found, nodes)?,
        verbose,
        dry,
        program: program.clone(),
        arguments: arguments.to_vec(),
    })
}

fn file(found: &ArgMatches, option: &str) -> Result<Option<PathBuf>, String> {
    match found.get_one::<String>(option) {
        Some(name) if name.is_empty() => Err(format!("--{option} needs a name")),
        name => Ok(name.map(PathBuf::from)),
    }
}

fn hosts(found: &ArgMatches, wanted: Option<u32>) -> Result<Option<Hosts>, String> {
    let text = |id: &str| found.get_one::<String>(id);
    let place =
        text("place").map(|text| Place::parse(text).map_err(|problem| format!("--place: {problem}"))).transpose()?;
    let source = match (text("host"), text("hostfile"), Source::family()) {
        (Some(list), ..) => Some(Source::List(list.clone())),
        (_, Some(file), _) => Some(Source::File(file.into())),
        (_, _, Some(family)) => Some(family),
        _ if wanted.is_some_and(|wanted| wanted > 1) && Source::is_batch() => Some(Source::Batch),
        _ if place.is_some() => {
            return Err("--place needs hosts: --host, -H, GASNET_SSH_SERVERS, or -N under a batch system".into());
        }
        _ => None,
    };
    Ok(source.map(|source| Hosts { source, place: place.unwrap_or(Place::Block), wanted }))
}

fn output(found: &ArgMatches, nodes: u32) -> Result<Output, String> {
    let text = |id: &str| found.get_one::<String>(id);
    if let Some(name) = ["output", "output-dir"].into_iter().find(|id| text(id).is_some_and(String::is_empty)) {
        return Err(format!("--{name} needs a name"));
    }
    if let Some(directory) = text("output-dir") {
        return Ok(Output::Files(["out", "err"].map(|stream| format!("{directory}/node-%n.{stream}"))));
    }
    match text("output") {
        Some(file) if nodes > 1 && !file.contains("%n") => Err(format!(
            "--output {file}: {nodes} nodes need {nodes} files: put %n, which becomes the node's number, into the name; \
             to have everything in one file, redirect the launcher's output"
        )),
        Some(file) => Ok(Output::Files([file.clone(), file.clone()])),
        None => Ok(Output::Here { tag: found.get_flag("tag-output") }),
    }
}

fn debug(found: &ArgMatches, nodes: u32) -> Result<Option<Debug>, String> {
    let node = found.get_one::<u32>("debug-node").copied();
    if let Some(node) = node.filter(|node| *node >= nodes) {
        return Err(format!("--debug-node {node}: there are only nodes 0 to {}", nodes - 1));
    }
    let command = found.get_one::<String>("debug").cloned();
    Ok((command.is_some() || node.is_some()).then(|| Debug { command: command.unwrap_or_default(), node }))
}

// Other launchers of the family have long options with one dash, and values joined to them. This turns all of them
// into clap's forms. The second part of the result is the program with its arguments.
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
        let option = canonical(&text);
        let needs_value = takes_value(&option);
        options.push(option.into());
        if needs_value && let Some(value) = arguments.get(at) {
            options.push(value.clone());
            at += 1;
        }
    }
    (options, &arguments[at..])
}

// The option in clap's long form.
fn canonical(text: &str) -> String {
    for (spelling, long) in [
        ("-np", "--nodes"),
        ("-n", "--nodes"),
        ("-N", "--hosts"),
        ("-c", "--cpus"),
        ("-E", "--env"),
        ("-H", "--hostfile"),
    ] {
        match text.strip_prefix(spelling) {
            Some("") => return long.into(),
            Some(value)
                if "-E-H".contains(spelling)
                    || value.trim_start_matches('=').starts_with(|c: char| c.is_ascii_digit()) =>
            {
                return format!("{long}={}", value.trim_start_matches('='));
            }
            _ => {}
        }
    }
    let word = text.trim_start_matches('-');
    match word {
        "h" | "help" => "--help".into(),
        _ if word.starts_with("encode") || word.starts_with("noencode") => "--encode".into(),
        _ if word.chars().all(|letter| "vtkV".contains(letter)) => text.into(), // flags, perhaps several
        _ => format!("--{word}"),
    }
}

// Does the option take the next argument as its value?
fn takes_value(option: &str) -> bool {
    let named = |argument: &&clap::Arg| option.strip_prefix("--").is_some_and(|name| argument.get_long() == Some(name));
    let command = command();
    let found = command.get_arguments().find(named);
    found.is_some_and(|argument| argument.get_action().takes_values() && !argument.is_require_equals_set())
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

    fn parsed(line: &str) -> Order {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        parse(&arguments).map_err(|stop| stop.text().to_string()).unwrap()
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
            ("-bind core --timeout 3 -tag-output p", "--bind core --timeout 3 --tag-output"),
            ("--debug p", "--debug"),
            ("--debug=gdb p", "--debug=gdb"),
            ("-vt -k p", "-vt -k"),
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

    #[test]
    fn bind_and_cpus_make_one_wish() {
        for (options, bind) in [
            ("", Bind::None),
            ("-c 2 ", Bind::Cpus(2)),
            ("-c 0 ", Bind::None),
            ("--bind core ", Bind::Cores(1)),
            ("--bind=core -c 3 ", Bind::Cores(3)),
            ("--bind numa ", Bind::Numa),
            ("--bind none -c 3 ", Bind::None),
        ] {
            assert_eq!(parsed(&format!("-n 1 {options}p")).bind, bind, "{options}");
        }
    }

    #[test]
    fn randomisation_is_kept_only_if_asked_for() {
        assert_eq!(["", "--aslr ", "-aslr "].map(|o| parsed(&format!("-n 2 {o}p")).aslr), [false, true, true]);
    }

    #[test]
    fn losses_are_survived_on_one_host_only() {
        assert!(parsed("-n 2 --survive p").survive && !parsed("-n 2 p").survive);
        let arguments = ["-n", "2", "--survive", "--host", "a,b", "p"].map(OsString::from);
        let refused = parse(&arguments).err().map(|stop| stop.text().to_string()).unwrap_or_default();
        assert!(refused.contains("--survive works on one host only"), "{refused}");
    }

    #[test]
    fn output_and_debug_options_are_what_they_say() {
        assert_eq!(parsed("-n 1 --tag-output p").output, Output::Here { tag: true });
        assert_eq!(parsed("-n 1 --output f p").output, Output::Files(["f".into(), "f".into()]));
        let files = ["d/node-%n.out", "d/node-%n.err"].map(String::from);
        assert_eq!(parsed("-n 2 --output-dir d p").output, Output::Files(files));
        assert_eq!(parsed("-n 2 p").debug, None);
        let debug = |command: &str, node| Some(Debug { command: command.into(), node });
        assert_eq!(parsed("-n 2 --debug p").debug, debug("", None));
        assert_eq!(parsed("-n 2 --debug-node 1 p").debug, debug("", Some(1)));
        assert_eq!(parsed("-n 2 --debug=wait --debug-node=1 p").debug, debug("wait", Some(1)));
    }

    #[test]
    fn definitions_are_consistent() {
        command().debug_assert();
    }
}
