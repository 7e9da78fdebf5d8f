//! What ties the hosts of a job together beside its launcher: TCP between the first node of host 0 and the first node
//! of each other host. A node that leaves with 0 alone is nothing to end a job for, for mpirun and srun; and srun lets
//! the others live after any code. So the job's exit code goes to all hosts here, and a host that is silent is noticed.
//!
//! Protocol: a host connects, and sends the token that node 0 published and its number (u32). It gets `WELCOME`. From
//! then on both sides send `EXIT` and a code, once. A stranger without the token costs its own connection only.
//!
//! The thread has a table of descriptors of its own, so that a client that closes all descriptors closes none of these.
//! Through it nodes of this host open the job's memory again (`JobHeader::reopen`).
//!
//! Must not know: PMIx; when nodes end.

use crate::base::log;
use crate::os::{net, sys};
use crate::supervise::JobHeader;
use crate::sync::{AtomicU32, Ordering};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// How long hosts wait for each other. All are past the same fence.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long one address or one stranger may take.
const MOMENT: Duration = Duration::from_secs(2);
/// How often the thread looks whether the job has an exit code. It must wait for sockets at the same time.
const GLANCE: Duration = Duration::from_millis(20);
/// How long the launcher has to end a job with a lost host. It knows the right status, and its own bound is shorter.
const LAUNCHERS_TURN: Duration = Duration::from_secs(3);

const WELCOME: u8 = 1;
const EXIT: u8 = 2;

// Becomes 1 when all hosts have been told the job's exit code.
static TOLD: AtomicU32 = AtomicU32::new(0);

/// What the token is made of.
pub type Token = [u8; 16];

/// The end at host 0 before others have connected.
pub struct Hub {
    listener: TcpListener,
    token: Token,
}

impl Hub {
    /// Listens on any port of all interfaces.
    ///
    /// # Errors
    /// The system's.
    pub fn open(token: Token) -> io::Result<Hub> {
        Ok(Hub { listener: TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?, token })
    }

    /// What to publish: token, port, addresses.
    ///
    /// # Errors
    /// The system's.
    pub fn card(&self) -> io::Result<Vec<u8>> {
        let port = self.listener.local_addr()?.port().to_le_bytes();
        let mut list = net::interfaces()?;
        list.sort_by_key(|interface| interface.is_loopback); // those that reach others first
        let addresses: Vec<[u8; 4]> = list.iter().map(|interface| interface.address.octets()).collect();
        Ok([&self.token[..], &port, addresses.as_flattened()].concat())
    }

    /// Waits for all other hosts of `hosts`.
    ///
    /// # Errors
    /// Which hosts did not come.
    pub fn gather(self, hosts: u32) -> Result<Vec<Link>, String> {
        let mut links: Vec<Link> = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        self.listener.set_nonblocking(true).map_err(|e| e.to_string())?;
        while links.len() + 1 < hosts as usize {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let known = |host| links.iter().any(|link| link.host == host);
                    if let Some(host) = self.greet(&stream).filter(|host| (1..hosts).contains(host) && !known(*host)) {
                        links.push(Link::new(host, stream).map_err(|e| e.to_string())?);
                    }
                }
                Err(e) if e.kind() != io::ErrorKind::WouldBlock => return Err(format!("accept: {e}")),
                Err(_) if Instant::now() > deadline => {
                    let known = |host: &u32| links.iter().any(|link| link.host == *host);
                    let missing: Vec<u32> = (1..hosts).filter(|host| !known(host)).collect();
                    return Err(format!(
                        "hosts {missing:?} did not connect by TCP to port {} within {} s; does a firewall stand between?",
                        self.listener.local_addr().map_or(0, |a| a.port()),
                        PATIENCE.as_secs()
                    ));
                }
                Err(_) => sys::nap(Duration::from_millis(1)),
            }
        }
        Ok(links)
    }

    fn greet(&self, mut stream: &TcpStream) -> Option<u32> {
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(MOMENT)).ok()?;
        let mut hello = [0; 20];
        stream.read_exact(&mut hello).ok()?;
        let (token, host) = hello.split_first_chunk::<16>()?;
        if !is_equal(token, &self.token) {
            return None;
        }
        stream.write_all(&[WELCOME]).ok()?;
        Some(u32::from_le_bytes(host.try_into().ok()?))
    }
}

// In the same time whatever differs.
fn is_equal(a: &Token, b: &Token) -> bool {
    a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Connects host `own` to host 0 by its card.
///
/// # Errors
/// Each address that was tried, with the reason.
pub fn connect(card: &[u8], own: u32) -> Result<Link, String> {
    let wrong = || format!("node 0 published a card of {} bytes, which is none of ours", card.len());
    let (token, rest) = card.split_first_chunk::<16>().ok_or_else(wrong)?;
    let (port, addresses) = rest.split_first_chunk::<2>().ok_or_else(wrong)?;
    let port = u16::from_le_bytes(*port);
    let mut tried = Vec::new();
    for address in addresses.as_chunks::<4>().0 {
        let address = SocketAddr::from((*address, port));
        match greet(address, token, own) {
            Ok(stream) => return Link::new(0, stream).map_err(|e| e.to_string()),
            Err(e) => tried.push(format!("{address}: {e}")),
        }
    }
    Err(format!("node 0 cannot be reached by TCP ({})", tried.join("; ")))
}

fn greet(address: SocketAddr, token: &Token, own: u32) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, MOMENT)?;
    stream.set_read_timeout(Some(PATIENCE))?; // it serves one after the other
    stream.write_all(&[&token[..], &own.to_le_bytes()].concat())?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    if answer == [WELCOME] { Ok(stream) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// A connection to another host.
pub struct Link {
    host: u32,
    stream: TcpStream,
    leaves: bool,
}

impl Link {
    fn new(host: u32, stream: TcpStream) -> io::Result<Link> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(MOMENT))?;
        stream.set_nonblocking(true)?;
        net::notice_silence(&stream, Duration::from_secs(3))?;
        Ok(Link { host, stream, leaves: false })
    }
}

