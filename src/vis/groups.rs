//! The form in which a message carries the places of pieces: addresses and lengths of one side, packed into words.
//!
//! A group is pieces of one length. Its first word holds kind, count and length. Either the address of each piece
//! follows, or the address of the first piece and the distance between neighbours. So a column of a matrix takes
//! three words however long it is, and an index list takes one word per piece.

#![forbid(unsafe_code)]

/// Kind bit of a group with regular distances.
const REGULAR: u64 = 1 << 63;
/// The most pieces in a group.
const MOST: usize = (1 << 31) - 1;
/// The most words that one more piece adds.
pub const PIECE_WORDS: usize = 2;

/// Makes groups. It joins pieces that follow each other.
#[derive(Default)]
pub struct Groups {
    words: Vec<u64>,
    /// The word at which the open group starts.
    open: usize,
    /// The last piece; the next one may continue it.
    held: Option<(usize, usize)>,
    pieces: usize,
    bytes: usize,
}

fn head(kind: u64, count: usize, len: usize) -> u64 {
    kind | (count as u64) << 32 | len as u64
}

fn split(head: u64) -> (bool, usize, usize) {
    (head & REGULAR != 0, (head >> 32) as usize & MOST, head as u32 as usize)
}

impl Groups {
    /// Adds a piece of less than 4 GiB.
    pub fn push(&mut self, addr: usize, len: usize) {
        self.bytes += len;
        if let Some((start, held)) = self.held {
            if start.wrapping_add(held) == addr && held + len <= u32::MAX as usize {
                self.held = Some((start, held + len));
                return;
            }
            self.close(start, held);
        }
        self.held = Some((addr, len));
        self.pieces += 1;
    }

    /// True if a piece at `addr` would continue the last one.
    pub fn continues(&self, addr: usize) -> bool {
        self.held.is_some_and(|(start, len)| start.wrapping_add(len) == addr)
    }

    /// Puts a complete piece into the open group, or opens a new group.
    fn close(&mut self, addr: usize, len: usize) {
        let addr = addr as u64;
        if let Some(&first) = self.words.get(self.open) {
            let (regular, count, length) = split(first);
            if length == len && count < MOST {
                let body = &mut self.words[self.open + 1..];
                let grown = match (regular, &mut *body) {
                    (true, [start, step]) => start.wrapping_add(step.wrapping_mul(count as u64)) == addr,
                    (false, [start, next]) if addr.wrapping_sub(*next) == next.wrapping_sub(*start) => {
                        *next = next.wrapping_sub(*start);
                        self.words[self.open] = head(REGULAR, 2, len);
                        true
                    }
                    (false, _) => {
                        self.words.push(addr);
                        true
                    }
                    _ => false,
                };
                if grown {
                    self.words[self.open] += 1 << 32;
                    return;
                }
            }
        }
        self.open = self.words.len();
        self.words.extend([head(0, 1, len), addr]);
    }

    /// Number of pieces so far, after joining.
    pub fn pieces(&self) -> usize {
        self.pieces
    }

    /// Number of bytes in these pieces.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The first piece, if it is the only one.
    pub fn single(&self) -> Option<(usize, usize)> {
        self.held.filter(|_| self.pieces == 1)
    }

    /// The number of words that there may be after one more piece.
    pub fn words_after(&self) -> usize {
        self.words.len() + 2 * PIECE_WORDS
    }

    /// Finishes the words and returns them. Nothing may be added before [`Self::clear`].
    pub fn finish(&mut self) -> &[u64] {
        if let Some((addr, len)) = self.held.take() {
            self.close(addr, len);
        }
        &self.words
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.words.clear();
        (self.open, self.held, self.pieces, self.bytes) = (0, None, 0, 0);
    }
}

/// A group that was read from words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    /// Number of bytes of each piece.
    pub len: usize,
    /// Number of pieces.
    pub count: usize,
    body: Result<&'a [u64], (u64, u64)>,
}

impl<'a> Group<'a> {
    /// The addresses of its pieces.
    pub fn places(&self) -> Places<'a> {
        Places { group: *self, at: 0 }
    }
}

/// Addresses of a group's pieces, in order.
#[derive(Clone)]
pub struct Places<'a> {
    group: Group<'a>,
    at: usize,
}

impl Iterator for Places<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.at >= self.group.count {
            return None;
        }
        let at = self.at;
        self.at += 1;
        Some(match self.group.body {
            Ok(list) => list[at] as usize,
            Err((start, step)) => start.wrapping_add(step.wrapping_mul(at as u64)) as usize,
        })
    }
}

/// Reads groups from words. If the words are not what [`Groups`] makes, the item is `None` and is the last one.
pub struct Reader<'a>(pub &'a [u64]);

impl<'a> Iterator for Reader<'a> {
    type Item = Option<Group<'a>>;

    fn next(&mut self) -> Option<Option<Group<'a>>> {
        let (&first, rest) = self.0.split_first()?;
        let (regular, count, len) = split(first);
        let need = if regular { 2 } else { count };
        let Some((body, rest)) = rest.split_at_checked(need).filter(|_| len > 0 && count > 0) else {
            self.0 = &[];
            return Some(None);
        };
        self.0 = rest;
        Some(Some(Group { len, count, body: if regular { Err((body[0], body[1])) } else { Ok(body) } }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(words: &[u64]) -> Vec<(usize, usize)> {
        let groups = Reader(words).map(|g| g.expect("well formed"));
        groups.flat_map(|g| g.places().map(move |p| (p, g.len))).collect()
    }

    fn packed(pieces: &[(usize, usize)]) -> Groups {
        let mut groups = Groups::default();
        pieces.iter().for_each(|(addr, len)| groups.push(*addr, *len));
        groups
    }

    proptest! {
        #[test]
        fn pieces_come_back_byte_for_byte(pieces in prop::collection::vec((0usize..40, 1usize..4), 0..60)) {
            let bytes = |list: &[(usize, usize)]| list.iter().flat_map(|(a, n)| *a..a + n).collect::<Vec<_>>();
            let mut groups = packed(&pieces);
            let (count, total, room) = (groups.pieces(), groups.bytes(), groups.words_after());
            let words = groups.finish();
            prop_assert!(words.len() <= room);
            let back = read(words);
            prop_assert_eq!(bytes(&back), bytes(&pieces));
            prop_assert_eq!(back.len(), count);
            prop_assert_eq!(back.iter().map(|p| p.1).sum::<usize>(), total);
            prop_assert!(back.windows(2).all(|w| w[0].0 + w[0].1 != w[1].0), "followers are joined");
        }

        #[test]
        fn words_of_any_kind_are_read_without_a_panic(words in prop::collection::vec(any::<u64>(), 0..20)) {
            for group in Reader(&words).flatten() {
                prop_assert!(group.places().take(100).count() <= group.count);
            }
        }
    }

    #[test]
    fn a_column_costs_three_words_and_a_list_one_per_piece() {
        let column: Vec<_> = (0..1000).map(|i| (7 + 64 * i, 8)).collect();
        assert_eq!(packed(&column).finish().len(), 3);
        let list: Vec<_> = (0..1000).map(|i| (i * i * 16, 8)).collect();
        assert_eq!(packed(&list).finish().len(), 1001);
    }

    #[test]
    fn truncated_words_are_refused() {
        let mut groups = packed(&[(0, 4), (100, 4), (150, 4)]);
        let words = groups.finish();
        assert_eq!(Reader(&words[..3]).last(), Some(None));
        assert_eq!(Reader(&[0]).last(), Some(None), "an empty group");
    }
}
