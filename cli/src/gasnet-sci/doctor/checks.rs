//! What the doctor makes of the facts. Each check looks at one matter and says nothing if it is well.

use super::facts::Facts;
use super::{Finding, Weight};
use gasnet_sci::job::limits::size;

/// All checks. Findings of one weight are told in this order.
pub const ALL: [fn(&Facts) -> Vec<Finding>; 20] = [
    settings, memory_files, launcher, several_installations, other_library, network, agents, slurm, processors, busy,
    slow_clock_rate, cache_lines, time, memory, processes, resource_limits, overcommit, kernel_copies, fences,
    tune_file,
];

fn stops(what: String, mend: impl Into<String>) -> Finding {
    Finding { weight: Weight::Stops, what, mend: mend.into() }
}

fn slows(what: String, mend: impl Into<String>) -> Finding {
    Finding { weight: Weight::Slows, what, mend: mend.into() }
}

fn note(what: String, mend: impl Into<String>) -> Finding {
    Finding { weight: Weight::Note, what, mend: mend.into() }
}

fn settings(facts: &Facts) -> Vec<Finding> {
    let wrong = facts.report.environment.iter().filter(|variable| !variable.valid).map(|variable| {
        let what =
            format!("{} is '{}', which makes no sense: a job ends in gasnet_init", variable.origin, variable.value);
        stops(what, format!("It takes {}. Unset it, or correct it.", variable.form))
    });
    let unread = facts.misspelt.iter().map(|(name, meant)| {
        let mend = match meant {
            Some(meant) => format!("{meant} is probably meant."),
            None => "Unset it. docs/environment.md has the list of variables.".into(),
        };
        note(format!("{name} is set, and nothing reads it"), mend)
    });
    wrong.chain(unread).collect()
}

fn memory_files(facts: &Facts) -> Vec<Finding> {
    let refused = facts.no_memory_file.iter().map(|why| {
        stops(
            format!("the system gives no memory without a name ({why}), which all nodes of a host share"),
            "A sandbox may forbid memfd_create(2): allow it there.",
        )
    });
    refused.collect()
}

fn launcher(facts: &Facts) -> Vec<Finding> {
    match facts.launcher {
        Some(_) => Vec::new(),
        None => vec![stops("there is no gasnetrun_sci beside this command".into(), "Install both commands together.")],
    }
}

fn several_installations(facts: &Facts) -> Vec<Finding> {
    let [first, others @ ..] = &facts.launchers[..] else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if facts.launcher.as_ref().is_some_and(|own| own != first) {
        let what = format!("this shell runs {}, which is not the launcher of this installation", first.display());
        found.push(note(what, "A program and its launcher must be of one installation: look at PATH."));
    }
    if !others.is_empty() {
        let names: Vec<String> = others.iter().map(|file| file.display().to_string()).collect();
        let what = format!("PATH has more launchers behind {}: {}", first.display(), names.join(", "));
        found.push(note(what, "That does no harm as long as the first is meant."));
    }
    found
}

fn other_library(facts: &Facts) -> Vec<Finding> {
    let shadows = facts.shadowing.iter().map(|file| {
        note(
            format!("LD_LIBRARY_PATH makes programs load {} instead of this installation's library", file.display()),
            "If it is of another version, jobs do not start: take it out of LD_LIBRARY_PATH.",
        )
    });
    let preloaded = (!facts.preloaded.is_empty()).then(|| {
        note(
            format!("LD_PRELOAD puts {} into every program that this shell starts, nodes too", facts.preloaded),
            "Unset it, unless that is meant.",
        )
    });
    shadows.chain(preloaded).collect()
}

fn network(facts: &Facts) -> Vec<Finding> {
    let hosts = &facts.report.hosts;
    let mut found = Vec::new();
    if hosts.is_refused {
        found.push(stops(
            format!("for jobs of several hosts: {}: {}", hosts.network, hosts.why),
            "Look at GASNET_SCI_NETWORK and GASNET_SCI_SECURE.",
        ));
    }
    if let Some(problem) = &hosts.problem {
        found.push(stops(
            format!("for jobs of several hosts: no address at which other hosts reach this one: {problem}"),
            "Look at GASNET_SCI_IFACE and at `ip address`.",
        ));
    } else if hosts.only_loopback {
        found.push(note(
            "this host has no address but the loopback's: it cannot be part of a job of several hosts".into(),
            "Jobs on this host alone do not need one.",
        ));
    }
    if let (Some(device), None) = (&hosts.hardware, &hosts.libfabric.file) {
        found.push(slows(
            format!("there is {device}, and libfabric, which would use it, is not installed"),
            "Install it (Debian: libfabric1).",
        ));
    }
    let small = facts.receive_buffer.filter(|bytes| hosts.network == "udp" && *bytes < 1 << 20);
    found.extend(small.map(|bytes| {
        slows(
            format!(
                "over UDP a node gets at most {} of buffer for what comes in: packets are lost in bursts",
                size(bytes)
            ),
            "sysctl net.core.rmem_max=4194304",
        )
    }));
    found
}

