//! How much the wire adds to its provider: round trips of 100 bytes, puts and gets of 8, over the wire and by the same calls of
//! libfabric directly, in turns, in one run.
//!
//!     cargo test --release --lib far::ofi::bench -- --ignored --nocapture --test-threads 1
//!
//! Two threads spin, so two cores must be free. The best of many blocks is printed, because other programs only add.

use super::super::wire::{Kept, Lost, SEGMENT, Sink, Wire};
use super::OfiWire;
use super::bindings::{FI_MULTI_RECV, fi_addr_t, fi_cq_data_entry};
use super::choose::{Wanted, candidates};
use super::context::{Contexts, What};
use super::fabric::{Begun, Endpoint, Look, Region, Target};
use super::library::Library;
use super::message::MESSAGE;
use crate::sync::fixed::{AtomicU64, Ordering};
use std::mem::MaybeUninit;
use std::time::Instant;

const FRAME: [u8; 100] = [5; 100];
const BLOCK: u32 = 30;
const BLOCKS: u32 = 40;
const TURNS: u32 = 6;
const BUFFER: usize = 64 << 10;

/// One side of the direct exchange.
struct Raw {
    endpoint: Endpoint,
    buffer: *mut u8,
    memory: *mut u8,
    receive: *mut libc::c_void,
    operation: *mut libc::c_void,
    _contexts: Contexts,
    region: Region,
    peer: fi_addr_t,
    there: Option<Target>,
    came: u64,
    complete: u64,
    begun: u64,
}

// SAFETY: its memory is leaked; one thread at a time uses it.
unsafe impl Send for Raw {}

impl Raw {
    fn open(provider: &str, sleeps: bool) -> Raw {
        let library = Library::get().expect("libfabric");
        let candidate = candidates(library, Some(Wanted::new(provider))).expect("a provider").remove(0);
        let endpoint = Endpoint::open(library, candidate.infos, candidate.info, candidate.traits, MESSAGE, sleeps)
            .expect("an endpoint");
        let leak = || Box::leak(vec![0u8; BUFFER].into_boxed_slice()).as_mut_ptr();
        let (buffer, memory) = (leak(), leak());
        // SAFETY: leaked.
        let region = unsafe { endpoint.register(memory, BUFFER, true, 4711) }.expect("a region");
        let mut contexts = Contexts::default();
        let (receive, operation) = (contexts.take(What::Free), contexts.take(What::Free));
        let raw = Raw {
            endpoint,
            buffer,
            memory,
            receive,
            operation,
            _contexts: contexts,
            region,
            peer: 0,
            there: None,
            came: 0,
            complete: 0,
            begun: 0,
        };
        raw.post();
        raw
    }

    fn post(&self) {
        // SAFETY: leaked; nothing reads it.
        assert_eq!(unsafe { self.endpoint.receive(self.buffer, BUFFER, self.receive) }, Begun::Yes);
    }

    fn meet(&mut self, other: &Raw) {
        self.peer = self.endpoint.insert(&other.endpoint.name().expect("a name")).expect("an address");
        let address = if self.endpoint.traits.virtual_addresses { other.memory as u64 } else { 0 };
        self.there = Some(Target { peer: self.peer, address, key: other.region.key });
    }

    #[inline]
    fn look(&mut self) {
        let mut entries = [const { MaybeUninit::<fi_cq_data_entry>::uninit() }; 16];
        if let Look::Entries(count) = self.endpoint.look(&mut entries) {
            for entry in &entries[..count] {
                // SAFETY: written by libfabric.
                let entry = unsafe { entry.assume_init_ref() };
                if entry.op_context == self.operation {
                    self.complete += 1;
                    continue;
                }
                self.came += u64::from(entry.len > 0);
                if entry.flags & FI_MULTI_RECV != 0 || !self.endpoint.traits.multi_receive {
                    self.post();
                }
            }
        }
    }

    fn send(&mut self) {
        if FRAME.len() <= self.endpoint.traits.inject {
            while self.endpoint.inject(self.peer, &FRAME) == Begun::NoRoom {
                self.look();
            }
            return;
        }
        self.begun += 1;
        // SAFETY: a constant.
        while unsafe { self.endpoint.send(self.peer, FRAME.as_ptr(), FRAME.len(), self.operation) } == Begun::NoRoom {
            self.look();
        }
    }

    fn transfer(&mut self, write: bool) {
        let there = self.there.expect("they have met");
        let from = self.memory.wrapping_add(4096);
        self.begun += 1;
        loop {
            let begun = if write {
                // SAFETY: leaked.
                unsafe { self.endpoint.write((from, 8), there, true, self.operation) }
            } else {
                // SAFETY: leaked.
                unsafe { self.endpoint.read(from, 8, there, self.operation) }
            };
            if begun == Begun::Yes {
                break;
            }
            self.look();
        }
        while self.complete < self.begun {
            self.look();
        }
    }
}

/// What a node of the wire has got.
#[derive(Default)]
struct Came(AtomicU64);

