//! The pieces of what is sent next, and the calls that send them: bytes of the library's own, and memory of others that is sent from
//! where it lies.
//!
//! Must not know: what the bytes are.

#![allow(unsafe_code)] // clients' memory, until it is sent

use socket2::SockRef;
use std::io::{self, ErrorKind, IoSlice};
use std::net::TcpStream;

/// Memory that stays as it is until it is sent.
#[derive(Clone, Copy)]
pub struct Memory {
    /// First byte.
    pub at: *const u8,
    /// Bytes.
    pub len: usize,
}

// SAFETY: an address and a length; who queued it promised that it stays readable.
unsafe impl Send for Memory {}

/// A piece of the stream.
pub enum Chunk {
    /// Bytes of our own, of which so many are sent.
    Own(Vec<u8>, usize),
    /// Memory of others.
    Theirs(Memory),
}

impl Chunk {
    /// What is left to send.
    pub fn slice(&self) -> IoSlice<'_> {
        match self {
            Chunk::Own(bytes, sent) => IoSlice::new(&bytes[*sent..]),
            // SAFETY: who queued it promised that it stays readable until it is sent. The system alone looks at the bytes, so a
            // client that changes its own segment meanwhile races with no reference of ours that is read.
            Chunk::Theirs(memory) => IoSlice::new(unsafe { std::slice::from_raw_parts(memory.at, memory.len) }),
        }
    }

    /// Copies as much of what is left as `into` has room for, if it has `most` bytes at most. Returns how many bytes that was.
    pub fn copy_to(&self, into: &mut Vec<u8>, most: usize) -> usize {
        let (at, len) = match self {
            Chunk::Own(bytes, sent) => (bytes[*sent..].as_ptr(), bytes.len() - sent),
            Chunk::Theirs(memory) => (memory.at, memory.len),
        };
        let len = len.min(most.saturating_sub(into.len()));
        into.reserve(len);
        // SAFETY: `len` bytes at `at` are readable, of memory of others because who queued it promised so until it is sent; as many bytes
        // are reserved behind those of `into`, whose memory is another one.
        unsafe { into.spare_capacity_mut().as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(at, len) };
        // SAFETY: so many bytes are there now.
        unsafe { into.set_len(into.len() + len) };
        len
    }

    /// Up to `most` bytes are sent. Returns how many there were.
    pub fn take(&mut self, most: usize) -> usize {
        match self {
            Chunk::Own(bytes, sent) => {
                let taken = most.min(bytes.len() - *sent);
                *sent += taken;
                taken
            }
            Chunk::Theirs(memory) => {
                let taken = most.min(memory.len);
                *memory = Memory { at: memory.at.wrapping_add(taken), len: memory.len - taken };
                taken
            }
        }
    }

    /// All of it is sent.
    pub fn is_empty(&self) -> bool {
        match self {
            Chunk::Own(bytes, sent) => *sent == bytes.len(),
            Chunk::Theirs(memory) => memory.len == 0,
        }
    }
}

/// Bytes that the system took; 0 if it has no room.
pub fn send(socket: &TcpStream, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let socket = SockRef::from(socket);
    loop {
        let sent = match slices {
            [one] => socket.send_with_flags(one, libc::MSG_NOSIGNAL), // 0.1 µs less than a list of one
            many => socket.send_vectored_with_flags(many, libc::MSG_NOSIGNAL),
        };
        match sent {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
            other => return other,
        }
    }
}
