//! Reads traces into a run. A line that cannot be used is told, and passed over.

use super::kinds::MANY;
use super::line::{self, Fault, Line, What};
use super::run::{Event, HAS_BYTES, HAS_TIME, NONE, Node, Note, Run};
use gasnet_sci_place::progress::Progress;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Progress is told after so many bytes.
const STEP: u64 = 1 << 20;

/// So many lines that cannot be used are told one by one, over all files.
const TOLD: u64 = 20;

/// A run that is being read.
#[derive(Default)]
pub struct Reader {
    run: Run,
    nodes: BTreeMap<u32, Node>,
}

impl Reader {
    /// Reads one file more. `progress` gets the bytes that were read, `tell` a line for each line that cannot be used.
    ///
    /// # Errors
    /// The file cannot be read. The message names it.
    pub fn file(&mut self, path: &Path, progress: &Progress, tell: &mut dyn FnMut(String)) -> io::Result<()> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut file = BufReader::with_capacity(1 << 18, File::open(path).map_err(named)?);
        let (mut bytes, mut number, mut read) = (Vec::new(), 0u64, 0);
        loop {
            bytes.clear();
            let len = file.read_until(b'\n', &mut bytes).map_err(named)? as u64;
            read += len;
            if len == 0 || read > STEP {
                progress.advance(std::mem::take(&mut read));
            }
            if len == 0 {
                return Ok(());
            }
            number += 1;
            self.run.lines += 1;
            let Err(fault) = self.bytes(&bytes) else { continue };
            self.run.faults += 1;
            if self.run.faults <= TOLD {
                tell(format!("{}:{number}: {fault}", path.display()));
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let whole = bytes.strip_suffix(b"\n").ok_or(Fault::NoEnd)?;
        self.line(&String::from_utf8_lossy(whole))
    }

    /// Adds one line.
    fn line(&mut self, text: &str) -> Result<(), Fault> {
        let Line { rank, when, letter, what } = line::parse(text)?;
        let node = self.nodes.entry(rank).or_insert_with(|| Node { rank, ..Node::default() });
        match what {
            What::Operation(operation) => {
                let timed = operation.ns.is_some();
                let kinds = &mut self.run.kinds;
                let of_team = operation.team.and_then(|team| kinds.place(letter, operation.name, Some(team), timed));
                let others = operation.team.map(|_| MANY);
                let kind =
                    of_team.or_else(|| kinds.place(letter, operation.name, others, timed)).ok_or(Fault::NoOperation)?;
                // The line is written when the operation has ended.
                let ns = operation.ns.unwrap_or(0);
                node.events.push(Event {
                    begin: when.saturating_sub(ns),
                    ns,
                    bytes: operation.bytes.unwrap_or(0),
                    peer: operation.node.unwrap_or(NONE),
                    kind,
                    handler: operation.handler.unwrap_or(0),
                    has: if operation.bytes.is_some() { HAS_BYTES } else { 0 } | if timed { HAS_TIME } else { 0 },
                });
            }
            What::Head(head) => {
                self.run.job = Some(head.nodes.max(self.run.job.unwrap_or(0)));
                node.host = Some((head.host.into(), head.clock));
            }
            What::Text(_) if letter == 'D' => (), // arguments of the message before
            What::Text(text) => node.notes.push(Note { when, letter, text: text.into() }),
        }
        Ok(())
    }

    /// The whole run; the times are still those of each node's own clock.
    ///
    /// # Errors
    /// No file had anything that a timeline could show.
    pub fn finish(self, tell: &mut dyn FnMut(String)) -> io::Result<Run> {
        let Reader { mut run, nodes } = self;
        if run.faults > TOLD {
            tell(format!("{} more lines could not be used", run.faults - TOLD));
        }
        run.nodes = nodes.into_values().collect();
        for node in &mut run.nodes {
            node.events.sort_by_key(|event| event.begin);
        }
        match run.count() {
            0 => Err(io::Error::other(format!(
                "no operation in {} lines: is this a file of GASNET_TRACEFILE?",
                run.lines
            ))),
            _ => Ok(run),
        }
    }
}

/// A run of these lines, for tests: none may be at fault.
#[cfg(test)]
pub fn of_lines(lines: &[&str]) -> Run {
    let mut reader = Reader::default();
    for line in lines {
        reader.line(line).unwrap();
    }
    reader.finish(&mut |line| panic!("{line}")).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(name: &str, text: &[u8]) -> (io::Result<Run>, Vec<String>) {
        let path = std::env::temp_dir().join(format!("gasnet-sci-trace-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        let mut told = Vec::new();
        let mut reader = Reader::default();
        reader.file(&path, &Progress::none(), &mut |line| told.push(line)).unwrap();
        let run = reader.finish(&mut |line| told.push(line));
        fs::remove_file(path).unwrap();
        (run, told)
    }

    #[test]
    fn events_of_all_nodes_are_sorted_by_their_begin() {
        let run = of_lines(&[
            "1 0.000005000> (B) BARRIER_WAIT us=4",
            "0 0.000000000> (U) trace node=0 nodes=2 clock=9 host=a",
            "1 0.000003000> (A) AMREQUEST_HANDLER node=0 bytes=0 handler=200",
            "0 0.000001000> (H) hello",
            "0 0.000002000> (A) AMREQUEST_SHORT node=1 handler=200",
            "0 0.000002000> (D) AMREQUEST_SHORT arguments: 0x1 0x0",
        ]);
        assert_eq!((run.nodes.len(), run.count(), run.job), (2, 3, Some(2)));
        assert_eq!(run.nodes[0].host, Some(("a".into(), 9)));
        assert_eq!(run.nodes[0].notes, [Note { when: 1000, letter: 'H', text: "hello".into() }]);
        let begins: Vec<(u64, u64)> = run.nodes[1].events.iter().map(|event| (event.begin, event.ns)).collect();
        assert_eq!(begins, [(1000, 4000), (3000, 0)]);
    }

    #[test]
    fn bad_lines_are_told_with_their_number_and_passed_over() {
        let text = b"0 1.0> (P) PUT node=1 bytes=8 us=1\nnoise\n0 2.0> (P) PUT node=1 bytes=8 us=1\n\xff\xfe\n0 3.0> (P) PUT node=1 by";
        let (run, told) = read("bad", text);
        let run = run.unwrap();
        assert_eq!((run.count(), run.lines, run.faults), (2, 5, 3));
        let ends: Vec<&str> = told.iter().map(|line| line.split_once("-bad:").unwrap().1).collect();
        assert_eq!(ends.len(), 3);
        assert!(
            ends[0].starts_with("2: it does not begin")
                && ends[1].starts_with("4: ")
                && ends[2].starts_with("5: the file ends")
        );
    }

    #[test]
    fn a_file_of_something_else_is_told_shortly() {
        let (run, told) = read("else", "x\n".repeat(1000).as_bytes());
        assert!(run.unwrap_err().to_string().starts_with("no operation in 1000 lines"));
        assert_eq!((told.len() as u64, told.last().unwrap().as_str()), (TOLD + 1, "980 more lines could not be used"));
        assert!(
            Reader::default()
                .file(Path::new("/nowhere/t"), &Progress::none(), &mut |_| ())
                .unwrap_err()
                .to_string()
                .contains("/nowhere/t")
        );
    }

    #[test]
    fn a_trace_that_is_cut_at_any_byte_is_read() {
        let text = b"0 1.5> [a.c:3] (A) AMREQUEST_LONG node=1 bytes=8 handler=200\n1 1.6> (S) WAIT_SYNCNB us=0.5\n";
        for cut in 0..text.len() {
            let (run, told) = read(&format!("cut{cut}"), &text[..cut]);
            assert_eq!(run.map_or(0, |run| run.count()), text[..cut].iter().filter(|c| **c == b'\n').count(), "{cut}");
            assert!(told.len() <= 1, "{told:?}");
        }
    }
}
