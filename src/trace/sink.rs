//! A file to which threads and nodes add whole lines.

use crate::os::lock::Lock;
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::time::Duration;

/// Bytes that are held back before they are written. A multiple of pages; a guess.
const ROOM: usize = 32 << 10;

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
        Ok(Sink { inner: Lock::new((file, Vec::new())), flush })
    }

    /// Adds one line. A line that cannot be written is lost.
    pub(crate) fn line(&self, text: fmt::Arguments<'_>) {
        let (file, held) = &mut *self.inner.lock();
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
