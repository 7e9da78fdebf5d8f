//! What ssh and sshd are between real hosts: a client that runs a command on another host and carries its input and
//! output, and the server there. They use TCP over the hosts' network, so faults of links strike them, too. A client
//! that is killed looks to the command as a lost connection does: its input ends, and nobody reads its output.
//!
//! The rules that matter are those of ssh: the words of the command are joined by spaces and given to a shell; the
//! environment does not come along; the status is the command's, or 255.

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;

/// The port of the server in each host.
pub const PORT: u16 = 22;
/// Variables that come along: the mark by which a test finds its processes, and its directory for temporary files.
const CARRIED: [&str; 2] = ["GASNET_CI_MARK", "TMPDIR"];
/// Variables that the server has, and gives to its commands.
const BASIC: [&str; 5] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL"];

/// The status if there is no connection, or no longer.
const NO_CONNECTION: i32 = 255;

/// What a frame is: its first byte, then its length in four.
mod kind {
    /// The command, as JSON.
    pub const RUN: u8 = b'R';
    pub const INPUT: u8 = b'I';
    pub const END_OF_INPUT: u8 = b'E';
    pub const OUTPUT: u8 = b'O';
    pub const ERRORS: u8 = b'S';
    /// The status, in four bytes.
    pub const EXIT: u8 = b'X';
}

fn send(to: &mut impl Write, kind: u8, data: &[u8]) -> io::Result<()> {
    let length = u32::try_from(data.len()).map_err(io::Error::other)?;
    to.write_all(&[&[kind][..], &length.to_le_bytes(), data].concat())
}

fn receive(from: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let mut data = vec![0; length as usize];
    from.read_exact(&mut data)?;
    Ok((head[0], data))
}

// --- client -------------------------------------------------------------------------------------------------------------

/// `[OPTION...] HOST COMMAND...`, as ssh takes it. Options of ssh are accepted, and only -n means something.
struct Call<'a> {
    no_input: bool,
    host: &'a str,
    command: String,
}

fn parse(words: &[String]) -> Result<Call<'_>> {
    let (mut no_input, mut rest) = (false, words);
    while let [option, tail @ ..] = rest
        && let Some(letters) = option.strip_prefix('-')
    {
        no_input |= letters == "n";
        let takes_value = matches!(letters, "o" | "l" | "p" | "i" | "F");
        rest = if takes_value { tail.get(1..).unwrap_or_default() } else { tail };
    }
    let [host, command @ ..] = rest else { bail!("which host? HOST COMMAND...") };
    if command.is_empty() {
        bail!("no command for {host}: there are no logins here");
    }
    let host = host.rsplit('@').next().unwrap_or_default();
    Ok(Call { no_input, host, command: command.join(" ") })
}

/// Runs a command on another host. Returns its status.
pub fn rsh(words: &[String]) -> Result<i32> {
    let call = parse(words)?;
    let mut connection = match TcpStream::connect((call.host, PORT)) {
        Ok(connection) => connection,
        Err(error) => {
            eprintln!("netlab rsh: no connection to {}: {error}", call.host);
            return Ok(NO_CONNECTION);
        }
    };
    connection.set_nodelay(true)?;
    let carried: BTreeMap<&str, String> =
        CARRIED.iter().filter_map(|name| Some((*name, env::var(name).ok()?))).collect();
    let request = json!({"command": call.command, "environment": carried});
    send(&mut connection, kind::RUN, request.to_string().as_bytes())?;
    let mut input = connection.try_clone()?;
    // It does not outlive the process, and the server ends the connection.
    thread::spawn(move || -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        while !call_ended(call.no_input, &mut buffer, &mut input)? {}
        send(&mut input, kind::END_OF_INPUT, &[])
    });
    loop {
        match receive(&mut connection) {
            Ok((kind::OUTPUT, data)) => pass(io::stdout(), &data)?,
            Ok((kind::ERRORS, data)) => pass(io::stderr(), &data)?,
            Ok((kind::EXIT, data)) => {
                return Ok(i32::from_le_bytes(data.try_into().map_err(|_| io::Error::other("no status"))?));
            }
            Ok((other, _)) => bail!("the server on {} sent a frame of kind {other}", call.host),
            Err(error) => {
                eprintln!("netlab rsh: the connection to {} is lost: {error}", call.host);
                return Ok(NO_CONNECTION);
            }
        }
    }
}

/// Sends a piece of standard input. Returns true at its end.
fn call_ended(no_input: bool, buffer: &mut [u8], to: &mut TcpStream) -> io::Result<bool> {
    let length = if no_input { 0 } else { io::stdin().read(buffer)? };
    if length > 0 {
        send(to, kind::INPUT, &buffer[..length])?;
    }
    Ok(length == 0)
}

fn pass(mut to: impl Write, data: &[u8]) -> io::Result<()> {
    to.write_all(data)?;
    to.flush()
}

// --- server -------------------------------------------------------------------------------------------------------------

/// Serves all clients, each in a thread of its own. Never returns.
pub fn serve(listener: &TcpListener) -> ! {
    loop {
        match listener.accept() {
            Ok((connection, _)) => drop(thread::spawn(move || {
                if let Err(error) = session(connection) {
                    eprintln!("netlab: server for rsh: {error:#}");
                }
            })),
            Err(error) => eprintln!("netlab: accept: {error}"),
        }
    }
}

