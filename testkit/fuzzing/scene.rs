//! Nodes of one process on one thread, with the library's handlers and with those of a client. A script decides what
//! handlers do.
//!
//! No node may wait for a peer on this thread. So a scene leaves out what would wait: requests without a free slot,
//! and replies without room in a ring.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::watch;
use crate::am::library::{Library, RMA_GET, Serve, VIS_GET, high};
use crate::am::region::{COLLECTIVE, MAX_MEDIUM, RING};
use crate::am::slot::FIRST_CLIENT;
use crate::am::source::{Args, Source};
use crate::am::token::{Kind, Token};
use crate::am::{Am, outbox};
use crate::base::config::Config;
use crate::base::error::Error;
use crate::base::fatal::caught;
use crate::coll::handlers;
use crate::coll::landing::Landings;
use crate::job::fatal;
use crate::sci::fickle;
use crate::sci::heap::Heap;
use crate::sci::{Adapter, LocalMap};
use crate::sync::Ordering;
use crate::testkit::world::{Kit, Node, Shape, create, nodes_with};
use crate::vis::Vis;
use crate::xfer::reference;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::Arc;

/// A node, and what its handlers need.
pub(super) struct Seat {
    pub(super) node: Node<Heap>,
    pub(super) vis: Vis,
    /// Memory in which payloads of its handlers may lie.
    areas: Vec<(usize, usize)>,
    pub(super) coll: Collective,
}

/// The parts that a node's collectives share with its handlers.
pub(super) struct Collective {
    /// The node's own collective region.
    pub(super) region: <Heap as Adapter>::Local,
    /// The places where bytes may land.
    pub(super) landings: Arc<Landings>,
    _segment: <Heap as Adapter>::LocalSegment,
}

