//! The parameters of the model, and the installations whose parameters are known.
//!
//! Where each number comes from is in docs/timing.md: stated in a paper, derived from what it states, or assumed.
//!
//! Must not know: how a parameter is written by a user, beyond its name.

/// What the hardware does, in nanoseconds and MB/s.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// From the store of a whole line (64 bytes) to its arrival, one hop away.
    pub latency: f64,
    /// The same of a piece of 16 bytes.
    pub latency16: f64,
    /// Least time between two lines.
    pub gap: f64,
    /// Least time from a packet to a piece after it.
    pub gap16: f64,
    /// Packets that may be under way at once.
    pub outstanding: u32,
    /// From the arrival of a packet to the arrival of its acknowledgement. Users write `return`.
    pub back: f64,
    /// Reading one line, or part of one.
    pub read: f64,
    /// Start of a DMA transfer.
    pub setup: f64,
    /// Rate of the DMA engine.
    pub rate: f64,
    /// Connecting to a segment and mapping it.
    pub map: f64,
    /// Each hop but the first; where `staged`, each hop.
    pub hop: f64,
    /// Each change from one ring to another; where `staged`, per 64 bytes.
    pub turn: f64,
    /// Rate of a link.
    pub link: f64,
    /// From the arrival of a store to the waking of a node that sleeps.
    pub interrupt: f64,
    /// How much later a packet with a message counts as arrived: the software of then.
    pub message: f64,
    /// The times are sums of the stages that a transfer passes (`scipos`), and the caller waits for each transfer. The parameters of
    /// `COMPUTED` in `text.rs`, and `link`, are not used then.
    pub staged: bool,
    /// How many times as slow as the hardware the stages are. All other times above are scaled themselves.
    pub stage_scale: f64,
}

/// The names of the profiles, and what each one is.
pub const PROFILES: [(&str, &str); 6] = [
    ("count", "no delays, counters only"),
    ("scipos", "OptiSCI's sums of stages: for relative costs only"),
    ("d312", "Dolphin D312, PCI 32 bit 33 MHz, Pentium III 500 MHz"),
    ("d312-deck", "the same with the software of DECK: 260 ns a message"),
    ("d339", "Dolphin D339, PCI 64 bit 66 MHz, Xeon 2.4 GHz"),
    ("d339-2004", "the same with the software of 2004: 6 µs a message"),
];

/// No delays.
const COUNT: Parameters = Parameters {
    latency: 0.0,
    latency16: 0.0,
    gap: 0.0,
    gap16: 0.0,
    outstanding: 16,
    back: 0.0,
    read: 0.0,
    setup: 0.0,
    rate: f64::INFINITY,
    map: 0.0,
    hop: 0.0,
    turn: 0.0,
    link: f64::INFINITY,
    interrupt: 0.0,
    message: 0.0,
    staged: false,
    stage_scale: 1.0,
};

/// OptiSCI. Its times are in `stages`.
const SCIPOS: Parameters = Parameters { hop: 33.0, turn: 12.0, staged: true, ..COUNT };

/// `gap` follows from the 87.72 MB/s that DECK-SCI measured: 64 bytes / 729.6 ns, about 24 cycles of the 33 MHz bus. `gap16` is 12 cycles.
const D312: Parameters = Parameters {
    latency: 4400.0,
    latency16: 4450.0,
    gap: 729.6,
    gap16: 364.0,
    back: 4400.0,
    read: 25_300.0,
    setup: 30_000.0,
    rate: 80.0,
    map: 200_000.0,
    hop: 33.0,
    turn: 12.0,
    link: 500.0,
    interrupt: 20_000.0,
    ..COUNT
};

const D339: Parameters = Parameters {
    latency: 2700.0,
    latency16: 2700.0,
    gap: 210.0,
    gap16: 120.0,
    back: 2690.0,
    read: 27_000.0,
    setup: 30_000.0,
    rate: 229.0,
    map: 200_000.0,
    hop: 33.0,
    turn: 12.0,
    link: 662.5,
    interrupt: 15_000.0,
    ..COUNT
};

impl Parameters {
    /// The profile of that name.
    pub fn of(name: &str) -> Option<Parameters> {
        Some(match name {
            "count" => COUNT,
            "scipos" => SCIPOS,
            "d312" => D312,
            "d312-deck" => Parameters { message: 260.0, ..D312 },
            "d339" => D339,
            "d339-2004" => Parameters { message: 6000.0, ..D339 },
            _ => return None,
        })
    }

    /// True if nothing takes any time.
    pub fn is_instant(&self) -> bool {
        *self == Parameters { outstanding: self.outstanding, stage_scale: self.stage_scale, ..COUNT }
    }

    /// The same hardware, `factor` times as slow.
    pub fn scaled(&self, factor: f64) -> Parameters {
        let mut scaled = self.clone();
        let times = [
            &mut scaled.latency, &mut scaled.latency16, &mut scaled.gap, &mut scaled.gap16, &mut scaled.back,
            &mut scaled.read, &mut scaled.setup, &mut scaled.map, &mut scaled.hop, &mut scaled.turn,
            &mut scaled.interrupt, &mut scaled.message,
        ];
        times.into_iter().for_each(|time| *time *= factor);
        scaled.stage_scale *= factor;
        scaled.rate /= factor;
        scaled.link /= factor;
        scaled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_has_parameters_and_only_one_has_no_delays() {
        for (name, _) in PROFILES {
            let profile = Parameters::of(name).unwrap();
            assert_eq!(profile.is_instant(), name == "count", "{name}");
        }
        assert_eq!(Parameters::of("d340"), None);
    }

    #[test]
    fn hardware_that_is_slower_has_longer_times_and_lower_rates() {
        let slow = Parameters::of("d339-2004").unwrap().scaled(100.0);
        assert_eq!((slow.latency, slow.message, slow.rate, slow.outstanding), (270_000.0, 600_000.0, 2.29, 16));
        assert!(Parameters::of("count").unwrap().scaled(100.0).is_instant());
        let way = super::super::Route { hops: 3, turns: 1 };
        for (name, _) in PROFILES {
            let (profile, slow) = (Parameters::of(name).unwrap(), Parameters::of(name).unwrap().scaled(20.0));
            let times =
                |p: &Parameters| [p.write(2048, way), p.read_of(2048, way, way), p.dma(2048, way), p.message_of(way)];
            for (time, slower) in times(&profile).into_iter().zip(times(&slow)) {
                assert!((slower - 20.0 * time).abs() <= 1e-6 * slower, "{name}: {slower} and {time}");
            }
        }
    }
}
