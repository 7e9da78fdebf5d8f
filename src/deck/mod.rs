//! DECK: mail boxes between nodes (contract: deck.md), over the message engine.
//!
//! The owner's node keeps the box ([`owner`]). A node that posts to the box keeps the credits that the owner has given it ([`sender`]).
//! The two nodes send each other messages of the library's own ([`messages`]). A program's message goes in one of these:
//!
//! | length | message | copies |
//! |---|---|---|
//! | up to [`LINE_MOST`] bytes | `LINE`: a Short of one line | 2: into the line, out of it |
//! | up to 511 bytes; below `GASNET_SCI_DECK_MSG_BUF_LIMIT` if no block can be lent | `BODY`: a Medium | 2: into the ring, out of it into a block that the retriever adopts |
//! | else, on one host | `LOAN`: names a block of a DECK heap, which all nodes of the host have mapped | 1 (post), 0 (give) |
//! | 256 KiB or more, given to another host | `PLACE`, `PLACED`, `CAME`: the network writes it into the owner's heap ([`giving`], [`places`]) | 0 |
//! | else | `PIECE`: Mediums | 2 |
//!
//! Rules:
//! 1. All requests among these go through the one queue between two nodes, and the bytes of a gift ahead of its `CAME`. So messages of a thread
//!    arrive in their order.
//! 2. A message is sent only once its credit was taken, or while the lock of the state is held under which the credit is taken (`post_now`).
//!    So a handler always finds room in the box, and waits for nothing.
//! 3. What a box holds, and what its senders may send, never exceed its capacity, but for one message that is longer than that.
//! 4. A call that has taken credits and cannot send in time returns them to the node's own [`sender`]. So what timed out is never delivered.
//! 5. The lock of the state is not held while a message is sent, because sending may run handlers. `post_now` is the exception. It holds
//!    the lock while it sends a `LINE`, a `BODY` or a `LOAN` that goes at once or not at all (`IMMEDIATE`). Such a send runs no handler.
//! 6. A block of a heap has one holder: the owner of the heap, or a borrower. The borrower gives it back, or on to another node.
//! 7. The index of a box that was destroyed is used again when all its senders have said that they know.
//!
//! Must not know: C types, processes.

mod arrive;
mod boxes;
pub mod engine;
pub mod gift;
pub mod giving;
pub mod heap;
pub mod item;
pub mod message;
pub mod messages;
pub mod names;
#[cfg(not(loom))]
pub mod network;
mod outbound;
pub mod owner;
mod pace;
pub mod places;
mod pool;
mod post;
mod queue;
mod receive_slot;
mod retrieve;
pub mod sender;
mod state;
pub mod survive;
mod turns;
pub mod waiting;

use crate::base::error::Error;
use std::time::{Duration, Instant};

/// The most bytes of a message that goes in one line: 13 of the 14 arguments, of 4 bytes each. The last argument is its head.
pub const LINE_MOST: usize = 52;
/// The words of 8 bytes that such a message has. The upper half of the last one is its head.
pub const LINE_WORDS: usize = 7;
/// The most bytes that a post copies under the lock of the state: a copy takes little longer than the lock does. An arriving `BODY` is copied
/// there only if it has fewer bytes than `LENT`.
pub(super) const UNDER_LOCK: usize = 4 << 10;
/// The most bytes of a box's name.
pub const NAME_MOST: usize = 63;

/// Why a call did not do what it should. The codes are `DECK_E…` of deck.h. Texts are boxed twice, so that a failure has the size of
/// two words and results of calls go in registers.
#[derive(Debug, PartialEq)]
#[allow(clippy::box_collection)] // see above
pub enum Failure {
    /// It would have to wait.
    Again,
    /// The time is over.
    TimedOut,
    /// There is a box of that name.
    Exists,
    /// The box was destroyed.
    Gone,
    /// A node that is needed is lost.
    Peer,
    /// The message lies in local memory, and the call needs one in the DECK heap.
    Place,
    /// The message, or the client's memory, has too little room.
    Truncated,
    /// What comes next in the message is something else.
    Type,
    /// Something is used up: memory, the heap, boxes, threads. The text says what.
    Memory(Box<String>),
    /// The call is not allowed in this thread mode.
    Mode,
    /// The call is not allowed now: before `deck_init`, or after `deck_done`.
    Init,
    /// `deck_init` has been called before.
    Twice,
    /// An argument is wrong. The text says which.
    Argument(Box<String>),
    /// The message engine refused.
    Engine(Box<Error>),
}

impl Failure {
    /// Something is used up.
    #[cold]
    pub fn memory(what: impl Into<String>) -> Failure {
        Failure::Memory(Box::new(what.into()))
    }

    /// An argument is wrong.
    #[cold]
    pub fn argument(what: impl Into<String>) -> Failure {
        Failure::Argument(Box::new(what.into()))
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Failure {
        if error.is_lost() { Failure::Peer } else { Failure::Engine(Box::new(error)) }
    }
}

const _: () = assert!(size_of::<Outcome<()>>() <= 16);

/// The result of a call.
pub type Outcome<T> = Result<T, Failure>;

/// Names a box of the job. Later boxes have other names of this kind, because the serial differs.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))] // one aligned word, so that `word` is one load
pub struct BoxId {
    /// Its owner.
    pub owner: u16,
    /// Its index in the owner's table of boxes.
    pub index: u16,
    /// Tells it apart from other boxes that had this index.
    pub serial: u32,
}

/// Compares boxes as words. Each retrieval compares two; field by field this would take six instructions more.
impl PartialEq for BoxId {
    #[inline(always)]
    fn eq(&self, other: &BoxId) -> bool {
        self.word() == other.word()
    }
}

impl Eq for BoxId {}

impl std::hash::Hash for BoxId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.word().hash(state);
    }
}

impl BoxId {
    /// The same as one word.
    #[inline(always)]
    pub fn word(self) -> u64 {
        u64::from(self.owner) | u64::from(self.index) << 16 | u64::from(self.serial) << 32
    }

    /// From [`Self::word`].
    pub fn from_word(word: u64) -> BoxId {
        BoxId { owner: word as u16, index: (word >> 16) as u16, serial: (word >> 32) as u32 }
    }
}

/// How long a call may wait.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// Not at all.
    Now,
    /// Until then.
    Time(Instant),
    /// Without limit.
    Forever,
}

/// So long a call waits at least for the answer of another node if it needs one, though its time be shorter: what is there is found then, if
/// that node polls. Without this a post with time 0 to an empty box never succeeded, and a clone with 10 µs never found a box whose name another
/// node keeps. In models no time passes.
const MOMENT: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(50) };

impl Until {
    /// At least [`MOMENT`], unless the call only tries.
    #[cold]
    fn for_an_answer(self) -> Until {
        match self {
            Until::Time(end) => Until::Time(end.max(Instant::now() + MOMENT)),
            other => other,
        }
    }

    /// The failure of a call whose time is over; `None`: it is not.
    #[inline(always)]
    pub fn over(self) -> Option<Failure> {
        match self {
            Until::Now => Some(Failure::Again),
            Until::Time(end) => (Instant::now() >= end).then_some(Failure::TimedOut),
            Until::Forever => None,
        }
    }
}
