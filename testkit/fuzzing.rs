//! The fuzz targets. Each target takes any bytes and turns them into what a peer, a user or a client may do. A target
//! returns; a panic, a hang or a sanitizer's report means a bug. A peer's memory may cause a fatal error, so targets
//! catch those. `fuzz/` has the part for cargo-fuzz and the seeds. `cargo test` replays the seeds, and bytes made at
//! random.
//!
//! Compiled for tests and for fuzzers only.

#![allow(missing_docs)]

mod channel;
mod collectives;
mod datagrams;
mod far;
mod hand_off;
mod mailbox;
mod records;
mod regions;
mod scene;
mod settings;
mod shapes;
#[cfg(test)]
mod tests;
pub mod watch;

/// A fuzz target.
pub type Target = fn(&[u8]);

/// All targets of the library, by the names of their directories in `fuzz/seeds`. The launcher's target is in its own
/// crate.
pub const TARGETS: [(&str, Target); 8] = [
    ("regions", regions::run),
    ("collectives", collectives::run),
    ("hand_off", hand_off::run),
    ("settings", settings::run),
    ("shapes", shapes::run),
    ("far", far::run),
    ("channel", channel::run),
    ("mailbox", mailbox::run),
];

/// The target with that name.
pub fn target(name: &str) -> Target {
    TARGETS.iter().find(|(n, _)| *n == name).expect("a name of the list").1
}

/// The input, taken from the front. It gives zeros when it is used up.
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Input(bytes)
    }

    pub(crate) fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }

    pub(crate) fn number(&mut self, bytes: usize) -> u64 {
        (0..bytes).fold(0, |n, i| n | u64::from(self.u8()) << (8 * i))
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bytes = if bound <= 256 { 1 } else { 2 };
        self.number(bytes) as usize % bound
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A number of any size: most bugs are near powers of two and near the ends.
    pub(crate) fn any(&mut self) -> u64 {
        match self.u8() {
            n @ 0..=63 => n.into(),
            n @ 64..=127 => 1 << (n - 64),
            n @ 128..=191 => (1u64 << (n - 128)).wrapping_sub(1),
            n @ 192..=223 => u64::from(n - 192).wrapping_neg(),
            224..=231 => self.number(2),
            232..=239 => self.number(4),
            _ => self.number(8),
        }
    }

    /// Up to 255 bytes of the input.
    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.u8()).min(self.0.len());
        let (first, rest) = self.0.split_at(len);
        self.0 = rest;
        first
    }

    pub(crate) fn text(&mut self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }
}
