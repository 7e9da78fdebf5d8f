//! What this node may send to a box: the credits that the owner has given it.
//!
//! Must not know: how messages travel, what a box holds.

use super::BoxId;
use super::owner::Credit;

/// Credits for so many messages or fewer are asked for again before they are used up.
const LOW: u64 = 8;

/// This node as a sender to a box.
pub struct Sender {
    /// The box.
    pub id: BoxId,
    /// What may be sent.
    pub credit: Credit,
    /// What the box may hold; zeros: not known.
    pub capacity: Credit,
    /// The owner was asked, and has not given any.
    pub asked: bool,
    /// The owner was asked for what a thread waits for.
    waits: bool,
    /// The credits that a thread waited for have come, and no thread has taken any of them yet. A recall of the owner leaves them as long
    /// as threads wait.
    fresh: bool,
    /// How many threads wait for credits.
    pub waiters: u32,
    /// How many answers of the owner are on their way.
    pub answers: u32,
    /// The box was destroyed.
    pub gone: bool,
    /// How many messages have taken their credits and are not sent yet.
    pub under_way: u32,
    /// The owner wants a farewell once no message is under way.
    pub owes_farewell: bool,
    /// How many handles the program has for it.
    pub handles: u32,
}

/// How the owner's word about credits has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// As the answer to a question.
    Answer,
    /// The same: there are too few, and the owner will give some later.
    Wait,
    /// Without a question, or long after it.
    Late,
}

/// What comes of an attempt to take credits for a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// They are taken. `true`: it is time to ask for more.
    Yes(Credit, bool),
    /// There are too few. The owner is to be asked, if not `None`.
    No(Option<Need>),
    /// The box is gone.
    Gone,
}

/// What the owner is to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The credits that are needed.
    pub credit: Credit,
    /// Those that go back with the question.
    pub back: Credit,
}

impl Sender {
    /// Without credits.
    pub fn new(id: BoxId) -> Sender {
        Sender {
            id,
            credit: Credit::default(),
            capacity: Credit::default(),
            asked: false,
            waits: false,
            fresh: false,
            waiters: 0,
            answers: 0,
            gone: false,
            under_way: 0,
            owes_farewell: false,
            handles: 0,
        }
    }

    /// The box is there, and so are the credits of a message of `len` bytes.
    #[inline(always)]
    pub fn has(&self, len: u64) -> bool {
        self.credit.messages > 0 && self.credit.covers(self.capacity.cost(len)) && !self.gone
    }

    /// Uses the credits of a message of `len` bytes, which are there. True: it is time to ask for more.
    #[inline(always)]
    pub fn spend(&mut self, len: u64) -> bool {
        self.credit.subtract(self.capacity.cost(len)); // the capacity is known where there are credits
        self.fresh = false;
        let is_low = self.credit.messages == LOW && !self.asked;
        self.asked |= is_low;
        self.answers += u32::from(is_low);
        is_low
    }

    /// Takes the credits of a message of `len` bytes, which will be sent later. If there are too few and the caller `may_wait`, it asks
    /// for all of them, and gives back what it has: nobody waits for credits while it keeps some that others wait for. Else it asks
    /// for those that lack.
    pub fn take(&mut self, len: u64, may_wait: bool) -> Taken {
        if self.gone {
            return Taken::Gone;
        }
        let is_known = self.capacity != Credit::default();
        let cost = if is_known { self.capacity.cost(len) } else { Credit { messages: 1, bytes: len } };
        if self.has(len) {
            self.under_way += 1;
            return Taken::Yes(cost, self.spend(len));
        }
        if std::mem::replace(&mut self.asked, true) {
            return Taken::No(None);
        }
        self.answers += 1;
        self.waits = may_wait;
        self.fresh = false;
        Taken::No(Some(match may_wait {
            true => Need { credit: cost, back: std::mem::take(&mut self.credit) },
            false => {
                let lacks = Credit {
                    messages: cost.messages.saturating_sub(self.credit.messages),
                    bytes: cost.bytes.saturating_sub(self.credit.bytes),
                };
                Need { credit: lacks, back: Credit::default() }
            }
        }))
    }

    /// The owner of a box of this capacity gives credits. False: no owner gives those.
    #[must_use]
    pub fn granted(&mut self, credit: Credit, capacity: Credit, word: Word) -> bool {
        let is_other = self.capacity != Credit::default() && self.capacity != capacity;
        let is_none = !capacity.covers(Credit { messages: 1, bytes: 1 }) || capacity.messages > u32::MAX.into();
        if is_other || is_none {
            return false;
        }
        let (messages, bytes) = (self.credit.messages, self.credit.bytes);
        let sum = |a: u64, b: u64, most: u64| a.checked_add(b).filter(|sum| *sum <= most);
        let (Some(messages), Some(bytes)) =
            (sum(messages, credit.messages, capacity.messages), sum(bytes, credit.bytes, capacity.bytes))
        else {
            return false;
        };
        (self.credit, self.capacity) = (Credit { messages, bytes }, capacity);
        self.fresh |= self.waits && credit != Credit::default();
        self.asked &= word == Word::Wait;
        self.waits &= word == Word::Wait;
        true
    }

    /// What was to be asked, with the credits `back`, could not be sent.
    pub fn has_not_asked(&mut self, back: Credit) {
        (self.asked, self.waits) = (false, false);
        self.answers -= 1;
        self.pay_back(back);
    }

    /// Nobody waits any more for what the owner was asked.
    pub fn stop_waiting(&mut self) {
        (self.asked, self.waits, self.fresh) = (false, false, false);
    }