impl Sink for Came {
    fn frame(&self, _peer: u32, _frame: &[u8]) {
        self.0.fetch_add(1, Ordering::Relaxed); // Relaxed: its own thread reads it
    }
    fn place(&self, _peer: u32, _offset: u64, _len: usize, _write: bool) -> Option<*mut u8> {
        None
    }
    fn written(&self, _: u64) {}
    fn lost(&self, _peer: u32, why: &Lost) {
        panic!("{why:?}");
    }
    fn left(&self, _: u32) {}
}

/// The best time of a round trip in µs, of `trip` while another thread does `other` until it is told to stop.
fn best(mut trip: impl FnMut(), mut other: impl FnMut() + Send) -> f64 {
    let stop = AtomicU64::new(0);
    let mut best = f64::MAX;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Relaxed: nothing is ordered by it
            while stop.load(Ordering::Relaxed) == 0 {
                other();
            }
        });
        for _ in 0..BLOCKS {
            let start = Instant::now();
            for _ in 0..BLOCK {
                trip();
            }
            best = best.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(BLOCK));
        }
        stop.store(1, Ordering::Relaxed);
    });
    best
}

/// Puts or gets 8 bytes of node 1, and waits for them. `own` is leaked.
fn transfer(wire: &OfiWire, came: &Came, own: *mut u8, write: bool, done: &'static AtomicU64) {
    let wanted = done.load(Ordering::Relaxed) + 1;
    loop {
        let begun = if write {
            // SAFETY: leaked.
            unsafe { wire.write(1, 0, (own, 8), Kept::UntilDone, Some(done)) }
        } else {
            // SAFETY: leaked.
            unsafe { wire.read(1, 0, (own, 8), done) }
        };
        if begun.expect("no loss") {
            break;
        }
        wire.progress(came, true);
    }
    // ORDERING: Acquire ↔ the Release with which the wire counts.
    while done.load(Ordering::Acquire) < wanted {
        wire.progress(came, true);
    }
}

fn compare(provider: &str) {
    let (mut a, mut b) = (Raw::open(provider, false), Raw::open(provider, false));
    a.meet(&b);
    b.meet(&a);
    let wires: Vec<OfiWire> = (0..2).map(|me| OfiWire::open(Some(provider), [1; 16], me, 2).expect("a wire")).collect();
    let addresses: Vec<Vec<u8>> = wires.iter().map(Wire::address).collect();
    let mut bases = Vec::new();
    for wire in &wires {
        wire.set_peers(addresses.clone());
        let base = Box::leak(vec![0u8; BUFFER].into_boxed_slice()).as_mut_ptr();
        // SAFETY: leaked.
        unsafe { wire.set_area(SEGMENT, base, BUFFER) }.expect("registered");
        bases.push(base);
    }
    let came = [Came::default(), Came::default()];
    let done: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
    let (mut sent, mut answered, mut raw_sent) = (0, 0, 0);
    let mut figures = [[f64::MAX; 2]; 3];
    for _ in 0..TURNS {
        let mut seen = b.came;
        let time = best(
            || {
                a.send();
                raw_sent += 1;
                while a.came < raw_sent {
                    a.look();
                }
            },
            || {
                b.look();
                while seen < b.came {
                    seen += 1;
                    b.send();
                }
            },
        );
        figures[0][0] = figures[0][0].min(time);
        let time = best(
            || {
                while !wires[0].post(1, &mut { FRAME }).expect("no loss") {
                    wires[0].progress(&came[0], true);
                }
                sent += 1;
                while came[0].0.load(Ordering::Relaxed) < sent {
                    wires[0].progress(&came[0], true);
                }
            },
            || {
                wires[1].progress(&came[1], true);
                while answered < came[1].0.load(Ordering::Relaxed) {
                    if wires[1].post(0, &mut { FRAME }).expect("no loss") {
                        answered += 1;
                    } else {
                        wires[1].progress(&came[1], true);
                    }
                }
            },
        );
        figures[0][1] = figures[0][1].min(time);
        for (row, write) in [(1, true), (2, false)] {
            let time = best(|| a.transfer(write), || b.look());
            figures[row][0] = figures[row][0].min(time);
            let look = || _ = wires[1].progress(&came[1], true);
            let time = best(|| transfer(&wires[0], &came[0], bases[0], write, done), look);
            figures[row][1] = figures[row][1].min(time);
        }
    }
    for (name, [raw, ours]) in ["frame of 100", "put of 8", "get of 8"].iter().zip(figures) {
        println!("{provider:12} {name:13} direct {raw:6.2} µs, wire {ours:6.2} µs, ratio {:.3}", ours / raw);
    }
}

#[test]
#[ignore = "measures, for a person to read; the head of this file says how"]
fn net_beside_its_own_calls() {
    compare("net");
}

#[test]
#[ignore = "as above"]
fn tcp_beside_its_own_calls() {
    compare("tcp");
}

#[test]
#[ignore = "as above"]
fn shm_beside_its_own_calls() {
    compare("shm");
}
