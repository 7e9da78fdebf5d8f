//! What a function reports: `sci_error_t`, with the numbers of Dolphin's headers (docs/sisci.md).

use rustix::io::Errno;

/// The bit that every code but `OK` has.
pub const MASK: u32 = 0x4000_0000;

/// Makes the enum, the list of all codes, and their texts.
macro_rules! errors {
    ($($name:ident = $number:literal, $c:literal, $text:literal;)*) => {
        /// A result. `Ok` is 0; any other is its number with bit 30 set.
        #[repr(u32)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Error {
            /// No error.
            Ok = 0,
            $(#[doc = $text] $name = $number | MASK,)*
        }

        impl Error {
            /// The name of a code in C, or none if no code has this number.
            #[must_use]
            pub fn name(code: u32) -> Option<&'static str> {
                match code {
                    0 => Some("SCI_ERR_OK"),
                    $(_ if code == Error::$name as u32 => Some($c),)*
                    _ => None,
                }
            }

            /// The error of a code that came from another host; a code that no error has refuses.
            #[must_use]
            pub fn of(code: u32) -> Error {
                match code {
                    0 => Error::Ok,
                    $(_ if code == Error::$name as u32 => Error::$name,)*
                    _ => Error::ConnectionRefused,
                }
            }

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
    Busy = 0x900, "SCI_ERR_BUSY", "The resource is still in use.";
    FlagNotImplemented = 0x901, "SCI_ERR_FLAG_NOT_IMPLEMENTED", "This flag is not implemented.";
    IllegalFlag = 0x902, "SCI_ERR_ILLEGAL_FLAG", "This function does not take this flag.";
    NoSpc = 0x904, "SCI_ERR_NOSPC", "The system has no memory or descriptors left.";
    ApiNoSpc = 0x905, "SCI_ERR_API_NOSPC", "The descriptor, or the library, has no room for another resource of this kind.";
    HwNoSpc = 0x906, "SCI_ERR_HW_NOSPC", "The adapter has no room for another resource of this kind.";
    NotImplemented = 0x907, "SCI_ERR_NOT_IMPLEMENTED", "This function is not implemented.";
    IllegalAdapterNo = 0x908, "SCI_ERR_ILLEGAL_ADAPTERNO", "This number cannot be one of an adapter.";
    NoSuchAdapterNo = 0x909, "SCI_ERR_NO_SUCH_ADAPTERNO", "There is no adapter of this number.";
    Timeout = 0x90A, "SCI_ERR_TIMEOUT", "The time is over.";
    OutOfRange = 0x90B, "SCI_ERR_OUT_OF_RANGE", "Offset and size reach beyond the end.";
    NoSuchSegment = 0x90C, "SCI_ERR_NO_SUCH_SEGMENT", "No segment or interrupt of this number is available there.";
    IllegalNodeId = 0x90D, "SCI_ERR_ILLEGAL_NODEID", "This number cannot be one of a node.";
    ConnectionRefused = 0x90E, "SCI_ERR_CONNECTION_REFUSED", "The other side refuses the connection.";
    SegmentNotConnected = 0x90F, "SCI_ERR_SEGMENT_NOT_CONNECTED", "The segment is not connected.";
    SizeAlignment = 0x910, "SCI_ERR_SIZE_ALIGNMENT", "The size does not fit, or has the wrong alignment.";
    OffsetAlignment = 0x911, "SCI_ERR_OFFSET_ALIGNMENT", "The offset has the wrong alignment.";
    IllegalParameter = 0x912, "SCI_ERR_ILLEGAL_PARAMETER", "A parameter is wrong: a handle that does not exist, or a null pointer.";
    MaxEntries = 0x913, "SCI_ERR_MAX_ENTRIES", "The queue or vector would have too many entries.";
    SegmentNotPrepared = 0x914, "SCI_ERR_SEGMENT_NOT_PREPARED", "The segment is not prepared for this adapter.";
    IllegalAddress = 0x915, "SCI_ERR_ILLEGAL_ADDRESS", "This address cannot be used.";
    IllegalOperation = 0x916, "SCI_ERR_ILLEGAL_OPERATION", "This is not possible in this state.";
    IllegalQuery = 0x917, "SCI_ERR_ILLEGAL_QUERY", "There is no such query.";
    SegmentIdUsed = 0x918, "SCI_ERR_SEGMENTID_USED", "The number is in use on this node.";
    System = 0x919, "SCI_ERR_SYSTEM", "The system reported an error.";
    Cancelled = 0x91A, "SCI_ERR_CANCELLED", "What was waited for is gone.";
    NotConnected = 0x91B, "SCI_ERR_NOT_CONNECTED", "The interrupt is not connected.";
    NotAvailable = 0x91C, "SCI_ERR_NOT_AVAILABLE", "This is not available.";
    InconsistentVersions = 0x91D, "SCI_ERR_INCONSISTENT_VERSIONS", "The library and the headers or the other side do not fit together.";
    CondIntRaceProblem = 0x91E, "SCI_ERR_COND_INT_RACE_PROBLEM", "The conditional interrupt came while it was being enabled.";
    Overflow = 0x91F, "SCI_ERR_OVERFLOW", "A counter or queue has overflowed.";
    NotInitialized = 0x920, "SCI_ERR_NOT_INITIALIZED", "SCIInitialize has not been called.";
    Access = 0x921, "SCI_ERR_ACCESS", "Access is not permitted.";
    NotSupported = 0x922, "SCI_ERR_NOT_SUPPORTED", "This is not supported by software SCI.";
    Deprecated = 0x923, "SCI_ERR_DEPRECATED", "This function is no longer offered.";
    DmaNotAvailable = 0x924, "SCI_ERR_DMA_NOT_AVAILABLE", "There is no DMA engine of this kind.";
    DmaDisabled = 0x925, "SCI_ERR_DMA_DISABLED", "DMA is switched off.";
    NoSuchNodeId = 0xA00, "SCI_ERR_NO_SUCH_NODEID", "There is no node of this number.";
    NodeNotResponding = 0xA02, "SCI_ERR_NODE_NOT_RESPONDING", "The node does not answer.";
    NoRemoteLinkAccess = 0xA04, "SCI_ERR_NO_REMOTE_LINK_ACCESS", "The other node's link does not work.";
    NoLinkAccess = 0xA05, "SCI_ERR_NO_LINK_ACCESS", "This node's link does not work.";
    TransferFailed = 0xA06, "SCI_ERR_TRANSFER_FAILED", "The transfer has failed.";
    EwouldBlock = 0xA07, "SCI_ERR_EWOULD_BLOCK", "The call would have to wait.";
    SemaphoreCountExceeded = 0xA08, "SCI_ERR_SEMAPHORE_COUNT_EXCEEDED", "The semaphore's count is too large.";
    IrqlIllegal = 0xA09, "SCI_ERR_IRQL_ILLEGAL", "The call is not possible at this interrupt level.";
    RemoteBusy = 0xB00, "SCI_ERR_REMOTE_BUSY", "The other side is busy.";
    LocalBusy = 0xB01, "SCI_ERR_LOCAL_BUSY", "This side is busy.";
    AllBusy = 0xB02, "SCI_ERR_ALL_BUSY", "Both sides are busy.";
    NoSuchFdid = 0xB03, "SCI_ERR_NO_SUCH_FDID", "There is no device of this number.";
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

    #[test]
    fn names_are_those_of_the_header() {
        let header = include_str!("../include/sisci_error.h");
        let lines: Vec<(&str, u32)> = header
            .lines()
            .filter_map(|line| line.trim().strip_suffix(" | SCI_ERR_MASK,")?.split_once(" = 0x"))
            .map(|(name, number)| (name, u32::from_str_radix(number, 16).unwrap() | MASK))
            .filter(|&(name, _)| !matches!(name, "SCI_ERR_NO_SUCH_INTNO" | "SCI_ERR_INTNO_USED"))
            .collect();
        assert!(lines.len() > 40, "{lines:?}");
        for (name, code) in lines {
            assert_eq!(Error::name(code), Some(name));
        }
    }
}
