//! Names of sockets. A resource of a node is a name that one process has bound, so the kernel decides who has an id, tells everybody at once,
//! and takes the name back when the process ends, in whatever way.

use std::collections::BTreeSet;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::FlockOperation;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with, sockopt,
};

use crate::error::{Error, Result};
use crate::{calm, config};

/// What a name is for. Each has a number space of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A process that is (a part of) the node.
    Node,
    /// A segment that peers connect to.
    Segment,
    /// A segment that other processes of the node may own as well.
    Shared,
    /// A member of a group: a broadcast segment of the node.
    Member,
    /// A group; it has no node.
    Group,
    /// An interrupt.
    Interrupt,
    /// An interrupt with data.
    DataInterrupt,
    /// Where other hosts come in: the number is a port, and it has no node.
    Host,
}

impl What {
    /// The kinds to which somebody on another host connects.
    const FAR: [What; 4] = [What::Segment, What::Member, What::Interrupt, What::DataInterrupt];

    /// The kind of this number, if somebody on another host may connect to such names.
    pub fn far(number: u32) -> Option<What> {
        What::FAR.into_iter().find(|&what| what as u32 == number)
    }

    fn text(self) -> &'static str {
        match self {
            What::Node => "node",
            What::Segment => "seg",
            What::Shared => "own",
            What::Member => "mem",
            What::Group => "grp",
            What::Interrupt => "int",
            What::DataInterrupt => "dint",
            What::Host => "host",
        }
    }
}

/// A name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    node: u32,
    what: What,
    id: u32,
}

/// Until when a call waits; none is for ever.
pub type Deadline = Option<Instant>;

/// The deadline of a timeout in milliseconds; 0xffffffff is for ever.
pub fn deadline(milliseconds: u32) -> Deadline {
    (milliseconds != u32::MAX).then(|| Instant::now() + Duration::from_millis(milliseconds.into()))
}

/// How long it is until then.
pub fn rest(deadline: Deadline) -> Option<Timespec> {
    let rest = deadline?.saturating_duration_since(Instant::now());
    Some(Timespec { tv_sec: rest.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: rest.subsec_nanos().into() })
}

/// Waits until `fd` can be read. TIMEOUT when the time is over.
pub fn wait_readable(fd: impl AsFd, deadline: Deadline) -> Result {
    wait_for(fd, PollFlags::IN, deadline)
}

