//! Checksum and zero counts of memory (contract: tools.md §12.3).

#![forbid(unsafe_code)]

/// From 0 on, rotates left by 8 and xors each byte. The result depends on the order.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0u64, |sum, byte| sum.rotate_left(8) ^ u64::from(*byte))
}

/// Number of zero bytes in a word.
#[inline]
pub fn zeros_in(word: u64) -> u32 {
    const LOW: u64 = u64::MAX / 0xff * 0x7f;
    // In each byte the top bit of ((low bits + 0x7f) | byte) says whether any bit is set. The sums do not cross
    // bytes.
    (!(((word & LOW) + LOW) | word | LOW)).count_ones()
}

/// Number of zero bytes in `bytes`.
pub fn zeros(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let counted: usize = words.iter().map(|word| zeros_in(u64::from_ne_bytes(*word)) as usize).sum();
    counted + rest.iter().filter(|byte| **byte == 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn checksum_is_the_documented_recurrence() {
        assert_eq!(checksum(b""), 0);
        assert_eq!(checksum(b"ab"), 0x6162);
        assert_ne!(checksum(b"ab"), checksum(b"ba"));
        // The ninth byte is xored with the first one, which has been rotated round to the same place.
        assert_eq!(checksum(b"123456789"), 0x3233343536373800 | u64::from(b'1' ^ b'9'));
    }

    #[test]
    fn each_byte_of_a_word_counts_alone() {
        for mask in 0..256u64 {
            for filler in [1u8, 0x7f, 0x80, 0xff] {
                let bytes: [u8; 8] = std::array::from_fn(|i| if mask >> i & 1 == 1 { 0 } else { filler });
                assert_eq!(zeros_in(u64::from_ne_bytes(bytes)), mask.count_ones(), "{bytes:x?}");
            }
        }
    }

    proptest! {
        #[test]
        fn words_count_what_bytes_count(bytes in prop::collection::vec(0u8..4, 0..300), start in 0usize..16) {
            let part = &bytes[start.min(bytes.len())..];
            prop_assert_eq!(zeros(part), part.iter().filter(|byte| **byte == 0).count());
        }
    }
}
