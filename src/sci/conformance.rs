//! What every adapter must do, stated once and run for all of them. A later adapter gets one more line in `suites!`.
//!
//! A suite is given two nodes of one job. What was stored is looked at after a barrier, because adapters may delay it.

use super::heap::{Heap, HeapFabric};
use super::reorder::Reorder;
use super::shm::{Shm, tests as shm};
use super::*;
use crate::sync::Ordering;
use std::sync::Arc;
use std::thread;

mod model;

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

macro_rules! suites {
    ($($adapter:ident: $pair:path;)*) => { $(
        mod $adapter {
            use super::*;

            macro_rules! case {
                ($name:ident) => {
                    #[test]
                    fn $name() {
                        super::$name($pair());
                    }
                };
            }

            case!(a_segment_lives_from_create_to_remove);
            case!(what_is_not_there_cannot_be_connected);
            case!(availability_can_be_withdrawn);
            case!(connecting_waits_for_availability);
            case!(maps_outside_are_refused);
            case!(empty_segments_are_segments);
            case!(a_used_segment_is_busy);
            case!(maps_outlive_their_segment);
            case!(pio_stores_arrive);
            case!(bytes_outside_are_refused_and_write_nothing);
            case!(words_outside_are_bugs);
            case!(dma_takes_only_what_hardware_takes);
            case!(dma_transfers_finish_in_order);
            case!(a_published_word_follows_what_a_barrier_ordered);
            case!(an_interrupt_times_out);
            case!(a_trigger_after_arm_is_not_lost);
            case!(one_thread_disarms_and_the_other_is_still_woken);
            case!(no_wake_up_is_lost);
            case!(an_unknown_node_has_no_interrupt);

            #[test]
            fn agrees_with_plain_memory() {
                model::check($pair);
            }
        }
    )* };
}

