//! The head of a job's memory: the exit word, the init fence, and one record per node.
//!
//! A job of several hosts has such a memory on each of them, with records of all nodes. There the fence counts the nodes of this
//! host only. The last of them asks the host's agent, which exchanges bulletins with the other hosts and releases the fence:
//! see `header/hosts.rs`.
//!
//! Rules:
//! 1. The creator fills in magic, version, nodes, cookie, and host and position of each node before any other process has the descriptor.
//! 2. Only a node itself writes the pid, phase and exit code of its record. The phase never goes back.
//! 3. The exit word takes a first code. Later a non-zero code may replace a zero one; nothing else changes it.
//! 4. A bulletin has two halves. Between its fences number f and f + 1 a node writes half f mod 2 of its own, and
//!    reads the other half of all nodes. So a fast node's next values do not destroy what a slow one still reads.
//!
//! Must not know: what is in a bulletin, processes, where descriptors come from, the fabric behind the header.

#![allow(unsafe_code)] // processes and signals

use crate::os::namespace::{self, Namespace};
use crate::os::sys;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

mod hosts;
mod losses;
mod phase;
mod tasks;

pub use hosts::Half;
pub use losses::Boxes;
pub use phase::Phase;

const MAGIC: u64 = u64::from_le_bytes(*b"GASNSCIJ");
/// Version of the layout. The launcher passes it to the nodes.
pub const VERSION: u32 = 8;
/// Number of words in half of a node's bulletin.
pub const HALF: usize = 14;
/// Number of CPUs that can be told apart: as many as Linux can be built for (x86-64: CONFIG_NR_CPUS ≤ 8192).
const CPUS: usize = 8192;
const PAGE: usize = 4096;
/// A fence looks by itself after this time, in case the kernel refuses to wake it, and then each time after twice as long, up to [`NO_NEWS_YET`].
/// With 10 ms each time, 1,024 nodes that waited for the last of them took a fifth of two cores from it (perf, EPYC VM, 2026-11).
const NO_NEWS: Duration = Duration::from_millis(10);
const NO_NEWS_YET: Duration = Duration::from_secs(1);

#[repr(C, align(128))]
struct Fixed {
    magic: AtomicU64,
    cookie: AtomicU64,
    version: AtomicU32,
    nodes: AtomicU32,
    // 0: none; else EXIT_SET | code.
    exit_word: AtomicU32,
    supervisor: AtomicU32,
    fence_arrived: AtomicU32,
    fence_generation: AtomicU32,
    // The number of the supervisor's descriptor of this memory plus one; 0: none.
    memory_number: AtomicU32,
    // One bit for each CPU that any node may use.
    cpus: [AtomicU64; CPUS / 64],
    // The number of hosts of the job, the number of this one, and how many nodes are on it.
    hosts: AtomicU32,
    own_host: AtomicU32,
    locals: AtomicU32,
    // The generation that the fence reaches when the agent has exchanged the bulletins. Only in jobs of several hosts.
    fence_asked: AtomicU32,
    // The secret by which nodes of several hosts know each other.
    secret: [AtomicU64; 2],
    // Not 0: the job goes on without nodes that die (see `losses`).
    survives: AtomicU32,
    // How many have died so far. Nodes wait for a change of it.
    losses: AtomicU32,
    // The PID namespace in which the supervisor's number counts: device and inode; 0: it is not known.
    supervisor_space: [AtomicU64; 2],
    // Not 0: a node of this host has told of a signal that others get too.
    told: AtomicU32,
    // Not 0: a node wants to ask for tasks (see `tasks`).
    tasks_wanted: AtomicU32,
}

const EXIT_SET: u32 = 0x100;

/// Whether an exit code of the job counts in place of the one that is known: the first one that is not zero stays, else zero does.
pub fn replaces(known: Option<u8>, code: u8) -> bool {
    known.is_none_or(|known| known == 0 && code != 0)
}

/// One node's record. Contract: rules 2 and 4.
#[repr(C, align(128))]
pub struct NodeRecord {
    bulletin: [[AtomicU64; HALF]; 2],
    pid: AtomicU32,
    phase: AtomicU32,
    exit_code: AtomicU32,
    // The number of the node's host.
    host: AtomicU32,
    // The node's position in a topology plus one; 0: none was given.
    position: AtomicU32,
    // What the node has of mail boxes, whether it is lost, how many losses it has settled (see `losses`).
    boxes: AtomicU32,
    lost: AtomicU32,
    settled: AtomicU32,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Fixed>() == 1152, "the size that it had before there were several hosts");
