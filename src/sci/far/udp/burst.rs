//! How many packets go at a time, so that they fill calls of the system: each call takes 4 µs beside 2 for each 16 KiB (loopback, EPYC VM,
//! 2026-11). And memory of large packets, from one flood to the next.
//!
//! Must not know: packets, windows. Times are in µs.

use super::head::HEAD;

/// Bytes of a call: with the heads of IPv6 and of an Ethernet frame as many as the system passes on in one piece, which is less than 64 KiB.
pub const TOGETHER: usize = 65_472;
/// In a flood, packets that fill no call wait for others for so long at most. Behind others that are under way that is no delay. A guess.
const LINGER: u64 = 30;
/// The last piece of a Long waits so long for what announces it, which comes with the next Long. A guess.
const FOLLOWS: u64 = 100;
/// As many packets wait for each other as a way takes in so many µs, at most. A guess.
const AT_ONCE: u64 = 250;
/// Packets of so many bytes of their own, or more, leave their memory to others, as long as so many have. Else the allocator gives back to
/// the system what a flood has left, and the next one finds none of its pages: that took half of the time of puts of 64 KiB that are copied
/// (EPYC VM, 2026-11).
const LARGE: usize = 4 << 10;
const SPARE: usize = 64;

/// When new packets go.
#[cfg_attr(test, derive(Clone))]
pub struct Burst {
    /// Full packets of a call.
    together: u32,
    /// There was no room for what waits.
    is_full: bool,
    /// New packets that may go now, and until when those wait that may not; 0: none does.
    allowed: u32,
    until: u64,
}

impl Burst {
    /// Of packets of `most` bytes.
    pub fn of(most: usize) -> Burst {
        Burst { together: (TOGETHER / (most + HEAD)) as u32, is_full: false, allowed: u32::MAX, until: 0 }
    }

    /// Full packets have so many bytes from now on.
    pub fn fill(&mut self, most: usize) {
        self.together = Burst::of(most).together;
    }

    /// Full packets of a call.
    pub fn together(&self) -> u32 {
        self.together
    }

    /// New packets may go.
    pub fn is_open(&self) -> bool {
        self.allowed > 0
    }

    /// All new packets may go.
    pub fn open(&mut self) {
        self.allowed = u32::MAX;
    }

    /// `waiting` packets would go now, of a flood. Those that fill no call wait for others, as does the last one if it `grows`: something
    /// follows that goes with it.
    pub fn begin(&mut self, now: u64, waiting: u32, grows: bool) {
        let growing = u32::from(grows).min(waiting);
        let rest = growing + (waiting - growing) % self.together.max(1);
        if rest == 0 || self.until != 0 && now >= self.until {
            self.until = 0;
            return;
        }
        self.allowed = waiting - rest;
        if self.allowed > 0 || self.until == 0 {
            self.until = now + if grows { FOLLOWS } else { LINGER };
        }
    }

    /// So many packets may go, and others wait until these have left this host.
    pub fn hold(&mut self, now: u64, room: u32) {
        (self.allowed, self.until) = (room, now + AT_ONCE);
    }

    /// When those go that wait for others.
    pub fn until(&self) -> Option<u64> {
        (self.until != 0).then_some(self.until)
    }

    /// A packet goes.
    pub fn goes(&mut self, is_new: bool) {
        self.is_full = false;
        self.allowed -= u32::from(is_new).min(self.allowed);
    }

    /// No packet goes now; `waits`: though some wait.
    pub fn ends(&mut self, waits: bool) {
        self.is_full = waits;
    }

    /// There was no room, and for `room` of `waiting` packets there is some now, in a window of `window` packets that take `trip` there and
    /// back: too little, since those under way will make more. On a slow way packets go one by one, as acknowledgements come: many at once
    /// would find its queues full, and calls take little of the time.
    pub fn lacks(&self, room: u32, window: u32, trip: u64, waiting: u32) -> bool {
        let at_once = (u64::from(window) * AT_ONCE / trip.max(1)).min(u64::from(window / 4)) as u32;
        self.is_full && room < self.together.min(at_once).min(waiting)
    }
}

/// Memory for large packets.
#[derive(Default)]
#[cfg_attr(test, derive(Clone))]
pub struct Spare(Vec<Vec<u8>>);

impl Spare {
    /// Room for `len` bytes; `full`: a full packet has so many.
    pub fn take(&mut self, len: usize, full: usize) -> Vec<u8> {
        match len {
            ..LARGE => Vec::with_capacity(len),
            _ => self.0.pop().unwrap_or_else(|| Vec::with_capacity(len.max(full))),
        }
    }

    /// A packet has left these.
    pub fn give(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() >= LARGE && self.0.len() < SPARE {
            bytes.clear();
            self.0.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_fill_no_call_wait_for_others_but_not_for_long() {
        let mut burst = Burst::of(16_000);
        burst.begin(100, 6, false);
        let mut gone = 0;
        while burst.is_open() {
            burst.goes(true);
            gone += 1;
        }
        assert_eq!((gone, burst.until()), (4, Some(100 + LINGER)));
        burst.open();
        burst.begin(110, 2, false);
        assert_eq!((burst.is_open(), burst.until()), (false, Some(100 + LINGER)), "the same two");
        burst.open();
        burst.begin(100 + LINGER, 2, false);
        assert_eq!((burst.is_open(), burst.until()), (true, None));
        burst.begin(200, 8, false);
        assert_eq!(burst.until(), None, "two full calls");
        burst.begin(300, 8, true);
        assert_eq!((burst.allowed, burst.until()), (4, Some(300 + FOLLOWS)), "the last one grows");
    }

    #[test]
    fn who_was_out_of_room_waits_until_there_is_some_for_a_call_or_for_all() {
        let mut burst = Burst::of(16_000);
        assert!(!burst.lacks(1, 100, 0, 9));
        burst.ends(true);
        assert!(burst.lacks(3, 100, 0, 9) && !burst.lacks(4, 100, 0, 9), "a call");
        assert!(!burst.lacks(3, 100, 0, 3) && !burst.lacks(1, 7, 0, 9), "all, or a part of the window");
        assert!(burst.lacks(3, 100, 4 * AT_ONCE, 9) && !burst.lacks(1, 100, 100 * AT_ONCE, 9), "a slow way");
        burst.goes(true);
        assert!(!burst.lacks(1, 100, 0, 9));
    }

    #[test]
    fn memory_of_large_packets_is_used_again() {
        let mut spare = Spare::default();
        let large = spare.take(5000, 16_000);
        let at = large.as_ptr();
        spare.give(large);
        spare.give(vec![0; 100]);
        assert_eq!(spare.take(10, 16_000).capacity(), 10);
        let again = spare.take(16_000, 16_000);
        assert!(again.as_ptr() == at && again.is_empty() && spare.0.is_empty());
    }
}
