//! What a link does to the frames that go over it in one direction: a state machine without clock and without sockets.
//! Frames and times go in, frames come out. All decisions come from the seed, one frame after the other, so that the
//! same frames at the same times have the same fate in each run.

use fastrand::Rng;
use std::collections::BTreeMap;
use std::time::Duration;

/// A moment, as time since the relay was started.
pub type Moment = Duration;

/// When a link is dead.
#[derive(Clone, Debug, PartialEq)]
pub enum Cut {
    /// For this long, at random moments that are this far apart on average.
    Random { length: Duration, every: Duration },
    /// For this long, once, so long after the start.
    Once { length: Duration, at: Moment },
}

/// The faults of a link. The default has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    pub delay: Duration,
    /// At most so much more delay, evenly. It does not change the order of frames.
    pub jitter: Duration,
    /// The part of the frames that is lost; the others below are such parts, too.
    pub loss: f64,
    /// Comes twice.
    pub duplicate: f64,
    /// Is held back, so that later frames overtake it.
    pub reorder: f64,
    /// Has one bit that is wrong, behind the head of the Ethernet frame.
    pub corrupt: f64,
    /// Bits in a second; none: no limit.
    pub rate: Option<u64>,
    pub cuts: Vec<Cut>,
}

/// How much longer a reordered frame is under way, if the delay is shorter.
const HELD_BACK: Duration = Duration::from_millis(1);
/// What the queue before a link of limited rate may hold. Frames that come when it is full are dropped.
const QUEUE_BYTES: f64 = 256.0 * 1024.0;
/// Head of an Ethernet frame. The relay works by it, so it is not corrupted.
const HEAD: usize = 14;

/// What has happened to the frames so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub offered: u64,
    /// Frames that came out, duplicates included.
    pub passed: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub reordered: u64,
    pub corrupted: u64,
    /// Offered while the link was dead.
    pub cut: u64,
    /// Offered while the queue of a link of limited rate was full.
    pub overflowed: u64,
}

/// One direction of a link.
pub struct Link {
    faults: Faults,
    random: Rng,
    outages: Outages,
    /// Frames under way, by the moment when they come out, then by number.
    under_way: BTreeMap<(Moment, u64), Vec<u8>>,
    number: u64,
    /// When the last frame comes out that was not reordered.
    last: Moment,
    /// When the last bit of the frames so far leaves the sender.
    busy_until: Moment,
    pub counts: Counts,
}

impl Link {
    /// Links of the two directions between two hosts have seeds of their own, but one `cut_seed`: they are dead at the
    /// same time.
    pub fn new(faults: Faults, seed: u64, cut_seed: u64) -> Link {
        Link {
            outages: Outages::new(&faults.cuts, cut_seed),
            random: Rng::with_seed(seed),
            faults,
            under_way: BTreeMap::new(),
            number: 0,
            last: Moment::ZERO,
            busy_until: Moment::ZERO,
            counts: Counts::default(),
        }
    }

    /// A frame is sent over the link. `dead`: somebody has cut the link.
    pub fn offer(&mut self, now: Moment, frame: &[u8], dead: bool) {
        self.counts.offered += 1;
        // Every frame takes the same numbers from the generator, whatever becomes of it. So what happens to a frame
        // does not depend on the times of those before it.
        let mut strikes = |part: f64| self.random.f64() < part;
        let (lost, twice) = (strikes(self.faults.loss), strikes(self.faults.duplicate));
        let (late, wrong) = (strikes(self.faults.reorder), strikes(self.faults.corrupt));
        let jitter = self.faults.jitter.mul_f64(self.random.f64());
        let bit = self.random.u64(..);
        if dead || self.outages.dead(now) {
            self.counts.cut += 1;
            return;
        }
        if lost {
            self.counts.lost += 1;
            return;
        }
        let Some(sent) = self.send(now, frame.len()) else {
            self.counts.overflowed += 1;
            return;
        };
        let mut frame = frame.to_vec();
        if wrong && frame.len() > HEAD {
            let bit = bit % (8 * (frame.len() - HEAD) as u64);
            frame[HEAD + bit as usize / 8] ^= 1 << (bit % 8);
            self.counts.corrupted += 1;
        }
        let mut due = sent + self.faults.delay + jitter;
        if late {
            due += HELD_BACK.max(self.faults.delay);
            self.counts.reordered += 1;
        } else {
            due = due.max(self.last);
            self.last = due;
        }
        if twice {
            self.counts.duplicated += 1;
            self.enqueue(due, frame.clone());
        }
        self.enqueue(due, frame);
    }

    /// When the last bit of a frame leaves the sender. `None` if the queue has no room for it.
    fn send(&mut self, now: Moment, length: usize) -> Option<Moment> {
        let Some(rate) = self.faults.rate else { return Some(now) };
        let bytes_per_second = rate as f64 / 8.0;
        let waiting = self.busy_until.saturating_sub(now).as_secs_f64() * bytes_per_second;
        if waiting + length as f64 > QUEUE_BYTES {
            return None;
        }
        self.busy_until = self.busy_until.max(now) + Duration::from_secs_f64(length as f64 / bytes_per_second);
        Some(self.busy_until)
    }

