//! A team's book of sequence numbers.
//!
//! Rules (rules 4 and 5 of `cells.rs`, seen from one member):
//! - Numbers are handed out in the order in which collectives are started. That order is the same on all members.
//! - A number may be used when all members have retired the number a window before it.
//! - A number is retired when this member neither reads nor writes for it any more.
//!
//! The smallest number that some member has not retired can always be used. So there is always progress.
//!
//! Credits: a member tells others up to which number it vouches for, by a [`Plan`] ([`Plan::of_credits`]). In the first stage that
//! is what it has retired; in a later one it vouches for those that it hears in the stages before, too. Where the plan has one stage,
//! nobody forwards what others say. Otherwise a member sends some credits when it hears others', in its polls ([`Team::follow`]).
//!
//! A credit is a multiple of a quarter of the window. So what a member forwards stays behind what all have retired by less than a quarter,
//! however many stages there are. A member that owes a stage two quarters follows the others in its polls. So no credit stays behind by two
//! quarters for ever, and numbers in use have two at least.
//!
//! Must not know: collectives.

use super::area;
use super::audit::Audit;
use super::team::Team;
use crate::am::Am;
use crate::barrier::plan::Plan;
use crate::sci::Adapter;
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::Arc;

/// Those who are told the same credit: a stage of the plan.
struct Group {
    tell: Arc<[u32]>,
    /// Those for whom this member vouches besides itself: the first so many that it hears.
    vouches: usize,
    /// The number last told.
    credited: Cell<u32>,
}

/// The state of sequence numbers: handed out, usable, retired.
pub struct Book {
    /// The next number to be handed out. The first is 1.
    next: Cell<u32>,
    /// All numbers up to this one are retired here.
    retired: Cell<u32>,
    /// Bit i: number `retired` + 1 + i is retired too.
    ahead: Cell<u64>,
    /// Whom this member tells.
    groups: SmallVec<[Group; 1]>,
    /// Whom it hears, in the order of the stages.
    hears: Box<[u32]>,
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
    /// The book of the member whose part of the team's plan for credits this is.
    pub fn new(window: u32, plan: &Plan) -> Book {
        let (mut groups, mut hears) = (SmallVec::new(), Vec::new());
        for stage in plan.stages() {
            if !stage.tell.is_empty() {
                groups.push(Group { tell: (*stage.tell).into(), vouches: hears.len(), credited: Cell::new(0) });
            }
            hears.extend_from_slice(&stage.hear);
        }
        Book {
            next: Cell::new(1),
            retired: Cell::new(0),
            ahead: Cell::new(0),
            groups,
            hears: hears.into(),
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
        let heard = self.least(book.retired.get(), &book.hears);
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
        let is_late = |group: &Group| book.retired.get().wrapping_sub(group.credited.get()) >= 2 * self.quarter();
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

    /// A power of two, as the window is.
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
                    let credit = self.least(own, &book.hears[..group.vouches]) & !(self.quarter() - 1);
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
    use crate::barrier::grouping::Grouping;

    #[test]
    fn numbers_compare_also_when_they_wrap() {
        assert!(not_after(u32::MAX, 3) && !not_after(3, u32::MAX) && not_after(7, 7));
    }

    /// Whom a member tells, and for whom it vouches then.
    fn groups(plan: &Plan) -> Vec<(Vec<u32>, Vec<u32>)> {
        let book = Book::new(32, plan);
        let group = |group: &Group| (group.tell.to_vec(), book.hears[..group.vouches].to_vec());
        book.groups.iter().map(group).collect()
    }

    #[test]
    fn leaders_vouch_for_their_hosts() {
        let hosts = Grouping::new(5, |m| [0, 0, 1, 1, 2][m]).unwrap();
        let of = |me| groups(&Plan::levels(me, &hosts));
        assert_eq!(of(0), [(vec![2, 4], vec![1]), (vec![1], vec![1, 2, 4])]);
        assert_eq!(of(3), [(vec![2], vec![])]);
        assert_eq!(of(4), [(vec![0, 2], vec![])]);
    }

    #[test]
    fn a_member_of_a_large_team_tells_few() {
        assert_eq!(groups(&Plan::of_credits(2, 4, None)), [(vec![0, 1, 3], vec![])]);
        let children = vec![29, 30, 31, 32];
        assert_eq!(
            groups(&Plan::of_credits(7, 1024, None)),
            [(vec![1], children.clone()), (children, vec![29, 30, 31, 32, 1])]
        );
        assert_eq!(groups(&Plan::of_credits(999, 1024, None)), [(vec![249], vec![])]);
    }
}
