//! What lies where in a node's segment, what a record of a ring begins with, and what peers must know of a node.
//!
//! A node's segment of rings has a slot for each node, itself too. A slot has four words, each in a line of its own, which that node stores: CUT, that
//! no more comes; CREDIT, how many bytes it has taken out of the ring that this node fills at its side; AWAKE; CLIENT. Behind all words lie the rings.
//! A ring holds records: three words and bytes, filled up to whole lines. No record goes around the end of a ring.
//!
//! | bytes of a record | |
//! |---|---|
//! | 0–7 | a check over the rest of the first line, and the position |
//! | 8 | the kind |
//! | 9–11 | how many bytes it has of its own |
//! | 12–15 | a stamp: the low half of its line's number in all that goes through the ring |
//! | 16–23 | a number; what it says depends on the kind |
//! | 24– | its own bytes, the first 40 in the first line |
//!
//! A record's first line shows by itself that the record has come, and is stored after all its other lines. Stamp and check are right in no older line, nor in one
//! of which only a part has been stored: the check is over the position, too. A client's bytes that lie in the ring may look like a first line by a chance of 2⁻⁹⁶ for each record. Against bytes
//! that somebody chooses for that the check protects nothing.
//!
//! Must not know: the library.

use hmac::{Hmac, Mac};
use sha2::Sha256;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a line: what cards send as one packet. Records begin at lines.
pub const LINE: usize = 64;
/// The bytes of a line. They begin at a multiple of 64, so that cards copy them as one packet.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line(pub [u8; LINE]);
/// Bytes of a page: where rings begin.
const PAGE: usize = 4096;
/// Bytes in front of a record's own.
pub const HEAD_BYTES: usize = 24;
/// A record's first line has room for so many of its own bytes. docs/hosts.md has the number, too.
pub const IN_FIRST_LINE: usize = LINE - HEAD_BYTES;
/// Words of a first line: the check; kind, length and stamp; the number.
const CHECK: usize = 0;
pub const STAMPED: usize = 1;
const NUMBER: usize = 2;
/// The most bytes of a frame.
pub const FRAME: usize = 8192;

/// A word of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Not 0: the link has ended.
    Cut = 0,
    /// Bytes that were taken out of the other side's ring.
    Credit = 1,
    /// 1: the node that stores it polls. 0: it sleeps perhaps, or has never come so far.
    Awake = 2,
    /// The library's number of the client's segment of the node that stores it; 0: it is none of the library's.
    Client = 3,
}

/// All of them.
pub const WORDS: [Word; 4] = [Word::Cut, Word::Credit, Word::Awake, Word::Client];

/// The measures of a segment. All nodes of a job have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub nodes: u32,
    /// Bytes of each ring: a power of two.
    pub ring: usize,
}

/// Rings of a node have so many bytes together, unless they would be shorter than `SHORTEST` or longer than `LONGEST`.
const RINGS: usize = 16 << 20;
const SHORTEST: usize = 64 << 10;
const LONGEST: usize = 512 << 10;
const _: () = assert!(LONGEST < 1 << 24, "a record's length has 24 bits");

impl Layout {
    pub fn of(nodes: u32) -> Layout {
        let share = (RINGS / nodes.max(1) as usize).max(1);
        Layout { nodes, ring: (1 << share.ilog2()).clamp(SHORTEST, LONGEST) }
    }

    /// Bytes of the whole segment.
    pub fn len(&self) -> usize {
        self.rings() + self.nodes as usize * self.ring
    }

    fn rings(&self) -> usize {
        (self.nodes as usize * WORDS.len() * LINE).next_multiple_of(PAGE)
    }

    /// Where a word of a node's slot is.
    pub fn word(&self, node: u32, word: Word) -> usize {
        (node as usize * WORDS.len() + word as usize) * LINE
    }

