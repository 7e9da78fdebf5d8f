//! Reads a traffic matrix: who did how many operations of each kind to whom, with how many bytes.
//!
//! The file is the JSON that `GASNET_SCI_MATRIX` and `gasnetrun_sci --matrix` write (`"format":"gasnet-sci matrix"`).
//! Fields that this program does not know are passed over. If one has the form of a kind, two numbers in a row, its name is
//! kept, so that the user can be told that this traffic is not counted.
//!
//! Must not know: costs, positions of a topology.

use super::model::Class;
use crate::format::{self, Format};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The kinds of operations, in the file's order: those that the library writes.
pub use gasnet_sci::trace::KINDS;

/// Operations, and their bytes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Amount(pub u64, pub u64);

/// What one rank did to another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The rank that did it. A get is the work of the rank that gets the bytes.
    pub from: usize,
    pub to: usize,
    /// By kind, in the order of `KINDS`.
    pub kinds: [Amount; KINDS.len()],
}

/// Where a rank ran.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Recorded {
    pub rank: usize,
    /// The name of its host.
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub cpus: Option<String>,
    #[serde(default)]
    pub position: Option<usize>,
}

/// A traffic matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub ranks: usize,
    pub program: Option<String>,
    pub seconds: Option<f64>,
    /// The topology that the run had, as a word.
    pub topology: Option<String>,
    pub places: Vec<Recorded>,
    /// One row for a pair at most; ordered by pair.
    pub rows: Vec<Row>,
    /// Fields of rows that look like kinds and are none.
    pub unknown: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    format: String,
    version: u32,
    nodes: usize,
    #[serde(default)]
    program: Option<String>,
    #[serde(default)]
    seconds: Option<f64>,
    #[serde(default)]
    topology: Option<String>,
    #[serde(default)]
    places: Vec<Recorded>,
    rows: Vec<FileRow>,
}

#[derive(Deserialize)]
struct FileRow {
    from: usize,
    to: usize,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

impl FileRow {
    fn kinds(&self) -> Result<[Amount; KINDS.len()], String> {
        let mut kinds = [Amount::default(); KINDS.len()];
        for (kind, name) in kinds.iter_mut().zip(KINDS) {
            let Some(value) = self.rest.get(name) else { continue };
            let told = |error| format!("a row from {} to {}: {name}: {error}", self.from, self.to);
            *kind = Amount::deserialize(value).map_err(told)?;
        }
        Ok(kinds)
    }

