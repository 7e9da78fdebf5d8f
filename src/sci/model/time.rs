//! How a write is cut into packets, and how long a write, a read, a DMA transfer and a Long take on idle hardware.
//!
//! Must not know: what a node did before.

use super::{Issuer, Parameters, Route};

/// A transaction of the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A line of 64 bytes, written whole.
    Line,
    /// An aligned piece of 16 bytes of a line that is not written whole.
    Piece,
}

const LINE: usize = 64;
const PIECE: usize = 16;

/// The packets of a write of `len` bytes at `offset`, in their order: (packet, how many in a row).
pub fn packets(offset: usize, len: usize) -> impl Iterator<Item = (Packet, usize)> + Clone {
    let end = offset + len;
    let (first, last) = (offset.next_multiple_of(LINE), end / LINE * LINE);
    let pieces = |from: usize, to: usize| if from < to { to.div_ceil(PIECE) - from / PIECE } else { 0 };
    let parts = match first <= last {
        true => [pieces(offset, first), (last - first) / LINE, pieces(last, end)],
        false => [pieces(offset, end), 0, 0], // inside one line
    };
    [Packet::Piece, Packet::Line, Packet::Piece].into_iter().zip(parts).filter(|(_, count)| *count > 0)
}

impl Parameters {
    /// Least time from one packet to the next one, which is `packet`.
    ///
    /// Lines are spread evenly over the time that the packets under way allow, and do not go in bursts of [`Parameters::outstanding`] with
    /// pauses. In a stream that makes no difference; of single writes of 1 to 2 KiB it is what the documents' straight lines show.
    pub fn pace(&self, packet: Packet) -> f64 {
        match packet {
            Packet::Line => self.gap.max((self.latency + self.back) / f64::from(self.outstanding)),
            Packet::Piece => self.gap16,
        }
    }

    /// From leaving to arrival, where no link is busy.
    pub fn flight(&self, packet: Packet, way: Route) -> f64 {
        let latency = match packet {
            Packet::Line => self.latency,
            Packet::Piece => self.latency16,
        };
        latency + f64::from(way.hops.saturating_sub(1)) * self.hop + f64::from(way.turns) * self.turn
    }

    /// From the begin of a write at a line's border to the arrival of its last byte.
    pub fn write(&self, len: usize, way: Route) -> f64 {
        if self.staged {
            return self.staged_write(len, way);
        }
        Issuer::default().leave(self, way, packets(0, len), 0.0, 0.0).arrive
    }

    /// From the arrival of a write's last packet to the end of a store barrier.
    pub fn barrier_after(&self) -> f64 {
        if self.staged { 0.0 } else { self.back }
    }

    /// Reading `len` bytes when nothing is under way; the request goes `way`, the data `back`. The distance counts in sums of stages
    /// only: no document says what it adds to a read.
    pub fn read_of(&self, len: usize, way: Route, back: Route) -> f64 {
        if self.staged {
            return self.staged_read(len, way, back);
        }
        len.div_ceil(LINE) as f64 * self.read
    }

    /// A DMA transfer on an idle engine.
    pub fn dma(&self, len: usize, way: Route) -> f64 {
        if self.staged {
            return self.staged_write(len, way);
        }
        self.setup + len as f64 * 1000.0 / self.rate
    }

    /// One line with a message, from its store until it counts as arrived.
    pub fn message_of(&self, way: Route) -> f64 {
        self.message_behind(0.0, way)
    }

    /// The same behind a store barrier that took `waited`. The software of then made such a barrier too, so its time has it already.
    pub fn message_behind(&self, waited: f64, way: Route) -> f64 {
        self.write(LINE, way) + (self.message - waited).max(0.0)
    }

