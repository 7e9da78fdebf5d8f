//! The collectives of GASNet-EX: they run beside their callers, and their events are those of transfers (contract: ex-coll.md
//! §5, §6). Those that move bytes are the collectives of GASNet-1 with `IN_MYSYNC` and `OUT_MYSYNC`: each member
//! vouches for its own input and output only.
//!
//! Must not know: C types.

use super::call::{Call, Kind};
use super::cells::Word;
use super::combine::Combine;
use super::description::{BARRIER, Description};
use super::engine::Coll;
use super::exchange::{Exchange, is_short};
use super::phase::Context;
use super::tasks::{Task, Work};
use super::team::TeamRef;
use crate::base::error::Error;
use crate::sci::Mapped;
use crate::xfer::event::{self, Whose, full};
use crate::xfer::home;

/// Looks at a barrier or a short reduction to all, in teams of up to `DIRECT_MEMBERS`, before it becomes a task. Collectives that
/// move more bytes are polled once, and so is every barrier of debug clients; a barrier of a larger team becomes a task at once.
///
/// All looks together take about as long as to make the task (0.1 µs). So a member that comes a little before the others saves
/// that, and one that comes much earlier loses as much again. A barrier of two nodes on cores of their own takes 0.12 µs with 16
/// looks, 0.066 with 64, 0.065 with 200, and the split-phase barrier 0.063 (2026-11, EPYC 9004 VM).
const LOOKS: u32 = 64;

impl<A: Mapped> Coll<A> {
    /// Arrives at a barrier of the team. Returns its event; 0: all members have arrived.
    pub fn barrier(&'static self, team: TeamRef<A>) -> Result<usize, Error> {
        if self.debug {
            // Under a sequence number, so that calls that differ are noticed, and a wait for long as well.
            return self.meet_as(team, Description::without_data(BARRIER));
        }
        let number = team.meetings.arrive(&team.cells, self.am);
        // In a team with a plan only the thread that runs tasks may look (meeting.rs, rule 2).
        let is_over = || team.meetings.is_over(&team.cells, self.am, number);
        if team.meetings.are_direct() && (0..LOOKS).any(|_| is_over()) {
            self.serve_now_and_then();
            return Ok(0);
        }
        self.begin(team, Work::Meeting(number), false)
    }

    /// A barrier under a sequence number, whose members compare their descriptions of it.
    fn meet_as(&'static self, team: TeamRef<A>, call: Description) -> Result<usize, Error> {
        let cx = Context::described(self, team.clone(), 1, || call);
        let all = async move { cx.phase(0).await.wait_for_all(Word::Enter).await };
        self.begin(team, Work::Future(Box::pin(all)), true)
    }

    /// For debug clients: waits for all members of the team, and ends the job if they describe the call differently.
    pub fn agree(&'static self, team: TeamRef<A>, call: Description) -> Result<(), Error> {
        let event = self.meet_as(team, call)?;
        self.wait_for(|| event::test(event, Whose::Any))
    }

    /// Waits for all members of the team.
    pub fn barrier_at_once(&'static self, team: TeamRef<A>) -> Result<(), Error> {
        if self.debug || !team.meetings.are_direct() {
            let event = self.barrier(team)?;
            return self.wait_for(|| event::test(event, Whose::Any));
        }
        let number = team.meetings.arrive(&team.cells, self.am);
        self.wait_until(|| team.meetings.is_over(&team.cells, self.am, number));
        Ok(())
    }

    /// Starts a call. Returns its event; 0: it is done. In a team of one it is always done.
    pub fn start(&'static self, team: TeamRef<A>, call: Call) -> Result<usize, Error> {
        let short = call.kind == Kind::ReduceAll
            && !self.debug
            && is_short(team.members(), call.each)
            && !self.form(&team, Kind::ReduceAll).levels;
        let (true, Some(Combine::Operator(how))) = (short, call.reduction) else { return self.run_alone(team, call) };
        let cx = Context::new(self, team, 1, None);
        let mut exchange = Exchange::new(cx, how, call.dst(0, call.each), &call.src(0, call.each));
        if (0..LOOKS).any(|_| exchange.step()) {
            self.serve_now_and_then();
            return Ok(0);
        }
        self.begin(exchange.team(), Work::Future(Box::pin(exchange)), false)
    }

    /// Starts `work` beside the caller. With `may_look` it runs as far as it gets first, and is perhaps done.
    pub(super) fn begin(&self, team: TeamRef<A>, work: Work, may_look: bool) -> Result<usize, Error> {
        let mut task = Task::new(work);
        if may_look && task.poll(&team, self.am) {
            self.serve_now_and_then();
            return Ok(0);
        }
        let (id, op) = home::take().ok_or_else(full)?;
        op.start();
        task.counting.push((id, op));
        let event = op.handle(id); // before another thread can finish it
        self.start_task(team, task);
        Ok(event)
    }
}
