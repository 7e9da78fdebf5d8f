//! The traffic matrix: how many operations of each kind this node did with each other node, and how many bytes they moved.
//!
//! A node has one row per peer, made when they first have to do with each other. At exit it writes its rows and its place to a
//! file of its own, its part. A part is a whole matrix file in which only one node has rows; the launcher joins the parts. The
//! part has another name until it is complete, so nobody reads half of one.
//!
//! Must not know: what an operation does, who joins the parts.

use super::TracedOp;
use crate::os::topology::{Topology, format_list};
use crate::os::{host, sys, whole};
use crate::sync::fixed::{AtomicU64, Ordering};
use std::array;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The kinds of a matrix, by the names that its file gives them. Those who read it count by these too.
pub const KINDS: [&str; 12] =
    ["short", "medium", "long", "put", "get", "memset", "vis_put", "vis_get", "atomic", "barrier", "coll", "coll_get"];

/// The kind of an operation, by its place in [`KINDS`]. `None`: it has no peer, or the peer counts it.
fn kind(op: TracedOp) -> Option<usize> {
    use TracedOp::*;
    let name = match op {
        RequestShort | ReplyShort => "short",
        RequestMedium | ReplyMedium => "medium",
        RequestLong | ReplyLong => "long",
        Put | PutNb | PutNbi | PutVal | PutNbVal | PutNbiVal => "put",
        Get | GetNb | GetNbi | GetVal | GetNbVal => "get",
        Memset | MemsetNb | MemsetNbi => "memset",
        PutV | PutVNb | PutVNbi | PutI | PutINb | PutINbi | PutS | PutSNb | PutSNbi => "vis_put",
        GetV | GetVNb | GetVNbi | GetI | GetINb | GetINbi | GetS | GetSNb | GetSNbi => "vis_get",
        Atomic => "atomic",
        BarrierTell => "barrier",
        CollCell | CollMove => "coll",
        CollGet => "coll_get",
        // Waits and locks.
        WaitNb | TestNb | WaitSome | WaitAll | TestSome | TestAll | WaitNbi | TestNbi | EndRegion | WaitValget
        | CollTry | CollWait | CollTryArray | CollWaitArray | BarrierNotify | BarrierWait | BarrierTry | Barrier
        | LockWait | MessageWait | RoomWait => return None,
        // The calls of collectives; cells and moves are what they are made of.
        Broadcast | BroadcastNb | Scatter | ScatterNb | Gather | GatherNb | GatherAll | GatherAllNb | Exchange
        | ExchangeNb | Reduce | ReduceNb | Scan | ScanNb => return None,
        // The sender has counted the message.
        RequestHandler | ReplyHandler => return None,
    };
    KINDS.iter().position(|kind| *kind == name)
}

/// Operations and bytes of each kind, in the order of [`KINDS`].
type Row = [[AtomicU64; 2]; KINDS.len()];

/// Where a node runs.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its rank.
    pub node: u32,
    /// Number of nodes of the job.
    pub nodes: u32,
    /// The position in a topology that a map has given it.
    pub position: Option<u32>,
}

/// What a node in timing mode adds to its part.
pub struct Hardware<'a> {
    /// How the nodes are connected, as the user wrote it.
    pub topology: Option<&'a str>,
    /// What has gone to a node over the hardware, as JSON; `None`: nothing, or not known.
    pub traffic: &'a dyn Fn(u32) -> Option<String>,
}

/// The matrix of this node.
pub(super) struct Matrix {
    file: PathBuf,
    place: Place,
    cpus: String,
    numa: Option<usize>,
    rows: Box<[OnceLock<Box<Row>>]>,
}

impl Matrix {
    /// Begins a matrix that is written to `name`, in which `%` stands for the node. The error says why that cannot be done.
    pub(super) fn new(name: &str, place: Place) -> Result<Matrix, String> {
        if place.nodes > 1 && !name.contains('%') {
            return Err(format!(
                "each of {} nodes writes a file: put %, which becomes the node's number, into the name; or start the job by \
                 gasnetrun_sci --matrix {name}, which joins them",
                place.nodes
            ));
        }
        // The client may change its directory.
        let file =
            std::path::absolute(name.replace('%', &place.node.to_string())).map_err(|error| error.to_string())?;
        Matrix::part(file, place)
    }

