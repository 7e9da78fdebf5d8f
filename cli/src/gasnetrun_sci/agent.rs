//! The agent: this host's part of a job of several hosts. The launcher starts it by `GASNET_SCI_RSH host gasnetrun_sci --agent`, and
//! talks to it over its stdin and stdout. It says who it is, is told the job, starts its nodes and supervises them.

#![allow(unsafe_code)] // system calls and C

use super::branch;
use super::cli::NAME;
use super::part::Part;
use super::policy::Policy;
use super::reach::AGENT;
use super::registry::{self, Entry};
use super::start::Start;
use super::stop::Stop;
use gasnet_sci::am::region::layout_version;
use gasnet_sci::base::config::Config;
use gasnet_sci::boot::HANDOFF;
use gasnet_sci::job::{killed, limits};
use gasnet_sci::os::poller::Poller;
use gasnet_sci::os::topology::Bind;
use gasnet_sci::os::{cgroup, host, sys};
use gasnet_sci::supervise::channel::{self, Channel, Frame, Hello};
use gasnet_sci::supervise::supervisor::{self, Link};
use gasnet_sci::supervise::{JobHeader, guard, header, spawn};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// How long an agent waits for its part of the job: other hosts may be slow to answer. The launcher has a limit for that.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How long an agent that has started waits for a word of its launcher. It counts only until the launcher has told the job's settings: from
/// then on GASNET_SCI_LINK_TIMEOUT says how long the launcher may be silent. An agent that ends also tries for so long to send its last words.
const SILENCE: Duration = Duration::from_secs(60);
/// How long an agent whose part has ended waits for a launcher on its host to hear that.
const PARTING: Duration = Duration::from_secs(1);

/// Processes that run here and nodes that are placed here, in hundredths.
fn load() -> u32 {
    let running = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| {
        let field = text.split_whitespace().nth(3)?.split('/').next()?.parse::<u32>().ok()?;
        Some(field.saturating_sub(1)) // this process runs too
    });
    // Nodes that run are in both numbers.
    let load = running.unwrap_or(0).max(registry::list().iter().map(|entry| entry.nodes).sum());
    load.saturating_mul(100)
}

/// What this host says of itself.
pub fn hello() -> Hello {
    let cpus = cgroup::cpus().unwrap_or(f64::MAX).min(f64::from(host::cpus().max(1)));
    Hello {
        channel: channel::VERSION,
        handoff: header::VERSION,
        layout: layout_version(),
        library: env!("CARGO_PKG_VERSION").into(),
        host: host::name().to_string_lossy().into_owned(),
        cpus: ((cpus * 100.0) as u32).max(1),
        load: load(),
    }
}

/// With the arguments of an agent: the file of limits that a standing agent has handed to it, if any.
pub fn limits(arguments: &[OsString]) -> Option<Option<&str>> {
    let (first, rest) = arguments.split_first()?;
    (first == AGENT && rest.len() <= 1).then(|| rest.first().and_then(|file| file.to_str()))
}

/// Runs the agent; returns its exit status. The launcher learns all that matters from the channel. `limits`: a file of limits, besides
/// those that other agents read.
pub fn run(limits: Option<&str>) -> i32 {
    let mut job = None;
    let status = serve(&mut job, limits).unwrap_or_else(|problem| Stop::new(1, format!("{NAME}: {problem}")).print());
    match job {
        Some(job) => outlive_launcher(job),
        None => registry::tidy(),
    }
    status
}

// Waits until the launcher of `job` has no entry on this host. A launcher removes its entry when it hears that an agent has ended. If
// it is killed before, nobody but its agents can remove the entry: listing the entries does that once the process has gone. A
// launcher that is stopped keeps an agent no longer than `PARTING`.
fn outlive_launcher(job: u64) {
    let start = Instant::now();
    let is_entered = || registry::list().iter().any(|found| found.id == job && found.role == registry::Role::Launcher);
    while is_entered() && start.elapsed() < PARTING {
        sys::nap(Duration::from_micros(200));
    }
}