    fn enqueue(&mut self, due: Moment, frame: Vec<u8>) {
        self.under_way.insert((due, self.number), frame);
        self.number += 1;
    }

    /// When the next frame comes out.
    pub fn next(&self) -> Option<Moment> {
        self.under_way.keys().next().map(|(due, _)| *due)
    }

    /// The next frame, if its moment has come.
    pub fn take(&mut self, now: Moment) -> Option<Vec<u8>> {
        let first = self.under_way.first_entry().filter(|first| first.key().0 <= now)?;
        self.counts.passed += 1;
        Some(first.remove())
    }
}

/// When a link is dead by itself.
struct Outages {
    once: Vec<(Moment, Moment)>,
    random: Vec<Recurring>,
}

/// One rule of random cuts, and the cut that comes next or is.
struct Recurring {
    length: Duration,
    every: Duration,
    random: Rng,
    next: (Moment, Moment),
}

impl Recurring {
    /// The pause before a cut is at least half the usual one, and at most three halves.
    fn advance(&mut self) {
        let pause = self.every.mul_f64(0.5 + self.random.f64());
        let start = self.next.1 + pause;
        self.next = (start, start + self.length);
    }
}

impl Outages {
    fn new(cuts: &[Cut], seed: u64) -> Outages {
        let (mut once, mut random) = (Vec::new(), Vec::new());
        for (number, cut) in cuts.iter().enumerate() {
            match *cut {
                Cut::Once { length, at } => once.push((at, at + length)),
                Cut::Random { length, every } => {
                    let next = (Moment::ZERO, Moment::ZERO);
                    let generator = Rng::with_seed(seed.wrapping_add(number as u64));
                    let mut rule = Recurring { length, every, random: generator, next };
                    rule.advance();
                    random.push(rule);
                }
            }
        }
        Outages { once, random }
    }

