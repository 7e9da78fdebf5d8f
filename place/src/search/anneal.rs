//! Simulated annealing with swaps that bring a rank near one it has traffic with.
//!
//! It serves where tabu search does not: with many positions, where keeping all differences is too much, and where the load of the busiest link
//! counts, which is no sum over pairs. A swap takes time in proportion to the traffic of the two ranks.
//!
//! Must not know: clocks, how the first mapping was found.

use super::problem::Problem;
use super::random::Random;
use crate::cost::Objective;
use crate::links::Shape;

/// What links carry.
pub struct LinkLoads<'a> {
    pub shape: &'a Shape,
    /// Bytes per ns of each link.
    pub rates: &'a [f64],
    /// Bytes of each flow of the problem, on the way and on the way back.
    pub loads: &'a [[f64; 2]],
}

/// What a run may do.
pub struct Run<'a> {
    pub problem: &'a Problem,
    pub objective: Objective,
    /// `None`: the objective has no part of links.
    pub links: Option<LinkLoads<'a>>,
    /// Ranks that may be moved. Those from `problem.ranks` on stand for free positions.
    pub free: &'a [usize],
    /// Rounds; in each as many swaps are tried as there are ranks.
    pub rounds: u64,
    /// The first temperature, as a part of what a bad swap costs on average.
    pub heat: f64,
}

/// The last temperature, as a part of the first one.
const COLD: f64 = 1e-3;
/// Weight of the even spread of load against the busiest link, so that a search sees progress on other links.
const EVEN: f64 = 0.05;

struct State<'a> {
    run: &'a Run<'a>,
    at: Vec<usize>,
    /// The rank at each position.
    who: Vec<usize>,
    /// The flows of each rank.
    of: Vec<Vec<usize>>,
    loads: Vec<f64>,
    cost: f64,
}

/// What a mapping is judged by.
#[derive(Clone, Copy)]
struct Value {
    /// What the search goes by.
    energy: f64,
    /// The objective.
    objective: f64,
}

impl<'a> State<'a> {
    fn new(run: &'a Run, at: &[usize]) -> State<'a> {
        let n = run.problem.n;
        let mut who = vec![0; n];
        at.iter().enumerate().for_each(|(rank, position)| who[*position] = rank);
        let mut of = vec![Vec::new(); n];
        for (number, flow) in run.problem.flows.iter().enumerate() {
            of[flow.from].push(number);
            if flow.to != flow.from {
                of[flow.to].push(number);
            }
        }
        let loads = run.links.as_ref().map_or(0, |links| links.rates.len());
        let mut state = State { run, at: at.to_vec(), who, of, loads: vec![0.0; loads], cost: run.problem.cost(at) };
        (0..run.problem.flows.len()).for_each(|number| state.carry(number, 1.0));
        state
    }

    // Adds a flow to the links, or takes it off.
    fn carry(&mut self, number: usize, sign: f64) {
        let Some(links) = &self.run.links else { return };
        let flow = &self.run.problem.flows[number];
        let (p, q) = (self.at[flow.from], self.at[flow.to]);
        let [way, back] = links.loads[number];
        let loads = &mut self.loads;
        links.shape.way(p, q, |link| loads[link] += sign * way);
        links.shape.back(p, q, |link| loads[link] += sign * back);
    }

    fn value(&self) -> Value {
        let Objective { cost, link } = self.run.objective;
        let Some(links) = &self.run.links else {
            return Value { energy: cost * self.cost, objective: cost * self.cost };
        };
        let (mut busiest, mut squares) = (0.0f64, 0.0);
        for (load, rate) in self.loads.iter().zip(links.rates) {
            let ns = load / rate;
            busiest = busiest.max(ns);
            squares += ns * ns;
        }
        let objective = cost * self.cost + link * busiest;
        Value { energy: objective + EVEN * link * f64::sqrt(squares), objective }
    }

    // The cost of all flows of two ranks.
    fn cost_of(&self, r: usize, s: usize) -> f64 {
        let problem = self.run.problem;
        let mut sum = 0.0;
        for number in &self.of[r] {
            let flow = &problem.flows[*number];
            sum += problem.pair(&flow.weights, self.at[flow.from], self.at[flow.to]);
        }
        for number in &self.of[s] {
            let flow = &problem.flows[*number];
            if flow.from != r && flow.to != r {
                sum += problem.pair(&flow.weights, self.at[flow.from], self.at[flow.to]);
            }
        }
        sum
    }

    fn carry_both(&mut self, r: usize, s: usize, sign: f64) {
        if self.run.links.is_none() {
            return;
        }
        for at in 0..self.of[r].len() {
            self.carry(self.of[r][at], sign);
        }
        for at in 0..self.of[s].len() {
            let flow = &self.run.problem.flows[self.of[s][at]];
            if flow.from != r && flow.to != r {
                self.carry(self.of[s][at], sign);
            }
        }
    }

    fn swap(&mut self, r: usize, s: usize) {
        let before = self.cost_of(r, s);
        self.carry_both(r, s, -1.0);
        self.at.swap(r, s);
        self.who.swap(self.at[r], self.at[s]);
        self.carry_both(r, s, 1.0);
        self.cost += self.cost_of(r, s) - before;
    }
}

/// Which swaps are tried.
struct Moves {
    /// By position, the others, the nearest first.
    near: Vec<u32>,
    reach: usize,
    is_free: Vec<bool>,
    n: usize,
}

/// The most neighbours of a position that are looked at.
const REACH: usize = 128;

impl Moves {
    fn new(run: &Run) -> Moves {
        let n = run.problem.n;
        let reach = REACH.min(n.saturating_sub(1));
        let mean: Vec<f64> = {
            let sum = |term: usize| run.problem.flows.iter().map(|flow| flow.weights[term]).sum();
            (0..run.problem.tables.len()).map(sum).collect()
        };
        let mut near = Vec::with_capacity(n * reach);
        for p in 0..n {
            let far = |q: usize| run.problem.pair(&mean, p, q) + run.problem.pair(&mean, q, p);
            let mut others: Vec<(f64, usize)> = (0..n).filter(|q| *q != p).map(|q| (far(q), q)).collect();
            others.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
            near.extend(others[..reach].iter().map(|(_, q)| *q as u32));
        }
        let mut is_free = vec![false; n];
        run.free.iter().for_each(|rank| is_free[*rank] = true);
        Moves { near, reach, is_free, n }
    }

