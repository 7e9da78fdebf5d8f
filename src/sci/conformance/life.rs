//! Life cycle: create, make available, connect, map, and back, with every error on the way.

use super::*;

pub(super) fn a_segment_lives_from_create_to_remove<A: Adapter>(nodes: [A; 2]) {
    let [a, b] = &nodes;
    for lap in 1..4 {
        let own = a.create(ID, 100).unwrap();
        assert!(own.len() >= 100 && !own.is_empty());
        assert_eq!(error(a.create(ID, 100)), SciError::SegmentExists { id: ID });
        let twin = b.create(ID, 100).unwrap(); // ids are per node
        own.reserve().unwrap();
        own.set_available().unwrap();
        let local = own.map(Placement::Anywhere).unwrap();
        assert_eq!((local.len(), word(&local, 0)), (own.len(), 0), "lap {lap}: memory is new");
        let remote = b.connect(a.node(), ID, Duration::ZERO).unwrap();
        assert_eq!(remote.len(), own.len());
        let map = remote.map(0, remote.len(), Placement::Anywhere).unwrap();
        map.publish(0, lap);
        arrive(&nodes, &map);
        assert_eq!(word(&local, 0), lap);
        drop((map, remote, local));
        own.remove().unwrap();
        assert_eq!(error(b.connect(a.node(), ID, Duration::ZERO)), SciError::NoSuchSegment { node: a.node(), id: ID });
        let gone = SciError::NoSuchSegment { node: a.node(), id: ID };
        assert_eq!(error(own.map(Placement::Anywhere)), gone);
        assert_eq!(error(own.set_available()), gone);
        assert_eq!(error(own.set_unavailable()), gone);
        assert_eq!(error(own.reserve()), gone);
        assert_eq!(error(own.remove()), gone);
        drop(twin);
    }
}

pub(super) fn what_is_not_there_cannot_be_connected<A: Adapter>([a, b]: [A; 2]) {
    let nobody = NodeId(2);
    assert_eq!(error(b.connect(nobody, ID, SOON)), SciError::NoSuchNode { node: nobody, nodes: 2 });
    let far = NodeId(u16::MAX);
    assert_eq!(error(b.connect(far, ID, SOON)), SciError::NoSuchNode { node: far, nodes: 2 });
    assert_eq!(error(b.connect(a.node(), ID, Duration::ZERO)), SciError::NoSuchSegment { node: a.node(), id: ID });
    let timeout = Duration::from_millis(3);
    assert_eq!(error(b.connect(a.node(), ID, timeout)), SciError::NoSuchSegment { node: a.node(), id: ID });
    let own = a.create(ID, 64).unwrap();
    assert_eq!(error(b.connect(a.node(), ID, Duration::ZERO)), SciError::NotAvailable { node: a.node(), id: ID });
    assert_eq!(error(b.connect(a.node(), ID, timeout)), SciError::NotAvailable { node: a.node(), id: ID });
    own.set_available().unwrap();
    assert!(b.connect(a.node(), ID, Duration::ZERO).is_ok());
    assert!(a.connect(a.node(), ID, Duration::ZERO).is_ok(), "a node can connect to itself");
    drop(own);
    assert_eq!(error(b.connect(a.node(), ID, Duration::ZERO)), SciError::NoSuchSegment { node: a.node(), id: ID });
}

pub(super) fn availability_can_be_withdrawn<A: Adapter>(nodes: [A; 2]) {
    let pair = connected(&nodes, 64);
    pair.own.set_unavailable().unwrap();
    let [a, b] = &nodes;
    assert_eq!(error(b.connect(a.node(), ID, Duration::ZERO)), SciError::NotAvailable { node: a.node(), id: ID });
    pair.map.publish(8, 5);
    arrive(&nodes, &pair.map);
    assert_eq!(word(&pair.local, 8), 5, "connections that exist stay");
    assert!(pair.remote.map(0, 64, Placement::Anywhere).is_ok());
    pair.own.set_available().unwrap();
    pair.own.set_available().unwrap();
    assert!(b.connect(a.node(), ID, Duration::ZERO).is_ok());
}

pub(super) fn connecting_waits_for_availability<A: Adapter>([a, b]: [A; 2]) {
    thread::scope(|scope| {
        let owner = a.node();
        let waiter = scope.spawn(move || b.connect(owner, ID, SOON).map(|remote| remote.len()));
        let own = a.create(ID, 64).unwrap();
        thread::sleep(Duration::from_millis(2));
        own.set_available().unwrap();
        assert_eq!(waiter.join().unwrap(), Ok(own.len()));
    });
}

pub(super) fn maps_outside_are_refused<A: Adapter>(nodes: [A; 2]) {
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
        let expected = SciError::OutOfRange { offset: offset as u64, len: len as u64, segment: size as u64 };
        assert_eq!(error(pair.remote.map(offset, len, Placement::Anywhere)), expected);
    }
    assert!(matches!(error(pair.remote.map(8, 8, Placement::Anywhere)), SciError::Misaligned { offset: 8, .. }));
    for address in [0, 4096, PAGE + 1, usize::MAX] {
        let result = pair.remote.map(0, PAGE, Placement::At(address));
        assert_eq!(error(result), SciError::BadPlacement { address, len: PAGE });
    }
    let upper = pair.remote.map(PAGE, PAGE, Placement::Anywhere).unwrap();
    upper.publish(PAGE - 8, 4);
    arrive(&nodes, &upper);
    assert_eq!(word(&pair.local, size - 8), 4);
    assert!(pair.remote.map(size, 0, Placement::Anywhere).unwrap().is_empty());
}

pub(super) fn empty_segments_are_segments<A: Adapter>(nodes: [A; 2]) {
    let pair = connected(&nodes, 0);
    assert!(pair.own.is_empty() && pair.local.is_empty() && pair.remote.is_empty() && pair.map.is_empty());
    assert_eq!(write(&pair.map, 0, &[]), Ok(()));
    assert!(write(&pair.map, 0, &[1]).is_err());
    pair.own.reserve().unwrap();
}

pub(super) fn a_used_segment_is_busy<A: Adapter>(nodes: [A; 2]) {
    let Pair { own, local, remote, map } = connected(&nodes, 64);
    assert_eq!(error(own.remove()), SciError::Busy { id: ID, users: 1 }, "mapped here");
    drop(local);
    assert_eq!(error(own.remove()), SciError::Busy { id: ID, users: 1 }, "connected");
    drop(remote);
    assert_eq!(error(own.remove()), SciError::Busy { id: ID, users: 1 }, "mapped there");
    drop(map);
    own.remove().unwrap();
}

pub(super) fn maps_outlive_their_segment<A: Adapter>(nodes: [A; 2]) {
    let Pair { own, local, remote, map } = connected(&nodes, 64);
    drop(own);
    let [a, b] = &nodes;
    assert!(b.connect(a.node(), ID, Duration::ZERO).is_err());
    let again = a.create(ID, 64).unwrap();
    let fresh = again.map(Placement::Anywhere).unwrap();
    drop(remote);
    map.publish(0, 9);
    arrive(&nodes, &map);
    assert_eq!((word(&local, 0), word(&fresh, 0)), (9, 0), "the old and the new segment share nothing");
}
