//! Groups over hosts. The members of one host share a memory, as without other hosts; the memories of hosts are brought together by who stores: what a
//! process stores through its connection to the group goes to the memory of its own host and to one member of each other host. When that member
//! ends, or a host gets its first one, the next is brought all that this process has stored. So hosts that store to different places agree; of stores to
//! one place each host may keep another one.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::remote::{RemoteSegment, Way};
use crate::config::{self, GROUP};
use crate::error::{Error, Result};
use crate::far::{self, Targets};
use crate::memory::{self, Memory};
use crate::name::{Deadline, What};
use crate::net::{self, Line};
use crate::{state, worker};

/// How long a member may take to answer.
const MEMBER: Duration = Duration::from_secs(1);
/// Between two looks whether a host has got its first member.
const NAP: Duration = Duration::from_millis(100);

/// The connections to groups, and whether the thread runs that looks for hosts with their first member.
static GROUPS: Mutex<(Vec<Weak<RemoteSegment>>, bool)> = Mutex::new((Vec::new(), false));

/// Whether a connection to this node is one to a group that may have members on other hosts.
fn has_hosts(segment: &RemoteSegment) -> bool {
    segment.node == GROUP && config::get().is_some_and(|config| config.hosts.is_some())
}

/// A member of this host has been found, which has this memory: stores go there from now on.
pub fn reach_near(segment: &RemoteSegment, memory: &Memory) -> Result {
    if !has_hosts(segment) {
        return Ok(());
    }
    let mapping = memory.map(0, memory.length, std::ptr::null_mut(), false)?;
    if let Some(shadow) = prepared(segment)? {
        shadow.add_near(mapping);
    }
    Ok(())
}

/// The shadow of a group; what is connected must have told its size.
fn prepared(segment: &RemoteSegment) -> Result<Option<&Arc<far::Shadow>>> {
    if segment.targets().is_none() {
        let targets = Targets::group(segment.body.size())?;
        segment.reach(|| targets);
    }
    segment.shadow()
}

/// Connects to a member on another host.
fn connect(segment: &Arc<RemoteSegment>, place: net::Far, node: u32, until: Deadline) -> Result {
    let (line, answer) = net::connect(place, (node, What::Member, segment.id), segment.own_node()?, until)?;
    // The owner knows at once that the connection is not used.
    join(segment, &line, answer.size, node).inspect_err(|_| line.close())?;
    adopt(segment, &line)
}

/// Takes a connection to a member whose memory has so many bytes.
fn join(segment: &Arc<RemoteSegment>, line: &Arc<Line>, size: u64, node: u32) -> Result {
    let size = usize::try_from(size).map_err(|_| Error::NoSpc)?;
    // A size that this host has no memory for is not kept: other members may tell another one.
    memory::room(size)?;
    if segment.body.size() == 0 {
        segment.body.set_size(size);
    }
    if segment.body.size() != size {
        state::say(|| format!("group {}: {size} bytes at node {node}, here {}", segment.id, segment.body.size()));
        return Err(Error::SizeAlignment);
    }
    segment.add(Way::Far(line.clone()), node)
}

/// What is stored goes to this connection, too, if its host has no other yet.
fn adopt(segment: &RemoteSegment, line: &Arc<Line>) -> Result {
    if let Some(shadow) = prepared(segment)? {
        shadow.add_line(line);
    }
    Ok(())
}

/// Looks for members on hosts that stores do not go to. NO_SUCH_SEGMENT if there is none on any host.
pub fn look(segment: &Arc<RemoteSegment>, until: Deadline) -> Result {
    let Some(hosts) = config::get().and_then(|config| config.hosts.as_ref()).filter(|_| has_hosts(segment)) else {
        return Err(Error::NoSuchSegment);
    };
    let mut result = Err(Error::NoSuchSegment);
    for place in hosts.others() {
        if segment.targets().is_some_and(|targets| targets.reaches(place)) {
            result = Ok(());
            continue;
        }
        if let Some(line) = segment.line_to(place) {
            result = adopt(segment, &line);
            continue;
        }
        for node in net::members((hosts, place), segment.id, segment.own_node()?).unwrap_or_default() {
            let soon = Instant::now() + MEMBER;
            match connect(segment, (hosts, place), node, Some(until.map_or(soon, |until| until.min(soon)))) {
                Ok(()) => result = Ok(()),
                Err(error) if result.is_err() => result = Err(error),
                Err(_) => {}
            }
        }
    }
    result
}

/// From now on hosts are looked at that get their first member.
pub fn keep_looking(segment: &Arc<RemoteSegment>) -> Result {
    if !has_hosts(segment) {
        return Ok(());
    }
    let mut groups = GROUPS.lock();
    groups.0.push(Arc::downgrade(segment));
    if !groups.1 {
        worker::spawn("sisci-group", look_again)?;
        groups.1 = true;
    }
    Ok(())
}

/// The thread. Ends with the last connection to a group.
fn look_again() {
    loop {
        std::thread::sleep(NAP);
        let mut groups = GROUPS.lock();
        groups.0.retain(|segment| segment.upgrade().is_some_and(|segment| !segment.is_over()));
        if groups.0.is_empty() {
            groups.1 = false;
            return;
        }
        let living: Vec<_> = groups.0.iter().filter_map(Weak::upgrade).collect();
        drop(groups);
        for segment in living {
            let _ = look(&segment, None);
        }
    }
}
