//! A connection between a launcher's command and a standing agent.
//!
//! ```text
//! command → agent   MAGIC 8, OFFER 48
//! agent → command   MAGIC 8, VERDICT 1, and if that is WELCOME: ANSWER 48
//! command → agent   a record: READY
//! then records, both ways: a kind, and bytes (kinds: the constants below)
//! ```
//! OFFER, ANSWER and the records are those that protect the wire (`sci::far::seal`), with the user's secret in the place of the job's. So
//! each side knows that the other has the secret, which is never sent; nobody between them reads or changes anything; and what was said on
//! one connection is of no use on another: who repeats an OFFER cannot make the READY that belongs to the new ANSWER. Versions of jobs are
//! compared behind this, by the frame HELLO of the job's agent. The last byte of MAGIC is the version of this form.
//!
//! Must not know: what is carried.

use super::secret::LEN;
use gasnet_sci::sci::far::seal::Refused;
use gasnet_sci::sci::far::seal::exchange::{ANSWER, Exchange, OFFER, Pair, Secrets};
use gasnet_sci::sci::far::seal::record::{HEAD, MOST, RecordOpener, RecordSealer};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What each side says first.
pub const MAGIC: [u8; 8] = *b"GSCISTA\x01";
/// Verdicts.
const WELCOME: u8 = 0;
const STRANGER: u8 = 1;
const CROWD: u8 = 2;

/// Kinds of records. The command has proved itself.
pub const READY: u8 = 0;
/// Bytes for the agent's stdin; none: it has ended.
pub const IN: u8 = 1;
/// Bytes of its stdout.
pub const OUT: u8 = 2;
/// Bytes of its stderr.
pub const ERR: u8 = 3;
/// It has ended, with this status (one byte).
pub const END: u8 = 4;
/// The most bytes of a record, behind its kind.
pub const PIECE: usize = MOST - 1;

const PAIR: Pair<'static> = Pair { wire: "standing agent", layout: 0, initiator: 0, responder: 1, said: &MAGIC };

/// Why a standing agent refuses somebody.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// It says nothing, or nothing that a launcher's command says.
    Garbage,
    /// Its form of the greeting has this version.
    Version(u8),
    /// It does not know the secret.
    Secret,
    /// It repeats what another one said.
    Repeated,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Garbage => f.write_str("it did not greet as a launcher does"),
            Refusal::Version(theirs) => write!(f, "its greeting has version {theirs}, this one {}", MAGIC[7]),
            Refusal::Secret => f.write_str("it does not know the secret"),
            Refusal::Repeated => f.write_str("it did not prove that it knows the secret"),
        }
    }
}

/// Sends records.
pub struct Sender {
    sealer: RecordSealer,
    stream: TcpStream,
    record: Vec<u8>,
}

impl Sender {
    /// Sends a record of up to [`PIECE`] bytes.
    pub fn send(&mut self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        self.record.clear();
        self.record.resize(HEAD, 0);
        self.record.push(kind);
        self.record.extend_from_slice(bytes);
        self.sealer.seal(&mut self.record).map_err(broken)?;
        self.stream.write_all(&self.record)
    }

    /// Sends all that `from` brings, until it ends. The end is told by no bytes, if `ends`.
    pub fn copy(sender: &std::sync::Mutex<Sender>, kind: u8, mut from: impl Read, ends: bool) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            let got = match from.read(&mut piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                got => got.unwrap_or(0),
            };
            if got > 0 || ends {
                sender.lock().map_err(|_| io::Error::other("a thread has panicked"))?.send(kind, &piece[..got])?;
            }
            if got == 0 {
                return Ok(());
            }
        }
    }
}

/// Receives records.
pub struct Receiver {
    opener: RecordOpener,
    stream: TcpStream,
    record: Vec<u8>,
    by: Option<Instant>,
}

impl Receiver {
    /// The next record. An error ends the connection.
    pub fn next(&mut self) -> io::Result<(u8, &[u8])> {
        let mut head = [0; HEAD];
        fill(&self.stream, &mut head, self.by)?;
        let len = self.opener.len(&head).map_err(broken)?;
        self.record.resize(len, 0);
        self.record[..HEAD].copy_from_slice(&head);
        fill(&self.stream, &mut self.record[HEAD..], self.by)?;
        let plain = self.opener.open(&mut self.record).map_err(broken)?;
        plain.split_first().map(|(kind, bytes)| (*kind, bytes)).ok_or_else(|| ErrorKind::InvalidData.into())
    }
}

/// The two directions of a connection whose other side is known.
pub type Ends = (Sender, Receiver);

