//! The target's side: what peers recorded is stored in this node's regions, if they may write there.
//!
//! Invariant: no byte is written that the sender may not write. Each region says which ranges a peer may write (`Region`); a
//! record outside ends the job with a line, because no sender of ours makes one.
//!
//! Must not know: where records come from, what the regions are for.

#![allow(unsafe_code)] // this node's regions, which peers write

use super::record::{Kind, Record, split, word};
use crate::sci::{LocalMap, SegmentId};
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::OnceLock;

/// What peers may write of a region. Where that never changes, a closure is enough.
pub trait Rule: Send + Sync {
    /// May `peer` store `len` bytes at `offset`, by a record?
    fn may_store(&self, peer: u32, offset: usize, len: usize) -> bool;
    /// May `peer` write `len` bytes at `offset`, by the wire? If so the write has begun.
    fn begins(&self, peer: u32, offset: usize, len: usize) -> bool {
        self.may_store(peer, offset, len)
    }
    /// A write at `offset` that has begun is over.
    fn ends(&self, _offset: usize) {}
    /// This thread leaves the job, and must not wait for a lock that it has.
    fn leaves(&self) {}
}

impl<F: Fn(u32, usize, usize) -> bool + Send + Sync> Rule for F {
    fn may_store(&self, peer: u32, offset: usize, len: usize) -> bool {
        self(peer, offset, len)
    }
}

/// The rule of a region.
pub type MayWrite = Box<dyn Rule>;

/// A region of this node into which peers of other hosts may write.
struct Region {
    base: *mut u8,
    len: usize,
    may_write: MayWrite,
    _map: Box<dyn Send + Sync>,
}

// SAFETY: `base` is the map's that lies beside it; peers and threads access the memory as the engines' protocol says.
unsafe impl Send for Region {}
// SAFETY: `base` is the map's that lies beside it; peers and threads access the memory as the engines' protocol says.
unsafe impl Sync for Region {}

/// Number of the regions, at most: their ids are small.
const REGIONS: usize = 8;

/// The regions of this node.
#[derive(Default)]
pub struct Regions {
    table: [OnceLock<Region>; REGIONS],
}

impl Regions {
    /// Lets peers write into region `id`, as far as `may_write` says. Once for each region, before anything comes.
    pub fn admit<M: LocalMap>(&self, id: SegmentId, map: M, may_write: MayWrite) {
        let (base, len) = (if map.is_empty() { std::ptr::null_mut() } else { map.ptr(0) }, map.len());
        let region = Region { base, len, may_write, _map: Box::new(map) };
        assert!(self.table[id.0 as usize].set(region).is_ok(), "admitted once");
    }

    /// This thread leaves the job.
    pub fn leaves(&self) {
        self.table.iter().filter_map(OnceLock::get).for_each(|region| region.may_write.leaves());
    }

    /// The region, if it has `len` bytes at `offset`.
    fn region(&self, id: SegmentId, offset: usize, len: usize) -> Option<&Region> {
        let region = self.table.get(id.0 as usize)?.get()?;
        (offset <= region.len && len <= region.len - offset).then_some(region)
    }

    /// Where `peer` may store `len` bytes at `offset` of region `id`.
    pub fn place(&self, id: SegmentId, peer: u32, offset: usize, len: usize) -> Option<*mut u8> {
        let region = self.region(id, offset, len)?;
        region.may_write.may_store(peer, offset, len).then(|| region.base.wrapping_add(offset))
    }

    /// Where the wire may write `len` bytes at `offset` of region `id` for `peer`, until [`Regions::end`].
    pub fn begin(&self, id: SegmentId, peer: u32, offset: usize, len: usize) -> Option<*mut u8> {
        let region = self.region(id, offset, len)?;
        region.may_write.begins(peer, offset, len).then(|| region.base.wrapping_add(offset))
    }

    /// The write that began there is over.
    pub fn end(&self, id: SegmentId, offset: usize) {
        if let Some(region) = self.region(id, offset, 0) {
            region.may_write.ends(offset);
        }
    }

    /// Stores what the records of a frame of `peer` say, in their order. The error says what is wrong with the first one that is
    /// not right; those before it are stored.
    pub fn apply(&self, peer: u32, mut frame: &[u8]) -> Result<(), String> {
        while !frame.is_empty() {
            let (record, rest) = split(frame).ok_or_else(|| format!("{} bytes that are no record", frame.len()))?;
            frame = rest;
            let place = self.place(record.region, peer, record.offset, record.covers()).ok_or_else(|| {
                let Record { region, offset, kind, .. } = record;
                format!(
                    "a store ({kind:?}) of {} bytes at {offset} of region {}, which is not its own",
                    record.covers(),
                    region.0
                )
            })?;
            // SAFETY: `place` allowed the range, and its kind says that it is aligned: regions begin on pages.
            unsafe { store(place, &record) };
        }
        Ok(())
    }
}

/// # Safety
/// `record.covers()` bytes at `place` are writable, aligned as the record's kind says.
unsafe fn store(place: *mut u8, record: &Record<'_>) {
    let bytes = record.bytes;
    match record.kind {
        // SAFETY: the caller promises `len` writable bytes; a frame lies outside all regions.
        Kind::Bytes => unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) },
        // SAFETY: the caller promises `len` writable bytes.
        Kind::Fill => unsafe { place.write_bytes(bytes[0], record.covers()) },
        // SAFETY: the caller promises aligned words.
        Kind::Words => unsafe { store_words(place, bytes) },
        Kind::Packet => {
            let (head, body) = bytes.split_at(8);
            // SAFETY: the caller promises aligned words, one more than the body has.
            unsafe { store_words(place.wrapping_add(8), body) };
            // SAFETY: the caller promises an aligned word.
            unsafe { publish(place, word(head)) };
        }
        // SAFETY: the caller promises an aligned word.
        Kind::Publish => unsafe { publish(place, word(bytes)) },
        Kind::Publish32 => {
            let value = bytes.first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
            // SAFETY: the caller promises four aligned bytes that live as long as the process.
            let half = unsafe { AtomicU32::from_ptr(place.cast()) };
            fence(Ordering::Release); // ORDERING: as in `publish`
            half.store(value, Ordering::Release); // ORDERING: as in `publish`
        }
    }
}

/// # Safety
/// As many bytes at `place` are writable, as aligned words.
unsafe fn store_words(place: *mut u8, bytes: &[u8]) {
    for (i, eight) in bytes.chunks_exact(8).enumerate() {
        // SAFETY: the caller promises aligned words that live as long as the process.
        let cell = unsafe { AtomicU64::from_ptr(place.wrapping_add(8 * i).cast()) };
        cell.store(word(eight), Ordering::Relaxed); // Relaxed: a publish orders it
    }
}

/// # Safety
/// `place` is a writable, aligned word.
unsafe fn publish(place: *mut u8, value: u64) {
    // SAFETY: the caller promises an aligned word that lives as long as the process.
    let cell = unsafe { AtomicU64::from_ptr(place.cast()) };
    // ORDERING: Release ↔ the reader's Acquire load of this word: a reader that sees it sees what the records before it stored.
    // The fence is for stores after this one, as in `Span::barrier`.
    fence(Ordering::Release);
    cell.store(value, Ordering::Release); // ORDERING: as above
}
