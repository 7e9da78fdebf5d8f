//! The protection of a pipe: keys, made before the first HELLO, and the seal of all that follows.
//!
//! | node | has no keys | has keys |
//! |---|---|---|
//! | of the lower rank | says OFFER, again and again, and at once if it hears ASK | has them since an ANSWER that fits. What comes later of the exchange changes nothing |
//! | of the higher rank | says ASK, again and again | has them since an OFFER that proves the job's secret. It answers this one as often as it comes, until something sealed has come. Others change nothing |
//!
//! So a pipe has one pair of keys, and what a stranger has recorded of an exchange and repeats does it no harm. Each datagram is sealed
//! under a number of its own, one that repeats a packet too: its head is another one. A number that has come is refused before anything
//! else is looked at.
//!
//! Must not know: what datagrams say, when they are sent.

use super::head::{HEAD, Head, Kind};
use super::mode::Mode;
use crate::sci::far::seal::exchange::{ANSWER, Exchange, OFFER, Pair, Secrets};
use crate::sci::far::seal::ordered::Sealer;
use crate::sci::far::seal::packets::PacketOpener;
use crate::sci::far::seal::{Refused, TAG};

/// What protects a pipe.
pub struct Guard {
    secret: [u8; 16],
    /// Lower rank, higher rank.
    ranks: [u32; 2],
    said: [u8; 1],
    state: State,
    /// The answer to an offer that has come, which must be said.
    must_answer: bool,
}

// Keys stay in one place. Tests copy pipes that have none.
#[cfg(test)]
impl Clone for Guard {
    fn clone(&self) -> Guard {
        unreachable!("keys are not copied")
    }
}

enum State {
    Offers(Exchange, [u8; OFFER]),
    Asks,
    Has(Box<Keys>),
}

struct Keys {
    seal: Seal,
    opener: PacketOpener,
    /// The offer that made them, and its answer, until the peer has shown that it has them too.
    answer: Option<([u8; OFFER], [u8; ANSWER])>,
}

/// Seals what this node sends.
pub struct Seal {
    sealer: Sealer,
    next: u64,
}

impl Seal {
    /// The head of a datagram, whose number is spent with this.
    pub fn head(&mut self, head: &Head) -> [u8; HEAD] {
        let number = self.next;
        self.next += 1;
        Head { job: number, ..*head }.bytes(true)
    }

    /// Seals `bytes`, which [`Seal::head`] made the head of. The tag follows them.
    ///
    /// # Errors
    /// They cannot be sealed, and must not leave.
    pub fn seal(&mut self, head: &[u8; HEAD], bytes: &mut [u8]) -> Result<[u8; TAG], Refused> {
        self.sealer.seal_as(number(head), head, bytes)
    }
}

fn number(head: &[u8; HEAD]) -> u64 {
    Head::look(head, true).map_or(0, |head| head.job)
}

impl Guard {
    /// Of a pipe between nodes that have `secret`, the job's, from `me` to `peer`.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn new(secret: [u8; 16], mode: Mode, me: u32, peer: u32) -> Result<Guard, Refused> {
        let (ranks, said) = ([me.min(peer), me.max(peer)], [mode.is_seed.into()]);
        let mut guard = Guard { secret, ranks, said, state: State::Asks, must_answer: false };
        if me < peer {
            let (exchange, offer) = Exchange::offer(&secret, &guard.pair())?;
            guard.state = State::Offers(exchange, offer);
        }
        Ok(guard)
    }

    fn pair(&self) -> Pair<'_> {
        // The layout was compared when the hosts met: by the agents, or by the proof under PMIx.
        Pair { wire: "udp", layout: 0, initiator: self.ranks[0], responder: self.ranks[1], said: &self.said }
    }

    fn take(&mut self, secrets: &Secrets, answer: Option<([u8; OFFER], [u8; ANSWER])>) -> Result<(), Refused> {
        let seal = Seal { sealer: Sealer::new(&secrets.send)?, next: 0 };
        self.state = State::Has(Box::new(Keys { seal, opener: PacketOpener::new(&secrets.receive)?, answer }));
        Ok(())
    }

    /// With keys that are known.
    #[cfg(any(test, fuzzing))]
    pub fn with_keys(mut self, secrets: &Secrets) -> Guard {
        assert!(self.take(secrets, None).is_ok());
        self
    }

    /// How far it is.
    #[cfg(test)]
    pub(super) fn describe(&self) -> (bool, bool, bool) {
        let keys = match &self.state {
            State::Has(keys) => Some(keys),
            _ => None,
        };
        (keys.is_some(), keys.is_some_and(|keys| keys.answer.is_some()), self.must_answer)
    }

    /// A message of the exchange has come, which this node must answer or follow at once.
    ///
    /// # Errors
    /// It changes nothing.
    pub fn hear(&mut self, kind: Kind, body: &[u8]) -> Result<(), Refused> {
        match (&mut self.state, kind) {
            (State::Offers(..), Kind::Ask) => Ok(()),
            (State::Offers(exchange, _), Kind::Answer) => {
                let secrets = exchange.finish(body.try_into().map_err(|_| Refused::Exchange)?)?;
                self.take(&secrets, None)
            }
            (State::Asks, Kind::Offer) => {
                let offer = body.try_into().map_err(|_| Refused::Exchange)?;
                let (secrets, answer) = Exchange::answer(&self.secret, &self.pair(), offer)?;
                self.take(&secrets, Some((*offer, answer)))?;
                self.must_answer = true;
                Ok(())
            }
            (State::Has(keys), Kind::Offer) if keys.answer.is_some_and(|(offer, _)| offer == body) => {
                self.must_answer = true;
                Ok(())
            }
            _ => Err(Refused::Exchange),
        }
    }

    /// What must be said of the exchange, and its bytes.
    pub fn say(&mut self, bytes: &mut Vec<u8>) -> Option<Kind> {
        match &self.state {
            State::Offers(_, offer) => {
                bytes.extend_from_slice(offer);
                Some(Kind::Offer)
            }
            State::Asks => Some(Kind::Ask),
            State::Has(keys) => keys.answer.filter(|_| std::mem::take(&mut self.must_answer)).map(|(_, answer)| {
                bytes.extend_from_slice(&answer);
                Kind::Answer
            }),
        }
    }

    /// What seals, if there are keys.
    pub fn seal(&mut self) -> Option<&mut Seal> {
        match &mut self.state {
            State::Has(keys) => Some(&mut keys.seal),
            _ => None,
        }
    }

    /// Opens a datagram where it lies.
    ///
    /// # Errors
    /// The peer has not sealed it, or it has come already.
    pub fn open<'a>(&mut self, datagram: &'a mut [u8]) -> Result<(Head, &'a [u8]), Refused> {
        let State::Has(keys) = &mut self.state else { return Err(Refused::Ahead) };
        let (bytes, sealed) = datagram.split_first_chunk_mut::<HEAD>().ok_or(Refused::Short)?;
        let head = Head::look(bytes, true).ok_or(Refused::Changed)?;
        let plain = keys.opener.open(head.job, bytes, sealed)?;
        keys.answer = None;
        Ok((head, plain))
    }
}
