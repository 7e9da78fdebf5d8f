//! PIO and DMA: what is stored arrives, what is refused writes nothing.

#![allow(unsafe_code)] // mapped memory, system calls

use super::*;

pub(super) fn pio_stores_arrive<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, map, .. } = &connected(&nodes, PAGE);
    map.store(8, &[1, 2, 3]);
    map.packet(64, 10, &[11, 12, 13, 14, 15, 16, 17]);
    map.packet(PAGE - 64, 20, &[]);
    map.publish(128, 30);
    map.publish32(140, 40);
    map.publish32(144, 41);
    write(map, 203, b"thirteen byte").unwrap();
    map.fill(300, 0xee, 77).unwrap();
    arrive(&nodes, map);
    let words = |from: usize, count: usize| (0..count).map(|i| word(local, from + i * 8)).collect::<Vec<_>>();
    assert_eq!(words(0, 5), [0, 1, 2, 3, 0]);
    assert_eq!(words(64, 9), [10, 11, 12, 13, 14, 15, 16, 17, 30]);
    assert_eq!(words(PAGE - 64, 2), [20, 0]);
    assert_eq!(bytes(local, 136, 12), [[0; 4], 40u32.to_ne_bytes(), 41u32.to_ne_bytes()].concat());
    assert_eq!(bytes(local, 202, 15), b"\0thirteen byte\0");
    let filled = bytes(local, 299, 79);
    assert!(filled[0] == 0 && filled[78] == 0 && filled[1..78].iter().all(|b| *b == 0xee));
    assert_eq!(local.ptr(299).addr() + 1, local.ptr(300).addr());
}

pub(super) fn a_claim_changes_at_most_the_last_word_of_its_line<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, map, .. } = &connected(&nodes, PAGE);
    for line in [0, 64, 128] {
        map.packet(line, 10, &[11, 12, 13, 14, 15, 16, 17]);
    }
    map.claim_by_prefetch(64);
    map.claim_by_store(64);
    arrive(&nodes, map);
    let words = |from: usize, count: usize| (0..count).map(|i| word(local, from + i * 8)).collect::<Vec<_>>();
    let whole: Vec<u64> = (10..18).collect();
    assert_eq!([words(0, 8), words(128, 8)], [whole.clone(), whole.clone()]);
    assert_eq!(words(64, 7), whole[..7]);
    // The next message is there whole, all the same.
    map.packet(64, 20, &[21, 22, 23, 24, 25, 26, 27]);
    arrive(&nodes, map);
    assert_eq!(words(64, 8), (20..28).collect::<Vec<_>>());
}

pub(super) fn bytes_outside_are_refused_and_write_nothing<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, map, .. } = &connected(&nodes, PAGE);
    let data = [0xffu8; 16];
    for offset in [PAGE - 15, PAGE, PAGE + 1, usize::MAX, usize::MAX - 15] {
        let expected = SciError::OutOfRange { offset: offset as u64, len: 16, segment: PAGE as u64 };
        assert_eq!(error(write(map, offset, &data)), expected);
        assert_eq!(error(map.fill(offset, 0xff, 16)), expected);
    }
    assert!(map.fill(16, 0xff, usize::MAX).is_err() && map.fill(0, 0xff, PAGE + 1).is_err());
    arrive(&nodes, map);
    assert!((0..PAGE).step_by(8).all(|at| word(local, at) == 0));
    write(map, PAGE - 16, &data).unwrap();
    write(map, PAGE, &[]).unwrap();
    arrive(&nodes, map);
    assert_eq!(word(local, PAGE - 8), u64::MAX);
}

