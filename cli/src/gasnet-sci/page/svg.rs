//! One chart as SVG: logarithmic axes, grid, lines with marks, and the spread of the rounds. The page's style sheet
//! gives colours and fonts by class. The script finds values in `data-` attributes.

use super::curves::{Axis, Chart, Point, Series};
use super::show;
use gasnet_sci_place::shell::escape;
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;

/// The class that gives a series its colour. The same name has the same colour in every chart.
pub fn class(name: &str) -> &'static str {
    match name {
        "gasnet-sci native" => "native",
        "gasnet-sci ref" => "ref",
        "openmpi" => "openmpi",
        "oshmem" => "oshmem",
        "ucx" => "ucx",
        "document" => "document",
        "model" => "model",
        "HAL" => "hal",
        "ports" => "ports",
        "TCP by rings" => "rings",
        "TCP" => "tcp",
        "MPI, sci" => "mpi-sci",
        "MPI, vader" => "mpi-vader",
        "MPI, tcp" => "mpi-tcp",
        timed if timed.starts_with("timed ") => "native",
        limit if limit.starts_with("limit") => "limit",
        _ => "other",
    }
}

/// From values to positions on the page, logarithmically.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let part = (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln());
        self.from + (self.to - self.from) * part
    }
}

/// The chart. It has at least one series, and all its values are positive.
pub fn chart(chart: &Chart) -> String {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let x = horizontal(points());
    let y = vertical(points());
    let mut svg = String::new();
    let label = escape(&chart.title);
    let bytes = if chart.axis == Axis::Bytes { "yes" } else { "no" };
    let _ = write!(svg, r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}" data-bytes="{bytes}">"#);
    grid(&mut svg, chart, &x, &y);
    // Our series come last, so that they are drawn on top.
    let mut order: Vec<usize> = (0..chart.series.len()).collect();
    order.sort_by_key(|&index| match class(&chart.series[index].name) {
        "limit" => 0,
        "native" => 2,
        _ => 1,
    });
    for index in order {
        line(&mut svg, index, &chart.series[index], &chart.unit, &x, &y);
    }
    let (top, bottom) = (TOP, HEIGHT - BOTTOM);
    let _ = write!(svg, r#"<line class="cross" x1="0" x2="0" y1="{top}" y2="{bottom}"/></svg>"#);
    svg
}

fn horizontal<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Scale {
    let low = points.clone().map(|point| point.x).min().unwrap_or(1) as f64;
    let high = points.map(|point| point.x).max().unwrap_or(2) as f64;
    // Some space at both ends, so that the scale always has a width.
    Scale { low: low / 1.25, high: high * 1.25, from: LEFT, to: WIDTH - RIGHT }
}

fn vertical<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Scale {
    let low = points.clone().map(shown_low).fold(f64::INFINITY, f64::min);
    let high = points.map(shown_high).fold(0.0, f64::max);
    Scale { low: low / 1.2, high: high * 1.2, from: HEIGHT - BOTTOM, to: TOP }
}

// The scale follows the medians: a disturbed round may be far off.
fn shown_low(point: &Point) -> f64 {
    point.low.max(point.median / 2.0)
}
fn shown_high(point: &Point) -> f64 {
    point.high.min(point.median * 2.0)
}

fn grid(svg: &mut String, chart: &Chart, x: &Scale, y: &Scale) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    svg.push_str(r#"<g class="grid">"#);
    for (value, strong) in decades(y.low, y.high) {
        let at = y.at(value);
        let class = if strong { "strong" } else { "" };
        let _ = write!(svg, r#"<line class="{class}" x1="{LEFT}" x2="{right}" y1="{at:.1}" y2="{at:.1}"/>"#);
        let (beside, below) = (LEFT - 8.0, at + 4.0);
        let _ = write!(svg, r#"<text x="{beside}" y="{below:.1}" text-anchor="end">{}</text>"#, tick(value));
    }
    for value in stops(chart) {
        let at = x.at(value as f64);
        let _ = write!(svg, r#"<line x1="{at:.1}" x2="{at:.1}" y1="{TOP}" y2="{bottom}"/>"#);
        let text = if chart.axis == Axis::Bytes { show::bytes(value) } else { value.to_string() };
        let below = bottom + 18.0;
        let _ = write!(svg, r#"<text x="{at:.1}" y="{below}" text-anchor="middle">{text}</text>"#);
    }
    let _ = write!(svg, r#"<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>"#);
    let name = if chart.axis == Axis::Bytes { "size" } else { "nodes" };
    let (middle, last) = ((LEFT + right) / 2.0, HEIGHT - 6.0);
    let _ = write!(svg, r#"<text class="name" x="{middle}" y="{last}" text-anchor="middle">{name}</text>"#);
    let unit = escape(show::unit(&chart.unit));
    let _ = write!(svg, r#"<text class="name" x="4" y="{TOP}" dominant-baseline="hanging">{unit}</text></g>"#);
}

// The values 1, 2 and 5 times each power of ten in the range, or only the powers if there are many. `true` marks a
// power.
fn decades(low: f64, high: f64) -> Vec<(f64, bool)> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let steps: &[f64] = match last - first {
        ..=3 => &[1.0, 2.0, 5.0],
        4..=5 => &[1.0, 3.0],
        _ => &[1.0],
    };
    let all = (first..=last).flat_map(|power| steps.iter().map(move |step| (step * 10f64.powi(power), *step == 1.0)));
    all.filter(|(value, _)| (low..=high).contains(value)).collect()
}

fn tick(value: f64) -> String {
    match value {
        1_000_000.0.. => format!("{}M", value / 1e6),
        1000.0.. => format!("{}k", value / 1e3),
        // The power of ten may be off by a rounding error.
        _ => format!("{}", (value * 1e9).round() / 1e9),
    }
}

// The sizes that have values; only every second or third one if their texts would touch.
fn stops(chart: &Chart) -> Vec<u64> {
    let mut all: Vec<u64> = chart.series.iter().flat_map(|series| series.points.iter().map(|point| point.x)).collect();
    all.sort_unstable();
    all.dedup();
    let mut kept: Vec<u64> = Vec::new();
    let (Some(&low), Some(&high)) = (all.first(), all.last()) else { return kept };
    let width = (high as f64 / low as f64).ln().max(f64::MIN_POSITIVE);
    // From the right, so that the largest size always has its text.
    for value in all.into_iter().rev() {
        let apart = |last: u64| (last as f64 / value as f64).ln() / width > 0.1;
        if kept.last().is_none_or(|last| apart(*last)) {
            kept.push(value);
        }
    }
    kept
}

fn line(svg: &mut String, index: usize, series: &Series, unit: &str, x: &Scale, y: &Scale) {
    let class = class(&series.name);
    let name = escape(&series.name);
    let place = |point: &Point| (x.at(point.x as f64), y.at(point.median));
    let _ = write!(svg, r#"<g class="series s-{class}" data-series="{index}" data-name="{name}">"#);
    for point in &series.points {
        let (at, low, high) = (x.at(point.x as f64), y.at(shown_low(point)), y.at(shown_high(point)));
        if low - high > 1.0 {
            let _ = write!(svg, r#"<line class="spread" x1="{at:.1}" x2="{at:.1}" y1="{low:.1}" y2="{high:.1}"/>"#);
        }
    }
    for point in series.points.iter().filter(|point| point.is_level) {
        let (_, up) = place(point);
        let _ = write!(svg, r#"<line class="level" x1="{LEFT}" x2="{}" y1="{up:.1}" y2="{up:.1}"/>"#, WIDTH - RIGHT);
    }
    let mut path = String::new();
    for (number, point) in series.points.iter().enumerate() {
        let (at, up) = place(point);
        let _ = write!(path, "{}{at:.1} {up:.1}", if number == 0 { "M" } else { "L" });
    }
    // What a paper states of single sizes says nothing of those between.
    if class != "document" {
        let _ = write!(svg, r#"<path class="curve" d="{path}"/>"#);
    }
    for point in &series.points {
        let (at, up) = place(point);
        let text = format!("{} {}", show::number(point.median), show::unit(unit));
        let range = format!("{}–{}", show::number(point.low), show::number(point.high));
        let _ = write!(svg, r#"<path class="mark" d="{}" data-x="{}" "#, mark(class, at, up), point.x);
        let _ = write!(svg, r#"data-cx="{at:.1}" data-cy="{up:.1}" data-text="{text}" data-range="{range}">"#);
        let _ = write!(svg, "<title>{name}: {text}, rounds {range}</title></path>");
    }
    svg.push_str("</g>");
}

// Series differ in shape as well as colour: a disc, a square, a diamond, triangles, a star.
fn mark(class: &str, x: f64, y: f64) -> String {
    let polygon = |corners: &[(f64, f64)]| {
        let mut path = String::new();
        for (number, (right, down)) in corners.iter().enumerate() {
            let _ = write!(path, "{}{:.1} {:.1}", if number == 0 { "M" } else { "L" }, x + right, y + down);
        }
        path + "Z"
    };
    match class {
        "openmpi" | "mpi-vader" | "tcp" | "mpi-tcp" => polygon(&[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)]),
        "oshmem" | "rings" => polygon(&[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)]),
        "ucx" | "mpi-sci" => polygon(&[(0.0, -4.8), (4.6, 3.6), (-4.6, 3.6)]),
        "ref" | "ports" => polygon(&[(0.0, 4.8), (4.6, -3.6), (-4.6, -3.6)]),
        "document" => polygon(&[
            (0.0, -6.0),
            (1.8, -1.8),
            (6.0, 0.0),
            (1.8, 1.8),
            (0.0, 6.0),
            (-1.8, 1.8),
            (-6.0, 0.0),
            (-1.8, -1.8),
        ]),
        "limit" => polygon(&[(-4.0, -0.8), (4.0, -0.8), (4.0, 0.8), (-4.0, 0.8)]),
        _ => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z", x - 4.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_logarithmic() {
        let scale = Scale { low: 1.0, high: 100.0, from: 0.0, to: 10.0 };
        assert_eq!([1.0, 10.0, 100.0].map(|value| scale.at(value).round()), [0.0, 5.0, 10.0]);
    }

    #[test]
    fn ticks_are_few_and_round() {
        let values: Vec<f64> = decades(0.15, 30.0).iter().map(|(value, _)| *value).collect();
        assert_eq!(
            values.iter().map(|value| tick(*value)).collect::<Vec<_>>(),
            ["0.2", "0.5", "1", "2", "5", "10", "20"]
        );
        assert_eq!(tick(20_000.0), "20k");
    }

    #[test]
    fn one_point_is_drawn_too() {
        let point = Point { x: 8, is_level: false, median: 1.0, low: 1.0, high: 1.0 };
        let series = vec![Series { name: "a<b".into(), points: vec![point] }];
        let (title, unit) = ("t".into(), "us".into());
        let text = chart(&Chart { title, unit, nodes: None, axis: Axis::Bytes, more_is_better: false, series });
        assert!(text.contains("a&lt;b: 1.00 µs") && !text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
