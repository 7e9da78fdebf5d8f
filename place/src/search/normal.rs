//! A problem with what does not depend on the mapping taken away.
//!
//! Flows and distances are split into a symmetric and an antisymmetric part. A product of parts of different kinds sums up to
//! zero, whatever the mapping. Distances that are the same for all pairs, and flows that are, cost the same wherever
//! ranks are. Distances that are sums of others are joined with those. What is left has few terms. If it has none, all mappings cost
//! the same.
//!
//! Must not know: how it is searched.

use super::problem::Problem;

/// What is left. Terms lie side by side: entry (i, j) of term t is at `(i·n + j)·terms + t`.
#[derive(Clone, Debug, Default)]
pub struct Normal {
    pub n: usize,
    pub terms: usize,
    /// Whether a term is antisymmetric.
    pub anti: Vec<bool>,
    /// Flows of ranks.
    pub a: Vec<f64>,
    /// Distances of positions.
    pub b: Vec<f64>,
}

/// Entries smaller than this part of the largest one are rounding.
const ROUNDING: f64 = 1e-11;

/// One kind of parts, symmetric or antisymmetric.
struct Parts {
    n: usize,
    anti: bool,
    /// Linearly independent distance matrices, each with an entry that is non-zero in it alone.
    basis: Vec<(Vec<f64>, usize)>,
}

impl Normal {
    /// Makes it. `None`: `go_on` said no. It is asked before each term of each kind.
    pub fn of(problem: &Problem, go_on: &dyn Fn() -> bool) -> Option<Normal> {
        let n = problem.n;
        let mut found: Vec<(Vec<f64>, Vec<f64>, bool)> = Vec::new();
        for anti in [false, true] {
            let mut parts = Parts { n, anti, basis: Vec::new() };
            let terms: Vec<(Vec<f64>, Vec<f64>)> = (0..problem.tables.len())
                .take_while(|_| go_on())
                .map(|term| {
                    (part(n, &problem.weights(term), anti), from_the_first(n, part(n, &problem.distances(term), anti)))
                })
                .filter(|(a, b)| largest(a) > 0.0 && largest(b) > 0.0)
                // Such flows may be so much larger than others that those would look like rounding if joined with them.
                .filter(|(a, b)| !parts.is_always_the_same(a, b, largest(a)))
                .collect();
            terms.iter().for_each(|(_, b)| parts.add(b.clone()));
            if !go_on() {
                return None;
            }
            for (distances, pivot) in &parts.basis {
                let (flows, scale) = joined(&terms, *pivot, distances[*pivot]);
                if !parts.is_always_the_same(&flows, distances, scale) {
                    found.push((flows, distances.clone(), anti));
                }
            }
        }
        let terms = found.len();
        let mut normal = Normal { n, terms, anti: found.iter().map(|term| term.2).collect(), ..Normal::default() };
        for at in 0..n * n {
            normal.a.extend(found.iter().map(|term| term.0[at]));
            normal.b.extend(found.iter().map(|term| term.1[at]));
        }
        Some(normal)
    }
}

impl Parts {
    // Takes out of `table` what the basis has, and adds the rest to the basis if there is any.
    fn add(&mut self, mut table: Vec<f64>) {
        let scale = largest(&table);
        for (other, pivot) in &self.basis {
            let factor = table[*pivot] / other[*pivot];
            take(&mut table, other, factor);
            // Exactly, so that no rounding stays to be multiplied by large flows.
            table[*pivot] = 0.0;
        }
        let Some(pivot) = (0..table.len()).max_by(|p, q| table[*p].abs().total_cmp(&table[*q].abs()).then(q.cmp(p)))
        else {
            return;
        };
        if table[pivot].abs() <= ROUNDING * scale {
            return;
        }
        for (other, _) in &mut self.basis {
            let factor = other[pivot] / table[pivot];
            take(other, &table, factor);
            other[pivot] = 0.0;
        }
        self.basis.push((table, pivot));
    }

    // Whether these flows over these distances cost the same for each mapping. Flows that do if each position is as far
    // from all others as any: those whose entries are u(i) + u(j). `scale` is the largest of what was added up to these flows.
    fn is_always_the_same(&self, flows: &[f64], distances: &[f64], scale: f64) -> bool {
        let n = self.n;
        let size = largest(flows);
        if size <= ROUNDING * scale {
            return true;
        }
        if self.anti || n < 3 || (0..n).any(|i| flows[i * n + i] != 0.0) {
            return false;
        }
        let sums = |table: &[f64]| table.chunks(n).map(|row| row.iter().sum::<f64>()).collect::<Vec<_>>();
        let (rows, far) = (sums(flows), sums(distances));
        let all: f64 = rows.iter().sum();
        let u: Vec<f64> = rows.iter().map(|row| (row - all / (2.0 * (n as f64 - 1.0))) / (n as f64 - 2.0)).collect();
        let off = |i: usize, j: usize| i != j && (flows[i * n + j] - u[i] - u[j]).abs() > ROUNDING * scale;
        let is_sum = !(0..n * n).any(|at| off(at / n, at % n));
        let is_even = far.iter().all(|row| (row - far[0]).abs() <= 1e-9 * largest(distances) * n as f64);
        let is_constant = u.iter().all(|value| (value - u[0]).abs() <= ROUNDING * scale);
        let diagonal = (0..n).all(|p| distances[p * n + p] == distances[0]);
        is_sum && diagonal && (is_even || is_constant)
    }
}

