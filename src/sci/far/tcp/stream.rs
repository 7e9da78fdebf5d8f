//! What goes next over a connection, in order: pieces of the library's own and of others' memory.
//!
//! The last bytes may stay behind for the next call, as a *tail*: a call that ends with a whole segment costs the system less than
//! one that ends with a few bytes more. Of 64 KiB and a head in one call, loopback makes two packets, and the second has 77 bytes.
//!
//! Of a connection that is protected, what goes next is copied into a record (`sealed`), and the record is sent.
//!
//! Must not know: what the bytes are.

#![allow(unsafe_code)] // memory of others, which is copied if it is small

use super::chunk::{Chunk, Memory, send};
use super::sealed::Outgoing;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::TcpStream;

/// Bytes that are copied, so that many go out in one piece. A tail has no more.
pub const SMALL: usize = 4 << 10;
/// Bytes of a piece that may be added to.
const ADDED_TO: usize = 16 << 10;
/// Pieces that go in one call.
const PIECES: usize = 16;

/// The stream. Whatever is added goes behind the tail.
#[derive(Default)]
pub struct Stream {
    chunks: VecDeque<Chunk>,
    /// Bytes of the chunks.
    bytes: usize,
    tail: Vec<u8>,
    /// Of a connection that is protected.
    sealed: Option<Box<Outgoing>>,
}

impl Stream {
    /// What waits, and what is added, goes out sealed. Nothing has gone out yet.
    pub fn protect(&mut self, outgoing: Outgoing) {
        self.sealed = Some(Box::new(outgoing));
    }

    /// True if what goes out is sealed.
    pub fn is_protected(&self) -> bool {
        self.sealed.is_some()
    }

