//! The timing model of SCI cards: GASNet's timing mode has the same one (docs/timing.md), whose files these are.
#![allow(dead_code, unused_imports, reason = "rings and tori are for GASNet's timing mode alone")]

#[path = "../../src/sci/model/file.rs"]
mod file;
#[path = "../../src/sci/model/issue.rs"]
mod issue;
#[path = "../../src/sci/model/profile.rs"]
mod profile;
#[path = "../../src/sci/model/stages.rs"]
mod stages;
#[path = "../../src/sci/model/text.rs"]
mod text;
#[path = "../../src/sci/model/time.rs"]
mod time;
#[path = "../../src/sci/model/topology.rs"]
mod topology;

pub use file::{fields, fields_of_file, is_file};
pub use issue::{Issuer, Left};
pub use profile::{PROFILES, Parameters};
pub use text::{Fields, Timing, duration};
pub use time::{Packet, packets};
pub use topology::{LINK_BYTES, Load, Route, Topology};
