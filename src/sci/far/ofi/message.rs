//! What this wire puts before a frame, and its own message: KEYS, which tells a peer how to name an area of this node.
//!
//! Head, little-endian: token u64, sender's rank u32, kind and number u32 (kind in the low 8 bits). The token is made from the
//! job's secret for one sender and one receiver. So a stranger can't make one. Who reads the network can.
//! KEYS: flags u8, area u8, 2 zeros, count of keys u32, base u64, length u64, length of a piece u64, the keys, 32 bytes HMAC-SHA-256.

use super::super::wire::{AREAS, Area};
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Bytes of the head.
pub const HEAD: usize = 16;
/// The most bytes of a frame.
pub const FRAME: usize = 8192;
/// The most bytes of a message.
pub const MESSAGE: usize = HEAD + FRAME;
/// The most keys of an area: what fits a message.
pub const KEYS: usize = 512;

const FIXED: usize = 32;
const PROOF: usize = 32;
/// Numbers of messages are taken modulo this.
pub const NUMBERS: u32 = 1 << 24;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Frame = 1,
    Keys = 2,
}

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub token: u64,
    pub from: u32,
    pub kind: u8,
    pub number: u32,
}

impl Head {
    pub fn write(&self, to: &mut [u8]) {
        to[..8].copy_from_slice(&self.token.to_le_bytes());
        to[8..12].copy_from_slice(&self.from.to_le_bytes());
        to[12..16].copy_from_slice(&(self.number << 8 | u32::from(self.kind)).to_le_bytes());
    }

    /// None: the message is shorter than a head.
    pub fn read(message: &[u8]) -> Option<Head> {
        let (token, rest) = message.split_first_chunk::<8>()?;
        let (from, rest) = rest.split_first_chunk::<4>()?;
        let word = u32::from_le_bytes(*rest.first_chunk::<4>()?);
        Some(Head {
            token: u64::from_le_bytes(*token),
            from: u32::from_le_bytes(*from),
            kind: word as u8,
            number: word >> 8,
        })
    }
}

/// The job's secret.
pub struct Secret([u8; 16]);

impl Secret {
    pub fn new(bytes: [u8; 16]) -> Secret {
        Secret(bytes)
    }

    fn mac(&self, of: &str, from: u32, to: u32) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(of.as_bytes());
        mac.update(&from.to_le_bytes());
        mac.update(&to.to_le_bytes());
        mac
    }

    /// What node `from` puts into the heads of what it sends to node `to`.
    pub fn token(&self, from: u32, to: u32) -> u64 {
        let code = self.mac("gasnet-sci ofi token 1", from, to).finalize().into_bytes();
        u64::from_le_bytes(code[..8].try_into().expect("8 bytes"))
    }
}

/// An area as a peer must name it. Pieces but the last have `piece` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The address of the first byte, where the provider wants addresses; else 0.
    pub base: u64,
    pub len: u64,
    pub piece: u64,
    pub keys: Vec<u64>,
}

impl Segment {
    /// True for one that a node of ours may have.
    fn is_valid(&self) -> bool {
        let count = if self.len == 0 { 0 } else { self.len.div_ceil(self.piece.max(1)) };
        count == self.keys.len() as u64
            && (self.len == 0 || self.piece > 0)
            && self.base.checked_add(self.len).is_some()
            && self.len <= isize::MAX as u64
    }
}

/// The message KEYS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Which area.
    pub area: Area,
    /// The sender asks for the receiver's.
    pub wants: bool,
    /// The sender's own, if it has one yet.
    pub segment: Option<Segment>,
}

impl Keys {
    /// The bytes behind the head.
    pub fn write(&self, secret: &Secret, from: u32, to: u32) -> Vec<u8> {
        let flags = u8::from(self.wants) | u8::from(self.segment.is_some()) << 1;
        let empty = Segment { base: 0, len: 0, piece: 0, keys: Vec::new() };
        let segment = self.segment.as_ref().unwrap_or(&empty);
        let mut bytes = vec![flags, self.area as u8, 0, 0];
        bytes.extend_from_slice(&(segment.keys.len() as u32).to_le_bytes());
        for word in [segment.base, segment.len, segment.piece].iter().chain(&segment.keys) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let mut mac = secret.mac("gasnet-sci ofi keys 2", from, to);
        mac.update(&bytes);
        bytes.extend_from_slice(&mac.finalize().into_bytes());
        bytes
    }

