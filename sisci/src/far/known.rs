//! What this side knows of a segment: its twin, and what of it is on its way to the owner while the owner's news are on their way back.
#![allow(unsafe_code)] // Memory that the program stores to meanwhile.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::piece::{WORD, differing};
use crate::net::Changed;
use crate::net::say::{FRAMES, PIECES};

/// A frame of bytes that have left, or leave just now.
struct Flight {
    /// The number of the frame.
    frame: u64,
    /// Where they go, in ascending order.
    places: Vec<Range<usize>>,
}

/// In place of a number, of a frame that has none yet.
const UNSENT: u64 = u64::MAX;

/// What this side knows of a segment. Nobody waits for a peer while this is locked.
pub struct Known {
    /// What was sent, fetched, or told by news.
    pub twin: Vec<u64>,
    /// Plain stores have left, so the owner sends news from now on.
    has_stored: bool,
    /// What the owner may not have had when it told the next news. It says what it has at least after each `say::FRAMES` frames.
    flights: VecDeque<Flight>,
    /// How many places are in `flights`, with `FLIGHT` for each flight itself.
    places: usize,
    /// The words from this one on were asked for and have not come. For each: the number of the last news that told it meanwhile.
    asked: (usize, Vec<u64>),
}

/// A flight takes as much memory as so many places.
const FLIGHT: usize = 4;
/// Places that are on their way, at most: more than any kernel takes before the owner has said that they have come. They take 256 MiB.
const PLACES: usize = if cfg!(test) { 1 << 10 } else { 1 << 24 };
/// An honest owner says so in time: there may be far more than it lets come before it does.
const _: () = assert!(cfg!(test) || FRAMES as usize * (PIECES + FLIGHT) <= PLACES / 16);

/// The bytes of a word which are in one of these places.
fn covered<'a>(word: usize, places: impl Iterator<Item = &'a Range<usize>>) -> u64 {
    let base = word * WORD;
    let bits = |place: &Range<usize>| {
        let within = place.start.max(base)..place.end.min(base + WORD);
        within.fold(0, |bits, at| bits | 0xff << (8 * (at - base)))
    };
    places.fold(0, |all, place| all | bits(place))
}

/// The places of a list in ascending order that have bytes of this word.
fn around(places: &[Range<usize>], word: usize) -> impl Iterator<Item = &Range<usize>> {
    let first = places.partition_point(|place| place.end <= word * WORD);
    places[first..].iter().take_while(move |place| place.start < (word + 1) * WORD)
}

/// Shows that the owner has `there`, but for the bytes `kept`, and for those to which the program has stored meanwhile. Whether any was new.
pub fn merge(own: &AtomicU64, twin: &mut u64, there: u64, kept: u64) -> bool {
    let there = there & !kept | *twin & kept;
    if there == *twin {
        return false;
    }
    let stored = |now: u64| differing(now ^ *twin);
    // Ordering: Release; a thread that sees a flag sees what came before it. By exchange: a store that the program makes just now stays.
    let _ =
        own.fetch_update(Ordering::Release, Ordering::Relaxed, |now| Some(now & stored(now) | there & !stored(now)));
    *twin = there;
    true
}

impl Known {
    /// Nothing is on its way.
    pub fn new(twin: Vec<u64>) -> Known {
        Known { twin, has_stored: false, flights: VecDeque::new(), places: 0, asked: (0, Vec::new()) }
    }

    /// A frame of stores leaves, with these places and sizes.
    pub fn stores_leave(&mut self, pieces: &[(u64, u32)]) {
        self.has_stored = true;
        self.fly(pieces.iter().map(|&(at, size)| at as usize..at as usize + size as usize).collect());
    }

    fn fly(&mut self, places: Vec<Range<usize>>) {
        self.places += FLIGHT + places.len();
        self.flights.push_back(Flight { frame: UNSENT, places });
    }

    /// Whether more is under way than any kernel holds, so the owner takes frames and does not say so. To be asked before more leaves.
    pub fn is_deceived(&self) -> bool {
        self.places > PLACES
    }

