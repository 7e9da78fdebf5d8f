//! Three nodes of one process, of which one dies.

use super::*;
use crate::deck::engine::{Handle, Setting};
use crate::deck::message::{Message, Storage};
use crate::deck::messages::{Place, register};
use crate::deck::owner::Credit;
use crate::deck::survive::roll::Roll;
use crate::sci::heap::Heap;
use crate::sci::{Adapter, NodeId};
use crate::sync::fixed::AtomicU64;
use crate::sync::fixed::{AtomicBool, AtomicU32};
use crate::testkit::world::{Kit, Shape, Watchdog, nodes_with};
use std::sync::{Arc, Barrier};

type Node = &'static Deck<Heap>;

/// What the job says: a bit for each node that is lost, and what each has settled.
#[derive(Default)]
struct Fake {
    lost: AtomicU64,
    settled: [AtomicU32; 3],
    /// Losses that are not counted yet.
    late: AtomicU32,
}

impl Fake {
    fn lose(&self, node: u32) {
        self.lost.fetch_or(1 << node, Ordering::SeqCst);
    }
}

impl Roll for Arc<Fake> {
    fn losses(&self) -> u32 {
        self.lost.load(Ordering::SeqCst).count_ones() - self.late.load(Ordering::SeqCst)
    }
    fn is_lost(&self, node: u32) -> bool {
        self.lost.load(Ordering::SeqCst) & 1 << node != 0
    }
    fn settled(&self, node: u32) -> u32 {
        self.settled[node as usize].load(Ordering::SeqCst)
    }
    fn settle(&self, node: u32, losses: u32) {
        self.settled[node as usize].store(losses, Ordering::SeqCst);
    }
}

const HEAP: usize = 64 << 10;

fn job() -> ([Node; 3], Arc<Fake>) {
    let (adapters, roll) = (Heap::kit(3, 0), Arc::<Fake>::default());
    let places: [Place<Heap>; 3] = Default::default();
    let nodes = nodes_with(&Shape::new(3, 16), &adapters, |rank, library| register(library, &places[rank as usize]));
    let region = |_| Region { at: vec![0u64; Holders::end(HEAP) / 8].leak().as_ptr() as usize, len: HEAP };
    let regions: [Region; 3] = std::array::from_fn(region);
    let nodes: &'static [_] = nodes.leak();
    let deck = |rank: usize| {
        let setting = Setting {
            far: None,
            place_min: usize::MAX,
            am: &nodes[rank].am,
            threaded: false,
            limit: 1024,
            boxes: 100,
            heap: regions[rank],
            connect: Box::new(move |node| Some(regions[node as usize])),
            bell: adapters[rank].connect_interrupt(NodeId(rank as u16)).unwrap(),
            losses: Some(Losses::new(Box::new(roll.clone()), 3)),
        };
        // SAFETY: a node is used by one thread at a time; heaps and tables were leaked.
        let deck: Node = Box::leak(Box::new(unsafe { Deck::new(setting) }));
        assert!(places[rank].set(deck).is_ok());
        nodes[rank].am.set_background(move || deck.progress());
        deck
    };
    (std::array::from_fn(deck), roll)
}

fn poll(nodes: &[Node]) {
    for _ in 0..20 {
        nodes.iter().for_each(|node| _ = node.am.poll());
    }
}

/// The node hears of a loss.
fn hear(node: Node) {
    node.losses.as_ref().unwrap().news.fetch_add(1, Ordering::SeqCst);
    node.am.background(1);
}

fn has_settled(node: Node) -> bool {
    node.losses.as_ref().unwrap().news.load(Ordering::SeqCst) == 0
}

/// `node` is lost; the others hear of it.
fn kill(nodes: &[Node; 3], roll: &Fake, node: u32) -> Vec<Node> {
    roll.lose(node);
    let alive: Vec<Node> = nodes.iter().copied().filter(|one| one.me() != node).collect();
    alive.iter().for_each(|one| hear(one));
    poll(&alive);
    assert!(alive.iter().all(|one| has_settled(one)));
    alive
}

fn message(node: Node, len: usize) -> Message {
    let mut message = node.create(len, len >= 1024, false).unwrap();
    message.size = len;
    message
}

