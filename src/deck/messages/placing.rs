//! Messages about places for what is given to boxes of other hosts (`deck::places`).

use super::{form, pair};
use crate::am::Am;
use crate::am::corrupt::corrupt;
use crate::am::library::{Library, high, low};
use crate::am::source::Args;
use crate::base::error::Error;
use crate::deck::BoxId;
use crate::deck::engine::Deck;
use crate::deck::gift::Where;
use crate::sci::Adapter;
use crate::verbs::Flags;

const AT: u32 = 0;
const PIECES: u32 = 1;
const GONE: u32 = 2;

/// Asks the owner, on another host, for a place for `len` bytes. False: there was no room, and `flags` say not to wait.
pub fn place<A: Adapter>(deck: &Deck<A>, id: BoxId, number: u32, len: usize, flags: Flags) -> Result<bool, Error> {
    let words = [pair(id.index.into(), number), len as u64];
    deck.am.send_short(id.owner.into(), form::DECK_PLACE, Args::of(&words, 4), flags)
}

/// Tells the owner that all bytes are in the place, or that there will be none. False: as above.
pub fn came<A: Adapter>(deck: &Deck<A>, id: BoxId, number: u32, whole: bool, flags: Flags) -> Result<bool, Error> {
    let words = [pair(number, whole.into())];
    deck.am.send_short(id.owner.into(), form::DECK_CAME, Args::of(&words, 2), super::for_box(id, flags))
}

pub(super) fn take_places<A: Adapter>(
    library: &mut Library<Am<A>>,
    deck: &(impl Fn(u32) -> &'static Deck<A> + Clone + Send + Sync + 'static),
) {
    let to = deck.clone();
    library.on(form::DECK_PLACE, move |am, token, [head, len], _| {
        let source = token.source();
        let (kind, at) = match to(source).place_for(source, low(head) as u16, high(head), len as usize) {
            Where::At(at) => (AT, at),
            Where::Pieces => (PIECES, 0),
            Where::Gone => (GONE, 0),
        };
        am.reply_short(token, form::DECK_PLACED, Args::of(&[pair(high(head), kind), at as u64], 4))
    });
    let to = deck.clone();
    library.on(form::DECK_PLACED, move |_, token, [head, at], _| {
        let place = match high(head) {
            AT => Where::At(at as usize),
            PIECES => Where::Pieces,
            GONE => Where::Gone,
            _ => corrupt(token.source(), "answer of no kind about a place"),
        };
        to(token.source()).placed(token.source(), low(head), place);
        Ok(())
    });
    let to = deck.clone();
    library.on(form::DECK_CAME, move |_, token, [head], _| {
        to(token.source()).came_in_place(token.source(), low(head), high(head) != 0);
        Ok(())
    });
}
