//! The bounds A0 to A11 of docs/deck-figures.md, as rows that `gasnet-sci page` shows beside their targets.

use crate::results::Row;

/// Its name, the figure, what that is divided by, and the most or least that the quotient may be. A figure is
/// WHO|OPERATION|BYTES of a row, perhaps of several numbers of bytes, of which the worst counts. Divided by a row without bytes, it is
/// compared with the row of the same bytes; nothing divides a figure of its own.
/// The unit says which way the bound goes: `times` at most, a `share` at least.
type Bound = (&'static str, &'static str, &'static str, &'static str, f64);

/// Messages that lie in one line.
const SHORT: &str = "0 8 16 24 32 40 48 52";

#[rustfmt::skip] // a table
const BOUNDS: [Bound; 46] = [
    ("A0 0 to 52 bytes one way / bare ring's round trip, the worst length", "deck|message, one way|SHORT", "limit|line ring round trip|64", "times", 0.6),
    ("A0 0 to 52 bytes one way / openmpi, the worst length", "deck|message, one way|SHORT", "openmpi|message, one way|", "times", 1.0),
    ("A0 0 to 52 bytes one way / pipe, the worst length", "deck|message, one way|SHORT", "pipe|message, one way|", "times", 1.0),
    ("A0 0 to 52 bytes one way / POSIX message queue, the worst length", "deck|message, one way|SHORT", "POSIX message queue|message, one way|", "times", 1.0),
    ("A0 0 to 52 bytes one way / ZeroMQ (ipc), the worst length", "deck|message, one way|SHORT", "ZeroMQ (ipc)|message, one way|", "times", 1.0),
    ("A0 0 to 52 bytes one way / nng (ipc), the worst length", "deck|message, one way|SHORT", "nng (ipc)|message, one way|", "times", 1.0),
    ("A0 0 to 52 bytes one way / iceoryx2, the worst length", "deck|message, one way|SHORT", "iceoryx2|message, one way|", "times", 1.0),
    ("A0 flood of 16 bytes, one sender, ns", "deck|one sender|16", "", "times", 60.0),
    ("A0 flood of 16 bytes, four senders, ns", "deck|four senders|16", "", "times", 60.0),
    ("A0 least share of four senders, of its fair share", "deck|four senders, least share|16", "", "share", 0.5),
    ("A0 give 1 MiB / 1 KiB", "deck|give and take, round trip|1048576", "deck|give and take, round trip|1024", "times", 1.1),
    ("A0 post and retrieve 65536 bytes, bandwidth / memcpy", "deck|post and retrieve|65536", "limit|memcpy|", "share", 0.9),
    ("A0 post and retrieve 262144 bytes, bandwidth / memcpy", "deck|post and retrieve|262144", "limit|memcpy|", "share", 0.9),
    ("A0 post and retrieve 1048576 bytes, bandwidth / memcpy", "deck|post and retrieve|1048576", "limit|memcpy|", "share", 0.9),
    ("A0 post and retrieve 4194304 bytes, bandwidth / memcpy", "deck|post and retrieve|4194304", "limit|memcpy|", "share", 0.9),
    ("A0 16 threads wait, percent of a core", "deck|16 threads wait, percent of a core|16", "", "times", 1.0),
    ("A0 wake-up of the right one / futex", "deck|wake-up of one of 16 threads|16", "futex|wake-up of one of 16 threads|", "times", 1.5),
    // One way beside a round trip: half of the bound 1.5 of two of them.
    ("A1 message of 8 B one way / our Short round trip", "deck|message, one way|8", "gasnet-sci|Short round trip|0", "times", 0.75),
    ("A1 ping-pong 8 B / MPI", "deck|message, one way|8", "openmpi|message, one way|", "times", 0.75),
    ("A2 0 to 52 B: farthest from the mean", FARTHEST, "", "times", 0.05),
    ("A2 112 B / 8 B", "deck|message, one way|112", "deck|message, one way|8", "times", 1.25),
    ("A3 ping-pong 1 KiB / MPI", "deck|message, one way|1024", "openmpi|message, one way|", "times", 0.9),
    ("A3 ping-pong 8 KiB / MPI", "deck|message, one way|8192", "openmpi|message, one way|", "times", 0.9),
    ("A4 post and retrieve 1 MiB, bandwidth / memcpy", "deck|post and retrieve|1048576", "limit|memcpy|", "share", 0.95),
    ("A4 post and retrieve 1 MiB, bandwidth / MPI", "deck|post and retrieve|1048576", "openmpi|post and retrieve|", "share", 1.0),
    ("A4 give and take 1 MiB, all read, bandwidth / MPI", "openmpi|give and take, all bytes read, round trip|1048576", "deck|give and take, all bytes read, round trip|", "share", 1.07),
    ("A4 the same, all written before, bandwidth / MPI", "openmpi|give and take, all bytes written and read, round trip|1048576", "deck|give and take, all bytes written and read, round trip|", "share", 1.07),
    ("A5 give and take 4 MiB / 64 KiB", "deck|give and take, round trip|4194304", "deck|give and take, round trip|65536", "times", 1.2),
    ("A6 four senders of 8 B, rate / MPI_ANY_SOURCE", "openmpi|four senders|8", "deck|four senders|", "share", 1.5),
    ("A6 least share of four senders of 8 B, of its fair share", "deck|four senders, least share|8", "", "share", 0.5),
    // A step of the limit of mail boxes, whichever way it goes.
    ("A7 step down at the limit of 8192 bytes", "deck|message below the limit, one way|8184", "deck|message at the limit, one way|8192", "times", 1.3),
    ("A7 step up at the limit of 8192 bytes", "deck|message at the limit, one way|8192", "deck|message below the limit, one way|8184", "times", 1.3),
    ("A8 mandelbrot, time / MPI", "DECK 2 x 1|mandelbrot|0", "MPI|mandelbrot|", "times", 1.03),
    ("A8 ray, time / MPI", "DECK 2 x 1|ray|0", "MPI|ray|", "times", 1.0),
    ("A9 laplace-heavy, time / MPI", "DECK 2 x 1|laplace-heavy|0", "MPI|laplace-heavy|", "times", 0.8),
    ("A9 laplace-heavy, communication / MPI's", "DECK 2 x 1|laplace-heavy, communication|0", "MPI|laplace-heavy, communication|", "times", 0.5),
    ("A9 laplace-balanced, time / MPI", "DECK 2 x 1|laplace-balanced|0", "MPI|laplace-balanced|", "times", 1.0),
    ("A9 laplace-balanced, communication / MPI's", "DECK 2 x 1|laplace-balanced, communication|0", "MPI|laplace-balanced, communication|", "times", 0.5),
    ("A9 laplace-light, time / MPI", "DECK 2 x 1|laplace-light|0", "MPI|laplace-light|", "times", 1.02),
    ("A9 laplace-light, communication / MPI's", "DECK 2 x 1|laplace-light, communication|0", "MPI|laplace-light, communication|", "times", 0.5),
    // The seed's MPI communicated for 27 % of the time. Where it does so for less, the seed's gain cannot exist.
    ("A9 laplace-heavy, MPI's communication, part of its time", "MPI|laplace-heavy, communication|0", "MPI|laplace-heavy|", "share", 0.27),
    ("A9 laplace-balanced, MPI's communication, part of its time", "MPI|laplace-balanced, communication|0", "MPI|laplace-balanced|", "share", 0.27),
    ("A9 laplace-light, MPI's communication, part of its time", "MPI|laplace-light, communication|0", "MPI|laplace-light|", "share", 0.27),
    ("A10 clone of a known name, us", "deck|clone of a known name|0", "", "times", 20.0),
    ("A10 clone of a new name, us after its creation", "deck|clone of a new name, after its creation|0", "", "times", 1000.0),
    ("A11 idle poll, 64 nodes: with 1,000 boxes / without DECK", "deck|idle poll, 1000 boxes|0", "gasnet-sci|idle poll, before deck_init|0", "times", 1.1),
];

