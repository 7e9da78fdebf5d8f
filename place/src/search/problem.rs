//! The problem that the searches solve: a sum of quadratic assignment problems over the same mapping.
//!
//! cost = sum over flows (i, j) and terms t of weight_t(i, j) · table_t(level(at(i), at(j))). A term is an alpha or a beta
//! of some classes of operations. No weight and no entry of a table is negative.
//!
//! Must not know: what levels, terms and flows stand for.

/// The most that all flows may cost at their dearest. Far below it, differences of costs are only rounding.
pub const MOST_COST: f64 = 1e100;
/// What a user is told of more.
pub const TOO_LARGE: &str = "costs times traffic are too large: all together may cost 1e100 ns at most";

/// A problem.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Positions. Ranks from `ranks` on do not exist; they stand for positions that stay free.
    pub n: usize,
    pub ranks: usize,
    /// The level of each ordered pair of positions, row by row.
    pub level: Vec<u32>,
    /// The tables of the terms, by level.
    pub tables: Vec<Vec<f64>>,
    pub flows: Vec<Weighted>,
}

/// A pair of ranks with its weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted {
    pub from: usize,
    pub to: usize,
    /// By term.
    pub weights: Vec<f64>,
}

impl Problem {
    /// Drops terms that are always zero, and joins those with the same table. The flows keep their order.
    pub fn simplified(mut self) -> Problem {
        let has_flow = |term: usize| self.flows.iter().any(|flow| flow.weights[term] != 0.0);
        let mut into: Vec<Option<usize>> = Vec::new();
        let mut tables: Vec<Vec<f64>> = Vec::new();
        for (term, table) in self.tables.iter().enumerate() {
            into.push(if table.iter().all(|value| *value == 0.0) || !has_flow(term) {
                None
            } else if let Some(same) = tables.iter().position(|other| other == table) {
                Some(same)
            } else {
                tables.push(table.clone());
                Some(tables.len() - 1)
            });
        }
        for flow in &mut self.flows {
            let mut weights = vec![0.0; tables.len()];
            for (weight, to) in flow.weights.iter().zip(&into) {
                if let Some(to) = to {
                    weights[*to] += weight;
                }
            }
            flow.weights = weights;
        }
        self.tables = tables;
        self
    }

    /// Refuses problems whose costs are so large that sums and products of them would not be finite.
    pub fn check(&self) -> Result<(), String> {
        let most: Vec<f64> = self.tables.iter().map(|table| table.iter().copied().fold(0.0, f64::max)).collect();
        let one = |flow: &Weighted| flow.weights.iter().zip(&most).map(|(weight, most)| weight * most).sum::<f64>();
        let sum: f64 = self.flows.iter().map(one).sum();
        // Not so for what is no number either.
        if sum <= MOST_COST { Ok(()) } else { Err(TOO_LARGE.into()) }
    }

    /// The cost of a mapping.
    pub fn cost(&self, at: &[usize]) -> f64 {
        let one = |flow: &Weighted| self.pair(&flow.weights, at[flow.from], at[flow.to]);
        self.flows.iter().map(one).sum()
    }

    /// The cost of a flow with these weights between two positions.
    pub fn pair(&self, weights: &[f64], p: usize, q: usize) -> f64 {
        let level = self.level[p * self.n + q] as usize;
        weights.iter().zip(&self.tables).map(|(weight, table)| weight * table[level]).sum()
    }

    /// The weights of a term as a table of ranks, row by row.
    pub fn weights(&self, term: usize) -> Vec<f64> {
        let mut table = vec![0.0; self.n * self.n];
        for flow in &self.flows {
            table[flow.from * self.n + flow.to] += flow.weights[term];
        }
        table
    }

    /// The table of a term over positions, row by row.
    pub fn distances(&self, term: usize) -> Vec<f64> {
        self.level.iter().map(|level| self.tables[term][*level as usize]).collect()
    }

    /// The problem of two tables of `n` rows: flows `a` and distances `b`.
    pub fn of_tables(n: usize, a: &[f64], b: &[f64]) -> Problem {
        let mut values: Vec<f64> = b.to_vec();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let level = |value: &f64| values.partition_point(|other| other < value) as u32;
        let flow = |at: usize| Weighted { from: at / n, to: at % n, weights: vec![a[at]] };
        Problem {
            n,
            ranks: n,
            level: b.iter().map(level).collect(),
            flows: (0..n * n).filter(|at| a[*at] != 0.0).map(flow).collect(),
            tables: vec![values],
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any small problem: asymmetric, with a few terms, with spare positions.
    pub fn problems(most: usize) -> impl Strategy<Value = Problem> {
        (1..=most, 1..4usize, 1..5u32).prop_flat_map(move |(n, terms, levels)| {
            let flow = (0..n, 0..n, prop::collection::vec(0..9u32, terms));
            let tables = prop::collection::vec(prop::collection::vec(0..20u32, levels as usize + 1), terms);
            let level = prop::collection::vec(1..=levels, n * n);
            (1..=n, level, tables, prop::collection::vec(flow, 0..n * n)).prop_map(
                move |(ranks, level, tables, flows)| {
                    let own = |at: usize, level: u32| if at / n == at % n { 0 } else { level };
                    let numbers = |list: Vec<u32>| list.into_iter().map(f64::from).collect::<Vec<_>>();
                    let table = |mut list: Vec<u32>| {
                        list[0] = 0;
                        numbers(list)
                    };
                    let flow = |(from, to, weights): (usize, usize, Vec<u32>)| Weighted {
                        from: from % ranks,
                        to: to % ranks,
                        weights: numbers(weights),
                    };
                    Problem {
                        n,
                        ranks,
                        level: level.into_iter().enumerate().map(|(at, level)| own(at, level)).collect(),
                        tables: tables.into_iter().map(table).collect(),
                        flows: flows.into_iter().map(flow).filter(|flow| flow.from != flow.to).collect(),
                    }
                },
            )
        })
    }

    /// All permutations of `0..n`.
    pub fn permutations(n: usize) -> Vec<Vec<usize>> {
        let mut all = vec![vec![]];
        for next in 0..n {
            let longer = |shorter: &Vec<usize>| {
                (0..=next).map(|place| [&shorter[..place], &[next], &shorter[place..]].concat()).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    proptest! {
        #[test]
        fn simplified_problems_cost_the_same(problem in problems(6), seed in 0..720usize) {
            let all = permutations(problem.n);
            let at = &all[seed % all.len()];
            let simple = problem.clone().simplified();
            prop_assert!((problem.cost(at) - simple.cost(at)).abs() < 1e-9);
            prop_assert!(simple.tables.len() <= problem.tables.len());
        }
    }

    #[test]
    fn tables_become_levels() {
        let problem = Problem::of_tables(2, &[1.0, 2.0, 3.0, 4.0], &[5.0, 7.0, 9.0, 5.0]);
        assert_eq!((problem.level.clone(), problem.tables[0].len()), (vec![0, 1, 2, 0], 3));
        assert_eq!(
            (problem.cost(&[0, 1]), problem.cost(&[1, 0])),
            (5.0 + 14.0 + 27.0 + 20.0, 5.0 + 18.0 + 21.0 + 20.0)
        );
        assert_eq!((problem.weights(0), problem.distances(0)), (vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 7.0, 9.0, 5.0]));
    }
}
