//! The standing agent: for each connection of somebody who knows the secret it starts the agent of a job, and moves bytes between the two.
//! Each connection has a thread, whose end ends what it started, so nothing outlives this process or its connection.

use super::talk::{self, END, ERR, IN, OUT, Receiver, Sender};
use super::{default_port, secret};
use crate::reach::{AGENT, Inherited};
use gasnet_sci::os::{limit, sys};
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a stranger may take to prove that he knows the secret.
const GREETING: Duration = Duration::from_secs(2);
/// How long one who did not keeps his place among those who may try.
const PENALTY: Duration = Duration::from_secs(1);
/// As many may try at a time, and as many of them from one address. With the penalty that bounds the attempts in a second.
const PLACES: [usize; 2] = [64, 16];
/// How long the last bytes of an agent that has ended may take to go.
const LAST_BYTES: Duration = Duration::from_secs(60);
/// How long the other side may take to hang up then.
const PARTING: Duration = Duration::from_secs(1);
/// Lines about strangers: one in such a time.
const LINES: Duration = Duration::from_secs(1);

struct Door {
    secret: [u8; secret::LEN],
    // The command that starts the agent of a job.
    words: Vec<OsString>,
    inherited: Inherited,
    strangers: Mutex<Strangers>,
}

#[derive(Default)]
struct Strangers {
    // The addresses of those who have not proved themselves yet.
    waiting: Vec<IpAddr>,
    told_at: Option<Instant>,
    untold: u32,
}

/// Serves until it is killed.
pub fn serve(listen: Option<&str>, file: &Path, limits: Option<&str>) -> io::Result<()> {
    let secret = secret::read(file)?;
    let program = std::env::current_exe()?.with_file_name("gasnetrun_sci");
    // Agents read it in the directory of their job.
    let limits = limits.map(std::path::absolute).transpose()?;
    let words = [program.into(), AGENT.into()].into_iter().chain(limits.map(Into::into)).collect();
    let listener = bind(listen)?;
    let _ = writeln!(io::stdout(), "gasnet-sci agent: listens at {}", listener.local_addr()?); // perhaps nobody reads it
    sys::set_plain(libc::SIGCHLD, libc::SIG_DFL); // if it is ignored, nobody learns how an agent has ended
    let door = Arc::new(Door { secret, words, inherited: Inherited::now(), strangers: Mutex::default() });
    limit::raise_descriptors(); // six for each connection; what this process starts gets what it has inherited
    loop {
        match listener.accept() {
            Ok((stream, from)) => door.clone().open(stream, from.ip().to_canonical()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                door.tell(&format!("no connection: {error}")); // such as too many descriptors
                sys::nap(Duration::from_millis(100));
            }
        }
    }
}

fn bind(listen: Option<&str>) -> io::Result<TcpListener> {
    let bound = match listen {
        Some(text) if text.contains(':') => TcpListener::bind(text),
        _ => {
            let port = listen.map_or(Ok(default_port()), |text| super::port(Some(text)))?;
            // Some systems have no IPv6.
            TcpListener::bind(("::", port)).or_else(|_| TcpListener::bind(("0.0.0.0", port)))
        }
    };
    let place = listen.map_or(default_port().to_string(), String::from);
    bound.map_err(|error| io::Error::new(error.kind(), format!("cannot listen at {place}: {error}")))
}

