//! Where the memory of nodes comes from: this machine, and the control groups around a process that have a limit. Each of them is a
//! room, and nodes share a room exactly if they name the same one. What is left of a room is decided here alone.
//!
//! Must not know: what the memory is for.

use super::JobHeader;
use crate::boot::{self, BootError, Bootstrap, Key};
use crate::os::cgroup::{self, GroupLimit};
use crate::os::host;
use crate::sci::room;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// A limit on memory of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The limit in bytes.
    pub bytes: u64,
    /// How much of it is used now, as far as that counts; else 0.
    pub used: u64,
    /// The source of the limit: `physical memory`, `cgroup`, `RLIMIT_AS`, `RLIMIT_FSIZE`.
    pub name: &'static str,
    /// How a user changes it.
    pub change: String,
}

impl Limit {
    /// What is not used yet.
    pub fn left(&self) -> u64 {
        self.bytes.saturating_sub(self.used)
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let used = if self.used > 0 { format!(", of which {} are used", size(self.used)) } else { String::new() };
        write!(f, "{}, {}{used} ({})", self.name, size(self.bytes), self.change)
    }
}

/// A text such as `1.5 GiB`, rounded down to few digits.
pub fn size(bytes: u64) -> String {
    for (unit, name) in [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit {
            let tenths = (u128::from(bytes) * 10 / u128::from(unit)) as u64;
            let rest = tenths % 10;
            return if rest == 0 {
                format!("{} {name}", tenths / 10)
            } else {
                format!("{}.{rest} {name}", tenths / 10)
            };
        }
    }
    format!("{bytes} bytes")
}

/// A room of this process.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// Two processes share the room exactly if these are equal, whatever path each of them sees.
    pub id: u64,
    /// Its size, and what is used of it.
    pub limit: Limit,
    /// The control group; `None`: the machine itself.
    pub group: Option<GroupLimit>,
}

/// The rooms of this process: the machine, then groups from its own one up. `commits`: of memory that is committed at once. The
/// system swaps other memory, so that all memory of the machine counts for it.
pub fn own(commits: bool) -> Vec<Room> {
    own_below(Path::new("/"), commits)
}

fn own_below(root: &Path, commits: bool) -> Vec<Room> {
    let bytes = physical();
    let used = if commits { room::system_left().map_or(0, |left| bytes.saturating_sub(left)) } else { 0 };
    let change = "run on a host with more, or fewer nodes".into();
    let machine =
        Room { id: named((0u64, 0u64)), limit: Limit { bytes, used, name: "physical memory", change }, group: None };
    let groups = cgroup::memory_groups_below(root).into_iter().map(|group| {
        let change = format!("raise it in {}", group.file.display());
        let limit = Limit { bytes: group.value, used: group.used, name: "cgroup", change };
        Room { id: group_id(&group), limit, group: Some(group) }
    });
    std::iter::once(machine).chain(groups).collect()
}

/// The id of a room that `what` names on this machine.
fn named(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new(); // all nodes have the same library, and its keys are fixed
    let boot = host::boot_id();
    match boot.is_empty() {
        true => host::name().hash(&mut hasher),
        false => boot.hash(&mut hasher),
    }
    what.hash(&mut hasher);
    hasher.finish().max(1)
}

/// The id of a group: by its directory, or by its path if that cannot be read.
fn group_id(group: &GroupLimit) -> u64 {
    group.identity().map_or_else(|| named(&group.file), named)
}

/// The limit that leaves this process the fewest bytes.
pub fn memory_limit() -> Limit {
    tightest(own(false))
}

fn tightest(rooms: Vec<Room>) -> Limit {
    rooms.into_iter().map(|room| room.limit).min_by_key(Limit::left).expect("the machine is a room")
}

/// Bytes of physical memory; a huge number if the system does not say.
#[allow(unsafe_code)] // two system calls
pub fn physical() -> u64 {
    // SAFETY: sysconf reads constants of the system.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    // SAFETY: sysconf reads constants of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let physical = (pages.max(0) as u64).saturating_mul(size.max(0) as u64);
    if physical == 0 { u64::MAX } else { physical }
}

