//! The cost formulas of SCIPOS (OptiSCI's tool) for a write and a read over SCI rings, in ns.
//!
//! Every stage of an access takes time in proportion to its bytes, but for the hops, which take the same for any size.
//! So an access of `s` bytes costs `alpha + beta·s`. Stages do not overlap, there is no contention, and the own node
//! costs nothing. The source is the contract, B2, which also says what was chosen where the print is unclear.
//!
//! Must not know: topologies, traffic.

use super::model::{Distance, Line};

/// A cycle of the memory bus, 100 MHz.
const MEMORY: f64 = 10.0;
/// A cycle of PCI, 33 MHz.
const PCI: f64 = 1000.0 / 33.0;
/// A cycle of the bridge between PCI and SCI, 1000 MHz.
const BRIDGE: f64 = 1.0;
/// A cycle of the ring, 500 MHz.
const RING: f64 = 2.0;

// Ns per byte.
const LOCAL: f64 = 14.0 * MEMORY / 8.0;
const HOST_BRIDGE: f64 = 3.0 * PCI / 4.0;
const WRAP: f64 = 12.0 * BRIDGE / 64.0;
const INSERT: f64 = 200.0 / 64.0;
const UNWRAP: f64 = 8.0 * BRIDGE / 64.0;
const TURN: f64 = 12.0 * BRIDGE / 64.0;

/// Ns for passing one node and 5 m of cable.
const PASS: f64 = 4.0 * RING + 25.0;

/// A write of one node to another one.
pub fn write(way: &Distance) -> Line {
    one_way(way.there, way.turns)
}

/// A read: a write, and the answer as another one that begins and ends at the same memory.
pub fn read(way: &Distance) -> Line {
    let (there, back) = (one_way(way.there, way.turns), one_way(way.back, way.turns));
    Line { alpha: there.alpha + back.alpha, beta: there.beta + back.beta - LOCAL }
}

fn one_way(hops: u32, turns: u32) -> Line {
    let ends = 2.0 * LOCAL + 2.0 * HOST_BRIDGE + WRAP + INSERT + UNWRAP;
    Line { alpha: f64::from(hops) * PASS, beta: ends + f64::from(turns) * TURN }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(there: u32, back: u32, turns: u32) -> Distance {
        Distance { there, back, turns }
    }

    #[test]
    fn the_check_values_come_out_to_a_thousandth() {
        for (line, size, expected) in [
            (write(&way(1, 3, 0)), 4, 368.568),
            (read(&way(1, 3, 0)), 4, 733.136),
            (write(&way(1, 3, 0)), 64, 5402.091),
            (read(&way(1, 3, 0)), 64, 9750.182),
            (read(&way(2, 2, 0)), 64, 9750.182),
            (write(&way(1, 3, 0)), 2048, 171843.909),
            (read(&way(1, 3, 0)), 2048, 307913.818),
            (write(&way(2, 6, 1)), 64, 5447.091),
            (read(&way(2, 6, 1)), 64, 9906.182),
            (write(&way(6, 2, 1)), 2048, 172392.909),
            (read(&way(6, 2, 1)), 2048, 308813.818),
        ] {
            let got = line.of(1.0, f64::from(size));
            assert!((got - expected).abs() < 0.001, "{size} bytes: {got} instead of {expected}");
        }
        assert!((write(&way(0, 0, 0)).beta - 83.89204545).abs() < 1e-8);
    }

    #[test]
    fn reads_cost_nearly_twice_what_writes_cost() {
        let quotient = |size| read(&way(1, 3, 0)).of(1.0, size) / write(&way(1, 3, 0)).of(1.0, size);
        assert_eq!([2048.0, 4.0].map(|size| (quotient(size) * 100.0).round()), [179.0, 199.0]);
    }
}
