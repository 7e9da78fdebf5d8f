//! The end of a job whose memory holds what none of our senders writes.
//!
//! Must not know: who looked, what a message means.

/// Ends the job: the peer's memory holds something that none of our senders writes.
#[cold]
pub(crate) fn corrupt(source: u32, what: &str) -> ! {
    crate::base::fatal(format_args!("corrupt message from node {source}: {what}"))
}

#[cold]
pub(crate) fn unregistered(source: u32, handler: u8) -> ! {
    crate::base::fatal(format_args!("AM from node {source} for handler index {handler}, which is not registered here"))
}
