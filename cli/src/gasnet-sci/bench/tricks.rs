//! What the library chose on this machine. Figures of two machines may differ because these differ.

use crate::results::Tricks;
use gasnet_sci::am::wait::{self, Waiter};
use gasnet_sci::base::config::Config;
use gasnet_sci::os::sys;
use gasnet_sci::sci::shm::Shm;
use gasnet_sci::sci::{Host, JobAdapter, NodeId, copy};
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsFd;

/// The choices on this host, with this environment. Each comes from the part of the library that makes it, as a node of a job finds it
/// when it starts.
pub fn look() -> io::Result<Tricks> {
    let (config, _) = Config::from_env().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(Tricks {
        cldemote: has_flag(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default(), "cldemote"),
        copy: routine(copy::own_lengths()),
        pauses: Waiter::new(1, 1, wait::cores(), config.spin).gap(),
        membarrier: fences(config.membarrier)?,
    })
}

// True if the first processor of /proc/cpuinfo has the flag.
fn has_flag(info: &str, flag: &str) -> bool {
    let flags = info.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|word| word == flag))
}

fn routine(own: std::ops::Range<u64>) -> String {
    if own.is_empty() {
        "memmove".into()
    } else {
        format!("own for {} to {} bytes, else memmove", own.start, own.end - 1)
    }
}

// Whether a job on this host relies on membarrier(2): a job of one node agrees with itself.
fn fences(wanted: bool) -> io::Result<bool> {
    let near = Shm::join(sys::memfd()?.as_fd(), 0, 1, NodeId(0)).map_err(|e| io::Error::other(e.to_string()))?;
    let adapter = Host::one(near);
    adapter.near().set_membarrier(wanted);
    Ok(adapter.near().agree_on_fences(|_| true))
}

impl fmt::Display for Tricks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tricks { cldemote, copy, pauses, membarrier } = self;
        let cldemote = if *cldemote { "CLDEMOTE" } else { "no CLDEMOTE" };
        let many = if *pauses == 1 { "pause" } else { "pauses" };
        let membarrier = if *membarrier { "sleepers use membarrier" } else { "senders make fences" };
        write!(f, "{cldemote}; copies: {copy}; {pauses} {many} between looks; {membarrier}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_whole_words() {
        let info = "processor : 0\nflags\t\t: fpu cldemote2 sse\n";
        assert!(has_flag(info, "sse") && !has_flag(info, "cldemote") && !has_flag("", "sse"));
    }

    #[test]
    fn routines_are_named_with_their_lengths() {
        assert_eq!(routine(64..64), "memmove");
        assert_eq!(routine(64..16385), "own for 64 to 16384 bytes, else memmove");
    }

    #[test]
    fn a_job_that_is_told_not_to_use_membarrier_does_not() {
        assert!(!fences(false).unwrap());
    }
}
