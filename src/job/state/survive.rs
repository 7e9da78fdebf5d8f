//! A job that goes on without nodes that die (`gasnetrun_sci --survive`), as one of its nodes sees it: who is lost, and what all do
//! together with those that are left.
//!
//! A thread waits for losses, in a job that survives only, and sees to them. So no message costs more for it, and what the program does
//! meanwhile does not matter.

use super::Job;
use crate::am::wait::Rest;
use crate::base::error::Error;
use crate::deck::engine::Deck;
use crate::deck::survive::roll::{Losses, Roll};
use crate::os::own_threads;
use crate::sci::{Host, JobAdapter};
use crate::supervise::{Boxes, JobHeader};
use std::time::Duration;

/// Bytes of the thread's stack.
const STACK: usize = 256 << 10;
/// How often the thread looks by itself, in case the kernel refuses to wake it. A node then sees a loss late, but within a second.
const NO_NEWS: Duration = Duration::from_millis(200);

impl Roll for JobHeader {
    fn losses(&self) -> u32 {
        JobHeader::losses(self)
    }
    fn is_lost(&self, node: u32) -> bool {
        self.record(node).is_lost()
    }
    fn settled(&self, node: u32) -> u32 {
        self.record(node).settled()
    }
    fn settle(&self, node: u32, losses: u32) {
        self.record(node).settle(losses);
    }
}

impl Job {
    /// What the engine of mail boxes needs in a job that survives; `None`: this one does not, or its program uses GASNet, too (`alone`
    /// is false). Ends the job where it cannot.
    pub(super) fn losses(&self, alone: bool) -> Option<Losses> {
        if !alone || !self.memory.header().survives() {
            return None;
        }
        assert!(self.client.threaded, "a job of mail boxes alone is one of threads");
        if self.adapter.far().is_some() {
            super::super::fatal(format_args!(
                "--survive works on one host only, and this job counts as one of several"
            ));
        }
        Some(Losses::new(Box::new(*self.memory.header()), self.nodes()))
    }

    /// From now on the others can do without this node, and it can do without them.
    pub(super) fn survive(&'static self, deck: &'static Deck<Host>) -> Result<(), Error> {
        let header = *self.memory.header();
        let watch = move || {
            let mut seen = 0;
            loop {
                header.await_losses(seen, NO_NEWS);
                if header.losses() != seen {
                    seen = deck.see_to_losses(seen);
                }
            }
        };
        own_threads::spawn("deck-survive", STACK, watch)
            .map_err(|error| Error::resource(format_args!("the thread that waits for losses: {error}")))?;
        header.record(self.rank).set_boxes(Boxes::Open);
        Ok(())
    }

    /// Waits until all nodes that are left have come as far as `boxes`, and serves messages meanwhile.
    pub fn await_survivors(&self, boxes: Boxes) {
        let header = self.memory.header();
        header.record(self.rank).set_boxes(boxes);
        let all = || header.records().iter().all(|record| record.boxes() >= boxes || record.is_lost());
        let mut failed = 0;
        while !all() {
            failed = self.am.wait_step_with(failed, Rest::Short, all);
        }
    }
}
