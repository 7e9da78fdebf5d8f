//! The best mapping, proved: branch and bound, depth first, with the bound of Gilmore and Lawler.
//!
//! In each node of the tree some ranks have their positions. For each other rank and free position there is a least cost:
//! with those that are placed exactly, among the others at best. The linear assignment problem of these costs bounds the
//! node; its reduced costs bound each child. The rank, or the position, with the fewest children left is branched on.
//!
//! Ranks without existence stand for free positions. They cost nothing and are never branched on.
//!
//! Must not know: clocks, how the first mapping was found.

use super::hungarian;
use super::problem::Problem;
use super::symmetry::Symmetry;

/// What the search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub at: Vec<usize>,
    pub cost: f64,
    /// Whether all was searched.
    pub proved: bool,
    /// Nodes of the tree.
    pub nodes: u64,
}

/// Depth down to which positions that are alike are looked for; deeper only twins count.
const SYMMETRIC: usize = 3;
/// Nodes between two questions whether to go on.
pub const ASK: u64 = 256;

struct Search<'a> {
    n: usize,
    ranks: usize,
    /// The cost of both directions between ranks i and j at positions p and q, at `((i·n + p)·n + j)·n + q`. Of one rank: its own.
    both: Vec<f64>,
    /// With one term: flows and distances, row by row.
    single: Option<(Vec<f64>, Vec<f64>)>,
    symmetry: Symmetry,
    has_twins: bool,
    /// All costs are multiples of this; 0: not known.
    step: f64,
    rounding: f64,
    best: Found,
    most: u64,
    go_on: &'a mut dyn FnMut() -> bool,
}

/// A node: who is where. Both lists are in ascending order.
struct Node {
    at: Vec<Option<usize>>,
    held: Vec<usize>,
    ranks: Vec<usize>,
    positions: Vec<usize>,
    cost: f64,
}

