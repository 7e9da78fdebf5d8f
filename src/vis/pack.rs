//! Transfers to and from memory that loads and stores do not reach. They are packed into messages.
//!
//! Runs that are long on both sides are sent one by one, as puts and gets. Other runs share packets, as many as fit.
//!
//! | packet | request | answer |
//! |---|---|---|
//! | put | Medium: the bytes, and behind them the words that say where they belong (`groups`) | Short, which counts it done |
//! | put to one place | an ordinary put of the packed bytes | as for any put |
//! | get | Medium: the words of the remote side | Medium: the bytes |
//! | completion of a put | Medium: what the client's handler gets | Short, which counts it done |
//!
//! The words of a get's local side wait in a record until the answer comes. So after the initiation nothing of the
//! client's lists is needed.
//!
//! No deadlock: initiators wait for slots as for any request. Handlers of requests reply once. The handler of a get's
//! answer waits for nothing (ARCHITECTURE.md, invariant 3).

#![allow(unsafe_code)] // client memory and mapped segments

use super::groups::{Group, Groups, Reader};
use super::shape::Run;
use super::{Movement, Verb, Vis, copy};
use crate::am::Am;
use crate::am::corrupt::corrupt;
use crate::am::library::{Library, VIS_ARRIVED, VIS_COMPLETE, VIS_GET, VIS_PUT, high, low};
use crate::am::region::MAX_MEDIUM;
use crate::am::source::{Args, Source};
use crate::am::token::Token;
use crate::base::config::{VIS_PACKET, VIS_PACKET_WORDS};
use crate::base::error::Error;
use crate::sci::{Adapter, Mapped};
use crate::verbs::{Flags, Target};
use crate::xfer::op::OpId;
use crate::xfer::{Completion, Counted, Landing, Rma, reference};
use parking_lot::Mutex;
use std::sync::Arc;

const _: () = assert!(VIS_PACKET + 8 * VIS_PACKET_WORDS <= MAX_MEDIUM, "a packet is one Medium");

/// Most bytes for the client's handler of a put that is complete.
pub const MAX_COMPLETION: usize = 127;

/// A packet of a get that has no answer yet.
struct Record {
    node: u32,
    op: OpId,
    bytes: usize,
    words: Box<[u64]>,
}

/// All packets of gets of this process that have no answer yet.
#[derive(Default)]
pub struct Records(Mutex<(Vec<Option<Record>>, Vec<u32>)>);

impl Records {
    fn add(&self, record: Record) -> u32 {
        let mut guard = self.0.lock();
        let (records, free) = &mut *guard;
        let id = free.pop().unwrap_or_else(|| {
            records.push(None);
            // Each record has a request under way, so there are far fewer than 2³².
            records.len() as u32 - 1
        });
        records[id as usize] = Some(record);
        id
    }

    fn take(&self, id: u32) -> Option<Record> {
        let mut guard = self.0.lock();
        let (records, free) = &mut *guard;
        let record = records.get_mut(id as usize)?.take()?;
        free.push(id);
        Some(record)
    }
}

/// Registers the handlers of the engine's messages. The handler of a get's answer uses `records`.
pub fn register<A: Adapter>(library: &mut Library<Am<A>>, records: Arc<Records>) {
    library.on(VIS_PUT, |am, token, [ids], message| on_put(am, token, message, low(ids), high(ids) as usize));
    library.on(VIS_GET, |am, token, [ids], message| on_get(am, token, message, low(ids), high(ids) as usize));
    library.on(VIS_COMPLETE, |am, token, [ids], message| on_complete(am, token, message, low(ids), high(ids)));
    library.on(VIS_ARRIVED, move |_, token, [ids], message| {
        on_arrived(&records, token, message, low(ids));
        Ok(())
    });
}

/// One word with two arguments.
fn pair(low: u32, high: usize) -> [u64; 1] {
    [u64::from(low) | (high as u64) << 32]
}

fn as_source(bytes: &[u8]) -> Source {
    // SAFETY: the slice is readable; callers keep it until the call that gets it has returned.
    unsafe { Source::new(bytes.as_ptr(), bytes.len()) }
}

/// Bytes and places that travel in one message.
#[derive(Default)]
struct Packet {
    remote: Groups,
    local: Groups,
}

/// One transfer being packed.
pub struct Packer<'a, A: Adapter> {
    /// The engine: settings, records, counters.
    pub vis: &'a Vis,
    /// Sends the messages.
    pub am: &'a Am<A>,
    /// Makes the puts and gets of runs that go one by one.
    pub rma: &'a Rma,
    /// The target.
    pub target: Target,
    /// The verb that the client called.
    pub call: Verb,
    /// The operation that counts the messages.
    pub op: Counted<'a>,
}

