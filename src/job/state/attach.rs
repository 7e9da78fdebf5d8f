//! `gasnet_attach`: the segments of all nodes, and the information that clients get about them.

#![allow(unsafe_code)] // this node's segment, which a network is told of

use super::ways::{self, AccessCounts};
use super::wiring::{apply_memory_policy, may_map_all, restore_file};
use super::{ATTACHED, CONNECT, Job, Own, SegmentInfo};
use crate::am::handlers::{Entry, Free};
use crate::am::region::PAYLOAD;
use crate::base::error::{Error, bad_arg};
use crate::base::log;
use crate::boot::{self, Key};
use crate::job::{Phase, limits, signals};
use crate::peers::table::{PeerSegment, Way};
use crate::sci::far::wire;
use crate::sci::{Adapter, Host, JobAdapter, LocalMap, LocalSegment, NodeId, Placement, RemoteSegment};
use crate::sync::Ordering;

/// Key of a node's segment: its address at the owner, its length, and how others may find the node's process.
const SEGMENT: Key = Key::new("segment");
/// In place of the address, the node could not make its segment; as the first word of [`REACHED`], it could not connect one.
const FAILED: usize = usize::MAX;
/// Key of whether a node has mapped all segments, and of how it reaches those that it has not ([`AccessCounts`]).
const REACHED: Key = Key::new("reached");

/// Key of how many bytes a node wants to commit, and then of whether its host has them.
const ROOM: Key = Key::new("room");

/// What a node has told as [`SEGMENT`].
type Told = [u64; ways::WORDS];

type Exchanged = (Option<Own>, Box<[PeerSegment<Host>]>, (bool, AccessCounts));

impl Job {
    /// Creates and exchanges the segments, and registers the handlers. Blocks until all nodes attach. Errors in
    /// arguments are found before anything is created, so the client may exit or try again.
    pub fn attach(
        &'static self,
        entries: &mut [Entry],
        size: usize,
        hook: impl FnOnce(usize, usize),
    ) -> Result<(), Error> {
        if Job::attached().is_ok() {
            return Err(Error::not_init("gasnet_attach was called before"));
        }
        let size = if self.client.everything { 0 } else { size };
        self.check_size(size)?;
        self.am.handlers().register(entries, Free::Lowest, |_| ())?;
        let forget = |_: &Error| self.am.handlers().forget(entries);
        let (maps_all, ways) = self.make_segments(size, hook).inspect_err(forget)?;
        self.start();
        self.boot.fence()?;
        assert!(self.all_mapped.set(maps_all).is_ok(), "attached once");
        self.tell(ways);
        Ok(())
    }

    /// Lets the job carry messages without a segment (GASNet-EX). In EVERYTHING all memory is the segment from here on. Blocks
    /// until all nodes are here.
    pub fn open(&'static self) -> Result<(), Error> {
        if self.client.everything {
            return self.attach(&mut [], 0, |_, _| ());
        }
        // What attach will find out, because all nodes have the same settings.
        assert!(self.all_mapped.set(may_map_all(&self.config)).is_ok(), "opened once");
        self.start();
        Ok(self.boot.fence()?)
    }

    /// Creates and exchanges the segments of a job that is [open](Self::open). Blocks until all nodes call, and serves messages
    /// meanwhile. Errors in arguments are found before anything is created.
    pub fn attach_segment(&'static self, size: usize, hook: impl FnOnce(usize, usize)) -> Result<(), Error> {
        if self.segments.get().is_some() {
            return Err(Error::not_init("the segment was attached before"));
        }
        if size == 0 {
            return bad_arg(format_args!("a segment of 0 bytes"));
        }
        self.check_size(size)?;
        // Messages flow already, and a fence serves none: all nodes must be here before the first fence.
        self.coll()?.meet();
        let (maps_all, ways) = self.make_segments(size, hook)?;
        self.boot.fence()?;
        if !maps_all && may_map_all(&self.config) {
            return Err(Error::resource("a node could not map the segments of all others"));
        }
        self.tell(ways);
        Ok(())
    }

    /// Takes `[base, base + len)`, the client's own memory, as this node's segment (GASNet-EX). Once, where there is none.
    pub fn bind(&self, base: usize, len: usize) -> Result<(), Error> {
        let is_first = self.am.table().publish(self.rank, PeerSegment::unmapped(base, len, false, Way::Own));
        if is_first { Ok(()) } else { Err(Error::not_init("the node had a segment before")) }
    }