    /// Where byte `position` of all that goes through a node's ring is, and how many bytes follow it before the ring's end.
    pub fn place(&self, node: u32, position: u64) -> (usize, usize) {
        let at = (position & (self.ring as u64 - 1)) as usize;
        (self.rings() + node as usize * self.ring + at, self.ring - at)
    }
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The first of all: the sender's token.
    Hello = 1,
    Frame,
    /// Bytes for the receiver's memory; the number says where.
    Write,
    /// As Write. Somebody waits for the credit behind it.
    WriteAndTell,
    /// The receiver shall send so many bytes of its memory as its 8 bytes say, from the number on.
    Read,
    /// Bytes of the first read that is not complete.
    Answer,
    /// No more comes. The node leaves the job.
    Bye,
    /// Nothing up to the ring's end: the number says how many bytes of the ring that is.
    Skip,
}

/// All of them, in the order of their numbers.
const KINDS: [Kind; 8] =
    [Kind::Hello, Kind::Frame, Kind::Write, Kind::WriteAndTell, Kind::Read, Kind::Answer, Kind::Bye, Kind::Skip];

/// What a record begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    /// How many bytes it has of its own.
    pub len: usize,
    pub number: u64,
}

impl Head {
    /// The first line of the record, which begins at this position of all that goes through the ring.
    ///
    /// # Safety
    /// As many bytes as `len` says, or `IN_FIRST_LINE` if that is less, are readable at `from`.
    pub unsafe fn line(&self, position: u64, from: *const u8) -> Line {
        let mut line = Line([0; LINE]);
        line.set(STAMPED, u64::from(stamp(position)) << 32 | (self.len as u64) << 8 | self.kind as u64);
        line.set(NUMBER, self.number);
        // SAFETY: the caller's promise; the line has room.
        unsafe { from.copy_to_nonoverlapping(line.0[HEAD_BYTES..].as_mut_ptr(), self.len.min(IN_FIRST_LINE)) };
        line.set(CHECK, check(&line, position));
        line
    }

    /// The record whose first line this is. `None`: no record begins so.
    pub fn read(line: &Line) -> Option<Head> {
        let stamped = line.word(STAMPED);
        let kind = *KINDS.get(usize::from(stamped as u8).checked_sub(1)?)?;
        Some(Head { kind, len: (stamped as u32 >> 8) as usize, number: line.word(NUMBER) })
    }

    /// Bytes of the ring that the record takes.
    pub fn size(&self) -> usize {
        match self.kind {
            Kind::Skip => usize::try_from(self.number).unwrap_or(usize::MAX),
            _ => (HEAD_BYTES + self.len).next_multiple_of(LINE),
        }
    }
}

impl Line {
    fn word(&self, i: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|byte| self.0[8 * i + byte]))
    }

    fn set(&mut self, i: usize, word: u64) {
        self.0[8 * i..][..8].copy_from_slice(&word.to_le_bytes());
    }
}

/// The stamp of a record that begins at this position: the number of the line in all that goes through the ring, from 1 on, since a new ring is all 0. The
/// receiver looks at it first: usually one load says that nothing has come.
fn stamp(position: u64) -> u32 {
    ((position / LINE as u64) as u32).wrapping_add(1)
}

/// Whether a line with this word `STAMPED` may be the first one of a record at this position.
pub fn may_begin(word: u64, position: u64) -> bool {
    (word >> 32) as u32 == stamp(position)
}

/// Whether a record at this position has this first line, and all of the line is there.
pub fn begins(line: &Line, position: u64) -> bool {
    may_begin(line.word(STAMPED), position) && line.word(CHECK) == check(line, position)
}

/// Over all of a line but the check itself, and its position, by XXH3.
fn check(line: &Line, position: u64) -> u64 {
    xxh3_64_with_seed(&line.0[8 * STAMPED..], position)
}

/// What addresses of this wire begin with: the version of all that stands in this file. Raise it with each change of it.
const VERSION: u8 = 3;

/// What peers must know to reach a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub node: u32,
    pub segment: u32,
    pub interrupt: u32,
    pub layout: Layout,
}

