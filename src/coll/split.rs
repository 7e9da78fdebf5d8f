//! Teams: split, create, destroy (contract: coll.md §9, ex-coll.md §7).

#![allow(unsafe_code)] // client memory and mapped regions

use super::area::Block;
use super::audit::misfit;
use super::call::{Addresses, Call, Kind, flags};
use super::cells::{CellPath, Cells};
use super::phase::Context;
use super::span::{Buffer, Span};
use super::team::{Images, Team, TeamRef};
use super::{ALL, Coll, mutual, select};
use crate::base::error::{Error, bad_arg};
use crate::sci::Mapped;
use crate::sync::Ordering;
use std::sync::Arc;

/// What a member of the parent gives for a split: its color, and its place among those of the color. `None`: it joins no team.
pub type Given = Option<(u32, u32)>;

impl<A: Mapped> Coll<A> {
    /// Splits `parent`. Members that give the same color become a team, ordered by (the place they give, place in the
    /// parent). Returns the new team's handle; `None`: this member joins no team. Blocks until all members of the parent have
    /// called.
    pub fn split(&'static self, parent: usize, mine: Given) -> Result<Option<usize>, Error> {
        let parent = self.team(parent)?;
        let words = mine.map_or([0, 0], |(color, order)| [1, u64::from(color) << 32 | u64::from(order)]);
        let given = self.collect(&parent, words);
        let mut members: Vec<(u64, u32)> = match mine {
            None => Vec::new(),
            Some((color, _)) => {
                let joins = |(m, [joins, place]): (u32, &[u64; 2])| {
                    (*joins == 1 && (*place >> 32) as u32 == color).then_some((*place, m))
                };
                (0..).zip(&given).filter_map(joins).collect()
            }
        };
        members.sort_unstable();
        let members: Vec<u32> = members.into_iter().map(|(_, member)| member).collect();
        self.make(&parent, &members)
    }

    /// Makes a team of these members of `parent`, in this order. All members of `parent` must call, each with the list of its
    /// own team, or with an empty one. Returns the handle; `None` for an empty list. Blocks until all have called.
    pub fn create(&'static self, parent: usize, members: &[u32]) -> Result<Option<usize>, Error> {
        self.make(&self.team(parent)?, members)
    }

    fn make(&'static self, parent: &TeamRef<A>, members: &[u32]) -> Result<Option<usize>, Error> {
        if members.is_empty() {
            self.collect(parent, [u64::MAX, 0, 0]);
            return Ok(None);
        }
        let Some(me) = members.iter().position(|m| *m as usize == parent.me()) else {
            return bad_arg(format_args!("the caller is not among the members of its team"));
        };
        let block = Block::new(members.len(), self.debug);
        let Some((base, used)) = self.heap.take(block.bytes()) else {
            return Err(Error::resource(format_args!(
                "no room for a team of {} in the collective region",
                members.len()
            )));
        };
        let paths = members.iter().map(|_| CellPath::new(0, base)).collect();
        Cells::new(0, block, self.region.clone(), paths, self.reach.clone()).clear(used);
        // The lists must be equal, which a sum over them shows well enough.
        let sum = (0..).zip(members).fold(members.len() as u64, |sum, (i, m)| {
            sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(*m) << 32 ^ i
        });
        // ORDERING: Relaxed: it orders nothing. All that counts is that no two teams get the same number.
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let bases = self.collect(parent, [base as u64, sum, number.into()]);
        for member in members {
            let [theirs, list, _] = bases[*member as usize];
            let rank = parent.cells.rank(*member as usize);
            if theirs == u64::MAX || list != sum {
                self.heap.give(base, block.bytes());
                return bad_arg(format_args!("process {rank} gives other members for this team"));
            }
            if !self.area.may_hold(&block, theirs) {
                misfit(rank, "a team's cells outside the collective region");
            }
        }
        let path = |m: &u32| CellPath::new(parent.cells.rank(*m as usize), bases[*m as usize][0] as usize);
        let paths: Box<[CellPath<A>]> = members.iter().map(path).collect();
        // A region's offset is used by one living team of the node, so the first member's rank and offset identify
        // the team.
        let id = u64::from(paths[0].rank) << 40 | paths[0].base as u64;
        let name = [paths[0].rank, bases[members[0] as usize][2] as u32];
        let cells = Cells::new(me, block, self.region.clone(), paths, self.reach.clone());
        let images = Images::One(members.len());
        // SAFETY: the caller of `Coll::new` promised what `ModeLock::new` asks for.
        let mut team = unsafe { Team::new(self.threaded, self.debug, cells, images, id) };
        team.name = Some(name);
        Ok(Some(self.keep(Arc::new(team))))
    }

    /// A gather_all of a few words from each member.
    pub fn collect<const WORDS: usize>(&'static self, team: &TeamRef<A>, mine: [u64; WORDS]) -> Vec<[u64; WORDS]> {
        let each = size_of_val(&mine);
        let members = team.members();
        let (source, result) = (Buffer::new(each), Buffer::new(each * members));
        // SAFETY: readable words, as many.
        unsafe { Span::of(&source).write(0, mine.as_ptr().cast(), each) };
        let call = Call {
            kind: Kind::GatherAll,
            root: 0,
            each,
            flags: flags::IN_MYSYNC | flags::OUT_MYSYNC,
            dst: Addresses::one(Span::of(&result).address().unwrap_or(0)),
            src: Addresses::one(Span::of(&source).address().unwrap_or(0)),
            lists: false,
            reduction: None,
            origin: None,
        };
        let algorithm = select::algorithm(Kind::GatherAll, self.form(team, Kind::GatherAll), each);
        let cx = Context::new(self, team.clone(), 1, None);
        self.block_on(mutual::gather_all(&cx, &call, algorithm));
        let mut words = vec![[0; WORDS]; members];
        // SAFETY: as many bytes as the result has.
        unsafe { Span::of(&result).read(0, words.as_mut_ptr().cast(), each * members) };
        words
    }

    fn keep(&self, team: Arc<Team<A>>) -> usize {
        let mut teams = self.teams.write();
        let index = teams.iter().position(Option::is_none).unwrap_or_else(|| {
            teams.push(None);
            teams.len() - 1
        });
        teams[index] = Some(team);
        index + 2
    }

    /// Ends a team. All members must call. Blocks until all have, and until no collective of the team is under way
    /// here.
    pub fn destroy(&'static self, handle: usize) -> Result<(), Error> {
        if handle == ALL {
            return bad_arg(format_args!("the team of all nodes can't be destroyed"));
        }
        let team = self.split_team(handle)?;
        let mut failed = 0;
        while Arc::strong_count(&team) > 2 {
            failed = self.am.wait_step(failed); // runs the team's collectives
        }
        while team.lags() {
            failed = self.am.wait_step(failed);
            team.follow(self.am);
        }
        while !team.stop_credits() {
            failed = self.am.wait_step(failed);
        }
        {
            // Each member hears from each, because a credit that is still on its way must not reach the next team of
            // this block.
            let cx = Context::new(self, TeamRef::Split(team.clone()), 1, None);
            self.block_on(async { cx.phase(0).await.wait_for_each(super::cells::Word::Leave).await });
        }
        self.teams.write()[handle - 2] = None;
        // All members have finished all numbers, so none reads the bytes that were sent ahead.
        team.kept.give(&self.stage);
        self.heap.give(team.cells.base(), team.cells.block().bytes());
        Ok(())
    }
}
