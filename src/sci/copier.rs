//! The DMA engine as a thread: copies between memory of this process and mapped segments, either way, while the client
//! computes.
//!
//! Rules: 1. Transfers are begun in the order in which they were queued, piece by piece; a piece is copied by the thread, or by
//! a client thread that waits ([`Copier::help`]). 2. A transfer is counted finished when its last piece is in place, and
//! whoever sees the count sees every byte. 3. Its memory is not touched afterwards. 4. The thread holds no lock while it
//! copies, takes no signal but faults of its own, and ends when it has had nothing to do for `IDLE`: the threads of a
//! process whose client has ended must not keep it. The next transfer starts it again.
//! Must not know what a transfer is for, nor whose memory it is.

#![allow(unsafe_code)] // mapped memory, system calls

use super::SciError;
use crate::os::own_threads;
use crate::sync::{AtomicU64, AtomicUsize, Ordering, fence};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes that one thread copies at a time. A piece takes 20–50 µs at memory speed: long against taking the lock twice (0.1 µs),
/// and short for a thread that waits for the last piece.
const PIECE: usize = 256 << 10;
/// How long the thread waits for work before it ends.
const IDLE: Duration = Duration::from_secs(1);
/// Bytes of its stack: a copy needs few, the report of a fault of the client's memory more.
const STACK: usize = 256 << 10;

/// A queue of copies, and the thread that makes them. The thread starts with the first one.
pub struct Copier {
    shared: Arc<Shared>,
    depth: usize,
    /// The last one started.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Bytes copied so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// By the copier's thread.
    pub thread: u64,
    /// By threads that waited.
    pub helpers: u64,
}

struct Shared {
    state: Mutex<State>,
    /// Work or the end came: for the thread.
    work: Condvar,
    /// Transfers of which no thread has taken the last piece. A hint.
    open: AtomicUsize,
    /// Bytes that the thread copied, and that others did, see [`By`]. No part of the state: a node says it at its exit, and may have interrupted itself there.
    moved: [AtomicU64; 2],
}

#[derive(Default)]
struct State {
    /// In the order of their numbers. The first ones may be all taken; they stay until they are in place.
    queued: VecDeque<Transfer>,
    /// Number of the next one.
    next: u64,
    thread: ThreadIs,
    /// The copier was dropped.
    end: bool,
}

/// Who copies.
#[derive(Clone, Copy)]
enum By {
    Thread,
    Helper,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ThreadIs {
    #[default]
    Absent,
    Asleep,
    Awake,
}

struct Transfer {
    number: u64,
    from: *const u8,
    to: *mut u8,
    len: usize,
    /// Bytes given out to threads.
    taken: usize,
    /// Bytes in place.
    done: usize,
    finished: &'static AtomicU64,
}

/// Part of a transfer that one thread copies.
struct Piece {
    number: u64,
    from: *const u8,
    to: *mut u8,
    len: usize,
}

// SAFETY: plain addresses; `enqueue` was promised that they stay valid, from any thread, until the transfer is finished.
unsafe impl Send for Transfer {}

impl Copier {
    /// A copier with room for `depth` transfers that are not finished.
    pub fn new(depth: usize) -> Copier {
        let shared = Shared {
            state: Mutex::new(State::default()),
            work: Condvar::new(),
            open: AtomicUsize::new(0),
            moved: Default::default(),
        };
        Copier { shared: Arc::new(shared), depth, thread: Mutex::new(None) }
    }

    /// Queues a copy of `len` bytes; `finished` is increased by one when it is done. `QueueFull` when `depth` transfers are not
    /// finished, `System` when the thread can't be started: nothing is copied then. Takes a lock for less than a microsecond,
    /// and may wake the thread.
    ///
    /// # Safety
    /// Until `finished` is increased, `from` is readable and `to` writable for `len` bytes from any thread, and nobody changes
    /// the source.
    pub unsafe fn enqueue(
        &self,
        from: *const u8,
        to: *mut u8,
        len: usize,
        finished: &'static AtomicU64,
    ) -> Result<(), SciError> {
        let mut state = self.shared.state.lock();
        if state.queued.len() >= self.depth {
            return Err(SciError::QueueFull { depth: self.depth });
        }
        if state.thread == ThreadIs::Absent {
            self.start_thread()?;
            state.thread = ThreadIs::Awake;
        }
        let number = state.next;
        state.next += 1;
        state.queued.push_back(Transfer { number, from, to, len, taken: 0, done: 0, finished });
        self.shared.open.fetch_add(1, Ordering::Relaxed); // Relaxed: a hint
        // One wake-up is enough, and a thread that is awake looks again before it sleeps.
        let wake = state.thread == ThreadIs::Asleep;
        if wake {
            state.thread = ThreadIs::Awake;
        }
        drop(state);
        if wake {
            self.shared.work.notify_one();
        }
        Ok(())
    }

