//! Groups of broadcast segments: reflective memory. On one host all members map one memory, so that a store of any of them is at all of them at
//! once. The first member makes the memory and the group's socket; later ones get both from any member, so the group lives until its last.

use std::sync::{Arc, Weak};

use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::Body;
use crate::door::{Door, For, Host};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::name::{Name, What, deadline};
use crate::packet::{self, Packet, Verb, refused};

/// How long a member may take to answer.
const PATIENCE: u32 = 5_000;
/// How often a group may end while this process tries to join it.
const TRIES: usize = 1000;

/// Makes a segment, of `size` bytes, a member of the group `id`: `body` gets the group's memory. Returns its door for further members.
pub fn join(host: &Weak<dyn Host>, id: u32, body: &Body, size: usize) -> Result<Arc<Door>> {
    let name = Name::new(0, What::Group, id);
    let door = |socket| Door::new(host.clone(), socket, name, For::Members);
    for _ in 0..TRIES {
        match name.listen() {
            Ok(socket) => {
                body.set(Memory::new(size)?, size)?;
                return Ok(door(socket));
            }
            Err(Errno::ADDRINUSE) => {}
            Err(errno) => return Err(errno.into()),
        }
        let until = deadline(PATIENCE);
        let asked = name
            .connect(until)
            .and_then(|socket| packet::ask(&socket, Packet { size: size as u64, ..Packet::new(Verb::Join) }, until));
        let (answer, mut fds) = match asked {
            // Its last member has ended just now.
            Err(Error::NoSuchSegment) => continue,
            result => result?,
        };
        if answer.status == Error::NoSuchSegment as u32 {
            continue;
        }
        if answer.status != 0 {
            return Err(refused(answer.status));
        }
        let (Some(socket), Some(memory)) = (fds.pop(), fds.pop()) else { return Err(Error::InconsistentVersions) };
        body.set(Memory::from_peer(memory, size as u64, 0)?, size)?;
        return Ok(door(socket));
    }
    Err(Error::NoSuchSegment)
}

/// Another node wants to be a member: gives it memory and socket. All members have one size.
pub fn admit(body: &Body, door: &Door, size: u64) -> Result<(Packet, Vec<OwnedFd>)> {
    let memory = body.memory().ok_or(Error::NoSuchSegment)?;
    if size != body.size() as u64 {
        return Err(Error::SizeAlignment);
    }
    let memory = memory.fd.try_clone().map_err(|_| Error::NoSpc)?;
    Ok((Packet { size, ..Packet::new(Verb::Answer) }, vec![memory, door.copy()?]))
}
