//! What the doctor looks at: the report of `gasnet-sci info`, and what else this host and this shell have.

use crate::host::line;
use crate::report::Report;
use gasnet_sci::base::config::unknown_here;
use gasnet_sci::os::{machine, sys};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The name of the shared library for the loader.
const LIBRARY: &str = "libgasnet_sci.so.0.3";

/// Everything that checks look at. A fact that the system does not give is `None` or empty.
pub struct Facts {
    pub report: Report,
    /// Variables of this shell that begin as ours do and that nothing reads, each with the name that was probably meant.
    pub misspelt: Vec<(String, Option<&'static str>)>,
    /// Why the system gives no memory without a name.
    pub no_memory_file: Option<String>,
    /// The launcher beside this command.
    pub launcher: Option<PathBuf>,
    /// The launchers that this shell finds by name, the one that it runs first; each file once.
    pub launchers: Vec<PathBuf>,
    /// The first word of the command that starts agents, if this shell does not find it.
    pub no_rsh: Option<String>,
    /// This shell finds Slurm's srun.
    pub has_srun: bool,
    /// Files that LD_LIBRARY_PATH puts in front of this installation's library.
    pub shadowing: Vec<PathBuf>,
    /// LD_PRELOAD.
    pub preloaded: String,
    /// Processes that wanted to run, on average over the last minute.
    pub load: f64,
    /// How the processor's clock is chosen, and by which driver.
    pub governor: String,
    pub driver: String,
    /// What the kernel reads the time from.
    pub clock: String,
    /// Bytes of a line of the processors' caches.
    pub cache_line: Option<u64>,
    /// vm.overcommit_memory.
    pub overcommit: String,
    /// vm.max_map_count.
    pub max_maps: Option<u64>,
    /// The largest receive buffer of a socket, in bytes.
    pub receive_buffer: Option<u64>,
}

impl Facts {
    /// Looks at this host and this shell.
    pub fn gather() -> Facts {
        let report = crate::info::report(None);
        let path = list("PATH");
        let find = |name: &str| {
            path.iter().map(|directory| directory.join(name)).filter(|file| is_runnable(file)).collect::<Vec<_>>()
        };
        let rsh = report.hosts.rsh.split_whitespace().next().unwrap_or_default().to_string();
        let is_found = rsh == "standing" || rsh.is_empty() || rsh.contains('/') || !find(&rsh).is_empty();
        let here = std::env::current_exe().and_then(fs::canonicalize).ok();
        let beside = |name: &str| Some(here.as_ref()?.parent()?.join(name)).filter(|file| is_runnable(file));
        let mut launchers: Vec<PathBuf> = Vec::new();
        for file in find("gasnetrun_sci") {
            let file = fs::canonicalize(&file).unwrap_or(file);
            if !launchers.contains(&file) {
                launchers.push(file);
            }
        }
        let cpufreq = |name: &str| line(&format!("/sys/devices/system/cpu/cpu0/cpufreq/{name}"));
        Facts {
            misspelt: unknown_here(),
            no_memory_file: sys::memfd().err().map(|error| error.to_string()),
            launcher: beside("gasnetrun_sci"),
            launchers,
            no_rsh: (!is_found).then_some(rsh),
            has_srun: !find("srun").is_empty(),
            shadowing: shadowing(here.as_deref()),
            preloaded: variable("LD_PRELOAD"),
            load: line("/proc/loadavg").split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0),
            governor: cpufreq("scaling_governor"),
            driver: cpufreq("scaling_driver"),
            clock: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            cache_line: line("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size")
                .parse()
                .ok()
                .or_else(machine::cache_line),
            overcommit: line("/proc/sys/vm/overcommit_memory"),
            max_maps: line("/proc/sys/vm/max_map_count").parse().ok(),
            receive_buffer: line("/proc/sys/net/core/rmem_max").parse().ok(),
            report,
        }
    }
}

/// The library's files in LD_LIBRARY_PATH that do not lie in a directory of libraries of this command's installation.
fn shadowing(here: Option<&Path>) -> Vec<PathBuf> {
    let prefix = here.and_then(|file| file.parent()?.parent());
    let is_own = |file: &Path| {
        let rest = prefix.and_then(|prefix| file.strip_prefix(prefix).ok());
        rest.is_some_and(|rest| rest.to_string_lossy().starts_with("lib"))
    };
    let found = list("LD_LIBRARY_PATH").into_iter().filter_map(|at| fs::canonicalize(at.join(LIBRARY)).ok());
    found.filter(|file| !is_own(file)).collect()
}

fn is_runnable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn list(name: &str) -> Vec<PathBuf> {
    std::env::split_paths(&variable(name)).filter(|path| !path.as_os_str().is_empty()).collect()
}

fn variable(name: &str) -> String {
    #[allow(clippy::disallowed_methods)] // paths of the user's shell, not settings of ours
    std::env::var_os(name).unwrap_or_default().to_string_lossy().into_owned()
}
