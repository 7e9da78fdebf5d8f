//! One direction of a connection: where its bytes go, and the ring that has the second stretch of them.
//!
//! Must not know: descriptors, the kernel's calls, who waits.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[cfg(not(loom))]
use crate::shared::Lock;
#[cfg(loom)]
use tests::Lock;

/// Bytes of a ring: a power of two. Less than what a core's cache holds, as every byte of it is written and read in turn.
#[cfg(not(loom))]
pub const RING: u64 = 256 << 10;
#[cfg(loom)]
const RING: u64 = 2;

/// `Way::switch_at` until the sender goes over to the ring.
pub const NEVER: u64 = u64::MAX;

/// One direction. `kernel_sent`, `switch_at`, `tail_end`, `tail` are the sender's, under `send_lock`; `kernel_read` and `head` the receiver's,
/// under `recv_lock`; who steps a way down for the other side holds both.
#[repr(C, align(128))]
pub struct Way {
    /// Bytes that were written to the ring.
    pub tail: AtomicU64,
    pub send_lock: Lock,
    /// The sender's processor, as it was lately.
    pub send_cpu: AtomicU32,
    /// `head` as the sender last saw it.
    pub head_seen: AtomicU64,
    /// Bytes that went through the kernel before the ring.
    pub kernel_sent: AtomicU64,
    /// How often a send found the ring full.
    pub full: AtomicU32,
    _pad: [u64; 10],
    /// Bytes that were read from the ring.
    pub head: AtomicU64,
    pub recv_lock: Lock,
    pub recv_cpu: AtomicU32,
    pub kernel_read: AtomicU64,
    _pad2: [u64; 13],
    /// How many bytes went through the kernel before the ring began.
    pub switch_at: AtomicU64,
    /// The sender has shut down: `tail` is the end.
    pub fin: AtomicU32,
    /// The ring ends at `tail_end`; the rest goes through the kernel. It is set behind `tail_end`.
    pub stepped: AtomicU32,
    pub tail_end: AtomicU64,
    /// Bytes that were taken out of the ring are not in the kernel yet; nothing may go there before them.
    pub pumping: AtomicU32,
}

/// Where the sender's next bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Kernel,
    Ring,
    /// Nowhere yet: what was in the ring is on its way to the kernel.
    Later,
}

impl Way {
    /// Bytes in the ring. Both words are the other side's or a sibling's, so nonsense is possible; no more than the ring holds is believed.
    #[cfg_attr(loom, allow(dead_code))] // the models do not ask
    pub fn unread(&self) -> u64 {
        let head = self.head.load(Ordering::Acquire);
        // ORDERING: Acquire ↔ Release of `tail` in `fill`: the bytes below it are there.
        self.tail.load(Ordering::Acquire).wrapping_sub(head).min(RING)
    }

    /// Whether the ring is over, and everything else comes through the kernel.
    pub fn is_over(&self) -> bool {
        // ORDERING: Acquire ↔ Release in `end_ring`: `tail_end` is there.
        self.stepped.load(Ordering::Acquire) != 0
            && self.head.load(Ordering::Acquire) == self.tail_end.load(Ordering::Relaxed)
    }

    /// Whether the ring was left.
    pub fn is_stepped(&self) -> bool {
        self.stepped.load(Ordering::Acquire) != 0
    }

    // --- the sender, under `send_lock` ---

    /// Where the next bytes go. A sender that finds that it was joined goes over to the ring.
    pub fn to(&self, is_joined: bool) -> To {
        if !is_joined {
            return To::Kernel;
        }
        self.switch();
        match self.is_stepped() {
            false => To::Ring,
            // ORDERING: Acquire ↔ Release of who pumped: its bytes are in the kernel.
            true if self.pumping.load(Ordering::Acquire) != 0 => To::Later,
            true => To::Kernel,
        }
    }

    /// From here on what is sent goes to the ring. Both sides have found each other.
    pub fn switch(&self) {
        if self.switch_at.load(Ordering::Relaxed) == NEVER {
            // ORDERING: Release ↔ Acquire in `kernel_left`.
            self.switch_at.store(self.kernel_sent.load(Ordering::Relaxed), Ordering::Release);
        }
    }

    /// Writes up to `wanted` bytes to the ring; returns how many fitted. `copy` copies the next so many to a place of it.
    pub fn fill(&self, wanted: u64, mut copy: impl FnMut(u64, u64)) -> u64 {
        let tail = self.tail.load(Ordering::Relaxed);
        let (mut done, mut head) = (0, self.head_seen.load(Ordering::Relaxed));
        // Again after each piece: the reader may have made room meanwhile.
        while done < wanted {
            let at = tail.wrapping_add(done);
            let room = |head| RING - at.wrapping_sub(head).min(RING);
            if room(head) < wanted - done {
                // ORDERING: Acquire ↔ Release in `drain`: the reader has copied what was below.
                head = self.head.load(Ordering::Acquire);
                self.head_seen.store(head, Ordering::Relaxed);
            }
            let count = room(head).min(wanted - done);
            if count == 0 {
                break;
            }
            pieces(at, count, &mut copy);
            done += count;
        }
        if done > 0 {
            // ORDERING: Release ↔ Acquire in `unread`, `drain`.
            self.tail.store(tail.wrapping_add(done), Ordering::Release);
        }
        done
    }