suites! {
    on_shm: shm_pair;
    on_heap: heap_pair;
    on_reorder: reorder_pair;
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
    Pair {
        own,
        local,
        remote,
        map,
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

fn a_segment_lives_from_create_to_remove<A: Adapter>([a, b]: [A; 2]) {
    for lap in 1..4 {
        let own = a.create(ID, 100).unwrap();
        assert!(own.len() >= 100 && !own.is_empty());
        assert_eq!(error(a.create(ID, 100)), SciError::SegmentExists { id: ID });
        let twin = b.create(ID, 100).unwrap(); // ids are per node
        own.reserve().unwrap();
        own.set_available().unwrap();
        let local = own.map(Placement::Anywhere).unwrap();
        assert_eq!(
            (local.len(), word(&local, 0)),
            (own.len(), 0),
            "lap {lap}: memory is new"
        );
        let remote = b.connect(a.node(), ID, Duration::ZERO).unwrap();
        assert_eq!(remote.len(), own.len());
        let map = remote.map(0, remote.len(), Placement::Anywhere).unwrap();
        map.publish(0, lap);
        map.barrier();
        assert_eq!(word(&local, 0), lap);
        drop((map, remote, local));
        own.remove().unwrap();
        assert_eq!(
            error(b.connect(a.node(), ID, Duration::ZERO)),
            SciError::NoSuchSegment {
                node: a.node(),
                id: ID
            }
        );
        let gone = SciError::NoSuchSegment {
            node: a.node(),
            id: ID,
        };
        assert_eq!(error(own.map(Placement::Anywhere)), gone);
        assert_eq!(error(own.set_available()), gone);
        assert_eq!(error(own.set_unavailable()), gone);
        assert_eq!(error(own.reserve()), gone);
        assert_eq!(error(own.remove()), gone);
        drop(twin);
    }
}

fn what_is_not_there_cannot_be_connected<A: Adapter>([a, b]: [A; 2]) {
    let nobody = NodeId(2);
    assert_eq!(
        error(b.connect(nobody, ID, SOON)),
        SciError::NoSuchNode {
            node: nobody,
            nodes: 2
        }
    );
    let far = NodeId(u16::MAX);
    assert_eq!(
        error(b.connect(far, ID, SOON)),
        SciError::NoSuchNode {
            node: far,
            nodes: 2
        }
    );
    assert_eq!(
        error(b.connect(a.node(), ID, Duration::ZERO)),
        SciError::NoSuchSegment {
            node: a.node(),
            id: ID
        }
    );
    let timeout = Duration::from_millis(3);
    assert_eq!(
        error(b.connect(a.node(), ID, timeout)),
        SciError::NoSuchSegment {
            node: a.node(),
            id: ID
        }
    );
    let own = a.create(ID, 64).unwrap();
    assert_eq!(
        error(b.connect(a.node(), ID, Duration::ZERO)),
        SciError::NotAvailable {
            node: a.node(),
            id: ID
        }
    );
    assert_eq!(
        error(b.connect(a.node(), ID, timeout)),
        SciError::NotAvailable {
            node: a.node(),
            id: ID
        }
    );
    own.set_available().unwrap();
    assert!(b.connect(a.node(), ID, Duration::ZERO).is_ok());
    assert!(
        a.connect(a.node(), ID, Duration::ZERO).is_ok(),
        "a node can connect to itself"
    );
    drop(own);
    assert_eq!(
        error(b.connect(a.node(), ID, Duration::ZERO)),
        SciError::NoSuchSegment {
            node: a.node(),
            id: ID
        }
    );
}

fn availability_can_be_withdrawn<A: Adapter>(nodes: [A; 2]) {
    let pair = connected(&nodes, 64);
    pair.own.set_unavailable().unwrap();
    let [a, b] = &nodes;
    assert_eq!(
        error(b.connect(a.node(), ID, Duration::ZERO)),
        SciError::NotAvailable {
            node: a.node(),
            id: ID
        }
    );
    pair.map.publish(8, 5);
    pair.map.barrier();
    assert_eq!(word(&pair.local, 8), 5, "connections that exist stay");
    assert!(pair.remote.map(0, 64, Placement::Anywhere).is_ok());
    pair.own.set_available().unwrap();
    pair.own.set_available().unwrap();
    assert!(b.connect(a.node(), ID, Duration::ZERO).is_ok());
}

fn connecting_waits_for_availability<A: Adapter>([a, b]: [A; 2]) {
    thread::scope(|scope| {
        let owner = a.node();
        let waiter = scope.spawn(move || b.connect(owner, ID, SOON).map(|remote| remote.len()));
        let own = a.create(ID, 64).unwrap();
        thread::sleep(Duration::from_millis(2));
        own.set_available().unwrap();
        assert_eq!(waiter.join().unwrap(), Ok(own.len()));
    });
}

fn maps_outside_are_refused<A: Adapter>(nodes: [A; 2]) {
    let pair = connected(&nodes, 2 * PAGE);
    let size = 2 * PAGE;
    let refused = [
        (0, size + 1),
        (PAGE, PAGE + 1),
        (size, 1),
        (size + PAGE, 0),
        (PAGE, usize::MAX),
        (usize::MAX, 1),
        (usize::MAX - PAGE + 1, PAGE),
    ];
    for (offset, len) in refused {
        let expected = SciError::OutOfRange {
            offset: offset as u64,
            len: len as u64,
            segment: size as u64,
        };
        assert_eq!(
            error(pair.remote.map(offset, len, Placement::Anywhere)),
            expected
        );
    }
    assert!(matches!(
        error(pair.remote.map(8, 8, Placement::Anywhere)),
        SciError::Misaligned { offset: 8, .. }
    ));
    for address in [0, 4096, PAGE + 1, usize::MAX] {
        let result = pair.remote.map(0, PAGE, Placement::At(address));
        assert_eq!(error(result), SciError::BadPlacement { address, len: PAGE });
    }
    let upper = pair.remote.map(PAGE, PAGE, Placement::Anywhere).unwrap();
    upper.publish(PAGE - 8, 4);
    upper.barrier();
    assert_eq!(word(&pair.local, size - 8), 4);
    assert!(
        pair.remote
            .map(size, 0, Placement::Anywhere)
            .unwrap()
            .is_empty()
    );
}

fn empty_segments_are_segments<A: Adapter>(nodes: [A; 2]) {
    let pair = connected(&nodes, 0);
    assert!(
        pair.own.is_empty()
            && pair.local.is_empty()
            && pair.remote.is_empty()
            && pair.map.is_empty()
    );
    assert_eq!(write(&pair.map, 0, &[]), Ok(()));
    assert!(write(&pair.map, 0, &[1]).is_err());
    pair.own.reserve().unwrap();
}

fn a_used_segment_is_busy<A: Adapter>(nodes: [A; 2]) {
    let Pair {
        own,
        local,
        remote,
        map,
    } = connected(&nodes, 64);
    assert_eq!(
        error(own.remove()),
        SciError::Busy { id: ID, users: 1 },
        "mapped here"
    );
    drop(local);
    assert_eq!(
        error(own.remove()),
        SciError::Busy { id: ID, users: 1 },
        "connected"
    );
    drop(remote);
    assert_eq!(
        error(own.remove()),
        SciError::Busy { id: ID, users: 1 },
        "mapped there"
    );
    drop(map);
    own.remove().unwrap();
}

fn maps_outlive_their_segment<A: Adapter>(nodes: [A; 2]) {
    let Pair {
        own,
        local,
        remote,
        map,
    } = connected(&nodes, 64);
    drop(own);
    let [a, b] = &nodes;
    assert!(b.connect(a.node(), ID, Duration::ZERO).is_err());
    let again = a.create(ID, 64).unwrap();
    let fresh = again.map(Placement::Anywhere).unwrap();
    drop(remote);
    map.publish(0, 9);
    map.barrier();
    assert_eq!(
        (word(&local, 0), word(&fresh, 0)),
        (9, 0),
        "the old and the new segment share nothing"
    );
}

fn pio_stores_arrive<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, map, .. } = &connected(&nodes, PAGE);
    map.store(8, &[1, 2, 3]);
    map.packet(64, 10, &[11, 12, 13, 14, 15, 16, 17]);
    map.packet(PAGE - 64, 20, &[]);
    map.publish(128, 30);
    map.publish32(140, 40);
    map.publish32(144, 41);
    write(map, 203, b"thirteen byte").unwrap();
    map.fill(300, 0xee, 77).unwrap();
    map.barrier();
    let words = |from: usize, count: usize| {
        (0..count)
            .map(|i| word(local, from + i * 8))
            .collect::<Vec<_>>()
    };
    assert_eq!(words(0, 5), [0, 1, 2, 3, 0]);
    assert_eq!(words(64, 9), [10, 11, 12, 13, 14, 15, 16, 17, 30]);
    assert_eq!(words(PAGE - 64, 2), [20, 0]);
    assert_eq!(
        bytes(local, 136, 12),
        [[0; 4], 40u32.to_ne_bytes(), 41u32.to_ne_bytes()].concat()
    );
    assert_eq!(bytes(local, 202, 15), b"\0thirteen byte\0");
    let filled = bytes(local, 299, 79);
    assert!(filled[0] == 0 && filled[78] == 0 && filled[1..78].iter().all(|b| *b == 0xee));
    assert_eq!(local.ptr(299).addr() + 1, local.ptr(300).addr());
}

