//! What kind of machine this program runs on: architecture, order of bytes, size of pages. Nodes of a job have them in common, because
//! they read each other's words in place.
//!
//! The kind travels in the high bits of the word that names the layout of regions, so that all who compare layouts compare machines:
//!
//! ```text
//! bits 0..44 version of the layout | 44..48 size of a page, as power of two above 4 KiB | 48..63 number of the ELF machine | 63 big-endian
//! ```
//! Must not know: what the version of a layout means, who compares.

#![allow(unsafe_code)] // system calls

/// Where the size of a page, and the machine, lie in the word.
const PAGES: u32 = 44;
const MACHINE: u32 = 48;
const BIG_ENDIAN: u64 = 1 << 63;

/// The architectures that this library was compiled for, by the numbers of the ELF format.
const NAMES: [(u64, &str); 4] = [(62, "x86-64"), (183, "AArch64"), (243, "RISC-V"), (21, "PowerPC 64")];

const OWN: u64 = if cfg!(target_arch = "x86_64") {
    62
} else if cfg!(target_arch = "aarch64") {
    183
} else if cfg!(target_arch = "riscv64") {
    243
} else if cfg!(target_arch = "powerpc64") {
    21
} else {
    0
};

/// Bytes of a page.
pub fn page_size() -> usize {
    // SAFETY: no memory is passed.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// `version` of a layout, below 2^44, and this kind of machine.
pub fn layout(version: u64) -> u64 {
    debug_assert!(version < 1 << PAGES);
    let big = if cfg!(target_endian = "big") { BIG_ENDIAN } else { 0 };
    let pages = u64::from(page_size().trailing_zeros().saturating_sub(12)) & 15;
    version | pages << PAGES | OWN << MACHINE | big
}

/// Bytes of a line of the first cache, as the C library finds them out. The kernel of a virtual machine may not list caches.
pub fn cache_line() -> Option<u64> {
    // SAFETY: sysconf takes an integer.
    let bytes = unsafe { libc::sysconf(libc::_SC_LEVEL1_DCACHE_LINESIZE) };
    u64::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}

/// What differs between a peer's [`layout`] and this program's.
#[derive(Debug, PartialEq, Eq)]
pub enum Unlike {
    /// The kinds of machines, in words: the peer's and this one.
    Machine(String, String),
    /// The versions alone.
    Version,
}

/// `None`: nothing. Versions before 0.3 did not say what machine they run on: of them it is the version that differs.
pub fn unlike(theirs: u64, own: u64) -> Option<Unlike> {
    if theirs == own {
        None
    } else if theirs >> PAGES == own >> PAGES || theirs >> PAGES == 0 {
        Some(Unlike::Version)
    } else {
        Some(Unlike::Machine(name(theirs), name(own)))
    }
}

/// The kind of machine in a [`layout`], in words.
fn name(layout: u64) -> String {
    let machine = (layout & !BIG_ENDIAN) >> MACHINE;
    let known = NAMES.iter().find(|(number, _)| *number == machine);
    let machine = known.map_or_else(|| format!("ELF machine {machine}"), |(_, name)| (*name).to_string());
    let order = if layout & BIG_ENDIAN != 0 { ", big-endian" } else { "" };
    format!("{machine}{order}, pages of {} KiB", 4 << (layout >> PAGES & 15))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_cache_line_is_a_power_of_two_if_it_is_known() {
        assert!(cache_line().is_none_or(|bytes| bytes.is_power_of_two() && (16..=2048).contains(&bytes)));
    }

    #[test]
    fn kinds_of_machines_are_told_apart_and_named() {
        let own = layout(7);
        assert_eq!(own & ((1 << PAGES) - 1), 7);
        assert_eq!(unlike(own, own), None);
        assert_eq!([own + 1, 7, 8].map(|other| unlike(other, own)), [const { Some(Unlike::Version) }; 3]);
        let (arm, x86) = (9 | 4 << PAGES | 183 << MACHINE, 9 | 62 << MACHINE);
        let differ = Unlike::Machine("AArch64, pages of 64 KiB".into(), "x86-64, pages of 4 KiB".into());
        assert_eq!(unlike(arm, x86), Some(differ));
        assert_eq!(name(21 << MACHINE | BIG_ENDIAN), "PowerPC 64, big-endian, pages of 4 KiB");
        assert_eq!(name(8 << MACHINE), "ELF machine 8, pages of 4 KiB");
    }
}
