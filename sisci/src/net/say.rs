//! What hosts say to each other. A *frame* is its head's length and its body's, a head by postcard, and a body of plain bytes.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Bytes of a body, at most: a copy of that size stays in the processor's cache.
pub const MOST: usize = 64 << 10;
/// Bytes of a head, at most.
const HEAD: usize = 32 << 10;
/// Pieces of stores in one frame, at most, and of news: each has up to fifteen bytes of a head.
pub const PIECES: usize = 1024;
/// When so many frames of stores and copies have come that the caller was not told of, an owner that watches lines says so with its next news, and if there
/// are none, without any. A caller relies on that: until then it keeps what is on its way (`far::known`).
pub const FRAMES: u64 = 512;
/// Connections in one `After`, at most: each has up to twenty bytes of a head.
pub const CONNECTIONS: usize = 1024;
/// Bytes of the two lengths.
pub const LENGTHS: usize = 8;

/// What a caller wants of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// A connection to what has this number on a node.
    Connect {
        /// The node.
        node: u32,
        /// What kind of name (`name::What`).
        what: u8,
        /// Its number.
        id: u32,
    },
    /// To know whether a process of this node runs.
    Probe {
        /// The node.
        node: u32,
    },
    /// The nodes that are members of a group.
    Members {
        /// Its number.
        group: u32,
    },
}

/// The first words of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// What it wants.
    pub want: Want,
    /// Its node.
    pub from: u32,
    /// A number of its process.
    pub process: u64,
}

/// The answer to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// How it went: a code of SISCI.
    pub status: u32,
    /// Bytes of a segment.
    pub size: u64,
    /// Nodes that were asked for.
    pub nodes: Vec<u32>,
    /// Of a connection: a number that no other one has. 0 for interrupts and members of groups, which have no news.
    pub connection: u64,
}

/// What a caller says to the owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Say {
    /// Stores of the program: places and sizes of pieces that stand in the body, one behind the other.
    Stores(Vec<(u64, u32)>),
    /// The body belongs there.
    Copy(u64),
    /// Bytes are wanted.
    Read {
        /// Where.
        at: u64,
        /// How many.
        size: u32,
        /// The caller's maps will show them.
        is_shown: bool,
    },
    /// Say `Done` with this number when all before it is done.
    Ask(u64),
    /// Trigger the interrupt.
    Trigger,
    /// Trigger it with the body.
    Data,
    /// Connections, and how many news of each come before what follows (`net::news`).
    After(Vec<(u64, u64)>),
}

/// What an owner says to a caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// All before that question is done.
    Done(u64),
    /// The body is what was wanted.
    Bytes,
    /// The owner asks to leave.
    Leave,
    /// News: after `after` frames of stores and copies, these places held the words that stand in the body. Without pieces it only says how many frames have
    /// come.
    News {
        /// So many frames of this caller.
        after: u64,
        /// Places and sizes, in whole words.
        pieces: Vec<(u64, u32)>,
    },
}

/// Adds a frame to `out`.
pub fn frame<T: Serialize>(head: &T, body: &[u8], out: &mut Vec<u8>) -> Result {
    let begin = out.len();
    out.extend([0; LENGTHS]);
    let mut framed = postcard::to_extend(head, std::mem::take(out)).map_err(|_| Error::NoSpc)?;
    let length = framed.len() - begin - LENGTHS;
    framed[begin..begin + 4].copy_from_slice(&(length as u32).to_le_bytes());
    framed[begin + 4..begin + LENGTHS].copy_from_slice(&(body.len() as u32).to_le_bytes());
    framed.extend_from_slice(body);
    *out = framed;
    Ok(())
}

/// The lengths of head and body; no correct peer sends longer ones.
pub fn lengths(bytes: [u8; LENGTHS]) -> Result<(usize, usize)> {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize;
    let (head, body) = (word(0), word(4));
    if head <= HEAD && body <= MOST { Ok((head, body)) } else { Err(Error::InconsistentVersions) }
}

/// A head.
pub fn head<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|_| Error::InconsistentVersions)
}

/// What came and is not taken yet.
pub struct Inbox {
    bytes: Vec<u8>,
    full: Range<usize>,
}

