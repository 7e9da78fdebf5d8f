//! The engine: what all its parts share, and the memory of messages. The verbs are in `boxes`, `post` and
//! `retrieve`.
//!
//! Must not know: C types.

#![allow(unsafe_code)] // clients' memory, blocks of DECK heaps, locks of the client's thread mode

use super::gift::{Network, ToHeaps, Writable};
use super::heap::Heap;
use super::message::{Block, Bytes, LEAST, Message, Storage};
use super::pace::Pace;
use super::state::State;
use super::survive::roll::Losses;
use super::waiting::{Key, Waiting};
use super::{BoxId, Failure, Outcome, UNDER_LOCK, Until};
use crate::am::Am;
use crate::am::corrupt::corrupt;
use crate::am::region::LINE;
use crate::sci::{Adapter, hint};
use crate::sync::{AtomicU64, Locked, ModeLock, Ordering};
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

/// So many bytes of a block that is not long are claimed when it comes back, if it is the last of several: the peer has read at least its first
/// line, and the next message will be copied there. 1 KiB one way takes 196 instead of 221 ns; 4 KiB take as long as without (2026-11, EPYC VM).
const CLAIMED: usize = 1 << 10;

/// Where a node's heap lies in this process.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// First byte.
    pub at: usize,
    /// Bytes.
    pub len: usize,
}

/// Maps the heap of a node of this host; `None`: it can't be reached.
pub type Connect = Box<dyn Fn(u32) -> Option<Region> + Send + Sync>;

/// What the engine works on.
pub struct Setting<A: Adapter> {
    /// The message engine.
    pub am: &'static Am<A>,
    /// Client threads may call at the same time.
    pub threaded: bool,
    /// From so many bytes on, messages go as loans (`GASNET_SCI_DECK_MSG_BUF_LIMIT`).
    pub limit: usize,
    /// From so many bytes on, a message that is given to another host gets a place there.
    pub place_min: usize,
    /// Boxes of this node, at most.
    pub boxes: usize,
    /// Own heap.
    pub heap: Region,
    /// Reaches those of others.
    pub connect: Connect,
    /// The way to heaps of nodes of other hosts, if there are any, and for them to the own one.
    pub far: Option<ToHeaps>,
    /// Own interrupt, as peers have it.
    pub bell: A::RemoteInterrupt,
    /// In a job that survives the death of nodes. All regions have their [holders](super::survive::holders) behind them then.
    pub losses: Option<Losses>,
}

/// The engine.
pub struct Deck<A: Adapter> {
    pub(super) am: &'static Am<A>,
    /// From so many bytes on, messages go as loans (`GASNET_SCI_DECK_MSG_BUF_LIMIT`).
    pub limit: usize,
    pub(super) place_min: usize,
    pub(super) most_boxes: usize,
    heap: Region,
    connect: Connect,
    pub(super) network: Option<Box<dyn Network>>,
    pub(super) writable: Option<Arc<Writable>>,
    regions: Box<[OnceLock<Option<Region>>]>,
    state: ModeLock<RefCell<State>>,
    /// The threads that wait.
    pub waiting: Waiting<A>,
    threaded: bool,
    pub(super) losses: Option<Losses>,
    pub(super) pace: Pace,
    /// Bytes that were copied, and messages that were posted or given, for statistics.
    pub(super) copied: AtomicU64,
    pub(super) sent: AtomicU64,
    /// Bytes that went from a given message straight into a heap on another host, for statistics.
    pub(super) placed: AtomicU64,
}

/// What a program has of a box.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    /// The box.
    pub id: BoxId,
    /// It is the owner's.
    pub owns: bool,
    pub(super) sender: u32,
}

