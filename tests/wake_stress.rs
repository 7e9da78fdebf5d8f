//! The race of a sleeper with a sender that does not fence (rules at the head of src/sci/interrupt.rs), lap after lap,
//! between threads and between processes, with membarrier(2) and as if it failed at run time.
//!
//! `WAKE_STRESS_LAPS` (20,000): laps of each test. `WAKE_STRESS_BUSY` (0): threads that compute beside. A soak runs
//! `WAKE_STRESS_LAPS=50000000 cargo test --release --test wake_stress -- --nocapture --test-threads 1`, with 0 and with as
//! many busy threads as there are cores. Each test prints a line: `late` counts the laps that only the second look saw.

#![allow(unsafe_code)] // as clients call

use gasnet_sci::sci::shm::Shm;
use gasnet_sci::sci::*;
use gasnet_sci::sync::{AtomicBool, Ordering};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(60);
const SEGMENT: SegmentId = SegmentId(1);
/// Offsets in a segment: the news (of the sleeper's) or the start of a lap (of the sender's), and the lap that was sent.
const NEWS: usize = 0;
const SENT: usize = 256;
/// Where the sender says 1 when it has agreed on fences.
const AGREED: usize = 512;
/// Descriptor of the memory file in the process that sends.
const SENDER: &str = "WAKE_STRESS_SENDER";

const SLEEPER: NodeId = NodeId(0);

#[allow(clippy::disallowed_methods)] // this test's own variables, which configure nothing of the library
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(name: &str, default: u64) -> u64 {
    variable(name).map_or(default, |text| text.parse().expect(name))
}

fn laps() -> u64 {
    number("WAKE_STRESS_LAPS", 20_000)
}

