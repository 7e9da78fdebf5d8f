//! Starts a collective: chooses the algorithm, calls it, and finds the handle that counts it.
//!
//! Calls of GASNet-1 with `AGGREGATE` form a group with the next call of their thread on the same team (contract: coll.md §7). Those of
//! GASNet-EX and of mail boxes belong to no group, and end none.
//!
//! Must not know: how bytes move, how members agree.

use super::call::{Call, Kind, flags};
use super::cells::Word;
use super::combine::Combine;
use super::engine::{Coll, IMAGE};
use super::phase::Context;
use super::select::Algorithm;
use super::tasks::{Task, Work};
use super::team::{Images, Team, TeamRef};
use super::{mutual, reduce, rooted, select};
use crate::base::error::{Error, bad_arg};
use crate::sci::Mapped;
use crate::xfer::event::{self, Whose, full};
use crate::xfer::home::{self, Taken};

thread_local! {
    static HERE: u8 = const { 0 };
}

fn thread() -> usize {
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

impl<A: Mapped> Coll<A> {
    /// Runs a collective of GASNet-1. With `blocking`, returns 0 when it is done. Otherwise returns its handle, or 0 if it
    /// is already done.
    pub fn run(&'static self, team: TeamRef<A>, call: Call, blocking: bool) -> Result<usize, Error> {
        if blocking && call.has(flags::AGGREGATE) {
            return bad_arg(format_args!("GASNET_COLL_AGGREGATE with a blocking call"));
        }
        let several = matches!(team.images, Images::Many(_));
        if blocking && !several && !self.is_aggregate_open(&team) {
            self.run_now(team, call);
            return Ok(0);
        }
        let stay = call.has(flags::AGGREGATE);
        let taken = match several {
            true => Some(self.run_image(team, call, stay)?),
            false => self.run_beside(team, call, stay)?,
        };
        let Some((id, op)) = taken else { return Ok(0) };
        let event = op.handle(id);
        if blocking {
            self.wait_for(|| event::test(event, Whose::Any))?;
            return Ok(0);
        }
        // No other code knows the event yet, so one that is complete is not needed.
        if !stay && op.is_done() {
            home::give(id, op);
            return Ok(0);
        }
        Ok(event)
    }

    /// Runs a collective that belongs to no group, and returns when it is done.
    pub fn run_now(&'static self, team: TeamRef<A>, call: Call) {
        self.block_on(self.perform(&team, call));
    }

    /// Starts a collective that belongs to no group. Returns its event; 0: it is done.
    pub fn run_alone(&'static self, team: TeamRef<A>, call: Call) -> Result<usize, Error> {
        let work = Work::Future(Box::pin(self.perform(&team, call)));
        self.begin(team, work, true)
    }

    /// The collective itself. It takes its sequence number here, not when it is first polled.
    fn perform(&'static self, team: &TeamRef<A>, call: Call) -> impl Future<Output = ()> + Send + use<A> {
        let algorithm = self.algorithm(team, &call);
        let cx = Context::new(self, team.clone(), phases(&call, algorithm), Some(&call));
        perform(cx, call)
    }

    /// Starts a collective of a node, and returns what counts it; `None` if it is done.
    fn run_beside(&'static self, team: TeamRef<A>, call: Call, stay: bool) -> Result<Option<Taken>, Error> {
        let mut task = Task::new(Work::Future(Box::pin(self.perform(&team, call))));
        let done = task.poll(&team, self.am);
        if done && !stay && !self.is_aggregate_open(&team) {
            return Ok(None);
        }
        let taken = self.group(&team, stay)?;
        if !done {
            taken.1.start();
            task.counting.push(taken);
            self.start_task(team, task);
        }
        Ok(Some(taken))
    }

    /// The algorithm that a call uses.
    fn algorithm(&self, team: &Team<A>, call: &Call) -> Algorithm {
        select::algorithm(call.kind, self.form(team, call.kind), call.each)
    }

    /// What the choice of an algorithm for this kind asks of the team.
    #[inline]
    pub(super) fn form(&self, team: &Team<A>, kind: Kind) -> select::Form {
        let reduces = matches!(kind, Kind::Reduce | Kind::ReduceAll);
        let levels = team.hosts.as_ref().is_some_and(|hosts| hosts.are_shared() && (!reduces || hosts.are_in_order()));
        select::Form { mapped: team.direct, levels, members: team.members() }
    }

    /// Makes the call of one image. The last image of the node starts the collective for all of them.
    fn run_image(&'static self, team: TeamRef<A>, call: Call, stay: bool) -> Result<Taken, Error> {
        let taken = self.group(&team, stay)?;
        let Some((_, queue)) = self.by_image.get() else { return Ok(taken) };
        taken.1.start();
        let me = team.me();
        let image = IMAGE.get() as usize - 1 - team.images.first(me);
        let begin = |call: Call| self.perform(&team, call);
        if let Some((collective, counting)) = queue.call((&team.images, me, image), call, taken, begin) {
            let mut task = Task { work: Work::Future(Box::pin(collective)), counting };
            if task.poll(&team, self.am) {
                task.finish();
            } else {
                self.start_task(team, task);
            }
        }
        Ok(taken)
    }

    pub(super) fn is_aggregate_open(&self, team: &Team<A>) -> bool {
        self.open.with(|open| {
            let open = open.borrow();
            !open.is_empty() && open.iter().any(|(t, id, _)| (*t, *id) == (thread(), self.group_team(team)))
        })
    }

    /// The id of a team, as far as groups are concerned: clients have one name for the team of all nodes and that of all images.
    fn group_team(&self, team: &Team<A>) -> u64 {
        let by_image = self.by_image.get().is_some_and(|(images, _)| images.id == team.id);
        if by_image { self.all.id } else { team.id }
    }

    /// The operation that counts the next collective of this thread on `team`: that of the open aggregate, or a new one.
    /// With `stay` the aggregate stays open.
    fn group(&self, team: &Team<A>, stay: bool) -> Result<Taken, Error> {
        self.open.with(|open| {
            let mut open = open.borrow_mut();
            let key = (thread(), self.group_team(team));
            let found = open.iter().position(|(t, id, _)| (*t, *id) == key);
            if let Some(at) = found {
                let taken = open[at].2;
                if !stay {
                    open.swap_remove(at);
                }
                return Ok(taken);
            }
            let taken = home::take().ok_or_else(full)?;
            if stay {
                open.push((key.0, key.1, taken));
            }
            Ok(taken)
        })
    }

    /// Waits until all nodes are here.
    pub fn meet(&'static self) {
        let cx = Context::new(self, TeamRef::All(self.all), 1, None);
        self.block_on(async move { cx.phase(0).await.wait_for_all(Word::Enter).await });
    }
}

/// The number of sequence numbers that a collective takes: one for each time that two members may send each other a
/// message.
fn phases(call: &Call, algorithm: Algorithm) -> u32 {
    match (call.kind, algorithm) {
        (Kind::Reduce | Kind::ReduceAll, Algorithm::Tree(_) | Algorithm::Shared | Algorithm::Levels) => 2, // to be combined; to the root
        _ => 1,
    }
}

/// The collective itself.
async fn perform<A: Mapped>(cx: Context<A>, call: Call) {
    let algorithm = cx.coll.algorithm(&cx.team, &call);
    match (call.kind, &call.reduction) {
        (Kind::Broadcast, _) => rooted::broadcast(&cx, &call, algorithm).await,
        (Kind::Scatter, _) => rooted::scatter(&cx, &call, algorithm).await,
        (Kind::Gather, _) => rooted::gather(&cx, &call, algorithm).await,
        (Kind::GatherAll, _) => mutual::gather_all(&cx, &call, algorithm).await,
        (Kind::Exchange, _) => mutual::exchange(&cx, &call).await,
        (Kind::Reduce, Some(how)) => reduce::reduce(&cx, &call, how, algorithm).await,
        (Kind::ReduceAll, Some(how)) => reduce::reduce_all(&cx, &call, how, algorithm).await,
        (Kind::Scan, Some(Combine::Table(how))) => reduce::scan(&cx, &call, how).await,
        (Kind::Reduce | Kind::ReduceAll | Kind::Scan, _) => {}
    }
}