// `job` becomes the number of the job.
fn serve(job: &mut Option<u64>, limits: Option<&str>) -> Result<i32, String> {
    let text = |error: io::Error| error.to_string();
    spawn::fill_standard_descriptors().map_err(text)?;
    let guard = guard::split(registry::tidy);
    let mut channel = take_channel().map_err(text)?;
    channel.send(&Frame::Hello(hello()));
    let body = match wait_for_start(&mut channel)? {
        Told::Start(body) => body,
        Told::Branch(silence) => {
            branch::serve(channel, silence, guard.as_ref(), limits);
            return Ok(0);
        }
        Told::Nothing => return Ok(0),
    };
    let Some(start) = Start::decode(&body) else { return Err("the launcher's order makes no sense".into()) };
    *job = Some(start.id);
    match prepare(start, limits) {
        Ok(duty) => duty.run(channel, guard),
        Err(stop) => refuse(&mut channel, &stop),
    }
}

// Takes stdin and stdout for the channel. What anything here prints by mistake goes to stderr.
fn take_channel() -> io::Result<Channel> {
    // SAFETY: descriptors 0 to 2 are open: `fill_standard_descriptors` saw to that.
    let standard = |number| unsafe { BorrowedFd::borrow_raw(number) };
    let [input, output] = [sys::duplicate_high(standard(0), 3)?, sys::duplicate_high(standard(1), 3)?];
    let null = std::fs::File::open("/dev/null")?;
    sys::redirect(null.as_fd(), 0)?;
    sys::redirect(standard(2), 1)?;
    Channel::of_agent(input, output)
}

// What the launcher wants of this process.
enum Told {
    Start(Vec<u8>),
    Branch(Duration),
    // It needs no nodes here, or has gone.
    Nothing,
}

// Until it is told, it says each second how loaded this host is: other hosts may be slow to answer.
fn wait_for_start(channel: &mut Channel) -> Result<Told, String> {
    let until = Instant::now() + PATIENCE;
    let mut poller = Poller::default();
    while !channel.is_over() && channel.silence(Instant::now()) < SILENCE && Instant::now() < until {
        let mut set = Vec::new();
        channel.interests(&mut set);
        let next = channel.next_beat().saturating_duration_since(Instant::now());
        poller.poll(&mut set, Some(next)).map_err(|error| format!("cannot hear of the launcher: {error}"))?;
        channel.flush();
        if channel.next_beat() <= Instant::now() {
            channel.send(&Frame::Load(load()));
        }
        channel.beat(Instant::now());
        if channel.is_readable(&set) {
            let mut frames = channel.receive()?.into_iter();
            while let Some(frame) = frames.next() {
                let told = match frame {
                    Frame::Start(body) => Told::Start(body),
                    Frame::Branch(silence) => Told::Branch(Duration::from_millis(silence.into())),
                    Frame::Kill => Told::Nothing,
                    _ => continue,
                };
                channel.put_back(frames); // such as the first bytes of stdin
                return Ok(told);
            }
        }
    }
    Ok(Told::Nothing)
}

fn drain(channel: &mut Channel) {
    let until = Instant::now() + SILENCE;
    while channel.is_holding() && Instant::now() < until {
        let mut set = Vec::new();
        channel.interests(&mut set);
        let _ = sys::poll(&mut set, Some(Duration::from_millis(100)));
        channel.flush();
    }
}

// What the launcher wants here, checked.
struct Duty {
    start: Start,
    part: Part,
    config: Config,
    _registered: Option<registry::Registered>,
}

// Makes this process what the launcher is: its environment, directory, and what it ignores.
fn prepare(start: Start, limits: Option<&str>) -> Result<Duty, Stop> {
    adopt_environment(&start.environment);
    // SAFETY: umask touches no memory.
    unsafe { libc::umask(start.umask) };
    for signal in (1..64).filter(|signal| start.ignored >> signal & 1 == 1) {
        sys::set_plain(signal, libc::SIG_IGN);
    }
    std::env::set_current_dir(&start.directory)
        .map_err(|error| Stop::new(1, format!("cannot enter {}: {error}", start.directory.display())))?;
    let config = Config::from_env().map_err(|error| Stop::new(1, error.to_string()))?.0;
    let ranks = start.ranks();
    let (locals, nodes) = (ranks.len() as u32, start.order.nodes);
    limits::check_part(locals, nodes).map_err(|problem| Stop::new(1, problem))?;
    let entry = Entry {
        id: start.id,
        role: registry::Role::Agent,
        nodes: locals,
        all: nodes,
        cpus: locals.saturating_mul(cpus_each(start.order.bind)),
        program: start.file.display().to_string(),
    };
    let policy =
        Policy::read(&[config.hosts.agent_conf.as_deref(), limits]).map_err(|problem| Stop::new(1, problem))?;
    // With the registration first, of two jobs that come at once one at least sees the other.
    let registered = registry::register(&entry);
    policy.check(&entry, &registry::list()).map_err(|problem| Stop::new(1, problem))?;
    let (order, mapping) = (start.order.clone(), start.mapping.clone());
    let part = Part::prepare(true, order, mapping, start.file.clone(), start.zeroth.clone(), ranks, &config)?;
    if start.order.verbose {
        part.show();
    }
    part.prepare_files()?;
    Ok(Duty { start, part, config, _registered: registered })
}

