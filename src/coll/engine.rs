//! The engine's state, and the look-ups in it: teams, images, functions.
//!
//! Must not know: algorithms, futures, how a call is started or waited for.

#![allow(unsafe_code)] // client memory and mapped regions

use super::area::{Area, Heap};
use super::call::{Call, flags};
use super::combine::Function;
use super::images::{ImageBarrier, ImageQueue};
use super::landing::Landings;
use super::reach::MemberReach;
use super::stage::Stage;
use super::tasks::Tasks;
use super::team::{Images, Team, TeamRef, all_nodes};
use crate::am::Am;
use crate::base::error::{Error, bad_arg};
use crate::sci::Mapped;
use crate::sync::{AtomicU32, AtomicU64, ModeLock, Ordering};
use crate::xfer::home::Taken;
use parking_lot::{Mutex, RwLock};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::sync::{Arc, OnceLock};

/// The engine's connection to its job.
pub struct Setting<A: Mapped> {
    /// The message engine.
    pub am: &'static Am<A>,
    /// This node's collective region.
    pub region: A::Local,
    /// The places where peers may put bytes. It must be the value given to [`super::handlers::register`].
    pub landings: Arc<Landings>,
    /// The collective regions of all nodes.
    pub reach: MemberReach<A>,
    /// The layout of a region.
    pub area: Area,
    /// Several client threads may call at the same time.
    pub threaded: bool,
    /// The clients are debug clients.
    pub debug: bool,
    /// Peers of this host can read this node's segment.
    pub mapped: bool,
}

/// Functions and images that the client declared by `gasnet_coll_init`.
#[derive(Default)]
pub(super) struct Declared {
    pub(super) functions: Vec<(Function, u32)>,
    pub(super) images: Option<Box<[u32]>>,
    /// Number of threads of this node that have called it.
    pub(super) threads: u32,
}

/// The engine.
pub struct Coll<A: Mapped> {
    pub(crate) am: &'static Am<A>,
    pub(crate) region: A::Local,
    pub(crate) reach: Arc<MemberReach<A>>,
    pub(crate) area: Area,
    pub(crate) stage: Stage,
    pub(crate) landings: Arc<Landings>,
    pub(crate) heap: Heap,
    pub(crate) threaded: bool,
    pub(crate) debug: bool,
    mapped: bool,
    pub(super) all: &'static Team<A>,
    /// The team of all images, if some node has several.
    pub(super) by_image: OnceLock<(&'static Team<A>, ImageQueue)>,
    /// Split teams. A handle is the index plus 2.
    pub(super) teams: RwLock<Vec<Option<Arc<Team<A>>>>>,
    pub(super) declared: Mutex<Declared>,
    pub(super) ready: AtomicU32,
    pub(super) tasks: Tasks<A>,
    pub(super) image_barrier: ImageBarrier,
    pub(super) done_at_once: AtomicU64,
    /// Teams that this node has made, for their names.
    pub(super) made: AtomicU32,
    /// The index at which the next call of [`Coll::teams_in_turn`] begins.
    turn: AtomicU32,
    /// Changes each time a collective has moved bytes without being done.
    pub(super) moves: AtomicU64,
    /// Aggregates that are still open: thread, team, and the operation that counts them.
    pub(super) open: ModeLock<RefCell<Vec<(usize, u64, Taken)>>>,
}

thread_local! {
    /// The image of this thread plus 1; 0: none.
    pub(super) static IMAGE: Cell<u32> = const { Cell::new(0) };
}

/// The number of split teams that one poll of a debug client looks at.
const IN_TURN: usize = 64;

/// Indices of `len` teams that are looked at in turn `from`, each once. A turn that wraps begins again at any place.
fn in_turn(from: usize, len: usize) -> impl Iterator<Item = usize> {
    (0..len.min(IN_TURN)).map(move |i| (from % len + i) % len)
}

/// The handle of the team of all nodes.
pub const ALL: usize = 1;

impl<A: Mapped> Coll<A> {
    /// Makes the engine, with the team of all nodes.
    ///
    /// # Safety
    /// The caller keeps the contract of [`ModeLock::new`], with `setting.threaded`.
    pub unsafe fn new(setting: Setting<A>) -> Coll<A> {
        let Setting { am, region, landings, reach, area, threaded, debug, mapped } = setting;
        let (images, reach) = (Images::One(reach.nodes()), Arc::new(reach));
        // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
        let all = unsafe { all_nodes(&region, &reach, area, 0, (threaded, debug), am.me(), images) };
        Coll {
            am,
            region,
            area,
            stage: Stage::new(area.buffers()),
            landings,
            heap: area.free_space(),
            threaded,
            debug,
            mapped,
            all: Box::leak(Box::new(all)),
            reach,
            by_image: OnceLock::new(),
            teams: RwLock::default(),
            declared: Mutex::default(),
            ready: AtomicU32::new(0),
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            tasks: unsafe { Tasks::new(threaded) },
            image_barrier: ImageBarrier::default(),
            done_at_once: AtomicU64::new(0),
            made: AtomicU32::new(0),
            turn: AtomicU32::new(0),
            moves: AtomicU64::new(0),
            // SAFETY: the caller of `new` promises what `ModeLock::new` asks for.
            open: unsafe { ModeLock::new(threaded, RefCell::default()) },
        }
    }

    /// True if peers of this host can read and write `[address, address + len)`.
    pub(crate) fn is_mapped(&self, address: usize, len: usize) -> bool {
        self.mapped && self.am.table().is_segment(self.am.me(), address, len)
    }

    /// The message engine.
    pub fn am(&self) -> &'static Am<A> {
        self.am
    }

