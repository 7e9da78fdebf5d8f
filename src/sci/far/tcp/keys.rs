//! The first thing over a connection that is protected: two nodes that are sure of each other make keys for it.
//!
//! The connector offers, the acceptor answers. The acceptor sends records right after its answer, the connector as soon as it has the answer.
//! Both HELLOs go into the keys, so an offer or an answer of another connection is refused.
//!
//! Must not know: links, what is carried afterwards.

use super::greet::HELLO;
use super::greeting::Identity;
use super::input::CLOSED;
use super::sealed::{Incoming, Outgoing};
use crate::sci::far::seal::Refused;
use crate::sci::far::seal::exchange::{ANSWER, Exchange, OFFER, Pair, Secrets};
use crate::sci::far::seal::record::{RecordOpener, RecordSealer};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

const _: () = assert!(OFFER == ANSWER, "one buffer for what comes");

/// Both halves of a protected connection.
pub(super) type Halves = (Outgoing, Incoming);

/// Two nodes that make keys.
pub(super) struct Meeting {
    pub socket: Arc<TcpStream>,
    /// When it began.
    pub since: Instant,
    /// There was a line that it takes long.
    pub is_told: bool,
    who: Identity,
    /// The connector's rank, then the acceptor's.
    ranks: [u32; 2],
    /// What they have said.
    hellos: [[u8; HELLO]; 2],
    /// Of the connector.
    exchange: Option<Exchange>,
    bytes: [u8; OFFER],
    have: usize,
}

impl Meeting {
    /// Begins: the connector offers.
    pub fn new(
        socket: Arc<TcpStream>,
        who: &Identity,
        peer: u32,
        hellos: [[u8; HELLO]; 2],
        is_connector: bool,
    ) -> Result<Meeting, String> {
        let ranks = if is_connector { [who.me, peer] } else { [peer, who.me] };
        let (since, is_told) = (Instant::now(), false);
        let (exchange, bytes, have) = (None, [0; OFFER], 0);
        let mut meeting = Meeting { socket, since, is_told, who: *who, ranks, hellos, exchange, bytes, have };
        if is_connector {
            let (exchange, offer) = Exchange::offer(&who.secret, &meeting.pair()).map_err(told)?;
            meeting.say(&offer)?;
            meeting.exchange = Some(exchange);
        }
        Ok(meeting)
    }

    fn pair(&self) -> Pair<'_> {
        let [initiator, responder] = self.ranks;
        Pair { wire: "tcp", layout: self.who.layout, initiator, responder, said: self.hellos.as_flattened() }
    }

    /// Something has come. `None`: more must come.
    pub fn step(&mut self) -> Result<Option<Halves>, String> {
        while self.have < OFFER {
            match (&*self.socket).read(&mut self.bytes[self.have..]) {
                Ok(0) => return Err(CLOSED.into()),
                Ok(got) => self.have += got,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(super::input::broken(&error)),
            }
        }
        let secrets = match &mut self.exchange {
            Some(exchange) => exchange.finish(&self.bytes).map_err(told)?,
            None => {
                let (secrets, answer) = Exchange::answer(&self.who.secret, &self.pair(), &self.bytes).map_err(told)?;
                self.say(&answer)?;
                secrets
            }
        };
        halves(&secrets).map(Some).map_err(told)
    }

    // So few bytes that there is room for them.
    fn say(&self, bytes: &[u8]) -> Result<(), String> {
        match (&*self.socket).write(bytes) {
            Ok(sent) if sent == bytes.len() => Ok(()),
            Ok(_) => Err("the system took a part of a message of 48 bytes".into()),
            Err(error) => Err(super::input::broken(&error)),
        }
    }
}

fn halves(secrets: &Secrets) -> Result<Halves, Refused> {
    Ok((Outgoing::new(RecordSealer::new(&secrets.send)?), Incoming::new(RecordOpener::new(&secrets.receive)?)))
}

fn told(refused: Refused) -> String {
    if refused == Refused::Random {
        return format!("this node {refused}");
    }
    format!(
        "what came to make keys {refused}; somebody or something between the hosts changes what goes by (docs/security.md, \
         GASNET_SCI_SECURE)"
    )
}
