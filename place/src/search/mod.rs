//! Looks for the best mapping.
//!
//! `problem` states it and `normal` reduces it; `starts` makes first mappings, `tabu` and `anneal` improve them, `exact` proves the
//! best, `bound` tells how far it can be. The work is counted in iterations, so that the same input and seed give the
//! same mapping on any machine, unless a limit of time cuts it.
//!
//! Must not know: files, what the user sees.

mod anneal;
mod bound;
mod exact;
pub mod hungarian;
mod normal;
pub mod problem;
pub mod qaplib;
pub mod random;
mod starts;
mod symmetry;
mod tabu;

use super::cost::Objective;
use super::links::Shape;
use normal::Normal;
use problem::Problem;
use random::Random;
use std::time::Instant;

/// What is searched.
pub struct Task<'a> {
    pub problem: &'a Problem,
    pub objective: Objective,
    pub shape: &'a Shape,
    /// Bytes per ns of each link.
    pub rates: &'a [f64],
    /// What each flow of the problem puts on its links.
    pub loads: &'a [[f64; 2]],
    /// Ranks that stay where they are: rank and position.
    pub fixed: &'a [(usize, usize)],
    /// Mappings to begin with, as positions of the ranks.
    pub known: &'a [Vec<usize>],
    pub limits: Limits,
    /// Is told how far it is: what is under way, the steps that were made, and how many there will be at most.
    pub tell: &'a dyn Fn(&str, u64, u64),
}

/// How long it may take, and what is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Whether to prove the best mapping whatever the number of positions.
    pub exact: bool,
    /// Iterations of tabu search, or rounds of annealing.
    pub iterations: Option<u64>,
    /// When it has to end.
    pub deadline: Option<Instant>,
    pub seed: u64,
}

impl Limits {
    /// Whether the time has not run out.
    pub fn go_on(&self) -> bool {
        self.deadline.is_none_or(|end| Instant::now() < end)
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The position of each rank.
    pub at: Vec<usize>,
    /// Whether no mapping is better.
    pub proved: bool,
    /// Whether all mappings are equally good.
    pub all_equal: bool,
    /// What no mapping costs less than; `None`: it is not known for this objective.
    pub bound: Option<f64>,
    /// Iterations or rounds made.
    pub iterations: u64,
    /// Nodes of the exact search.
    pub nodes: u64,
    /// Arrangements of processes, where segments are placed.
    pub tried: u64,
    /// Whether the limit of time ended the search.
    pub cut: bool,
}

/// Up to so many positions the exact search is made unasked.
pub const EXACT: usize = 12;
/// The most positions that it takes at all.
pub const MOST_EXACT: usize = 40;
/// Up to so many positions tabu search keeps all differences.
const TABU: usize = 256;
/// The exact search that nobody asked for gives up after so many nodes.
const NODES: u64 = 300_000;
/// Runs that share the iterations.
const RUNS: u64 = 8;
/// So many runs that end at the same cost, from different beginnings, are taken for a sign that there is no better one.
const AGREEING: u64 = 4;
/// Steps of all iterations together, if the user does not say: pairs of positions for tabu search, swaps for annealing.
const PAIRS: u64 = 500_000_000;
const SWAPS: u64 = 10_000_000;
const SWAPS_OF_LINKS: u64 = 2_000_000;

/// Looks for the best mapping.
pub fn search(task: &Task) -> Answer {
    let problem = task.problem;
    let only_cost = task.objective.link == 0.0;
    let mut answer = Answer {
        at: starts::completed(problem.n, task.fixed, task.known.first().map_or(&[][..], Vec::as_slice)),
        ..Answer::default()
    };
    // Larger tables cost too much, and traffic whose mappings all cost the same does not occur at that size.
    let go_on = || task.limits.go_on();
    let normal = (only_cost && problem.n <= 8 * TABU).then(|| Normal::of(problem, &go_on)).flatten();
    if normal.as_ref().is_some_and(|normal| normal.terms == 0) {
        let cost = problem.cost(&answer.at);
        answer.at.truncate(problem.ranks);
        return Answer { proved: true, all_equal: true, bound: Some(cost), ..answer };
    }
    let mut search = Search::new(task);
    if only_cost {
        answer.bound = Some(bound::of(problem));
    }
    match normal.filter(|_| problem.n <= TABU) {
        Some(normal) => search.tabu(&normal, answer.bound),
        None => search.anneal(),
    }
    let may_prove = task.limits.exact || problem.n <= EXACT;
    if only_cost && may_prove && !search.reaches(answer.bound) {
        let most = if task.limits.exact { u64::MAX } else { NODES };
        let mut asked = 0;
        // How many nodes a proof takes that is wanted whatever it takes, nobody knows.
        let all = if task.limits.exact { 0 } else { NODES };
        let mut go_on = || {
            asked += exact::ASK;
            (task.tell)("trying to prove it", asked.min(all), all);
            task.limits.go_on()
        };
        let found = exact::search(problem, &search.best, task.fixed, most, &mut go_on);
        search.best = found.at;
        answer.nodes = found.nodes;
        answer.proved = found.proved;
        if found.proved && task.fixed.is_empty() {
            answer.bound = Some(found.cost);
        }
        search.cut |= !found.proved && !go_on();
    }
    answer.proved |= search.reaches(answer.bound);
    answer.iterations = search.iterations;
    answer.cut = search.cut;
    search.best.truncate(problem.ranks);
    Answer { at: search.best, ..answer }
}

struct Search<'a> {
    task: &'a Task<'a>,
    free: Vec<usize>,
    random: Random,
    /// The best mapping of all positions, ranks without existence included.
    best: Vec<usize>,
    value: f64,
    iterations: u64,
    cut: bool,
    starts: Vec<Vec<usize>>,
}

