//! Whether the library is initialized, and what its variables say then.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::config::{self, Config};
use crate::error::{Error, Result};

/// Whether SCIInitialize was called, and SCITerminate not as often.
static IS_INITIALIZED: AtomicBool = AtomicBool::new(false);

/// What copies have to look at: SISCI_PIO_ALIGN less 1, and the bits below. It is 0 for nearly everybody, so that a copy looks at one word.
pub static CARE: AtomicUsize = AtomicUsize::new(0);
/// A bit of `CARE` above every alignment: faults are asked for.
pub const FAULTS: usize = 1 << 32;
/// Another: maps of peers are far.
pub const FAR: usize = 1 << 33;
/// Another: there was a map for loads alone.
pub const READONLY: usize = 1 << 34;

/// Copies look at this from now on.
pub fn care_for(bits: usize) {
    // Ordering: published by the handle of what needs the care.
    CARE.fetch_or(bits, Ordering::Relaxed);
}

/// The library may be used from now on, or no longer.
pub fn set_initialized(is_initialized: bool) {
    // Ordering: Release; who sees it has the variables.
    IS_INITIALIZED.store(is_initialized, Ordering::Release);
}

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
