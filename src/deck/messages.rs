//! What goes between the nodes: the form of each message, and what its handler does. Messages about names are in `naming`,
//! those about places for gifts in `placing`.
//!
//! | message | words |
//! |---|---|
//! | `LINE` | the bytes; in the upper half of the last word the index of the box, and how many bytes count |
//! | `BODY` | index; the payload is the message |
//! | `PIECE` | index, thread; bytes of the message; place of the payload in it |
//! | `LOAN` | index, owner of the heap; place; bytes that count; bytes of the block; three words of zeros, for `send_line_to_peer` |
//! | `BACK` | place of the block |
//! | `ASK` | box; bytes that are needed, then [`Ask`] in two bits; messages that go back, messages that are needed; bytes that go back |
//! | `GRANT`, `MORE` | box; messages, and whether the box is gone; bytes; messages and bytes that the box may hold |
//! | `RECALL`, `GONE`, `FORGOT` | box |
//! | `RETURNED` | box; messages; bytes |
//! | `NAME` | [`NameOperation`], request; box; the payload is the name |
//! | `NAMED` | request, whether it is refused, or waits; box |
//! | `FOUND` | request; box |
//! | `PLACE` | index, number of the gift; bytes |
//! | `PLACED` | number, [`Where`](super::gift::Where); place |
//! | `CAME` | number, whether it is whole |
//!
//! Nothing that comes is trusted: it is checked where it is used, and what no sender of ours says ends the job.

#![allow(unsafe_code)] // arguments, payloads

mod naming;
mod placing;

pub use self::naming::{NameOperation, found, name, unwanted};
pub use self::placing::{came, place};
use super::engine::Deck;
use super::heap::UNIT;
use super::item::{Content, Item};
use super::message::{Block, LEAST, Message};
use super::owner::Credit;
use super::sender::{Need, Word};
use super::state::State;
use super::waiting::Key;
use super::{BoxId, LINE_MOST, LINE_WORDS};
use crate::am::Am;
use crate::am::corrupt::corrupt;
use crate::am::library as form;
use crate::am::library::{Library, all, high, low};
use crate::am::request::LineWords;
use crate::am::source::{Args, Source};
use crate::base::error::Error;
use crate::sci::Adapter;
use crate::sync::Ordering;
use crate::verbs::Flags;
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// The most bytes of a piece.
pub const PIECE_MOST: usize = 32 << 10;

/// Where handlers find the engine, once `deck_init` has made it.
pub type Place<A> = Arc<OnceLock<&'static Deck<A>>>;

/// How credits are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Ask {
    /// The sender still has some, and does not wait.
    Ahead = 0,
    /// The sender waits for them.
    Wait = 1,
    /// It waits no longer.
    Stop = 2,
    /// The sender does not wait. Unused credits are recalled, so that its next try may succeed.
    Try = 3,
}

const ASK_SHIFT: u32 = 62;
const WAITS_SHIFT: u32 = 33;
const GONE: u64 = 1 << 32;
/// The words of a `GRANT`, and of a `MORE`.
const GRANT_WORDS: usize = 5;

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Sends a message of up to [`LINE_MOST`] bytes. Here and below, false says that there was no room, and that `flags` say not to wait.
/// The library's own messages do not go from a node to itself. So for its own box a node does at once what the handler would do.
#[inline(always)]
pub fn line<A: Adapter>(deck: &Deck<A>, id: BoxId, message: &Message, flags: Flags) -> Result<bool, Error> {
    if u32::from(id.owner) == deck.am.me() {
        let words = Line(id, message).words();
        let key = deck.with(|state| line_came(deck, state, id.owner.into(), |i| words[i]));
        deck.handed_over(id.owner.into(), key);
        return Ok(true);
    }
    line_to_peer(deck, id, message, flags)
}

/// As [`line()`], for a box of another node.
#[inline(always)]
pub fn line_to_peer<A: Adapter>(deck: &Deck<A>, id: BoxId, message: &Message, flags: Flags) -> Result<bool, Error> {
    deck.am.send_line_to_peer(id.owner.into(), form::DECK_LINE, for_box(id, flags), Line(id, message))
}