    /// Ends the engine in a process that continues, and frees the memory that the engine leaked.
    ///
    /// # Safety
    /// The engine was leaked from a box, and no code uses it or parts of it any more.
    #[cfg(all(any(test, fuzzing), not(loom)))]
    pub(crate) unsafe fn free(&'static self) {
        self.drop_tasks();
        let all = std::ptr::from_ref(self.all).cast_mut();
        // SAFETY: the caller promises that the engine was leaked from a box and is used no more.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(self).cast_mut()) });
        // SAFETY: leaked in `new`; its only user is gone.
        drop(unsafe { Box::from_raw(all) });
    }

    /// True if the clients are debug clients.
    pub fn debug(&self) -> bool {
        self.debug
    }

    /// The barrier of the node's images.
    pub fn image_barrier(&self) -> &ImageBarrier {
        &self.image_barrier
    }

    /// The team of a handle.
    #[inline]
    pub fn team(&self, handle: usize) -> Result<TeamRef<A>, Error> {
        if handle == ALL {
            return Ok(TeamRef::All(self.all));
        }
        self.split_team(handle).map(TeamRef::Split)
    }

    pub(crate) fn split_team(&self, handle: usize) -> Result<Arc<Team<A>>, Error> {
        let found = handle.checked_sub(2).and_then(|index| self.teams.read().get(index).cloned().flatten());
        match found {
            Some(team) => Ok(team),
            None => bad_arg(format_args!("{handle:#x} is not a team")),
        }
    }

    /// The team of a handle, as a collective with these flags needs it.
    #[inline]
    pub fn team_for(&self, handle: usize, flags: u32) -> Result<TeamRef<A>, Error> {
        match self.by_image.get() {
            Some((team, _)) if handle == ALL && flags & flags::NO_IMAGES == 0 => Ok(TeamRef::All(team)),
            _ => self.team(handle),
        }
    }

    /// This thread's place among the images of `team`.
    #[inline]
    pub fn place(&self, team: &Team<A>) -> Result<ImagePlace, Error> {
        let (images, me) = (&team.images, team.me());
        let (first, here) = (images.first(me), images.count(me));
        let image = match images {
            Images::One(_) => 0,
            Images::Many(_) => match (IMAGE.get() as usize).checked_sub(1 + first) {
                Some(image) if image < here => image,
                _ => return bad_arg(format_args!("this thread has not called gasnet_coll_init")),
            },
        };
        Ok(ImagePlace { first, here, image, total: images.total(), single: images.total() == team.members() })
    }

    /// The oldest call that some images of this node have made, and the images that have not made it.
    pub(crate) fn images_missing(&self) -> Option<(Call, Vec<usize>)> {
        let (team, queue) = self.by_image.get()?;
        let (call, images) = queue.missing()?;
        Some((call, images.iter().map(|image| team.images.first(team.me()) + image).collect()))
    }

    /// Calls `f` with every team.
    pub(crate) fn each_team(&self, f: impl Fn(&Team<A>)) {
        f(self.all);
        self.by_image.get().iter().for_each(|(team, _)| f(team));
        let teams: Vec<_> = self.teams.read().iter().flatten().cloned().collect();
        teams.iter().for_each(|team| f(team));
    }

    /// Calls `f` with the teams of all nodes and images, and with the next [`IN_TURN`] of the others. A poll can
    /// afford this even with thousands of teams.
    pub(crate) fn teams_in_turn(&self, f: impl Fn(&Team<A>)) {
        f(self.all);
        self.by_image.get().iter().for_each(|(team, _)| f(team));
        let teams = self.teams.read();
        // Relaxed, and not read-modify-write: two threads may look at the same teams, but no team is left out for ever.
        let from = self.turn.load(Ordering::Relaxed) as usize;
        let some: SmallVec<[_; IN_TURN]> = in_turn(from, teams.len()).filter_map(|i| teams[i].clone()).collect();
        self.turn.store(from.wrapping_add(IN_TURN) as u32, Ordering::Relaxed); // Relaxed: see the load
        drop(teams);
        some.iter().for_each(|team| f(team));
    }

    /// The function of an index, with its flags.
    pub fn function(&self, index: i32) -> Result<(Function, u32), Error> {
        let declared = self.declared.lock();
        match usize::try_from(index).ok().and_then(|i| declared.functions.get(i)) {
            Some(found) => Ok(*found),
            None => {
                let known = declared.functions.len();
                bad_arg(format_args!("reduction function {index}; gasnet_coll_init registered {known}"))
            }
        }
    }

    /// Number of images of this node that take part. Each is a thread.
    pub fn images_here(&self) -> usize {
        self.by_image.get().map_or(1, |(team, _)| team.images.count(team.me()))
    }
}

/// A thread's place among the images.
#[derive(Clone, Copy, Debug)]
pub struct ImagePlace {
    /// Number of this node's first image.
    pub first: usize,
    /// Images of this node.
    pub here: usize,
    /// The thread's image, counted from this node's first.
    pub image: usize,
    /// All images.
    pub total: usize,
    /// One image on each node.
    pub single: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_short_and_every_team_gets_one() {
        for len in [0, 1, IN_TURN - 1, IN_TURN, IN_TURN + 1, 2000] {
            let mut seen = vec![false; len];
            for turn in 0..len.div_ceil(IN_TURN) {
                let these: Vec<_> = in_turn(turn * IN_TURN, len).collect();
                assert_eq!(these.len(), len.min(IN_TURN));
                these.iter().for_each(|i| seen[*i] = true);
            }
            assert!(seen.iter().all(|seen| *seen), "{len} teams");
        }
    }
}
