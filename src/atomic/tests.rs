//! Operations through the engine of messages, on nodes of this process.

use super::word::{Kind, Operation, Verb};
use super::{Fetch, start};
use crate::sci::heap::Heap;
use crate::testkit::world::{Kit, Node, Shape, nodes};
use crate::verbs::{Flags, Local, Target};
use crate::xfer::event::{Sets, Whose};
use crate::xfer::home::Set;
use crate::xfer::wait::How;
use crate::xfer::{Engines, Rma, event};

fn job() -> Vec<Node<Heap>> {
    let shape = Shape::new(2, 4);
    nodes(&shape, &Heap::kit(shape.nodes, 0))
}

/// The word at the head of node 1's segment.
fn word(nodes: &[Node<Heap>]) -> u64 {
    // SAFETY: a segment of this process, which lives as long as the nodes.
    unsafe { (nodes[1].bases[1] as *const u64).read() }
}

#[test]
fn a_peer_does_what_it_is_asked_for_and_sends_the_old_value_back() {
    let nodes = job();
    let (node, rma) = (&nodes[0], Rma::new(false, None));
    let on = Engines { am: &node.am, rma: &rma };
    let mut old = [7u64; 2];
    let mut run = |how, verb, kind, x, y, fetch: Option<usize>, flags| {
        let place = fetch.map_or(std::ptr::null_mut(), |i| (&raw mut old[i]).cast());
        let operation = Operation { kind, verb, x, y };
        // SAFETY: `old` lives until the end of the test.
        let fetch = unsafe { Fetch::new(place) };
        on.transfer(how, |c| start(&node.am, false, (Target::node(1), node.bases[1]), operation, fetch, flags, c))
            .unwrap()
    };
    let event = How::Event(Local::AtReturn);
    let implicit = How::Implicit(Set::Rmw, Local::AtReturn);
    let add = run(event, Verb::Add, Kind::U64, 5 << 40, 0, None, Flags::NONE).unwrap();
    let inc = run(event, Verb::Inc, Kind::U64, 0, 0, Some(0), Flags::NONE).unwrap();
    assert_eq!(run(implicit, Verb::Cas, Kind::U32, 1, 9, Some(1), Flags::IMMEDIATE), Some(0));
    assert!(Sets::RMW.test() == Ok(false) && event::test(add, Whose::Own) == Ok(false));
    assert_eq!(word(&nodes), 0, "node 1 has not looked yet");
    nodes[1].am.poll();
    assert_eq!(word(&nodes), 5 << 40 | 9);
    node.am.poll();
    assert!(event::test(add, Whose::Own) == Ok(true) && event::test(inc, Whose::Own) == Ok(true));
    assert_eq!(Sets::RMW.test(), Ok(true));
    assert_eq!(old, [5 << 40, 1], "four bytes of the second were written");
}

#[test]
fn an_operation_that_may_not_wait_is_refused_when_there_is_no_room() {
    let nodes = job();
    let (node, rma) = (&nodes[0], Rma::new(false, None));
    let on = Engines { am: &node.am, rma: &rma };
    let inc = |flags| {
        let operation = Operation { kind: Kind::I64, verb: Verb::Inc, x: 0, y: 0 };
        // SAFETY: nothing is fetched.
        let fetch = unsafe { Fetch::new(std::ptr::null_mut()) };
        let begin = |c| start(&node.am, false, (Target::node(1), node.bases[1]), operation, fetch, flags, c);
        on.transfer(How::Event(Local::AtReturn), begin).unwrap()
    };
    let mut started: Vec<usize> = std::iter::from_fn(|| inc(Flags::IMMEDIATE)).take(100).collect();
    assert!(started.len() < 100, "node 1 answers nothing, so there is an end");
    while started.iter().any(|root| *root != 0) {
        nodes[1].am.poll();
        node.am.poll();
        for root in started.iter_mut().filter(|root| **root != 0) {
            if event::test(*root, Whose::Own).unwrap() {
                *root = 0;
            }
        }
    }
    assert_eq!(word(&nodes), started.len() as u64, "what was refused was not done");
}

#[test]
fn own_memory_is_reached_without_messages_and_a_crooked_target_is_an_error() {
    let nodes = job();
    let (node, rma) = (&nodes[1], Rma::new(false, None));
    let on = Engines { am: &node.am, rma: &rma };
    let set = |node_of, address| {
        let operation = Operation { kind: Kind::U32, verb: Verb::Set, x: 77, y: 0 };
        // SAFETY: nothing is fetched.
        let fetch = unsafe { Fetch::new(std::ptr::null_mut()) };
        let begin = |c| start(&node.am, false, (Target::node(node_of), address), operation, fetch, Flags::NONE, c);
        on.transfer(How::Event(Local::AtReturn), begin)
    };
    assert_eq!(set(1, node.bases[1]).unwrap(), Some(0));
    assert_eq!(word(&nodes), 77);
    assert!(set(1, node.bases[1] + 2).unwrap_err().to_string().contains("multiple"));
    assert!(set(0, node.bases[0] + (1 << 30)).unwrap_err().to_string().contains("outside the segment"));
}
