//! A peer's memory is not trusted. Values that no sender of ours writes end the job with a line, or are ignored. Each
//! test stands for a bug that was found. They run over the heap adapter and over the memory that nodes of one host map. Nodes of other
//! hosts cannot store: what they send is checked before it is stored (`sci/far/apply.rs`, and the fuzz target `far`).

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::world::{Kit, Node, Shape, nodes, nodes_with, tests_over};
use crate::am::Am;
use crate::am::library::{Library, RMA_ARRIVED, RMA_DONE};
use crate::am::region::RING;
use crate::am::slot::{BOUNCE_WORD, COUNT_WORD, Carry, Meta};
use crate::am::source::{Args, Source};
use crate::am::token::Token;
use crate::am::wait::{Look, SLEEPING};
use crate::base::error::Error;
use crate::base::fatal::caught::catch;
use crate::sci::fickle;
use crate::sci::heap::Heap;
use crate::sci::{LocalMap, RemoteMap};
use crate::sync::Ordering;
use crate::testkit::shipping::Together;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;

/// Notes where its payload is.
const NOTE: u8 = 128;
/// Replies with a Medium of 600 bytes.
const REPLY: u8 = 129;

thread_local! {
    static SEEN: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
    /// The node that replies, a `Node<A>`.
    static NODE: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
    static FATAL: RefCell<Option<String>> = const { RefCell::new(None) };
}

extern "C" fn note(_: *mut c_void, buf: *mut c_void, len: usize) {
    SEEN.with_borrow_mut(|seen| seen.push((buf.addr(), len)));
}

/// Does what `note` does, as a handler of the library.
fn noted(bytes: Source) -> Result<(), Error> {
    SEEN.with_borrow_mut(|seen| seen.push((bytes.ptr().addr(), bytes.len())));
    Ok(())
}

extern "C" fn reply<A: Kit>(raw: *mut c_void) {
    let payload = [1u8; 600];
    // SAFETY: `raw` is the handler's token.
    let token = unsafe { Token::from_raw(raw) }.unwrap();
    // SAFETY: `payload` lives during the call.
    let source = unsafe { Source::new(payload.as_ptr(), payload.len()) };
    // SAFETY: the test set it to a node over `A`, as its handlers are, that outlives the call.
    let am = unsafe { &(*NODE.get().cast::<Node<A>>()).am };
    FATAL.set(catch(|| am.reply_medium(token, NOTE, source, none()).unwrap()).err());
}

fn none<'a>() -> Args<'a> {
    // SAFETY: with 0 arguments nothing is read.
    unsafe { Args::from_raw(std::ptr::null(), 0) }
}

/// Node 0, and node 1, which writes whatever it likes.
fn pair<A: Kit>() -> [Node<A>; 2] {
    let notes = |_, library: &mut Library<Am<A>>| {
        library.on(RMA_DONE, |_, _, [_], bytes| noted(bytes));
        library.on(RMA_ARRIVED, |_, _, [_, _], bytes| noted(bytes));
    };
    let made = nodes_with(&Shape::new(2, 4), &A::kit(2, 0), notes);
    for node in &made {
        node.register(&[(NOTE, (note as *const ()).addr()), (REPLY, (reply::<A> as *const ()).addr())]);
    }
    made.try_into().ok().unwrap()
}

/// Node 1 writes a message into node 0's slot at `slot`, of the first lap.
fn forge<A: Kit>(
    from: &Node<A>,
    slot: usize,
    handler: u8,
    args: usize,
    carry: Carry,
    len: usize,
    words: &[(usize, u64)],
) {
    let queue = &from.am.peers[0].queue;
    words.iter().for_each(|(i, word)| queue.publish(slot + 8 * i, *word));
    queue.publish(slot, Meta::new(from.am.layout.sequence(0), handler, args, carry, len).bits());
}

fn fatal_text<R: std::fmt::Debug>(f: impl FnOnce() -> R) -> String {
    catch(f).expect_err("a fatal error")
}

/// The ways in which a node looks for messages: the poll of a library call, the client's own poll, and the one before
/// a sleep.
fn polls<A: Kit>() -> [fn(&Node<A>); 3] {
    [
        |a| {
            a.am.poll();
        },
        |a| a.am.poll_in_loop(),
        |a| {
            a.am.look(Look::Last);
        },
    ]
}

