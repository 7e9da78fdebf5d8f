//! How writes are cut into packets.
//!
//! Must not know: what is written.

use std::ops::Range;

/// Room for a frame behind the last piece of a Long, in a packet of the others' size.
pub const FOLLOWER: usize = 128;

/// The piece that follows the first `gone` of `len` bytes, if none has more than `most`. All have the same size, so that the system takes them
/// in one call (`sending`): the last one begins with bytes that have gone already, if need be.
pub fn cut(len: usize, gone: usize, most: usize) -> Range<usize> {
    let even = len.div_ceil(len.div_ceil(most).max(1));
    let start = gone.min(len - even);
    start..start + even
}

/// The same of a Long that has several pieces: a frame has room behind the last one, which is shorter than the others.
pub fn cut_for_follower(len: usize, gone: usize, most: usize) -> Range<usize> {
    let all = len + FOLLOWER;
    gone..len.min(gone + all.div_ceil(all.div_ceil(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_write_have_one_size_and_cover_all_of_it() {
        for (len, most) in
            [(1, 1), (1, 1000), (1000, 1000), (1001, 1000), (65_536, 16_308), (65_536, 1192), (1 << 20, 16_308)]
        {
            let (mut gone, first) = (0, cut(len, 0, most).len());
            while gone < len {
                let piece = cut(len, gone, most);
                assert!(piece.start <= gone && gone < piece.end && piece.end <= len, "{piece:?} of {len}");
                assert!(piece.len() == first && first <= most && gone - piece.start < len.div_ceil(most));
                gone = piece.end;
            }
        }
    }

    #[test]
    fn a_frame_has_room_behind_the_last_piece_of_a_long() {
        for (len, most) in [(1001, 1000), (65_536, 16_308), (65_536, 1192), (1 << 20, 16_308)] {
            let (mut gone, first) = (0, cut_for_follower(len, 0, most).len());
            let mut last = 0;
            while gone < len {
                let piece = cut_for_follower(len, gone, most);
                assert!(piece.start == gone && gone < piece.end && piece.end <= len && piece.len() <= most);
                assert!(piece.len() == first || piece.end == len, "{piece:?} of {len}");
                (gone, last) = (piece.end, piece.len());
            }
            assert!(last + FOLLOWER <= first && last > 0, "{last} behind {first}");
        }
    }
}
