//! Random operations on random segments against plain vectors: every byte is compared, also those around what a map
//! shows, and errors must leave all as it was.

#![allow(unsafe_code)] // mapped memory, system calls

use super::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const SEGMENTS: usize = 3;

#[derive(Clone, Debug)]
enum ModelOp {
    Store(usize, Vec<u64>),
    Packet(usize, u64, Vec<u64>),
    Publish(usize, u64),
    Publish32(usize, u32),
    Write(usize, Vec<u8>),
    Fill(usize, u8, usize),
    Dma(usize, Vec<u64>, usize),
    Progress,
}

/// Bytes of the part that a map shows: at offset PAGE of a segment of 3 pages, not a multiple of anything.
const SHOWN: usize = PAGE - 203;

fn op() -> impl Strategy<Value = ModelOp> {
    // Small offsets overlap each other, those around the end test the bounds.
    let near = || prop_oneof![4 => 0..640usize, 2 => SHOWN - 200..SHOWN + 200, 1 => any::<usize>()];
    let words = |most| prop::collection::vec(any::<u64>(), 0..=most);
    prop_oneof![
        (0..SHOWN / 8 - 12, words(12usize)).prop_map(|(at, words)| ModelOp::Store(at * 8, words)),
        (0..SHOWN / 64, any::<u64>(), words(7)).prop_map(|(at, head, body)| ModelOp::Packet(at * 64, head, body)),
        (0..80usize, any::<u64>()).prop_map(|(at, value)| ModelOp::Publish(at * 8, value)),
        (0..160usize, any::<u32>()).prop_map(|(at, value)| ModelOp::Publish32(at * 4, value)),
        (near(), prop::collection::vec(any::<u8>(), 0..300)).prop_map(|(at, bytes)| ModelOp::Write(at, bytes)),
        (near(), any::<u8>(), 0..300usize).prop_map(|(at, byte, len)| ModelOp::Fill(at, byte, len)),
        (near(), words(80), 0..8usize).prop_map(|(at, words, odd)| ModelOp::Dma(at, words, odd / 6)),
        Just(ModelOp::Progress),
    ]
}

/// Does it to a vector of a map's bytes; the error that the adapter must give.
fn apply(bytes: &mut [u8], at: usize, data: &[u8]) -> Result<(), ()> {
    let end = at.checked_add(data.len()).ok_or(())?;
    bytes.get_mut(at..end).ok_or(())?.copy_from_slice(data);
    Ok(())
}

fn flat(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

struct Side<A: Adapter> {
    local: A::Local,
    remote: A::RemoteSegment,
    map: A::Remote,
    model: Vec<u8>,
    _own: A::LocalSegment,
}

impl<A: Adapter> Side<A> {
    fn new([a, b]: &[A; 2], id: SegmentId) -> Self {
        let own = a.create(id, 3 * PAGE).unwrap();
        own.set_available().unwrap();
        let local = own.map(Placement::Anywhere).unwrap();
        let remote = b.connect(a.node(), id, SOON).unwrap();
        let map = remote.map(PAGE, SHOWN, Placement::Anywhere).unwrap();
        Self { local, remote, map, model: vec![0; 3 * PAGE], _own: own }
    }

    fn run(&mut self, op: &ModelOp, node: &A, queue: &A::Queue) {
        let shown = &mut self.model[PAGE..PAGE + SHOWN];
        match op {
            ModelOp::Store(at, words) => {
                self.map.store(*at, words);
                apply(shown, *at, &flat(words)).unwrap();
            }
            ModelOp::Packet(at, head, body) => {
                self.map.packet(*at, *head, body);
                apply(shown, *at, &flat(&[&[*head], &body[..]].concat())).unwrap();
            }
            ModelOp::Publish(at, value) => {
                self.map.publish(*at, *value);
                apply(shown, *at, &value.to_ne_bytes()).unwrap();
            }
            ModelOp::Publish32(at, value) => {
                self.map.publish32(*at, *value);
                apply(shown, *at, &value.to_ne_bytes()).unwrap();
            }
            ModelOp::Write(at, data) => {
                let result = write(&self.map, *at, data);
                assert_eq!(result.is_ok(), apply(shown, *at, data).is_ok());
            }
            ModelOp::Fill(at, byte, len) => {
                let result = self.map.fill(*at, *byte, *len);
                assert_eq!(result.is_ok(), apply(shown, *at, &vec![*byte; *len]).is_ok());
            }
            ModelOp::Dma(at, words, odd) => self.run_dma(*at, words, *odd, queue),
            ModelOp::Progress => _ = node.progress(Effort::Glance),
        }
    }

    /// DMA reaches the whole segment. It is not ordered with PIO, so the model puts a barrier before it.
    fn run_dma(&mut self, at: usize, words: &[u64], odd: usize, queue: &A::Queue) {
        let at = if odd == 0 { at & !7 } else { at };
        self.map.barrier();
        let len = words.len() * 8;
        // SAFETY: a slice's bytes, alive until the wait is over.
        let ticket = unsafe { queue.enqueue(words.as_ptr().cast(), &self.remote, at, len) };
        let fits = at % 8 == 0 && len >= 8;
        let expected = fits && apply(&mut self.model, at, &flat(words)).is_ok();
        assert_eq!(ticket.is_ok(), expected, "{ticket:?}");
        if let Ok(ticket) = ticket {
            assert_eq!(queue.wait(ticket, SOON), Ok(DmaState::Done));
        }
    }

    fn compare(&self, nodes: &[A; 2]) {
        arrive(nodes, &self.map);
        for (at, expected) in self.model.chunks_exact(8).enumerate() {
            assert_eq!(word(&self.local, at * 8).to_ne_bytes(), expected, "at {}", at * 8);
        }
    }
}

/// Runs random sequences on fresh pairs of nodes.
pub(super) fn check<A: Adapter>(pair: impl Fn() -> [A; 2]) {
    let config = Config { cases: if cfg!(miri) { 2 } else { 40 }, failure_persistence: None, ..Config::default() };
    let ops = prop::collection::vec((0..SEGMENTS, op()), 1..60);
    let result = TestRunner::new(config).run(&ops, |ops| {
        let nodes = pair();
        let queue = nodes[1].dma_queue(4).unwrap();
        let mut sides: Vec<_> = (0..SEGMENTS as u32).map(|id| Side::new(&nodes, SegmentId(id))).collect();
        for (segment, op) in &ops {
            sides[*segment].run(op, &nodes[1], &queue);
        }
        sides.iter().for_each(|side| side.compare(&nodes));
        Ok(())
    });
    if let Err(e) = result {
        panic!("{e}");
    }
}
