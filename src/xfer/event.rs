//! Events: how callers learn that transfers are complete (contract: extended.md §3–§7; leaf events as in GASNet-EX).
//!
//! | event | stands for | synced |
//! |---|---|---|
//! | root | one explicit operation, or a closed access region | once; then it is dead, and its op is given back |
//! | leaf | a part of a root's operation: its local completion, or one category of a region | any number of times, or never; dead with its root |
//! | implicit set | the puts, gets or atomics that a thread started without an event outside regions | any number of times, by that thread |
//!
//! An event is a word. The low half is the op's number + 1. The high half is the op's use, of which two bits name the part that
//! a leaf stands for. 0 is an event that is complete. A dead event is recognised by its use, because ops are never freed
//! (`table`).
//!
//! Events belong to the process: any thread may test, wait for and sync an event that another thread started, if the client
//! orders the hand-over. Two threads must not sync one root at the same time; the later one gets an error, unless one of the
//! two started it. GASNet-1 binds its handles to the thread that started them: its API layer asks for [`Whose::of_handles`].
//!
//! Must not know: C types, error codes, the names of clients' calls.

#![allow(unsafe_code)] // client memory and mapped segments

use super::home::{self, Home, Set, Taken};
use super::op::{Op, OpId};
use super::table::Table;
use crate::base::error::{Error, bad_arg};
use std::cell::Cell;
use std::fmt;

/// Which threads' events a caller may sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Roots that the calling thread started.
    Own,
    /// Roots and leaves of any thread.
    Any,
}

impl Whose {
    /// The events that GASNet-1's syncs take: those of any thread if the client began by GASNet-EX, else the caller's own.
    #[inline(always)]
    pub fn of_handles() -> Whose {
        if Table::get().do_events_outlive_threads() { Whose::Any } else { Whose::Own }
    }
}

/// The part of an op's operation that an event stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it. Syncing it gives the op back.
    Root = 0,
    /// Local completion: the sources of its puts are free whose callers asked for that.
    Local = 1,
    /// One category of a region's operations. It is complete with the region, never before all of the category is.
    Category = 2,
}

/// Where the part stands in an event.
const PART: u32 = 32;
pub(super) const PARTS: usize = 3 << PART;

/// Why a word is not an event to sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotLive {
    /// No operation ever had it.
    Unknown,
    /// Its operation was synced before.
    Synced,
    /// Its operation is another thread's, and the caller may sync only its own.
    Foreign,
}

impl fmt::Display for NotLive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotLive::Unknown => "is not a handle",
            NotLive::Synced => "is a handle that has been synced before",
            NotLive::Foreign => "is a handle of another thread",
        })
    }
}

#[cold]
#[inline(never)]
pub(super) fn refused<T>(event: usize, why: NotLive) -> Result<T, Error> {
    bad_arg(format_args!("{event:#x} {why}"))
}

/// The error for an operation that could not be taken.
#[cold]
#[inline(never)]
pub fn full() -> Error {
    Error::resource("4 billion operations are in flight")
}

/// A live root's op, and the home of the thread that asks.
#[derive(Clone, Copy)]
pub(super) struct Live {
    pub(super) id: OpId,
    pub(super) op: &'static Op,
    here: &'static Home,
}

/// The op of a live root.
#[inline(always)]
pub(super) fn find(root: usize, whose: Whose) -> Result<Live, NotLive> {
    find_from(home::here(), root, whose)
}

/// As [`find`], for a caller that knows its thread's home.
#[inline(always)]
fn find_from(here: &'static Home, root: usize, whose: Whose) -> Result<Live, NotLive> {
    let id = OpId((root as u32).wrapping_sub(1));
    let op = Table::get().op(id).ok_or(NotLive::Unknown)?;
    let owner = op.owner();
    let live = match whose {
        Whose::Own => std::ptr::eq(owner, here),
        Whose::Any => !owner.is_null(),
    };
    if live && op.handle(id) == root {
        return Ok(Live { id, op, here });
    }
    Err(why_not(root, op.handle(id), owner.is_null()))
}

/// The error for a root that is not live. `now` is the event that the op has now, or had last if it is free.
#[cold]
#[inline(never)]
fn why_not(root: usize, now: usize, free: bool) -> NotLive {
    // Uses count up, from one on that no event has.
    let ever = (root >> PART) as u32 > super::op::NO_USE && root & PARTS == 0;
    match root.cmp(&now) {
        _ if !ever => NotLive::Unknown,
        std::cmp::Ordering::Greater => NotLive::Unknown,
        std::cmp::Ordering::Equal if !free => NotLive::Foreign,
        _ => NotLive::Synced,
    }
}

/// Gives back the op of a live, complete root.
#[inline(always)]
pub(super) fn give(root: usize, Live { id, op, here }: Live, whose: Whose) -> Result<(), Error> {
    if whose == Whose::Own || std::ptr::eq(op.owner(), here) {
        here.give((id, op));
        return Ok(());
    }
    give_back(root, (id, op))
}

