//! What every adapter must do, stated once and run for all of them. A later adapter gets one more line in `suites!`.
//!
//! A suite is given two nodes of one job. What was stored is looked at after [`arrive`], because adapters may delay it.

#![allow(unsafe_code)] // mapped memory, system calls

use super::heap::{Heap, HeapFabric};
use super::reorder::Reorder;
use super::shm::{Shm, tests as shm};
use super::*;
use crate::sync::Ordering;
use crate::testkit::shipping::{Apart, Behaviour, Paired, Together};
use std::thread;
use std::time::Duration;

mod hosts;
mod life;
mod model;
mod transfer;
mod wake;

const SOON: Duration = Duration::from_secs(10);
const ID: SegmentId = SegmentId(7);
/// A multiple of every page size in use.
const PAGE: usize = 64 << 10;

pub(super) fn shm_pair() -> [Shm; 2] {
    let nodes = shm::job(2);
    [nodes[0].clone(), nodes[1].clone()]
}

fn heap_pair() -> [Heap; 2] {
    let fabric = HeapFabric::new(2);
    [0, 1].map(|node| Heap::join(&fabric, NodeId(node)).unwrap())
}

fn reorder_pair() -> [Reorder<Heap>; 2] {
    let mut seed = 0;
    heap_pair().map(|node| {
        seed += 1;
        Reorder::new(node, seed)
    })
}

/// Nodes in timing mode, as the profile `name` has it, over `inner`.
#[cfg(feature = "timed")]
fn timed<A: Adapter>(inner: [A; 2], name: &str) -> [timed::Timed<A>; 2] {
    let hardware = crate::sci::model::Parameters::of(name).unwrap();
    let topology = crate::sci::model::Topology::Ring(2);
    let links = timed::links::Links::own(topology.links() as usize);
    inner.map(|node| {
        let setup = timed::Setup {
            hardware: hardware.clone(),
            topology,
            positions: [0, 1].into(),
            links: links.clone(),
            survives: false,
        };
        timed::Timed::new(node, setup)
    })
}

/// The shipping adapter: both nodes on one host, in a job that has no others.
fn one_host() -> [Together; 2] {
    let nodes = Together::job(2, prompt());
    [nodes[0].clone(), nodes[1].clone()]
}

/// Both nodes on one host, in a job that has others: a node sleeps at its door.
fn one_of_several() -> [Paired; 2] {
    let nodes = Paired::job(2, prompt());
    [nodes[0].clone(), nodes[1].clone()]
}

/// Each node on a host of its own.
fn two_hosts() -> [Apart; 2] {
    let nodes = Apart::job(2, prompt());
    [nodes[0].clone(), nodes[1].clone()]
}

/// What is sent is there at the next look.
fn prompt() -> Behaviour {
    Behaviour { seed: None, with_doors: true, payload: ID }
}

macro_rules! suite {
    (@cases $pair:expr; $($module:ident::$name:ident;)*) => { $(
        #[test]
        fn $name() {
            let pair = $pair;
            super::$module::$name(pair());
        }
    )* };
    ($adapter:ident, $pair:expr; $($cases:tt)*) => {
        mod $adapter {
            use super::*;

            suite! { @cases $pair;
                life::what_is_not_there_cannot_be_connected;
                life::availability_can_be_withdrawn;
                life::connecting_waits_for_availability;
                life::maps_outside_are_refused;
                life::empty_segments_are_segments;
                transfer::pio_stores_arrive;
                transfer::a_claim_changes_at_most_the_last_word_of_its_line;
                transfer::bytes_outside_are_refused_and_write_nothing;
                transfer::words_outside_are_bugs;
                transfer::dma_takes_only_what_hardware_takes;
                transfer::dma_transfers_finish_in_order;
                transfer::a_published_word_follows_what_a_barrier_ordered;
                wake::an_interrupt_times_out;
                wake::no_wake_up_is_lost;
                wake::an_unknown_node_has_no_interrupt;
            }
            suite! { @cases $pair; $($cases)* }

            #[test]
            fn agrees_with_plain_memory() {
                model::check($pair);
            }
        }
    };
}

