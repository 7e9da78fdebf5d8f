//! Vector, indexed and strided transfers (contract: vis.md): the verbs, and the choice of the algorithm.
//!
//! | algorithm | when | what happens |
//! |---|---|---|
//! | direct | the peer's memory is mapped, or is our own | the loops of `copy` copy at once |
//! | kernel | EVERYTHING, the kernel lets us, pieces are not tiny | process_vm_readv and writev with lists |
//! | gather | small pieces of one place at the peer | packed (or unpacked) here, one message per packet |
//! | packed | small pieces | packets carry their places with them |
//! | individual | large pieces | one put or get for each |
//!
//! Must not know: handles' C types, error codes, where the client's arrays came from.

#![allow(unsafe_code)] // client memory and mapped segments

pub mod check;
mod copy;
mod groups;
pub mod pack;
pub mod shape;
pub mod signed;

use crate::am::Am;
use crate::am::library::Library;
use crate::base::config::{Config, VIS_CMA_MIN};
use crate::base::error::Error;
use crate::peers::kernel;
use crate::sci::cma::Batch;
use crate::sci::{Adapter, Mapped, process};
use crate::sync::{AtomicU64, Ordering, fence};
use crate::verbs::{Begun, Flags, Target};
use crate::xfer::{Completion, Engines};
pub use pack::MAX_COMPLETION;
use pack::{Packer, Records};
use shape::{Levels, Run, What, indexed_runs, joined, vector_runs};
use std::sync::Arc;

/// The verb that the client called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `gasnet_putv_*`.
    PutV,
    /// `gasnet_getv_*`.
    GetV,
    /// `gasnet_puti_*`.
    PutI,
    /// `gasnet_geti_*`.
    GetI,
    /// `gasnet_puts_*`.
    PutS,
    /// `gasnet_gets_*`.
    GetS,
}

const CALLS: usize = 6;

impl Verb {
    /// True if the destination is the remote side.
    pub fn is_put(self) -> bool {
        matches!(self, Verb::PutV | Verb::PutI | Verb::PutS)
    }
}

/// The algorithm that moved bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// Copied at once by loads and stores.
    Direct,
    /// Copied by the kernel, with lists.
    Kernel,
    /// A packet whose bytes belong to one place at the peer.
    Gather,
    /// A packet whose bytes belong to several places.
    Packed,
    /// One run as a put or get of its own.
    Individual,
}

const ALGORITHMS: usize = 5;

/// Up to this many entries of `count`, a strided transfer is first tried without making a description.
const FEW_LEVELS: usize = 4;

/// Names of the counters, by call and algorithm. They are those of an existing GASNet where it has one (contract:
/// vis.md §5).
const NAMES: [[&str; ALGORITHMS]; CALLS] = [
    ["PUTV_DIRECT", "PUTV_KERNEL", "PUTV_GATHER", "PUTV_AMPIPELINE", "PUTV_REF_INDIV"],
    ["GETV_DIRECT", "GETV_KERNEL", "GETV_SCATTER", "GETV_AMPIPELINE", "GETV_REF_INDIV"],
    ["PUTI_DIRECT", "PUTI_KERNEL", "PUTI_GATHER", "PUTI_AMPIPELINE", "PUTI_REF_INDIV"],
    ["GETI_DIRECT", "GETI_KERNEL", "GETI_SCATTER", "GETI_AMPIPELINE", "GETI_REF_INDIV"],
    ["PUTS_DIRECT", "PUTS_KERNEL", "PUTS_GATHER", "PUTS_AMPIPELINE", "PUTS_REF_INDIV"],
    ["GETS_DIRECT", "GETS_KERNEL", "GETS_SCATTER", "GETS_AMPIPELINE", "GETS_REF_INDIV"],
];

/// The engine.
pub struct Vis {
    /// Pack small pieces for several places at the peer (GASNET_VIS_AMPIPE).
    pack: bool,
    /// Pack small pieces for one place at the peer (GASNET_VIS_REMOTECONTIG).
    gather: bool,
    /// Runs with more bytes are sent one by one (GASNET_VIS_MAXCHUNK).
    chunk: usize,
    records: Arc<Records>,
    counts: [[AtomicU64; ALGORITHMS]; CALLS],
}

impl Vis {
    /// An engine with the settings of `config`.
    pub fn new(config: &Config) -> Vis {
        Vis {
            pack: config.vis_ampipe,
            gather: config.vis_remotecontig,
            chunk: usize::try_from(config.vis_maxchunk).unwrap_or(usize::MAX),
            records: Arc::default(),
            counts: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
        }
    }

    /// Registers the handlers of the engine's messages.
    pub fn register<A: Adapter>(&self, library: &mut Library<Am<A>>) {
        pack::register(library, self.records.clone());
    }

    /// Counts a transfer, a packet or a run of `bytes` bytes for the statistics.
    #[inline(always)]
    pub(crate) fn note(&self, call: Verb, algorithm: Movement, _bytes: usize) {
        let count = &self.counts[call as usize][algorithm as usize];
        // Relaxed, and not read-modify-write: threads may lose counts, so that a transfer does not pay for exact ones.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Name and value of every counter that is not 0.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let values = self.counts.iter().flatten().map(|c| c.load(Ordering::Relaxed)); // Relaxed: a report
        NAMES.iter().flatten().copied().zip(values).filter(|(_, n)| *n > 0).collect()
    }

