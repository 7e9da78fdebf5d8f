//! The messages about names of boxes, and what their handlers do.
//!
//! Must not know: where the program's handles are.

#![allow(unsafe_code)] // payloads

use super::super::engine::Deck;
use super::super::names::{self, Nonsense};
use super::super::state::{Answer, Due};
use super::super::{BoxId, NAME_MOST};
use super::{box_of, pair};
use crate::am::Am;
use crate::am::corrupt::corrupt;
use crate::am::library as form;
use crate::am::library::{Library, high, low};
use crate::am::source::{Args, Source};
use crate::base::error::Error;
use crate::sci::Adapter;
use crate::verbs::Flags;

/// A request to the home of a name, the node that keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NameOperation {
    /// The name is that of a new box.
    Add = 0,
    /// Whose is it?
    Look = 1,
    /// Whose is it, once it is there?
    Await = 2,
    /// Nobody waits for that any more.
    Forget = 3,
    /// The box is gone.
    Remove = 4,
}

/// Status in `NAMED`, beside 0: done.
const REFUSED: u32 = 1;
const WAITS: u32 = 2;

/// Asks `home` about a name.
pub fn name<A: Adapter>(
    deck: &Deck<A>,
    home: u32,
    operation: NameOperation,
    request: u32,
    id: BoxId,
    name: &[u8],
    flags: Flags,
) -> Result<bool, Error> {
    if home == deck.am.me() {
        let (status, id) = asked_for(deck, home, operation as u32, request, id.word(), name);
        named(deck, home, request, status, id);
        return Ok(true);
    }
    // SAFETY: readable during the call.
    let name = unsafe { Source::new(name.as_ptr(), name.len()) };
    deck.am.send_medium(home, form::DECK_NAME, name, Args::of(&[pair(operation as u32, request), id.word()], 4), flags)
}

/// Tells the home of a name that nobody waits for it any more, if that can go at once: what `State::unwanted` says of this request.
pub fn unwanted<A: Adapter>(deck: &Deck<A>, request: u32) -> Result<bool, Error> {
    let Some((home, text)) = deck.with(|state| state.unwanted.get(&request).cloned()) else { return Ok(true) };
    let sent = name(deck, home, NameOperation::Forget, request, BoxId::from_word(0), &text, Flags::IMMEDIATE);
    match sent {
        Ok(false) => return Ok(false),
        Err(error) if !error.is_lost() => return Err(error),
        _ => {}
    }
    deck.with(|state| state.unwanted.remove(&request));
    Ok(true)
}

fn named<A: Adapter>(deck: &Deck<A>, source: u32, request: u32, status: u32, id: BoxId) {
    match status {
        0 => deck.answered(source, request, Answer::Done(id)),
        REFUSED => deck.answered(source, request, Answer::Refused),
        WAITS => deck.answered(source, request, Answer::Waits),
        _ => corrupt(source, "answer about a name that does not exist"),
    }
}

/// Answers a request for a name that is there now.
pub fn found<A: Adapter>(deck: &Deck<A>, node: u32, request: u32, id: BoxId) -> Result<bool, Error> {
    if node == deck.am.me() {
        deck.answered(node, request, Answer::Done(id));
        return Ok(true);
    }
    deck.am.send_short(node, form::DECK_FOUND, Args::of(&[request.into(), id.word()], 4), Flags::IMMEDIATE)
}

/// Registers the handlers of these messages.
pub(super) fn take_names<A: Adapter>(
    library: &mut Library<Am<A>>,
    deck: &(impl Fn(u32) -> &'static Deck<A> + Clone + Send + Sync + 'static),
) {
    let to = deck.clone();
    library.on(form::DECK_NAME, move |am, token, [head, id], name| {
        let (source, deck) = (token.source(), to(token.source()));
        if name.is_empty() || name.len() > NAME_MOST {
            corrupt(source, "name of a length that no name has");
        }
        let mut bytes = [0; NAME_MOST];
        // SAFETY: there is room for as many.
        unsafe { name.move_to(bytes.as_mut_ptr()) };
        let (status, id) = asked_for(deck, source, low(head), high(head), id, &bytes[..name.len()]);
        am.reply_short(token, form::DECK_NAMED, Args::of(&[pair(high(head), status), id.word()], 4))
    });
    let to = deck.clone();
    library.on(form::DECK_NAMED, move |_, token, [head, id], _| {
        named(to(token.source()), token.source(), low(head), high(head), BoxId::from_word(id));
        Ok(())
    });
    let to = deck.clone();
    library.on(form::DECK_FOUND, move |_, token, [request, id], _| {
        to(token.source()).answered(token.source(), low(request), Answer::Done(BoxId::from_word(id)));
        Ok(())
    });
}

/// `source` asks about `name`. Returns the status, and the box.
fn asked_for<A: Adapter>(
    deck: &Deck<A>,
    source: u32,
    operation: u32,
    request: u32,
    id: u64,
    name: &[u8],
) -> (u32, BoxId) {
    let id = BoxId::from_word(id);
    // In a job that survives, this node may be asked instead of a lost one whose loss it has not seen yet.
    if !deck.survives() && names::home(name, deck.nodes()) != deck.am.me() {
        corrupt(source, "request about a name that another node has");
    }
    let nonsense = |nonsense: Nonsense| -> ! { corrupt(source, nonsense.0) };
    let (status, waiting) = deck.with(|state| {
        let names = &mut state.names;
        match operation {
            operation if operation == NameOperation::Add as u32 => {
                match names.add(name, box_of(source, id.word())).unwrap_or_else(|error| nonsense(error)) {
                    Some(waiting) => ((0, id), waiting),
                    None => ((REFUSED, id), Vec::new()),
                }
            }
            operation if operation == NameOperation::Look as u32 || operation == NameOperation::Await as u32 => {
                match names.find(name) {
                    Some(id) => ((0, id), Vec::new()),
                    None if operation == NameOperation::Look as u32 => ((REFUSED, id), Vec::new()),
                    None => {
                        names.wait(name, source, request).unwrap_or_else(|error| nonsense(error));
                        ((WAITS, id), Vec::new())
                    }
                }
            }
            operation if operation == NameOperation::Forget as u32 => {
                names.forget(name, source, request);
                ((REFUSED, id), Vec::new())
            }
            operation if operation == NameOperation::Remove as u32 => {
                names.remove(name, box_of(source, id.word()));
                ((0, id), Vec::new())
            }
            _ => corrupt(source, "request about a name that does not exist"),
        }
    });
    waiting.iter().for_each(|(node, request)| deck.owe(source, Due::Found(*node, *request, id)));
    status
}
