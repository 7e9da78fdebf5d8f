//! The things that nodes make, connect and agree on in `gasnet_init`: regions, queues, the environment, the window of
//! addresses.

#![allow(unsafe_code)] // regions and client memory

use super::{CONNECT, Client};
use crate::am::peers::Connector;
use crate::am::region::{COMMAND, CONTROL, ENVIRONMENT, Layout};
use crate::am::wait;
use crate::base::config::{Config, Dma, SegmentSize, Unmapped};
use crate::base::error::Error;
use crate::base::log;
use crate::boot::{self, BootError, Bootstrap, JobMemory, Key};
use crate::job::rooms::{self, Room, Sharers};
use crate::job::{JobHeader, environment, limits};
use crate::os::machine::{self, Unlike};
use crate::os::{namespace, sys};
use crate::peers::places::Places;
use crate::sci::window::Window;
use crate::sci::{
    Adapter, Host, IS_TIMED, JobAdapter, LocalMap, LocalSegment, NodeId, Placement, RemoteSegment, SciError, SegmentId,
};
use crate::supervise::spawn::HIGH;
use crate::xfer::overlap::Overlap;
use std::os::fd::AsFd;

/// Makes a region of `len` bytes in this node that peers can connect to.
pub(super) fn create(
    adapter: &Host,
    id: SegmentId,
    len: usize,
) -> Result<(<Host as Adapter>::LocalSegment, <Host as Adapter>::Local), Error> {
    let no_room = |e| {
        let advice = limits::advice(&e);
        Error::resource(format_args!("region of {len} bytes: {e}{advice}"))
    };
    let segment = adapter.create(id, len).map_err(no_room)?;
    let map = segment.map(Placement::Anywhere).map_err(no_room)?;
    apply_memory_policy(map.ptr(0), len);
    segment.set_available()?;
    Ok((segment, map))
}

/// Publishes this node's environment, the job's, to all nodes of its host. The caller keeps the result until all nodes have read it.
pub(super) fn publish_environment(adapter: &Host) -> Result<impl Sized, Error> {
    let block = crate::base::config::environment();
    environment::keep(&block);
    let (segment, map) = create(adapter, ENVIRONMENT, block.len())?;
    // SAFETY: the map has that many bytes; no other process touches them before the fence.
    unsafe { map.ptr(0).copy_from_nonoverlapping(block.as_ptr(), block.len()) };
    Ok((map, segment)) // in this order, so that the map is dropped first
}

pub(super) fn fetch_environment(adapter: &Host) -> Result<(), Error> {
    let segment = adapter.near().connect(NodeId(0), ENVIRONMENT, CONNECT)?;
    let map = segment.map(0, segment.len(), Placement::Anywhere)?;
    let mut block = vec![0; segment.len()];
    // SAFETY: both have that many bytes; node 0 wrote them before the fence and does not change them.
    unsafe { map.address().copy_to_nonoverlapping(block.as_mut_ptr(), block.len()) };
    environment::keep(&block);
    Ok(())
}

/// Gives a node that is bound to a NUMA node its regions and its segment there, even the pages that peers touch
/// first.
pub(super) fn apply_memory_policy(base: *mut u8, len: usize) {
    // SAFETY: a map of this process, of that length, which lives as long as the job.
    unsafe { sys::apply_memory_policy(base.cast(), len) };
}

/// The node's DMA engine, if the user wants one and it can help. `cores`: those that all nodes have together.
pub(super) fn overlap(config: &Config, client: &Client, me: u32, nodes: u32, cores: u32) -> Option<Overlap> {
    let why = match config.dma {
        Dma::Sync => return None,
        _ if !config.native => "GASNET_SCI_EXTENDED=ref transfers by messages".to_string(),
        _ if client.everything => "in GASNET_SEGMENT_EVERYTHING no memory is mapped".to_string(),
        Dma::Always => String::new(),
        // A thread runs where its process may. A process that is bound to one core has no other core for it.
        Dma::Thread if wait::cores() < 2 => {
            "each node has one core; GASNET_SCI_DMA=always starts a thread all the same".into()
        }
        Dma::Thread if cores <= nodes => {
            format!("no core is free: {nodes} nodes on {cores}; GASNET_SCI_DMA=always starts threads all the same")
        }
        Dma::Thread => String::new(),
    };
    if why.is_empty() {
        return Some(Overlap::new(usize::try_from(config.dma_thread_min).unwrap_or(usize::MAX)));
    }
    if me == 0 {
        log::advise(&format!("no DMA thread, transfers are made at once: {why}"));
    }
    None
}

