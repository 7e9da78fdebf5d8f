//! The library's variables (docs/sisci.md), read once: SISCI_TRACE by the first call, the others by SCIInitialize.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use crate::hosts::{Hosts, Nodes, Place, Secret};
use crate::model::{Timing, fields_of_file};

/// The node of groups: no node may have this number.
pub const GROUP: u32 = 252;

/// How many adapters a process may have.
pub const ADAPTERS: usize = 4;

/// What the variables say.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `SISCI_NODE_ID`: the node ids of adapter 0, 1, ...
    pub nodes: Vec<u32>,
    /// `SISCI_DIR`: a directory for sockets; without it they are abstract.
    pub directory: Option<PathBuf>,
    /// `SISCI_NODES`: nodes that exist beside this one, with their names. Empty: every id may exist.
    pub known: Vec<(u32, String)>,
    /// `SISCI_COOKIE_FILE` and `SISCI_LINK_TIMEOUT`: the hosts of these nodes. Without a secret all nodes are on this host.
    pub hosts: Option<Hosts>,
    /// `SISCI_DMA_ALIGN`, in bytes.
    pub dma_align: usize,
    /// `SISCI_PIO_ALIGN`, in bytes.
    pub pio_align: usize,
    /// `SISCI_LIMIT`: resources of a kind per descriptor.
    pub limit: usize,
    /// `SISCI_STRICT`: refuse what cards would not know.
    pub strict: bool,
    /// `SISCI_FAULT`.
    pub fault: Fault,
    /// `SISCI_TIMING`: the times of a card.
    pub timing: Option<Timing>,
    /// `SISCI_VERBOSE`: a line on stderr per resource and event.
    pub verbose: bool,
}

/// Injected faults; 0 is never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fault {
    /// Every so many SCIMemCpy are lost, which the next check says; where nothing was copied, every so many checks say RETRIABLE.
    pub retriable: u32,
    /// Every so many sequence checks say PENDING.
    pub pending: u32,
    /// From this sequence check on all say NOT_RETRIABLE.
    pub dead: u32,
    /// So many connects are refused, the first ones.
    pub connect: u32,
    /// Every so many transfers by DMA end in ERROR, when half of their first MiB is there.
    pub dma: u32,
}

/// The variables of this process, once SCIInitialize has read them.
static CONFIG: OnceLock<Config> = OnceLock::new();

/// What the variables said at the first SCIInitialize.
pub fn get() -> Option<&'static Config> {
    CONFIG.get()
}

/// Reads the variables, unless that is done. Says what is wrong with one of them.
pub fn load() -> Result<&'static Config, String> {
    if let Some(config) = CONFIG.get() {
        return Ok(config);
    }
    let config = read(variable)?;
    Ok(CONFIG.get_or_init(|| config))
}

/// The same for who only looks, and is no node: other hosts do not matter.
pub fn load_to_look() -> Result<(), String> {
    let config = read(|name| variable(name).filter(|_| name != "SISCI_COOKIE_FILE"))?;
    CONFIG.get_or_init(|| config);
    Ok(())
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "this is the reader of this library's environment")]
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// Whether this is a set-user-ID program, which must not be led by its caller's variables.
pub fn is_secure() -> bool {
    // SAFETY: getauxval has no conditions.
    #[expect(unsafe_code, reason = "a call of libc")]
    unsafe {
        libc::getauxval(libc::AT_SECURE) != 0
    }
}

/// The file of `SISCI_TRACE`, if one is wanted; lines are added at its end. Needs no SCIInitialize.
pub fn trace() -> Result<Option<File>, String> {
    if is_secure() { Ok(None) } else { open_trace(&variable) }
}

/// `%p` in the file's name is the number of the process.
fn open_trace(of: &impl Fn(&str) -> Option<String>) -> Result<Option<File>, String> {
    let Some(name) = of("SISCI_TRACE") else { return Ok(None) };
    let path = name.replace("%p", &std::process::id().to_string());
    let file = File::options().append(true).create(true).mode(0o600).open(&path);
    file.map(Some).map_err(|error| format!("SISCI_TRACE={name}: cannot write to {path}: {error}"))
}