fn bytes_outside_are_refused_and_write_nothing<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, map, .. } = &connected(&nodes, PAGE);
    let data = [0xffu8; 16];
    for offset in [PAGE - 15, PAGE, PAGE + 1, usize::MAX, usize::MAX - 15] {
        let expected = SciError::OutOfRange {
            offset: offset as u64,
            len: 16,
            segment: PAGE as u64,
        };
        assert_eq!(error(write(map, offset, &data)), expected);
        assert_eq!(error(map.fill(offset, 0xff, 16)), expected);
    }
    assert!(map.fill(16, 0xff, usize::MAX).is_err() && map.fill(0, 0xff, PAGE + 1).is_err());
    map.barrier();
    assert!((0..PAGE).step_by(8).all(|at| word(local, at) == 0));
    write(map, PAGE - 16, &data).unwrap();
    write(map, PAGE, &[]).unwrap();
    map.barrier();
    assert_eq!(word(local, PAGE - 8), u64::MAX);
}

fn words_outside_are_bugs<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, map, .. } = &connected(&nodes, PAGE);
    let panics = |f: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
    for offset in [PAGE, PAGE - 7, 1, 4, usize::MAX, usize::MAX - 7] {
        assert!(panics(&|| map.publish(offset, 1)), "publish at {offset:#x}");
        assert!(panics(&|| map.store(offset, &[1])), "store at {offset:#x}");
        assert!(
            panics(&|| map.packet(offset, 1, &[])),
            "packet at {offset:#x}"
        );
        assert!(panics(&|| _ = local.word(offset)), "word at {offset:#x}");
    }
    assert!(panics(&|| map.publish32(PAGE, 1)) && panics(&|| map.publish32(2, 1)));
    assert!(panics(&|| map.packet(8, 1, &[])) && panics(&|| map.packet(PAGE - 8, 1, &[])));
    assert!(panics(&|| map.packet(0, 1, &[0; 8])));
    assert!(panics(&|| map.store(PAGE - 8, &[1, 2])));
    assert!(panics(&|| _ = local.ptr(PAGE)));
    map.barrier();
    assert!(
        (0..PAGE).step_by(8).all(|at| word(local, at) == 0),
        "a refused store stores nothing"
    );
}

