//! Compares shapes with naive enumerations.

use super::*;
use proptest::prelude::*;

/// The addresses of both sides, byte by byte, as vis.md §4 defines them.
fn naive(to: usize, ts: &[usize], from: usize, fs: &[usize], count: &[usize]) -> Vec<(usize, usize)> {
    let mut starts = vec![(to, from)];
    for level in 1..count.len() {
        let step = |k: usize| (k * ts[level - 1], k * fs[level - 1]);
        starts = (0..count[level])
            .flat_map(|k| starts.iter().map(move |(t, f)| (t + step(k).0, f + step(k).1)).collect::<Vec<_>>())
            .collect();
    }
    starts.iter().flat_map(|(t, f)| (0..count[0]).map(move |b| (t + b, f + b))).collect()
}

fn bytes(runs: impl Iterator<Item = Run>) -> Vec<(usize, usize)> {
    runs.flat_map(|r| (0..r.len).map(move |b| (r.to + b, r.from + b))).collect()
}

/// Legal strides of a section. A gap of 0, which is frequent, makes levels that fold.
fn strides(count: &[usize], gaps: &[usize]) -> Vec<usize> {
    let mut below = count[0];
    (1..count.len())
        .map(|i| {
            let stride = below + gaps[i - 1];
            below = count[i] * stride;
            stride
        })
        .collect()
}

fn sections() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, Vec<usize>)> {
    (0usize..8).prop_flat_map(|levels| {
        let count = prop::collection::vec(prop_oneof![3 => 1usize..4, 1 => 0usize..2], levels + 1);
        let gap = || prop_oneof![2 => Just(0usize), 1 => 1usize..20];
        let gaps = prop::collection::vec(gap(), levels);
        (count, gaps.clone(), gaps)
    })
}

proptest! {
    #[test]
    fn a_folded_section_has_the_same_bytes_in_the_same_order((count, tg, fg) in sections()) {
        let (ts, fs) = (strides(&count, &tg), strides(&count, &fg));
        let expected = naive(1000, &ts, 5_000_000, &fs, &count);
        match Section::fold(1000, &ts, 5_000_000, &fs, &count) {
            None => prop_assert!(expected.is_empty()),
            Some(section) => {
                prop_assert_eq!(bytes(section.runs()), expected.clone());
                prop_assert_eq!(section.total(), expected.len());
                prop_assert!(section.dims.iter().all(|d| d.count > 1));
                prop_assert!(section.dims.windows(2).all(|w| !w[0].continues(&w[1])));
                prop_assert_eq!(bytes(joined(section.runs())), expected.clone());
                // Folding is complete: the runs that are left do not join, except across levels of different
                // distances.
                if let Some(inner) = section.dims.first() {
                    prop_assert!(inner.to != section.run || inner.from != section.run);
                }
                let starts = section.outer(section.dims.len()).count();
                prop_assert_eq!(starts, 1);
            }
        }
    }

    #[test]
    fn without_gaps_everything_folds_to_one_run(count in prop::collection::vec(1usize..5, 1..8)) {
        let ts = strides(&count, &[0; 8]);
        let section = Section::fold(0, &ts, 64, &ts, &count).unwrap();
        prop_assert!(section.dims.is_empty());
        prop_assert_eq!(section.run, count.iter().product::<usize>());
    }

    #[test]
    fn runs_of_two_lists_keep_the_order_of_bytes(
        to in prop::collection::vec((0usize..1000, 0usize..9), 0..20),
        from in prop::collection::vec((0usize..1000, 0usize..9), 0..20),
    ) {
        let list = |l: &[(usize, usize)]| l.iter().map(|p| Piece { addr: p.0, len: p.1 }).collect::<Vec<_>>();
        let flat = |l: &[(usize, usize)]| l.iter().flat_map(|p| p.0..p.0 + p.1).collect::<Vec<_>>();
        let (t, f) = (list(&to), list(&from));
        let expected: Vec<_> = flat(&to).into_iter().zip(flat(&from)).collect();
        prop_assert_eq!(bytes(vector_runs(&t, &f)), expected.clone());
        prop_assert!(vector_runs(&t, &f).all(|r| r.len > 0));
        let long: Vec<_> = joined(vector_runs(&t, &f)).collect();
        prop_assert_eq!(bytes(long.iter().copied()), expected.clone());
        prop_assert!(long.windows(2).all(|w| w[0].to + w[0].len != w[1].to || w[0].from + w[0].len != w[1].from));
        let what = What::Vector(&t, &f);
        prop_assert_eq!(what.is_empty(), expected.is_empty());
    }

    #[test]
    fn index_lists_of_unequal_chunks_meet(small in 1usize..6, ratio in 1usize..5, n in 0usize..6, swap: bool) {
        let few: Vec<usize> = (0..n).map(|i| 10_000 + i * 977).collect();
        let many: Vec<usize> = (0..n * ratio).map(|i| i * 31).collect();
        let (a, b) = (Indexed { list: &few, len: small * ratio }, Indexed { list: &many, len: small });
        let flat = |l: Indexed<'_>| l.pieces().flat_map(|p| p.addr..p.addr + p.len).collect::<Vec<_>>();
        let (to, from) = if swap { (b, a) } else { (a, b) };
        let expected: Vec<_> = flat(to).into_iter().zip(flat(from)).collect();
        prop_assert_eq!(bytes(indexed_runs(to, from)), expected.clone());
        prop_assert_eq!(What::Indexed(to, from).total(), expected.len());
        prop_assert_eq!(What::Indexed(to, from).is_empty(), expected.is_empty());
    }
}

#[test]
fn any_zero_count_is_nothing_and_reads_no_strides() {
    assert!(Section::fold(0, &[0, 0], 0, &[0, 0], &[4, 0, 3]).is_none());
    assert!(Section::fold(0, &[], 0, &[], &[0]).is_none());
    assert_eq!(
        Section::fold(8, &[], 9, &[], &[5]).unwrap().runs().collect::<Vec<_>>(),
        [Run { to: 8, from: 9, len: 5 }]
    );
}

#[test]
fn twenty_dimensions_fit() {
    let count = vec![2; 20];
    let mut gaps = vec![0; 19];
    (0..19).for_each(|i| gaps[i] = 1);
    let ts = strides(&count, &gaps);
    let section = Section::fold(0, &ts, 0, &ts, &count).unwrap();
    assert_eq!(section.dims.len(), 19);
    assert_eq!(section.runs().count(), 1 << 19);
}

#[test]
fn totals_above_32_bits() {
    let section = Section::fold(0, &[1 << 33], 0, &[1 << 34], &[1 << 32, 3]).unwrap();
    assert_eq!(section.total(), 3 << 32);
}

#[test]
fn more_bytes_than_addresses_make_no_empty_run() {
    let half = 1 << 32;
    let section = Section::fold(0, &[half], 0, &[half], &[half, half]).unwrap();
    assert_eq!((section.run, section.dims.len()), (half, 1));
    let level = Section::fold(0, &[half, 0], 0, &[half, 0], &[1, half, half]).unwrap();
    assert_eq!(level.dims.iter().map(|d| d.count).collect::<Vec<_>>(), [half, half]);
    assert_eq!(What::Strided(section).runs(), 1);
    let run = |at: usize| Run { to: at, from: at, len: 1 << 63 };
    assert_eq!(joined([run(0), run(1 << 63)].into_iter()).count(), 2, "lengths are not added beyond 2⁶⁴");
}
