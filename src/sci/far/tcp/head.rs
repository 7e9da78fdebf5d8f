//! The head of everything that goes over a connection after the greeting.
//!
//! ```text
//! head (16 bytes): length of the body u32 | kind u8 | flags u8 | 0 u16 | writes done u64      (little-endian)
//! ```
//! "Writes done" counts the peer's writes with [`WANTS_ACK`] that are in place at the sender of the head. It only grows.
//!
//! | kind | body |
//! |---|---|
//! | Frame | a frame of the layer above |
//! | Write | offset u64 in the segment, then bytes for that place |
//! | Read | offset u64, length u64 |
//! | Data | bytes that were asked for by the oldest read that is not complete |
//! | Ack | none: the head says it all |
//! | Bye | none: the sender leaves in good order |

/// Bytes of a head.
pub const HEAD: usize = 16;
/// The most bytes of a body. A longer one is garbage.
pub const BODY_MAX: usize = 1 << 20;
/// The most bytes of one write or of one piece of data: a frame behind it waits for no more than that.
pub const PIECE: usize = 256 << 10;
/// Flag of a write whose sender wants to know when it is in place.
pub const WANTS_ACK: u8 = 1;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A frame of the layer above.
    Frame = 1,
    /// Bytes for this node's segment.
    Write = 2,
    /// Bytes of this node's segment are wanted.
    Read = 3,
    /// Bytes that this node has asked for.
    Data = 4,
    /// Nothing: the head alone matters.
    Ack = 5,
    /// The peer leaves.
    Bye = 6,
}

/// A head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Bytes behind it.
    pub len: usize,
    /// What they are.
    pub kind: Kind,
    /// [`WANTS_ACK`], or 0.
    pub flags: u8,
    /// Writes that are in place.
    pub done: u64,
}

impl Head {
    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> [u8; HEAD] {
        let first = self.len as u64 & 0xffff_ffff | (self.kind as u64) << 32 | u64::from(self.flags) << 40;
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&first.to_le_bytes());
        bytes[8..].copy_from_slice(&self.done.to_le_bytes());
        bytes
    }

    /// What these bytes say. `None`: they are no head.
    #[inline]
    pub fn read(bytes: &[u8; HEAD]) -> Option<Head> {
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        let first = word(0);
        let kinds = [Kind::Frame, Kind::Write, Kind::Read, Kind::Data, Kind::Ack, Kind::Bye];
        let kind = kinds.into_iter().find(|kind| *kind as u8 == (first >> 32) as u8)?;
        let (len, flags) = (first as u32 as usize, (first >> 40) as u8);
        let fits = match kind {
            Kind::Frame | Kind::Data => len > 0,
            Kind::Write => len > 8,
            Kind::Read => len == 16,
            Kind::Ack | Kind::Bye => len == 0,
        };
        (fits && len <= BODY_MAX && flags <= WANTS_ACK && first >> 48 == 0).then_some(Head {
            len,
            kind,
            flags,
            done: word(8),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_a_head_that_reads_back_or_none(mut bytes: [u8; HEAD], kind in 0u8..8) {
            let flags = bytes[5] & 1;
            bytes[2..8].copy_from_slice(&[0, 0, kind, flags, 0, 0]);
            match Head::read(&bytes) {
                Some(head) => prop_assert_eq!(head.bytes(), bytes),
                None => prop_assert!(!(1..=6).contains(&kind) || kind != 1 || bytes[..4] == [0; 4]),
            }
        }
    }

    #[test]
    fn what_no_sender_of_ours_says_is_refused() {
        let head = |kind, len, flags| Head { len, kind, flags, done: 1 }.bytes();
        for (kind, len, flags) in [
            (Kind::Frame, 0, 0),
            (Kind::Frame, BODY_MAX + 1, 0),
            (Kind::Write, 8, 0),
            (Kind::Read, 8, 0),
            (Kind::Ack, 1, 0),
            (Kind::Bye, 1, 0),
            (Kind::Write, 9, 2),
        ] {
            assert_eq!(Head::read(&head(kind, len, flags)), None, "{kind:?} {len} {flags}");
        }
        assert!(Head::read(&head(Kind::Write, 9, WANTS_ACK)).is_some());
    }
}
