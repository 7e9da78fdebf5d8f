//! SCIInitialize and SCITerminate, descriptors, and what a descriptor may own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustix::fd::OwnedFd;

use crate::config::{self, Config};
use crate::error::{Error, Result};
use crate::handle::{self, Handle, Kind, Named};
use crate::name::{Bound, Name, What};
use crate::{dma, interrupt, map, message, pio, segment};

/// How often SCIInitialize was called without SCITerminate, and the sockets whose names say that the nodes exist.
static STARTED: Mutex<(usize, Vec<(OwnedFd, Bound)>)> = Mutex::new((0, Vec::new()));
/// Whether the first number of `STARTED` is above 0.
static IS_INITIALIZED: AtomicBool = AtomicBool::new(false);

/// Whether the library may be used.
#[inline]
pub fn is_initialized() -> bool {
    IS_INITIALIZED.load(Ordering::Acquire)
}

/// The variables, or NOT_INITIALIZED.
pub fn config() -> Result<&'static Config> {
    if is_initialized() { config::get().ok_or(Error::NotInitialized) } else { Err(Error::NotInitialized) }
}

/// One line on stderr if the user asked for it.
pub fn say(line: impl FnOnce() -> String) {
    if config::get().is_some_and(|config| config.verbose) {
        eprintln!("sisci[{}]: {}", std::process::id(), line());
    }
}

/// SCIInitialize.
pub fn initialize() -> Result {
    // A set-user-ID program must not be led by its caller's variables.
    // SAFETY: getauxval has no conditions.
    #[expect(unsafe_code, reason = "a call of libc")]
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return Err(Error::Access);
    }
    let mut started = STARTED.lock();
    if started.0 == 0 {
        let config = config::load().map_err(|line| {
            eprintln!("sisci: {line}");
            Error::System
        })?;
        crate::name::sweep();
        // Several processes may be one node: each has a name of its own.
        let pid = std::process::id();
        started.1 = config
            .nodes
            .iter()
            .map(|&node| Name::new(node, What::Node, pid).announce())
            .collect::<rustix::io::Result<_>>()?;
    }
    started.0 += 1;
    pio::configure(config::load().map_err(|_| Error::System)?);
    IS_INITIALIZED.store(true, Ordering::Release);
    Ok(())
}

/// SCITerminate: frees all that is left when the last SCIInitialize is answered.
pub fn terminate() {
    let mut started = STARTED.lock();
    started.0 = started.0.saturating_sub(1);
    if started.0 > 0 || !is_initialized() {
        return;
    }
    let names = std::mem::take(&mut started.1);
    drop(started);
    // What stands on something else goes first.
    let orders: [(Kind, fn(Handle) -> Result); 10] = [
        (Kind::BlockTransfer, dma::forget),
        (Kind::DmaQueue, dma::forget),
        (Kind::Sequence, pio::remove_sequence),
        (Kind::Map, map::unmap),
        (Kind::RemoteInterrupt, interrupt::disconnect),
        (Kind::LocalInterrupt, interrupt::remove),
        (Kind::RemoteDataInterrupt, message::disconnect),
        (Kind::LocalDataInterrupt, message::forget),
        (Kind::RemoteSegment, segment::remote::disconnect),
        (Kind::LocalSegment, |segment| segment::local::remove(segment, true)),
    ];
    for (kind, end) in orders {
        for handle in handle::all(kind) {
            let _ = end(handle);
        }
    }
    handle::all(Kind::DmaChannel).into_iter().for_each(handle::remove);
    handle::all(Kind::Descriptor).into_iter().for_each(handle::remove);
    IS_INITIALIZED.store(false, Ordering::Release);
    drop(names);
}

/// `sci_desc_t`: it owns resources.
pub struct Descriptor {
    /// How many of each kind it owns.
    counts: [AtomicUsize; handle::KINDS],
}

impl Named for Descriptor {
    const KIND: Kind = Kind::Descriptor;
}

/// SCIOpen.
pub fn open() -> Result<Handle> {
    config()?;
    let place = handle::reserve(Kind::Descriptor)?;
    Ok(place.fill(Arc::new(Descriptor { counts: [const { AtomicUsize::new(0) }; handle::KINDS] })))
}

/// SCIClose.
pub fn close(descriptor: Handle) -> Result {
    let owner = handle::get::<Descriptor>(descriptor)?;
    if owner.counts.iter().any(|count| count.load(Ordering::Acquire) > 0) {
        return Err(Error::Busy);
    }
    handle::remove(descriptor);
    Ok(())
}

/// One resource that a descriptor owns. Counted from its making to `release`, or to its end.
pub struct Owned {
    /// The descriptor's handle.
    pub descriptor: Handle,
    owner: Arc<Descriptor>,
    kind: Kind,
    released: AtomicBool,
}

impl Owned {
    /// A resource of `kind` of the descriptor; API_NOSPC if it has too many.
    pub fn new(descriptor: Handle, kind: Kind) -> Result<Owned> {
        let limit = config()?.limit;
        let owner = handle::get::<Descriptor>(descriptor)?;
        // Ordering: a count, which nothing else hangs on; Acquire and Release so that SCIClose sees what was done before.
        if owner.counts[kind as usize].fetch_add(1, Ordering::AcqRel) >= limit {
            owner.counts[kind as usize].fetch_sub(1, Ordering::AcqRel);
            return Err(Error::ApiNoSpc);
        }
        Ok(Owned { descriptor, owner, kind, released: AtomicBool::new(false) })
    }

    /// The resource is gone for the program, though a thread of the library may still hold it.
    pub fn release(&self) {
        if !self.released.swap(true, Ordering::AcqRel) {
            self.owner.counts[self.kind as usize].fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.release();
    }
}

/// The node id of an adapter.
pub fn node_of(adapter: u32) -> Result<u32> {
    let nodes = &config()?.nodes;
    nodes.get(adapter as usize).copied().ok_or(Error::NoSuchAdapterNo)
}

/// Does `make` with the program's number, or with numbers of the library's choice until one is free. Returns the number.
pub fn numbered<T>(number: Option<u32>, make: impl Fn(u32) -> Result<T>) -> Result<(u32, T)> {
    if let Some(number) = number {
        return Ok((number, make(number)?));
    }
    for _ in 0..1000 {
        let number = getrandom::u32().map_err(|_| Error::System)?;
        match make(number) {
            Err(Error::SegmentIdUsed) => {}
            result => return Ok((number, result?)),
        }
    }
    Err(Error::HwNoSpc)
}

/// Whether `node` may be connected to: the number of a node, and one that the file of nodes has, if there is a file.
pub fn check_node(node: u32) -> Result {
    let config = config()?;
    if !config::is_node(node) {
        return Err(Error::IllegalNodeId);
    }
    let is_known =
        config.known.is_empty() || config.nodes.contains(&node) || config.known.iter().any(|(id, _)| *id == node);
    if is_known { Ok(()) } else { Err(Error::NoSuchNodeId) }
}
