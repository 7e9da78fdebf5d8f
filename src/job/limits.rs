//! Limits of this host: memory for segments, the number of nodes that a job can have, descriptors for connections.

#![allow(unsafe_code)] // regions and client memory

use crate::am::region::Layout;
use crate::base::config::{Amount, Config, SegmentSize};
use crate::coll::area::Area;
use crate::os::{cgroup, limit};
use crate::sci::SciError;
use crate::supervise::spawn;

use super::rooms;
pub use super::rooms::{Limit, memory_limit, physical, size};

/// Size in bytes of the page in which segments are counted (`GASNET_PAGESIZE`).
pub const PAGE: u64 = 4096;
/// Default upper bound of a segment: 2 GiB less one page (contract: core.md §8).
const DEFAULT_MAX: u64 = (2 << 30) - PAGE;
/// Address space that even the smallest program takes (testhello, static: 9 MB).
const PROCESS_SPACE: u64 = 8 << 20;
/// Address space that segments leave for the program under a limit: heap, libraries, stacks. A guess.
const PROGRAM_SPACE: u64 = 128 << 20;
/// Memory that a node takes even if it does nothing; [`PEER_MEMORY`] is what each peer adds. Both are lower bounds of
/// what nodes take that only attach, meet in barriers and sleep, page tables included. Measured (proportional set
/// sizes and page tables, x86-64, glibc, 2026-11-21): 0.51 MiB a node in a job of 64, 0.63 in one of 256: 0.64 KiB a
/// peer.
const PROCESS_MEMORY: u64 = 256 << 10;
const PEER_MEMORY: u64 = 512;
/// Memory that segments leave each node for its program and its libraries. A guess.
const PROGRAM_MEMORY: u64 = 2 << 20;

/// The largest segment that one of `nodes` nodes on this host may ask for. It is the smaller of `asked` (from
/// environment or client; else the default) and the node's share of what all may have together. In whole pages, at
/// least one.
pub fn max_segment(asked: Option<u64>, nodes: u32) -> u64 {
    max_segment_part(asked, nodes, nodes, &rooms::own(false), |_| nodes)
}

/// The same for one of the `locals` nodes that a job of `nodes` has on this host. `rooms`: those of this process; `sharers`: how many nodes
/// of the job share the room with this id.
pub fn max_segment_part(
    asked: Option<u64>,
    locals: u32,
    nodes: u32,
    rooms: &[rooms::Room],
    sharers: impl Fn(u64) -> u32,
) -> u64 {
    let asked = asked.filter(|n| *n > 0).unwrap_or(DEFAULT_MAX);
    let left = |limit: Option<Limit>, taken| limit.map_or(u64::MAX, |limit| limit.left().saturating_sub(taken));
    // Where a collective needs them, peers' regions are mapped later. Many peers' may have half of the limit.
    let half = address_space().map_or(0, |limit| limit.bytes / 2);
    let later = (u64::from(locals.saturating_sub(1)) * collective_region(nodes)).min(half);
    let space = left(address_space(), address_space_for(nodes) + later + PROGRAM_SPACE);
    let rooms = rooms.iter().map(|room| (room.limit.left(), sharers(room.id)));
    share(asked, [space, left(file_size(), file_for(locals, nodes))], locals, part(rooms, locals, nodes))
}

/// The part of a node in the tightest of its rooms: of each, what is left and how many nodes share it.
fn part(rooms: impl Iterator<Item = (u64, u32)>, locals: u32, nodes: u32) -> u64 {
    let parts = rooms.map(|(left, sharers)| {
        let sharers = sharers.max(1);
        for_segments(left, sharers, locals.max(sharers), nodes) / u64::from(sharers)
    });
    parts.min().unwrap_or(u64::MAX)
}

/// Of `left` bytes of memory, those that the segments of the `sharers` nodes in it may have together. The nodes need the rest
/// themselves. `mapped`: how many segments each of them has mapped.
fn for_segments(left: u64, sharers: u32, mapped: u32, nodes: u32) -> u64 {
    let left = left.saturating_sub(needed_memory(sharers, nodes, left));
    // Each node that touches a page of a segment has an entry of a word for it, and the system has one.
    (u128::from(left) * ENTRIES / (ENTRIES + u128::from(mapped) + 1)) as u64
}

