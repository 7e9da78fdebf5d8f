//! How a caller and a host make sure of each other before a connection carries anything.
//!
//! ```text
//! host → caller   MAGIC u64 | nonce 32
//! caller → host   nonce 32 | proof 32 | frame of a `Request`
//! host → caller   proof 32; then, by who answers, the frame of an `Answer`
//! proof           HMAC-SHA-256 of the secret over: which side, both nonces, and of a caller its request
//! ```
//! The caller proves itself first, so a stranger learns nothing that depends on the secret. Neither proof can be used again, since both sides'
//! random numbers are in it. What follows is not protected.

use hmac::{Hmac, Mac};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use sha2::Sha256;

use super::say::{self, Answer, LENGTHS, Request};
use crate::calm;
use crate::error::{Error, Result};
use crate::hosts::Secret;
use crate::name::{Deadline, rest, wait_readable};

/// The protocol and its version. It is sent in this processor's order of bytes, since the bytes of programs go as they are: hosts of different orders refuse each other.
const MAGIC: u64 = u64::from_le_bytes(*b"SISCINT2");
/// Bytes of a random number, and of a proof.
const BYTES: usize = 32;
/// Which side a proof is of.
const SIDES: [&[u8]; 2] = [b"sisci caller", b"sisci host"];

type Number = [u8; BYTES];

fn random() -> Result<Number> {
    let mut number = [0; BYTES];
    getrandom::fill(&mut number).map_err(|_| Error::System)?;
    Ok(number)
}

/// The proof of a side, as a running sum.
fn sum(secret: &Secret, side: &[u8], parts: &[&[u8]]) -> Result<Hmac<Sha256>> {
    let mut sum = Hmac::<Sha256>::new_from_slice(&secret.0).map_err(|_| Error::System)?;
    sum.update(side);
    parts.iter().for_each(|part| sum.update(part));
    Ok(sum)
}

/// Reads so many bytes. NO_SUCH_SEGMENT if the connection ends before.
fn read(socket: &OwnedFd, mut bytes: &mut [u8], until: Deadline) -> Result {
    while !bytes.is_empty() {
        wait_readable(socket, until)?;
        match retry_on_intr(|| recv(socket, &mut *bytes, RecvFlags::DONTWAIT)) {
            Ok((0, _)) => return Err(Error::NoSuchSegment),
            Ok((count, _)) => bytes = &mut bytes[count..],
            Err(Errno::AGAIN) => {}
            Err(_) => return Err(Error::NoSuchSegment),
        }
    }
    Ok(())
}

