//! A double of an SCI card whose DMA demands more, or less, than the emulated one. It is made of the heap adapter: what the tests change
//! are the demands, which the adapter that ships does not let anybody change.

use super::traffic::every_category_count_and_length;
use super::world::Kit;
use crate::sci::dma::Queue;
use crate::sci::heap::Heap;
use crate::sci::{Adapter, Effort, NodeId, Properties, SciError, SegmentId};
use std::time::Duration;

/// DMA in units of `ALIGN` bytes, with at least `MIN` bytes.
#[derive(Clone)]
struct Card<const ALIGN: usize, const MIN: usize>(Heap);

impl<const ALIGN: usize, const MIN: usize> Adapter for Card<ALIGN, MIN> {
    type Local = <Heap as Adapter>::Local;
    type Remote = <Heap as Adapter>::Remote;
    type LocalSegment = <Heap as Adapter>::LocalSegment;
    type RemoteSegment = <Heap as Adapter>::RemoteSegment;
    type Queue = <Heap as Adapter>::Queue;
    type Interrupt = <Heap as Adapter>::Interrupt;
    type RemoteInterrupt = <Heap as Adapter>::RemoteInterrupt;

    fn node(&self) -> NodeId {
        self.0.node()
    }

    fn properties(&self) -> Properties {
        Properties { dma_alignment: ALIGN, dma_min: MIN, ..self.0.properties() }
    }

    fn create(&self, id: SegmentId, len: usize) -> Result<Self::LocalSegment, SciError> {
        self.0.create(id, len)
    }

    fn connect(&self, node: NodeId, id: SegmentId, timeout: Duration) -> Result<Self::RemoteSegment, SciError> {
        self.0.connect(node, id, timeout)
    }

    fn dma_queue(&self, depth: usize) -> Result<Self::Queue, SciError> {
        Ok(Queue::new(self.properties(), depth))
    }

    fn interrupt(&self) -> Result<Self::Interrupt, SciError> {
        self.0.interrupt()
    }

    fn connect_interrupt(&self, node: NodeId) -> Result<Self::RemoteInterrupt, SciError> {
        self.0.connect_interrupt(node)
    }

    fn wants_polls(&self) -> bool {
        self.0.wants_polls()
    }

    fn progress(&self, effort: Effort) -> bool {
        self.0.progress(effort)
    }

    fn hold(&self) -> bool {
        self.0.hold()
    }

    fn release(&self) {
        self.0.release();
    }

    fn settle(&self) {
        self.0.settle();
    }

    fn is_expecting(&self) -> bool {
        self.0.is_expecting()
    }
}

impl<const ALIGN: usize, const MIN: usize> Kit for Card<ALIGN, MIN> {
    fn kit(nodes: u32, seed: u64) -> Vec<Self> {
        Heap::kit(nodes, seed).into_iter().map(Card).collect()
    }

    fn shares_memory_with(&self, peer: u32) -> bool {
        self.0.shares_memory_with(peer)
    }

    const SEEDS: u64 = 1;
}

#[test]
fn dma_in_units_below_a_word_puts_heads_and_tails_in_place() {
    every_category_count_and_length::<Card<4, 4>>();
    every_category_count_and_length::<Card<1, 1>>();
}

#[test]
fn dma_in_units_of_a_line_sends_heads_and_tails_by_pio() {
    every_category_count_and_length::<Card<64, 64>>();
}

#[test]
fn no_piece_of_a_bounced_payload_is_shorter_than_dma_takes() {
    every_category_count_and_length::<Card<8, 64>>();
    every_category_count_and_length::<Card<8, 1024>>();
}
