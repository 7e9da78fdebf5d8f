//! A team: its members, their images, its cells, and the book of sequence numbers (`book`).
//!
//! Must not know: collectives.

#![allow(unsafe_code)] // client memory and mapped regions

use super::area::Area;
use super::audit::Audit;
use super::book::Book;
use super::cells::{CellPath, Cells};
use super::description::Description;
use super::meeting::Meetings;
use super::reach::MemberReach;
use super::stage::Kept;
use crate::am::Am;
use crate::barrier::grouping::Grouping;
use crate::barrier::plan::Plan;
use crate::barrier::{ArrivalCells, Barrier};
use crate::sci::Adapter;
use crate::sync::ModeLock;
use crate::trace::TeamName;
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

/// A team, as one of its members has it.
pub struct Team<A: Adapter> {
    /// The words that members write for each other.
    pub cells: Cells<A>,
    /// The images whose blocks collectives move.
    pub images: Images,
    /// Equal on all members, and different for all other teams that exist: the first member's node, and where its region of the team begins.
    /// A later team may have it again, so traces have `name`.
    pub id: u64,
    /// Its name in traces; the team of all nodes has none.
    pub name: Option<TeamName>,
    /// Words and bytes go by loads and stores between all members; else between some, or none.
    pub direct: bool,
    /// Its members, host by host. `None`: all are on one host.
    pub hosts: Option<Grouping>,
    /// The barrier of a split team. The team of all nodes uses the job's.
    pub barrier: Barrier,
    /// Its meetings: barriers of GASNet-EX.
    pub meetings: Meetings,
    /// Comparisons of what members call, with debug clients.
    pub audit: Option<Audit>,
    /// The stage buffer for bytes that this member sends ahead.
    pub kept: Kept,
    pub(super) book: ModeLock<Book>,
}

impl<A: Adapter> Team<A> {
    /// # Safety
    /// The caller keeps the contract of [`ModeLock::new`].
    pub unsafe fn new(threaded: bool, debug: bool, cells: Cells<A>, images: Images, id: u64) -> Team<A> {
        let window = cells.window();
        let (me, members, hosts) = (cells.me(), cells.members(), cells.hosts());
        let direct = hosts.is_none() && cells.maps(me);
        let plan = Plan::of_barrier(me, members, hosts.as_ref(), direct);
        let meetings = Meetings::new(me, members, hosts.as_ref());
        let book = Book::new(window, &Plan::of_credits(me, members, hosts.as_ref()));
        Team {
            cells,
            images,
            id,
            name: None,
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

    fn post(&self, parity: usize, word: u64) {
        self.0.cells.post_arrival(parity, word);
    }

    fn posted(&self, member: usize, parity: usize) -> u64 {
        self.0.cells.posted_arrival(member, parity)
    }

    fn wake(&self, member: usize) {
        self.1.wake(self.0.cells.rank(member));
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
}
