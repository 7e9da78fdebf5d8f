//! epoll over connections by rings and whatever else.
//!
//! 1. The kernel watches every descriptor under a key of ours; the program's data are kept here and put back.
//! 2. Of a connection it watches the socket, for what only the kernel knows, and the bells. While an item is *armed*, whoever has something for it rings, and
//!    the kernel wakes. So a thousand connections on which nothing happens cost nothing.
//! 3. An item with traffic is *hot*: not armed, but looked at in each wait. All are armed while a thread sleeps and hot again when it is woken, so the first
//!    to ring is the last. An item cools when it has been looked at in vain often, and always when other threads or sets have to see it by the kernel.
//!    An item that is removed stays *gone* in the kernel's set: programs that add and remove for each message make no system call. When the kernel tells
//!    something of it, it is removed there.
//! 4. Level: what memory says. Edge: something came since it was reported. One shot: silent until it is changed.

mod item;
mod state;

use crate::conn::Conn;
use crate::fds::{self, FORKS};
use crate::own::{Guard, Own};
use crate::real;
use crate::wait;
use item::{Item, Ours};
use libc::{c_int, epoll_event, sigset_t};
use state::State;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Waits in a row that are served by memory alone.
const ROW: u32 = 16;
/// Looks in vain after which an item cools, or as many as items are hot.
const IDLE: usize = 8;
/// Events that are fetched at once.
const BATCH: usize = 256;
/// Nobody looks at more items than these before it sleeps.
const MANY: usize = 64;

/// What is watched by one epoll descriptor.
pub struct Set {
    state: Own<State>,
}

static SETS: Own<Vec<c_int>> = Own::new(Vec::new());
const SOCKET: u64 = 2; // after IN and OUT
/// So many fit into a key; after as many additions one is used again.
const GENERATIONS: u64 = 1 << 30;

fn key(fd: c_int, kind: u64, generation: u64) -> u64 {
    fd as u32 as u64 | kind << 32 | generation << 34
}

fn control(ep: c_int, op: c_int, fd: c_int, events: u32, key: u64) -> c_int {
    let mut event = epoll_event { events, u64: key };
    // SAFETY: an event of ours.
    unsafe { real::epoll_ctl(ep, op, fd, &mut event) }
}

impl Set {
    pub fn new(ep: c_int) -> Arc<Set> {
        let mut sets = SETS.lock();
        sets.retain(|&other| other != ep);
        sets.push(ep);
        Arc::new(Set {
            state: Own::new(State {
                items: HashMap::default(),
                hot: VecDeque::new(),
                cooled: Vec::new(),
                row: 0,
                generation: 0,
                waiting: 0,
                nested: false,
                spin: 64,
                forks: FORKS.load(Ordering::Relaxed),
            }),
        })
    }

