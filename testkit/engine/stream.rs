//! GASNET_SEGMENT_EVERYTHING where a peer's memory is neither mapped nor written by the kernel: Longs go through the
//! rings.

use super::plan::{Leg, Message};
use super::traffic::{mixed, travel};
use super::world::{Kit, Shape, over_all_adapters};
use crate::sci::heap::Heap;
use crate::sci::reorder::Reorder;
use crate::testkit::payload::mix;
use crate::testkit::shipping::{Apart, Paired, Together};

fn everything(nodes: u32, slots: u32) -> Shape {
    Shape { everything: true, ..Shape::new(nodes, slots) }
}

fn streams<A: Kit>(answers: u64) {
    for seed in 0..A::SEEDS {
        travel::<A>(&everything(2, 4), 140_000, seed, &mixed(seed, 60, answers, 140_000), &|node| {
            assert_eq!((node.counter("PIO bytes"), node.counter("DMA bytes")), (0, 0));
        });
        travel::<A>(&everything(3, 64), 3000, seed, &mixed(seed, 100, answers, 3000), &|_| {});
    }
}

#[test]
fn longs_to_unmapped_memory_are_streamed() {
    streams::<Heap>(0);
    streams::<Heap>(16);
}

#[test]
fn longs_to_unmapped_memory_are_streamed_whatever_the_order_of_stores() {
    for answers in [0, 8, 16] {
        streams::<Reorder<Heap>>(answers);
        streams::<Together>(answers);
        streams::<Apart>(answers);
        streams::<Paired>(answers);
    }
}

#[test]
fn streams_longer_than_the_ring_cross_in_both_directions() {
    fn cross<A: Kit>() {
        let plan = |from: u32, to: u32, m: u32| {
            let long = |leg: u64| {
                let bits = mix(&[from.into(), to.into(), m.into(), leg]) as usize;
                Leg { from: bits % 8, to: bits / 8 % 8, ..Leg::long(3, 250_000 + bits / 64 % 100_000) }
            };
            (m < 12 && from != to).then(|| Message { request: long(0), reply: Some(long(1)) })
        };
        travel::<A>(&everything(2, 4), 350_000, 1, &plan, &|_| {});
    }
    over_all_adapters!(cross);
}

#[test]
fn a_streamed_reply_from_an_unpredicted_peer_of_a_large_job_completes() {
    fn few<A: Kit>() {
        let active = vec![0, 20, 40, 63, 64, 66];
        let shape = Shape { active, ..everything(67, 4) };
        let plan = |from: u32, to: u32, m: u32| {
            let reply = Some(Leg::long(1, 140_000));
            (m < 2 && from != to).then_some(Message { request: Leg::medium(0, 100), reply })
        };
        for seed in 0..A::SEEDS {
            travel::<A>(&shape, 140_000, seed, &plan, &|_| {});
        }
    }
    over_all_adapters!(few);
}