    // The names of fields that look like kinds and are none.
    fn unknown(&self) -> impl Iterator<Item = &String> {
        let is_kind = |value: &Value| Amount::deserialize(value).is_ok();
        self.rest
            .iter()
            .filter(move |(name, value)| !KINDS.contains(&name.as_str()) && is_kind(value))
            .map(|(name, _)| name)
    }
}

/// The most ranks that are taken. The tables of a topology take 4 bytes for each pair of positions.
pub const MOST: usize = 8192;

impl Matrix {
    /// No traffic.
    pub fn empty(ranks: usize) -> Matrix {
        Matrix {
            ranks,
            program: None,
            seconds: None,
            topology: None,
            places: Vec::new(),
            rows: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is not of this format and version, or a row names a rank that there is not.
    pub fn parse(json: &str) -> Result<Matrix, String> {
        format::check(json, "gasnet-sci place", &[Format::Traffic])?;
        let file: File = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if file.format != "gasnet-sci matrix" {
            return Err(format!("the format is '{}', not 'gasnet-sci matrix'", file.format));
        }
        if file.version != 1 {
            return Err(format!("version {} of the format, this program reads 1", file.version));
        }
        if !(1..=MOST).contains(&file.nodes) {
            return Err(format!("{} nodes; this program takes 1 to {MOST}", file.nodes));
        }
        let mut rows = Vec::with_capacity(file.rows.len());
        let mut unknown = Vec::new();
        for row in &file.rows {
            if let Some(rank) = [row.from, row.to].into_iter().find(|rank| *rank >= file.nodes) {
                return Err(format!("a row from {} to {}: there is no rank {rank}", row.from, row.to));
            }
            rows.push(Row { from: row.from, to: row.to, kinds: row.kinds()? });
            unknown.extend(row.unknown().cloned());
        }
        unknown.sort_unstable();
        unknown.dedup();
        let mut matrix = Matrix {
            ranks: file.nodes,
            program: file.program,
            seconds: file.seconds,
            topology: file.topology,
            places: file.places,
            rows,
            unknown,
        };
        matrix.join_rows();
        Ok(matrix)
    }

    // Rows of the same pair become one.
    fn join_rows(&mut self) {
        self.rows.sort_by_key(|row| (row.from, row.to));
        self.rows.dedup_by(|row, first| {
            let same = (row.from, row.to) == (first.from, first.to);
            if same {
                for (sum, more) in first.kinds.iter_mut().zip(row.kinds) {
                    *sum = Amount(sum.0.saturating_add(more.0), sum.1.saturating_add(more.1));
                }
            }
            same
        });
    }

    /// The sum of all operations and bytes.
    pub fn sum(&self) -> Amount {
        let all = self.rows.iter().flat_map(|row| row.kinds);
        all.fold(Amount(0, 0), |sum, more| Amount(sum.0.saturating_add(more.0), sum.1.saturating_add(more.1)))
    }
}

/// A rule of a kind: operations of fewer than `below` bytes on average are of `class`. The last rule has no bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    pub below: Option<u64>,
    pub class: Class,
}

/// The rules of a kind. `dma_min`: the length from which on a Long goes by DMA.
pub fn rules(kind: usize, dma_min: u64) -> Vec<Rule> {
    let all = |class| Rule { below: None, class };
    let below = |below, class| Rule { below: Some(below), class };
    // Writes of less than a line go in smaller packets: one up to 16 bytes, some up to 63.
    let small = [below(17, Class::Piece), below(64, Class::Pieces)];
    match KINDS[kind] {
        "short" | "barrier" => vec![all(Class::Packet)],
        "long" => {
            let few = small.into_iter().map(|rule| Rule { below: rule.below.map(|below| below.min(dma_min)), ..rule });
            few.chain([below(dma_min, Class::Write), all(Class::Dma)]).collect()
        }
        // An atomic operation fetches what was there before: a round trip.
        "atomic" => vec![all(Class::Word)],
        "get" | "vis_get" | "coll_get" => vec![below(65, Class::Word), all(Class::Read)],
        // Cells carry no bytes of the client's, moves do.
        "coll" => vec![below(65, Class::Packet), all(Class::Write)],
        _ => small.into_iter().chain([all(Class::Write)]).collect(),
    }
}

/// The class of operations of a kind, by their average length.
pub fn class(kind: usize, amount: Amount, dma_min: u64) -> Class {
    let length = amount.1 as f64 / amount.0.max(1) as f64;
    let rules = rules(kind, dma_min);
    let fits = |rule: &&Rule| rule.below.is_none_or(|below| length < below as f64);
    rules.iter().find(fits).map_or(Class::Write, |rule| rule.class)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rest: &str) -> String {
        format!(r#"{{"format":"gasnet-sci matrix","version":1,"nodes":4,"new":[1],{rest}}}"#)
    }

    #[test]
    fn rows_are_sparse_and_unknown_fields_are_passed_over() {
        let matrix = Matrix::parse(&file(
            r#""topology":null,"places":[{"rank":0,"cpus":"0,4","numa":0,"position":2}],"rows":[
               {"from":2,"to":1,"get":[1,8],"later":3},
               {"from":0,"to":2,"short":[1200,0],"long":[600,1228800],"sci":{"p64":7,"dma":[1,2]}},
               {"from":2,"to":1,"get":[2,16],"barrier":[5,0]}]"#,
        ))
        .unwrap();
        assert_eq!(matrix.rows.len(), 2);
        assert_eq!(matrix.rows[0].kinds[2], Amount(600, 1228800));
        assert_eq!(
            (matrix.rows[1].from, matrix.rows[1].kinds[4], matrix.rows[1].kinds[9]),
            (2, Amount(3, 24), Amount(5, 0))
        );
        assert_eq!(matrix.sum(), Amount(1808, 1228824));
        assert!(matrix.unknown.is_empty());
        assert_eq!(matrix.places, [Recorded { rank: 0, host: None, cpus: Some("0,4".into()), position: Some(2) }]);
    }

