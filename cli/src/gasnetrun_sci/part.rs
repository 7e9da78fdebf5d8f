//! The nodes of a job on this host: how they run here, and how they are started. The launcher has all nodes of a job in one part; each
//! agent of a job of several hosts has its own.
//!
//! Must not know: who supervises the nodes, what is said to the user at the end.

#![allow(unsafe_code)] // system calls and C

use super::cli::NAME;
use super::debugger;
use super::mapping::Mapping;
use super::matrix::Parts;
use super::options::{Order, Output};
use super::program::{self, NOT_EXECUTABLE};
use super::stop::{Stop, advise};
use super::timing;
use gasnet_sci::base::config::{Config, tune};
use gasnet_sci::boot::{HANDOFF, handoff};
use gasnet_sci::os::topology::{Bind, Binding, Topology, format_list};
use gasnet_sci::os::{cgroup, layout, sys};
use gasnet_sci::supervise::JobHeader;
use gasnet_sci::supervise::spawn::{self, Children, Spawned, Streams};
use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

// The tune file of this installation, for the nodes' environment; `None` if the user names one, or if there is none.
// An error in it is reported here, once for the job.
fn tune_file(config: &Config) -> Option<OsString> {
    if config.tune_file.is_some() {
        return None;
    }
    match tune::find(None, &tune::Asker::here()) {
        Ok(tuned) => tuned.map(|tuned| tuned.file.into()),
        Err(problem) => {
            advise(&problem);
            Some(tune::NONE.into())
        }
    }
}

// --- binding -------------------------------------------------------------------------------------

// Where each of the nodes `ranks` is bound; `None`: nowhere. Empty: none is.
fn places(order: &Order, mapping: Option<&Mapping>, ranks: &[u32]) -> Result<Vec<Option<Binding>>, Stop> {
    if let Some(mapping) = mapping {
        return mapping
            .bindings(&Topology::read(), ranks)
            .map_err(|problem| Stop::new(1, format!("{NAME}: {problem}")));
    }
    let nodes = ranks.len();
    if order.bind == Bind::None {
        return Ok(Vec::new());
    }
    let host = Topology::read();
    let places = match host.places(order.bind, nodes) {
        Ok(places) => places,
        Err(problem) if order.bind_is_wish => {
            advise(&format!("-c: {problem}; nodes are not bound"));
            return Ok(Vec::new());
        }
        Err(problem) => {
            let text = format!("{NAME}: --bind: {problem}: start fewer nodes, or with a smaller -c, or without --bind");
            return Err(Stop::new(1, text));
        }
    };
    if order.bind == Bind::Numa && nodes > host.cpus() {
        advise(&format!("--bind numa: {nodes} nodes share {} CPUs", host.cpus()));
    } else if let Some(quota) = cgroup::cpus().filter(|quota| nodes as f64 > quota.ceil()) {
        advise(&format!("--bind: the cgroup's quota is {quota} CPUs for {nodes} nodes"));
    }
    Ok(places.into_iter().map(Some).collect())
}

// --- addresses -----------------------------------------------------------------------------------

// The addresses at which the nodes' programs have their functions and data.
enum Addresses {
    // The system puts each node where it likes: there is one node, or the user asked for `--aslr`.
    Random,
    // All nodes have the same addresses. `changed`: the launcher switched randomisation off, so nodes switch it on
    // again for the programs that they start.
    Same { changed: bool },
    // The system forbids switching randomisation off.
    Refused(io::Error),
}

impl Addresses {
    // Changes this process; the nodes inherit the setting.
    fn choose(order: &Order) -> Addresses {
        if order.aslr || order.nodes == 1 {
            return Addresses::Random;
        }
        layout::set_random(false).map_or_else(Addresses::Refused, |changed| Addresses::Same { changed })
    }
}

