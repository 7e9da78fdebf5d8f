//! How the first nodes of a job's hosts get connected: all others to that of host 0, which listens on the job's interface. The two
//! sides make sure of each other as nodes do (`boot/contact`), with numbers of hosts for ranks, and with a secret that is for these
//! connections only.
//!
//! Must not know: PMIx; what the connections are for.

use crate::boot::contact::address::{Endpoint, Listening};
use crate::boot::contact::book::{self, Way};
use crate::boot::contact::card::Card;
use crate::boot::contact::greet::Refusal;
use crate::boot::contact::greeting::{Greeting, Identity, Step, Told};
use crate::os::net::shown;
use crate::os::sys;
use socket2::{Domain, Socket, Type};
use std::collections::HashSet;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long hosts wait for each other. All are past the same fence.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long one attempt to connect may take. Host 0 greets all that come at the same time.
const ATTEMPT: Duration = Duration::from_secs(5);
/// How often clocks are looked at.
const GLANCE: Duration = Duration::from_millis(50);
/// Connections at host 0 that have not greeted yet, besides those of the hosts. When more come, the oldest must go.
const STRANGERS: usize = 64;
/// What both sides say in the place of a layout: the version of what goes over these connections (`links`), and of the card.
const PROTOCOL: u64 = u64::from_le_bytes(*b"SCILINK\x02");

/// The secret of these connections.
pub type Secret = [u8; 16];

/// A host that is sure to be one of this job's: its number, and the connection.
pub type Met = (u32, Arc<TcpStream>);

/// The end at host 0 before others have connected.
pub struct Hub {
    listeners: Vec<TcpListener>,
    who: Identity,
    addresses: String,
    /// What others must know to connect: secret, addresses.
    pub card: Vec<u8>,
}

impl Hub {
    /// Listens at `endpoint` for the other ones of `hosts`.
    ///
    /// # Errors
    /// The system's, in words.
    pub fn open(endpoint: &Endpoint, secret: Secret, hosts: u32) -> Result<Hub, String> {
        let Listening { listeners, card } = endpoint.listen((hosts as i32).max(128))?;
        let who = Identity { me: 0, nodes: hosts, layout: PROTOCOL, secret, is_protected: false };
        Ok(Hub { listeners, who, addresses: card.addresses(), card: [&secret[..], &card.bytes()].concat() })
    }

    /// Waits for all other hosts. A stranger costs its own connection, and a line.
    ///
    /// # Errors
    /// Which hosts did not come.
    pub fn gather(self) -> Result<Vec<Met>, String> {
        let (mut met, mut greetings): (Vec<Met>, Vec<Greeting>) = Default::default();
        let mut told = Told::default();
        let deadline = Instant::now() + PATIENCE;
        let others = self.who.nodes as usize - 1;
        while met.len() < others {
            if Instant::now() > deadline {
                return Err(self.missing(&met));
            }
            let wait = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let sockets = greetings.iter().map(|greeting| greeting.socket.as_raw_fd());
            let doors = self.listeners.iter().map(AsRawFd::as_raw_fd);
            let mut set: Vec<_> = doors.chain(sockets).map(wait).collect();
            sys::poll(&mut set, Some(GLANCE)).map_err(|e| e.to_string())?;
            let ready: Vec<bool> = set[self.listeners.len()..].iter().map(|entry| entry.revents != 0).collect();
            let mut ready = ready.into_iter();
            greetings.retain_mut(|greeting| match ready.next() {
                Some(true) => self.step(greeting, &mut met, &mut told),
                _ => true, // nobody hurries a host that is busy
            });
            for listener in &self.listeners {
                self.accept(listener, &mut greetings, others + STRANGERS, &mut told)?;
            }
        }
        Ok(met)
    }