/// Connects to the regions that all nodes made before the first fence.
pub(super) struct Regions {
    pub adapter: Host,
    pub layout: Layout,
    pub me: u32,
    pub header: JobHeader,
}

impl Regions {
    fn map(&self, peer: u32, id: SegmentId, offset: usize, len: usize) -> Result<<Host as Adapter>::Remote, Error> {
        restore_file(&self.adapter, &self.header)?;
        let no_room = |e| {
            let advice = limits::advice(&e);
            Error::resource(format_args!("region of node {peer}: {e}{advice}"))
        };
        let node = NodeId(peer as u16);
        let segment = match self.adapter.is_far(node) {
            true => self.adapter.far_segment(node, id, offset + len)?,
            false => self.adapter.connect(node, id, CONNECT)?,
        };
        segment.map(offset, len, Placement::Anywhere).map_err(no_room)
    }
}

impl Connector<Host> for Regions {
    fn post(&self, peer: u32) -> Result<(<Host as Adapter>::Remote, <Host as Adapter>::RemoteInterrupt), Error> {
        let control = self.map(peer, CONTROL, 0, self.layout.control_len())?;
        Ok((control, self.adapter.connect_interrupt(NodeId(peer as u16))?))
    }

    fn queue(&self, peer: u32) -> Result<<Host as Adapter>::Remote, Error> {
        self.map(peer, COMMAND, self.layout.queue(self.me as usize), self.layout.queue_len())
    }
}

/// Opens the job's memory again if the client closed it. Programs such as daemons close all descriptors that they do
/// not know.
pub(super) fn restore_file(adapter: &Host, header: &JobHeader) -> Result<(), Error> {
    if adapter.near().has_file() {
        return Ok(());
    }
    let again = if header.nodes() == 1 { sys::memfd() } else { header.reopen() };
    // With a high number, because the client may expect the lowest ones.
    let again = again.and_then(|fd| sys::duplicate_high(fd.as_fd(), HIGH));
    let again = again.map_err(|_| Error::from(SciError::FileLost))?;
    Ok(adapter.near().take_file(again)?)
}

/// Sizes of segments: what this node asks for until all have told about themselves, and then what all may have.
pub(super) struct Sizes {
    /// The largest segment of this node.
    pub local: u64,
    /// The largest segment that all nodes can have.
    pub global: u64,
    /// The largest segment of any node.
    pub stride: u64,
    /// A node commits the memory of its segment in attach.
    pub reserves: bool,
    /// Who shares the memory that this node's segment comes out of.
    pub sharers: Sharers,
}

/// What a node could have of memory by itself, before it knows which nodes share it.
pub(super) struct Wish {
    asked: Option<u64>,
    rooms: Vec<Room>,
    commits: bool,
    locals: u32,
    nodes: u32,
}

impl Wish {
    /// The user's wish counts most, then the client's, among `locals` nodes of this host.
    pub(super) fn new(config: &Config, client: &Client, locals: u32, nodes: u32) -> Result<Wish, Error> {
        let text = match client.max_segsize_text {
            Some(text) => Some(SegmentSize::parse(text).ok_or_else(|| {
                Error::resource(format_args!("gasnet_max_segsize_str: {text:?} is no memory size and no fraction"))
            })?),
            None => None,
        };
        let asked = [config.max_segsize, text].into_iter().flatten().map(|size| limits::asked(size, locals));
        let asked = asked.chain([client.max_segsize]).find(|bytes| *bytes > 0); // 0 is no wish
        let commits = config.reserve;
        Ok(Wish { asked, rooms: rooms::own(commits), commits, locals, nodes })
    }

