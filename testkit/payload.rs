//! Bytes that tests send.

/// `len` bytes that differ for another `word`.
///
/// Each word of them follows from the one before, in a plain loop: with a closure for each byte, which nothing optimises in tests, making the bytes
/// took more time than the messages.
pub(crate) fn payload(mut word: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for place in bytes.chunks_mut(8) {
        place.copy_from_slice(&word.to_le_bytes()[..place.len()]);
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    bytes
}