/// A `LINE`.
struct Line<'a>(BoxId, &'a Message);

impl LineWords for Line<'_> {
    #[inline(always)]
    fn words(self) -> [u64; LINE_WORDS] {
        let Line(id, message) = self;
        let mut words = message.line();
        let last = &mut words[LINE_WORDS - 1];
        *last = pair(low(*last), u32::from(id.index) | (message.size as u32) << 16);
        words
    }
}

/// A message for the box wakes a thread that waits for it.
#[inline(always)]
fn for_box(id: BoxId, flags: Flags) -> Flags {
    flags.for_waiter(Key::of_box(id.index))
}

/// A `LINE` has come, of which `word` gives the words. The last word is read here for its head, and later for its bytes.
#[inline(always)]
fn line_came<A: Adapter>(deck: &Deck<A>, state: &mut State, source: u32, word: impl Fn(usize) -> u64) -> Option<Key> {
    let head = high(word(LINE_WORDS - 1));
    let len = (head >> 16) as usize;
    if len > LINE_MOST {
        corrupt(source, "line of too many bytes");
    }
    deck.line(state, source, head as u16, len, word)
}

/// Sends a message as a Medium.
pub fn body<A: Adapter>(deck: &Deck<A>, id: BoxId, source: Source, flags: Flags) -> Result<bool, Error> {
    let (am, owner) = (deck.am, u32::from(id.owner));
    if owner == am.me() {
        deck.body(owner, id.index, source);
        return Ok(true);
    }
    am.send_medium(owner, form::DECK_BODY, source, Args::of(&[id.index.into()], 2), for_box(id, flags))
}

/// Sends a piece of a message: of which thread, of how many bytes, from where on.
pub fn piece<A: Adapter>(
    deck: &Deck<A>,
    id: BoxId,
    (stream, len, at): (u32, usize, usize),
    part: Source,
    flags: Flags,
) -> Result<bool, Error> {
    let (am, owner) = (deck.am, u32::from(id.owner));
    if owner == am.me() {
        deck.piece(owner, id.index, stream, (len, at), part);
        return Ok(true);
    }
    let words = [pair(id.index.into(), stream), len as u64, at as u64];
    let is_last = at + part.len() == len;
    am.send_medium(owner, form::DECK_PIECE, part, Args::of(&words, 6), if is_last { for_box(id, flags) } else { flags })
}

/// Lends a block, of which `len` bytes count.
pub fn loan<A: Adapter>(deck: &Deck<A>, id: BoxId, block: &Block, len: usize, flags: Flags) -> Result<bool, Error> {
    let loan = Loan { id, block, len, copied: None };
    if u32::from(id.owner) == deck.am.me() {
        loan_came(deck, id.owner.into(), loan.words());
        return Ok(true);
    }
    loan_to_peer(deck, loan, flags)
}

/// Lends a copy of `message` to another node, in a block of this node's heap. It is made only once there is room for the loan.
#[inline(always)]
pub(super) fn copy_to_peer<A: Adapter>(
    deck: &Deck<A>,
    id: BoxId,
    block: &Block,
    message: &Message,
    flags: Flags,
) -> Result<bool, Error> {
    loan_to_peer(deck, Loan { id, block, len: message.size, copied: Some(message) }, flags)
}

#[inline(always)]
fn loan_to_peer<A: Adapter>(deck: &Deck<A>, loan: Loan<'_>, flags: Flags) -> Result<bool, Error> {
    let owner = u32::from(loan.id.owner);
    deck.passing(owner, loan.block, flags, |flags| {
        deck.am.send_line_to_peer(owner, form::DECK_LOAN, for_box(loan.id, flags), loan)
    })
}

/// A `LOAN`.
#[derive(Clone, Copy)]
struct Loan<'a> {
    id: BoxId,
    block: &'a Block,
    len: usize,
    /// The message whose bytes go into the block, if they are not there yet.
    copied: Option<&'a Message>,
}

