//! What a debug client is told that waits for long: the members that have not made the call yet.
//!
//! Must not know: algorithms.

use super::description::Description;
use super::engine::Coll;
use crate::base::log;
use crate::sci::Mapped;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a member waits before it names the members that it waits for.
const PATIENCE: Duration = Duration::from_secs(5);

fn list<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// Prints, once, which members a call waits for, if it has waited for long.
pub struct Patience {
    since: Instant,
    printed: Cell<bool>,
}

impl Patience {
    /// Starts measuring the wait.
    pub fn start() -> Patience {
        Patience { since: Instant::now(), printed: Cell::new(false) }
    }

    /// Reads the clock, and prints if the wait is long.
    pub fn check<A: Mapped>(&self, coll: &Coll<A>) {
        if self.printed.get() || self.since.elapsed() < PATIENCE {
            return;
        }
        self.printed.set(true);
        let seconds = PATIENCE.as_secs();
        if let Some((call, images)) = coll.images_missing() {
            let call = Description::new(&call);
            log::advise(&format!(
                "after {seconds} s in {call}: not called yet by image {} of this node",
                list(&images)
            ));
        }
        coll.each_team(|team| {
            let Some((call, nodes)) = team.audit.as_ref().and_then(|audit| audit.missing(&team.cells)) else { return };
            if !nodes.is_empty() {
                let members = team.members();
                let nodes = list(&nodes);
                log::advise(&format!(
                    "after {seconds} s in {call}, on a team of {members}: not called yet by node {nodes}"
                ));
            }
        });
    }
}