impl<A: Mapped> Packer<'_, A> {
    /// Starts the transfer of all runs. They must be joined as far as possible.
    pub fn start(&self, runs: impl Iterator<Item = Run>) -> Result<(), Error> {
        let mut packet = Packet::default();
        for run in runs {
            let (remote, local) = if self.call.is_put() { (run.to, run.from) } else { (run.from, run.to) };
            self.am.table().check(self.target.rank(), remote, run.len)?;
            if run.len > self.vis.chunk || !(self.vis.pack || self.vis.gather) {
                self.alone(remote, local, run.len)?;
            } else {
                self.add(&mut packet, remote, local, run.len)?;
            }
        }
        self.send(&mut packet)
    }

    /// Adds a run to the packet. A run that does not fit is divided.
    fn add(&self, packet: &mut Packet, remote: usize, local: usize, len: usize) -> Result<(), Error> {
        let mut at = 0;
        while at < len {
            let room = VIS_PACKET - packet.remote.bytes();
            let scattered = packet.remote.pieces() > 0 && !packet.remote.continues(remote + at);
            if room == 0 || packet.remote.words_after() > VIS_PACKET_WORDS || (scattered && !self.vis.pack) {
                self.send(packet)?;
                continue;
            }
            let n = room.min(len - at);
            packet.remote.push(remote + at, n);
            packet.local.push(local + at, n);
            at += n;
        }
        Ok(())
    }

    /// Starts the packet's transfer and empties it.
    fn send(&self, packet: &mut Packet) -> Result<(), Error> {
        match (packet.remote.single(), packet.local.single()) {
            _ if packet.remote.bytes() == 0 => return Ok(()),
            (Some((remote, len)), Some((local, _))) => self.alone(remote, local, len)?,
            (single, _) if self.call.is_put() => self.put(packet, single.filter(|_| self.vis.gather))?,
            _ => self.get(packet)?,
        }
        packet.remote.clear();
        packet.local.clear();
        Ok(())
    }

    /// Starts the transfer of one run as a put or get of its own.
    fn alone(&self, remote: usize, local: usize, len: usize) -> Result<(), Error> {
        self.vis.note(self.call, Movement::Individual, len);
        if self.call.is_put() {
            // SAFETY: the client's source, which is readable during the initiation.
            let source = unsafe { Source::new(local as *const u8, len) };
            return self.put_run(remote, source);
        }
        // SAFETY: the client's destination, which is writable until the operation is synced.
        let landing = unsafe { Landing::new(local as *mut u8, len) };
        // Without flags such as immediate: once the transfer has begun, its other parts must not be refused.
        let c = Completion::at_return(self.op);
        self.rma.get(self.am, self.target, remote, landing, Flags::NONE, c).map(|_| ())
    }

    /// A put of contiguous bytes. Its source is free at return.
    fn put_run(&self, remote: usize, source: Source) -> Result<(), Error> {
        let c = Completion::at_return(self.op);
        self.rma.put(self.am, self.target, remote, source, Flags::NONE, c).map(|_| ())
    }

    /// Puts the packet. `single`: the one place to which all its bytes belong, if there is one.
    fn put(&self, packet: &mut Packet, single: Option<(usize, usize)>) -> Result<(), Error> {
        let bytes = packet.local.bytes();
        let words = packet.remote.finish();
        let mut message = Vec::with_capacity(bytes + 8 * words.len());
        for group in Reader(packet.local.finish()).flatten() {
            // SAFETY: pieces of the client's source, which are readable during the initiation.
            unsafe { append(&mut message, group) };
        }
        if let Some((remote, _)) = single {
            self.vis.note(self.call, Movement::Gather, bytes);
            return self.put_run(remote, as_source(&message));
        }
        self.vis.note(self.call, Movement::Packed, bytes);
        message.extend(words.iter().flat_map(|w| w.to_ne_bytes()));
        self.op.op.start();
        self.am.request_medium(
            self.target.rank(),
            VIS_PUT,
            as_source(&message),
            Args::of(&pair(self.op.id.bits(), bytes), 2),
        )
    }

    fn get(&self, packet: &mut Packet) -> Result<(), Error> {
        let bytes = packet.remote.bytes();
        let algorithm = if packet.remote.pieces() == 1 { Movement::Gather } else { Movement::Packed };
        self.vis.note(self.call, algorithm, bytes);
        let record = Record { node: self.target.rank(), op: self.op.id, bytes, words: packet.local.finish().into() };
        let id = self.vis.records.add(record);
        let words: Vec<u8> = packet.remote.finish().iter().flat_map(|w| w.to_ne_bytes()).collect();
        self.op.op.start();
        self.am.request_medium(self.target.rank(), VIS_GET, as_source(&words), Args::of(&pair(id, bytes), 2))
    }
}

