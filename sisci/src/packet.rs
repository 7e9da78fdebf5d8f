//! What processes say to each other: packets of one size over a socket that keeps their borders, with descriptors beside.

use std::io::{IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use crate::error::{Error, Result};
use crate::name::enough;

/// The first word of each packet: the protocol and its version. Another version is refused.
const MAGIC: u32 = 0x5349_5302;
/// Descriptors that one packet may carry, at most.
const MOST: usize = 8;
/// Bytes of a packet.
const BYTES: usize = 36;

/// What a packet is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Verb {
    /// Connect to this resource; the answer brings its memory.
    Connect = 1,
    /// Own this segment or interrupt, or be a member of this group, as well.
    Join,
    /// The answer to both: status, flags and size.
    Answer,
    /// The owner asks to leave.
    Leave,
    /// The owner has withdrawn the segment.
    Withdrawn,
    /// Between owners: for these adapters the segment is prepared, for those available.
    State,
    /// Between owners: a peer has connected; its connection is beside.
    Link,
    /// Between owners: another owner is at the socket that is beside.
    Owner,
    /// Somebody only wants to know: the answer brings a text.
    Status,
    /// A connection from another host is beside, for what has this name: `node` is that of who called, `status` the kind of name, `flags` the number, `size`
    /// the node of the name in the lowest 16 bits, above them a number of the process that called. What this connection carries is of the version that
    /// `net::proof` says: when that changes, this gets another number, so that an older process of this host refuses it. 10 was the first.
    Far = 11,
}

/// Among the flags of `Connect`: it comes for somebody on another host, whose process has the number `size`.
pub const IS_FAR: u32 = 1;

/// A packet. What a verb has no use for is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// What it is about.
    pub verb: Verb,
    /// The node of who asks; of `State` the adapters for which the segment is prepared, a bit each.
    pub node: u32,
    /// The code of an answer; of `State` the adapters for which it is available; of `Link` the adapter.
    pub status: u32,
    /// The flags of the resource.
    pub flags: u32,
    /// The size of the resource.
    pub size: u64,
    /// Where its memory begins in the file that comes along.
    pub offset: u64,
}

impl Packet {
    /// A packet that only says `verb`.
    pub fn new(verb: Verb) -> Packet {
        Packet { verb, node: 0, status: 0, flags: 0, size: 0, offset: 0 }
    }

    fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let words = [MAGIC, self.verb as u32, self.node, self.status, self.flags];
        for (at, word) in bytes.chunks_exact_mut(4).zip(words) {
            at.copy_from_slice(&word.to_ne_bytes());
        }
        for (at, word) in bytes[20..].chunks_exact_mut(8).zip([self.size, self.offset]) {
            at.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    fn of(bytes: &[u8; BYTES]) -> Option<Packet> {
        let word = |n: usize| u32::from_ne_bytes([bytes[4 * n], bytes[4 * n + 1], bytes[4 * n + 2], bytes[4 * n + 3]]);
        let verbs = [
            Verb::Connect,
            Verb::Join,
            Verb::Answer,
            Verb::Leave,
            Verb::Withdrawn,
            Verb::State,
            Verb::Link,
            Verb::Owner,
            Verb::Status,
            Verb::Far,
        ];
        let verb = verbs.into_iter().find(|&verb| verb as u32 == word(1))?;
        let (size, offset) = (bytes[20..28].try_into().ok()?, bytes[28..].try_into().ok()?);
        let (size, offset) = (u64::from_ne_bytes(size), u64::from_ne_bytes(offset));
        (word(0) == MAGIC).then_some(Packet { verb, node: word(2), status: word(3), flags: word(4), size, offset })
    }

    /// Sends it, with descriptors. It never waits: a packet that does not fit is an error.
    pub fn send(&self, socket: impl AsFd, fds: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
        let bytes = self.bytes();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(Errno::INVAL);
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        retry_on_intr(|| sendmsg(&socket, &[IoSlice::new(&bytes)], &mut beside, flags)).map(drop)
    }

    /// Receives one, with its descriptors; nothing at the end. It never waits: AGAIN if there is none.
    pub fn receive(socket: impl AsFd) -> rustix::io::Result<Option<(Packet, Vec<OwnedFd>)>> {
        let mut bytes = [0; BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let got = retry_on_intr(|| {
            let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
            recvmsg(&socket, &mut [IoSliceMut::new(&mut bytes)], &mut beside, flags)
        })?;
        let mut fds = Vec::new();
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(more) = message {
                fds.extend(more);
            }
        }
        if got.bytes == 0 {
            return Ok(None);
        }
        let packet = if got.bytes == BYTES { Packet::of(&bytes) } else { None };
        packet.map(|packet| Some((packet, fds))).ok_or(Errno::PROTO)
    }
}

#[cfg(any(test, fuzzing))]
impl Packet {
    /// The bytes of a packet, behind the word of the protocol those of `bytes`. For `fuzzing`.
    pub fn framed(bytes: &[u8]) -> [u8; BYTES] {
        let mut all = [0; BYTES];
        all[..4].copy_from_slice(&MAGIC.to_ne_bytes());
        let most = bytes.len().min(BYTES - 4);
        all[4..4 + most].copy_from_slice(&bytes[..most]);
        all
    }
}

/// A call whose time is shorter than `SHORT` waits for an answer so long all the same: programs call with 0, again and again, and an owner answers as soon as
/// its thread runs. Only one that is stopped takes longer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Times from here on are kept.
const SHORT: Duration = Duration::from_millis(100);

/// Asks `socket` and waits for the answer. NO_SUCH_SEGMENT if the other side ends before it answers.
pub fn ask(socket: &OwnedFd, request: Packet, deadline: crate::name::Deadline) -> Result<(Packet, Vec<OwnedFd>)> {
    let gone = |errno| match errno {
        Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN => Error::NoSuchSegment,
        Errno::PROTO => Error::InconsistentVersions,
        errno => errno.into(),
    };
    request.send(socket, &[]).map_err(gone)?;
    let now = Instant::now();
    let deadline = deadline.map(|until| if until < now + SHORT { now + PATIENCE } else { until });
    loop {
        crate::name::wait_readable(socket, deadline)?;
        match Packet::receive(socket) {
            Err(Errno::AGAIN) => {}
            Err(errno) => return Err(gone(errno)),
            Ok(None) => return Err(Error::NoSuchSegment),
            Ok(Some((packet, fds))) if packet.verb == Verb::Answer => return Ok((packet, fds)),
            Ok(Some(_)) => return Err(Error::InconsistentVersions),
        }
    }
}

/// Answers with a text, however long: it goes as a file.
pub fn answer_text(socket: impl AsFd, text: &str) -> rustix::io::Result<()> {
    let fd = enough(|| memfd_create(c"sisci-status", MemfdFlags::CLOEXEC))?;
    let mut file = std::fs::File::from(fd);
    file.write_all(text.as_bytes()).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Packet::new(Verb::Answer).send(socket, &[file.as_fd()])
}

/// The answer that refuses with `error`.
pub fn refusal(error: Error) -> Packet {
    Packet { status: error as u32, ..Packet::new(Verb::Answer) }
}

/// The error that a refusal brings.
pub fn refused(status: u32) -> Error {
    let known = [
        Error::NoSuchSegment,
        Error::ConnectionRefused,
        Error::SizeAlignment,
        Error::Access,
        Error::SegmentIdUsed,
        Error::HwNoSpc,
    ];
    known.into_iter().find(|&error| error as u32 == status).unwrap_or(Error::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_comes_as_it_went() {
        let packet = Packet { verb: Verb::Link, node: 8, status: 3, flags: 7, size: 1 << 40, offset: 1 << 13 };
        assert_eq!(Packet::of(&packet.bytes()), Some(packet));
        let mut other = packet.bytes();
        other[0] ^= 1;
        assert_eq!(Packet::of(&other), None);
        let mut older = Packet::new(Verb::Far).bytes();
        older[4..8].copy_from_slice(&10_u32.to_ne_bytes());
        assert_eq!(Packet::of(&older), None, "a connection of the first version");
    }
}
