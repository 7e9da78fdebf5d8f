//! Faults that SISCI_FAULT asks for, so that a program's ways of trying again can be tested.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::config::{self, Fault};
use crate::error::{Error, Result};

/// `sci_sequence_status_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// All has arrived.
    Ok = 0,
    /// The transfers since the last OK have to be repeated.
    Retriable,
    /// The other side is gone.
    NotRetriable,
    /// Not known yet.
    Pending,
}

/// Sequence checks so far.
static CHECKS: AtomicU32 = AtomicU32::new(0);
/// Copies by SCIMemCpy so far.
static COPIES: AtomicU32 = AtomicU32::new(0);
/// Connects so far.
static CONNECTS: AtomicU32 = AtomicU32::new(0);
/// Transfers by DMA so far.
static TRANSFERS: AtomicU32 = AtomicU32::new(0);
/// There was a copy since the last check: what is lost then is a copy.
static HAS_COPIED: AtomicBool = AtomicBool::new(false);

/// Whether `turn` is one of every `every`.
fn is_due(turn: u32, every: u32) -> bool {
    every != 0 && turn.is_multiple_of(every)
}

/// The faults that are asked for.
fn asked() -> Fault {
    config::get().map(|config| config.fault).unwrap_or_default()
}

/// Whether the next copy is lost.
pub fn copy() -> bool {
    HAS_COPIED.store(true, Ordering::Relaxed);
    // Ordering: a counter.
    is_due(COPIES.fetch_add(1, Ordering::Relaxed) + 1, asked().retriable)
}

/// What the next check of a sequence finds, whose copies were lost or not. A program that only stores is told to repeat without a loss, since
/// stores cannot be taken back.
pub fn check(has_lost: bool) -> Status {
    let fault = asked();
    // Ordering: a counter.
    let turn = CHECKS.fetch_add(1, Ordering::Relaxed) + 1;
    match () {
        () if fault.dead != 0 && turn >= fault.dead => Status::NotRetriable,
        () if is_due(turn, fault.pending) => Status::Pending,
        () if HAS_COPIED.swap(false, Ordering::Relaxed) => {
            if has_lost {
                Status::Retriable
            } else {
                Status::Ok
            }
        }
        () if has_lost || is_due(turn, fault.retriable) => Status::Retriable,
        () => Status::Ok,
    }
}

/// Whether all checks say NOT_RETRIABLE from now on.
pub fn is_dead() -> bool {
    let dead = asked().dead;
    dead != 0 && CHECKS.load(Ordering::Relaxed) >= dead
}

/// Whether the next transfer by DMA ends half way.
pub fn transfer() -> bool {
    let every = asked().dma;
    // Ordering: a counter, which transfers pay for only if it is asked for.
    every != 0 && is_due(TRANSFERS.fetch_add(1, Ordering::Relaxed) + 1, every)
}

/// Whether the next connect is refused.
pub fn connect() -> Result {
    let refused = asked().connect;
    // Ordering: a counter, which connects pay for only if it is asked for.
    if refused != 0 && CONNECTS.fetch_add(1, Ordering::Relaxed) < refused {
        Err(Error::ConnectionRefused)
    } else {
        Ok(())
    }
}
