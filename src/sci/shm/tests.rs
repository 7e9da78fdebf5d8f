//! What only shared memory has: memory that returns, windows, fences agreed upon.

#![allow(unsafe_code)] // mapped memory, system calls

use super::*;
use crate::sci::window::Window;
use crate::sci::{LocalMap, RemoteMap};
use std::os::fd::{AsFd, FromRawFd};

const SOON: Duration = Duration::from_secs(10);

/// A new job's memory file.
pub(crate) fn memory_file() -> OwnedFd {
    // SAFETY: a C string.
    let fd = unsafe { libc::memfd_create(c"sci-test".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
    // SAFETY: just opened, owned by nobody else.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A job of `nodes` in this process.
pub(crate) fn job(nodes: u32) -> Vec<Shm> {
    let file = memory_file();
    let join = |node| Shm::join(file.as_fd(), 0, nodes, NodeId(node)).expect("join");
    (0..nodes as u16).map(join).collect()
}

fn blocks(file: &OwnedFd) -> i64 {
    // SAFETY: all-zero is a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is writable.
    let result = unsafe { libc::fstat(std::os::fd::AsRawFd::as_raw_fd(file), &mut stat) };
    assert_eq!(result, 0);
    stat.st_blocks
}

#[test]
fn what_a_peer_stores_the_owner_reads() {
    let nodes = job(2);
    let own = nodes[0].create(SegmentId(1), 100).unwrap();
    own.set_available().unwrap();
    let local = own.map(Placement::Anywhere).unwrap();
    let remote = nodes[1].connect(NodeId(0), SegmentId(1), Duration::ZERO).unwrap();
    let map = remote.map(0, remote.len(), Placement::Anywhere).unwrap();
    map.packet(64, 7, &[1, 2, 3]);
    assert_eq!(local.word(64).load(Ordering::Acquire), 7);
    assert_eq!(local.word(88).load(Ordering::Relaxed), 3);
}

#[test]
fn an_extent_that_nobody_was_given_is_refused() {
    let nodes = job(2);
    let own = nodes[0].create(SegmentId(1), 8192).unwrap();
    own.set_available().unwrap();
    let entries = &nodes[0].core.fabric.record(NodeId(0)).unwrap().entries;
    let entry = entries.iter().find(|entry| entry.life.holds(SegmentId(1))).unwrap();
    let (offset, len) = entry.extent();
    let connect = || nodes[1].connect(NodeId(0), SegmentId(1), Duration::ZERO).map(drop);
    let below_zero = 0u64.wrapping_sub(4096);
    for wrong in
        [(offset, 1 << 40), (offset, len - 1), (offset + 8, len), (0, len), (offset, below_zero), (below_zero, len)]
    {
        entry.set_extent(wrong.0, wrong.1);
        assert!(matches!(connect(), Err(SciError::OutOfRange { .. })), "{wrong:x?}");
    }
    entry.set_extent(offset, len);
    assert_eq!(connect(), Ok(()));
}

#[test]
fn memory_returns_when_the_last_user_leaves() {
    let file = memory_file();
    let join = |node| Shm::join(file.as_fd(), 65536, 2, NodeId(node)).unwrap();
    let (a, b) = (join(0), join(1));
    let before = blocks(&file);
    let own = a.create(SegmentId(1), 8 << 20).unwrap();
    own.set_available().unwrap();
    own.reserve().unwrap();
    let full = blocks(&file);
    assert!(full - before >= (8 << 20) / 512);
    let remote = b.connect(NodeId(0), SegmentId(1), Duration::ZERO).unwrap();
    let map = remote.map(0, 4096, Placement::Anywhere).unwrap();
    drop(own);
    drop(remote);
    map.publish(0, 5);
    assert_eq!(blocks(&file), full, "a map is left");
    drop(map);
    assert!(blocks(&file) <= before);
    let again = a.create(SegmentId(1), 4096).unwrap();
    assert_eq!(again.map(Placement::Anywhere).unwrap().word(0).load(Ordering::Relaxed), 0);
}

#[test]
fn segments_may_be_terabytes_and_absurd_ones_are_errors() {
    let nodes = job(1);
    let own = nodes[0].create(SegmentId(1), 4 << 40).unwrap();
    let local = own.map(Placement::Anywhere).unwrap();
    local.word((4 << 40) - 8).store(9, Ordering::Relaxed);
    assert_eq!(local.word((4 << 40) - 8).load(Ordering::Relaxed), 9);
    for len in [usize::MAX, i64::MAX as usize, 1 << 63] {
        let error = nodes[0].create(SegmentId(2), len).err().expect("more than a file holds");
        assert_eq!(error, SciError::System { call: "pwrite", errno: libc::EFBIG });
    }
    assert!(nodes[0].create(SegmentId(2), 4096).is_ok(), "failures leave nothing behind");
}

#[test]
fn all_entries_can_be_used_again() {
    let nodes = job(1);
    for _ in 0..3 {
        let all: Vec<_> = (0..SEGMENTS as u32).map(|id| nodes[0].create(SegmentId(id), 64).unwrap()).collect();
        let error = nodes[0].create(SegmentId(99), 64).err().unwrap();
        assert_eq!(error, SciError::TooManySegments { limit: SEGMENTS });
        drop(all);
    }
}

#[test]
fn every_node_sees_the_window_at_the_same_address() {
    let nodes = job(2);
    let stride = 2 << 20;
    let window = (0..Window::CANDIDATES - 1).find_map(|i| Window::reserve(i, stride, 4)).expect("free");
    let own = nodes[0].create(SegmentId(1), stride).unwrap();
    own.set_available().unwrap();
    let here = window.address(2).unwrap();
    let local = own.map(Placement::At(here)).unwrap();
    assert_eq!(local.ptr(0).addr(), here);
    let remote = nodes[1].connect(NodeId(0), SegmentId(1), SOON).unwrap();
    let taken = remote.map(0, stride, Placement::At(here)).err().unwrap();
    assert_eq!(taken, SciError::BadPlacement { address: here, len: stride });
    assert!(matches!(remote.map(0, stride, Placement::At(4096)), Err(SciError::BadPlacement { .. })));
    let there = window.address(3).unwrap();
    let map = remote.map(0, stride, Placement::At(there)).unwrap();
    map.publish(8, 3);
    assert_eq!(local.word(8).load(Ordering::Acquire), 3);
    drop(map);
    assert!(maps_line_at(there).contains("---p"), "the reservation is back");
    assert!(remote.map(0, stride, Placement::At(there)).is_ok());
}

/// The line of /proc/self/maps that covers `address`.
fn maps_line_at(address: usize) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let covers = |line: &&str| {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let number = |hex| usize::from_str_radix(hex, 16).unwrap();
        (number(from)..number(to)).contains(&address)
    };
    maps.lines().find(covers).expect("no hole is left").to_string()
}

#[test]
fn membarrier_is_used_only_if_all_agree() {
    let nodes = job(2);
    let can = nodes[0].core.can_membarrier;
    assert_eq!(nodes[0].agree_on_fences(|_| true), can);
    nodes[1].set_membarrier(false);
    assert!(!nodes[0].agree_on_fences(|_| true));
    assert!(nodes[0].core.senders_fence.load(Ordering::Relaxed));
    nodes[1].set_membarrier(true);
    assert_eq!(nodes[1].agree_on_fences(|_| true), can);
}

#[test]
fn a_node_that_is_missing_forbids_fence_free_sending() {
    let file = memory_file();
    let a = Shm::join(file.as_fd(), 0, 2, NodeId(0)).unwrap();
    assert!(!a.agree_on_fences(|_| true));
    assert!(matches!(Shm::join(file.as_fd(), 0, 3, NodeId(0)), Err(SciError::LayoutMismatch { .. })));
    assert!(matches!(Shm::join(file.as_fd(), 0, 2, NodeId(2)), Err(SciError::NoSuchNode { .. })));
}

#[test]
fn segments_that_lie_side_by_side_are_one_map_and_others_have_their_own() {
    let (file, id, page) = (memory_file(), SegmentId(5), page_size());
    let nodes: Vec<_> = (0..3).map(|node| Shm::join(file.as_fd(), 0, 3, NodeId(node)).unwrap()).collect();
    // One window: a process has it once.
    let window = Window::reserve(4, 4 * page, 3).expect("free in a test process");
    nodes[1].choose_layout(&window);
    nodes.iter().for_each(|node| node.lay_out(id, Some(&window)));
    let make = |node: &Shm, len| {
        let own = node.create(id, len).unwrap();
        own.set_available().unwrap();
        own
    };
    // The last one is too long for its part, and lies elsewhere.
    let own = [make(&nodes[0], 4 * page), make(&nodes[1], page), make(&nodes[2], 5 * page)];
    let other = nodes[1].create(SegmentId(6), page).unwrap();
    let place = |node| Placement::At(window.address(node).unwrap());
    let near = own[0].map(place(0)).unwrap();
    let peer = nodes[0].connect(NodeId(1), id, Duration::ZERO).unwrap();
    let map = peer.map(0, page, place(1)).unwrap();
    assert_eq!(map.address().addr(), window.address(1).unwrap());
    let mut path = Vec::new();
    for line in std::fs::read_to_string("/proc/self/maps").unwrap().lines() {
        let start = usize::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
        path.extend(
            (window.address(0).unwrap()..window.address(2).unwrap() + 4 * page).contains(&start).then_some(start),
        );
    }
    assert_eq!(path, [window.address(0).unwrap()], "one map");
    // The owner of the second sees what is stored through that map, and nobody else's memory changes.
    let theirs = own[1].map(Placement::Anywhere).unwrap();
    map.packet(0, 9, &[]);
    assert_eq!(theirs.word(0).load(Ordering::Acquire), 9);
    assert_eq!(near.word(4 * page - 8).load(Ordering::Relaxed), 0);
    let long = nodes[0].connect(NodeId(2), id, Duration::ZERO).unwrap();
    assert!(long.map(0, 5 * page, place(2)).is_err() && long.map(0, 5 * page, Placement::Anywhere).is_ok());
    drop((near, map, peer));
    // With the map goes its hold on the window. What is made once more has places of its own.
    assert!(own[0].map(place(0)).is_ok());
    nodes[0].lay_out(id, Some(&window));
    assert!(
        nodes[0].connect(NodeId(1), id, Duration::ZERO).unwrap().map(0, page, place(1)).is_ok(),
        "by a map of its own"
    );
    drop(other);
}