/// Posts, with the help of others; false: there is no room.
fn post(node: Node, others: &[Node], handle: &Handle, len: usize) -> bool {
    (0..20).any(|_| match node.post(handle, &message(node, len), Until::Now) {
        Ok(()) => true,
        Err(Failure::Again) => {
            poll(others);
            false
        }
        other => panic!("{other:?}"),
    })
}

fn give(node: Node, others: &[Node], handle: &Handle, message: &mut Message) {
    for _ in 0..20 {
        match node.give(handle, message, Until::Now) {
            Ok(()) => return poll(others),
            Err(Failure::Again) => poll(others),
            other => panic!("{other:?}"),
        }
    }
    panic!("no room");
}

/// Blocks of the node's heap in use.
fn blocks(node: Node) -> usize {
    node.with(|state| state.heap.in_use())
}

const ROOM: Credit = Credit { messages: 8, bytes: 1 << 20 };

#[test]
fn credits_and_messages_of_the_dead_and_their_boxes() {
    let (nodes, roll) = job();
    let own = nodes[0].open(None, ROOM).unwrap();
    let of_dead = nodes[2].open(None, ROOM).unwrap();
    let [to_0_of_1, to_0_of_2] = [1, 2].map(|n| nodes[n].handle(own.id, false));
    let to_2 = nodes[1].handle(of_dead.id, false);
    assert!(post(nodes[2], &nodes, &to_0_of_2, 10) && post(nodes[1], &nodes, &to_2, 10));
    // Node 2 has credits, and answers no more.
    let used = (0..10).take_while(|_| post(nodes[1], &nodes[..2], &to_0_of_1, 10)).count();
    assert!(used < 7, "{used} of 8");
    kill(&nodes, &roll, 2);
    let more = (0..10).take_while(|_| post(nodes[1], &nodes[..2], &to_0_of_1, 10)).count();
    assert_eq!((used + more, nodes[0].pending(&own)), (7, Ok(8)), "beside one of the dead");
    let mut from = [0; 3];
    for _ in 0..8 {
        let taken = nodes[0].take(&own, Until::Now).unwrap();
        from[taken.source.unwrap() as usize] += 1;
    }
    assert_eq!(from, [0, 7, 1]);
    // Nothing is kept for the dead.
    assert_eq!((0..9).take_while(|_| post(nodes[1], &nodes[..2], &to_0_of_1, 10)).count(), 8);
    let mut long = message(nodes[1], 2000);
    assert_eq!(nodes[1].post(&to_2, &long, Until::Forever), Err(Failure::Peer));
    assert_eq!(nodes[1].give(&to_2, &mut long, Until::Forever), Err(Failure::Peer));
    assert!(matches!(long.storage, Storage::Shared(_)), "it stays");
    let later = nodes[0].handle(of_dead.id, false);
    assert_eq!(nodes[0].post(&later, &message(nodes[0], 10), Until::Forever), Err(Failure::Peer));
}

#[test]
fn a_box_that_closes_waits_for_no_farewell_of_the_dead() {
    let (nodes, roll) = job();
    let own = nodes[0].open(None, ROOM).unwrap();
    let [a, b] = [1, 2].map(|n| nodes[n].handle(own.id, false));
    assert!(post(nodes[1], &nodes, &a, 10) && post(nodes[2], &nodes, &b, 10));
    nodes[0].destroy(&own).unwrap();
    poll(&nodes[..2]);
    let is_closing = |node: Node| node.with(|state| matches!(state.boxes[0], Slot::Closing(..)));
    assert!(is_closing(nodes[0]), "node 2 has not heard of it");
    kill(&nodes, &roll, 2);
    assert!(!is_closing(nodes[0]));
    // One that ends later, too.
    let own = nodes[1].open(None, ROOM).unwrap();
    assert!(post(nodes[0], &nodes[..2], &nodes[0].handle(own.id, false), 10));
    nodes[1].destroy(&own).unwrap();
    poll(&nodes[..2]);
    assert!(!is_closing(nodes[1]));
}

