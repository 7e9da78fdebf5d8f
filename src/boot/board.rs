//! A node's values of one round, in words of shared memory: its half of a bulletin.
//!
//! The first word holds the number of the round, and the number of words behind it that are in use. Each value is a
//! word with key and length, followed by its bytes. The first value that is put in a round starts that round in the
//! half. A half that holds another round counts as empty.
//!
//! Readers trust nothing: any words are a bulletin, perhaps an empty one. Must not know which node writes when: the
//! fence orders that.

use super::{BootError, Key, LIMIT};
use crate::supervise::header::HALF;
use crate::sync::{AtomicU64, Ordering};

/// Words for keys and values.
pub const WORDS: usize = LIMIT / 8;

fn head(round: u32, used: usize) -> u64 {
    u64::from(round) << 32 | used as u64
}

/// The number of words in use, if the half is of this round; else 0.
fn used(half: &[AtomicU64; HALF], round: u32) -> usize {
    // Relaxed, as are all accesses here: a node reads another node's half only after a fence.
    let word = half[0].load(Ordering::Relaxed);
    if (word >> 32) as u32 == round { (word as u32 as usize).min(WORDS) } else { 0 }
}

fn title(key: Key, len: usize) -> u64 {
    let [a, b, c, d, e, f, g] = key.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, len as u8])
}

/// Adds a value to the writer's own half.
///
/// # Errors
/// [`BootError::Full`]; nothing has changed then.
pub fn add(half: &[AtomicU64; HALF], round: u32, key: Key, value: &[u8]) -> Result<(), BootError> {
    let at = 1 + used(half, round);
    let end = at + 1 + value.len().div_ceil(8);
    if end > HALF {
        return Err(BootError::Full { key, len: value.len() });
    }
    half[at].store(title(key, value.len()), Ordering::Relaxed);
    for (cell, bytes) in half[at + 1..end].iter().zip(value.chunks(8)) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        cell.store(u64::from_le_bytes(word), Ordering::Relaxed);
    }
    half[0].store(head(round, end - 1), Ordering::Relaxed);
    Ok(())
}

/// Reads the last value under `key` of node `rank`. This half must be that node's.
///
/// # Errors
/// [`BootError::Missing`], [`BootError::Length`]; `value` is unchanged then.
pub fn find(half: &[AtomicU64; HALF], round: u32, rank: u32, key: Key, value: &mut [u8]) -> Result<(), BootError> {
    let end = 1 + used(half, round);
    let (mut at, mut found) = (1, None);
    while at < end {
        let here = half[at].load(Ordering::Relaxed);
        let len = (here >> 56) as usize;
        let next = at + 1 + len.div_ceil(8);
        if next > end {
            break; // no writer of ours leaves such words
        }
        if here == title(key, len) {
            found = Some((at + 1, len));
        }
        at = next;
    }
    match found {
        None => Err(BootError::Missing { rank, key }),
        Some((_, is)) if is != value.len() => Err(BootError::Length { rank, key, is, wanted: value.len() }),
        Some((first, _)) => {
            // Every node reads the words of all others: with lengths that the compiler does not know, a value took 450 instructions.
            let mut cells = half[first..].iter().map(|cell| cell.load(Ordering::Relaxed).to_le_bytes());
            let (whole, rest) = value.as_chunks_mut::<8>();
            whole.iter_mut().zip(&mut cells).for_each(|(bytes, word)| *bytes = word);
            rest.iter_mut().zip(cells.next().unwrap_or_default()).for_each(|(byte, from)| *byte = from);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::array::from_fn;

    const KEY: Key = Key::new("key");

    #[test]
    fn any_words_are_a_bulletin() {
        for (round, used, len) in [(7, WORDS, 255), (7, 1000, 8), (7, 2, 9), (7, 0, 0), (8, 1, 0)] {
            let words = [head(round, used), title(KEY, len)];
            let half: [AtomicU64; HALF] = from_fn(|i| AtomicU64::new(words.get(i).copied().unwrap_or(u64::MAX)));
            let mut value = [1; 100];
            let result = find(&half, 7, 3, KEY, &mut value);
            assert!(matches!(result, Err(BootError::Missing { .. } | BootError::Length { .. })), "{result:?}");
            assert_eq!(value, [1; 100]);
        }
    }

    #[test]
    fn a_value_that_does_not_fit_leaves_the_others() {
        let half: [AtomicU64; HALF] = from_fn(|_| AtomicU64::new(0));
        add(&half, 5, KEY, b"first").unwrap();
        assert!(add(&half, 5, Key::new("big"), &[0; 81]).is_err());
        add(&half, 5, Key::new("big"), &[7; 80]).unwrap();
        let (mut first, mut big) = ([0; 5], [0; 80]);
        find(&half, 5, 0, KEY, &mut first).unwrap();
        find(&half, 5, 0, Key::new("big"), &mut big).unwrap();
        assert_eq!((&first, big), (b"first", [7; 80]));
        add(&half, 6, KEY, b"next").unwrap();
        assert_eq!(find(&half, 6, 0, KEY, &mut first), Err(BootError::Length { rank: 0, key: KEY, is: 4, wanted: 5 }));
        assert!(find(&half, 5, 0, KEY, &mut first).is_err(), "the round before is gone");
    }
}
