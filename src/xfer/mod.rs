//! One-sided transfers: put, get, memset (contract: extended.md), in two implementations behind one interface.
//!
//! `native` stores to and loads from the peer's mapped segment; what is not mapped (EVERYTHING) goes through
//! process_vm_readv/writev, and where the kernel closes that way, as in `ref`. `ref` is the reference Extended API: built
//! on nothing but Active Messages. `overlap` hands long ones of mapped memory to the DMA engine's thread, where the user
//! asks for one. The header does `native` transfers of mapped memory inline and calls here for the rest.
//!
//! Must not know: handles' C types, error codes.

pub mod native;
pub mod op;
pub mod overlap;
pub mod reference;

use crate::am::Am;
pub use crate::am::source::Landing;
use crate::am::source::Source;
use crate::base::error::Error;
use crate::sci::{Adapter, RemoteRead};
use op::{Op, OpId};
use overlap::Overlap;

/// The operation that counts a transfer.
#[derive(Clone, Copy)]
pub struct Counted<'a> {
    /// Its number.
    pub id: OpId,
    /// Itself.
    pub op: &'a Op,
}

/// The engine of one-sided transfers.
pub struct Rma {
    native: bool,
    overlap: Option<Overlap>,
}

impl Rma {
    /// `native`: use the peers' mapped memory. `overlap`: what makes long transfers of it, if not the caller.
    pub fn new(native: bool, overlap: Option<Overlap>) -> Rma {
        Rma { native, overlap }
    }

    /// What makes long transfers, if there is one.
    pub fn overlap(&self) -> Option<&Overlap> {
        self.overlap.as_ref()
    }

    /// Makes a part of the transfers that are queued, on the calling thread. False: there is nothing to take.
    #[inline]
    pub fn help(&self) -> bool {
        self.overlap.as_ref().is_some_and(Overlap::help)
    }

    /// Is mapped memory used?
    pub fn is_native(&self) -> bool {
        self.native
    }

    /// Starts writing `source` to `address` of `node`. The source is free for reuse at return.
    pub fn put<A: Adapter>(
        &self,
        am: &Am<A>,
        node: u32,
        address: usize,
        source: Source,
        c: Counted<'_>,
    ) -> Result<(), Error>
    where
        A::Remote: RemoteRead,
    {
        if source.is_empty() || (self.is_near(am, node) && native::put(am, node, address, source)?) {
            return Ok(());
        }
        reference::put(am, node, address, source, c)
    }

    /// Starts reading from `address` of `node`.
    pub fn get<A: Adapter>(
        &self,
        am: &Am<A>,
        node: u32,
        address: usize,
        to: Landing,
        c: Counted<'_>,
    ) -> Result<(), Error>
    where
        A::Remote: RemoteRead,
    {
        if to.is_empty() || (self.is_near(am, node) && native::get(am, node, address, to)?) {
            return Ok(());
        }
        reference::get(am, node, address, to, c)
    }

    /// As [`Self::put`], but the source stays as it is until the operation is done.
    pub fn put_bulk<A>(
        &self,
        am: &Am<A>,
        node: u32,
        address: usize,
        source: Source,
        c: Counted<'_>,
    ) -> Result<(), Error>
    where
        A: Adapter<Remote: RemoteRead>,
    {
        match &self.overlap {
            Some(overlap) if overlap.put(am, node, address, source, c)? => Ok(()),
            _ => self.put(am, node, address, source, c),
        }
    }

    /// As [`Self::get`], for a caller that does something else before it wants the bytes.
    pub fn get_later<A>(&self, am: &Am<A>, node: u32, address: usize, to: Landing, c: Counted<'_>) -> Result<(), Error>
    where
        A: Adapter<Remote: RemoteRead>,
    {
        match &self.overlap {
            Some(overlap) if overlap.get(am, node, address, to, c)? => Ok(()),
            _ => self.get(am, node, address, to, c),
        }
    }

    /// Starts setting `len` bytes at `address` of `node` to `byte`.
    pub fn set<A: Adapter>(
        &self,
        am: &Am<A>,
        node: u32,
        address: usize,
        byte: u8,
        len: usize,
        c: Counted<'_>,
    ) -> Result<(), Error>
    where
        A::Remote: RemoteRead,
    {
        if len == 0 || (self.is_near(am, node) && native::set(am, node, address, byte, len)?) {
            return Ok(());
        }
        reference::set(am, node, address, byte, len, c)
    }

    /// Our own memory is never reached by messages.
    fn is_near<A: Adapter>(&self, am: &Am<A>, node: u32) -> bool {
        self.native || node == am.me()
    }
}
