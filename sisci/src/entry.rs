//! Where other hosts come in. All processes of this user's that are nodes of this host listen at one port together: the first opens it, later ones get
//! the socket from any of them, so it is open until the last has ended, and one that is stopped holds up nobody. Who accepts a caller makes sure
//! of it, and hands the connection to the owner of the name that it wants (`agent`).

use std::net::{IpAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use crate::door::{Door, For, Guest, Host, TAKE};
use crate::error::{Error, Result};
use crate::hosts::{Hosts, Place};
use crate::name::{Name, What, deadline, enough, exists, nodes_with};
use crate::net::proof;
use crate::net::say::{Answer, Request, Want};
use crate::packet::{self, Packet, Verb};
use crate::report::Report;
use crate::service::{self, Ticket, Watch};
use crate::{agent, config, worker};

/// Milliseconds in which a caller has to make itself known.
const PATIENCE: u32 = 5_000;
/// Callers that do so at the same time; more are sent away.
const CROWD: usize = 64;

/// Callers that are greeted now.
static GREETED: AtomicUsize = AtomicUsize::new(0);

/// The listener, and the door by which other processes of this host get it.
pub struct Entry {
    hosts: &'static Hosts,
    listener: OwnedFd,
    ticket: OnceLock<Ticket>,
    door: OnceLock<Arc<Door>>,
}

/// Opens the entry; the error is a line for the user.
pub fn open(hosts: &'static Hosts) -> std::result::Result<Arc<Entry>, String> {
    let _ = TAKE.set(agent::take);
    let failed = |error: Error| format!("SISCI_NODES: cannot listen at port {}: {error:?}", hosts.own.port);
    let name = Name::new(0, What::Host, hosts.own.port.into());
    let (listener, door) = share_or_listen(name, &hosts.own)?;
    let entry = Arc::new(Entry { hosts, listener, ticket: OnceLock::new(), door: OnceLock::new() });
    let own: Weak<Entry> = Arc::downgrade(&entry);
    let door = Door::new(own, door, name, For::Members);
    door.open().map_err(failed)?;
    let _ = entry.door.set(door);
    service::watch(&entry.listener, entry.clone(), &entry.ticket).map_err(|errno| failed(errno.into()))?;
    Ok(entry)
}

/// The socket that listens for other hosts and the one of its name: those of a process that has them, or new ones.
fn share_or_listen(name: Name, own: &Place) -> std::result::Result<(OwnedFd, OwnedFd), String> {
    let wrong = |error: String| format!("SISCI_NODES: cannot listen at {} port {}: {error}", own.host, own.port);
    for _ in 0..1000 {
        match name.listen() {
            Ok(door) => {
                return listen(own).map(|listener| (listener.into(), door)).map_err(|error| wrong(error.to_string()));
            }
            Err(Errno::ADDRINUSE) => {}
            Err(errno) => return Err(wrong(errno.to_string())),
        }
        let until = deadline(PATIENCE);
        match name.connect(until).and_then(|socket| packet::ask(&socket, Packet::new(Verb::Join), until)) {
            Ok((_, mut fds)) => {
                if let (Some(door), Some(listener)) = (fds.pop(), fds.pop()) {
                    return Ok((listener, door));
                }
            }
            // Its last process has ended just now.
            Err(Error::NoSuchSegment) => {}
            Err(error) => return Err(wrong(format!("{error:?}"))),
        }
    }
    Err(wrong("its owner comes and goes".into()))
}

/// Listens at the host's address, or, if that is a name, at all addresses.
fn listen(own: &Place) -> std::io::Result<TcpListener> {
    let listener = match own.host.parse::<IpAddr>() {
        Ok(address) => TcpListener::bind((address, own.port)),
        // A host without IPv6 has the other kind alone.
        Err(_) => TcpListener::bind(("::", own.port)).or_else(|_| TcpListener::bind(("0.0.0.0", own.port))),
    }?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Entry {
    /// Lets nobody in any more.
    pub fn close(&self) {
        if let Some(&ticket) = self.ticket.get() {
            service::forget(&self.listener, ticket);
        }
        if let Some(door) = self.door.get() {
            door.close();
        }
    }
}

impl Watch for Entry {
    fn ready(self: Arc<Self>) {
        let Ok(socket) = enough(|| accept_with(&self.listener, SocketFlags::CLOEXEC)) else { return };
        // Ordering: a count.
        if GREETED.fetch_add(1, Ordering::Relaxed) >= CROWD {
            GREETED.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let hosts = self.hosts;
        let greet = move || {
            let result = serve(socket, hosts);
            GREETED.fetch_sub(1, Ordering::Relaxed);
            if let Err(error) = result {
                crate::state::say(|| format!("a caller was sent away: {error:?}"));
            }
        };
        if worker::spawn("sisci-entry", greet).is_err() {
            GREETED.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Makes sure of a caller, and does what it wants.
fn serve(socket: OwnedFd, hosts: &Hosts) -> Result {
    crate::net::set_up(&socket, hosts.timeout)?;
    let until = deadline(PATIENCE);
    let Request { want, from, process } = proof::greet(&socket, &hosts.secret, until)?;
    let answer = match want {
        Want::Connect { node, what, id } => match hand_over(&socket, (node, what, id), from, process) {
            Ok(()) => return Ok(()),
            Err(error) => Answer { status: error as u32, ..Answer::default() },
        },
        Want::Probe { node } => {
            let status = if exists(node) { Error::Ok } else { Error::NoSuchNodeId };
            Answer { status: status as u32, ..Answer::default() }
        }
        Want::Members { group } => {
            let members = nodes_with(What::Member).into_iter().filter(|&(_, id)| id == group);
            Answer { nodes: members.map(|(node, _)| node).collect(), ..Answer::default() }
        }
    };
    proof::answer(&socket, &answer, until);
    Ok(())
}

/// Gives a caller to the owner of the name that it wants.
fn hand_over(socket: &OwnedFd, (node, what, id): (u32, u8, u32), from: u32, process: u64) -> Result {
    let what = What::far(what.into()).ok_or(Error::InconsistentVersions)?;
    if !config::is_node(node) || !config::is_node(from) {
        return Err(Error::IllegalNodeId);
    }
    let owner = Name::new(node, what, id).connect(deadline(PATIENCE))?;
    agent::packet(node, (what, id), from, process).send(&owner, &[socket.as_fd()]).map_err(|_| Error::NoSuchSegment)
}

impl Host for Entry {
    fn greet(&self, guest: &Arc<Guest>, packet: Packet) -> Result {
        if packet.verb != Verb::Join {
            return Err(Error::InconsistentVersions);
        }
        // Being closed: who asks finds the name free in a moment.
        let door = self.door.get().ok_or(Error::NoSuchSegment)?.copy()?;
        let _ = Packet::new(Verb::Answer).send(guest.socket(), &[self.listener.as_fd(), door.as_fd()]);
        guest.forget();
        Ok(())
    }

    fn left(&self, _guest: &Arc<Guest>) {}

    fn report(&self, _whom: For) -> Report {
        Report::default()
    }
}

/// The entry of this process, while it has one.
pub static ENTRY: Mutex<Option<Arc<Entry>>> = Mutex::new(None);