    /// True if nothing waits but, perhaps, a tail.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.waits_sealed() == 0
    }

    /// Bytes that are sealed and wait for room.
    fn waits_sealed(&self) -> usize {
        self.sealed.as_ref().map_or(0, |outgoing| outgoing.unsent())
    }

    /// True if there is a tail.
    pub fn has_tail(&self) -> bool {
        !self.tail.is_empty()
    }

    /// Bytes that wait, the tail not counted.
    pub fn bytes(&self) -> usize {
        self.bytes + self.waits_sealed()
    }

    /// Adds these.
    pub fn append(&mut self, parts: &[&[u8]]) {
        self.let_tail_go();
        self.bytes += parts.iter().map(|part| part.len()).sum::<usize>();
        if let Some(Chunk::Own(bytes, _)) = self.chunks.back_mut()
            && bytes.len() < ADDED_TO
        {
            parts.iter().for_each(|part| bytes.extend_from_slice(part));
            return;
        }
        self.chunks.push_back(Chunk::Own(parts.concat(), 0));
    }

    /// Adds memory that is readable until it is sent: a copy of it if it is small.
    pub fn append_memory(&mut self, memory: Memory) {
        if memory.len <= SMALL {
            // SAFETY: who gave it promised that it is readable now.
            return self.append(&[unsafe { std::slice::from_raw_parts(memory.at, memory.len) }]);
        }
        self.let_tail_go();
        self.bytes += memory.len;
        self.chunks.push_back(Chunk::Theirs(memory));
    }

    /// Makes a tail of what is more than whole segments of so many bytes, if that is not much, and the end of the last memory.
    pub fn keep_tail(&mut self, segment: usize) {
        let more = self.bytes % segment;
        if let Some(Chunk::Theirs(memory)) = self.chunks.back_mut()
            && self.bytes > segment
            && more.min(SMALL) == more
            && more < memory.len
        {
            memory.len -= more;
            self.bytes -= more;
            // SAFETY: who gave it promised that all of it is readable now.
            let bytes = unsafe { std::slice::from_raw_parts(memory.at.wrapping_add(memory.len), more) };
            self.tail.extend_from_slice(bytes);
        }
    }

    /// The tail goes with the next call.
    pub fn let_tail_go(&mut self) {
        if self.has_tail() {
            self.bytes += self.tail.len();
            self.chunks.push_back(Chunk::Own(std::mem::take(&mut self.tail), 0));
        }
    }

    /// Sends all but the tail, as far as there is room. True: all of it.
    pub fn send(&mut self, socket: &TcpStream) -> io::Result<bool> {
        if self.is_protected() {
            return self.send_sealed(socket);
        }
        while !self.chunks.is_empty() {
            let mut slices = [IoSlice::new(&[]); PIECES];
            let count = self.chunks.len().min(slices.len());
            slices.iter_mut().zip(&self.chunks).for_each(|(slice, chunk)| *slice = chunk.slice());
            let wanted: usize = slices[..count].iter().map(|slice| slice.len()).sum();
            let sent = send(socket, &slices[..count])?;
            self.take(sent);
            if sent < wanted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn send_sealed(&mut self, socket: &TcpStream) -> io::Result<bool> {
        let Some(mut outgoing) = self.sealed.take() else { return Ok(true) };
        let sent = self.send_records(&mut outgoing, socket);
        self.sealed = Some(outgoing);
        sent
    }

    fn send_records(&mut self, outgoing: &mut Outgoing, socket: &TcpStream) -> io::Result<bool> {
        let mut is_sent = outgoing.send(socket)?;
        while is_sent && !self.chunks.is_empty() {
            outgoing.begin();
            while let Some(chunk) = self.chunks.front()
                && let added @ 1.. = outgoing.add(chunk)
            {
                self.take(added);
            }
            is_sent = outgoing.seal(socket)?;
        }
        Ok(is_sent)
    }

    /// Sends these at once, sealed; nothing waits. True: all of it. `None`: the connection is not protected.
    #[inline]
    pub fn send_at_once(&mut self, socket: &TcpStream, bytes: &[u8]) -> io::Result<Option<bool>> {
        self.sealed.as_mut().map(|outgoing| outgoing.send_at_once(socket, bytes)).transpose()
    }

    /// So many bytes are sent.
    fn take(&mut self, mut sent: usize) {
        self.bytes -= sent;
        while sent > 0
            && let Some(chunk) = self.chunks.front_mut()
        {
            sent -= chunk.take(sent);
            if chunk.is_empty() {
                self.chunks.pop_front();
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    const SEGMENT: usize = 10_000;

    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (ours, listener.accept().unwrap().0)
    }

    fn memory(bytes: &[u8]) -> Memory {
        Memory { at: bytes.as_ptr(), len: bytes.len() }
    }

    #[test]
    fn a_call_ends_with_a_whole_segment_and_the_tail_goes_ahead_of_what_follows() {
        let (ours, mut theirs) = connection();
        let (mut stream, mut expected) = (Stream::default(), Vec::new());
        let mut source: Vec<u8> = (0..2 * SEGMENT + 50).map(|i| i as u8).collect();
        for round in 1..=3 {
            stream.append(&[b"head", b"er"]);
            stream.append_memory(memory(&source));
            expected.extend_from_slice(b"header");
            expected.extend_from_slice(&source);
            stream.keep_tail(SEGMENT);
            assert_eq!(stream.bytes() % SEGMENT, 0);
            assert!(stream.send(&ours).unwrap() && stream.is_empty() && stream.has_tail());
            assert_eq!(stream.tail.len(), round * 56);
            source.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1)); // the tail is a copy
        }
        stream.append(&[b"end"]);
        assert!(!stream.has_tail() && stream.bytes() == 3 * 56 + 3);
        assert!(stream.send(&ours).unwrap() && stream.bytes() == 0);
        expected.extend_from_slice(b"end");
        let mut came = vec![0; expected.len()];
        theirs.read_exact(&mut came).unwrap();
        assert_eq!(came, expected);
    }

    #[test]
    fn there_is_a_tail_only_if_it_is_short_and_the_end_of_memory() {
        let source = vec![7u8; 3 * SEGMENT];
        for (head, len, tail) in [
            (0, SEGMENT, 0),         // no more than a segment
            (0, 2 * SEGMENT, 0),     // whole ones
            (1, 2 * SEGMENT - 1, 0), // the same
            (1, 2 * SEGMENT, 1),
            (8, SEGMENT, 8),
            (0, 2 * SEGMENT + SMALL, SMALL),
            (0, 2 * SEGMENT + SMALL + 1, 0),
            (SEGMENT, SMALL + 1, 0), // too much
            (SEGMENT + 1, SMALL, 0), // small memory was copied
        ] {
            let mut stream = Stream::default();
            stream.append(&[&source[..head]]);
            stream.append_memory(memory(&source[..len]));
            stream.keep_tail(SEGMENT);
            assert_eq!(stream.tail.len(), tail, "{head} and {len}");
            assert_eq!(stream.bytes(), head + len - tail);
            stream.let_tail_go();
            assert_eq!(stream.bytes(), head + len);
        }
    }
}
