//! What a function reports: `sci_error_t`, with the numbers of Dolphin's headers (docs/sisci.md).

use rustix::io::Errno;

/// The bit that every code but `OK` has.
pub const MASK: u32 = 0x4000_0000;

/// Makes the enum, the list of all codes, and their texts.
macro_rules! errors {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// A result. `Ok` is 0; any other is its number with bit 30 set.
        #[repr(u32)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Error {
            /// No error.
            Ok = 0,
            $(#[doc = $text] $name = $number | MASK,)*
        }

        impl Error {
            /// The text of a code, or none if no code has this number.
            #[must_use]
            pub fn text(code: u32) -> Option<&'static core::ffi::CStr> {
                const {
                    $(assert!($number & MASK == 0);)*
                }
                match code {
                    0 => Some(c"OK"),
                    $(_ if code == Error::$name as u32 => Some(
                        match core::ffi::CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                            Ok(text) => text,
                            Err(_) => c"",
                        },
                    ),)*
                    _ => None,
                }
            }
        }
    };
}

errors! {
    Busy = 0x900, "The resource is still in use.";
    FlagNotImplemented = 0x901, "This flag is not implemented.";
    IllegalFlag = 0x902, "This function does not take this flag.";
    NoSpc = 0x904, "The system has no memory or descriptors left.";
    ApiNoSpc = 0x905, "The descriptor, or the library, has no room for another resource of this kind.";
    HwNoSpc = 0x906, "The adapter has no room for another resource of this kind.";
    NotImplemented = 0x907, "This function is not implemented.";
    IllegalAdapterNo = 0x908, "This number cannot be one of an adapter.";
    NoSuchAdapterNo = 0x909, "There is no adapter of this number.";
    Timeout = 0x90A, "The time is over.";
    OutOfRange = 0x90B, "Offset and size reach beyond the end.";
    NoSuchSegment = 0x90C, "No segment or interrupt of this number is available there.";
    IllegalNodeId = 0x90D, "This number cannot be one of a node.";
    ConnectionRefused = 0x90E, "The other side refuses the connection.";
    SegmentNotConnected = 0x90F, "The segment is not connected.";
    SizeAlignment = 0x910, "The size does not fit, or has the wrong alignment.";
    OffsetAlignment = 0x911, "The offset has the wrong alignment.";
    IllegalParameter = 0x912, "A parameter is wrong: a handle that does not exist, or a null pointer.";
    MaxEntries = 0x913, "The queue or vector would have too many entries.";
    SegmentNotPrepared = 0x914, "The segment is not prepared for this adapter.";
    IllegalAddress = 0x915, "This address cannot be used.";
    IllegalOperation = 0x916, "This is not possible in this state.";
    IllegalQuery = 0x917, "There is no such query.";
    SegmentIdUsed = 0x918, "The number is in use on this node.";
    System = 0x919, "The system reported an error.";
    Cancelled = 0x91A, "What was waited for is gone.";
    NotConnected = 0x91B, "The interrupt is not connected.";
    NotAvailable = 0x91C, "This is not available.";
    InconsistentVersions = 0x91D, "The library and the headers or the other side do not fit together.";
    CondIntRaceProblem = 0x91E, "The conditional interrupt came while it was being enabled.";
    Overflow = 0x91F, "A counter or queue has overflowed.";
    NotInitialized = 0x920, "SCIInitialize has not been called.";
    Access = 0x921, "Access is not permitted.";
    NotSupported = 0x922, "This is not supported by software SCI.";
    Deprecated = 0x923, "This function is no longer offered.";
    DmaNotAvailable = 0x924, "There is no DMA engine of this kind.";
    DmaDisabled = 0x925, "DMA is switched off.";
    NoSuchNodeId = 0xA00, "There is no node of this number.";
    NodeNotResponding = 0xA02, "The node does not answer.";
    NoRemoteLinkAccess = 0xA04, "The other node's link does not work.";
    NoLinkAccess = 0xA05, "This node's link does not work.";
    TransferFailed = 0xA06, "The transfer has failed.";
    EwouldBlock = 0xA07, "The call would have to wait.";
    SemaphoreCountExceeded = 0xA08, "The semaphore's count is too large.";
    IrqlIllegal = 0xA09, "The call is not possible at this interrupt level.";
    RemoteBusy = 0xB00, "The other side is busy.";
    LocalBusy = 0xB01, "This side is busy.";
    AllBusy = 0xB02, "Both sides are busy.";
    NoSuchFdid = 0xB03, "There is no device of this number.";
}

/// The result of most functions of the library.
pub type Result<T = ()> = core::result::Result<T, Error>;

impl From<Errno> for Error {
    /// What the system has run out of is NOSPC; anything else is SYSTEM, and `errno` says what.
    fn from(errno: Errno) -> Error {
        match errno {
            Errno::NOMEM | Errno::NOSPC | Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::AGAIN => Error::NoSpc,
            _ => Error::System,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_headers_numbers_and_a_text() {
        assert_eq!(Error::Busy as u32, 0x4000_0900);
        assert_eq!(Error::NoSuchFdid as u32, 0x4000_0B03);
        assert_eq!(Error::text(Error::Timeout as u32), Some(c"The time is over."));
        assert_eq!(Error::text(0), Some(c"OK"));
        assert_eq!(Error::text(0x900), None);
    }
}