/// All of it.
macro_rules! suites {
    ($($adapter:ident: $pair:expr;)*) => { $(
        suite! { $adapter, $pair;
            life::a_segment_lives_from_create_to_remove;
            life::a_used_segment_is_busy;
            life::maps_outlive_their_segment;
            wake::a_trigger_after_arm_is_not_lost;
            wake::one_thread_disarms_and_the_other_is_still_woken;
            wake::a_thread_in_a_berth_is_called_or_its_node_is_triggered;
            wake::the_sleeper_looks_or_is_triggered;
        }
    )* };
}

// Across hosts: what is admitted stays so as long as the process lives, and its owner knows of no users. A trigger sends what was stored, whose
// arrival wakes the node; where nothing was stored it does nothing.
suite! { on_hosts_far, two_hosts; }

suites! {
    on_shm: shm_pair;
    on_heap: heap_pair;
    on_reorder: reorder_pair;
    on_hosts_one: one_host;
    on_hosts_one_of_several: one_of_several;
}

#[cfg(feature = "timed")]
suites! {
    on_heap_count: || timed(heap_pair(), "count");
    on_heap_scipos: || timed(heap_pair(), "scipos");
    on_heap_d312: || timed(heap_pair(), "d312");
    on_heap_d312_deck: || timed(heap_pair(), "d312-deck");
    on_heap_d339: || timed(heap_pair(), "d339");
    on_heap_d339_2004: || timed(heap_pair(), "d339-2004");
    on_shm_count: || timed(shm_pair(), "count");
    on_shm_scipos: || timed(shm_pair(), "scipos");
    on_shm_d312: || timed(shm_pair(), "d312");
    on_shm_d312_deck: || timed(shm_pair(), "d312-deck");
    on_shm_d339: || timed(shm_pair(), "d339");
    on_shm_d339_2004: || timed(shm_pair(), "d339-2004");
}

/// Node 0's segment `ID`, available, its own map, and node 1's connection and whole map.
struct Pair<A: Adapter> {
    own: A::LocalSegment,
    local: A::Local,
    remote: A::RemoteSegment,
    map: A::Remote,
}

fn connected<A: Adapter>([a, b]: &[A; 2], len: usize) -> Pair<A> {
    let own = a.create(ID, len).unwrap();
    own.set_available().unwrap();
    let local = own.map(Placement::Anywhere).unwrap();
    let remote = b.connect(a.node(), ID, SOON).unwrap();
    let map = remote.map(0, remote.len(), Placement::Anywhere).unwrap();
    Pair { own, local, remote, map }
}

/// What the second node has stored for the first, through whichever maps, is there.
fn arrive<A: Adapter>([a, b]: &[A; 2], map: &A::Remote) {
    map.barrier();
    if b.wants_polls() {
        b.connect_interrupt(a.node()).unwrap().stored();
        while b.progress(Effort::Thorough) | a.progress(Effort::Thorough) {}
    }
}

fn word(map: &impl LocalMap, offset: usize) -> u64 {
    // ORDERING: Acquire ↔ the peer's barrier, publish or packet.
    map.word(offset).load(Ordering::Acquire)
}

fn byte(map: &impl LocalMap, offset: usize) -> u8 {
    word(map, offset & !7).to_ne_bytes()[offset % 8]
}

fn bytes(map: &impl LocalMap, offset: usize, len: usize) -> Vec<u8> {
    (offset..offset + len).map(|at| byte(map, at)).collect()
}

fn write(map: &impl RemoteMap, offset: usize, data: &[u8]) -> Result<(), SciError> {
    // SAFETY: a slice's bytes.
    unsafe { map.write(offset, data.as_ptr(), data.len()) }
}

fn error<T>(result: Result<T, SciError>) -> SciError {
    result.err().expect("an error")
}