    // `sharers`: how many nodes share the room with this id.
    fn largest(&self, sharers: impl Fn(u64) -> u32) -> u64 {
        limits::max_segment_part(self.asked, self.locals, self.nodes, &self.rooms, sharers)
    }

    /// This node's last words of its card, as long as all nodes of its host share what it has.
    pub(super) fn words(&self) -> [u64; 2] {
        [self.largest(|_| self.locals) & !1 | u64::from(self.commits), rooms::word(&self.rooms)]
    }

    /// What comes of the wishes of all nodes, whose cards these are. Only where nodes of a host are in different groups of memory, or
    /// hosts are one machine, more is exchanged.
    pub(super) fn agree(
        &self,
        boot: &dyn Bootstrap,
        header: &JobHeader,
        cards: &[InitCard],
    ) -> Result<Sizes, BootError> {
        let words: Vec<u64> = cards.iter().map(|card| card[5]).collect();
        let sharers = Sharers::agree(boot, header, &words, &self.rooms)?;
        let mut all: Vec<u64> = cards.iter().map(|card| card[4] & !1).collect();
        if sharers.differ() {
            let own = self.largest(|id| sharers.of(id).len() as u32) & !1;
            boot::put_words(boot, CARD, &[own])?;
            boot.fence()?;
            let told = (0..self.nodes).map(|node| boot::get_words::<1>(boot, node, CARD));
            all = told.map(|told| Ok(told?[0])).collect::<Result<_, BootError>>()?;
        }
        let local = all[boot.rank() as usize];
        let [global, stride] = [all.iter().min(), all.iter().max()].map(|size| size.copied().unwrap_or(local));
        let reserves = cards.iter().any(|card| card[4] & 1 != 0);
        Ok(Sizes { local, global, stride, reserves, sharers })
    }
}

/// Where the job's nodes are, as its memory and the settings say. `everything`: no segment is mapped.
pub(super) fn places(memory: &JobMemory, config: &Config, everything: bool) -> Places {
    let header = memory.header();
    let real: Vec<u32> = header.records().iter().map(|record| record.host()).collect();
    let apart = everything || config.unmapped != Unmapped::No || IS_TIMED;
    Places::of(&real, header.local_count(), config.hosts.split, config.supernode_max, apart)
}

/// The key under which a node puts its [`InitCard`].
pub(super) const CARD: Key = Key::new("card");

/// What each node tells all others in `gasnet_init`, in words: the client's configuration, the version of the layout and the kind of machine, its slots and ring
/// bytes, the largest segment that it could have, and a word for the memory that it comes out of ([`rooms`]). `Job::init` puts it; every
/// node reads those of all nodes, refuses a job whose nodes differ ([`check_agreement`]), and takes the size of the largest segment that
/// all can have. The lowest bit of the segment's word says whether the node commits its memory (GASNET_SCI_RESERVE), which a script between
/// launcher and node may set for some: a round of the exchange has no room for another word.
pub(crate) type InitCard = [u64; 6];

/// The key under which a node of timing mode says what its clock counts.
const CLOCKS: Key = Key::new("clocks");

/// In timing mode the nodes of the job, which are on one host, compare their clocks. This one tells whose they are.
pub(super) fn tell_clocks(boot: &dyn Bootstrap) -> Result<(), BootError> {
    match IS_TIMED {
        true => boot::put_words(boot, CLOCKS, &[namespace::of_clocks().map_or(0, |space| space.inode)]),
        false => Ok(()),
    }
}

/// After the fence.
pub(super) fn check_clocks(boot: &dyn Bootstrap) -> Result<(), Error> {
    if !IS_TIMED {
        return Ok(());
    }
    let clocks: Vec<[u64; 1]> =
        (0..boot.size()).map(|node| boot::get_words(boot, node, CLOCKS)).collect::<Result<_, _>>()?;
    match other_clock(&clocks) {
        None => Ok(()),
        Some(other) => Err(Error::resource(format_args!(
            "node {other} is in another time namespace than node 0, and timing mode compares the clocks of nodes"
        ))),
    }
}

