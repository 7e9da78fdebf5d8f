//! The library, descriptors, nodes, queries.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{only, put, quick, reporting, silent};
use crate::constants as flag;
use crate::descriptor::{self, Descriptor};
use crate::error::Error;
use crate::handle::{self, Handle};
use crate::name::exists;
use crate::net;
use crate::query;
use crate::{calm, library, state};

quick! {
    /// Before anything else. Counted: so many SCITerminate end it.
    fn SCIInitialize(flags: u32); {
        only(flags, 0)?;
        let _calm = calm::enter()?;
        library::initialize()
    }
}

reporting! {
    /// A virtual device, the owner of resources.
    fn SCIOpen(descriptor: *mut Handle, flags: u32); {
        only(flags, flag::THREAD_SAFE)?;
        if descriptor.is_null() {
            return Err(Error::IllegalParameter);
        }
        let handle = descriptor::open()?;
        // SAFETY: the program's place for the handle.
        unsafe { put(descriptor, handle) };
        Ok(())
    }

    /// BUSY while the descriptor owns something.
    fn SCIClose(descriptor: Handle, flags: u32); {
        only(flags, 0)?;
        descriptor::close(descriptor)
    }

    /// The node id of an adapter. Needs no descriptor.
    fn SCIGetLocalNodeId(adapter: u32, node: *mut u32, flags: u32); {
        only(flags, 0)?;
        let id = state::node_of(adapter)?;
        // SAFETY: the program's place for the number.
        unsafe { put(node, id) };
        Ok(())
    }

    /// Whether the node answers: whether a process of it has initialized the library.
    fn SCIProbeNode(descriptor: Handle, adapter: u32, node: u32, flags: u32) -> i32, or 0; {
        only(flags, 0)?;
        handle::get::<Descriptor>(descriptor)?;
        state::node_of(adapter)?;
        state::check_node(node)?;
        match net::far(node) {
            Some(far) => net::exists(far, node, state::node_of(adapter)?).map(|()| 1),
            None if exists(node) => Ok(1),
            None => Err(Error::NoSuchNodeId),
        }
    }

    /// Node ids by the name of a host or adapter, or a number.
    fn SCIGetNodeIdByAdapterName(name: *const c_char, nodes: *mut u32, kind: *mut u32, flags: u32); {
        only(flags, 0)?;
        // SAFETY: a text of the program's.
        let ids = unsafe { named(name) }?;
        // SAFETY: the program's places.
        unsafe { list(nodes, &ids) };
        // SAFETY: as above.
        unsafe { put(kind, query::TYPE) };
        Ok(())
    }

    /// The same, with the adapters of these nodes: here always their first.
    fn SCIGetNodeInfoByAdapterName(name: *const c_char, adapters: *mut u32, nodes: *mut u32, kind: *mut u32, flags: u32); {
        only(flags, 0)?;
        // SAFETY: a text of the program's.
        let ids = unsafe { named(name) }?;
        // SAFETY: the program's places.
        unsafe { list(nodes, &ids) };
        // SAFETY: as above.
        unsafe { put(adapters, 0) };
        // SAFETY: as above.
        unsafe { put(kind, query::TYPE) };
        Ok(())
    }

    /// What a command asks; docs/api/sisci/calls.md lists them.
    fn SCIQuery(command: u32, data: *mut c_void, flags: u32); {
        // SAFETY: the structure of the command, or null.
        unsafe { query::query(command, data, flags) }
    }
}

/// Node ids that a list has room for.
const LIST: usize = 8;

/// Writes a list of node ids, the rest 0.
///
/// # Safety
/// `nodes` is null or has room for eight.
unsafe fn list(nodes: *mut u32, ids: &[u32]) {
    if nodes.is_null() {
        return;
    }
    for at in 0..LIST {
        let place = nodes.wrapping_add(at);
        // SAFETY: the caller's.
        unsafe { place.write(ids.get(at).copied().unwrap_or(0)) };
    }
}

/// The nodes that have this name.
///
/// # Safety
/// `name` is null or a text.
unsafe fn named(name: *const c_char) -> crate::error::Result<Vec<u32>> {
    let config = state::config()?;
    if name.is_null() {
        return Err(Error::IllegalParameter);
    }
    // SAFETY: the caller's.
    let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| Error::NoSuchNodeId)?;
    let mut ids: Vec<u32> = config.known.iter().filter(|(_, known)| known == name).map(|&(id, _)| id).collect();
    ids.extend(name.parse::<u32>().ok().filter(|&id| state::check_node(id).is_ok()));
    ids.dedup();
    if ids.is_empty() { Err(Error::NoSuchNodeId) } else { Ok(ids) }
}

/// The texts of numbers that no error has: a program may keep the pointer, so there is one text for each of the last few.
static UNKNOWN: [parking_lot::Mutex<[u8; 32]>; 4] = [const { parking_lot::Mutex::new([0; 32]) }; 4];

silent! {
    /// The last call: frees all that is left. May be called twice.
    fn SCITerminate() {
        match calm::enter() {
            Ok(_calm) => library::terminate(),
            Err(_) => calm::end_later(library::terminate),
        }
    }

    /// What an error means. Never null. Of a number that no error has, the text stays until three others were asked for.
    fn SCIGetErrorString(error: u32) -> *const c_char {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if let Some(text) = Error::text(error) {
            return text.as_ptr();
        }
        let Ok(_calm) = calm::enter() else { return c"unknown error".as_ptr() };
        // Ordering: a counter.
        let place = &UNKNOWN[NEXT.fetch_add(1, Ordering::Relaxed) as usize % UNKNOWN.len()];
        let mut text = place.lock();
        *text = [0; 32];
        let words = format!("unknown error {error:#x}");
        text[..words.len()].copy_from_slice(words.as_bytes());
        text.as_ptr().cast()
    }

    /// The name of an adapter's type.
    fn SCIGetAdapterTypeString(_kind: u32) -> *const c_char {
        c"SISCI-SW".as_ptr()
    }

    /// The name of an adapter's family.
    fn SCIGetAdapterFamilyString(_kind: u32) -> *const c_char {
        c"software".as_ptr()
    }
}
