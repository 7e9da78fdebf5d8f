//! Two messages, from which two nodes have keys that nobody else has. Both prove the job's secret.
//!
//! ```text
//! initiator → responder   OFFER   a new X25519 key (32 bytes), a tag (16)
//! responder → initiator   ANSWER  the same
//! Noise_NNpsk0_25519_ChaChaPoly_SHA256, psk = HMAC-SHA-256(the job's secret, "gasnet-sci psk 1"), prologue:
//! label 16 | layout u64 | initiator u32 | responder u32 | wire and what both have said before, each behind its length (u64)
//! ```
//! An offer that is repeated is answered like any other: its sender cannot use the answer. So the responder is sure of the initiator
//! once something of it was opened, and the initiator by the answer.
//!
//! Must not know: how messages travel, whether one is sent again.

use super::Refused;
use super::epoch::{Secret, derive};
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

/// Bytes of an OFFER.
pub const OFFER: usize = 48;
/// Bytes of an ANSWER.
pub const ANSWER: usize = 48;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Another number for whatever older libraries would not understand.
const LABEL: &[u8; 16] = b"gasnet-sci key 1";

/// Who makes keys with whom, for what. Only the same at both nodes makes the same keys.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The wire that the keys are for.
    pub wire: &'a str,
    /// Version of the memory's layout.
    pub layout: u64,
    /// The rank that offers.
    pub initiator: u32,
    /// The rank that answers.
    pub responder: u32,
    /// What both have said to each other before, or agreed on.
    pub said: &'a [u8],
}

/// The secrets of both directions, as one node has them.
pub struct Secrets {
    /// Of what this node sends.
    pub send: Secret,
    /// Of what it receives.
    pub receive: Secret,
}

impl Pair<'_> {
    fn state(&self, secret: &[u8; 16], is_initiator: bool) -> Result<HandshakeState, snow::Error> {
        let mut prologue = LABEL.to_vec();
        prologue.extend_from_slice(&self.layout.to_le_bytes());
        prologue.extend_from_slice(&self.initiator.to_le_bytes());
        prologue.extend_from_slice(&self.responder.to_le_bytes());
        for text in [self.wire.as_bytes(), self.said] {
            prologue.extend_from_slice(&(text.len() as u64).to_le_bytes());
            prologue.extend_from_slice(text);
        }
        let psk = Zeroizing::new(derive(secret, b"gasnet-sci psk 1"));
        let builder = Builder::new(PATTERN.parse()?).psk(0, &psk)?.prologue(&prologue)?;
        if is_initiator { builder.build_initiator() } else { builder.build_responder() }
    }
}

fn refused(error: snow::Error) -> Refused {
    match error {
        snow::Error::Rng => Refused::Random,
        _ => Refused::Exchange,
    }
}

/// An exchange that was begun.
pub struct Exchange(Box<HandshakeState>);

impl Exchange {
    /// Begins one. The offer may be sent again, as it is.
    ///
    /// # Errors
    /// [`Refused::Random`]
    pub fn offer(secret: &[u8; 16], pair: &Pair<'_>) -> Result<(Exchange, [u8; OFFER]), Refused> {
        let mut offer = [0; OFFER];
        let mut begin = || {
            let mut state = pair.state(secret, true)?;
            state.write_message(&[], &mut offer)?;
            Ok(state)
        };
        let state: Result<HandshakeState, snow::Error> = begin();
        Ok((Exchange(Box::new(state.map_err(refused)?)), offer))
    }

    /// Answers an offer.
    ///
    /// # Errors
    /// It proves nothing, or [`Refused::Random`].
    pub fn answer(secret: &[u8; 16], pair: &Pair<'_>, offer: &[u8; OFFER]) -> Result<(Secrets, [u8; ANSWER]), Refused> {
        let mut answer = [0; ANSWER];
        let mut make = || {
            let mut state = pair.state(secret, false)?;
            state.read_message(offer, &mut [])?;
            state.write_message(&[], &mut answer)?;
            Ok(state.dangerously_get_raw_split())
        };
        let split: Result<_, snow::Error> = make();
        let (theirs, ours) = split.map_err(refused)?;
        Ok((Secrets { send: Secret(ours), receive: Secret(theirs) }, answer))
    }

    /// The answer has come.
    ///
    /// # Errors
    /// It proves nothing. The right one may still come.
    pub fn finish(&mut self, answer: &[u8; ANSWER]) -> Result<Secrets, Refused> {
        self.0.read_message(answer, &mut []).map_err(refused)?;
        let (ours, theirs) = self.0.dangerously_get_raw_split();
        Ok(Secrets { send: Secret(ours), receive: Secret(theirs) })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_random_bytes_is_no_peer_that_proves_nothing() {
        assert_eq!(refused(snow::Error::Rng), Refused::Random);
        assert_eq!(refused(snow::Error::Decrypt), Refused::Exchange);
    }
}
