//! The suite that every start-up exchange passes, here for processes as nodes.

pub use gasnet_sci::boot::*;

#[path = "../../../src/boot/conformance.rs"]
pub mod conformance;
