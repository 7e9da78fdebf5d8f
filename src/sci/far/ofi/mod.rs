//! The wire over libfabric, for networks that need it: one endpoint of reliable datagrams, frames as messages, transfers as reads and
//! writes of registered memory. Asks nothing of a provider but FI_MSG, FI_RMA and the order of messages.
//!
//! Weaker than our own TCP:
//! - Providers authenticate nobody. Each message carries a token that only nodes of the job can make, but who reads the network
//!   reads it too. Registered memory is guarded by random keys alone. A target is not asked before its memory is written.
//! - No provider reports a peer's death. Whoever uses this wire must learn of it elsewhere.
//! - Providers work only while a node calls: a target that computes serves neither writes nor reads, unless hardware does it.
//!
//! Layers, downward: this file (locks, the trait) · wakeup, probe · transfer, engine · receive, peer, context, message · choose, fabric
//! · library, bindings. hardware stands alone.

#![allow(unsafe_code)] // memory of clients

#[cfg(test)]
mod bench;
#[rustfmt::skip] // made by bindgen
mod bindings;
mod choose;
mod context;
mod engine;
mod fabric;
mod hardware;
mod library;
mod message;
mod peer;
mod probe;
mod receive;
#[cfg(test)]
mod tests;
mod transfer;
mod wakeup;

pub use hardware::has_rdma_hardware;

use super::wire::{ADDRESS, Area, Counter, Done, GRACE, Kept, Lost, OTHERS, Readable, Sink, Wire, Writable, enter};
use crate::os::lock::Lock;
use choose::{Candidate, Wanted};
use engine::Engine;
use fabric::{Endpoint, Traits};
use library::Library;
use message::{FRAME, HEAD, MESSAGE, Secret};
use receive::Arrived;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::{Duration, Instant};
use transfer::Written;
use wakeup::Wakeup;

/// What addresses of this wire begin with: the version of its messages.
const VERSION: u8 = 1;
/// Providers that are tried before it gives up.
const TRIES: usize = 8;

/// The wire of one node over one provider.
pub struct OfiWire {
    provider: String,
    address: Vec<u8>,
    /// One thread at a time gives to the sink.
    gate: Lock<Gate>,
    /// Taken inside the gate, and never held while a sink is called.
    engine: Lock<Engine>,
    /// Writes whose callers call again until the source is free. Taken inside the engine.
    kept_back: Lock<Vec<(Call, usize)>>,
    /// On what a node sleeps. `None`: the provider has nothing for it.
    wakeup: Option<Wakeup>,
}

/// A write as its caller repeats it: peer, offset, source, length.
type Call = (u32, u64, usize, usize);

#[derive(Default)]
struct Gate {
    /// What the sink gets next.
    ready: Vec<(u32, Arrived)>,
    losses: Vec<u32>,
    /// What it has had.
    done: Vec<Arrived>,
}

impl OfiWire {
    /// The wire of node `me` of `nodes` over libfabric's `provider`: `net`, `verbs`, `tcp;ofi_rxm`, or with the interface as in
    /// `net@eth0`. `None`: the best that there is. A provider is taken only after it has done, between this node and itself, all that
    /// the wire asks of it. `secret` is the job's and nobody else's. On failure: why none is taken.
    pub fn open(provider: Option<&str>, secret: [u8; 16], me: u32, nodes: u32) -> Result<OfiWire, String> {
        let library = Library::get()?;
        let candidates = choose::candidates(library, provider.map(Wanted::new))?;
        let mut reasons = Vec::new();
        for candidate in candidates.iter().take(TRIES) {
            match OfiWire::try_open(library, candidate, secret, me, nodes) {
                Ok(wire) => return Ok(wire),
                Err(why) => {
                    let Traits { provider, domain, .. } = &candidate.traits;
                    reasons.push(format!("{provider} on {domain}: {why}"));
                }
            }
        }
        Err(format!("no provider of libfabric works here: {}", reasons.join("; ")))
    }