    /// The state; in a child that goes on with its parent's set, what the parent armed counts as its own.
    fn lock(&self) -> Guard<'_, State> {
        let mut state = self.state.lock();
        let forks = FORKS.load(Ordering::Relaxed);
        if state.forks != forks {
            (state.forks, state.waiting) = (forks, 0);
            for item in state.items.values_mut() {
                item.inherited = true;
                item.ours.iter_mut().for_each(|ours| ours.armed = [false; 2]);
            }
            state.hot = state.items.iter().filter(|it| it.1.ours.is_some()).map(|it| *it.0).collect();
        }
        state
    }

    /// epoll_ctl.
    pub fn control(&self, ep: c_int, op: c_int, fd: c_int, event: Option<epoll_event>) -> c_int {
        let conn = fds::conn(fd); // before the lock: it may start a porter
        let mut state = self.lock();
        let is_same =
            |item: &Item| matches!((&item.ours, &conn), (Some(ours), Some(conn)) if Arc::ptr_eq(&ours.conn, conn));
        if let Some(item) = state.items.get_mut(&fd).filter(|item| is_same(item)) {
            if item.gone && op != libc::EPOLL_CTL_ADD {
                return real::fail(libc::ENOENT) as c_int;
            }
            let events = event.map_or(item.events, |event| event.events);
            let is_known = [libc::EPOLL_CTL_ADD, libc::EPOLL_CTL_MOD].contains(&op) && event.is_some()
                || op == libc::EPOLL_CTL_DEL;
            let is_wanted = is_known && (item.gone || op != libc::EPOLL_CTL_ADD); // else the kernel has an error for it
            if is_wanted && !item.inherited && item.silent == item.gone && State::is_quiet(item, events) {
                let is_gone = op == libc::EPOLL_CTL_DEL;
                (item.gone, item.silent) = (is_gone, is_gone);
                let Some(ours) = &mut item.ours else { return 0 };
                ours.seen = None;
                if is_gone {
                    ours.arm(0);
                    state.hot.retain(|&other| other != fd);
                } else if let Some(event) = event {
                    (item.data, item.events) = (event.u64, event.events);
                    state.sync(ep, fd);
                    state.touch(fd);
                }
                return 0;
            }
            if item.gone {
                state.forget(ep, fd);
                control(ep, libc::EPOLL_CTL_DEL, fd, 0, 0);
            }
        }
        if op == libc::EPOLL_CTL_DEL {
            let status = control(ep, op, fd, 0, 0);
            if status == 0 {
                state.forget(ep, fd);
            }
            return status;
        }
        let Some(event) = event else { return real::fail(libc::EFAULT) as c_int };
        let mut ours = conn.map(Ours::new);
        let mask = ours.as_ref().map_or(event.events, |ours| ours.wanted(event.events));
        let generation = (state.generation + 1) % GENERATIONS;
        let generation =
            if op == libc::EPOLL_CTL_ADD { generation } else { state.items.get(&fd).map_or(0, |it| it.generation) };
        let status = control(ep, op, fd, mask, key(fd, SOCKET, generation));
        if status != 0 {
            return status;
        }
        if let Some(inner) = fds::set(fd) {
            inner.nest(fd);
        }
        if op == libc::EPOLL_CTL_ADD {
            state.generation = generation;
            state.forget(ep, fd); // of a descriptor that had been closed
        } else if let Some(Item { ours: Some(old), .. }) = state.items.remove(&fd) {
            ours = Some(Ours { seen: None, ..old });
        }
        if let Some(ours) = &mut ours {
            ours.mask = mask;
        }
        let item = Item {
            data: event.u64,
            events: event.events,
            generation,
            silent: false,
            gone: false,
            inherited: false,
            ours,
        };
        state.items.insert(fd, item);
        state.sync(ep, fd);
        state.touch(fd);
        0
    }

    /// As after almost as many additions as there are generations.
    #[cfg(test)]
    pub fn grow_old(&self) {
        self.lock().generation = GENERATIONS - 2;
    }

    fn nest(&self, ep: c_int) {
        self.lock().nested = true;
        self.cool(ep);
    }

    /// Lets the kernel see everything: somebody polls the epoll descriptor itself.
    pub fn cool(&self, _ep: c_int) {
        self.lock().cool();
    }

    /// epoll_pwait.
    pub fn wait(&self, ep: c_int, to: &mut [epoll_event], time: Option<Duration>, signals: *const sigset_t) -> c_int {
        let until = wait::end(time);
        let mut out = Vec::new();
        let mut may_look = true;
        loop {
            let mut state = self.lock();
            state.scan(ep, &mut out, to.len());
            state.row += 1;
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let is_now = !out.is_empty() || left.is_some_and(|left| left.is_zero());
            if !out.is_empty() && (state.row < ROW || out.len() == to.len()) {
                return finish(&mut state, out, to);
            }
            let spin = state.spin;
            let asleep = Instant::now();
            if !is_now && may_look && (1..=MANY).contains(&state.hot.len()) && !state.is_crowded() {
                let rounds = (spin / state.hot.len() as u32).max(2);
                let is_ready =
                    || state.hot.iter().any(|fd| state.items.get(fd).is_some_and(|item| item.news().is_some()));
                if wait::look(rounds, is_ready) {
                    state.spin = (spin * 2).min(1024);
                    continue;
                }
            }
            state.row = 0;
            if !is_now {
                state.cool(); // what comes meanwhile is told by the bells
            }
            state.waiting += 1;
            drop(state);
            let room = (to.len() - out.len()).min(BATCH);
            let mut given = vec![epoll_event { events: 0, u64: 0 }; room];
            let limit = if is_now {
                0
            } else {
                left.map_or(-1, |left| left.as_micros().div_ceil(1000).min(i32::MAX as u128) as c_int)
            };
            // SAFETY: room for so many; the program's signals.
            let n = unsafe { real::epoll_pwait(ep, given.as_mut_ptr(), room as c_int, limit, signals) };
            let code = real::errno();
            let mut state = self.lock();
            state.waiting = state.waiting.saturating_sub(1);
            let is_crowded = state.is_crowded();
            state.translate(ep, &given[..n.max(0) as usize], &mut out);
            state.warm();
            if !is_now {
                let worth = !is_crowded && n > 0 && asleep.elapsed() < Duration::from_micros(50);
                state.spin = if worth { (spin * 2).min(1024) } else { (spin / 2).max(16) };
            }
            if !out.is_empty() || n <= 0 && (is_now || n < 0 || limit >= 0) {
                if n < 0 && out.is_empty() {
                    real::fail(code);
                    return n;
                }
                return finish(&mut state, out, to);
            }
            may_look = false;
        }
    }

    /// A descriptor became a connection of ours after it had been added.
    fn upgrade(&self, ep: c_int, fd: c_int, conn: &Arc<Conn>) {
        let mut state = self.lock();
        let Some(item) = state.items.get_mut(&fd).filter(|item| item.ours.is_none()) else { return };
        item.ours = Some(Ours { mask: item.events, ..Ours::new(Arc::clone(conn)) });
        state.sync(ep, fd);
        state.touch(fd);
    }
}

