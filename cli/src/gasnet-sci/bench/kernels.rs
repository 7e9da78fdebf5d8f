//! The kernels: C functions that a node runs while it is measured. cli/build.rs compiles them from `kernels/*.c`;
//! `kernels/bench.h` says what they have in common.

#![allow(unsafe_code)] // system calls and C

use gasnet_sci::am::Am;
use gasnet_sci::sci::Host;
use socket2::SockAddr;
use std::ffi::{c_int, c_long, c_uint, c_void};
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

type Raw = unsafe extern "C" fn(n: c_long, bytes: usize) -> f64;

/// A kernel. All nodes of a job run it with the same arguments.
#[derive(Clone, Copy)]
pub struct Kernel(Raw);

impl Kernel {
    /// Nanoseconds that `n` operations with `bytes` bytes of payload took at `node`, which is this node. A payload
    /// needs segments of `SEGMENT` bytes and has at most `MAX_BYTES`.
    pub fn run(self, node: &Node, n: u64, bytes: usize) -> f64 {
        assert!(bytes == 0 || node.segment == SEGMENT && bytes <= MAX_BYTES);
        // SAFETY: the job has been started, and transfers fit their buffers.
        unsafe { (self.0)(n as c_long, bytes) }
    }
}

/// Largest transfer; MAXBYTES in bench.h is the same.
pub const MAX_BYTES: usize = 4 << 20;
/// Bytes of segment that kernels with payloads need; SEGMENT in bench.h is the same.
pub const SEGMENT: u64 = 4 * MAX_BYTES as u64;
/// Most nodes of a job; MAXNODES in bench.h is the same.
pub const MAX_NODES: u32 = 1024;

macro_rules! kernels {
    ($($name:ident = $symbol:ident;)*) => {
        #[link(name = "gasnet_sci_bench", kind = "static")]
        unsafe extern "C" {
            $(fn $symbol(n: c_long, bytes: usize) -> f64;)*
            fn bench_start(segment: u64) -> c_int;
            fn bench_barrier();
            fn bench_touch();
            fn bench_verify() -> c_int;
            fn bench_exit(code: c_int) -> !;
            fn bench_par_start(segment: u64) -> c_int;
            fn bench_par_barrier();
            fn bench_par_touch();
            fn bench_par_verify() -> c_int;
            fn bench_par_exit(code: c_int) -> !;
            fn bench_par_threads_on(cpus: *const c_uint, count: c_uint);
            fn bench_mynode() -> c_uint;
            fn bench_numnodes() -> c_uint;
            fn bench_store_figure(figure: f64);
            fn bench_figure(node: c_uint) -> f64;
            fn bench_sleep();
            fn bench_await_sleepers();
            fn bench_told(word: u64) -> u64;
            fn bench_tcp_take(fd: c_int);
            fn bench_udp_take(fd: c_int, address: *const c_void, bytes: c_uint, datagram: usize, room: usize);
            fn bench_wake();
            fn bench_layer_tcp(rounds: c_int, budget: f64, cpu0: c_int, cpu1: c_int);
            fn bench_poll_played(
                n: c_long,
                watch: *mut c_void,
                look: extern "C" fn(*const c_void),
                engine: *const c_void,
            ) -> f64;
        }
        $(pub const $name: Kernel = Kernel($symbol);)*
    };
}

