//! Endpoints: the things that messages are sent to.
//!
//! A node has one endpoint, number 0. It lies inside the engine, so that serving a message loads no address of it. Messages
//! carry no endpoint number yet; when they do, [`Am::endpoint`] is the place that looks it up.
//!
//! Must not know: what handlers do, how messages travel.

use super::Am;
use super::handlers::Handlers;
use crate::sci::Adapter;

/// Endpoints of a node.
pub const ENDPOINTS: usize = 1;

/// One endpoint.
pub struct Endpoint<A: Adapter> {
    /// Its handlers.
    pub handlers: Handlers<A>,
}

impl<A: Adapter> Am<A> {
    /// Endpoint `index`, below [`ENDPOINTS`].
    #[inline(always)]
    pub fn endpoint(&self, index: usize) -> &Endpoint<A> {
        &self.endpoints[index]
    }

    /// The endpoint of messages that name none.
    #[inline(always)]
    pub(super) fn primordial(&self) -> &Endpoint<A> {
        self.endpoint(0)
    }
}