/// The one figure that is no row's: how far the short message that is farthest from their mean is from it, as a part of it.
const FARTHEST: &str = "farthest";

/// The bounds as rows. Those that were not measured are printed.
pub fn rows(measured: &[Row]) -> Vec<Row> {
    let row = |&(name, figure, by, unit, target): &Bound| {
        let value = value(measured, figure, by, unit);
        if value.is_none() {
            println!("not measured: {name}");
        }
        Some(Row { target: Some(target), ..Row::of("bounds", name, "gasnet-sci", 2, unit, &[value?]) })
    };
    BOUNDS.iter().filter_map(row).collect()
}

fn value(measured: &[Row], figure: &str, by: &str, unit: &str) -> Option<f64> {
    let median = |figure: &str, bytes: &str| {
        let (who, operation) = figure.split_once('|')?;
        let same = |row: &&Row| row.who == who && row.operation == operation && row.bytes.to_string() == bytes;
        measured.iter().find(same).map(|row| row.median)
    };
    if figure == FARTHEST {
        let all: Option<Vec<f64>> = SHORT.split(' ').map(|bytes| median("deck|message, one way", bytes)).collect();
        let mean = all.as_ref()?.iter().sum::<f64>() / SHORT.split(' ').count() as f64;
        return all?.iter().map(|value| (value - mean).abs() / mean).reduce(f64::max);
    }
    let (head, lengths) = figure.rsplit_once('|')?;
    let quotients = lengths.replace("SHORT", SHORT);
    let quotients = quotients.split(' ').filter_map(|bytes| {
        let under = match by.rsplit_once('|') {
            None => 1.0,
            Some((by, own)) => median(by, if own.is_empty() { bytes } else { own })?,
        };
        Some(median(head, bytes)? / under)
    });
    quotients.reduce(if unit == "share" { f64::min } else { f64::max })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(who: &str, operation: &str, bytes: u64, value: f64) -> Row {
        Row { bytes, ..Row::of("trip", operation, who, 2, "ns", &[value]) }
    }

    #[test]
    fn the_worst_length_counts_and_what_was_not_measured_has_no_row() {
        let lengths = SHORT.split(' ').map(|bytes| bytes.parse().unwrap());
        let mut measured: Vec<Row> = lengths.map(|bytes| row("deck", "message, one way", bytes, 100.0)).collect();
        measured[3].median = 180.0;
        measured.extend([row("limit", "line ring round trip", 64, 200.0), row("pipe", "message, one way", 24, 90.0)]);
        let rows = rows(&measured);
        let found: Vec<(&str, f64, Option<f64>)> =
            rows.iter().map(|row| (row.operation.as_str(), row.median, row.target)).collect();
        assert_eq!(
            found,
            [
                ("A0 0 to 52 bytes one way / bare ring's round trip, the worst length", 0.9, Some(0.6)),
                ("A0 0 to 52 bytes one way / pipe, the worst length", 2.0, Some(1.0)),
                ("A2 0 to 52 B: farthest from the mean", 70.0 / 110.0, Some(0.05)),
            ]
        );
    }

    #[test]
    fn a_bandwidth_has_a_least() {
        let measured = [row("deck", "post and retrieve", 65536, 8.0), row("limit", "memcpy", 65536, 10.0)];
        let rows = rows(&measured);
        assert_eq!((rows[0].unit.as_str(), rows[0].median, rows.len()), ("share", 0.8, 1));
    }
}
