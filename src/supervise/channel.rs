//! The channel between the launcher and the agent on each host: frames over two pipes, which are stdin and stdout of the command
//! that started the agent.
//!
//! A frame is a head of 8 bytes and a body: length of the body (u32), kind (u8), three zero bytes. All numbers are little-endian.
//! Nothing that comes in is trusted: lengths, counts and kinds are checked, and a frame that is not right ends the channel. Must not
//! know: what is done about a frame.

mod pipes;
#[cfg(test)]
mod tests;

pub use pipes::Channel;

use super::header::{HALF, Half, Phase};

/// Version of the channel: of its frames and their bodies. The agent's first frame holds it.
pub const VERSION: u32 = 4;
/// The bytes in front of an agent's first frame. What a login shell prints before them is skipped.
pub const MAGIC: [u8; 8] = *b"\0GSCIAG\n";
/// Bytes of a frame's head.
pub const HEAD: usize = 8;
/// The longest body: the bulletins of 65,535 nodes, or an environment, fit.
pub const LONGEST: usize = 16 << 20;
/// Bytes of one piece of a stream.
pub const PIECE: usize = 32 << 10;
/// Bytes of a stream that may be under way without an answer ([`Frame::Taken`]).
pub const WINDOW: usize = 256 << 10;

/// How a node, or the process that was started for it, has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Killed by this signal.
    Signal(i32),
    /// With this exit status.
    Status(u8),
    /// The node behind a wrapper, which still runs.
    Inner,
}

/// The end of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq)]
pub struct Hello {
    /// Version of the channel.
    pub channel: u32,
    /// Version of the hand-off and of the job's memory.
    pub handoff: u32,
    /// Version of the layout of regions.
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

/// What launcher and agents say to each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// Agent: the first frame.
    Hello(Hello),
    /// Launcher: the job. The launcher's program defines the body.
    Start(Vec<u8>),
    /// Agent: it cannot do what it was told, or a node's program cannot be executed. Status and line for the user.
    Failed(u8, String),
    /// Agent: its nodes wait for this generation of the fence. What each put.
    Bulletin(u32, Vec<(u32, Half)>),
    /// Launcher: all nodes have arrived. What each put, by rank.
    Release(u32, Vec<Half>),
    /// Launcher: bytes for stdin of the node that has it; none: it has ended.
    Input(Vec<u8>),
    /// Agent: bytes that a node printed (rank, stream 0 or 1); none: the stream has ended.
    Output(u32, u8, Vec<u8>),
    /// So many bytes of streams have been taken.
    Taken(u32),
    /// Launcher: pass this signal on to the nodes. Agent: it has got this signal.
    Signal(i32),
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
    Hold(u32, u8, bool),
    /// Launcher: its stdout (0) or stderr (1) has been closed.
    Shut(u8),
    /// Agent: the last frame. All nodes have ended, nothing is left. The exit code that the job has on that host, if any.
    Done(Option<u8>),
    /// Agent, while it has no nodes: its load now, as in [`Hello`].
    Load(u32),
    /// Launcher: be a branch, which reaches other hosts for it. The launcher counts as lost after so many milliseconds of silence.
    Branch(u32),
    /// Launcher, to a branch: start the agent of this host by a command of these words.
    Reach(u32, Vec<Vec<u8>>),
    /// Launcher and branch: bytes of the channel of this host's agent.
    Through(u32, Vec<u8>),
    /// Branch: the command for this host printed this on stderr.
    Said(u32, Vec<u8>),
    /// Branch: the command for this host has ended, and how. Launcher: end it.
    Gone(u32, String),
    /// Agent, when its nodes have ended: bytes of a node's part of the traffic matrix; none: that was all of it.
    Part(u32, Vec<u8>),
}

