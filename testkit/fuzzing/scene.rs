//! Nodes of one process on one thread, and handlers as the C ABI has them. What handlers do is in a script.
//!
//! Nobody may wait on this thread for a peer, so what would wait is not done: requests without a slot, replies without room
//! in a ring.

use super::watch;
use crate::am::Am;
use crate::am::handlers;
use crate::am::outbox;
use crate::am::region::RING;
use crate::am::source::{Args, Source};
use crate::am::token::{Kind, Token};
use crate::base::config::Config;
use crate::base::error::Error;
use crate::base::fatal::caught;
use crate::coll::landing::Landings;
use crate::coll::{cells, moves};
use crate::job::fatal;
use crate::sci::LocalMap;
use crate::sci::heap::{Heap, fickle};
use crate::sync::Ordering;
use crate::testkit::world::Kit;
use crate::testkit::world::{Node, Shape, nodes};
use crate::vis::{Vis, pack};
use crate::xfer::reference::{self, Asked};
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};

/// A node, and what handlers need beside it.
pub(super) struct Seat {
    pub(super) node: Node<Heap>,
    pub(super) vis: Vis,
    /// Where payloads of its handlers may lie.
    areas: Vec<(usize, usize)>,
    /// Own collective region, and where bytes may land.
    pub(super) coll: RefCell<Option<(<Heap as crate::sci::Adapter>::Local, &'static Landings)>>,
}

thread_local! {
    static HERE: Cell<*const Seat> = const { Cell::new(std::ptr::null()) };
    /// Bits that say what the next handlers do.
    static SCRIPT: Cell<u64> = const { Cell::new(0) };
    /// The first fatal error of a handler, which can't unwind.
    static FATAL: RefCell<Option<String>> = const { RefCell::new(None) };
}

pub(super) fn seats(shape: &Shape) -> Vec<Seat> {
    FATAL.take();
    let made = nodes(shape, &Heap::kit(shape.nodes, 0));
    let config = Config::default();
    let seat = |node: Node<Heap>| {
        register(&node);
        let areas = node._memory.iter().map(|map| (map.ptr(0).addr(), map.len())).collect();
        Seat { areas, node, vis: Vis::new(&config), coll: RefCell::new(None) }
    };
    made.into_iter().map(seat).collect()
}

/// Runs `f` as `seat`'s code, its handlers with `script`. A fatal error is the result.
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

/// Can a request with `ring` bytes of payload go without waiting?
pub(super) fn has_slot(seat: &Seat, to: u32, ring: usize) -> bool {
    let am = &seat.node.am;
    let peer = &am.peers[to as usize];
    peer.outbox.with(|outbox| peer.take(outbox, &am.layout, ring).is_some())
}

/// Can a reply with `len` bytes of ring go without waiting, or is the peer's position nonsense?
fn has_room(am: &Am<Heap>, to: u32, len: usize) -> bool {
    // SAFETY: in a request's handler, inside the inbox.
    let head = unsafe { am.inbox.reenter() }.from[to as usize].reply_head.get();
    let tail = am.control.word(am.layout.reply_credit(to as usize)).load(Ordering::Relaxed); // Relaxed: one thread
    tail > head || head - tail > RING as u64 || outbox::take(head, tail, len).is_some()
}

pub(super) fn with_args<R>(values: &[i32], f: impl FnOnce(Args<'_>) -> R) -> R {
    let pair = |p: &[i32]| u64::from(p[0] as u32) | u64::from(p.get(1).map_or(0, |v| *v as u32)) << 32;
    let words: Vec<u64> = values.chunks(2).map(pair).collect();
    // SAFETY: as many words as the arguments take.
    f(unsafe { Args::from_raw(words.as_ptr(), values.len()) })
}

pub(super) fn source(bytes: &[u8]) -> Source {
    // SAFETY: callers keep the bytes until the call that gets them has returned.
    unsafe { Source::new(bytes.as_ptr(), bytes.len()) }
}

/// A handler's body. Words do not change meanwhile: a reply would wait for room that was there.
fn handler(raw: *mut c_void, body: impl FnOnce(&Seat, &Token) -> Result<(), Error>) {
    if FATAL.with_borrow(Option::is_some) {
        return; // the node would have ended
    }
    let plan = fickle::plan(0, 0);
    // SAFETY: set by `act`, which outlives its handlers.
    let seat = unsafe { &*HERE.get() };
    // SAFETY: the handler's token.
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

/// Every client's handler: whatever it is called with, it takes the token only, because a peer may call any with anything,
/// and only the client would know.
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

fn wide(low: c_int, high: c_int) -> usize {
    (u64::from(low as u32) | u64::from(high as u32) << 32) as usize
}

fn asked(to: usize, id: c_int, seal: c_int) -> Asked {
    Asked { to, id: id as u32, seal: seal as u32 }
}

// As in `abi::reference`, `abi::vis` and `abi::coll`, for these nodes.

extern "C" fn rma_put(raw: *mut c_void, _buf: *mut c_void, _len: usize, id: c_int) {
    handler(raw, |seat, token| reference::on_put(&seat.node.am, token, id as u32));
}

extern "C" fn rma_put_word(raw: *mut c_void, a: c_int, b: c_int, c: c_int, d: c_int, id: c_int, len: c_int) {
    handler(raw, |seat, token| {
        let (value, len) = (wide(c, d) as u64, len as u32 as usize);
        reference::on_put_word(&seat.node.am, token, wide(a, b), value, len, id as u32)
    });
}

extern "C" fn rma_get(raw: *mut c_void, a: c_int, b: c_int, c: c_int, d: c_int, id: c_int, len: c_int, seal: c_int) {
    handler(raw, |seat, token| {
        let am = &seat.node.am;
        let len = len as u32 as usize;
        if len <= crate::am::region::MAX_MEDIUM && !has_room(am, token.source(), len) {
            return Ok(());
        }
        reference::on_get(am, token, false, wide(a, b), len, asked(wide(c, d), id, seal))
    });
}

extern "C" fn rma_get_long(
    raw: *mut c_void,
    a: c_int,
    b: c_int,
    c: c_int,
    d: c_int,
    id: c_int,
    len: c_int,
    seal: c_int,
) {
    let asked = asked(wide(c, d), id, seal);
    let get = |seat: &Seat, token: &Token| {
        reference::on_get(&seat.node.am, token, true, wide(a, b), len as u32 as usize, asked)
    };
    handler(raw, get);
}

extern "C" fn rma_set(raw: *mut c_void, a: c_int, b: c_int, c: c_int, d: c_int, id: c_int, byte: c_int) {
    let set = |seat: &Seat, token: &Token| {
        reference::on_set(&seat.node.am, token, wide(a, b), wide(c, d), byte as u8, id as u32)
    };
    handler(raw, set);
}

extern "C" fn rma_done(raw: *mut c_void, id: c_int) {
    handler(raw, |_, token| {
        reference::on_done(id as u32, token.source());
        Ok(())
    });
}

extern "C" fn rma_landed(raw: *mut c_void, buf: *mut c_void, len: usize, id: c_int, seal: c_int) {
    handler(raw, |_, token| {
        reference::on_landed(len, asked(buf as usize, id, seal), token.source());
        Ok(())
    });
}

extern "C" fn rma_fetched(
    raw: *mut c_void,
    a: c_int,
    b: c_int,
    id: c_int,
    seal: c_int,
    c: c_int,
    d: c_int,
    len: c_int,
) {
    handler(raw, |_, token| {
        let asked = asked(wide(a, b), id, seal);
        reference::on_fetched(wide(c, d) as u64, len as u32 as usize, asked, token.source());
        Ok(())
    });
}

extern "C" fn rma_arrived(raw: *mut c_void, buf: *mut c_void, len: usize, a: c_int, b: c_int, id: c_int, seal: c_int) {
    handler(raw, |_, token| {
        // SAFETY: the payload that the engine hands to this handler.
        let bytes = unsafe { Source::new(buf.cast(), len) };
        reference::on_arrived(bytes, asked(wide(a, b), id, seal), token.source());
        Ok(())
    });
}

extern "C" fn vis_put(raw: *mut c_void, buf: *mut c_void, len: usize, id: c_int, bytes: c_int) {
    handler(raw, |seat, token| {
        // SAFETY: as above.
        let message = unsafe { Source::new(buf.cast(), len) };
        pack::on_put(&seat.node.am, token, message, id as u32, bytes as u32 as usize)
    });
}

extern "C" fn vis_get(raw: *mut c_void, buf: *mut c_void, len: usize, record: c_int, bytes: c_int) {
    handler(raw, |seat, token| {
        let (am, bytes) = (&seat.node.am, bytes as u32 as usize);
        if bytes <= crate::am::region::MAX_MEDIUM && !has_room(am, token.source(), bytes) {
            return Ok(());
        }
        // SAFETY: as above.
        let message = unsafe { Source::new(buf.cast(), len) };
        pack::on_get(am, token, message, record as u32, bytes)
    });
}

extern "C" fn vis_arrived(raw: *mut c_void, buf: *mut c_void, len: usize, record: c_int, _bytes: c_int) {
    handler(raw, |seat, token| {
        // SAFETY: as above.
        let message = unsafe { Source::new(buf.cast(), len) };
        pack::on_arrived(&seat.vis, token, message, record as u32);
        Ok(())
    });
}

extern "C" fn coll_store(raw: *mut c_void, buf: *mut c_void, len: usize, low: c_int, high: c_int) {
    handler(raw, |seat, _| {
        // SAFETY: as above.
        let words = unsafe { Source::new(buf.cast(), len) };
        match &*seat.coll.borrow() {
            Some((region, _)) => cells::on_store(region, wide(low, high), words),
            None => Ok(()),
        }
    });
}

extern "C" fn coll_data(raw: *mut c_void, buf: *mut c_void, len: usize, low: c_int, high: c_int) {
    handler(raw, |seat, token| {
        // SAFETY: as above.
        let bytes = unsafe { Source::new(buf.cast(), len) };
        if let Some((_, landings)) = &*seat.coll.borrow() {
            moves::on_data(landings, token.source(), wide(low, high), bytes);
        }
        Ok(())
    });
}

fn register(node: &Node<Heap>) {
    // 250 and above stay free.
    let clients: Vec<(u8, usize)> = (handlers::FIRST_CLIENT..250).map(|i| (i, (any as *const ()).addr())).collect();
    node.register(&clients);
    for (index, function) in [
        (handlers::RMA_PUT, rma_put as *const ()),
        (handlers::RMA_GET, rma_get as *const ()),
        (handlers::RMA_GET_LONG, rma_get_long as *const ()),
        (handlers::RMA_SET, rma_set as *const ()),
        (handlers::RMA_DONE, rma_done as *const ()),
        (handlers::RMA_LANDED, rma_landed as *const ()),
        (handlers::RMA_PUT_WORD, rma_put_word as *const ()),
        (handlers::RMA_ARRIVED, rma_arrived as *const ()),
        (handlers::RMA_FETCHED, rma_fetched as *const ()),
        (handlers::VIS_PUT, vis_put as *const ()),
        (handlers::VIS_GET, vis_get as *const ()),
        (handlers::VIS_ARRIVED, vis_arrived as *const ()),
        (handlers::COLL_STORE, coll_store as *const ()),
        (handlers::COLL_DATA, coll_data as *const ()),
    ] {
        node.am.handlers().set_internal(index, function.addr());
    }
}
