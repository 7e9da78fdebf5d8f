//! The hand-off: what the launcher passes to each node in its environment.
//!
//! Invariant: if a hand-off fails there is an error that says what was tried, and never a job of one.

#![allow(unsafe_code)] // processes, shared memory

use super::member::{Joined, enter};
use crate::base::config::Config;
pub use crate::base::config::{HANDOFF, PARTS};
use crate::base::log;
use crate::os::{layout, sys};
use crate::supervise::JobHeader;
use crate::supervise::header::VERSION;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

// Not in the table of settings, because it is a message from one process to another and is read exactly once.
pub(super) fn take_handoff() -> Option<String> {
    #[allow(clippy::disallowed_methods)]
    let value = std::env::var_os(HANDOFF)?;
    // SAFETY: one thread calls gasnet_init, before others use GASNet (contract: core.md §6.1). This is the one change
    // of the environment. It makes sure that programs which this node starts do not take themselves for nodes.
    unsafe { std::env::remove_var(HANDOFF) };
    Some(value.to_string_lossy().into_owned())
}

/// Whether this process has a hand-off that it has not taken.
pub fn is_launched() -> bool {
    #[allow(clippy::disallowed_methods)] // as above
    std::env::var_os(HANDOFF).is_some()
}

/// The value of [`HANDOFF`] for one node: layout version, rank, nodes, descriptor of the job's memory, descriptor of the node's
/// lifeline, cookie, and 1 if the launcher took address randomisation from the node's program (else 0).
pub fn handoff(header: &JobHeader, rank: u32, memory: RawFd, lifeline: RawFd, unrandomised: bool) -> String {
    let (nodes, cookie) = (header.nodes(), header.cookie());
    format!("{VERSION},{rank},{nodes},{memory},{lifeline},{cookie:x},{}", u8::from(unrandomised))
}

/// The value of [`PARTS`] for the nodes of the job `cookie`, whose parts of the traffic matrix go to `directory`. It has the job in it,
/// because programs that a node starts inherit the variable, and a job of their own must not write there.
pub fn parts(directory: &Path, cookie: u64) -> PathBuf {
    directory.join(format!("{cookie:016x}"))
}

/// The file for the part of node `rank` of a job. `parts` is the value of [`PARTS`], whatever bytes are in it.
pub fn part(parts: &Path, rank: u32) -> PathBuf {
    let mut name: OsString = parts.into();
    name.push(format!(".{rank}.json"));
    name.into()
}

/// The file for this node's part, if the launcher of its own job wants one.
pub fn own_part(cookie: u64, rank: u32) -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods)] // a message from the launcher, as the hand-off is
    let value = std::env::var_os(PARTS)?;
    part_of(Path::new(&value), cookie, rank)
}

fn part_of(value: &Path, cookie: u64, rank: u32) -> Option<PathBuf> {
    (value.parent().map(|directory| parts(directory, cookie))? == value).then(|| part(value, rank))
}

/// The fields of a hand-off.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Handoff {
    pub(crate) rank: u32,
    pub(crate) nodes: u32,
    memory: u32,
    lifeline: u32,
    cookie: u64,
    unrandomised: bool,
}

/// Reads a hand-off; the error says what is wrong with it.
pub(crate) fn parse(value: &str) -> Result<Handoff, String> {
    let fields: Vec<&str> = value.split(',').collect();
    let [version, rank, nodes, memory, lifeline, cookie, unrandomised] = fields[..] else {
        return Err("it does not have seven fields; do launcher and library come from the same installation?".into());
    };
    if version != VERSION.to_string() {
        return Err(format!(
            "the launcher speaks version {version}, this library {VERSION}: use the one installed with it"
        ));
    }
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("'{text}' is not a number"));
    let (rank, nodes) = (number(rank)?, number(nodes)?);
    let cookie = u64::from_str_radix(cookie, 16).map_err(|_| format!("'{cookie}' is not a cookie"))?;
    if rank >= nodes {
        return Err(format!("there is no rank {rank} among {nodes} nodes"));
    }
    let unrandomised = number(unrandomised)? != 0;
    Ok(Handoff { rank, nodes, memory: number(memory)?, lifeline: number(lifeline)?, cookie, unrandomised })
}

/// Takes the place that a hand-off gives to this process.
pub(super) fn launched(value: &str, config: &Config) -> Result<Joined, String> {
    let Handoff { rank, nodes, memory, lifeline, cookie, unrandomised } = parse(value)?;
    log::set_identity(rank, nodes); // errors from here on come from this node
    if unrandomised {
        // This program has its addresses by now. Programs that it starts need not share them, so they get random ones
        // again. If the system refuses, their addresses stay as predictable as this program's.
        let _ = layout::set_random(true);
    }
    let memory = adopt(memory, "the job's memory")?;
    let header =
        JobHeader::open(memory.as_fd(), nodes, cookie).map_err(|e| format!("the job's memory is not right: {e}"))?;
    let lifeline = adopt(lifeline, "this node's lifeline")?;
    enter(header, rank, memory, Some(lifeline), config)
}

// Takes over a descriptor that the launcher opened for this process.
fn adopt(number: u32, what: &str) -> Result<OwnedFd, String> {
    let number = RawFd::try_from(number).map_err(|_| format!("descriptor {number} for {what} cannot exist"))?;
    // SAFETY: only borrowed for one call, which finds out whether it is open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    sys::set_close_on_exec(borrowed, true).map_err(|e| {
        format!(
            "descriptor {number} for {what} is not usable ({e}); a program between gasnetrun_sci and this one may \
             have closed it"
        )
    })?;
    // SAFETY: it is open, as the call above has shown. The hand-off was taken out of the environment, so it has no
    // other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_part_goes_where_the_launcher_of_the_same_job_says() {
        let directory = Path::new(OsStr::from_bytes(b"/a%b/\xff,c"));
        let value = parts(directory, 0xab);
        let file = part_of(&value, 0xab, 3).unwrap();
        assert_eq!(file, directory.join("00000000000000ab.3.json"));
        for other in [part_of(&value, 0xac, 3), part_of(Path::new(""), 0, 3), part_of(directory, 0xab, 3)] {
            assert_eq!(other, None);
        }
    }
}