    /// A copy leaves.
    pub fn copy_leaves(&mut self, place: Range<usize>) {
        if self.has_stored {
            self.fly(vec![place]);
        }
    }

    /// Gives this number to the first frame that has none. Frames get their numbers one by one, since the owner may change bytes of the first before the second
    /// has come.
    pub fn leave(&mut self, number: u64) {
        let first = self.flights.partition_point(|flight| flight.frame != UNSENT);
        if let Some(flight) = self.flights.get_mut(first) {
            flight.frame = number;
        }
    }

    /// The bytes of a word that the owner had not got after so many frames.
    fn on_its_way(&self, word: usize, after: u64) -> u64 {
        let flights = self.flights.iter().filter(|flight| flight.frame > after);
        flights.fold(0, |all, flight| all | covered(word, around(&flight.places, word)))
    }

    /// So many frames have come at the owner.
    pub fn arrived(&mut self, frames: u64) {
        while self.flights.front().is_some_and(|flight| flight.frame <= frames) {
            self.places -= self.flights.pop_front().map_or(0, |flight| FLIGHT + flight.places.len());
        }
    }

    /// Shows news: `own` gives a word of what the program maps. False if they are not about this segment.
    pub fn show<'a>(&mut self, changed: &Changed, own: impl Fn(usize) -> &'a AtomicU64) -> bool {
        self.arrived(changed.after);
        let mut rest = &changed.bytes[..];
        for &(at, size) in &changed.pieces {
            let (Ok(at), size) = (usize::try_from(at), size as usize) else { return false };
            let is_whole = size > 0 && at.is_multiple_of(WORD) && size.is_multiple_of(WORD) && size <= rest.len();
            if !is_whole || at > self.twin.len() * WORD || size > self.twin.len() * WORD - at {
                return false;
            }
            let (bytes, behind) = rest.split_at(size);
            for (k, bytes) in bytes.as_chunks::<WORD>().0.iter().enumerate() {
                let word = at / WORD + k;
                let kept = self.on_its_way(word, changed.after);
                merge(own(word), &mut self.twin[word], u64::from_ne_bytes(*bytes), kept);
                let (first, asked) = &mut self.asked;
                if let Some(last) = asked.get_mut(word.wrapping_sub(*first)) {
                    *last = changed.number;
                }
            }
            rest = behind;
        }
        rest.is_empty()
    }

    /// These words are asked for; none any more, if there are none.
    pub fn ask(&mut self, words: Range<usize>) {
        self.asked = (words.start, vec![0; words.len()]);
    }

    /// Shows what was asked for: the word had this value when so many news had been heard.
    pub fn fetched(&mut self, word: usize, there: u64, heard: u64, own: &AtomicU64) {
        let (first, asked) = &self.asked;
        let is_older = asked.get(word.wrapping_sub(*first)).is_some_and(|last| *last > heard);
        merge(own, &mut self.twin[word], there, if is_older { u64::MAX } else { 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::super::piece::piece;
    use super::*;

    /// What a program maps, and what is known of it.
    struct Side {
        own: Vec<AtomicU64>,
        known: Known,
    }

    impl Side {
        fn new() -> Side {
            Side { own: (0..4).map(|_| AtomicU64::new(0)).collect(), known: Known::new(vec![0; 4]) }
        }

        /// The program stores this word; it leaves as the frame of this number, if it has left.
        fn stores(&mut self, word: usize, value: u64, frame: Option<u64>) {
            let new = self.known.twin[word] ^ value;
            self.own[word].store(value, Ordering::Relaxed); // Relaxed: one thread, here and below
            self.known.twin[word] = value;
            let (first, size) = piece(new);
            self.known.stores_leave(&[((word * WORD + first) as u64, size as u32)]);
            frame.into_iter().for_each(|frame| self.known.leave(frame));
        }

        fn hears(&mut self, number: u64, after: u64, word: usize, value: u64) {
            let pieces = vec![(8 * word as u64, 8)];
            let changed = Changed { number, after, pieces, bytes: value.to_ne_bytes().to_vec() };
            assert!(self.known.show(&changed, |word| &self.own[word]));
        }

        fn shows(&self, word: usize) -> (u64, u64) {
            (self.own[word].load(Ordering::Relaxed), self.known.twin[word])
        }
    }

    #[test]
    fn a_store_that_is_on_its_way_is_not_undone_by_older_news() {
        let mut side = Side::new();
        side.stores(1, 1, Some(1));
        side.hears(1, 1, 1, 0);
        assert_eq!(side.shows(1), (0, 0), "the owner has cleared it");
        side.stores(1, 2, Some(2));
        side.hears(2, 1, 1, 7);
        assert_eq!(side.shows(1), (2, 2), "7 was there before 2 came");
        side.hears(3, 2, 1, 7);
        assert_eq!(side.shows(1), (7, 7));
        side.stores(1, 3, None);
        side.hears(4, 2, 1, 8);
        assert_eq!(side.shows(1), (3, 3), "it leaves just now");
        assert_eq!(side.known.flights.len(), 1, "what has arrived is forgotten");
    }

    #[test]
    fn of_stores_in_two_frames_the_first_may_be_changed_before_the_second_has_come() {
        let mut side = Side::new();
        side.stores(0, 1, None);
        side.stores(2, 1, None);
        side.known.leave(1);
        side.known.leave(2);
        side.hears(1, 1, 0, 0);
        side.hears(2, 1, 2, 0);
        assert_eq!((side.shows(0), side.shows(2)), ((0, 0), (1, 1)));
    }

    #[test]
    fn of_a_word_that_both_store_to_each_has_its_bytes() {
        let mut side = Side::new();
        side.stores(0, 0x11, Some(1));
        side.hears(1, 0, 0, 0xaa00);
        assert_eq!(side.shows(0), (0xaa11, 0xaa11));
        side.own[0].store(0xaa22, Ordering::Relaxed);
        side.hears(2, 1, 0, 0xbb11);
        assert_eq!(side.shows(0), (0xbb22, 0xbb11), "0x22 has yet to leave");
    }

    #[test]
    fn bytes_that_were_asked_for_do_not_undo_news_that_came_behind_them() {
        let mut side = Side::new();
        side.stores(3, 1, Some(1));
        side.known.ask(2..4);
        side.hears(1, 1, 3, 5);
        side.hears(2, 1, 3, 6);
        side.known.fetched(3, 4, 2, &side.own[3]);
        assert_eq!(side.shows(3), (4, 4), "asked for after both");
        side.hears(3, 1, 3, 6);
        side.known.fetched(3, 5, 1, &side.own[3]);
        assert_eq!(side.shows(3), (6, 6), "these are from before the second");
        side.known.ask(0..0);
        side.hears(4, 1, 3, 7);
        assert!(side.known.asked.1.is_empty());
    }

    #[test]
    fn an_owner_that_says_nothing_is_noticed() {
        let mut side = Side::new();
        side.known.fly(vec![0..1; PLACES - FLIGHT]);
        side.known.leave(1);
        assert!(!side.known.is_deceived());
        side.stores(1, 1, Some(2));
        assert!(side.known.is_deceived());
        side.hears(1, 2, 2, 0);
        assert_eq!((side.known.is_deceived(), side.known.places), (false, 0));
        (0..PLACES / FLIGHT).for_each(|frame| side.stores(1, frame as u64, Some(3)));
        assert!(side.known.is_deceived(), "of frames with little in them fewer are kept");
    }

    #[test]
    fn news_of_what_is_not_there_are_refused() {
        for (at, size, bytes) in
            [(32, 8, 8), (24, 16, 16), (4, 8, 8), (0, 4, 4), (0, 0, 0), (0, 8, 16), (0, 16, 8), (u64::MAX - 7, 8, 8)]
        {
            let mut side = Side::new();
            let changed = Changed { number: 1, after: 0, pieces: vec![(at, size)], bytes: vec![1; bytes] };
            assert!(!side.known.show(&changed, |word| &side.own[word]), "{at} {size} {bytes}");
        }
    }
}
