//! Segments of peers in timing mode. What the program maps is a *shadow*: memory of its own, whose stores the library finds by comparing it with a
//! *twin*, the bytes that both sides agree on. They go to the peer where the contract has stores leave (`flush`), and by a thread each half
//! millisecond; the card says when they arrive. Loads show what the last look at the peer found.
#![allow(unsafe_code)] // Memory that the program and peers write to meanwhile.

use std::collections::VecDeque;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use crate::card::{self, Card, now, wait_until};
use crate::dirty::{self, Pages};
use crate::error::Result;
use crate::memory::{Mapping, Memory, page};
use crate::model::{Packet, packets};
use crate::worker;

/// Bytes of a line.
const LINE: usize = 64;
/// Bytes of a word, by which the shadow is compared.
const WORD: usize = 8;
/// Bytes of a copy that arrive together.
const BURST: usize = 1024;
/// A map of at most so many bytes is compared at each flush: while the card's packets fly that costs nothing, and a page that the kernel watches
/// makes the first store after a flush a fault.
const SMALL: usize = 32 << 10;
/// Between two looks of the thread.
const NAP: Duration = Duration::from_micros(500);

/// The shadow of a peer's segment.
pub struct Shadow {
    /// What the program maps.
    pub memory: Memory,
    /// The library's own map of it.
    own: Mapping,
    /// The segment itself.
    peer: Mapping,
    state: Mutex<State>,
}

struct State {
    /// What was sent, or fetched.
    twin: Vec<u64>,
    /// What is on its way, oldest first.
    kept: VecDeque<Kept>,
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

/// Bytes that arrive at `due`.
struct Kept {
    due: f64,
    stores: Stores,
}

enum Stores {
    /// Words that the program has stored to: number, value, and which bits of it are new.
    Words(Vec<(usize, u64, u64)>),
    /// A copy.
    Bytes(usize, Vec<u8>),
}

/// What a flush waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All has arrived.
    Arrived,
    /// This side knows it.
    Acknowledged,
}

/// All shadows of this process, and whether the thread runs.
static SHADOWS: Mutex<(Vec<Weak<Shadow>>, bool)> = Mutex::new((Vec::new(), false));

/// A word of memory that others use as well.
fn word<'a>(base: &Mapping, at: usize) -> &'a AtomicU64 {
    // SAFETY: within the mapping, which its shadow holds while the word is used; aligned, since mappings begin at pages.
    unsafe { AtomicU64::from_ptr(base.base.wrapping_add(at * WORD).cast()) }
}

impl Shadow {
    /// The shadow of a segment with this memory.
    pub fn new(segment: &Memory) -> Result<Arc<Shadow>> {
        let memory = Memory::new(segment.length)?;
        let own = memory.map(0, memory.length, ptr::null_mut(), false)?;
        let peer = segment.map(0, memory.length, ptr::null_mut(), false)?;
        let twin: Vec<u64> = (0..memory.length / WORD).map(|at| word(&peer, at).load(Ordering::Relaxed)).collect();
        for (at, &value) in twin.iter().enumerate() {
            word(&own, at).store(value, Ordering::Relaxed);
        }
        let shadow = Arc::new(Shadow {
            memory,
            own,
            peer,
            state: State { twin, kept: VecDeque::new(), views: Vec::new() }.into(),
        });
        let mut shadows = SHADOWS.lock();
        shadows.0.retain(|shadow| shadow.strong_count() > 0);
        shadows.0.push(Arc::downgrade(&shadow));
        if !shadows.1 {
            worker::spawn("sisci-far", look_again)?;
            shadows.1 = true;
        }
        Ok(shadow)
    }

    /// The program has a map of `length` bytes from `offset` on, both whole pages.
    pub fn shown(&self, map: &Mapping, offset: usize) {
        let pages = offset / page()..(offset + map.length).div_ceil(page());
        let is_watched = pages.len() * page() > SMALL && dirty::watch(map.base, pages.len() * page());
        self.state.lock().views.push(View { base: map.base as usize, pages, is_watched });
    }

    /// The map at this place will go.
    pub fn hidden(&self, map: &Mapping) {
        self.state.lock().views.retain(|view| view.base != map.base as usize);
    }

