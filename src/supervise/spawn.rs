//! Forks the nodes: their streams, their lifelines, and the state of the process that they inherit.
//!
//! A node gets the signal mask, dispositions and limits that its supervisor had at the start. So a signal that the
//! user ignored stays ignored. A node dies with its supervisor in two ways: as its child by PR_SET_PDEATHSIG; and,
//! once it has joined, through its lifeline. That is a pipe whose other end only the supervisor holds. It works even
//! with a wrapper between the two.

use super::header::JobHeader;
use crate::base::log;
use crate::os::{family, limit, sys};
use libc::c_int;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

/// The signals that a supervisor handles, unless they were ignored at the start.
pub const HANDLED: [c_int; 7] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGTSTP];

/// A value that comes with each signal that a supervisor passes on. A node may have got the same signal directly
/// (from the terminal, or sent to the process group), and must not count it twice.
pub const MARKER: usize = 0x4753_4349;

/// Descriptors of the hand-off have at least this number, because scripts between launcher and node use small
/// numbers.
pub const HIGH: RawFd = 100;

/// The supervisor's side of one node.
pub struct Child {
    /// The node's rank.
    pub rank: u32,
    /// The process that was started for the node: the node itself, or a wrapper around it.
    pub pid: i32,
    /// Closing it kills the node, if that has joined.
    pub lifeline: Option<PipeWriter>,
    /// The node's end of the lifeline, which knows what process has joined.
    pub tie: OwnedFd,
    /// The ends from which the node's stdout and stderr are read. `None`: it has the supervisor's own streams.
    pub streams: [Option<PipeReader>; 2],
}

impl Child {
    fn into_descriptors(self) -> impl Iterator<Item = OwnedFd> {
        let streams = self.streams.into_iter().flatten().map(OwnedFd::from);
        self.lifeline.map(OwnedFd::from).into_iter().chain([self.tie]).chain(streams)
    }
}

/// The destination of a node's stdout and stderr.
pub enum Streams {
    /// To the supervisor's own.
    Inherited,
    /// Through pipes to the supervisor, which keeps lines whole.
    Piped,
    /// To these files; the node writes them itself.
    Files([File; 2]),
}

/// How nodes are started.
pub struct Plan<'a> {
    /// The rank of the node that has the supervisor's stdin. The others have the null device.
    pub stdin: u32,
    /// The streams of each node, by rank. An error ends the start.
    pub streams: &'a dyn Fn(u32) -> io::Result<Streams>,
}

/// The plan in which node 0 has stdin. The node of a job of one writes to the supervisor's own streams.
pub fn plain(nodes: u32) -> impl Fn(u32) -> io::Result<Streams> {
    move |_| Ok(if nodes > 1 { Streams::Piped } else { Streams::Inherited })
}

/// All nodes, started.
pub struct Children {
    /// The processes of this host's nodes, by rank.
    pub list: Vec<Child>,
    /// Children that this process had before the nodes.
    pub earlier_children: Vec<i32>,
    /// The signals to read from a descriptor: they are blocked, and were not ignored at the start.
    pub signals: Vec<c_int>,
    /// The limit on descriptors that nodes have inherited. The supervisor's own may be higher.
    pub descriptors: (u64, u64),
}

/// Which process this is after the forks.
pub enum Spawned {
    /// A node, with the read end of its lifeline (closed on exec).
    Node {
        /// Its rank.
        rank: u32,
        /// The read end of its lifeline.
        lifeline: OwnedFd,
    },
    /// The original process.
    Supervisor(Children),
}

/// Forks one process per node of this host. Returns in each of them, and in the supervisor. If there is an error, no node is left
/// running, and the process is as it was before.
pub fn spawn_all(header: &JobHeader, plan: &Plan<'_>) -> io::Result<Spawned> {
    fill_standard_descriptors()?;
    let earlier_children = family::own_children();
    sys::adopt_orphans(true); // before there can be any orphans
    let inherited = Inherited::take(header.local_count());
    let mut list = Vec::with_capacity(header.local_count() as usize);
    for rank in header.locals() {
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
                return Err(explain(error, rank, header));
            }
        }
    }
    sys::redirect(null()?.as_fd(), 0)?; // stdin belongs to a node
    Ok(Spawned::Supervisor(Children { list, earlier_children, signals: inherited.taken, descriptors: inherited.limit }))
}