    fn try_open(
        library: &'static Library,
        candidate: &Candidate,
        secret: [u8; 16],
        me: u32,
        nodes: u32,
    ) -> Result<OfiWire, String> {
        let endpoint = |sleeps| {
            let (infos, traits) = (candidate.infos.clone(), candidate.traits.clone());
            Endpoint::open(library, infos, candidate.info, traits, MESSAGE, sleeps)
        };
        // With a descriptor a round trip over 1.17's tcp;ofi_rxm takes 14.0 µs of spinning nodes instead of 11.9, and no less of sleeping
        // ones (net: 9.7 instead of 9.5, and 20 instead of 130 where both sleep; 2026-11, EPYC 9004 VM).
        let sleeps = !candidate.traits.provider.ends_with(";ofi_rxm");
        let found = probe::works(endpoint(sleeps)?)?;
        OfiWire::new(endpoint(found.wakes)?, secret, me, nodes, found.ordered)
    }

    fn new(endpoint: Endpoint, secret: [u8; 16], me: u32, nodes: u32, ordered: bool) -> Result<OfiWire, String> {
        let provider = endpoint.traits.provider.clone();
        let name = endpoint.name()?;
        let mut address = vec![VERSION, provider.len() as u8];
        address.extend_from_slice(provider.as_bytes());
        address.extend_from_slice(&name);
        if address.len() > ADDRESS {
            return Err(format!("its address has {} bytes, and {} fit", name.len(), ADDRESS - 2 - provider.len()));
        }
        // SAFETY: open as long as the endpoint, which the wire keeps.
        let descriptor = endpoint.descriptor.map(|fd| unsafe { BorrowedFd::borrow_raw(fd) });
        let wakeup = descriptor.and_then(|fd| Wakeup::new(fd).ok()); // without one, a node that sleeps looks now and then
        let engine = Engine::new(endpoint, Secret::new(secret), me, nodes, ordered)?;
        let (gate, kept_back) = Default::default();
        Ok(OfiWire { provider, address, gate, engine: Lock::new(engine), kept_back, wakeup })
    }

    /// The provider's address of a node, from [`Wire::address`] of that node.
    fn provider_address<'a>(&self, address: &'a [u8]) -> Result<&'a [u8], String> {
        let (head, rest) = address.split_at_checked(2).ok_or("its address is too short")?;
        if head[0] != VERSION {
            return Err(format!("it speaks version {} of the ofi wire, this node {VERSION}", head[0]));
        }
        let (provider, rest) = rest.split_at_checked(head[1].into()).ok_or("its address is too short")?;
        if provider != self.provider.as_bytes() {
            let theirs = String::from_utf8_lossy(provider);
            return Err(format!(
                "it uses libfabric's provider {theirs}, this node {}; GASNET_SCI_NETWORK=ofi:{theirs} sets one for all",
                self.provider
            ));
        }
        Ok(rest)
    }

    /// Messages that came from outside the job, or came broken.
    #[cfg(test)]
    fn strange(&self) -> u64 {
        self.engine.lock().strange
    }
}

impl Wire for OfiWire {
    fn name(&self) -> String {
        format!("ofi:{}", self.provider)
    }

    fn address(&self) -> Vec<u8> {
        self.address.clone()
    }

    fn protect(&self) -> bool {
        false
    }

    fn set_peers(&self, addresses: Vec<Vec<u8>>) {
        let mut engine = self.engine.lock();
        for (rank, address) in addresses.iter().enumerate().take(engine.peers.len()) {
            if address.is_empty() {
                continue;
            }
            match self.provider_address(address).and_then(|address| engine.endpoint.insert(address)) {
                Ok(known) => engine.peers[rank].address = Some(known),
                Err(why) => {
                    engine.lose(rank as u32, format!("node {rank} can't be reached: {why}"));
                }
            }
        }
    }

    unsafe fn set_area(&self, area: Area, base: *mut u8, len: usize) -> Result<(), String> {
        // SAFETY: the caller's promise.
        unsafe { self.engine.lock().set_area(area, base, len) }
    }

