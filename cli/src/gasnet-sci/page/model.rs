//! Files of results, read: what is in several is joined, and rows are compared.

use super::timed::is_timed;
pub use crate::results::{Bench, Row, VERSION};
use gasnet_sci_place::format::{self, Format};
use std::fs;
use std::io;
use std::path::Path;

impl Bench {
    /// Reads the files. A row of a later file replaces a row of the same cell in an earlier one. Host and rounds come
    /// from the first file, and the library's choices from the first of the same host that has them.
    ///
    /// # Errors
    /// A file that cannot be read, has another format, or has no rows. The message names the file.
    pub fn read(files: &[impl AsRef<Path>]) -> io::Result<Bench> {
        let mut all: Option<Bench> = None;
        for file in files {
            let file = file.as_ref();
            let text = fs::read_to_string(file)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))?;
            let one = Bench::parse(&text).map_err(|what| io::Error::other(format!("{}: {what}", file.display())))?;
            match &mut all {
                None => all = Some(one),
                Some(all) => {
                    if all.host.cpu != one.host.cpu || all.host.cores != one.host.cores {
                        eprintln!(
                            "gasnet-sci: {}: measured on {} with {} cores, the rows before on {} with {}",
                            file.display(),
                            one.host.cpu,
                            one.host.cores,
                            all.host.cpu,
                            all.host.cores
                        );
                    } else {
                        all.tricks = all.tricks.take().or(one.tricks);
                    }
                    all.add(one.results);
                    all.missing.extend(one.missing);
                }
            }
        }
        all.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no files"))
    }

    /// Reads results from one JSON text.
    ///
    /// # Errors
    /// The text is not JSON, has another format, or has no rows.
    pub fn parse(json: &str) -> Result<Bench, String> {
        format::check(json, "gasnet-sci page", &[Format::Results])?;
        let bench: Bench = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if bench.version != VERSION {
            return Err(format!("version {} of the format, this program reads {VERSION}", bench.version));
        }
        if bench.results.is_empty() {
            return Err("no results".into());
        }
        Ok(bench)
    }

    /// Writes the text of a file of this format, one line per row.
    ///
    /// # Errors
    /// A value is a number that JSON cannot express.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let host = serde_json::to_string(&self.host)?;
        let rows: serde_json::Result<Vec<String>> = self.results.iter().map(serde_json::to_string).collect();
        let Bench { version, rounds, missing, .. } = self;
        let tricks = match &self.tricks {
            Some(tricks) => format!("\"tricks\":{},\n", serde_json::to_string(tricks)?),
            None => String::new(),
        };
        let missing = match missing.is_empty() {
            true => String::new(),
            false => format!("\"missing\":{},\n", serde_json::to_string(missing)?),
        };
        let (host, rows) = (format!("\"host\":{host}"), rows?.join(",\n"));
        Ok(format!(
            "{{\"version\":{version},\n{host},\n{tricks}\"rounds\":{rounds},\n{missing}\"results\":[\n{rows}\n]}}\n"
        ))
    }

    fn add(&mut self, rows: Vec<Row>) {
        for row in rows {
            match self.results.iter_mut().find(|old| old.same_cell(&row)) {
                Some(old) => *old = row,
                None => self.results.push(row),
            }
        }
    }
}

impl Row {
    /// Whether both rows are the same operation of the same library, at one size and number of nodes.
    pub fn same_cell(&self, other: &Row) -> bool {
        self.who == other.who && self.comparable(other)
    }

    /// Whether both rows are the same operation at the same size. The libraries may differ.
    pub fn comparable(&self, other: &Row) -> bool {
        self.section == other.section
            && self.operation == other.operation
            && self.nodes == other.nodes
            && self.bytes == other.bytes
            && self.unit == other.unit
    }

    /// The figure that is compared with the target.
    pub fn got(&self) -> f64 {
        self.ratio.unwrap_or(self.median)
    }

    /// Whether the target is reached. `None`: there is none.
    pub fn met(&self) -> Option<bool> {
        self.target.map(|target| if self.more_is_better() { self.got() >= target } else { self.got() <= target })
    }

    /// Whether more is better.
    pub fn more_is_better(&self) -> bool {
        matches!(self.unit.as_str(), "MB/s" | "share")
    }

    /// Whether the row belongs to another library: neither to gasnet-sci nor to the hardware, be that here or in a paper.
    pub fn is_peer(&self) -> bool {
        self.who != "limit" && !self.who.starts_with("gasnet-sci") && !is_timed(&self.who)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::results::{Host, Tricks};

    /// Results of one round; the host is a placeholder.
    pub fn bench(results: Vec<Row>) -> Bench {
        let host = Host { cpu: "c".into(), cores: 2, kernel: "k".into(), library: "l".into() };
        Bench { version: 1, host, tricks: None, rounds: 1, results, missing: Vec::new() }
    }

    pub fn row(who: &str, operation: &str, bytes: u64, unit: &str, median: f64) -> Row {
        Row { bytes, low: median * 0.9, high: median * 1.1, ..Row::of("am", operation, who, 2, unit, &[median]) }
    }

    #[test]
    fn other_formats_are_refused() {
        let with = |version: u32, results: &str| {
            let host = r#"{"cpu":"c","cores":2,"kernel":"k","library":"l"}"#;
            format!(r#"{{"version":{version},"host":{host},"rounds":1,"results":[{results}]}}"#)
        };
        let refused = |json: &str| Bench::parse(json).err().unwrap_or_default();
        assert!(refused(&with(2, "")).contains("version 2"));
        assert_eq!(refused(&with(1, "")), "no results");
        assert!(refused("{}").contains("missing field"));
        let row = serde_json::to_string(&row("a", "x", 8, "us", 1.0)).expect("plain values");
        let mut bench = Bench::parse(&with(1, &row)).expect("the format");
        let again = |bench: &Bench| Bench::parse(&bench.to_json().expect("plain values")).expect("the format");
        assert!(again(&bench).tricks.is_none() && again(&bench).results.len() == 1);
        bench.tricks = Some(Tricks { cldemote: true, copy: "memmove".into(), pauses: 3, membarrier: false });
        assert_eq!(again(&bench).tricks, bench.tricks);
    }

    #[test]
    fn later_rows_replace_earlier_ones_of_the_same_cell() {
        let host = Host { cpu: "c".into(), cores: 2, kernel: "k".into(), library: "l".into() };
        let rows = vec![row("a", "x", 8, "us", 1.0), row("b", "x", 8, "us", 2.0)];
        let mut bench =
            Bench { version: VERSION, host, tricks: None, rounds: 1, results: rows, missing: vec!["PVM: none".into()] };
        bench.add(vec![row("b", "x", 8, "us", 3.0), row("b", "x", 64, "us", 4.0)]);
        let medians: Vec<f64> = bench.results.iter().map(|row| row.median).collect();
        assert_eq!(medians, [1.0, 3.0, 4.0]);
    }
}
