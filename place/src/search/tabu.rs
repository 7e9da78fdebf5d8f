//! Robust tabu search (Taillard 1991): the best swap of two ranks in each iteration, even if it makes things worse.
//!
//! A swap is tabu if it brings both ranks back to where they were a short while ago; how long that is varies at random.
//! A tabu swap is made nevertheless if it gives the best mapping so far. A swap that was possible for long is made even if it is bad. All
//! differences are kept; after a swap each changes by a product per term.
//!
//! Must not know: costs of the problem beside its normal form, clocks.

use super::normal::Normal;
use super::random::Random;

/// What a run may do.
pub struct Run<'a> {
    pub normal: &'a Normal,
    /// Ranks that may be moved. Those from `ranks` on stand for free positions.
    pub free: &'a [usize],
    pub ranks: usize,
    pub iterations: u64,
}

/// Searches from `at`, which becomes the best mapping found. `go_on` is asked every few iterations. Returns the number
/// of iterations made.
pub fn search(run: &Run, at: &mut [usize], random: &mut Random, go_on: &mut dyn FnMut() -> bool) -> u64 {
    match run.normal.terms {
        0 => 0,
        1 => Search::<1>::new(run, at).run(run, at, random, go_on),
        2 => Search::<2>::new(run, at).run(run, at, random, go_on),
        3 => Search::<3>::new(run, at).run(run, at, random, go_on),
        4 => Search::<4>::new(run, at).run(run, at, random, go_on),
        5..=8 => Search::<8>::new(run, at).run(run, at, random, go_on),
        _ => Search::<MOST>::new(run, at).run(run, at, random, go_on),
    }
}

/// Ten terms (five classes, alpha and beta), each with a symmetric and an antisymmetric part.
const MOST: usize = 20;

/// Iterations after which differences are computed anew, so that rounding does not add up.
const AFRESH: u64 = 2048;
/// Iterations between two questions whether to go on.
pub const ASK: u64 = 64;

struct Search<const R: usize> {
    n: usize,
    a: Vec<[f64; R]>,
    /// Distances between ranks where they are now: those of positions, with rows and columns in the order of ranks.
    here: Vec<[f64; R]>,
    /// -4 for antisymmetric terms: what the pair of swapped ranks itself adds.
    turned: [f64; R],
    at: Vec<usize>,
    /// The difference that a swap of two free ranks makes, by their places in `free`, the smaller first. Infinite for
    /// two ranks that do not exist.
    delta: Vec<f64>,
    /// By place in `free` and position: the iteration until which the rank should not go back there.
    until: Vec<u64>,
    /// No entry of `until` is below this.
    oldest: u64,
}

impl<const R: usize> Search<R> {
    fn new(run: &Run, at: &[usize]) -> Self {
        let Normal { n, terms, anti, a, b } = run.normal;
        let padded = |table: &[f64]| {
            let entry = |entry: &[f64]| std::array::from_fn(|t| entry.get(t).copied().unwrap_or(0.0));
            table.chunks(*terms).map(entry).collect::<Vec<[f64; R]>>()
        };
        let count = run.free.len();
        let b = padded(b);
        let mut search = Search {
            n: *n,
            a: padded(a),
            here: (0..n * n).map(|pair| b[at[pair / n] * n + at[pair % n]]).collect(),
            turned: std::array::from_fn(|t| if anti.get(t) == Some(&true) { -4.0 } else { 0.0 }),
            at: at.to_vec(),
            delta: vec![0.0; count * count],
            until: vec![0; count * n],
            oldest: 0,
        };
        search.compute(run);
        search
    }

    fn compute(&mut self, run: &Run) {
        let count = run.free.len();
        for (i, r) in run.free.iter().enumerate() {
            for (j, s) in run.free.iter().enumerate().skip(i + 1) {
                let both_absent = *r >= run.ranks && *s >= run.ranks;
                self.delta[i * count + j] = if both_absent { f64::INFINITY } else { self.difference(*r, *s) };
            }
        }
    }