/// Writes the body of a frame.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// One byte.
    pub fn byte(&mut self, value: u8) {
        self.0.push(value);
    }
    /// Four bytes.
    pub fn word(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    /// Eight bytes.
    pub fn long(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    /// A length, and so many bytes.
    pub fn bytes(&mut self, value: &[u8]) {
        self.word(value.len() as u32);
        self.0.extend_from_slice(value);
    }
    // Nothing, or a byte.
    fn code(&mut self, value: Option<u8>) {
        self.byte(u8::from(value.is_some()));
        self.byte(value.unwrap_or(0));
    }
    fn half(&mut self, half: &Half) {
        half.iter().for_each(|word| self.long(*word));
    }
}

/// Reads the body of a frame. `None`: it is too short, or a value makes no sense.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }
    /// One byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }
    /// Four bytes.
    pub fn word(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }
    /// Eight bytes.
    pub fn long(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
    /// A length, and so many bytes.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.word()?;
        self.take(len as usize)
    }
    /// The same as text. What is not UTF-8 is replaced.
    pub fn text(&mut self) -> Option<String> {
        self.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
    /// True or false.
    pub fn flag(&mut self) -> Option<bool> {
        self.byte().filter(|byte| *byte < 2).map(|byte| byte == 1)
    }
    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
    fn code(&mut self) -> Option<Option<u8>> {
        let (is, value) = (self.flag()?, self.byte()?);
        Some(is.then_some(value))
    }
    fn signal(&mut self) -> Option<i32> {
        self.word().filter(|signal| (1..=64).contains(signal)).map(|signal| signal as i32)
    }
    fn stream(&mut self) -> Option<u8> {
        self.byte().filter(|stream| *stream < 2)
    }
    fn phase(&mut self) -> Option<Phase> {
        self.byte().filter(|phase| *phase <= Phase::Exiting as u8).map(|phase| Phase::from_word(phase.into()))
    }
    fn half(&mut self) -> Option<Half> {
        let mut half = [0; HALF];
        for word in &mut half {
            *word = self.long()?;
        }
        Some(half)
    }
    // As many of them as the body has bytes for.
    fn all<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut all = Vec::new();
        while !self.0.is_empty() {
            all.push(one(self)?);
        }
        Some(all)
    }
}