#[cold]
#[inline(never)]
fn give_back(root: usize, (id, op): Taken) -> Result<(), Error> {
    match op.end_use_elsewhere() {
        Some(home) => {
            home.give_back((id, op));
            Ok(())
        }
        None => refused(root, NotLive::Synced),
    }
}

/// Syncs a root that is complete; false while it is not.
#[inline(always)]
fn sync_root(here: &'static Home, root: usize, whose: Whose) -> Result<bool, Error> {
    let live = find_from(here, root, whose).or_else(|why| refused(root, why))?;
    let done = live.op.is_done();
    if done {
        give(root, live, whose)?;
    }
    Ok(done)
}

/// Whether the leaf is complete. `None`: its root is dead.
pub(super) fn is_leaf_done(leaf: usize) -> Result<Option<bool>, Error> {
    match find(leaf & !PARTS, Whose::Any) {
        Ok(live) if leaf & PARTS == (Part::Local as usize) << PART => Ok(Some(live.op.is_locally_done())),
        Ok(live) if leaf & PARTS == (Part::Category as usize) << PART => Ok(Some(live.op.is_done())),
        Ok(_) => refused(leaf, NotLive::Unknown),
        Err(NotLive::Synced) => Ok(None),
        Err(why) => refused(leaf, why),
    }
}

/// The event of a part of a live root; 0 if that part is complete. The call allocates nothing and may be repeated. `BadArg`:
/// `root` is not a live root.
pub fn leaf(root: usize, part: Part) -> Result<usize, Error> {
    if root == 0 {
        return Ok(0);
    }
    let Live { op, .. } = find(root, Whose::Any).or_else(|why| refused(root, why))?;
    let done = if part == Part::Local { op.is_locally_done() } else { op.is_done() };
    Ok(if done { 0 } else { root | (part as usize) << PART })
}

/// The leaf of a live root for one category: local completion, or, with `set`, a region's operations of that set. 0 if that part is
/// complete, or a region has no such operations. `None`: the root has no such leaf. Regions have all, a put has that of local
/// completion if it was started with [`WhenAsked`](crate::verbs::Local::WhenAsked), and other operations have none. `BadArg`: as [`leaf`].
pub fn category(root: usize, set: Option<Set>) -> Result<Option<usize>, Error> {
    if root == 0 {
        return Ok(Some(0));
    }
    let Live { op, .. } = find(root, Whose::Any).or_else(|why| refused(root, why))?;
    match set {
        None if op.has_local() => leaf(root, Part::Local).map(Some),
        Some(set) if op.is_region() && !op.has_set(set as usize) => Ok(Some(0)),
        Some(_) if op.is_region() => leaf(root, Part::Category).map(Some),
        _ => Ok(None),
    }
}

/// Syncs an event if it is complete; false while it is not. Serves no messages. `BadArg`: it is not live.
#[inline(always)]
pub fn test(event: usize, whose: Whose) -> Result<bool, Error> {
    if event == 0 {
        return Ok(true);
    }
    if whose == Whose::Own || event & PARTS == 0 {
        return sync_root(home::here(), event, whose);
    }
    is_leaf_done(event)?.map_or_else(|| refused(event, NotLive::Synced), Ok)
}

/// Whether the event is dead: its root was synced before.
#[cold]
#[inline(never)]
pub fn is_dead(event: usize) -> bool {
    event != 0 && find(event & !PARTS, Whose::Any).err() == Some(NotLive::Synced)
}

/// A caller's array of events, or of other words of which 0 means nothing.
#[derive(Clone, Copy)]
pub struct Events {
    first: *mut usize,
    count: usize,
}

/// What one look at an array found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Synced, and overwritten with 0.
    pub synced: usize,
    /// Not complete.
    pub pending: usize,
}

impl Look {
    /// True if the caller's wish is fulfilled. With `all`: all are complete. Without: at least one was, or none is left.
    #[inline(always)]
    pub fn is_enough(self, all: bool) -> bool {
        self.pending == 0 || (!all && self.synced > 0)
    }
}

impl Events {
    /// `BadArg`: NULL for a number of events.
    ///
    /// # Safety
    /// `first` is NULL or points to `count` words, which are readable and writable, and which only the calling thread uses,
    /// as long as the value is.
    #[inline(always)]
    pub unsafe fn new(first: *mut usize, count: usize) -> Result<Events, Error> {
        if first.is_null() && count > 0 {
            return bad_arg(format_args!("NULL for an array of {count} handles"));
        }
        Ok(Events { first, count })
    }

