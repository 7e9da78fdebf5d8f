//! What ties the hosts of a job together beside its launcher: TCP between the first node of host 0 and the first node
//! of each other host. A node that leaves with 0 alone is nothing to end a job for, for mpirun and srun; and srun lets
//! the others live after any code. So the job's exit code goes to all hosts here, and a host that is silent is noticed.
//!
//! Protocol: once connected (`meeting`), both sides send `EXIT` and a code, once. Beats are the system's (keepalive), so a node
//! that is stopped in a debugger is not lost, but a host that is switched off is, or one that is cut off.
//!
//! The thread has a table of descriptors of its own, so that a client that closes all descriptors closes none of these.
//! Through it nodes of this host open the job's memory again (`JobHeader::reopen`).
//!
//! Must not know: PMIx; when nodes end.

use super::meeting::Met;
use crate::base::log;
use crate::os::net::shown;
use crate::os::{own_threads, sys, tcp};
use crate::supervise::JobHeader;
use crate::sync::{AtomicU32, Ordering};
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a node that leaves waits until other hosts know.
const MOMENT: Duration = Duration::from_secs(2);
/// How often the thread looks whether the job has an exit code. It must wait for sockets at the same time.
const GLANCE: Duration = Duration::from_millis(20);
/// How long the launcher has to end a job with a lost host. It knows the right status, and its own bound is shorter.
const LAUNCHERS_TURN: Duration = Duration::from_secs(3);

const EXIT: u8 = 2;

// Becomes 1 when all hosts have been told the job's exit code.
static TOLD: AtomicU32 = AtomicU32::new(0);

/// How often the thread looks whether a host is silent.
const LOOK: Duration = Duration::from_millis(250);

/// A connection to another host.
pub struct Link {
    host: u32,
    stream: Arc<TcpStream>,
    /// The address at the other end, for people.
    at: String,
    leaves: bool,
    silence: Duration,
    /// Since when the other system owes a sign of life, as of the last look.
    owed: Option<Instant>,
    next_look: Instant,
}

impl Link {
    /// The link over a connection to `host`, which counts as lost after `silence`.
    ///
    /// # Errors
    /// The system's.
    pub fn new((host, stream): Met, silence: Duration) -> io::Result<Link> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let socket = SockRef::from(&*stream);
        socket.set_tcp_keepalive(&tcp::keepalive(silence))?;
        socket.set_tcp_user_timeout(Some(tcp::NEVER))?; // this thread alone judges, as the wire over TCP does
        let at = stream.peer_addr().map_or("an unknown address".into(), shown);
        Ok(Link { host, stream, at, leaves: false, silence, owed: None, next_look: Instant::now() + LOOK })
    }

    /// Why the other host counts as lost although its connection is there, if it does.
    fn is_silent(&mut self) -> Option<String> {
        let now = Instant::now();
        if now < self.next_look {
            return None;
        }
        self.next_look = now + LOOK;
        self.owed = tcp::owed_since(self.owed, tcp::activity(self.stream.as_fd()).ok()?, now);
        let is_over = now.duration_since(self.owed?) >= self.silence;
        is_over.then(|| {
            let seconds = self.silence.as_secs_f64();
            format!("no sign of life from {} for {seconds} s (GASNET_SCI_LINK_TIMEOUT)", self.at)
        })
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
    /// Starts the thread.
    ///
    /// # Errors
    /// There is no thread, or no table of descriptors for it.
    pub fn start(self) -> io::Result<()> {
        let (ready, is_ready) = std::sync::mpsc::channel();
        own_threads::spawn("sci-links", own_threads::STACK, move || {
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
            self.links.retain_mut(|link| match news.next() {
                Some(true) => link.listen(header),
                _ => link.is_silent().is_none_or(|reason| link.lose(header, &reason)),
            });
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
            let _ = (&*link.stream).write_all(&[EXIT, code]);
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
        match (&*self.stream).read(&mut message) {
            Ok(2) if message[0] == EXIT => {
                self.leaves = true;
                header.record_exit(message[1]);
                true
            }
            Err(e) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&e.kind()) => true,
            outcome => {
                let reason = outcome.map_or_else(|e| e.to_string(), |_| "it has closed the connection".into());
                self.lose(
                    header,
                    &format!("{reason}, at {}; has it ended, or does a firewall forget connections?", self.at),
                )
            }
        }
    }

    // The connection is of no use any more. False, for `retain`.
    fn lose(&self, header: JobHeader, reason: &str) -> bool {
        let since = Instant::now();
        while !self.leaves && since.elapsed() < LAUNCHERS_TURN {
            if header.wait_for_exit(LAUNCHERS_TURN).is_some() {
                return false;
            }
        }
        if !self.leaves {
            log::error(format_args!("host {} is lost ({reason}); the job ends", self.host));
            header.record_exit(1);
        }
        false
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

    use std::net::{Ipv4Addr, TcpListener};

    fn pair() -> [Link; 2] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let theirs = listener.accept().unwrap().0;
        [(1, ours), (0, theirs)].map(|(host, stream)| {
            let silence = Duration::from_secs(5);
            Link::new((host, Arc::new(stream)), silence).unwrap()
        })
    }

    #[test]
    fn a_code_goes_to_the_other_hosts_and_then_an_end_is_no_loss() {
        let (_memory, header) = JobHeader::create(3).unwrap();
        let [mut first, other] = pair();
        (&*other.stream).write_all(&[EXIT, 9]).unwrap();
        while header.exit_code().is_none() {
            assert!(first.listen(header));
        }
        assert_eq!(header.exit_code(), Some(9));
        drop(other);
        while first.listen(header) {}
        assert_eq!(header.exit_code(), Some(9));
    }

    #[test]
    fn a_host_that_owes_a_sign_of_life_for_too_long_is_lost_by_name() {
        let [mut link, _other] = pair();
        assert_eq!(link.is_silent(), None, "not yet looked at");
        link.next_look = Instant::now();
        assert_eq!(link.is_silent(), None, "it owes nothing for so long");
        // As if the system had sent something behind all that was heard.
        (link.silence, link.next_look) = (Duration::ZERO, Instant::now());
        link.owed = Some(Instant::now() + LOOK);
        let reason = link.is_silent().unwrap_or_default();
        assert!(reason.contains("_LINK_TIMEOUT") && reason.contains(&link.at), "{reason}");
    }

    #[test]
    fn a_host_that_is_gone_without_a_code_ends_the_job() {
        let (_memory, header) = JobHeader::create(3).unwrap();
        let [mut first, other] = pair();
        assert!(first.listen(header), "nothing has come");
        drop(other);
        while first.listen(header) {}
        assert_eq!(header.exit_code(), Some(1));
    }
}
