//! One thread plays all nodes, one call at a time. What a call has sent arrives before the next one. The tests check what a single poll,
//! reply or wait does.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::world::{Node, Shape, Steady, Watchdog, deliver, nodes, tests_over};
use crate::am::source::{Args, Source};
use crate::am::token::Token;
use crate::am::wait::SLEEPING;
use crate::base::error::{Error, Kind, is_bad_arg as is_bad};
use crate::sci::heap::Heap;
use crate::sync::Ordering;
use crate::testkit::shipping::{Apart, Paired, Together};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;

thread_local! {
    /// The node whose code runs, a `Node<A>`.
    static NODE: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
    /// Another node, for handlers that need one.
    static PEER: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
    static LOG: RefCell<Vec<(u32, i32)>> = const { RefCell::new(Vec::new()) };
    static ERRORS: RefCell<Vec<Error>> = const { RefCell::new(Vec::new()) };
    static OLD_TOKEN: Cell<*mut c_void> = const { Cell::new(std::ptr::null_mut()) };
}

/// Notes (source, argument).
pub(super) const NOTE: u8 = 128;
/// Notes its argument, and replies to NOTE with `note_of` of it.
pub(super) const ECHO: u8 = 129;
/// Replies twice.
const TWICE: u8 = 130;
/// Notes its argument, and replies, which a reply handler must not do.
const REPLIER: u8 = 131;
/// Replies to REPLIER.
const TO_REPLIER: u8 = 132;
/// Medium: replies to NOTE, lets the requester do all it can to use its slots again, then notes the payload's last
/// byte.
const KEEP: u8 = 133;

/// Replies with a Long to a place behind the end of the requester's segment.
const TO_NOWHERE: u8 = 134;

/// Medium: replies to WHOLE with a Long. The requester looks for it before the last piece is announced, and must not
/// find it.
const PART: u8 = 135;
/// Long: notes its length.
const WHOLE: u8 = 136;

/// The value with which ECHO answers `value`.
pub(super) fn note_of(value: i32) -> i32 {
    value ^ 0x4000_0000
}

fn token<'a>(raw: *mut c_void) -> &'a Token {
    // SAFETY: `raw` is the handler's token, or was that of an earlier handler.
    unsafe { Token::from_raw(raw) }.unwrap()
}

fn node<'a, A: Steady>() -> &'a Node<A> {
    // SAFETY: set by `Steps::on`, whose nodes are over `A` as its handlers are, and outlive those that run inside.
    unsafe { &*NODE.get().cast() }
}

fn peer<'a, A: Steady>() -> &'a Node<A> {
    // SAFETY: set by the test that sends KEEP or PART, whose nodes are over `A` as its handlers are.
    unsafe { &*PEER.get().cast() }
}