/// Waits until `fd` can do one of these, or has ended. TIMEOUT when the time is over.
pub fn wait_for(fd: impl AsFd, flags: PollFlags, deadline: Deadline) -> Result {
    loop {
        let mut fds = [PollFd::new(&fd, flags)];
        match calm::open(|| poll(&mut fds, rest(deadline).as_ref())) {
            Ok(0) => return Err(Error::Timeout),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

impl Name {
    /// A name of `node`; that of a group belongs to none.
    pub fn new(node: u32, what: What, id: u32) -> Name {
        Name { node, what, id }
    }

    /// The name without the user's number before it.
    fn text(self) -> String {
        format!("{}/{}/{}", self.node, self.what.text(), self.id)
    }

    /// The file of this name, if sockets are files.
    fn path(self) -> Option<PathBuf> {
        config::get()?.directory.as_ref().map(|directory| directory.join(self.text().replace('/', ".")))
    }

    fn address(self) -> rustix::io::Result<SocketAddrUnix> {
        match self.path() {
            Some(path) => SocketAddrUnix::new(path),
            None => {
                let uid = rustix::process::geteuid().as_raw();
                SocketAddrUnix::new_abstract_name(format!("sisci/{uid}/{}", self.text()).as_bytes())
            }
        }
    }

    /// A socket for such a name. Nobody answers at those of nodes: they are of a type to which a probe connects without leaving anything
    /// that somebody would have to take.
    fn socket(self) -> rustix::io::Result<OwnedFd> {
        let kind = if self.what == What::Node { SocketType::DGRAM } else { SocketType::SEQPACKET };
        socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
    }

    /// Binds the name, so that nobody else has it.
    fn bound(self) -> rustix::io::Result<OwnedFd> {
        let socket = enough(|| self.socket())?;
        let address = self.address()?;
        let Some(path) = self.path() else {
            bind(&socket, &address)?;
            return Ok(socket);
        };
        // A file outlives its process. Whoever finds one that nobody listens to removes it; the lock makes this one step.
        let _lock = lock(&path)?;
        match bind(&socket, &address) {
            Err(Errno::ADDRINUSE) if self.is_stale() => {
                rustix::fs::unlink(&path)?;
                bind(&socket, &address)?;
            }
            result => result?,
        }
        // The lock is held until somebody can connect: before, the name would look stale.
        if self.what != What::Node {
            listen(&socket, BACKLOG)?;
        }
        Ok(socket)
    }

    /// Whether nobody listens to the file of this name.
    fn is_stale(self) -> bool {
        let probe = || connect(&self.socket()?, &self.address()?);
        matches!(probe(), Err(Errno::CONNREFUSED))
    }

    /// Binds the name and lets others connect to it.
    pub fn listen(self) -> rustix::io::Result<OwnedFd> {
        let socket = self.bound()?;
        listen(&socket, BACKLOG)?;
        Ok(socket)
    }

    /// Binds the name only to say that it exists.
    pub fn announce(self) -> rustix::io::Result<(OwnedFd, Bound)> {
        let mut id = self.id;
        let last = id.wrapping_sub(NUMBERS);
        loop {
            let name = Name::new(self.node, self.what, id);
            match name.bound() {
                // Another process of another PID namespace.
                Err(Errno::ADDRINUSE) if id != last => id = id.wrapping_add(NUMBERS),
                result => return Ok((result?, Bound(name))),
            }
        }
    }

    /// Connects to whoever has the name. Waits only while the owner has more callers than it can hold.
    /// NO_SUCH_SEGMENT if nobody has it, CONNECTION_REFUSED if it is another user.
    pub fn connect(self, deadline: Deadline) -> Result<OwnedFd> {
        loop {
            let socket = enough(|| self.socket())?;
            match retry_on_intr(|| connect(&socket, &self.address()?)) {
                Ok(()) => {
                    let peer = sockopt::socket_peercred(&socket)?;
                    let is_own = peer.uid == rustix::process::geteuid();
                    return if is_own { Ok(socket) } else { Err(Error::ConnectionRefused) };
                }
                Err(Errno::AGAIN) if deadline.is_none_or(|until| Instant::now() < until) => {
                    calm::open(|| std::thread::sleep(Duration::from_micros(100)))
                }
                Err(Errno::AGAIN) => return Err(Error::Timeout),
                Err(Errno::CONNREFUSED | Errno::NOENT) => return Err(Error::NoSuchSegment),
                Err(Errno::ACCESS | Errno::PERM) => return Err(Error::ConnectionRefused),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// The lock of the directory that a socket's file is in; held until it is dropped.
fn lock(path: &std::path::Path) -> rustix::io::Result<std::fs::File> {
    let file = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path.with_file_name(".lock"));
    let file = file.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))?;
    Ok(file)
}

/// A name that this process has bound. An abstract one goes with its socket; the file of another one is removed at the end of this value, which
/// comes after the socket's, unless another process listens to it as well.
pub struct Bound(pub Name);

impl Drop for Bound {
    fn drop(&mut self) {
        let Some(path) = self.0.path() else { return };
        let Ok(_lock) = lock(&path) else { return };
        if self.0.is_stale() {
            let _ = rustix::fs::unlink(&path);
        }
    }
}

/// Removes files of SISCI_DIR that processes left which were killed.
pub fn sweep() {
    let Some(directory) = config::get().and_then(|config| config.directory.as_ref()) else { return };
    let whats = [
        What::Node,
        What::Segment,
        What::Shared,
        What::Member,
        What::Group,
        What::Interrupt,
        What::DataInterrupt,
        What::Host,
    ];
    for what in whats {
        for (node, id) in nodes_with(what) {
            let name = Name::new(node, what, id);
            let Ok(_lock) = lock(&directory.join("any")) else { return };
            if let Some(path) = name.path().filter(|_| name.is_stale()) {
                let _ = rustix::fs::unlink(path);
            }
        }
    }
}

/// Programs try again and again until a segment is there: a try that fails takes so long, that such a loop leaves a core to others.
pub const PAUSE: Duration = Duration::from_micros(500);

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// More than any process's number; a power of two. A process whose number another one of another PID namespace has takes its own and multiples of this.
pub const NUMBERS: u32 = 0x0100_0000;

/// The nodes with their processes, by the numbers of their names, that have initialized the library and run.
pub fn living_nodes() -> BTreeSet<(u32, u32)> {
    let mut all = nodes_with(What::Node);
    // A file may be that of a killed process.
    if config::get().is_some_and(|config| config.directory.is_some()) {
        all.retain(|&(node, id)| !Name::new(node, What::Node, id).is_stale());
    }
    all
}

/// Whether a process of this node has initialized the library.
pub fn exists(node: u32) -> bool {
    living_nodes().into_iter().any(|(found, _)| found == node)
}

/// Every (node, id) of this user's that has a name of this sort.
pub fn nodes_with(what: What) -> BTreeSet<(u32, u32)> {
    let texts: Vec<String> = match config::get().and_then(|config| config.directory.as_ref()) {
        Some(directory) => {
            let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
            files.filter_map(|file| Some(file.file_name().to_str()?.replace('.', "/"))).collect()
        }
        None => {
            let start = format!("@sisci/{}/", rustix::process::geteuid().as_raw());
            let table = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
            // A connection that was accepted has the name of its listener as well: only sockets that listen (00010000), or are not connected (01), count.
            let own = |line: &str| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let [.., flags, _, state, _, name] = words[..] else { return None };
                if flags == "00010000" || state == "01" { Some(name.strip_prefix(&start)?.to_owned()) } else { None }
            };
            table.lines().filter_map(own).collect()
        }
    };
    let names = texts.into_iter().filter_map(|text| {
        let mut parts = text.split('/');
        let node = parts.next()?.parse().ok()?;
        (parts.next()? == what.text()).then_some(())?;
        Some((node, parts.next()?.parse().ok()?))
    });
    names.collect()
}

/// Does `make`; if the process has no descriptor left below its soft limit, raises that to the hard one and tries again.
pub fn enough<T>(make: impl Fn() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    match make() {
        Err(Errno::MFILE) => {
            let mut limit = getrlimit(Resource::Nofile);
            if limit.current == limit.maximum {
                return Err(Errno::MFILE);
            }
            limit.current = limit.maximum;
            setrlimit(Resource::Nofile, limit)?;
            make()
        }
        result => result,
    }
}
