//! Names of nodes, segments and places: node and segment ids, SCI addresses.
//!
//! Must not know: what lies there, who may go there.

use super::error::SciError;

/// A node's SCI id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

/// Names a segment among those of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u32);

/// A place in SCI's global address space: 16 bits of node, 48 bits of offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SciAddr(u64);

impl SciAddr {
    /// Bits of an offset.
    pub const OFFSET_BITS: u32 = 48;

    /// `offset` bytes into the memory of `node`. `OutOfRange` when the offset needs more than 48 bits.
    pub fn new(node: NodeId, offset: u64) -> Result<Self, SciError> {
        if offset >> Self::OFFSET_BITS != 0 {
            let space = 1 << Self::OFFSET_BITS;
            return Err(SciError::OutOfRange { offset, len: 0, segment: space });
        }
        Ok(Self(u64::from(node.0) << Self::OFFSET_BITS | offset))
    }

    /// The address that [`Self::bits`] gave.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Node in the upper 16 bits, offset in the lower 48.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The node.
    pub fn node(self) -> NodeId {
        NodeId((self.0 >> Self::OFFSET_BITS) as u16)
    }

    /// Bytes.
    pub fn offset(self) -> u64 {
        self.0 & ((1 << Self::OFFSET_BITS) - 1)
    }

    /// `bytes` further on the same node. `OutOfRange` when that leaves the node's 48 bits.
    pub fn checked_add(self, bytes: u64) -> Result<Self, SciError> {
        let offset = self.offset().saturating_add(bytes);
        Self::new(self.node(), offset)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_node_and_offset() {
        let last = (1 << 48) - 1;
        let addr = SciAddr::new(NodeId(0xffff), last).unwrap();
        assert_eq!((addr.node(), addr.offset()), (NodeId(0xffff), last));
        assert_eq!(SciAddr::from_bits(addr.bits()), addr);
        assert!(addr.checked_add(1).is_err());
        assert!(addr.checked_add(u64::MAX).is_err());
        assert!(SciAddr::new(NodeId(0), 1 << 48).is_err());
        let zero = SciAddr::new(NodeId(3), 0).unwrap();
        assert_eq!(zero.checked_add(last).unwrap().node(), NodeId(3));
    }
}
