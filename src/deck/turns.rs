//! Whose turn it is: the places of accounts that have messages in a box, in a ring. The first one's next message is retrieved, then it is the
//! last one. A message of each in turn takes one load. With a
//! `VecDeque`, and a search for each sender's account, a message of one of four senders took 64 instead of 60 ns (2026-11, Xeon VM).
//!
//! Must not know: messages, accounts.

/// The ring.
#[derive(Default)]
pub(super) struct Turns {
    /// The place behind each place that is in the ring.
    next: Vec<u16>,
    /// The places whose turns come first and last; `None`: the ring is empty.
    ends: Option<(u16, u16)>,
}

impl Turns {
    /// No place is in the ring.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    /// The place whose turn it is.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<usize> {
        self.ends.map(|(first, _)| usize::from(first))
    }

    /// Adds a place that is not there, behind the others.
    #[inline(always)]
    pub(super) fn add(&mut self, place: usize) {
        if place >= self.next.len() {
            self.next.resize(place + 1, 0);
        }
        let this = place as u16; // boxes have fewer senders
        let first = match self.ends {
            None => this,
            Some((first, last)) => {
                self.next[usize::from(last)] = this;
                first
            }
        };
        self.next[place] = first;
        self.ends = Some((first, this));
    }

    /// The turn of the first is over; it is the last one now, or goes if it does not stay.
    #[inline(always)]
    pub(super) fn turn(&mut self, stays: bool) {
        let Some((first, last)) = self.ends else { return };
        if first == last {
            if !stays {
                self.ends = None;
            }
            return;
        }
        let second = self.next[usize::from(first)];
        if !stays {
            self.next[usize::from(last)] = second;
        }
        self.ends = Some((second, if stays { first } else { last }));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn each_has_its_turn_in_order(steps in prop::collection::vec((0usize..9, any::<bool>()), 0..300)) {
            let (mut turns, mut model) = (Turns::default(), VecDeque::new());
            for (place, stays) in steps {
                match model.contains(&place) {
                    false => {
                        turns.add(place);
                        model.push_back(place);
                    }
                    true => {
                        turns.turn(stays);
                        let first = model.pop_front().filter(|_| stays);
                        model.extend(first);
                    }
                }
                prop_assert_eq!(turns.first(), model.front().copied());
                prop_assert_eq!(turns.is_empty(), model.is_empty());
            }
            while let Some(place) = model.pop_front() {
                prop_assert_eq!(turns.first(), Some(place));
                turns.turn(false);
            }
            prop_assert_eq!(turns.first(), None);
        }
    }
}
