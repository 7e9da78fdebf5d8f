//! Kinds of waits: what the client chose, how long a sleep may be, how thorough a poll is.
//!
//! Must not know: how a node waits.

use crate::sci::Effort;

/// `gasnet_set_waitmode`, and the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// Never give up the CPU.
    Spin = 0,
    /// Give it up at once.
    Block = 1,
    /// Spin a while, then give it up.
    SpinBlock = 2,
}

impl Mode {
    /// The mode that a client's number names.
    pub fn from_number(number: i32) -> Option<Mode> {
        match number {
            0 => Some(Mode::Spin),
            1 => Some(Mode::Block),
            2 => Some(Mode::SpinBlock),
            _ => None,
        }
    }
}

/// The longest sleep, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Rest {
    /// Something may bring about what is waited for and wake nobody.
    Short = 1_000,
    /// Whoever brings it about wakes this node. A node of which 16 threads wait for messages takes 0.3 %
    /// of a core instead of 3.8 %, also because the other threads sleep longer (2026-11, Xeon VM).
    Long = 50_000,
}

/// How thorough a poll is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// One poll of many: the next ones find what it misses.
    Glance,
    /// As `Glance`, by a wait that spins.
    Spin,
    /// A poll after which the core is given away: it misses no message that is there.
    Whole,
    /// The last poll before a sleep, after arming: as `Whole`, and it checks what is waited for.
    Last,
}

impl Look {
    /// True if the poll may leave messages to the next ones.
    #[inline(always)]
    pub fn is_light(self) -> bool {
        matches!(self, Look::Glance | Look::Spin)
    }

    /// What a poll that has found nothing yet wants of the adapter.
    #[inline(always)]
    pub fn effort(self) -> Effort {
        match self {
            Look::Glance => Effort::Glance,
            Look::Spin => Effort::Spin,
            Look::Whole | Look::Last => Effort::Thorough,
        }
    }
}
