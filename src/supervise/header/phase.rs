//! How far a node has come.
//!
//! Must not know: where its number is kept.

/// How far a node has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[repr(u32)]
pub enum Phase {
    /// Not in `gasnet_init` yet. Some programs never get there.
    Unborn = 0,
    /// In `gasnet_init`.
    Joining = 1,
    /// Between init and attach.
    Inited = 2,
    /// After attach.
    Attached = 3,
    /// In `gasnet_exit`, or returning from `main`; the exit code is recorded.
    Exiting = 4,
    /// It ends with a line that says why the job ends; the exit code is recorded.
    Failed = 5,
}

impl Phase {
    pub(in crate::supervise) fn from_word(word: u32) -> Phase {
        let known = [Phase::Unborn, Phase::Joining, Phase::Inited, Phase::Attached, Phase::Exiting];
        known.get(word as usize).copied().unwrap_or(Phase::Failed)
    }
}