/// The key under which a node tells its rooms, where nodes of a host have different ones.
const ROOMS: Key = Key::new("rooms");
/// As many as a round of the exchange has room for. A node with more of them tells those that leave least.
const MOST: usize = boot::LIMIT / 8 - 1;

type Ids = [u64; MOST];

fn ids(rooms: &[Room]) -> Ids {
    let mut sorted: Vec<&Room> = rooms.iter().collect();
    sorted.sort_by_key(|room| room.limit.left());
    let mut ids = [0; MOST];
    ids.iter_mut().zip(sorted).for_each(|(id, room)| *id = room.id);
    ids
}

/// One word for all rooms of a process: equal for processes that share all of them.
pub fn word(rooms: &[Room]) -> u64 {
    let mut hasher = DefaultHasher::new();
    rooms.iter().for_each(|room| room.id.hash(&mut hasher));
    hasher.finish()
}

/// Which nodes of the job share this node's rooms.
pub struct Sharers {
    /// Nodes of this host: those that share a room that nobody told of, because it is new or one too many.
    locals: Vec<u32>,
    /// Where not all nodes of this host share all: by the room's id.
    told: HashMap<u64, Vec<u32>>,
}

impl Sharers {
    /// Of a node with these `rooms`. `words`: those of all nodes, by rank. Where each host has one set of rooms of its own, which is
    /// usual, nothing more is exchanged.
    ///
    /// # Errors
    /// The exchange failed.
    pub fn agree(
        boot: &dyn Bootstrap,
        header: &JobHeader,
        words: &[u64],
        rooms: &[Room],
    ) -> Result<Sharers, BootError> {
        let hosts: Vec<u32> = header.records().iter().map(|record| record.host()).collect();
        let mut told = HashMap::new();
        if !is_one_each(&hosts, words) {
            boot::put_words(boot, ROOMS, &ids(rooms))?;
            boot.fence()?;
            let all = (0..boot.size()).map(|node| boot::get_words(boot, node, ROOMS)).collect::<Result<Vec<_>, _>>()?;
            told = members(&all, boot.rank() as usize);
        }
        Ok(Sharers { locals: header.locals().collect(), told })
    }

    /// True if nodes of a host have different rooms, or nodes of several hosts have one in common. All nodes have the same result.
    pub fn differ(&self) -> bool {
        !self.told.is_empty()
    }

    /// The ranks of the nodes that share the room with this id.
    pub fn of(&self, id: u64) -> &[u32] {
        self.told.get(&id).unwrap_or(&self.locals)
    }
}

/// Whether all nodes of a host have the same word, and no other host has it.
fn is_one_each(hosts: &[u32], words: &[u64]) -> bool {
    if are_equal(hosts) {
        return are_equal(words); // one host, as usual
    }
    let (mut word_of, mut host_of) = (HashMap::new(), HashMap::new());
    hosts.iter().zip(words).all(|(host, word)| {
        *word_of.entry(*host).or_insert(*word) == *word && *host_of.entry(*word).or_insert(*host) == *host
    })
}

fn are_equal<T: PartialEq>(list: &[T]) -> bool {
    list.windows(2).all(|pair| pair[0] == pair[1])
}

