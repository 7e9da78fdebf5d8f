//! The channel between the launcher and the agent on each host: frames over two pipes, which are stdin and stdout of the command
//! that started the agent.
//!
//! A frame is the length of its body (four bytes, little-endian) and the body, which is a [`Frame`] as postcard writes it: the first
//! byte is the frame's place in the list of kinds. Only [`Frame::Hello`] has another form, which is that of every version:
//!
//! ```text
//! length of what follows the eight bytes u32 | 1 u32 | channel u32 | hand-off u32 | layout u64 | library: length u32, text |
//! host: length u32, text | cpus u32 | load u32      (little-endian; a later version may add to the end)
//! ```
//! Nothing that comes in is trusted: lengths, counts, kinds and ranges are checked, and
//! a frame that is not right ends the channel. Must not know: what is done about a frame.

mod pipes;
#[cfg(test)]
mod tests;

pub use pipes::Channel;

use super::header::{Half, Phase};
use super::tasks::{Answer, Program, Refusal, Request};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use std::ops::RangeInclusive;

/// Version of the channel: of its frames and their bodies. The agent's first frame holds it, in a form that stays, so that each version can
/// say which the other is.
pub const VERSION: u32 = 7;
/// The bytes in front of an agent's first frame. What a login shell prints before them is skipped.
pub const MAGIC: [u8; 8] = *b"\0GSCIAG\n";
/// Bytes of a frame's head.
pub const HEAD: usize = 4;
/// The longest body: the bulletins of 65,535 nodes, or an environment, fit.
pub const LONGEST: usize = 16 << 20;
/// Bytes of one piece of a stream.
pub const PIECE: usize = 32 << 10;
/// Bytes of a stream that may be under way without an answer ([`Frame::Taken`]).
pub const WINDOW: usize = 256 << 10;

/// How a node, or the process that was started for it, has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// Killed by this signal.
    Signal(#[serde(deserialize_with = "signal")] i32),
    /// With this exit status.
    Status(u8),
    /// The node behind a wrapper, which still runs.
    Inner,
}

/// The end of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Its rank.
    pub rank: u32,
    /// The process that ended.
    pub pid: i32,
    /// How far the node had come.
    pub phase: Phase,
    /// How it ended.
    pub how: How,
}

/// What an agent says of itself before it is told anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the channel.
    pub channel: u32,
    /// Version of the hand-off and of the job's memory.
    pub handoff: u32,
    /// Version of the layout of regions, and the kind of machine (`os::machine`).
    pub layout: u64,
    /// Version of the library.
    pub library: String,
    /// The name of its host.
    pub host: String,
    /// CPUs that it may use, in hundredths.
    pub cpus: u32,
    /// Processes that want to run there, and nodes of jobs that are placed there, in hundredths.
    pub load: u32,
}

/// What is behind the length of a HELLO. No other frame of that length begins so.
const IS_HELLO: [u8; 4] = 1u32.to_le_bytes();
/// The fewest bytes of a HELLO.
const HELLO: usize = 32;

impl Hello {
    fn encode(&self, out: &mut Vec<u8>) {
        let text = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
        let body = [
            &self.channel.to_le_bytes()[..],
            &self.handoff.to_le_bytes(),
            &self.layout.to_le_bytes(),
            &text(&self.library),
            &text(&self.host),
            &self.cpus.to_le_bytes(),
            &self.load.to_le_bytes(),
        ]
        .concat();
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&IS_HELLO);
        out.extend_from_slice(&body);
    }

    fn decode(body: &[u8]) -> Option<Hello> {
        let (channel, rest) = body.split_first_chunk()?;
        let (handoff, rest) = rest.split_first_chunk()?;
        let (layout, rest) = rest.split_first_chunk()?;
        let (library, rest) = text(rest)?;
        let (host, rest) = text(rest)?;
        let (cpus, rest) = rest.split_first_chunk()?;
        let (load, _) = rest.split_first_chunk()?;
        let [channel, handoff, cpus, load] = [channel, handoff, cpus, load].map(|four| u32::from_le_bytes(*four));
        Some(Hello { channel, handoff, layout: u64::from_le_bytes(*layout), library, host, cpus, load })
    }
}

/// A length and so many bytes as text, and what follows.
fn text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    Some((String::from_utf8_lossy(text).into_owned(), rest))
}

