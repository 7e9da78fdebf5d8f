//! The launcher of a job of several hosts: starts an agent on each, tells it its part, joins what they report, and judges. It is the
//! conductor's hands on the agents until all of them have ended.

use super::cli::NAME;
use super::debugger;
use super::hosts::Host;
use super::mapping::Mapping;
use super::matrix::Wanted;
use super::options::{self, Order, Output as Destination};
use super::place::{self, Place};
use super::registry::{self, Entry, Role};
use super::stop::Stop;
use gasnet_sci::base::config::Config;
use gasnet_sci::base::log;
use gasnet_sci::os::sys;
use gasnet_sci::supervise::channel::Frame;
use gasnet_sci::supervise::conductor::{self, Hands, Lead};
use gasnet_sci::supervise::ending::Ending;
use gasnet_sci::supervise::header::{self, HALF, Half};
use gasnet_sci::supervise::outlet::Outlet;
use gasnet_sci::supervise::output::Output;
use gasnet_sci::supervise::spawn;
use libc::{c_int, pollfd};
use remote::{Command, Remote, State};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

mod finish;
mod input;
mod news;
mod next;
mod remote;
mod show;
mod task_list;
mod tasks;
mod tell;
mod tree;

use input::Input;
use task_list::Tasks;
/// How many agents are being started at a time: a server that many connect to at once refuses some (sshd: MaxStartups).
const AT_ONCE: usize = 16;
/// How long after the killing of all nodes an agent may take to end. The agent itself gives up after as long.
const REAPING: Duration = Duration::from_secs(11);
/// The first number of a node's stream among those of the output. No descriptor has such a number.
const FED: i32 = 1 << 24;

/// Runs the job and returns the launcher's exit status.
pub fn launch(
    mut order: Order,
    mapping: Option<Mapping>,
    file: PathBuf,
    zeroth: OsString,
    config: &Config,
) -> Result<i32, Stop> {
    let stop = |problem: String| Stop::new(1, format!("{NAME}: {problem}"));
    let Some(options::Hosts { source, place, wanted }) = order.hosts.take() else {
        return Err(stop("there are no hosts".into()));
    };
    let listed = source.read().map_err(stop)?;
    let place = match mapping.as_ref().map_or(Ok(None), |mapping| mapping.hosts(&listed)).map_err(stop)? {
        Some(_) if place != Place::Block => return Err(stop("--map names hosts, so there can be no --place".into())),
        Some(by_map) => by_map,
        None => place,
    };
    let hosts = place::candidates(&listed, wanted, &place).map_err(stop)?;
    let debug = order.debug.as_ref().map(|debug| debugger::Plan::new(debug, order.nodes)).transpose()?;
    if debug.is_some_and(|debug| debug.on_terminal().is_some()) {
        return Err(stop(
            "--debug: on several hosts no debugger can have this terminal; use --debug=wait, or xterm".into(),
        ));
    }
    let last = if place == Place::Next {
        next::read().and_then(|last| hosts.iter().position(|host| host.name == last))
    } else {
        None
    };
    let even = wanted.is_some();
    // All but `load` is known, and may be wrong, before anything is started.
    let map = match place {
        Place::Load => None,
        _ => Some(place::place(&place, order.nodes, &hosts, even, last, &[]).map_err(stop)?),
    };
    let most = config.hosts.tree as usize;
    let command = Command::new(config, hosts.len().min(most + 1)).map_err(stop)?;
    if order.verbose {
        show::show(&order, mapping.as_ref(), &file, &hosts, map.as_deref(), &command, most);
    }
    if order.dry {
        return Ok(0);
    }
    let matrix = order.matrix.take().map(|file| Wanted::new(&file, order.nodes)).transpose().map_err(stop)?;
    let entry = Entry {
        id: sys::random(),
        role: Role::Launcher,
        nodes: 0, // those on this host belong to its agent
        all: order.nodes,
        cpus: 0,
        program: file.display().to_string(),
    };
    let plan = Plan { order, mapping, file, zeroth, place, map, id: entry.id };
    let mut director = Director::new(plan, hosts, command, config).map_err(|error| stop(error.to_string()))?;
    director.matrix = matrix;
    director.registered = registry::register(&entry);
    director.leave_out_unused();
    director.grow(most);
    Ok(director.run())
}

