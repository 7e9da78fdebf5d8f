//! A team's book of sequence numbers.
//!
//! Rules (rules 4 and 5 of `cells.rs`, seen from one member):
//! - Numbers are handed out in the order in which collectives are started. That order is the same on all members.
//! - A number may be used when all members have retired the number a window before it.
//! - A number is retired when this member neither reads nor writes for it any more.
//!
//! The smallest number that some member has not retired can always be used. So there is always progress.
//!
//! Credits: a member tells others up to which number it vouches for. On one host that is what it has retired, and it tells all. On
//! several hosts it tells those of its host; a leader vouches to other leaders for its host, and to its host for all others. So a
//! leader sends some credits when it hears others', in its polls ([`Team::follow`]).
//!
//! A credit may stay less than a quarter of the window behind what it vouches for. So members know what the others of their host
//! have retired up to a quarter of the window, leaders what another host has up to two, and others what another host has up to
//! three. The last quarter is for the numbers in use.
//!
//! Must not know: collectives.

use super::area;
use super::audit::Audit;
use super::team::Team;
use crate::am::Am;
use crate::barrier::grouping::Grouping;
use crate::sci::Adapter;
use smallvec::{SmallVec, smallvec};
use std::cell::Cell;
use std::sync::Arc;

/// Those who are told the same credit.
struct Group {
    tell: Arc<[u32]>,
    /// Those for whom this member vouches besides itself.
    hear: Box<[u32]>,
    /// The number last told.
    credited: Cell<u32>,
    /// How many quarters of the window that may at most stay behind what this member has retired itself.
    quarters: u32,
}

/// The state of sequence numbers: handed out, usable, retired.
pub struct Book {
    /// The next number to be handed out. The first is 1.
    next: Cell<u32>,
    /// All numbers up to this one are retired here.
    retired: Cell<u32>,
    /// Bit i: number `retired` + 1 + i is retired too.
    ahead: Cell<u64>,
    /// Whom this member tells. It hears all of them.
    groups: SmallVec<[Group; 1]>,
    /// The smallest number that a group was told last.
    credited: Cell<u32>,
    /// A thread is sending the others a credit now.
    is_sending: Cell<bool>,
    /// The others get no more credits.
    has_stopped: Cell<bool>,
    /// A task follows the credits of others.
    is_followed: Cell<bool>,
    /// The last number known to be usable.
    usable: Cell<u32>,
}

impl Book {
    /// The book of member `me`. `hosts`: the members are on several.
    pub fn new(me: usize, members: usize, window: u32, hosts: Option<&Grouping>) -> Book {
        let group = |tell: Vec<u32>, hear: Vec<u32>, quarters| Group {
            tell: tell.into(),
            hear: hear.into(),
            credited: Cell::new(0),
            quarters,
        };
        let but_me = |list: &mut dyn Iterator<Item = u32>| list.filter(|m| *m as usize != me).collect::<Vec<u32>>();
        let groups = match hosts {
            None => smallvec![group(but_me(&mut (0..members as u32)), Vec::new(), 1)],
            Some(hosts) => {
                let here = hosts.of(hosts.host(me));
                let near = but_me(&mut here.iter().copied());
                if here[0] as usize != me {
                    smallvec![group(near, Vec::new(), 1)]
                } else {
                    let far = but_me(&mut hosts.leaders());
                    let mut groups = smallvec![group(far.clone(), near.clone(), 2)];
                    if !near.is_empty() {
                        groups.push(group(near, far, 3));
                    }
                    groups
                }
            }
        };
        Book {
            next: Cell::new(1),
            retired: Cell::new(0),
            ahead: Cell::new(0),
            groups,
            credited: Cell::new(0),
            is_sending: Cell::new(false),
            has_stopped: Cell::new(false),
            is_followed: Cell::new(false),
            usable: Cell::new(window),
        }
    }
}

impl<A: Adapter> Team<A> {
    /// Hands out `count` numbers and returns the first of them.
    pub fn reserve(&self, count: u32) -> u32 {
        self.book.with(|book| book.next.replace(book.next.get().wrapping_add(count)))
    }

    /// True if the number may be used.
    #[inline]
    pub fn is_usable(&self, seq: u32) -> bool {
        self.book.with(|book| not_after(seq, book.usable.get()) || self.look_for_credit(book, seq))
    }

    /// True if the number's part of the bytes sent ahead may be written, because all members have retired the number
    /// that used the part before.
    #[inline]
    pub fn is_part_free(&self, seq: u32) -> bool {
        let window = self.cells.window();
        self.is_usable(seq.wrapping_add(window - area::parts(window)))
    }

    #[cold]
    fn look_for_credit(&self, book: &Book, seq: u32) -> bool {
        let heard = book.groups.iter().fold(book.retired.get(), |least, group| self.least(least, &group.tell));
        book.usable.set(heard.wrapping_add(self.cells.window()));
        not_after(seq, book.usable.get())
    }

