//! A team: its members, their images, its cells, and the book of sequence numbers.
//!
//! Rules of the book (rules 4 and 5 of `cells.rs`, seen from one member):
//! - Numbers are handed out in the order in which collectives are started. That order is the same on all members.
//! - A number may be used when all members have retired the number a window before it.
//! - A number is retired when this member neither reads nor writes for it any more.
//!
//! The smallest number that some member has not retired can always be used. So there is always progress.
//!
//! Must not know: collectives.

#![allow(unsafe_code)] // client memory and mapped regions

use super::area::{self, Area};
use super::audit::Audit;
use super::cells::{CellPath, Cells};
use super::description::Description;
use super::meeting::Meetings;
use super::reach::MemberReach;
use super::stage::Kept;
use crate::am::Am;
use crate::barrier::hosts::Hosts;
use crate::barrier::plan::Plan;
use crate::barrier::{ArrivalCells, Barrier};
use crate::sci::Adapter;
use crate::sync::ModeLock;
use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;

/// Which images belong to which member. The images of a member have consecutive numbers, in member order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Images {
    /// One image on each of this many members.
    One(usize),
    /// The first image of each member, and as last entry the number of all images.
    Many(Box<[u32]>),
}

impl Images {
    /// First image of a member.
    #[inline]
    pub fn first(&self, member: usize) -> usize {
        match self {
            Images::One(_) => member,
            Images::Many(starts) => starts[member] as usize,
        }
    }

    /// Number of images of a member.
    #[inline]
    pub fn count(&self, member: usize) -> usize {
        match self {
            Images::One(_) => 1,
            Images::Many(starts) => (starts[member + 1] - starts[member]) as usize,
        }
    }

    /// Number of all images.
    #[inline]
    pub fn total(&self) -> usize {
        match self {
            Images::One(members) => *members,
            Images::Many(starts) => starts.last().map_or(0, |n| *n as usize),
        }
    }

    /// The member that has an image, and the image's index among that member's.
    #[inline]
    pub fn owner(&self, image: usize) -> (usize, usize) {
        match self {
            Images::One(_) => (image, 0),
            Images::Many(starts) => {
                let member = starts.partition_point(|s| *s as usize <= image) - 1;
                (member, image - starts[member] as usize)
            }
        }
    }
}

/// The state of sequence numbers: handed out, usable, retired.
struct Book {
    /// The next number to be handed out. The first is 1.
    next: Cell<u32>,
    /// All numbers up to this one are retired here.
    retired: Cell<u32>,
    /// Bit i: number `retired` + 1 + i is retired too.
    ahead: Cell<u64>,
    /// The value of `retired` last sent to the others.
    credited: Cell<u32>,
    /// A thread is sending the others a credit now.
    is_sending: Cell<bool>,
    /// The others get no more credits.
    has_stopped: Cell<bool>,
    /// The last number known to be usable.
    usable: Cell<u32>,
}

/// A team, as one of its members has it.
pub struct Team<A: Adapter> {
    /// The words that members write for each other.
    pub cells: Cells<A>,
    /// The images whose blocks collectives move.
    pub images: Images,
    /// Equal on all members and different for all other teams: the creator's node, and the number of the team there.
    pub id: u64,
    /// Words and bytes go by loads and stores between all members; else between some, or none.
    pub direct: bool,
    /// Its members, host by host. `None`: all are on one host.
    pub hosts: Option<Hosts>,
    /// The barrier of a split team. The team of all nodes uses the job's.
    pub barrier: Barrier,
    /// Its meetings: barriers of GASNet-EX.
    pub meetings: Meetings,
    /// Comparisons of what members call, with debug clients.
    pub audit: Option<Audit>,
    /// The stage buffer for bytes that this member sends ahead.
    pub kept: Kept,
    book: ModeLock<Book>,
}

