//! Segments of which both sides are the test.

use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socketpair};

use super::*;
use crate::name::wait_readable;

/// A segment that nobody has connected to yet.
fn segment() -> Arc<RemoteSegment> {
    Arc::new(RemoteSegment {
        owned: Owned::alone(Kind::RemoteSegment),
        place: 0,
        id: 1,
        node: 8,
        adapter: 0,
        body: Body::default(),
        shadow: OnceLock::new(),
        making: Mutex::default(),
        targets: OnceLock::new(),
        ends: Mutex::default(),
        events: Events::new(None),
    })
}

#[test]
fn a_segment_that_was_not_connected_wholly_leaves_no_connection() {
    let segment = segment();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (own, owner) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    segment.add(Way::Near(own), 8).unwrap();
    drop(segment);
    wait_readable(&owner, deadline(5000)).unwrap();
    assert_eq!(recv(&owner, &mut [0; 8], RecvFlags::empty()).map(|(count, _)| count), Ok(0));
}

#[test]
fn threads_that_map_a_segment_at_once_are_shown_its_news() {
    use crate::memory::page;
    use crate::net::say::{Said, frame};
    use std::{hint, io::Write, sync::atomic::AtomicU32, thread};
    for round in 1..=100_u64 {
        let (segment, (line, mut owner)) = (segment(), net::with_owner());
        segment.body.set_size(page());
        segment.reach(|| Targets::owner(line.clone()));
        let arrived = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    // By spinning, so that both go on at the same time.
                    arrived.fetch_add(1, Ordering::Relaxed);
                    while arrived.load(Ordering::Relaxed) < 2 {
                        hint::spin_loop();
                    }
                    segment.shadow().unwrap().unwrap();
                });
            }
        });
        let mut news = Vec::new();
        frame(&Said::News { after: 0, pieces: vec![(0, 8)] }, &round.to_ne_bytes(), &mut news).unwrap();
        owner.write_all(&news).unwrap();
        line.look();
        let memory = &segment.shadow().unwrap().unwrap().memory;
        let map = memory.map(0, page(), std::ptr::null_mut(), false).unwrap();
        // SAFETY: the map has it.
        #[expect(unsafe_code, reason = "what a program would load")]
        let shown = unsafe { map.base.cast::<u64>().read_volatile() };
        assert!(shown == round || cfg!(feature = "odd"), "{shown} instead of {round}");
    }
}