kernels! {
    LINE_TRIP = bench_line_trip;
    LINE_TRIP_HANDED = bench_line_trip_handed;
    LINE_TRIP_0 = bench_line_trip_0;
    LINE_TRIP_2 = bench_line_trip_2;
    LINE_TRIP_3 = bench_line_trip_3;
    LINE_TRIP_4 = bench_line_trip_4;
    LINE_STREAM = bench_line_stream;
    LINE_STREAM_CLAIMED = bench_line_stream_claimed;
    COPY_TRIP = bench_copy_trip;
    COPY_TRIP_HANDED = bench_copy_trip_handed;
    COPY_TRIP_CLAIMED = bench_copy_trip_claimed;
    COPY_STREAM = bench_copy_stream;
    COPY_TO = bench_copy_to;
    COPY_FROM = bench_copy_from;
    FILL = bench_fill;
    STORE = bench_store;
    LOAD = bench_load;
    COPY_BLOCK = bench_copy_block;
    COPY_BLOCKS = bench_copy_blocks;
    BARE_LOCK = bench_bare_lock;
    SHORT_REPLY_TRIP = bench_short_reply_trip;
    FULL_SHORT_REPLY_TRIP = bench_full_short_reply_trip;
    SHORT_REQUEST_TRIP = bench_short_request_trip;
    SHORT_FLOOD = bench_short_flood;
    SHORT_REPLY_FLOOD = bench_short_reply_flood;
    MEDIUM_REPLY_TRIP = bench_medium_reply_trip;
    MEDIUM_REQUEST_TRIP = bench_medium_request_trip;
    MEDIUM_FLOOD = bench_medium_flood;
    MEDIUM_REPLY_FLOOD = bench_medium_reply_flood;
    LONG_REPLY_TRIP = bench_long_reply_trip;
    LONG_REQUEST_TRIP = bench_long_request_trip;
    LONG_FLOOD = bench_long_flood;
    LONG_REPLY_FLOOD = bench_long_reply_flood;
    PUT = bench_put;
    GET = bench_get;
    PUT_NB = bench_put_nb;
    GET_NB = bench_get_nb;
    PUT_NBI = bench_put_nbi;
    GET_NBI = bench_get_nbi;
    MEMSET = bench_memset;
    PUT_VAL = bench_put_val;
    GET_VAL = bench_get_val;
    PUT_NB_VAL = bench_put_nb_val;
    GET_NB_VAL = bench_get_nb_val;
    BARRIERS = bench_barriers;
    POLL = bench_poll;
    COMPUTING_WITH_POLLS = bench_computing_with_polls;
    COMPUTING_ALONE = bench_computing_alone;
    LOCK = bench_lock;
    BROADCAST = bench_broadcast;
    GATHER_ALL = bench_gather_all;
    EXCHANGE = bench_exchange;
    REDUCE = bench_reduce;
    EX_SHORT_REPLY_TRIP = bench_ex_short_reply_trip;
    EX_SHORT_FLOOD = bench_ex_short_flood;
    PACKED_FLOOD = bench_packed_flood;
    PACKED_IN_PLACE_FLOOD = bench_packed_in_place_flood;
    EX_PUT = bench_ex_put;
    EX_GET = bench_ex_get;
    EX_PUT_ANY = bench_ex_put_any;
    EX_GET_ANY = bench_ex_get_any;
    COPY_ANY_TO = bench_copy_any_to;
    COPY_ANY_FROM = bench_copy_any_from;
    EX_PUT_NBI = bench_ex_put_nbi;
    EX_PUT_VAL = bench_ex_put_val;
    EX_GET_VAL = bench_ex_get_val;
    EX_MEDIUM_SELF = bench_ex_medium_self;
    FADD = bench_fadd;
    FADD_ANY = bench_fadd_any;
    FADD_BOTH = bench_fadd_both;
    BARE_FADD = bench_bare_fadd;
    BARE_FADD_BOTH = bench_bare_fadd_both;
    EX_BARRIERS = bench_ex_barriers;
    REDUCE_TO_ALL = bench_reduce_to_all;
    NEAR_TRIP = bench_near_trip;
    TCP_TRIP = bench_tcp_trip;
    TCP_STREAM = bench_tcp_stream;
    UDP_TRIP = bench_udp_trip;
    UDP_STREAM = bench_udp_stream;
    UDP_STREAM_PLAIN = bench_udp_stream_plain;
    HAL_TRIP = bench_hal_trip;
    HAL_EXCHANGE = bench_hal_exchange;
    BOX_TRIP = bench_box_trip;
    BOX_EXCHANGE = bench_box_exchange;
    DECK_POST = bench_deck_post;
    DECK_GIVE = bench_deck_give;
    DECK_POST_WORK = bench_deck_post_work;
    DECK_GIVE_WORK = bench_deck_give_work;
    PAR_SHORT_REPLY_TRIP = bench_par_short_reply_trip;
    PAR_SHORT_FLOOD = bench_par_short_flood;
    PAR_PUT = bench_par_put;
    PAR_GET = bench_par_get;
    PAR_POLL = bench_par_poll;
    THREADS_1 = bench_par_threads_1;
    THREADS_2 = bench_par_threads_2;
    THREADS_4 = bench_par_threads_4;
    THREADS_8 = bench_par_threads_8;
    BOTH_SHORT_1 = bench_par_both_short_1;
    BOTH_SHORT_2 = bench_par_both_short_2;
    BOTH_SHORT_4 = bench_par_both_short_4;
    BOTH_SHORT_8 = bench_par_both_short_8;
    BOTH_POLLS_1 = bench_par_both_polls_1;
    BOTH_POLLS_2 = bench_par_both_polls_2;
    BOTH_POLLS_4 = bench_par_both_polls_4;
    BOTH_POLLS_8 = bench_par_both_polls_8;
    BOTH_COMPUTING_1 = bench_par_both_computing_1;
    BOTH_COMPUTING_2 = bench_par_both_computing_2;
    BOTH_COMPUTING_4 = bench_par_both_computing_4;
    BOTH_COMPUTING_8 = bench_par_both_computing_8;
    BOTH_MEDIUM_1 = bench_par_both_medium_1;
    BOTH_MEDIUM_2 = bench_par_both_medium_2;
    BOTH_MEDIUM_4 = bench_par_both_medium_4;
    BOTH_MEDIUM_8 = bench_par_both_medium_8;
    BOTH_PUT_1 = bench_par_both_put_1;
    BOTH_PUT_2 = bench_par_both_put_2;
    BOTH_PUT_4 = bench_par_both_put_4;
    BOTH_PUT_8 = bench_par_both_put_8;
    BOTH_ATOMIC_1 = bench_par_both_atomic_1;
    BOTH_ATOMIC_2 = bench_par_both_atomic_2;
    BOTH_ATOMIC_4 = bench_par_both_atomic_4;
    BOTH_ATOMIC_8 = bench_par_both_atomic_8;
}