    /// Copies one piece of what is queued, on this thread. False: nothing is left to take.
    pub fn help(&self) -> bool {
        // Relaxed: a hint; a caller that misses a transfer finds it the next time, and the thread does it anyway.
        if self.shared.open.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut state = self.shared.state.lock();
        self.shared.copy_one(&mut state, By::Helper) > 0
    }

    /// What was copied, and by whom.
    pub fn work(&self) -> Work {
        let [thread, helpers] =
            [By::Thread, By::Helper].map(|by| self.shared.moved[by as usize].load(Ordering::Relaxed));
        // Relaxed, above: counts
        Work { thread, helpers }
    }

    /// Under the lock of the state, which the thread waits for first.
    fn start_thread(&self) -> Result<(), SciError> {
        let shared = self.shared.clone();
        let started = own_threads::spawn("sci-dma", STACK, move || shared.serve());
        let error =
            |e: std::io::Error| SciError::System { call: "pthread_create", errno: e.raw_os_error().unwrap_or(0) };
        *self.thread.lock() = Some(started.map_err(error)?);
        Ok(())
    }
}

impl Drop for Copier {
    /// Waits for what is queued.
    fn drop(&mut self) {
        self.shared.state.lock().end = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.get_mut().take() {
            // The thread does not panic; if it did, the process has ended.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// The thread.
    fn serve(&self) {
        let mut state = self.state.lock();
        loop {
            if self.copy_one(&mut state, By::Thread) > 0 {
                continue;
            }
            if state.end {
                break;
            }
            state.thread = ThreadIs::Asleep;
            let timed_out = self.work.wait_for(&mut state, IDLE).timed_out();
            // A transfer that came at the last moment has set it to Awake.
            if timed_out && state.thread == ThreadIs::Asleep {
                break;
            }
            state.thread = ThreadIs::Awake;
        }
        state.thread = ThreadIs::Absent;
    }

    /// Copies one piece with the lock open meanwhile; its length, 0 when there was none.
    fn copy_one(&self, state: &mut MutexGuard<'_, State>, by: By) -> usize {
        let Some((piece, is_last)) = state.take() else { return 0 };
        if is_last {
            self.open.fetch_sub(1, Ordering::Relaxed); // Relaxed: a hint
        }
        MutexGuard::unlocked(state, || piece.copy());
        self.moved[by as usize].fetch_add(piece.len as u64, Ordering::Relaxed); // Relaxed: a count
        state.finish(&piece);
        piece.len
    }
}

impl State {
    /// The next piece that no thread has, and whether it is its transfer's last one.
    fn take(&mut self) -> Option<(Piece, bool)> {
        // As many as there are threads can be all taken, so that this looks at few.
        let transfer = self.queued.iter_mut().find(|t| t.taken < t.len)?;
        let (at, len) = (transfer.taken, PIECE.min(transfer.len - transfer.taken));
        transfer.taken += len;
        let (from, to) = (transfer.from.wrapping_add(at), transfer.to.wrapping_add(at));
        Some((Piece { number: transfer.number, from, to, len }, transfer.taken == transfer.len))
    }

    fn finish(&mut self, piece: &Piece) {
        let of_piece = |transfer: &Transfer| transfer.number == piece.number;
        let Some(at) = self.queued.iter().position(of_piece) else { unreachable!("it stays until it is in place") };
        let transfer = &mut self.queued[at];
        transfer.done += piece.len;
        if transfer.done < transfer.len {
            return;
        }
        count(transfer.finished);
        self.queued.remove(at);
    }
}

/// Counts a transfer finished whose last piece is in place.
pub(crate) fn count(finished: &AtomicU64) {
    // ORDERING: Release ↔ the Acquire of a reader of the count (rule 2). Pieces that other threads copied came before through
    // the lock.
    finished.fetch_add(1, Ordering::Release);
}

impl Piece {
    fn copy(&self) {
        // SAFETY: part of a transfer that is not finished: `enqueue` was promised that both sides are there. `copy`, since a
        // client may put a part of its own segment onto another.
        unsafe { std::ptr::copy(self.from, self.to, self.len) };
        // ORDERING: Release fence: as behind every PIO write, before this thread tells anybody (rule 2).
        fence(Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Instant;

    fn counter() -> &'static AtomicU64 {
        Box::leak(Box::default())
    }

    /// Until `done`, or for a minute.
    fn wait(done: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !done() {
            assert!(Instant::now() < end, "nobody does it");
            std::thread::yield_now();
        }
    }

    fn pattern(len: usize, seed: u8) -> Vec<u8> {
        (0..len).map(|i| (i as u8).wrapping_mul(31) ^ (i >> 8) as u8 ^ seed).collect()
    }

    #[test]
    fn the_thread_copies_without_help_whatever_the_alignment() {
        let copier = Copier::new(8);
        let len = if cfg!(miri) { 100 } else { 3 * PIECE + 13 };
        let source = pattern(len + 8, 1);
        let (mut target, finished) = (vec![0u8; len + 16], counter());
        // SAFETY: both live until the count is seen below.
        unsafe { copier.enqueue(source[3..].as_ptr(), target[9..].as_mut_ptr(), len, finished) }.unwrap();
        wait(|| finished.load(Ordering::Acquire) == 1);
        assert_eq!(target[9..9 + len], source[3..3 + len]);
        assert!(target[..9].iter().chain(&target[9 + len..]).all(|byte| *byte == 0));
        let held = copier.shared.state.lock(); // a node that leaves may have interrupted itself here
        assert_eq!(copier.work(), Work { thread: len as u64, helpers: 0 });
        drop(held);
        assert!(!copier.help());
    }

    #[test]
    fn waiting_threads_take_over_what_is_queued() {
        let copier = Copier::new(100);
        let len = if cfg!(miri) { 100 } else { PIECE + 1 };
        let sources: Vec<Vec<u8>> = (0..20).map(|i| pattern(len, i)).collect();
        let mut targets = vec![vec![0u8; len]; sources.len()];
        let finished = counter();
        for (source, target) in sources.iter().zip(&mut targets) {
            // SAFETY: both live until all are counted.
            unsafe { copier.enqueue(source.as_ptr(), target.as_mut_ptr(), len, finished) }.unwrap();
        }
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| while copier.help() {});
            }
        });
        wait(|| finished.load(Ordering::Acquire) == 20);
        assert!(sources == targets);
        let work = copier.work();
        wait(|| copier.work().thread + copier.work().helpers == 20 * len as u64);
        assert!(work.helpers <= 20 * len as u64);
    }

