//! Where other hosts come in. All processes of this user's that are nodes of this host listen at one port together: the first opens it, later ones get
//! the socket from any of them, so it is open until the last has ended, and one that is stopped holds up nobody. Who accepts a caller makes sure
//! of it, and hands the connection to the owner of the name that it wants (`agent`).

use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketFlags;

use crate::calm;
use crate::door::{Door, For, Guest, Host, TAKE, accept};
use crate::error::{Error, Result};
use crate::hosts::{Hosts, Place};
use crate::name::{Name, PAUSE, What, deadline, exists, nodes_with};
use crate::net::proof;
use crate::net::say::{Answer, Request, Want};
use crate::packet::{self, Packet, Verb};
use crate::report::Report;
use crate::service::{self, Ticket, Watch};
use crate::{agent, config, worker};

/// Milliseconds in which a caller has to make itself known.
const PATIENCE: u32 = 5_000;
/// Callers that do so at the same time; more wait until one of them is done.
const CROWD: usize = 64;
/// How often the socket is tried to be got, with pauses between: half a second.
const TRIES: usize = 1000;

/// The listener, and the door by which other processes of this host get it.
pub struct Entry {
    hosts: &'static Hosts,
    gate: Mutex<Gate>,
    door: OnceLock<Arc<Door>>,
}

/// The socket that listens for other hosts.
struct Gate {
    /// Nothing once the entry is closed.
    listener: Option<OwnedFd>,
    /// There is one while the service looks at the listener.
    ticket: OnceLock<Ticket>,
    /// Callers that are greeted now.
    greeted: usize,
}

impl Gate {
    /// The service looks at the listener no longer.
    fn shut(&mut self) {
        if let (Some(listener), Some(ticket)) = (&self.listener, self.ticket.take()) {
            service::forget(listener, ticket);
        }
    }
}

/// Opens the entry; the error is a line for the user.
pub fn open(hosts: &'static Hosts) -> std::result::Result<Arc<Entry>, String> {
    let _ = TAKE.set(agent::take);
    let failed = |error: Error| format!("SISCI_NODES: cannot listen at port {}: {error:?}", hosts.own.port);
    let name = Name::new(0, What::Host, hosts.own.port.into());
    let (listener, door) = share_or_listen(name, &hosts.own)?;
    let gate = Gate { listener: Some(listener), ticket: OnceLock::new(), greeted: 0 };
    let entry = Arc::new(Entry { hosts, gate: Mutex::new(gate), door: OnceLock::new() });
    let own: Weak<Entry> = Arc::downgrade(&entry);
    let door = Door::new(own, door, name, For::Members);
    door.open().map_err(failed)?;
    let _ = entry.door.set(door);
    let opened = entry.watch(&entry.gate.lock());
    if let Err(errno) = opened {
        entry.close();
        return Err(failed(errno.into()));
    }
    Ok(entry)
}

/// The socket that listens for other hosts and the one of its name: those of a process that has them, or new ones.
fn share_or_listen(name: Name, own: &Place) -> std::result::Result<(OwnedFd, OwnedFd), String> {
    let wrong = |error: String| format!("SISCI_NODES: cannot listen at {} port {}: {error}", own.host, own.port);
    for _ in 0..TRIES {
        match name.listen() {
            Ok(door) => {
                return listen_soon(own)
                    .map(|listener| (listener.into(), door))
                    .map_err(|error| wrong(error.to_string()));
            }
            Err(Errno::ADDRINUSE) => {}
            Err(errno) => return Err(wrong(errno.to_string())),
        }
        let until = deadline(PATIENCE);
        match name.connect(until).and_then(|socket| packet::ask(&socket, Packet::new(Verb::Join), until)) {
            Ok((_, mut fds)) => {
                if let (Some(door), Some(listener)) = (fds.pop(), fds.pop()) {
                    let listener = TcpListener::from(listener);
                    let address = listener.local_addr().map_err(|error| wrong(error.to_string()))?.ip();
                    return if is_for(address, own) {
                        Ok((listener.into(), door))
                    } else {
                        Err(wrong(format!("processes of yours listen at {address} alone there; take another port")))
                    };
                }
            }
            // Its last process has ended just now.
            Err(Error::NoSuchSegment) => {}
            Err(error) => return Err(wrong(format!("{error:?}"))),
        }
        calm::open(|| std::thread::sleep(PAUSE));
    }
    Err(wrong("its owner comes and goes".into()))
}

/// Whether who calls this host reaches a socket that listens at `address`. Two hosts of a file may be one machine.
fn is_for(address: IpAddr, own: &Place) -> bool {
    address.is_unspecified() || own.host.parse() == Ok(address)
}