fn cpus_each(bind: Bind) -> u32 {
    match bind {
        Bind::Cpus(each) | Bind::Cores(each) => each as u32,
        Bind::None | Bind::Numa => 1,
    }
}

fn adopt_environment(block: &[u8]) {
    for (name, _) in std::env::vars_os().collect::<Vec<_>>() {
        // SAFETY: this process has one thread.
        unsafe { std::env::remove_var(name) };
    }
    for entry in block.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        // A name may begin with "=", as in the C library.
        let Some(equals) = entry.iter().skip(1).position(|byte| *byte == b'=').map(|at| at + 1) else { continue };
        let (name, value) = (OsStr::from_bytes(&entry[..equals]), OsStr::from_bytes(&entry[equals + 1..]));
        if name != HANDOFF && equals > 0 && !entry[..equals].contains(&b'=') {
            // SAFETY: this process has one thread.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

impl Duty {
    fn run(mut self, mut channel: Channel, guard: Option<io::PipeReader>) -> Result<i32, String> {
        let nodes = self.start.order.nodes;
        let made = JobHeader::create(nodes).map_err(|error| format!("no memory for the job: {error}"));
        let (memory, header): (OwnedFd, JobHeader) = match made {
            Ok(made) => made,
            Err(problem) => return refuse(&mut channel, &Stop::new(1, problem)),
        };
        header.set_memory_number(memory.as_raw_fd());
        header.set_hosts(self.start.host, &self.start.hosts, self.start.secret);
        self.part.hand_positions(&header);
        if self.start.matrix
            && let Err(stop) = self.part.make_parts(&header)
        {
            return refuse(&mut channel, &stop);
        }
        let mut stdin = None;
        if header.is_local(0) {
            match io::pipe().and_then(|(read, write)| sys::redirect(read.as_fd(), 0).map(|()| write)) {
                Ok(write) => stdin = Some(write),
                Err(error) => return refuse(&mut channel, &Stop::new(1, format!("no pipe for stdin: {error}"))),
            }
        }
        let watch = killed::Watch::begin(self.config.reserve);
        let (children, exec_errors) = match self.part.start(&header, &memory, 0, None) {
            Ok(started) => started,
            Err(stop) => return refuse(&mut channel, &stop),
        };
        let timeout = Duration::from_secs_f64(self.config.hosts.link_timeout);
        let ranks = self.start.ranks();
        let parts = self.part.take_parts();
        let farewell = move |is_killed| {
            let line = watch.line_if(is_killed).map(Frame::Line);
            line.into_iter().chain(parts.iter().flat_map(|parts| parts.frames(&ranks))).collect()
        };
        let options = supervisor::Options {
            exec_errors: Some(exec_errors),
            guard,
            farewell: Some(Box::new(farewell)),
            link: Some(Link::new(channel, timeout, stdin)),
            ..supervisor::Options::new(NAME)
        };
        Ok(supervisor::run(header, children, options))
    }
}

// Tells the launcher why there are no nodes here, and that nothing is left here. It need not wait for this process then.
fn refuse(channel: &mut Channel, stop: &Stop) -> Result<i32, String> {
    let line = stop.text().strip_prefix(&format!("{NAME}: ")).unwrap_or(stop.text()).to_string();
    channel.send(&Frame::Failed(stop.status(), line));
    channel.send(&Frame::Done(None));
    drain(channel);
    Ok(1)
}
