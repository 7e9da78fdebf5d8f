//! Which nodes share a host, and the memory that they share there.
//!
//! No launcher of today tells every process where all others are. So each process publishes a card that says where it
//! is itself, and all compute the same hosts from the cards. The first node of a host makes its memory, and the others
//! open it through the maker's descriptor.
//!
//! Must not know: who waits for whom; PMIx.

use super::pass::{self, Door};
use crate::os::{namespace, sys};
use crate::supervise::JobHeader;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Where the calling process runs. Processes with equal keys can share memory: one boot of one kernel, one numbering of
/// processes, one user. `asked`: a name that the user gives this host; processes with different names share nothing.
pub fn key(asked: Option<&str>) -> String {
    let boot = crate::os::host::boot_id();
    let processes = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let where_it_is = format!("{boot} {} {}", processes.display(), sys::effective_user());
    match asked {
        Some(name) => format!("{where_it_is} {name}"),
        // Where the kernel gives no boot id, the host's name stands in its place, so that two such hosts are not taken for one.
        None if boot.is_empty() => format!("{where_it_is} {}", crate::os::host::name().to_string_lossy()),
        None => where_it_is,
    }
}

/// The number of each node's host, by rank. Hosts are numbered in the order of their first nodes.
pub fn numbers<T: PartialEq>(keys: &[T]) -> Vec<u32> {
    let mut hosts: Vec<&T> = Vec::new();
    let number = |key| {
        hosts.iter().position(|host| *host == key).unwrap_or_else(|| {
            hosts.push(key);
            hosts.len() - 1
        }) as u32
    };
    keys.iter().map(number).collect()
}

/// What the maker of a host's memory publishes, so that the others can open it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The maker's process id.
    pub pid: i32,
    /// Its descriptor of the memory.
    pub number: i32,
    /// The memory's cookie.
    pub cookie: u64,
}

impl Offer {
    /// As it is published.
    pub fn bytes(&self) -> Vec<u8> {
        [&self.cookie.to_le_bytes()[..], &self.pid.to_le_bytes(), &self.number.to_le_bytes()].concat()
    }

    /// `None`: no offer looks like this.
    pub fn read(bytes: &[u8]) -> Option<Offer> {
        let (cookie, rest) = bytes.split_first_chunk()?;
        let (pid, rest) = rest.split_first_chunk()?;
        let number = rest.try_into().ok()?;
        let [pid, number] = [*pid, number].map(i32::from_le_bytes);
        Some(Offer { pid, number, cookie: u64::from_le_bytes(*cookie) })
    }
}

/// The memory of this host, as its maker has it.
pub struct Made {
    /// Its descriptor.
    pub file: OwnedFd,
    /// Its head.
    pub header: JobHeader,
    /// What to publish about it.
    pub offer: Offer,
    /// Where processes of this host get a copy of the descriptor, if they cannot open it by themselves.
    pub door: Option<Door>,
}

/// Makes the memory of host `own`, for the nodes of all hosts. `hosts`: see [`numbers`]. `secret`: the job's.
///
/// # Errors
/// What the system refused.
pub fn make(own: u32, hosts: &[u32], secret: [u64; 2]) -> Result<Made, String> {
    let (file, header) =
        JobHeader::create(hosts.len() as u32).map_err(|e| format!("memory for the job's header: {e}"))?;
    if hosts.iter().any(|host| *host != own) {
        header.set_hosts(own, hosts, secret);
    }
    let number = file.as_raw_fd();
    header.set_memory_number(number);
    let offer = Offer { pid: sys::pid(), number, cookie: header.cookie() };
    let door = Door::open(offer.cookie).ok();
    Ok(Made { file, header, offer, door })
}

/// Opens the memory that another process of this host offers.
///
/// # Errors
/// Why that is not possible.
pub fn open(offer: Offer, nodes: u32) -> Result<(OwnedFd, JobHeader), String> {
    // Processes of one host have one PID namespace, but their `/proc` may be that of another.
    let path = namespace::proc_of(offer.pid).map_err(|e| e.to_string())?.join(format!("fd/{}", offer.number));
    let why = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).map_err(|e| why(&e))?;
    adopt(file.into(), offer, nodes).map_err(|e| why(&e))
}

/// Fetches the memory through the door of the process that offers it.
///
/// # Errors
/// Why that is not possible.
pub fn fetch(offer: Offer, nodes: u32) -> Result<(OwnedFd, JobHeader), String> {
    adopt(pass::fetch(offer.cookie, offer.pid).map_err(|e| e.to_string())?, offer, nodes)
}

fn adopt(file: OwnedFd, offer: Offer, nodes: u32) -> Result<(OwnedFd, JobHeader), String> {
    // Not with the number of a standard descriptor that happens to be closed.
    let file = sys::duplicate_high(file.as_fd(), 3).map_err(|e| e.to_string())?;
    let header = JobHeader::open(file.as_fd(), nodes, offer.cookie)?;
    Ok((file, header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_in_the_order_of_their_first_nodes() {
        assert_eq!(numbers(&["b", "b", "a", "b", "c", "a"]), [0, 0, 1, 0, 2, 1]);
        assert!(numbers::<u8>(&[]).is_empty());
    }

    #[test]
    fn a_host_is_this_boot_of_this_kernel_and_what_the_user_says() {
        assert_eq!(key(None), key(None));
        assert_ne!(key(None), key(Some("a")));
        assert_ne!(key(Some("a")), key(Some("b")));
        assert!(key(None).contains("pid:["), "{}", key(None));
    }

    #[test]
    fn memory_that_is_offered_opens_both_ways() {
        let hosts = [0, 1, 0, 1];
        let made = make(0, &hosts, [7, 8]).unwrap();
        assert_eq!(Offer::read(&made.offer.bytes()), Some(made.offer));
        assert_eq!(Offer::read(&made.offer.bytes()[1..]), None);
        let (_file, header) = open(made.offer, 4).unwrap();
        assert!(header.records().iter().map(|record| record.host()).eq(hosts));
        let door = made.door.unwrap();
        std::thread::scope(|scope| {
            let fetched = scope.spawn(|| fetch(made.offer, 4).unwrap());
            door.serve(1, &made.file).unwrap();
            let (_file, header) = fetched.join().unwrap();
            header.record_exit(7);
        });
        assert_eq!(made.header.exit_code(), Some(7), "it is the same memory");
        let other = Offer { cookie: !made.offer.cookie, ..made.offer };
        assert!(open(other, 4).err().unwrap().contains("another job"));
        assert!(fetch(other, 4).is_err());
    }
}