// The job as the user wants it.
struct Plan {
    order: Order,
    // Where the user wants each node.
    mapping: Option<Mapping>,
    file: PathBuf,
    zeroth: OsString,
    place: Place,
    // The host of each node, once that is known.
    map: Option<Vec<u32>>,
    id: u64,
}

struct Director {
    lead: Lead,
    plan: Plan,
    hosts: Vec<Host>,
    command: Command,
    start_timeout: Duration,
    link_timeout: Duration,
    remotes: Vec<Remote>,
    // Whether the agents have been told their parts.
    told: bool,
    // Which of stdout and stderr agents have been told is closed.
    shut: [bool; 2],
    input: Input,
    ignored: u64,
    code: Option<u8>,
    // Whether a node has joined.
    joined: bool,
    // Until an agent has ended: those that are left remove it if this process is killed.
    registered: Option<registry::Registered>,
    // The traffic matrix, if there is to be one.
    matrix: Option<Wanted>,
    tasks: Tasks,
}

impl Director {
    fn new(plan: Plan, hosts: Vec<Host>, command: Command, config: &Config) -> io::Result<Director> {
        let ignored = (1..64).filter(|signal| sys::is_ignored(*signal)).fold(0, |mask, signal| mask | 1 << signal);
        let handled = spawn::HANDLED.into_iter().filter(|signal| !sys::is_ignored(*signal));
        let set = sys::SignalSet::new(&handled.chain([libc::SIGCHLD]).collect::<Vec<_>>());
        set.apply(libc::SIG_BLOCK);
        sys::set_plain(libc::SIGCHLD, libc::SIG_DFL);
        sys::set_plain(libc::SIGPIPE, libc::SIG_IGN);
        let order = &plan.order;
        let tag = has_tags(order);
        let mut output = Output::new(order.nodes)?;
        if !matches!(order.output, Destination::Files(_)) {
            for (rank, stream) in (0..order.nodes).flat_map(|rank| [(rank, 0), (rank, 1)]) {
                let text = if tag { format!("[{rank}] ") } else { String::new() };
                output.add_fed(fed(rank, stream), stream.into(), text, rank == 0, Some(log::name(rank, order.nodes)));
            }
        }
        let ending = Ending::new(order.nodes, Duration::from_secs_f64(config.exit_seconds(order.nodes)));
        let lead = Lead::new(NAME, Outlet::Own(Box::new(output)), ending, set.descriptor()?, order.time_limit);
        let remotes = hosts.iter().map(|host| Remote::new(&host.name)).collect();
        Ok(Director {
            lead,
            plan,
            hosts,
            command,
            start_timeout: Duration::from_secs_f64(config.hosts.start_timeout),
            link_timeout: Duration::from_secs_f64(config.hosts.link_timeout),
            remotes,
            told: false,
            shut: [false; 2],
            input: Input::new()?,
            ignored,
            code: None,
            joined: false,
            registered: None,
            matrix: None,
            tasks: Tasks::default(),
        })
    }

    // Hosts that get no nodes are not reached at all.
    fn leave_out_unused(&mut self) {
        if let Some(map) = &self.plan.map {
            for (at, remote) in (0..).zip(&mut self.remotes) {
                if !map.contains(&at) {
                    remote.state = State::Unused;
                }
            }
        }
    }

    fn run(&mut self) -> i32 {
        conductor::run(self);
        self.write_matrix();
        self.clear_up();
        conductor::status(self)
    }

