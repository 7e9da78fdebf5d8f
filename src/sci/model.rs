//! The timing model of SCI hardware: how long a store, a read, a DMA transfer takes on the installations of the papers.
//!
//! Pure functions over numbers, and the reading of the settings that choose them. Times are nanoseconds, rates MB/s (10^6 bytes a second), sizes bytes. The adapter `timed` waits for what
//! they say, and `gasnet-sci bench` prints them beside what it measured. The formulas are in docs/timing.md.
//!
//! Must not know: clocks, memory, adapters, variables of the environment.

mod file;
mod issue;
mod profile;
mod stages;
mod text;
mod time;
mod topology;

pub use file::{fields, fields_of_file, is_file};
pub use issue::{Issuer, Left};
pub use profile::{PROFILES, Parameters};
pub use text::{Fields, Timing, duration};
pub use time::{Packet, packets};
pub use topology::{LINK_BYTES, Load, Route, Topology};