impl std::fmt::Display for Addresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Addresses::Random => f.write_str("random in each node"),
            Addresses::Same { .. } => f.write_str("the same in all nodes (--aslr: random)"),
            Addresses::Refused(error) => write!(f, "random in each node, for this system forbids the change: {error}"),
        }
    }
}

// --- the part ------------------------------------------------------------------------------------

/// The nodes of a job on this host, ready to be started.
pub struct Part {
    pub order: Order,
    // An agent's: what the user sees goes through the launcher.
    is_agents: bool,
    pub file: PathBuf,
    zeroth: OsString,
    /// The ranks of the nodes on this host, in order.
    ranks: Vec<u32>,
    /// Where each of them is bound; `None`: nowhere. Empty: none is.
    places: Vec<Option<Binding>>,
    mapping: Option<Mapping>,
    /// Where the nodes write their parts of the traffic matrix, if there is to be one.
    parts: Option<Parts>,
    pub debug: Option<debugger::Plan>,
    /// Value of [`tune::VARIABLE`] for the nodes' environment, if it must be set.
    tune_file: Option<OsString>,
    /// Value of [`timing::LOADER`] for the nodes, if they are in timing mode.
    timed: Option<OsString>,
    addresses: Addresses,
}

// All that a new process needs in order to become its node's program.
struct Start<'a> {
    header: &'a JobHeader,
    memory: &'a OwnedFd,
    exec_report: io::PipeWriter,
}

impl Part {
    /// Finds out how the nodes `ranks` run here. Changes this process: its nodes inherit how addresses are chosen. `is_agents`: this
    /// process is an agent, not the launcher.
    pub fn prepare(
        is_agents: bool,
        order: Order,
        mapping: Option<Mapping>,
        file: PathBuf,
        zeroth: OsString,
        ranks: Vec<u32>,
        config: &Config,
    ) -> Result<Part, Stop> {
        let places = places(&order, mapping.as_ref(), &ranks)?;
        let debug = order.debug.as_ref().map(|debug| debugger::Plan::new(debug, order.nodes)).transpose()?;
        let tune_file = tune_file(config);
        let timed = timing::library_path(config, order.nodes)?;
        let addresses = Addresses::choose(&order);
        Ok(Part {
            is_agents,
            order,
            file,
            zeroth,
            ranks,
            places,
            mapping,
            parts: None,
            debug,
            tune_file,
            timed,
            addresses,
        })
    }

    /// Tells the user what is run.
    pub fn show(&self) {
        if !self.is_agents {
            // Before an agent, the launcher has said it.
            let words = self.order.arguments.iter().map(|argument| format!(" {argument:?}"));
            advise(&format!("{} nodes of {:?}{}", self.order.nodes, self.file, words.collect::<String>()));
        }
        advise(&format!("addresses of functions and static data: {}", self.addresses));
        for (rank, place) in self.ranks.iter().zip(&self.places) {
            match (place, &self.mapping) {
                (Some(place), _) => {
                    let memory = place.memory.map_or(String::new(), |node| format!(", memory of NUMA node {node}"));
                    advise(&format!("node {rank}: CPUs {}{memory}", format_list(&place.cpus)));
                }
                (None, Some(mapping)) => advise(&format!("node {rank}: {}, not bound", mapping.place(*rank))),
                (None, None) => {}
            }
        }
        for rank in self.ranks.iter().copied() {
            let prefix = self.debug.as_ref().map_or(Vec::new(), |debug| debug.prefix(rank, &self.title(rank)));
            if !prefix.is_empty() {
                let words: Vec<_> = prefix.iter().map(|word| word.to_string_lossy()).collect();
                advise(&format!("node {rank} under {}", words.join(" ")));
            }
            if let Output::Files([out, err]) = &self.order.output {
                let [out, err] = [out, err].map(|name| file_of(name, rank));
                advise(&format!("node {rank}: stdout to {}, stderr to {}", out.display(), err.display()));
            }
        }
    }

    fn title(&self, rank: u32) -> String {
        format!("node {rank} of {}: {}", self.order.nodes, self.order.program.to_string_lossy())
    }

