//! The shared-memory adapter across real processes: the test starts itself again as the peer.
//!
//! Without its variable the peer's test is a job of one, which runs both roles against itself.

#![allow(unsafe_code)] // as clients call

use gasnet_sci::sci::shm::Shm;
use gasnet_sci::sci::*;
use gasnet_sci::sync::Ordering;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);
const VARIABLE: &str = "SCI_PROCESSES_TEST";
const INBOX: SegmentId = SegmentId(1);
const LAPS: u64 = 2000;
const LEN: usize = 1 << 20;

/// A memory file that child processes inherit.
fn memory_file() -> OwnedFd {
    // SAFETY: a C string.
    let fd = unsafe { libc::memfd_create(c"sci-processes".as_ptr(), 0) };
    assert!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
    // SAFETY: just opened, owned by nobody else.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A node with its inbox, and its connection to the other's.
struct Node {
    shm: Shm,
    inbox: <Shm as Adapter>::Local,
    outbox: <Shm as Adapter>::RemoteSegment,
    own: <Shm as Adapter>::Interrupt,
    peer: <Shm as Adapter>::RemoteInterrupt,
    _segment: <Shm as Adapter>::LocalSegment,
}

impl Node {
    fn join(fd: BorrowedFd<'_>, nodes: u32, me: u16, other: u16) -> Node {
        let shm = Shm::join(fd, 4096, nodes, NodeId(me)).unwrap();
        let segment = shm.create(INBOX, LEN).unwrap();
        let inbox = segment.map(Placement::Anywhere).unwrap();
        segment.set_available().unwrap();
        // The other side may still be starting. Once connected, it has joined: the job can agree on fences.
        let outbox = shm.connect(NodeId(other), INBOX, SOON).unwrap();
        shm.agree_on_fences(|_| true);
        let (own, peer) = (shm.interrupt().unwrap(), shm.connect_interrupt(NodeId(other)).unwrap());
        Node { shm, inbox, outbox, own, peer, _segment: segment }
    }

    fn send(&self, map: &<Shm as Adapter>::Remote, lap: u64) {
        map.store(4096, &[lap; 16]);
        map.barrier();
        map.publish(0, lap);
        self.peer.stored();
    }

    /// Sleeps until `lap` has come, and checks what came before it.
    fn receive(&self, lap: u64) {
        let end = Instant::now() + SOON;
        // ORDERING: Acquire ↔ the peer's publish.
        while self.inbox.word(0).load(Ordering::Acquire) < lap {
            assert!(Instant::now() < end, "lap {lap} never came");
            self.own.arm();
            // Relaxed: read again above.
            if self.inbox.word(0).load(Ordering::Relaxed) < lap {
                let prompt = self.own.wait(self.own.settling());
                // Relaxed: as above.
                if !prompt && self.inbox.word(0).load(Ordering::Relaxed) < lap {
                    assert!(self.own.wait(SOON), "the wake-up for lap {lap} was lost");
                }
            }
            self.own.disarm();
        }
        // Relaxed: ordered by the Acquire above.
        (4096..4224).step_by(8).for_each(|at| assert_eq!(self.inbox.word(at).load(Ordering::Relaxed), lap));
    }

    /// A block by DMA whose every word tells its place, then the flag at word 1.
    fn send_block(&self) {
        let map = self.outbox.map(0, LEN, Placement::Anywhere).unwrap();
        let source: Vec<u64> = (0..LEN as u64 / 16).map(|i| i ^ 0x5a5a).collect();
        let queue = self.shm.dma_queue(1).unwrap();
        // SAFETY: `source` outlives the wait.
        let ticket = unsafe { queue.enqueue(source.as_ptr().cast(), &self.outbox, LEN / 2, LEN / 2) }.unwrap();
        assert_eq!(queue.wait(ticket, SOON), Ok(DmaState::Done));
        map.publish(8, 1);
    }

    fn check_block(&self) {
        let end = Instant::now() + SOON;
        // ORDERING: Acquire ↔ the peer's publish.
        while self.inbox.word(8).load(Ordering::Acquire) == 0 {
            assert!(Instant::now() < end, "the block never came");
            std::thread::yield_now();
        }
        for i in 0..LEN as u64 / 16 {
            // Relaxed: ordered by the Acquire above.
            let word = self.inbox.word(LEN / 2 + i as usize * 8).load(Ordering::Relaxed);
            assert_eq!(word, i ^ 0x5a5a, "word {i}");
        }
    }
}

fn start_peer(file: &OwnedFd) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_peer", "--nocapture"]);
    command.env(VARIABLE, file.as_raw_fd().to_string());
    command.spawn().unwrap()
}

/// Waits for it, but not for ever.
fn finish(mut child: Child) {
    let end = Instant::now() + SOON;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "the peer: {status}");
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    panic!("the peer did not end");
}

#[test]
fn two_processes_exchange_words_blocks_and_wake_ups() {
    let file = memory_file();
    let child = start_peer(&file);
    let node = Node::join(file.as_fd(), 2, 0, 1);
    let map = node.outbox.map(0, LEN, Placement::Anywhere).unwrap();
    for lap in 1..=LAPS {
        node.send(&map, lap);
        node.receive(lap);
    }
    node.send_block();
    node.check_block();
    finish(child);
}

#[test]
#[allow(clippy::disallowed_methods)] // the test's own variable
fn the_peer() {
    match std::env::var(VARIABLE) {
        Ok(number) => {
            // SAFETY: the parent passed an open descriptor of that number, which nobody here closes.
            let fd = unsafe { BorrowedFd::borrow_raw(number.parse().unwrap()) };
            let node = Node::join(fd, 2, 1, 0);
            let map = node.outbox.map(0, LEN, Placement::Anywhere).unwrap();
            for lap in 1..=LAPS {
                node.receive(lap);
                node.send(&map, lap);
            }
            node.send_block();
            node.check_block();
        }
        Err(_) => {
            let node = Node::join(memory_file().as_fd(), 1, 0, 0);
            let map = node.outbox.map(0, LEN, Placement::Anywhere).unwrap();
            node.send(&map, 1);
            node.receive(1);
            node.send_block();
            node.check_block();
        }
    }
}

/// RLIMIT_FSIZE is the whole process's, so a child takes it; beyond it SIGXFSZ would kill.
#[test]
#[allow(clippy::disallowed_methods)] // the test's own variable
fn a_file_size_limit_is_an_error_and_no_signal() {
    if std::env::var(VARIABLE).is_err() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "a_file_size_limit_is_an_error_and_no_signal"]);
        return finish(command.env(VARIABLE, "limit").spawn().unwrap());
    }
    let limit = libc::rlimit { rlim_cur: 8 << 20, rlim_max: 8 << 20 };
    // SAFETY: `limit` is readable.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
    let shm = Shm::join(memory_file().as_fd(), 0, 1, NodeId(0)).unwrap();
    let refused = shm.create(INBOX, 16 << 20).err();
    assert_eq!(refused, Some(SciError::System { call: "pwrite", errno: libc::EFBIG }));
    assert!(shm.create(INBOX, 1 << 20).is_ok(), "the failure took no room");
}