/// Listens when the port is free: of a process that ends, the kernel may take back the port later than the door's name.
fn listen_soon(own: &Place) -> std::io::Result<TcpListener> {
    for _ in 0..TRIES {
        match listen(own) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => calm::open(|| std::thread::sleep(PAUSE)),
            result => return result,
        }
    }
    listen(own)
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
    /// The service looks at the listener from now on.
    fn watch(self: &Arc<Self>, gate: &Gate) -> rustix::io::Result<()> {
        gate.listener.as_ref().map_or(Ok(()), |listener| service::watch(listener, self.clone(), &gate.ticket))
    }

    /// Lets nobody in any more. The port is free before the door's name is, so that who gets the name gets the port.
    pub fn close(&self) {
        let mut gate = self.gate.lock();
        gate.shut();
        gate.listener = None;
        drop(gate);
        if let Some(door) = self.door.get() {
            door.close();
        }
    }

    /// The next caller. The one that fills the crowd leaves those behind it to the kernel, which keeps them waiting.
    fn caller(&self) -> Option<OwnedFd> {
        let mut gate = self.gate.lock();
        let socket = accept(gate.listener.as_ref()?, SocketFlags::empty())?;
        gate.greeted += 1;
        if gate.greeted >= CROWD {
            gate.shut();
        }
        Some(socket)
    }

    /// A caller was greeted: there is room for another one.
    fn greeted(self: &Arc<Self>) {
        let mut gate = self.gate.lock();
        gate.greeted -= 1;
        if gate.ticket.get().is_none() && self.watch(&gate).is_err() {
            // The next one that is done tries again.
            gate.ticket.take();
        }
    }
}

impl Watch for Entry {
    fn ready(self: Arc<Self>) {
        let Some(socket) = self.caller() else { return };
        let own = self.clone();
        let greet = move || {
            let result = serve(socket, own.hosts);
            own.greeted();
            if let Err(error) = result {
                crate::state::say(|| format!("a caller was sent away: {error:?}"));
            }
        };
        if worker::spawn("sisci-entry", greet).is_err() {
            self.greeted();
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
        let gate = self.gate.lock();
        let listener = gate.listener.as_ref().ok_or(Error::NoSuchSegment)?;
        let _ = Packet::new(Verb::Answer).send(guest.socket(), &[listener.as_fd(), door.as_fd()]);
        drop(gate);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read;
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;
    use crate::hosts::Secret;

    fn place(host: &str, port: u16) -> Place {
        Place { host: host.into(), port }
    }

    /// A host of this machine, at a port that nobody has.
    fn host() -> &'static Hosts {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let places = BTreeMap::from([(4, place("127.0.0.1", port))]);
        Box::leak(Box::new(Hosts::new(places, &[4], Secret(vec![7; 16]), Duration::from_secs(9)).unwrap()))
    }

    fn call(hosts: &Hosts) -> TcpStream {
        TcpStream::connect((hosts.own.host.as_str(), hosts.own.port)).unwrap()
    }

    #[test]
    fn a_crowd_that_says_nothing_sends_nobody_away() {
        let hosts = host();
        let entry = open(hosts).unwrap();
        let mut silent: Vec<TcpStream> = (0..CROWD).map(|_| call(hosts)).collect();
        while entry.gate.lock().greeted < CROWD {
            std::thread::yield_now();
        }
        let mut last = call(hosts);
        silent.pop();
        last.read_exact(&mut [0; 40]).unwrap();
        entry.close();
    }

    #[test]
    #[ignore = "takes all descriptors: the test below runs it in a process of its own"]
    fn takes_all_descriptors() {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let hosts = host();
        let _entry = open(hosts).unwrap();
        setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
        let mut all: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
        all.pop();
        let mut stranger = call(hosts);
        stranger.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // It ends, with or without a word; the error would be that nobody has taken it.
        let waits = stranger.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!waits, "the caller is in nobody's hands");
    }

    #[test]
    fn without_descriptors_a_caller_is_sent_away() {
        let own = std::env::current_exe().unwrap();
        let name = "entry::tests::takes_all_descriptors";
        let output = std::process::Command::new(own).args(["--ignored", "--exact", name]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }

    #[test]
    fn who_comes_while_another_goes_gets_the_port() {
        let hosts = host();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..200).for_each(|_| open(hosts).unwrap().close()));
            }
        });
    }

    #[test]
    fn another_host_of_this_machine_has_a_port_of_its_own() {
        let hosts = host();
        let entry = open(hosts).unwrap();
        let other = place("127.0.0.2", hosts.own.port);
        let refused = share_or_listen(Name::new(0, What::Host, other.port.into()), &other).err();
        assert!(refused.unwrap().contains("listen at 127.0.0.1 alone"));
        entry.close();
        let any = "0.0.0.0".parse().unwrap();
        assert!(is_for(any, &place("name", 1)) && !is_for("10.0.0.1".parse().unwrap(), &place("name", 1)));
    }
}
