//! Models for loom, and how many executions each took: `ci/loom` makes a table of what is printed here.

use crate::sync::fixed::{AtomicU64, Ordering};
use std::sync::Arc;

/// Runs `model` with every order in which its threads' accesses can fall; preemptions are bounded by 2, or as
/// LOOM_MAX_PREEMPTIONS says.
pub(crate) fn explore(model: impl Fn() + Sync + Send + 'static) {
    explore_within(usize::MAX, model);
}

/// As [`explore`], with at most `most` preemptions: for models whose orders are too many.
pub(crate) fn explore_within(most: usize, model: impl Fn() + Sync + Send + 'static) {
    let executions = Arc::new(AtomicU64::new(0));
    let count = executions.clone();
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.preemption_bound = builder.preemption_bound.or(Some(2)).map(|bound| bound.min(most));
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed); // Relaxed: a count
        model();
    });
    let name = std::thread::current().name().unwrap_or("a model").to_string();
    println!("model {name}: {} executions", executions.load(Ordering::Relaxed)); // Relaxed: as above
}