/// Hands out what was found; nothing stays hot if others would not see it.
fn finish(state: &mut State, out: Vec<(c_int, epoll_event)>, to: &mut [epoll_event]) -> c_int {
    if state.waiting > 0 || state.nested {
        state.cool();
    }
    to.iter_mut().zip(&out).for_each(|(to, from)| *to = from.1);
    out.len() as c_int
}

fn each(call: impl Fn(c_int, &Set)) {
    let all = SETS.lock().clone();
    for ep in all {
        if let Some(set) = fds::set(ep) {
            call(ep, &set);
        }
    }
}

/// A descriptor became a connection of ours.
pub fn became_ours(fd: c_int, conn: &Arc<Conn>) {
    each(|ep, set| set.upgrade(ep, fd, conn));
}

/// A descriptor is about to be closed. The kernel would go on telling of it under this number while a copy of it is open.
pub fn forget(fd: c_int) {
    each(|ep, set| {
        if set.lock().forget(ep, fd).is_some_and(|item| !item.inherited) {
            control(ep, libc::EPOLL_CTL_DEL, fd, 0, 0);
        }
    });
}

/// A descriptor is the kernel's alone from here on.
pub fn let_go(fd: c_int) {
    each(|ep, set| {
        let mut state = set.lock();
        if let Some(item) = state.forget(ep, fd) {
            if item.gone {
                control(ep, libc::EPOLL_CTL_DEL, fd, 0, 0);
                return;
            }
            control(ep, libc::EPOLL_CTL_MOD, fd, item.events, key(fd, SOCKET, item.generation));
            state.items.insert(fd, item);
        }
    });
}

/// An epoll descriptor was closed.
pub fn closed(ep: c_int) {
    SETS.lock().retain(|&other| other != ep);
}

/// So the child finds all sets whole.
pub fn before_fork() {
    let sets = SETS.lock();
    for &ep in sets.iter() {
        if let Some(set) = fds::set(ep) {
            std::mem::forget(set.state.lock());
        }
    }
    std::mem::forget(sets);
}

/// The end of `before_fork`, on both sides.
pub fn after_fork() {
    let sets = std::mem::ManuallyDrop::new(SETS.lock_again());
    for &ep in sets.iter() {
        if let Some(set) = fds::set(ep) {
            set.state.unlock();
        }
    }
    SETS.unlock();
}