fn agents(facts: &Facts) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    found.extend(facts.no_rsh.iter().map(|word| {
        note(
            format!("there is no '{word}' in PATH, with which agents are started: jobs of several hosts cannot be started here"),
            "Install it, or set GASNET_SCI_RSH. 'standing' needs no ssh (gasnet-sci agent --help).",
        )
    }));
    for conf in &facts.report.hosts.agent_conf {
        found.extend(conf.problem.iter().map(|problem| {
            let what = format!("the limits for jobs of other hosts cannot be read: {}: {problem}", conf.file.display());
            stops(what, "As long as that is so, this host refuses them. Correct the file, or its permissions.")
        }));
    }
    found
}

fn slurm(facts: &Facts) -> Vec<Finding> {
    match facts.has_srun && facts.report.hosts.pmix.file.is_none() {
        true => vec![note(
            "there is srun, and no PMIx library: programs that srun starts directly do not find each other".into(),
            "Install libpmix.so.2 (Debian: libpmix2), or use gasnetrun_sci within the allocation.",
        )],
        false => Vec::new(),
    }
}

fn processors(facts: &Facts) -> Vec<Finding> {
    let cpus = &facts.report.host.cpus;
    let mut found = Vec::new();
    if cpus.usable < cpus.online {
        found.push(note(
            format!(
                "programs of this shell may use {} of {} CPUs ({}), and jobs inherit that",
                cpus.usable, cpus.online, cpus.affinity
            ),
            "If that is not meant: look at taskset -p $$, and at the allocation of the batch system.",
        ));
    }
    if let Some(quota) = cpus.quota.filter(|quota| *quota < cpus.usable as f64) {
        found.push(slows(
            format!("a control group allows {quota} CPUs of {}: nodes that spin use it up and are stopped until the next period", cpus.usable),
            "Start no more nodes than the quota has CPUs, or raise cpu.max.",
        ));
    }
    if cpus.counted < 2 {
        found.push(slows(
            "there is one CPU for all nodes: a message waits until the system lets the other node run".into(),
            "Fine for trying things out. Figures mean nothing here.",
        ));
    }
    found
}

fn busy(facts: &Facts) -> Vec<Finding> {
    let cpus = f64::from(facts.report.host.cpus.counted);
    match facts.load > cpus / 2.0 {
        true => vec![slows(
            format!(
                "on average {:.1} processes wanted to run in the last minute, and there are {cpus} CPUs",
                facts.load
            ),
            "Nodes want a CPU each. Look at top, and start fewer nodes or wait.",
        )],
        false => Vec::new(),
    }
}

fn slow_clock_rate(facts: &Facts) -> Vec<Finding> {
    // These two drivers call their normal setting powersave.
    let is_own = facts.driver.contains("pstate");
    match facts.governor.as_str() {
        governor @ ("powersave" | "conservative") if !is_own => vec![slows(
            format!("the processor's clock is chosen by '{governor}', which keeps it low or raises it late"),
            "cpupower frequency-set -g performance (or schedutil)",
        )],
        _ => Vec::new(),
    }
}

fn cache_lines(facts: &Facts) -> Vec<Finding> {
    let longer = facts.cache_line.filter(|bytes| *bytes > 64).map(|bytes| {
        let what = format!("a line of the caches has {bytes} bytes here. Messages are laid out for lines of 64");
        note(what, "Nothing to do. Messages of two peers that send to a node at once cost more than elsewhere.")
    });
    longer.into_iter().collect()
}

fn time(facts: &Facts) -> Vec<Finding> {
    let is_slow = matches!(facts.clock.as_str(), "hpet" | "acpi_pm" | "jiffies");
    match is_slow {
        true => vec![slows(
            format!("the kernel reads the time from '{}', which takes a microsecond each time", facts.clock),
            "If the processor's counter is sound: boot with clocksource=tsc tsc=reliable.",
        )],
        false => Vec::new(),
    }
}

fn memory(facts: &Facts) -> Vec<Finding> {
    let (memory, least) = (&facts.report.host.memory, facts.report.regions.certain_memory_bytes_per_job);
    let mut found = Vec::new();
    if let Some(available) = memory.available_bytes {
        if available < least {
            let what =
                format!("{} of memory are available, and a job of two nodes needs {}", size(available), size(least));
            found.push(stops(what, "End what uses the memory."));
        } else if available < memory.physical_bytes / 10 {
            let what = format!("{} of {} of memory are available", size(available), size(memory.physical_bytes));
            found.push(note(
                what,
                "Segments that are filled may end a node by lack of memory. GASNET_MAX_SEGSIZE bounds them.",
            ));
        }
    }
    if let Some(group) = &memory.cgroup {
        let left = group.limit.saturating_sub(group.used);
        let what =
            format!("the memory of this control group is bounded: {} of {} are left", size(left), size(group.limit));
        let mend = format!("Segments are cut to that. The limit is in {}.", group.file.display());
        found.push(if left < least { stops(what, mend) } else { note(what, mend) });
    }
    found
}

