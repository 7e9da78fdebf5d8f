//! The handlers of the engine's messages: words for the collective region, and bytes for the landings.
//!
//! A peer's memory is not trusted. The address in its message is only used to find the landing. Must not know:
//! collectives.

#![allow(unsafe_code)] // client memory

use super::audit::misfit;
use super::cells;
use super::landing::Landings;
use crate::am::Am;
use crate::am::library::{COLL_DATA, COLL_STORE, Library};
use crate::am::source::Source;
use crate::sci::Adapter;
use std::sync::Arc;

/// Registers the handlers of the engine's messages. Messages may come before this node makes its first collective.
pub fn register<A: Adapter>(library: &mut Library<Am<A>>, region: A::Local, landings: Arc<Landings>) {
    library.on(COLL_STORE, move |_, _, [at], words| cells::on_store(&region, at as usize, words));
    library.on(COLL_DATA, move |_, token, [address], bytes| {
        on_data(&landings, token.source(), address as usize, bytes);
        Ok(())
    });
}

/// Runs at the receiver of bytes that travel as messages.
fn on_data(landings: &Landings, source: u32, address: usize, bytes: Source) {
    // SAFETY: called only for memory that a receiver wants filled, and that it keeps until the landing is closed.
    let put = || unsafe { bytes.move_to(address as *mut u8) };
    if !landings.land(source, address, bytes.len(), put) {
        misfit(source, "bytes of a collective that were not asked for");
    }
}
