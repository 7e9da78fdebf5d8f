//! Nodes on other hosts, on the side that connects. Each connection of the program is one of TCP, to the process that owns what it connected
//! to; its end is the other side's, as with a socket on one host.
//!
//! `proof` is how both sides make sure of each other; `say` what they say; `line` a connection; `news` the order of news between processes. The owner's side
//! is in `entry` and `agent`.
//!
//! Who waits for whom. Each row waits for rows above it alone, so there is no circle, whatever both hosts do at the same time, in any number of threads:
//!
//! | who | waits for | which ends, since |
//! |---|---|---|
//! | what a connection brings here is taken | nobody | the thread that has the lock for reading takes it while it waits for anything, also for room for its question; if nobody has the lock, the service thread takes it. Showing news takes `far::known::Known`, which no thread keeps while it waits |
//! | an agent says something (`agent::out`), with the lock of its `Watch` | its caller's host takes it | the row above |
//! | a thread tells news (`news::tell`), whatever locks it has | an agent's locks, and room | it gives up after some time. What has no room yet waits in the agent |
//! | an agent hears that others have news for its process (`line::hear`), without any lock | these are taken here | the process that said so knows that they were given to the kernel |
//! | an agent does what its caller says | what it says is taken by its caller's host; what it hears of is taken here | the rows of `agent::out` and of `line::hear` |
//! | a thread of the program sends, asks whether all has arrived, or reads, with the locks of its shadow and for sending | the owner's agent takes that, and answers | the row above. An agent that has data for an interrupt goes on when the owner's program takes some: until then it is to its caller as one that is stopped |
//!
//! Where a process is stopped, or says what is not so, these waits end by their times: `SISCI_LINK_TIMEOUT`, `line::ORDER`, `agent::TELL`,
//! `agent::out::SLOWLY`, `line::back::CLAIMED`.

mod line;
pub mod news;
pub mod proof;
pub mod say;

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;
use rustix::net::sockopt;

#[cfg(any(test, fuzzing))]
pub use line::with_owner;
pub use line::{AHEAD, Changed, End, Line, Notice, ORDER, give_way, hear, order};
use say::{Answer, Request, Want};

use crate::calm;
use crate::config;
use crate::error::{Error, Result};
use crate::hosts::{Hosts, Place};
use crate::name::{Deadline, What};

/// A call that may take less than `SHORT` waits so long for an answer all the same, as on one host.
const PATIENCE: Duration = Duration::from_secs(1);
/// Times from here on are kept.
const SHORT: Duration = Duration::from_millis(100);
/// Stands for "no deadline".
const LONG: Duration = Duration::from_secs(365 * 86_400);

/// Another host, and what all of them know.
pub type Far = (&'static Hosts, &'static Place);

/// How long another host may give no sign of life, if there are others.
pub fn timeout() -> Option<Duration> {
    Some(config::get()?.hosts.as_ref()?.timeout)
}

/// Where `node` is, if that is another host.
pub fn far(node: u32) -> Option<Far> {
    let hosts = config::get()?.hosts.as_ref()?;
    Some((hosts, hosts.far(node)?))
}

/// A number of this process, for owners that ask which connections come from one process.
fn process() -> u64 {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    *PROCESS.get_or_init(|| getrandom::u64().unwrap_or_else(|_| std::process::id().into()) >> 16)
}

/// How a connection behaves: small pieces leave at once, and a host that is gone is noticed within `timeout`, or within a few seconds if that is shorter.
pub fn set_up(socket: &OwnedFd, timeout: Duration) -> rustix::io::Result<()> {
    sockopt::set_tcp_nodelay(socket, true)?;
    sockopt::set_tcp_user_timeout(socket, u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX))?;
    sockopt::set_socket_keepalive(socket, true)?;
    let step = Duration::from_secs((timeout.as_secs() / 4).max(1));
    sockopt::set_tcp_keepidle(socket, step)?;
    sockopt::set_tcp_keepintvl(socket, step)?;
    sockopt::set_tcp_keepcnt(socket, 3)
}

/// Connects to a host. NO_SUCH_SEGMENT if no process of this library is there.
fn dial(hosts: &Hosts, place: &Place, until: Instant) -> Result<OwnedFd> {
    // Asking for a name may take long.
    let ask = || (place.host.as_str(), place.port).to_socket_addrs();
    let found: Vec<SocketAddr> = calm::with_lock(|| calm::open(ask))
        .map_err(|error| {
            crate::state::say(|| format!("host {}: {error}", place.host));
            Error::NoSuchNodeId
        })?
        .collect();
    let mut last = Error::NoSuchNodeId;
    for address in found {
        let rest = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match calm::open(|| TcpStream::connect_timeout(&address, rest)) {
            Ok(stream) => {
                let socket = OwnedFd::from(stream);
                set_up(&socket, hosts.timeout)?;
                return Ok(socket);
            }
            Err(error) => {
                last = match error.kind() {
                    std::io::ErrorKind::TimedOut => Error::Timeout,
                    std::io::ErrorKind::HostUnreachable => Error::NoRemoteLinkAccess,
                    std::io::ErrorKind::NetworkUnreachable => Error::NoLinkAccess,
                    _ => Error::NoSuchSegment,
                };
            }
        }
    }
    Err(last)
}

/// Until when a call waits for an answer.
fn patience(until: Deadline) -> Instant {
    let now = Instant::now();
    until.map_or(now + LONG, |until| if until < now + SHORT { now + PATIENCE } else { until })
}

/// Asks a host, as node `from`. If the host refuses, the connection is reset, and leaves no trace in the system's tables.
fn ask(hosts: &Hosts, place: &Place, want: Want, from: u32, until: Instant) -> Result<(OwnedFd, Answer)> {
    let socket = dial(hosts, place, until)?;
    let abrupt = |error| {
        let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
        error
    };
    let request = Request { want, from, process: process() };
    let answer = proof::call(&socket, &hosts.secret, &request, Some(until)).map_err(abrupt)?;
    match Error::of(answer.status) {
        Error::Ok => Ok((socket, answer)),
        error => Err(abrupt(error)),
    }
}

/// Connects to what has this number on a node of another host.
pub fn connect(
    (hosts, place): Far,
    (node, what, id): (u32, What, u32),
    from: u32,
    until: Deadline,
) -> Result<(Arc<Line>, Answer)> {
    let (aim, until) = ((node, what, id), patience(until));
    if !line::left(aim, until) {
        return Err(Error::Timeout);
    }
    let (socket, answer) = ask(hosts, place, Want::Connect { node, what: what as u8, id }, from, until)?;
    let line = Arc::new(Line::new(socket, place.clone(), aim, hosts.timeout));
    line::named(answer.connection, &line);
    Ok((line, answer))
}

/// Whether a process of the node runs.
pub fn exists((hosts, place): Far, node: u32, from: u32) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    ask(hosts, place, Want::Probe { node }, from, until).map(drop).map_err(|error| match error {
        Error::NoSuchSegment => Error::NoSuchNodeId,
        Error::Timeout => Error::NoRemoteLinkAccess,
        error => error,
    })
}

/// The nodes of a host that are members of a group.
pub fn members((hosts, place): Far, group: u32, from: u32) -> Result<Vec<u32>> {
    let until = Instant::now() + PATIENCE;
    ask(hosts, place, Want::Members { group }, from, until).map(|(_, answer)| answer.nodes)
}
