//! `gasnet-sci info`: the report about this installation and this host, as text or JSON.

use crate::host;
use crate::network;
use crate::report::*;
use clap::ArgMatches;
use gasnet_sci::am::region::{self, Layout};
use gasnet_sci::base::config::{Config, Setting, Survey, tune};
use gasnet_sci::job::limits::{self, size};
use gasnet_sci_place::paint::{self, BAD, HEAD};
use std::io::{self, Write};

/// Prints the report.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let report = report(options.get_one::<u32>("nodes").copied());
    let mut out = paint::out();
    if options.get_flag("json") {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)
    } else {
        write_text(&mut out, &report)
    }
}

/// What is so here; sizes are for a job of `nodes`.
pub fn report(nodes: Option<u32>) -> Report {
    let Survey { config, settings, tuned, problem } = Config::survey();
    let nodes = nodes.unwrap_or(config.nodes.max(2));
    let layout = Layout::new(nodes, config.slots_among(nodes));
    Report {
        version: env!("CARGO_PKG_VERSION"),
        configuration: Configuration {
            conduit: "SCI",
            gasnet_specification: "1.8",
            thread_modes: ["SEQ", "PARSYNC", "PAR"],
            segment_modes: ["FAST", "LARGE", "EVERYTHING"],
            architecture: std::env::consts::ARCH,
            pointer_bits: usize::BITS,
            page_bytes: limits::PAGE,
            job_layout: gasnet_sci::supervise::header::VERSION,
            region_layout: region::layout_version(),
        },
        limits: Limits {
            max_nodes: 65535,
            am_max_args: region::MAX_ARGS,
            am_max_medium_bytes: region::MAX_MEDIUM,
            am_max_long_bytes: region::MAX_LONG,
            max_threads: config.max_threads,
        },
        regions: Regions {
            nodes,
            slots: layout.slots(),
            slot_bytes: region::SLOT,
            request_ring_bytes: region::RING,
            reply_ring_bytes: region::RING,
            queue_bytes_per_peer: layout.queue_len(),
            command_bytes_per_node: layout.command_len(),
            control_bytes_per_node: layout.control_len(),
            max_segment_bytes_per_node: limits::max_segment(
                config.max_segsize.map(|size| limits::asked(size, nodes)),
                nodes,
            ),
            address_space_bytes_per_node: limits::address_space_for(nodes),
            certain_memory_bytes_per_job: limits::certain_memory(nodes, nodes),
        },
        thresholds: Thresholds {
            dma_min_bytes: config.dma_min,
            dma_thread_min_bytes: config.dma_thread_min,
            vis_maxchunk_bytes: config.vis_maxchunk,
            bounce_min_bytes: (config.bounce_min != u64::MAX).then_some(config.bounce_min),
            spin_polls: config.spin,
            exit_timeout_seconds: config.exit_seconds(nodes),
        },
        tune_file: TuneFile {
            default: tune::place(tune::Asker::here().code.as_deref()),
            read: tuned.map(|tuned| tuned.file),
            problem,
        },
        hosts: network::look(&config),
        environment: settings.into_iter().map(variable).collect(),
        host: host::look(),
    }
}

/// The origin of values that the tune file sets.
const TUNED: &str = "tune file";

fn variable(setting: Setting) -> Variable {
    let Setting { var, found, tuned, valid } = setting;
    let tuned = tuned.map(|value| (TUNED.into(), value));
    let (origin, value) = found.or(tuned).unwrap_or(("default".into(), var.default.into()));
    Variable {
        name: var.name,
        aliases: var.aliases,
        value,
        default: var.default,
        origin,
        valid,
        form: var.form,
        meaning: var.doc,
    }
}

// --- for people ----------------------------------------------------------------------------------

