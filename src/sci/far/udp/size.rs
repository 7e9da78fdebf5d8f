//! How long datagrams may be, as RFC 8899 finds it: questions (PING) of several sizes go, which nobody on the way may cut, and the longest one
//! that was answered says it. If long ones are lost again and again, the way has changed, and the search begins anew.
//!
//! Must not know: packets. Times are in µs, sizes in bytes of datagrams.

use super::burst::TOGETHER;

/// What is taken to go everywhere: IPv6's least, 1,280 bytes, without the heads of IPv4 and UDP. Over an IPv6 way of no more than that the
/// system cuts it.
pub const LEAST: usize = 1252;
/// The most bytes of a datagram, where the path takes them in one piece: a fourth of what the system takes in a call.
pub const MOST: usize = TOGETHER / 4;
/// What is tried: Ethernet, then what datacentres and the loopback take.
const SIZES: [usize; 4] = [1472, 4000, 8972, MOST];
/// Searches in a row, and the time between them; afterwards they are rare.
const SEARCHES: u32 = 3;
const SOON: u64 = 200_000;
const RARE: u64 = 60_000_000;

/// The size of datagrams on one way.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub struct Size {
    now: usize,
    /// What the first link takes.
    most: usize,
    /// Of this search, what was asked last.
    asked: usize,
    searches: u32,
    /// When the next search begins.
    at: u64,
}

impl Size {
    /// Of a way whose first link takes `most`.
    pub fn new(most: usize) -> Size {
        Size { now: LEAST.min(most), most, asked: most, searches: 0, at: 0 }
    }

    /// How long datagrams may be now.
    pub fn now(&self) -> usize {
        self.now
    }

    /// When [`Size::next`] has something.
    pub fn timer(&self) -> Option<u64> {
        match self.now < self.most {
            true if self.asked < self.most => Some(0),
            true => Some(self.at),
            false => None,
        }
    }

    /// The size of the question that goes now, if any.
    pub fn next(&mut self, now: u64) -> Option<usize> {
        if self.timer().is_none_or(|at| now < at) {
            return None;
        }
        if self.asked >= self.most {
            self.searches += 1;
            (self.asked, self.at) = (self.now, now + if self.searches < SEARCHES { SOON } else { RARE });
        }
        let next = SIZES.into_iter().map(|size| size.min(self.most)).find(|size| *size > self.asked);
        self.asked = next.unwrap_or(self.most);
        next
    }

    /// A question of this size was answered.
    pub fn answered(&mut self, size: usize) {
        self.now = self.now.max(size.min(self.most));
    }

    /// A datagram of this size is lost again and again.
    pub fn lost(&mut self, now: u64, size: usize) {
        if size > LEAST && self.now > LEAST {
            *self = Size { at: now + RARE, searches: SEARCHES, ..Size::new(self.most) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All questions that go at once.
    fn questions(size: &mut Size, now: u64) -> Vec<usize> {
        std::iter::from_fn(|| size.next(now)).collect()
    }

    #[test]
    fn the_longest_question_that_is_answered_says_the_size() {
        let mut size = Size::new(MOST);
        assert_eq!((size.now(), questions(&mut size, 5)), (LEAST, SIZES.to_vec()));
        assert_eq!((size.timer(), size.next(6)), (Some(5 + SOON), None));
        size.answered(4000);
        size.answered(1472);
        assert_eq!((size.now(), questions(&mut size, 5 + SOON)), (4000, vec![8972, MOST]));
        size.answered(1 << 20);
        assert_eq!((size.now(), size.timer(), size.next(u64::MAX)), (MOST, None, None));
    }

    #[test]
    fn what_nobody_answers_is_asked_seldom() {
        let mut size = Size::new(9000);
        let mut times = Vec::new();
        for _ in 0..5 {
            let at = size.timer().unwrap();
            assert_eq!(questions(&mut size, at), [1472, 4000, 8972, 9000]);
            times.push(at);
        }
        assert_eq!(times, [0, SOON, 2 * SOON, 2 * SOON + RARE, 2 * SOON + 2 * RARE]);
    }

    #[test]
    fn a_way_that_takes_less_than_before_is_searched_anew_after_a_time() {
        let mut size = Size::new(4000);
        questions(&mut size, 0);
        size.answered(4000);
        size.lost(7, LEAST);
        assert_eq!(size.now(), 4000, "a short one says nothing");
        size.lost(7, 4000);
        assert_eq!((size.now(), size.timer()), (LEAST, Some(7 + RARE)));
        assert_eq!(questions(&mut size, 7 + RARE), [1472, 4000]);
        let mut small = Size::new(1000);
        assert_eq!((small.now(), small.timer(), small.next(9)), (1000, None, None));
    }
}
