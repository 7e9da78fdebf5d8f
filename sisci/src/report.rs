//! What an owner tells of a resource to a process that only asks (`gasnet-sci sisci`), as JSON.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A resource as its owner sees it. What a resource has not is 0.
///
/// A field that is added, here or in `Peer`, needs `#[serde(default)]`: an owner with an older library does not say it, and without that would be listed as one
/// that does not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The process that answered.
    pub process: u32,
    /// Seconds from 1970 to when it was made.
    pub since: u64,
    /// Bytes of a segment.
    pub size: u64,
    /// The flags of its making.
    pub flags: u32,
    /// Of a segment: peers may connect.
    pub is_available: bool,
    /// Of a segment: other processes that own it as well.
    pub others: u32,
    /// Of an interrupt: it has a callback.
    pub has_callback: bool,
    /// Of an interrupt: triggers that nobody took.
    pub waiting: u32,
    /// Who is connected.
    pub peers: Vec<Peer>,
}

/// A connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The node that has connected.
    pub node: u32,
    /// The process that did; 0 on another host.
    pub process: u32,
    /// Seconds from 1970 to when it did.
    pub since: u64,
    /// It is on another host.
    pub is_far: bool,
}

/// Seconds from 1970 to a time.
pub fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

impl Report {
    /// What this process says of something that it made at `since`.
    pub fn own(since: SystemTime) -> Report {
        Report { process: std::process::id(), since: seconds(since), ..Report::default() }
    }

    /// The text.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() // numbers and lists of them: that does not fail
    }

    /// What a text says.
    pub fn parse(text: &str) -> Option<Report> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_as_it_went() {
        let peer = Peer { node: 8, process: 12, since: 1_796_000_000, is_far: false };
        let report = Report {
            process: 11,
            since: 1_796_000_001,
            size: 1 << 40,
            flags: 0x2000_0000,
            is_available: true,
            others: 2,
            has_callback: true,
            waiting: 3,
            peers: vec![peer.clone(), Peer { node: 12, is_far: true, ..peer }],
        };
        assert_eq!(Report::parse(&report.text()), Some(report));
        assert_eq!(Report::parse(&Report::default().text()), Some(Report::default()));
        for text in ["", "{}", "[]", "{\"process\": 1}", "\n\n"] {
            assert_eq!(Report::parse(text), None, "{text}");
        }
    }
}
