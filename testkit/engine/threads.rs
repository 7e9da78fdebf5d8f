//! GASNET_PAR: several client threads of a node send, poll and run handlers at the same time.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::world::{Kit, Node, Shape, Steady, nodes};
use crate::am::source::{Args, Source};
use crate::am::token::Token;
use crate::sci::heap::Heap;
use crate::sync::{AtomicU32, Ordering};
use crate::testkit::shipping::{Apart, Paired, Together};
use std::cell::Cell;
use std::ffi::c_void;

const THREADS: usize = 3;
const ASK: u8 = 128;
const ANSWER: u8 = 129;

/// A node with what its handlers saw: the number of the next message, for each thread of the other node and of this
/// one.
struct Shared<A: Kit> {
    node: Node<A>,
    asked: [AtomicU32; THREADS],
    answered: [AtomicU32; THREADS],
}

thread_local! {
    /// The node whose thread this is, a `Shared<A>`.
    static SHARED: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

fn shared<'a, A: Kit>() -> &'a Shared<A> {
    // SAFETY: set at the start of each client thread, for nodes over `A` as its handlers are; the nodes outlive the threads.
    unsafe { &*SHARED.get().cast() }
}

/// This thread is one of the node's.
fn is_thread_of<A: Kit>(node: &Shared<A>) {
    SHARED.set(std::ptr::from_ref(node).cast());
}

/// The two nodes of a job, whose handlers count.
fn pair<A: Kit>(adapters: &[A]) -> Vec<Shared<A>> {
    let zero = || std::array::from_fn(|_| AtomicU32::new(0));
    let share = |node: Node<A>| {
        node.register(&[(ASK, (ask::<A> as *const ()).addr()), (ANSWER, (answer::<A> as *const ()).addr())]);
        Shared { node, asked: zero(), answered: zero() }
    };
    let shape = Shape { threaded: true, ..Shape::new(2, 16) };
    nodes(&shape, adapters).into_iter().map(share).collect()
}

fn length(k: u32) -> usize {
    k as usize * 37 % 700
}

fn with_args<R>(thread: i32, k: u32, f: impl FnOnce(Args<'_>) -> R) -> R {
    let word = u64::from(thread as u32) | u64::from(k) << 32;
    // SAFETY: one word for two arguments.
    f(unsafe { Args::from_raw(&word, 2) })
}

fn check(buf: *mut c_void, len: usize, thread: i32, k: i32, next: &[AtomicU32; THREADS]) {
    // Relaxed: only one handler of a node runs at a time, and the inbox's lock orders them.
    let expected = next[thread as usize].fetch_add(1, Ordering::Relaxed);
    // SAFETY: `buf` is the handler's payload of `len` bytes.
    let whole = (0..len).all(|i| unsafe { buf.cast::<u8>().wrapping_add(i).read() } == thread as u8 ^ k as u8);
    if (k as u32, len, whole) != (expected, length(k as u32), true) {
        crate::base::log::error(format_args!(
            "thread {thread}: message {k} of {len} bytes, whole: {whole}, not {expected}"
        ));
        std::process::abort(); // a handler can't unwind
    }
}

extern "C" fn ask<A: Kit>(raw: *mut c_void, buf: *mut c_void, len: usize, thread: i32, k: i32) {
    check(buf, len, thread, k, &shared::<A>().asked);
    // SAFETY: `raw` is the handler's token.
    let token = unsafe { Token::from_raw(raw) }.unwrap();
    // SAFETY: the payload stays until the handler returns.
    let source = unsafe { Source::new(buf.cast(), len) };
    with_args(thread, k as u32, |args| shared::<A>().node.am.reply_medium(token, ANSWER, source, args)).unwrap();
}

extern "C" fn answer<A: Kit>(_: *mut c_void, buf: *mut c_void, len: usize, thread: i32, k: i32) {
    check(buf, len, thread, k, &shared::<A>().answered);
}

fn client<A: Kit>(shared: &Shared<A>, thread: usize, count: u32, done: &AtomicU32) {
    is_thread_of(shared);
    let am = &shared.node.am;
    for k in 0..count {
        let payload = vec![thread as u8 ^ k as u8; length(k)];
        // SAFETY: `payload` lives during the call.
        let source = unsafe { Source::new(payload.as_ptr(), payload.len()) };
        with_args(thread as i32, k, |args| am.request_medium(1 - shared.node.me, ASK, source, args)).unwrap();
    }
    let mut failed = 0;
    // Relaxed: the loop only asks whether all answers have come; it reads nothing else by them.
    while shared.answered[thread].load(Ordering::Relaxed) < count {
        failed = am.wait_step(failed);
    }
    done.fetch_add(1, Ordering::Relaxed); // Relaxed: a count
    while done.load(Ordering::Relaxed) < 2 * THREADS as u32 {
        failed = am.wait_step(failed);
    }
}

/// Each thread of each node sends `count` messages.
fn threads_share<A: Kit>(count: u32) {
    let shared = pair(&A::kit(2, 0));
    let _watch = super::world::Watchdog::start();
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for node in &shared {
            for thread in 0..THREADS {
                let done = &done;
                scope.spawn(move || client(node, thread, count, done));
            }
        }
    });
    for node in &shared {
        assert!(node.asked.iter().all(|n| n.load(Ordering::Relaxed) == count)); // Relaxed: the threads have ended
    }
}

#[test]
fn threads_share_a_node_and_each_keeps_its_order() {
    threads_share::<Heap>(1500);
    threads_share::<Together>(500);
    threads_share::<Apart>(500);
    threads_share::<Paired>(100); // both nodes are on one host, in a job that has a network
}

/// A wait of one of several threads looks for the next message of its last peer without the inbox's lock.
#[test]
fn a_look_without_a_lock_sees_the_next_message_and_nothing_else() {
    fn over<A: Steady>() {
        let shared = pair(&A::steady(2));
        let _watch = super::world::Watchdog::start();
        let send = |k| {
            is_thread_of(&shared[1]);
            let payload = vec![k as u8; length(k)];
            // SAFETY: `payload` lives during the call.
            let source = unsafe { Source::new(payload.as_ptr(), payload.len()) };
            with_args(0, k, |args| shared[1].node.am.request_medium(0, ASK, source, args)).unwrap();
            is_thread_of(&shared[0]);
        };
        let am = &shared[0].node.am;
        // Relaxed, all: there is one thread.
        let left = || am.watch.left.load(Ordering::Relaxed);
        let asked = || shared[0].asked[0].load(Ordering::Relaxed);
        send(0);
        let mut failed = 0;
        while asked() == 0 || failed == 0 {
            failed = am.wait_step(failed);
        }
        for k in 1..50 {
            while left() < 2 {
                am.wait_step(0); // as if the wait had just begun
            }
            let before = left();
            let step = am.inbox.with(|_| am.wait_step(0)); // as if another thread polled
            assert_eq!((step, left(), asked()), (1, before - 1, k), "there is nothing to see");
            send(k);
            assert_eq!((am.wait_step(0), asked()), (0, k + 1));
        }
    }
    over::<Heap>();
    over::<Together>();
    over::<Paired>(); // both nodes are on one host; what nodes of two hosts send is not seen by a look
}
