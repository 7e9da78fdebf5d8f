//! What can go wrong in the SCI layer, with the numbers in it.
//!
//! Must not know what the caller tried to do with it: callers pass it on.

use super::{NodeId, SegmentId};
use crate::os::cgroup::GroupLimit;
use std::{fmt, io};

/// What can go wrong in the SCI layer, with SISCI's meanings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SciError {
    /// A DMA transfer's source address, target offset or size is not a multiple of the adapter's alignment.
    DmaMisaligned {
        /// Address in this process.
        source: usize,
        /// Bytes into the segment.
        offset: usize,
        /// Bytes.
        len: usize,
        /// Bytes.
        need: usize,
    },
    /// A DMA transfer is shorter than the adapter takes.
    DmaTooShort {
        /// Bytes.
        len: usize,
        /// Bytes.
        need: usize,
    },
    /// A map's start is not on a page.
    Misaligned {
        /// Bytes into the segment.
        offset: usize,
        /// Bytes.
        need: usize,
    },
    /// An access or a map leaves its segment or map.
    OutOfRange {
        /// Bytes into the segment or map.
        offset: u64,
        /// Bytes.
        len: u64,
        /// Bytes that there are.
        segment: u64,
    },
    /// The job has no such node.
    NoSuchNode {
        /// The one asked for.
        node: NodeId,
        /// Nodes of the job.
        nodes: u32,
    },
    /// The node has created no such segment, or has removed it.
    NoSuchSegment {
        /// Owner.
        node: NodeId,
        /// Asked for.
        id: SegmentId,
    },
    /// The segment is there, but its owner has not made it available.
    NotAvailable {
        /// Owner.
        node: NodeId,
        /// Asked for.
        id: SegmentId,
    },
    /// This node already has a segment of that id.
    SegmentExists {
        /// In use.
        id: SegmentId,
    },
    /// This node has as many segments as an adapter holds.
    TooManySegments {
        /// Most segments of a node.
        limit: usize,
    },
    /// The segment was removed, or its owner is gone.
    NotConnected {
        /// Owner.
        node: NodeId,
        /// The segment.
        id: SegmentId,
    },
    /// The operation needs a map.
    NotMapped,
    /// The segment cannot be removed while it is mapped here or connected by peers.
    Busy {
        /// The segment.
        id: SegmentId,
        /// Connections and maps that there are.
        users: u32,
    },
    /// All descriptors of a DMA queue are in use.
    QueueFull {
        /// Descriptors of the queue.
        depth: usize,
    },
    /// The time given passed first.
    TimedOut,
    /// A map cannot lie at that address: not page-aligned, not inside a reserved window, or taken.
    BadPlacement {
        /// Address asked for.
        address: usize,
        /// Bytes.
        len: usize,
    },
    /// Memory for a whole segment cannot be committed.
    NoMemory {
        /// Bytes.
        need: u64,
        /// Bytes that the system, or the control group, still has.
        available: u64,
        /// Which of the two: the group, or `None` for the system.
        group: Option<Box<GroupLimit>>,
    },
    /// The fabric was laid out for another number of nodes or by another version of the library.
    LayoutMismatch {
        /// What this node brings.
        mine: u64,
        /// What is there.
        found: u64,
    },
    /// The descriptor of the job's memory is no longer that.
    FileLost,
    /// The system refused a call.
    System {
        /// Its name.
        call: &'static str,
        /// Its reason.
        errno: i32,
    },
}

impl SciError {
    /// `System` with the calling thread's errno.
    #[cold]
    pub fn last_os_error(call: &'static str) -> Self {
        Self::System { call, errno: io::Error::last_os_error().raw_os_error().unwrap_or(0) }
    }
}

impl fmt::Display for SciError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DmaMisaligned { source, offset, len, need } => {
                write!(f, "dma: source {source:#x}, offset {offset} and length {len} must be multiples of {need}")
            }
            Self::DmaTooShort { len, need } => {
                write!(f, "dma: {len} bytes, the adapter takes {need} or more")
            }
            Self::Misaligned { offset, need } => {
                write!(f, "map: offset {offset} must be a multiple of {need}")
            }
            Self::OutOfRange { offset, len, segment } => {
                write!(f, "out of range: {len} bytes at offset {offset}, there are {segment}")
            }
            Self::NoSuchNode { node, nodes } => {
                write!(f, "no node {}, the job has {nodes}", node.0)
            }
            Self::NoSuchSegment { node, id } => {
                write!(f, "node {} has no segment {}", node.0, id.0)
            }
            Self::NotAvailable { node, id } => {
                write!(f, "segment {} of node {} is not available", id.0, node.0)
            }
            Self::SegmentExists { id } => write!(f, "segment {} exists", id.0),
            Self::TooManySegments { limit } => {
                write!(f, "a node can have {limit} segments, all are in use")
            }
            Self::NotConnected { node, id } => {
                write!(f, "segment {} of node {} is not connected", id.0, node.0)
            }
            Self::NotMapped => f.write_str("not mapped"),
            Self::Busy { id, users } => {
                write!(f, "segment {} is in use: {users} connections or maps", id.0)
            }
            Self::QueueFull { depth } => write!(f, "dma: all {depth} descriptors are in use"),
            Self::TimedOut => f.write_str("timed out"),
            Self::BadPlacement { address, len } => {
                write!(f, "cannot map {len} bytes at {address:#x}: not free space of a reserved window")
            }
            Self::NoMemory { need, available, group: None } => {
                write!(f, "cannot commit {need} bytes, the system has {available} left")
            }
            Self::NoMemory { need, available, group: Some(group) } => {
                let GroupLimit { value, used, .. } = **group;
                let group = group.group().display();
                write!(
                    f,
                    "cannot commit {need} bytes, the memory control group {group} has {available} left: its limit is \
                     {value}, {used} are used"
                )
            }
            Self::LayoutMismatch { mine, found } => {
                write!(
                    f,
                    "another node of this host runs another version of the library, or is of another job (layouts {found:#x} and {mine:#x}): all nodes \
                     of a job need the same build"
                )
            }
            Self::FileLost => f.write_str("this program has closed the descriptor of the job's memory"),
            Self::System { call, errno } => {
                let hint = if *errno == libc::EFBIG { "; the limit is that of ulimit -f" } else { "" };
                write!(f, "{call}: {}{hint}", io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

impl std::error::Error for SciError {}

impl From<SciError> for crate::base::error::Error {
    #[cold]
    fn from(e: SciError) -> Self {
        crate::base::error::Error::resource(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_carry_their_numbers() {
        let e = SciError::DmaMisaligned { source: 0x1001, offset: 3, len: 5, need: 8 };
        assert_eq!(e.to_string(), "dma: source 0x1001, offset 3 and length 5 must be multiples of 8");
        let e = SciError::System { call: "mmap", errno: libc::ENOMEM };
        assert!(e.to_string().starts_with("mmap: "));
    }
}