/// Bytes of a page for each byte that it takes in a table of pages.
const ENTRIES: u128 = (PAGE / 8) as u128;

/// Memory that `locals` nodes of a job of `nodes` need beside their segments: what they take if they do nothing, heap and stacks of
/// the program, and what all messages go through. That last part has at most half of `left`, because few nodes of a large job talk to
/// all others.
fn needed_memory(locals: u32, nodes: u32, left: u64) -> u64 {
    let messages = file_for(locals, nodes).min(left / 2);
    let programs = u64::from(locals) * PROGRAM_MEMORY;
    certain_memory(locals, nodes).saturating_add(programs).saturating_add(messages)
}

/// A room that has less left than the segments of those who share it.
#[derive(Debug)]
pub struct Lack {
    /// Bytes of those segments.
    pub bytes: u64,
    /// What they need, what is left, and where.
    pub error: SciError,
}

/// Checks that segments can be committed in each of this node's rooms. `asks`: by id of a room, the bytes of all that come out of it.
pub fn check_room(asks: impl Fn(u64) -> u64) -> Result<(), Box<Lack>> {
    rooms::own(true).into_iter().try_for_each(|room| {
        let (bytes, available) = (asks(room.id), room.limit.left());
        let need = bytes.saturating_add(bytes / ENTRIES as u64).saturating_add(PROGRAM_MEMORY);
        match bytes > 0 && available < need {
            true => {
                let error = SciError::NoMemory { need, available, group: room.group.map(Box::new) };
                Err(Box::new(Lack { bytes, error }))
            }
            false => Ok(()),
        }
    })
}

/// Bytes that `size` allows one of the `nodes` nodes of this host (contract: ex-core.md §5.3). 0: the default.
pub fn asked(size: SegmentSize, nodes: u32) -> u64 {
    let bytes = match size.amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Fraction(fraction) => (memory() as f64 * fraction) as u64,
    };
    match size.for_host {
        true if bytes > 0 => (bytes / u64::from(nodes.max(1))).max(1),
        _ => bytes,
    }
}

// `for_all`: what all `nodes` may have together; `each`: what this one may have.
fn share(asked: u64, for_all: [u64; 2], nodes: u32, each: u64) -> u64 {
    let share = for_all.into_iter().min().unwrap_or(u64::MAX) / u64::from(nodes.max(1));
    (asked.min(share).min(each) / PAGE * PAGE).max(PAGE)
}

/// Bytes of memory that this job may use: physical memory, or the cgroup's limit if that leaves less.
pub fn memory() -> u64 {
    memory_limit().bytes
}

/// The limit on a process's address space, if there is one.
pub fn address_space() -> Option<Limit> {
    resource(libc::RLIMIT_AS, "RLIMIT_AS", "ulimit -v")
}

/// The limit on the size of a file, if there is one. The job's memory is a file to the system.
pub fn file_size() -> Option<Limit> {
    resource(libc::RLIMIT_FSIZE, "RLIMIT_FSIZE", "ulimit -f")
}

fn resource(kind: libc::__rlimit_resource_t, name: &'static str, command: &str) -> Option<Limit> {
    let (soft, hard) = limit::of(kind);
    let finite = |bytes: u64| (bytes != libc::RLIM_INFINITY).then_some(bytes);
    let change = match finite(hard) {
        Some(hard) if hard <= soft => format!("{command} cannot raise it: the hard limit is the same"),
        _ => format!("raise it with {command}"),
    };
    finite(soft).map(|bytes| Limit { bytes, used: 0, name, change })
}

/// Address space that each of `nodes` nodes needs without any segment: its own regions, and its queues in all others.
pub fn address_space_for(nodes: u32) -> u64 {
    let layout = Layout::new(nodes, Config::default().slots_among(nodes));
    let regions = 2 * layout.command_len() + (nodes as usize + 1) * layout.control_len();
    PROCESS_SPACE + regions as u64 + collective_region(nodes)
}