#[cfg(not(loom))]
const _: () = assert!(size_of::<Fixed>().is_multiple_of(128), "records start on their own line");
#[cfg(not(loom))]
const _: () = assert!(size_of::<NodeRecord>() == 256, "a node's writes must not share a line with another's");

impl NodeRecord {
    /// Process id of the node in its own pid namespace; 0 before it joins.
    pub fn pid(&self) -> i32 {
        self.pid.load(Ordering::Relaxed) as i32 // Relaxed: a number, checked by its users against the process table
    }

    /// How far the node has come.
    pub fn phase(&self) -> Phase {
        // ORDERING: Acquire ↔ Release in `advance` and `set_leaving`: a thread that sees Joining sees the pid, and
        // one that sees Exiting or Failed sees the exit code.
        Phase::from_word(self.phase.load(Ordering::Acquire))
    }

    /// Moves the phase to `phase`, never back.
    pub fn advance(&self, phase: Phase) {
        // ORDERING: Release ↔ Acquire in `phase`: pid and exit code become visible first.
        self.phase.fetch_max(phase as u32, Ordering::Release);
    }

    /// Takes the record for this process. False if another process has taken it before.
    pub fn claim(&self) -> bool {
        let mine = sys::pid() as u32;
        // Relaxed: this word alone decides; `advance` publishes it.
        let taken = self.pid.compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if taken {
            self.advance(Phase::Joining);
        }
        taken
    }

    /// Records that the node leaves with `code` (0–255), as `phase` says: Exiting or Failed.
    pub fn set_leaving(&self, phase: Phase, code: u8) {
        self.exit_code.store(code.into(), Ordering::Relaxed); // Relaxed: published by `advance`
        self.advance(phase);
    }

    /// The number of the node's host, from 0. Nodes with the same number share this memory.
    pub fn host(&self) -> u32 {
        self.host.load(Ordering::Relaxed) // Relaxed: rule 1
    }

    /// Notes the node's host. Call it before there are nodes (rule 1).
    pub fn set_host(&self, host: u32) {
        self.host.store(host, Ordering::Relaxed); // Relaxed: rule 1
    }

    /// The position in a topology that a map gave the node, if there was one.
    pub fn position(&self) -> Option<u32> {
        self.position.load(Ordering::Relaxed).checked_sub(1) // Relaxed: rule 1
    }

    /// Notes the node's position. Call it before there are nodes (rule 1).
    pub fn set_position(&self, position: u32) {
        self.position.store(position.saturating_add(1), Ordering::Relaxed); // Relaxed: rule 1
    }

    /// The code given to [`NodeRecord::set_leaving`].
    pub fn exit_code(&self) -> u8 {
        self.exit_code.load(Ordering::Relaxed) as u8 // Relaxed: `phase` >= Exiting came before
    }
}

/// The mapped header. It stays mapped for the life of the process, so that signal handlers may use it at any time.
#[derive(Clone, Copy)]
pub struct JobHeader {
    fixed: &'static Fixed,
    records: &'static [NodeRecord],
}

impl JobHeader {
    /// Bytes that the header of `nodes` nodes takes; a multiple of the page size.
    pub fn bytes(nodes: u32) -> usize {
        (size_of::<Fixed>() + nodes as usize * size_of::<NodeRecord>()).next_multiple_of(PAGE)
    }

    /// Makes memory for a job of `nodes` nodes, with the length of the header. Enters this process as its supervisor.
    pub fn create(nodes: u32) -> io::Result<(OwnedFd, JobHeader)> {
        // Not with the number of a standard descriptor that happens to be closed.
        let memory = std::fs::File::from(sys::duplicate_high(sys::memfd()?.as_fd(), 3)?);
        memory.set_len(Self::bytes(nodes) as u64).map_err(sys::refused("ftruncate"))?;
        let header = Self::map(memory.as_fd(), nodes)?;
        // Relaxed: rule 1. The descriptor reaches other processes by fork, which orders everything before it.
        header.fixed.magic.store(MAGIC, Ordering::Relaxed);
        header.fixed.cookie.store(sys::random(), Ordering::Relaxed);
        header.fixed.version.store(VERSION, Ordering::Relaxed);
        header.fixed.nodes.store(nodes, Ordering::Relaxed);
        header.fixed.supervisor.store(sys::pid() as u32, Ordering::Relaxed);
        header.note_space();
        header.fixed.hosts.store(1, Ordering::Relaxed);
        header.fixed.locals.store(nodes, Ordering::Relaxed);
        Ok((memory.into(), header))
    }