fn one_arg<R>(value: i32, f: impl FnOnce(Args<'_>) -> R) -> R {
    let word = u64::from(value as u32);
    // SAFETY: one word for one argument.
    f(unsafe { Args::from_raw(&word, 1) })
}

fn log(source: u32, value: i32) {
    LOG.with_borrow_mut(|log| log.push((source, value)));
}

fn reply<A: Steady>(raw: *mut c_void, handler: u8, value: i32) {
    let result = one_arg(value, |args| node::<A>().am.reply_short(token(raw), handler, args));
    if let Err(error) = result {
        ERRORS.with_borrow_mut(|errors| errors.push(error));
    }
}

extern "C" fn note(raw: *mut c_void, value: i32) {
    log(token(raw).source(), value);
    OLD_TOKEN.set(raw);
}

extern "C" fn echo<A: Steady>(raw: *mut c_void, value: i32) {
    log(token(raw).source(), value);
    reply::<A>(raw, NOTE, note_of(value));
}

extern "C" fn twice<A: Steady>(raw: *mut c_void, value: i32) {
    reply::<A>(raw, NOTE, value);
    reply::<A>(raw, NOTE, value);
}

extern "C" fn replier<A: Steady>(raw: *mut c_void, value: i32) {
    log(token(raw).source(), value);
    reply::<A>(raw, NOTE, value);
}

extern "C" fn to_replier<A: Steady>(raw: *mut c_void, value: i32) {
    reply::<A>(raw, REPLIER, value);
}

extern "C" fn keep<A: Steady>(raw: *mut c_void, buf: *mut c_void, len: usize, value: i32) {
    reply::<A>(raw, NOTE, value);
    peer::<A>().am.poll();
    // SAFETY: `buf` is the handler's payload of `len` bytes.
    log(token(raw).source(), unsafe { buf.cast::<u8>().wrapping_add(len - 1).read() }.into());
}

extern "C" fn to_nowhere<A: Steady>(raw: *mut c_void, value: i32) {
    let bytes = [0u8; 8];
    // SAFETY: `bytes` live during the call.
    let source = unsafe { Source::new(bytes.as_ptr(), bytes.len()) };
    let node = node::<A>();
    let address = node.bases[token(raw).source() as usize] + 4096;
    let result = one_arg(value, |args| node.am.reply_long(token(raw), NOTE, source, address, args));
    ERRORS.with_borrow_mut(|errors| errors.push(result.unwrap_err()));
}

extern "C" fn part<A: Steady>(raw: *mut c_void, _buf: *mut c_void, _len: usize, value: i32) {
    let bytes = [7u8; 1000];
    // SAFETY: `bytes` live during the call.
    let source = unsafe { Source::new(bytes.as_ptr(), bytes.len()) };
    let node = node::<A>();
    let address = node.bases[token(raw).source() as usize];
    one_arg(value, |args| node.am.reply_long(token(raw), WHOLE, source, address, args)).unwrap();
    let requester = peer::<A>();
    // The header's looks see the unfinished reply each time. How many of them were in vain:
    let mut failed = 0;
    let vain = (0..64).filter(|_| {
        failed = requester.am.wait_watched(failed, true);
        failed > 0
    });
    log(99, vain.count() as i32);
}

extern "C" fn whole(raw: *mut c_void, _buf: *mut c_void, len: usize, _value: i32) {
    log(token(raw).source(), len as i32);
}

/// The nodes, all on this thread.
pub(super) struct Steps<A: Steady> {
    nodes: Vec<Node<A>>,
    /// Those of the active nodes.
    adapters: Vec<A>,
    _watch: Watchdog,
}

impl<A: Steady> Steps<A> {
    pub fn new(shape: &Shape) -> Steps<A> {
        let all = A::steady(shape.nodes);
        let nodes = nodes(shape, &all);
        let adapters = shape.active.iter().map(|rank| all[*rank as usize].clone()).collect();
        let table: [(u8, *const ()); 9] = [
            (NOTE, note as *const ()),
            (ECHO, echo::<A> as *const ()),
            (TWICE, twice::<A> as *const ()),
            (REPLIER, replier::<A> as *const ()),
            (TO_REPLIER, to_replier::<A> as *const ()),
            (KEEP, keep::<A> as *const ()),
            (TO_NOWHERE, to_nowhere::<A> as *const ()),
            (PART, part::<A> as *const ()),
            (WHOLE, whole as *const ()),
        ];
        for node in &nodes {
            node.register(&table.map(|(index, function)| (index, function.addr())));
        }
        Steps { nodes, adapters, _watch: Watchdog::start() }
    }

    /// Runs `f` as code of active node number `node`. What it sends has arrived when this returns.
    fn on<R>(&self, node: u32, f: impl FnOnce(&Node<A>) -> R) -> R {
        let node = &self.nodes[node as usize];
        let before = NODE.replace(std::ptr::from_ref(node).cast());
        let result = f(node);
        NODE.set(before);
        deliver(&self.adapters);
        result
    }

    /// Handlers of other nodes find this one by [`peer`].
    fn is_peer(&self, node: u32) {
        PEER.set(std::ptr::from_ref(&self.nodes[node as usize]).cast());
    }

    /// The number of nodes to which active node number `node` has queues.
    pub fn ways(&self, node: u32) -> usize {
        self.on(node, |node| node.am.peers.all_known().count())
    }

    /// Active node number `from` sends a Short to rank `to`. The number is the rank if all nodes are active.
    pub fn request(&self, from: u32, to: u32, handler: u8, value: i32) {
        self.on(from, |node| one_arg(value, |args| node.am.request_short(to, handler, args)).unwrap());
    }

    pub fn poll(&self, node: u32) -> bool {
        self.on(node, |node| node.am.poll())
    }

    /// Takes the list of what handlers have noted.
    pub fn take_log(&self) -> Vec<(u32, i32)> {
        LOG.take()
    }

    /// Polls often enough to find everything that is there. Returns what handlers have noted.
    pub fn poll_until_quiet(&self, node: u32) -> Vec<(u32, i32)> {
        for _ in 0..32 {
            self.poll(node);
        }
        self.take_log()
    }
}

fn before_the_first_message_the_header_finds_nothing_to_poll_for_and_can_read_what_it_looks_at<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(2, 4));
    for node in &steps.nodes {
        let watch = node.am.watch();
        assert_eq!(watch.left.load(Ordering::Relaxed), 0, "no inline poll is granted");
        for (slot, sequence) in [(&watch.request, &watch.request_sequence), (&watch.reply, &watch.reply_sequence)] {
            // SAFETY: a word of the node's own command region, or this test fails.
            let word = unsafe { slot.load(Ordering::Relaxed).as_ref() }.expect("a slot that can be read");
            assert_ne!(*word as u16, sequence.load(Ordering::Relaxed), "no message");
        }
    }
}

