//! The linear assignment problem: rows to columns at the least cost, by the Hungarian method with potentials.

/// An assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub cost: f64,
    /// The column of each row.
    pub column: Vec<usize>,
    /// What no cost is below: `cost(row, column) >= rows[row] + columns[column]`, with equality where assigned.
    pub rows: Vec<f64>,
    pub columns: Vec<f64>,
}

/// Assigns each of `rows` rows a column of its own. `cost` has a row of `columns` entries per row; there are at least as
/// many columns as rows. It takes rows² · columns steps.
pub fn assign(rows: usize, columns: usize, cost: &[f64]) -> Assignment {
    // Column 0 is where a row that is being added stands; the others are those of the caller, from 1 on.
    let mut u = vec![0.0; rows + 1];
    let mut v = vec![0.0; columns + 1];
    let mut row_of = vec![0; columns + 1];
    let mut came_from = vec![0; columns + 1];
    for row in 1..=rows {
        row_of[0] = row;
        let mut at = 0;
        let mut slack = vec![f64::INFINITY; columns + 1];
        let mut done = vec![false; columns + 1];
        while row_of[at] != 0 {
            done[at] = true;
            let from = row_of[at];
            let (mut least, mut next) = (f64::INFINITY, 0);
            for column in (1..=columns).filter(|column| !done[*column]) {
                let reduced = cost[(from - 1) * columns + column - 1] - u[from] - v[column];
                if reduced < slack[column] {
                    slack[column] = reduced;
                    came_from[column] = at;
                }
                if slack[column] < least {
                    least = slack[column];
                    next = column;
                }
            }
            for column in 0..=columns {
                if done[column] {
                    u[row_of[column]] += least;
                    v[column] -= least;
                } else {
                    slack[column] -= least;
                }
            }
            at = next;
        }
        while at != 0 {
            row_of[at] = row_of[came_from[at]];
            at = came_from[at];
        }
    }
    let mut column_of = vec![0; rows];
    for column in (1..=columns).filter(|column| row_of[*column] != 0) {
        column_of[row_of[column] - 1] = column - 1;
    }
    let sum = column_of.iter().enumerate().map(|(row, column)| cost[row * columns + column]).sum();
    Assignment { cost: sum, column: column_of, rows: u.split_off(1), columns: v.split_off(1) }
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::permutations;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_as_good_as_trying_all(rows in 0..6usize, spare in 0..2usize, list in prop::collection::vec(-20..20i32, 42)) {
            let columns = rows + spare;
            let cost: Vec<f64> = list[..rows * columns].iter().map(|value| f64::from(*value)).collect();
            let found = assign(rows, columns, &cost);
            let sum = |columns_of: &[usize]| -> f64 { (0..rows).map(|row| cost[row * columns + columns_of[row]]).sum() };
            let best = permutations(columns).iter().map(|all| sum(all)).fold(f64::INFINITY, f64::min);
            prop_assert_eq!((found.cost, sum(&found.column)), (best, best));
            for (at, cost) in cost.iter().enumerate() {
                let (row, column) = (at / columns, at % columns);
                let rest = cost - found.rows[row] - found.columns[column];
                prop_assert!(rest > -1e-9 && (found.column[row] != column || rest < 1e-9));
            }
        }
    }
}
