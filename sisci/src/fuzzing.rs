//! Any bytes as what comes over the library's sockets, for `ci/fuzz` (target `sisci`): from processes of this host and from hosts that have proven the
//! secret. The first byte says what the others are. Right is: nothing outside of a segment is touched, nothing panics or waits for ever, and what is
//! understood is said again in the same way.
#![allow(unsafe_code)] // Memory around a segment, which is looked at.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::AtomicU64;

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agent;
use crate::far::Known;
use crate::hosts::{Nodes, Secret};
use crate::memory::{Mapping, Memory, page};
use crate::net::say::{self, Answer, Inbox, LENGTHS, Request, Said, Say};
use crate::net::{proof, with_owner};
use crate::packet::Packet;
use crate::report::Report;

/// Does one input.
pub fn run(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else { return };
    match kind % 8 {
        0 => to_agent(bytes),
        1 => to_interrupts(bytes),
        2 => to_caller(bytes),
        3 => greeting(bytes),
        4 => packets(bytes),
        5 => again::<Request>(bytes),
        6 => again::<Answer>(bytes),
        _ => texts(bytes),
    }
}

/// Where bytes come in pieces: the first byte of each says how long it is.
fn pieces(mut bytes: &[u8], mut each: impl FnMut(&[u8]) -> bool) {
    while let Some((&length, rest)) = bytes.split_first() {
        let (piece, behind) = rest.split_at(usize::from(length).min(rest.len()));
        if !piece.is_empty() && !each(piece) {
            return;
        }
        bytes = behind;
    }
}

/// The number of a frame's head decides what the fuzzer would hardly guess: bytes that are no frame become the head of one.
fn framed<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    pieces(bytes, |piece| {
        let (head, body) = piece.split_at(piece.len().min(usize::from(piece[0] >> 3)));
        match say::head::<T>(head.get(1..).unwrap_or_default()) {
            Ok(head) => say::frame(&head, body, &mut out).is_ok(),
            Err(_) => {
                out.extend(piece);
                true
            }
        }
    });
    out
}

/// Memory with a page before and behind it, which nobody may touch.
struct Guarded {
    all: Mapping,
}

impl Guarded {
    fn new() -> Guarded {
        let memory = Memory::new(3 * page()).expect("three pages");
        Guarded { all: memory.map(0, memory.length, ptr::null_mut(), false).expect("they are mapped") }
    }

    /// The page in the middle, which is the segment. Who gets this forgets it.
    fn segment(&self) -> Mapping {
        Mapping { base: self.all.base.wrapping_add(page()), length: page() }
    }

    fn check(&self) {
        for at in [0, 2 * page()] {
            // SAFETY: a page of the mapping.
            let around = unsafe { std::slice::from_raw_parts(self.all.base.wrapping_add(at), page()) };
            assert!(around.iter().all(|&byte| byte == 0), "bytes outside of the segment");
        }
    }
}

thread_local! {
    static MEMORY: Guarded = Guarded::new();
}

/// A caller on another host says these bytes to the owner of a segment.
fn to_agent(bytes: &[u8]) {
    let stream =
        if bytes.first().is_some_and(|first| first & 1 == 0) { framed::<Say>(&bytes[1..]) } else { bytes.to_vec() };
    MEMORY.with(|memory| {
        agent::obey_all(memory.segment(), false, &stream);
        memory.check();
    });
}

/// The same to the owner of interrupts, whose page holds anything.
fn to_interrupts(bytes: &[u8]) {
    let (there, stream) = bytes.split_at(bytes.len().min(256));
    MEMORY.with(|memory| {
        let base = memory.all.base.wrapping_add(page());
        // SAFETY: the segment is longer.
        unsafe { ptr::copy_nonoverlapping(there.as_ptr(), base, there.len()) };
        agent::obey_all(memory.segment(), true, &framed::<Say>(stream));
        // SAFETY: as above.
        unsafe { ptr::write_bytes(base, 0, page()) };
        memory.check();
    });
}