    /// None: not what a node with this secret writes.
    pub fn read(bytes: &[u8], secret: &Secret, from: u32, to: u32) -> Option<Keys> {
        let (body, proof) = bytes.split_at_checked(bytes.len().checked_sub(PROOF)?)?;
        let mut mac = secret.mac("gasnet-sci ofi keys 2", from, to);
        mac.update(body);
        mac.verify_slice(proof).ok()?;
        let flags = *body.first()?;
        let count = u32::from_le_bytes(*body.get(4..)?.first_chunk::<4>()?) as usize;
        if count > KEYS || body.len() != FIXED + count * 8 || flags > 3 || usize::from(body[1]) >= AREAS {
            return None;
        }
        let words: Vec<u64> =
            body[8..].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect();
        let segment = Segment { base: words[0], len: words[1], piece: words[2], keys: words[3..].to_vec() };
        let has = flags & 2 != 0;
        (!has || segment.is_valid()).then(|| Keys {
            area: body[1].into(),
            wants: flags & 1 != 0,
            segment: has.then_some(segment),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        Keys {
            area: 1,
            wants: true,
            segment: Some(Segment { base: 4096, len: 10, piece: 4, keys: vec![7, 8, u64::MAX] }),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let secret = Secret::new([3; 16]);
        for keys in [keys(), Keys { area: 0, wants: false, segment: None }] {
            assert_eq!(Keys::read(&keys.write(&secret, 1, 2), &secret, 1, 2), Some(keys));
        }
        let head = Head { token: u64::MAX - 5, from: 70_000, kind: 2, number: NUMBERS - 1 };
        let mut bytes = [0; HEAD];
        head.write(&mut bytes);
        assert_eq!(Head::read(&bytes), Some(head));
        assert_eq!(Head::read(&bytes[..15]), None);
    }

    #[test]
    fn keys_of_a_stranger_or_for_another_node_are_refused() {
        let secret = Secret::new([3; 16]);
        let good = keys().write(&secret, 1, 2);
        assert_eq!(Keys::read(&good, &secret, 2, 1), None, "from another node");
        assert_eq!(Keys::read(&good, &secret, 1, 3), None, "for another node");
        assert_eq!(Keys::read(&good, &Secret::new([4; 16]), 1, 2), None, "another job");
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 1;
            assert_eq!(Keys::read(&bad, &secret, 1, 2), None, "byte {i}");
            assert_eq!(Keys::read(&good[..i], &secret, 1, 2), None, "{i} bytes");
        }
    }

    #[test]
    fn a_segment_must_fit_its_keys() {
        let secret = Secret::new([3; 16]);
        for (len, piece, count) in [(10, 4, 2), (10, 0, 0), (0, 0, 1), (u64::MAX, u64::MAX, 1), (10, 5, 3)] {
            let keys =
                Keys { area: 0, wants: false, segment: Some(Segment { base: 1, len, piece, keys: vec![1; count] }) };
            assert_eq!(Keys::read(&keys.write(&secret, 0, 1), &secret, 0, 1), None, "{len} {piece} {count}");
        }
        let no_area = Keys { area: AREAS, wants: true, segment: None };
        assert_eq!(Keys::read(&no_area.write(&secret, 0, 1), &secret, 0, 1), None);
    }

    #[test]
    fn tokens_differ_by_sender_receiver_and_job() {
        let secret = Secret::new([3; 16]);
        let tokens = [secret.token(1, 2), secret.token(2, 1), secret.token(1, 3), Secret::new([4; 16]).token(1, 2)];
        for (i, token) in tokens.iter().enumerate() {
            assert!(!tokens[..i].contains(token));
        }
    }
}
