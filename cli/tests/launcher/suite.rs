//! The suite that every start-up exchange must pass, here with processes as nodes.

pub use gasnet_sci::boot::*;

#[path = "../../../src/boot/conformance.rs"]
pub mod conformance;
