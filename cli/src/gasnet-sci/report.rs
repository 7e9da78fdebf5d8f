//! What `gasnet-sci info` reports. The field names are the keys of its JSON: existing ones stay, new ones may be
//! added.

use serde::Serialize;
use std::path::PathBuf;

/// The whole report.
#[derive(Serialize)]
pub struct Report {
    pub version: &'static str,
    pub configuration: Configuration,
    pub limits: Limits,
    pub regions: Regions,
    pub thresholds: Thresholds,
    pub tune_file: TuneFile,
    pub hosts: HostsReport,
    pub environment: Vec<Variable>,
    pub host: Host,
}

/// What a job on several hosts would use here.
#[derive(Serialize)]
pub struct HostsReport {
    /// `tcp`, `ofi` or `ofi:PROVIDER`.
    pub network: String,
    /// Why this network.
    pub why: String,
    /// A job would not start with it.
    pub is_refused: bool,
    /// Whether what goes over it is protected, and how.
    pub protected: String,
    /// A device that libfabric is for; `null`: there is none.
    pub hardware: Option<String>,
    pub libfabric: LibraryFound,
    /// The interface at which nodes listen for those of other hosts; `null`: see `problem`.
    pub interface: Option<String>,
    /// The first of the addresses there.
    pub address: Option<String>,
    /// All addresses at which nodes listen until they have met, each with its interface, in the order in which others try them.
    pub addresses: Vec<String>,
    /// No other host reaches these.
    pub only_loopback: bool,
    pub problem: Option<String>,
    /// `any`, a port or a range.
    pub ports: String,
    pub link_timeout_seconds: f64,
    /// The command that starts an agent on a host.
    pub rsh: String,
    /// The files of limits on such jobs.
    pub agent_conf: Vec<AgentConf>,
    pub pmix: LibraryFound,
}

/// A library that nodes load if they need it.
#[derive(Serialize)]
pub struct LibraryFound {
    pub name: String,
    /// `null`: it cannot be loaded here.
    pub file: Option<String>,
}

/// A file of limits.
#[derive(Serialize)]
pub struct AgentConf {
    pub file: PathBuf,
    pub exists: bool,
    /// Its lines without comments.
    pub lines: Vec<String>,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

/// Facts about this installation.
#[derive(Serialize)]
pub struct Configuration {
    pub conduit: &'static str,
    pub gasnet_specification: &'static str,
    pub thread_modes: [&'static str; 3],
    pub segment_modes: [&'static str; 3],
    pub architecture: &'static str,
    pub pointer_bits: u32,
    pub page_bytes: u64,
    /// Version of the memory layout that launcher and library must agree on.
    pub job_layout: u32,
    /// Version of the regions' layout, and the kind of machine, which all nodes must agree on.
    pub region_layout: u64,
}

/// The largest numbers that a program may ask for.
#[derive(Serialize)]
pub struct Limits {
    pub max_nodes: u32,
    pub am_max_args: usize,
    pub am_max_medium_bytes: usize,
    pub am_max_long_bytes: usize,
    /// `null`: unlimited.
    pub max_threads: Option<u32>,
}

/// Memory of a job, by its number of nodes.
#[derive(Serialize)]
pub struct Regions {
    pub nodes: u32,
    pub slots: usize,
    pub slot_bytes: usize,
    pub request_ring_bytes: usize,
    pub reply_ring_bytes: usize,
    /// Bytes of the queue of one ordered pair of nodes.
    pub queue_bytes_per_peer: usize,
    pub command_bytes_per_node: usize,
    pub control_bytes_per_node: usize,
    pub max_segment_bytes_per_node: u64,
    pub address_space_bytes_per_node: u64,
    pub certain_memory_bytes_per_job: u64,
}

/// Lengths and counts at which the library changes from one way to another.
#[derive(Serialize)]
pub struct Thresholds {
    pub dma_min_bytes: u64,
    /// The least length that goes to the DMA thread if GASNET_SCI_DMA is set.
    pub dma_thread_min_bytes: u64,
    pub vis_maxchunk_bytes: u64,
    /// `null`: never.
    pub bounce_min_bytes: Option<u64>,
    /// `null`: chosen by the number of nodes per core.
    pub spin_polls: Option<u32>,
    pub exit_timeout_seconds: f64,
}

/// The file with thresholds measured on this host.
#[derive(Serialize)]
pub struct TuneFile {
    /// The path where this installation looks for it.
    pub default: PathBuf,
    /// The file that is used; `null`: none.
    pub read: Option<PathBuf>,
    /// Why the file is not used.
    pub problem: Option<String>,
}

/// One environment variable.
#[derive(Serialize)]
pub struct Variable {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub value: String,
    pub default: &'static str,
    /// The origin of the value: `default`, `tune file`, or the name under which the environment sets it.
    pub origin: String,
    pub valid: bool,
    pub form: &'static str,
    pub meaning: &'static str,
}

/// Facts about this host.
#[derive(Serialize)]
pub struct Host {
    pub name: String,
    pub kernel: String,
    pub cpus: Cpus,
    pub numa_nodes: Vec<Numa>,
    pub memory: Memory,
    pub huge_pages: HugePages,
    pub cross_memory_attach: Allowed,
    pub membarrier: Allowed,
    pub resource_limits: Vec<Resource>,
    pub processes: Option<GroupLimit>,
    pub shared_memory_files: SharedMemoryFiles,
}

/// CPUs of this host and of this process.
#[derive(Serialize)]
pub struct Cpus {
    pub online: usize,
    pub usable: usize,
    /// In the notation of `taskset -c`.
    pub affinity: String,
    pub cores: usize,
    /// CPUs of the cgroup's quota; `null`: none.
    pub quota: Option<f64>,
    /// The number that the library uses.
    pub counted: u32,
}

/// One NUMA node that has usable CPUs.
#[derive(Serialize)]
pub struct Numa {
    pub id: usize,
    pub cpus: String,
    pub memory_bytes: Option<u64>,
}

/// Memory of this host.
#[derive(Serialize)]
pub struct Memory {
    pub physical_bytes: u64,
    pub available_bytes: Option<u64>,
    pub cgroup: Option<GroupLimit>,
    /// The limit to which segments are cut.
    pub limit_bytes: u64,
    pub limited_by: &'static str,
}

/// A control group's limit.
#[derive(Serialize)]
pub struct GroupLimit {
    pub limit: u64,
    pub used: u64,
    pub file: PathBuf,
}

/// Huge pages.
#[derive(Serialize)]
pub struct HugePages {
    /// The selected word (in brackets) of each setting; empty if the kernel has no such setting.
    pub transparent: String,
    pub transparent_shared: String,
    pub reserved: Vec<HugePool>,
}

/// Pages of one size that the administrator reserved.
#[derive(Serialize)]
pub struct HugePool {
    pub page_bytes: u64,
    pub total: u64,
    pub free: u64,
}

/// Whether the kernel lets this process use a service.
#[derive(Serialize)]
pub struct Allowed {
    pub allowed: bool,
    pub why: String,
}

/// A resource limit of this process; `null`: unlimited.
#[derive(Serialize)]
pub struct Resource {
    pub name: &'static str,
    pub soft: Option<u64>,
    pub hard: Option<u64>,
    pub unit: &'static str,
}

/// Files in /dev/shm. The library does not need them.
#[derive(Serialize)]
pub struct SharedMemoryFiles {
    pub used: bool,
    pub why: &'static str,
}
