//! One-sided transfers: put, get, memset (contract: extended.md). `Rma::begin` asks the table of peers for the way, once, and takes it.
//!
//! | module | how bytes move |
//! |---|---|
//! | `mapped` | by loads and stores in the peer's mapped segment |
//! | `peers::kernel` | memory that is not mapped (EVERYTHING): by process_vm_readv/writev, and by messages if the kernel refuses |
//! | `far` | to segments on other hosts: by the adapter's network, complete later |
//! | `reference` | `ref`, the reference Extended API: nothing but Active Messages |
//! | `overlap` | long transfers of mapped memory, by the DMA engine's thread, if the user asks for one |
//!
//! The header does transfers of mapped memory inline and calls here for the rest.
//!
//! Each transfer is counted by an operation (`op`). The caller knows it as an event, or by a set of its thread (`event`).
//!
//! Must not know: handles' C types, error codes.

#![allow(unsafe_code)] // client memory and mapped segments

pub mod counted;
pub mod event;
mod far;
pub mod home;
mod mapped;
#[cfg(all(test, loom))]
mod models;
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
use crate::peers::kernel;
use crate::peers::table::Way;
use crate::sci::{Adapter, Mapped, process};
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
    pub fn put<A: Mapped>(
        &self,
        am: &Am<A>,
        to: Target,
        address: usize,
        source: Source,
        flags: Flags,
        c: Completion<'_>,
    ) -> Result<Begun, Error> {
        let node = to.rank();
        let ways = Ways {
            queue: |overlap: &Overlap, to| overlap.put(to, source, c),
            own: || mapped::put_own(address, source),
            mapped: |map: &A::Remote, offset| mapped::put(map, offset, source),
            network: |map: &A::Remote, offset| far::put(map, offset, source, c),
            // SAFETY: `Source` promises that its bytes are readable.
            kernel: |way: &process::Access| unsafe { kernel::write(way, node, address, source.ptr(), source.len()) },
            messages: || reference::put(am, node, address, source, c.counts),
        };
        self.begin(am, (node, address, source.len()), flags, c.local, ways)
    }

    /// Starts reading from `address` of the target.
    #[inline(always)]
    pub fn get<A: Mapped>(
        &self,
        am: &Am<A>,
        from: Target,
        address: usize,
        to: Landing,
        flags: Flags,
        c: Completion<'_>,
    ) -> Result<Begun, Error> {
        let node = from.rank();
        let ways = Ways {
            queue: |overlap: &Overlap, from: *mut u8| overlap.get(from, to, c.counts),
            own: || mapped::get_own(address, to),
            mapped: |map: &A::Remote, offset| mapped::get(map, offset, to),
            network: |map: &A::Remote, offset| far::get(map, offset, to, c.counts),
            // SAFETY: `Landing` promises that its bytes are writable.
            kernel: |way: &process::Access| unsafe { kernel::read(way, node, address, to.ptr(), to.len()) },
            messages: || reference::get(am, node, address, to, c.counts),
        };
        self.begin(am, (node, address, to.len()), flags, c.local, ways)
    }

    /// Starts reading `len` bytes, 1 to 8, from `address` of the target into the operation's own word
    /// ([`Engines::wait_value`]). `c` counts nothing else. There are no flags, because the caller has no way to learn of a
    /// refusal.
    #[inline(always)]
    pub fn get_value<A: Mapped>(
        &self,
        am: &Am<A>,
        from: Target,
        address: usize,
        len: usize,
        c: Completion<'_>,
    ) -> Result<Begun, Error> {
        c.counts.op.clear_value();
        // SAFETY: the op's own word of 8 bytes, which lives for ever.
        let landing = unsafe { Landing::new(c.counts.op.landing(), len.min(8)) };
        self.get(am, from, address, landing, Flags::NONE, c)
    }

    /// Starts setting `len` bytes at `address` of the target to `byte`.
    #[inline(always)]
    pub fn set<A: Mapped>(
        &self,
        am: &Am<A>,
        to: Target,
        address: usize,
        (byte, len): (u8, usize),
        flags: Flags,
        c: Completion<'_>,
    ) -> Result<Begun, Error> {
        let node = to.rank();
        let ways = Ways {
            queue: |_: &Overlap, _| false, // no bytes of the caller's to leave alone: it would gain nothing
            own: || mapped::set_own(address, byte, len),
            mapped: |map: &A::Remote, offset| mapped::set(map, offset, byte, len),
            network: |_: &A::Remote, _| Ok(false), // one message sets any length; the others would carry every byte
            kernel: |_: &process::Access| Ok(false),
            messages: || reference::set(am, node, address, byte, len, c.counts),
        };
        self.begin(am, (node, address, len), flags, c.local, ways)
    }

    /// Takes the way to the peer's memory. Our own memory is never reached by messages.
    #[inline(always)]
    fn begin<A: Mapped>(
        &self,
        am: &Am<A>,
        (node, address, len): (u32, usize, usize),
        flags: Flags,
        local: Local,
        ways: Ways<
            impl FnOnce(&Overlap, *mut u8) -> bool,
            impl FnOnce(),
            impl FnOnce(&A::Remote, usize) -> Result<(), Error>,
            impl FnOnce(&A::Remote, usize) -> Result<bool, Error>,
            impl FnOnce(&process::Access) -> Result<bool, Error>,
            impl FnOnce() -> Result<(), Error>,
        >,
    ) -> Result<Begun, Error> {
        if len == 0 {
            return Ok(Begun::Complete);
        }
        let (way, offset) = am.table().at(node, address, len)?;
        if local != Local::AtReturn
            && let Some(overlap) = self.overlap.as_ref().filter(|overlap| overlap.takes(len))
            && let Some(memory) = way.memory(offset)
            && (ways.queue)(overlap, memory)
        {
            return Ok(Begun::InFlight);
        }
        let begun = match way {
            Way::Own => {
                (ways.own)();
                Some(Begun::Complete)
            }
            _ if !self.native => None,
            Way::Mapped(map) => {
                (ways.mapped)(map, offset)?;
                Some(Begun::Complete)
            }
            Way::Network(map) => (ways.network)(map, offset)?.then_some(Begun::InFlight),
            Way::Kernel(way) => (ways.kernel)(way)?.then(|| {
                am.count_kernel(len);
                Begun::Complete
            }),
            Way::Messages => None,
        };
        if let Some(begun) = begun {
            return Ok(begun);
        }
        if flags.has(Flags::IMMEDIATE) && !am.has_room(node)? {
            return Ok(Begun::Refused);
        }
        (ways.messages)()?;
        Ok(Begun::InFlight)
    }
}

/// What a verb does on each way. Those that return `bool` say whether they have done it; else messages go.
struct Ways<Q, O, P, N, K, M> {
    /// To the DMA engine, if the caller leaves its memory alone. The pointer is the peer's memory.
    queue: Q,
    /// In this node's own memory.
    own: O,
    /// At once, by loads and stores. The number is the offset in the map.
    mapped: P,
    /// By the adapter, to another host.
    network: N,
    /// At once, by the kernel.
    kernel: K,
    /// By messages.
    messages: M,
}
