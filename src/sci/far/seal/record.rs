//! A record of a stream: how long it is, which is known to be right before the rest has come, then what is sealed.
//!
//! ```text
//! length of the plain bytes u24, little-endian | proof of the length, 5 bytes | sealed bytes | tag 16
//! proof: AES-128, with a key for lengths alone, of: number of the record u64 | length u24 | zeros
//! ```
//! Without the proof a changed length would let the receiver wait for bytes that never come, and say nothing.
//!
//! Must not know: what the bytes are.

use super::epoch::{Secret, derive};
use super::ordered::{Opener, Sealer};
use super::{Refused, TAG};
use ring::aead::quic::{AES_128, HeaderProtectionKey};
use zeroize::Zeroizing;

/// Bytes in front of what is sealed.
pub const HEAD: usize = 8;
/// The most plain bytes of a record: 64 KiB, and the heads that come with them, in one.
pub const MOST: usize = (64 << 10) + 256;
/// The most bytes of a record.
pub const RECORD: usize = HEAD + MOST + TAG;

/// Proves lengths.
struct Lengths(HeaderProtectionKey);

impl Lengths {
    fn new(secret: &Secret) -> Result<Lengths, Refused> {
        let key = Zeroizing::new(derive(&secret.0, b"length"));
        HeaderProtectionKey::new(&AES_128, &key[..AES_128.key_len()]).map(Lengths).map_err(|_| Refused::Spent) // its length is right
    }

    /// The head of record `number`.
    fn head(&self, number: u64, len: usize) -> Result<[u8; HEAD], Refused> {
        let (mut said, mut head) = ([0; 16], [0; HEAD]);
        head[..3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
        said[..8].copy_from_slice(&number.to_le_bytes());
        said[8..11].copy_from_slice(&head[..3]);
        head[3..].copy_from_slice(&self.0.new_mask(&said).map_err(|_| Refused::Spent)?);
        Ok(head)
    }
}

/// Seals the records of one direction.
pub struct RecordSealer {
    sealer: Sealer,
    lengths: Lengths,
}

impl RecordSealer {
    /// With this secret.
    ///
    /// # Errors
    /// None with a secret of an exchange.
    pub fn new(secret: &Secret) -> Result<RecordSealer, Refused> {
        Ok(RecordSealer { sealer: Sealer::new(secret)?, lengths: Lengths::new(secret)? })
    }

    /// Makes a record of [`HEAD`] bytes, whatever they are, and up to [`MOST`] plain ones.
    ///
    /// # Errors
    /// There is no plain byte, or too many are.
    pub fn seal(&mut self, record: &mut Vec<u8>) -> Result<(), Refused> {
        let number = self.sealer.next();
        let Some((head, bytes)) = record.split_first_chunk_mut::<HEAD>() else { return Err(Refused::Short) };
        if !(1..=MOST).contains(&bytes.len()) {
            return Err(Refused::Short);
        }
        *head = self.lengths.head(number, bytes.len())?;
        let tag = self.sealer.seal(head, bytes)?;
        record.extend_from_slice(&tag);
        Ok(())
    }
}

/// Opens the records of one direction, all of them, in order. Who gets an error must end the link: what follows is no longer whole.
pub struct RecordOpener {
    opener: Opener,
    lengths: Lengths,
}

impl RecordOpener {
    /// With this secret.
    ///
    /// # Errors
    /// None with a secret of an exchange.
    pub fn new(secret: &Secret) -> Result<RecordOpener, Refused> {
        Ok(RecordOpener { opener: Opener::new(secret)?, lengths: Lengths::new(secret)? })
    }

    /// The bytes of the next record, all together, by its head.
    ///
    /// # Errors
    /// It is not the head of the next record.
    pub fn len(&self, head: &[u8; HEAD]) -> Result<usize, Refused> {
        let len = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        let is_right = (1..=MOST).contains(&len) && self.lengths.head(self.opener.next(), len)? == *head;
        is_right.then_some(HEAD + len + TAG).ok_or(Refused::Changed)
    }

    /// Decrypts the next record, which is whole, where it lies: its plain bytes.
    ///
    /// # Errors
    /// It is not the next one. What `record` then contains is nothing to use.
    pub fn open<'a>(&mut self, record: &'a mut [u8]) -> Result<&'a mut [u8], Refused> {
        let (head, sealed) = record.split_first_chunk_mut::<HEAD>().ok_or(Refused::Short)?;
        self.opener.open(head, sealed)
    }
}
