//! The head of a datagram.
//!
//! ```text
//! magic u16 | version u8 | kind u8 | job u64 | incarnation u32 | from u32 | sequence u32 | acknowledged u32 |
//! received ahead u64 | window u16 | delay u16 | checksum u32 | time u32      (48 bytes, little-endian)
//! ```
//! | field | of | means |
//! |---|---|---|
//! | sequence | DATA, PART, HELLO | the number of this packet; of a HELLO, that of the first one that will come |
//! | | NACK | the number that is expected |
//! | | ACK | bit 0: there is a time; the rest: bytes behind the head of the longest PING that has come since the last ACK |
//! | acknowledged | all | every packet before this number has come and is processed. In seed mode, of an ACK, the one packet that has come |
//! | received ahead | all but HELLO, PART | bit i: packet `acknowledged + 1 + i` has come. Of a HELLO, 1: the sender knows where the peer begins |
//! | window | all | so many packets from `acknowledged` on are taken |
//! | delay | ACK | how long the acknowledgement was held back, in units of 16 µs |
//! | time | DATA, PING | when it was sent, in µs; of an ACK, the time of the packet that it answers |
//!
//! The checksum is CRC32C of the datagram, with 0 in its place, begun with a number that only nodes of the job know, and that is another
//! one for each pair and direction. It finds damage; it keeps out nobody who has read the memory of a node.
//!
//! A protected link has a version of its own. What is sealed has a number of its own in the place of the job's, no checksum, and the tag at
//! its end; the head can be read, and not changed. What makes the keys (ASK, OFFER, ANSWER) looks like an unprotected datagram.
//!
//! Must not know: what packets carry.

use crc_fast::{CrcAlgorithm, Digest};

/// Bytes of a head.
pub const HEAD: usize = 48;
/// Where the checksum is.
const SUM: usize = 40;
const MAGIC: [u8; 2] = *b"GU";
/// Raise both for a change that older libraries would not understand: the version of what is not protected, and of what is. All versions have
/// the magic number, the version, the ranks and the checksum at the same places, so that a node can say what another one speaks.
pub const VERSIONS: [u8; 2] = [3, 4];

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
    /// A part of a packet that is too long for the way. `ahead` says where it begins, and in its upper half how long the packet is.
    Part = 7,
    /// Protected links: the node of the higher rank asks for an OFFER.
    Ask = 8,
    /// The first message of the exchange of keys.
    Offer = 9,
    /// The second one.
    Answer = 10,
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::Hello,
        Kind::Data,
        Kind::Ack,
        Kind::Busy,
        Kind::Ping,
        Kind::Nack,
        Kind::Part,
        Kind::Ask,
        Kind::Offer,
        Kind::Answer,
    ];

    /// It makes keys, so it is not sealed.
    pub fn makes_keys(self) -> bool {
        self as u8 >= Kind::Ask as u8
    }
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
    /// The head without a checksum.
    pub fn bytes(&self, is_protected: bool) -> [u8; HEAD] {
        let mut into = [0; HEAD];
        into[..2].copy_from_slice(&MAGIC);
        into[2..4].copy_from_slice(&[VERSIONS[usize::from(is_protected)], self.kind as u8]);
        into[4..12].copy_from_slice(&self.job.to_le_bytes());
        let words = [self.incarnation, self.from, self.sequence, self.acknowledged];
        for (word, place) in words.iter().zip(into[12..28].chunks_exact_mut(4)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        into[28..36].copy_from_slice(&self.ahead.to_le_bytes());
        into[36..38].copy_from_slice(&self.window.to_le_bytes());
        into[38..40].copy_from_slice(&self.delay.to_le_bytes());
        into[44..48].copy_from_slice(&self.time.to_le_bytes());
        into
    }

    /// A whole datagram, with its checksum.
    #[cfg(any(test, fuzzing))]
    pub fn datagram(&self, is_protected: bool, seed: u32, body: &[u8]) -> Vec<u8> {
        let mut datagram = [&self.bytes(is_protected)[..], body].concat();
        close(&mut datagram, &[], seed);
        datagram
    }

    /// What the head of a link that is protected or not says. Nobody has checked whether it is true.
    pub fn look(head: &[u8; HEAD], is_protected: bool) -> Option<Head> {
        let word = |at: usize| head[at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
        let long = |at: usize| head[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == head[3])?;
        (head[..2] == MAGIC && head[2] == VERSIONS[usize::from(is_protected)]).then(|| Head {
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
        })
    }

    /// The head of a datagram and what is behind it. `None`: it is none of such a link, or damaged. Only the sender's rank, which
    /// [`rank`] tells, says which seed is right.
    pub fn read(datagram: &[u8], is_protected: bool, seed: u32) -> Option<(Head, &[u8])> {
        let (bytes, body) = datagram.split_first_chunk::<HEAD>()?;
        let head = Head::look(bytes, is_protected)?;
        let mut plain = head.bytes(is_protected);
        let sum = sum(seed, &[&plain, body]);
        plain[SUM..SUM + 4].copy_from_slice(&sum.to_le_bytes());
        (plain == *bytes).then_some((head, body))
    }
}

/// What a node has other than this one, by a datagram of its that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differs {
    /// It is protected and this one is not, or the other way round.
    Protection,
    /// It speaks this version of the wire.
    Version(u8),
}

