//! The command by which a launcher reaches a standing agent. For the launcher it is what ssh is: its stdin, stdout and stderr are those of
//! the agent on the host, and when it is killed the agent's end.

use super::secret;
use super::talk::{self, END, ERR, IN, OUT, Sender};
use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// How long a connection may take to each address of a host, and then the greeting. The launcher bounds all of it.
const CONNECT: Duration = Duration::from_secs(10);
const GREETING: Duration = Duration::from_secs(20);

/// Ends this process with the agent's status.
pub fn reach(host: &str, port: u16, file: &Path) -> io::Result<()> {
    let secret = secret::read(file)?;
    let problem = |what: String| io::Error::other(format!("no standing agent at {host}, port {port}: {what}"));
    let stream = connect(host, port).map_err(|error| problem(error.to_string()))?;
    let _ = stream.set_nodelay(true);
    let (sender, mut receiver) = talk::enter(&stream, &secret, Instant::now() + GREETING).map_err(|why| {
        io::Error::other(format!("the standing agent at {host}, port {port}, was not reached: {why}"))
    })?;
    let sender = Mutex::new(sender);
    thread::spawn(move || Sender::copy(&sender, IN, io::stdin(), true));
    loop {
        let (kind, bytes) = receiver.next().map_err(|error| {
            let why =
                if error.kind() == io::ErrorKind::UnexpectedEof { "it has ended".into() } else { error.to_string() };
            io::Error::other(format!("lost the standing agent at {host}, port {port}: {why}"))
        })?;
        match kind {
            OUT => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush())?,
            ERR => io::stderr().write_all(bytes)?,
            END => std::process::exit(bytes.first().map_or(1, |code| i32::from(*code))),
            _ => {}
        }
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
