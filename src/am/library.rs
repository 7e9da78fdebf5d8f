//! The library's own messages: the list of them, their form, and the functions that serve them.
//!
//! An engine that sends messages of its own puts its handlers into a [`Library`] before the message engine is built. A handler
//! captures the state that it needs. From then on the table does not change, so it needs no lock and no ordering.
//!
//! A handler runs only for messages of the declared kind, category and number of arguments, because a peer's memory may say
//! anything. It gets its arguments as words, each read once, because the peer can write there while the handler runs.
//!
//! Handlers of requests reply at most once; handlers of replies wait for nothing. Neither sends requests or polls, so they are
//! not counted as running handlers (`Am::in_handler`).
//!
//! Must not know: what the messages mean, where their payloads lie.

use super::corrupt::corrupt;
use super::shorts::Shorts;
use super::slot::{Carry, FIRST_CLIENT, Meta};
use super::source::Source;
use super::token::{Kind, Token};
use crate::am::region::ARG_WORDS;
use crate::base::error::Error;
use crate::sci::{LocalMap, Words};
use crate::sync::Ordering;

// The one list of indices and message forms, so that no two messages have the same index. From 64 on: `xfer::reference`; 80: `atomic`;
// from 81 on: `deck`; from 96 on: `vis::pack`; from 112 on: `coll`. Error messages quote the text.
macro_rules! messages {
    ($($(#[doc = $doc:literal])* $name:ident = $index:literal: $kind:ident $category:ident $args:literal, $what:literal;)*) => {
        $($(#[doc = $doc])* pub const $name: u8 = $index;)*
        const MESSAGES: &[Message] = &[$(Message {
            index: $index,
            form: Form::new(Kind::$kind, Category::$category, $args),
            words: ($args as usize).div_ceil(2),
            what: $what,
        }),*];
    };
}

messages! {
    /// Answers a put, which its Long has done already.
    RMA_PUT = 64: Request Long 1, "put";
    /// Answers a get with a Medium.
    RMA_GET = 65: Request Short 7, "get";
    /// Answers a get with a Long.
    RMA_GET_LONG = 66: Request Short 7, "get";
    /// Sets memory.
    RMA_SET = 67: Request Short 6, "memset";
    /// Counts an operation done.
    RMA_DONE = 68: Reply Short 1, "acknowledgement";
    /// Counts a get done whose bytes are in place.
    RMA_LANDED = 69: Reply Long 2, "answer to a get";
    /// Puts a get's bytes in place and counts it done.
    RMA_ARRIVED = 70: Reply Medium 4, "answer to a get";
    /// A get's answer of at most eight bytes in its arguments: puts them in place and counts the get done.
    RMA_FETCHED = 71: Reply Short 7, "answer to a get";
    /// A put of at most eight bytes in its arguments: puts them in place and answers.
    RMA_PUT_WORD = 72: Request Short 6, "put";
    /// Answers with a place for a message that is given to a mail box of another host.
    DECK_PLACE = 76: Request Short 4, "wish for a place";
    /// Takes the answer.
    DECK_PLACED = 77: Reply Short 4, "place for a message";
    /// Puts a message that lies in its place into a mail box, or frees the place.
    DECK_CAME = 78: Request Short 2, "end of a gift";
    /// Does an operation on a word of memory, and answers with the old value or none.
    ATOMIC = 80: Request Short 11, "atomic operation";
    /// Puts a short message into a mail box.
    DECK_LINE = 81: Request Short 14, "message for a box";
    /// Puts a message into a mail box.
    DECK_BODY = 82: Request Medium 2, "message for a box";
    /// Puts a part of a long message into a mail box.
    DECK_PIECE = 83: Request Medium 6, "piece of a message for a box";
    /// Puts a message that lies in a DECK heap into a mail box.
    DECK_LOAN = 84: Request Short 14, "loan of a message";
    /// Frees a block of this node's DECK heap.
    DECK_BACK = 85: Request Short 2, "return of a loan";
    /// Answers with credits for a mail box.
    DECK_ASK = 86: Request Short 8, "wish for credits";
    /// Takes the answer.
    DECK_GRANT = 87: Reply Short 10, "credits";
    /// Takes credits that were waited for.
    DECK_MORE = 88: Request Short 10, "credits";
    /// Answers with credits that are not used.
    DECK_RECALL = 89: Request Short 2, "recall of credits";
    /// Takes them back.
    DECK_RETURNED = 90: Reply Short 6, "return of credits";
    /// Notes that a mail box is gone.
    DECK_GONE = 91: Request Short 2, "end of a box";
    /// Notes that a sender knows.
    DECK_FORGOT = 92: Request Short 2, "farewell to a box";
    /// Answers a request about a name of a mail box.
    DECK_NAME = 93: Request Medium 4, "request about a name";
    /// Takes the answer.
    DECK_NAMED = 94: Reply Short 4, "answer about a name";
    /// Takes the answer to a request that waited.
    DECK_FOUND = 95: Request Short 4, "answer about a name";
    /// Puts a packet's bytes in place.
    VIS_PUT = 96: Request Medium 2, "put of pieces";
    /// Answers a get's packet.
    VIS_GET = 97: Request Medium 2, "get of pieces";
    /// Puts the bytes of a get's packet in place and counts it done.
    VIS_ARRIVED = 98: Reply Medium 2, "answer to a get of pieces";
    /// Runs the client's handler for a put that is complete, and answers.
    VIS_COMPLETE = 99: Request Medium 2, "completion of a put";
    /// Stores words of the collective region.
    COLL_STORE = 112: Request Medium 2, "collective";
    /// Puts bytes of a collective in place.
    COLL_DATA = 113: Request Medium 2, "collective";
}

const _: () = {
    let mut i = 0;
    while i < MESSAGES.len() {
        assert!(MESSAGES[i].index >= 64 && MESSAGES[i].index < FIRST_CLIENT, "the extended API's");
        assert!(i == 0 || MESSAGES[i - 1].index < MESSAGES[i].index, "in ascending order, hence distinct");
        i += 1;
    }
};

/// One message of the list.
struct Message {
    index: u8,
    form: Form,
    /// Words that its arguments take.
    words: usize,
    what: &'static str,
}

enum Category {
    Short = 1,
    Medium = 2,
    Long = 3,
}

/// Kind, category and number of arguments of a message in one word, so that one comparison checks all three. 0: no message.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Form(u32);

impl Form {
    const fn new(kind: Kind, category: Category, args: usize) -> Form {
        Form(kind as u32 | (category as u32) << 8 | (args as u32) << 16)
    }

    fn args(self) -> usize {
        (self.0 >> 16) as usize
    }

    /// The form of a message that has come.
    #[inline(always)]
    pub(super) fn of(kind: Kind, carry: Carry, args: usize) -> Form {
        let category = match carry {
            Carry::Short => Category::Short,
            Carry::Inline | Carry::Ring => Category::Medium,
            Carry::Long | Carry::Bounced | Carry::Stream => Category::Long,
        };
        Form::new(kind, category, args)
    }
}

/// What serves a message: it gets the engine, the message's token, its arguments' words and its payload.
pub(crate) type Serve<E> = dyn Fn(&E, &Token, Words<'_, ARG_WORDS>, Source) + Send + Sync;

/// A handler of unanswered Shorts: it gets the engine, the number of the peer that has sent them, and a run of them.
pub(crate) type Run<E> = dyn for<'a> Fn(&E, u32, &mut Shorts<'a, <E as Engine>::Local>) + Send + Sync;

/// The message engine, as far as handlers' types need to know it.
pub trait Engine {
    /// How it reaches its own memory.
    type Local: LocalMap;
}

/// How the messages of an index are served.
enum Server<E: Engine> {
    Nobody,
    /// One message by each call.
    One(Box<Serve<E>>),
    /// Unanswered Shorts, of which [`Meta::form`] says this, a run by each call.
    Run(u16, Box<Run<E>>),
}

struct Row<E: Engine> {
    form: Form,
    server: Server<E>,
}

/// The handlers of the library's own messages, by index. They get an engine of type `E`.
pub struct Library<E: Engine> {
    /// An array, so that an index below its length needs no check. On the heap: the table is moved a few times while a node is made, and
    /// loom's threads have small stacks.
    rows: Box<[Row<E>; FIRST_CLIENT as usize]>,
}

impl<E: Engine> Default for Library<E> {
    fn default() -> Self {
        let row = |_| Row { form: Form::default(), server: Server::Nobody };
        let rows: Box<[Row<E>]> = (0..FIRST_CLIENT).map(row).collect();
        Library { rows: rows.try_into().unwrap_or_else(|_| unreachable!("as many as indices")) }
    }
}

impl<E: Engine> Library<E> {
    /// Has messages of `index` served by `handler`. The handler gets the engine, the token, the argument words (two arguments
    /// to a word, the first in the low half), and the payload, readable until the handler returns. An error of the handler ends
    /// the job.
    ///
    /// Panics if `index` is not in the list, has a handler already, or has another number of words.
    pub fn on<const N: usize>(
        &mut self,
        index: u8,
        handler: impl Fn(&E, &Token, [u64; N], Source) -> Result<(), Error> + Send + Sync + 'static,
    ) {
        let what = MESSAGES.iter().find(|m| m.index == index).map_or("message", |m| m.what);
        let serve = move |am: &E, token: &Token, words: Words<'_, ARG_WORDS>, payload| {
            if let Err(error) = handler(am, token, all(words), payload) {
                failed(what, &error);
            }
        };
        self.row(index, N).server = Server::One(Box::new(serve));
    }

    /// As [`Self::on`], for Short requests that are never answered and that come in floods: what all of a run have in common is done once. Use
    /// `on` where messages are rare.
    ///
    /// The handler gets the number of the sender's node. It takes at least one message, and all until [`Shorts::next`] returns `None`: those that
    /// it has taken count as run. It cannot fail. It neither replies, nor sends requests, nor polls. It may hold a lock for the whole run. It
    /// reads each argument once, since the peer may write the words meanwhile. So it can store the words where they belong without a copy of
    /// its own: a copy of seven words that is read again in larger pieces waits until the words are in the cache.
    pub fn on_unanswered<const N: usize>(
        &mut self,
        index: u8,
        handler: impl for<'a> Fn(&E, u32, &mut Shorts<'a, E::Local>) + Send + Sync + 'static,
    ) {
        let row = self.row(index, N);
        assert!(
            row.form == Form::new(Kind::Request, Category::Short, row.form.args()),
            "message {index} is no Short request"
        );
        let form = Meta::new(0, index, row.form.args(), Carry::Short, 0).form();
        row.server = Server::Run(form, Box::new(handler));
    }

    /// The row of a message of so many words, which has no handler yet.
    fn row(&mut self, index: u8, words: usize) -> &mut Row<E> {
        let message = MESSAGES.iter().find(|m| m.index == index).expect("an index of the list");
        assert!(
            message.words == words && words <= ARG_WORDS,
            "message {index} has {} words of arguments",
            message.words
        );
        let row = &mut self.rows[usize::from(index)];
        assert!(matches!(row.server, Server::Nobody), "message {index} has a handler");
        row.form = message.form;
        row
    }

    /// The handler for this request, if it takes runs of such requests.
    #[inline(always)]
    pub(super) fn unanswered(&self, meta: Meta) -> Option<&Run<E>> {
        match &self.rows[usize::from(meta.handler() % FIRST_CLIENT)].server {
            Server::Run(form, run) if *form == meta.form() => Some(&**run),
            _ => None,
        }
    }

    /// The handler for a message of this index and form from `source`. A message that none of our senders writes ends the job.
    #[inline(always)]
    pub(super) fn find(&self, index: u8, form: Form, source: u32) -> &Serve<E> {
        let row = &self.rows[usize::from(index % FIRST_CLIENT)];
        match &row.server {
            Server::One(serve) if row.form == form => &**serve,
            Server::Nobody => corrupt(source, "no handler of the library has its index"),
            _ => corrupt(source, "message of another kind than its handler takes"),
        }
    }

    /// Replaces each handler of single messages by `around` of it: for tests that choose when handlers run.
    #[cfg(all(any(test, fuzzing), not(loom)))]
    pub(crate) fn wrap(&mut self, around: impl Fn(u8, Box<Serve<E>>) -> Box<Serve<E>>) {
        for (index, row) in self.rows.iter_mut().enumerate() {
            row.server = match std::mem::replace(&mut row.server, Server::Nobody) {
                Server::One(serve) => Server::One(around(index as u8, serve)),
                server => server,
            };
        }
    }
}

/// All words of a message, each read once.
#[inline(always)]
pub fn all<const N: usize>(words: Words<'_, ARG_WORDS>) -> [u64; N] {
    // Relaxed: ordered by the Acquire of the look that found the message.
    std::array::from_fn(|i| words.word(i).load(Ordering::Relaxed))
}

/// The first argument of a word.
#[inline(always)]
pub fn low(word: u64) -> u32 {
    word as u32
}

/// The second argument of a word.
#[inline(always)]
pub fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

#[cold]
fn failed(what: &str, error: &Error) -> ! {
    crate::base::fatal(format_args!("serving a peer's {what}: {error}"))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sci::Adapter;
    use crate::sci::heap::Heap;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    impl Engine for () {
        type Local = <Heap as Adapter>::Local;
    }

    fn refuses(f: impl FnOnce(&mut Library<()>)) -> bool {
        let mut library = Library::default();
        catch_unwind(AssertUnwindSafe(|| f(&mut library))).is_err()
    }

    #[test]
    fn handlers_are_taken_once_for_messages_of_the_list_and_their_words() {
        assert!(!refuses(|library| library.on(RMA_GET, |_, _, [_, _, _, _], _| Ok(()))));
        assert!(refuses(|library| library.on(RMA_GET, |_, _, [_, _, _], _| Ok(()))), "a word too few");
        assert!(refuses(|library| library.on(127, |_, _, [_], _| Ok(()))), "no message");
        let twice = |library: &mut Library<()>| {
            library.on(RMA_PUT, |_, _, [_], _| Ok(()));
            library.on(RMA_PUT, |_, _, [_], _| Ok(()));
        };
        assert!(refuses(twice));
    }

    #[test]
    fn the_form_tells_kind_category_and_count() {
        let forms = [
            Form::of(Kind::Request, Carry::Short, 1),
            Form::of(Kind::Reply, Carry::Short, 1),
            Form::of(Kind::Request, Carry::Inline, 1),
            Form::of(Kind::Request, Carry::Long, 1),
            Form::of(Kind::Request, Carry::Short, 2),
            Form::of(Kind::Stale, Carry::Short, 1),
        ];
        for (i, form) in forms.iter().enumerate() {
            assert!(forms[..i].iter().all(|other| other != form), "{i}");
        }
        assert!(Form::of(Kind::Reply, Carry::Bounced, 3) == Form::of(Kind::Reply, Carry::Stream, 3));
        assert!(Form::of(Kind::Request, Carry::Ring, 3) == Form::of(Kind::Request, Carry::Inline, 3));
    }
}
