//! Jobs of more than 64 nodes, where a receiver looks at exist words before it looks at ready counts.

use super::plan::{Leg, Message};
use super::traffic::{mixed, travel};
use super::world::{Kit, Shape};
use crate::sci::heap::Heap;
use crate::sci::reorder::Reorder;

fn large() -> Shape {
    Shape { active: vec![0, 20, 40, 63, 64, 66, 69], ..Shape::new(70, 4) }
}

#[test]
fn any_traffic_between_few_nodes_of_a_large_job_arrives() {
    fn any<A: Kit>() {
        for seed in 0..A::SEEDS.min(3) {
            for answers in [0, 8, 16] {
                travel::<A>(&large(), 500, seed, &mixed(seed, 40, answers, 500), &|_| {});
            }
        }
    }
    any::<Heap>();
    any::<Reorder<Heap>>();
}

/// A pair's only message can't be found by looking for the next one.
#[test]
fn a_single_message_from_an_unpredicted_peer_is_found() {
    fn single<A: Kit>(reply: Option<Leg>) {
        let plan =
            |from: u32, to: u32, m: u32| (m == 0 && from != to).then_some(Message { request: Leg::short(1), reply });
        for seed in 0..A::SEEDS {
            travel::<A>(&large(), 0, seed, &plan, &|_| {});
        }
    }
    single::<Heap>(None);
    single::<Heap>(Some(Leg::short(0)));
    single::<Reorder<Heap>>(None);
    single::<Reorder<Heap>>(Some(Leg::short(0)));
}

/// The credit must be there when the reply's exist word is: nobody sets it again.
#[test]
fn a_reply_behind_an_unanswered_request_is_found() {
    fn behind<A: Kit>() {
        let plan = |from: u32, to: u32, m: u32| {
            let reply = (m == 1).then_some(Leg::short(0));
            (m < 2 && from != to).then_some(Message { request: Leg::short(1), reply })
        };
        let shape = Shape { slots: 64, active: vec![0, 20, 40, 64, 66], ..large() };
        for seed in 0..A::SEEDS {
            travel::<A>(&shape, 0, seed, &plan, &|_| {});
        }
    }
    behind::<Heap>();
    behind::<Reorder<Heap>>();
}