fn other_clock(clocks: &[[u64; 1]]) -> Option<usize> {
    clocks.iter().position(|clock| *clock != clocks[0])
}

/// Checks that all nodes run the same library, with the same region sizes, from the same build of the client.
pub(crate) fn check_agreement(me: u32, cards: &[InitCard]) -> Result<(), Error> {
    let own = &cards[me as usize];
    for (node, other) in cards.iter().enumerate() {
        if let Some(Unlike::Machine(theirs, ours)) = machine::unlike(other[1], own[1]) {
            return Err(Error::resource(format_args!(
                "node {node} runs on another kind of machine ({theirs}) than node {me} ({ours}): nodes of a job cannot differ in that"
            )));
        }
        if other[1] != own[1] {
            return Err(Error::resource(format_args!(
                "node {node} runs another version of the library than node {me} (layouts {:x} and {:x}): all nodes of a job need the same build",
                other[1], own[1]
            )));
        }
        if other[2..4] != own[2..4] {
            return Err(Error::resource(format_args!(
                "node {node} has other regions than node {me}: slots and bytes of a ring are {:?} and {:?} (GASNET_SCI_SLOTS)",
                &other[2..4],
                &own[2..4]
            )));
        }
        if other[0] != own[0] {
            return Err(Error::resource(format_args!(
                "node {node} was compiled in another mode than node {me}: {:#x} and {:#x}",
                other[0], own[0]
            )));
        }
    }
    Ok(())
}

/// More nodes of a host than this have their segments in one map.
const APART: usize = 16;

/// The first node of a host with many nodes chooses where their segments will lie side by side. A fence follows.
pub(super) fn choose_layout(adapter: &Host, config: &Config, window: Option<&Window>, me: u32, nodes: u32) {
    let mut near = (0..nodes).filter(|node| !adapter.is_far(NodeId(*node as u16)));
    let is_mine = near.next() == Some(me) && near.count() >= APART;
    if let (Some(window), true) = (window, is_mine && may_map_all(config)) {
        adapter.near().choose_layout(window);
    }
}

/// True if every node will map the segments of all others of its host: all nodes have the same settings.
pub(super) fn may_map_all(config: &Config) -> bool {
    config.unmapped == Unmapped::No && !IS_TIMED
}

/// The key under which a node says whether a candidate's window is free in its process, and whether it wants one at
/// all.
const WINDOW: Key = Key::new("window");

/// Finds a window that is free in every process. `None`: each process maps where it can.
pub(super) fn agree_on_window(boot: &dyn Bootstrap, wanted: bool, stride: usize) -> Result<Option<Window>, BootError> {
    for candidate in 0..Window::CANDIDATES {
        let window = if wanted { Window::reserve(candidate, stride, boot.size()) } else { None };
        boot.put(WINDOW, &[u8::from(window.is_some()), u8::from(wanted)])?;
        boot.fence()?;
        let (mut all_free, mut all_want) = (true, true);
        for node in 0..boot.size() {
            let mut answer = [0; 2];
            boot.get(node, WINDOW, &mut answer)?;
            all_free &= answer[0] != 0;
            all_want &= answer[1] != 0;
        }
        if all_free {
            return Ok(window);
        }
        if !all_want {
            return Ok(None);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_two_kinds_of_machines_or_of_two_versions_is_refused() {
        let card = |layout| [7, layout, 64, 4096, 0, 0];
        let own = machine::layout(1);
        assert!(check_agreement(0, &[card(own); 2]).is_ok());
        let refused = |other| check_agreement(0, &[card(own), card(other)]).unwrap_err().to_string();
        let other_machine = refused(own ^ 1 << 50);
        assert!(other_machine.contains("node 1 runs on another kind of machine (ELF machine"), "{other_machine}");
        assert!(refused(own + 1).contains("another version"));
    }

    #[test]
    fn a_node_whose_clock_counts_otherwise_is_found() {
        assert_eq!(other_clock(&[[7], [7], [7]]), None);
        assert_eq!(other_clock(&[[7], [7], [8]]), Some(2));
    }
}