fn one_poll_runs_at_most_32_requests_of_the_only_peer<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(2, 64));
    (0..40).for_each(|i| steps.request(0, 1, NOTE, i));
    assert!(steps.poll(1));
    assert_eq!(steps.take_log().len(), 32);
    assert!(steps.poll(1));
    assert_eq!(steps.take_log().len(), 8);
    assert!(!steps.poll(1));
}

fn a_poll_that_finds_a_flood_serves_the_other_predicted_peers_too<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(3, 64));
    for peer in [1, 2] {
        (0..40).for_each(|i| steps.request(peer, 0, NOTE, i));
    }
    assert!(steps.poll(0));
    let log = steps.take_log();
    for peer in [1, 2] {
        assert_eq!(log.iter().filter(|(from, _)| *from == peer).count(), 32, "of node {peer}");
    }
}

fn a_flood_does_not_starve_peers_that_are_not_predicted<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(7, 64));
    for peer in 1..7 {
        (0..40).for_each(|i| steps.request(peer, 0, NOTE, i));
    }
    let mut log = Vec::new();
    for _ in 0..2 {
        assert!(steps.poll(0));
        log.extend(steps.take_log());
    }
    for peer in 1..7 {
        assert!(log.iter().filter(|(from, _)| *from == peer).count() >= 32, "of node {peer}");
    }
}

fn replies_do_not_starve_requests<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(2, 256));
    (0..200).for_each(|i| steps.request(0, 1, ECHO, i));
    while steps.poll(1) {}
    steps.request(1, 0, NOTE, 7);
    steps.take_log();
    // Each runs 64 replies: all 200 are not run yet.
    for _ in 0..2 {
        steps.poll(0);
    }
    assert!(steps.take_log().contains(&(1, 7)));
}

fn busy_peers_do_not_starve_one_that_is_not_predicted<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(7, 4));
    steps.request(6, 0, NOTE, 66);
    for _ in 0..16 {
        (1..5).for_each(|peer| steps.request(peer, 0, ECHO, 0));
        steps.poll(0);
        for peer in 1..5 {
            steps.poll(peer);
        }
    }
    assert!(steps.take_log().contains(&(6, 66)));
}

fn a_reply_needs_no_credit<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(2, 4));
    (0..4).for_each(|i| steps.request(0, 1, ECHO, i)); // fills every slot; node 0 does not poll
    steps.poll(1);
    assert_eq!(steps.take_log().len(), 4);
    assert_eq!(steps.poll_until_quiet(0), (0..4).map(|i| (1, note_of(i))).collect::<Vec<_>>());
}

fn a_request_is_answered_once_by_its_own_handler_only<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(2, 4));
    steps.request(0, 1, TWICE, 1);
    steps.poll(1);
    assert!(matches!(&ERRORS.take()[..], [e] if e.to_string().contains("second")));
    assert_eq!(steps.poll_until_quiet(0), [(1, 1)]);
    steps.on(0, |_| reply::<A>(OLD_TOKEN.get(), NOTE, 1));
    assert!(matches!(&ERRORS.take()[..], [e] if e.to_string().contains("outside")));
    steps.request(0, 1, TO_REPLIER, 2);
    steps.poll(1);
    assert_eq!(steps.poll_until_quiet(0), [(1, 2)]);
    assert!(matches!(&ERRORS.take()[..], [e] if e.to_string().contains("reply handler")));
}

