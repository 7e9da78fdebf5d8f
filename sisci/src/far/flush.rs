//! When stores leave and loads are shown: at the calls where the contract says so, and by a thread now and then. The thread, `sisci-far`, also tells callers
//! on other hosts the news of this process, though it sends nothing.

use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::timed::Timed;
use super::{Shadow, State, is_on};
use crate::calm;
use crate::card::{self, Card, now, wait_until};
use crate::dirty::Pages;
use crate::error::Result;
use crate::memory::page;
use crate::net::news;
use crate::worker;

/// Between two looks of the thread.
const NAP: Duration = Duration::from_micros(500);

/// What a flush waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All has left. In timing mode it has arrived as well.
    Left,
    /// This side knows that it has arrived.
    Acknowledged,
}

/// All shadows of this process, and whether the thread runs.
static SHADOWS: Mutex<(Vec<Weak<Shadow>>, bool)> = Mutex::new((Vec::new(), false));

/// The thread `sisci-far` runs from now on.
pub fn start_thread() -> Result {
    let mut shadows = SHADOWS.lock();
    if !shadows.1 {
        worker::spawn("sisci-far", look_again)?;
        shadows.1 = true;
    }
    Ok(())
}

/// From now on the thread looks at this one, too.
pub(super) fn add(shadow: &Arc<Shadow>) -> Result {
    let mut shadows = SHADOWS.lock();
    shadows.0.retain(|shadow| shadow.strong_count() > 0);
    shadows.0.push(Arc::downgrade(shadow));
    drop(shadows);
    start_thread()
}

/// The shadows that there are.
fn all() -> Vec<Arc<Shadow>> {
    SHADOWS.lock().0.iter().filter_map(Weak::upgrade).collect()
}

/// What the program has stored to maps of peers leaves, and this waits for it. False: it is not known whether all has arrived at other hosts.
#[cold]
pub fn flush(until: Until) -> bool {
    if !is_on() {
        return true;
    }
    let Ok(_calm) = calm::enter() else { return false };
    calm::with_lock(|| send_all(&all(), until, |shadow| Some(shadow.state())))
}

/// Sends what the program has stored to these. `state` locks one of them, or says that it shall be left out.
fn send_all<'a>(
    shadows: &'a [Arc<Shadow>],
    until: Until,
    state: impl Fn(&'a Shadow) -> Option<MutexGuard<'a, State>>,
) -> bool {
    let ready = if card::get().is_some() { now() } else { 0.0 };
    let mut arrived = 0.0_f64;
    for shadow in shadows {
        let Some(mut state) = state(shadow) else { continue };
        shadow.send(&mut state, ready);
        arrived = arrived.max(state.timed.as_ref().map_or(0.0, Timed::last));
    }
    if let Some(card) = card::get() {
        take_time(card, shadows, arrived, until);
    }
    let targets = shadows.iter().filter_map(|shadow| shadow.targets.as_ref());
    until == Until::Left || targets.filter(|targets| !targets.settle()).count() == 0
}

/// The rest of a flush in timing mode: all is there at `arrived`.
fn take_time(card: &Card, shadows: &[Arc<Shadow>], arrived: f64, until: Until) {
    wait_until(arrived);
    shadows.iter().for_each(|shadow| shadow.deliver(arrived));
    if until == Until::Acknowledged {
        // Ordering: what was delivered is there before what this thread stores from now on.
        fence(Ordering::SeqCst);
        wait_until(card.acknowledged());
    }
}

/// Looks what near peers have stored since the last time; whether there was anything.
fn fetch_near() -> bool {
    let mut is_new = false;
    // A thread that sends to another host, or reads there, has the state meanwhile: this does not wait for it.
    for shadow in all().into_iter().filter(|shadow| shadow.targets.is_none()) {
        is_new |= shadow.fetch(&shadow.state(), shadow.pages());
    }
    is_new
}

/// Maps show what peers have stored until now.
pub fn fetch() {
    let Ok(_calm) = calm::enter() else { return };
    calm::with_lock(fetch_all);
}

fn fetch_all() {
    fetch_near();
    for shadow in all().into_iter().filter(|shadow| shadow.targets.is_some()) {
        let views: Vec<Pages> = shadow.state().views.iter().map(|view| view.pages.clone()).collect();
        for pages in views {
            // A peer that has gone has nothing new.
            let _ = shadow.fetch_far(pages.start * page(), pages.len() * page());
        }
    }
}

/// The thread looks for what near peers have stored only in each such turn, unless it found something the last time: it compares all memory then.
const SELDOM: u32 = 16;

/// The thread. Each half millisecond it tells news, and sends what the program has stored, which may never flush. Now and then it shows what near peers have
/// stored. It ends when there is neither a shadow nor a caller of this process's segments on another host.
fn look_again() {
    let (mut turn, mut last, mut nap) = (0, 0, NAP);
    loop {
        turn += 1;
        std::thread::sleep(nap);
        let begin = Instant::now();
        news::tell();
        let mut shadows = SHADOWS.lock();
        shadows.0.retain(|shadow| shadow.strong_count() > 0);
        if shadows.0.is_empty() && !news::has_tellers() {
            shadows.1 = false;
            return;
        }
        let living: Vec<_> = shadows.0.iter().filter_map(Weak::upgrade).collect();
        drop(shadows);
        let has_room = |shadow: &Arc<Shadow>| shadow.targets.as_ref().is_none_or(|targets| targets.has_room());
        let able: Vec<_> = living.into_iter().filter(has_room).collect();
        // Another thread that waits for a peer does not hold this up, nor does a peer that has no room. One that has just stopped does so once: for `ORDER`
        // before something goes to others, and until its connection ends if there was room for only a part of what was stored.
        send_all(&able, Until::Left, |shadow| shadow.state.try_lock_for(NAP));
        if turn - last >= SELDOM && !fetch_near() {
            last = turn;
        }
        // Where the kernel does not tell what was stored to, large maps take long to compare: half a core at most.
        nap = NAP.max(begin.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::super::Targets;
    use super::*;
    use crate::net::news::Teller;
    use crate::net::with_owner;
    use std::sync::atomic::AtomicU64;

    struct Counts(AtomicU64);

    impl Teller for Counts {
        fn tell(&self) {
            self.0.fetch_add(1, Ordering::Relaxed); // Relaxed: a number, here and below
        }
    }

    #[test]
    fn news_are_told_while_a_thread_waits_for_a_peer() {
        let counts = Arc::new(Counts(AtomicU64::new(0)));
        let teller: Arc<dyn Teller> = counts.clone();
        let (line, _owner) = with_owner();
        let shadow = Shadow::of_hosts(page(), Arc::new(Targets::owner(line))).unwrap();
        let waits = shadow.state();
        news::add(&teller);
        while counts.0.load(Ordering::Relaxed) < 10 {
            std::thread::yield_now();
        }
        news::remove(&teller);
        drop(waits);
    }
}
