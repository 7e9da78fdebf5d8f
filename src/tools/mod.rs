//! The parts of the GASNet tools that are not inline in their header (contract: tools.md §2, §9–§12): calibration of
//! timers, numbers, environment, zero counts, the machine, stack traces. They need neither a job nor initialisation.
//! A job only passes them a few settings at init.
//!
//! Must not know: segments, messages, C types of the header (those are in `api::tools`).

mod activity;
pub mod backtrace;
pub mod bytes;
mod child;
pub mod external;
pub mod heap;

pub mod number;
pub mod selftest;
pub mod settings;
mod stack;
mod symbols;
pub mod timer;