/// Appends the bytes of a group's pieces.
///
/// # Safety
/// The pieces are readable.
unsafe fn append(message: &mut Vec<u8>, group: Group<'_>) {
    let (old, more) = (message.len(), group.len * group.count);
    message.reserve(more);
    let packed = message.spare_capacity_mut().as_mut_ptr() as usize;
    // SAFETY: the caller promises readable pieces; room for the bytes was just made.
    unsafe { copy::group(group, packed, true) };
    // SAFETY: the bytes were just written.
    unsafe { message.set_len(old + more) };
}

/// The words at the end of a message that starts with `bytes` bytes of payload. They are copied before they are
/// checked, because the sender may change them.
fn words_behind(message: Source, bytes: usize, source: u32) -> Vec<u64> {
    if bytes > message.len() || !(message.len() - bytes).is_multiple_of(8) {
        corrupt(source, "packet with a wrong number of bytes");
    }
    let mut words = vec![0; (message.len() - bytes) / 8];
    message.part(bytes, message.len() - bytes).copy_to(&mut words);
    words
}

/// Checks that the words of a peer describe `bytes` bytes of this node's segment.
fn check_groups<A: Adapter>(am: &Am<A>, words: &[u64], bytes: usize, source: u32) {
    let mut left = bytes;
    for group in Reader(words) {
        let Some(group) = group.filter(|g| g.len.checked_mul(g.count).is_some_and(|n| n <= left)) else {
            corrupt(source, "packet whose pieces make no sense")
        };
        left -= group.len * group.count;
        if !group.places().all(|place| am.table().holds(am.me(), place, group.len)) {
            corrupt(source, "packet with a piece outside the segment");
        }
    }
    if left > 0 {
        corrupt(source, "packet with more bytes than pieces");
    }
}

/// Copies packed bytes to the places that `words` name.
///
/// # Safety
/// The places are writable and `packed` is readable for as many bytes.
unsafe fn scatter(words: &[u64], packed: *const u8) {
    let mut at = packed as usize;
    for group in Reader(words).flatten() {
        // SAFETY: the caller promises writable places, and as many readable bytes at `packed`.
        at = unsafe { copy::group(group, at, false) };
    }
}

/// Handler at the target of a put's packet.
pub fn on_put<A: Adapter>(am: &Am<A>, token: &Token, message: Source, id: u32, bytes: usize) -> Result<(), Error> {
    let words = words_behind(message, bytes, token.source());
    check_groups(am, &words, bytes, token.source());
    // SAFETY: the places were checked above; in EVERYTHING the initiator's client promises that they are valid.
    unsafe { scatter(&words, message.ptr()) };
    reference::on_put(am, token, id)
}

/// Handler at the target of a get's packet.
pub fn on_get<A: Adapter>(am: &Am<A>, token: &Token, message: Source, record: u32, bytes: usize) -> Result<(), Error> {
    let words = words_behind(message, 0, token.source());
    if bytes > VIS_PACKET {
        corrupt(token.source(), "packet that is too large");
    }
    check_groups(am, &words, bytes, token.source());
    let mut answer = Vec::with_capacity(bytes);
    for group in Reader(&words).flatten() {
        // SAFETY: the pieces were checked above; in EVERYTHING the initiator's client promises that they are
        // readable.
        unsafe { append(&mut answer, group) };
    }
    am.reply_medium(token, VIS_ARRIVED, as_source(&answer), Args::of(&pair(record, bytes), 2))
}

/// Has the client's handler at `node` run on `payload` (`Vis::complete`).
pub(super) fn complete<A: Adapter>(
    am: &Am<A>,
    node: u32,
    handler: u8,
    payload: &[u8],
    c: Counted<'_>,
) -> Result<(), Error> {
    if node == am.me() {
        am.run_as_reply(node, handler, as_source(payload));
        return Ok(());
    }
    c.op.start();
    am.request_medium(node, VIS_COMPLETE, as_source(payload), Args::of(&pair(c.id.bits(), usize::from(handler)), 2))
}

/// Handler at the target of a put that is complete.
pub fn on_complete<A: Adapter>(am: &Am<A>, token: &Token, message: Source, id: u32, handler: u32) -> Result<(), Error> {
    let Ok(handler) = u8::try_from(handler) else { corrupt(token.source(), "completion with an impossible handler") };
    if message.len() > MAX_COMPLETION {
        corrupt(token.source(), "completion with too many bytes");
    }
    am.run_as_reply(token.source(), handler, message);
    reference::on_put(am, token, id)
}

/// Handler at the initiator of a get's packet.
pub fn on_arrived(records: &Records, token: &Token, message: Source, record: u32) {
    let source = token.source();
    let Some(record) = records.take(record).filter(|r| r.node == source && r.bytes == message.len()) else {
        corrupt(source, "answer to a packet that was not sent")
    };
    // SAFETY: the client's destination, writable until the operation is synced. It cannot be synced before `on_done`.
    unsafe { scatter(&record.words, message.ptr()) };
    reference::on_done(record.op.bits(), source);
}
