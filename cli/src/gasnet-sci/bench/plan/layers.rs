//! The layers that this library has itself, of `bench --layers`: Active Messages, which the ParaStation2 paper calls HAL, and mail boxes, which
//! have the place of its ports.

use super::super::kernels::{self as k, Kernel};
use super::measure::{Plan, Unit};

pub const HAL: &str = "HAL";
pub const PORTS: &str = "ports";

/// What is measured of a layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trip {
    /// A message there and one back; the figure is half of that.
    Half,
    /// A message each way at once.
    Exchange,
}

/// A measure of a layer.
pub struct Layer {
    pub who: &'static str,
    pub trip: Trip,
    pub bytes: usize,
    kernel: Kernel,
}

/// The sizes; those in layer.h, which the other layers' programs have, are the same.
pub fn sizes() -> impl Iterator<Item = usize> {
    (0..=20).map(|power| 1 << power)
}

/// All measures, in the order of the job's samples.
pub fn layers() -> impl Iterator<Item = Layer> {
    let kernels = [
        (HAL, Trip::Half, k::HAL_TRIP),
        (HAL, Trip::Exchange, k::HAL_EXCHANGE),
        (PORTS, Trip::Half, k::BOX_TRIP),
        (PORTS, Trip::Exchange, k::BOX_EXCHANGE),
    ];
    kernels.into_iter().flat_map(|(who, trip, kernel)| sizes().map(move |bytes| Layer { who, trip, bytes, kernel }))
}

/// The same as rows of the plan.
pub(super) fn rows(plan: &mut Plan<'_>) {
    for Layer { who, trip, bytes, kernel } in layers() {
        let name = if trip == Trip::Half { "there and back" } else { "exchange" };
        plan.row("layers", &format!("{who}, {name}"), kernel, 400.0, bytes, None, Unit::Us, None);
    }
}
