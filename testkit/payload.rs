//! Bytes that tests send.

/// `len` bytes that follow from `word`. What tells messages apart belongs into its low bytes ([`mix`]), since a payload may be short.
///
/// Each word of them follows from the one before, in a plain loop: with a closure for each byte, which nothing optimises in tests, making the
/// bytes took more time than the messages.
pub(crate) fn payload(mut word: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for place in bytes.chunks_mut(8) {
        place.copy_from_slice(&word.to_le_bytes()[..place.len()]);
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    bytes
}

/// Bits that depend on all of `parts` (splitmix64).
pub(crate) fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(0x9e37_79b9_7f4a_7c15, |state, part| {
        let mut z = (state ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    })
}
