//! One table of environment variables → one [`Config`]. gasnet_init reads it once (contract: environment.md §1, §2).
//!
//! docs/environment.md and `gasnet-sci info` show the table. A variable that is not in the table does not exist. This
//! is the only code that reads the environment. Must not know: which code uses a value.

pub mod hosts;
mod observe;
pub(crate) mod parse;
mod read;
mod rows;
mod settings;
mod survey;
pub mod table;
mod timing;
pub mod tune;
#[cfg(not(loom))]
mod unknown;
/// The variable in which the launcher passes a node its place in the job. A person never sets it.
pub const HANDOFF: &str = "GASNET_SCI_BOOT";
/// The variable in which the launcher passes its nodes where their parts of the traffic matrix go. A person never sets it.
pub const PARTS: &str = "GASNET_SCI_MATRIX_PARTS";

pub use hosts::{AGENT_CONF, Hosts, Network, Secure, Transport, UdpFaults};
pub use observe::{Mask, Observe, Record};
pub use parse::{Amount, NodeSet, SegmentSize, SignalSet, YES_NO, memory_size, signal_number, yes_no};
pub use read::{ConfigError, Reported, variable};
pub use rows::VARS;
pub use settings::{Config, Dma, Unmapped, Var};
pub use survey::{Setting, Survey, environment};
pub use timing::TimingMode;
pub use tune::Tuned;
#[cfg(not(loom))]
pub use unknown::unknown_here;

/// Bytes of payload in one packet of a vector, indexed or strided transfer. It is so long that a message costs a
/// tenth of copying it, and so short that a ring holds several packets.
pub const VIS_PACKET: usize = 16 << 10;
/// The most 8-byte words of a packet that say where its bytes belong.
pub const VIS_PACKET_WORDS: usize = 2 << 10;
/// Pieces with fewer bytes on average are packed. For these the kernel's cost per piece (process_vm_writev, about 0.2
/// µs) is above that of packing (testvisperf in EVERYTHING, 2 nodes, Xeon: 4.5 GB/s by the kernel and 7.5 packed with
/// 1 KiB, 16.6 and 10.5 with 8 KiB).
pub const VIS_CMA_MIN: usize = 2 << 10;