// Returns `Some(lifeline)` in the new node, `None` in the supervisor.
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
    let tie = life_read.try_clone().map_err(sys::refused("dup"))?.into();
    let supervisor = sys::pid();
    let pid = sys::fork()?;
    if pid == 0 {
        drop((life_write, ours, tie));
        // While the supervisor's ends for earlier nodes are open, those do not see the supervisor die. One call closes nearly all: one for each
        // took a third of the processor time in which 1,024 nodes were started (0.5 of 1.7 seconds).
        sys::close_all(std::mem::take(list).into_iter().flat_map(Child::into_descriptors).collect());
        let lifeline = become_node(rank == plan.stdin, supervisor, life_read, theirs);
        return lifeline.map(Some).or_else(|error| {
            log::error(format_args!("node {rank}: {error}"));
            sys::exit_now(1)
        });
    }
    list.push(Child { rank, pid, lifeline: Some(life_write), tie, streams: ours });
    Ok(None)
}

fn become_node(
    has_stdin: bool,
    supervisor: i32,
    lifeline: PipeReader,
    streams: [Option<OwnedFd>; 2],
) -> io::Result<OwnedFd> {
    sys::signal_at_parents_end(libc::SIGKILL)?;
    // The number 0 is a parent in an outer PID namespace: the supervisor was told to have its children in another one.
    let is_orphan = ![0, supervisor].contains(&sys::parent_pid());
    if is_orphan || sys::poll_one(lifeline.as_fd(), libc::POLLIN) != 0 {
        sys::exit_now(1); // the supervisor has died meanwhile
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

fn explain(error: io::Error, rank: u32, header: &JobHeader) -> io::Error {
    let nodes = header.nodes();
    let advice = match sys::errno(&error) {
        Some(libc::EMFILE) => format!(
            "; {} descriptors are needed, the limit is {} (ulimit -n)",
            descriptors_needed(header.local_count()),
            limit::descriptors().1
        ),
        Some(libc::EAGAIN) => "; the limit on processes is reached (ulimit -u, or the cgroup's pids.max)".into(),
        _ => String::new(),
    };
    io::Error::new(error.kind(), format!("node {rank} of {nodes}: {error}{advice}"))
}

/// The number of descriptors that a supervisor of `nodes` nodes on its host needs: streams and both ends of the lifeline of each
/// node, and its own.
pub fn descriptors_needed(nodes: u32) -> u64 {
    u64::from(nodes) * 4 + 16
}

// The same with a pidfd for each node, and descriptors that the client may have open.
fn descriptors_wanted(nodes: u32) -> u64 {
    u64::from(nodes) * 5 + 200
}

fn abandon(list: &[Child]) {
    for child in list {
        sys::kill(child.pid, libc::SIGKILL);
        sys::reap_one(child.pid);
    }
}

/// The null device, for reading and writing.
pub(super) fn null() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/null").map_err(sys::refused("/dev/null"))
}

fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    io::pipe().map_err(sys::refused("pipe2"))
}

/// Opens the null device on each of the descriptors 0 to 2 that is closed. Otherwise one of our own descriptors could
/// get such a number, and nodes would write into it.
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

// The state that the supervisor changes in itself and restores in its nodes.
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
        let limit = limit::descriptors();
        let needed = descriptors_wanted(nodes);
        if limit.0 < needed {
            limit::set_descriptors((needed.min(limit.1), limit.1));
        }
        Inherited { mask, actions, taken, limit }
    }

    fn restore(&self) {
        self.actions.iter().for_each(|(signal, action)| sys::restore_disposition(*signal, action));
        limit::set_descriptors(self.limit);
        self.mask.apply(libc::SIG_SETMASK);
    }
}

// The supervisor runs no handler of the client, must see its children end, and must get EPIPE as an error.
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
