//! Stores that adapters keep and make later: `reorder` in tests, `timed` in timing mode.
//!
//! Must not know: when, and in which order.

#![allow(unsafe_code)] // mapped memory

use super::RemoteMap;

/// One store that is under way.
pub(crate) enum Store {
    Words(Vec<u64>),
    Packet(u64, Vec<u64>),
    Publish(u64),
    Publish32(u32),
    Bytes(Vec<u8>),
}

/// A store, and where it goes.
pub(crate) struct Waiting<M> {
    pub(crate) map: M,
    pub(crate) offset: usize,
    pub(crate) store: Store,
}

impl<M: RemoteMap> Waiting<M> {
    /// Puts it in place.
    pub(crate) fn deliver(self) {
        let (map, offset) = (self.map, self.offset);
        match self.store {
            Store::Words(words) => map.store(offset, &words),
            Store::Packet(head, body) => map.packet(offset, head, &body),
            Store::Publish(value) => map.publish(offset, value),
            Store::Publish32(value) => map.publish32(offset, value),
            Store::Bytes(bytes) => {
                // SAFETY: a vector's bytes.
                let result = unsafe { map.write(offset, bytes.as_ptr(), bytes.len()) };
                result.expect("checked when it was stored");
            }
        }
    }
}
