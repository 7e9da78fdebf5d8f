//! How this node reaches each node of its job, and what clients' inline code may do because of that.
//!
//! A way is per peer and in one direction: that this node has mapped a peer's segment does not mean that the peer has mapped
//! ours. Code that needs both asks both sides (`gasnet_attach` exchanges whether all peers are mapped).
//!
//! Must not know: messages, handlers, clients' names.

pub mod kernel;
pub mod places;
pub mod shortcuts;
pub mod table;