/// What one of the two clients (see bench.h) does besides kernels.
struct Client {
    start: unsafe extern "C" fn(segment: u64) -> c_int,
    barrier: unsafe extern "C" fn(),
    touch: unsafe extern "C" fn(),
    verify: unsafe extern "C" fn() -> c_int,
    exit: unsafe extern "C" fn(code: c_int) -> !,
}

static SEQ: Client =
    Client { start: bench_start, barrier: bench_barrier, touch: bench_touch, verify: bench_verify, exit: bench_exit };
static PAR: Client = Client {
    start: bench_par_start,
    barrier: bench_par_barrier,
    touch: bench_par_touch,
    verify: bench_par_verify,
    exit: bench_par_exit,
};

/// Nanoseconds of `n` polls of an engine that belongs to no job, made as a client makes them.
pub fn polls_played(am: &Am<Host>, n: u64) -> f64 {
    extern "C" fn look(engine: *const c_void) {
        // SAFETY: the pointer comes from `polls_played`, whose reference outlives the call.
        let am = unsafe { &*engine.cast::<Am<Host>>() };
        am.poll_in_loop();
    }
    let watch = std::ptr::from_ref(am.watch()).cast_mut().cast();
    // SAFETY: `watch` and `look` belong to `am`, which only this thread uses.
    unsafe { bench_poll_played(n as c_long, watch, look, std::ptr::from_ref(am).cast()) }
}

/// Measures a connection of TCP between this process and one that it forks; prints the figures.
pub fn layer_tcp(rounds: c_int, nanoseconds: f64, cpus: [c_int; 2]) {
    // SAFETY: it uses nothing of this process but its output, and this process has one thread.
    unsafe { bench_layer_tcp(rounds, nanoseconds, cpus[0], cpus[1]) }
}

/// This process as a node of a started job.
pub struct Node {
    /// The node's number.
    pub me: u32,
    /// The number of nodes.
    pub nodes: u32,
    /// Bytes of its segment.
    segment: u64,
    client: &'static Client,
}

impl Node {
    /// Joins the job that the environment describes, with client threads (PAR) or without (SEQ). The kernels that the
    /// node runs must be of the same mode. Call it first. If it fails, the library has printed why.
    pub fn start(segment: u64, threaded: bool) -> io::Result<Node> {
        let client = if threaded { &PAR } else { &SEQ };
        // SAFETY: called once, before anything else of the library.
        let failed = unsafe { (client.start)(segment) };
        if failed != 0 {
            return Err(io::Error::other(format!("a node did not start (step {failed})")));
        }
        // SAFETY: the job has started.
        let me = unsafe { bench_mynode() };
        // SAFETY: the job has started.
        let nodes = unsafe { bench_numnodes() };
        assert!(nodes <= MAX_NODES);
        Ok(Node { me, nodes, segment, client })
    }