    // --- the receiver, under `recv_lock` ---

    /// How many bytes of the stretch before the ring are still to come through the kernel, of which this call has read `ahead`. `None`: none.
    pub fn kernel_left(&self, is_joined: bool, ahead: u64) -> Option<u64> {
        // ORDERING: Acquire ↔ Release in `switch`: nothing more goes through the kernel then, before the way is stepped down.
        let switch_at = if is_joined { self.switch_at.load(Ordering::Acquire) } else { NEVER };
        let left = switch_at.wrapping_sub(self.kernel_read.load(Ordering::Acquire).wrapping_add(ahead));
        (left != 0 && !self.is_over()).then_some(left)
    }

    /// So many of those have come.
    pub fn kernel_gave(&self, count: u64) {
        let read = self.kernel_read.load(Ordering::Relaxed).wrapping_add(count);
        self.kernel_read.store(read, Ordering::Release);
    }

    /// Takes up to `wanted` bytes out of the ring, or leaves them there (`stay`); returns how many there were. `copy` copies the next so many
    /// from a place of it.
    pub fn drain(&self, wanted: u64, stay: bool, mut copy: impl FnMut(u64, u64)) -> u64 {
        let head = self.head.load(Ordering::Relaxed);
        // ORDERING: Acquire ↔ Release in `fill`: the bytes below it are there.
        let count = self.tail.load(Ordering::Acquire).wrapping_sub(head).min(RING).min(wanted);
        pieces(head, count, &mut copy);
        if count > 0 && !stay {
            // ORDERING: Release ↔ Acquire in `fill`: the bytes were copied before it may write there.
            self.head.store(head.wrapping_add(count), Ordering::Release);
        }
        count
    }

    // --- both, under both locks ---

    /// Leaves the ring. What is unread is taken out by `copy`; it goes to the kernel before anything else does, and then `pumping` is 0 again.
    pub fn end_ring(&self, mut copy: impl FnMut(u64, u64)) {
        self.switch();
        let (head, tail) = (self.head.load(Ordering::Relaxed), self.tail.load(Ordering::Relaxed));
        pieces(head, tail.wrapping_sub(head).min(RING), &mut copy);
        self.head.store(tail, Ordering::Relaxed);
        self.tail_end.store(tail, Ordering::Relaxed);
        self.pumping.store(1, Ordering::Relaxed);
        // ORDERING: Release ↔ Acquire in `is_stepped`, `is_over`.
        self.stepped.store(1, Ordering::Release);
    }
}

