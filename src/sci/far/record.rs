//! The body of a frame: stores to the peer's memory, in the order in which they were made.
//!
//! ```text
//! record: offset u48 | region u8 | kind u8 | length u16 | bytes      (little-endian; records follow each other without gaps)
//! ```
//! The offset counts from the start of the region. Of a fill, the bytes are the byte and the length as u64.
//!
//! Must not know: what lies where in a region, who may write there.

use crate::sci::SegmentId;

/// Bytes in front of a record's own.
pub const HEAD: usize = 10;
/// The most bytes of one record.
pub const MOST: usize = u16::MAX as usize & !63;

/// How the bytes of a record are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// As bytes, in any order.
    Bytes = 1,
    /// As words of 8 bytes.
    Words = 2,
    /// As a packet: the words behind the first one, then the first one.
    Packet = 3,
    /// As one word of 8 bytes that announces what was stored before.
    Publish = 4,
    /// The same, of 4 bytes.
    Publish32 = 5,
    /// One byte, many times.
    Fill = 6,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        use Kind::{Bytes, Fill, Packet, Publish, Publish32, Words};
        [Bytes, Words, Packet, Publish, Publish32, Fill].into_iter().find(|kind| *kind as u8 == byte)
    }

    /// True if a record of this kind can have that offset and length.
    fn fits(self, offset: u64, len: usize) -> bool {
        match self {
            Kind::Bytes => len > 0,
            Kind::Words => len > 0 && len.is_multiple_of(8) && offset.is_multiple_of(8),
            Kind::Packet => (8..=64).contains(&len) && len.is_multiple_of(8) && offset.is_multiple_of(64),
            Kind::Publish => len == 8 && offset.is_multiple_of(8),
            Kind::Publish32 => len == 4 && offset.is_multiple_of(4),
            Kind::Fill => len == 9,
        }
    }
}

/// One store, as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The region.
    pub region: SegmentId,
    /// Bytes from its start.
    pub offset: usize,
    /// How it is stored.
    pub kind: Kind,
    /// What is stored.
    pub bytes: &'a [u8],
}

impl Record<'_> {
    /// Bytes of the region that the store covers.
    pub fn covers(&self) -> usize {
        match self.kind {
            Kind::Fill => usize::try_from(word(&self.bytes[1..])).unwrap_or(usize::MAX),
            _ => self.bytes.len(),
        }
    }
}

/// The little-endian word that begins `bytes`, which has 8 at least.
pub fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// Appends a record of at most [`MOST`] bytes to a frame; `parts` are its bytes.
#[inline]
pub fn append(frame: &mut Vec<u8>, region: SegmentId, offset: usize, kind: Kind, parts: &[&[u8]]) {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    debug_assert!(len <= MOST && offset < 1 << 48 && region.0 <= 0xff);
    let head = offset as u64 & ((1 << 48) - 1) | u64::from(region.0 as u8) << 48 | (kind as u64) << 56;
    frame.extend_from_slice(&head.to_le_bytes());
    frame.extend_from_slice(&(len as u16).to_le_bytes());
    parts.iter().for_each(|part| frame.extend_from_slice(part));
}

/// The first record of `frame` and what follows it. `None`: these bytes are no record of ours.
#[inline]
pub fn split(frame: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let (head, rest) = frame.split_first_chunk::<HEAD>()?;
    let ([a, b, c, d, e, f, region, kind], len) = (head[..8].first_chunk().copied()?, [head[8], head[9]]);
    let (offset, len) = (u64::from_le_bytes([a, b, c, d, e, f, 0, 0]), u16::from_le_bytes(len) as usize);
    let kind = Kind::of(kind)?;
    if len > rest.len() || !kind.fits(offset, len) {
        return None;
    }
    let (bytes, rest) = rest.split_at(len);
    Some((Record { region: SegmentId(region.into()), offset: offset as usize, kind, bytes }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind() -> impl Strategy<Value = (Kind, u64, Vec<u8>)> {
        let bytes = |n| prop::collection::vec(any::<u8>(), n);
        prop_oneof![
            (0u64..1 << 48, bytes(1..300)).prop_map(|(at, b)| (Kind::Bytes, at, b)),
            (0u64..1 << 48, 1usize..40).prop_map(|(at, n)| (Kind::Words, at & !7, vec![7; 8 * n])),
            (0u64..1 << 48, 1usize..9).prop_map(|(at, n)| (Kind::Packet, at & !63, vec![9; 8 * n])),
            (0u64..1 << 48, bytes(8..9)).prop_map(|(at, b)| (Kind::Publish, at & !7, b)),
            (0u64..1 << 48, bytes(4..5)).prop_map(|(at, b)| (Kind::Publish32, at & !3, b)),
            (0u64..1 << 48, bytes(9..10)).prop_map(|(at, b)| (Kind::Fill, at, b)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn records_come_back_as_they_were(list in prop::collection::vec((kind(), 0u32..256), 0..20)) {
            let mut frame = Vec::new();
            for ((kind, at, bytes), region) in &list {
                append(&mut frame, SegmentId(*region), *at as usize, *kind, &[bytes]);
            }
            let mut rest = &frame[..];
            for ((kind, at, bytes), region) in &list {
                let (record, behind) = split(rest).unwrap();
                prop_assert_eq!(record, Record { region: SegmentId(*region), offset: *at as usize, kind: *kind, bytes });
                rest = behind;
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_are_records_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut rest = &bytes[..];
            while let Some((record, behind)) = split(rest) {
                prop_assert!(record.bytes.len() <= rest.len() && behind.len() < rest.len());
                let _ = record.covers();
                rest = behind;
            }
        }
    }

    #[test]
    fn a_record_that_does_not_fit_its_kind_is_refused() {
        for (kind, offset, len) in
            [(2, 4, 8), (2, 8, 12), (3, 8, 8), (3, 0, 72), (4, 4, 8), (5, 2, 4), (6, 0, 8), (7, 0, 8), (1, 0, 0)]
        {
            let mut frame = Vec::new();
            append(&mut frame, SegmentId(1), offset, Kind::Bytes, &[&vec![0; len]]);
            frame[7] = kind;
            assert!(split(&frame).is_none(), "{kind} {offset} {len}");
        }
    }
}
