//! The emulated DMA engine: a queue of aligned transfers, done in order, in place or by a thread.
//!
//! Rules: 1. What an adapter's hardware would refuse is refused (alignment, minimum, range, a full queue), and then
//! nothing is written. 2. A transfer is `Done` only after all its stores passed a barrier, so that who observes it, and
//! who reads what the observer publishes later, sees every byte. 3. The source is not read after `Done` or `Aborted`.
//! 4. Tickets finish in order: `finished` is the highest one that is over.
//! Must not know how a segment is reached: it writes through the adapter's own maps.

use super::interrupt::Deadline;
use super::{DmaQueue, DmaState, DmaTicket, Properties, RemoteMap, RemoteSegment, SciError, pio};
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Bytes between two looks at the abort flag: tens of microseconds at memory speed (a guess), and no visible overhead.
const CHUNK: usize = 256 << 10;

/// Who copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DmaEngine {
    /// The thread that enqueues, at once.
    #[default]
    Inline,
    /// A thread of the queue, so that transfers overlap with computing; it needs a free core.
    Thread,
}

/// A remote segment that the engine can write to without a map of the user's.
pub trait DmaTarget: RemoteSegment {
    /// A map of the whole segment for the engine.
    fn engine_map(&self) -> Result<Self::Map, SciError>;
}

/// A queue of emulated DMA transfers to segments of type `R`.
pub struct Queue<R: DmaTarget> {
    limits: Properties,
    depth: usize,
    shared: Arc<Shared<R::Map>>,
    engine: DmaEngine,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared<M> {
    /// The highest ticket that is over (rule 4).
    finished: AtomicU64,
    /// The transfer that runs now shall stop.
    stop_running: AtomicBool,
    state: Mutex<State<M>>,
    /// Work or the end came: for the engine thread.
    work: Condvar,
    /// `finished` rose: for `wait` and `abort`.
    progress: Condvar,
}

struct State<M> {
    queued: VecDeque<Transfer<M>>,
    running: Option<u64>,
    /// The highest ticket given out (threaded engine).
    issued: u64,
    /// Tickets aborted; neighbours are merged.
    aborted: Vec<RangeInclusive<u64>>,
    /// Queue dropped.
    end: bool,
}

struct Transfer<M> {
    ticket: u64,
    source: *const u8,
    map: M,
    offset: usize,
    len: usize,
}

// SAFETY: `source` is a plain address; `enqueue` was promised that it is readable until the transfer is over, from any
// thread of the process.
unsafe impl<M: Send> Send for Transfer<M> {}

impl<R: DmaTarget> Queue<R> {
    /// A queue with room for `depth` transfers that keeps to `limits`. The engine's thread starts with its first
    /// transfer.
    pub(crate) fn new(limits: Properties, depth: usize, engine: DmaEngine) -> Self {
        let state = State { queued: VecDeque::new(), running: None, issued: 0, aborted: Vec::new(), end: false };
        let shared = Shared {
            finished: AtomicU64::new(0),
            stop_running: AtomicBool::new(false),
            state: Mutex::new(state),
            work: Condvar::new(),
            progress: Condvar::new(),
        };
        Self { limits, depth, shared: Arc::new(shared), engine, thread: Mutex::new(None) }
    }

    fn check(&self, source: usize, offset: usize, len: usize, segment: usize) -> Result<(), SciError> {
        let need = self.limits.dma_alignment;
        if (source | offset | len) & (need - 1) != 0 {
            return Err(SciError::DmaMisaligned { source, offset, len, need });
        }
        if len < self.limits.dma_min {
            return Err(SciError::DmaTooShort { len, need: self.limits.dma_min });
        }
        pio::check_range(offset, len, segment)
    }

    /// Copies here and now. No lock is held, so threads do not wait for each other's copies.
    fn run_inline(&self, transfer: Transfer<R::Map>) -> Result<DmaTicket, SciError> {
        if self.depth == 0 {
            return Err(SciError::QueueFull { depth: 0 });
        }
        transfer.copy(&AtomicBool::new(false))?;
        // ORDERING: Release ↔ Acquire in `poll`: who sees the ticket finished sees the bytes (rule 2).
        let before = self.shared.finished.fetch_add(1, Ordering::Release);
        Ok(DmaTicket(before + 1))
    }

    fn hand_over(&self, mut transfer: Transfer<R::Map>) -> Result<DmaTicket, SciError> {
        self.start_thread()?;
        let mut state = self.shared.state.lock();
        if state.queued.len() + usize::from(state.running.is_some()) >= self.depth {
            return Err(SciError::QueueFull { depth: self.depth });
        }
        state.issued += 1;
        transfer.ticket = state.issued;
        state.queued.push_back(transfer);
        let ticket = DmaTicket(state.issued);
        drop(state);
        self.shared.work.notify_one();
        Ok(ticket)
    }

    fn start_thread(&self) -> Result<(), SciError> {
        let mut thread = self.thread.lock();
        if thread.is_some() {
            return Ok(());
        }
        let shared = self.shared.clone();
        let builder = Builder::new().name("sci-dma".into()).stack_size(128 << 10);
        // The client's signal handlers expect the client's threads.
        let started = with_signals_blocked(|| builder.spawn(move || shared.serve()));
        let error =
            |e: std::io::Error| SciError::System { call: "pthread_create", errno: e.raw_os_error().unwrap_or(0) };
        *thread = Some(started.map_err(error)?);
        Ok(())
    }
}

impl<R: DmaTarget> DmaQueue for Queue<R> {
    type Remote = R;

