//! What the library asks of the program that started the job: the trait [`Bootstrap`], and its keys and errors.
//!
//! The trait asks only for what implementations over several hosts can give too:
//!
//! 1. Values are small, and are bytes under names. A process manager (PMIx) stores just that; an agent sends it in
//!    one frame.
//! 2. Only [`Bootstrap::fence`] waits for other nodes, so an implementation has to communicate nowhere else. It sends
//!    what was put since the last fence, and returns with what all nodes have put. A get never waits.
//! 3. Values live for one round, from one fence to the next. So the memory for them is bounded, and a name may be
//!    used again. That holds over PMIx too, where a name can be put once: the implementation appends the number of
//!    the round.
//! 4. Of a node's end only [`Bootstrap::abort`] goes through here. How far a node has come, and its exit code,
//!    concern the supervisor on its own host.
//!
//! Must not know: its implementations, and what the values mean.

use crate::base::error::Error;
use crate::supervise::header::HALF;
use std::fmt;

/// One node's side of its job's start-up exchange.
///
/// One thread of the node at a time calls `put` and `fence`.
pub trait Bootstrap: Send + Sync {
    /// This node's rank, below [`Bootstrap::size`].
    fn rank(&self) -> u32;

    /// Number of nodes of the job.
    fn size(&self) -> u32;

    /// Publishes `value` under `key` to all nodes. They can get it from the next fence until the fence after that. If
    /// two values have one key in one round, the later one counts.
    ///
    /// # Errors
    /// [`BootError::Full`]: in one round a node has [`LIMIT`] bytes. Each value takes its own length rounded up to 8,
    /// and 8 more. What was put before stays.
    fn put(&self, key: Key, value: &[u8]) -> Result<(), BootError>;

    /// Reads into `value` what node `rank` put under `key` before the last fence. Does not wait.
    ///
    /// # Errors
    /// [`BootError::Missing`]: there is no such value. [`BootError::Length`]: it has another length than `value`. In
    /// both cases `value` is unchanged.
    fn get(&self, rank: u32, key: Key, value: &mut [u8]) -> Result<(), BootError>;

    /// Waits until all nodes have called.
    ///
    /// # Errors
    /// [`BootError::Lost`]: some node will never call. If a supervisor ends the waiting nodes in that case, this does
    /// not return.
    fn fence(&self) -> Result<(), BootError>;

    /// Ends this node at once, and with it the job. The job's status becomes `code`, unless a node has already left
    /// with one other than 0. Flushes nothing. Async-signal-safe.
    fn abort(&self, code: u8) -> !;
}

/// Bytes that a node may put in one round, keys included; see [`Bootstrap::put`].
pub const LIMIT: usize = 8 * (HALF - 1);

/// The name of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub(super) [u8; 7]);

impl Key {
    /// The key of this name: 1 to 7 ASCII characters.
    pub const fn new(name: &str) -> Key {
        let name = name.as_bytes();
        assert!(!name.is_empty() && name.len() <= 7 && name.is_ascii());
        let mut key = [0; 7];
        let mut at = 0;
        while at < name.len() {
            key[at] = name[at];
            at += 1;
        }
        Key(key)
    }

    /// The name's bytes, with zeros behind them.
    pub(super) fn bytes(&self) -> [u8; 7] {
        self.0
    }

    /// The key's name.
    pub fn name(&self) -> &str {
        let len = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..len]).unwrap_or_default() // `new` checked that it is ASCII
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why the exchange failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootError {
    /// A node has put more than [`LIMIT`] in one round.
    Full {
        /// The key of the value that did not fit.
        key: Key,
        /// Length of that value in bytes.
        len: usize,
    },
    /// A node has put nothing under this key before the last fence.
    Missing {
        /// The node.
        rank: u32,
        /// The key.
        key: Key,
    },
    /// The value that a node has put under this key has another length.
    Length {
        /// The node.
        rank: u32,
        /// The key.
        key: Key,
        /// Its length in bytes.
        is: usize,
        /// The length that was asked for, in bytes.
        wanted: usize,
    },
    /// The reason why the job cannot continue.
    Lost(String),
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BootError::Full { key, len } => {
                write!(
                    f,
                    "start-up exchange: {len} bytes of '{key:?}' are more than the {LIMIT} of a round have room for"
                )
            }
            BootError::Missing { rank, key } => write!(f, "start-up exchange: node {rank} has put no '{key:?}'"),
            BootError::Length { rank, key, is, wanted } => {
                write!(f, "start-up exchange: '{key:?}' of node {rank} has {is} bytes instead of {wanted}")
            }
            BootError::Lost(reason) => write!(f, "start-up exchange: {reason}"),
        }
    }
}

impl From<BootError> for Error {
    #[cold]
    fn from(error: BootError) -> Error {
        Error::resource(error)
    }
}

/// Puts words with [`Bootstrap::put`].
///
/// # Errors
/// Those of [`Bootstrap::put`].
pub fn put_words<const N: usize>(boot: &dyn Bootstrap, key: Key, words: &[u64; N]) -> Result<(), BootError> {
    boot.put(key, words.map(u64::to_le_bytes).as_flattened())
}

/// Reads words with [`Bootstrap::get`], as many as were put.
///
/// # Errors
/// Those of [`Bootstrap::get`].
pub fn get_words<const N: usize>(boot: &dyn Bootstrap, rank: u32, key: Key) -> Result<[u64; N], BootError> {
    let mut bytes = [[0; 8]; N];
    boot.get(rank, key, bytes.as_flattened_mut())?;
    Ok(bytes.map(u64::from_le_bytes))
}