    /// Tells the members of a team of the segment that is bound here, if one is given, and learns of theirs. Blocks until all
    /// have called.
    pub fn publish(&'static self, team: usize, bound: Option<(usize, usize)>) -> Result<(), Error> {
        let coll = self.coll()?;
        let team = coll.team(team)?;
        let (base, len) = bound.unwrap_or_default();
        let mine = self.segment_words(base, len);
        for (member, [base, len, card @ ..]) in coll.collect(&team, mine).into_iter().enumerate() {
            let (node, base, len) = (team.cells.rank(member), base as usize, len as usize);
            let is_new = node != self.rank && self.am.table().of(node).is_none();
            if len > 0 && is_new && base.checked_add(len).is_some() {
                let way = self.way(node, card).map_or(Way::Messages, Way::Kernel);
                self.am.table().publish(node, PeerSegment::unmapped(base, len, false, way));
            }
        }
        coll.collect(&team, [0]); // nobody returns before all know
        Ok(())
    }

    /// The segment of `node` as far as this node knows: address at its owner, bytes, address here or 0. `None` in EVERYTHING too.
    pub fn bound(&self, node: u32) -> Option<(usize, usize, usize)> {
        if self.client.everything {
            return None;
        }
        let segment = self.am.table().of(node).filter(|s| s.len > 0)?;
        let (base, len) = (segment.base, segment.len);
        let near = segment.attached && segment.way.map().is_some() && self.supernode(node) == self.supernode(self.rank);
        let here = match &self.segments.get() {
            _ if node == self.rank => base,
            Some(infos) if near => base.wrapping_add(infos[node as usize].offset),
            _ => 0,
        };
        Some((base, len, here))
    }

    /// True if the memory of `node` is not mapped here, nor reached by the kernel.
    pub(super) fn hides(&self, node: u32) -> bool {
        self.config.unmapped.hides(self.rank, node) || self.adapter.is_far(NodeId(node as u16))
    }

    fn check_size(&self, size: usize) -> Result<(), Error> {
        if !(size as u64).is_multiple_of(limits::PAGE) {
            return bad_arg(format_args!("segsize {size} is not a multiple of the page size {}", limits::PAGE));
        }
        if size as u64 > self.sizes.local {
            return bad_arg(format_args!(
                "segsize {size} is above gasnet_getMaxLocalSegmentSize() = {}",
                self.sizes.local
            ));
        }
        Ok(())
    }

    /// Creates this node's segment, connects the others, and calls `hook` with the place of its own one. Returns whether every node has
    /// mapped the segments of all others of its host, and how the rest is reached. An error of one node is an error of all, and nothing is
    /// kept, so that they may try again.
    fn make_segments(&self, size: usize, hook: impl FnOnce(usize, usize)) -> Result<(bool, AccessCounts), Error> {
        let (made, segments, ways) = self.exchange_segments(size)?;
        let base = made.as_ref().map_or(0, |(_, map)| map.ptr(0) as usize);
        let own = SegmentInfo { base, len: if made.is_some() { size } else { 0 }, offset: 0 };
        made.into_iter().for_each(|made| self.keep(made));
        let infos = segments.iter().enumerate().map(|(p, segment)| self.info(p as u32, segment, own)).collect();
        assert!(self.segments.set(infos).is_ok(), "attached once");
        self.am.table().set(segments, self.client.everything);
        hook(own.base, own.len);
        Ok(ways)
    }

    /// From here on clients may call everything.
    fn start(&'static self) {
        if let Err(error) = self.adapter.start_thread(self.config.hosts.progress_thread) {
            log::advise(&format!("no thread for the network, calls serve it: {error}"));
        }
        signals::install_at_attach(&self.config);
        self.memory.set_phase(Phase::Attached);
        self.serve_background();
        // ORDERING: Release ↔ Acquire in `attached`: the job is complete before its pointer is seen.
        ATTACHED.store(std::ptr::from_ref(self).cast_mut(), Ordering::Release);
    }

    /// What all nodes have put as [`REACHED`].
    fn reached(&self) -> Result<(bool, AccessCounts), Error> {
        let (mut maps_all, mut ways) = (true, AccessCounts::default());
        for node in 0..self.nodes {
            let [is_all, theirs @ ..] = boot::get_words::<4>(&*self.boot, node, REACHED)?;
            if is_all == FAILED as u64 {
                return Err(Error::resource(format_args!("node {node} could not connect a segment, and says why")));
            }
            maps_all &= is_all == 1;
            ways.add(theirs);
        }
        Ok((maps_all, ways))
    }

