//! What an owner tells of a resource to who only asks (`gasnet-sci sisci`), as a text: a line of `name=value` words, and one for each connection.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// A resource as its owner sees it. What a resource has not is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// The node that has connected.
    pub node: u32,
    /// The process that did.
    pub process: u32,
    /// Seconds from 1970 to when it did.
    pub since: u64,
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
        let Report { process, since, size, flags, others, waiting, .. } = self;
        let (is_available, has_callback) = (u8::from(self.is_available), u8::from(self.has_callback));
        let mut text = format!(
            "process={process} since={since} size={size} flags={flags} available={is_available} others={others} callback={has_callback} \
             waiting={waiting}\n"
        );
        for Peer { node, process, since } in &self.peers {
            let _ = writeln!(text, "node={node} process={process} since={since}");
        }
        text
    }

    /// What a text says.
    pub fn parse(text: &str) -> Option<Report> {
        let mut lines = text.lines();
        let line = lines.next()?;
        let peer = |line| {
            Some(Peer { node: word(line, "node")?, process: word(line, "process")?, since: word(line, "since")? })
        };
        Some(Report {
            process: word(line, "process")?,
            since: word(line, "since")?,
            size: word(line, "size")?,
            flags: word(line, "flags")?,
            is_available: word::<u8>(line, "available")? != 0,
            others: word(line, "others")?,
            has_callback: word::<u8>(line, "callback")? != 0,
            waiting: word(line, "waiting")?,
            peers: lines.map(peer).collect::<Option<_>>()?,
        })
    }
}

/// The number that stands behind a name.
fn word<T: std::str::FromStr>(line: &str, name: &str) -> Option<T> {
    line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_as_it_went() {
        let peer = Peer { node: 8, process: 12, since: 1_796_000_000 };
        let report = Report {
            process: 11,
            since: 1_796_000_001,
            size: 1 << 40,
            flags: 0x2000_0000,
            is_available: true,
            others: 2,
            has_callback: true,
            waiting: 3,
            peers: vec![peer.clone(), Peer { node: 12, ..peer }],
        };
        assert_eq!(Report::parse(&report.text()), Some(report));
        assert_eq!(Report::parse(&Report::default().text()), Some(Report::default()));
        for text in
            ["", "process=1", "process=x since=1 size=1 flags=0 available=0 others=0 callback=0 waiting=0", "\n\n"]
        {
            assert_eq!(Report::parse(text), None, "{text}");
        }
    }
}