    // Starts agents, so many at a time; each branch does the same.
    fn start_more(&mut self) {
        if self.lead.ending.has_begun() {
            self.remotes
                .iter_mut()
                .filter(|remote| remote.state == State::Waiting)
                .for_each(|r| r.state = State::Unused);
            if self.lead.ending.was_asked() {
                self.abandon_idle();
            }
            return;
        }
        let place = |remote: &Remote| remote.through.map_or(0, |branch| branch + 1);
        let mut room = vec![AT_ONCE; self.remotes.len() + 1];
        self.remotes.iter().filter(|r| r.state == State::Starting).for_each(|r| room[place(r)] -= 1);
        for at in 0..self.remotes.len() {
            let room = &mut room[place(&self.remotes[at])];
            let is_next = self.remotes[at].state == State::Waiting && *room > 0;
            match self.remotes[at].through {
                _ if !is_next => {}
                Some(branch) if self.remotes[branch].state != State::Branch => {}
                Some(branch) => {
                    *room -= 1;
                    let words = self.command.words_of_branch(&self.remotes[branch].name, &self.remotes[at].name);
                    self.remotes[branch].send(&Frame::Reach(at as u32, words));
                    self.remotes[at].start_through(self.start_timeout);
                }
                None => {
                    *room -= 1;
                    if let Err(problem) = self.start(at) {
                        self.remotes[at].state = State::Unused;
                        let name = &self.remotes[at].name;
                        return self.fail(1, format!("host {name}: {problem}; ending the job"));
                    }
                }
            }
        }
    }

    fn start(&mut self, at: usize) -> Result<(), String> {
        let stderr = self.remotes[at].start(&self.command, self.start_timeout)?;
        let tag = format!("{NAME}: {}: ", self.remotes[at].name);
        if let Outlet::Own(output) = &mut self.lead.output {
            let _ = output.add_pipe(stderr, 1, tag, false, None);
        }
        Ok(())
    }

    // Shows what nodes have printed. Tells agents that it has been taken, while there is room for more; whose output must wait; and
    // which streams nobody reads any more.
    fn answer(&mut self) {
        let Outlet::Own(output) = &mut self.lead.output else { return };
        output.settle();
        for (number, hold) in output.turns() {
            let (rank, stream) = node_of(number);
            let frame = Frame::Hold(rank, stream, hold);
            let home = rank.checked_sub(self.plan.order.nodes).and_then(|task| self.tasks.home(task));
            let of_host = |(at, remote): &(usize, &mut Remote)| {
                remote.state == State::Running && (remote.ranks.contains(&rank) || home == Some(*at))
            };
            self.remotes.iter_mut().enumerate().filter(of_host).for_each(|(_, remote)| remote.send(&frame));
        }
        if !output.is_clogged() {
            self.remotes.iter_mut().for_each(Remote::answer);
        }
        let is_closed = [0, 1].map(|stream| output.is_closed(stream));
        for stream in [0, 1] {
            if is_closed[stream] && !std::mem::replace(&mut self.shut[stream], true) {
                self.send_all(&Frame::Shut(stream as u8));
            }
        }
    }

    // Brings what a node printed; nothing: its stream has ended.
    fn feed(&mut self, rank: u32, stream: u8, bytes: &[u8]) {
        if let Outlet::Own(output) = &mut self.lead.output {
            output.feed(fed(rank, stream), bytes);
        }
    }

    // The host of node 0, which has stdin.
    fn first_host(&self) -> Option<usize> {
        self.remotes.iter().position(|remote| remote.state == State::Running && remote.ranks.contains(&0))
    }

    fn send_all(&mut self, frame: &Frame) {
        self.remotes.iter_mut().filter(|remote| remote.state == State::Running).for_each(|remote| remote.send(frame));
    }

    // The job has failed, and not by a node's doing.
    fn fail(&mut self, code: u8, line: String) {
        // The end was orderly until now: what was asked to leave has not, or nobody will know.
        let is_orderly = self.lead.ending.was_asked() && self.lead.requested.is_none() && self.code == Some(0);
        if is_orderly {
            self.lead.report(&line);
        }
        if is_orderly || !self.lead.ending.was_asked() {
            self.record(code);
        }
        self.lead.ending.crash(Instant::now(), u32::MAX, line);
        conductor::take_steps(self);
    }