/// Reads the variables by `of`.
fn read(of: impl Fn(&str) -> Option<String>) -> Result<Config, String> {
    let strict = match of("SISCI_STRICT").as_deref() {
        None | Some("0" | "no") => false,
        Some("1" | "yes") => true,
        Some(other) => return Err(format!("SISCI_STRICT is 0 or 1, not {other:?}")),
    };
    let number = |name: &str, default: usize| match of(name) {
        None => Ok(default),
        Some(text) => text.parse().ok().filter(|&n| n > 0).ok_or(format!("{name} is a number from 1 on, not {text:?}")),
    };
    let align = |name: &str, default| {
        let value = number(name, default)?;
        if value.is_power_of_two() && value <= 4096 {
            Ok(value)
        } else {
            Err(format!("{name} is a power of two up to 4096, not {value}"))
        }
    };
    open_trace(&of)?;
    let nodes = nodes(&of)?;
    let Nodes { names: known, places } = nodes_of_file(&of)?;
    Ok(Config {
        hosts: hosts(&of, places, &nodes)?,
        nodes,
        directory: directory(&of)?,
        known,
        dma_align: align("SISCI_DMA_ALIGN", if strict { 64 } else { 1 })?,
        pio_align: align("SISCI_PIO_ALIGN", if strict { 4 } else { 1 })?,
        limit: number("SISCI_LIMIT", 32)?,
        strict,
        fault: fault(of("SISCI_FAULT").as_deref().unwrap_or(""))?,
        timing: Timing::parse(of("SISCI_TIMING").as_deref().unwrap_or(""), fields_of_file)
            .map_err(|error| format!("SISCI_TIMING: {error}"))?,
        verbose: of("SISCI_VERBOSE").is_some_and(|text| text != "0"),
    })
}

/// Whether a node may have this number.
pub fn is_node(id: u32) -> bool {
    (1..=65_535).contains(&id) && id != GROUP
}

/// The node ids of the adapters. `rank` is the rank that a launcher of MPI or Slurm gave to the process: 4 for the first, then 8, ...
fn nodes(of: &impl Fn(&str) -> Option<String>) -> Result<Vec<u32>, String> {
    let Some(text) = of("SISCI_NODE_ID") else { return Ok(vec![4]) };
    if text == "rank" {
        let names = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];
        let rank = names.iter().find_map(|name| of(name)?.parse::<u32>().ok());
        let id =
            rank.and_then(|rank| rank.checked_add(1)?.checked_mul(4)).map(|id| if id >= GROUP { id + 4 } else { id });
        return id
            .filter(|&id| is_node(id))
            .map(|id| vec![id])
            .ok_or("SISCI_NODE_ID=rank, but no variable of a launcher names a rank".into());
    }
    let ids: Option<Vec<u32>> = text.split(',').map(|id| id.trim().parse().ok().filter(|&id| is_node(id))).collect();
    ids.filter(|ids| ids.len() <= ADAPTERS)
        .ok_or(format!("SISCI_NODE_ID is \"rank\", or up to {ADAPTERS} numbers from 1 to 65535 but 252 with commas between, not {text:?}"))
}

/// The directory for sockets: the user's own, closed to others.
fn directory(of: &impl Fn(&str) -> Option<String>) -> Result<Option<PathBuf>, String> {
    use std::os::unix::fs::MetadataExt;
    let Some(path) = of("SISCI_DIR").map(PathBuf::from) else { return Ok(None) };
    let meta = std::fs::metadata(&path).map_err(|error| format!("SISCI_DIR={}: {error}", path.display()))?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o077 != 0 {
        return Err(format!("SISCI_DIR={} has to be a directory of your own with mode 0700", path.display()));
    }
    let path = path.canonicalize().map_err(|error| format!("SISCI_DIR={}: {error}", path.display()))?;
    // The longest name below it is "65535.dint.4294967295"; a socket's path has 107 bytes.
    if path.as_os_str().len() > 107 - 22 {
        return Err(format!("SISCI_DIR={} is too long: at most 85 bytes", path.display()));
    }
    Ok(Some(path))
}