impl<A: Adapter> Team<A> {
    /// # Safety
    /// The caller keeps the contract of [`ModeLock::new`].
    pub unsafe fn new(threaded: bool, debug: bool, cells: Cells<A>, images: Images, id: u64) -> Team<A> {
        let window = cells.window();
        let (me, members, hosts) = (cells.me(), cells.members(), cells.hosts());
        let plan = hosts.as_ref().map_or_else(|| Plan::direct(me, members), |hosts| Plan::levels(me, hosts));
        let meetings = Meetings::new(me, members, hosts.as_ref());
        let direct = hosts.is_none() && cells.maps(me);
        let book = Book {
            next: Cell::new(1),
            retired: Cell::new(0),
            ahead: Cell::new(0),
            credited: Cell::new(0),
            is_sending: Cell::new(false),
            has_stopped: Cell::new(false),
            usable: Cell::new(window),
        };
        Team {
            cells,
            images,
            id,
            direct,
            hosts,
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            barrier: unsafe { Barrier::new(threaded, plan) },
            meetings,
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            audit: debug.then(|| unsafe { Audit::new(threaded) }),
            kept: Kept::default(),
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            book: unsafe { ModeLock::new(threaded, book) },
        }
    }

    /// Number of members.
    #[inline(always)]
    pub fn members(&self) -> usize {
        self.cells.members()
    }

    /// This member's place.
    #[inline(always)]
    pub fn me(&self) -> usize {
        self.cells.me()
    }

    /// Hands out `count` numbers and returns the first of them.
    pub fn reserve(&self, count: u32) -> u32 {
        self.book.with(|book| book.next.replace(book.next.get().wrapping_add(count)))
    }

    /// True if the number may be used.
    #[inline]
    pub fn is_usable(&self, seq: u32) -> bool {
        self.book.with(|book| not_after(seq, book.usable.get()) || self.look_for_credit(book, seq))
    }

    /// True if the number's part of the bytes sent ahead may be written, because all members have retired the number
    /// that used the part before.
    #[inline]
    pub fn is_part_free(&self, seq: u32) -> bool {
        let window = self.cells.window();
        self.is_usable(seq.wrapping_add(window - area::parts(window)))
    }

    #[cold]
    fn look_for_credit(&self, book: &Book, seq: u32) -> bool {
        let least = (0..self.members()).filter(|m| *m != self.me()).fold(book.retired.get(), |least, member| {
            let retired = self.cells.retired(member);
            if not_after(least, retired) { least } else { retired }
        });
        book.usable.set(least.wrapping_add(self.cells.window()));
        not_after(seq, book.usable.get())
    }

    /// Retires `count` numbers from `first` on: this member is done with them.
    pub fn retire(&self, am: &Am<A>, first: u32, count: u32) {
        let due = self.book.with(|book| {
            let offset = first.wrapping_sub(book.retired.get()).wrapping_sub(1);
            let all = book.ahead.get() | ((1u64 << count) - 1) << offset;
            let run = all.trailing_ones();
            book.ahead.set(all.checked_shr(run).unwrap_or(0));
            book.retired.set(book.retired.get().wrapping_add(run));
            self.is_due(book)
        });
        if due {
            self.send_credit(am);
        }
    }

    /// Sends the others no more credits, because their blocks may be given to other teams. Returns false if a thread
    /// is sending one right now; then try again.
    pub fn stop_credits(&self) -> bool {
        self.book.with(|book| {
            book.has_stopped.set(true);
            !book.is_sending.get()
        })
    }

    fn is_due(&self, book: &Book) -> bool {
        self.creditable(book).wrapping_sub(book.credited.get()) >= (self.cells.window() / 4).max(1)
    }

    /// The number up to which others may use the slots again: retired and, with debug clients, compared.
    fn creditable(&self, book: &Book) -> u32 {
        let retired = book.retired.get();
        match self.audit.as_ref().map(Audit::done) {
            Some(compared) if not_after(compared, retired) => compared,
            _ => retired,
        }
    }