impl Default for Inbox {
    fn default() -> Inbox {
        // Room for a frame, and for what comes behind it in the same piece.
        Inbox { bytes: vec![0; 2 * (LENGTHS + HEAD + MOST)], full: 0..0 }
    }
}

impl Inbox {
    /// The next frame, if all of it is there: its head, and where its body is.
    pub fn next<T: DeserializeOwned>(&mut self) -> Result<Option<(T, Range<usize>)>> {
        let there = &self.bytes[self.full.clone()];
        let Some(first) = there.first_chunk::<LENGTHS>() else { return Ok(None) };
        let (head_length, body_length) = lengths(*first)?;
        let length = LENGTHS + head_length + body_length;
        if there.len() < length {
            return Ok(None);
        }
        let said = head(&there[LENGTHS..LENGTHS + head_length])?;
        let end = self.full.start + length;
        self.full.start = end;
        Ok(Some((said, end - body_length..end)))
    }

    /// The bytes of a body.
    pub fn body(&self, place: Range<usize>) -> &[u8] {
        &self.bytes[place]
    }

    /// Room for more: a whole frame at least. Bodies that were told are no longer there.
    pub fn room(&mut self) -> &mut [u8] {
        if self.full.is_empty() {
            self.full = 0..0;
        } else if self.bytes.len() - self.full.end < LENGTHS + HEAD + MOST {
            self.bytes.copy_within(self.full.clone(), 0);
            self.full = 0..self.full.len();
        }
        &mut self.bytes[self.full.end..]
    }

    /// So many bytes came into the room.
    pub fn came(&mut self, bytes: usize) {
        self.full.end += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_as_they_went_in_pieces_of_any_size() {
        let mut sent = Vec::new();
        let all = [
            (Say::Stores(vec![(8, 4), (1 << 40, 2)]), vec![1, 2, 3, 4, 5, 6]),
            (Say::Copy(3), vec![7; MOST]),
            (Say::Read { at: 5, size: 9, is_shown: true }, vec![]),
            (Say::Ask(u64::MAX), vec![]),
            (Say::Trigger, vec![]),
            (Say::Data, vec![]),
            (Say::After(vec![(u64::MAX, 1), (3, 2)]), vec![]),
        ];
        all.iter().for_each(|(say, body)| frame(say, body, &mut sent).unwrap());
        for step in [1, 7, 4096, MOST + 5, sent.len()] {
            let (mut inbox, mut got, mut rest) = (Inbox::default(), Vec::new(), &sent[..]);
            while !rest.is_empty() {
                let room = inbox.room();
                let part = step.min(rest.len()).min(room.len());
                room[..part].copy_from_slice(&rest[..part]);
                inbox.came(part);
                rest = &rest[part..];
                while let Some((say, place)) = inbox.next::<Say>().unwrap() {
                    got.push((say, inbox.body(place).to_vec()));
                }
            }
            assert_eq!(got, all, "pieces of {step} bytes");
        }
    }

    #[test]
    fn what_no_peer_sends_is_refused() {
        let mut inbox = Inbox::default();
        inbox.room()[..8].copy_from_slice(&[0, 0, 0, 0, 1, 0, 1, 0]);
        inbox.came(8);
        assert_eq!(inbox.next::<Say>().err(), Some(Error::InconsistentVersions), "a body of 64 KiB and a byte");
        let mut inbox = Inbox::default();
        inbox.room()[..9].copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 99]);
        inbox.came(9);
        assert_eq!(inbox.next::<Say>().err(), Some(Error::InconsistentVersions), "a word of no kind");
        let mut most = Vec::new();
        frame(&Say::Stores(vec![(u64::MAX, u32::MAX); PIECES]), &[], &mut most).unwrap();
        assert!(lengths(*most.first_chunk().unwrap()).is_ok(), "the longest head of stores");
        most.clear();
        frame(&Say::After(vec![(u64::MAX, u64::MAX); CONNECTIONS]), &[], &mut most).unwrap();
        assert!(lengths(*most.first_chunk().unwrap()).is_ok(), "the longest head of `After`");
        most.clear();
        frame(&Said::News { after: u64::MAX, pieces: vec![(u64::MAX, u32::MAX); PIECES] }, &[], &mut most).unwrap();
        assert!(lengths(*most.first_chunk().unwrap()).is_ok(), "the longest head of news");
    }
}