fn write_text(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let configuration = &report.configuration;
    writeln!(out, "{HEAD}gasnet-sci {}{HEAD:#}", report.version)?;
    row(out, "conduit", format_args!("{}, GASNet {}", configuration.conduit, configuration.gasnet_specification))?;
    row(out, "thread modes", configuration.thread_modes.join(", "))?;
    row(out, "segment modes", configuration.segment_modes.join(", "))?;
    row(out, "built for", format_args!("{}, {} bits", configuration.architecture, configuration.pointer_bits))?;
    row(out, "page", bytes(configuration.page_bytes))?;
    let layouts = format_args!("job {}, regions {:#x}", configuration.job_layout, configuration.region_layout);
    row(out, "layout versions", layouts)?;

    let limits = &report.limits;
    writeln!(out, "\n{HEAD}Limits{HEAD:#}")?;
    row(out, "nodes", limits.max_nodes)?;
    row(out, "AM arguments", limits.am_max_args)?;
    row(out, "AM Medium", bytes(limits.am_max_medium_bytes as u64))?;
    row(out, "AM Long", bytes(limits.am_max_long_bytes as u64))?;
    row(out, "client threads per node", limits.max_threads.map_or("unlimited".into(), |n| n.to_string()))?;

    let regions = &report.regions;
    writeln!(out, "\n{HEAD}Regions of a job of {} nodes{HEAD:#}", regions.nodes)?;
    row(
        out,
        "per peer: slots",
        format_args!("{} requests, as many replies, {}", regions.slots, bytes(regions.slot_bytes as u64)),
    )?;
    row(
        out,
        "per peer: rings",
        format_args!(
            "requests {}, replies {}",
            size(regions.request_ring_bytes as u64),
            size(regions.reply_ring_bytes as u64)
        ),
    )?;
    row(out, "per peer: queue", bytes(regions.queue_bytes_per_peer as u64))?;
    row(out, "per node: commands", bytes(regions.command_bytes_per_node as u64))?;
    row(out, "per node: control", bytes(regions.control_bytes_per_node as u64))?;
    row(out, "per node: largest segment", bytes(regions.max_segment_bytes_per_node))?;
    row(
        out,
        "per node: address space",
        format_args!("{} and the segments", bytes(regions.address_space_bytes_per_node)),
    )?;
    row(out, "memory, at least", bytes(regions.certain_memory_bytes_per_job))?;

    let thresholds = &report.thresholds;
    writeln!(out, "\n{HEAD}Thresholds{HEAD:#}")?;
    let origin = |name: &str| {
        let found = report.environment.iter().find(|variable| variable.name == name);
        match found.map_or("default", |variable| variable.origin.as_str()) {
            origin @ ("default" | TUNED) => format!("   ({origin})"),
            name => format!("   (set by {name})"),
        }
    };
    let from = |least: u64, name| format!("from {}{}", bytes(least), origin(name));
    row(out, "Long by DMA", from(thresholds.dma_min_bytes, "GASNET_SCI_DMA_MIN"))?;
    let bounce = "GASNET_SCI_BOUNCE_MIN";
    let never = || format!("never{}", origin(bounce));
    row(out, "unaligned Long by bounce", thresholds.bounce_min_bytes.map_or_else(never, |least| from(least, bounce)))?;
    row(out, "by a DMA thread, if any", from(thresholds.dma_thread_min_bytes, "GASNET_SCI_DMA_THREAD_MIN"))?;
    let pieces = format!("up to {}{}", bytes(thresholds.vis_maxchunk_bytes), origin("GASNET_VIS_MAXCHUNK"));
    row(out, "pieces packed by messages", pieces)?;
    let spin = thresholds.spin_polls.map_or("by nodes per core".into(), |polls| format!("{polls} polls"));
    row(out, "spinning before sleep", format!("{spin}{}", origin("GASNET_SCI_SPIN")))?;
    row(out, "orderly exit", format_args!("{} s", thresholds.exit_timeout_seconds))?;
    let tune_file = &report.tune_file;
    let file = match (&tune_file.read, &tune_file.problem) {
        (Some(file), _) => file.display().to_string(),
        (None, Some(problem)) => format!("NOT READ: {problem}"),
        (None, None) => format!("none; gasnet-sci tune writes {}", tune_file.default.display()),
    };
    row(out, "tune file", file)?;

    write_hosts(out, &report.hosts)?;
    write_host(out, &report.host)?;
    write_environment(out, &report.environment)
}

fn write_hosts(out: &mut impl Write, hosts: &HostsReport) -> io::Result<()> {
    writeln!(out, "\n{HEAD}Jobs on several hosts{HEAD:#}")?;
    row(out, "network", format_args!("{}: {}", hosts.network, hosts.why))?;
    row(out, "protected", &hosts.protected)?;
    row(out, "RDMA hardware", hosts.hardware.as_deref().unwrap_or("none"))?;
    let found = |library: &LibraryFound| library.file.clone().unwrap_or_else(|| format!("no {} here", library.name));
    row(out, "libfabric", found(&hosts.libfabric))?;
    let address = match (&hosts.interface, &hosts.problem) {
        (Some(_), _) if hosts.only_loopback => {
            format!("{}: NO OTHER HOST REACHES THE LOOPBACK", hosts.addresses.join(", "))
        }
        (Some(_), _) => hosts.addresses.join(", "),
        (None, problem) => format!("NONE: {}", problem.as_deref().unwrap_or_default()),
    };
    row(out, "interface", address)?;
    row(out, "ports", &hosts.ports)?;
    row(out, "silent hosts are lost", format_args!("after {} s", hosts.link_timeout_seconds))?;
    row(out, "agents are started by", &hosts.rsh)?;
    for conf in &hosts.agent_conf {
        let what = match (&conf.problem, conf.exists) {
            (Some(problem), _) => format!("NOT READ: {problem}"),
            (None, false) => "not there: no limits".into(),
            (None, true) => conf.lines.join("; "),
        };
        row(out, "limits on agents", format_args!("{}: {what}", conf.file.display()))?;
    }
    row(out, "PMIx", found(&hosts.pmix))
}