    /// The smallest of `least` and the credits of `members`.
    fn least(&self, least: u32, members: &[u32]) -> u32 {
        members.iter().fold(least, |least, member| {
            let retired = self.cells.retired(*member as usize);
            if not_after(least, retired) { least } else { retired }
        })
    }

    /// Retires `count` numbers from `first` on: this member is done with them. True if the caller must have polls
    /// [follow](Self::follow) the credits of others.
    pub fn retire(&self, am: &Am<A>, first: u32, count: u32) -> bool {
        let due = self.book.with(|book| {
            let offset = first.wrapping_sub(book.retired.get()).wrapping_sub(1);
            let all = book.ahead.get() | ((1u64 << count) - 1) << offset;
            let run = all.trailing_ones();
            book.ahead.set(all.checked_shr(run).unwrap_or(0));
            book.retired.set(book.retired.get().wrapping_add(run));
            self.may_be_due(book)
        });
        due && self.retired_many(am)
    }

    #[cold]
    fn retired_many(&self, am: &Am<A>) -> bool {
        self.send_credit(am);
        self.book.with(|book| book.groups.len() > 1 && self.is_behind(book) && !book.is_followed.replace(true))
    }

    /// Sends the credits that this member owes for others. True when it owes none.
    pub fn follow(&self, am: &Am<A>) -> bool {
        self.send_credit(am);
        self.book.with(|book| {
            let is_behind = self.is_behind(book);
            book.is_followed.set(is_behind);
            !is_behind
        })
    }

    /// True if others wait to be told of numbers that were retired here. Then this member must not leave the team.
    pub fn lags(&self) -> bool {
        self.book.with(|book| self.is_behind(book))
    }

    fn is_behind(&self, book: &Book) -> bool {
        let is_late =
            |group: &Group| book.retired.get().wrapping_sub(group.credited.get()) >= group.quarters * self.quarter();
        !book.has_stopped.get() && book.groups.iter().any(is_late)
    }

    /// Sends the others no more credits, because their blocks may be given to other teams. Returns false if a thread
    /// is sending one right now; then try again.
    pub fn stop_credits(&self) -> bool {
        self.book.with(|book| {
            book.has_stopped.set(true);
            !book.is_sending.get()
        })
    }

    fn quarter(&self) -> u32 {
        (self.cells.window() / 4).max(1)
    }

    /// True if a credit is due, as far as this member knows without a look at those of others.
    fn may_be_due(&self, book: &Book) -> bool {
        self.creditable(book).wrapping_sub(book.credited.get()) >= self.quarter()
    }

    /// The number up to which others may use the slots again: retired and, with debug clients, compared.
    fn creditable(&self, book: &Book) -> u32 {
        let retired = book.retired.get();
        match self.audit.as_ref().map(Audit::done) {
            Some(compared) if not_after(compared, retired) => compared,
            _ => retired,
        }
    }

    /// Sends the others this member's credits. One thread at a time does so, so that an old count never follows a new
    /// one. It does so outside the lock, because a message may have to wait, and handlers may run meanwhile.
    #[cold]
    pub(super) fn send_credit(&self, am: &Am<A>) {
        let take = || {
            self.book.with(|book| {
                if book.is_sending.get() || book.has_stopped.get() || !self.may_be_due(book) {
                    return None;
                }
                let own = self.creditable(book);
                let due = |group: &Group| {
                    let credit = self.least(own, &group.hear);
                    (credit.wrapping_sub(group.credited.get()) >= self.quarter()).then_some(credit)
                };
                let (index, credit) = book.groups.iter().enumerate().find_map(|(i, group)| Some((i, due(group)?)))?;
                book.groups[index].credited.set(credit);
                let told = |least, credited| if not_after(least, credited) { least } else { credited };
                book.credited.set(book.groups.iter().map(|group| group.credited.get()).fold(own, told));
                book.is_sending.set(true);
                Some((index, credit))
            })
        };
        while let Some((index, credit)) = take() {
            for member in self.book.with(|book| book.groups[index].tell.clone()).iter() {
                self.cells.credit(am, *member as usize, credit);
            }
            self.book.with(|book| book.is_sending.set(false));
        }
    }
}

/// `a` ≤ `b`, for numbers that wrap.
fn not_after(a: u32, b: u32) -> bool {
    b.wrapping_sub(a) as i32 >= 0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_also_when_they_wrap() {
        assert!(not_after(u32::MAX, 3) && !not_after(3, u32::MAX) && not_after(7, 7));
    }

    #[test]
    fn leaders_vouch_for_their_hosts() {
        let hosts = Grouping::new(5, |m| [0, 0, 1, 1, 2][m]).unwrap();
        let of =
            |me| Book::new(me, 5, 32, Some(&hosts)).groups.into_iter().map(|g| (g.tell, g.hear)).collect::<Vec<_>>();
        assert_eq!(of(0), [([2, 4].into(), [1].into()), ([1].into(), [2, 4].into())]);
        assert_eq!(of(3), [([2].into(), [].into())]);
        assert_eq!(of(4), [([0, 2].into(), [].into())]);
    }
}
