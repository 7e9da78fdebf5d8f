//! How this node reaches each node of its job, and what clients' inline code may do because of that.
//!
//! Reach is per peer and in one direction: that this node has mapped a peer's segment does not mean that the peer has mapped
//! ours. Code that needs both asks both sides (`gasnet_attach` exchanges whether all peers are mapped).
//!
//! Must not know: messages, handlers, clients' names.

pub mod shortcuts;

/// How this node reaches the segment of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It is this node's own.
    Own,
    /// Loads and stores of this process reach it. The number is what to add to an address of the owner's.
    Mapped(usize),
    /// It is on another host: the network moves bytes there, but no address of this process reaches it.
    Network,
    /// The kernel copies to and from the process with this id.
    Kernel(i32),
    /// Messages alone.
    Messages,
}

impl Reach {
    /// The number to add to an owner's address so that this process can load and store there. `None`: no address of this
    /// process reaches it.
    pub fn offset(self) -> Option<usize> {
        match self {
            Reach::Own => Some(0),
            Reach::Mapped(offset) => Some(offset),
            Reach::Network | Reach::Kernel(_) | Reach::Messages => None,
        }
    }
}
