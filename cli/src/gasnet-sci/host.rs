//! Finds out what this host allows, from /proc, /sys and the kernel itself.

#![allow(unsafe_code)] // system calls and C

use crate::report::*;
use gasnet_sci::am::wait;
use gasnet_sci::job::limits;
use gasnet_sci::os::topology::{Topology, format_list, parse_list};
use gasnet_sci::os::{cgroup, limit, sys};
use std::fs;

/// Looks at this host.
pub fn look() -> Host {
    let topology = Topology::read();
    Host {
        name: line("/proc/sys/kernel/hostname"),
        kernel: format!("{} {}", line("/proc/sys/kernel/ostype"), line("/proc/sys/kernel/osrelease")),
        cpus: cpus(&topology),
        numa_nodes: topology.numa.iter().map(|node| numa(node.id, &node.cpus)).collect(),
        memory: memory(),
        huge_pages: huge_pages(),
        cross_memory_attach: cross_memory_attach(),
        membarrier: membarrier(),
        resource_limits: resource_limits(),
        processes: cgroup::processes().map(group_limit),
        shared_memory_files: SharedMemoryFiles {
            used: false,
            why: "a job's memory is a memfd without a name: the size of /dev/shm does not matter",
        },
    }
}

/// What stands in a short file of the kernel; nothing if it cannot be read.
pub fn line(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_string()
}

fn cpus(topology: &Topology) -> Cpus {
    let usable = sys::usable_cpus();
    Cpus {
        online: parse_list(&line("/sys/devices/system/cpu/online")).len().max(usable.len()),
        usable: usable.len(),
        affinity: format_list(&usable),
        cores: topology.cores.len(),
        quota: cgroup::cpus(),
        counted: wait::cores(),
    }
}

fn numa(id: usize, cpus: &[usize]) -> Numa {
    let meminfo = line(&format!("/sys/devices/system/node/node{id}/meminfo"));
    let total = meminfo.lines().find_map(|line| kib(line, "MemTotal:")).and_then(bytes);
    Numa { id, cpus: format_list(cpus), memory_bytes: total }
}

/// The number of a line `NAME: NUMBER kB` of a file of the kernel, if the line has this name.
pub fn kib(line: &str, name: &str) -> Option<u64> {
    line.split_once(name)?.1.trim().strip_suffix("kB")?.trim_end().parse().ok()
}

fn bytes(kib: u64) -> Option<u64> {
    kib.checked_mul(1024)
}

fn memory() -> Memory {
    let limit = limits::memory_limit();
    let meminfo = line("/proc/meminfo");
    Memory {
        physical_bytes: limits::physical(),
        available_bytes: meminfo.lines().find_map(|line| kib(line, "MemAvailable:")).and_then(bytes),
        cgroup: cgroup::memory().map(group_limit),
        limit_bytes: limit.bytes,
        limited_by: limit.name,
    }
}

fn group_limit(limit: cgroup::GroupLimit) -> GroupLimit {
    GroupLimit { limit: limit.value, used: limit.used, file: limit.file }
}

fn huge_pages() -> HugePages {
    let chosen = |file: &str| {
        let text = line(&format!("/sys/kernel/mm/transparent_hugepage/{file}"));
        text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(String::new(), |(word, _)| word.into())
    };
    let pools = fs::read_dir("/sys/kernel/mm/hugepages").into_iter().flatten().flatten();
    let mut reserved: Vec<HugePool> = pools.filter_map(|entry| pool(&entry.path())).collect();
    reserved.sort_by_key(|pool| pool.page_bytes);
    HugePages { transparent: chosen("enabled"), transparent_shared: chosen("shmem_enabled"), reserved }
}

fn pool(directory: &std::path::Path) -> Option<HugePool> {
    let kib: u64 = directory.file_name()?.to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
    let number = |file| fs::read_to_string(directory.join(file)).ok()?.trim().parse::<u64>().ok();
    Some(HugePool { page_bytes: kib * 1024, total: number("nr_hugepages")?, free: number("free_hugepages")? })
}

fn cross_memory_attach() -> Allowed {
    // Every process may read its own memory this way. If that fails, the system call is closed to this process.
    let word = 0x5c1u64;
    let mut copy = 0u64;
    // SAFETY: both words live across the call, and `copy` is writable.
    let read = unsafe {
        gasnet_sci::sci::cma::read(std::process::id() as i32, (&raw const word) as usize, (&raw mut copy).cast(), 8)
    };
    if let Err(error) = read {
        return Allowed { allowed: false, why: format!("{error}") };
    }
    match line("/proc/sys/kernel/yama/ptrace_scope").as_str() {
        "" | "0" => Allowed { allowed: true, why: "between processes of one user in one PID namespace".into() },
        scope => Allowed {
            allowed: false,
            why: format!("kernel.yama.ptrace_scope is {scope}: only with CAP_SYS_PTRACE; 0 allows it"),
        },
    }
}

fn membarrier() -> Allowed {
    // Commands of linux/membarrier.h: the one that asks which commands exist, and the two that a sleeping node uses.
    const QUERY: libc::c_long = 0;
    const EXPEDITED: libc::c_long = 1 << 1;
    const REGISTER: libc::c_long = 1 << 2;
    // SAFETY: the query has no arguments and no effect.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, QUERY, 0, 0) };
    let allowed = commands >= 0 && commands & (EXPEDITED | REGISTER) == EXPEDITED | REGISTER;
    let why = match commands {
        _ if allowed => "GLOBAL_EXPEDITED".into(),
        ..0 => std::io::Error::last_os_error().to_string(),
        _ => format!("the kernel has no GLOBAL_EXPEDITED (commands {commands:#x})"),
    };
    Allowed { allowed, why }
}

fn resource_limits() -> Vec<Resource> {
    let kinds = [
        ("RLIMIT_MEMLOCK", libc::RLIMIT_MEMLOCK, "bytes"),
        ("RLIMIT_AS", libc::RLIMIT_AS, "bytes"),
        ("RLIMIT_FSIZE", libc::RLIMIT_FSIZE, "bytes"),
        ("RLIMIT_STACK", libc::RLIMIT_STACK, "bytes"),
        ("RLIMIT_CORE", libc::RLIMIT_CORE, "bytes"),
        ("RLIMIT_NOFILE", libc::RLIMIT_NOFILE, "descriptors"),
        ("RLIMIT_NPROC", libc::RLIMIT_NPROC, "processes"),
    ];
    let finite = |value: u64| (value != libc::RLIM_INFINITY).then_some(value);
    let limit = |(name, kind, unit)| {
        let (soft, hard) = limit::of(kind);
        Resource { name, soft: finite(soft), hard: finite(hard), unit }
    };
    kinds.map(limit).into()
}