    /// A barrier of all nodes.
    pub fn barrier(&self) {
        // SAFETY: the job has started.
        unsafe { (self.client.barrier)() };
    }

    /// Touches everything that transfers use for the first time. Needs a segment of `SEGMENT` bytes.
    pub fn touch(&self) {
        assert_eq!(self.segment, SEGMENT);
        // SAFETY: the job has started, with the segment that this needs.
        unsafe { (self.client.touch)() };
    }

    /// Says on which CPUs, one per core, kernels put the nodes' threads in turns.
    pub fn threads_on(&self, cpus: &[usize]) {
        let cpus: &[c_uint] = cpus.iter().map(|cpu| *cpu as c_uint).collect::<Vec<_>>().leak();
        // SAFETY: the list lives for ever.
        unsafe { bench_par_threads_on(cpus.as_ptr(), cpus.len() as c_uint) };
    }

    /// Collects one figure of each node, in a barrier. Node 0 gets them all, the others get nothing.
    pub fn gather(&self, figure: f64) -> Vec<f64> {
        // SAFETY: the job has started; there is room for MAX_NODES, which `start` checks.
        unsafe { bench_store_figure(figure) };
        self.barrier();
        let nodes = if self.me == 0 { self.nodes } else { 0 };
        // SAFETY: the job has started, and the nodes wrote before the barrier.
        let figures = (0..nodes).map(|node| unsafe { bench_figure(node) }).collect();
        self.barrier();
        figures
    }

    /// Runs `measure` at node 0 while all other nodes sleep outside the library.
    pub fn alone<T>(&self, measure: impl FnOnce() -> T) -> Option<T> {
        self.barrier();
        if self.me > 0 {
            // SAFETY: the job has started.
            unsafe { bench_sleep() };
            return None;
        }
        // SAFETY: the job has started.
        unsafe { bench_await_sleepers() };
        let result = measure();
        // SAFETY: the job has started.
        unsafe { bench_wake() };
        Some(result)
    }

    /// Node 0's `word`, at all nodes. Call `touch` before.
    pub fn told(&self, word: u64) -> u64 {
        // SAFETY: the job has started, and `touch` has started its collectives.
        unsafe { bench_told(word) }
    }

    /// Gives the kernels of bare TCP their connection. It must not block.
    pub fn take_connection(&self, connection: OwnedFd) {
        // SAFETY: the connection is the kernels' from now on.
        unsafe { bench_tcp_take(connection.into_raw_fd()) };
    }

    /// Gives the kernels of bare UDP their socket, which must not block, the peer's address, the most bytes of a datagram, and of
    /// what may be under way.
    pub fn take_datagrams(&self, socket: OwnedFd, peer: &SockAddr, datagram: usize, room: usize) {
        // SAFETY: the socket is the kernels' from now on; they copy the address.
        unsafe { bench_udp_take(socket.into_raw_fd(), peer.as_ptr().cast(), peer.len(), datagram, room) };
    }

    /// Whether a pattern arrived at the peer and came back. Call `touch` before.
    pub fn verify(&self) -> bool {
        assert_eq!(self.segment, SEGMENT);
        // SAFETY: the job has started, with room for the pattern.
        unsafe { (self.client.verify)() == 1 }
    }

    /// Leaves the job.
    pub fn exit(self, code: i32) -> ! {
        self.barrier();
        // SAFETY: the job has started.
        unsafe { (self.client.exit)(code) }
    }
}

#[cfg(test)]
mod tests {
    unsafe extern "C" {
        safe fn bench_max_bytes() -> u64;
        safe fn bench_segment() -> u64;
        safe fn bench_max_nodes() -> u64;
    }

    #[test]
    fn sizes_are_those_of_the_kernels() {
        assert_eq!(bench_max_bytes(), super::MAX_BYTES as u64);
        assert_eq!(bench_segment(), super::SEGMENT);
        assert_eq!(bench_max_nodes(), u64::from(super::MAX_NODES));
    }
}