/// How much a node keeps, for tests: all of it goes when it is needed no longer.
#[cfg(any(test, fuzzing))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Boxes that are open, and those that senders have not said farewell to.
    pub boxes: usize,
    /// Boxes that this node may send to.
    pub senders: usize,
    /// Those of which credits have come without a handle.
    pub strays: usize,
    /// Messages that may be sent without asking.
    pub credit: u64,
    /// Requests about names.
    pub requests: usize,
    /// Names that are in use, or waited for.
    pub names: usize,
    /// Messages to be sent.
    pub due: usize,
    /// Blocks of the heap in use.
    pub blocks: usize,
    /// Gifts to nodes of other hosts, and places for theirs.
    pub gifts: usize,
}

impl<A: Adapter> Deck<A> {
    /// An engine without boxes.
    ///
    /// # Safety
    /// The caller keeps the contract of [`ModeLock::new`]; `heap` is mapped as long as the process lives. If the job
    /// survives deaths, all heaps are mapped up to [`Holders::end`](super::survive::holders::Holders::end); only this library writes the table there.
    pub unsafe fn new(setting: Setting<A>) -> Deck<A> {
        let Setting { am, threaded, limit, place_min, boxes, heap, connect, far, bell, losses } = setting;
        let (network, writable) = far.unzip();
        let state = State::new(heap.len);
        Deck {
            am,
            limit,
            place_min,
            most_boxes: boxes,
            heap,
            connect,
            network,
            writable: writable.flatten(),
            regions: (0..am.nodes()).map(|_| OnceLock::new()).collect(),
            // SAFETY: the caller promises what `ModeLock::new` asks for.
            state: unsafe { ModeLock::new(threaded, RefCell::new(state)) },
            waiting: Waiting::new(threaded, bell),
            threaded,
            losses,
            pace: Pace::default(),
            copied: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            placed: AtomicU64::new(0),
        }
    }

    /// Client threads may call at the same time.
    pub fn is_threaded(&self) -> bool {
        self.threaded
    }

    /// As [`Waiting::wait`]. Then it sends what is due: the step that ran a handler need not have done so, and the program may compute from now
    /// on.
    #[inline(always)]
    pub fn wait<T>(&self, keys: &[Key], until: Until, look: impl FnMut() -> Outcome<Option<T>>) -> Outcome<T> {
        self.pace.begins_to_wait();
        let result = self.waiting.wait(self.am, keys, until, look);
        self.send_dues();
        result
    }

