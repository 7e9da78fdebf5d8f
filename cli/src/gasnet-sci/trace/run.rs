//! A run: what the nodes of a job did, as their traces tell it.
//!
//! Must not know: what a trace looks like.

use super::kinds::{Kind, Kinds};

/// No event, node or handler.
pub const NONE: u32 = u32::MAX;

/// Something that a node did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When it began: nanoseconds, in a finished run since the run began.
    pub begin: u64,
    /// How long it took; 0 of what has no duration.
    pub ns: u64,
    pub bytes: u64,
    /// With whom, or [`NONE`].
    pub peer: u32,
    /// Place of its kind in [`Run::kinds`].
    pub kind: u16,
    /// The handler of a message; 0 if it is not known.
    pub handler: u8,
    /// Which numbers its line has: of [`HAS_BYTES`], [`HAS_TIME`].
    pub has: u8,
}

pub const HAS_BYTES: u8 = 1;
pub const HAS_TIME: u8 = 2;

impl Event {
    pub fn end(&self) -> u64 {
        self.begin.saturating_add(self.ns)
    }
}

/// A text in a trace: of the client's, or about the job.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub when: u64,
    pub letter: char,
    pub text: String,
}

/// A node of the run.
#[derive(Debug, Default)]
pub struct Node {
    pub rank: u32,
    /// Its host, and that host's clock when the node's was 0; unknown of traces without a head.
    pub host: Option<(String, u64)>,
    /// In the order of their begin.
    pub events: Vec<Event>,
    pub notes: Vec<Note>,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Run {
    /// In the order of their ranks. Everything else names nodes by their place here.
    pub nodes: Vec<Node>,
    pub kinds: Kinds,
    /// Number of nodes of the job, if a trace says so.
    pub job: Option<u32>,
    /// Lines that were read, and lines that could not be used.
    pub lines: u64,
    pub faults: u64,
}

impl Run {
    /// The place of the node with this rank.
    pub fn place(&self, rank: u32) -> Option<usize> {
        self.nodes.binary_search_by_key(&rank, |node| node.rank).ok()
    }

    pub fn kind(&self, event: &Event) -> &Kind {
        &self.kinds[event.kind]
    }

    pub fn count(&self) -> usize {
        self.nodes.iter().map(|node| node.events.len()).sum()
    }

    /// When the last event ended.
    pub fn end(&self) -> u64 {
        self.nodes.iter().flat_map(|node| &node.events).map(Event::end).max().unwrap_or(0)
    }
}
