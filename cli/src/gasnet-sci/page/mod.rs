//! `gasnet-sci page`: shows results of `gasnet-sci bench` and `ci/bench-peers` as tables, and as one page of HTML.
//!
//! Data goes one way. `model` reads and merges files, `compare` judges rows, `curves` sorts them into charts. `text`
//! prints, `markdown` writes tables for a document, `timed` shows what timing mode measured, and `html` writes the page with the help of `svg`, in the frame that `place::shell` gives to every page. Nothing here
//! measures.

mod compare;
mod curves;
mod html;
mod markdown;
mod model;
pub mod show;
mod svg;
mod text;
mod timed;

use clap::ArgMatches;
use gasnet_sci_place::paint;
use gasnet_sci_place::shell::write_file;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Reads the files, merges their rows, prints the tables, and writes what is asked for.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let files: Vec<&PathBuf> = options.get_many("files").into_iter().flatten().collect();
    let bench = model::Bench::read(&files)?;
    let json = options.get_one::<PathBuf>("json");
    let is_json = json.is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = json.filter(|_| !is_json) {
        write_file(path, &bench.to_json()?)?;
    }
    if let Some(path) = options.get_one::<PathBuf>("html") {
        write_file(path, &html::page(&bench))?;
    }
    if let Some(path) = options.get_one::<PathBuf>("markdown") {
        let old = fs::read_to_string(path).unwrap_or_default();
        write_file(path, &markdown::document(&old, &bench))?;
    }
    let mut out = paint::out();
    if is_json {
        return out.write_all(bench.to_json()?.as_bytes());
    }
    text::write(&mut out, &bench)?;
    out.flush()
}

/// Writes the page of results that were just measured to `path`. `json` holds them in the file format.
///
/// # Errors
/// `json` has another format, or the file cannot be written. The message says which.
pub fn write_results(json: &str, path: &Path) -> io::Result<()> {
    write_file(path, &html::page(&model::Bench::parse(json).map_err(io::Error::other)?))
}