/// Writes all of them. NO_SUCH_SEGMENT if the connection ends before.
fn write(socket: &OwnedFd, mut bytes: &[u8], until: Deadline) -> Result {
    while !bytes.is_empty() {
        match retry_on_intr(|| send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::AGAIN) => {
                let socket = socket.as_fd();
                match calm::open(|| poll(&mut [PollFd::new(&socket, PollFlags::OUT)], rest(until).as_ref())) {
                    Ok(0) => return Err(Error::Timeout),
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
            Err(_) => return Err(Error::NoSuchSegment),
        }
    }
    Ok(())
}

/// Reads a frame without body.
fn read_frame<T: serde::de::DeserializeOwned>(socket: &OwnedFd, until: Deadline) -> Result<(T, Vec<u8>)> {
    let mut lengths = [0; LENGTHS];
    read(socket, &mut lengths, until)?;
    let (length, body) = say::lengths(lengths)?;
    let mut head = vec![0; length];
    read(socket, &mut head, until)?;
    if body == 0 { Ok((say::head(&head)?, head)) } else { Err(Error::InconsistentVersions) }
}

/// The caller's side. CONNECTION_REFUSED if the other side has another secret.
pub fn call(socket: &OwnedFd, secret: &Secret, request: &Request, until: Deadline) -> Result<Answer> {
    let mut hello = [0; 8 + BYTES];
    read(socket, &mut hello, until)?;
    if hello[..8] != MAGIC.to_ne_bytes() {
        return Err(Error::InconsistentVersions);
    }
    let (theirs, own) = (&hello[8..], random()?);
    let mut wanted = Vec::new();
    say::frame(request, &[], &mut wanted)?;
    let proof = sum(secret, SIDES[0], &[theirs, &own, &wanted[LENGTHS..]])?.finalize().into_bytes();
    write(socket, &[&own[..], &proof, &wanted].concat(), until)?;
    let mut answer = [0; BYTES];
    // A host that does not take the proof closes the connection.
    let refused = |error| if error == Error::NoSuchSegment { Error::ConnectionRefused } else { error };
    read(socket, &mut answer, until).map_err(refused)?;
    let expected = sum(secret, SIDES[1], &[theirs, &own])?;
    expected.verify_slice(&answer).map_err(|_| Error::ConnectionRefused)?;
    Ok(read_frame(socket, until)?.0)
}

/// The host's side: what the caller wants. CONNECTION_REFUSED if it has another secret.
pub fn greet(socket: &OwnedFd, secret: &Secret, until: Deadline) -> Result<Request> {
    let own = random()?;
    write(socket, &[&MAGIC.to_ne_bytes()[..], &own].concat(), until)?;
    let mut hello = [0; 2 * BYTES];
    read(socket, &mut hello, until)?;
    let (theirs, proof) = hello.split_at(BYTES);
    let (request, bytes) = read_frame(socket, until)?;
    let expected = sum(secret, SIDES[0], &[&own, theirs, &bytes])?;
    expected.verify_slice(proof).map_err(|_| Error::ConnectionRefused)?;
    let answer = sum(secret, SIDES[1], &[&own, theirs])?.finalize().into_bytes();
    write(socket, &answer, until)?;
    Ok(request)
}

/// Answers a request. A caller that has gone meanwhile is noticed by who serves it.
pub fn answer(socket: &OwnedFd, answer: &Answer, until: Deadline) {
    let mut bytes = Vec::new();
    let _ = say::frame(answer, &[], &mut bytes).and_then(|()| write(socket, &bytes, until));
}

/// Ends both directions of a connection: who reads from it sees the end.
pub fn end(socket: &OwnedFd) {
    let _ = shutdown(socket, Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::super::say::Want;
    use super::*;
    use crate::name::deadline;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap()
    }

    const REQUEST: Request = Request { want: Want::Probe { node: 8 }, from: 4, process: 7 };

    /// Both sides greet with these secrets.
    fn greeted(caller: &[u8], host: &[u8]) -> (Result<Answer>, Result<Request>) {
        let (one, two) = pair();
        let (caller, host) = (Secret(caller.to_vec()), Secret(host.to_vec()));
        std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                let got = greet(&two, &host, deadline(5000))?;
                answer(&two, &Answer { size: 3, ..Answer::default() }, deadline(5000));
                Ok(got)
            });
            (call(&one, &caller, &REQUEST, deadline(5000)), other.join().unwrap())
        })
    }

    #[test]
    fn who_has_the_secret_is_let_in_and_nobody_else() {
        let (answer, request) = greeted(b"one", b"one");
        assert_eq!((answer.unwrap().size, request), (3, Ok(REQUEST)));
        let (answer, request) = greeted(b"one", b"two");
        assert_eq!((answer, request), (Err(Error::ConnectionRefused), Err(Error::ConnectionRefused)));
    }

    #[test]
    fn a_host_without_the_secret_gets_no_trust_and_a_changed_request_is_none() {
        let (one, two) = pair();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Says what a host would say, with a proof of its own making.
                write(&two, &[&MAGIC.to_ne_bytes()[..], &[1; BYTES]].concat(), deadline(5000)).unwrap();
                write(&two, &[2; BYTES], deadline(5000)).unwrap();
            });
            let answer = call(&one, &Secret(b"one".to_vec()), &REQUEST, deadline(5000));
            assert_eq!(answer.err(), Some(Error::ConnectionRefused));
        });
        // The caller's words for one request do not fit another.
        let (one, two) = pair();
        std::thread::scope(|scope| {
            let host = scope.spawn(|| greet(&two, &Secret(b"one".to_vec()), deadline(5000)));
            let mut hello = [0; 8 + BYTES];
            read(&one, &mut hello, deadline(5000)).unwrap();
            let mut frames = [Vec::new(), Vec::new()];
            say::frame(&REQUEST, &[], &mut frames[0]).unwrap();
            say::frame(&Request { from: 5, ..REQUEST }, &[], &mut frames[1]).unwrap();
            let proof = sum(&Secret(b"one".to_vec()), SIDES[0], &[&hello[8..], &[3; BYTES], &frames[0][LENGTHS..]]);
            let proof = proof.unwrap().finalize().into_bytes();
            write(&one, &[&[3; BYTES][..], &proof, &frames[1]].concat(), deadline(5000)).unwrap();
            assert_eq!(host.join().unwrap(), Err(Error::ConnectionRefused));
        });
    }

    #[test]
    fn a_caller_that_says_nothing_is_not_waited_for() {
        let (_one, two) = pair();
        assert_eq!(greet(&two, &Secret(b"one".to_vec()), deadline(20)), Err(Error::Timeout));
    }
}
