//! Interrupts: timeouts, and no wake-up lost.

use super::*;
use crate::sync::AtomicU64;
use std::sync::Arc;

pub(super) fn an_interrupt_times_out<A: Adapter>([a, b]: [A; 2]) {
    let own = a.interrupt().unwrap();
    let peer = b.connect_interrupt(a.node()).unwrap();
    peer.stored(); // nobody is armed: nothing happens
    own.arm();
    assert!(!own.wait(Duration::ZERO));
    assert!(!own.wait(Duration::from_millis(1)));
    own.disarm();
    own.disarm(); // not armed: harmless
    peer.stored();
    own.arm();
    assert!(!own.wait(Duration::from_millis(1)));
    own.disarm();
}

pub(super) fn a_trigger_after_arm_is_not_lost<A: Adapter>([a, b]: [A; 2]) {
    let own = a.interrupt().unwrap();
    let other = b.interrupt().unwrap();
    let peer = b.connect_interrupt(a.node()).unwrap();
    own.arm();
    other.arm();
    peer.stored();
    peer.trigger();
    assert!(own.wait(SOON));
    assert!(!own.wait(Duration::ZERO), "triggers are taken together");
    assert!(!other.wait(Duration::ZERO), "an interrupt is one node's");
    peer.trigger();
    assert!(own.wait(SOON));
    own.disarm();
    other.disarm();
}

pub(super) fn one_thread_disarms_and_the_other_is_still_woken<A: Adapter>([a, b]: [A; 2]) {
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
        peer.stored();
        assert!(sleeper.join().unwrap());
    });
}

pub(super) fn a_thread_in_a_berth_is_called_or_its_node_is_triggered<A: Adapter>([a, b]: [A; 2]) {
    let own = a.interrupt().unwrap();
    let (peer, home) = (b.connect_interrupt(a.node()).unwrap(), a.connect_interrupt(a.node()).unwrap());
    let all = || (1..).map_while(|what| own.take_berth(what)).collect::<Vec<_>>();
    let leave = |berths: Vec<Berth>| assert!(berths.iter().all(|berth| !own.leave_berth(berth)), "nobody has called");
    let berths = all();
    let count = berths.len();
    leave(berths);
    peer.stored_for(5); // nobody is armed: nothing happens
    own.arm();
    for what in [0, 5] {
        (0..2 * count).for_each(|_| peer.stored_for(what));
        assert!(own.wait(SOON), "the node, as no thread is meant");
        own.disarm();
        own.arm();
        let berths = all();
        assert_eq!(berths.len(), count, "calls that meant nobody take no berths");
        leave(berths);
    }
    if let (Some(first), Some(second)) = (own.take_berth(5), own.take_berth(6)) {
        peer.stored_for(6);
        let start = std::time::Instant::now();
        own.sleep_in(&second, SOON);
        let called = own.leave_berth(&second);
        assert!(called || own.wait(Duration::from_millis(1)), "one of the two is woken");
        assert!(!called || start.elapsed() < SOON);
        home.call(&first);
        own.sleep_in(&first, SOON);
        assert!(start.elapsed() < 2 * SOON);
        assert!(!own.leave_berth(&first), "that was no peer");
    }
    own.disarm();
}

/// Ball and return: each side sleeps until the other has published. A lost wake-up shows as a wait that times out.
pub(super) fn no_wake_up_is_lost<A: Adapter>(nodes: [A; 2]) {
    const LAPS: u64 = 3000;
    let there = connected(&nodes, PAGE);
    let [a, b] = nodes;
    let back_own = b.create(ID, PAGE).unwrap();
    back_own.set_available().unwrap();
    let back = back_own.map(Placement::Anywhere).unwrap();
    let back_map = a.connect(b.node(), ID, SOON).unwrap().map(0, PAGE, Placement::Anywhere).unwrap();
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
    interrupt.stored();
}

