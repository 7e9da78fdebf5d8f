//! Teams: split, destroy (contract: coll.md §9).

#![allow(unsafe_code)] // client memory and mapped regions

use super::area::Block;
use super::call::{Addresses, Call, Kind, flags};
use super::cells::{CellPath, Cells};
use super::phase::Context;
use super::span::{Buffer, Span};
use super::team::{Images, Team, TeamRef};
use super::{ALL, Coll, Mapped, mutual, select};
use crate::am::corrupt::corrupt;
use crate::base::error::{Error, bad_arg};
use std::sync::Arc;

impl<A: Mapped> Coll<A> {
    /// Splits `parent`. Members that give the same color become a team, ordered by (`relrank`, place in the parent).
    /// Returns the new team's handle. Blocks until all members of the parent have called.
    pub fn split(&'static self, parent: usize, color: u32, relrank: u32) -> Result<usize, Error> {
        let parent = self.team(parent)?;
        let mine = [u64::from(color) << 32 | u64::from(relrank)];
        let given = self.collect(&parent, &mine);
        let of = |m: &usize| (given[*m] as u32, *m);
        let mut members: Vec<usize> = (0..parent.members()).filter(|m| (given[*m] >> 32) as u32 == color).collect();
        members.sort_unstable_by_key(of);
        let block = Block::new(members.len(), self.debug);
        let Some((base, used)) = self.heap.take(block.bytes()) else {
            return Err(Error::resource(format_args!(
                "no room for a team of {} in the collective region",
                members.len()
            )));
        };
        let bases = self.collect_after(&parent, (base, used), block, &members);
        if let Some(other) = members.iter().find(|m| !self.area.may_hold(&block, bases[**m])) {
            corrupt(parent.cells.rank(*other), "a team's cells outside the collective region");
        }
        let me = members.iter().position(|m| *m == parent.me()).expect("we gave the color");
        let paths: Box<[CellPath<A>]> = members
            .iter()
            .map(|m| {
                let rank = parent.cells.rank(*m);
                CellPath::new(rank, bases[*m] as usize)
            })
            .collect();
        // A region's offset is used by one living team of the node, so the first member's rank and offset identify
        // the team.
        let id = u64::from(paths[0].rank) << 40 | paths[0].base as u64;
        let cells = Cells::new(me, block, self.region.clone(), paths, self.reach.clone());
        let images = Images::One(members.len());
        // SAFETY: the caller of `Coll::new` promised what `ModeLock::new` asks for.
        let team = unsafe { Team::new(self.threaded, self.debug, cells, images, id) };
        Ok(self.keep(Arc::new(team)))
    }

    /// Sends the members of the parent the place of the cleared block, and collects theirs. Before, the first `used`
    /// bytes of the block may be non-zero.
    fn collect_after(
        &'static self,
        parent: &TeamRef<A>,
        (base, used): (usize, usize),
        block: Block,
        members: &[usize],
    ) -> Vec<u64> {
        let paths = members.iter().map(|_| CellPath::new(0, base)).collect();
        Cells::new(0, block, self.region.clone(), paths, self.reach.clone()).clear(used);
        self.collect(parent, &[base as u64])
    }

    /// A gather_all of one word from each member.
    pub fn collect(&'static self, team: &TeamRef<A>, mine: &[u64; 1]) -> Vec<u64> {
        let members = team.members();
        let (source, result) = (Buffer::new(8), Buffer::new(8 * members));
        // SAFETY: one readable word.
        unsafe { Span::of(&source).write(0, mine.as_ptr().cast(), 8) };
        let call = Call {
            kind: Kind::GatherAll,
            root: 0,
            each: 8,
            flags: flags::IN_MYSYNC | flags::OUT_MYSYNC,
            dst: Addresses::one(Span::of(&result).address().unwrap_or(0)),
            src: Addresses::one(Span::of(&source).address().unwrap_or(0)),
            lists: false,
            reduction: None,
            origin: None,
        };
        let algorithm = select::algorithm(Kind::GatherAll, self.direct, members, 8);
        let cx = Context::new(self, team.clone(), 1, None);
        self.block_on(mutual::gather_all(&cx, &call, algorithm));
        let mut words = vec![0u64; members];
        // SAFETY: as many bytes as the result has.
        unsafe { Span::of(&result).read(0, words.as_mut_ptr().cast(), 8 * members) };
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