    /// Maps a job's memory that another process created. The error says what does not match.
    pub fn open(fd: BorrowedFd<'_>, nodes: u32, cookie: u64) -> Result<JobHeader, String> {
        let file = fd.try_clone_to_owned().map(std::fs::File::from).map_err(|e| format!("fcntl: {e}"))?;
        let length = file.metadata().map_err(|e| format!("fstat: {e}"))?.len();
        if length < Self::bytes(nodes) as u64 {
            return Err(format!("it is {length} bytes long, {} are needed for {nodes} nodes", Self::bytes(nodes)));
        }
        let header = Self::map(fd, nodes).map_err(|e| format!("it cannot be mapped: {e}"))?;
        header.verify(nodes, cookie).map(|()| header)
    }

    pub(crate) fn verify(&self, nodes: u32, cookie: u64) -> Result<(), String> {
        // Relaxed: rule 1.
        let fixed = self.fixed;
        if fixed.magic.load(Ordering::Relaxed) != MAGIC {
            return Err("it is not the memory of a job (wrong magic number)".into());
        }
        let version = fixed.version.load(Ordering::Relaxed);
        if version != VERSION {
            return Err(format!("its layout has version {version}, this library knows {VERSION}"));
        }
        if fixed.cookie.load(Ordering::Relaxed) != cookie || fixed.nodes.load(Ordering::Relaxed) != nodes {
            return Err("it belongs to another job".into());
        }
        Ok(())
    }

    fn map(fd: BorrowedFd<'_>, nodes: u32) -> io::Result<JobHeader> {
        let base = sys::map_forever(fd, Self::bytes(nodes))?.cast::<u8>();
        // SAFETY: the mapping is page-aligned, longer than `Fixed`, and never unmapped. It holds atomics only. Any
        // bytes are valid for them, and other processes may change them.
        let fixed = unsafe { &*base.cast::<Fixed>() };
        // SAFETY: `bytes` counts `Fixed` and the records, so the pointer stays inside the mapping.
        let first = unsafe { base.add(size_of::<Fixed>()) };
        // SAFETY: records are atomics in a mapping that stays. `bytes` has room for `nodes` records. They begin
        // behind `Fixed`, whose size is a multiple of 128, so they are aligned.
        let records = unsafe { std::slice::from_raw_parts(first.cast::<NodeRecord>(), nodes as usize) };
        Ok(JobHeader { fixed, records })
    }

    /// Number of nodes of the job.
    pub fn nodes(&self) -> u32 {
        self.records.len() as u32
    }

    /// A number that identifies this job.
    pub fn cookie(&self) -> u64 {
        self.fixed.cookie.load(Ordering::Relaxed) // Relaxed: rule 1
    }

    /// Process id of the supervisor. In a job of one without launcher it is the node's own.
    pub fn supervisor(&self) -> i32 {
        self.fixed.supervisor.load(Ordering::Relaxed) as i32 // Relaxed: rule 1
    }

    /// Notes that the supervisor keeps this memory open as descriptor `number`. Call it before there are nodes.
    pub fn set_memory_number(&self, number: i32) {
        self.fixed.memory_number.store(number as u32 + 1, Ordering::Relaxed); // Relaxed: rule 1
    }

    /// Notes that process or thread `keeper` keeps this memory open under the supervisor's number. Call it before nodes
    /// wire themselves up.
    pub fn set_keeper(&self, keeper: u32) {
        self.fixed.supervisor.store(keeper, Ordering::Relaxed); // Relaxed: a fence comes before any use
        self.note_space();
    }

    // Notes that the supervisor's number is one of this process's namespace.
    fn note_space(&self) {
        let Namespace { device, inode } = namespace::of_processes().unwrap_or(Namespace { device: 0, inode: 0 });
        let [first, second] = &self.fixed.supervisor_space;
        first.store(device, Ordering::Relaxed); // Relaxed: as the number itself
        second.store(inode, Ordering::Relaxed); // Relaxed: as the number itself
    }

    // Whether the supervisor's number is one of this process's namespace.
    fn supervisor_counts_here(&self) -> bool {
        let [device, inode] = self.fixed.supervisor_space.each_ref().map(|word| word.load(Ordering::Relaxed)); // Relaxed: rule 1
        inode != 0 && namespace::of_processes() == Some(Namespace { device, inode })
    }

