//! The keys of one direction, one after the other. The numbers of what is sealed say which: so many in a row have the same.
//!
//! ```text
//! key and mask of an epoch: the first 16 and the next 12 bytes of HMAC-SHA-256(secret, "key"), secret of the next: of "next"
//! nonce: the mask, with the number (u64, big-endian) over its last 8 bytes by exclusive or
//! ```

use super::{Refused, TAG};
use hmac::{Hmac, Mac};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::Sha256;
use zeroize::{Zeroize, Zeroizing};

/// What is sealed with one key: with 64 KiB each 2^32 blocks, less than a fifth of what TLS 1.3 allows (RFC 8446, 5.5).
pub const NUMBERS: u64 = 1 << 20;

/// The secret of a direction, from which its keys come.
pub struct Secret(pub(super) [u8; 32]);

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(any(test, fuzzing))]
impl Secret {
    /// One that a test makes up.
    pub fn known(bytes: [u8; 32]) -> Secret {
        Secret(bytes)
    }
}

/// HMAC-SHA-256. No length of a key is wrong.
pub(super) fn derive(secret: &[u8], what: &[u8]) -> [u8; 32] {
    Hmac::<Sha256>::new_from_slice(secret).map_or([0; 32], |mac| mac.chain_update(what).finalize().into_bytes().into())
}

/// One key.
pub(super) struct Epoch {
    key: LessSafeKey,
    mask: [u8; NONCE_LEN],
    next: Secret,
    /// Its numbers.
    first: u64,
    pub last: u64,
}

impl Epoch {
    /// The key of `numbers` numbers from `first` on.
    fn new(secret: &Secret, first: u64, numbers: u64) -> Result<Epoch, Refused> {
        let bytes = Zeroizing::new(derive(&secret.0, b"key"));
        let (key, rest) = bytes.split_at(AES_128_GCM.key_len());
        let mut mask = [0; NONCE_LEN];
        mask.copy_from_slice(&rest[..NONCE_LEN]);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, key).map_err(|_| Refused::Spent)?); // its length is right
        let last = first.checked_add(numbers - 1).ok_or(Refused::Spent)?;
        Ok(Epoch { key, mask, next: Secret(derive(&secret.0, b"next")), first, last })
    }

    /// The first of a direction.
    pub fn begin(secret: &Secret, numbers: u64) -> Result<Epoch, Refused> {
        Epoch::new(secret, 0, numbers.max(1))
    }

    /// The one after this.
    #[cold]
    pub fn following(&self) -> Result<Epoch, Refused> {
        Epoch::new(&self.next, self.last.checked_add(1).ok_or(Refused::Spent)?, self.last - self.first + 1)
    }

    pub fn has(&self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }

    fn nonce(&self, number: u64) -> Nonce {
        let mut nonce = self.mask;
        nonce[NONCE_LEN - 8..].iter_mut().zip(number.to_be_bytes()).for_each(|(byte, with)| *byte ^= with);
        Nonce::assume_unique_for_key(nonce)
    }

    pub fn seal(&self, number: u64, clear: &[u8], bytes: &mut [u8]) -> Result<[u8; TAG], Refused> {
        let tag = self.key.seal_in_place_separate_tag(self.nonce(number), Aad::from(clear), bytes);
        tag.ok().and_then(|tag| tag.as_ref().first_chunk().copied()).ok_or(Refused::Spent) // fails only for more than 64 GiB at once
    }

    pub fn open<'a>(&self, number: u64, clear: &[u8], sealed: &'a mut [u8]) -> Result<&'a mut [u8], Refused> {
        if sealed.len() < TAG {
            return Err(Refused::Short);
        }
        self.key.open_in_place(self.nonce(number), Aad::from(clear), sealed).map_err(|_| Refused::Changed)
    }
}
