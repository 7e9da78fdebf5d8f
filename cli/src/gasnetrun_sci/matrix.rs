//! `--matrix FILE`: the traffic matrix of a job. Each node writes its part to a file in a directory that goes away with this
//! process; at the end the parts become one file. On other hosts agents read the parts and send them.
//!
//! Must not know: what is counted.

#![allow(unsafe_code)] // the environment

use super::program::{NOT_EXECUTABLE, NOT_FOUND};
use super::registry::{self, Scratch};
use gasnet_sci::boot;
use gasnet_sci::os::whole;
use gasnet_sci::supervise::channel::{Frame, PIECE};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The user's variable, which nodes of a job that has a matrix do not see.
pub const VARIABLE: &str = "GASNET_SCI_MATRIX";
const FORMAT: &str = "gasnet-sci matrix";
const VERSION: u32 = 1;

/// A row of a matrix. What is counted stays as it came.
#[derive(Deserialize, Serialize)]
struct Row {
    from: u32,
    to: u32,
    #[serde(flatten)]
    kinds: BTreeMap<String, Value>,
}

/// Where a node ran.
#[derive(Deserialize, Serialize)]
struct Place {
    rank: u32,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// A matrix file, of a node or of a job. Rows and places keep fields that this program does not know. A new field of the file itself is
/// lost unless it is added here, in `joined` and in `print`.
#[derive(Deserialize)]
struct Matrix {
    format: String,
    version: u32,
    nodes: u32,
    program: String,
    seconds: f64,
    topology: Value,
    places: Vec<Place>,
    rows: Vec<Row>,
}

/// The directory of the parts of the nodes that run here.
pub struct Parts {
    // What nodes have in [`boot::PARTS`].
    value: PathBuf,
    _directory: Scratch,
}

impl Parts {
    /// Makes the directory for the job `cookie`.
    pub fn create(cookie: u64) -> Result<Parts, String> {
        let made =
            registry::scratch().map_err(|error| format!("--matrix: no directory for the nodes' parts: {error}"))?;
        Ok(Parts { value: boot::parts(made.path(), cookie), _directory: made })
    }

    /// Tells a node where its part goes. For a process that becomes one; it must have one thread.
    pub fn hand_over(&self) {
        // SAFETY: this process has one thread.
        unsafe { std::env::remove_var(VARIABLE) };
        // SAFETY: as above.
        unsafe { std::env::set_var(boot::PARTS, &self.value) };
    }

    /// The part of node `rank`; `None`: it has left none.
    pub fn take(&self, rank: u32) -> Option<Vec<u8>> {
        fs::read(boot::part(&self.value, rank)).ok()
    }

    /// What the launcher is told of the parts of these nodes.
    pub fn frames(&self, ranks: &[u32]) -> Vec<Frame> {
        let of = |rank: u32| {
            let part = self.take(rank)?;
            let pieces = part.chunks(PIECE).map(move |piece| Frame::Part(rank, piece.into()));
            Some(pieces.chain([Frame::Part(rank, Vec::new())]).collect::<Vec<_>>())
        };
        ranks.iter().filter_map(|rank| of(*rank)).flatten().collect()
    }
}

/// The matrix that the launcher makes.
pub struct Wanted {
    file: PathBuf,
    // What has come of each node's part, and whether that is all.
    parts: Vec<(Vec<u8>, bool)>,
}

impl Wanted {
    /// It goes to `file` when the job ends. That it can be written is tried at once.
    pub fn new(file: &Path, nodes: u32) -> Result<Wanted, String> {
        whole::check(file).map_err(|error| format!("--matrix {}: it cannot be written: {error}", file.display()))?;
        Ok(Wanted { file: file.into(), parts: vec![(Vec::new(), false); nodes as usize] })
    }

    /// Takes a piece of a part; an empty one ends it.
    pub fn bring(&mut self, rank: u32, piece: &[u8]) {
        let Some((part, is_whole)) = self.parts.get_mut(rank as usize) else { return };
        part.extend_from_slice(piece);
        *is_whole = piece.is_empty();
    }

    /// Takes all parts from the directory of a job on this host.
    pub fn collect(&mut self, parts: &Parts) {
        for (rank, place) in (0..).zip(&mut self.parts) {
            if let Some(part) = parts.take(rank) {
                *place = (part, true);
            }
        }
    }

    /// Whether nobody expects a matrix: the program could not be run, which another line says, and no node has left anything.
    pub fn is_in_vain(&self, status: i32) -> bool {
        [NOT_EXECUTABLE, NOT_FOUND].map(i32::from).contains(&status)
            && self.parts.iter().all(|(part, _)| part.is_empty())
    }

    /// Joins the parts. The error says why there is no matrix.
    pub fn write(&self) -> Result<(), String> {
        let shown = self.file.display();
        let missing: Vec<usize> = (0..self.parts.len()).filter(|rank| !self.parts[*rank].1).collect();
        if let Some(first) = missing.first() {
            let more = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
            return Err(format!(
                "no matrix {shown}: node {first}{more} left no part, as a node does at its orderly end"
            ));
        }
        let text = self.joined().map_err(|problem| format!("no matrix {shown}: {problem}"))?;
        whole::write(&self.file, &text).map_err(|error| format!("no matrix {shown}: {error}"))
    }