    /// Opens this memory again through the supervisor's descriptor. In another PID namespace than the supervisor's that is not
    /// possible: its number is another process there.
    pub fn reopen(&self) -> io::Result<OwnedFd> {
        let number = self.fixed.memory_number.load(Ordering::Relaxed); // Relaxed: rule 1
        let number = number.checked_sub(1).ok_or(io::ErrorKind::NotFound)?;
        if !self.supervisor_counts_here() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let path = namespace::proc_of(self.supervisor())?.join(format!("fd/{number}"));
        Ok(std::fs::OpenOptions::new().read(true).write(true).open(path)?.into())
    }

    /// Notes that a node may use these CPUs. Call it before the fence after which [`JobHeader::cpus`] is called.
    /// Numbers from 8,192 on are not counted.
    pub fn add_cpus(&self, cpus: &[usize]) {
        for cpu in cpus.iter().filter(|cpu| **cpu < CPUS) {
            self.fixed.cpus[cpu / 64].fetch_or(1 << (cpu % 64), Ordering::Relaxed); // Relaxed: the fence orders
        }
    }

    /// The number of CPUs that the nodes may use together.
    pub fn cpus(&self) -> u32 {
        self.fixed.cpus.iter().map(|word| word.load(Ordering::Relaxed).count_ones()).sum() // Relaxed: the fence orders
    }