fn part(n: usize, table: &[f64], anti: bool) -> Vec<f64> {
    let sign = if anti { -1.0 } else { 1.0 };
    (0..n * n).map(|at| (table[at] + sign * table[at % n * n + at / n]) / 2.0).collect()
}

// The distances less that of the first pair, which then is the same for all pairs. Antisymmetric ones stay.
fn from_the_first(n: usize, mut table: Vec<f64>) -> Vec<f64> {
    if n > 1 && table[1] == table[n] {
        let first = table[1];
        (0..n * n).filter(|at| at / n != at % n).for_each(|at| table[at] -= first);
    }
    table
}

// The flows that belong to a table of the basis: each term's, by how much of that table its distances have. Beside them
// stands the largest entry of what is added up, by which rounding is judged: flows of other tables do not count, for bytes are
// far more than operations and each costs far less.
fn joined(terms: &[(Vec<f64>, Vec<f64>)], pivot: usize, unit: f64) -> (Vec<f64>, f64) {
    let mut sum = vec![0.0; terms.first().map_or(0, |(a, _)| a.len())];
    let mut scale: f64 = 0.0;
    for (flows, distances) in terms {
        let factor = distances[pivot] / unit;
        take(&mut sum, flows, -factor);
        scale = scale.max(factor.abs() * largest(flows));
    }
    (sum, scale)
}

fn take(table: &mut [f64], other: &[f64], factor: f64) {
    if factor != 0.0 {
        table.iter_mut().zip(other).for_each(|(value, other)| *value -= factor * other);
    }
}

fn largest(table: &[f64]) -> f64 {
    table.iter().fold(0.0, |most, value| value.abs().max(most))
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::{permutations, problems};
    use super::*;
    use proptest::prelude::*;

    fn cost(normal: &Normal, at: &[usize]) -> f64 {
        let Normal { n, terms, a, b, .. } = normal;
        let one = |(i, j): (usize, usize)| -> f64 {
            (0..*terms).map(|t| a[(i * n + j) * terms + t] * b[(at[i] * n + at[j]) * terms + t]).sum()
        };
        (0..n * n).map(|pair| one((pair / n, pair % n))).sum()
    }

    proptest! {
        #[test]
        fn differences_between_mappings_stay(problem in problems(5)) {
            let normal = Normal::of(&problem, &|| true).unwrap();
            let all = permutations(problem.n);
            let first = problem.cost(&all[0]) - cost(&normal, &all[0]);
            for at in &all {
                let rest = problem.cost(at) - cost(&normal, at);
                prop_assert!((rest - first).abs() < 1e-6, "{rest} {first}");
            }
        }
    }

    #[test]
    fn one_term_stays_as_it_is_written() {
        let (a, b) = ([0.0, 3.0, 1.0, 3.0, 0.0, 2.0, 1.0, 2.0, 0.0], [0.0, 5.0, 8.0, 5.0, 0.0, 4.0, 8.0, 4.0, 0.0]);
        let normal = Normal::of(&Problem::of_tables(3, &a, &b), &|| true).unwrap();
        assert_eq!((normal.terms, normal.a, normal.b[2]), (1, a.to_vec(), 3.0));
        assert_eq!(normal.b[1], 0.0);
    }

    // Two terms whose flows differ by twelve orders of magnitude, and their costs by as many the other way.
    #[test]
    fn few_operations_are_not_lost_among_many_bytes() {
        let n = 6;
        let table = |seed: usize, unit: f64| {
            move |p: usize, q: usize| if p == q { 0.0 } else { unit * ((p * 7 + q * q * seed + seed) % 11) as f64 }
        };
        let tables: [&dyn Fn(usize, usize) -> f64; 2] = [&table(3, 1e8), &table(5, 1e-9)];
        let pairs: Vec<(usize, usize)> = (0..n * n).map(|at| (at / n, at % n)).collect();
        for bytes in [|_, _| 1e12, |i, _| if i == 0 { 1e12 } else { 0.0 }] as [fn(usize, usize) -> f64; 2] {
            let flow = |(from, to): &(usize, usize)| {
                let weights = vec![((from * 5 + to) % 4) as f64, bytes(*from, *to)];
                super::super::problem::Weighted { from: *from, to: *to, weights }
            };
            let problem = Problem {
                n,
                ranks: n,
                level: (0..(n * n) as u32).collect(),
                tables: tables.iter().map(|table| pairs.iter().map(|(p, q)| table(*p, *q)).collect()).collect(),
                flows: pairs.iter().filter(|(i, j)| i != j).map(flow).collect(),
            };
            let normal = Normal::of(&problem, &|| true).unwrap();
            let all = permutations(n);
            let first = problem.cost(&all[0]) - cost(&normal, &all[0]);
            assert!(normal.terms > 0);
            for at in &all {
                assert!((problem.cost(at) - cost(&normal, at) - first).abs() < 1e-6 * problem.cost(at));
            }
        }
    }
}