impl Address {
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for number in [self.node, self.segment, self.interrupt, self.layout.nodes, self.layout.ring as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// The address of a node whose segment looks like this one's. The error says why it is none.
    pub fn read(bytes: &[u8], layout: Layout) -> Result<Address, String> {
        let (version, rest) = bytes.split_first().ok_or("its address is empty")?;
        if *version != VERSION {
            return Err(format!("it uses version {version} of this network, this node {VERSION}"));
        }
        let (numbers, []) = rest.as_chunks::<4>() else { return Err("its address is cut off".into()) };
        let &[node, segment, interrupt, nodes, ring] =
            numbers.iter().map(|four| u32::from_le_bytes(*four)).collect::<Vec<_>>().as_slice()
        else {
            return Err("its address has another length".into());
        };
        if (nodes, ring as usize) != (layout.nodes, layout.ring) {
            return Err("its segment has other measures".into());
        }
        Ok(Address { node, segment, interrupt, layout })
    }
}

/// What node `from` says first to node `to`: only nodes of the job can.
pub fn token(secret: &[u8; 16], from: u32, to: u32) -> u64 {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(b"gasnet-sci sisci token 1");
    mac.update(&from.to_le_bytes());
    mac.update(&to.to_le_bytes());
    let code = mac.finalize().into_bytes();
    u64::from_le_bytes(*code.first_chunk().expect("32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_rings_lie_apart() {
        for nodes in [1, 2, 3, 64, 300, 70_000] {
            let layout = Layout::of(nodes);
            assert!(layout.ring.is_power_of_two() && layout.ring / 4 >= FRAME + LINE);
            let last = layout.word(nodes - 1, Word::Client) + LINE;
            assert!(last <= layout.place(0, 0).0);
            let (end, left) = layout.place(nodes - 1, layout.ring as u64 - 64);
            assert_eq!((end + left, left), (layout.len(), 64));
            assert_eq!(layout.place(0, 3 * layout.ring as u64 + 128), layout.place(0, 128));
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for kind in KINDS {
            let head = Head { kind, len: 70_000, number: u64::MAX - 3 };
            // SAFETY: as many bytes as a line has room for.
            let line = unsafe { head.line(6400, [7; IN_FIRST_LINE].as_ptr()) };
            assert_eq!(Head::read(&line), Some(head));
            assert!(begins(&line, 6400) && !begins(&line, 6464) && !begins(&line, 6400 + (1 << 38)));
        }
        assert_eq!(Head::read(&Line([0; LINE])), None);
        assert_eq!(Head::read(&Line([9; LINE])), None);
        let layout = Layout::of(3);
        let address = Address { node: 8, segment: u32::MAX, interrupt: 7, layout };
        let bytes = address.write();
        assert_eq!(Address::read(&bytes, layout), Ok(address));
        assert!(Address::read(&bytes, Layout::of(4)).is_err());
        for i in 0..bytes.len() {
            assert!(Address::read(&bytes[..i], layout).is_err(), "{i} bytes");
        }
    }

    /// Each word may come before each other one.
    #[test]
    fn a_line_that_is_there_in_part_begins_nothing() {
        let head = Head { kind: Kind::Frame, len: IN_FIRST_LINE, number: 0 };
        // SAFETY: as many bytes as a line has room for.
        let [old, new] = [(0u64, 3u8), (1 << 20, 5)]
            .map(|(position, fill)| unsafe { head.line(position, [fill; IN_FIRST_LINE].as_ptr()) });
        for before in [old, Line([0; LINE]), Line([1; LINE])] {
            for come in 0..(1u32 << (LINE / 8)) - 1 {
                let mut line = before;
                for i in (0..LINE / 8).filter(|i| come >> i & 1 == 1) {
                    line.0[8 * i..][..8].copy_from_slice(&new.0[8 * i..][..8]);
                }
                assert_eq!(begins(&line, 1 << 20), line == new, "{come:b}");
            }
        }
    }

    #[test]
    fn tokens_differ_by_sender_receiver_and_job() {
        let all = [token(&[1; 16], 0, 1), token(&[1; 16], 1, 0), token(&[1; 16], 0, 2), token(&[2; 16], 0, 1)];
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one));
        }
    }
}
