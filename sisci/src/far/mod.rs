//! Segments that the program cannot map: those of other hosts, and all of peers in timing mode. What the program maps is a *shadow*: memory of its
//! own, whose stores the library finds by comparing it with a *twin*, the bytes that both sides agree on. They go to the peer where the contract has
//! stores leave (`flush`), and by a thread each half millisecond. Loads show what the last look at the peer found, and what the owner has told since.
#![allow(unsafe_code)] // Memory that the program and peers write to meanwhile.

mod flush;
mod known;
mod piece;
mod targets;
mod timed;

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::calm;
use crate::card::{self, now, wait_until};
use crate::dirty::{self, Pages};
use crate::error::{Error, Result};
use crate::memory::{Mapping, Memory, page, zeros};
use crate::model::packets;
use crate::net::say::{MOST, Say};
use crate::net::{AHEAD, Line, news};
pub use flush::{Until, fetch, flush, start_thread};
#[cfg(any(test, fuzzing))]
pub use known::Known;
#[cfg(not(any(test, fuzzing)))]
use known::Known;
use known::merge;
pub use piece::store;
use piece::{WORD, Word};
pub use targets::Targets;
use targets::{Frame, frames};
use timed::Timed;

/// Bytes of a copy that arrive together in timing mode.
const BURST: usize = 1024;
/// A map of at most so many bytes is compared at each flush: while the card's packets fly that costs nothing, and a page that the kernel watches
/// makes the first store after a flush a fault.
const SMALL: usize = 32 << 10;
/// The test build: what a program loads of a far map is never what it stored there, nor what the peer has.
const ODD: bool = cfg!(feature = "odd");

/// Words that are fetched before any is shown: as many bytes as a connection asks for ahead of the answers.
const AT_ONCE: usize = AHEAD * MOST / WORD;

/// What it shows of copies.
static WRONG: [u8; MOST] = [0x5a; MOST];

/// A word that the test build shows instead of `value`.
fn poison(value: u64) -> u64 {
    value ^ 0xa596_c35a_69f0_0f5a
}

/// The shadow of a peer's segment.
pub struct Shadow {
    /// What the program maps.
    pub memory: Memory,
    /// The library's own map of it.
    own: Mapping,
    /// Its holder sends what was stored, so stores leave in order.
    state: Mutex<State>,
    /// A holder of `state` may take it. Showing news takes this one alone.
    known: Mutex<Known>,
    /// The segment itself, if it is on other hosts.
    targets: Option<Arc<Targets>>,
}

struct State {
    /// The segment itself, in timing mode.
    timed: Option<Timed>,
    /// The program's maps: where, and the pages of the shadow that they show.
    views: Vec<View>,
}

/// A map of the program's.
struct View {
    base: usize,
    pages: Pages,
    /// The kernel notes what is stored to it.
    is_watched: bool,
}

impl View {
    /// The pages of the shadow to which the program has stored, as far as is known.
    fn written(&self) -> Vec<Pages> {
        let base = ptr::with_exposed_provenance_mut(self.base);
        let watched = || dirty::written(base, self.pages.len() * page()).filter(|_| self.is_watched);
        let shift = |of: Pages| self.pages.start + of.start..self.pages.start + of.end;
        watched().map_or_else(|| vec![self.pages.clone()], |pages| pages.into_iter().map(shift).collect())
    }
}

/// Whether a segment may be far, for calls whose cost counts. In timing mode that is so from the start, else from the first segment of another host on.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Segments are far from now on.
pub fn set_on() {
    // Ordering: nothing hangs on it; what a call has to flush it finds under a lock.
    IS_ON.store(true, Ordering::Relaxed);
}

/// Whether some are.
#[inline]
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// A word of memory that others use as well.
fn word<'a>(base: &Mapping, at: usize) -> &'a AtomicU64 {
    // SAFETY: within the mapping, which its shadow holds while the word is used; aligned, since mappings begin at pages.
    unsafe { AtomicU64::from_ptr(base.base.wrapping_add(at * WORD).cast()) }
}

