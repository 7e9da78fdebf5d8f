//! The job's environment: what node 0 had when it called `gasnet_init`. It is the same on all nodes and never changes
//! (contract: core.md §7, gasnet_getenv; tools.md §11). Programs set variables just before init, and start scripts
//! differ between nodes, so one node's environment counts for all.
//!
//! Must not know: what a variable means.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

static JOBS: OnceLock<HashMap<CString, CString>> = OnceLock::new();

/// Keeps `block`: entries `name=value`, each ended by a zero byte, and a second zero byte after the last one. Only
/// the first call counts.
pub fn keep(block: &[u8]) {
    let _ = JOBS.set(parsed(block));
}

/// The entries of `block`.
pub(crate) fn parsed(block: &[u8]) -> HashMap<CString, CString> {
    let mut map = HashMap::new();
    for entry in block.split_inclusive(|byte| *byte == 0).take_while(|entry| entry.len() > 1) {
        let Ok(entry) = CStr::from_bytes_with_nul(entry) else { break };
        let bytes = entry.to_bytes();
        // A name may begin with "=", as in the C library.
        let Some(equals) = bytes.iter().skip(1).position(|byte| *byte == b'=').map(|at| at + 1) else { continue };
        let text = |part: &[u8]| CString::new(part).unwrap_or_default(); // the entry has no other zero byte
        // If two entries have one name the first one counts, as for getenv.
        map.entry(text(&bytes[..equals])).or_insert_with(|| text(&bytes[equals + 1..]));
    }
    map
}

/// The job's value for `name`. `None`: it is unset, or there is no job yet. The value stays valid for the life of the
/// process.
pub fn get(name: &CStr) -> Option<&'static CStr> {
    JOBS.get()?.get(name).map(CString::as_c_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_whatever_is_in_them() {
        assert_eq!(get(c"A"), None);
        keep(b"A=1\0EMPTY=\0B=x=y\nz \0NOVALUE\0A=2\0\0C=behind the end\0");
        for (name, value) in [(c"A", Some(c"1")), (c"EMPTY", Some(c"")), (c"B", Some(c"x=y\nz ")), (c"C", None)] {
            assert_eq!(get(name), value, "{name:?}");
        }
        assert_eq!((get(c"NOVALUE"), get(c""), get(c"a")), (None, None, None));
    }
}