/// An owner says these bytes to a caller that reads.
fn to_caller(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else { return };
    let stream = if size & 1 == 0 { framed::<Said>(bytes) } else { bytes.to_vec() };
    let (line, mut owner) = with_owner();
    line.on_news(Box::new(|| {})); // news are kept
    let _ = owner.write_all(&stream);
    let _ = owner.shutdown(std::net::Shutdown::Write);
    let mut room = [0; 300];
    let (size, guard) = (usize::from(size), 0xee);
    room[size..].fill(guard);
    // SAFETY: there is room for more.
    let is_read = unsafe { line.read(0, room.as_mut_ptr(), size, Some(&mut Vec::new())) }.is_ok();
    assert!(room[size..].iter().all(|&byte| byte == guard), "bytes behind the room");
    line.look();
    let (mut known, own) = (Known::new(vec![0; 32]), [const { AtomicU64::new(0) }; 32]);
    for changed in line.news() {
        let _ = known.show(&changed, |word| &own[word]);
    }
    assert!(is_read || line.end().is_some(), "a connection whose other side has ended");
}

/// A stranger says these bytes: as a caller, then as a host.
fn greeting(bytes: &[u8]) {
    let secret = Secret(b"nobody else knows it".to_vec());
    let ends = || UnixStream::pair().expect("a pair of sockets");
    for is_caller in [true, false] {
        let (own, mut other) = ends();
        let _ = other.write_all(bytes);
        let _ = other.shutdown(std::net::Shutdown::Write);
        let own = OwnedFd::from(own);
        let is_let_in = if is_caller {
            proof::greet(&own, &secret, None).is_ok()
        } else {
            let request = say::head::<Request>(&[1, 4, 8, 1]).expect("it probes node 4");
            proof::call(&own, &secret, &request, None).is_ok()
        };
        assert!(!is_let_in, "without the secret");
        drop(own);
        let _ = other.read_to_end(&mut Vec::new());
    }
}

/// A process of this host says these bytes.
fn packets(bytes: &[u8]) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (one, two) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("a pair of sockets");
    let is_whole = bytes.first().is_some_and(|first| first & 1 == 0);
    pieces(bytes.get(1..).unwrap_or_default(), |piece| {
        let mut text = piece.to_vec();
        if is_whole {
            text = Packet::framed(piece).to_vec();
        }
        send(&one, &text, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_ok()
    });
    drop(one);
    while let Ok(Some((packet, fds))) = Packet::receive(&two) {
        assert!(fds.is_empty());
        let (again, back) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("a pair of sockets");
        packet.send(&again, &[]).expect("a packet fits");
        assert_eq!(Packet::receive(&back).ok().flatten().map(|(packet, _)| packet), Some(packet));
    }
}

/// What is understood is said again in the same way.
fn again<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    let Ok(head) = say::head::<T>(bytes) else { return };
    let mut out = Vec::new();
    if say::frame(&head, &[], &mut out).is_ok() {
        assert_eq!(say::head::<T>(&out[LENGTHS..]).as_ref(), Ok(&head));
    }
    let mut inbox = Inbox::default();
    let room = inbox.room();
    let most = room.len().min(out.len());
    room[..most].copy_from_slice(&out[..most]);
    inbox.came(most);
    assert_eq!(inbox.next::<T>().ok().flatten().map(|(head, _)| head), Some(head).filter(|_| most == out.len()));
}

/// An owner's answer to who only asks, and a file of nodes.
fn texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(report) = Report::parse(&text) {
        assert_eq!(Report::parse(&report.text()), Some(report));
    }
    let _ = Nodes::parse(&text, |id| id != 252);
}

#[cfg(test)]
mod tests {
    /// Seeds, and random bytes; `ci/fuzz` has more of both.
    #[test]
    fn nothing_that_comes_over_a_socket_harms_more_than_its_connection() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/sisci");
        let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        assert!(files.len() >= 8, "{files:?}");
        let seeds: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
        seeds.iter().for_each(|seed| super::run(seed));
        for turn in 0..2000_u32 {
            let mut bytes = seeds[turn as usize % seeds.len()].clone();
            let random = getrandom::u64().unwrap().to_le_bytes();
            for (k, byte) in random.iter().enumerate().skip(1).take(usize::from(random[0] % 7)) {
                let place = usize::from(*byte) * (k + 1) % (bytes.len() + 1);
                if place == bytes.len() { bytes.push(random[7 - k]) } else { bytes[place] = random[7 - k] }
            }
            super::run(&bytes);
        }
    }
}