    #[test]
    fn every_kind_that_the_library_writes_is_counted_and_others_are_named() {
        let all: Vec<String> = KINDS.iter().map(|kind| format!(r#""{kind}":[1,8]"#)).collect();
        let row = |from, fields: &str| format!(r#"{{"from":{from},"to":1,{fields}}}"#);
        let rows = [row(0, &all.join(",")), row(2, r#""later":[3,4],"sci":{"dma":[1,2]},"x":3"#)].join(",");
        let matrix = Matrix::parse(&file(&format!(r#""rows":[{rows}]"#))).unwrap();
        assert_eq!(matrix.rows[0].kinds, [Amount(1, 8); KINDS.len()]);
        let kinds = KINDS.len() as u64;
        assert_eq!((matrix.sum(), matrix.unknown), (Amount(kinds, 8 * kinds), vec!["later".to_string()]));
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        for (text, what) in [
            (file(r#""rows":[{"from":0,"to":4}]"#), "from 0 to 4: there is no rank 4"),
            (file(r#""rows":[{"from":0,"to":1,"put":[1]}]"#), "invalid length"),
            (file(r#""rows":[{"from":0,"to":1,"put":[-1,0]}]"#), "invalid"),
            (file(r#""none":0"#), "missing field `rows`"),
            (file(r#""rows":[]"#).replace("\"version\":1", "\"version\":2"), "version 2"),
            (file(r#""rows":[]"#).replace("sci matrix", "sci bench"), "the format is 'gasnet-sci bench'"),
            (file(r#""rows":[]"#).replace("\"nodes\":4", "\"nodes\":0"), "0 nodes"),
            ("{".into(), "EOF"),
        ] {
            let error = Matrix::parse(&text).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    #[test]
    fn the_average_length_decides_the_class() {
        let of = |kind: &str, amount| class(KINDS.iter().position(|k| *k == kind).unwrap(), amount, 2048);
        assert_eq!(of("short", Amount(3, 0)), Class::Packet);
        assert_eq!([of("long", Amount(2, 4095)), of("long", Amount(2, 4096))], [Class::Write, Class::Dma]);
        assert_eq!([of("get", Amount(2, 128)), of("vis_get", Amount(1, 65))], [Class::Word, Class::Read]);
        assert_eq!([of("coll_get", Amount(9, 72)), of("coll_get", Amount(1, 4096))], [Class::Word, Class::Read]);
        assert_eq!([of("coll", Amount(9, 0)), of("coll", Amount(1, 4096))], [Class::Packet, Class::Write]);
        assert_eq!(
            [8, 16, 63, 64].map(|bytes| of("put", Amount(1, bytes))),
            [Class::Piece, Class::Piece, Class::Pieces, Class::Write]
        );
        assert_eq!([of("long", Amount(1, 8)), of("memset", Amount(2, 64))], [Class::Piece, Class::Pieces]);
        assert_eq!(class(2, Amount(1, 8), 8), Class::Dma);
        assert_eq!(of("atomic", Amount(5, 40)), Class::Word);
        assert_eq!(of("medium", Amount(1, 1 << 20)), Class::Write);
    }
}