#[test]
fn blocks_that_the_dead_had_come_back_and_those_of_the_living_stay() {
    for case in 0..6 {
        let (nodes, roll) = job();
        let [box_1, box_2] = [1, 2].map(|n: usize| nodes[n].open(None, ROOM).unwrap());
        let to_2 = nodes[0].handle(box_2.id, false);
        let to_1 = nodes[2].handle(box_1.id, false);
        let mut lent = message(nodes[0], 2000);
        assert_eq!(blocks(nodes[0]), 1);
        assert!(post(nodes[2], &nodes, &to_1, 10)); // it has credits then
        give(nodes[0], &nodes, &to_2, &mut lent);
        let mut kept = None;
        if case > 0 {
            let mut taken = nodes[2].take(&box_2, Until::Now).unwrap();
            let Storage::Shared(block) = &taken.storage else { panic!("a loan") };
            let offset = block.offset;
            match case {
                1 => {}
                2 => give(nodes[2], &nodes, &to_1, &mut taken), // node 1 has it
                3 => give(nodes[2], &nodes[2..], &to_1, &mut taken), // it is on its way: what was sent whole comes
                4 => assert!(nodes[0].holders(0).unwrap().set(offset, Holder { to: 1, from: 2 })), // never sent
                _ => nodes[2].release(std::mem::take(&mut taken.storage)).unwrap(), // on its way home
            }
            kept = Some(taken);
        }
        kill(&nodes, &roll, 2);
        let stays = matches!(case, 2 | 3);
        assert_eq!(blocks(nodes[0]), usize::from(stays), "case {case}");
        if stays {
            nodes[1].take(&box_1, Until::Now).unwrap();
            let taken = nodes[1].take(&box_1, Until::Now).unwrap();
            nodes[1].release(taken.storage).unwrap();
            poll(&nodes[..2]);
            assert_eq!(blocks(nodes[0]), 0);
        }
        drop(kept);
    }
}

#[test]
fn blocks_that_late_nodes_pass_on_to_the_dead_come_back_too() {
    let (nodes, roll) = job();
    let [box_1, box_2] = [1, 2].map(|n: usize| nodes[n].open(None, ROOM).unwrap());
    let (to_1, to_2) = (nodes[0].handle(box_1.id, false), nodes[1].handle(box_2.id, false));
    assert!(post(nodes[1], &nodes, &to_2, 10)); // it has credits then
    let mut lent = message(nodes[0], 2000);
    give(nodes[0], &nodes, &to_1, &mut lent);
    let mut taken = nodes[1].take(&box_1, Until::Now).unwrap();
    roll.lose(2);
    hear(nodes[0]);
    poll(&nodes[..1]);
    assert!(!has_settled(nodes[0]), "node 1 has not heard of it");
    nodes[1].give(&to_2, &mut taken, Until::Now).unwrap();
    assert_eq!(blocks(nodes[0]), 1);
    hear(nodes[1]);
    poll(&nodes[..2]);
    assert!(has_settled(nodes[0]) && blocks(nodes[0]) == 0);
}

#[test]
fn a_loss_that_is_not_counted_yet_is_not_settled() {
    let (nodes, roll) = job();
    roll.lose(1);
    roll.late.store(1, Ordering::SeqCst);
    hear(nodes[0]);
    poll(&nodes[..1]);
    assert!(!has_settled(nodes[0]) && nodes[0].any_lost().is_none());
    roll.late.store(0, Ordering::SeqCst);
    hear(nodes[2]);
    poll(&[nodes[0], nodes[2]]);
    assert!(has_settled(nodes[0]) && nodes[0].has_lost(1));
}

#[test]
fn that_a_node_is_lost_is_told_after_what_it_has_sent() {
    let (nodes, roll) = job();
    let [own, of_dead] = [0, 2].map(|n: usize| nodes[n].open(None, ROOM).unwrap());
    let (to_0, to_2) = (nodes[2].handle(own.id, false), nodes[0].handle(of_dead.id, false));
    assert!(post(nodes[0], &nodes, &to_2, 10) && post(nodes[2], &nodes, &to_0, 10));
    nodes[0].take(&own, Until::Now).unwrap();
    let mut lent = message(nodes[0], 2000);
    nodes[2].post(&to_0, &message(nodes[2], 10), Until::Now).unwrap();
    roll.lose(2);
    nodes[0].am.lose(2); // as far as `settle` comes before another thread's poll stops it
    hear(nodes[0]);
    assert_eq!(nodes[0].give(&to_2, &mut lent, Until::Now), Err(Failure::Peer));
    assert!(nodes[0].has_lost(2) && nodes[0].pending(&own) == Ok(1));
}