impl Door {
    fn strangers<T>(&self, act: impl FnOnce(&mut Strangers) -> T) -> T {
        act(&mut self.strangers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn open(self: Arc<Door>, stream: TcpStream, from: IpAddr) {
        let is_full = |waiting: &[IpAddr]| {
            waiting.len() >= PLACES[0] || waiting.iter().filter(|other| **other == from).count() >= PLACES[1]
        };
        let has_place = self.strangers(|strangers| {
            let has_place = !is_full(&strangers.waiting);
            strangers.waiting.extend(has_place.then_some(from));
            has_place
        });
        if !has_place {
            self.tell(&format!("refused {from}: too many connect that are not known"));
            return talk::refuse(&stream, None);
        }
        let door = self.clone();
        let talk = move || door.talk(&stream, from);
        if let Err(error) = thread::Builder::new().stack_size(256 << 10).spawn(talk) {
            self.leave(from);
            self.tell(&format!("no thread for {from}: {error}"));
        }
    }

    fn leave(&self, from: IpAddr) {
        self.strangers(|strangers| {
            let at = strangers.waiting.iter().position(|other| *other == from);
            at.map(|at| strangers.waiting.swap_remove(at));
        });
    }

    // Lines about strangers, so many that they do not fill a disk.
    fn tell(&self, line: &str) {
        let more = self.strangers(|strangers| {
            if strangers.told_at.is_some_and(|at| at.elapsed() < LINES) {
                strangers.untold += 1;
                return None;
            }
            strangers.told_at = Some(Instant::now());
            Some(std::mem::take(&mut strangers.untold))
        });
        match more {
            None => {}
            Some(0) => say(line),
            Some(more) => say(&format!("{line} ({more} others meanwhile)")),
        }
    }

    fn talk(&self, stream: &TcpStream, from: IpAddr) {
        let admitted = talk::admit(stream, &self.secret, Instant::now() + GREETING);
        if let Err(why) = &admitted {
            self.tell(&format!("refused {from}: {why}"));
            sys::nap(PENALTY);
        }
        self.leave(from);
        match admitted {
            Err(why) => talk::refuse(stream, Some(why)),
            Ok((sender, receiver)) => {
                let _ = stream.set_nodelay(true);
                let sender = Arc::new(Mutex::new(sender));
                if let Err(error) = self.run_agent(&sender, receiver, stream) {
                    say(&format!("cannot run {}: {error}", self.words[0].display()));
                    let line = format!("gasnet-sci agent: cannot run {}: {error}\n", self.words[0].display());
                    send(&sender, ERR, line.as_bytes());
                    send(&sender, END, &[127]);
                }
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    fn run_agent(&self, sender: &Arc<Mutex<Sender>>, receiver: Receiver, stream: &TcpStream) -> io::Result<()> {
        let mut child = self.inherited.start(&self.words)?;
        let served = serve_agent(&mut child, sender, receiver, stream);
        if served.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        served
    }
}

// Moves bytes until the agent has ended.
fn serve_agent(
    child: &mut Child,
    sender: &Arc<Mutex<Sender>>,
    mut receiver: Receiver,
    stream: &TcpStream,
) -> io::Result<()> {
    let (done, ended) = channel();
    let (mut stdin, pipes) = (child.stdin.take(), (child.stdout.take(), child.stderr.take()));
    let copies: [(u8, Option<Box<dyn io::Read + Send>>); 2] =
        [(OUT, pipes.0.map(|pipe| Box::new(pipe) as _)), (ERR, pipes.1.map(|pipe| Box::new(pipe) as _))];
    for (kind, pipe) in copies {
        let (sender, done) = (sender.clone(), done.clone());
        thread::Builder::new().spawn(move || {
            let copied = pipe.map_or(Ok(()), |pipe| Sender::copy(&sender, kind, pipe, false));
            let _ = done.send(copied.is_ok());
        })?;
    }
    let (hung_up, parting) = channel();
    thread::Builder::new().spawn(move || {
        while let Ok((kind, bytes)) = receiver.next() {
            if kind == IN && (bytes.is_empty() || stdin.as_mut().is_some_and(|pipe| pipe.write_all(bytes).is_err())) {
                stdin = None;
            }
        }
        drop(stdin); // the launcher has gone: the agent sees its channel end
        let _ = hung_up.send(());
    })?;
    let status = child.wait()?;
    let until = Instant::now() + LAST_BYTES;
    // It is all there if both have copied until the end.
    let left = || until.saturating_duration_since(Instant::now());
    if (0..2).all(|_| ended.recv_timeout(left()) == Ok(true)) {
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
        send(sender, END, &[code as u8]);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = parting.recv_timeout(PARTING); // with bytes unread the system would throw away what it has not sent
    }
    Ok(())
}

// Who does not take it has gone.
fn send(sender: &Mutex<Sender>, kind: u8, bytes: &[u8]) {
    let _ = sender.lock().unwrap_or_else(PoisonError::into_inner).send(kind, bytes);
}

fn say(line: &str) {
    let _ = writeln!(io::stderr(), "gasnet-sci agent: {line}"); // the service goes on without a reader
}
