//! Runs beside each other.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex};
use std::thread;

/// Does `work` for each item, beside each other as long as the sum of weights is at most `slots`; a heavier one goes alone. They begin in
/// the order of the items, in which the results are, too.
pub fn pool<T: Sync, R: Send>(
    slots: usize,
    items: &[T],
    weight: impl Fn(&T) -> usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let (used, freed) = (&Mutex::new(0), &Condvar::new());
    let work = &work;
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for item in items {
            let weight = weight(item);
            let mut taken = freed.wait_while(used.lock().unwrap(), |used| *used > 0 && *used + weight > slots).unwrap();
            *taken += weight;
            drop(taken);
            threads.push(scope.spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(|| work(item)));
                *used.lock().unwrap() -= weight; // after a panic, too: nobody waits for it
                freed.notify_one();
                result.unwrap_or_else(|panic| resume_unwind(panic))
            }));
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