fn dma_takes_only_what_hardware_takes<A: Adapter>(nodes: [A; 2]) {
    let Pair {
        local, remote, map, ..
    } = &connected(&nodes, PAGE);
    let queue = nodes[1].dma_queue(4).unwrap();
    let need = nodes[1].properties().dma_alignment;
    assert!(need.is_power_of_two() && nodes[1].properties().dma_min <= 64 && need <= 64);
    let source = vec![u64::MAX; 2 * PAGE / 8];
    let start = source.as_ptr().cast::<u8>();
    // SAFETY: every range that could be accepted lies in `source`.
    let enqueue = |skew: usize, offset, len| unsafe {
        queue.enqueue(start.wrapping_add(skew), remote, offset, len)
    };
    for (skew, offset, len) in [(1, 0, 64), (0, 4, 64), (0, 0, 65), (7, 3, 61), (4, 0, 64)] {
        let source = start.addr() + skew;
        assert_eq!(
            error(enqueue(skew, offset, len)),
            SciError::DmaMisaligned {
                source,
                offset,
                len,
                need
            }
        );
    }
    let size = PAGE as u64;
    for (offset, len) in [
        (PAGE, 64),
        (PAGE - 64, 128),
        (0, PAGE + 64),
        (usize::MAX - 63, 64),
    ] {
        let expected = SciError::OutOfRange {
            offset: offset as u64,
            len: len as u64,
            segment: size,
        };
        assert_eq!(error(enqueue(0, offset, len)), expected);
    }
    assert!(matches!(
        error(enqueue(0, 0, 0)),
        SciError::DmaTooShort { len: 0, .. }
    ));
    assert_eq!(
        error(nodes[1].dma_queue(0).and_then(|none| {
            // SAFETY: 64 bytes of `source`.
            unsafe { none.enqueue(start, remote, 0, 64) }
        })),
        SciError::QueueFull { depth: 0 }
    );
    map.barrier();
    assert!(
        (0..PAGE).step_by(8).all(|at| word(local, at) == 0),
        "an error writes nothing"
    );
}

fn dma_transfers_finish_in_order<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, remote, .. } = &connected(&nodes, PAGE);
    let queue = nodes[1].dma_queue(8).unwrap();
    let sources: Vec<Vec<u64>> = (1..5).map(|n| vec![n; 1024]).collect();
    let mut last = DmaTicket(0);
    for source in &sources {
        // SAFETY: `sources` outlives the waits below.
        let ticket = unsafe { queue.enqueue(source.as_ptr().cast(), remote, 64, 8192) }.unwrap();
        assert!(ticket > last);
        last = ticket;
    }
    assert_eq!(queue.wait(last, SOON), Ok(DmaState::Done));
    assert_eq!(queue.poll(last), DmaState::Done);
    assert_eq!(queue.poll(DmaTicket(1)), DmaState::Done, "earlier ones too");
    assert_eq!(
        (
            word(local, 56),
            word(local, 64),
            word(local, 8248),
            word(local, 8256)
        ),
        (0, 4, 4, 0)
    );
    let never = DmaTicket(last.0 + 1);
    assert_eq!(queue.poll(never), DmaState::Pending);
    assert_eq!(
        queue.wait(never, Duration::from_millis(2)),
        Err(SciError::TimedOut)
    );
    queue.abort();
    assert_eq!(queue.poll(last), DmaState::Done, "what is done stays done");
}

fn a_published_word_follows_what_a_barrier_ordered<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, map, .. } = connected(&nodes, PAGE);
    const LAPS: u64 = 2000;
    thread::scope(|scope| {
        scope.spawn(move || {
            for lap in 1..=LAPS {
                map.store(1024 + (lap as usize % 8) * 64, &[lap; 8]);
                map.barrier();
                map.publish(0, lap);
            }
            map.barrier();
        });
        let mut seen = 0;
        while seen < LAPS {
            let now = word(&local, 0);
            assert!(now >= seen);
            seen = now;
            if seen > 0 {
                let line = 1024 + (seen as usize % 8) * 64;
                // Relaxed: ordered by the Acquire in `word`.
                let payload = local.word(line + 56).load(Ordering::Relaxed);
                assert!(payload >= seen, "lap {seen}: payload {payload}");
            }
            thread::yield_now();
        }
    });
}

