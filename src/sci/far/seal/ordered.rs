//! Seals what this node sends, and opens what comes whole and in order.

use super::epoch::{Epoch, NUMBERS, Secret};
use super::{Refused, TAG};

/// Seals one direction.
pub struct Sealer {
    pub(super) epoch: Epoch,
    next: u64,
}

impl Sealer {
    /// With this secret, from number 0 on.
    ///
    /// # Errors
    /// None with a secret of an exchange.
    pub fn new(secret: &Secret) -> Result<Sealer, Refused> {
        Ok(Sealer { epoch: Epoch::begin(secret, NUMBERS)?, next: 0 })
    }

    /// The number that comes next.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Encrypts `bytes` where they lie, under the next number. The tag, which follows them, vouches for `clear` as well, which goes as it is.
    ///
    /// # Errors
    /// [`Refused::Spent`]
    #[inline]
    pub fn seal(&mut self, clear: &[u8], bytes: &mut [u8]) -> Result<[u8; TAG], Refused> {
        self.seal_as(self.next, clear, bytes)
    }

    /// The same under a number that is higher than all before.
    ///
    /// # Errors
    /// [`Refused::Spent`]: it is not.
    pub fn seal_as(&mut self, number: u64, clear: &[u8], bytes: &mut [u8]) -> Result<[u8; TAG], Refused> {
        if number < self.next {
            return Err(Refused::Spent);
        }
        self.next = number.checked_add(1).ok_or(Refused::Spent)?;
        while number > self.epoch.last {
            self.epoch = self.epoch.following()?;
        }
        self.epoch.seal(number, clear, bytes)
    }
}

/// Opens what [`Sealer::seal`] has sealed, all of it, in order. Who gets an error must end the link: what follows is no longer whole.
pub struct Opener {
    pub(super) epoch: Epoch,
    next: u64,
}

impl Opener {
    /// With this secret, from number 0 on.
    ///
    /// # Errors
    /// None with a secret of an exchange.
    pub fn new(secret: &Secret) -> Result<Opener, Refused> {
        Ok(Opener { epoch: Epoch::begin(secret, NUMBERS)?, next: 0 })
    }

    /// The number that comes next.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Decrypts `sealed`, a tag behind it, where it lies. The plain bytes are its beginning.
    ///
    /// # Errors
    /// It is not what comes next, whole, with the same `clear`. What `sealed` then contains is nothing to use.
    pub fn open<'a>(&mut self, clear: &[u8], sealed: &'a mut [u8]) -> Result<&'a mut [u8], Refused> {
        let number = self.next;
        self.next = number.checked_add(1).ok_or(Refused::Spent)?;
        if number > self.epoch.last {
            self.epoch = self.epoch.following()?;
        }
        self.epoch.open(number, clear, sealed)
    }
}
