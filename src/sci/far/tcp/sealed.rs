//! A connection that is protected: what goes out, in records, and what has come, of records that were found right.
//!
//! Bytes are copied once on either side: into a record before it is sealed, and out of it after it was opened. The system and the
//! cipher work on the record alone, so a client that changes its memory meanwhile changes nothing that was sealed.
//!
//! Must not know: what the bytes are.

use super::chunk::{Chunk, send};
use crate::sci::far::seal::Refused;
use crate::sci::far::seal::record::{HEAD, MOST, RECORD, RecordOpener, RecordSealer};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::net::TcpStream;
use std::ops::Range;

/// Bytes that are read ahead: a record, and of the next one what is there.
const BUFFER: usize = 2 * RECORD;

fn error(refused: Refused) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!(
            "what came {refused}; somebody or something between the hosts changes what goes by (docs/security.md, GASNET_SCI_SECURE)"
        ),
    )
}

/// What goes out.
pub struct Outgoing {
    sealer: RecordSealer,
    /// A record, of which so many bytes are sent.
    record: Vec<u8>,
    sent: usize,
}

impl Outgoing {
    pub fn new(sealer: RecordSealer) -> Outgoing {
        Outgoing { sealer, record: Vec::with_capacity(RECORD), sent: 0 }
    }

    /// Bytes of a record that wait for room.
    pub fn unsent(&self) -> usize {
        self.record.len() - self.sent
    }

    /// Begins a record, when the last one is sent.
    pub fn begin(&mut self) {
        self.record.clear();
        self.record.resize(HEAD, 0);
        self.sent = 0;
    }

    /// Adds as much of `chunk` as there is room for. Returns how many bytes that was.
    pub fn add(&mut self, chunk: &Chunk) -> usize {
        chunk.copy_to(&mut self.record, HEAD + MOST)
    }

    /// Seals the record, and sends it as far as there is room. True: all of it.
    pub fn seal(&mut self, socket: &TcpStream) -> io::Result<bool> {
        if let Err(refused) = self.sealer.seal(&mut self.record) {
            self.record.clear(); // it is plain, and must not go
            return Err(error(refused));
        }
        self.send(socket)
    }

    /// Sends what is left of the record. True: all of it.
    pub fn send(&mut self, socket: &TcpStream) -> io::Result<bool> {
        if self.unsent() > 0 {
            self.sent += send(socket, &[IoSlice::new(&self.record[self.sent..])])?;
        }
        Ok(self.unsent() == 0)
    }

    /// Seals these, which fit in a record, and sends them, when the last one is sent. True: all of it.
    pub fn send_at_once(&mut self, socket: &TcpStream, bytes: &[u8]) -> io::Result<bool> {
        self.begin();
        self.record.extend_from_slice(bytes);
        self.seal(socket)
    }
}

/// What has come.
pub struct Incoming {
    opener: RecordOpener,
    buffer: Box<[u8]>,
    /// What is sealed still.
    sealed: Range<usize>,
    /// What was opened and not taken.
    plain: Range<usize>,
}

impl Incoming {
    pub fn new(opener: RecordOpener) -> Incoming {
        Incoming { opener, buffer: vec![0; BUFFER].into(), sealed: 0..0, plain: 0..0 }
    }

    /// Fills `places` with what has come. Fewer bytes: there is no more, neither here nor in the socket, which is read if this call
    /// `may_look` there.
    ///
    /// # Errors
    /// As a socket's read; InvalidData: it is not what the peer has sent.
    pub fn read(&mut self, mut socket: &TcpStream, places: &mut [IoSliceMut<'_>], may_look: bool) -> io::Result<usize> {
        let (mut got, mut is_drained) = (0, !may_look);
        for place in places {
            let mut have = 0;
            while have < place.len() {
                let here = self.take(&mut place[have..]);
                (have, got) = (have + here, got + here);
                if here > 0 || self.open_next().map_err(error)? {
                    continue;
                }
                let waits = |got| if got > 0 { Ok(got) } else { Err(ErrorKind::WouldBlock.into()) };
                if is_drained {
                    return waits(got);
                }
                self.make_room();
                let room = &mut self.buffer[self.sealed.end..];
                let wanted = room.len();
                match socket.read(room) {
                    Ok(0) => return Ok(got), // the end; the next call tells, if there is something now
                    Ok(read) => {
                        self.sealed.end += read;
                        is_drained = read < wanted;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return waits(got),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(got)
    }

    /// True if more is here, whatever the socket has.
    pub fn has_more(&self) -> bool {
        !self.plain.is_empty() || self.next_is_whole()
    }

    fn next_is_whole(&self) -> bool {
        let sealed = &self.buffer[self.sealed.clone()];
        let head = sealed.first_chunk::<HEAD>();
        head.is_some_and(|head| self.opener.len(head).map_or(true, |len| len <= sealed.len())) // a wrong one is to be told
    }

    fn take(&mut self, place: &mut [u8]) -> usize {
        let len = place.len().min(self.plain.len());
        place[..len].copy_from_slice(&self.buffer[self.plain.start..][..len]);
        self.plain.start += len;
        len
    }

    /// Opens the next record, if it is whole.
    fn open_next(&mut self) -> Result<bool, Refused> {
        let sealed = &mut self.buffer[self.sealed.clone()];
        let Some(head) = sealed.first_chunk::<HEAD>() else { return Ok(false) };
        let len = self.opener.len(head)?;
        let Some(record) = sealed.get_mut(..len) else { return Ok(false) };
        let plain = self.opener.open(record)?.len();
        self.plain = self.sealed.start + HEAD..self.sealed.start + HEAD + plain;
        self.sealed.start += len;
        Ok(true)
    }

    /// There is room for the rest of the next record. Nothing is left that was opened.
    fn make_room(&mut self) {
        if self.sealed.is_empty() {
            self.sealed = 0..0;
        } else if self.sealed.start > 0 && self.buffer.len() - self.sealed.start < RECORD {
            self.buffer.copy_within(self.sealed.clone(), 0);
            self.sealed = 0..self.sealed.len();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sci::far::seal::epoch::Secret;
    use std::net::TcpListener;

    /// Its caller might go on although the link has failed.
    #[test]
    fn what_could_not_be_sealed_never_goes_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut theirs = listener.accept().unwrap().0;
        let mut outgoing = Outgoing::new(RecordSealer::new(&Secret::known([7; 32])).unwrap());
        for _ in 0..2 {
            assert!(outgoing.send_at_once(&ours, &vec![b'x'; MOST + 1]).is_err());
            assert_eq!(outgoing.unsent(), 0);
            assert!(outgoing.send(&ours).unwrap(), "there is nothing to send");
        }
        drop(ours);
        assert_eq!(theirs.read(&mut [0; 16]).unwrap(), 0);
    }
}