/// What launcher and agents say to each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Frame {
    /// Agent: the first frame.
    Hello(Hello),
    /// Launcher: the job. The launcher's program defines the body.
    Start(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Agent: it cannot do what it was told, or a node's program cannot be executed. Status and line for the user.
    Failed(u8, String),
    /// Agent: its nodes wait for this generation of the fence. What each put.
    Bulletin(u32, Vec<(u32, Half)>),
    /// Launcher: all nodes have arrived. What each put, by rank.
    Release(u32, Vec<Half>),
    /// Launcher: bytes for stdin of the node that has it; none: it has ended.
    Input(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Agent: bytes that a node printed (rank, stream 0 or 1); none: the stream has ended.
    Output(u32, #[serde(deserialize_with = "stream")] u8, #[serde(with = "serde_bytes")] Vec<u8>),
    /// So many bytes of streams have been taken.
    Taken(u32),
    /// Launcher: pass this signal on to the nodes. Agent: it has got this signal.
    Signal(#[serde(deserialize_with = "signal")] i32),
    /// Launcher: stop (true) or continue all that runs for the nodes.
    Pause(bool),
    /// Agent: a node has come so far.
    Phase(u32, Phase),
    /// Agent: a node has ended; the exit code that the job has on that host, if any.
    Ended(End, Option<u8>),
    /// Launcher: ask the nodes to end. The job's exit code, if it has one.
    Ask(Option<u8>),
    /// Launcher: kill the nodes.
    Kill,
    /// Both, each second: I am here.
    Beat,
    /// Agent: a line for the user.
    Line(String),
    /// Launcher: read no more of a node's stream (rank, stream) for now (true), or go on.
    Hold(u32, #[serde(deserialize_with = "stream")] u8, bool),
    /// Launcher: its stdout (0) or stderr (1) has been closed.
    Shut(#[serde(deserialize_with = "stream")] u8),
    /// Agent: the last frame. All nodes have ended, nothing is left. The exit code that the job has on that host, if any.
    Done(Option<u8>),
    /// Agent, while it has no nodes: its load now, as in [`Hello`].
    Load(u32),
    /// Launcher: be a branch, which reaches other hosts for it. The launcher counts as lost after so many milliseconds of silence.
    Branch(u32),
    /// Launcher, to a branch: start the agent of this host by a command of these words.
    Reach(u32, Vec<Vec<u8>>),
    /// Launcher and branch: bytes of the channel of this host's agent.
    Through(u32, #[serde(with = "serde_bytes")] Vec<u8>),
    /// Branch: the command for this host printed this on stderr.
    Said(u32, #[serde(with = "serde_bytes")] Vec<u8>),
    /// Branch: the command for this host has ended, and how. Launcher: end it.
    Gone(u32, String),
    /// Agent, when its nodes have ended: bytes of a node's part of the traffic matrix; none: that was all of it.
    Part(u32, #[serde(with = "serde_bytes")] Vec<u8>),
    /// Agent: a guest of its desk asks for this.
    Request(u64, Request),
    /// Launcher: the answer to this guest.
    Answer(u64, Answer),
    /// Launcher: start so many tasks, whose numbers begin with this one.
    Run(u32, u32, Program),
    /// Agent: the tasks that begin with this number run, or why none does. Their streams are those of ranks behind the nodes'.
    Ran(u32, Option<Refusal>),
    /// Agent: a task has ended, with this status of waitpid(2).
    Finished(u32, i32),
    /// Agent: a guest of its desk has gone, and has read its answer, or has not.
    Left(u64, bool),
}

impl Frame {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Frame::Hello(hello) = self {
            return hello.encode(out);
        }
        // Every value has an encoding: there are no maps, and no sequences of unknown length.
        let body = postcard::to_stdvec(self).unwrap_or_default();
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&body);
    }

    /// Reads the first frame of `bytes`: the frame, and how many bytes it takes. `Ok(None)`: there are not enough bytes yet.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Frame, usize)>, String> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
        let len = u32::from_le_bytes(*head) as usize;
        if len == 0 || len > LONGEST {
            return Err(format!("it is no frame ({:02x?})", &bytes[..bytes.len().min(8)]));
        }
        if len >= HELLO && rest.starts_with(&IS_HELLO) {
            let Some(body) = rest[IS_HELLO.len()..].get(..len) else { return Ok(None) };
            let hello = Hello::decode(body).ok_or("its greeting makes no sense")?;
            return Ok(Some((Frame::Hello(hello), HEAD + IS_HELLO.len() + len)));
        }
        let Some(body) = rest.get(..len) else { return Ok(None) };
        match read(body) {
            Some(frame) if !matches!(frame, Frame::Hello(_)) => Ok(Some((frame, HEAD + len))),
            _ => Err(format!("its frame of kind {} with {len} bytes makes no sense", body[0])),
        }
    }
}

/// Reads a value of all of `bytes`. `None`: they are none, or more than one.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(value)
}

// A number of a frame, if it is one of `range`.
fn within<'a, T, D>(from: D, range: RangeInclusive<T>) -> Result<T, D::Error>
where
    T: Deserialize<'a> + PartialOrd,
    D: Deserializer<'a>,
{
    let number = T::deserialize(from)?;
    range.contains(&number).then_some(number).ok_or_else(|| Error::custom("a number is out of its range"))
}

fn signal<'a, D: Deserializer<'a>>(from: D) -> Result<i32, D::Error> {
    within(from, 1..=64)
}

fn stream<'a, D: Deserializer<'a>>(from: D) -> Result<u8, D::Error> {
    within(from, 0..=1)
}