    /// Calls `f` with the state, under its lock. `f` sends no message, with one exception (rule 5).
    #[inline(always)]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.lock().borrow_mut())
    }

    /// The lock of the state, held until the result is dropped; rule 5 holds meanwhile. `retrieve`, `post_now` and the handler of `LINE` use
    /// it in place of [`Self::with`]: the compiler would turn a closure with several callers into a function of its own.
    #[inline(always)]
    pub(super) fn lock(&self) -> Locked<'_, RefCell<State>> {
        self.state.lock()
    }

    /// The message engine.
    pub fn am(&self) -> &'static Am<A> {
        self.am
    }

    /// Nodes of the job.
    pub fn nodes(&self) -> u32 {
        self.am.nodes()
    }

    pub(super) fn me(&self) -> u32 {
        self.am.me()
    }

    /// Counts for statistics. Threads that count at the same time may lose counts: an exact one would cost each message 5 ns.
    pub(super) fn count(counter: &AtomicU64, n: usize) {
        // Relaxed, both: statistics
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(n as u64), Ordering::Relaxed);
    }

    /// A message for `capacity` bytes. `shared`: in this node's heap; else in memory of this process.
    pub fn create(&self, capacity: usize, shared: bool, fixed: bool) -> Outcome<Message> {
        let mut message = Message::new(self.memory(capacity, shared)?, capacity, fixed);
        message.asked_shared = shared;
        Ok(message)
    }

    /// Runs `edit`. If the message has too little room, because the memory of one that was retrieved has replaced its own, it gets as much as the
    /// program asked for, and `edit` runs again. So what fits does not depend on the way a message came.
    pub fn edit(&self, message: &mut Message, edit: impl Fn(&mut Message) -> Outcome<()>) -> Outcome<()> {
        match edit(message) {
            Err(Failure::Truncated) if message.capacity < message.asked => {
                let memory = self.memory(message.asked, message.asked_shared)?;
                // SAFETY: `size` bytes, no more than were asked for; the memory is new, so another.
                unsafe { message.payload().move_to(memory.place().0) };
                message.capacity = message.asked;
                self.release(std::mem::replace(&mut message.storage, memory))?;
                edit(message)
            }
            edited => edited,
        }
    }

    /// Memory for `capacity` bytes, as [`Self::create`].
    fn memory(&self, capacity: usize, shared: bool) -> Outcome<Storage> {
        Ok(match shared {
            true => Storage::Shared(self.block_or_poll(capacity).ok_or_else(|| {
                Failure::memory(format!(
                    "{capacity} bytes: the DECK heap of {} bytes has no such block left (GASNET_SCI_DECK_HEAP)",
                    self.heap.len
                ))
            })?),
            false => Storage::Local(Bytes::new(capacity).ok_or_else(|| Failure::memory(format!("{capacity} bytes")))?),
        })
    }

    /// As [`Self::block`]. Where there is none, blocks that are on their way back are taken first.
    fn block_or_poll(&self, len: usize) -> Option<Block> {
        self.block(len).or_else(|| {
            self.am.poll();
            self.block(len)
        })
    }

    /// A block of this node's heap.
    pub(super) fn block(&self, len: usize) -> Option<Block> {
        self.with(|state| self.block_of(&mut state.heap, len))
    }

    /// As [`Self::block`]; the caller has the lock.
    #[inline(always)]
    pub(super) fn block_of(&self, heap: &mut Heap, len: usize) -> Option<Block> {
        let len = len.max(LEAST);
        let (offset, _) = heap.take(len)?;
        if let Some(holders) = self.holders(self.me()) {
            holders.keep(offset, self.me()); // under the lock: the table may still name a dead node as holder of a free block
        }
        Some(Block { owner: self.me(), offset, len, at: (self.heap.at + offset) as *mut u8 })
    }

    /// A block of this node's heap is free. `from` says so. Returns its bytes.
    pub(super) fn came_back(&self, from: u32, offset: usize) -> usize {
        let given = self.with(|state| match self.is_place(state, offset) {
            true => None,
            false => state.heap.give(offset),
        });
        match given {
            Some(len) => len,
            None if from == self.me() => {
                crate::base::fatal(format_args!("DECK: a block of this node was given back twice, once by a peer"))
            }
            None => corrupt(from, "block that is not in use"),
        }
    }

    /// A hint: the next message will probably be copied into this block, which is the one that has come back last.
    pub(super) fn will_fill(&self, offset: usize, len: usize) {
        if len <= UNDER_LOCK {
            let lines = (0..len.min(CLAIMED)).step_by(LINE);
            lines.for_each(|at| hint::claim((self.heap.at + offset + at) as *const u8));
        }
    }

    /// Bytes of this node's heap, which all nodes have alike.
    pub(super) fn heap_len(&self) -> usize {
        self.heap.len
    }

    /// What this node keeps, for tests. Panics if the credits of a box do not add up.
    #[cfg(any(test, fuzzing))]
    pub fn tables(&self) -> Tables {
        self.with(|state| state.tables())
    }

    /// Where a node's heap lies here.
    pub(super) fn region(&self, node: u32) -> Option<Region> {
        if node == self.me() {
            return Some(self.heap);
        }
        *self.regions[node as usize].get_or_init(|| (self.connect)(node))
    }

    /// Counters for statistics.
    pub fn counters(&self) -> [(&'static str, u64); 3] {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed); // Relaxed: statistics
        [
            ("DECK messages sent", get(&self.sent)),
            ("DECK bytes copied", get(&self.copied)),
            ("DECK bytes placed", get(&self.placed)),
        ]
    }
}