    fn frame_max(&self) -> usize {
        FRAME
    }

    fn headroom(&self) -> usize {
        0 // a message's head lies in the provider's buffer, with the copy of the frame
    }

    fn post(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        debug_assert!(!frame.is_empty() && frame.len() <= FRAME);
        self.engine.lock().post(peer, frame)
    }

    fn post_before_write(&self, peer: u32, frame: &mut [u8]) -> Result<bool, Lost> {
        self.post(peer, frame)
    }

    unsafe fn write(&self, peer: u32, offset: u64, from: Readable, kept: Kept, done: Done) -> Result<bool, Lost> {
        let call = (peer, offset, from.0.addr(), from.1);
        let mut engine = self.engine.lock();
        let mut kept_back = self.kept_back.lock();
        if let Some(at) = kept_back.iter().position(|(of, _)| *of == call) {
            engine.pump();
            engine.advance();
            let is_over = engine.is_over(kept_back[at].1).inspect_err(|_| {
                kept_back.swap_remove(at);
            })?;
            if is_over {
                kept_back.swap_remove(at);
            }
            return Ok(is_over);
        }
        // SAFETY: the caller's promise; while the source must be kept, the caller is told to call again.
        match unsafe { engine.write(peer, offset, from, kept, done) }? {
            Written::NoRoom => Ok(false),
            Written::Begun => Ok(true),
            Written::Wait(transfer) => {
                kept_back.push((call, transfer));
                Ok(false)
            }
        }
    }

    unsafe fn read(&self, peer: u32, offset: u64, to: Writable, done: Counter) -> Result<bool, Lost> {
        // SAFETY: the caller's promise.
        unsafe { self.engine.lock().read(peer, offset, to, Some(done)) }
    }

    fn progress(&self, sink: &dyn Sink, thorough: bool) -> bool {
        let Some(mut gate) = enter(&self.gate, thorough) else { return false };
        let gate = &mut *gate;
        if let Some(wakeup) = self.wakeup.as_ref().filter(|_| thorough) {
            wakeup.forget();
        }
        let mut lost: Vec<(u32, Lost)> = Vec::new();
        let mut came = {
            let mut engine = self.engine.lock();
            for message in gate.done.drain(..) {
                engine.done_with(message);
            }
            let came = engine.pump();
            engine.advance();
            std::mem::swap(&mut engine.ready, &mut gate.ready);
            if !engine.losses.is_empty() {
                std::mem::swap(&mut engine.losses, &mut gate.losses);
                let losses = gate.losses.drain(..);
                lost.extend(losses.filter_map(|rank| Some((rank, engine.peers[rank as usize].lost.clone()?))));
            }
            came
        };
        if gate.ready.is_empty() && lost.is_empty() {
            return came;
        }
        for (peer, message) in gate.ready.drain(..) {
            // SAFETY: it is done after the sink had it.
            let bytes = unsafe { message.bytes() };
            sink.frame(peer, &bytes[HEAD..]);
            gate.done.push(message);
            came = true;
        }
        for (peer, why) in lost {
            sink.lost(peer, &why);
            came = true;
        }
        came
    }

    fn begins_to_leave(&self) -> bool {
        self.engine.within(OTHERS).is_some() && self.kept_back.within(OTHERS).is_some()
    }

    fn leave(&self, _: &dyn Sink, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let Some(mut engine) = self.engine.within(OTHERS) else { return };
            engine.pump();
            engine.advance();
            if !engine.is_sending() {
                return;
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn grace(&self) -> Duration {
        GRACE
    }

    fn is_busy(&self) -> bool {
        self.engine.lock().is_busy()
    }

    fn heartbeat(&self) -> Option<Duration> {
        None
    }

    fn descriptor(&self) -> Option<RawFd> {
        let wakeup = self.wakeup.as_ref()?;
        let engine = self.engine.lock();
        (engine.is_dry() && engine.endpoint.may_sleep()).then(|| wakeup.descriptor())
    }

    /// What comes always shows there.
    fn watch_always(&self) {}
}