fn write_host(out: &mut impl Write, host: &Host) -> io::Result<()> {
    writeln!(out, "\n{HEAD}This host: {}, {}{HEAD:#}", host.name, host.kernel)?;
    let cpus = &host.cpus;
    let quota = cpus.quota.map_or("no quota".into(), |quota| format!("quota {quota}"));
    row(
        out,
        "CPUs",
        format_args!(
            "{} online, {} usable ({}), {} cores, {quota}",
            cpus.online, cpus.usable, cpus.affinity, cpus.cores
        ),
    )?;
    for numa in &host.numa_nodes {
        let memory = numa.memory_bytes.map_or(String::new(), |bytes| format!(", {}", size(bytes)));
        row(out, &format!("NUMA node {}", numa.id), format_args!("CPUs {}{memory}", numa.cpus))?;
    }
    let memory = &host.memory;
    let available = memory.available_bytes.map_or("unknown".into(), size);
    row(out, "memory", format_args!("{} physical, {available} available", size(memory.physical_bytes)))?;
    let group = |limit: &Option<GroupLimit>, show: fn(u64) -> String| match limit {
        Some(limit) => format!("{}, {} used ({})", show(limit.limit), show(limit.used), limit.file.display()),
        None => "no limit".into(),
    };
    row(out, "cgroup: memory", group(&memory.cgroup, size))?;
    row(out, "cgroup: processes", group(&host.processes, |number| number.to_string()))?;
    let huge = &host.huge_pages;
    let word = |word: &str| if word.is_empty() { "not in this kernel".to_string() } else { word.to_string() };
    row(
        out,
        "huge pages",
        format_args!("transparent {}, shared memory {}", word(&huge.transparent), word(&huge.transparent_shared)),
    )?;
    for pool in &huge.reserved {
        row(
            out,
            &format!("huge pages of {}", size(pool.page_bytes)),
            format_args!("{} reserved, {} free", pool.total, pool.free),
        )?;
    }
    let allowed = |service: &Allowed| format!("{} ({})", if service.allowed { "yes" } else { "no" }, service.why);
    row(out, "cross-memory attach", allowed(&host.cross_memory_attach))?;
    row(out, "membarrier", allowed(&host.membarrier))?;
    for limit in &host.resource_limits {
        let show = |value: Option<u64>| match value {
            None => "unlimited".into(),
            Some(value) if limit.unit == "bytes" => size(value),
            Some(value) => value.to_string(),
        };
        row(out, limit.name, format_args!("{}, at most {}", show(limit.soft), show(limit.hard)))?;
    }
    row(out, "/dev/shm", format_args!("not used: {}", host.shared_memory_files.why))
}

fn write_environment(out: &mut impl Write, variables: &[Variable]) -> io::Result<()> {
    writeln!(out, "\n{HEAD}Environment{HEAD:#}")?;
    for variable in variables {
        let value = if variable.value.is_empty() { "none" } else { &variable.value };
        let origin = match variable.origin.as_str() {
            "default" => "default".to_string(),
            TUNED => format!("tune file; default: {}", or_none(variable.default)),
            name if name == variable.name => format!("set; default: {}", or_none(variable.default)),
            name => format!("set by {name}; default: {}", or_none(variable.default)),
        };
        writeln!(out, "  {} = {value}   ({origin})", variable.name)?;
        if !variable.valid {
            writeln!(out, "      {BAD}NOT VALID{BAD:#}: expected {}", variable.form)?;
        }
        writeln!(out, "      {}", variable.meaning)?;
        if !variable.aliases.is_empty() {
            writeln!(out, "      also: {}", variable.aliases.join(", "))?;
        }
    }
    Ok(())
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn row(out: &mut impl Write, name: &str, value: impl std::fmt::Display) -> io::Result<()> {
    writeln!(out, "  {name:<26}{value}")
}

// `65536 (64 KiB)`.
fn bytes(number: u64) -> String {
    if number < 1024 { format!("{number} bytes") } else { format!("{number} bytes ({})", size(number)) }
}
