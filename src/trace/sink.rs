//! A file to which threads and nodes add whole lines.

use crate::os::lock::{Leaver, Lock};
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::time::Duration;

/// Bytes that are held back before they are written. A multiple of pages; a guess.
const ROOM: usize = 32 << 10;

/// Who leaves waits so long for a thread that is in the middle of a line, and for itself if it has interrupted itself there. There are many
/// lines at the end, and one second for all. A guess.
const PATIENCE: Duration = Duration::from_millis(1);

/// Empties the file `name` if all nodes write to it. A failure is ignored here, because opening the file will fail
/// too, and that is reported.
pub(super) fn empty(name: &str) {
    if !name.contains('%') && !["stdout", "stderr", "-"].contains(&name) {
        let _ = File::create(name);
    }
}

/// The file, and the lines that are not written to it yet.
pub(crate) struct Sink {
    inner: Lock<(File, Vec<u8>)>,
    leaver: Leaver,
    flush: bool,
}

impl Sink {
    /// Opens `name` for `node`. `%` in it is the node's number; `stdout`, `stderr` and `-` are the streams. With
    /// `flush`, and always for a stream, each line is written at once. A file of one node is emptied; one of all
    /// nodes is added to, see [`empty`].
    pub(crate) fn open(name: &str, node: u32, flush: bool) -> io::Result<Sink> {
        let stream = match name {
            "stdout" => Some(io::stdout().as_fd().try_clone_to_owned()?),
            "stderr" | "-" => Some(io::stderr().as_fd().try_clone_to_owned()?),
            _ => None,
        };
        let flush = flush || stream.is_some();
        let file = match stream {
            Some(stream) => File::from(stream),
            None => {
                let path = name.replace('%', &node.to_string());
                if name.contains('%') {
                    File::create(&path)?;
                }
                File::options().append(true).create(true).open(&path)?
            }
        };
        Ok(Sink { inner: Lock::new((file, Vec::new())), leaver: Leaver::default(), flush })
    }

    /// This thread leaves the job, perhaps in the middle of a line.
    pub(crate) fn leaves(&self) {
        self.leaver.leaves();
    }

    /// Adds one line. A line that cannot be written is lost; so is one for which the file is not free, if a thread leaves.
    pub(crate) fn line(&self, text: fmt::Arguments<'_>) {
        let Some(mut inner) = self.leaver.enter(&self.inner, PATIENCE) else { return };
        let (file, held) = &mut *inner;
        let _ = held.write_fmt(text);
        held.push(b'\n');
        if self.flush || held.len() >= ROOM {
            let _ = file.write_all(held);
            held.clear();
        }
    }

    /// Writes out the lines that are held back, unless another thread uses the file for longer than `patience`.
    pub(crate) fn flush(&self, patience: Duration) {
        if let Some(mut inner) = self.inner.within(patience) {
            let (file, held) = &mut *inner;
            let _ = file.write_all(held);
            held.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a signal handler finds it that has interrupted its thread in the middle of a line.
    #[test]
    fn who_leaves_waits_for_no_line_of_its_own() {
        let name = std::env::temp_dir().join(format!("gasnet-sci-sink-{}-%", std::process::id()));
        let name = name.to_str().expect("ASCII");
        let sink = Sink::open(name, 3, false).unwrap();
        sink.line(format_args!("first"));
        sink.leaves();
        let held = sink.inner.lock();
        sink.line(format_args!("lost"));
        sink.flush(Duration::ZERO);
        drop(held);
        sink.line(format_args!("last"));
        sink.flush(Duration::ZERO);
        let file = name.replace('%', "3");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "first\nlast\n");
        std::fs::remove_file(file).unwrap();
    }
}