    /// Whether the link is dead. Moments never go back.
    fn dead(&mut self, now: Moment) -> bool {
        for rule in &mut self.random {
            while rule.next.1 <= now {
                rule.advance();
            }
        }
        let within = |(start, end): &(Moment, Moment)| (*start..*end).contains(&now);
        self.once.iter().any(within) || self.random.iter().any(|rule| within(&rule.next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn frame(number: u32) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[20..24].copy_from_slice(&number.to_le_bytes());
        frame
    }

    fn number(frame: &[u8]) -> u32 {
        u32::from_le_bytes(frame[20..24].try_into().expect("four bytes"))
    }

    /// Offers `count` frames, one in each `gap`, and returns the moments and frames that come out.
    fn pass(link: &mut Link, count: u32, gap: Duration) -> Vec<(Moment, Vec<u8>)> {
        let mut out = Vec::new();
        let mut drain = |link: &mut Link, until: Moment| {
            while let Some(due) = link.next().filter(|due| *due <= until) {
                out.push((due, link.take(due).expect("it is due")));
                assert!(out.len() < 10 * count as usize, "frames multiply");
            }
        };
        for n in 0..count {
            let now = gap * n;
            drain(link, now);
            link.offer(now, &frame(n), false);
        }
        drain(link, Moment::MAX);
        out
    }

    fn link(faults: Faults) -> Link {
        Link::new(faults, 7, 9)
    }

    #[test]
    fn without_faults_everything_passes_at_once_and_in_order() {
        let mut link = link(Faults::default());
        let out = pass(&mut link, 100, ms(1));
        let expected: Vec<_> = (0..100).map(|n| (ms(1) * n, frame(n))).collect();
        assert_eq!(out, expected);
        assert_eq!(link.counts, Counts { offered: 100, passed: 100, ..Counts::default() });
    }

    #[test]
    fn nothing_comes_before_its_moment() {
        let mut link = link(Faults { delay: ms(5), ..Faults::default() });
        link.offer(ms(1), &frame(0), false);
        assert_eq!((link.take(ms(5)), link.next()), (None, Some(ms(6))));
        assert_eq!(link.take(ms(6)), Some(frame(0)));
        assert_eq!(link.next(), None);
    }

    #[test]
    fn jitter_delays_and_keeps_the_order() {
        let mut link = link(Faults { delay: ms(5), jitter: ms(20), ..Faults::default() });
        let out = pass(&mut link, 500, ms(1));
        assert_eq!(out.iter().map(|(_, frame)| number(frame)).collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
        let under_way: Vec<_> = out.iter().map(|(at, frame)| *at - ms(1) * number(frame)).collect();
        assert!(under_way.iter().all(|time| (ms(5)..=ms(25)).contains(time)));
        assert!(under_way.iter().any(|time| *time > ms(15)));
    }

    #[test]
    fn parts_are_as_wanted() {
        let faults = Faults { loss: 0.1, duplicate: 0.05, reorder: 0.02, corrupt: 0.01, ..Faults::default() };
        let mut link = link(faults);
        let out = pass(&mut link, 20_000, Duration::from_micros(10));
        let counts = link.counts;
        assert!((1800..2200).contains(&counts.lost), "{counts:?}");
        assert!((800..1000).contains(&counts.duplicated), "{counts:?}");
        assert!((300..420).contains(&counts.reordered), "{counts:?}");
        assert!((140..220).contains(&counts.corrupted), "{counts:?}");
        assert_eq!(counts.passed, counts.offered - counts.lost + counts.duplicated);
        assert_eq!(out.len() as u64, counts.passed);
    }

    #[test]
    fn a_reordered_frame_is_overtaken() {
        let mut link = link(Faults { delay: ms(2), reorder: 0.1, ..Faults::default() });
        let out = pass(&mut link, 1000, Duration::from_micros(100));
        let numbers: Vec<u32> = out.iter().map(|(_, frame)| number(frame)).collect();
        let overtaken = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!(overtaken > 20, "{overtaken}");
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn corruption_is_one_bit_behind_the_head() {
        let mut link = link(Faults { corrupt: 1.0, ..Faults::default() });
        for n in 0..1000 {
            link.offer(ms(n), &[0; 60], false);
            let out = link.take(ms(n)).expect("there is no delay");
            assert_eq!(out.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
            assert!(out[..HEAD].iter().all(|byte| *byte == 0));
        }
        // A frame that is all head has nothing to corrupt.
        link.offer(ms(1000), &[0; HEAD], false);
        assert_eq!(link.take(ms(1000)), Some(vec![0; HEAD]));
    }

    #[test]
    fn a_limited_rate_spaces_frames_and_overflows() {
        // 60 bytes at 48 kbit/s take 10 ms.
        let mut link = link(Faults { rate: Some(48_000), ..Faults::default() });
        (0..4).for_each(|n| link.offer(ms(0), &frame(n), false));
        let dues: Vec<_> = std::iter::from_fn(|| {
            let due = link.next()?;
            link.take(due).map(|_| due)
        })
        .collect();
        assert_eq!(dues, [ms(10), ms(20), ms(30), ms(40)]);
        let room = (QUEUE_BYTES / 60.0) as u64;
        (0..room + 100).for_each(|_| link.offer(ms(40), &frame(0), false));
        assert_eq!(link.counts.overflowed, 100);
    }

    #[test]
    fn a_cut_at_a_moment_drops_what_is_offered_meanwhile() {
        let mut link = link(Faults { cuts: vec![Cut::Once { length: ms(20), at: ms(30) }], ..Faults::default() });
        let numbers: Vec<_> = pass(&mut link, 100, ms(1)).iter().map(|(_, frame)| number(frame)).collect();
        assert_eq!(numbers, (0..30).chain(50..100).collect::<Vec<_>>());
        assert_eq!(link.counts.cut, 20);
    }

    #[test]
    fn random_cuts_come_as_often_as_wanted_and_in_both_directions_at_once() {
        let faults =
            Faults { cuts: vec![Cut::Random { length: ms(100), every: ms(1900) }], loss: 0.01, ..Faults::default() };
        let (mut there, mut back) = (Link::new(faults.clone(), 1, 5), Link::new(faults, 2, 5));
        let mut cuts = 0;
        for n in 0..200_000 {
            let before = (there.counts.cut, back.counts.cut);
            there.offer(ms(n), &frame(0), false);
            back.offer(ms(n), &frame(0), false);
            assert_eq!(there.counts.cut - before.0, back.counts.cut - before.1);
            cuts = there.counts.cut;
        }
        // 200 s with a cut of 0.1 s in every 2 s.
        assert!((8_000..12_000).contains(&cuts), "{cuts}");
    }

    #[test]
    fn a_link_that_somebody_cuts_is_dead() {
        let mut link = link(Faults::default());
        link.offer(ms(0), &frame(0), true);
        assert_eq!((link.next(), link.counts.cut), (None, 1));
    }

    #[test]
    fn a_seed_makes_one_fate() {
        let faults = Faults {
            delay: ms(1),
            jitter: ms(1),
            loss: 0.1,
            duplicate: 0.1,
            reorder: 0.1,
            corrupt: 0.1,
            rate: Some(100_000_000),
            cuts: vec![Cut::Random { length: ms(5), every: ms(50) }],
        };
        let run = |seed| pass(&mut Link::new(faults.clone(), seed, seed), 2000, Duration::from_micros(100));
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }

    #[test]
    fn earlier_outages_do_not_change_the_fate_of_later_frames() {
        let faults = Faults { loss: 0.3, ..Faults::default() };
        let (mut whole, mut cut) = (link(faults.clone()), link(faults));
        for n in 0..50 {
            whole.offer(ms(n), &frame(0), false);
            cut.offer(ms(n), &frame(0), true);
        }
        let (a, b) = (whole.counts.lost, cut.counts.lost);
        for n in 50..500 {
            whole.offer(ms(n), &frame(0), false);
            cut.offer(ms(n), &frame(0), false);
        }
        assert_eq!(whole.counts.lost - a, cut.counts.lost - b);
    }
}
