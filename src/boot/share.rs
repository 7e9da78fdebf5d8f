//! Bytes that all nodes take from node 0, however many. For what nodes of one host would read from shared memory.
//!
//! Must not know: what the bytes mean.

use super::{BootError, Bootstrap, Key, LIMIT, get_words, put_words};

/// The key of length and digest of what a node has.
const DIGEST: Key = Key::new("digest");
/// The key of a piece of node 0's bytes.
const PIECE: Key = Key::new("piece");
/// Bytes of a piece: all that a round has room for.
const MOST: usize = LIMIT - 8;

/// Returns node 0's `own` on every node. All nodes call it. One fence if all nodes already hold the same bytes (the usual
/// case: no start script has changed the environment). Otherwise one more per 96 bytes.
///
/// # Errors
/// Those of [`Bootstrap`].
pub fn from_first(boot: &dyn Bootstrap, own: &[u8]) -> Result<Vec<u8>, BootError> {
    put_words(boot, DIGEST, &[own.len() as u64, digest(own, 0), digest(own, 1)])?;
    boot.fence()?;
    let first = get_words::<3>(boot, 0, DIGEST)?;
    let mut same = true;
    for rank in 1..boot.size() {
        same &= get_words::<3>(boot, rank, DIGEST)? == first;
    }
    if same {
        return Ok(own.to_vec());
    }
    let len = first[0] as usize;
    let mut bytes = Vec::new();
    while bytes.len() < len {
        let (at, more) = (bytes.len(), MOST.min(len - bytes.len()));
        if boot.rank() == 0 {
            boot.put(PIECE, &own[at..at + more])?;
        }
        boot.fence()?;
        bytes.resize(at + more, 0);
        boot.get(0, PIECE, &mut bytes[at..])?;
    }
    Ok(bytes)
}

// FNV-1a, begun with one of two numbers. Nobody gains by bytes that collide: a node lies about its own environment only.
fn digest(bytes: &[u8], which: u64) -> u64 {
    let begin = 0xcbf2_9ce4_8422_2325 ^ which.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes.iter().fold(begin, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