fn an_interrupt_times_out<A: Adapter>([a, b]: [A; 2]) {
    let own = a.interrupt().unwrap();
    let peer = b.connect_interrupt(a.node()).unwrap();
    peer.trigger_if_armed(); // nobody is armed: nothing happens
    own.arm();
    assert!(!own.wait(Duration::ZERO));
    assert!(!own.wait(Duration::from_millis(1)));
    own.disarm();
    own.disarm(); // not armed: harmless
    peer.trigger_if_armed();
    own.arm();
    assert!(!own.wait(Duration::from_millis(1)));
    own.disarm();
}

fn a_trigger_after_arm_is_not_lost<A: Adapter>([a, b]: [A; 2]) {
    let own = a.interrupt().unwrap();
    let other = b.interrupt().unwrap();
    let peer = b.connect_interrupt(a.node()).unwrap();
    own.arm();
    other.arm();
    peer.trigger_if_armed();
    peer.trigger();
    assert!(own.wait(SOON));
    assert!(!own.wait(Duration::ZERO), "triggers are taken together");
    assert!(!other.wait(Duration::ZERO), "an interrupt is one node's");
    peer.trigger();
    assert!(own.wait(SOON));
    own.disarm();
    other.disarm();
}

fn one_thread_disarms_and_the_other_is_still_woken<A: Adapter>([a, b]: [A; 2]) {
    let own = a.interrupt().unwrap();
    let peer = b.connect_interrupt(a.node()).unwrap();
    let (armed, is_armed) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let own = &own;
        let sleeper = scope.spawn(move || {
            own.arm();
            armed.send(()).unwrap();
            let woken = own.wait(SOON);
            own.disarm();
            woken
        });
        is_armed.recv_timeout(SOON).unwrap();
        own.arm();
        own.disarm();
        peer.trigger_if_armed();
        assert!(sleeper.join().unwrap());
    });
}

/// Ball and return: each side sleeps until the other has published. A lost wake-up shows as a wait that times out.
fn no_wake_up_is_lost<A: Adapter>(nodes: [A; 2]) {
    const LAPS: u64 = 3000;
    let there = connected(&nodes, PAGE);
    let [a, b] = nodes;
    let back_own = b.create(ID, PAGE).unwrap();
    back_own.set_available().unwrap();
    let back = back_own.map(Placement::Anywhere).unwrap();
    let back_map = a
        .connect(b.node(), ID, SOON)
        .unwrap()
        .map(0, PAGE, Placement::Anywhere)
        .unwrap();
    let (a, b) = (Arc::new(a), Arc::new(b));
    thread::scope(|scope| {
        let peer = b.clone();
        let owner = a.clone();
        let returner = scope.spawn(move || {
            let to_peer = owner.connect_interrupt(peer.node()).unwrap();
            for lap in 1..=LAPS {
                sleep_until(&*owner, &there.local, lap);
                send(&back_map, &to_peer, lap);
            }
        });
        let to_owner = b.connect_interrupt(a.node()).unwrap();
        for lap in 1..=LAPS {
            send(&there.map, &to_owner, lap);
            sleep_until(&*b, &back, lap);
        }
        returner.join().unwrap();
    });
}

fn send(map: &impl RemoteMap, interrupt: &impl RemoteInterrupt, lap: u64) {
    map.publish(0, lap);
    // Only needed where stores are delayed; elsewhere it costs nothing and orders nothing after the publish.
    map.barrier();
    interrupt.trigger_if_armed();
}

fn sleep_until(node: &impl Adapter, local: &impl LocalMap, lap: u64) {
    let own = node.interrupt().unwrap();
    while word(local, 0) < lap {
        own.arm();
        // Relaxed: `arm` orders it; the loop's Acquire reads it again.
        if local.word(0).load(Ordering::Relaxed) < lap {
            assert!(own.wait(SOON), "the wake-up for lap {lap} was lost");
        }
        own.disarm();
    }
}

fn an_unknown_node_has_no_interrupt<A: Adapter>([a, _b]: [A; 2]) {
    let node = NodeId(2);
    assert_eq!(
        error(a.connect_interrupt(node)),
        SciError::NoSuchNode { node, nodes: 2 }
    );
}

/// The same stress, sending without fences where the system has membarrier.
#[test]
fn no_wake_up_is_lost_on_shm_without_sender_fences() {
    let nodes = shm_pair();
    nodes
        .iter()
        .for_each(|node| assert_eq!(node.agree_on_fences(), nodes[0].agree_on_fences()));
    no_wake_up_is_lost(nodes);
}
