//! Tests of the searches together: problems whose best costs are known.

use super::problem::tests::{permutations, problems};
use super::qaplib::tests::{TAI12A, esc16a, nug12, nug30};
use super::*;
use crate::cost::tests::exchanges;
use crate::{task, topology};
use proptest::prelude::*;

const COST: Objective = Objective { cost: 1.0, link: 0.0 };

fn solve(problem: &Problem, limits: Limits) -> Answer {
    let identity: Vec<usize> = (0..problem.n).collect();
    let loads = vec![[0.0; 2]; problem.flows.len()];
    let known = [identity];
    search(&Task {
        problem,
        objective: COST,
        shape: &Shape::Points,
        rates: &[],
        loads: &loads,
        fixed: &[],
        known: &known,
        limits,
        tell: &|_, _, _| (),
    })
}

#[test]
fn published_problems_reach_their_published_costs() {
    for (text, identity, best) in [
        (nug12(), 724.0, 578.0),
        (TAI12A.into(), 339684.0, 224416.0),
        (esc16a(), 94.0, 68.0),
        (nug30(), 8060.0, 6124.0),
    ] {
        let problem = qaplib::parse(&text).unwrap();
        assert_eq!(problem.cost(&(0..problem.n).collect::<Vec<_>>()), identity);
        let answer = solve(&problem, Limits { iterations: Some(60_000), seed: 1, ..Limits::default() });
        assert_eq!(problem.cost(&answer.at), best);
        assert!(answer.bound.unwrap() <= best);
        assert_eq!(answer.proved, problem.n == 12);
    }
}

proptest! {
    // Others in each run. Each tries up to 40,320 mappings.
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn small_problems_are_solved_as_by_trying_all(problem in problems(8), seed in any::<u64>()) {
        let problem = problem.simplified();
        let best = permutations(problem.n).iter().map(|at| problem.cost(at)).fold(f64::INFINITY, f64::min);
        let answer = solve(&problem, Limits { seed, ..Limits::default() });
        let mut at = answer.at.clone();
        prop_assert!((problem.cost(&at) - best).abs() < 1e-6, "{} instead of {best}", problem.cost(&at));
        prop_assert!(answer.proved && (answer.bound.unwrap() - best).abs() < 1e-6);
        at.sort_unstable();
        at.dedup();
        prop_assert_eq!(at.len(), problem.ranks);
    }
}

#[test]
fn the_contracts_torus_is_solved_and_its_busiest_link_halved() {
    let machine = topology::of("torus:4x2", Some("scipos"), 8).unwrap();
    let identity: Vec<usize> = (0..8).collect();
    for (bytes, best) in [(4.0, 2948.55), (64.0, 43216.73), (2048.0, 1374751.27)] {
        let flows = exchanges(bytes);
        for (objective, is_proved) in [("cost", true), ("link", false), ("cost+0.5*link", false)] {
            let objective = Objective::parse(objective).unwrap();
            let known = [identity.clone()];
            let answer =
                task(&flows, &machine, 8, objective, &[], &known, Limits { seed: 5, ..Limits::default() }).unwrap();
            let bill = crate::cost::Bill::of(&flows, &machine, 8, &answer.at);
            assert_eq!(answer.proved, is_proved);
            assert!(objective.cost == 0.0 || (bill.cost() - best).abs() < 0.01, "{}", bill.cost());
            assert_eq!(bill.busiest(&machine).unwrap().bytes, bytes);
        }
    }
}

#[test]
fn mappings_that_all_cost_the_same_are_seen_at_once() {
    let machine = topology::of("ring:8", Some("scipos"), 8).unwrap();
    let known = [(0..8).collect::<Vec<usize>>()];
    let answer = task(&exchanges(64.0), &machine, 8, COST, &[], &known, Limits::default()).unwrap();
    assert!(answer.all_equal && answer.proved && answer.at == known[0] && answer.iterations == 0);
    let one_way = &exchanges(64.0)[..1];
    assert!(!task(one_way, &machine, 8, COST, &[], &known, Limits::default()).unwrap().all_equal);
}

#[test]
fn the_same_seed_gives_the_same_mapping_and_fixed_ranks_stay() {
    let problem = qaplib::parse(&nug30()).unwrap();
    let limits = Limits { iterations: Some(4_000), seed: 9, ..Limits::default() };
    assert_eq!(solve(&problem, limits), solve(&problem, limits));
    let machine = topology::of("torus:4x2", None, 8).unwrap();
    let known = [(0..8).collect::<Vec<usize>>()];
    for objective in [COST, Objective { cost: 1.0, link: 1.0 }] {
        let answer = task(&exchanges(64.0), &machine, 8, objective, &[(3, 6), (0, 1)], &known, limits).unwrap();
        assert_eq!((answer.at[3], answer.at[0]), (6, 1));
    }
}

// Neighbours in three dimensions on hosts, shuffled: the search finds the order again, or a better one.
#[test]
fn a_shuffled_grid_on_hosts_is_put_together_again() {
    let (sizes, cores) = ([4, 4, 8], 16);
    let ranks: usize = sizes.iter().product();
    let json = format!(r#"{{"kind":"hosts","hosts":[{{"name":"h","count":{},"cores":{cores}}}]}}"#, ranks / cores);
    let file = std::env::temp_dir().join(format!("gasnet-sci-grid-{}.json", std::process::id()));
    std::fs::write(&file, json).unwrap();
    let machine = topology::of(file.to_str().unwrap(), None, ranks).unwrap();
    std::fs::remove_file(file).unwrap();
    let mut order: Vec<usize> = (0..ranks).collect();
    let in_order = order.clone();
    Random::new(3).shuffle(&mut order);
    let mut pairs = Vec::new();
    for rank in 0..ranks {
        let [x, y, _] = sizes;
        for (step, inside) in [(1, rank % x + 1 < x), (x, rank / x % y + 1 < y), (x * y, rank + x * y < ranks)] {
            if inside {
                pairs.extend([(order[rank], order[rank + step]), (order[rank + step], order[rank])]);
            }
        }
    }
    let flows = crate::cost::tests::writes(&pairs, 4096.0);
    let mut unshuffled = vec![0; ranks];
    in_order.iter().for_each(|rank| unshuffled[order[*rank]] = *rank);
    let cost = |at: &[usize]| crate::cost::Bill::of(&flows, &machine, ranks, at).cost();
    let limits = Limits { iterations: Some(2_000), seed: 1, ..Limits::default() };
    let answer = task(&flows, &machine, ranks, COST, &[], std::slice::from_ref(&in_order), limits).unwrap();
    assert!(cost(&answer.at) <= 1.05 * cost(&unshuffled), "{} {}", cost(&answer.at), cost(&unshuffled));
}