impl LineWords for Loan<'_> {
    #[inline(always)]
    fn words(self) -> [u64; LINE_WORDS] {
        let Loan { id, block, len, copied } = self;
        if let Some(message) = copied {
            // SAFETY: the block has as many bytes, and nobody else uses it.
            unsafe { message.payload().move_to(block.at) };
        }
        [pair(id.index.into(), block.owner), block.offset as u64, len as u64, block.len as u64, 0, 0, 0]
    }
}

fn loan_came<A: Adapter>(deck: &Deck<A>, source: u32, [head, offset, len, block, ..]: [u64; LINE_WORDS]) {
    let (offset, len, block) = (offset as usize, len as usize, block as usize);
    if len > block || block < LEAST {
        corrupt(source, "message longer than its block, or a block of too few bytes");
    }
    if high(head) >= deck.nodes() {
        corrupt(source, "block of a node that does not exist");
    }
    // All heaps of the job have the same length, so this node's bounds hold for each owner.
    if offset.checked_add(block).is_none_or(|end| end > deck.heap_len()) || !offset.is_multiple_of(UNIT) {
        corrupt(source, "block outside its heap");
    }
    if deck.is_far(source) {
        corrupt(source, "block lent to another host");
    }
    // Where it lies here is found out by the call that retrieves it: to map a heap takes system calls.
    let block = Block { owner: high(head), offset, len: block, at: std::ptr::null_mut() };
    deck.received(source, &block);
    deck.arrived(source, low(head) as u16, Item { content: Content::Loan(block), len });
}

/// Gives a block back to `node`.
pub fn back<A: Adapter>(deck: &Deck<A>, node: u32, offset: usize, flags: Flags) -> Result<bool, Error> {
    if node == deck.am.me() {
        deck.came_back(node, offset);
        return Ok(true);
    }
    match deck.am.send_short_to_peer(node, form::DECK_BACK, Args::of(&[offset as u64], 2), flags) {
        Err(error) if error.is_lost() => Ok(true), // nobody needs it any more
        sent => sent,
    }
}

/// Asks the owner for credits, and gives some back.
pub fn ask<A: Adapter>(deck: &Deck<A>, id: BoxId, need: Need, how: Ask, flags: Flags) -> Result<bool, Error> {
    let (am, owner) = (deck.am, u32::from(id.owner));
    if owner == am.me() {
        let words = answer_ask(deck, owner, id, need, how);
        grant_came(deck, owner, words);
        return Ok(true);
    }
    let Need { credit, back } = need;
    let bytes = credit.bytes.min((1 << ASK_SHIFT) - 1) | (how as u64) << ASK_SHIFT;
    let messages = pair(back.messages as u32, credit.messages as u32); // no box may hold more than 2^31
    am.send_short(owner, form::DECK_ASK, Args::of(&[id.word(), bytes, messages, back.bytes], 8), flags)
}

/// Tells the owner that no thread waits any more for credits, if that can go at once.
pub fn stop<A: Adapter>(deck: &Deck<A>, id: BoxId) -> Result<bool, Error> {
    let nothing = Need { credit: Credit::default(), back: Credit::default() };
    ask(deck, id, nothing, Ask::Stop, Flags::IMMEDIATE)
}

fn answer_ask<A: Adapter>(deck: &Deck<A>, source: u32, id: BoxId, need: Need, how: Ask) -> [u64; GRANT_WORDS] {
    let answer = deck.asked(source, id, need, how);
    let waits = how == Ask::Wait && answer.is_some_and(|(credit, _)| credit == Credit::default());
    let mut words = grant(id, answer);
    words[1] |= u64::from(waits) << WAITS_SHIFT;
    words
}

fn grant_came<A: Adapter>(deck: &Deck<A>, source: u32, [id, messages, bytes, most, room]: [u64; GRANT_WORDS]) {
    let grant = (messages & GONE == 0)
        .then_some((Credit { messages: messages & 0xffff_ffff, bytes }, Credit { messages: most, bytes: room }));
    let word = if messages >> WAITS_SHIFT & 1 == 0 { Word::Answer } else { Word::Wait };
    deck.granted(box_of(source, id), grant, word);
}

