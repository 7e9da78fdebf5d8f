//! An idle poll with more peers than there can be processes. It is measured on the engine of one node, whose peers
//! are silent.
//!
//! What a poll that finds nothing looks at lies in the node's own regions. These have the size that they have in a
//! job of that many nodes.

#![allow(unsafe_code)] // system calls and C

use super::kernels::polls_played;
use gasnet_sci::am::library::Library;
use gasnet_sci::am::peers::Connector;
use gasnet_sci::am::region::{COMMAND, CONTROL, Layout};
use gasnet_sci::am::wait::Waiter;
use gasnet_sci::am::{Am, Wiring};
use gasnet_sci::base::config::Config;
use gasnet_sci::base::error::Error;
use gasnet_sci::os::sys;
use gasnet_sci::sci::shm::Shm;
use gasnet_sci::sci::{Adapter, Host, JobAdapter, LocalSegment, NodeId, Placement, SciError};
use std::io;
use std::os::fd::AsFd;

const ME: NodeId = NodeId(0);

/// Nanoseconds per poll of batches of `n`, with `nodes` - 1 silent peers.
pub fn polls(nodes: u32, batches: u32, n: u64) -> io::Result<Vec<f64>> {
    let am = engine(nodes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok((0..batches).map(|_| polls_played(&am, n) / n as f64).collect())
}

fn engine(nodes: u32) -> Result<Am<Host>, Error> {
    let file = sys::memfd().map_err(|error| Error::resource(format_args!("memfd: {error}")))?;
    let adapter = Host::one(Shm::join(file.as_fd(), 0, nodes, ME)?);
    let (config, _) = Config::read(|_| None).map_err(Error::resource)?;
    let layout = Layout::new(nodes, config.slots_among(nodes));
    let own = |id, len| -> Result<_, SciError> {
        let segment = adapter.create(id, len)?;
        let map = segment.map(Placement::Anywhere)?;
        segment.set_available()?;
        std::mem::forget(segment); // it stays mapped for the life of the process
        Ok(map)
    };
    let control = own(CONTROL, layout.control_len())?;
    let command = own(COMMAND, layout.command_len())?;
    let wiring = Wiring {
        me: 0,
        threaded: false,
        layout,
        command,
        control,
        interrupt: adapter.interrupt()?,
        connector: Box::new(Silence),
        queue: adapter.dma_queue(64)?,
        library: Library::default(),
    };
    // SAFETY: this process has one thread.
    Ok(unsafe { Am::new(wiring, &config, &adapter, Waiter::new(nodes, nodes, 2, config.spin)) })
}

/// A connector that is never asked, because the node sends nothing.
struct Silence;

type Remote = <Host as Adapter>::Remote;

impl Connector<Host> for Silence {
    fn post(&self, peer: u32) -> Result<(Remote, <Host as Adapter>::RemoteInterrupt), Error> {
        Err(Error::resource(format_args!("node {peer} was sent something")))
    }

    fn queue(&self, peer: u32) -> Result<Remote, Error> {
        Err(Error::resource(format_args!("node {peer} was sent something")))
    }
}