/// Searches all mappings that have ranks where `fixed` says. `start` is the best mapping so far. At most `most` nodes are looked
/// at, and `go_on` is asked every now and then. The tables take 8 bytes times the fourth power of the positions.
pub fn search(
    problem: &Problem,
    start: &[usize],
    fixed: &[(usize, usize)],
    most: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Found {
    let n = problem.n;
    let best = Found { at: start.to_vec(), cost: problem.cost(start), proved: true, nodes: 0 };
    let values = |p: usize, q: usize| {
        let level = problem.level[p * n + q] as usize;
        problem.tables.iter().map(|table| table[level].to_bits()).collect()
    };
    let symmetry = Symmetry::of(n, values);
    let mut search = Search {
        n,
        ranks: problem.ranks,
        both: both(problem),
        single: (problem.tables.len() == 1).then(|| balanced(n, problem.weights(0), problem.distances(0))),
        has_twins: (0..n).any(|p| symmetry.twin[p] != p),
        symmetry,
        step: step(problem),
        rounding: 1e-9 * best.cost.abs(),
        best,
        most,
        go_on,
    };
    let mut root =
        Node { at: vec![None; n], held: Vec::new(), ranks: (0..n).collect(), positions: (0..n).collect(), cost: 0.0 };
    for (rank, position) in fixed {
        root = search.child(&root, *rank, *position);
    }
    search.visit(&root);
    search.best
}

fn both(problem: &Problem) -> Vec<f64> {
    let n = problem.n;
    let mut both = vec![0.0; n * n * n * n];
    for flow in &problem.flows {
        for pair in 0..n * n {
            let (p, q) = (pair / n, pair % n);
            let cost = problem.pair(&flow.weights, p, q);
            both[((flow.from * n + p) * n + flow.to) * n + q] += cost;
            if flow.from != flow.to {
                both[((flow.to * n + q) * n + flow.from) * n + p] += cost;
            }
        }
    }
    both
}

// If one table is symmetric, the other one's symmetric part serves as well and bounds better.
fn balanced(n: usize, mut a: Vec<f64>, mut b: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
    let turned = |at: usize| at % n * n + at / n;
    let is_symmetric = |table: &[f64]| (0..n * n).all(|at| table[at] == table[turned(at)]);
    let mean = |table: &[f64]| (0..n * n).map(|at| (table[at] + table[turned(at)]) / 2.0).collect();
    if is_symmetric(&a) {
        b = mean(&b);
    } else if is_symmetric(&b) {
        a = mean(&a);
    }
    (a, b)
}

// The greatest number that all costs are multiples of, if all entries of the one term are whole.
fn step(problem: &Problem) -> f64 {
    let [table] = &problem.tables[..] else { return 0.0 };
    fn divisor(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { divisor(b, a % b) }
    }
    let n = problem.n;
    let (a, b) = (problem.weights(0), problem.distances(0));
    let is_whole = |value: &f64| value.fract() == 0.0 && *value < 1e9;
    if !a.iter().all(is_whole) || !table.iter().all(is_whole) {
        return 0.0;
    }
    let common = |table: &[f64]| table.iter().fold(0, |all, value| divisor(all, *value as u64)) as f64;
    let plain = |table: &[f64]| (0..n * n).all(|at| table[at] == table[at % n * n + at / n]);
    let no_own = (0..n).all(|i| a[i * n + i] == 0.0 || b[i * n + i] == 0.0);
    let twice = if plain(&a) && plain(&b) && no_own { 2.0 } else { 1.0 };
    common(&a) * common(&b) * twice
}

impl Search<'_> {
    fn pair(&self, i: usize, p: usize, j: usize, q: usize) -> f64 {
        self.both[((i * self.n + p) * self.n + j) * self.n + q]
    }

    // Whether nothing below a node with this bound is better than the best mapping.
    fn is_hopeless(&self, bound: f64) -> bool {
        if self.step > 0.0 {
            return bound > self.best.cost - self.step + 1e-6;
        }
        bound >= self.best.cost - self.rounding
    }

    fn child(&self, node: &Node, rank: usize, position: usize) -> Node {
        let own = self.pair(rank, position, rank, position);
        let placed = node.at.iter().enumerate();
        let with: f64 = placed.filter_map(|(j, q)| Some(self.pair(rank, position, j, (*q)?))).sum();
        let mut at = node.at.clone();
        at[rank] = Some(position);
        let without = |list: &[usize], one: usize| list.iter().copied().filter(|other| *other != one).collect();
        let mut held = node.held.clone();
        held.push(position);
        Node {
            at,
            held,
            ranks: without(&node.ranks, rank),
            positions: without(&node.positions, position),
            cost: node.cost + own + with,
        }
    }

    fn visit(&mut self, node: &Node) {
        self.best.nodes += 1;
        if self.best.nodes >= self.most || (self.best.nodes.is_multiple_of(ASK) && !(self.go_on)()) {
            self.best.proved = false;
        }
        if !self.best.proved {
            return;
        }
        if node.ranks.first().is_none_or(|rank| *rank >= self.ranks) {
            return self.take(node);
        }
        let m = node.ranks.len();
        let least = self.least(node);
        let found = hungarian::assign(m, m, &least);
        let bound = node.cost + found.cost;
        if self.is_hopeless(bound) {
            return;
        }
        // The assignment itself may be a good mapping.
        self.try_assignment(node, &found.column);
        let reduced = |row: usize, column: usize| {
            bound + (least[row * m + column] - found.rows[row] - found.columns[column]).max(0.0)
        };
        for (_, row, column) in self.branches(node, reduced) {
            if !self.is_hopeless(reduced(row, column)) {
                let child = self.child(node, node.ranks[row], node.positions[column]);
                self.visit(&child);
            }
        }
    }

    fn take(&mut self, node: &Node) {
        let mut free = node.positions.iter().copied();
        let at: Vec<usize> = node.at.iter().map(|place| place.or_else(|| free.next()).unwrap_or(0)).collect();
        if node.cost < self.best.cost - self.rounding {
            self.best.cost = node.cost;
            self.best.at = at;
        }
    }

    fn try_assignment(&mut self, node: &Node, column: &[usize]) {
        let mut at = node.at.clone();
        for (row, column) in column.iter().enumerate() {
            at[node.ranks[row]] = Some(node.positions[*column]);
        }
        let at: Vec<usize> = at.into_iter().flatten().collect();
        let mut cost = 0.0;
        for i in 0..self.n {
            cost += self.pair(i, at[i], i, at[i]);
            cost += (0..i).map(|j| self.pair(i, at[i], j, at[j])).sum::<f64>();
        }
        if cost < self.best.cost - self.rounding {
            (self.best.cost, self.best.at) = (cost, at);
        }
    }

    // The least cost of each rank that is left at each position that is left.
    fn least(&self, node: &Node) -> Vec<f64> {
        let m = node.ranks.len();
        let mut least = vec![0.0; m * m];
        let placed: Vec<(usize, usize)> = node.at.iter().enumerate().filter_map(|(j, q)| Some((j, (*q)?))).collect();
        for (row, i) in node.ranks.iter().enumerate() {
            for (column, p) in node.positions.iter().enumerate() {
                let with: f64 = placed.iter().map(|(j, q)| self.pair(*i, *p, *j, *q)).sum();
                least[row * m + column] = self.pair(*i, *p, *i, *p) + with;
            }
        }
        match &self.single {
            Some((a, b)) => self.add_sorted(node, a, b, &mut least),
            None => self.add_assigned(node, &mut least),
        }
        least
    }

    // One term: the largest flows over the shortest ways.
    fn add_sorted(&self, node: &Node, a: &[f64], b: &[f64], least: &mut [f64]) {
        let m = node.ranks.len();
        let rows = |list: &[usize], table: &[f64], sign: f64| {
            let mut all = Vec::with_capacity(m * m);
            for i in list {
                let start = all.len();
                all.extend(list.iter().filter(|j| *j != i).map(|j| table[i * self.n + j]));
                all[start..].sort_unstable_by(|x: &f64, y: &f64| (sign * x).total_cmp(&(sign * y)));
            }
            all
        };
        let (flows, ways) = (rows(&node.ranks, a, -1.0), rows(&node.positions, b, 1.0));
        let rest = m - 1;
        for row in 0..m {
            let flows = &flows[row * rest..(row + 1) * rest];
            for column in 0..m {
                let ways = &ways[column * rest..(column + 1) * rest];
                least[row * m + column] += flows.iter().zip(ways).map(|(flow, way)| flow * way).sum::<f64>();
            }
        }
    }

    // Several terms: the best assignment of the other ranks to the other positions, half of both directions.
    fn add_assigned(&self, node: &Node, least: &mut [f64]) {
        let m = node.ranks.len();
        let mut inner = vec![0.0; (m - 1) * (m - 1)];
        for (row, i) in node.ranks.iter().enumerate() {
            for (column, p) in node.positions.iter().enumerate() {
                let mut next = 0;
                for j in node.ranks.iter().filter(|j| *j != i) {
                    for q in node.positions.iter().filter(|q| *q != p) {
                        inner[next] = self.pair(*i, *p, *j, *q) / 2.0;
                        next += 1;
                    }
                }
                least[row * m + column] += hungarian::assign(m - 1, m - 1, &inner).cost;
            }
        }
    }

    // The children to visit, the most promising first: bound, row, column.
    fn branches(&self, node: &Node, reduced: impl Fn(usize, usize) -> f64) -> Vec<(f64, usize, usize)> {
        let m = node.ranks.len();
        let columns: Vec<usize> = self.columns(node);
        let child = |row: usize, column: usize| (reduced(row, column), row, column);
        let kept = |list: Vec<(f64, usize, usize)>| {
            let all: f64 = list.iter().map(|child| child.0.min(self.best.cost)).sum();
            let left: Vec<_> = list.into_iter().filter(|child| !self.is_hopeless(child.0)).collect();
            (left, all)
        };
        let real = node.ranks.iter().take_while(|rank| **rank < self.ranks).count();
        let mut best = kept(columns.iter().map(|column| child(0, *column)).collect());
        let mut consider = |list: Vec<(f64, usize, usize)>| {
            let next = kept(list);
            if next.0.len() < best.0.len() || (next.0.len() == best.0.len() && next.1 > best.1) {
                best = next;
            }
        };
        for row in 1..real {
            consider(columns.iter().map(|column| child(row, *column)).collect());
        }
        // A position can be branched on only where all of them count and every rank exists.
        if columns.len() == m && real == m && !self.has_twins {
            for column in 0..m {
                consider((0..m).map(|row| child(row, column)).collect());
            }
        }
        best.0.sort_by(|x, y| x.0.total_cmp(&y.0));
        best.0
    }

    // The columns of positions that differ.
    fn columns(&self, node: &Node) -> Vec<usize> {
        let twin = &self.symmetry.twin;
        let first = |p: usize| !node.positions.iter().take_while(|q| **q < p).any(|q| twin[*q] == twin[p]);
        let mut different: Vec<usize> = node.positions.iter().copied().filter(|p| first(*p)).collect();
        if node.held.len() < SYMMETRIC {
            different = self.symmetry.different(&different, &node.held);
        }
        (0..node.positions.len()).filter(|column| different.contains(&node.positions[*column])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::{permutations, problems};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_as_good_as_trying_all(problem in problems(6), fixed in prop::option::of((0..6usize, 0..6usize))) {
            let problem = problem.simplified();
            let fixed: Vec<(usize, usize)> = fixed.map(|(i, p)| (i % problem.ranks, p % problem.n)).into_iter().collect();
            let fits = |at: &&Vec<usize>| fixed.iter().all(|(i, p)| at[*i] == *p);
            let all = permutations(problem.n);
            let start = all.iter().find(fits).unwrap();
            let best = all.iter().filter(fits).map(|at| problem.cost(at)).fold(f64::INFINITY, f64::min);
            let found = search(&problem, start, &fixed, u64::MAX, &mut || true);
            prop_assert!(found.proved && fits(&&found.at));
            prop_assert!((found.cost - best).abs() < 1e-6 && (problem.cost(&found.at) - best).abs() < 1e-6);
        }
    }

    #[test]
    fn a_search_that_is_cut_says_so() {
        let table: Vec<f64> =
            (0..49).map(|at| f64::from((at * 31 % 17) * u32::from(at / 7 != at % 7) as i32)).collect();
        let problem = Problem::of_tables(7, &table, &table);
        let start: Vec<usize> = (0..7).collect();
        let cut = search(&problem, &start, &[], 2, &mut || true);
        assert!(!cut.proved && cut.cost <= problem.cost(&start));
    }
}
