//! A set's items, and which of them are looked at.

use super::item::{BITS, Item, Seen};
use super::{IDLE, ROW, SOCKET, control, key};
use crate::poll;
use crate::shared::{IN, OUT};
use crate::wait;
use libc::{EPOLLERR, EPOLLET, EPOLLHUP, EPOLLIN, c_int, epoll_event};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Spreads descriptors, which nobody chooses to do harm.
#[derive(Default)]
pub struct ByNumber(u64);

impl Hasher for ByNumber {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_i32(byte.into()));
    }
    fn write_i32(&mut self, n: i32) {
        self.0 = (self.0 ^ n as u32 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// What a set has.
pub struct State {
    pub items: HashMap<c_int, Item, BuildHasherDefault<ByNumber>>,
    pub hot: VecDeque<c_int>,
    /// What was hot before a thread went to sleep.
    pub cooled: Vec<c_int>,
    /// Waits since the kernel was asked.
    pub row: u32,
    pub generation: u64,
    /// Threads that sleep in the kernel.
    pub waiting: u32,
    /// It is in another set, or was: everything must be seen by the kernel.
    pub nested: bool,
    pub spin: u32,
    pub forks: u32,
}

impl State {
    /// Registers what the kernel needs: bells once, the socket's mask when it changed.
    pub fn sync(&mut self, ep: c_int, fd: c_int) {
        let Some(Item { events, generation, silent, ours: Some(ours), .. }) = self.items.get_mut(&fd) else { return };
        for what in [IN, OUT] {
            if !ours.has_bell[what] && *events & BITS[what] != 0 {
                let bell = ours.conn.bells[ours.conn.side][what];
                control(ep, libc::EPOLL_CTL_ADD, bell, EPOLLIN as u32, key(fd, what as u64, *generation));
                ours.has_bell[what] = true;
            }
        }
        let wanted = ours.wanted(*events);
        if wanted != ours.mask && !*silent {
            ours.mask = wanted;
            control(ep, libc::EPOLL_CTL_MOD, fd, wanted, key(fd, SOCKET, *generation));
        }
    }

    /// An item that something may have happened to. It is looked at in the next wait, or the kernel tells those that sleep.
    pub fn touch(&mut self, fd: c_int) {
        let Some(ours) = self.items.get_mut(&fd).and_then(|item| item.ours.as_mut()) else { return };
        ours.idle = 0;
        if self.waiting == 0 && !self.nested {
            ours.arm(0);
            if !self.hot.contains(&fd) {
                self.hot.push_back(fd);
            }
            return;
        }
        self.cool_one(fd);
    }

    /// Arms an item; what is there already is told by its bell.
    pub fn cool_one(&mut self, fd: c_int) -> bool {
        let Some(item) = self.items.get_mut(&fd) else { return false };
        let Some(ours) = &mut item.ours else { return false };
        ours.arm(item.events);
        let is_ready = item.news().is_some();
        if is_ready && let Some(ours) = &item.ours {
            let what = if ours.has_bell[IN] { IN } else { OUT };
            ours.conn.ring_always(ours.conn.side, what);
        }
        is_ready
    }

    /// Takes an item out; the kernel still watches its socket.
    pub fn forget(&mut self, ep: c_int, fd: c_int) -> Option<Item> {
        let mut item = self.items.remove(&fd)?;
        if let Some(mut ours) = item.ours.take() {
            self.hot.retain(|&other| other != fd);
            ours.arm(0);
            for what in [IN, OUT] {
                if ours.has_bell[what] && !item.inherited {
                    control(ep, libc::EPOLL_CTL_DEL, ours.conn.bells[ours.conn.side][what], 0, 0);
                }
            }
        }
        Some(item)
    }

    /// Puts an event into `out`; once for each descriptor.
    pub fn report(&mut self, out: &mut Vec<(c_int, epoll_event)>, fd: c_int, found: u32, seen: Option<Seen>) {
        let Some(item) = self.items.get_mut(&fd) else { return };
        if let Some((_, event)) = out.iter_mut().find(|it| it.0 == fd) {
            event.events |= found;
        } else if !item.silent {
            out.push((fd, epoll_event { events: found, u64: item.data }));
        }
        item.reported(seen);
    }

    /// What memory has to report of the hot items.
    pub fn scan(&mut self, ep: c_int, out: &mut Vec<(c_int, epoll_event)>, max: usize) {
        let count = self.hot.len();
        for _ in 0..count {
            if out.len() == max {
                break;
            }
            let Some(fd) = self.hot.pop_front() else { break };
            self.sync(ep, fd);
            let Some(item) = self.items.get_mut(&fd) else { continue };
            let seen = item.news();
            let Some(ours) = &mut item.ours else { continue };
            ours.idle += 1;
            if seen.is_none() && ours.idle > count.max(IDLE) && !self.cool_one(fd) {
                continue;
            }
            self.hot.push_back(fd); // the others come first next time
            if seen.is_some() {
                if self.items[&fd].ours.as_ref().is_some_and(|ours| !poll::is_by_ring(&ours.conn)) {
                    self.row = ROW; // or the kernel would tell the same later
                }
                self.report(out, fd, self.items[&fd].state(fd), seen);
            }
        }
    }

    /// Translates what the kernel gave.
    pub fn translate(&mut self, ep: c_int, given: &[epoll_event], out: &mut Vec<(c_int, epoll_event)>) {
        for event in given {
            let (events, key) = (event.events, event.u64);
            let (fd, kind, generation) = (key as u32 as c_int, key >> 32 & 3, key >> 34);
            let Some(item) = self.items.get_mut(&fd).filter(|item| item.generation == generation) else { continue };
            let Some(ours) = &item.ours else {
                self.report(out, fd, events, None);
                continue;
            };
            let conn = Arc::clone(&ours.conn);
            if item.gone && kind == SOCKET {
                self.forget(ep, fd);
                control(ep, libc::EPOLL_CTL_DEL, fd, 0, 0);
                continue;
            }
            if kind != SOCKET {
                conn.drain(kind as usize);
                let same = |item: &Item| item.ours.as_ref().is_some_and(|ours| Arc::ptr_eq(&ours.conn, &conn));
                let all: Vec<c_int> = match conn.fds.load(Ordering::Relaxed) {
                    0 | 1 => vec![fd],
                    _ => self.items.iter().filter(|it| same(it.1)).map(|it| *it.0).collect(),
                };
                all.into_iter().for_each(|fd| self.wake(ep, fd, out));
                continue;
            }
            let known = (EPOLLERR | EPOLLHUP) as u32 | item.events;
            let mut said = poll::kernel(&conn, fd, events as u16 as i16) as u16 as u32 & known;
            if item.events & EPOLLET as u32 != 0 && said & EPOLLERR as u32 == 0 {
                said &= !(poll::memory(&conn) as u16 as u32); // it is, or was, reported by what memory says
            }
            if said != 0 {
                let item = &self.items[&fd];
                let (found, seen) = (item.state(fd), item.ours.as_ref().map(|ours| ours.look(item.events)));
                self.report(out, fd, said | found, seen);
            }
            self.sync(ep, fd);
            self.wake(ep, fd, out);
        }
    }

    pub fn wake(&mut self, ep: c_int, fd: c_int, out: &mut Vec<(c_int, epoll_event)>) {
        self.sync(ep, fd);
        let Some(item) = self.items.get_mut(&fd).filter(|item| !item.gone) else { return };
        let seen = item.news();
        if let Some(ours) = &mut item.ours {
            ours.arm(0);
            ours.idle = 0;
        }
        if !self.hot.contains(&fd) {
            self.hot.push_back(fd);
        }
        if seen.is_some() {
            self.report(out, fd, self.items[&fd].state(fd), seen);
        }
    }

    /// Arms all; true if something is there.
    pub fn cool(&mut self) -> bool {
        let mut is_ready = false;
        for fd in std::mem::take(&mut self.hot) {
            is_ready |= self.cool_one(fd);
            self.cooled.push(fd);
        }
        is_ready
    }

    /// The end of `cool`: a thread is awake and looks by itself.
    pub fn warm(&mut self) {
        for fd in std::mem::take(&mut self.cooled) {
            if self.waiting > 0 || self.nested {
                continue; // others need the bells
            }
            let Some(Item { gone: false, ours: Some(ours), .. }) = self.items.get_mut(&fd) else { continue };
            ours.arm(0);
            if !self.hot.contains(&fd) {
                self.hot.push_back(fd);
            }
        }
    }

    /// Whether looking only keeps the other side from running: it shares this processor.
    pub fn is_crowded(&self) -> bool {
        let first = self.hot.front().or(self.cooled.first()).and_then(|fd| self.items.get(fd));
        first.and_then(|item| item.ours.as_ref()).is_some_and(|ours| wait::is_shared(&ours.conn, IN))
    }

    /// Whether an item can be changed without a system call: the kernel watches its socket for the same, whatever the program asks for.
    pub fn is_quiet(item: &Item, events: u32) -> bool {
        let special = !(BITS[IN] | BITS[OUT]);
        (item.events | events) & special == 0
            && item.ours.as_ref().is_some_and(|ours| ours.mask == ours.wanted(events) && poll::is_by_ring(&ours.conn))
    }
}