impl Differs {
    /// `None`: the datagram is damaged, or a stranger's.
    pub fn find(datagram: &[u8], is_protected: bool, seed: u32, job: u64) -> Option<Differs> {
        match Head::read(datagram, !is_protected, seed) {
            Some((head, _)) => (head.job == job).then_some(Differs::Protection),
            None => other_version(datagram, seed).map(Differs::Version),
        }
    }
}

/// The version of a whole datagram that a node with another version of this wire has sent. `None`: it is none.
pub fn other_version(datagram: &[u8], seed: u32) -> Option<u8> {
    let (bytes, body) = datagram.split_first_chunk::<HEAD>()?;
    let mut plain = *bytes;
    plain[SUM..SUM + 4].fill(0);
    let is_whole = || sum(seed, &[&plain, body]).to_le_bytes() == bytes[SUM..SUM + 4];
    (bytes[..2] == MAGIC && !VERSIONS.contains(&bytes[2]) && is_whole()).then_some(bytes[2])
}

fn sum(seed: u32, parts: &[&[u8]]) -> u32 {
    let mut sum = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!seed));
    parts.iter().for_each(|part| sum.update(part));
    sum.finalize() as u32
}

/// Puts the checksum into a datagram that has all but that: its front, and the rest.
pub fn close(front: &mut [u8], rest: &[u8], seed: u32) {
    let sum = sum(seed, &[front, rest]);
    front[SUM..SUM + 4].copy_from_slice(&sum.to_le_bytes());
}

/// The rank that a datagram says it comes from, of which nothing is checked yet; `None`: it is too short.
pub fn rank(datagram: &[u8]) -> Option<u32> {
    datagram.get(16..20)?.first_chunk().map(|four| u32::from_le_bytes(*four))
}

/// Whether a datagram of a protected link makes keys, so that it is not sealed.
pub fn makes_keys(datagram: &[u8]) -> bool {
    datagram.get(3).is_some_and(|kind| *kind >= Kind::Ask as u8)
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
    fn checksums_are_those_of_rfc_3720_and_go_on_from_a_seed() {
        assert_eq!(sum(0, &[&[0; 32]]), 0x8a91_36aa);
        assert_eq!(sum(0, &[b"1234", b"", b"56789"]), 0xe306_9283);
        assert_eq!(sum(sum(0, &[b"1234"]), &[b"56789"]), 0xe306_9283);
        assert_ne!(sum(1, &[b"123456789"]), 0xe306_9283);
    }

    #[test]
    fn a_datagram_of_another_version_is_known_by_its_checksum() {
        let ours = head().datagram(false, 7, b"body");
        assert_eq!((other_version(&ours, 7), other_version(&ours[..HEAD - 1], 7)), (None, None));
        let mut theirs = ours;
        theirs[2] = 1;
        theirs[SUM..SUM + 4].fill(0);
        close(&mut theirs, &[], 7);
        assert_eq!((other_version(&theirs, 7), other_version(&theirs, 8)), (Some(1), None));
        theirs[50] ^= 1;
        assert_eq!(other_version(&theirs, 7), None);
    }

    #[test]
    fn a_head_comes_back_as_it_was_and_any_flipped_bit_is_seen() {
        let (first, second) = ([1u8, 2, 3], [4u8; 100]);
        let mut datagram = head().datagram(false, 7, &[&first[..], &second].concat());
        assert_eq!(Head::read(&datagram, false, 7), Some((head(), &datagram[HEAD..])));
        assert_eq!((Head::read(&datagram, false, 8), rank(&datagram)), (None, Some(3)));
        assert_eq!(Head::read(&datagram, true, 7), None);
        for bit in 0..8 * datagram.len() {
            datagram[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::read(&datagram, false, 7), None, "bit {bit}");
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
        for len in 0..datagram.len() {
            assert_eq!(Head::read(&datagram[..len], false, 7), None, "{len} bytes");
        }
    }
}