#[test]
fn a_call_whose_time_is_over_does_not_wait_for_what_the_dead_have_sent() {
    let (nodes, roll) = job();
    let of_dead = nodes[2].open(None, ROOM).unwrap();
    let to_2 = nodes[0].handle(of_dead.id, false);
    assert!(post(nodes[0], &nodes, &to_2, 10));
    let mut lent = message(nodes[0], 2000);
    let passing = &nodes[0].losses.as_ref().unwrap().passing;
    passing[2].store(1, Ordering::SeqCst); // another thread does not come to an end
    roll.lose(2);
    nodes[0].am.lose(2);
    hear(nodes[0]);
    assert_eq!(nodes[0].give(&to_2, &mut lent, Until::Now), Err(Failure::Again));
    let soon = Until::Time(std::time::Instant::now() + Duration::from_millis(5));
    assert_eq!(nodes[0].give(&to_2, &mut lent, soon), Err(Failure::TimedOut));
    passing[1].store(1, Ordering::SeqCst); // one that gives to the living does not matter
    passing[2].store(0, Ordering::SeqCst);
    assert_eq!(nodes[0].give(&to_2, &mut lent, Until::Now), Err(Failure::Peer));
}

#[test]
fn a_block_on_its_way_between_the_living_is_left_alone() {
    let (nodes, roll) = job();
    let box_1 = nodes[1].open(None, ROOM).unwrap();
    let to_1 = nodes[0].handle(box_1.id, false);
    assert!(post(nodes[0], &nodes, &to_1, 10));
    let mut lent = message(nodes[0], 2000);
    nodes[0].give(&to_1, &mut lent, Until::Now).unwrap();
    kill(&nodes, &roll, 2);
    assert_eq!(blocks(nodes[0]), 1);
    // A block of the dead one's heap is nobody's business any more.
    nodes[0].release(Storage::Shared(Block { owner: 2, offset: 0, len: 2000, at: std::ptr::null_mut() })).unwrap();
}

#[test]
fn blocks_in_which_the_dead_took_part_are_free() {
    let memory = vec![0u64; Holders::end(HEAP) / 8];
    // SAFETY: as many bytes, which live longer.
    let holders = unsafe { Holders::new(memory.as_ptr() as usize, HEAP) };
    // Nodes 2 and 3 are dead.
    for (to, from, is_free) in [(0, 0, false), (0, 1, false), (2, 2, true), (2, 3, true), (2, 1, true), (1, 2, true)] {
        let mut state = State::new(HEAP);
        state.dead.nodes.extend([2, 3]);
        let offset = state.heap.take(100).unwrap().0;
        assert!(holders.set(offset, Holder { to, from }));
        state.reclaim(&holders);
        assert_eq!(state.heap.in_use() == 0, is_free, "{to} from {from}");
    }
}

#[test]
fn names_move_to_the_next_home_and_those_of_the_dead_are_free() {
    let _watch = Watchdog::start();
    let (nodes, roll) = job();
    let (all, alive) = (Barrier::new(3), Barrier::new(2));
    let name = |node: usize, n: usize| format!("{node}.{n}").into_bytes();
    let (met, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    let body = &|me: usize| {
        let node = nodes[me];
        let serve_until = |met: &dyn Fn() -> bool| {
            while !met() {
                node.am.poll();
            }
        };
        for n in 0..12 {
            node.open(Some(&name(me, n)), ROOM).unwrap();
        }
        met.fetch_add(1, Ordering::SeqCst);
        serve_until(&|| met.load(Ordering::SeqCst) == 3);
        all.wait();
        if me == 2 {
            return;
        }
        roll.lose(2);
        assert_eq!(node.see_to_losses(0), 1);
        alive.wait();
        if me == 1 {
            return serve_until(&|| is_over.load(Ordering::SeqCst));
        }
        for n in 0..12 {
            let found = node.find(&name(1, n), Until::Time(std::time::Instant::now() + Duration::from_secs(50)));
            assert_eq!(found.unwrap().id.owner, 1);
            assert!(matches!(node.find(&name(2, n), Until::Now), Err(Failure::Again)), "it is free");
            assert!(matches!(node.open(Some(&name(1, n)), ROOM), Err(Failure::Exists)));
            assert!(node.open(Some(&name(2, n)), ROOM).is_ok());
        }
        is_over.store(true, Ordering::SeqCst);
    };
    std::thread::scope(|scope| (0..3).for_each(|me| drop(scope.spawn(move || body(me)))));
}
