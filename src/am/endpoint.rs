//! Endpoints: what messages are sent to.
//!
//! A node has one, number 0. It is inside the engine, so that serving a message loads no address of it. Messages carry no number
//! of an endpoint yet; when they do, [`Am::endpoint`] is where it is looked up.
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

    /// The endpoint that messages are for which name none.
    #[inline(always)]
    pub(super) fn primordial(&self) -> &Endpoint<A> {
        self.endpoint(0)
    }
}
