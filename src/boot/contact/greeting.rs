//! A connection whose two sides are not sure of each other yet.
//!
//! Must not know: links, which connection of two that cross stays.

use super::greet::{HELLO, Hello, KINDS, PROOF, Refusal, Side, is_proven, prove};
use crate::base::log;
use crate::os::net;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time to prove that it belongs to the job, for somebody at an address where no node of it lives.
pub const STRANGER: Duration = Duration::from_secs(2);

/// Of which kinds of refusals a line was printed. One of each kind is enough.
#[derive(Default)]
pub struct Told([bool; KINDS]);

impl Told {
    /// Prints a line about the connection `from` there, which was refused.
    pub fn tell(&mut self, from: Option<SocketAddr>, refusal: Refusal) {
        if !std::mem::replace(&mut self.0[refusal.kind()], true) {
            let from = from.map_or("a connection".into(), |from| format!("a connection from {}", net::shown(from)));
            log::advise(&format!("refused {from}: {refusal} (said once)"));
        }
    }

    /// Whether there was a line about a refusal of this kind.
    #[cfg(test)]
    pub fn has(&self, refusal: Refusal) -> bool {
        self.0[refusal.kind()]
    }
}

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
    /// It seals what follows a greeting.
    pub is_protected: bool,
}

impl Identity {
    fn hello(&self, to: u32) -> Hello {
        Hello { is_protected: self.is_protected, ..Hello::new(self.me, to, self.layout) }
    }
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The system still makes the connection.
    Connecting,
    /// The other's HELLO must come.
    Hello,
    /// The other's PROOF must come.
    Proof,
}

/// What a step came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// More must come.
    Wait,
    /// The acceptor is sure who wants to talk. It calls [`Greeting::welcome`], or drops the connection.
    Asked(u32),
    /// Both sides are sure: node so.
    Sure(u32),
    /// It is over: the system could not make the connection.
    Unmade(ErrorKind, String),
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
    /// Of an acceptor: where it comes from.
    pub from: Option<SocketAddr>,
    /// Of a connector: what it connects to.
    pub at: Option<SocketAddr>,
    /// Of an acceptor: it is perhaps a node of the job. Such a node greets late, or never, if its program computes.
    pub may_be_node: bool,
    /// When it began.
    pub since: Instant,
    stage: Stage,
    mine: Hello,
    theirs: Option<Hello>,
    bytes: [u8; HELLO],
    have: usize,
}

impl Greeting {
    /// A connection to `peer` at this address that was begun.
    pub fn connecting(socket: Arc<TcpStream>, at: SocketAddr, who: &Identity, peer: u32) -> Greeting {
        let (to, at) = (Some(peer), Some(at));
        Greeting { to, at, ..Greeting::new(socket, Stage::Connecting, who.hello(peer)) }
    }

    /// A connection of somebody.
    pub fn accepted(socket: Arc<TcpStream>, from: SocketAddr, who: &Identity) -> Greeting {
        Greeting { from: Some(from), ..Greeting::new(socket, Stage::Hello, who.hello(0)) }
    }

    fn new(socket: Arc<TcpStream>, stage: Stage, mine: Hello) -> Greeting {
        Greeting {
            socket,
            to: None,
            from: None,
            at: None,
            may_be_node: false,
            since: Instant::now(),
            stage,
            mine,
            theirs: None,
            bytes: [0; HELLO],
            have: 0,
        }
    }

    /// True of an acceptor as long as the other has not said who it is.
    pub fn is_nameless(&self) -> bool {
        self.to.is_none() && self.stage == Stage::Hello
    }

    /// True if the system still makes the connection: then writability is what to wait for.
    pub fn is_connecting(&self) -> bool {
        self.stage == Stage::Connecting
    }

    /// True if the other has greeted as a node of this library does, whoever it is.
    pub fn is_greeted(&self) -> bool {
        self.theirs.is_some()
    }

    /// What both have said, the connector first; once the other has greeted.
    pub fn hellos(&self) -> Option<[[u8; HELLO]; 2]> {
        let (mine, theirs) = (self.mine.bytes(), self.theirs?.bytes());
        Some(if self.to.is_some() { [mine, theirs] } else { [theirs, mine] })
    }

    /// Something happened at the socket.
    pub fn step(&mut self, who: &Identity) -> Step {
        if self.stage == Stage::Connecting {
            match self.socket.take_error() {
                Ok(None) if self.socket.peer_addr().is_ok() => {}
                Ok(None) => return Step::Wait,
                Ok(Some(error)) | Err(error) => return Step::Unmade(error.kind(), error.to_string()),
            }
            self.stage = Stage::Hello;
            if let Err(error) = self.say(&self.mine.bytes()) {
                return Step::Ended(error);
            }
        }
        loop {
            match self.fill(if self.stage == Stage::Proof { PROOF } else { HELLO }) {
                Err(problem) => return Step::Ended(problem),
                Ok(false) => return Step::Wait,
                Ok(true) => self.have = 0,
            }
            match self.judge(who) {
                Ok(Step::Wait) => {} // perhaps the next part is here, too
                Ok(step) => return step,
                Err(refusal) => return Step::Refused(refusal),
            }
        }
    }

    /// Looks at the HELLO or PROOF that is here.
    fn judge(&mut self, who: &Identity) -> Result<Step, Refusal> {
        if let (Stage::Proof, Some(theirs)) = (self.stage, self.theirs) {
            let proof = self.bytes.first_chunk().unwrap_or(&[0; PROOF]);
            let (side, hellos) = match self.to {
                Some(_) => (Side::Acceptor, [&self.mine, &theirs]),
                None => (Side::Connector, [&theirs, &self.mine]),
            };
            return match (is_proven(&who.secret, side, hellos, proof), self.to) {
                (false, _) => Err(Refusal::Proof),
                (true, Some(peer)) => Ok(Step::Sure(peer)),
                (true, None) => Ok(Step::Asked(theirs.from)),
            };
        }
        let theirs = Hello::read(&self.bytes, who.layout)?;
        let is_meant = match self.to {
            Some(peer) => theirs.from == peer,
            None => theirs.from < who.nodes && theirs.from != who.me,
        };
        if theirs.to != who.me || !is_meant {
            return Err(Refusal::Rank(theirs.from));
        }
        (self.theirs, self.stage) = (Some(theirs), Stage::Proof);
        let is_alike = theirs.is_protected == who.is_protected;
        let said = match self.to {
            Some(_) if is_alike => self.say(&prove(&who.secret, Side::Connector, [&self.mine, &theirs])),
            Some(_) => Ok(()),
            None => {
                self.mine.to = theirs.from;
                self.say(&self.mine.bytes())
            }
        };
        if !is_alike {
            return Err(Refusal::Protected(theirs.is_protected)); // the other side has heard enough to say so, too
        }
        Ok(said.map_or_else(Step::Ended, |()| Step::Wait))
    }

    /// The acceptor proves itself to the connector, which has proved itself.
    pub fn welcome(&mut self, who: &Identity) -> Step {
        let Some(theirs) = self.theirs else { return Step::Wait };
        let proof = prove(&who.secret, Side::Acceptor, [&theirs, &self.mine]);
        self.say(&proof).map_or_else(Step::Ended, |()| Step::Sure(theirs.from))
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