    // Two ranks to swap. Half of the swaps bring a rank near one that it has traffic with, nearer ones more often; the
    // other half swap any two.
    fn draw(&self, state: &State, random: &mut Random) -> Option<(usize, usize)> {
        let flows = &state.run.problem.flows;
        let free = state.run.free;
        let s = if random.below(2) == 0 && !flows.is_empty() {
            let flow = &flows[random.below(flows.len())];
            let (r, other) = if random.below(2) == 0 { (flow.from, flow.to) } else { (flow.to, flow.from) };
            let span = 1 + random.below(self.reach.max(1));
            let q = self.near[state.at[other] * self.reach + random.below(span)] as usize;
            (r, state.who[q])
        } else {
            (free[random.below(free.len())], state.who[random.below(self.n)])
        };
        let (r, s) = s;
        (r != s && self.is_free[r] && self.is_free[s] && r.min(s) < state.run.problem.ranks).then_some((r, s))
    }
}

/// Searches from `at`, which becomes the best mapping found. `go_on` is asked after each round. Returns the rounds made.
pub fn search(run: &Run, at: &mut [usize], random: &mut Random, go_on: &mut dyn FnMut() -> bool) -> u64 {
    let n = run.problem.n;
    if run.free.len() < 2 || run.problem.flows.is_empty() {
        return 0;
    }
    let moves = Moves::new(run);
    let mut state = State::new(run, at);
    let mut now = state.value();
    let mut best = now.objective;
    let hot = run.heat * scale(&mut state, &moves, random);
    for round in 0..run.rounds {
        if !go_on() {
            return round;
        }
        // The last tenth only goes down.
        let part = round as f64 / (0.9 * run.rounds as f64);
        let temperature = if part < 1.0 { hot * COLD.powf(part) } else { 0.0 };
        for _ in 0..n {
            let Some((r, s)) = moves.draw(&state, random) else { continue };
            state.swap(r, s);
            let next = state.value();
            let worse = next.energy - now.energy;
            if worse > 0.0 && (temperature == 0.0 || random.part() >= f64::exp(-worse / temperature)) {
                state.swap(r, s);
                continue;
            }
            now = next;
            if now.objective < best - 1e-9 * best.abs() {
                best = now.objective;
                at.copy_from_slice(&state.at);
            }
        }
        // Rounding does not add up over rounds.
        state = State::new(run, &state.at);
        now = state.value();
    }
    run.rounds
}

// What a swap that makes things worse costs on average.
fn scale(state: &mut State, moves: &Moves, random: &mut Random) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    let before = state.value().energy;
    for _ in 0..200 {
        let Some((r, s)) = moves.draw(state, random) else { continue };
        state.swap(r, s);
        let worse = state.value().energy - before;
        state.swap(r, s);
        if worse > 0.0 {
            sum += worse;
            count += 1;
        }
    }
    sum / f64::from(count.max(1))
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::problems;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn costs_and_loads_are_those_of_the_mapping_after_any_swaps(problem in problems(8), seed in any::<u64>()) {
            let shape = Shape::Sci(gasnet_sci::sci::model::Topology::Ring(problem.n as u32));
            let rates = vec![1.0; problem.n];
            let loads: Vec<[f64; 2]> = problem.flows.iter().map(|flow| [flow.weights[0], 1.0]).collect();
            let free: Vec<usize> = (0..problem.n).collect();
            let links = LinkLoads { shape: &shape, rates: &rates, loads: &loads };
            let objective = Objective { cost: 1.0, link: 1.0 };
            let run = Run { problem: &problem, objective, links: Some(links), free: &free, rounds: 3, heat: 1.0 };
            let mut state = State::new(&run, &free);
            let mut random = Random::new(seed);
            for _ in 0..20 {
                state.swap(random.below(problem.n), random.below(problem.n));
            }
            let fresh = State::new(&run, &state.at);
            prop_assert!((state.cost - fresh.cost).abs() < 1e-6);
            prop_assert!(state.loads.iter().zip(&fresh.loads).all(|(x, y)| (x - y).abs() < 1e-6));
            prop_assert!(fresh.who.iter().enumerate().all(|(position, rank)| fresh.at[*rank] == position));
            let mut at = free.clone();
            let start = fresh.run.problem.cost(&at);
            prop_assume!(problem.n > 2);
            search(&Run { objective: Objective { cost: 1.0, link: 0.0 }, links: None, ..run }, &mut at, &mut random, &mut || true);
            prop_assert!(problem.cost(&at) <= start + 1e-9);
        }
    }
}
