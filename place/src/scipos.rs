//! Check values of OptiSCI's formulas (contract, B2), by the lines that mappings are judged with.

use super::model::{Class, Distance, Line, Model};
use gasnet_sci::sci::model::Route;

fn way(there: u32, back: u32, turns: u32) -> Distance {
    Distance { there: Route { hops: there, turns }, back: Route { hops: back, turns } }
}

fn write(way: Distance) -> Line {
    Model::parse("scipos").unwrap().line(Class::Write, &way)
}

fn read(way: Distance) -> Line {
    Model::parse("scipos").unwrap().line(Class::Read, &way)
}

#[test]
fn the_check_values_come_out_to_a_thousandth() {
    for (line, size, expected) in [
        (write(way(1, 3, 0)), 4, 368.568),
        (read(way(1, 3, 0)), 4, 733.136),
        (write(way(1, 3, 0)), 64, 5402.091),
        (read(way(1, 3, 0)), 64, 9750.182),
        (read(way(2, 2, 0)), 64, 9750.182),
        (write(way(1, 3, 0)), 2048, 171843.909),
        (read(way(1, 3, 0)), 2048, 307913.818),
        (write(way(2, 6, 1)), 64, 5447.091),
        (read(way(2, 6, 1)), 64, 9906.182),
        (write(way(6, 2, 1)), 2048, 172392.909),
        (read(way(6, 2, 1)), 2048, 308813.818),
    ] {
        let got = line.of(1.0, f64::from(size));
        assert!((got - expected).abs() < 0.001, "{size} bytes: {got} instead of {expected}");
    }
    assert!((write(way(0, 0, 0)).beta - 83.89204545).abs() < 1e-8);
}

#[test]
fn reads_cost_nearly_twice_what_writes_cost() {
    let quotient = |size| read(way(1, 3, 0)).of(1.0, size) / write(way(1, 3, 0)).of(1.0, size);
    assert_eq!([2048.0, 4.0].map(|size| (quotient(size) * 100.0).round()), [179.0, 199.0]);
}