    /// Where settings are reported, says how memory that is not mapped is reached.
    fn tell(&self, ways: AccessCounts) {
        if self.rank == 0 && self.config.verbose_env && !ways.is_empty() {
            log::advise(&ways.to_string());
        }
    }

    /// Creates this node's segment and connects the others. Returns its own one, all segments by rank, and how they are reached. A node
    /// that cannot create its segment, or connect another, says so in the exchange: all nodes return an error, and none waits for it.
    fn exchange_segments(&self, size: usize) -> Result<Exchanged, Error> {
        if self.sizes.reserves {
            self.agree_on_room(size)?;
        }
        let restored = restore_file(&self.adapter, self.memory.header());
        self.adapter.near().lay_out(PAYLOAD, self.window.as_ref());
        let made = restored.and_then(|()| self.create_segment(size));
        let (base, len) = match &made {
            Ok(made) => made.as_ref().map_or((0, 0), |(_, map)| (map.ptr(0) as usize, size)),
            Err(_) => (FAILED, 0),
        };
        boot::put_words(&*self.boot, SEGMENT, &self.segment_words(base, len))?;
        self.boot.fence()?;
        let made = made?;
        let told = (0..self.nodes).map(|node| boot::get_words(&*self.boot, node, SEGMENT));
        let told = told.collect::<Result<Vec<Told>, _>>()?;
        if let Some(node) = told.iter().position(|words| words[0] == FAILED as u64) {
            return Err(Error::resource(format_args!("node {node} could not make its segment, and says why")));
        }
        let mut ways = AccessCounts::default();
        let connected = (0..).zip(told).map(|(node, told)| self.connect_segment(node, told, (base, len), &mut ways));
        let connected = connected.collect::<Result<Box<[_]>, Error>>();
        let is_reached = |(p, segment): (usize, &PeerSegment<Host>)| {
            let is_peer = p as u32 != self.rank && !self.adapter.is_far(NodeId(p as u16));
            !is_peer || segment.len == 0 || segment.way.memory(0).is_some()
        };
        let maps_all = connected.as_ref().map(|segments| segments.iter().enumerate().all(is_reached));
        let [kernel, namespaces, refused] = ways.words();
        let word = maps_all.map_or(FAILED as u64, u64::from);
        boot::put_words(&*self.boot, REACHED, &[word, kernel, namespaces, refused])?;
        self.boot.fence()?;
        Ok((made, connected?, self.reached()?))
    }

    /// Finds out whether the segments of those who share memory can be committed together, before any node begins with it: the kernel
    /// answers a lack of memory by killing a node. All nodes of the job have the same result.
    fn agree_on_room(&self, size: usize) -> Result<(), Error> {
        let asks = if self.config.reserve { size as u64 } else { 0 };
        boot::put_words(&*self.boot, ROOM, &[asks])?;
        self.boot.fence()?;
        let told = (0..self.nodes).map(|node| boot::get_words::<1>(&*self.boot, node, ROOM));
        let asks = told.collect::<Result<Vec<_>, _>>()?;
        let of =
            |id| self.sizes.sharers.of(id).iter().fold(0u64, |sum, node| sum.saturating_add(asks[*node as usize][0]));
        let found = limits::check_room(of);
        boot::put_words(&*self.boot, ROOM, &[found.is_ok().into()])?;
        self.boot.fence()?;
        if let Err(lack) = found {
            let limits::Lack { bytes, error } = *lack;
            let advice = limits::advice(&error);
            return Err(Error::resource(format_args!(
                "segment of {size} bytes, {bytes} bytes with those of other nodes that share this memory: {error}{advice}"
            )));
        }
        for node in 0..self.nodes {
            if boot::get_words(&*self.boot, node, ROOM)? != [1] {
                return Err(Error::resource(format_args!(
                    "segment of {size} bytes: node {node} has no room for its own"
                )));
            }
        }
        Ok(())
    }

    fn create_segment(&self, size: usize) -> Result<Option<Own>, Error> {
        if size == 0 {
            return Ok(None);
        }
        let no_room = |e| {
            let advice = limits::advice(&e);
            Error::resource(format_args!("segment of {size} bytes (limit {}): {e}{advice}", self.sizes.local))
        };
        let segment = self.adapter.create(PAYLOAD, size).map_err(no_room)?;
        if self.config.reserve {
            segment.reserve().map_err(no_room)?;
        }
        let map = segment.map(self.place(self.rank)).map_err(no_room)?;
        apply_memory_policy(map.ptr(0), size);
        segment.set_available()?;
        Ok(Some((segment, map)))
    }