/// Gives `node` credits that it waits for.
pub fn more<A: Adapter>(deck: &Deck<A>, node: u32, id: BoxId, credit: Credit, capacity: Credit) -> Result<bool, Error> {
    if node == deck.am.me() {
        deck.granted(id, Some((credit, capacity)), Word::Late);
        return Ok(true);
    }
    let words = grant(id, Some((credit, capacity)));
    deck.am.send_short(node, form::DECK_MORE, Args::of(&words, 2 * GRANT_WORDS), Flags::IMMEDIATE)
}

/// Asks `node` to return credits.
pub fn recall<A: Adapter>(deck: &Deck<A>, node: u32, id: BoxId) -> Result<bool, Error> {
    if node == deck.am.me() {
        let credit = deck.recalled(id);
        deck.returned(node, id, credit);
        return Ok(true);
    }
    deck.am.send_short(node, form::DECK_RECALL, Args::of(&[id.word()], 2), Flags::IMMEDIATE)
}

/// Tells `node` that the box is gone.
pub fn gone<A: Adapter>(deck: &Deck<A>, node: u32, id: BoxId) -> Result<(), Error> {
    if node == deck.am.me() {
        deck.gone(id);
        return Ok(());
    }
    match deck.am.request_short(node, form::DECK_GONE, Args::of(&[id.word()], 2)) {
        Err(error) if error.is_lost() => Ok(()), // it sends nothing more
        sent => sent,
    }
}

/// Tells the owner of a box that is gone that this node sends nothing more to it.
pub fn forgot<A: Adapter>(deck: &Deck<A>, id: BoxId) -> Result<bool, Error> {
    let owner = u32::from(id.owner);
    if owner == deck.am.me() {
        deck.forgotten(owner, id);
        return Ok(true);
    }
    deck.am.send_short(owner, form::DECK_FORGOT, Args::of(&[id.word()], 2), Flags::IMMEDIATE)
}

/// Registers the handlers. No message comes before all nodes have their engines.
pub fn register<A: Adapter>(library: &mut Library<Am<A>>, place: &Place<A>) {
    let deck = |place: &Place<A>| {
        let place = place.clone();
        move |source: u32| *place.get().unwrap_or_else(|| corrupt(source, "DECK message before deck_init"))
    };
    take_messages(library, &deck(place));
    take_credits(library, &deck(place));
    naming::take_names(library, &deck(place));
    placing::take_places(library, &deck(place));
}

fn take_messages<A: Adapter>(
    library: &mut Library<Am<A>>,
    deck: &(impl Fn(u32) -> &'static Deck<A> + Clone + Send + Sync + 'static),
) {
    let to = deck.clone();
    library.on_unanswered::<LINE_WORDS>(form::DECK_LINE, move |_, source, shorts| {
        let (deck, mut keys) = (to(source), SmallVec::<[Key; 32]>::new()); // a run has no more messages
        {
            let lock = deck.lock();
            let mut state = lock.borrow_mut(); // for the whole run: nothing below sends, polls or takes it again
            for words in shorts {
                // Relaxed: ordered by the Acquire of the look that found the message.
                let key = line_came(deck, &mut state, source, |i| words.word(i).load(Ordering::Relaxed));
                if let Some(key) = key {
                    keys.push(key);
                }
            }
        }
        // By reference: an iterator that owns the keys would move the whole array first.
        keys.iter().for_each(|key| deck.handed_over(source, Some(*key))); // wakes take system calls
    });
    let to = deck.clone();
    library.on(form::DECK_BODY, move |_, token, [index], payload| {
        to(token.source()).body(token.source(), index as u16, payload);
        Ok(())
    });
    let to = deck.clone();
    library.on(form::DECK_PIECE, move |_, token, [head, len, at], payload| {
        let place = (len as usize, at as usize);
        to(token.source()).piece(token.source(), low(head) as u16, high(head), place, payload);
        Ok(())
    });
    let to = deck.clone();
    // `arrived` and `came_back` take the lock themselves.
    library.on_unanswered::<LINE_WORDS>(form::DECK_LOAN, move |_, source, shorts| {
        let deck = to(source);
        for words in shorts {
            loan_came(deck, source, all(words));
        }
    });
    let to = deck.clone();
    library.on_unanswered::<1>(form::DECK_BACK, move |_, source, shorts| {
        let (deck, mut last) = (to(source), None);
        if deck.is_far(source) {
            corrupt(source, "block given back by a node of another host, which cannot have any");
        }
        for words in shorts {
            let [offset] = all(words);
            let offset = offset as usize;
            last = Some((offset, deck.came_back(source, offset)));
        }
        if let Some((offset, len)) = last {
            deck.will_fill(offset, len);
        }
    });
}