    #[test]
    fn a_full_queue_refuses_and_copies_nothing() {
        let copier = Copier::new(0);
        let (source, mut target) = ([1u8; 4], [0u8; 4]);
        let finished = counter();
        // SAFETY: both live longer than the copier.
        let refused = unsafe { copier.enqueue(source.as_ptr(), target.as_mut_ptr(), 4, finished) };
        assert_eq!(refused, Err(SciError::QueueFull { depth: 0 }));
        drop(copier);
        assert_eq!((target, finished.load(Ordering::Acquire)), ([0; 4], 0));
    }

    #[test]
    fn a_copier_that_is_dropped_finishes_first() {
        let (source, finished) = (pattern(4 << 10, 7), counter());
        let mut target = vec![0u8; source.len()];
        let copier = Copier::new(4);
        // SAFETY: both live until the drop below is over.
        unsafe { copier.enqueue(source.as_ptr(), target.as_mut_ptr(), source.len(), finished) }.unwrap();
        drop(copier);
        assert_eq!(finished.load(Ordering::Acquire), 1);
        assert_eq!(source, target);
    }

    #[test]
    #[cfg(not(miri))]
    fn an_idle_thread_goes_and_the_next_transfer_starts_another() {
        let copier = Copier::new(4);
        let (source, mut target, finished) = ([7u8; 64], [0u8; 64], counter());
        for round in 1..=2 {
            // SAFETY: both live until the count is seen below.
            unsafe { copier.enqueue(source.as_ptr(), target.as_mut_ptr(), 64, finished) }.unwrap();
            wait(|| finished.load(Ordering::Acquire) == round);
            wait(|| copier.shared.state.lock().thread == ThreadIs::Absent);
            let handle = copier.thread.lock().take().unwrap();
            handle.join().unwrap();
        }
        assert_eq!(source, target);
    }

    #[test]
    #[cfg(not(miri))]
    fn the_thread_has_every_signal_blocked_but_faults() {
        let copier = Copier::new(4);
        let (source, mut target, finished) = ([7u8; 64], [0u8; 64], counter());
        // SAFETY: both live until the count is seen below.
        unsafe { copier.enqueue(source.as_ptr(), target.as_mut_ptr(), 64, finished) }.unwrap();
        wait(|| finished.load(Ordering::Acquire) == 1);
        let status = |path: std::path::PathBuf| std::fs::read_to_string(path.join("status")).unwrap_or_default();
        let tasks = || std::fs::read_dir("/proc/self/task").unwrap().map(|task| status(task.unwrap().path()));
        let blocked: Vec<u64> = tasks()
            .filter(|text| text.starts_with("Name:\tsci-dma\n"))
            .filter_map(|text| u64::from_str_radix(text.lines().find_map(|l| l.strip_prefix("SigBlk:\t"))?, 16).ok())
            .collect();
        assert!(!blocked.is_empty(), "tests beside this one may have such a thread too");
        let open = |signal: i32| blocked.iter().any(|mask| mask >> (signal - 1) & 1 == 0);
        let ours = [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGALRM, libc::SIGQUIT, libc::SIGPROF];
        assert!(!ours.into_iter().any(open) && open(libc::SIGSEGV) && open(libc::SIGBUS));
    }
}