// The places of `count` bytes from number `at` on: one piece, or two where the ring ends between.
fn pieces(at: u64, count: u64, copy: &mut impl FnMut(u64, u64)) {
    let place = at % RING;
    let first = count.min(RING - place);
    if first > 0 {
        copy(place, first);
    }
    if count > first {
        copy(0, count - first);
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::bell::tests::explore;
    use loom::cell::UnsafeCell;
    use loom::sync::{Arc, Mutex, MutexGuard};
    use loom::thread;
    use std::collections::VecDeque;

    /// Stands for the lock between processes.
    pub struct Lock(Mutex<()>);

    impl Lock {
        fn take(&self) -> MutexGuard<'_, ()> {
            self.0.lock().unwrap()
        }
    }

    /// A way, its ring, and the kernel's stream.
    struct World {
        way: Way,
        joined: AtomicU32,
        ring: [UnsafeCell<u8>; RING as usize],
        kernel: Mutex<VecDeque<u8>>,
    }

    // SAFETY: loom looks whether two threads use a cell at the same time.
    unsafe impl Sync for World {}

    fn world(is_joined: bool) -> Arc<World> {
        let word = || AtomicU64::new(0);
        let lock = || Lock(Mutex::new(()));
        let flag = || AtomicU32::new(0);
        let way = Way {
            tail: word(),
            send_lock: lock(),
            send_cpu: flag(),
            head_seen: word(),
            kernel_sent: word(),
            full: flag(),
            _pad: [0; 10],
            head: word(),
            recv_lock: lock(),
            recv_cpu: flag(),
            kernel_read: word(),
            _pad2: [0; 13],
            switch_at: AtomicU64::new(if is_joined { 0 } else { NEVER }),
            fin: flag(),
            stepped: flag(),
            tail_end: word(),
            pumping: flag(),
        };
        let joined = AtomicU32::new(is_joined.into());
        let ring = std::array::from_fn(|_| UnsafeCell::new(0));
        Arc::new(World { way, joined, ring, kernel: Mutex::new(VecDeque::new()) })
    }

    impl World {
        fn is_joined(&self) -> bool {
            self.joined.load(Ordering::Acquire) != 0
        }

        /// What `transfer::put` does with one attempt.
        fn put(&self, bytes: &[u8]) -> usize {
            let _held = self.way.send_lock.take();
            let is_joined = self.is_joined();
            match self.way.to(is_joined) {
                To::Later => 0,
                To::Kernel => {
                    self.kernel.lock().unwrap().extend(bytes);
                    if !is_joined {
                        self.way.kernel_sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    }
                    bytes.len()
                }
                To::Ring => {
                    let mut next = bytes.iter();
                    let count = self.way.fill(bytes.len() as u64, |place, count| {
                        for at in place..place + count {
                            // SAFETY: the cell is there, and loom looks whether somebody reads it.
                            self.ring[at as usize].with_mut(|cell| unsafe { *cell = *next.next().unwrap() });
                        }
                    });
                    count as usize
                }
            }
        }

        fn send(&self, bytes: &[u8]) {
            let mut done = 0;
            while done < bytes.len() {
                let count = self.put(&bytes[done..]);
                if count == 0 {
                    thread::yield_now();
                }
                done += count;
            }
        }

        /// What `transfer::get` does with one attempt to get a byte, or from the ring up to `most`.
        fn get(&self, most: u64) -> Vec<u8> {
            let _held = self.way.recv_lock.take();
            loop {
                let is_joined = self.is_joined();
                if let Some(left) = self.way.kernel_left(is_joined, 0) {
                    if let Some(byte) = self.kernel.lock().unwrap().pop_front() {
                        self.way.kernel_gave(1);
                        return vec![byte];
                    }
                    let is_joined = self.is_joined();
                    if is_joined && self.way.kernel_left(is_joined, 0) != Some(left) {
                        continue;
                    }
                    return Vec::new();
                }
                let mut bytes = Vec::new();
                let take = |place: u64, count| {
                    for at in place..place + count {
                        // SAFETY: the cell is there, and loom looks whether somebody writes it.
                        bytes.push(self.ring[at as usize].with(|cell| unsafe { *cell }));
                    }
                };
                if self.way.drain(most, false, take) == 0 && self.way.is_over() {
                    bytes.extend(self.kernel.lock().unwrap().pop_front());
                }
                return bytes;
            }
        }

        fn expect(&self, bytes: &[u8], most: u64) {
            let mut all = Vec::new();
            while all.len() < bytes.len() {
                let got = self.get(most);
                if got.is_empty() {
                    thread::yield_now();
                }
                all.extend(got);
            }
            assert_eq!(all, bytes);
        }

        /// All that is there, when nobody else does anything.
        fn rest(&self) -> Vec<u8> {
            std::iter::from_fn(|| Some(self.get(1)).filter(|bytes| !bytes.is_empty())).flatten().collect()
        }

        /// What `step::give` and its pump do.
        fn step_down(&self) {
            let mut bytes = Vec::new();
            {
                let _sending = self.way.send_lock.take();
                let _receiving = self.way.recv_lock.take();
                self.way.end_ring(|place, count| {
                    for at in place..place + count {
                        // SAFETY: both locks are held.
                        bytes.push(self.ring[at as usize].with(|cell| unsafe { *cell }));
                    }
                });
            }
            self.kernel.lock().unwrap().extend(bytes);
            self.way.pumping.store(0, Ordering::Release);
        }
    }

    #[test]
    fn loom_bytes_come_out_of_a_ring_as_they_went_in() {
        explore(|| {
            let world = world(true);
            let sender = Arc::clone(&world);
            // The second piece of bytes goes over the end of the ring.
            let sending = thread::spawn(move || [&[1][..], &[2, 3]].iter().for_each(|bytes| sender.send(bytes)));
            world.expect(&[1, 2, 3], 2);
            sending.join().unwrap();
        });
    }

    #[test]
    fn loom_a_stream_that_goes_over_to_the_ring_stays_in_order() {
        explore(|| {
            let world = world(false);
            let sender = Arc::clone(&world);
            let sending = thread::spawn(move || (1..=3).for_each(|byte| sender.send(&[byte])));
            world.joined.store(1, Ordering::Release);
            world.expect(&[1, 2, 3], 1);
            sending.join().unwrap();
        });
    }

    /// Nobody waits here, since three threads that wait for each other have too many orders: what was not done while they ran is done then.
    #[test]
    fn loom_a_stream_that_leaves_the_ring_stays_in_order() {
        const BYTES: [u8; 3] = [1, 2, 3];
        explore(|| {
            let world = world(true);
            let (sender, other) = (Arc::clone(&world), Arc::clone(&world));
            let sending = thread::spawn(move || BYTES.iter().take_while(|byte| sender.put(&[**byte]) == 1).count());
            let stepping = thread::spawn(move || other.step_down());
            let mut got: Vec<u8> = (0..2).flat_map(|_| world.get(1)).collect();
            let sent = sending.join().unwrap();
            stepping.join().unwrap();
            got.extend(world.rest());
            world.send(&BYTES[sent..]);
            got.extend(world.rest());
            assert_eq!(got, BYTES);
        });
    }
}