/// The words of a `GRANT`. `None`: the box is gone.
fn grant(id: BoxId, answer: Option<(Credit, Credit)>) -> [u64; GRANT_WORDS] {
    match answer {
        Some((credit, capacity)) => [id.word(), credit.messages, credit.bytes, capacity.messages, capacity.bytes],
        None => [id.word(), GONE, 0, 0, 0],
    }
}

fn take_credits<A: Adapter>(
    library: &mut Library<Am<A>>,
    deck: &(impl Fn(u32) -> &'static Deck<A> + Clone + Send + Sync + 'static),
) {
    let to = deck.clone();
    library.on(form::DECK_ASK, move |am, token, [id, word, messages, bytes], _| {
        let how = match word >> ASK_SHIFT {
            0 => Ask::Ahead,
            1 => Ask::Wait,
            2 => Ask::Stop,
            _ => Ask::Try,
        };
        let credit = Credit { messages: high(messages).into(), bytes: word & ((1 << ASK_SHIFT) - 1) };
        let need = Need { credit, back: Credit { messages: low(messages).into(), bytes } };
        let words = answer_ask(to(token.source()), token.source(), BoxId::from_word(id), need, how);
        am.reply_short(token, form::DECK_GRANT, Args::of(&words, 2 * GRANT_WORDS))
    });
    let to = deck.clone();
    library.on(form::DECK_GRANT, move |_, token, words: [u64; GRANT_WORDS], _| {
        grant_came(to(token.source()), token.source(), words);
        Ok(())
    });
    let to = deck.clone();
    library.on(form::DECK_MORE, move |_, token, [id, messages, bytes, most, room]: [u64; GRANT_WORDS], _| {
        to(token.source()).granted(
            box_of(token.source(), id),
            Some((Credit { messages, bytes }, Credit { messages: most, bytes: room })),
            Word::Late,
        );
        Ok(())
    });
    let to = deck.clone();
    library.on(form::DECK_RECALL, move |am, token, [id], _| {
        let credit = to(token.source()).recalled(box_of(token.source(), id));
        am.reply_short(token, form::DECK_RETURNED, Args::of(&[id, credit.messages, credit.bytes], 6))
    });
    let to = deck.clone();
    library.on(form::DECK_RETURNED, move |_, token, [id, messages, bytes], _| {
        to(token.source()).returned(token.source(), BoxId::from_word(id), Credit { messages, bytes });
        Ok(())
    });
    let to = deck.clone();
    library.on(form::DECK_GONE, move |_, token, [id], _| {
        to(token.source()).gone(box_of(token.source(), id));
        Ok(())
    });
    let to = deck.clone();
    library.on(form::DECK_FORGOT, move |_, token, [id], _| {
        to(token.source()).forgotten(token.source(), BoxId::from_word(id));
        Ok(())
    });
}

/// A box of `source`, of which no other node may speak.
fn box_of(source: u32, word: u64) -> BoxId {
    let id = BoxId::from_word(word);
    if u32::from(id.owner) != source {
        corrupt(source, "message about another node's box");
    }
    id
}
