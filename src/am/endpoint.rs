//! Endpoints: the things that messages are sent to.
//!
//! A node has one endpoint, number 0. It lies inside the engine, so that serving a message loads no address of it. Messages
//! carry no endpoint number yet; when they do, `Am::endpoint` is the place that looks it up.
//!
//! Must not know: what handlers do, how messages travel.

use super::handlers::Handlers;
use super::library::Engine;
use crate::peers::table::PeerTable;
use crate::sci::Adapter;

/// Endpoints of a node.
pub const ENDPOINTS: usize = 1;

/// One endpoint, of an engine of type `E`.
pub struct Endpoint<E: Engine, A: Adapter> {
    /// Its handlers.
    pub handlers: Handlers<E>,
    /// How the segments are reached that are bound to it and to the endpoints of this number at the peers.
    pub table: PeerTable<A>,
}