fn session(mut connection: TcpStream) -> Result<()> {
    connection.set_nodelay(true)?;
    // A client that connects and goes has nothing to say.
    let Ok((kind::RUN, request)) = receive(&mut connection) else { return Ok(()) };
    let request: Value = serde_json::from_slice(&request)?;
    let mut command = Command::new("sh");
    command.args(["-c", request["command"].as_str().context("no command")?]).env_clear();
    command.envs(BASIC.iter().filter_map(|name| Some((name, env::var_os(name)?))));
    for (name, value) in request["environment"].as_object().into_iter().flatten() {
        command.env(name, value.as_str().unwrap_or_default());
    }
    if let Some(directory) = request["environment"]["TMPDIR"].as_str() {
        fs::create_dir_all(directory).with_context(|| format!("cannot make {directory}"))?;
    }
    command.current_dir(env::var("HOME").unwrap_or("/".into())).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot run sh")?;
    let is_there = carry(&mut connection, &mut child)?;
    // One whose client is gone goes on as long as it likes, and is waited for all the same.
    let status = code_of(child.wait()?);
    if is_there {
        let _ = send(&mut connection, kind::EXIT, &status.to_le_bytes()); // the client may be gone
        let _ = connection.shutdown(Shutdown::Both); // as before; it ends the other thread
    }
    Ok(())
}

/// Carries input and output until the command has closed its outputs. Returns false if the connection was closed before.
fn carry(connection: &mut TcpStream, child: &mut Child) -> Result<bool> {
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = streams else { bail!("three pipes were asked for") };
    let (closed, ear) = pipe_with(PipeFlags::CLOEXEC)?;
    let input = connection.try_clone()?;
    thread::spawn(move || {
        feed(input, stdin);
        drop(ear); // the connection is closed: tells the loop below
    });
    let mut outputs = [
        (kind::OUTPUT, Some(fs::File::from(std::os::fd::OwnedFd::from(stdout)))),
        (kind::ERRORS, Some(fs::File::from(std::os::fd::OwnedFd::from(stderr)))),
    ];
    let mut buffer = [0; 16 * 1024];
    while outputs.iter().any(|(_, file)| file.is_some()) {
        let open: Vec<usize> = (0..2).filter(|number| outputs[*number].1.is_some()).collect();
        let mut files = vec![PollFd::new(&closed, PollFlags::IN)];
        files.extend(
            open.iter().filter_map(|number| {
                Some(PollFd::from_borrowed_fd(outputs[*number].1.as_ref()?.as_fd(), PollFlags::IN))
            }),
        );
        let _ = poll(&mut files, None); // an error is EINTR; then nothing is ready
        let ready: Vec<bool> = files.iter().map(|file| !file.revents().is_empty()).collect();
        if ready[0] {
            return Ok(false); // closes the pipes
        }
        for (place, number) in open.into_iter().enumerate().filter(|(place, _)| ready[place + 1]) {
            debug_assert!(place < 2);
            let (kind, file) = &mut outputs[number];
            let length = file.as_mut().map_or(Ok(0), |file| file.read(&mut buffer))?;
            if length == 0 {
                *file = None;
            } else if send(connection, *kind, &buffer[..length]).is_err() {
                return Ok(false); // the client is gone
            }
        }
    }
    Ok(true)
}

/// Gives the command what the client sends. Returns when the connection is closed.
fn feed(mut connection: TcpStream, stdin: ChildStdin) {
    let mut stdin = Some(stdin);
    while let Ok((kind, data)) = receive(&mut connection) {
        match kind {
            kind::INPUT => {
                // The command may have closed its input.
                if stdin.as_mut().is_some_and(|stdin| pass(stdin, &data).is_err()) {
                    stdin = None;
                }
            }
            _ => stdin = None,
        }
    }
}

/// The status of a process; 128 and its number if a signal ended it.
pub fn code_of(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_that_of_ssh() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let line = words("-o BatchMode=yes -x -n me@hB /bin/run --agent a");
        let call = parse(&line).unwrap();
        assert_eq!((call.no_input, call.host, call.command.as_str()), (true, "hB", "/bin/run --agent a"));
        let line = words("hC true");
        assert!(!parse(&line).unwrap().no_input);
        assert!(parse(&words("hC")).is_err_and(|error| error.to_string().contains("hC")));
        assert!(parse(&words("-o a=b")).is_err());
    }

    #[test]
    fn a_connection_carries_input_output_and_status() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || serve(&listener));
        let start = |command: &str| {
            let mut connection = TcpStream::connect(address).unwrap();
            let request = json!({"command": command, "environment": {"GASNET_CI_MARK": "m"}});
            send(&mut connection, kind::RUN, request.to_string().as_bytes()).unwrap();
            connection
        };
        let finish = |mut connection: TcpStream| {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            loop {
                match receive(&mut connection).unwrap() {
                    (kind::OUTPUT, data) => out.extend(data),
                    (kind::ERRORS, data) => err.extend(data),
                    (kind::EXIT, data) => break (out, err, i32::from_le_bytes(data.try_into().unwrap())),
                    other => panic!("{other:?}"),
                }
            }
        };
        let mut connection = start("tr a-z A-Z; echo $GASNET_CI_MARK >&2; exit 7");
        send(&mut connection, kind::INPUT, b"some text").unwrap();
        send(&mut connection, kind::END_OF_INPUT, &[]).unwrap();
        assert_eq!(finish(connection), (b"SOME TEXT".to_vec(), b"m\n".to_vec(), 7));
        assert_eq!(finish(start("kill -9 $$")).2, 137);

        // A client that goes ends the input of its command.
        let file = tempfile::NamedTempFile::new().unwrap();
        let connection = start(&format!("cat; echo end >{}", file.path().display()));
        drop(connection);
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while fs::read_to_string(file.path()).unwrap() != "end\n" {
            assert!(std::time::Instant::now() < until, "the command still has its input");
            thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
