//! The exchange by rounds over PMIx, where a value can be published once and stays for ever.
//!
//! A node collects what it puts, and publishes all of it in the fence, under a name with the number of the round. It
//! publishes every round, even one without values, because PMIx may wait for a value that is not there.
//!
//! Must not know: hosts, memory, how PMIx is called.

use super::library::Library;
use crate::boot::{BootError, Bootstrap, Key, LIMIT};
use crate::supervise::exit;
use parking_lot::Mutex;

/// What this node has put, and what it has got.
#[derive(Default)]
struct Round {
    number: u32,
    put: Vec<u8>,
    // By rank: what the nodes put in the round before, as far as this node has asked.
    got: Vec<Option<Vec<u8>>>,
}

/// One node of a job that a foreign launcher started.
pub struct Exchange {
    library: &'static Library,
    size: u32,
    round: Mutex<Round>,
}

/// The name of what a node publishes in a round.
fn name(round: u32) -> String {
    format!("gasnet-sci.{round}")
}

// A value is its key, its length in a byte, its bytes, and zeros up to a multiple of 8.
fn add(put: &mut Vec<u8>, key: Key, value: &[u8]) -> Result<(), BootError> {
    let room = LIMIT.checked_sub(put.len() + 8);
    let fits = |len: &u8| room.is_some_and(|room| usize::from(*len) <= room);
    let Some(len) = u8::try_from(value.len()).ok().filter(fits) else {
        return Err(BootError::Full { key, len: value.len() });
    };
    put.extend_from_slice(&key.bytes());
    put.push(len);
    put.extend_from_slice(value);
    put.resize(put.len().next_multiple_of(8), 0);
    Ok(())
}

// The last value under `key`. Any bytes are allowed.
fn find(put: &[u8], key: Key) -> Option<&[u8]> {
    let (mut rest, mut found) = (put, None);
    while let Some((head, tail)) = rest.split_first_chunk::<8>() {
        let len = usize::from(head[7]);
        let value = tail.get(..len)?; // no writer of ours leaves such bytes
        if head[..7] == key.bytes() {
            found = Some(value);
        }
        rest = tail.get(len.next_multiple_of(8)..).unwrap_or_default();
    }
    found
}

impl Exchange {
    /// The exchange between the `size` nodes of the session.
    pub fn new(library: &'static Library, size: u32) -> Exchange {
        Exchange { library, size, round: Mutex::default() }
    }
}

impl Bootstrap for Exchange {
    fn rank(&self) -> u32 {
        self.library.rank()
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn put(&self, key: Key, value: &[u8]) -> Result<(), BootError> {
        add(&mut self.round.lock().put, key, value)
    }

    fn get(&self, rank: u32, key: Key, value: &mut [u8]) -> Result<(), BootError> {
        let mut round = self.round.lock();
        let missing = BootError::Missing { rank, key };
        let Some(before) = round.number.checked_sub(1) else { return Err(missing) };
        let Some(got) = round.got.get_mut(rank as usize) else { return Err(missing) };
        let all = match got {
            Some(all) => all,
            None => got.insert(self.library.fetch(rank, &name(before)).map_err(BootError::Lost)?),
        };
        let found = find(all, key).ok_or(missing)?;
        if found.len() != value.len() {
            return Err(BootError::Length { rank, key, is: found.len(), wanted: value.len() });
        }
        value.copy_from_slice(found);
        Ok(())
    }

    fn fence(&self) -> Result<(), BootError> {
        let mut round = self.round.lock();
        self.library.publish(&name(round.number), &round.put).map_err(BootError::Lost)?;
        self.library.fence().map_err(BootError::Lost)?;
        round.number += 1;
        round.put.clear();
        round.got.clear();
        round.got.resize(self.size as usize, None);
        Ok(())
    }

    fn abort(&self, code: u8) -> ! {
        exit::at_once(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key::new("key");

    #[test]
    fn any_bytes_are_a_bulletin() {
        for bytes in [&b"key\0\0\0\0\x09short"[..], b"key", b"", b"another\0key\0\0\0\0\xff"] {
            assert_eq!(find(bytes, KEY), None, "{bytes:?}");
        }
        assert_eq!(find(b"key\0\0\0\0\x03abc", KEY), Some(&b"abc"[..]), "without its padding");
    }

    #[test]
    fn a_value_that_does_not_fit_leaves_the_others() {
        let mut put = Vec::new();
        add(&mut put, KEY, b"first").unwrap();
        let room = LIMIT - 24;
        assert_eq!(add(&mut put, KEY, &vec![0; room + 1]), Err(BootError::Full { key: KEY, len: room + 1 }));
        add(&mut put, Key::new("other"), &vec![7; room]).unwrap();
        assert_eq!(find(&put, KEY), Some(&b"first"[..]));
        assert_eq!(add(&mut put, KEY, b""), Err(BootError::Full { key: KEY, len: 0 }));
        assert_eq!((find(&put, Key::new("other")).map(<[u8]>::len), put.len()), (Some(room), LIMIT));
    }
}
