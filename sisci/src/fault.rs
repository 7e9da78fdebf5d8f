//! Faults that SISCI_FAULT asks for, so that a program's ways of trying again can be tested.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::config;
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
/// Connects so far.
static CONNECTS: AtomicU32 = AtomicU32::new(0);

/// Whether `turn` is one of every `every`.
fn is_due(turn: u32, every: u32) -> bool {
    every != 0 && turn.is_multiple_of(every)
}

/// What the next check of a sequence finds, apart from what is really so.
pub fn check() -> Status {
    let Some(fault) = config::get().map(|config| config.fault) else { return Status::Ok };
    if fault == config::Fault::default() {
        return Status::Ok;
    }
    // Ordering: a counter.
    let turn = CHECKS.fetch_add(1, Ordering::Relaxed) + 1;
    match () {
        () if fault.dead != 0 && turn >= fault.dead => Status::NotRetriable,
        () if is_due(turn, fault.retriable) => Status::Retriable,
        () if is_due(turn, fault.pending) => Status::Pending,
        () => Status::Ok,
    }
}

/// Whether all checks say NOT_RETRIABLE from now on.
pub fn is_dead() -> bool {
    let dead = config::get().map_or(0, |config| config.fault.dead);
    dead != 0 && CHECKS.load(Ordering::Relaxed) >= dead
}

/// Whether the next connect is refused.
pub fn connect() -> Result {
    let every = config::get().map_or(0, |config| config.fault.connect);
    // Ordering: a counter.
    if every != 0 && is_due(CONNECTS.fetch_add(1, Ordering::Relaxed) + 1, every) {
        Err(Error::ConnectionRefused)
    } else {
        Ok(())
    }
}