fn a_request_whose_reply_failed_gives_its_slot_back<A: Steady>() {
    let steps = Steps::<A>::new(&Shape { claimed: 4096, ..Shape::new(2, 4) });
    for i in 0..9 {
        steps.request(0, 1, TO_NOWHERE, i); // would wait for ever without a slot
        steps.poll(1);
        assert!(matches!(&ERRORS.take()[..], [e] if matches!(e.kind(), Kind::Resource(_))));
    }
    assert_eq!(steps.poll_until_quiet(0), [], "no reply came");
}

fn a_medium_buffer_is_the_handlers_until_it_returns_though_it_replied<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(2, 4));
    steps.is_peer(0);
    for len in [40, 5000] {
        let payload = vec![9u8; len];
        // SAFETY: `payload` lives during the call.
        let source = unsafe { Source::new(payload.as_ptr(), len) };
        steps.on(0, |node| one_arg(3, |args| node.am.request_medium(1, KEEP, source, args))).unwrap();
        steps.poll(1);
        assert_eq!(steps.take_log(), [(0, 9)], "the reply went out before the handler returned");
        assert_eq!(steps.poll_until_quiet(0), [(1, 3)]);
    }
}

fn the_last_look_before_a_sleep_misses_nothing<A: Steady>() {
    for offset in 0..8 {
        let steps = Steps::<A>::new(&Shape::new(2, 64));
        for _ in 0..offset {
            steps.poll(0);
        }
        steps.request(0, 1, NOTE, 1);
        steps.request(0, 1, ECHO, 2);
        steps.poll(1);
        steps.take_log();
        let failed = steps.on(0, |node| node.am.wait_step(SLEEPING));
        assert_eq!(steps.take_log(), [(1, note_of(2))], "a reply behind an unanswered request, after {offset} polls");
        assert_eq!(failed, 0, "a wait that ran a handler made progress");
    }
}

fn a_request_to_nowhere_or_too_long_is_refused<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(2, 4));
    let big = vec![0u8; (64 << 10) + 1];
    // SAFETY: `big` lives during the calls.
    let source = unsafe { Source::new(big.as_ptr(), big.len()) };
    let base = steps.nodes[0].bases[1];
    steps.on(0, |node| {
        one_arg(0, |args| {
            assert!(is_bad(node.am.request_short(2, NOTE, args)));
            assert!(is_bad(node.am.request_medium(1, NOTE, source, args)));
            for (address, len) in [(base, 4097), (base + 4096, 1), (base - 1, 1), (usize::MAX - 3, 8)] {
                let result = node.am.request_long(1, NOTE, source.part(0, len), address, args);
                assert!(is_bad(result), "{len} bytes at {address:#x}");
            }
        });
    });
    assert_eq!(steps.poll_until_quiet(1), [], "a refused request sends nothing");
}

fn a_reply_of_which_part_has_arrived_is_no_progress<A: Steady>() {
    let steps = Steps::<A>::new(&Shape { everything: true, ..Shape::new(2, 4) });
    steps.is_peer(0);
    let bytes = [9u8; 8];
    // SAFETY: `bytes` live during the call.
    let source = unsafe { Source::new(bytes.as_ptr(), bytes.len()) };
    steps.on(0, |node| one_arg(1, |args| node.am.request_medium(1, PART, source, args))).unwrap();
    steps.on(0, |node| node.am.poll_in_loop()); // from here on the header may look
    steps.poll(1);
    let log = steps.take_log();
    assert_eq!(log, [(99, 64)], "each look found nothing, so such a wait comes to yield and to sleep");
    assert_eq!(steps.poll_until_quiet(0), [(1, 1000)]);
}

tests_over! { [Heap, Together, Apart, Paired]:
    before_the_first_message_the_header_finds_nothing_to_poll_for_and_can_read_what_it_looks_at,
    one_poll_runs_at_most_32_requests_of_the_only_peer,
    a_poll_that_finds_a_flood_serves_the_other_predicted_peers_too,
    a_flood_does_not_starve_peers_that_are_not_predicted,
    replies_do_not_starve_requests,
    busy_peers_do_not_starve_one_that_is_not_predicted,
    a_reply_needs_no_credit,
    a_request_is_answered_once_by_its_own_handler_only,
    a_request_whose_reply_failed_gives_its_slot_back,
    a_medium_buffer_is_the_handlers_until_it_returns_though_it_replied,
    the_last_look_before_a_sleep_misses_nothing,
    a_request_to_nowhere_or_too_long_is_refused,
    a_reply_of_which_part_has_arrived_is_no_progress,
}