    /// Makes the transfer at once if loads and stores reach the peer's memory. Returns whether it did.
    ///
    /// # Safety
    /// Every piece is readable at its source and writable at its destination. The local side is in this process. The
    /// remote side is in the segment of `to`, which must exist (in EVERYTHING: in its memory).
    #[inline]
    pub unsafe fn direct<A: Mapped>(&self, on: Engines<'_, A>, to: Target, call: Verb, what: &What<'_>) -> bool {
        let Some(offset) = reach(on, to) else { return false };
        let (to, from) = if call.is_put() { (offset, 0) } else { (0, offset) };
        // SAFETY: the caller promises readable sources and writable destinations; the remote side, moved by `offset`, is mapped
        // here.
        unsafe { copy::all(what, to, from) };
        // ORDERING: AcqRel fence. Release ↔ the Acquire of a node that learns of this put by a later store of ours.
        // Acquire: what is read after this get is not older than what the get fetched.
        fence(Ordering::AcqRel);
        self.note(call, Movement::Direct, 0);
        true
    }

    /// Like [`Self::direct`], for a strided transfer of few levels that has no [`shape::Section`] yet. No count may be 0.
    /// Returns whether it made the transfer.
    ///
    /// # Safety
    /// Every run is readable at its source and writable at its destination, as for [`Self::direct`].
    #[inline]
    pub unsafe fn direct_few<A: Mapped>(
        &self,
        on: Engines<'_, A>,
        to: Target,
        call: Verb,
        levels: &Levels<'_>,
    ) -> bool {
        if levels.count.len() > FEW_LEVELS {
            return false;
        }
        let Some(offset) = reach(on, to) else { return false };
        let [to, from] = levels.start;
        let start = if call.is_put() { [to.wrapping_add(offset), from] } else { [to, from.wrapping_add(offset)] };
        // SAFETY: the caller promises readable sources and writable destinations; the remote side, moved by `offset`, is mapped
        // here.
        if !unsafe { copy::few_levels(start, levels) } {
            return false;
        }
        // ORDERING: AcqRel fence, for the reasons given in `direct`.
        fence(Ordering::AcqRel);
        self.note(call, Movement::Direct, 0);
        true
    }

    /// Starts the transfer by other means than [`Self::direct`]. When it returns, only the destination of a get is
    /// still needed of `what`. So a put is locally complete at return, whatever `c` asks for.
    pub fn start<A: Mapped>(
        &self,
        Engines { am, rma }: Engines<'_, A>,
        to: Target,
        call: Verb,
        what: &What<'_>,
        flags: Flags,
        c: Completion<'_>,
    ) -> Result<Begun, Error> {
        if what.is_empty() {
            return Ok(Begun::Complete);
        }
        let (target, node) = (to, to.rank());
        if flags.has(Flags::IMMEDIATE) && !am.has_room(node)? {
            return Ok(Begun::Refused);
        }
        let packer = Packer { vis: self, am, rma, target, call, op: c.counts };
        let tiny = what.total() / what.runs() < VIS_CMA_MIN;
        let kernel = am.table().kernel(node).filter(|_| rma.is_native() && !(tiny && self.pack));
        let by_kernel = |runs: &mut dyn Iterator<Item = Run>| match kernel {
            Some(way) => self.by_kernel(am, (node, way), call, runs),
            None => Ok(false),
        };
        match what {
            What::Vector(to, from) => {
                if by_kernel(&mut joined(vector_runs(to, from)))? {
                    return Ok(Begun::Complete);
                }
                packer.start(joined(vector_runs(to, from)))?;
            }
            What::Indexed(to, from) => {
                if by_kernel(&mut joined(indexed_runs(*to, *from)))? {
                    return Ok(Begun::Complete);
                }
                packer.start(joined(indexed_runs(*to, *from)))?;
            }
            What::Strided(section) => {
                if by_kernel(&mut section.runs())? {
                    return Ok(Begun::Complete);
                }
                packer.start(section.runs())?;
            }
        }
        Ok(if c.counts.op.is_done() { Begun::Complete } else { Begun::InFlight })
    }

    /// Has the peer run its client's handler `handler` on `payload`, behind the put that `c` counts: the messages of one
    /// thread to one peer are served in their order, and what was copied before is visible then. `c` counts this too.
    pub fn complete<A: Adapter>(
        &self,
        am: &Am<A>,
        to: Target,
        handler: u8,
        payload: &[u8],
        c: Completion<'_>,
    ) -> Result<(), Error> {
        pack::complete(am, to.rank(), handler, payload, c.counts)
    }

    /// Moves all runs with process_vm_writev or readv. False if the kernel refuses; some runs may have been moved
    /// then.
    fn by_kernel<A: Adapter>(
        &self,
        am: &Am<A>,
        (node, way): (u32, &process::Access),
        call: Verb,
        runs: &mut dyn Iterator<Item = Run>,
    ) -> Result<bool, Error> {
        let mut batch = Batch::default();
        let send = |batch: &mut Batch| {
            let bytes = batch.bytes();
            self.note(call, Movement::Kernel, bytes);
            // SAFETY: the client promises memory that is readable for a put and writable for a get.
            let moved = unsafe { kernel::transfer(way, node, call.is_put(), batch) }?;
            if moved {
                am.count_kernel(bytes);
            }
            batch.clear();
            Ok::<_, Error>(moved)
        };
        for run in runs {
            let (remote, local) = if call.is_put() { (run.to, run.from) } else { (run.from, run.to) };
            am.table().check(node, remote, run.len)?;
            if batch.is_full() && !send(&mut batch)? {
                return Ok(false);
            }
            batch.push(local, remote, run.len);
        }
        send(&mut batch)
    }
}

/// The number that turns an address in the target's segment into one of this process. `None` if the segment is not
/// mapped, or if loads and stores must not be used.
#[inline]
fn reach<A: Mapped>(Engines { am, rma }: Engines<'_, A>, to: Target) -> Option<usize> {
    let node = to.rank();
    am.table().offset(node).filter(|_| rma.is_native() || node == am.me())
}
