//! When records go out, and which polls look, over a wire that only counts.

#![allow(unsafe_code)] // the wire's transfers, which nobody calls

use super::record::{HEAD, Kind};
use super::wire::{Area, Counter, Done, GRACE, Kept, Lost, Readable, Sink, Wire, Writable};
use super::{Far, ONE_IN, WARM};
use crate::sci::{Effort, SegmentId};
use crate::sync::{AtomicU32, Ordering};
use parking_lot::Mutex;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

#[derive(Default)]
struct Counts {
    looks: AtomicU32,
    /// Peers that frames went to, and the bytes of their records.
    frames: Mutex<Vec<(u32, usize)>>,
}

struct Counting(Arc<Counts>);

impl Wire for Counting {
    fn name(&self) -> String {
        "counting".into()
    }
    fn address(&self) -> Vec<u8> {
        Vec::new()
    }
    fn protect(&self) -> bool {
        false
    }
    fn begins_to_leave(&self) -> bool {
        true
    }
    fn set_peers(&self, _: Vec<Vec<u8>>) {}
    unsafe fn set_area(&self, _: Area, _: *mut u8, _: usize) -> Result<(), String> {
        Ok(())
    }
    fn frame_max(&self) -> usize {
        1 << 16
    }
    fn headroom(&self) -> usize {
        0
    }
    fn post(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        self.0.frames.lock().push((peer, frame.len()));
        Ok(true)
    }
    fn post_before_write(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        self.post(peer, frame)
    }
    unsafe fn write(&self, _: u32, _: u64, _: Readable, _: Kept, _: Done) -> Result<bool, Lost> {
        unreachable!("no transfers here")
    }
    unsafe fn read(&self, _: u32, _: u64, _: Writable, _: Counter) -> Result<bool, Lost> {
        unreachable!("no transfers here")
    }
    fn progress(&self, _: &dyn Sink, _: bool) -> bool {
        self.0.looks.fetch_add(1, Ordering::Relaxed); // Relaxed: one thread
        false
    }
    fn is_busy(&self) -> bool {
        false
    }
    fn leave(&self, _: &dyn Sink, _: Duration) {}
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
    fn grace(&self) -> Duration {
        GRACE
    }
    fn heartbeat(&self) -> Option<Duration> {
        None
    }
    fn descriptor(&self) -> Option<RawFd> {
        None
    }
    fn watch_always(&self) {}
}

/// A node of four, without a thread.
fn far() -> (&'static Far, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    (Far::new(4, Box::new(Counting(counts.clone())), [SegmentId(1), SegmentId(2)]), counts)
}

fn store(far: &Far, peer: u32) {
    far.record(peer, SegmentId(1), 0, Kind::Bytes, &[b"x"]);
    far.flush(peer);
}

const ONE: usize = HEAD + 1;

#[test]
fn of_polls_that_have_found_something_one_in_eight_looks() {
    let (far, counts) = far();
    let looks = || counts.looks.swap(0, Ordering::Relaxed); // Relaxed: one thread
    store(far, 1); // an answer is expected now
    assert!(far.is_warm());
    (0..5 * ONE_IN).for_each(|_| _ = far.progress(Effort::Found(1)));
    assert_eq!(looks(), 5);
    (0..5).for_each(|_| _ = far.progress(Effort::Found(ONE_IN)));
    assert_eq!(looks(), 5, "each counts for eight");
    (0..10).for_each(|_| _ = far.progress(Effort::Glance));
    assert_eq!(looks(), 10, "all that have found nothing");
    (0..WARM).for_each(|_| _ = far.progress(Effort::Glance));
    looks();
    (0..3).for_each(|_| _ = far.progress(Effort::Thorough));
    assert_eq!(looks(), 3, "although the network is quiet");
}

#[test]
fn what_a_poll_stores_for_a_peer_goes_out_once_at_its_end() {
    let (far, counts) = far();
    let frames = || std::mem::take(&mut *counts.frames.lock());
    assert!(far.hold());
    for peer in [1, 2, 1] {
        store(far, peer);
    }
    assert!(!far.hold(), "a poll in a poll");
    assert_eq!(frames(), []);
    std::thread::scope(|scope| _ = scope.spawn(|| store(far, 3)));
    assert_eq!(frames(), [(3, ONE)], "another thread's goes at once");
    far.settle();
    assert_eq!(frames(), [(1, 2 * ONE), (2, ONE)], "somebody waits for it");
    store(far, 2);
    assert_eq!(frames(), [], "the poll goes on");
    far.release();
    assert_eq!(frames(), [(2, ONE)]);
    store(far, 1);
    assert_eq!(frames(), [(1, ONE)], "there is no poll");
}
