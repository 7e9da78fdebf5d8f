//! Hosts that are made up: each check sees what it is for, and nothing else.

use super::*;
use crate::report::{AgentConf, Allowed, GroupLimit};

/// A host on which all is well, whatever this one is like.
fn well() -> Facts {
    let mut facts = Facts::gather();
    facts.misspelt.clear();
    facts.launcher = Some("/usr/bin/gasnetrun_sci".into());
    facts.launchers = vec!["/usr/bin/gasnetrun_sci".into()];
    (facts.no_memory_file, facts.no_rsh, facts.has_srun) = (None, None, false);
    facts.shadowing.clear();
    facts.preloaded.clear();
    facts.load = 0.0;
    (facts.governor, facts.clock, facts.overcommit) = ("schedutil".into(), "tsc".into(), "0".into());
    facts.cache_line = Some(64);
    (facts.max_maps, facts.receive_buffer) = (Some(65530), Some(4 << 20));
    let report = &mut facts.report;
    report.environment.iter_mut().for_each(|variable| variable.valid = true);
    let hosts = &mut report.hosts;
    (hosts.is_refused, hosts.problem, hosts.only_loopback, hosts.hardware) = (false, None, false, None);
    hosts.agent_conf.clear();
    let host = &mut report.host;
    (host.cpus.usable, host.cpus.online, host.cpus.quota, host.cpus.counted) = (8, 8, None, 8);
    (host.memory.physical_bytes, host.memory.available_bytes, host.memory.cgroup) = (16 << 30, Some(12 << 30), None);
    host.processes = None;
    host.resource_limits.iter_mut().for_each(|limit| limit.soft = None);
    let allowed = || Allowed { allowed: true, why: String::new() };
    (host.cross_memory_attach, host.membarrier) = (allowed(), allowed());
    (report.tune_file.read, report.tune_file.problem) = (Some("/etc/gasnet-sci/tune.conf".into()), None);
    facts
}

fn findings(facts: &Facts) -> Vec<(Weight, String)> {
    ALL.iter().flat_map(|check| check(facts)).map(|finding| (finding.weight, finding.what)).collect()
}

/// The host on which all is well but for what `change` does has one finding, of this weight, which says this.
#[track_caller]
fn finds(weight: Weight, words: &str, change: impl FnOnce(&mut Facts)) {
    let mut facts = well();
    change(&mut facts);
    let found = findings(&facts);
    assert!(matches!(&found[..], [(is, what)] if *is == weight && what.contains(words)), "{words}: {found:?}");
}

fn limit(facts: &mut Facts, name: &str, soft: u64) {
    let limits = &mut facts.report.host.resource_limits;
    limits.iter_mut().find(|limit| limit.name == name).expect("known").soft = Some(soft);
}

#[test]
fn a_host_on_which_all_is_well_has_no_findings() {
    assert_eq!(findings(&well()), []);
}

#[test]
fn what_stops_jobs_is_found() {
    use Weight::Stops;
    finds(Stops, "makes no sense", |facts| facts.report.environment[0].valid = false);
    finds(Stops, "no memory without a name", |facts| facts.no_memory_file = Some("EPERM".into()));
    finds(Stops, "no gasnetrun_sci beside", |facts| facts.launcher = None);
    finds(Stops, "several hosts", |facts| facts.report.hosts.is_refused = true);
    finds(Stops, "no address", |facts| facts.report.hosts.problem = Some("none".into()));
    finds(Stops, "limits for jobs of other hosts", |facts| {
        let problem = Some("permission denied".into());
        facts.report.hosts.agent_conf.push(AgentConf { file: "/x".into(), exists: true, lines: Vec::new(), problem });
    });
    finds(Stops, "are available", |facts| facts.report.host.memory.available_bytes = Some(1 << 10));
    finds(Stops, "are left", |facts| {
        facts.report.host.memory.cgroup = Some(GroupLimit { limit: 1 << 30, used: 1 << 30, file: "/x".into() });
    });
    finds(Stops, "more processes", |facts| {
        facts.report.host.processes = Some(GroupLimit { limit: 100, used: 95, file: "/x".into() });
    });
    finds(Stops, "ulimit -v", |facts| limit(facts, "RLIMIT_AS", 1 << 20));
    finds(Stops, "ulimit -f", |facts| limit(facts, "RLIMIT_FSIZE", 1 << 20));
}

#[test]
fn what_slows_jobs_down_is_found() {
    use Weight::Slows;
    finds(Slows, "allows 1.5 CPUs", |facts| facts.report.host.cpus.quota = Some(1.5));
    finds(Slows, "one CPU", |facts| facts.report.host.cpus.counted = 1);
    finds(Slows, "wanted to run", |facts| facts.load = 6.0);
    finds(Slows, "powersave", |facts| (facts.governor, facts.driver) = ("powersave".into(), "acpi-cpufreq".into()));
    finds(Weight::Note, "128 bytes", |facts| facts.cache_line = Some(128));
    finds(Slows, "hpet", |facts| facts.clock = "hpet".into());
    finds(Slows, "by messages", |facts| facts.report.host.cross_memory_attach.allowed = false);
    finds(Slows, "a fence", |facts| facts.report.host.membarrier.allowed = false);
    finds(Slows, "over UDP", |facts| {
        (facts.report.hosts.network, facts.receive_buffer) = ("udp".into(), Some(212_992));
    });
    finds(Slows, "libfabric", |facts| {
        (facts.report.hosts.hardware, facts.report.hosts.libfabric.file) = (Some("mlx5_0".into()), None);
    });
}

#[test]
fn what_a_user_may_wonder_about_is_found() {
    use Weight::Note;
    finds(Note, "nothing reads it", |facts| facts.misspelt.push(("GASNET_SCI_SLOT".into(), Some("GASNET_SCI_SLOTS"))));
    finds(Note, "is not the launcher of this", |facts| facts.launchers = vec!["/opt/bin/gasnetrun_sci".into()]);
    finds(Note, "more launchers behind", |facts| facts.launchers.push("/opt/bin/gasnetrun_sci".into()));
    finds(Note, "instead of this installation's", |facts| facts.shadowing.push("/opt/lib/libgasnet_sci.so.0.3".into()));
    finds(Note, "LD_PRELOAD", |facts| facts.preloaded = "libx.so".into());
    finds(Note, "loopback", |facts| facts.report.hosts.only_loopback = true);
    finds(Note, "'ssh'", |facts| facts.no_rsh = Some("ssh".into()));
    finds(Note, "srun", |facts| (facts.has_srun, facts.report.hosts.pmix.file) = (true, None));
    finds(Note, "2 of 8 CPUs", |facts| facts.report.host.cpus.usable = 2);
    finds(Note, "of memory are available", |facts| facts.report.host.memory.available_bytes = Some(1 << 30));
    finds(Note, "open files", |facts| limit(facts, "RLIMIT_NOFILE", 128));
    finds(Note, "overcommit", |facts| facts.overcommit = "2".into());
    finds(Note, "max_map_count", |facts| facts.max_maps = Some(100));
    finds(Note, "tune file", |facts| facts.report.tune_file.problem = Some("line 3".into()));
    finds(Note, "not been measured", |facts| facts.report.tune_file.read = None);
}