    unsafe fn enqueue(&self, src: *const u8, remote: &R, offset: usize, len: usize) -> Result<DmaTicket, SciError> {
        self.check(src.addr(), offset, len, remote.len())?;
        let transfer = Transfer { ticket: 0, source: src, map: remote.engine_map()?, offset, len };
        match self.engine {
            DmaEngine::Inline => self.run_inline(transfer),
            DmaEngine::Thread => self.hand_over(transfer),
        }
    }

    fn poll(&self, ticket: DmaTicket) -> DmaState {
        // ORDERING: Acquire ↔ Release where it is raised (rule 2).
        if ticket.0 > self.shared.finished.load(Ordering::Acquire) {
            return DmaState::Pending;
        }
        if self.engine == DmaEngine::Inline {
            return DmaState::Done;
        }
        let state = self.shared.state.lock();
        let aborted = state.aborted.iter().any(|range| range.contains(&ticket.0));
        if aborted { DmaState::Aborted } else { DmaState::Done }
    }

    fn wait(&self, ticket: DmaTicket, timeout: Duration) -> Result<DmaState, SciError> {
        let end = Deadline::after(timeout);
        loop {
            match self.poll(ticket) {
                DmaState::Pending => {}
                state => return Ok(state),
            }
            let Some(left) = end.left() else {
                return Err(SciError::TimedOut);
            };
            self.shared.wait_for_progress(ticket, left);
        }
    }

    fn abort(&self) {
        if self.engine == DmaEngine::Thread {
            self.shared.abort();
        }
    }
}

impl<R: DmaTarget> Drop for Queue<R> {
    fn drop(&mut self) {
        let Some(thread) = self.thread.get_mut().take() else {
            return;
        };
        self.shared.state.lock().end = true;
        self.shared.abort();
        self.shared.work.notify_one();
        // The thread does not panic; if it did, the process has ended.
        let _ = thread.join();
    }
}

impl<M: RemoteMap> Transfer<M> {
    /// Copies in chunks until `stop`; true when every byte is at its place and behind a barrier (rule 2).
    fn copy(&self, stop: &AtomicBool) -> Result<bool, SciError> {
        let mut done = 0;
        while done < self.len {
            if stop.load(Ordering::Relaxed) {
                return Ok(false); // Relaxed: only "soon" is asked
            }
            let chunk = CHUNK.min(self.len - done);
            // SAFETY: inside the source, which `enqueue` was promised to be readable until the transfer is over.
            let from = unsafe { self.source.add(done) };
            // SAFETY: as above, `chunk` bytes.
            unsafe { self.map.write(self.offset + done, from, chunk) }?;
            done += chunk;
        }
        self.map.barrier();
        Ok(true)
    }
}

impl<M: RemoteMap> Shared<M> {
    /// The engine thread.
    fn serve(&self) {
        while let Some(transfer) = self.next() {
            // The range was checked at `enqueue`, so a failed write means a broken map: told as aborted.
            let done = transfer.copy(&self.stop_running).unwrap_or(false);
            let ticket = transfer.ticket;
            // Before anybody sees it finished: its map keeps the segment busy.
            drop(transfer);
            self.finish(ticket, done);
        }
    }

    fn next(&self) -> Option<Transfer<M>> {
        let mut state = self.state.lock();
        loop {
            if let Some(transfer) = state.queued.pop_front() {
                state.running = Some(transfer.ticket);
                return Some(transfer);
            }
            if state.end {
                return None;
            }
            self.work.wait(&mut state);
        }
    }

    fn finish(&self, ticket: u64, done: bool) {
        let mut state = self.state.lock();
        if !done {
            state.add_aborted(ticket..=ticket);
        }
        state.running = None;
        self.stop_running.store(false, Ordering::Relaxed); // Relaxed: both sides hold the lock
        self.settle(&state);
    }

    /// All that was given out before the first one still queued or running is over (rule 4).
    fn settle(&self, state: &State<M>) {
        let first_open = state.running.or_else(|| state.queued.front().map(|t| t.ticket));
        let finished = first_open.map_or(state.issued, |first| first - 1);
        // ORDERING: Release ↔ Acquire in `poll`: who sees the ticket finished sees the bytes (rule 2).
        self.finished.store(finished, Ordering::Release);
        self.progress.notify_all();
    }

    fn abort(&self) {
        let mut state = self.state.lock();
        if let Some(first) = state.queued.front().map(|t| t.ticket) {
            let last = state.issued;
            state.queued.clear();
            state.add_aborted(first..=last);
        }
        let Some(running) = state.running else {
            return self.settle(&state);
        };
        self.stop_running.store(true, Ordering::Relaxed); // Relaxed: only "soon" is asked
        while state.running == Some(running) {
            self.progress.wait(&mut state);
        }
    }

    /// Sleeps until some transfer is over, unless `ticket` is.
    fn wait_for_progress(&self, ticket: DmaTicket, timeout: Duration) {
        let mut state = self.state.lock();
        // Relaxed: the caller polls again; the lock orders this look against `settle`.
        if ticket.0 > self.finished.load(Ordering::Relaxed) {
            self.progress.wait_for(&mut state, timeout);
        }
    }
}

impl<M> State<M> {
    fn add_aborted(&mut self, range: RangeInclusive<u64>) {
        match self.aborted.last_mut() {
            Some(last) if *last.end() + 1 == *range.start() => *last = *last.start()..=*range.end(),
            _ => self.aborted.push(range),
        }
    }
}

/// Threads inherit the signal mask of their creator.
fn with_signals_blocked<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: all-zero is a valid `sigset_t`.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    let mut old = all;
    // SAFETY: `all` is writable.
    unsafe { libc::sigfillset(&mut all) };
    // SAFETY: both sets are valid.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old) };
    let result = f();
    // SAFETY: `old` is the mask that this thread had.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut()) };
    result
}