fn processes(facts: &Facts) -> Vec<Finding> {
    let Some(group) = &facts.report.host.processes else {
        return Vec::new();
    };
    match group.limit.saturating_sub(group.used) {
        left @ 0..16 => vec![stops(
            format!("this control group may start {left} more processes and threads"),
            format!("A job needs a few for each node. The limit is in {}.", group.file.display()),
        )],
        _ => Vec::new(),
    }
}

fn resource_limits(facts: &Facts) -> Vec<Finding> {
    let soft = |name: &str| facts.report.host.resource_limits.iter().find(|limit| limit.name == name)?.soft;
    let mut found = Vec::new();
    if let Some(bytes) = soft("RLIMIT_AS") {
        let need = facts.report.regions.address_space_bytes_per_node;
        let what = format!(
            "a process may have {} of addresses (ulimit -v); a node needs {} and the segments",
            size(bytes),
            size(need)
        );
        let mend = "ulimit -v unlimited, or a smaller GASNET_MAX_SEGSIZE";
        found.push(if bytes < need { stops(what, mend) } else { note(what, mend) });
    }
    if let Some(bytes) = soft("RLIMIT_FSIZE") {
        let what =
            format!("files may have {} at most (ulimit -f), and memory that nodes share counts as a file", size(bytes));
        let mend = "ulimit -f unlimited";
        found.push(if bytes < 64 << 20 { stops(what, mend) } else { note(what, mend) });
    }
    if let Some(files) = soft("RLIMIT_NOFILE").filter(|files| *files < 256) {
        let what = format!("a process may have {files} open files (ulimit -n)");
        found.push(note(what, "A job of many hosts has a connection for each peer that it talks to: ulimit -n 4096"));
    }
    let locked = soft("RLIMIT_MEMLOCK").filter(|_| facts.report.hosts.hardware.is_some());
    found.extend(locked.map(|bytes| {
        note(
            format!(
                "a process may lock {} of memory (ulimit -l), and RDMA hardware needs segments locked",
                size(bytes)
            ),
            "ulimit -l unlimited, in /etc/security/limits.conf for all",
        )
    }));
    found
}

fn overcommit(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    if facts.overcommit == "2" {
        found.push(note(
            "the kernel counts addresses that are reserved as memory that is used (vm.overcommit_memory=2): large segments may be refused".into(),
            "A smaller GASNET_MAX_SEGSIZE, or sysctl vm.overcommit_memory=0",
        ));
    }
    if let Some(maps) = facts.max_maps.filter(|maps| *maps < 8192) {
        found.push(note(
            format!("a process may have {maps} maps (vm.max_map_count): a job of many nodes that map each other needs some for each"),
            "sysctl vm.max_map_count=65530",
        ));
    }
    found
}

fn kernel_copies(facts: &Facts) -> Vec<Finding> {
    let service = &facts.report.host.cross_memory_attach;
    match service.allowed {
        true => Vec::new(),
        false => vec![slows(
            format!(
                "the kernel does not copy between processes ({}): transfers to memory outside segments go by messages",
                service.why
            ),
            "It matters to programs with GASNET_SEGMENT_EVERYTHING only. docs/troubleshooting.md says what forbids it.",
        )],
    }
}

fn fences(facts: &Facts) -> Vec<Finding> {
    let service = &facts.report.host.membarrier;
    match service.allowed {
        true => Vec::new(),
        false => vec![slows(
            format!("membarrier(2) cannot be used ({}): each message costs its sender a fence", service.why),
            "A sandbox may forbid it: allow it there.",
        )],
    }
}

fn tune_file(facts: &Facts) -> Vec<Finding> {
    let file = &facts.report.tune_file;
    match (&file.read, &file.problem) {
        (_, Some(problem)) => {
            vec![note(format!("the tune file is not read: {problem}"), "gasnet-sci tune writes a new one.")]
        }
        (None, None) => vec![note(
            "thresholds are the ones that come with the library: this host has not been measured".into(),
            format!("gasnet-sci tune, on an idle host; it writes {}.", file.default.display()),
        )],
        (Some(_), None) => Vec::new(),
    }
}

#[cfg(test)]
#[path = "tests.rs"] // beside this file, not in a folder of its own
mod tests;