fn sleep_until(node: &impl Adapter, local: &impl LocalMap, lap: u64) {
    let own = node.interrupt().unwrap();
    while word(local, 0) < lap {
        own.arm();
        if node.wants_polls() {
            node.progress(Effort::Thorough);
        }
        // Relaxed: `arm` orders it; the loop's Acquire reads it again.
        if local.word(0).load(Ordering::Relaxed) < lap {
            let prompt = own.wait(own.settling());
            // Relaxed: as above.
            if !prompt && local.word(0).load(Ordering::Relaxed) < lap {
                assert!(own.wait(SOON), "the wake-up for lap {lap} was lost");
            }
        }
        own.disarm();
    }
}

pub(super) fn an_unknown_node_has_no_interrupt<A: Adapter>([a, _b]: [A; 2]) {
    let node = NodeId(2);
    assert_eq!(error(a.connect_interrupt(node)), SciError::NoSuchNode { node, nodes: 2 });
}

/// The race at the head of interrupt.rs, alone: both sides start together, lap after lap. Afterwards the sleeper has seen
/// the news, or has been triggered; or sees it when the interrupt has settled (rule 4).
pub(super) fn the_sleeper_looks_or_is_triggered<A: Adapter>(nodes: [A; 2]) {
    let laps = 20_000;
    let Pair { local, map, .. } = connected(&nodes, PAGE);
    let [a, b] = nodes;
    let own = a.interrupt().unwrap();
    let peer = b.connect_interrupt(a.node()).unwrap();
    let (started, sent) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            for lap in 1..=laps {
                meet(&started, lap);
                send(&map, &peer, lap);
                // ORDERING: Release ↔ Acquire in `meet`: the trigger has happened or will not.
                sent.store(lap, Ordering::Release);
            }
        });
        for lap in 1..=laps {
            // ORDERING: Release ↔ Acquire in `meet`.
            started.store(lap, Ordering::Release);
            (0..lap % 64).for_each(|_| std::hint::spin_loop());
            own.arm();
            // Relaxed: the fences of `arm` and `stored` are what is tested.
            let seen = local.word(0).load(Ordering::Relaxed) == lap;
            meet(&sent, lap);
            if !own.wait(Duration::ZERO) && !seen {
                assert!(!own.settling().is_zero(), "lap {lap} was lost");
                assert!(!own.wait(own.settling()), "nobody sends any more");
                // Relaxed: as above.
                assert_eq!(local.word(0).load(Ordering::Relaxed), lap, "lap {lap} was lost");
            }
            own.disarm();
        }
    });
}

/// Waits until `word` is `lap`.
fn meet(word: &AtomicU64, lap: u64) {
    let end = std::time::Instant::now() + SOON;
    let mut looks = 0u32;
    // ORDERING: Acquire ↔ Release where it is stored.
    while word.load(Ordering::Acquire) != lap {
        looks += 1;
        if looks.is_multiple_of(1024) {
            assert!(std::time::Instant::now() < end, "the other side never came to lap {lap}");
            thread::yield_now();
        }
    }
}

#[test]
fn the_sleeper_looks_or_is_triggered_on_shm_without_sender_fences() {
    let nodes = shm_pair();
    nodes.iter().for_each(|node| _ = node.agree_on_fences(|_| true));
    the_sleeper_looks_or_is_triggered(nodes);
}

/// The same stress, sending without fences where the system has membarrier.
#[test]
fn no_wake_up_is_lost_on_shm_without_sender_fences() {
    let nodes = shm_pair();
    nodes.iter().for_each(|node| assert_eq!(node.agree_on_fences(|_| true), nodes[0].agree_on_fences(|_| true)));
    no_wake_up_is_lost(nodes);
}

/// membarrier(2) worked when the job agreed on fences, and fails later: the sleeper fences alone.
#[test]
fn the_sleeper_looks_or_is_triggered_on_shm_when_membarrier_fails_at_run_time() {
    let nodes = shm_pair();
    nodes.iter().for_each(|node| _ = node.agree_on_fences(|_| true));
    nodes[0].set_membarrier(false);
    the_sleeper_looks_or_is_triggered(nodes);
}