/// Bytes of a node's region for collectives.
fn collective_region(nodes: u32) -> u64 {
    Area::new(nodes, Config::default().coll_scratch, false).bytes() as u64
}

/// Length of the file that is the memory on a host with `locals` of the job's nodes, without segments.
fn file_for(locals: u32, nodes: u32) -> u64 {
    let layout = Layout::new(nodes, Config::default().slots_among(nodes));
    let node = (layout.command_len() + layout.control_len()) as u64 + collective_region(nodes);
    u64::from(locals) * node + crate::sci::shm::Shm::fabric_bytes(nodes) + super::JobHeader::bytes(nodes) as u64
}

/// Memory that `locals` nodes of a job of `nodes` take even if they do nothing.
pub fn certain_memory(locals: u32, nodes: u32) -> u64 {
    u64::from(locals) * (PROCESS_MEMORY + u64::from(nodes) * PEER_MEMORY)
}

/// Checks whether a job of `nodes` nodes can run here, all on this host. The error says what is asked for, names the limit, and
/// says how to change it.
pub fn check(nodes: u32) -> Result<(), String> {
    check_part(nodes, nodes)
}

/// The same for the `locals` nodes that a job of `nodes` has on this host.
pub fn check_part(locals: u32, nodes: u32) -> Result<(), String> {
    let descriptors = spawn::descriptors_needed(locals);
    let (_, hard) = limit::of(libc::RLIMIT_NOFILE);
    if descriptors > hard {
        return Err(format!(
            "{locals} nodes are too many: who starts them needs {descriptors} descriptors, the hard limit is {hard} \
             (RLIMIT_NOFILE: ulimit -Hn, or limits.conf)"
        ));
    }
    if let Some(limit) = cgroup::processes()
        && limit.used.saturating_add(locals.into()) > limit.value
    {
        return Err(format!(
            "{locals} nodes are too many: the cgroup allows {} processes and threads, {} exist (raise it in {})",
            limit.value,
            limit.used,
            limit.file.display()
        ));
    }
    let each = address_space_for(nodes);
    address_space().map_or(Ok(()), |limit| enough(each, limit, &format!("each of {nodes} nodes")))?;
    let job = match locals == nodes {
        true => format!("a job of {nodes} nodes"),
        false => format!("{locals} of {nodes} nodes"),
    };
    file_size().map_or(Ok(()), |limit| enough(file_for(locals, nodes), limit, &job))?;
    enough(certain_memory(locals, nodes), memory_limit(), &job)
}

/// Whether `limit` leaves what is asked for. The error names both.
fn enough(asked: u64, limit: Limit, whose: &str) -> Result<(), String> {
    match asked > limit.left() {
        true => Err(format!("too little memory: {whose} needs {}, the limit is {limit}", size(asked))),
        false => Ok(()),
    }
}

/// Descriptors beside those that are open and one for each node of another host: what a connection needs until it is one, and what
/// libraries open now and then.
const SPARE: u64 = 32;
/// Descriptors for the client, where the limit is raised anyway. A guess.
const CLIENTS: u64 = 200;

/// Raises this process's limit on descriptors so that it can have a connection to each of `far` nodes. The error names what is
/// needed, and the limit.
pub fn make_room_for_connections(far: u32) -> Result<(), String> {
    let open = std::fs::read_dir("/proc/self/fd").map_or(SPARE, |list| list.count() as u64);
    let limit = limit::descriptors();
    if let Some(soft) = soft_limit(open, far, limit)? {
        limit::set_descriptors((soft, limit.1));
        let got = limit::descriptors().0;
        if got < soft {
            return Err(format!(
                "RLIMIT_NOFILE: the limit of {got} cannot be raised to {soft}, though the hard limit is {}",
                limit.1
            ));
        }
    }
    Ok(())
}

