//! What does a Short AM round trip cost over the bare hardware?
//!
//! Two pinned nodes play ping-pong in turns, so that drift hits both sides: once through a bare ring of cache lines in
//! each other's segment (one line written, one line read, nothing else: the limit), once with a Short request and its
//! reply, and once with two requests. Run on an idle machine: `cargo bench --bench am_short`.

#![allow(unsafe_code)] // as a client calls

use gasnet_sci::api::g1::barrier::{gasneti_sci_barrier_notify, gasneti_sci_barrier_wait};
use gasnet_sci::api::g1::init::*;
use gasnet_sci::api::g1::query::*;
use gasnet_sci::api::shared::{am::*, constants::*, direct::*, start::*};
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::time::Instant;

const ROUNDS: usize = 60;
const TRIPS: u64 = 20_000;
const LINES: u64 = 64;
const REQUEST: u8 = 200;
const REPLY: u8 = 201;
const PING: u8 = 202;

use gasnet_sci::sync::AtomicU64;
static SEEN: AtomicU64 = AtomicU64::new(0);

/// A call of GASNet-1 with one argument.
fn what(handler: u8) -> u32 {
    u32::from(handler) << GASNETI_SCI_META_HANDLER | 1 << GASNETI_SCI_META_NUMARGS
}

extern "C" fn request(token: *mut c_void, a: i32) {
    let words = [a as u32 as u64];
    // SAFETY: the token is this handler's own; one word, one argument.
    unsafe { gasneti_sci_reply_short(token, what(REPLY), words.as_ptr()) };
}

extern "C" fn reply(_: *mut c_void, _: i32) {
    SEEN.store(SEEN.load(Ordering::Relaxed) + 1, Ordering::Relaxed); // Relaxed: one thread
}

fn barrier() {
    gasneti_sci_barrier_notify(0, GASNETI_SCI_BARRIERFLAG_ANONYMOUS);
    gasneti_sci_barrier_wait(0, GASNETI_SCI_BARRIERFLAG_ANONYMOUS);
}

fn pin(core: u32) {
    // SAFETY: a zeroed set is an empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the core's number is below the set's size.
    unsafe { libc::CPU_SET(core as usize, &mut set) };
    // SAFETY: the set is readable, and of the size given.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
}

/// Word 0 of line `i` of a ring.
fn line<'a>(base: *mut c_void, i: u64) -> &'a AtomicU64 {
    let place = base.cast::<AtomicU64>().wrapping_add((8 * (i % LINES)) as usize);
    // SAFETY: the ring lies at the start of a segment of a mebibyte.
    unsafe { &*place }
}

/// The limit: one line there, one line back.
fn bare(me: u32, mine: *mut c_void, peers: *mut c_void, first: u64) -> f64 {
    let start = Instant::now();
    for i in first..first + TRIPS {
        if me == 0 {
            line(peers, i).store(i, Ordering::Release);
        }
        while line(mine, i).load(Ordering::Acquire) != i {
            std::hint::spin_loop();
        }
        if me == 1 {
            line(peers, i).store(i, Ordering::Release);
        }
    }
    start.elapsed().as_nanos() as f64 / TRIPS as f64
}

fn send(to: u32, handler: u8) {
    let words = [7u64];
    // SAFETY: one word, one argument.
    unsafe { gasneti_sci_request_short(to, what(handler), words.as_ptr()) };
}

fn await_count(count: u64) {
    while SEEN.load(Ordering::Relaxed) < count {
        gasneti_sci_poll();
    }
}

/// Request and reply; node 1 only polls.
fn request_reply(me: u32, done: u64) -> f64 {
    let start = Instant::now();
    if me == 0 {
        for i in 1..=TRIPS {
            send(1, REQUEST);
            await_count(done + i);
        }
        send(1, PING);
    } else {
        await_count(SEEN.load(Ordering::Relaxed) + 1);
    }
    start.elapsed().as_nanos() as f64 / TRIPS as f64
}

/// A request each way.
fn request_request(me: u32) -> f64 {
    let done = SEEN.load(Ordering::Relaxed);
    let start = Instant::now();
    for i in 1..=TRIPS {
        if me == 0 {
            send(1, PING);
        }
        await_count(done + i);
        if me == 1 {
            send(0, PING);
        }
    }
    start.elapsed().as_nanos() as f64 / TRIPS as f64
}

fn main() {
    if gasnet_sci::am::wait::cores() < 2 {
        println!("am_short needs two cores");
        return;
    }
    // SAFETY: before any thread exists.
    unsafe { std::env::set_var("GASNET_SCI_NODES", "2") };
    let size = 0u64;
    let modes = GASNETI_SCI_MODE_SEQ | GASNETI_SCI_MODE_FAST | GASNETI_SCI_MODE_NDEBUG;
    let (config, text) = (c"bench".as_ptr(), std::ptr::null());
    let client =
        gasneti_sci_client_t { modes, config, max_segsize: &size, idents: std::ptr::null(), max_segsize_str: &text };
    // SAFETY: a filled structure.
    assert_eq!(unsafe { gasneti_sci_init(std::ptr::null_mut(), std::ptr::null_mut(), &client) }, 0);
    let entry = |index, fnptr: *const ()| gasneti_sci_handlerentry_t { index, fnptr: fnptr.cast_mut().cast() };
    let mut table =
        [entry(REQUEST, request as *const ()), entry(REPLY, reply as *const ()), entry(PING, reply as *const ())];
    // SAFETY: three entries.
    assert_eq!(unsafe { gasneti_sci_attach(table.as_mut_ptr(), 3, 1 << 20, 0) }, 0);
    let me = gasneti_sci_mynode();
    pin(me);
    let mut infos = [gasnet_seginfo_t { addr: std::ptr::null_mut(), size: 0 }; 2];
    // SAFETY: two entries.
    unsafe { gasneti_sci_segment_info(infos.as_mut_ptr(), 2) };
    let (mine, peers) = (infos[me as usize].addr, infos[1 - me as usize].addr);

    let mut rows: [Vec<f64>; 3] = Default::default();
    for round in 0..ROUNDS {
        barrier();
        rows[0].push(bare(me, mine, peers, 1 + round as u64 * TRIPS));
        barrier();
        rows[1].push(request_reply(me, SEEN.load(Ordering::Relaxed)));
        barrier();
        rows[2].push(request_request(me));
    }
    barrier();
    if me == 0 {
        let mut limit = 0.0;
        println!("{:<34} {:>9} {:>9} {:>7}", "ns per round trip, two pinned nodes", "median", "worst 1%", "ratio");
        for (name, row) in
            ["bare cache-line ring", "AM Short request-reply", "AM Short request-request"].iter().zip(&mut rows)
        {
            row.sort_by(f64::total_cmp);
            let (median, high) = (row[row.len() / 2], row[row.len() * 99 / 100]);
            limit = if limit == 0.0 { median } else { limit };
            println!("{name:<34} {median:>9.1} {high:>9.1} {:>7.2}", median / limit);
        }
        println!("{ROUNDS} rounds of {TRIPS} trips; library {}", env!("CARGO_PKG_VERSION"));
    }
    gasneti_sci_exit(0)
}