thread_local! {
    static HERE: Cell<*const Seat> = const { Cell::new(std::ptr::null()) };
    /// Bits that decide what the next handlers do.
    static SCRIPT: Cell<u64> = const { Cell::new(0) };
    /// The first fatal error of a handler; a handler cannot unwind.
    static FATAL: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The nodes of `shape`, with collective regions of `region` bytes.
pub(super) fn seats(shape: &Shape, region: usize) -> Vec<Seat> {
    FATAL.take();
    let (adapters, config) = (Heap::kit(shape.nodes, 0), Config::default());
    let parts = |rank: &u32| {
        let (segment, region) = create(&adapters[*rank as usize], COLLECTIVE, region);
        (Vis::new(&config), Collective { region, landings: Arc::default(), _segment: segment })
    };
    let parts: Vec<_> = shape.active.iter().map(parts).collect();
    let of = |rank: u32| shape.active.iter().position(|r| *r == rank).expect("an active node");
    let made = nodes_with(shape, &adapters, |rank, library| register(&parts[of(rank)], library));
    let seat = |(node, (vis, coll)): (Node<Heap>, (Vis, Collective))| {
        // Indices from 250 on have no handler.
        let clients: Vec<(u8, usize)> = (FIRST_CLIENT..250).map(|i| (i, (any as *const ()).addr())).collect();
        node.register(&clients);
        let areas = node._memory.iter().map(|map| (map.ptr(0).addr(), map.len())).collect();
        Seat { areas, node, vis, coll }
    };
    made.into_iter().zip(parts).map(seat).collect()
}

/// Runs `f` as code of `seat`, its handlers with `script`. An `Err` holds the text of a fatal error.
pub(super) fn act<R>(seat: &Seat, script: u64, f: impl FnOnce(&Seat) -> R) -> Result<R, String> {
    HERE.set(seat);
    watch::set(seat.areas.clone());
    SCRIPT.set(script);
    let result = caught::catch(|| f(seat));
    HERE.set(std::ptr::null());
    watch::set(Vec::new());
    match FATAL.take() {
        Some(text) => Err(text),
        None => result,
    }
}

/// Whether a request with `ring` bytes of payload can be sent without waiting.
pub(super) fn has_slot(seat: &Seat, to: u32, ring: usize) -> bool {
    let am = &seat.node.am;
    let peer = &am.peers[to as usize];
    peer.reserve(&am.layout, ring).is_some()
}

/// Whether a reply with `len` bytes of ring can be sent without waiting. True also if the peer's position is
/// nonsense.
fn has_room(am: &Am<Heap>, to: u32, len: usize) -> bool {
    // SAFETY: called in a request's handler, so this thread holds the inbox.
    let head = unsafe { am.inbox.reenter() }.from[to as usize].reply_head.get();
    let tail = am.control.word(am.layout.reply_credit(to as usize)).load(Ordering::Relaxed); // Relaxed: one thread
    tail > head || head - tail > RING as u64 || outbox::take(head, tail, len).is_some()
}

pub(super) fn with_args<R>(values: &[i32], f: impl FnOnce(Args<'_>) -> R) -> R {
    let pair = |p: &[i32]| u64::from(p[0] as u32) | u64::from(p.get(1).map_or(0, |v| *v as u32)) << 32;
    let words: Vec<u64> = values.chunks(2).map(pair).collect();
    // SAFETY: `words` has as many words as the arguments take.
    f(unsafe { Args::from_raw(words.as_ptr(), values.len()) })
}

pub(super) fn source(bytes: &[u8]) -> Source {
    // SAFETY: callers keep the bytes until the call that gets them has returned.
    unsafe { Source::new(bytes.as_ptr(), bytes.len()) }
}

/// The body of a handler. Words do not change while it runs, as a reply would otherwise wait for room that was there
/// before.
fn handler(raw: *mut c_void, body: impl FnOnce(&Seat, &Token) -> Result<(), Error>) {
    if FATAL.with_borrow(Option::is_some) {
        return; // the node would have ended
    }
    let plan = fickle::plan(0, 0);
    // SAFETY: `act` set it to a seat that outlives the handlers.
    let seat = unsafe { &*HERE.get() };
    // SAFETY: `raw` is the handler's token.
    let token = unsafe { Token::from_raw(raw) }.expect("a handler has a token");
    let result = caught::catch(|| {
        if let Err(error) = body(seat, token) {
            fatal(format_args!("{error}"));
        }
    });
    if let Err(text) = result {
        FATAL.set(Some(text));
    }
    fickle::plan(plan.0, plan.1);
}

/// The client's handler at all indices. It uses the token only: a peer may call any handler with anything, and only a
/// client knows what its own handlers accept.
extern "C" fn any(raw: *mut c_void) {
    handler(raw, |seat, token| {
        let script = SCRIPT.get();
        SCRIPT.set(script >> 4);
        if token.kind() != Kind::Request {
            return Ok(());
        }
        let am = &seat.node.am;
        let bytes = [7u8; 600];
        let to = token.source();
        let base = seat.node.bases[to as usize];
        let reply = |len: usize, long: bool| {
            with_args(&[1, 2, 3], |args| match long {
                true => am.reply_long(token, 200, source(&bytes[..len]), base + 64, args),
                false => am.reply_medium(token, 200, source(&bytes[..len]), args),
            })
        };
        match script & 15 {
            0..=3 => Ok(()),
            4..=6 => with_args(&[4], |args| am.reply_short(token, 200, args)),
            7 => with_args(&[5; 16], |args| am.reply_short(token, 200, args)),
            8 => reply(24, false),
            9..=11 if has_room(am, to, 600) => reply(600, false),
            12 => reply(64, true),
            13 => reply(501, true),
            14 => {
                reply(24, false)?;
                assert!(reply(24, false).is_err(), "a second reply");
                Ok(())
            }
            _ => Ok(()),
        }
    });
}

/// A handler of the library. It runs only if it need not wait, and words do not change while it runs.
fn unhurried(index: u8, serve: Box<Serve<Am<Heap>>>) -> Box<Serve<Am<Heap>>> {
    Box::new(move |am, token, words, payload| {
        let plan = fickle::plan(0, 0);
        let ring = match index {
            RMA_GET => high(words.word(2).load(Ordering::Relaxed)), // Relaxed: one thread
            VIS_GET => high(words.word(0).load(Ordering::Relaxed)), // Relaxed: one thread
            _ => 0,
        } as usize;
        if ring > MAX_MEDIUM || has_room(am, token.source(), ring) {
            serve(am, token, words, payload);
        }
        fickle::plan(plan.0, plan.1);
    })
}

/// Registers what serves a node's messages, as `Job::build` does. Nothing that answers gets may wait here.
fn register((vis, coll): &(Vis, Collective), library: &mut Library<Am<Heap>>) {
    reference::register(library);
    crate::atomic::messages::register(library);
    vis.register(library);
    handlers::register(library, coll.region.clone(), coll.landings.clone());
    library.wrap(|index, serve| if matches!(index, RMA_GET | VIS_GET) { unhurried(index, serve) } else { serve });
}
