//! The short way of a blocking broadcast that fits a line: no future, no allocation; the root stores one line for each
//! receiver, a receiver looks at one line. A full collective of the same kind costs some 50 ns more.

use super::call::{Call, Kind, flags};
use super::select::{self, INLINE, Way};
use super::team::Team;
use super::{Coll, Mapped};
use crate::sync::spin_loop;

/// Looks at a line between two polls of the message engine, which take about as long as a line takes to come.
const LOOKS: u32 = 8;

impl<A: Mapped> Coll<A> {
    /// Does the call, if it is one of those. True when it is done.
    #[inline]
    pub(super) fn broadcast_short(&self, team: &Team<A>, call: &Call) -> bool {
        let long = call.each > INLINE || call.flags & (flags::IN_ALLSYNC | flags::OUT_ALLSYNC) != 0;
        if call.kind != Kind::Broadcast || long || !self.direct || self.debug {
            return false;
        }
        if select::way(Kind::Broadcast, true, team.members(), call.each) != Way::Flat {
            return false;
        }
        let root = team.images.owner(call.root).0;
        let seq = team.reserve(1);
        self.wait_until(|| team.is_usable(seq));
        let cells = &team.cells;
        let head = super::moves::inline_head();
        if team.me() == root {
            let words = call.src(0, call.each).words();
            for d in 1..team.members() {
                let to = (root + d) % team.members();
                cells.send(self.am, to, seq, head, &words[..call.each.div_ceil(8)]);
            }
            call.dst(0, call.each).set_words(&words);
        } else {
            self.wait_until(|| cells.head(seq, root).is_some());
            if cells.head(seq, root) != Some(head) {
                crate::am::run::corrupt(cells.rank(root), "a broadcast of another length");
            }
            call.dst(0, call.each).set_words(&cells.body(seq, root));
        }
        team.retire(self.am, seq, 1);
        true
    }

    /// Waits, serving messages.
    #[inline]
    fn wait_until(&self, ready: impl Fn() -> bool) {
        if ready() {
            self.serve_now_and_then();
            return;
        }
        let mut failed = 0;
        loop {
            for _ in 0..LOOKS {
                if ready() {
                    return;
                }
                spin_loop();
            }
            failed = self.am.wait_step_for(failed, &ready);
        }
    }
}
