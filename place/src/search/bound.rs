//! What no mapping costs less than: the bound of Gilmore and Lawler.
//!
//! A rank at a position costs at least what its flows cost over that position's distances in the best order. These
//! least costs make a linear assignment problem, whose solution is the bound.
//!
//! Must not know: how a search uses it.

use super::hungarian;
use super::problem::Problem;

/// The most positions for which the bound is computed; its work grows with their third power, times the terms.
const MOST: usize = 256;

/// A bound for all mappings.
pub fn of(problem: &Problem) -> f64 {
    if problem.n > MOST { each_at_its_best(problem) } else { gilmore_lawler(problem).max(each_at_its_best(problem)) }
}

// Each flow over the distance that is best for it.
fn each_at_its_best(problem: &Problem) -> f64 {
    let n = problem.n;
    let all = problem.level.iter().max().map_or(0, |most| *most as usize + 1);
    let mut occurs = [vec![false; all], vec![false; all]];
    for (pair, level) in problem.level.iter().enumerate() {
        occurs[usize::from(pair / n == pair % n)][*level as usize] = true;
    }
    let levels = occurs.map(|list| (0..all as u32).filter(|level| list[*level as usize]).collect::<Vec<u32>>());
    let cost = |weights: &[f64], level: &u32| -> f64 {
        weights.iter().zip(&problem.tables).map(|(weight, table)| weight * table[*level as usize]).sum()
    };
    let least = |flow: &super::problem::Weighted| {
        let levels = &levels[usize::from(flow.from == flow.to)];
        levels.iter().map(|level| cost(&flow.weights, level)).fold(f64::INFINITY, f64::min)
    };
    problem.flows.iter().map(least).sum()
}

fn gilmore_lawler(problem: &Problem) -> f64 {
    let n = problem.n;
    let mut least = vec![0.0; n * n];
    for term in 0..problem.tables.len() {
        let (a, b) = (problem.weights(term), problem.distances(term));
        let flows = sorted_rows(n, &a, |x, y| y.total_cmp(x));
        let ways = sorted_rows(n, &b, f64::total_cmp);
        for (pair, least) in least.iter_mut().enumerate() {
            let (i, p) = (pair / n, pair % n);
            let rest = n.saturating_sub(1);
            let product = |list: (&f64, &f64)| list.0 * list.1;
            let off: f64 =
                flows[i * rest..(i + 1) * rest].iter().zip(&ways[p * rest..(p + 1) * rest]).map(product).sum();
            *least += off + a[i * n + i] * b[p * n + p];
        }
    }
    hungarian::assign(n, n, &least).cost
}

// The rows without their entries on the diagonal, sorted.
fn sorted_rows(n: usize, table: &[f64], order: impl Fn(&f64, &f64) -> std::cmp::Ordering) -> Vec<f64> {
    let mut all = Vec::with_capacity(n * n);
    for i in 0..n {
        let mut row: Vec<f64> = (0..n).filter(|j| *j != i).map(|j| table[i * n + j]).collect();
        row.sort_by(&order);
        all.extend(row);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::{permutations, problems};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_mapping_is_below_it(problem in problems(6)) {
            let bounds = [of(&problem), each_at_its_best(&problem)];
            for at in permutations(problem.n) {
                prop_assert!(bounds.iter().all(|bound| *bound <= problem.cost(&at) + 1e-9));
            }
        }
    }
}
