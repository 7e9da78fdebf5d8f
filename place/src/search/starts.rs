//! First mappings: greedy, and down the tree of a topology.
//!
//! Must not know: how they are improved.

use super::problem::Problem;
use crate::links::Tree;

/// Neighbours of each rank: the other rank, and the weights of both directions per term.
pub struct Neighbours(pub Vec<Vec<(usize, f64)>>);

impl Neighbours {
    /// From the flows. The weight of a pair is what it costs on the dearest level.
    pub fn of(problem: &Problem) -> Neighbours {
        let most: Vec<f64> = problem.tables.iter().map(|table| table.iter().copied().fold(0.0, f64::max)).collect();
        let mut lists: Vec<Vec<(usize, f64)>> = vec![Vec::new(); problem.n];
        for flow in problem.flows.iter().filter(|flow| flow.from != flow.to) {
            let weight = flow.weights.iter().zip(&most).map(|(weight, most)| weight * most).sum();
            lists[flow.from].push((flow.to, weight));
            lists[flow.to].push((flow.from, weight));
        }
        Neighbours(lists)
    }

    fn sum(&self, rank: usize) -> f64 {
        self.0[rank].iter().map(|(_, weight)| weight).sum()
    }
}

/// A mapping under construction.
struct Partial {
    at: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Partial {
    fn new(n: usize, fixed: &[(usize, usize)]) -> Partial {
        let mut partial = Partial { at: vec![None; n], taken: vec![false; n] };
        fixed.iter().for_each(|(rank, position)| partial.put(*rank, *position));
        partial
    }

    fn put(&mut self, rank: usize, position: usize) {
        self.at[rank] = Some(position);
        self.taken[position] = true;
    }

    // Ranks without a position get the free ones, in order.
    fn fill(self) -> Vec<usize> {
        let mut free = (0..self.taken.len()).filter(|p| !self.taken[*p]);
        self.at.into_iter().map(|place| place.or_else(|| free.next()).unwrap_or(0)).collect()
    }
}

/// Completes a mapping: ranks that `wanted` gives a free position get it, the others what is left.
pub fn completed(n: usize, fixed: &[(usize, usize)], wanted: &[usize]) -> Vec<usize> {
    let mut partial = Partial::new(n, fixed);
    for (rank, position) in wanted.iter().enumerate() {
        if partial.at[rank].is_none() && !partial.taken[*position] {
            partial.put(rank, *position);
        }
    }
    partial.fill()
}

/// The rank with most traffic to ranks that have a position gets the free position that costs least, again and again. When `go_on` says no, the
/// rest is filled up in order.
pub fn greedy(
    problem: &Problem,
    neighbours: &Neighbours,
    fixed: &[(usize, usize)],
    go_on: &dyn Fn() -> bool,
) -> Vec<usize> {
    let n = problem.n;
    let mut partial = Partial::new(n, fixed);
    let mut pull = vec![0.0; n];
    let add = |pull: &mut Vec<f64>, rank: usize| neighbours.0[rank].iter().for_each(|(other, w)| pull[*other] += w);
    fixed.iter().for_each(|(rank, _)| add(&mut pull, *rank));
    let sums: Vec<f64> = (0..n).map(|rank| neighbours.sum(rank)).collect();
    let mut by_rank: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (number, flow) in problem.flows.iter().enumerate() {
        by_rank[flow.from].push(number);
        by_rank[flow.to].push(number);
    }
    loop {
        let open = (0..problem.ranks).filter(|rank| partial.at[*rank].is_none());
        let better = |x: &usize, y: &usize| {
            (pull[*x], sums[*x]).partial_cmp(&(pull[*y], sums[*y])).unwrap_or(std::cmp::Ordering::Equal).then(y.cmp(x))
        };
        let Some(rank) = open.max_by(better).filter(|_| go_on()) else { return partial.fill() };
        let cost = |position: usize| -> f64 {
            let one = |number: &usize| {
                let flow = &problem.flows[*number];
                let place = |end: usize| if end == rank { Some(position) } else { partial.at[end] };
                Some(problem.pair(&flow.weights, place(flow.from)?, place(flow.to)?))
            };
            by_rank[rank].iter().filter_map(one).sum()
        };
        let free = (0..n).filter(|p| !partial.taken[*p]).map(|p| (cost(p), p));
        let Some((_, position)) = free.min_by(|x, y| x.0.total_cmp(&y.0)) else { return partial.fill() };
        partial.put(rank, position);
        add(&mut pull, rank);
    }
}

/// Down the tree: the ranks of a vertex are shared out to its children, heavy traffic together. When `go_on` says
/// no, the rest is filled up in order.
pub fn down(
    tree: &Tree,
    problem: &Problem,
    neighbours: &Neighbours,
    fixed: &[(usize, usize)],
    go_on: &dyn Fn() -> bool,
) -> Vec<usize> {
    let n = problem.n;
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); tree.vertices.len()];
    for (vertex, of) in tree.vertices.iter().enumerate().skip(1) {
        children[of.parent].push(vertex);
    }
    let mut partial = Partial::new(n, fixed);
    let mut leaves: Vec<Vec<usize>> = vec![Vec::new(); tree.vertices.len()];
    for (position, leaf) in tree.leaves.iter().enumerate().filter(|(position, _)| !partial.taken[*position]) {
        let mut at = *leaf;
        loop {
            leaves[at].push(position);
            if at == 0 {
                break;
            }
            at = tree.vertices[at].parent;
        }
    }
    let open: Vec<usize> = (0..problem.ranks).filter(|rank| partial.at[*rank].is_none()).collect();
    let mut left = vec![(0, open)];
    while let Some((vertex, mut ranks)) = left.pop() {
        if children[vertex].is_empty() {
            leaves[vertex].iter().zip(&ranks).for_each(|(position, rank)| partial.put(*rank, *position));
            continue;
        }
        for child in &children[vertex] {
            if !go_on() {
                return partial.fill();
            }
            let room = leaves[*child].len().min(ranks.len());
            let group = grown(&ranks, room, neighbours);
            ranks.retain(|rank| !group.contains(rank));
            left.push((*child, group));
        }
    }
    partial.fill()
}

