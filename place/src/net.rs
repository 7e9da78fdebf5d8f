//! Machines that are joined by links of their own: any number of machines, any links, each with what it costs.
//!
//! A link goes both ways. An operation takes the way whose links cost least per operation together; of equal ways the one with
//! fewer links. It costs the sum of the links' alpha, and for each byte the beta of the slowest link, because bytes flow through all
//! of them at once. The page (`page/net.js`) looks for ways by the same steps in the same order, so that both find the same ones.
//!
//! Must not know: traffic, searching.

use serde::{Deserialize, Serialize};

/// The most machines. The ways between all pairs take time that grows with the third power.
pub const MOST: usize = 512;

/// Costs of a link that does not say its own: those between two hosts.
const ALPHA: f64 = 2000.0;
const BETA: f64 = 0.1;

/// A link between two machines.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Cable {
    #[serde(default)]
    pub name: String,
    /// The numbers of the two machines.
    pub ends: [usize; 2],
    /// Ns per operation.
    #[serde(default = "alpha")]
    pub alpha: f64,
    /// Ns per byte.
    #[serde(default = "beta")]
    pub beta: f64,
}

fn alpha() -> f64 {
    ALPHA
}

fn beta() -> f64 {
    BETA
}

/// Machines, links, and the ways between all pairs.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Net {
    pub machines: Vec<String>,
    pub cables: Vec<Cable>,
    /// Of each ordered pair, row by row, the last link on the way there. The own machine has none.
    last: Vec<Option<usize>>,
}

impl Net {
    /// Looks for the ways.
    ///
    /// # Errors
    /// A link has no two ends or costs that are no numbers, or two machines are not joined.
    pub fn new(machines: Vec<String>, cables: Vec<Cable>) -> Result<Net, String> {
        let n = machines.len();
        if n > MOST {
            return Err(format!("more than {MOST} machines"));
        }
        for Cable { name, ends: [a, b], alpha, beta } in &cables {
            if a == b || *a.max(b) >= n {
                return Err(format!("link '{name}' joins machines {a} and {b}: it takes two of the {n}, from 0 on"));
            }
            let fits = |value: &f64| value.is_finite() && *value >= 0.0;
            if !fits(alpha) || !fits(beta) {
                return Err(format!("link '{name}': {alpha}, {beta}: costs are numbers from 0 on"));
            }
        }
        let mut net = Net { machines, cables, last: Vec::new() };
        for from in 0..n {
            let last = net.ways(from);
            if let Some(to) = (0..n).find(|to| *to != from && last[*to].is_none()) {
                return Err(format!("no links lead from {} to {}", net.machines[from], net.machines[to]));
            }
            net.last.extend(last);
        }
        Ok(net)
    }

    /// The number of links, each way counted.
    pub fn count(&self) -> usize {
        2 * self.cables.len()
    }

    /// From where to where a link goes; the second one of a cable goes back.
    pub fn ends(&self, link: usize) -> (usize, usize) {
        let [a, b] = self.cables[link / 2].ends;
        if link.is_multiple_of(2) { (a, b) } else { (b, a) }
    }

    // The last link on the best way to each machine.
    fn ways(&self, from: usize) -> Vec<Option<usize>> {
        let mut best = vec![(f64::INFINITY, 0_usize); self.machines.len()];
        let mut last = vec![None; self.machines.len()];
        best[from] = (0.0, 0);
        // Each round finds the ways that have one more link, so it ends after as many rounds as there are machines.
        loop {
            let mut found = false;
            for link in 0..self.count() {
                let (a, b) = self.ends(link);
                let next = (best[a].0 + self.cables[link / 2].alpha, best[a].1 + 1);
                if next < best[b] {
                    (best[b], last[b], found) = (next, Some(link), true);
                }
            }
            if !found {
                return last;
            }
        }
    }

    /// Calls `each` with every link on the way from `p` to `q`, the last one first.
    pub fn way(&self, p: usize, q: usize, mut each: impl FnMut(usize)) {
        let mut at = q;
        while let Some(link) = self.last[p * self.machines.len() + at] {
            each(link);
            at = self.ends(link).0;
        }
    }

    /// What the way from `p` to `q` costs: ns per operation, and per byte.
    pub fn cost(&self, p: usize, q: usize) -> (f64, f64) {
        let mut links = Vec::new();
        self.way(p, q, |link| links.push(link));
        // From the first link on, as the sums that decided about the way.
        links
            .iter()
            .rev()
            .map(|link| &self.cables[link / 2])
            .fold((0.0, 0.0), |(alpha, beta), cable| (alpha + cable.alpha, f64::max(beta, cable.beta)))
    }

    /// Bytes per ns of each link.
    pub fn rates(&self) -> Vec<f64> {
        (0..self.count()).map(|link| 1.0 / self.cables[link / 2].beta).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(count: usize, cables: &[(usize, usize, f64, f64)]) -> Result<Net, String> {
        let cable = |(a, b, alpha, beta): &(usize, usize, f64, f64)| Cable {
            name: format!("{a}{b}"),
            ends: [*a, *b],
            alpha: *alpha,
            beta: *beta,
        };
        Net::new((0..count).map(|at| format!("m{at}")).collect(), cables.iter().map(cable).collect())
    }

    fn way(net: &Net, p: usize, q: usize) -> Vec<usize> {
        let mut links = Vec::new();
        net.way(p, q, |link| links.push(link));
        links.reverse();
        links
    }

    #[test]
    fn the_cheapest_way_is_taken_and_of_equal_ones_the_shortest() {
        let detour = net(3, &[(0, 2, 100.0, 0.5), (0, 1, 30.0, 0.1), (1, 2, 40.0, 0.2)]).unwrap();
        assert_eq!((way(&detour, 0, 2), detour.cost(0, 2)), (vec![2, 4], (70.0, 0.2)));
        assert_eq!((way(&detour, 2, 0), detour.cost(2, 0)), (vec![5, 3], (70.0, 0.2)));
        let even = net(3, &[(0, 1, 30.0, 0.1), (1, 2, 40.0, 0.2), (0, 2, 70.0, 0.5)]).unwrap();
        assert_eq!((way(&even, 0, 2), even.cost(0, 2)), (vec![4], (70.0, 0.5)));
        assert_eq!((way(&even, 1, 1), even.cost(1, 1)), (vec![], (0.0, 0.0)));
        let free = net(3, &[(1, 2, 0.0, 0.0), (0, 1, 0.0, 0.0)]).unwrap();
        assert_eq!((way(&free, 0, 2), free.rates()[0]), (vec![2, 0], f64::INFINITY));
    }

    #[test]
    fn what_is_not_joined_or_no_link_is_refused() {
        for (count, cables, what) in [
            (3, vec![(0, 1, 1.0, 1.0)], "no links lead from m0 to m2"),
            (2, vec![(0, 2, 1.0, 1.0)], "machines 0 and 2: it takes two of the 2"),
            (2, vec![(1, 1, 1.0, 1.0)], "machines 1 and 1"),
            (2, vec![(0, 1, -1.0, 1.0)], "numbers from 0 on"),
            (2, vec![(0, 1, 1.0, f64::NAN)], "numbers from 0 on"),
            (MOST + 1, vec![], "more than 512 machines"),
        ] {
            let error = net(count, &cables).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
        assert_eq!(net(0, &[]), Ok(Net::default()));
    }
}
