//! Positions that are alike: exchanging them changes no distance. An exact search need try only one of them.
//!
//! Must not know: flows, bounds.

use std::collections::HashMap;

/// The symmetries of positions. Two pairs of positions are alike if their kinds are equal.
#[derive(Clone, Debug)]
pub struct Symmetry {
    n: usize,
    /// The kind of each ordered pair of positions, row by row; that of (p, p) is p's own.
    kind: Vec<u32>,
    /// The first position of those that may be exchanged with this one while all others stay.
    pub twin: Vec<usize>,
}

/// Steps after which looking for a symmetry is given up. Then positions count as different.
const PATIENCE: usize = 20_000;

impl Symmetry {
    /// Of `n` positions, with the values of a pair.
    pub fn of(n: usize, values: impl Fn(usize, usize) -> Vec<u64>) -> Symmetry {
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        let mut kind = Vec::with_capacity(n * n);
        for pair in 0..n * n {
            let next = known.len() as u32;
            kind.push(*known.entry(values(pair / n, pair % n)).or_insert(next));
        }
        let mut symmetry = Symmetry { n, kind, twin: Vec::new() };
        for p in 0..n {
            let first = (0..p).find(|q| symmetry.twin[*q] == *q && symmetry.are_twins(*q, p));
            symmetry.twin.push(first.unwrap_or(p));
        }
        symmetry
    }

    fn kind(&self, p: usize, q: usize) -> u32 {
        self.kind[p * self.n + q]
    }

    fn are_twins(&self, p: usize, q: usize) -> bool {
        let same = |x: usize| self.kind(p, x) == self.kind(q, x) && self.kind(x, p) == self.kind(x, q);
        self.kind(p, p) == self.kind(q, q)
            && self.kind(p, q) == self.kind(q, p)
            && (0..self.n).all(|x| x == p || x == q || same(x))
    }

    /// Of `candidates`, one of each set of positions that are alike while the positions `held` stay.
    pub fn different(&self, candidates: &[usize], held: &[usize]) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for candidate in candidates {
            if !found.iter().any(|other| self.maps(held, *other, *candidate)) {
                found.push(*candidate);
            }
        }
        found
    }

    // Whether an exchange of positions that leaves `held` alone takes `from` to `to`.
    fn maps(&self, held: &[usize], from: usize, to: usize) -> bool {
        let mut image = vec![usize::MAX; self.n];
        let mut order: Vec<usize> = held.iter().copied().chain([from]).collect();
        let fixed = order.len();
        order.extend((0..self.n).filter(|p| *p != from && !held.contains(p)));
        for p in held {
            image[*p] = *p;
        }
        image[from] = to;
        let fits = (0..fixed).all(|at| self.agrees(&order[..at], &image, order[at], image[order[at]]));
        fits && self.extend(&order, fixed, &mut image, &mut 0)
    }

    fn agrees(&self, placed: &[usize], image: &[usize], p: usize, to: usize) -> bool {
        let same = |x: &usize| {
            self.kind(p, *x) == self.kind(to, image[*x])
                && self.kind(*x, p) == self.kind(image[*x], to)
                && image[*x] != to
        };
        self.kind(p, p) == self.kind(to, to) && placed.iter().all(same)
    }

    fn extend(&self, order: &[usize], at: usize, image: &mut Vec<usize>, steps: &mut usize) -> bool {
        if at == order.len() {
            return true;
        }
        for to in 0..self.n {
            *steps += 1;
            if *steps > PATIENCE {
                return false;
            }
            if self.agrees(&order[..at], image, order[at], to) {
                image[order[at]] = to;
                if self.extend(order, at + 1, image, steps) {
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(x: usize, y: usize) -> Symmetry {
        let far = move |p: usize, q: usize| (p % x).abs_diff(q % x) + (p / x).abs_diff(q / x);
        Symmetry::of(x * y, |p, q| vec![far(p, q) as u64])
    }

    #[test]
    fn a_grid_can_be_turned_over_both_ways() {
        let all: Vec<usize> = (0..12).collect();
        assert_eq!(grid(4, 3).different(&all, &[]), [0, 1, 4, 5]);
        assert_eq!(grid(4, 3).different(&all, &[0]).len(), 12, "a corner that stays fixes the grid");
        assert_eq!(grid(4, 3).different(&all, &[4]).len(), 8, "rows can be exchanged still");
    }

    #[test]
    fn rings_are_all_alike_and_leaves_of_a_star_are_twins() {
        let ring = Symmetry::of(6, |p, q| vec![((q + 6 - p) % 6) as u64]);
        assert_eq!((ring.different(&[2, 3, 5], &[]), ring.different(&[2, 3, 5], &[0])), (vec![2], vec![2, 3, 5]));
        assert_eq!(ring.twin, [0, 1, 2, 3, 4, 5]);
        let caches = Symmetry::of(6, |p, q| vec![u64::from(p != q) + u64::from(p / 3 != q / 3)]);
        assert_eq!(caches.twin, [0, 0, 0, 3, 3, 3]);
        assert_eq!(caches.different(&[0, 1, 2, 3, 4], &[0]), [0, 1, 3]);
    }
}