    /// Puts back credits that were taken and are not used.
    pub fn pay_back(&mut self, credit: Credit) {
        self.credit.add(credit);
    }

    /// Everything that was not used, for the owner; nothing as long as a thread is about to take what it has waited for.
    pub fn return_unused(&mut self) -> Credit {
        if self.fresh && self.waiters > 0 { Credit::default() } else { std::mem::take(&mut self.credit) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn sender() -> Sender {
        Sender::new(BoxId { owner: 0, index: 0, serial: 0 })
    }

    fn credit(messages: u64, bytes: u64) -> Credit {
        Credit { messages, bytes }
    }

    #[test]
    fn the_owner_is_asked_once() {
        let mut sender = sender();
        let lacks = |messages, bytes| Taken::No(Some(Need { credit: credit(messages, bytes), back: credit(0, 0) }));
        assert_eq!(sender.take(10, false), lacks(1, 10));
        assert_eq!(sender.take(10, false), Taken::No(None));
        assert!(sender.granted(credit(1, 5), credit(1000, 100), Word::Answer));
        assert_eq!(sender.take(10, false), lacks(0, 5), "the rest");
        assert!(sender.granted(credit(LOW + 1, 95), credit(1000, 100), Word::Answer));
        assert_eq!(sender.take(100, false), Taken::Yes(credit(1, 100), false), "as much as the box holds");
        assert_eq!(sender.take(0, false), Taken::Yes(credit(1, 0), true), "few are left");
        assert_eq!(sender.take(0, false), Taken::Yes(credit(1, 0), false));
        assert_eq!(sender.return_unused(), credit(LOW - 1, 0));
        sender.gone = true;
        assert_eq!(sender.take(1, false), Taken::Gone);
    }

    #[test]
    fn a_message_longer_than_the_box_takes_all_of_it() {
        let (mut sender, all) = (sender(), credit(20, 100));
        let asks = |credit, back| Taken::No(Some(Need { credit, back }));
        assert_eq!(sender.take(101, false), asks(credit(1, 101), credit(0, 0)), "what the box may hold is not known");
        assert!(sender.granted(credit(20, 99), all, Word::Answer));
        assert_eq!(sender.take(101, false), asks(credit(0, 1), credit(0, 0)), "the rest");
        assert!(sender.granted(credit(0, 1), all, Word::Answer));
        assert_eq!(sender.take(101, false), Taken::Yes(all, false));
        sender.pay_back(all);
        assert_eq!(sender.take(0, false), Taken::Yes(credit(1, 0), false));
        assert_eq!(sender.take(101, true), asks(all, credit(19, 100)), "one of 0 bytes is on its way");
    }

    #[test]
    fn who_waits_keeps_nothing_and_keeps_what_it_has_waited_for() {
        let mut sender = sender();
        sender.waiters = 1;
        assert!(sender.granted(credit(3, 50), credit(1000, 100), Word::Answer));
        let all = Taken::No(Some(Need { credit: credit(1, 60), back: credit(3, 50) }));
        assert_eq!(sender.take(60, true), all);
        assert!(sender.granted(credit(0, 0), credit(1000, 100), Word::Wait));
        assert_eq!(sender.take(60, true), Taken::No(None), "the owner has it in its list");
        assert!(sender.granted(credit(1, 60), credit(1000, 100), Word::Answer));
        assert_eq!(sender.return_unused(), credit(0, 0));
        assert_eq!(sender.take(60, true), Taken::Yes(credit(1, 60), false));
        assert!(sender.granted(credit(2, 2), credit(1000, 100), Word::Answer));
        assert_eq!(sender.return_unused(), credit(2, 2), "nobody waited for these");
        assert!(matches!(sender.take(60, true), Taken::No(Some(_))));
        sender.stop_waiting();
        assert!(sender.granted(credit(1, 60), credit(1000, 100), Word::Answer));
        assert_eq!(sender.return_unused(), credit(1, 60), "too late");
    }

    #[test]
    fn who_could_not_ask_asks_again() {
        let mut sender = sender();
        assert!(matches!(sender.take(10, false), Taken::No(Some(_))));
        sender.has_not_asked(Credit::default());
        assert_eq!(sender.answers, 0);
        let Taken::No(Some(_)) = sender.take(10, true) else { panic!("as if an answer were on its way") };
        sender.has_not_asked(Credit::default());
        assert!(sender.granted(credit(3, 5), credit(1000, 100), Word::Late));
        let Taken::No(Some(need)) = sender.take(10, true) else { panic!("there are too few") };
        assert_eq!((need.back, sender.credit), (credit(3, 5), credit(0, 0)));
        sender.has_not_asked(need.back);
        assert_eq!(sender.credit, credit(3, 5), "what was not given back");
    }

    #[test]
    fn no_owner_gives_more_than_its_box_holds() {
        let mut sender = sender();
        assert!(!sender.granted(credit(1, 0), credit(1000, 0), Word::Answer), "a box that holds nothing");
        assert!(sender.granted(credit(1, 60), credit(1000, 100), Word::Answer));
        assert!(!sender.granted(credit(1, 41), credit(1000, 100), Word::Answer));
        assert!(!sender.granted(credit(1, u64::MAX), credit(1000, 100), Word::Answer));
        assert!(!sender.granted(credit(u64::MAX, 1), credit(1000, 100), Word::Answer));
        assert!(!sender.granted(credit(1, 1), credit(1000, 101), Word::Answer), "another box");
        assert!(sender.granted(credit(1, 40), credit(1000, 100), Word::Answer));
        assert_eq!(sender.return_unused(), credit(2, 100));
    }
}