fn an_answer_to_a_request_that_was_not_sent_is_fatal<A: Kit>() {
    for poll in polls::<A>() {
        let [a, b] = pair::<A>();
        a.am.request_short(1, NOTE, none()).unwrap();
        for index in 0..2 {
            forge(&b, a.am.layout.reply(index), NOTE, 0, Carry::Inline, 0, &[]);
        }
        let text = fatal_text(|| poll(&a));
        assert!(text.contains("node 1") && text.contains("not sent"), "{text}");
        assert_eq!(a.am.peers[1].outstanding(), 0, "the count of requests under way has not come by 0");
    }
}

/// Node 0 has no queue to node 1, and makes none for its answer.
fn an_answer_of_a_stranger_is_fatal<A: Kit>() {
    let [a, b] = pair::<A>();
    forge(&b, a.am.layout.reply(0), NOTE, 0, Carry::Inline, 0, &[]);
    b.am.peers[0].control.publish32(a.am.layout.ready(1) + 4, 1);
    let text = fatal_text(|| a.am.wait_step(SLEEPING));
    assert!(text.contains("node 1") && text.contains("not sent"), "{text}");
    assert_eq!(a.am.peers.all_known().count(), 0);
}

/// Forged ready counts and exist words. A node of 6 looks at ready counts alone, a node of 70 at exist words too.
fn announcements_of_nothing_keep_no_poll_and_hide_no_message<A: Kit>() {
    for count in [6, 70] {
        let shape = Shape { active: vec![0, count - 1], ..Shape::new(count, 4) };
        let [a, b]: [Node<A>; 2] = nodes(&shape, &A::kit(count, 0)).try_into().ok().unwrap();
        a.register(&[(NOTE, (note as *const ()).addr())]);
        let layout = &a.am.layout;
        let mut state = 5u64;
        for round in 0..200 {
            for at in (layout.exist(0)..layout.credit(0)).step_by(8) {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let word = [0, 1, state, u64::MAX][state as usize >> 20 & 3];
                b.am.peers[0].control.publish(at, word);
            }
            for look in [Look::Glance, Look::Glance, Look::Glance, Look::Whole, Look::Last] {
                assert!(!a.am.look(look).did);
            }
            if round % 10 == 0 {
                // SAFETY: with 0 bytes nothing is read.
                let source = unsafe { Source::new(std::ptr::null(), 0) };
                b.am.request_medium(0, NOTE, source, none()).unwrap();
                assert!((0..8).any(|_| a.am.poll()) || a.am.look(Look::Last).did, "round {round} of {count} nodes");
                assert_eq!(SEEN.take().len(), 1);
            }
        }
    }
}

fn a_credit_for_more_than_was_sent_is_ignored<A: Kit>() {
    let [a, b] = pair::<A>();
    a.am.request_short(1, NOTE, none()).unwrap();
    for credit in [2, 5, 0x8000_0000, u32::MAX] {
        b.am.peers[0].control.publish(a.am.layout.credit(1), credit.into());
        a.am.inbox.with(|inbox| inbox.retire(&a.am, 1));
        assert_eq!(a.am.peers[1].outstanding(), 1, "{credit}");
    }
}

fn a_bounced_payloads_address_is_the_one_that_was_checked<A: Kit>() {
    for looks in 1..40 {
        let [a, b] = pair::<A>();
        let inside = a.bases[0] as u64 + 3;
        let words = [(1, inside), (BOUNCE_WORD, 1), (BOUNCE_WORD + 1, 2)];
        forge(&b, a.am.layout.request(0), NOTE, 0, Carry::Bounced, 100, &words);
        fickle::plan(looks, 1 << 40);
        let _ = catch(|| a.am.poll());
        fickle::plan(0, 0);
        assert!(SEEN.take().iter().all(|(at, _)| *at as u64 == inside), "look {looks}");
    }
}