    /// A Long from its call until its handler begins, our own time aside: the payload, by DMA from `dma_min` bytes on, a barrier,
    /// a message.
    pub fn long(&self, len: usize, dma_min: usize, way: Route) -> f64 {
        let payload = match len {
            0 => 0.0,
            len if len >= dma_min => self.dma(len, way),
            len => self.write(len, way) + self.barrier_after(),
        };
        payload + self.message_of(way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: Route = Route { hops: 1, turns: 0 };

    fn profile(name: &str) -> Parameters {
        Parameters::of(name).unwrap()
    }

    /// (bytes, expected microseconds), to the three digits of the table.
    fn agrees(what: &str, time: impl Fn(usize) -> f64, table: &[(usize, f64)]) {
        for (len, expected) in table {
            let micros = time(*len) / 1000.0;
            assert!((micros / expected - 1.0).abs() < 0.005, "{what} {len}: {micros} and {expected}");
        }
    }

    #[test]
    fn the_table_of_expected_values() {
        let (d339, d312) = (profile("d339"), profile("d312"));
        let write = |p: &Parameters, len| p.write(len, NEXT);
        let pio = [
            (16, 2.70),
            (32, 2.82),
            (64, 2.70),
            (1 << 10, 7.75),
            (2 << 10, 13.1),
            (16 << 10, 88.6),
            (32 << 10, 175.0),
            (128 << 10, 692.0),
            (1 << 20, 5522.0),
        ];
        agrees("d339 pio", |len| write(&d339, len), &pio);
        let dma = [
            (64, 30.3),
            (1 << 10, 34.5),
            (2 << 10, 38.9),
            (16 << 10, 101.5),
            (32 << 10, 173.0),
            (128 << 10, 602.0),
            (1 << 20, 4609.0),
        ];
        agrees("d339 dma", |len| d339.dma(len, NEXT), &dma);
        let long = [
            (16, 14.1),
            (64, 14.1),
            (1 << 10, 19.1),
            (2 << 10, 47.6),
            (16 << 10, 110.2),
            (32 << 10, 182.0),
            (128 << 10, 611.0),
            (1 << 20, 4618.0),
        ];
        agrees("long", |len| profile("d339-2004").long(len, 2 << 10, NEXT), &long);
        let pio = [
            (16, 4.45),
            (32, 4.81),
            (64, 4.40),
            (1 << 10, 15.3),
            (2 << 10, 27.0),
            (16 << 10, 190.5),
            (32 << 10, 377.0),
            (128 << 10, 1498.0),
            (1 << 20, 11957.0),
        ];
        agrees("d312 pio", |len| write(&d312, len), &pio);
    }

    #[test]
    fn reads_cost_a_round_trip_per_line_and_a_short_is_one_line() {
        let d339 = profile("d339");
        assert_eq!((d339.read_of(64, NEXT, NEXT), d339.read_of(4096, NEXT, NEXT)), (27_000.0, 1_728_000.0));
        assert_eq!(d339.read_of(1, NEXT, NEXT), 27_000.0);
        assert_eq!(2.0 * profile("d339-2004").message_of(NEXT), 17_400.0);
        assert_eq!(2.0 * profile("d312-deck").message_of(NEXT), 9_320.0);
        assert_eq!(profile("d339-2004").message_behind(5_390.0, NEXT), 2_700.0 + 610.0);
        assert_eq!(profile("d339").message_behind(5_390.0, NEXT), 2_700.0);
    }

    #[test]
    fn a_write_is_cut_at_lines_and_pieces() {
        let cut = |offset, len| packets(offset, len).collect::<Vec<_>>();
        use Packet::{Line, Piece};
        assert_eq!(cut(0, 64), [(Line, 1)]);
        assert_eq!(cut(0, 0), []);
        assert_eq!(cut(8, 8), [(Piece, 1)]);
        assert_eq!(cut(15, 2), [(Piece, 2)]);
        assert_eq!(cut(1, 63), [(Piece, 4)]);
        assert_eq!(cut(60, 200), [(Piece, 1), (Line, 3), (Piece, 1)]);
        assert_eq!(cut(48, 16 + 128 + 33), [(Piece, 1), (Line, 2), (Piece, 3)]);
    }

    #[test]
    fn hops_and_turns_take_time() {
        let d339 = profile("d339");
        assert_eq!(d339.write(64, Route { hops: 3, turns: 1 }) - d339.write(64, NEXT), 78.0);
    }
}