    /// Overwrites with 0 the words for which `sync` says that they are complete. Those that are 0 already are passed over.
    #[inline(always)]
    pub fn look(self, mut sync: impl FnMut(usize) -> Result<bool, Error>) -> Result<Look, Error> {
        let mut found = Look::default();
        for i in 0..self.count {
            let place = self.first.wrapping_add(i);
            // SAFETY: i < count, and the caller of `new` promised `count` readable words.
            let event = unsafe { place.read() };
            if event == 0 {
                continue;
            }
            if sync(event)? {
                // SAFETY: i < count, and the caller of `new` promised `count` writable words.
                unsafe { place.write(0) };
                found.synced += 1;
            } else {
                found.pending += 1;
            }
        }
        Ok(found)
    }

    /// From the first word on that is not 0: programs wait for arrays of which nothing is left, and for those nothing is looked
    /// up.
    #[inline(always)]
    fn without_leading_zeros(self) -> Events {
        // SAFETY: i < count: the promise of `new`.
        let gone = (0..self.count).take_while(|i| unsafe { self.first.wrapping_add(*i).read() } == 0).count();
        Events { first: self.first.wrapping_add(gone), count: self.count - gone }
    }

    /// Syncs the events that are complete. Serves no messages. `BadArg`: one of them is not live.
    #[inline(always)]
    pub fn test(self, whose: Whose) -> Result<Look, Error> {
        let rest = self.without_leading_zeros();
        if rest.count == 0 {
            return Ok(Look::default());
        }
        let here = home::here();
        if whose == Whose::Own {
            return rest.look(|root| sync_root(here, root, whose));
        }
        rest.test_any(here)
    }

    /// A root and its leaves may stand here in any order. When this call syncs a root, its leaves become complete. So after a
    /// look that synced a root the remaining events are looked at again.
    fn test_any(self, here: &'static Home) -> Result<Look, Error> {
        let mut found = Look::default();
        let roots = Cell::new(0usize);
        loop {
            let before = roots.get();
            let look = self.look(|event| {
                if event & PARTS != 0 {
                    let done = is_leaf_done(event)?;
                    return match done {
                        None if roots.get() == 0 => refused(event, NotLive::Synced),
                        _ => Ok(done.unwrap_or(true)),
                    };
                }
                let done = sync_root(here, event, Whose::Any)?;
                roots.set(roots.get() + usize::from(done));
                Ok(done)
            })?;
            found = Look { synced: found.synced + look.synced, pending: look.pending };
            if look.pending == 0 || roots.get() == before {
                return Ok(found);
            }
        }
    }
}

/// Implicit sets of the calling thread, outside regions: any union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sets(u32);

impl Sets {
    /// None.
    pub const NONE: Sets = Sets(0);
    /// Puts, value puts, memsets.
    pub const PUTS: Sets = Sets(1);
    /// Gets.
    pub const GETS: Sets = Sets(2);
    /// Local completion of puts whose callers asked for it.
    pub const LOCAL: Sets = Sets(4);
    /// Atomic operations that read and modify.
    pub const RMW: Sets = Sets(8);
    /// All of them. A set that is complete is locally complete, too.
    pub const ALL: Sets = Sets(Sets::PUTS.0 | Sets::GETS.0 | Sets::RMW.0);

    /// Both.
    #[must_use]
    pub const fn and(self, sets: Sets) -> Sets {
        Sets(self.0 | sets.0)
    }

    const fn has(self, sets: Sets) -> bool {
        self.0 & sets.0 != 0
    }

    /// True if the sets are complete. Serves no messages. `BadArg` inside a region.
    #[inline(always)]
    pub fn test(self) -> Result<bool, Error> {
        if home::in_region() {
            return bad_arg(format_args!("an implicit sync inside an access region"));
        }
        Ok(self.are_done())
    }

    /// As [`Self::test`], outside a region.
    #[inline(always)]
    pub(super) fn are_done(self) -> bool {
        let is = |which: Sets, set: Set, done: fn(&Op) -> bool| !self.has(which) || home::set(set).is_none_or(done);
        is(Sets::PUTS, Set::Puts, Op::is_done)
            && is(Sets::GETS, Set::Gets, Op::is_done)
            && is(Sets::LOCAL, Set::Puts, Op::is_locally_done)
            && is(Sets::RMW, Set::Rmw, Op::is_done)
    }
}

/// Opens an access region on this thread: implicit operations belong to it until it is closed. `BadArg`: one is open.
pub fn begin_region() -> Result<(), Error> {
    if home::in_region() {
        return bad_arg(format_args!("an access region is open on this thread"));
    }
    home::begin_region().ok_or_else(full)
}

/// Closes this thread's region: its root, 0 when all that was started inside is complete. A region of which the DMA engine has
/// made a part has a root even then, as a single transfer has: nodes that do the same shall get the same kind of handle.
/// `BadArg`: none is open.
pub fn end_region() -> Result<usize, Error> {
    let Some(((id, op), copies)) = home::end_region() else {
        return bad_arg(format_args!("no access region is open on this thread"));
    };
    if !copies && op.is_done() {
        home::give(id, op);
        return Ok(0);
    }
    Ok(op.handle(id))
}

#[cfg(all(test, not(loom)))]
#[path = "event_tests.rs"]
mod tests;
