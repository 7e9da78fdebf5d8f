//! Opens packets that carry their number: some are lost, some come twice, some late. Each is opened once.

use super::Refused;
use super::epoch::{Epoch, NUMBERS, Secret};

/// Numbers before the highest one that came, of which it is known whether they came.
pub const WINDOW: u64 = 2048;
const WORD: u64 = u64::BITS as u64;
/// One word more than the window, so that a word is cleared when the numbers that it had are older than the window.
const WORDS: usize = (WINDOW / WORD + 1) as usize;

/// What has come.
struct Seen {
    /// One more than the highest number that came; 0: nothing has come.
    end: u64,
    words: [u64; WORDS],
}

impl Seen {
    fn bit(number: u64) -> (usize, u64) {
        ((number / WORD) as usize % WORDS, 1 << (number % WORD))
    }

    fn check(&self, number: u64) -> Result<(), Refused> {
        let (word, bit) = Seen::bit(number);
        match number {
            _ if number >= self.end => Ok(()),
            _ if self.end - number > WINDOW => Err(Refused::Old),
            _ if self.words[word] & bit != 0 => Err(Refused::Repeated),
            _ => Ok(()),
        }
    }

    fn note(&mut self, number: u64) {
        if number >= self.end {
            let (from, to) = (self.end.div_ceil(WORD), number / WORD);
            (from..=to).take(WORDS).for_each(|word| self.words[word as usize % WORDS] = 0);
            self.end = number.saturating_add(1);
        }
        let (word, bit) = Seen::bit(number);
        self.words[word] |= bit;
    }
}

/// Opens one direction.
pub struct PacketOpener {
    pub(super) epoch: Epoch,
    /// Boxed, because there is none mostly, and it is large.
    before: Option<Box<Epoch>>,
    seen: Seen,
}

impl PacketOpener {
    /// With this secret.
    ///
    /// # Errors
    /// None with a secret of an exchange.
    pub fn new(secret: &Secret) -> Result<PacketOpener, Refused> {
        let seen = Seen { end: 0, words: [0; WORDS] };
        Ok(PacketOpener { epoch: Epoch::begin(secret, NUMBERS)?, before: None, seen })
    }

    /// Decrypts packet `number`: `sealed`, a tag behind it, where it lies. The plain bytes are its beginning. Packets may come in any order:
    /// of the present key, the one before and the one after.
    ///
    /// # Errors
    /// It was not sealed so, or has come already. What `sealed` then contains is nothing to use, and what was known before stays.
    pub fn open<'a>(&mut self, number: u64, clear: &[u8], sealed: &'a mut [u8]) -> Result<&'a mut [u8], Refused> {
        self.seen.check(number)?;
        let plain;
        if self.epoch.has(number) {
            plain = self.epoch.open(number, clear, sealed)?;
        } else if number > self.epoch.last {
            let next = self.epoch.following()?;
            if !next.has(number) {
                return Err(Refused::Ahead);
            }
            plain = next.open(number, clear, sealed)?;
            self.before = Some(Box::new(std::mem::replace(&mut self.epoch, next)));
        } else {
            let before = self.before.as_ref().filter(|before| before.has(number)).ok_or(Refused::Old)?;
            plain = before.open(number, clear, sealed)?;
        }
        self.seen.note(number);
        Ok(plain)
    }
}
