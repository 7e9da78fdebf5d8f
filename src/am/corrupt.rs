//! The end of a job whose memory holds what none of our senders writes.
//!
//! Must not know: who looked, what a message means.

/// Ends the job: the peer's memory holds something that none of our senders writes.
#[cold]
pub(crate) fn corrupt(source: u32, what: &str) -> ! {
    crate::base::fatal(format_args!("corrupt message from node {source}: {what}"))
}

/// Ends the job: there is no handler for a message. `here` says which there are ([`super::handlers::Handlers::list`]).
#[cold]
pub(crate) fn unregistered(source: u32, handler: u8, here: &str) -> ! {
    crate::base::fatal(format_args!(
        "AM from node {source} for handler index {handler}, which is not registered here (registered: {here}): register \
         it on this node (gex_EP_RegisterHandlers, gasnet_attach) and pass a barrier before others send"
    ))
}
