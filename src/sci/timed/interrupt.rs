//! Interrupts in timing mode: a peer's bell rings when what was stored before has arrived (rule 4), and a node that was woken goes on
//! an interrupt's time later.
//!
//! Must not know: how a bell is rung.

use super::core::{Core, now};
use super::node::Ring;
use crate::sci::{Adapter, Berth, Interrupt, NodeId, RemoteInterrupt};
use std::sync::Arc;
use std::time::Duration;

/// This node's interrupt.
pub struct TimedInterrupt<A: Adapter> {
    inner: A::Interrupt,
    core: Arc<Core<A>>,
}

impl<A: Adapter> TimedInterrupt<A> {
    pub(super) fn new(inner: A::Interrupt, core: &Arc<Core<A>>) -> Self {
        TimedInterrupt { inner, core: core.clone() }
    }
}

impl<A: Adapter> Interrupt for TimedInterrupt<A> {
    fn arm(&self) {
        self.inner.arm();
    }

    fn settling(&self) -> Duration {
        self.inner.settling()
    }

    fn disarm(&self) {
        self.inner.disarm();
    }

    fn wait(&self, timeout: Duration) -> bool {
        let woken = self.inner.wait(timeout);
        if woken && !self.core.is_instant {
            self.core.wait_until(now() + self.core.setup.hardware.interrupt);
        }
        woken
    }

    fn take_berth(&self, what: u32) -> Option<Berth> {
        self.inner.take_berth(what)
    }

    fn sleep_in(&self, berth: &Berth, timeout: Duration) {
        self.inner.sleep_in(berth, timeout);
    }

    fn leave_berth(&self, berth: &Berth) -> bool {
        self.inner.leave_berth(berth)
    }
}

/// A peer's interrupt.
#[derive(Clone)]
pub struct TimedRemoteInterrupt<A: Adapter> {
    inner: A::RemoteInterrupt,
    peer: usize,
    core: Arc<Core<A>>,
}

impl<A: Adapter> TimedRemoteInterrupt<A> {
    pub(super) fn new(inner: A::RemoteInterrupt, peer: NodeId, core: &Arc<Core<A>>) -> Self {
        TimedRemoteInterrupt { inner, peer: peer.0.into(), core: core.clone() }
    }
}

impl<A: Adapter> RemoteInterrupt for TimedRemoteInterrupt<A> {
    fn is_armed(&self) -> bool {
        self.inner.is_armed()
    }

    fn trigger(&self) {
        self.core.ring(self.peer, Ring::Always);
    }

    /// An interrupt of the hardware wakes the node, whose library wakes the thread.
    fn stored_for(&self, _what: u32) {
        self.core.ring(self.peer, Ring::IfArmed);
    }

    fn call(&self, berth: &Berth) {
        self.inner.call(berth);
    }

    /// A look at it alone would not ring when what was stored arrives (rule 4).
    fn sleep_word(&self) -> Option<*const u32> {
        None
    }
}