    /// Makes the place for the nodes' parts of the traffic matrix. This process must be the one that outlives them.
    pub fn make_parts(&mut self, header: &JobHeader) -> Result<(), Stop> {
        self.parts =
            Some(Parts::create(header.cookie()).map_err(|problem| Stop::new(1, format!("{NAME}: {problem}")))?);
        Ok(())
    }

    /// Takes what was made, for the end of the job.
    pub fn take_parts(&mut self) -> Option<Parts> {
        self.parts.take()
    }

    /// Tells all nodes their positions. Call it before there are nodes.
    pub fn hand_positions(&self, header: &JobHeader) {
        for (rank, position) in (0..).zip(self.mapping.iter().flat_map(Mapping::positions)) {
            position.into_iter().for_each(|position| header.record(rank).set_position(position));
        }
    }

    /// Starts this host's nodes, which never return from here. Also returns what brings the errors of those whose program cannot be
    /// executed. Node `stdin` gets this process's stdin, node `terminal` its stdout and stderr too.
    pub fn start(
        &self,
        header: &JobHeader,
        memory: &OwnedFd,
        stdin: u32,
        terminal: Option<u32>,
    ) -> Result<(Children, io::PipeReader), Stop> {
        let (exec_errors, exec_report) = io::pipe().map_err(sys::refused("pipe2")).map_err(system("no pipe"))?;
        let streams = |rank| self.streams(rank, terminal);
        let plan = spawn::Plan { stdin, streams: &streams };
        match spawn::spawn_all(header, &plan).map_err(system("cannot start the nodes"))? {
            Spawned::Node { rank, lifeline } => {
                if terminal == Some(rank) {
                    sys::set_plain(libc::SIGINT, libc::SIG_DFL);
                }
                self.become_program(Start { header, memory, exec_report }, rank, lifeline)
            }
            Spawned::Supervisor(children) => Ok((children, exec_errors)),
        }
    }

    fn streams(&self, rank: u32, terminal: Option<u32>) -> io::Result<Streams> {
        match &self.order.output {
            _ if terminal == Some(rank) => Ok(Streams::Inherited),
            Output::Files(names) => {
                let [out, err] = names.each_ref().map(|name| file_of(name, rank));
                // Append mode, so that two streams in one file do not overwrite each other.
                let open = |file: &Path| OpenOptions::new().append(true).create(true).open(file);
                Ok(Streams::Files([open(&out)?, open(&err)?]))
            }
            // The node of a job of one may write to the launcher's own streams. An agent has none that the user sees.
            Output::Here { tag: false } if self.order.nodes == 1 && !self.is_agents => Ok(Streams::Inherited),
            Output::Here { .. } => Ok(Streams::Piped),
        }
    }

    /// Creates or empties all files. So a file name that does not work is reported before any node runs.
    pub fn prepare_files(&self) -> Result<(), Stop> {
        let Output::Files(names) = &self.order.output else { return Ok(()) };
        for rank in self.ranks.iter().copied() {
            for file in names.iter().map(|name| file_of(name, rank)) {
                let created = match file.parent() {
                    Some(directory) => std::fs::create_dir_all(directory).and_then(|()| File::create(&file)),
                    None => File::create(&file),
                };
                if let Err(error) = created {
                    let text = format!("{NAME}: cannot write the output of node {rank} to {}: {error}", file.display());
                    return Err(Stop::new(1, text));
                }
            }
        }
        Ok(())
    }

    // Runs in the new process.
    fn become_program(&self, start: Start<'_>, rank: u32, lifeline: OwnedFd) -> ! {
        let mut report = File::from(OwnedFd::from(start.exec_report));
        let (status, line) = match self.prepare_and_execute(start.header, start.memory, rank, lifeline) {
            Ok((path, error)) => {
                let (status, why) = program::refusal(Path::new(&path), &error);
                (status, format!("cannot run {path}: {why}"))
            }
            Err(problem) => (NOT_EXECUTABLE, format!("node {rank}: {problem}")),
        };
        let bytes: Vec<u8> = std::iter::once(status).chain(line.into_bytes()).chain([b'\n']).collect();
        let _ = report.write_all(&bytes);
        sys::exit_now(status.into())
    }

