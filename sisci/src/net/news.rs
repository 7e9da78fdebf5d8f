//! News: what has changed in a segment where a caller on another host stores as well. Its owner tells the caller, whose maps then show it, and a store
//! of what was there before is seen as one.
//!
//! News come before all that follows from them. Before a process sends something it tells its news ([`tell`]), and then says of how many it knows
//! ([`since`]). A process that is told so hears as many first, and passes the numbers on with what it sends itself. So nothing that callers say to owners
//! overtakes news, also by way of a third process, unless a caller takes them too slowly.
//!
//! What carries no numbers may overtake them: what processes of one host tell each other (interrupts, memory), and an owner's word that all of a caller's
//! stores have come, from which that caller may go on. News that were overtaken are shown when they come, some milliseconds later.
//!
//! One of the news is one frame (`Said::News`), and has a number: how many there were on its connection until then.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};

/// Something that may have news for one caller.
pub trait Teller: Send + Sync {
    /// Tells what has changed.
    fn tell(&self);
}

/// The tellers of this process.
static TELLERS: RwLock<Vec<Weak<dyn Teller>>> = RwLock::new(Vec::new());
/// How many, so that a process without any takes no lock.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// `teller` may have news from now on, as long as it lives.
pub fn add(teller: &Arc<dyn Teller>) {
    let mut tellers = TELLERS.write();
    tellers.retain(|known| known.strong_count() > 0);
    tellers.push(Arc::downgrade(teller));
    // Ordering: Release; the caller's bytes are stored after this, so a thread that has seen them finds the teller.
    COUNT.store(tellers.len() as u64, Ordering::Release);
}

/// Whether this process may have news.
pub fn has_tellers() -> bool {
    COUNT.load(Ordering::Acquire) != 0
}

/// Tells all news of this process.
pub fn tell() {
    if !has_tellers() {
        return;
    }
    // Ordering: what made this thread send something was stored after what is to be told.
    fence(Ordering::Acquire);
    // Nothing is locked meanwhile: a caller may take its time.
    let tellers: Vec<_> = TELLERS.read().iter().filter_map(Weak::upgrade).collect();
    tellers.into_iter().for_each(|teller| teller.tell());
}

/// `teller` has gone.
pub fn remove(teller: &Arc<dyn Teller>) {
    let mut tellers = TELLERS.write();
    // It may be telling just now, so it may live on.
    tellers.retain(|known| known.strong_count() > 0 && !ptr::addr_eq(known.as_ptr(), Arc::as_ptr(teller)));
    COUNT.store(tellers.len() as u64, Ordering::Release);
}

/// A number for a connection of which this process is the owner, until `forget`. No other connection has it, in any process. It is random, so that no
/// process can give it to a connection of its own before.
pub fn number() -> u64 {
    let mut tally = TALLY.lock();
    let mut number = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()) << 32).max(1);
    // Only where the system has no random numbers.
    while !tally.own.insert(number) {
        number = number.wrapping_add(1);
    }
    number
}

/// Whether this process is the owner of a connection with this number.
pub fn is_own(connection: u64) -> bool {
    TALLY.lock().own.contains(&connection)
}

/// A process remembers how many news there are of the connections of which it is the owner, and of so many others, the last ones. What follows from news of
/// yet another one may overtake them. Only a job of very many nodes has more at once.
const REMEMBERED: usize = 256;

/// For each connection: how many of its news this process knows, and the stamp at which it learned that.
#[derive(Default)]
struct Tally {
    /// The last stamp: each change gets the next one.
    stamp: u64,
    /// The connections of which this process is the owner.
    own: BTreeSet<u64>,
    of: BTreeMap<u64, (u64, u64)>,
}

static TALLY: Mutex<Tally> = Mutex::new(Tally { stamp: 0, own: BTreeSet::new(), of: BTreeMap::new() });
/// Its stamp, so that a thread that has nothing new to say takes no lock.
static STAMP: AtomicU64 = AtomicU64::new(0);

impl Tally {
    fn note(&mut self, connection: u64, count: u64) {
        if self.of.get(&connection).is_some_and(|&(before, _)| before >= count) {
            return;
        }
        self.stamp += 1;
        let is_new = self.of.insert(connection, (count, self.stamp)).is_none();
        let others = || self.of.iter().filter(|(connection, _)| !self.own.contains(connection));
        if is_new && others().count() > REMEMBERED {
            let oldest = others().min_by_key(|(_, (_, stamp))| *stamp).map(|(&connection, _)| connection);
            oldest.and_then(|oldest| self.of.remove(&oldest));
        }
    }

    fn since(&self, seen: u64) -> Vec<(u64, u64)> {
        let later = self.of.iter().filter(|(_, (_, stamp))| *stamp > seen);
        later.map(|(&connection, &(count, _))| (connection, count)).collect()
    }
}

/// There are `count` news of this connection, in the hands of the kernel at least: processes that are told so wait for them.
pub fn note(connection: u64, count: u64) {
    let mut tally = TALLY.lock();
    tally.note(connection, count);
    // Ordering: Release; what follows from these news is stored after this, so a thread that has seen it finds the stamp.
    STAMP.store(tally.stamp, Ordering::Release);
}

/// This connection has ended.
pub fn forget(connection: u64) {
    let mut tally = TALLY.lock();
    tally.own.remove(&connection);
    tally.of.remove(&connection);
}

/// What this process has come to know after the stamp `seen`, and the stamp now; nothing if there is nothing.
pub fn since(seen: u64) -> Option<(u64, Vec<(u64, u64)>)> {
    if STAMP.load(Ordering::Acquire) == seen {
        return None;
    }
    let tally = TALLY.lock();
    Some((tally.stamp, tally.since(seen)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_said_once_and_only_the_last_connections_are_remembered() {
        let mut tally = Tally::default();
        tally.note(1, 3);
        tally.note(2, 1);
        assert_eq!(tally.since(0), [(1, 3), (2, 1)]);
        let seen = tally.stamp;
        tally.note(1, 2);
        assert_eq!((tally.stamp, tally.since(seen)), (seen, vec![]), "fewer than before are no news");
        tally.note(2, 2);
        assert_eq!(tally.since(seen), [(2, 2)]);
        (10..10 + REMEMBERED as u64).for_each(|connection| tally.note(connection, 1));
        let all = tally.since(0);
        assert_eq!((all.len(), all[0]), (REMEMBERED, (10, 1)));
        tally.own = (1000..2000).collect();
        (1000..2000).for_each(|connection| tally.note(connection, 1));
        assert_eq!(tally.since(0).len(), REMEMBERED + 1000, "those that this process tells itself");
        tally.note(1, 3);
        assert_eq!(tally.since(0)[..2], [(1, 3), (11, 1)]);
    }

    #[test]
    fn a_connection_has_a_number_that_nobody_guesses() {
        let numbers = [(); 3].map(|()| number());
        assert!(numbers.iter().all(|&number| is_own(number)));
        assert!(numbers.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) > 1));
        numbers.into_iter().for_each(forget);
        assert!(!numbers.iter().any(|&number| is_own(number)));
    }
}