    /// Begins a matrix that is written to `file`, an absolute path. The error says why that cannot be done.
    pub(super) fn part(file: PathBuf, place: Place) -> Result<Matrix, String> {
        // It is tried now, because the user may have to wait long for the end.
        whole::check(&file).map_err(|error| error.to_string())?;
        let numa = Topology::read().numa;
        Ok(Matrix {
            file,
            place,
            cpus: format_list(&sys::usable_cpus()),
            numa: if let [only] = &numa[..] { Some(only.id) } else { None },
            rows: (0..place.nodes).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Counts one operation with `node`.
    pub(super) fn add(&self, op: TracedOp, node: u32, bytes: u64) {
        let (Some(kind), Some(row)) = (kind(op), self.rows.get(node as usize)) else { return };
        let row = row.get_or_init(|| Box::new(array::from_fn(|_| array::from_fn(|_| AtomicU64::new(0)))));
        // Relaxed, both: numbers for a report, which hand nothing over.
        row[kind][0].fetch_add(1, Ordering::Relaxed);
        row[kind][1].fetch_add(if op.has_bytes() { bytes } else { 0 }, Ordering::Relaxed);
    }

    /// Writes the part. `seconds`: how long the node has recorded. The error names the file.
    pub(super) fn write(&self, seconds: f64, hardware: &Hardware<'_>) -> Result<(), String> {
        let written = whole::write(&self.file, self.text(seconds, hardware).as_bytes());
        written.map_err(|error| format!("{}: {error}", self.file.display()))
    }

    fn text(&self, seconds: f64, hardware: &Hardware<'_>) -> String {
        let Place { node, nodes, position } = self.place;
        let program = std::env::current_exe().unwrap_or_default();
        let program = program.file_name().unwrap_or_default().to_string_lossy();
        let mut text = format!(
            "{{\"format\":\"gasnet-sci matrix\",\"version\":1,\"nodes\":{nodes},\"program\":{},\"seconds\":{seconds:.6},\
             \"topology\":{},\n\"places\":[{{\"rank\":{node},\"host\":{},\"cpus\":{},\"numa\":{},\"position\":{}}}],\n\"rows\":[",
            quoted(&program),
            hardware.topology.map_or("null".into(), quoted),
            quoted(&host::name().to_string_lossy()),
            quoted(&self.cpus),
            number(self.numa),
            number(position)
        );
        let mut begin = "\n";
        for (to, row) in self.rows.iter().enumerate() {
            let (row, sci) = (row.get(), (hardware.traffic)(to as u32));
            if row.is_none() && sci.is_none() {
                continue;
            }
            let _ = write!(text, "{begin}{{\"from\":{node},\"to\":{to}");
            for (kind, numbers) in KINDS.iter().zip(row.iter().flat_map(|row| row.iter())) {
                // Relaxed: see `add`.
                let [count, bytes] = numbers.each_ref().map(|number| number.load(Ordering::Relaxed));
                if count > 0 {
                    let _ = write!(text, ",\"{kind}\":[{count},{bytes}]");
                }
            }
            if let Some(sci) = sci {
                let _ = write!(text, ",\"sci\":{sci}");
            }
            text.push('}');
            begin = ",\n";
        }
        text.push_str("\n]}\n");
        text
    }
}

fn number(value: Option<impl ToString>) -> String {
    value.map_or("null".into(), |value| value.to_string())
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("gasnet-sci-matrix-{}-{name}", sys::pid()))
    }

    #[test]
    fn rows_have_the_kinds_that_occurred_and_only_peers_that_were_met() {
        let file = scratch("rows-%");
        let place = Place { node: 1, nodes: 4, position: Some(3) };
        let matrix = Matrix::new(&file.to_string_lossy(), place).unwrap();
        matrix.add(TracedOp::PutNb, 2, 64);
        matrix.add(TracedOp::PutNbi, 2, 36);
        matrix.add(TracedOp::ReplyShort, 0, 0);
        matrix.add(TracedOp::CollCell, 0, 8);
        matrix.add(TracedOp::CollMove, 0, 100);
        matrix.add(TracedOp::CollGet, 0, 7);
        matrix.add(TracedOp::RequestHandler, 3, 8);
        matrix.add(TracedOp::Barrier, super::super::NO_NODE, 0);
        let hardware = Hardware { topology: None, traffic: &|_| None };
        matrix.write(1.5, &hardware).unwrap();
        let written = scratch("rows-1");
        let text = std::fs::read_to_string(&written).unwrap();
        std::fs::remove_file(written).unwrap();
        assert!(text.contains("\"nodes\":4,") && text.contains("\"seconds\":1.500000,\"topology\":null"), "{text}");
        assert!(text.contains("[{\"rank\":1,\"host\":") && text.contains("\"position\":3}]"), "{text}");
        let rows = "\"rows\":[\n{\"from\":1,\"to\":0,\"short\":[1,0],\"coll\":[2,108],\"coll_get\":[1,7]},\n{\"from\":1,\"to\":2,\"put\":[2,100]}\n]}\n";
        assert!(text.ends_with(rows), "{text}");
        let hardware = Hardware { topology: Some("ring:4"), traffic: &|to| (to > 1).then(|| "{\"p64\":3}".into()) };
        let timed = matrix.text(1.5, &hardware);
        assert!(timed.contains("\"topology\":\"ring:4\",\n"), "{timed}");
        let rows = "\"put\":[2,100],\"sci\":{\"p64\":3}},\n{\"from\":1,\"to\":3,\"sci\":{\"p64\":3}}\n]}\n";
        assert!(timed.ends_with(rows), "{timed}");
    }

    #[test]
    fn several_nodes_need_several_files_that_can_be_written() {
        let place = |nodes| Place { node: 0, nodes, position: None };
        let refusal = |name: &str, nodes| Matrix::new(name, place(nodes)).err().unwrap();
        assert!(refusal("m.json", 2).contains("gasnetrun_sci --matrix m.json"));
        assert!(refusal("/nowhere/m.%", 2).contains("No such file"));
        assert!(refusal("/tmp", 1).contains("Is a directory"));
        assert!(Matrix::new(&scratch("one").to_string_lossy(), place(1)).is_ok());
        assert!(!scratch("one").exists(), "nothing is left of the trial");
    }

    #[test]
    fn strings_are_quoted_as_json_wants_them() {
        assert_eq!(quoted("a\"b\\c\nd"), r#""a\"b\\c\u000ad""#);
    }

    #[test]
    fn every_operation_with_a_peer_and_bytes_has_a_kind() {
        let without: Vec<&str> = TracedOp::ALL.iter().filter(|op| kind(**op).is_none()).map(|op| op.name()).collect();
        assert!(
            !without
                .iter()
                .any(|name| ["PUT", "GET", "MEMSET", "AMREQUEST_S", "AMREPLY_S"].iter().any(|p| name.starts_with(p)))
        );
    }
}