// Reads all of `bytes`, until `by` if there is such a time.
fn fill(mut stream: &TcpStream, mut bytes: &mut [u8], by: Option<Instant>) -> io::Result<()> {
    while !bytes.is_empty() {
        if let Some(by) = by {
            let left = by.saturating_duration_since(Instant::now());
            stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
        }
        match stream.read(bytes) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => bytes = &mut bytes[n..],
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn broken(refused: Refused) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("what came {refused}"))
}

fn ends(stream: &TcpStream, secrets: &Secrets, by: Option<Instant>) -> io::Result<Ends> {
    let sealer = RecordSealer::new(&secrets.send).map_err(broken)?;
    let opener = RecordOpener::new(&secrets.receive).map_err(broken)?;
    let sender = Sender { sealer, stream: stream.try_clone()?, record: Vec::new() };
    Ok((sender, Receiver { opener, stream: stream.try_clone()?, record: Vec::new(), by }))
}

/// The agent's side. Until `by` the other side must have proved itself.
///
/// # Errors
/// Whom it was that came; [`refuse`] tells him.
pub fn admit(stream: &TcpStream, secret: &[u8; LEN], by: Instant) -> Result<Ends, Refusal> {
    let (mut magic, mut offer, none) = ([0; 8], [0; OFFER], |_: io::Error| Refusal::Garbage);
    fill(stream, &mut magic, Some(by)).map_err(none)?;
    if magic != MAGIC {
        return Err(if magic[..7] == MAGIC[..7] { Refusal::Version(magic[7]) } else { Refusal::Garbage });
    }
    fill(stream, &mut offer, Some(by)).map_err(none)?;
    let (secrets, answer) = Exchange::answer(secret, &PAIR, &offer).map_err(|_| Refusal::Secret)?;
    let welcome = [&MAGIC[..], &[WELCOME], &answer].concat();
    (&mut &*stream).write_all(&welcome).map_err(none)?;
    let (sender, mut receiver) = ends(stream, &secrets, Some(by)).map_err(none)?;
    match receiver.next() {
        Ok((READY, [])) => {}
        _ => return Err(Refusal::Repeated),
    }
    receiver.by = None;
    stream.set_read_timeout(None).map_err(none)?;
    Ok((sender, receiver))
}

/// Tells somebody that he is not admitted; nobody waits for him to hear it. `None`: too many are here whom the agent does not know yet.
pub fn refuse(mut stream: &TcpStream, why: Option<Refusal>) {
    let verdict = if why.is_some() { STRANGER } else { CROWD };
    // Only a launcher's command is told anything.
    if why != Some(Refusal::Garbage) && stream.set_nonblocking(true).is_ok() {
        let _ = stream.write_all(&[&MAGIC[..], &[verdict]].concat());
    }
}

/// The command's side.
///
/// # Errors
/// Why not, for the user.
pub fn enter(stream: &TcpStream, secret: &[u8; LEN], by: Instant) -> Result<Ends, String> {
    let text = |error: io::Error| match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
            "it closed the connection: is it a standing agent?".into()
        }
        ErrorKind::TimedOut => "it does not answer".into(),
        _ => error.to_string(),
    };
    let (mut exchange, offer) = Exchange::offer(secret, &PAIR).map_err(|refused| format!("this host {refused}"))?;
    (&mut &*stream).write_all(&[&MAGIC[..], &offer].concat()).map_err(text)?;
    let (mut head, mut answer) = ([0; 9], [0; ANSWER]);
    fill(stream, &mut head, Some(by)).map_err(text)?;
    let (magic, verdict) = (&head[..8], head[8]);
    if magic[..7] != MAGIC[..7] {
        return Err("what listens there is no standing agent".into());
    }
    if magic != MAGIC {
        let theirs = magic[7];
        return Err(format!(
            "its greeting has version {theirs}, this one {}: install the same version on all hosts",
            MAGIC[7]
        ));
    }
    match verdict {
        WELCOME => {}
        CROWD => return Err("too many connect to it that it does not know".into()),
        _ => return Err("it has another secret".into()),
    }
    fill(stream, &mut answer, Some(by)).map_err(text)?;
    let secrets = exchange.finish(&answer).map_err(|_| "it does not know the secret")?;
    let (mut sender, mut receiver) = ends(stream, &secrets, None).map_err(text)?;
    sender.send(READY, &[]).map_err(text)?;
    stream.set_read_timeout(None).map_err(text)?;
    receiver.by = None;
    Ok((sender, receiver))
}