    fn joined(&self) -> Result<Vec<u8>, String> {
        let mut joined: Option<Matrix> = None;
        for (rank, (bytes, _)) in (0..).zip(&self.parts) {
            let part = part(bytes, rank, self.parts.len() as u32)
                .map_err(|problem| format!("the part of node {rank} is not right: {problem}"))?;
            match &mut joined {
                None => joined = Some(part),
                Some(all) => {
                    all.seconds = all.seconds.max(part.seconds);
                    all.places.extend(part.places);
                    all.rows.extend(part.rows);
                }
            }
        }
        let all = joined.ok_or("there are no nodes")?;
        print(&all).map_err(|error| error.to_string())
    }
}

// Reads and checks the part of node `rank`.
fn part(bytes: &[u8], rank: u32, nodes: u32) -> Result<Matrix, String> {
    let part: Matrix = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if (part.format.as_str(), part.version, part.nodes) != (FORMAT, VERSION, nodes) {
        return Err(format!("it is {:?}, version {}, of {} nodes", part.format, part.version, part.nodes));
    }
    let is_own = part.places.iter().map(|place| place.rank).eq([rank])
        && part.rows.iter().all(|row| row.from == rank && row.to < nodes);
    if is_own { Ok(part) } else { Err("it tells of other nodes".into()) }
}

// One line for each place and each row.
fn print(all: &Matrix) -> serde_json::Result<Vec<u8>> {
    fn list<T: Serialize>(out: &mut Vec<u8>, name: &str, all: &[T]) -> serde_json::Result<()> {
        let _ = write!(out, ",\n\"{name}\":[");
        for (at, one) in all.iter().enumerate() {
            out.extend_from_slice(if at == 0 { b"\n" } else { b",\n" });
            serde_json::to_writer(&mut *out, one)?;
        }
        out.push(b']');
        Ok(())
    }
    let mut out = Vec::new();
    // Writing to a vector cannot fail.
    let _ = write!(
        out,
        "{{\"format\":\"{FORMAT}\",\"version\":{VERSION},\"nodes\":{},\"program\":{},\"seconds\":{},\"topology\":{}",
        all.nodes,
        serde_json::to_string(&all.program)?,
        all.seconds,
        serde_json::to_string(&all.topology)?
    );
    list(&mut out, "places", &all.places)?;
    list(&mut out, "rows", &all.rows)?;
    out.extend_from_slice(b"}\n");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rank: u32, seconds: f64, to: u32) -> String {
        format!(
            "{{\"format\":\"gasnet-sci matrix\",\"version\":1,\"nodes\":2,\"program\":\"p\",\"seconds\":{seconds},\"topology\":null,\
             \"places\":[{{\"rank\":{rank},\"cpus\":\"0\",\"numa\":null,\"position\":null}}],\
             \"rows\":[{{\"from\":{rank},\"to\":{to},\"put\":[1,{rank}]}}]}}"
        )
    }

    fn wanted(name: &str) -> (Wanted, PathBuf) {
        let file = std::env::temp_dir().join(format!("gasnetrun-matrix-{}-{name}", std::process::id()));
        (Wanted::new(&file, 2).unwrap(), file)
    }

    #[test]
    fn parts_in_pieces_become_one_file_with_all_places_and_rows() {
        let (mut wanted, file) = wanted("whole");
        for (rank, text) in [(1, text(1, 2.5, 0)), (0, text(0, 1.0, 1))] {
            text.as_bytes().chunks(7).for_each(|piece| wanted.bring(rank, piece));
            wanted.bring(rank, &[]);
        }
        wanted.write().unwrap();
        let all: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        fs::remove_file(file).unwrap();
        assert_eq!((&all["seconds"], &all["nodes"], &all["topology"]), (&2.5.into(), &2.into(), &Value::Null));
        let numbers =
            |list: &str, key: &str| all[list].as_array().unwrap().iter().map(|e| e[key].clone()).collect::<Vec<_>>();
        assert_eq!(
            (numbers("places", "rank"), numbers("rows", "from")),
            (vec![0.into(), 1.into()], vec![0.into(), 1.into()])
        );
        assert_eq!(numbers("rows", "put")[1], serde_json::json!([1, 1]));
    }

    #[test]
    fn without_all_parts_there_is_no_file() {
        let (mut wanted, file) = wanted("missing");
        wanted.bring(0, text(0, 1.0, 1).as_bytes());
        wanted.bring(0, &[]);
        wanted.bring(1, text(1, 1.0, 0).as_bytes()); // its end has not come
        assert!(wanted.write().unwrap_err().contains("node 1 left no part"));
        wanted.bring(1, &[]);
        wanted.bring(0, b"x");
        wanted.bring(0, &[]);
        assert!(wanted.write().unwrap_err().contains("the part of node 0 is not right"));
        assert!(!file.exists());
    }

    #[test]
    fn a_part_tells_of_its_own_node_only() {
        assert!(part(text(1, 1.0, 0).as_bytes(), 1, 2).is_ok());
        for (text, rank, nodes) in [(text(1, 1.0, 0), 0, 2), (text(1, 1.0, 2), 1, 2), (text(1, 1.0, 0), 1, 3)] {
            assert!(part(text.as_bytes(), rank, nodes).is_err());
        }
        assert!(Wanted::new(Path::new("/nowhere/m"), 1).err().unwrap().contains("cannot be written"));
    }
}
