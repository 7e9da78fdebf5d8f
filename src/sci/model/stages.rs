//! OptiSCI's formulas: the time of a transfer as the sum of the stages that it passes, with sizes that need not be whole packets.
//!
//! Must not know: which nodes there are.

use super::{Parameters, Route};

/// Nanoseconds of a cycle of the memory bus (100 MHz), of PCI (33 MHz), of the bridge between PCI and SCI (1000 MHz).
const MEMORY: f64 = 10.0;
const PCI: f64 = 1000.0 / 33.0;
const BRIDGE: f64 = 1.0;

/// Nanoseconds that some bytes take at each stage.
struct Stages {
    memory: f64,
    pci: f64,
    wrap: f64,
    insert: f64,
    unwrap: f64,
}

/// The stages of `size` bytes.
fn stages(size: f64) -> Stages {
    Stages {
        memory: 14.0 * MEMORY * size / 8.0,
        pci: 3.0 * PCI * size / 4.0,
        wrap: 12.0 * BRIDGE * size / 64.0,
        insert: 200.0 * size / 64.0,
        unwrap: 8.0 * BRIDGE * size / 64.0,
    }
}

impl Parameters {
    /// From one bus to the other, on the way `way`.
    fn crossing(&self, size: f64, way: Route) -> f64 {
        let part = stages(size * self.stage_scale);
        let turn = f64::from(way.turns) * self.turn * size / 64.0;
        part.pci + part.wrap + part.insert + f64::from(way.hops) * self.hop + turn + part.unwrap + part.pci
    }

    /// At the memory bus of one end.
    fn at_memory(&self, size: f64) -> f64 {
        stages(size * self.stage_scale).memory
    }

    /// W: writing `size` bytes.
    pub fn staged_write(&self, size: usize, way: Route) -> f64 {
        let size = size as f64;
        2.0 * self.at_memory(size) + self.crossing(size, way)
    }

    /// R: reading `size` bytes; the request goes `way`, the data come back `back`.
    pub fn staged_read(&self, size: usize, way: Route, back: Route) -> f64 {
        self.staged_write(size, way) + self.crossing(size as f64, back) + self.at_memory(size as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Topology;
    use super::*;

    #[test]
    fn the_check_values_of_the_formulas() {
        let scipos = Parameters::of("scipos").unwrap();
        let (ring, torus) = (Topology::Ring(4), Topology::Torus(4, 4));
        let write = |topology: Topology, size, to| scipos.staged_write(size, topology.way(0, to));
        let read = |topology: Topology, size, to| scipos.staged_read(size, topology.way(0, to), topology.way(to, 0));
        let values = [
            (write(ring, 4, 1), 368.568),
            (read(ring, 4, 1), 733.136),
            (write(ring, 64, 1), 5402.091),
            (read(ring, 64, 1), 9750.182),
            (write(ring, 2048, 1), 171_843.909),
            (read(ring, 2048, 1), 307_913.818),
            (write(torus, 64, 5), 5447.091),
            (read(torus, 64, 5), 9906.182),
            (write(torus, 2048, 15), 172_392.909),
            (read(torus, 2048, 15), 308_813.818),
        ];
        for (value, expected) in values {
            assert!((value - expected).abs() < 0.001, "{value} {expected}");
        }
    }
}
