//! SCIInitialize and SCITerminate.

use parking_lot::Mutex;
use rustix::fd::OwnedFd;

use crate::error::{Error, Result};
use crate::handle::{self, Handle, Kind};
use crate::name::{Bound, Name, What};
use crate::state::{is_initialized, set_initialized};
use crate::{calm, card, config, dma, entry, interrupt, map, message, pio, segment};

/// How often SCIInitialize was called without SCITerminate, and the sockets whose names say that the nodes exist.
static STARTED: Mutex<(usize, Vec<(OwnedFd, Bound)>)> = Mutex::new((0, Vec::new()));

/// SCIInitialize.
pub fn initialize() -> Result {
    calm::with_lock(initialize_locked)
}

fn initialize_locked() -> Result {
    if config::is_secure() {
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
        if let Some(hosts) = &config.hosts {
            let opened = entry::open(hosts).map_err(|line| {
                eprintln!("sisci: {line}");
                started.1.clear();
                Error::System
            })?;
            *entry::ENTRY.lock() = Some(opened);
        }
    }
    started.0 += 1;
    let config = config::load().map_err(|_| Error::System)?;
    card::configure(config);
    pio::configure(config);
    set_initialized(true);
    Ok(())
}

/// How a resource is freed.
type End = fn(Handle) -> Result;

/// SCITerminate: frees all that is left when the last SCIInitialize is answered.
pub fn terminate() {
    let mut started = STARTED.lock();
    started.0 = started.0.saturating_sub(1);
    if started.0 > 0 || !is_initialized() {
        return;
    }
    let names = std::mem::take(&mut started.1);
    drop(started);
    if let Some(entry) = entry::ENTRY.lock().take() {
        entry.close();
    }
    // A callback may wait for another resource: all waits end before anything waits for callbacks.
    let waits: [(Kind, End); 4] = [
        (Kind::LocalInterrupt, interrupt::cancel),
        (Kind::LocalDataInterrupt, message::cancel),
        (Kind::RemoteSegment, segment::remote::cancel),
        (Kind::LocalSegment, segment::local::cancel),
    ];
    // What stands on something else goes first.
    let orders: [(Kind, End); 10] = [
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
    for (kind, end) in waits.into_iter().chain(orders) {
        for handle in handle::all(kind) {
            let _ = end(handle);
        }
    }
    handle::all(Kind::DmaChannel).into_iter().for_each(handle::remove);
    handle::all(Kind::Descriptor).into_iter().for_each(handle::remove);
    set_initialized(false);
    drop(names);
}
