//! Totals per kind of operation.

use super::TracedOp;
use crate::sync::fixed::{AtomicU64, Ordering};
use std::array;

/// Sum, minimum and maximum of a number.
struct Sum {
    sum: AtomicU64,
    least: AtomicU64,
    most: AtomicU64,
}

// Relaxed throughout: these are numbers for a report, and hand nothing over. If they are read while threads count, a
// sum may be ahead of its count.
impl Sum {
    const fn new() -> Sum {
        Sum { sum: AtomicU64::new(0), least: AtomicU64::new(u64::MAX), most: AtomicU64::new(0) }
    }

    fn add(&self, value: u64) {
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.least.fetch_min(value, Ordering::Relaxed);
        self.most.fetch_max(value, Ordering::Relaxed);
    }

    fn clear(&self) {
        self.sum.store(0, Ordering::Relaxed);
        self.least.store(u64::MAX, Ordering::Relaxed);
        self.most.store(0, Ordering::Relaxed);
    }

    fn text(&self, what: &str, count: u64, unit: f64) -> String {
        let [sum, least, most] = [&self.sum, &self.least, &self.most].map(|v| v.load(Ordering::Relaxed) as f64 / unit);
        format!("  {what} total={sum} min={least} avg={:.3} max={most}", sum / count as f64)
    }
}

struct Total {
    count: AtomicU64,
    bytes: Sum,
    ns: Sum,
}

/// The totals of this node, first with peers that share memory with it.
pub(super) struct Totals([[Total; TracedOp::ALL.len()]; 2]);

impl Default for Totals {
    fn default() -> Self {
        let total = |_| Total { count: AtomicU64::new(0), bytes: Sum::new(), ns: Sum::new() };
        Totals(array::from_fn(|_| array::from_fn(total)))
    }
}

impl Totals {
    fn of(&self, op: TracedOp, near: bool) -> &Total {
        &self.0[usize::from(op.suffix(near).is_empty())][op as usize]
    }

    /// Counts one `op`. `near`: its peer shares memory with this node.
    pub(super) fn add(&self, op: TracedOp, near: bool, bytes: u64, ns: Option<u64>) {
        let total = self.of(op, near);
        total.count.fetch_add(1, Ordering::Relaxed);
        total.bytes.add(bytes);
        ns.into_iter().for_each(|ns| total.ns.add(ns));
    }

    /// One line for each kind that occurred.
    pub(super) fn lines(&self) -> Vec<(TracedOp, String)> {
        let line = |op: TracedOp, suffix: &str, total: &Total| {
            let count = total.count.load(Ordering::Relaxed);
            let bytes = if op.has_bytes() { total.bytes.text("bytes", count, 1.0) } else { String::new() };
            let time = if op.has_time() { total.ns.text("us", count, 1000.0) } else { String::new() };
            let name = [op.name(), suffix].concat();
            (count > 0).then(|| (op, format!("{name:<20} count={count}{bytes}{time}")))
        };
        let both = |op: &TracedOp| {
            let near = Some(op.suffix(true)).filter(|suffix| !suffix.is_empty());
            [line(*op, "", self.of(*op, false)), near.and_then(|suffix| line(*op, suffix, self.of(*op, true)))]
        };
        TracedOp::ALL.iter().flat_map(both).flatten().collect()
    }

    /// Sets all totals to zero.
    pub(super) fn clear(&self) {
        for total in self.0.iter().flatten() {
            total.count.store(0, Ordering::Relaxed);
            total.bytes.clear();
            total.ns.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_have_count_sum_and_extremes_of_what_the_kind_has() {
        let totals = Totals::default();
        assert!(totals.lines().is_empty());
        totals.add(TracedOp::Put, false, 10, Some(2000));
        totals.add(TracedOp::Put, false, 30, Some(1000));
        totals.add(TracedOp::RequestShort, true, 0, None);
        totals.add(TracedOp::RequestShort, false, 0, None);
        totals.add(TracedOp::WaitNb, false, 0, Some(500));
        let lines: Vec<String> = totals.lines().into_iter().map(|(_, line)| line).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("PUT  ") && lines[0].contains("count=2  bytes total=40 min=10 avg=20.000 max=30"));
        assert!(lines[0].ends_with("us total=3 min=1 avg=1.500 max=2"), "{}", lines[0]);
        assert!(lines[1].contains("us total=0.5 min=0.5") && !lines[1].contains("bytes"));
        assert!(lines[2].starts_with("AMREQUEST_SHORT") && lines[2].ends_with("count=2"), "{}", lines[2]);
        totals.clear();
        assert!(totals.lines().is_empty());
    }

    #[test]
    fn copies_within_shared_memory_have_a_name_of_their_own() {
        let totals = Totals::default();
        for near in [false, true, true] {
            totals.add(TracedOp::PutNbiVal, near, 8, None);
            totals.add(TracedOp::PutV, near, 8, None);
        }
        let lines: Vec<String> = totals.lines().into_iter().map(|(_, line)| line).collect();
        let starts = ["PUT_NBI_VAL          count=1", "PUT_NBI_VAL_LOCAL    count=2", "PUTV_BULK            count=3"];
        assert!(lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{lines:?}");
        assert_eq!(lines.len(), starts.len());
    }

    #[test]
    fn every_operation_has_its_own_name_and_a_known_letter() {
        let mut names: Vec<&str> = TracedOp::ALL.iter().map(|op| op.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TracedOp::ALL.len());
        assert!(TracedOp::ALL.iter().all(|op| crate::base::config::Mask::LETTERS.contains(op.letter() as char)));
    }
}