fn memory_file() -> OwnedFd {
    // SAFETY: a C string.
    let fd = unsafe { libc::memfd_create(c"wake-stress".as_ptr(), 0) };
    assert!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
    // SAFETY: just opened, owned by nobody else.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A node of two, its segment, and what it needs of the other's.
struct Node {
    shm: Shm,
    own: <Shm as Adapter>::Interrupt,
    peer: <Shm as Adapter>::RemoteInterrupt,
    local: <Shm as Adapter>::Local,
    map: <Shm as Adapter>::Remote,
    _segments: (<Shm as Adapter>::LocalSegment, <Shm as Adapter>::RemoteSegment),
}

impl Node {
    fn join(fd: BorrowedFd<'_>, me: NodeId) -> Node {
        let shm = Shm::join(fd, 4096, 2, me).unwrap();
        let segment = shm.create(SEGMENT, 4096).unwrap();
        segment.set_available().unwrap();
        let local = segment.map(Placement::Anywhere).unwrap();
        let other = NodeId(1 - me.0);
        // The other side may still be starting. Once connected, it has joined: the job can agree on fences.
        let remote = shm.connect(other, SEGMENT, SOON).unwrap();
        let map = remote.map(0, remote.len(), Placement::Anywhere).unwrap();
        shm.agree_on_fences(|_| true);
        map.publish(AGREED, 1);
        let (own, peer) = (shm.interrupt().unwrap(), shm.connect_interrupt(other).unwrap());
        Node { shm, own, peer, local, map, _segments: (segment, remote) }
    }

    /// From now on membarrier(2) fails, if it is to: the sender was told before that it need not fence.
    fn choose(&self, membarrier: bool) {
        self.meet(AGREED, 1);
        if !membarrier {
            self.shm.set_membarrier(false);
        }
    }

    fn send(&self, laps: u64) {
        for lap in 1..=laps {
            self.meet(NEWS, lap);
            self.map.publish(NEWS, lap);
            self.map.barrier();
            self.peer.stored();
            self.map.publish(SENT, lap);
        }
    }

    /// Laps that were late.
    fn sleep(&self, laps: u64) -> u64 {
        let mut late = 0;
        for lap in 1..=laps {
            self.map.publish(NEWS, lap);
            (0..lap % 64).for_each(|_| std::hint::spin_loop());
            self.own.arm();
            // Relaxed: what orders it is what is tested.
            let seen = self.local.word(NEWS).load(Ordering::Relaxed) == lap;
            self.meet(SENT, lap);
            if !self.own.wait(Duration::ZERO) && !seen {
                late += 1;
                assert!(!self.own.settling().is_zero(), "lap {lap} was lost, although arming orders both sides");
                assert!(!self.own.wait(self.own.settling()), "nobody sends any more");
                // Relaxed: as above.
                assert_eq!(self.local.word(NEWS).load(Ordering::Relaxed), lap, "lap {lap} was lost");
            }
            self.own.disarm();
        }
        late
    }

    /// Waits until the word at `offset` is `lap`.
    fn meet(&self, offset: usize, lap: u64) {
        let mut looks = 0u32;
        let mut end = None;
        // ORDERING: Acquire ↔ the peer's publish.
        while self.local.word(offset).load(Ordering::Acquire) != lap {
            looks += 1;
            if looks.is_multiple_of(256) {
                let end = *end.get_or_insert_with(|| Instant::now() + SOON);
                assert!(Instant::now() < end, "the other side never came to lap {lap}");
                std::thread::yield_now();
            }
        }
    }
}

/// Runs `work` beside as many computing threads as were asked for; prints its line.
fn report(name: &str, work: impl FnOnce() -> u64) {
    let (start, over) = (Instant::now(), AtomicBool::new(false));
    let late = std::thread::scope(|scope| {
        for _ in 0..number("WAKE_STRESS_BUSY", 0) {
            scope.spawn(|| {
                // Relaxed: a flag, alone.
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let late = work();
        over.store(true, Ordering::Relaxed); // Relaxed: as above
        late
    });
    println!("wake: {name}: {} laps in {:.0?}, {late} late, 0 lost", laps(), start.elapsed());
}

fn between_threads(membarrier: bool) -> u64 {
    let file = memory_file();
    std::thread::scope(|scope| {
        let fd = file.as_fd();
        scope.spawn(move || Node::join(fd, NodeId(1)).send(laps()));
        let sleeper = Node::join(fd, SLEEPER);
        sleeper.choose(membarrier);
        sleeper.sleep(laps())
    })
}

fn between_processes(membarrier: bool) -> u64 {
    let file = memory_file();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_sending_process", "--nocapture"]).stdout(std::process::Stdio::null());
    let mut sender = command.env(SENDER, file.as_raw_fd().to_string()).spawn().unwrap();
    let sleeper = Node::join(file.as_fd(), SLEEPER);
    sleeper.choose(membarrier);
    let late = sleeper.sleep(laps());
    assert!(sender.wait().unwrap().success());
    late
}

/// Runs on every CPU that it may use: where Linux then thinks that it is not registered for membarrier(2).
fn visit_all_cpus() {
    // SAFETY: all-zero is a valid set.
    let mut all: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `all` is writable and of that size.
    let got = unsafe { libc::sched_getaffinity(0, size_of_val(&all), &mut all) };
    assert_eq!(got, 0);
    for cpu in 0..libc::CPU_SETSIZE as usize {
        // SAFETY: below CPU_SETSIZE.
        if unsafe { libc::CPU_ISSET(cpu, &all) } {
            // SAFETY: all-zero is a valid set.
            let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: below CPU_SETSIZE.
            unsafe { libc::CPU_SET(cpu, &mut one) };
            // SAFETY: `one` is readable and of that size.
            unsafe { libc::sched_setaffinity(0, size_of_val(&one), &one) };
        }
    }
    // SAFETY: `all` is readable and of that size.
    unsafe { libc::sched_setaffinity(0, size_of_val(&all), &all) };
}

#[test]
fn the_sending_process() {
    let Some(fd) = variable(SENDER) else { return }; // started by `between_processes` only
    visit_all_cpus();
    // SAFETY: the descriptor that `between_processes` let this process inherit, open as long as it lives.
    let fd = unsafe { BorrowedFd::borrow_raw(fd.parse().unwrap()) };
    Node::join(fd, NodeId(1)).send(laps());
}

#[test]
fn no_lap_is_lost_between_threads() {
    report("threads", || between_threads(true));
}

#[test]
fn no_lap_is_lost_between_processes() {
    report("processes", || between_processes(true));
}

#[test]
fn no_lap_is_lost_between_threads_when_membarrier_fails() {
    report("threads, membarrier fails", || between_threads(false));
}

#[test]
fn no_lap_is_lost_between_processes_when_membarrier_fails() {
    report("processes, membarrier fails", || between_processes(false));
}
