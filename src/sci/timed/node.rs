//! What a node has under way: packets, kept stores, DMA transfers; and what it has sent to each peer.
//!
//! All of it is behind the lock of `core`. Must not know: clocks, waiting, threads.

use super::engine::Engine;
use crate::sci::delayed::{Store, Waiting};
use crate::sci::model::{Issuer, Packet};
use crate::sci::{Adapter, RemoteInterrupt};
use std::collections::VecDeque;

/// What went to a peer (rule 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets of a whole line.
    pub p64: u64,
    /// Packets of up to 16 bytes.
    pub p16: u64,
    /// Bytes stored by PIO: words, packets, published words, writes, fills.
    pub pio: u64,
    /// DMA transfers, and their bytes.
    pub dma: [u64; 2],
    /// Reads, and their bytes.
    pub read: [u64; 2],
    /// Interrupts that it was sent.
    pub irq: u64,
}

impl Traffic {
    /// Counts so many packets.
    pub(super) fn packets(&mut self, packet: Packet, count: usize) {
        match packet {
            Packet::Line => self.p64 += count as u64,
            Packet::Piece => self.p16 += count as u64,
        }
    }
}

/// What is to happen when a store has arrived, apart from the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ring {
    /// Nothing.
    No,
    /// The peer is woken if it is armed.
    IfArmed,
    /// The peer is woken.
    Always,
}

/// A store that has not arrived.
pub(super) struct Kept<A: Adapter> {
    pub(super) peer: usize,
    /// When the hardware has brought it.
    arrive: f64,
    /// When it counts as arrived: later, if it is a message and the software of then is slow.
    pub(super) due: f64,
    pub(super) store: Waiting<A::Remote>,
    pub(super) ring: Ring,
}

/// What a node knows of a peer.
pub(super) struct Peer<A: Adapter> {
    pub(super) traffic: Traffic,
    /// When the hardware brings the last store to it, and when that counts as arrived. Later ones do not arrive before.
    last: [f64; 2],
    /// Its interrupt, from the first use on.
    pub(super) interrupt: Option<A::RemoteInterrupt>,
}

impl<A: Adapter> Default for Peer<A> {
    fn default() -> Self {
        Peer { traffic: Traffic::default(), last: [0.0; 2], interrupt: None }
    }
}

/// What a node has under way.
pub(super) struct UnderWay<A: Adapter> {
    pub(super) issuer: Issuer,
    /// In the order in which they were stored. Those of one peer are due in this order.
    pub(super) kept: VecDeque<Kept<A>>,
    pub(super) engine: Engine,
    peers: Vec<Peer<A>>,
    /// How long this node has waited in store barriers since it stored something last.
    barrier: f64,
}

impl<A: Adapter> UnderWay<A> {
    pub(super) fn new() -> Self {
        UnderWay {
            issuer: Issuer::default(),
            kept: VecDeque::new(),
            engine: Engine::default(),
            peers: Vec::new(),
            barrier: 0.0,
        }
    }

    /// A store barrier has waited for `time`.
    pub(super) fn barrier_took(&mut self, time: f64) {
        self.barrier += time.max(0.0);
    }

    /// How much later than its packet a store counts as arrived, for which the software of then needed `software`. A barrier directly before it was
    /// made by that software as well, so its time is in `software` already.
    pub(super) fn late(&mut self, software: f64) -> f64 {
        (software - std::mem::take(&mut self.barrier)).max(0.0)
    }

    pub(super) fn peer(&mut self, peer: usize) -> &mut Peer<A> {
        if self.peers.len() <= peer {
            self.peers.resize_with(peer + 1, Peer::default);
        }
        &mut self.peers[peer]
    }

    /// Keeps a store that arrives at `arrive` and counts as arrived `late` afterwards, or when the one before it to this peer
    /// does, if that is later. Returns when that is, if it is a published word or a packet: the peer looks for these.
    pub(super) fn keep(&mut self, peer: usize, arrive: f64, late: f64, store: Waiting<A::Remote>) -> Option<f64> {
        let last = &mut self.peer(peer).last;
        *last = [last[0].max(arrive), last[1].max(arrive + late)];
        let [arrive, due] = *last;
        if matches!(&store.store, Store::Bytes(bytes) if bytes.is_empty()) {
            return None; // all of it was stored at once
        }
        let ring = match store.store {
            Store::Publish(_) | Store::Publish32(_) | Store::Packet(..) => Ring::IfArmed,
            Store::Words(_) | Store::Bytes(_) => Ring::No,
        };
        self.kept.push_back(Kept { peer, arrive, due, store, ring });
        (ring != Ring::No).then_some(due)
    }

    /// Lets the last store on its way to `peer` ring its bell too. False: nothing is on its way.
    pub(super) fn ring_with_last(&mut self, peer: usize, ring: Ring) -> bool {
        let last = self.kept.iter_mut().rev().find(|kept| kept.peer == peer);
        let is_there = last.is_some();
        last.into_iter().for_each(|kept| kept.ring = kept.ring.max(ring));
        is_there
    }

    /// Makes the stores that are due at `now`.
    pub(super) fn deliver(&mut self, adapter: &A, now: f64) {
        self.deliver_if(adapter, |kept| kept.due <= now);
    }

    /// Makes the stores that the hardware has brought at `now`: behind a barrier they are there.
    pub(super) fn deliver_all(&mut self, adapter: &A, now: f64) {
        self.deliver_if(adapter, |kept| kept.arrive <= now);
    }

    fn deliver_if(&mut self, adapter: &A, is_due: impl Fn(&Kept<A>) -> bool) {
        let mut at = 0;
        while at < self.kept.len() {
            if !is_due(&self.kept[at]) {
                at += 1;
                continue;
            }
            let Some(Kept { peer, store, ring, .. }) = self.kept.remove(at) else { break };
            store.deliver();
            self.ring(adapter, peer, ring);
        }
    }

    /// Wakes a peer, as `ring` says.
    pub(super) fn ring(&mut self, adapter: &A, peer: usize, ring: Ring) {
        if ring == Ring::No {
            return;
        }
        let of = self.peer(peer);
        if of.interrupt.is_none() {
            // A node that has no bell has never been there: nobody sleeps.
            of.interrupt = adapter.connect_interrupt(crate::sci::NodeId(peer as u16)).ok();
        }
        let Some(bell) = &of.interrupt else { return };
        if ring == Ring::Always || bell.is_armed() {
            of.traffic.irq += 1;
            bell.trigger();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sci::heap::Heap;

    #[test]
    fn the_software_of_a_message_has_made_the_barrier_before_it() {
        let mut state = UnderWay::<Heap>::new();
        assert_eq!(state.late(6000.0), 6000.0);
        state.barrier_took(5390.0);
        state.barrier_took(-10.0); // all was acknowledged
        assert_eq!(state.late(6000.0), 610.0);
        assert_eq!(state.late(6000.0), 6000.0, "it was before another store");
        state.barrier_took(6001.0);
        assert_eq!(state.late(6000.0), 0.0);
    }
}