impl<'a> Search<'a> {
    fn new(task: &'a Task) -> Search<'a> {
        let problem = task.problem;
        let is_fixed = |rank: &usize| task.fixed.iter().any(|(fixed, _)| fixed == rank);
        let neighbours = starts::Neighbours::of(problem);
        let known = task.known.iter().map(|at| starts::completed(problem.n, task.fixed, at));
        let mut all: Vec<Vec<usize>> = known.collect();
        let go_on = || task.limits.go_on();
        all.push(starts::greedy(problem, &neighbours, task.fixed, &go_on));
        if let Shape::Tree(tree) = task.shape {
            all.push(starts::down(tree, problem, &neighbours, task.fixed, &go_on));
        }
        let mut search = Search {
            task,
            free: (0..problem.n).filter(|rank| !is_fixed(rank)).collect(),
            random: Random::new(task.limits.seed),
            best: all[0].clone(),
            value: f64::INFINITY,
            iterations: 0,
            cut: false,
            starts: Vec::new(),
        };
        for start in all {
            search.keep(&start);
            if !search.starts.contains(&start) {
                search.starts.push(start);
            }
        }
        // The best start is improved first.
        search.starts.sort_by(|x, y| search.task.value(x).total_cmp(&search.task.value(y)));
        search
    }

    fn keep(&mut self, at: &[usize]) {
        let value = self.task.value(at);
        if value < self.value {
            (self.value, self.best) = (value, at.to_vec());
        }
    }

    // Whether the best mapping is as good as the bound.
    fn reaches(&self, bound: Option<f64>) -> bool {
        bound.is_some_and(|bound| self.task.problem.cost(&self.best) <= bound * (1.0 + 1e-12))
    }

    // The first mapping of a run.
    fn start(&mut self, run: u64) -> Vec<usize> {
        if let Some(start) = self.starts.get(run as usize) {
            return start.clone();
        }
        // Every other run begins anywhere, the others near the best mapping.
        let mut at = self.best.clone();
        let count = if run.is_multiple_of(2) { self.free.len() } else { self.free.len().div_ceil(4) };
        let mut some = self.free.clone();
        self.random.shuffle(&mut some);
        some.truncate(count);
        let mut places: Vec<usize> = some.iter().map(|rank| at[*rank]).collect();
        self.random.shuffle(&mut places);
        some.iter().zip(places).for_each(|(rank, place)| at[*rank] = place);
        at
    }

    fn runs(&mut self, all: u64, bound: Option<f64>, mut one: impl FnMut(&mut Self, u64, &mut Vec<usize>) -> u64) {
        let runs = RUNS.max(self.starts.len() as u64).min(all.max(1));
        let mut agreeing = 0;
        for run in 0..runs {
            let iterations = all / runs + u64::from(run < all % runs);
            let mut at = self.start(run);
            let made = one(self, iterations, &mut at);
            self.iterations += made;
            let value = self.task.value(&at);
            let rounding = 1e-9 * value.abs();
            agreeing = match value {
                better if better < self.value - rounding => 1,
                same if same <= self.value + rounding => agreeing + 1,
                _ => agreeing,
            };
            self.keep(&at);
            if made < iterations && !self.task.limits.go_on() {
                self.cut = true;
                return;
            }
            if agreeing >= AGREEING || self.reaches(bound) {
                return;
            }
        }
    }

    fn tabu(&mut self, normal: &Normal, bound: Option<f64>) {
        let n = self.task.problem.n as u64;
        // Where the exact search follows, a quick look will do.
        let most = if n as usize <= EXACT { 20_000 } else { 1_000_000 };
        let all = self.task.limits.iterations.unwrap_or((PAIRS / (n * n)).clamp(2_000, most));
        let task = self.task;
        self.runs(all, bound, |search, iterations, at| {
            let mut made = search.iterations;
            let mut go_on = || {
                made += tabu::ASK;
                (task.tell)("searching", made, all);
                task.limits.go_on()
            };
            let run = tabu::Run { normal, free: &search.free, ranks: search.task.problem.ranks, iterations };
            tabu::search(&run, at, &mut search.random, &mut go_on)
        });
    }

    fn anneal(&mut self) {
        let task = self.task;
        let n = task.problem.n as u64;
        let swaps = if task.objective.link > 0.0 { SWAPS_OF_LINKS } else { SWAPS };
        let all = task.limits.iterations.unwrap_or((swaps / n).clamp(400, 80_000));
        self.runs(all, None, |search, rounds, at| {
            let mut made = search.iterations;
            let mut go_on = || {
                made += 1;
                (task.tell)("searching", made, all);
                task.limits.go_on()
            };
            let links = (task.objective.link > 0.0).then_some(anneal::LinkLoads {
                shape: task.shape,
                rates: task.rates,
                loads: task.loads,
            });
            let run = anneal::Run {
                problem: task.problem,
                objective: task.objective,
                links,
                free: &search.free,
                rounds,
                heat: 0.3,
            };
            anneal::search(&run, at, &mut search.random, &mut go_on)
        });
    }
}

impl Task<'_> {
    // The objective of a mapping.
    fn value(&self, at: &[usize]) -> f64 {
        let cost = self.objective.cost * self.problem.cost(at);
        if self.objective.link == 0.0 {
            return cost;
        }
        let mut loads = vec![0.0; self.rates.len()];
        for (flow, [way, back]) in self.problem.flows.iter().zip(self.loads) {
            self.shape.way(at[flow.from], at[flow.to], |link| loads[link] += way);
            self.shape.back(at[flow.from], at[flow.to], |link| loads[link] += back);
        }
        let busiest = loads.iter().zip(self.rates).map(|(load, rate)| load / rate).fold(0.0, f64::max);
        cost + self.objective.link * busiest
    }
}

#[cfg(test)]
mod tests;