    /// Sends what the program has stored since the last time. The state is locked.
    fn send(&self, state: &mut State, card: &Card, ready: f64) {
        let (mut words, mut sent) = (Vec::new(), Vec::new());
        let per_page = page() / WORD;
        let written: Vec<Pages> = state.views.iter().flat_map(View::written).collect();
        for first in written.into_iter().flatten().map(|number| number * per_page) {
            let twin = &mut state.twin[first..first + per_page];
            // SAFETY: both are a page long. The program may store meanwhile: what is missed now is found the next time.
            let differs =
                unsafe { libc::memcmp(self.own.base.wrapping_add(first * WORD).cast(), twin.as_ptr().cast(), page()) };
            if differs == 0 {
                continue;
            }
            for (line, twin) in twin.chunks_mut(LINE / WORD).enumerate() {
                let at = first + line * LINE / WORD;
                let before = words.len();
                for (k, twin) in twin.iter_mut().enumerate() {
                    let value = word(&self.own, at + k).load(Ordering::Relaxed);
                    if value != *twin {
                        words.push((at + k, value, value ^ *twin));
                        *twin = value;
                    }
                }
                sent.extend(line_packets(&words[before..], at));
            }
        }
        if words.is_empty() {
            return;
        }
        let left = card.send(sent.into_iter(), words.len() * WORD, ready);
        state.kept.push_back(Kept { due: left.arrive, stores: Stores::Words(words) });
    }

    /// Stores what has arrived at `now`.
    fn deliver(&self, state: &mut State, now: f64) {
        while state.kept.front().is_some_and(|kept| kept.due <= now) {
            let Some(kept) = state.kept.pop_front() else { break };
            match kept.stores {
                Stores::Words(words) => words.into_iter().for_each(|(at, value, new)| self.store(at, value, new)),
                Stores::Bytes(at, bytes) => {
                    // SAFETY: the range was checked when the copy was made.
                    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.peer.base.wrapping_add(at), bytes.len()) }
                }
            }
        }
    }

    /// Stores the smallest aligned piece of a word that has all of its new bits: a reader never sees half of a number, and neighbours keep what
    /// others have written there.
    fn store(&self, at: usize, value: u64, new: u64) {
        let (low, high) = (new.trailing_zeros() as usize / 8, 7 - new.leading_zeros() as usize / 8);
        let place = self.peer.base.wrapping_add(at * WORD);
        let bytes = value.to_ne_bytes();
        let size = [1, 2, 4, 8].into_iter().find(|size| low / size == high / size).unwrap_or(WORD);
        let (first, place) = (low / size * size, place.wrapping_add(low / size * size));
        let part = |k: usize| bytes[first + k];
        // Ordering: Release; who sees a flag sees what was stored before it.
        match size {
            1 => {
                // SAFETY: a byte of a word within the mapping.
                unsafe { AtomicU8::from_ptr(place) }.store(part(0), Ordering::Release);
            }
            2 => {
                // SAFETY: an aligned part of such a word.
                let half = unsafe { AtomicU16::from_ptr(place.cast()) };
                half.store(u16::from_ne_bytes([part(0), part(1)]), Ordering::Release);
            }
            4 => {
                // SAFETY: an aligned part of such a word.
                let half = unsafe { AtomicU32::from_ptr(place.cast()) };
                half.store(u32::from_ne_bytes([part(0), part(1), part(2), part(3)]), Ordering::Release);
            }
            _ => word(&self.peer, at).store(value, Ordering::Release),
        }
    }

    /// Shows what these pages of the peer's memory hold, but where the program has stored something. The state is locked. Whether anything was new.
    fn fetch(&self, state: &mut State, pages: Pages) -> bool {
        // What is on its way is not there yet.
        if !state.kept.is_empty() {
            return true;
        }
        let (per_page, mut is_new) = (page() / WORD, false);
        for first in pages.map(|number| number * per_page) {
            let twin = &mut state.twin[first..first + per_page];
            // SAFETY: as in `send`.
            let differs =
                unsafe { libc::memcmp(self.peer.base.wrapping_add(first * WORD).cast(), twin.as_ptr().cast(), page()) };
            if differs == 0 {
                continue;
            }
            for (k, twin) in twin.iter_mut().enumerate() {
                let there = word(&self.peer, first + k).load(Ordering::Acquire);
                let own = word(&self.own, first + k);
                // By exchange: a store that the program makes just now stays.
                if there != *twin && own.compare_exchange(*twin, there, Ordering::Release, Ordering::Relaxed).is_ok() {
                    *twin = there;
                    is_new = true;
                }
            }
        }
        is_new
    }

    /// All of its pages.
    fn pages(&self) -> Pages {
        0..self.memory.length / page()
    }

    /// A copy by the processor, which began at `ready`, into the segment, at a place of so many bytes: returns when its last packet has left.
    ///
    /// # Safety
    /// `from` has so many bytes; the segment has the place.
    pub unsafe fn write(&self, card: &Card, mut ready: f64, (at, size): (usize, usize), from: *const u8) {
        let mut done = 0;
        while done < size {
            let place = at + done;
            let part = (size - done).min(BURST - place % BURST);
            let mut bytes = vec![0_u8; part];
            // SAFETY: the caller's.
            unsafe { ptr::copy_nonoverlapping(from.wrapping_add(done), bytes.as_mut_ptr(), part) };
            let mut state = self.state.lock();
            let twin = state.twin.as_mut_ptr().cast::<u8>().wrapping_add(place);
            // SAFETY: the twin has the segment's size.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), twin, part) };
            // SAFETY: the shadow has it as well.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.own.base.wrapping_add(place), part) };
            let left = card.send(packets(place, part), part, ready);
            state.kept.push_back(Kept { due: left.arrive, stores: Stores::Bytes(place, bytes) });
            drop(state);
            wait_until(left.last);
            self.deliver(&mut self.state.lock(), now());
            (done, ready) = (done + part, left.last);
        }
    }

    /// A copy by the processor out of the segment, line by line.
    ///
    /// # Safety
    /// `to` has `size` bytes; the segment has them at `at`.
    pub unsafe fn read(&self, card: &Card, at: usize, to: *mut u8, size: usize) {
        flush(Until::Acknowledged);
        let (mut done, mut time) = (0, now());
        while done < size {
            let part = if card.hardware.staged { size } else { (size - done).min(LINE - (at + done) % LINE) };
            time += card.read(part);
            wait_until(time);
            let from = self.peer.base.wrapping_add(at + done);
            // SAFETY: the caller's.
            unsafe { ptr::copy_nonoverlapping(from, to.wrapping_add(done), part) };
            done += part;
        }
        self.fetch(&mut self.state.lock(), at / page()..(at + size).div_ceil(page()));
    }
}

