//! What the verbs of all engines take beside addresses and bytes: the target, what the caller allows, and when the caller uses
//! its own memory again.
//!
//! The shape is GASNet-EX's (its verbs take a target, flags and a completion). A GASNet-1 call is the same verb with endpoint 0 and no flags.
//!
//! Must not know: engines, handles, where the numbers came from.

#![forbid(unsafe_code)]

/// Index of an endpoint within its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint(pub u32);

impl Endpoint {
    /// The endpoint that every process has.
    pub const FIRST: Endpoint = Endpoint(0);
}

/// Number of a process in the job, from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank(pub u32);

/// The endpoint that a verb is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Index of the endpoint in its process.
    pub endpoint: Endpoint,
    /// The process.
    pub rank: Rank,
}

impl Target {
    /// The first endpoint of process `rank`, which is all that GASNet-1 can name.
    #[inline(always)]
    pub const fn node(rank: u32) -> Target {
        Target { endpoint: Endpoint::FIRST, rank: Rank(rank) }
    }

    /// The process' number. Engines have one endpoint per process so far; the API layer has refused any other.
    #[inline(always)]
    pub fn rank(self) -> u32 {
        debug_assert_eq!(self.endpoint, Endpoint::FIRST);
        self.rank.0
    }
}

/// What the caller wishes or promises, as a set of bits with the numbers of GASNet-EX.
///
/// An engine may ignore a flag; the contract allows that for each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    /// None.
    pub const NONE: Flags = Flags(0);
    /// If there is no room, do nothing and report that, instead of waiting (`GEX_FLAG_IMMEDIATE`).
    pub const IMMEDIATE: Flags = Flags(1);

    /// A message is for the thread of the peer that waits for `what` (1 to [`Flags::WHATS`]). If it sleeps in a
    /// [berth](crate::sci::Interrupt::take_berth), it alone is woken. The library's own: clients' flags never have it.
    #[inline(always)]
    pub const fn for_waiter(self, what: u32) -> Flags {
        debug_assert!(what <= Self::WHATS);
        Flags(self.0 | what << WHAT_SHIFT)
    }

    /// What [`Flags::for_waiter`] was told; else 0.
    #[inline(always)]
    pub const fn what(self) -> u32 {
        self.0 >> WHAT_SHIFT
    }

    /// The largest number for [`Flags::for_waiter`].
    pub const WHATS: u32 = u32::MAX >> WHAT_SHIFT;

    /// Are all bits of `flags` set?
    #[inline(always)]
    pub const fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

const WHAT_SHIFT: u32 = 8;

/// When the caller may change the source of a put, or wants the bytes of a get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    /// At the verb's return, after which the verb needs nothing of the source. Of a get: the caller waits for the bytes at
    /// once.
    AtReturn,
    /// When the operation is locally complete, which its caller will ask for. Until then the caller leaves the memory alone, as with
    /// [`Local::Later`]. For puts.
    WhenAsked,
    /// When the operation completes. The caller leaves the memory alone until then, so another thread may move the bytes.
    Later,
}

/// What became of a transfer that a verb was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Begun {
    /// All bytes are in place, and nothing was counted.
    Complete,
    /// The operation that counts it says when it is complete; that may be so already.
    InFlight,
    /// There was no room, and the caller did not want to wait ([`Flags::IMMEDIATE`]): nothing was done.
    Refused,
}