    // Returns only on failure: the program that could not be executed and the error, or the step before that failed.
    fn prepare_and_execute(
        &self,
        header: &JobHeader,
        memory: &OwnedFd,
        rank: u32,
        lifeline: OwnedFd,
    ) -> Result<(String, io::Error), String> {
        let words = self.words(rank)?;
        let memory = sys::duplicate_high(memory.as_fd(), spawn::HIGH).map_err(|e| format!("the job's memory: {e}"))?;
        for fd in [&memory, &lifeline] {
            sys::set_close_on_exec(fd.as_fd(), false).map_err(|e| format!("the hand-off: {e}"))?;
        }
        let unrandomised = matches!(self.addresses, Addresses::Same { changed: true });
        let value = handoff(header, rank, memory.as_raw_fd(), lifeline.as_raw_fd(), unrandomised);
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var(HANDOFF, value) };
        if self.order.verbose {
            // SAFETY: this process has one thread.
            unsafe { std::env::set_var("GASNET_VERBOSEENV", "1") };
        }
        if let Some(file) = &self.tune_file {
            // A program has the library linked into it and does not know the installation; the launcher does.
            // SAFETY: this process has one thread.
            unsafe { std::env::set_var(tune::VARIABLE, file) };
        }
        if let Some(parts) = &self.parts {
            parts.hand_over();
        }
        if let Some(path) = &self.timed {
            // SAFETY: this process has one thread.
            unsafe { std::env::set_var(timing::LOADER, path) };
        }
        if self.debug.as_ref().is_some_and(|debug| debug.waits(rank)) {
            // SAFETY: this process has one thread.
            unsafe { std::env::set_var("GASNET_FREEZE", "1") };
        }
        let at = self.ranks.iter().position(|own| *own == rank);
        if let Some(place) = at.and_then(|at| self.places.get(at)?.as_ref()) {
            let what = || format!("cannot be bound to CPUs {}", format_list(&place.cpus));
            place
                .enter()
                .map_err(|error| format!("{}: {error}; without --bind, -c and --map no node is bound", what()))?;
        }
        let (path, argv) = words;
        let error = sys::execute(&path, &argv);
        Ok((path.to_string_lossy().into_owned(), error))
    }

    // Path and argument vector of the program that node `rank` executes.
    fn words(&self, rank: u32) -> Result<(CString, Vec<CString>), String> {
        // These words contain no zero bytes, because they came as C strings.
        let text = |word: &OsStr| CString::new(word.as_bytes()).map_err(|error| error.to_string());
        let prefix = self.debug.as_ref().map_or(Vec::new(), |debug| debug.prefix(rank, &self.title(rank)));
        let arguments = self.order.arguments.iter();
        let Some(first) = prefix.first() else {
            let words = std::iter::once(&self.zeroth).chain(arguments);
            return Ok((text(self.file.as_os_str())?, words.map(|word| text(word)).collect::<Result<_, _>>()?));
        };
        let found = program::in_path(&first.to_string_lossy()).ok_or(format!("{first:?} is not found"))?;
        let program = self.file.clone().into_os_string();
        let words = prefix.iter().chain([&program]).chain(arguments);
        Ok((text(found.as_os_str())?, words.map(|word| text(word)).collect::<Result<_, _>>()?))
    }
}

/// The end of a launcher that the system refuses something.
pub fn system(what: &'static str) -> impl Fn(io::Error) -> Stop {
    move |error| Stop::new(1, format!("{NAME}: {what}: {error}"))
}

fn file_of(name: &str, rank: u32) -> PathBuf {
    name.replace("%n", &rank.to_string()).into()
}
