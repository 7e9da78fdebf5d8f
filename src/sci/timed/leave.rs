//! What leaves a node together, by PIO or by its DMA engine, and when it arrives.
//!
//! Both take time of the links when they leave, not before: time that is taken ahead is time that others, who leave earlier, may need. So
//! a write leaves in parts, each of as many lines as may be under way ([`pio_burst`]), when its first packet may leave ([`first`]).
//!
//! Must not know: clocks, waiting, other nodes.

use super::engine::Transfer;
use super::links::Burst;
use crate::sci::model::{Issuer, Left, Packet, Parameters, Route};

/// Bytes of a line.
pub(super) const LINE: usize = 64;
/// Bytes of a transfer by DMA that look at the links once.
const DMA_BURST: usize = 4 << 10;

/// Packets of a store, in their order: (packet, how many in a row).
pub(super) trait Packets: Iterator<Item = (Packet, usize)> + Clone {}
impl<I: Iterator<Item = (Packet, usize)> + Clone> Packets for I {}

/// Bytes of a write that look at the links once: as many lines as may be under way. More would have to wait for the acknowledgement of
/// the first, and so would add the links' delay to itself.
pub(super) fn pio_burst(hardware: &Parameters) -> usize {
    (hardware.outstanding as usize * LINE).min(DMA_BURST)
}

/// When the first of the packets may leave that a CPU stores from `ready` on.
pub(super) fn first(issuer: &Issuer, hardware: &Parameters, mut packets: impl Packets, ready: f64) -> f64 {
    packets.next().map_or(ready, |(packet, _)| issuer.next(hardware, packet, ready))
}

/// The packets leave. `pass`: how long a burst waits for links that would leave at that time.
pub(super) fn packets(
    issuer: &mut Issuer,
    hardware: &Parameters,
    way: Route,
    packets: impl Packets,
    ready: f64,
    pass: impl FnOnce(Burst, f64) -> f64,
) -> Left {
    let count = |wanted: Packet| packets.clone().filter(|(packet, _)| *packet == wanted).map(|(_, n)| n).sum();
    let burst = Burst::of_write(count(Packet::Line), count(Packet::Piece));
    let waited = pass(burst, first(issuer, hardware, packets.clone(), ready));
    issuer.leave(hardware, way, packets, ready, waited)
}

/// The next burst of a transfer leaves, as fast as the engine is, or as the links are.
pub(super) fn dma(transfer: &mut Transfer, hardware: &Parameters, pass: impl FnOnce(Burst, f64) -> f64) {
    let len = DMA_BURST.min(transfer.len - transfer.left);
    let burst = Burst::of_write(len.div_ceil(LINE), 0);
    let passing = pass(burst, transfer.time) + burst.on_way as f64 * 1000.0 / hardware.link;
    transfer.time += (len as f64 * 1000.0 / hardware.rate).max(passing);
    transfer.left += len;
}
