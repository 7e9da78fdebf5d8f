//! Stores of a program as they are found: words that differ from what was sent before, and the pieces of them that go to the peer.
#![allow(unsafe_code)] // Memory that the program and peers write to meanwhile.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Bytes of a word.
pub const WORD: usize = 8;

/// A word that the program has stored to: its number, its value, and which bits of it are new.
pub type Word = (usize, u64, u64);

/// The smallest aligned piece of a word that has all of its new bits: where it begins in the word, and its size. So a reader never sees half of a
/// number. Bytes outside of the piece keep what others have written there. Bytes of the piece that are not new go along as this side last knew them,
/// and take the place of what others have written there since.
pub fn piece(new: u64) -> (usize, usize) {
    let (low, high) = (new.trailing_zeros() as usize / 8, 7 - new.leading_zeros() as usize / 8);
    let size = [1, 2, 4, 8].into_iter().find(|size| low / size == high / size).unwrap_or(WORD);
    (low / size * size, size)
}

/// All bits of the bytes of a word that are not 0.
pub fn differing(new: u64) -> u64 {
    // The highest bit of each byte: set if the byte has any bit.
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let high = (((new & LOW) + LOW) | new) & !LOW;
    (high >> 7) * 0xff
}

/// Stores `bytes` at `place`, in the largest aligned pieces.
///
/// # Safety
/// The bytes are within a mapping that nobody unmaps meanwhile.
pub unsafe fn store(mut place: *mut u8, mut bytes: &[u8]) {
    // Ordering: Release; a thread that sees a flag sees what was stored before it.
    while !bytes.is_empty() {
        let fits = |size: &usize| (place as usize).is_multiple_of(*size) && *size <= bytes.len();
        let size = [8, 4, 2].into_iter().find(fits).unwrap_or(1);
        match size {
            8 => {
                let value = u64::from_ne_bytes(*bytes.first_chunk().unwrap_or(&[0; 8]));
                // SAFETY: the caller's, aligned as was looked at; so are those below.
                unsafe { AtomicU64::from_ptr(place.cast()) }.store(value, Ordering::Release);
            }
            4 => {
                let value = u32::from_ne_bytes(*bytes.first_chunk().unwrap_or(&[0; 4]));
                // SAFETY: as above.
                unsafe { AtomicU32::from_ptr(place.cast()) }.store(value, Ordering::Release);
            }
            2 => {
                let value = u16::from_ne_bytes(*bytes.first_chunk().unwrap_or(&[0; 2]));
                // SAFETY: as above.
                unsafe { AtomicU16::from_ptr(place.cast()) }.store(value, Ordering::Release);
            }
            _ => {
                // SAFETY: as above.
                unsafe { AtomicU8::from_ptr(place) }.store(bytes[0], Ordering::Release);
            }
        }
        (place, bytes) = (place.wrapping_add(size), &bytes[size..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_piece_that_has_the_new_bits() {
        assert_eq!(piece(0x01), (0, 1));
        assert_eq!(piece(0x8000_0000_0000_0000), (7, 1));
        assert_eq!(piece(0x0101), (0, 2));
        assert_eq!(piece(0x01_0100), (0, 4));
        assert_eq!(piece(0x0001_0000_0100_0000), (0, 8));
        assert_eq!(piece(0xffff_0000_0000), (4, 2));
        assert_eq!(piece(u64::MAX), (0, 8));
    }

    #[test]
    fn whole_bytes_differ() {
        assert_eq!([0, 1, 0x8000, 0x7f00_0000_0000_0100].map(differing), [0, 0xff, 0xff00, 0xff00_0000_0000_ff00]);
        assert_eq!(differing(u64::MAX), u64::MAX);
    }

    #[test]
    fn bytes_at_any_place_are_stored_and_no_others() {
        let mut memory = [0_u64; 8];
        for begin in 0..20 {
            for length in 0..30 {
                memory.fill(0);
                let bytes: Vec<u8> = (1..=length).collect();
                let place = memory.as_mut_ptr().cast::<u8>().wrapping_add(begin);
                // SAFETY: within the memory.
                unsafe { store(place, &bytes) };
                let got: Vec<u8> = memory.iter().flat_map(|word| word.to_ne_bytes()).collect();
                let end = begin + bytes.len();
                assert_eq!(got[begin..end], bytes);
                assert!(got[..begin].iter().chain(&got[end..]).all(|&byte| byte == 0));
            }
        }
    }
}