    fn row<'a>(&self, table: &'a [[f64; R]], of: usize) -> &'a [[f64; R]] {
        &table[of * self.n..(of + 1) * self.n]
    }

    // The difference in full.
    fn difference(&self, r: usize, s: usize) -> f64 {
        let (ar, aq) = (self.row(&self.a, r), self.row(&self.a, s));
        let (dr, dq) = (self.row(&self.here, r), self.row(&self.here, s));
        let product = |k: usize| {
            let mut sum = 0.0;
            for t in 0..R {
                sum += (ar[k][t] - aq[k][t]) * (dq[k][t] - dr[k][t]);
            }
            sum
        };
        // Two sums, so that one need not wait for the other. The ranks themselves do not belong to it.
        let mut sums = [-product(r), -product(s)];
        for k in 0..self.n / 2 {
            sums[0] += product(2 * k);
            sums[1] += product(2 * k + 1);
        }
        if self.n % 2 == 1 {
            sums[0] += product(self.n - 1);
        }
        let mut sum = 2.0 * (sums[0] + sums[1]);
        for t in 0..R {
            sum += self.turned[t] * ar[s][t] * dr[s][t];
            sum += (ar[r][t] - aq[s][t]) * (dq[s][t] - dr[r][t]);
        }
        sum
    }

    // Exchanges the positions of two ranks.
    fn exchange(&mut self, u: usize, v: usize) {
        let n = self.n;
        self.at.swap(u, v);
        for k in 0..n {
            self.here.swap(u * n + k, v * n + k);
        }
        for k in 0..n {
            self.here.swap(k * n + u, k * n + v);
        }
    }

    // Swaps the ranks at these places of `free`, and brings all differences up to date.
    fn swap(&mut self, run: &Run, i: usize, j: usize) {
        let count = run.free.len();
        let (u, v) = (run.free[i], run.free[j]);
        self.exchange(u, v);
        let minus = |table: &[[f64; R]], x: usize, y: usize| -> Vec<[f64; R]> {
            let (x, y) = (self.row(table, x), self.row(table, y));
            run.free.iter().map(|k| std::array::from_fn(|t| x[*k][t] - y[*k][t])).collect()
        };
        let (flows, ways) = (minus(&self.a, u, v), minus(&self.here, v, u));
        for x in 0..count {
            let (flow, way) = (flows[x], ways[x]);
            let row = &mut self.delta[x * count + x + 1..(x + 1) * count];
            for (delta, (flows, ways)) in row.iter_mut().zip(flows[x + 1..].iter().zip(&ways[x + 1..])) {
                let mut sum = 0.0;
                for t in 0..R {
                    sum += (flow[t] - flows[t]) * (way[t] - ways[t]);
                }
                *delta += 2.0 * sum;
            }
        }
        for other in (0..count).filter(|other| *other != i && *other != j) {
            for place in [i, j] {
                let (x, y) = (place.min(other), place.max(other));
                if self.delta[x * count + y].is_finite() {
                    self.delta[x * count + y] = self.difference(run.free[x], run.free[y]);
                }
            }
        }
        self.delta[i * count + j] = self.difference(u, v);
    }

    // The swap to make: places in `free`.
    fn choose(&mut self, run: &Run, now: u64, current: f64, best: f64, patience: u64) -> Option<(usize, usize)> {
        let count = run.free.len();
        if self.oldest + patience < now {
            self.oldest = self.until.iter().copied().min().unwrap_or(now);
        }
        // While no swap is old, those that are worse than the best one so far need no look.
        let some_are_old = self.oldest + patience < now;
        let mut chosen = None;
        let (mut least, mut forced) = (f64::INFINITY, false);
        for i in 0..count {
            let (p, until) = (self.at[run.free[i]], &self.until[i * self.n..(i + 1) * self.n]);
            for (j, delta) in (i + 1..count).zip(&self.delta[i * count + i + 1..(i + 1) * count]) {
                let delta = *delta;
                if delta >= least && (forced || !some_are_old) || delta.is_infinite() {
                    continue;
                }
                let (there, back) = (until[self.at[run.free[j]]], self.until[j * self.n + p]);
                let is_tabu = there > now && back > now;
                let aspired = current + delta < best || there.max(back) + patience < now;
                if (aspired && !forced) || (aspired == forced && delta < least && (!is_tabu || aspired)) {
                    (chosen, least, forced) = (Some((i, j)), delta, aspired);
                }
            }
        }
        chosen
    }

    fn run(mut self, run: &Run, out: &mut [usize], random: &mut Random, go_on: &mut dyn FnMut() -> bool) -> u64 {
        let count = run.free.len();
        let scale = self.delta.iter().filter(|delta| delta.is_finite()).fold(0.0, |most: f64, d| most.max(d.abs()));
        let rounding = 1e-9 * scale;
        let patience = (count * count * 5) as u64;
        let (mut current, mut best) = (0.0, -rounding);
        for made in 0..run.iterations {
            if made % ASK == ASK - 1 && !go_on() {
                return made;
            }
            if made % AFRESH == AFRESH - 1 {
                self.compute(run);
            }
            let now = made + 1;
            let Some((i, j)) = self.choose(run, now, current, best, patience) else { continue };
            let (p, q) = (self.at[run.free[i]], self.at[run.free[j]]);
            let mut tenure = || (count as f64 * (0.9 + 0.2 * random.part())) as u64 + 4;
            self.until[i * self.n + p] = now + tenure();
            self.until[j * self.n + q] = now + tenure();
            current += self.delta[i * count + j];
            self.swap(run, i, j);
            if current < best {
                best = current - rounding;
                out.copy_from_slice(&self.at);
            }
        }
        run.iterations
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::problems;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn differences_stay_right_over_many_swaps(problem in problems(7), seed in any::<u64>()) {
            let normal = Normal::of(&problem, &|| true).unwrap();
            let mut random = Random::new(seed);
            let mut at: Vec<usize> = (0..problem.n).collect();
            random.shuffle(&mut at);
            let free: Vec<usize> = (0..problem.n).collect();
            let run = Run { normal: &normal, free: &free, ranks: problem.n, iterations: 0 };
            prop_assume!((1..=8).contains(&normal.terms) && problem.n > 2);
            let mut search = Search::<8>::new(&run, &at);
            for _ in 0..20 {
                let i = random.below(problem.n - 1);
                let j = i + 1 + random.below(problem.n - 1 - i);
                let before = problem.cost(&search.at);
                let told = search.delta[i * problem.n + j];
                search.swap(&run, i, j);
                let difference = problem.cost(&search.at) - before;
                prop_assert!((told - difference).abs() < 1e-6, "{told} {difference}");
            }
        }
    }

    #[test]
    fn it_never_ends_above_its_start_and_keeps_fixed_ranks() {
        let (a, b) =
            (vec![0.0, 5.0, 1.0, 0.0, 0.0, 7.0, 2.0, 1.0, 0.0], vec![0.0, 1.0, 9.0, 1.0, 0.0, 4.0, 9.0, 4.0, 0.0]);
        let problem = super::super::problem::Problem::of_tables(3, &a, &b);
        let normal = Normal::of(&problem, &|| true).unwrap();
        let run = Run { normal: &normal, free: &[0, 2], ranks: 3, iterations: 50 };
        let mut at = vec![0, 1, 2];
        assert_eq!(search(&run, &mut at, &mut Random::new(1), &mut || true), 50);
        assert!(at[1] == 1 && problem.cost(&at) <= problem.cost(&[0, 1, 2]));
    }
}