pub(super) fn words_outside_are_bugs<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, map, .. } = &connected(&nodes, PAGE);
    let panics = |f: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
    for offset in [PAGE, PAGE - 7, 1, 4, usize::MAX, usize::MAX - 7] {
        assert!(panics(&|| map.publish(offset, 1)), "publish at {offset:#x}");
        assert!(panics(&|| map.store(offset, &[1])), "store at {offset:#x}");
        assert!(panics(&|| map.packet(offset, 1, &[])), "packet at {offset:#x}");
        assert!(panics(&|| _ = local.word(offset)), "word at {offset:#x}");
    }
    assert!(panics(&|| map.publish32(PAGE, 1)) && panics(&|| map.publish32(2, 1)));
    assert!(panics(&|| map.packet(8, 1, &[])) && panics(&|| map.packet(PAGE - 8, 1, &[])));
    assert!(panics(&|| map.packet(0, 1, &[0; 8])));
    assert!(panics(&|| map.store(PAGE - 8, &[1, 2])));
    assert!(panics(&|| _ = local.ptr(PAGE)));
    arrive(&nodes, map);
    assert!((0..PAGE).step_by(8).all(|at| word(local, at) == 0), "a refused store stores nothing");
}

pub(super) fn dma_takes_only_what_hardware_takes<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, remote, map, .. } = &connected(&nodes, PAGE);
    let queue = nodes[1].dma_queue(4).unwrap();
    let need = nodes[1].properties().dma_alignment;
    assert!(need.is_power_of_two() && nodes[1].properties().dma_min <= 64 && need <= 64);
    let source = vec![u64::MAX; 2 * PAGE / 8];
    let start = source.as_ptr().cast::<u8>();
    // SAFETY: every range that could be accepted lies in `source`.
    let enqueue = |skew: usize, offset, len| unsafe { queue.enqueue(start.wrapping_add(skew), remote, offset, len) };
    for (skew, offset, len) in [(1, 0, 64), (0, 4, 64), (0, 0, 65), (7, 3, 61), (4, 0, 64)] {
        let source = start.addr() + skew;
        assert_eq!(error(enqueue(skew, offset, len)), SciError::DmaMisaligned { source, offset, len, need });
    }
    let size = PAGE as u64;
    for (offset, len) in [(PAGE, 64), (PAGE - 64, 128), (0, PAGE + 64), (usize::MAX - 63, 64)] {
        let expected = SciError::OutOfRange { offset: offset as u64, len: len as u64, segment: size };
        assert_eq!(error(enqueue(0, offset, len)), expected);
    }
    assert!(matches!(error(enqueue(0, 0, 0)), SciError::DmaTooShort { len: 0, .. }));
    assert_eq!(
        error(nodes[1].dma_queue(0).and_then(|none| {
            // SAFETY: 64 bytes of `source`.
            unsafe { none.enqueue(start, remote, 0, 64) }
        })),
        SciError::QueueFull { depth: 0 }
    );
    arrive(&nodes, map);
    assert!((0..PAGE).step_by(8).all(|at| word(local, at) == 0), "an error writes nothing");
}

pub(super) fn dma_transfers_finish_in_order<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, remote, map, .. } = &connected(&nodes, PAGE);
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
    arrive(&nodes, map);
    assert_eq!((word(local, 56), word(local, 64), word(local, 8248), word(local, 8256)), (0, 4, 4, 0));
    let never = DmaTicket(last.0 + 1);
    assert_eq!(queue.poll(never), DmaState::Pending);
    assert_eq!(queue.wait(never, Duration::from_millis(2)), Err(SciError::TimedOut));
    queue.abort();
    assert_eq!(queue.poll(last), DmaState::Done, "what is done stays done");
}

pub(super) fn a_published_word_follows_what_a_barrier_ordered<A: Adapter>(nodes: [A; 2]) {
    let Pair { local, map, .. } = connected(&nodes, PAGE);
    let [a, b] = &nodes;
    let peer = b.connect_interrupt(a.node()).unwrap();
    const LAPS: u64 = 2000;
    thread::scope(|scope| {
        scope.spawn(move || {
            for lap in 1..=LAPS {
                map.store(1024 + (lap as usize % 8) * 64, &[lap; 8]);
                map.barrier();
                map.publish(0, lap);
                if b.wants_polls() {
                    peer.stored();
                }
            }
            map.barrier();
        });
        let mut seen = 0;
        while seen < LAPS {
            if b.wants_polls() {
                b.progress(Effort::Thorough);
                a.progress(Effort::Thorough);
            }
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
