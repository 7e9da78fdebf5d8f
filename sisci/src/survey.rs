//! What there is on this host: names of the kernel's, and what the owners of these names tell. Asking counts as no connection, and gives no event.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Seek};

use rustix::fs::fcntl_get_seals;
use rustix::net::sockopt;

use crate::config;
use crate::error::Error;
use crate::name::{self, Name, What, deadline};
use crate::packet::{self, Packet, Verb};
pub use crate::report::{Peer, Report};

/// A kind of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A segment that peers connect to.
    Segment,
    /// A member of a group.
    Member,
    /// An interrupt.
    Interrupt,
    /// An interrupt with data.
    DataInterrupt,
}

/// Something that has a name.
#[derive(Clone, Debug)]
pub struct Resource {
    /// What it is.
    pub kind: Kind,
    /// Its node.
    pub node: u32,
    /// Its number; of a member that of its group.
    pub id: u32,
    /// The process that has the name, as the kernel says; nothing if it has just gone.
    pub process: Option<u32>,
    /// Its owner's answer; none if that is stopped.
    pub report: Option<Report>,
}

/// All that this user has.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The nodes and their processes.
    pub nodes: Vec<(u32, u32)>,
    /// The rest, sorted by kind, node and number.
    pub resources: Vec<Resource>,
}

/// How many milliseconds an owner may take to answer.
const PATIENCE: u32 = 500;
/// The longest answer that is read.
const LONGEST: u64 = 64 << 20;

/// Looks at all names of this user: where `SISCI_DIR` says, else those of this network namespace. An error is about a variable.
pub fn survey() -> Result<Survey, String> {
    config::load_to_look()?;
    // The number of a node's name is its process, with a multiple of this if that is one of several PID namespaces.
    let nodes = name::living_nodes().into_iter().map(|(node, number)| (node, number % name::NUMBERS)).collect();
    let kinds = [
        (Kind::Segment, What::Segment),
        (Kind::Member, What::Member),
        (Kind::Interrupt, What::Interrupt),
        (Kind::DataInterrupt, What::DataInterrupt),
    ];
    let mut silent = HashSet::new();
    let mut resources = Vec::new();
    for (kind, what) in kinds {
        for (node, id) in name::nodes_with(what) {
            let (process, report) = ask(Name::new(node, what, id), &mut silent);
            // Nobody at all: it has gone since, or is a file that a killed process left.
            if process.is_some() {
                resources.push(Resource { kind, node, id, process, report });
            }
        }
    }
    Ok(Survey { nodes, resources })
}

/// Asks the owner of a name. One that did not answer once is `silent`: nobody waits for it again.
fn ask(name: Name, silent: &mut HashSet<u32>) -> (Option<u32>, Option<Report>) {
    let until = deadline(PATIENCE);
    let Ok(socket) = name.connect(until) else { return (None, None) };
    let owner =
        sockopt::socket_peercred(&socket).ok().and_then(|peer| u32::try_from(peer.pid.as_raw_nonzero().get()).ok());
    let known = owner.unwrap_or(0);
    if silent.contains(&known) {
        return (owner, None);
    }
    match packet::ask(&socket, Packet::new(Verb::Status), until) {
        Ok((_, mut fds)) => {
            let text = fds.pop().and_then(|text| read(File::from(text)));
            let report = text.and_then(|text| Report::parse(&text));
            // Who answered knows better: the name may have been made by a process that is gone.
            (report.as_ref().map(|report| report.process).or(owner), report)
        }
        Err(Error::NoSuchSegment) => (None, None),
        Err(_) => {
            silent.insert(known);
            (owner, None)
        }
    }
}

/// What stands in the memory of an answer. Only memory has seals: reading another kind of file might wait for ever.
fn read(mut file: File) -> Option<String> {
    fcntl_get_seals(&file).ok()?;
    file.rewind().ok()?;
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}