// A group of `size` of these ranks: it begins with the one that has least traffic with the others, as those at a border
// have, and takes the one that is tied to it most each time.
fn grown(ranks: &[usize], size: usize, neighbours: &Neighbours) -> Vec<usize> {
    if size == ranks.len() {
        return ranks.to_vec();
    }
    let mut inside: Vec<bool> = vec![false; neighbours.0.len()];
    ranks.iter().for_each(|rank| inside[*rank] = true);
    let within = |rank: usize, inside: &[bool]| -> f64 {
        neighbours.0[rank].iter().filter(|(other, _)| inside[*other]).map(|(_, weight)| weight).sum()
    };
    let sums: Vec<f64> = (0..inside.len()).map(|rank| if inside[rank] { within(rank, &inside) } else { 0.0 }).collect();
    let mut pull = vec![0.0; inside.len()];
    let mut group = Vec::with_capacity(size);
    while group.len() < size {
        // What is tied to the group counts for a rank, what it is tied to elsewhere against it.
        let gain = |rank: usize| if pull[rank] > 0.0 { 2.0 * pull[rank] - sums[rank] } else { f64::NEG_INFINITY };
        let open = ranks.iter().copied().filter(|rank| inside[*rank]);
        let better =
            |x: &usize, y: &usize| gain(*x).total_cmp(&gain(*y)).then(sums[*y].total_cmp(&sums[*x])).then(y.cmp(x));
        let Some(next) = open.max_by(better) else { break };
        inside[next] = false;
        group.push(next);
        for (other, weight) in &neighbours.0[next] {
            pull[*other] += weight;
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::problems;
    use super::*;
    use crate::links::Vertex;
    use proptest::prelude::*;

    fn is_permutation(at: &[usize]) -> bool {
        let mut seen = at.to_vec();
        seen.sort_unstable();
        seen.into_iter().eq(0..at.len())
    }

    // A tree of pairs over the positions.
    fn pairs(n: usize) -> Tree {
        let mut tree = Tree { vertices: vec![Vertex { name: "all".into(), parent: 0, depth: 0 }], leaves: Vec::new() };
        for position in 0..n {
            if position % 2 == 0 {
                tree.vertices.push(Vertex { name: format!("pair {position}"), parent: 0, depth: 1 });
            }
            tree.leaves.push(tree.vertices.len() - 1);
        }
        tree
    }

    proptest! {
        #[test]
        fn all_ranks_get_positions_and_fixed_ones_theirs(problem in problems(8), rank in 0..8usize, position in 0..8usize) {
            let fixed = [(rank % problem.ranks, position % problem.n)];
            let neighbours = Neighbours::of(&problem);
            let wanted: Vec<usize> = (0..problem.ranks).collect();
            for at in [
                greedy(&problem, &neighbours, &fixed, &|| true),
                down(&pairs(problem.n), &problem, &neighbours, &fixed, &|| true),
                completed(problem.n, &fixed, &wanted),
            ] {
                prop_assert!(is_permutation(&at) && at[fixed[0].0] == fixed[0].1);
            }
        }
    }

    #[test]
    fn heavy_pairs_end_up_together() {
        let flows = [(0, 3), (1, 4), (2, 5)];
        let mut table = vec![0.0; 36];
        flows.iter().for_each(|(i, j)| table[i * 6 + j] = 1.0);
        let far = |at: usize| f64::from(u8::from(at / 6 != at % 6)) * if at / 12 == at % 6 / 2 { 1.0 } else { 5.0 };
        let problem = Problem::of_tables(6, &table, &(0..36).map(far).collect::<Vec<_>>());
        let neighbours = Neighbours::of(&problem);
        assert_eq!(problem.cost(&down(&pairs(6), &problem, &neighbours, &[], &|| true)), 3.0);
        assert_eq!(problem.cost(&greedy(&problem, &neighbours, &[], &|| true)), 3.0);
    }
}
