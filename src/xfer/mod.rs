//! One-sided transfers: put, get, memset (contract: extended.md), in two implementations behind one interface.
//!
//! | module | how bytes move |
//! |---|---|
//! | `native` | by loads and stores in the peer's mapped segment; memory that is not mapped (EVERYTHING) by process_vm_readv/writev, and as in `ref` if the kernel refuses |
//! | `far` | to segments on other hosts: by the adapter's network, complete later |
//! | `reference` | `ref`, the reference Extended API: nothing but Active Messages |
//! | `overlap` | long transfers of mapped memory, by the DMA engine's thread, if the user asks for one |
//!
//! The header does `native` transfers of mapped memory inline and calls here for the rest.
//!
//! Each transfer is counted by an operation (`op`). The caller knows it as an event, or by a set of its thread (`event`).
//!
//! Must not know: handles' C types, error codes.

#![allow(unsafe_code)] // client memory and mapped segments

pub mod counted;
pub mod event;
mod far;
pub mod home;
#[cfg(all(test, loom))]
mod models;
pub mod native;
pub mod op;
pub mod overlap;
pub mod reference;
pub mod table;
#[cfg(all(test, not(loom)))]
mod tests;
pub mod wait;

use crate::am::Am;
pub use crate::am::source::Landing;
use crate::am::source::Source;
use crate::base::error::Error;
use crate::sci::{Adapter, RemoteRead};
use crate::verbs::{Begun, Flags, Local, Target};
pub use counted::{Completion, Counted};
use overlap::Overlap;

/// The engines that transfers need, for a caller that waits for them (`wait`).
pub struct Engines<'a, A: Adapter> {
    /// Messages, and what serves them.
    pub am: &'a Am<A>,
    /// Transfers.
    pub rma: &'a Rma,
}

impl<A: Adapter> Clone for Engines<'_, A> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Adapter> Copy for Engines<'_, A> {}

/// The engine of one-sided transfers.
pub struct Rma {
    native: bool,
    overlap: Option<Overlap>,
}

impl Rma {
    /// An engine. `native`: it uses the peers' mapped memory. `overlap`: takes long transfers of mapped memory, if there is
    /// one.
    pub fn new(native: bool, overlap: Option<Overlap>) -> Rma {
        Rma { native, overlap }
    }

    /// The DMA engine for long transfers, if there is one.
    pub fn overlap(&self) -> Option<&Overlap> {
        self.overlap.as_ref()
    }

    /// Makes a part of the queued transfers on the calling thread. False: there is nothing to take.
    #[inline]
    pub fn help(&self) -> bool {
        self.overlap.as_ref().is_some_and(Overlap::help)
    }

    /// True if mapped memory is used.
    pub fn is_native(&self) -> bool {
        self.native
    }

    /// Starts writing `source` to `address` of the target. `c` says when the caller may change the source.
    #[inline(always)]
    pub fn put<A>(
        &self,
        am: &Am<A>,
        to: Target,
        address: usize,
        source: Source,
        flags: Flags,
        c: Completion<'_>,
    ) -> Result<Begun, Error>
    where
        A: Adapter<Remote: RemoteRead>,
    {
        let node = to.rank();
        let ways = Ways {
            queue: |overlap: &Overlap| overlap.put(am, node, address, source, c),
            native: || native::put(am, node, address, source),
            far: || far::put(am, node, address, source, c),
            messages: || reference::put(am, node, address, source, c.counts),
        };
        self.begin(am, node, source.len(), flags, c.local, ways)
    }

    /// Starts reading from `address` of the target.
    #[inline(always)]
    pub fn get<A>(
        &self,
        am: &Am<A>,
        from: Target,
        address: usize,
        to: Landing,
        flags: Flags,
        c: Completion<'_>,
    ) -> Result<Begun, Error>
    where
        A: Adapter<Remote: RemoteRead>,
    {
        let node = from.rank();
        let ways = Ways {
            queue: |overlap: &Overlap| overlap.get(am, node, address, to, c.counts),
            native: || native::get(am, node, address, to),
            far: || far::get(am, node, address, to, c.counts),
            messages: || reference::get(am, node, address, to, c.counts),
        };
        self.begin(am, node, to.len(), flags, c.local, ways)
    }

    /// Starts reading `len` bytes, 1 to 8, from `address` of the target into the operation's own word
    /// ([`Engines::wait_value`]). `c` counts nothing else. There are no flags, because the caller has no way to learn of a
    /// refusal.
    #[inline(always)]
    pub fn get_value<A>(
        &self,
        am: &Am<A>,
        from: Target,
        address: usize,
        len: usize,
        c: Completion<'_>,
    ) -> Result<Begun, Error>
    where
        A: Adapter<Remote: RemoteRead>,
    {
        c.counts.op.clear_value();
        // SAFETY: the op's own word of 8 bytes, which lives for ever.
        let landing = unsafe { Landing::new(c.counts.op.landing(), len.min(8)) };
        self.get(am, from, address, landing, Flags::NONE, c)
    }

    /// Starts setting `len` bytes at `address` of the target to `byte`.
    #[inline(always)]
    pub fn set<A>(
        &self,
        am: &Am<A>,
        to: Target,
        address: usize,
        (byte, len): (u8, usize),
        flags: Flags,
        c: Completion<'_>,
    ) -> Result<Begun, Error>
    where
        A: Adapter<Remote: RemoteRead>,
    {
        let node = to.rank();
        let ways = Ways {
            queue: |_: &Overlap| Ok(false), // no bytes of the caller's to leave alone: it would gain nothing
            native: || native::set(am, node, address, byte, len),
            far: || Ok(false), // one message sets any length
            messages: || reference::set(am, node, address, byte, len, c.counts),
        };
        self.begin(am, node, len, flags, c.local, ways)
    }

    /// Tries the paths in the same order for all verbs. Our own memory is never reached by messages.
    #[inline(always)]
    fn begin<A: Adapter>(
        &self,
        am: &Am<A>,
        node: u32,
        len: usize,
        flags: Flags,
        local: Local,
        ways: Ways<
            impl FnOnce(&Overlap) -> Result<bool, Error>,
            impl FnOnce() -> Result<bool, Error>,
            impl FnOnce() -> Result<bool, Error>,
            impl FnOnce() -> Result<(), Error>,
        >,
    ) -> Result<Begun, Error> {
        if len == 0 {
            return Ok(Begun::Complete);
        }
        if local != Local::AtReturn
            && let Some(overlap) = &self.overlap
            && (ways.queue)(overlap)?
        {
            return Ok(Begun::InFlight);
        }
        if (self.native || node == am.me()) && (ways.native)()? {
            return Ok(Begun::Complete);
        }
        if self.native && (ways.far)()? {
            return Ok(Begun::InFlight);
        }
        if flags.has(Flags::IMMEDIATE) && !am.has_room(node)? {
            return Ok(Begun::Refused);
        }
        (ways.messages)()?;
        Ok(Begun::InFlight)
    }
}

/// The paths that a transfer may take. All but the last return whether they took it.
struct Ways<Q, N, F, M> {
    /// To the DMA engine, if the caller leaves its memory alone.
    queue: Q,
    /// At once, by loads and stores or by the kernel.
    native: N,
    /// By the adapter, to another host.
    far: F,
    /// By messages.
    messages: M,
}