    /// Record of node `rank`. Panics unless it is below [`JobHeader::nodes`].
    pub fn record(&self, rank: u32) -> &'static NodeRecord {
        &self.records[rank as usize]
    }

    /// Records of all nodes, by rank.
    pub fn records(&self) -> &'static [NodeRecord] {
        self.records
    }

    /// Enters an exit code of the job, by the rule of [`replaces`] (rule 3). Async-signal-safe.
    pub fn record_exit(&self, code: u8) {
        let word = EXIT_SET | u32::from(code);
        let known = |old: u32| (old != 0).then_some(old as u8);
        let merge = |old: u32| replaces(known(old), code).then_some(word);
        // Relaxed: nothing else is ordered by this word.
        if self.fixed.exit_word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, merge).is_ok() {
            sys::futex_wake_all(&self.fixed.exit_word);
        }
    }

    /// Waits for the job's exit code, at most for `timeout`; may return early.
    pub fn wait_for_exit(&self, timeout: Duration) -> Option<u8> {
        self.exit_code().or_else(|| {
            sys::futex_wait(&self.fixed.exit_word, 0, timeout);
            self.exit_code()
        })
    }

    /// The job's exit code; `None` if there is none yet. Async-signal-safe.
    pub fn exit_code(&self) -> Option<u8> {
        let word = self.fixed.exit_word.load(Ordering::Relaxed); // Relaxed: nothing else is ordered by this word
        (word != 0).then_some(word as u8)
    }

    /// Whether the caller is the first node of this host to tell of a signal that others get too. Async-signal-safe.
    pub fn tells_first(&self) -> bool {
        self.fixed.told.swap(1, Ordering::Relaxed) == 0 // Relaxed: nothing else is ordered by this word
    }

    /// Waits until every node of the job is here. There is no time limit: if a node dies, the supervisor ends those that wait.
    pub fn fence(&self) {
        let fixed = self.fixed;
        // Relaxed: it cannot change before this node arrives, and the fence before has seen its last change.
        let generation = fixed.fence_generation.load(Ordering::Relaxed);
        // ORDERING: AcqRel ↔ itself in the other nodes: what a node posts comes before its arrival. The last one to
        // arrive sees the posts of all (chain of read-modify-writes), so the new generation passes all of them on.
        if fixed.fence_arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.local_count() {
            fixed.fence_arrived.store(0, Ordering::Relaxed); // Relaxed: no node arrives again before the next store
            if self.hosts() == 1 {
                // ORDERING: Release ↔ Acquire below: a node that passes sees the posts, and the count at zero.
                fixed.fence_generation.store(generation.wrapping_add(1), Ordering::Release);
                sys::futex_wake_all(&fixed.fence_generation);
                return;
            }
            self.ask_agent(generation.wrapping_add(1));
        }
        let mut patience = NO_NEWS;
        // ORDERING: Acquire ↔ Release above: this node sees what all nodes posted.
        while fixed.fence_generation.load(Ordering::Acquire) == generation {
            sys::futex_wait(&fixed.fence_generation, generation, patience);
            patience = (2 * patience).min(NO_NEWS_YET);
        }
    }

    /// The number of fences so far, modulo 2³². Relaxed: it is constant between two fences of the node that asks.
    pub fn round(&self) -> u32 {
        self.fixed.fence_generation.load(Ordering::Relaxed)
    }

    /// The half in which node `rank`, the caller, puts what all may read after the next fence (rule 4).
    pub fn half_to_write(&self, rank: u32) -> &'static [AtomicU64; HALF] {
        &self.record(rank).bulletin[self.round() as usize % 2]
    }

    /// The half in which the caller finds what node `rank` put before the last fence (rule 4).
    pub fn half_to_read(&self, rank: u32) -> &'static [AtomicU64; HALF] {
        &self.record(rank).bulletin[self.round().wrapping_add(1) as usize % 2]
    }

    /// All words of the header. Any node may write them.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn words(&self) -> &'static [AtomicU64] {
        let base = std::ptr::from_ref(self.fixed).cast::<AtomicU64>();
        // SAFETY: `map` mapped that many bytes from there on, and they are all atomics.
        unsafe { std::slice::from_raw_parts(base, Self::bytes(self.nodes()) / 8) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn first_nonzero_exit_code_wins_over_zero_and_later_ones() {
        let (_fd, header) = JobHeader::create(1).unwrap();
        assert_eq!(header.exit_code(), None);
        for (code, merged) in [(0, 0), (7, 7), (0, 7), (9, 7)] {
            header.record_exit(code);
            assert_eq!(header.exit_code(), Some(merged));
        }
    }

    #[test]
    fn consecutive_exchanges_do_not_mix() {
        const NODES: u32 = 5;
        let (_fd, header) = JobHeader::create(NODES).unwrap();
        let node = |rank: u32| {
            for round in 0..2000u64 {
                let mine = round << 8 | u64::from(rank);
                header.half_to_write(rank).iter().for_each(|word| word.store(mine, Ordering::Relaxed));
                header.fence();
                for peer in 0..NODES {
                    let theirs = round << 8 | u64::from(peer);
                    let half = header.half_to_read(peer);
                    assert!(half.iter().all(|word| word.load(Ordering::Relaxed) == theirs), "round {round}, {peer}");
                }
            }
        };
        std::thread::scope(|s| (0..NODES).for_each(|rank| drop(s.spawn(move || node(rank)))));
    }

    #[test]
    fn foreign_memory_is_refused_with_the_reason() {
        let (fd, header) = JobHeader::create(2).unwrap();
        assert!(JobHeader::open(fd.as_fd(), 2, header.cookie()).is_ok());
        let refusal = |nodes, cookie| JobHeader::open(fd.as_fd(), nodes, cookie).err().unwrap();
        assert!(refusal(2, !header.cookie()).contains("another job"));
        assert!(refusal(1000, header.cookie()).contains("bytes long"));
        let other = std::fs::File::from(sys::memfd().unwrap());
        other.set_len(PAGE as u64).unwrap();
        assert!(JobHeader::open(other.as_fd(), 2, 0).err().unwrap().contains("magic"));
    }

    #[test]
    fn memory_opens_again_only_where_the_supervisors_number_counts() {
        let (fd, header) = JobHeader::create(1).unwrap();
        header.set_memory_number(fd.as_raw_fd());
        assert!(header.reopen().is_ok());
        header.fixed.supervisor_space[1].fetch_add(1, Ordering::Relaxed);
        assert_eq!(header.reopen().err().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
    }

    #[test]
    fn cpus_of_any_number_are_counted_once() {
        let (_fd, header) = JobHeader::create(2).unwrap();
        header.add_cpus(&[0, 127, 128, 8191]);
        header.add_cpus(&[128, 1000, 8192]);
        assert_eq!(header.cpus(), 5);
    }

    #[test]
    fn one_node_of_a_host_tells_of_a_signal_to_all() {
        let (_fd, header) = JobHeader::create(2).unwrap();
        assert_eq!([0; 3].map(|_| header.tells_first()), [true, false, false]);
    }

    #[test]
    fn phase_never_goes_back() {
        let (_fd, header) = JobHeader::create(1).unwrap();
        let record = header.record(0);
        assert!(record.claim() && !record.claim());
        record.set_leaving(Phase::Exiting, 3);
        record.advance(Phase::Attached);
        assert_eq!((record.phase(), record.exit_code()), (Phase::Exiting, 3));
    }
}