    /// All nodes have made their segments: this one's stays as long as the job.
    fn keep(&self, (segment, map): Own) {
        if let Some(far) = self.adapter.far() {
            // SAFETY: the segment stays mapped as long as the job, which is never freed.
            let _ = unsafe { far.wire().set_area(wire::SEGMENT, map.ptr(0), map.len()) }; // where that fails, peers are lost, which ends the job
            far.admit(PAYLOAD, map.clone(), Box::new(|_, _, _| true));
        }
        assert!(self.kept.set((segment, map)).is_ok(), "attached once");
    }

    fn place(&self, node: u32) -> Placement {
        let address = self.window.as_ref().and_then(|w| w.address(node));
        address.map_or(Placement::Anywhere, Placement::At)
    }

    fn connect_segment(
        &self,
        node: u32,
        told: Told,
        (own_base, own_len): (usize, usize),
        ways: &mut AccessCounts,
    ) -> Result<PeerSegment<Host>, Error> {
        if node == self.rank {
            // The values do not come from the bulletin, because other nodes can write that too.
            return Ok(PeerSegment::unmapped(own_base, own_len, true, Way::Own));
        }
        let [base, len, card @ ..] = told;
        let (base, len) = (base as usize, len as usize);
        let is_hidden = self.hides(node);
        if len == 0 {
            // In EVERYTHING all memory is the segment, and none of it is mapped.
            let kernel = if self.client.everything { ways.note(self.way(node, card)) } else { None };
            return Ok(PeerSegment::unmapped(0, len, true, kernel.map_or(Way::Messages, Way::Kernel)));
        }
        if !is_possible(base, len, self.place(node)) {
            return Err(Error::resource(format_args!(
                "node {node} says that its segment is [{base:#x}, +{len}), which cannot be"
            )));
        }
        if self.adapter.is_far(NodeId(node as u16)) && self.config.native {
            let segment = self.adapter.far_segment(NodeId(node as u16), PAYLOAD, len)?;
            let map = segment.map(0, len, Placement::Anywhere)?;
            return Ok(PeerSegment { base, len, attached: true, way: Way::through(map), segment: Some(segment) });
        }
        if is_hidden {
            return Ok(PeerSegment::unmapped(base, len, true, Way::Messages));
        }
        let segment = self.adapter.connect(NodeId(node as u16), PAYLOAD, CONNECT)?;
        let map = segment.map(0, len, self.place(node))?;
        Ok(PeerSegment { base, len, attached: true, way: Way::through(map), segment: Some(segment) })
    }

    fn info(&self, node: u32, segment: &PeerSegment<Host>, own: SegmentInfo) -> SegmentInfo {
        if self.client.everything {
            return SegmentInfo { base: 0, len: usize::MAX, offset: 0 };
        }
        if node == self.rank {
            return own;
        }
        let here = segment.way.memory(0).filter(|_| self.supernode(node) == self.supernode(self.rank));
        let offset = here.map_or(0, |at| at.addr().wrapping_sub(segment.base));
        SegmentInfo { base: segment.base, len: segment.len, offset }
    }
}

/// Whether a peer's segment can be `[base, base + len)` in its memory, given what was agreed about its place.
pub(crate) fn is_possible(base: usize, len: usize, place: Placement) -> bool {
    let whole = |n: usize| (n as u64).is_multiple_of(limits::PAGE);
    let placed = match place {
        Placement::Anywhere => base != 0,
        Placement::At(address) => base == address,
    };
    placed && whole(base) && whole(len) && base.checked_add(len).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_whole_pages_at_the_place_agreed_on_and_ends_in_memory() {
        let (page, anywhere) = (limits::PAGE as usize, Placement::Anywhere);
        assert!(is_possible(page, page, anywhere) && is_possible(4 * page, page, Placement::At(4 * page)));
        assert!(!is_possible(4 * page, page, Placement::At(5 * page)));
        for (base, len) in [(0, page), (page + 1, page), (page, page - 1), (0usize.wrapping_sub(page), 2 * page)] {
            assert!(!is_possible(base, len, anywhere), "{base:#x} {len}");
        }
    }
}