    // Releases the fence once the agents of all hosts with nodes have reported the same generation: sends them what all nodes put.
    fn pass_fence(&mut self) {
        let running = || self.remotes.iter().filter(|remote| !remote.ranks.is_empty());
        let Some(generation) =
            running().next().and_then(|remote| remote.bulletin.as_ref()).map(|(generation, _)| *generation)
        else {
            return;
        };
        if !running().all(|remote| remote.bulletin.as_ref().is_some_and(|(other, _)| *other == generation)) {
            return;
        }
        let mut all: Vec<Half> = vec![[0; HALF]; self.plan.order.nodes as usize];
        for (rank, half) in
            self.remotes.iter_mut().filter_map(|remote| remote.bulletin.take()).flat_map(|(_, halves)| halves)
        {
            all[rank as usize] = half;
        }
        self.send_all(&Frame::Release(generation, all));
    }
}

impl Hands for Director {
    fn lead(&mut self) -> &mut Lead {
        &mut self.lead
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        if self.lead.killed_at.take_if(|at| now >= *at + REAPING).is_some() {
            self.leave_to_hosts();
        }
        if !self.remotes.iter().all(Remote::is_over) {
            self.start_more();
            self.tell();
            self.pass_on();
        }
        !self.remotes.iter().all(Remote::is_over)
    }

    fn interests(&mut self, now: Instant, set: &mut Vec<pollfd>, dues: &mut Vec<Option<Instant>>) {
        if self.first_host().is_some() {
            self.input.interests(set);
        }
        for remote in self.remotes.iter().filter(|remote| !remote.is_over()) {
            remote.interests(set);
            dues.push(remote.due(self.link_timeout));
        }
        dues.push(self.input.due(now));
        dues.push(self.lead.killed_at.map(|at| at + REAPING));
    }

    fn serve(&mut self, polled: &[pollfd]) {
        if let Some(at) = self.first_host()
            && let Some(bytes) = self.input.read(polled)
        {
            self.remotes[at].send(&Frame::Input(bytes));
        }
        self.hear(polled);
        self.pass_fence();
        self.answer();
    }

    fn deaf(&mut self, error: &io::Error) {
        self.record(1);
        self.lead
            .report(&format!("cannot hear of the hosts: {error}; ending the job, what the nodes print may be lost"));
        self.send_all(&Frame::Kill);
        self.remotes.iter_mut().filter(|remote| !remote.is_over()).for_each(Remote::abandon);
    }

    fn code(&self) -> Option<u8> {
        self.code
    }

    fn record(&mut self, code: u8) {
        if header::replaces(self.code, code) {
            self.code = Some(code);
        }
    }

    fn ask(&mut self) {
        let code = self.code;
        self.send_all(&Frame::Ask(code));
        self.abandon_idle();
    }

    fn kill(&mut self) {
        self.send_all(&Frame::Kill);
    }

    fn send(&mut self, signal: c_int, _from_terminal: bool) {
        self.send_all(&Frame::Signal(signal)); // no node has this terminal
    }

    fn leave(&mut self, _signal: c_int) -> bool {
        false
    }

    fn pause(&mut self, pause: bool, _from_terminal: bool) {
        self.pause_hosts(pause);
    }
}

fn fed(rank: u32, stream: u8) -> i32 {
    FED + rank as i32 * 2 + i32::from(stream)
}

// Whether each line begins with the number of its node.
fn has_tags(order: &Order) -> bool {
    order.output == Destination::Here { tag: true }
}

// The rank and the stream of such a number.
fn node_of(number: i32) -> (u32, u8) {
    let number = (number - FED) as u32;
    (number / 2, (number % 2) as u8)
}
