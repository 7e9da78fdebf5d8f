//! Starts a collective: chooses the algorithm, calls it, and finds the handle that counts it.
//!
//! Must not know: how bytes move, how members agree.

use super::call::{Call, Kind, flags};
use super::cells::Word;
use super::engine::{Coll, IMAGE, Mapped};
use super::phase::Context;
use super::tasks::Task;
use super::team::{Images, Team, TeamRef};
use super::{mutual, reduce, rooted, select};
use crate::base::error::{Error, bad_arg};

thread_local! {
    static HERE: u8 = const { 0 };
}

fn thread() -> usize {
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

impl<A: Mapped> Coll<A> {
    /// Runs a collective. With `blocking`, returns 0 when it is done. Otherwise returns its handle, or 0 if it is
    /// already done.
    pub fn run(&'static self, team: TeamRef<A>, call: Call, blocking: bool) -> Result<usize, Error> {
        if blocking && call.has(flags::AGGREGATE) {
            return bad_arg(format_args!("GASNET_COLL_AGGREGATE with a blocking call"));
        }
        let several = matches!(team.images, Images::Many(_));
        if blocking && !several && !self.is_aggregate_open(&team) {
            let algorithm = self.algorithm(&team, &call);
            let cx = Context::new(self, team, phases(&call, algorithm), Some(&call));
            self.block_on(perform(cx, call));
            return Ok(0);
        }
        let group = self.group(&team, call.has(flags::AGGREGATE));
        if several {
            self.run_image(team, call, group);
        } else {
            let algorithm = self.algorithm(&team, &call);
            let cx = Context::new(self, team.clone(), phases(&call, algorithm), Some(&call));
            self.launch(team, Task { future: Box::pin(perform(cx, call)), handles: vec![group] });
        }
        if blocking {
            self.wait(group)?;
            return Ok(0);
        }
        // No other code knows the handle yet, so a collective that is done needs none.
        let open = self.is_aggregate_open_handle(group);
        Ok(if !open && self.handles.sync(group)? { 0 } else { group })
    }

    /// The algorithm that a call uses.
    fn algorithm(&self, team: &Team<A>, call: &Call) -> select::Algorithm {
        select::algorithm(call.kind, self.direct, team.members(), call.each)
    }

    fn run_image(&'static self, team: TeamRef<A>, call: Call, handle: usize) {
        let Some((_, queue)) = self.by_image.get() else { return };
        let me = team.me();
        let image = IMAGE.get() as usize - 1 - team.images.first(me);
        let begin = |call: Call| {
            let algorithm = self.algorithm(&team, &call);
            let cx = Context::new(self, team.clone(), phases(&call, algorithm), Some(&call));
            (cx, call)
        };
        if let Some(((cx, call), handles)) = queue.call((&team.images, me, image), call, handle, begin) {
            self.launch(team, Task { future: Box::pin(perform(cx, call)), handles });
        }
    }

    fn launch(&self, team: TeamRef<A>, mut task: Task) {
        if task.poll() {
            task.handles.iter().for_each(|h| self.handles.finish(*h));
        } else {
            self.start_task(team, task);
        }
    }

    pub(super) fn is_aggregate_open(&self, team: &Team<A>) -> bool {
        self.open.with(|open| {
            let open = open.borrow();
            !open.is_empty() && open.iter().any(|(t, id, _)| (*t, *id) == (thread(), team.id))
        })
    }

    fn is_aggregate_open_handle(&self, handle: usize) -> bool {
        self.open.with(|open| open.borrow().iter().any(|(_, _, h)| *h == handle))
    }

    /// The handle that counts the next collective of this thread on `team`: that of the open aggregate, or a new one.
    /// With `stay` the aggregate stays open.
    fn group(&self, team: &Team<A>, stay: bool) -> usize {
        self.open.with(|open| {
            let mut open = open.borrow_mut();
            let found = open.iter().position(|(t, id, _)| (*t, *id) == (thread(), team.id));
            match found {
                Some(at) => {
                    let handle = open[at].2;
                    self.handles.add(handle);
                    if !stay {
                        open.swap_remove(at);
                    }
                    handle
                }
                None => {
                    let handle = self.handles.take();
                    if stay {
                        open.push((thread(), team.id, handle));
                    }
                    handle
                }
            }
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
fn phases(call: &Call, algorithm: select::Algorithm) -> u32 {
    match (call.kind, algorithm) {
        (Kind::Reduce, select::Algorithm::Tree(_) | select::Algorithm::Shared) => 2, // to be combined; to the root
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
        (Kind::Scan, Some(how)) => reduce::scan(&cx, &call, how).await,
        (Kind::Reduce | Kind::Scan, None) => {}
    }
}