impl Frame {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = Writer::default();
        let kind = self.write(&mut body);
        out.extend_from_slice(&(body.0.len() as u32).to_le_bytes());
        out.extend_from_slice(&[kind, 0, 0, 0]);
        out.extend_from_slice(&body.0);
    }

    #[expect(clippy::too_many_lines, reason = "one row for each frame")]
    fn write(&self, w: &mut Writer) -> u8 {
        match self {
            Frame::Hello(hello) => {
                w.word(hello.channel);
                w.word(hello.handoff);
                w.long(hello.layout);
                w.bytes(hello.library.as_bytes());
                w.bytes(hello.host.as_bytes());
                w.word(hello.cpus);
                w.word(hello.load);
                1
            }
            Frame::Start(body) => {
                w.0.extend_from_slice(body);
                2
            }
            Frame::Failed(status, line) => {
                w.byte(*status);
                w.bytes(line.as_bytes());
                3
            }
            Frame::Bulletin(generation, halves) => {
                w.word(*generation);
                halves.iter().for_each(|(rank, half)| {
                    w.word(*rank);
                    w.half(half);
                });
                4
            }
            Frame::Release(generation, halves) => {
                w.word(*generation);
                halves.iter().for_each(|half| w.half(half));
                5
            }
            Frame::Input(bytes) => {
                w.0.extend_from_slice(bytes);
                6
            }
            Frame::Output(rank, stream, bytes) => {
                w.word(*rank);
                w.byte(*stream);
                w.0.extend_from_slice(bytes);
                7
            }
            Frame::Taken(count) => {
                w.word(*count);
                8
            }
            Frame::Signal(signal) => {
                w.word(*signal as u32);
                9
            }
            Frame::Pause(pause) => {
                w.byte(u8::from(*pause));
                10
            }
            Frame::Phase(rank, phase) => {
                w.word(*rank);
                w.byte(*phase as u8);
                11
            }
            Frame::Ended(end, code) => {
                w.word(end.rank);
                w.word(end.pid as u32);
                w.byte(end.phase as u8);
                let (how, value) = match end.how {
                    How::Signal(signal) => (0, signal as u32),
                    How::Status(status) => (1, status.into()),
                    How::Inner => (2, 0),
                };
                w.byte(how);
                w.word(value);
                w.code(*code);
                12
            }
            Frame::Ask(code) => {
                w.code(*code);
                13
            }
            Frame::Kill => 14,
            Frame::Beat => 15,
            Frame::Line(line) => {
                w.bytes(line.as_bytes());
                16
            }
            Frame::Done(code) => {
                w.code(*code);
                17
            }
            Frame::Shut(stream) => {
                w.byte(*stream);
                18
            }
            Frame::Load(load) => {
                w.word(*load);
                19
            }
            Frame::Branch(silence) => {
                w.word(*silence);
                20
            }
            Frame::Reach(host, words) => {
                w.word(*host);
                words.iter().for_each(|word| w.bytes(word));
                21
            }
            Frame::Through(host, bytes) => {
                w.word(*host);
                w.0.extend_from_slice(bytes);
                22
            }
            Frame::Said(host, bytes) => {
                w.word(*host);
                w.0.extend_from_slice(bytes);
                23
            }
            Frame::Gone(host, how) => {
                w.word(*host);
                w.bytes(how.as_bytes());
                24
            }
            Frame::Part(rank, bytes) => {
                w.word(*rank);
                w.0.extend_from_slice(bytes);
                25
            }
            Frame::Hold(rank, stream, hold) => {
                w.word(*rank);
                w.byte(*stream);
                w.byte(u8::from(*hold));
                26
            }
        }
    }

    /// Reads the first frame of `bytes`: the frame, and how many bytes it takes. `Ok(None)`: there are not enough bytes yet.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Frame, usize)>, String> {
        let mut head = Reader(bytes);
        let (Some(len), Some(kind), Some(zeros)) = (head.word(), head.byte(), head.take(3)) else { return Ok(None) };
        let len = len as usize;
        if len > LONGEST || zeros != [0; 3] {
            return Err(format!("it is no frame ({:02x?})", &bytes[..HEAD]));
        }
        let Some(body) = head.take(len) else { return Ok(None) };
        match Frame::read(kind, Reader(body)) {
            Some(frame) => Ok(Some((frame, HEAD + len))),
            None => Err(format!("its frame of kind {kind} with {len} bytes makes no sense")),
        }
    }

    fn read(kind: u8, mut r: Reader<'_>) -> Option<Frame> {
        let frame = match kind {
            1 => Frame::Hello(Hello {
                channel: r.word()?,
                handoff: r.word()?,
                layout: r.long()?,
                library: r.text()?,
                host: r.text()?,
                cpus: r.word()?,
                load: r.word()?,
            }),
            2 => Frame::Start(r.rest().into()),
            3 => Frame::Failed(r.byte()?, r.text()?),
            4 => Frame::Bulletin(r.word()?, r.all(|r| Some((r.word()?, r.half()?)))?),
            5 => Frame::Release(r.word()?, r.all(Reader::half)?),
            6 => Frame::Input(r.rest().into()),
            7 => Frame::Output(r.word()?, r.stream()?, r.rest().into()),
            8 => Frame::Taken(r.word()?),
            9 => Frame::Signal(r.signal()?),
            10 => Frame::Pause(r.flag()?),
            11 => Frame::Phase(r.word()?, r.phase()?),
            12 => {
                let (rank, pid, phase) = (r.word()?, r.word()? as i32, r.phase()?);
                let how = match (r.byte()?, r.word()?) {
                    (0, signal @ 1..=64) => How::Signal(signal as i32),
                    (1, status @ 0..=255) => How::Status(status as u8),
                    (2, 0) => How::Inner,
                    _ => return None,
                };
                Frame::Ended(End { rank, pid, phase, how }, r.code()?)
            }
            13 => Frame::Ask(r.code()?),
            14 => Frame::Kill,
            15 => Frame::Beat,
            16 => Frame::Line(r.text()?),
            17 => Frame::Done(r.code()?),
            18 => Frame::Shut(r.stream()?),
            19 => Frame::Load(r.word()?),
            20 => Frame::Branch(r.word()?),
            21 => Frame::Reach(r.word()?, r.all(|r| r.bytes().map(Vec::from))?),
            22 => Frame::Through(r.word()?, r.rest().into()),
            23 => Frame::Said(r.word()?, r.rest().into()),
            24 => Frame::Gone(r.word()?, r.text()?),
            25 => Frame::Part(r.word()?, r.rest().into()),
            26 => Frame::Hold(r.word()?, r.stream()?, r.flag()?),
            _ => return None,
        };
        r.0.is_empty().then_some(frame)
    }
}
