//! What a silent peer costs a node in memory, over UDP. Nothing else allocates meanwhile, so it is a program of its own.

#![allow(unsafe_code)] // memory of nodes

use gasnet_sci::boot::contact::address::Endpoint;
use gasnet_sci::sci::far::udp::Udp;
use gasnet_sci::sci::far::udp::mode::Mode;
use gasnet_sci::sci::far::wire::{Kept, Lost, Sink, Wire};
use std::cell::Cell;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::process::Command;
use std::time::{Duration, Instant};

const PEERS: u32 = 64;
/// Bytes that each node writes to each other one.
const BYTES: usize = 300_000;
const PATIENCE: Duration = Duration::from_secs(120);

/// A node: frames are counted, and all write to the same memory.
struct Node {
    wire: Udp,
    memory: Box<[u8]>,
    frames: Cell<u32>,
}

impl Sink for Node {
    fn frame(&self, _: u32, _: &[u8]) {
        self.frames.set(self.frames.get() + 1);
    }
    fn place(&self, _: u32, offset: u64, len: usize, _: bool) -> Option<*mut u8> {
        assert!(offset as usize + len <= BYTES);
        Some(self.memory.as_ptr().cast_mut().wrapping_add(offset as usize))
    }
    fn written(&self, _: u64) {}
    fn left(&self, _: u32) {}
    fn lost(&self, _: u32, why: &Lost) {
        panic!("{why:?}");
    }
}

/// Bytes that the process has from the allocator.
fn allocated() -> usize {
    // SAFETY: it has no conditions.
    let all = unsafe { libc::mallinfo2() };
    all.uordblks + all.hblkhd
}

fn until(nodes: &[Node], what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        nodes.iter().for_each(|node| _ = node.wire.progress(node, true));
        assert!(begin.elapsed() < PATIENCE, "{what}");
    }
}

/// Node `first` and each of the others write to each other and say so.
fn talk(nodes: &[Node], first: u32, others: Range<u32>) {
    let frames = |at: u32| nodes[at as usize].frames.get();
    let source = vec![7; BYTES];
    for peer in others {
        let before = [frames(first), frames(peer)];
        for (from, to) in [(first, peer), (peer, first)] {
            let wire = &nodes[from as usize].wire;
            let from = (source.as_ptr(), BYTES);
            // SAFETY: the source lives until the call returns true.
            until(nodes, "room", || unsafe { wire.write(to, 0, from, Kept::Now, None) }.unwrap());
            (0..100).for_each(|_| until(nodes, "room", || wire.post(to, &mut [1; 1000]).unwrap()));
        }
        until(nodes, "frames", || frames(first) == before[0] + 100 && frames(peer) == before[1] + 100);
    }
}

/// Bytes of each end of a link that has become silent.
fn silent(is_protected: bool) -> usize {
    let here = Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0);
    let nodes: Vec<Node> = (0..2 + PEERS)
        .map(|me| {
            let wire = Udp::new(me, 2 + PEERS, [7; 16], &here, Mode::NORMAL).unwrap();
            assert!(!is_protected || wire.protect());
            Node { wire, memory: vec![0; BYTES].into(), frames: Cell::new(0) }
        })
        .collect();
    let addresses: Vec<Vec<u8>> = nodes.iter().map(|node| node.wire.address()).collect();
    nodes.iter().for_each(|node| node.wire.set_peers(addresses.clone()));
    let rest = || {
        let mut least = usize::MAX;
        let begin = Instant::now();
        until(&nodes, "rest", || {
            least = least.min(allocated());
            begin.elapsed() > Duration::from_secs(3)
        });
        least
    };
    // After this each node has what it has but once, whoever its peers are.
    talk(&nodes, 1, 2..2 + PEERS);
    talk(&nodes, 0, 1..2);
    let before = rest();
    talk(&nodes, 0, 2..2 + PEERS);
    rest().saturating_sub(before) / (2 * PEERS as usize)
}

// What the allocator keeps for a thread's next calls it counts as taken, which is up to a hundred bytes a peer, and another number in each
// build. So it keeps nothing, which it must be told before it begins.
const KEEP_NOTHING: &str = "glibc.malloc.tcache_count=0";

#[test]
fn a_silent_peer_costs_little_memory() {
    #[allow(clippy::disallowed_methods)] // glibc's, not the library's
    if std::env::var("GLIBC_TUNABLES").as_deref() != Ok(KEEP_NOTHING) {
        let program = std::env::current_exe().unwrap();
        let run = Command::new(program).arg("--nocapture").env("GLIBC_TUNABLES", KEEP_NOTHING).status().unwrap();
        return assert!(run.success());
    }
    let (plain, protected) = (silent(false), silent(true));
    println!("{plain} bytes, protected {protected}");
    assert!((500..=2048).contains(&plain), "{plain} bytes");
    assert!(protected <= 3200, "{protected} bytes, protected");
}