impl Shadow {
    /// The shadow of a near segment with this memory, in timing mode.
    pub fn timed(segment: &Memory) -> Result<Arc<Shadow>> {
        let peer = segment.map(0, segment.length, ptr::null_mut(), false)?;
        let shadow = Shadow::new(segment.length, Some(Timed::new(peer)), None)?;
        shadow.fetch(&shadow.state.lock(), shadow.pages());
        Shadow::publish(shadow)
    }

    /// The shadow of a segment of `size` bytes on other hosts. It shows zeros until something is fetched.
    pub fn of_hosts(size: usize, targets: Arc<Targets>) -> Result<Arc<Shadow>> {
        let shadow = Shadow::publish(Shadow::new(size, None, Some(targets.clone()))?)?;
        let own = Arc::downgrade(&shadow);
        let hear = move || {
            if let Some(shadow) = own.upgrade() {
                shadow.hear();
            }
        };
        // A second shadow of a connection would be shown no news.
        if targets.on_news(Box::new(hear)) { Ok(shadow) } else { Err(Error::System) }
    }

    fn new(size: usize, timed: Option<Timed>, targets: Option<Arc<Targets>>) -> Result<Shadow> {
        let memory = Memory::new(size)?;
        let own = memory.map(0, memory.length, ptr::null_mut(), false)?;
        let mut twin = zeros(memory.length / WORD)?;
        if ODD {
            twin.fill(poison(0));
            // SAFETY: both have so many bytes; nobody else has the map yet.
            unsafe { ptr::copy_nonoverlapping(twin.as_ptr().cast(), own.base, memory.length) };
        }
        Ok(Shadow {
            memory,
            own,
            state: State { timed, views: Vec::new() }.into(),
            known: Known::new(twin).into(),
            targets,
        })
    }

