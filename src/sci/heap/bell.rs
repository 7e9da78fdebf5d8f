//! How threads sleep in a heap's nodes: for a short pause, in a model until they are woken, and soundly in some tests.

use super::super::NodeId;
use super::super::interrupt::{Bell, BellPlace, pause_for};
use super::HeapFabric;
#[cfg(all(test, not(loom)))]
use crate::sync::{AtomicBool, AtomicU32};
use crate::sync::{Ordering, fence, park};
use std::sync::Arc;
use std::time::Duration;

/// A node's bell.
#[derive(Clone)]
pub struct HeapBell {
    fabric: Arc<HeapFabric>,
    node: usize,
}

impl HeapBell {
    pub(super) fn new(fabric: &Arc<HeapFabric>, node: NodeId) -> HeapBell {
        HeapBell { fabric: fabric.clone(), node: usize::from(node.0) }
    }

    fn beds(&self) -> &Beds {
        &self.fabric.nodes[self.node].beds
    }
}

impl BellPlace for HeapBell {
    fn bell(&self) -> &Bell {
        &self.fabric.nodes[self.node].bell
    }

    fn senders_fence(&self) -> bool {
        self.fabric.senders_fence
    }

    fn sleeper_fence(&self) {
        // ORDERING: full fence ↔ the sender's in `stored`: else both sides look too early.
        fence(Ordering::SeqCst);
    }

    fn sleep(&self, berth: Option<usize>, seen: u32, timeout: Duration) -> bool {
        // Relaxed: as the system's own look.
        let holds = || self.bell().events().load(Ordering::Relaxed) == seen;
        #[cfg(all(test, not(loom)))]
        if let Some(sound) = &self.beds().sound
            && timeout >= Sound::LEAST
        {
            sound.sleep(berth, holds);
            return false;
        }
        match berth {
            Some(_) => self.beds().berths.sleep(holds),
            None => pause_for(timeout.min(Duration::from_micros(50))),
        }
        false
    }

    fn wake(&self, berth: Option<usize>) {
        #[cfg(all(test, not(loom)))]
        if let Some(sound) = &self.beds().sound {
            sound.wake(berth);
        }
        if berth.is_some() {
            self.beds().berths.wake();
        }
    }
}

/// Where a node's threads sleep.
#[derive(Default)]
pub(super) struct Beds {
    berths: park::Beds,
    #[cfg(all(test, not(loom)))]
    sound: Option<Sound>,
}

/// Long sleeps of a node that last until somebody ends them. So a test sees a wake-up that is missing, however slow the machine is.
#[cfg(all(test, not(loom)))]
struct Sound {
    /// How often those who sleep as the node (0), and those in each berth, were woken.
    woken: [AtomicU32; 1 + super::super::berth::BERTHS],
    asleep: AtomicU32,
    /// Nobody sleeps soundly any more.
    over: AtomicBool,
}

#[cfg(all(test, not(loom)))]
impl Sound {
    /// Shorter sleeps are those of a thread that looks by itself whether there is something to do.
    const LEAST: Duration = Duration::from_millis(5);

    fn new() -> Sound {
        Sound {
            woken: std::array::from_fn(|_| AtomicU32::new(0)),
            asleep: AtomicU32::new(0),
            over: AtomicBool::new(false),
        }
    }

    fn count(&self, berth: Option<usize>) -> &AtomicU32 {
        &self.woken[berth.map_or(0, |berth| berth + 1)]
    }

    fn sleep(&self, berth: Option<usize>, holds: impl Fn() -> bool) {
        // ORDERING: Acquire ↔ Release in `wake`: who was woken before sees the event, and one that is woken later sees another count.
        let before = self.count(berth).load(Ordering::Acquire);
        if !holds() {
            return;
        }
        self.asleep.fetch_add(1, Ordering::Relaxed); // Relaxed: a count
        // ORDERING: Acquire ↔ Release in `wake`. Relaxed: a flag, alone.
        while self.count(berth).load(Ordering::Acquire) == before && !self.over.load(Ordering::Relaxed) {
            pause_for(Duration::from_micros(50));
        }
        self.asleep.fetch_sub(1, Ordering::Relaxed); // Relaxed: as above
    }

    fn wake(&self, berth: Option<usize>) {
        self.count(berth).fetch_add(1, Ordering::Release); // ORDERING: Release ↔ Acquire in `sleep`
    }
}

#[cfg(all(test, not(loom)))]
impl HeapFabric {
    /// As [`HeapFabric::new`]: long sleeps end only by a wake-up, as where the system sleeps for a long time. Senders do not fence.
    pub(crate) fn sleeping_soundly(nodes: u32) -> Arc<HeapFabric> {
        HeapFabric::with_beds(nodes, false, |_| Beds { sound: Some(Sound::new()), ..Beds::default() })
    }

    fn sound(&self, node: u32) -> &Sound {
        self.nodes[node as usize].beds.sound.as_ref().expect("a fabric whose nodes sleep soundly")
    }

    /// How many threads of the node sleep soundly now.
    pub(crate) fn asleep(&self, node: u32) -> u32 {
        self.sound(node).asleep.load(Ordering::Relaxed) // Relaxed: a count
    }

    /// Wakes all threads, for good.
    pub(crate) fn end_sleeps(&self) {
        (0..self.nodes.len() as u32).for_each(|node| self.sound(node).over.store(true, Ordering::Relaxed)); // Relaxed: alone
    }
}