fn a_streamed_reply_stays_what_it_was_at_the_first_look<A: Kit>() {
    let [a, b] = pair::<A>();
    let (base, slot) = (a.bases[0] as u64, a.am.layout.reply(0));
    a.am.request_short(1, NOTE, none()).unwrap();
    forge(&b, slot, NOTE, 0, Carry::Stream, 4000, &[(1, base), (COUNT_WORD, 100)]);
    a.am.poll();
    // A stream of fewer bytes than were copied, one at another place, and no stream at all.
    let ring = RING as u64;
    for (carry, len, address) in
        [(Carry::Stream, 8, base), (Carry::Stream, 4000, 8), (Carry::Stream, u32::MAX as usize, base)]
    {
        forge(&b, slot, NOTE, 0, carry, len, &[(1, address), (COUNT_WORD, 100)]);
        assert_eq!(catch(|| a.am.poll()), Ok(false));
    }
    b.am.peers[0].queue.publish(slot + 8 * COUNT_WORD, ring);
    assert!(a.am.poll());
    assert_eq!(SEEN.take(), [(base as usize, 4000)]);
    let [a, b] = pair::<A>();
    a.am.request_short(1, NOTE, none()).unwrap();
    let end = a.bases[0] as u64 + 4096 - 8;
    forge(&b, slot, NOTE, 0, Carry::Stream, 16, &[(1, end), (COUNT_WORD, 8)]);
    assert!(fatal_text(|| a.am.poll()).contains("outside the segment"), "at the first look, not the last");
}

fn a_ring_position_beyond_what_was_written_is_fatal<A: Kit>() {
    for position in [64u64, 1 << 40, u64::MAX] {
        let [a, b] = pair::<A>();
        NODE.set(std::ptr::from_ref(&a).cast());
        b.am.peers[0].control.publish(a.am.layout.reply_credit(1), position);
        b.am.request_short(0, REPLY, none()).unwrap();
        a.am.poll();
        let text = FATAL.take().expect("a fatal error");
        assert!(text.contains("ring"), "{position:#x}: {text}");
    }
}

fn the_librarys_handlers_are_run_for_their_own_messages_only<A: Kit>() {
    let one_too_few = (RMA_ARRIVED, Carry::Inline, 3);
    let of_another_category = (RMA_ARRIVED, Carry::Short, 4);
    let answers_as_requests = (RMA_ARRIVED, Carry::Inline, 4);
    let no_request = (RMA_DONE, Carry::Short, 1);
    let forged = [one_too_few, of_another_category, answers_as_requests, no_request, (RMA_DONE, Carry::Long, 1)];
    for ((handler, carry, args), poll) in forged.into_iter().flat_map(|forged| polls::<A>().map(|poll| (forged, poll)))
    {
        let [a, b] = pair::<A>();
        let words = [(1, a.bases[0] as u64)];
        forge(&b, a.am.layout.request(0), handler, args, carry, 8, &words);
        let text = fatal_text(|| poll(&a));
        assert!(text.contains("another kind"), "{handler} {carry:?} {args}: {text}");
        assert_eq!(SEEN.take(), []);
    }
    let [a, b] = pair::<A>();
    a.am.request_short(1, NOTE, none()).unwrap();
    forge(&b, a.am.layout.reply(0), RMA_ARRIVED, 4, Carry::Inline, 8, &[]);
    a.am.poll();
    assert_eq!(SEEN.take().len(), 1, "and for these they are");
}

fn a_kind_that_nobody_writes_is_fatal<A: Kit>() {
    let [a, b] = pair::<A>();
    let slot = a.am.layout.request(0);
    b.am.peers[0].queue.publish(slot, u64::from(a.am.layout.sequence(0)) | 7 << 29);
    assert!(fatal_text(|| a.am.poll()).contains("unknown kind"));
    // Relaxed: one thread.
    assert_ne!(a._memory[1].word(a.am.layout.queue(1) + slot).load(Ordering::Relaxed), 0, "nothing was cleared");
}

// Over adapters whose nodes store into each other's memory.
tests_over! { [Heap, Together]:
    an_answer_to_a_request_that_was_not_sent_is_fatal,
    an_answer_of_a_stranger_is_fatal,
    announcements_of_nothing_keep_no_poll_and_hide_no_message,
    a_credit_for_more_than_was_sent_is_ignored,
    a_bounced_payloads_address_is_the_one_that_was_checked,
    a_streamed_reply_stays_what_it_was_at_the_first_look,
    a_ring_position_beyond_what_was_written_is_fatal,
    the_librarys_handlers_are_run_for_their_own_messages_only,
    a_kind_that_nobody_writes_is_fatal,
}