    /// The state. A thread that has it may wait for a peer.
    fn state(&self) -> MutexGuard<'_, State> {
        calm::lock(&self.state, |state| Some(state.lock())).unwrap_or_else(|| self.state.lock())
    }

    /// From now on the thread looks at it.
    fn publish(shadow: Shadow) -> Result<Arc<Shadow>> {
        let shadow = Arc::new(shadow);
        flush::add(&shadow)?;
        Ok(shadow)
    }

    /// The program has a map of `length` bytes from `offset` on, both whole pages.
    pub fn shown(&self, map: &Mapping, offset: usize) {
        let pages = offset / page()..(offset + map.length).div_ceil(page());
        let is_watched = pages.len() * page() > SMALL && dirty::watch(map.base, pages.len() * page());
        self.state().views.push(View { base: map.base as usize, pages, is_watched });
    }

    /// The map at this place will go.
    pub fn hidden(&self, map: &Mapping) {
        self.state().views.retain(|view| view.base != map.base as usize);
    }

    /// From now on stores go to this connection, too, unless another one to its host has them. What was stored until now goes to the others first.
    pub fn add_line(&self, line: &Arc<Line>) {
        let mut state = self.state();
        self.send(&mut state, 0.0);
        if let Some(targets) = self.targets.as_ref().filter(|targets| !targets.reaches(line.place())) {
            // Copied first, since the peer may take its time.
            let words = targets.all_mine(&self.known.lock().twin);
            targets.add_line(line, words);
        }
    }

    /// The same with the memory of this host.
    pub fn add_near(&self, mapping: Mapping) {
        let mut state = self.state();
        self.send(&mut state, 0.0);
        if let Some(targets) = &self.targets {
            targets.add_near(mapping, &self.known.lock().twin);
        }
    }

    /// The words that the program has stored to since the last time, and in which frames they leave; now the twin has them as well.
    fn changed(&self, state: &State) -> (Vec<Word>, Vec<Frame>) {
        let mut words = Vec::new();
        let per_page = page() / WORD;
        let written: Vec<Pages> = state.views.iter().flat_map(View::written).collect();
        let mut known = self.known.lock();
        for first in written.into_iter().flatten().map(|number| number * per_page) {
            let twin = &mut known.twin[first..first + per_page];
            // SAFETY: both are a page long. The program may store meanwhile: what is missed now is found the next time.
            let differs =
                unsafe { libc::memcmp(self.own.base.wrapping_add(first * WORD).cast(), twin.as_ptr().cast(), page()) };
            if differs == 0 {
                continue;
            }
            for (k, twin) in twin.iter_mut().enumerate() {
                // Ordering: stores of the program are found in any order between two flushes.
                let value = word(&self.own, first + k).load(Ordering::Relaxed);
                if value != *twin {
                    words.push((first + k, value, if ODD { u64::MAX } else { value ^ *twin }));
                    *twin = value;
                    let own = word(&self.own, first + k);
                    let wrong = poison(value);
                    // Ordering: one thread's own stores; a later one of the program stays.
                    if ODD && own.compare_exchange(value, wrong, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                        *twin = wrong;
                    }
                }
            }
        }
        let frames = self.targets.as_ref().map(|targets| self.leaves(targets, &mut known, &words)).unwrap_or_default();
        (words, frames)
    }

    /// Ends the connection to an owner that takes all and never says so.
    fn end_if_deceived(&self) {
        let is_deceived = self.known.lock().is_deceived();
        if let Some(targets) = self.targets.as_ref().filter(|_| is_deceived) {
            targets.has_erred();
        }
    }

    /// These words leave: in which frames. The state is locked.
    fn leaves(&self, targets: &Targets, known: &mut Known, words: &[Word]) -> Vec<Frame> {
        let frames = frames(words);
        if targets.has_news() {
            for (say, _) in &frames {
                if let Say::Stores(pieces) = say {
                    known.stores_leave(pieces);
                }
            }
        }
        frames
    }

    /// Shows the owner's news.
    fn hear(&self) {
        let Some(targets) = &self.targets else { return };
        let mut known = self.known.lock();
        // Taken under the lock, so that they are shown in order.
        let mut news = targets.news().into_iter();
        let is_right = news.all(|changed| {
            if ODD {
                known.arrived(changed.after);
            }
            ODD || known.show(&changed, |at| word(&self.own, at))
        });
        drop(known);
        if !is_right {
            targets.has_erred();
        }
    }

    /// Sends what the program has stored since the last time. The state is locked.
    fn send(&self, state: &mut State, ready: f64) {
        self.end_if_deceived();
        let (words, frames) = self.changed(state);
        if words.is_empty() {
            return;
        }
        match (&mut state.timed, card::get(), &self.targets) {
            (Some(timed), Some(card), _) => timed.words(card, words, ready),
            (_, _, Some(targets)) => targets.words(&words, &frames, |number| self.known.lock().leave(number)),
            _ => {}
        }
    }

    /// Shows what these pages of a near peer's memory hold. The state is locked. Whether anything was new.
    fn fetch(&self, state: &State, pages: Pages) -> bool {
        let Some(timed) = &state.timed else { return false };
        // What is on its way is not there yet.
        if !timed.is_empty() {
            return true;
        }
        let (per_page, mut is_new, mut known) = (page() / WORD, false, self.known.lock());
        for first in pages.map(|number| number * per_page) {
            let twin = &mut known.twin[first..first + per_page];
            let there = timed.peer.base.wrapping_add(first * WORD);
            // SAFETY: as in `changed`.
            if unsafe { libc::memcmp(there.cast(), twin.as_ptr().cast(), page()) } != 0 && !ODD {
                for (k, twin) in twin.iter_mut().enumerate() {
                    let there = word(&timed.peer, first + k).load(Ordering::Acquire);
                    is_new |= merge(word(&self.own, first + k), twin, there, 0);
                }
            }
        }
        is_new
    }

    /// Shows what `size` bytes from `at` on hold at the peer, which is on another host.
    pub fn fetch_far(&self, at: usize, size: usize) -> Result {
        let Some(targets) = &self.targets else { return Ok(()) };
        let (first, end) = (at / WORD, (at + size).div_ceil(WORD));
        let mut there = vec![0_u64; AT_ONCE];
        let mut state = self.state();
        // What the program has stored is sent first, so that it comes back.
        self.send(&mut state, 0.0);
        let mut read = Ok(());
        for first in (first..end).step_by(there.len()) {
            let words = there.len().min(end - first);
            self.known.lock().ask(first..first + words);
            let mut before = Vec::new();
            // SAFETY: room for so many words; the segment has whole pages.
            read = unsafe { targets.fetch(first * WORD, there.as_mut_ptr().cast(), words * WORD, &mut before) };
            if read.is_err() {
                break;
            }
            let mut known = self.known.lock();
            for (k, &there) in there[..words].iter().enumerate().filter(|_| !ODD) {
                let heard = before.get(k * WORD / MOST).copied().unwrap_or(u64::MAX);
                known.fetched(first + k, there, heard, word(&self.own, first + k));
            }
        }
        self.known.lock().ask(0..0);
        read
    }

    /// All of its pages.
    fn pages(&self) -> Pages {
        0..self.memory.length / page()
    }

    /// A copy by the processor, which began at `ready`, into the segment, at a place of so many bytes: returns when its last packet has left.
    ///
    /// # Safety
    /// `from` has so many bytes; the segment has the place.
    pub unsafe fn write(&self, mut ready: f64, (at, size): (usize, usize), from: *const u8) {
        let most = if self.targets.is_some() { MOST } else { BURST };
        news::tell();
        let mut done = 0;
        while done < size {
            let place = at + done;
            let part = (size - done).min(most - place % most);
            let mut bytes = vec![0_u8; part];
            // SAFETY: the caller's.
            unsafe { ptr::copy_nonoverlapping(from.wrapping_add(done), bytes.as_mut_ptr(), part) };
            let mut state = self.state();
            self.end_if_deceived();
            let shown = if ODD { WRONG.as_ptr() } else { bytes.as_ptr() };
            let mut known = self.known.lock();
            let twin = known.twin.as_mut_ptr().cast::<u8>().wrapping_add(place);
            // SAFETY: the twin has the segment's size.
            unsafe { ptr::copy_nonoverlapping(shown, twin, part) };
            // SAFETY: the shadow has it as well.
            unsafe { ptr::copy_nonoverlapping(shown, self.own.base.wrapping_add(place), part) };
            done += part;
            if self.targets.as_ref().is_some_and(|targets| targets.has_news()) {
                known.copy_leaves(place..place + part);
            }
            drop(known);
            if let Some(targets) = &self.targets {
                targets.bytes(place, &bytes, |number| self.known.lock().leave(number));
            } else if let (Some(timed), Some(card)) = (&mut state.timed, card::get()) {
                let left = card.send(packets(place, part), part, ready);
                timed.bytes(place, bytes, left.arrive);
                drop(state);
                wait_until(left.last);
                self.deliver(now());
                ready = left.last;
                calm::breathe();
            }
        }
    }

    /// In timing mode, what has arrived at `now` is there.
    fn deliver(&self, now: f64) {
        if let Some(timed) = &mut self.state().timed {
            timed.deliver(now);
        }
    }

    /// A copy by the processor out of the segment.
    ///
    /// # Safety
    /// `to` has `size` bytes; the segment has them at `at`.
    pub unsafe fn read(&self, at: usize, to: *mut u8, size: usize) -> Result {
        if self.targets.is_some() {
            let fetched = self.fetch_far(at, size);
            // SAFETY: the caller's, and the shadow is as large as the segment. A peer that has gone leaves it as it is.
            unsafe { ptr::copy(self.own.base.wrapping_add(at), to, size) };
            return fetched;
        }
        flush(Until::Acknowledged);
        let peer = self.state().timed.as_ref().map(|timed| timed.peer.clone());
        let (Some(peer), Some(card)) = (peer, card::get()) else { return Err(Error::TransferFailed) };
        // SAFETY: the caller's.
        unsafe { Timed::read(&peer, card, now(), at, to, size) };
        self.fetch(&self.state(), at / page()..(at + size).div_ceil(page()));
        Ok(())
    }
}