    // Some at a time: who connects as fast as this node accepts keeps nobody waiting.
    fn accept(
        &self,
        listener: &TcpListener,
        greetings: &mut Vec<Greeting>,
        most: usize,
        told: &mut Told,
    ) -> Result<(), String> {
        for _ in 0..STRANGERS {
            match listener.accept() {
                Ok((socket, from)) => {
                    if greetings.len() >= most {
                        told.tell(greetings.remove(0).from, Refusal::Crowd);
                    }
                    if socket.set_nonblocking(true).is_ok() {
                        greetings.push(Greeting::accepted(Arc::new(socket), from, &self.who));
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The connection was gone before it was taken.
                Err(e) if [io::ErrorKind::ConnectionAborted, io::ErrorKind::Interrupted].contains(&e.kind()) => {}
                Err(e) => return Err(format!("accept: {e}")),
            }
        }
        Ok(())
    }

    // Something has come. False: this greeting is over.
    fn step(&self, greeting: &mut Greeting, met: &mut Vec<Met>, told: &mut Told) -> bool {
        let refusal = match greeting.step(&self.who) {
            Step::Wait => return true,
            Step::Asked(host) => match greeting.welcome(&self.who) {
                Step::Sure(_) => {
                    met.retain(|(known, _)| *known != host); // it has proved itself twice: it gave up the first connection
                    met.push((host, greeting.socket.clone()));
                    return false;
                }
                _ => return false, // it comes again
            },
            Step::Refused(refusal) => refusal,
            Step::Ended(_) if greeting.is_nameless() => Refusal::Gone,
            Step::Ended(_) | Step::Unmade(..) | Step::Sure(_) => return false,
        };
        told.tell(greeting.from, refusal);
        false
    }

    fn missing(&self, met: &[Met]) -> String {
        let known = |host: &u32| met.iter().any(|(known, _)| known == host);
        let missing: Vec<u32> = (1..self.who.nodes).filter(|host| !known(host)).collect();
        format!(
            "hosts {missing:?} did not connect by TCP to {} within {} s; does a firewall stand between, or is this the wrong \
             interface (GASNET_SCI_IFACE, GASNET_SCI_PORTS)?",
            self.addresses,
            PATIENCE.as_secs()
        )
    }
}

/// Connects host `own` of `hosts` to host 0 by its card, from the addresses of `endpoint`. The addresses of host 0 are tried in turn,
/// each until it refuses.
///
/// # Errors
/// The addresses that were tried, with the reasons.
pub fn connect(card: &[u8], own: u32, hosts: u32, endpoint: &Endpoint) -> Result<Met, String> {
    let known = card.split_first_chunk::<16>().and_then(|(secret, card)| Some((*secret, Card::read(card)?)));
    let Some((secret, card)) = known else {
        return Err(format!("node 0 published a card of {} bytes, which is none of ours", card.len()));
    };
    let who = Identity { me: own, nodes: hosts, layout: PROTOCOL, secret, is_protected: false };
    let mut ways = book::ways(&endpoint.card(), &card, &HashSet::new());
    if ways.is_empty() {
        return Err(format!(
            "node 0 cannot be reached by TCP at {} from {}: there is no way between them, since addresses of the loopback, of the other \
             family, and those that both hosts have do not count; set up an interface to the same network (GASNET_SCI_IFACE)",
            card.addresses(),
            endpoint.addresses()
        ));
    }
    let (mut turn, mut refused) = (0, Vec::new());
    let deadline = Instant::now() + PATIENCE;
    loop {
        let way = ways[turn % ways.len()];
        match attempt(way, &who) {
            Ok(socket) => return Ok((0, socket)),
            Err(Failed::Again(_)) if Instant::now() < deadline => {
                turn += 1;
                sys::nap(GLANCE);
            }
            Err(Failed::Again(why)) => {
                let at = ways.iter().map(|way| shown(way.to)).collect::<Vec<_>>().join(", ");
                return Err(format!(
                    "node 0 did not answer at {at} within {} s: {why}; does a firewall stand between, or is this the wrong interface \
                     (GASNET_SCI_IFACE, GASNET_SCI_PORTS)?",
                    PATIENCE.as_secs()
                ));
            }
            Err(Failed::For(why)) => {
                refused.push(format!("{}: {why}", shown(way.to)));
                ways.retain(|other| other.to != way.to);
            }
        }
        if ways.is_empty() {
            return Err(format!(
                "node 0 cannot be reached by TCP from {}: at {}; does a firewall refuse, or is this the wrong interface \
                 (GASNET_SCI_IFACE, GASNET_SCI_PORTS)?",
                endpoint.addresses(),
                refused.join(", at ")
            ));
        }
    }
}

enum Failed {
    /// Host 0 had too many others, or was busy, or what is sent there is dropped.
    Again(String),
    For(String),
}

fn attempt(way: Way, who: &Identity) -> Result<Arc<TcpStream>, Failed> {
    let failed = |e: io::Error| Failed::For(e.to_string());
    let socket = Socket::new(Domain::for_address(way.to), Type::STREAM.nonblocking(), None).map_err(failed)?;
    if let Some(from) = way.from {
        socket.bind(&from.into()).map_err(failed)?;
    }
    match socket.connect(&way.to.into()) {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => return Err(failed(e)),
        _ => {}
    }
    let mut greeting = Greeting::connecting(Arc::new(socket.into()), way.to, who, 0);
    while greeting.since.elapsed() < ATTEMPT {
        let events = if greeting.is_connecting() { libc::POLLOUT } else { libc::POLLIN };
        let mut set = [libc::pollfd { fd: greeting.socket.as_raw_fd(), events, revents: 0 }];
        sys::poll(&mut set, Some(GLANCE)).map_err(failed)?;
        match greeting.step(who) {
            Step::Wait | Step::Asked(_) => {}
            Step::Sure(_) => return Ok(greeting.socket),
            Step::Refused(refusal) => return Err(Failed::For(refusal.to_string())),
            Step::Unmade(io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable, why) => {
                return Err(Failed::Again(why));
            }
            Step::Unmade(_, why) => return Err(Failed::For(why)),
            Step::Ended(why) => return Err(Failed::Again(why)),
        }
    }
    Err(Failed::Again("it is silent".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::contact::greet::{HELLO, Hello, PROOF, Side, is_proven, prove};
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddr};

    const SECRET: Secret = [7; 16];

    fn loopback() -> Endpoint {
        Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0)
    }

    fn address_of(card: &[u8]) -> SocketAddr {
        Card::read(&card[16..]).unwrap().spots[0].at
    }

    fn way(to: SocketAddr) -> Way {
        Way { to, from: None }
    }

    #[test]
    fn hosts_find_each_other_and_strangers_do_not_count() {
        let hub = Hub::open(&loopback(), SECRET, 3).unwrap();
        let card = hub.card.clone();
        assert!(hub.listeners.iter().all(|one| one.local_addr().unwrap().ip().is_loopback()), "on its interface alone");
        std::thread::scope(|scope| {
            let met = scope.spawn(|| hub.gather().unwrap());
            let mut silent = TcpStream::connect(address_of(&card)).unwrap();
            let mut garbage = TcpStream::connect(address_of(&card)).unwrap();
            garbage.write_all(&[1; 200]).unwrap();
            assert!(matches!(garbage.read(&mut [0; 1]), Ok(0) | Err(_)), "it costs its connection, and hears nothing");
            let stranger = Identity { me: 1, nodes: 3, layout: PROTOCOL, secret: [8; 16], is_protected: false };
            assert!(attempt(way(address_of(&card)), &stranger).is_err(), "another secret");
            let others = [connect(&card, 2, 3, &loopback()).unwrap(), connect(&card, 1, 3, &loopback()).unwrap()];
            let met = met.join().unwrap();
            assert_eq!(met.iter().map(|(host, _)| *host).collect::<Vec<_>>(), [2, 1]);
            for ((_, ours), (_, theirs)) in met.iter().zip(&others) {
                assert_eq!(ours.peer_addr().unwrap(), theirs.local_addr().unwrap());
            }
            assert!(matches!(silent.read(&mut [0; 1]), Ok(0) | Err(_)));
        });
        assert!(connect(&card[..17], 1, 3, &loopback()).is_err());
    }

    /// A proof that was heard is of no use on another connection, and host 0 must prove itself, too.
    #[test]
    fn both_sides_prove_themselves_with_the_nonces_of_this_connection() {
        let hub = Hub::open(&loopback(), SECRET, 2).unwrap();
        let card = hub.card.clone();
        let at = address_of(&card);
        std::thread::scope(|scope| {
            let met = scope.spawn(|| hub.gather().unwrap());
            let mine = Hello::new(1, 0, PROTOCOL);
            let say = |proof: Option<[u8; PROOF]>| {
                let mut socket = TcpStream::connect(at).unwrap();
                socket.write_all(&mine.bytes()).unwrap();
                let mut hello = [0; HELLO];
                socket.read_exact(&mut hello).unwrap();
                let theirs = Hello::read(&hello, PROTOCOL).unwrap();
                let right = prove(&SECRET, Side::Connector, [&mine, &theirs]);
                socket.write_all(&proof.unwrap_or(right)).unwrap();
                let mut answer = [0; PROOF];
                let is_met = socket.read_exact(&mut answer).is_ok();
                assert_eq!(is_met, is_met && is_proven(&SECRET, Side::Acceptor, [&mine, &theirs], &answer));
                (right, is_met)
            };
            let heard = prove(&SECRET, Side::Connector, [&mine, &Hello::new(0, 1, PROTOCOL)]);
            assert!(!say(Some(heard)).1, "of another connection");
            assert!(say(None).1);
            assert_eq!(met.join().unwrap().len(), 1);
        });
        // One that listens there instead of host 0, and does not know the secret.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut socket, _) = listener.accept().unwrap();
                socket.read_exact(&mut [0; HELLO]).unwrap();
                socket.write_all(&Hello::new(0, 1, PROTOCOL).bytes()).unwrap();
                socket.read_exact(&mut [0; PROOF]).unwrap();
                socket.write_all(&[3; PROOF]).unwrap();
                let _ = socket.read(&mut [0; 1]);
            });
            let who = Identity { me: 1, nodes: 2, layout: PROTOCOL, secret: SECRET, is_protected: false };
            match attempt(way(at), &who) {
                Err(Failed::For(why)) => assert!(why.contains("proof"), "{why}"),
                _ => panic!("it believes a stranger"),
            }
        });
    }

    #[test]
    fn nobody_who_listens_is_an_error_that_names_the_settings() {
        let card = Hub::open(&loopback(), SECRET, 2).unwrap().card; // and is closed
        let why = connect(&card, 1, 2, &loopback()).unwrap_err();
        assert!(why.contains("GASNET_SCI_IFACE") && why.contains(&address_of(&card).to_string()), "{why}");
    }
}
