//! A connection whose two sides are not sure of each other yet.
//!
//! Must not know: links, which connection of two that cross stays.

use super::greet::{HELLO, Hello, PROOF, Refusal, Side, is_proven, prove};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for a stranger to prove that it belongs to the job.
pub const STRANGER: Duration = Duration::from_secs(2);

/// What this node is, as it greets.
#[derive(Clone, Copy)]
pub struct Identity {
    /// Its rank.
    pub me: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// Version of the memory's layout.
    pub layout: u64,
    /// The job's secret.
    pub secret: [u8; 16],
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The system still makes the connection.
    Connecting,
    /// The other's HELLO, and at the connector its PROOF, must come.
    Hello,
    /// At the acceptor: the PROOF must come.
    Proof,
}

/// What a step came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// More must come.
    Wait,
    /// The acceptor knows who wants to talk. It calls [`Greeting::welcome`], or drops the connection.
    Asked(u32),
    /// Both sides are sure: node so.
    Sure(u32),
    /// It is over: of a connector perhaps because the other side prefers its own connection.
    Ended(String),
    /// It is over: no node of this job is there.
    Refused(Refusal),
}

/// One connection.
pub struct Greeting {
    /// The connection.
    pub socket: Arc<TcpStream>,
    /// Of a connector: the peer that it is for.
    pub to: Option<u32>,
    /// When it began.
    pub since: Instant,
    stage: Stage,
    mine: Hello,
    theirs: Option<Hello>,
    bytes: [u8; HELLO + PROOF],
    have: usize,
}

impl Greeting {
    /// A connection to `peer` that was begun.
    pub fn connecting(socket: Arc<TcpStream>, who: &Identity, peer: u32) -> Greeting {
        Greeting::new(socket, Stage::Connecting, Hello::new(who.me, peer, who.layout), Some(peer))
    }

    /// A connection of somebody.
    pub fn accepted(socket: Arc<TcpStream>, who: &Identity) -> Greeting {
        Greeting::new(socket, Stage::Hello, Hello::new(who.me, 0, who.layout), None)
    }

    fn new(socket: Arc<TcpStream>, stage: Stage, mine: Hello, to: Option<u32>) -> Greeting {
        let bytes = [0; HELLO + PROOF];
        Greeting { socket, to, since: Instant::now(), stage, mine, theirs: None, bytes, have: 0 }
    }

    /// True if the system still makes the connection: then writability is what to wait for.
    pub fn is_connecting(&self) -> bool {
        self.stage == Stage::Connecting
    }

    /// Something happened at the socket.
    pub fn step(&mut self, who: &Identity) -> Step {
        if self.stage == Stage::Connecting {
            match self.socket.take_error() {
                Ok(None) if self.socket.peer_addr().is_ok() => {}
                Ok(None) => return Step::Wait,
                Ok(Some(error)) | Err(error) => return Step::Ended(error.to_string()),
            }
            self.stage = Stage::Hello;
            if let Err(error) = self.say(&self.mine.bytes()) {
                return Step::Ended(error);
            }
        }
        let needed = match (self.stage, self.to) {
            (Stage::Proof, _) => PROOF,
            (_, Some(_)) => HELLO + PROOF,
            (_, None) => HELLO,
        };
        match self.fill(needed) {
            Err(problem) => Step::Ended(problem),
            Ok(false) => Step::Wait,
            Ok(true) => self.judge(who).unwrap_or_else(Step::Refused),
        }
    }

    fn judge(&mut self, who: &Identity) -> Result<Step, Refusal> {
        let proof = |bytes: &[u8]| bytes.first_chunk::<PROOF>().copied().unwrap_or([0; PROOF]);
        if let (Stage::Proof, Some(theirs)) = (self.stage, &self.theirs) {
            let proven = is_proven(&who.secret, Side::Connector, [theirs, &self.mine], &proof(&self.bytes));
            return if proven { Ok(Step::Sure(theirs.from)) } else { Err(Refusal::Proof) };
        }
        let bytes = self.bytes.first_chunk::<HELLO>().unwrap_or(&[0; HELLO]);
        let theirs = Hello::read(bytes, who.layout)?;
        let Some(peer) = self.to else {
            if theirs.to != who.me || theirs.from >= who.nodes || theirs.from == who.me {
                return Err(Refusal::Rank(theirs.from));
            }
            self.theirs = Some(theirs);
            return Ok(Step::Asked(theirs.from));
        };
        if theirs.from != peer || theirs.to != who.me {
            return Err(Refusal::Rank(theirs.from));
        }
        if !is_proven(&who.secret, Side::Acceptor, [&self.mine, &theirs], &proof(&self.bytes[HELLO..])) {
            return Err(Refusal::Proof);
        }
        let mine = prove(&who.secret, Side::Connector, [&self.mine, &theirs]);
        Ok(self.say(&mine).map_or_else(Step::Ended, |()| Step::Sure(peer)))
    }

    /// The acceptor answers the HELLO that it was asked by.
    pub fn welcome(&mut self, who: &Identity) -> Step {
        let Some(theirs) = self.theirs else { return Step::Wait };
        self.mine.to = theirs.from;
        self.stage = Stage::Proof;
        self.have = 0;
        let proof = prove(&who.secret, Side::Acceptor, [&theirs, &self.mine]);
        let answer = [&self.mine.bytes()[..], &proof].concat();
        self.say(&answer).map_or_else(Step::Ended, |()| Step::Wait)
    }

    // A new socket has room for so few bytes.
    fn say(&self, bytes: &[u8]) -> Result<(), String> {
        match (&*self.socket).write(bytes) {
            Ok(sent) if sent == bytes.len() => Ok(()),
            Ok(_) => Err("the system took a part of a greeting".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn fill(&mut self, needed: usize) -> Result<bool, String> {
        while self.have < needed {
            match (&*self.socket).read(&mut self.bytes[self.have..needed]) {
                Ok(0) => return Err("it closed the connection".into()),
                Ok(got) => self.have += got,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(true)
    }
}