/// The thread's business.
pub struct Links {
    /// The connections, if there are several hosts.
    pub links: Vec<Link>,
    /// The job on this host.
    pub header: JobHeader,
    /// The number of its memory's descriptor, under which others open it.
    pub memory: RawFd,
}

impl Links {
    /// Starts the thread. Call it with the job's signals blocked.
    ///
    /// # Errors
    /// There is no thread, or no table of descriptors for it.
    pub fn start(self) -> io::Result<()> {
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::Builder::new().name("gasnet-sci links".into()).spawn(move || {
            let kept: Vec<_> = self.links.iter().map(|link| link.stream.as_raw_fd()).collect();
            let own = sys::own_descriptors(&[&kept[..], &[self.memory]].concat());
            if own.is_ok() {
                self.header.set_keeper(sys::thread_id());
            }
            let _ = ready.send(own);
            self.run();
        })?;
        is_ready.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
    }

    fn run(mut self) {
        while !self.links.is_empty() {
            if let Some(code) = self.header.exit_code() {
                self.tell(code);
            }
            let poll = |link: &Link| libc::pollfd { fd: link.stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            let mut set: Vec<libc::pollfd> = self.links.iter().map(poll).collect();
            if sys::poll(&mut set, Some(GLANCE)).is_err() {
                sys::nap(GLANCE);
            }
            let header = self.header;
            let mut news = set.iter().map(|entry| entry.revents != 0);
            self.links.retain_mut(|link| !news.next().unwrap_or(false) || link.listen(header));
        }
        Self::told(); // nobody is left to tell
        loop {
            sys::pause(); // the memory stays open
        }
    }

    fn tell(&mut self, code: u8) {
        if TOLD.load(Ordering::Relaxed) != 0 {
            return; // Relaxed: this thread's own word
        }
        for link in &mut self.links {
            // Two bytes fit any socket; one that is broken is noticed when this thread listens.
            let _ = link.stream.write_all(&[EXIT, code]);
        }
        Self::told();
    }

    fn told() {
        TOLD.store(1, Ordering::Relaxed); // Relaxed: nothing is handed over
        sys::futex_wake_all(&TOLD);
    }
}

impl Link {
    // Takes what has come. False: nothing more will.
    fn listen(&mut self, header: JobHeader) -> bool {
        let mut message = [0; 2];
        match self.stream.read(&mut message) {
            Ok(2) if message[0] == EXIT => {
                self.leaves = true;
                header.record_exit(message[1]);
                true
            }
            Err(e) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&e.kind()) => true,
            _ if self.leaves || header.exit_code().is_some() => false,
            outcome => {
                let reason = outcome.map_or_else(|e| e.to_string(), |_| "it has closed the connection".into());
                let since = Instant::now();
                while since.elapsed() < LAUNCHERS_TURN {
                    if header.wait_for_exit(LAUNCHERS_TURN).is_some() {
                        return false;
                    }
                }
                log::error(format_args!("host {} is lost ({reason}); the job ends", self.host));
                header.record_exit(1);
                false
            }
        }
    }
}

/// Waits until all hosts know the job's exit code, at most for [`MOMENT`]. Only where [`Links`] has started.
pub fn await_told() {
    let deadline = Instant::now() + MOMENT;
    // Relaxed: nothing is handed over.
    while TOLD.load(Ordering::Relaxed) == 0 && Instant::now() < deadline {
        sys::futex_wait(&TOLD, 0, GLANCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_find_each_other_and_strangers_do_not_count() {
        let token = [7; 16];
        let hub = Hub::open(token).unwrap();
        let card = hub.card().unwrap();
        std::thread::scope(|scope| {
            let links = scope.spawn(|| hub.gather(3).unwrap());
            let forged = [&[8; 16][..], &card[16..]].concat();
            assert!(connect(&forged, 1).is_err());
            let others = [connect(&card, 2).unwrap(), connect(&card, 1).unwrap()];
            let links = links.join().unwrap();
            assert_eq!(links.iter().map(|link| link.host).collect::<Vec<_>>(), [2, 1]);
            let (_memory, header) = JobHeader::create(3).unwrap();
            let mut other = &others[0].stream;
            other.write_all(&[EXIT, 9]).unwrap();
            let mut first = links.into_iter().next().unwrap();
            while header.exit_code().is_none() {
                assert!(first.listen(header));
            }
            assert_eq!(header.exit_code(), Some(9));
            drop(others);
            while first.listen(header) {}
        });
        assert!(connect(&card[..17], 1).is_err());
    }
}
