//! `gasnet-sci trace`: what happened in a run, from the traces that its nodes wrote (`GASNET_TRACEFILE`).
//!
//! Data goes one way. `line` and `read` make a `run` of the files, with `kinds` of events. `messages` and `barriers` find what belongs
//! together, `clocks` brings all times to one clock, `path` follows what the end waited for. `statistics` and `perfetto`
//! write; `page` writes a timeline, whose scripts get the run from `pack`.

mod barriers;
mod clocks;
mod kinds;
mod line;
mod messages;
mod pack;
mod page;
mod path;
mod perfetto;
mod read;
mod run;
mod statistics;

use barriers::Round;
use clap::ArgMatches;
use gasnet_sci_place::paint;
use gasnet_sci_place::progress::Progress;
use gasnet_sci_place::shell::write_file;
use messages::Messages;
use path::Piece;
use run::Run;
use statistics::Statistics;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A run, and what was found out about it.
struct Found {
    run: Run,
    messages: Messages,
    rounds: Vec<Round>,
    path: Vec<Piece>,
}

impl Found {
    fn of(mut run: Run) -> Found {
        let messages = messages::find(&run);
        let mut rounds = barriers::find(&run);
        clocks::align(&mut run, &messages, &mut rounds);
        rounds.retain(Round::is_possible);
        // Those of teams lie between the others.
        rounds.sort_by_key(|round| round.last().enter);
        let path = path::find(&run, &messages, &rounds);
        Found { run, messages, rounds, path }
    }
}

/// Reads the files, and writes what is asked for.
///
/// # Errors
/// A file cannot be read or written, or there is nothing in any of them.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let paths: Vec<&PathBuf> = options.get_many("files").into_iter().flatten().collect();
    let bytes: u64 = paths.iter().map(|path| path.metadata().map_or(0, |file| file.len())).sum();
    let progress = Progress::new("gasnet-sci trace", bytes);
    let mut tell = |line: String| progress.tell(&format!("gasnet-sci: {line}"));
    let mut reader = read::Reader::default();
    for path in paths {
        progress.say(format!("reading {}", path.display()));
        reader.file(path, &progress, &mut tell)?;
    }
    progress.say("finding what belongs together");
    let found = Found::of(reader.finish(&mut tell)?);
    progress.say("writing");
    let (html, perfetto) = (options.get_one::<PathBuf>("html"), options.get_one::<PathBuf>("perfetto"));
    if let Some(path) = html {
        write_file(path, &page::page(&found))?;
    }
    if let Some(path) = perfetto {
        write_perfetto(path, &found)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    }
    // Before the table, which may go to the same terminal.
    drop(progress);
    let mut out = BufWriter::new(paint::out());
    let statistics = || Statistics::of(&found.run, &found.messages, &found.rounds, &found.path);
    if options.get_flag("json") {
        serde_json::to_writer_pretty(&mut out, &statistics())?;
        writeln!(out)?;
    } else if html.is_none() && perfetto.is_none() {
        statistics().write(&mut out)?;
    }
    out.flush()
}

fn write_perfetto(path: &Path, found: &Found) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    perfetto::write(&mut out, &found.run, &found.messages)?;
    out.flush()
}
