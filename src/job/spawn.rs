//! Forking the nodes: their streams, their lifelines, and the state of the process that they inherit.
//!
//! A node gets the signal mask, dispositions and limits that its supervisor had at the start: what the user ignored
//! stays ignored. It dies with its supervisor in two ways: as its child by PR_SET_PDEATHSIG, and, once it has joined,
//! through its lifeline, a pipe whose other end only the supervisor holds, even when a wrapper stands between them.

use super::header::JobHeader;
use crate::base::log;
use crate::os::sys;
use libc::c_int;
use std::fs::{self, File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

/// Signals that a supervisor handles, unless they were ignored at the start.
pub const HANDLED: [c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

/// Scripts between launcher and node use small descriptor numbers for themselves, so those of the hand-off are higher.
pub const HIGH: RawFd = 100;

/// The supervisor's side of one node.
pub struct Child {
    /// Process started for the node: the node itself, or a wrapper around it.
    pub pid: i32,
    /// Closing it kills the node, if it has joined.
    pub lifeline: Option<PipeWriter>,
    /// What it writes to stdout and stderr; `None`: it has the supervisor's own.
    pub streams: [Option<PipeReader>; 2],
}

/// Where a node's stdout and stderr go.
pub enum Streams {
    /// To the supervisor's own.
    Inherited,
    /// To the supervisor, which keeps lines whole.
    Piped,
    /// To these files, by the node itself.
    Files([File; 2]),
}

/// How nodes are started.
pub struct Plan<'a> {
    /// The node that has the supervisor's stdin; others have the null device.
    pub stdin: u32,
    /// By rank. An error ends the start.
    pub streams: &'a dyn Fn(u32) -> io::Result<Streams>,
}

/// Stdin is node 0's; a job of one writes to the supervisor's own streams.
pub fn plain(nodes: u32) -> impl Fn(u32) -> io::Result<Streams> {
    move |_| Ok(if nodes > 1 { Streams::Piped } else { Streams::Inherited })
}

/// All nodes, started.
pub struct Children {
    /// By rank.
    pub list: Vec<Child>,
    /// Children that this process had before.
    pub strangers: Vec<i32>,
    /// Signals to take from a descriptor: blocked, and not ignored at the start.
    pub signals: Vec<c_int>,
}

/// Which of the processes is this?
pub enum Spawned {
    /// A node, with the read end of its lifeline (closed on exec).
    Node {
        /// Its rank.
        rank: u32,
        /// Read end.
        lifeline: OwnedFd,
    },
    /// The original process.
    Supervisor(Children),
}

/// Forks one process per node. Returns in each of them, and in the supervisor. On an error nothing is left running and
/// the process is as it was before.
pub fn spawn_all(header: &JobHeader, plan: &Plan<'_>) -> io::Result<Spawned> {
    fill_standard_descriptors()?;
    let strangers = own_children();
    sys::adopt_orphans(true); // before there can be any
    let inherited = Inherited::take(header.nodes());
    let mut list = Vec::with_capacity(header.nodes() as usize);
    for rank in 0..header.nodes() {
        let started = start(rank, plan, &mut list);
        match started {
            Ok(Some(lifeline)) => {
                inherited.restore();
                return Ok(Spawned::Node { rank, lifeline });
            }
            Ok(None) => {}
            Err(error) => {
                abandon(&list);
                sys::adopt_orphans(false);
                inherited.restore();
                return Err(explain(error, rank, header.nodes()));
            }
        }
    }
    sys::redirect(null()?.as_fd(), 0)?; // stdin is a node's
    Ok(Spawned::Supervisor(Children { list, strangers, signals: inherited.taken }))
}

// `Some(lifeline)` in the new node.
fn start(rank: u32, plan: &Plan<'_>, list: &mut Vec<Child>) -> io::Result<Option<OwnedFd>> {
    let (life_read, life_write) = pipe()?;
    let (ours, theirs): ([Option<PipeReader>; 2], [Option<OwnedFd>; 2]) = match (plan.streams)(rank)? {
        Streams::Inherited => Default::default(),
        Streams::Files(files) => (Default::default(), files.map(|file| Some(file.into()))),
        Streams::Piped => {
            let ((out_read, out_write), (err_read, err_write)) = (pipe()?, pipe()?);
            ([Some(out_read), Some(err_read)], [Some(out_write.into()), Some(err_write.into())])
        }
    };
    let supervisor = sys::pid();
    let pid = sys::fork()?;
    if pid == 0 {
        drop((life_write, ours));
        list.clear(); // the supervisor's ends of the nodes before: while they are open, those don't see it die
        let lifeline = become_node(rank == plan.stdin, supervisor, life_read, theirs);
        return lifeline.map(Some).or_else(|error| {
            log::error(format_args!("node {rank}: {error}"));
            sys::exit_now(1)
        });
    }
    list.push(Child { pid, lifeline: Some(life_write), streams: ours });
    Ok(None)
}

fn become_node(
    has_stdin: bool,
    supervisor: i32,
    lifeline: PipeReader,
    streams: [Option<OwnedFd>; 2],
) -> io::Result<OwnedFd> {
    sys::kill_me_with_parent()?;
    if sys::parent_pid() != supervisor {
        sys::exit_now(1); // it died before the line above
    }
    if !has_stdin {
        sys::redirect(null()?.as_fd(), 0)?;
    }
    for (stream, target) in streams.iter().zip([1, 2]) {
        if let Some(stream) = stream {
            sys::redirect(stream.as_fd(), target)?;
        }
    }
    sys::duplicate_high(lifeline.as_fd(), HIGH)
}

fn explain(error: io::Error, rank: u32, nodes: u32) -> io::Error {
    let advice = match sys::errno(&error) {
        Some(libc::EMFILE) => format!(
            "; {} descriptors are needed, the limit is {} (ulimit -n)",
            descriptors_needed(nodes),
            sys::descriptor_limit().1
        ),
        Some(libc::EAGAIN) => "; the limit on processes is reached (ulimit -u, or the cgroup's pids.max)".into(),
        _ => String::new(),
    };
    io::Error::new(error.kind(), format!("node {rank} of {nodes}: {error}{advice}"))
}

/// Descriptors that a supervisor of `nodes` nodes cannot do without: streams and lifeline of each, and its own.
pub fn descriptors_needed(nodes: u32) -> u64 {
    u64::from(nodes) * 3 + 16
}

// The same with a pidfd of each, and what the client may have open.
fn descriptors_wanted(nodes: u32) -> u64 {
    u64::from(nodes) * 4 + 200
}

fn abandon(list: &[Child]) {
    for child in list {
        sys::kill(child.pid, libc::SIGKILL);
        sys::reap_one(child.pid);
    }
}

fn null() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/null").map_err(sys::refused("/dev/null"))
}

fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    io::pipe().map_err(sys::refused("pipe2"))
}

/// Opens the null device on each of the descriptors 0 to 2 that is closed, so that nothing else of ours lands on their
/// numbers and nodes write into it.
pub fn fill_standard_descriptors() -> io::Result<()> {
    loop {
        let file = null()?;
        if file.as_raw_fd() > 2 {
            return Ok(());
        }
        sys::set_close_on_exec(file.as_fd(), false)?;
        std::mem::forget(file);
    }
}

/// Children of this process.
pub fn own_children() -> Vec<i32> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// True when `pid` descends from this process: it is no stranger that has the number by chance or in another namespace.
pub fn is_descendant(mut pid: i32) -> bool {
    let mine = sys::pid();
    for _ in 0..64 {
        match parent_of(pid) {
            Some(parent) if parent == mine => return true,
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

// What the supervisor changes for itself and gives back to its nodes.
struct Inherited {
    mask: sys::SignalSet,
    actions: Vec<(c_int, libc::sigaction)>,
    taken: Vec<c_int>,
    limit: (u64, u64),
}

impl Inherited {
    fn take(nodes: u32) -> Inherited {
        let taken: Vec<c_int> = HANDLED.into_iter().filter(|signal| !sys::is_ignored(*signal)).collect();
        let mask = sys::SignalSet::new(&[&taken[..], &[libc::SIGCHLD]].concat()).apply(libc::SIG_BLOCK);
        let actions: Vec<_> = (1..=64).filter_map(|signal| replace_action(signal).map(|old| (signal, old))).collect();
        let limit = sys::descriptor_limit();
        let needed = descriptors_wanted(nodes);
        if limit.0 < needed {
            sys::set_descriptor_limit((needed.min(limit.1), limit.1));
        }
        Inherited { mask, actions, taken, limit }
    }

    fn restore(&self) {
        self.actions.iter().for_each(|(signal, action)| sys::restore_disposition(*signal, action));
        sys::set_descriptor_limit(self.limit);
        self.mask.apply(libc::SIG_SETMASK);
    }
}

// The supervisor runs no handler of the client, learns of its children's ends, and gets EPIPE as an error.
fn replace_action(signal: c_int) -> Option<libc::sigaction> {
    let old = sys::disposition(signal)?;
    let plain = old.sa_sigaction == libc::SIG_DFL || old.sa_sigaction == libc::SIG_IGN;
    let new = match signal {
        libc::SIGCHLD => libc::SIG_DFL,
        libc::SIGPIPE => libc::SIG_IGN,
        _ if plain => return None,
        _ => libc::SIG_DFL,
    };
    sys::set_plain(signal, new);
    Some(old)
}