/// The packets of a line whose words these are: the whole line if both ends of it were stored to, else pieces of 16 bytes.
fn line_packets(words: &[(usize, u64, u64)], at: usize) -> Option<(Packet, usize)> {
    let (first, last) = (words.first()?.0 - at, words.last()?.0 - at);
    Some(if first < 2 && last >= 6 { (Packet::Line, 1) } else { (Packet::Piece, last / 2 - first / 2 + 1) })
}

/// The shadows that there are.
fn all() -> Vec<Arc<Shadow>> {
    SHADOWS.lock().0.iter().filter_map(Weak::upgrade).collect()
}

/// What the program has stored to maps of peers leaves, and this waits for it.
pub fn flush(until: Until) {
    let Some(card) = card::get() else { return };
    let (ready, shadows) = (now(), all());
    let mut arrived = 0.0_f64;
    for shadow in &shadows {
        let mut state = shadow.state.lock();
        shadow.send(&mut state, card, ready);
        arrived = arrived.max(state.kept.back().map_or(0.0, |kept| kept.due));
    }
    wait_until(arrived);
    for shadow in &shadows {
        shadow.deliver(&mut shadow.state.lock(), arrived);
    }
    if until == Until::Acknowledged {
        // Ordering: what was delivered is there before what this thread stores from now on.
        fence(Ordering::SeqCst);
        wait_until(card.acknowledged());
    }
}

/// Looks what peers have stored since the last time; whether there was anything.
pub fn fetch() -> bool {
    let mut is_new = false;
    for shadow in all() {
        is_new |= shadow.fetch(&mut shadow.state.lock(), shadow.pages());
    }
    is_new
}

/// The thread looks for what peers have stored only in each such turn, unless it found something the last time: it compares all memory then.
const SELDOM: u32 = 16;

/// The thread: what the program stores leaves although it never flushes, and what peers store is shown. Ends with the last shadow.
fn look_again() {
    let (mut turn, mut last) = (0, 0);
    loop {
        turn += 1;
        std::thread::sleep(NAP);
        let mut shadows = SHADOWS.lock();
        shadows.0.retain(|shadow| shadow.strong_count() > 0);
        if shadows.0.is_empty() {
            shadows.1 = false;
            return;
        }
        drop(shadows);
        flush(Until::Arrived);
        if turn - last >= SELDOM && !fetch() {
            last = turn;
        }
    }
}