/// The soft limit that is to be set. `None`: the one that there is will do. A limit that is large enough stays, because clients that
/// use select(2) rely on low numbers.
fn soft_limit(open: u64, far: u32, (soft, hard): (u64, u64)) -> Result<Option<u64>, String> {
    let needed = open + u64::from(far) + SPARE;
    if soft >= needed {
        return Ok(None);
    }
    if hard < needed {
        return Err(format!(
            "connections to {far} nodes of other hosts need {needed} descriptors in each node, the hard limit is {hard} \
             (RLIMIT_NOFILE: ulimit -Hn, or limits.conf)"
        ));
    }
    Ok(Some((needed + CLIENTS).min(hard)))
}

/// With fewer mappings left, their number is taken for the reason why the system makes no more.
const LEFT: usize = 16;

/// The mappings of this process, and how many the system allows.
fn mappings() -> Option<[usize; 2]> {
    let used = std::fs::read_to_string("/proc/self/maps").ok()?.lines().count();
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()?;
    Some([used, most])
}

/// Ends a line about memory that could not be had: `; the tightest limit is …`, or nothing if memory is not the
/// reason.
pub fn advice(error: &SciError) -> String {
    match error {
        SciError::NoMemory { group: Some(group), .. } => format!(
            "; raise the limit in {}, or let the nodes have smaller segments (GASNET_MAX_SEGSIZE) or be fewer",
            group.file.display()
        ),
        SciError::System { errno: libc::ENOMEM | libc::EFBIG | libc::ENOSPC, .. } | SciError::NoMemory { .. } => {
            let is_full = |[used, most]: &[usize; 2]| used + LEFT > *most;
            if let Some([used, most]) = mappings().filter(is_full) {
                return format!("; this process has {used} mappings, and vm.max_map_count allows {most} (sysctl)");
            }
            let limits = [Some(memory_limit()), address_space(), file_size()];
            let tightest = limits.into_iter().flatten().min_by_key(Limit::left);
            tightest.map_or(String::new(), |limit| format!("; the tightest limit on memory is {limit}"))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_some_mappings_and_fewer_than_the_system_allows() {
        let [used, most] = mappings().unwrap();
        assert!((5..most).contains(&used) && most >= 1000, "{used} of {most}");
    }

    #[test]
    fn a_share_is_whole_pages_and_at_least_one() {
        let each = |bytes, nodes: u32| (([u64::MAX; 2], nodes), bytes / u64::from(nodes));
        let share_of = |asked, ((for_all, nodes), each)| share(asked, for_all, nodes, each);
        assert_eq!(share_of(10_000, each(1 << 30, 1)), 8192);
        assert_eq!(share_of(u64::MAX, each(1 << 30, 4)), 1 << 28);
        assert_eq!(share_of(1, each(1 << 30, 4)), PAGE);
        assert_eq!(share_of(1 << 40, each(100, 64)), PAGE);
        assert_eq!(share(u64::MAX, [1 << 20, 1 << 25], 2, 1 << 30), 1 << 19, "the tightest decides");
    }

    #[test]
    fn segments_leave_the_nodes_what_they_need_and_get_the_rest() {
        for (left, locals) in [(256 << 20, 2), (256 << 20, 8), (8 << 30, 2), (64 << 30, 64)] {
            let all = for_segments(left, locals, locals, locals);
            let rest = left - all;
            let tables = all / PAGE * 8 * u64::from(locals);
            assert!(rest >= needed_memory(locals, locals, left) + tables, "{left} {locals}: {all}");
            assert!(all > left / 4, "{left} {locals}: {all}");
        }
        assert_eq!(for_segments(1 << 20, 2, 2, 2), 0, "the least segment is a page all the same");
        assert!(for_segments(1 << 30, 2, 2, 1000) < for_segments(1 << 30, 2, 2, 2));
    }

    /// Two of four nodes are in a group, each of the others has one of its own; a group around all is tighter for some.
    #[test]
    fn a_room_is_shared_by_those_who_are_in_it_and_the_tightest_decides() {
        let of = |rooms: &[(u64, u32)]| part(rooms.iter().copied(), 4, 4);
        let (alone, pair) = (of(&[(64 << 30, 4), (1 << 30, 1)]), of(&[(64 << 30, 4), (1 << 30, 2)]));
        assert!(alone > 900 << 20 && pair < 512 << 20 && pair > 400 << 20, "{alone} {pair}");
        let nested = of(&[(64 << 30, 4), (1 << 30, 1), (2 << 30, 4)]);
        assert!(nested < 512 << 20, "{nested}");
        assert_eq!(part(std::iter::empty(), 4, 4), u64::MAX);
    }

    #[test]
    fn what_is_used_of_a_limit_is_not_there_for_a_job() {
        let limit = |used| Limit { bytes: 3 << 20, used, name: "cgroup", change: "raise it".into() };
        assert_eq!(enough(2 << 20, limit(1 << 20), "a job"), Ok(()));
        let refusal = enough(2 << 20, limit(2 << 20), "a job of 2 nodes").unwrap_err();
        assert!(refusal.contains("a job of 2 nodes needs 2 MiB") && refusal.contains("2 MiB are used"), "{refusal}");
    }

    #[test]
    fn what_is_offered_passes_the_check_before_it_is_committed_and_more_is_refused_with_the_room() {
        let offered = max_segment_part(Some(u64::MAX), 2, 2, &rooms::own(true), |_| 2);
        assert!(check_room(|_| 2 * offered).is_ok(), "{offered}");
        let lack = check_room(|_| u64::MAX).unwrap_err();
        assert!(matches!(lack.error, SciError::NoMemory { need: u64::MAX, .. }) && lack.bytes == u64::MAX, "{lack:?}");
        assert!(check_room(|_| 0).is_ok());
    }

    #[test]
    fn a_lack_of_memory_in_a_group_is_told_with_limit_use_and_file() {
        let group = cgroup::GroupLimit { value: 1000, used: 900, file: "/sys/fs/cgroup/a/memory.max".into() };
        let error = SciError::NoMemory { need: 300, available: group.left(), group: Some(Box::new(group)) };
        let text = format!("{error}{}", advice(&error));
        assert!(text.contains("300 bytes") && text.contains("/sys/fs/cgroup/a has 100 left"), "{text}");
        assert!(text.contains("limit is 1000, 900 are used") && text.contains("a/memory.max"), "{text}");
        assert!(text.contains("GASNET_MAX_SEGSIZE") && !text.contains("RESERVE"), "{text}");
    }

    #[test]
    fn a_bound_for_the_host_is_shared_and_a_fraction_is_of_its_memory() {
        let size = |amount, for_host| SegmentSize { amount, for_host };
        assert_eq!(asked(size(Amount::Bytes(1 << 30), false), 4), 1 << 30);
        assert_eq!(asked(size(Amount::Bytes(1 << 30), true), 4), 1 << 28);
        let half = asked(size(Amount::Fraction(0.5), false), 4);
        assert!(half.abs_diff(memory() / 2) < PAGE, "{half} of {}", memory());
        assert_eq!(asked(size(Amount::Fraction(0.5), true), 4), half / 4);
    }

    #[test]
    fn the_soft_limit_is_raised_to_what_connections_need_and_not_without_need() {
        assert_eq!(soft_limit(20, 100, (1024, 4096)), Ok(None));
        assert_eq!(soft_limit(20, 2000, (1024, 4096)), Ok(Some(2000 + 20 + SPARE + CLIENTS)));
        assert_eq!(soft_limit(20, 2000, (1024, 2100)), Ok(Some(2100)), "the client has less");
        assert_eq!(soft_limit(20, 2000, (1024, libc::RLIM_INFINITY)), Ok(Some(2000 + 20 + SPARE + CLIENTS)));
        let refusal = soft_limit(20, 2000, (1024, 2048)).unwrap_err();
        assert!(refusal.contains("2052 descriptors") && refusal.contains("limit is 2048"), "{refusal}");
    }

    #[test]
    fn a_small_job_fits_and_one_of_all_node_ids_does_not() {
        assert_eq!(check(2), Ok(()));
        let refusal = check(65535).unwrap_err();
        assert!(refusal.contains("65535 nodes") && refusal.contains("limit"), "{refusal}");
    }
}