    /// Sends the others this member's credit. One thread at a time does so, so that an old count never follows a new
    /// one. It does so outside the lock, because a message may have to wait, and handlers may run meanwhile.
    #[cold]
    fn send_credit(&self, am: &Am<A>) {
        let take = || {
            self.book.with(|book| {
                if book.is_sending.get() || book.has_stopped.get() || !self.is_due(book) {
                    return None;
                }
                book.is_sending.set(true);
                book.credited.set(self.creditable(book));
                Some(book.credited.get())
            })
        };
        while let Some(retired) = take() {
            for member in (0..self.members()).filter(|m| *m != self.me()) {
                self.cells.credit(am, member, retired);
            }
            self.book.with(|book| book.is_sending.set(false));
        }
    }

    /// Sends the others what this member calls under `seq`. That number must be usable.
    pub fn describe(&self, am: &Am<A>, seq: u32, call: &Description) {
        let mut words = call.0;
        words[0] |= u64::from(seq) << 32;
        for to in (0..self.members()).filter(|m| *m != self.me()) {
            self.cells.describe(am, to, seq, &words);
        }
    }

    /// Compares the descriptions that have come since the last time.
    pub fn compare(&self, am: &Am<A>) {
        if let Some(audit) = &self.audit {
            audit.compare(&self.cells);
            self.send_credit(am);
        }
    }
}

/// `a` ≤ `b`, for numbers that wrap.
fn not_after(a: u32, b: u32) -> bool {
    b.wrapping_sub(a) as i32 >= 0
}

/// Makes the team of all nodes, number `which`, with these images.
///
/// # Safety
/// The caller keeps the contract of [`ModeLock::new`].
pub(super) unsafe fn all_nodes<A: Adapter>(
    region: &A::Local,
    reach: &Arc<MemberReach<A>>,
    area: Area,
    which: usize,
    (threaded, debug): (bool, bool),
    me: u32,
    images: Images,
) -> Team<A> {
    let paths = (0..reach.nodes() as u32).map(|rank| CellPath::new(rank, area.base(which))).collect();
    let cells = Cells::new(me as usize, area.all(), region.clone(), paths, reach.clone());
    // SAFETY: the caller promises what `ModeLock::new` asks for.
    unsafe { Team::new(threaded, debug, cells, images, which as u64) }
}

/// A team in use. That of all nodes lives as long as the job and needs no reference count.
pub enum TeamRef<A: Adapter> {
    /// A team of all nodes or images.
    All(&'static Team<A>),
    /// A split team.
    Split(Arc<Team<A>>),
}

impl<A: Adapter> Clone for TeamRef<A> {
    #[inline(always)]
    fn clone(&self) -> Self {
        match self {
            TeamRef::All(team) => TeamRef::All(team),
            TeamRef::Split(team) => TeamRef::Split(team.clone()),
        }
    }
}

impl<A: Adapter> Deref for TeamRef<A> {
    type Target = Team<A>;
    #[inline(always)]
    fn deref(&self) -> &Team<A> {
        match self {
            TeamRef::All(team) => team,
            TeamRef::Split(team) => team,
        }
    }
}

/// The barrier among the members of a team.
pub struct Members<'a, A: Adapter>(pub &'a Team<A>, pub &'a Am<A>);

impl<A: Adapter> ArrivalCells for Members<'_, A> {
    fn members(&self) -> usize {
        self.0.members()
    }

    fn me(&self) -> usize {
        self.0.me()
    }

    fn arrive(&self, member: usize, parity: usize, word: u64) {
        self.0.cells.arrive(self.1, member, parity, word);
    }

    fn arrival(&self, member: usize, parity: usize) -> u64 {
        self.0.cells.arrival(member, parity)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn images_count_through_the_members() {
        let images = Images::Many(Box::new([0, 3, 4, 6]));
        let owners: Vec<_> = (0..images.total()).map(|i| images.owner(i)).collect();
        assert_eq!(owners, [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 1)]);
        assert_eq!((images.first(2), images.count(2)), (4, 2));
        assert_eq!((Images::One(5).owner(4), Images::One(5).total()), ((4, 0), 5));
    }

    #[test]
    fn numbers_compare_also_when_they_wrap() {
        assert!(not_after(u32::MAX, 3) && !not_after(3, u32::MAX) && not_after(7, 7));
    }
}
