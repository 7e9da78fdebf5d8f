//! The head of a datagram.
//!
//! ```text
//! magic u16 | version u8 | kind u8 | job u64 | incarnation u32 | from u32 | sequence u32 | acknowledged u32 |
//! received ahead u64 | window u16 | delay u16 | checksum u32 | time u32      (48 bytes, little-endian)
//! ```
//! | field | of | means |
//! |---|---|---|
//! | sequence | DATA, HELLO | the number of this packet; of a HELLO, that of the first one that will come |
//! | | NACK | the number that is expected |
//! | acknowledged | all | every packet before this number has come and is processed. In seed mode, of an ACK, the one packet that has come |
//! | received ahead | all but HELLO | bit i: packet `acknowledged + 1 + i` has come. Of a HELLO, 1: the sender knows where the peer begins |
//! | window | all | so many packets from `acknowledged` on are taken |
//! | delay | ACK | how long the acknowledgement was held back, in units of 16 µs |
//! | time | DATA, PING | when it was sent, in µs; of an ACK, the time of the packet that it answers |
//!
//! The checksum is CRC32C of the datagram, with 0 in its place, begun with a number that only nodes of the job know, and that is another
//! one for each pair and direction. It finds damage; it keeps out nobody who has read the memory of a node.
//!
//! Must not know: what packets carry.

/// Bytes of a head.
pub const HEAD: usize = 48;
/// Where the checksum is.
const SUM: usize = 40;
const MAGIC: [u8; 2] = *b"GU";
/// Raise it for a change that older libraries would not understand.
const VERSION: u8 = 1;

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The first of a node to a peer: where its numbers begin.
    Hello = 1,
    /// A packet.
    Data = 2,
    /// An acknowledgement; in normal mode with more ranges of packets behind the head.
    Ack = 3,
    /// There is no memory for more: nothing is sent until another acknowledgement says so.
    Busy = 4,
    /// Asks for an acknowledgement.
    Ping = 5,
    /// Seed mode: a packet was refused. All that are under way are sent again.
    Nack = 6,
}

/// A head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What the datagram is.
    pub kind: Kind,
    /// The job's number.
    pub job: u64,
    /// Another one for each process that has had this rank.
    pub incarnation: u32,
    /// The sender's rank.
    pub from: u32,
    /// See the table.
    pub sequence: u32,
    /// See the table.
    pub acknowledged: u32,
    /// See the table.
    pub ahead: u64,
    /// Packets that are taken.
    pub window: u16,
    /// Units of 16 µs.
    pub delay: u16,
    /// µs.
    pub time: u32,
}

impl Head {
    /// Writes the head in front of `body` parts, with the checksum of all.
    pub fn write(&self, seed: u32, into: &mut [u8; HEAD], body: &[&[u8]]) {
        into[..2].copy_from_slice(&MAGIC);
        into[2..4].copy_from_slice(&[VERSION, self.kind as u8]);
        into[4..12].copy_from_slice(&self.job.to_le_bytes());
        let words = [self.incarnation, self.from, self.sequence, self.acknowledged];
        for (word, place) in words.iter().zip(into[12..28].chunks_exact_mut(4)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        into[28..36].copy_from_slice(&self.ahead.to_le_bytes());
        into[36..38].copy_from_slice(&self.window.to_le_bytes());
        into[38..40].copy_from_slice(&self.delay.to_le_bytes());
        into[SUM..SUM + 4].fill(0);
        into[44..48].copy_from_slice(&self.time.to_le_bytes());
        let sum = body.iter().fold(crc32c::crc32c_append(seed, into), |sum, part| crc32c::crc32c_append(sum, part));
        into[SUM..SUM + 4].copy_from_slice(&sum.to_le_bytes());
    }

    /// The head of a datagram and what is behind it. `None`: it is none of this version, or damaged. Only the sender's rank, which
    /// [`rank`] tells, says which seed is right.
    pub fn read(datagram: &[u8], seed: u32) -> Option<(Head, &[u8])> {
        let (head, body) = datagram.split_first_chunk::<HEAD>()?;
        let word = |at: usize| head[at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
        let long = |at: usize| head[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let mut plain = *head;
        plain[SUM..SUM + 4].fill(0);
        let sum = crc32c::crc32c_append(crc32c::crc32c_append(seed, &plain), body);
        let kinds = [Kind::Hello, Kind::Data, Kind::Ack, Kind::Busy, Kind::Ping, Kind::Nack];
        let kind = kinds.into_iter().find(|kind| *kind as u8 == head[3])?;
        (head[..2] == MAGIC && head[2] == VERSION && sum == word(SUM)).then_some((
            Head {
                kind,
                job: long(4),
                incarnation: word(12),
                from: word(16),
                sequence: word(20),
                acknowledged: word(24),
                ahead: long(28),
                window: short(36),
                delay: short(38),
                time: word(44),
            },
            body,
        ))
    }
}

/// The rank that a datagram says it comes from, of which nothing is checked yet; `None`: it is too short.
pub fn rank(datagram: &[u8]) -> Option<u32> {
    datagram.get(16..20)?.first_chunk().map(|four| u32::from_le_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head {
            kind: Kind::Data,
            job: 0x0102_0304_0506_0708,
            incarnation: 9,
            from: 3,
            sequence: u32::MAX,
            acknowledged: 77,
            ahead: 1 << 63 | 5,
            window: 4096,
            delay: 63,
            time: 12,
        }
    }

    #[test]
    fn a_head_comes_back_as_it_was_and_any_flipped_bit_is_seen() {
        let mut datagram = vec![0; HEAD];
        let (first, second) = ([1u8, 2, 3], [4u8; 100]);
        head().write(7, datagram.first_chunk_mut().unwrap(), &[&first, &second]);
        datagram.extend_from_slice(&first);
        datagram.extend_from_slice(&second);
        assert_eq!(Head::read(&datagram, 7), Some((head(), &datagram[HEAD..])));
        assert_eq!((Head::read(&datagram, 8), rank(&datagram)), (None, Some(3)));
        for bit in 0..8 * datagram.len() {
            datagram[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::read(&datagram, 7), None, "bit {bit}");
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
        for len in 0..datagram.len() {
            assert_eq!(Head::read(&datagram[..len], 7), None, "{len} bytes");
        }
    }
}