/// By id, who else is in the rooms of node `me`.
fn members(all: &[Ids], me: usize) -> HashMap<u64, Vec<u32>> {
    let inside = |id: u64| (0..).zip(all).filter(|(_, ids)| ids.contains(&id)).map(|(rank, _)| rank).collect();
    all[me].iter().filter(|id| **id != 0).map(|id| (*id, inside(*id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::scratch::Scratch;
    use std::fs;

    // A system of which a process in `group` sees these files of groups.
    fn system(name: &str, group: &str, files: &[(&str, &str)]) -> Scratch {
        let root = Scratch::with(&format!("rooms-{name}"), &[("proc/self/cgroup", &format!("0::{group}\n"))]);
        files.iter().for_each(|(file, text)| root.write(format!("sys/fs/cgroup/{file}"), text));
        root
    }

    fn seen_from(root: &Path, group: &str) -> Vec<Room> {
        fs::write(root.join("proc/self/cgroup"), format!("0::{group}\n")).unwrap();
        own_below(root, false)
    }

    #[test]
    fn nodes_share_the_groups_that_are_around_both_and_no_other() {
        let root = system(
            "pod",
            "/",
            &[("pod/memory.max", "900\n"), ("pod/a/memory.max", "500\n"), ("pod/b/memory.max", "400\n")],
        );
        let [a, b, outer] = ["/pod/a", "/pod/b", "/pod"].map(|group| seen_from(&root, group));
        assert_eq!(a.iter().map(|room| room.limit.bytes).collect::<Vec<_>>()[1..], [500, 900]);
        let all = [&a, &b, &a, &outer].map(|rooms| ids(rooms));
        let shared = members(&all, 0);
        assert_eq!(shared[&a[0].id], [0, 1, 2, 3], "the machine");
        assert_eq!(shared[&a[1].id], [0, 2], "the group of a container");
        assert_eq!(shared[&a[2].id], [0, 1, 2, 3], "the group around containers");
        assert_eq!(shared.len(), 3);
        assert_ne!(word(&a), word(&b));
    }

    /// As in two containers: each sees its own group at the top.
    #[test]
    fn a_path_names_no_group_but_its_directory_does() {
        let [a, b] = ["one", "two"].map(|name| system(name, "/", &[("memory.max", "500\n")]));
        let [first, second] = [&a, &b].map(|root| own_below(root, false));
        assert_eq!(first[1].limit.bytes, second[1].limit.bytes);
        assert_ne!(first[1].id, second[1].id);
        let elsewhere = system("elsewhere", "/", &[("x", "")]);
        std::os::unix::fs::symlink(a.join("sys/fs/cgroup"), elsewhere.join("sys/fs/cgroup/in")).unwrap();
        assert_eq!(seen_from(&elsewhere, "/in")[1].id, first[1].id, "the same directory at another place");
    }

    #[test]
    fn a_group_whose_directory_cannot_be_read_is_not_the_machine() {
        let gone = |path: &str| GroupLimit { value: 1, used: 0, file: path.into() };
        let ids = ["/none/a/memory.max", "/none/b/memory.max"].map(|path| group_id(&gone(path)));
        assert!(ids[0] != ids[1] && ids.iter().all(|id| *id != own(false)[0].id), "{ids:?}");
    }

    #[test]
    fn the_room_that_leaves_least_is_the_tightest_not_the_one_with_the_least_limit() {
        let root = system(
            "left",
            "/a/b",
            &[("a/memory.max", "9000\n"), ("a/memory.current", "8900\n"), ("a/b/memory.max", "1000\n")],
        );
        let limit = tightest(own_below(&root, false));
        assert_eq!((limit.bytes, limit.left()), (9000, 100));
    }

    #[test]
    fn rooms_are_told_only_where_a_host_has_several_or_hosts_share_one() {
        assert!(is_one_each(&[0, 0, 1], &[7, 7, 8]));
        assert!(!is_one_each(&[0, 0, 1], &[7, 6, 8]), "two groups on a host");
        assert!(!is_one_each(&[0, 0, 1], &[7, 7, 7]), "two hosts are one machine");
    }

    #[test]
    fn a_limit_says_how_much_of_it_is_used() {
        let limit = |used| Limit { bytes: 3 << 20, used, name: "cgroup", change: "raise it".into() }.to_string();
        assert_eq!(limit(0), "cgroup, 3 MiB (raise it)");
        assert_eq!(limit(1 << 20), "cgroup, 3 MiB, of which 1 MiB are used (raise it)");
    }

    #[test]
    fn sizes_are_written_in_units_that_read_well() {
        for (bytes, text) in [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (2 << 30, "2 GiB")] {
            assert_eq!(size(bytes), text);
        }
    }
}