/// The nodes of the file.
fn nodes_of_file(of: &impl Fn(&str) -> Option<String>) -> Result<Nodes, String> {
    let Some(path) = of("SISCI_NODES") else {
        let text = std::fs::read_to_string("/etc/dis/dishosts.conf").unwrap_or_default();
        return Nodes::parse(&text, is_node).or(Ok(Nodes::default()));
    };
    let text = std::fs::read_to_string(&path).map_err(|error| format!("SISCI_NODES={path}: {error}"))?;
    Nodes::parse(&text, is_node).map_err(|line| format!("SISCI_NODES={path}: cannot read the line {line:?}"))
}

/// The other hosts, if there is a secret that they share with this one.
fn hosts(
    of: &impl Fn(&str) -> Option<String>,
    places: BTreeMap<u32, Place>,
    own: &[u32],
) -> Result<Option<Hosts>, String> {
    let seconds = match of("SISCI_LINK_TIMEOUT") {
        None => 20.0,
        Some(text) => text
            .trim_end_matches('s')
            .trim_end()
            .parse()
            .ok()
            .filter(|seconds| (0.1..=86_400.0).contains(seconds))
            .ok_or(format!("SISCI_LINK_TIMEOUT is a number of seconds from 0.1 to 86400, not {text:?}"))?,
    };
    let Some(path) = of("SISCI_COOKIE_FILE") else { return Ok(None) };
    Hosts::new(places, own, Secret::read(&path)?, Duration::from_secs_f64(seconds)).map(Some)
}

/// `retriable:N`, `pending:N`, `dead:N`, `connect:N`, `dma:N`, with commas between.
fn fault(text: &str) -> Result<Fault, String> {
    let mut fault = Fault::default();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let wrong = || {
            format!("SISCI_FAULT is retriable:N, pending:N, dead:N, connect:N, dma:N with commas between, not {part:?}")
        };
        let (name, value) = part.split_once(':').ok_or_else(wrong)?;
        let value = value.parse().ok().filter(|&value| value > 0).ok_or_else(wrong)?;
        match name {
            "retriable" => fault.retriable = value,
            "pending" => fault.pending = value,
            "dead" => fault.dead = value,
            "connect" => fault.connect = value,
            "dma" => fault.dma = value,
            _ => return Err(wrong()),
        }
    }
    Ok(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, String> {
        read(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn defaults_and_strict_mode() {
        let plain = with(&[]).unwrap();
        assert_eq!((&plain.nodes[..], plain.dma_align, plain.pio_align, plain.limit), (&[4][..], 1, 1, 32));
        let strict = with(&[("SISCI_STRICT", "1"), ("SISCI_NODE_ID", "8,72")]).unwrap();
        assert_eq!((&strict.nodes[..], strict.dma_align, strict.pio_align), (&[8, 72][..], 64, 4));
    }

    #[test]
    fn ranks_become_node_ids_and_never_the_groups() {
        assert_eq!(with(&[("SISCI_NODE_ID", "rank"), ("PMI_RANK", "0")]).unwrap().nodes, [4]);
        assert_eq!(with(&[("SISCI_NODE_ID", "rank"), ("OMPI_COMM_WORLD_RANK", "62")]).unwrap().nodes, [256]);
        assert!(with(&[("SISCI_NODE_ID", "rank")]).is_err());
    }

    #[test]
    fn wrong_values_are_named() {
        for (name, value) in [
            ("SISCI_NODE_ID", "252"),
            ("SISCI_NODE_ID", "0"),
            ("SISCI_NODE_ID", "four"),
            ("SISCI_STRICT", "maybe"),
            ("SISCI_LIMIT", "0"),
            ("SISCI_DMA_ALIGN", "3"),
            ("SISCI_FAULT", "often:3"),
            ("SISCI_FAULT", "dead"),
            ("SISCI_DIR", "/nowhere"),
            ("SISCI_NODES", "/nowhere"),
            ("SISCI_TRACE", "/nowhere/%p"),
            ("SISCI_TIMING", "d340"),
            ("SISCI_LINK_TIMEOUT", "0"),
            ("SISCI_COOKIE_FILE", "/nowhere"),
        ] {
            let error = with(&[(name, value)]).unwrap_err();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn faults() {
        assert_eq!(fault("retriable:3,connect:2").unwrap(), Fault { retriable: 3, connect: 2, ..Fault::default() });
    }
}
