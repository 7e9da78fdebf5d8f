//! Peers that are lost while the job goes on without them.
//!
//! Nothing here is asked for each message. What goes to a lost peer is stored in its memory, which stays, as long as there is room;
//! without room, a sender that would have to wait gets an error instead. So a sender finds out at the latest then.
//!
//! Must not know: who says that a peer is lost.

use super::engine::Am;
use crate::sci::Adapter;
use crate::sync::fixed::{AtomicBool, Ordering};
use std::sync::OnceLock;

/// The peers that are lost; nothing before the first one is.
#[derive(Default)]
pub struct Lost(OnceLock<Box<[AtomicBool]>>);

impl<A: Adapter> Am<A> {
    /// Node `node` is lost: nobody waits for it any more.
    pub fn lose(&self, node: u32) {
        let lost = self.lost.0.get_or_init(|| (0..self.nodes()).map(|_| AtomicBool::new(false)).collect());
        lost[node as usize].store(true, Ordering::Relaxed); // Relaxed: who waits looks again
    }

    /// Whether node `node` (below the number of nodes) is lost.
    #[cold]
    pub fn is_lost(&self, node: u32) -> bool {
        self.lost.0.get().is_some_and(|lost| lost[node as usize].load(Ordering::Relaxed)) // Relaxed: as above
    }

    /// Runs all messages of `node`, which sends no more. False: another thread polls, so not all have been run.
    pub fn drain(&self, node: u32) -> bool {
        let serve = || self.inbox.try_with(|inbox| self.adapter.together(|| inbox.serve(self, node as usize)));
        loop {
            match serve() {
                None => return false,
                Some(0) => return true,
                Some(_) => {}
            }
        }
    }
}
