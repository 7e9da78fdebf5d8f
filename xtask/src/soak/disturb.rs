//! Disturbs the running job: signals, cores, priorities.

use super::plan::{Plan, Trouble, Victim};
use rustix::process::{Pid, Signal, kill_process, setpriority_process};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// The disturbances so far.
#[derive(Default)]
pub struct Done {
    /// When the fault happened, if that is known.
    pub fault_at: Option<SystemTime>,
    pub injected: bool,
}

/// A job that may still run.
pub struct Target<'a> {
    /// The process that was started. Its number cannot be reused until it is waited for.
    pub launcher: Pid,
    pub ended: &'a dyn Fn() -> bool,
}

impl Target<'_> {
    /// The nodes by rank.
    fn children(&self) -> Vec<Pid> {
        let found = children_of(self.launcher);
        match found[..] {
            // The launcher's first process guards its second, which starts the nodes.
            [supervisor] if is_launcher(self.launcher) && is_launcher(supervisor) => children_of(supervisor),
            _ if is_launcher(self.launcher) => Vec::new(),
            _ => found,
        }
    }

    /// The processes of a victim. Waits until there is one. Empty if the job ends first.
    fn choose(&self, victim: Victim) -> Vec<Pid> {
        while !(self.ended)() {
            let nodes = self.children();
            let found: Vec<Pid> = match victim {
                Victim::Launcher => vec![self.launcher],
                Victim::Everything => [self.launcher].into_iter().chain(nodes).collect(),
                Victim::Node(node) => nodes.get(node).copied().into_iter().collect(),
                Victim::Several(node) => {
                    let next = nodes.get((node + 1) % nodes.len().max(1));
                    nodes.get(node).into_iter().chain(next).copied().collect()
                }
            };
            if !found.is_empty() {
                return found;
            }
            sleep(Duration::from_micros(100));
        }
        Vec::new()
    }
}

fn children_of(parent: Pid) -> Vec<Pid> {
    let parent = parent.as_raw_nonzero();
    let list = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
}

fn is_launcher(process: Pid) -> bool {
    let name = fs::read_to_string(format!("/proc/{}/comm", process.as_raw_nonzero()));
    name.is_ok_and(|name| name.trim_end() == "gasnetrun_sci")
}

// Returns true if one of the processes existed.
fn send(signal: Signal, victims: &[Pid]) -> bool {
    victims.iter().map(|pid| kill_process(*pid, signal).is_ok()).fold(false, |any, sent| any | sent)
}

fn signal_of(name: &str) -> Signal {
    match name {
        "TERM" => Signal::TERM,
        "SEGV" => Signal::SEGV,
        "ABRT" => Signal::ABORT,
        _ => Signal::KILL,
    }
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Does to the job what the plan says. Returns after the last of it, or when the job has ended.
pub fn disturb(plan: &Plan, target: &Target) -> Done {
    let mut done = Done::default();
    match &plan.trouble {
        Trouble::Kill { signal, victim, delay } => {
            sleep(milliseconds(*delay));
            let victims = target.choose(*victim);
            if !victims.is_empty() {
                done.fault_at = Some(SystemTime::now());
                send(signal_of(signal), &victims);
            }
        }
        Trouble::StopKill { node, delay } => {
            sleep(milliseconds(*delay));
            if let [first, rest @ ..] = &target.choose(Victim::Several(*node))[..] {
                send(Signal::STOP, rest);
                sleep(milliseconds(20));
                done.fault_at = Some(SystemTime::now());
                send(Signal::KILL, &[*first]);
            }
        }
        Trouble::Stop { victim, times, pause, delay } => {
            sleep(milliseconds(*delay));
            done.injected = stop(plan, target, *victim, *times, *pause);
        }
        Trouble::Scheduling { node, times, pause, delay, one_core, nice } => {
            sleep(milliseconds(*delay));
            crowd(&target.choose(Victim::Everything), *one_core, nice.as_deref());
            done.injected = stop(plan, target, Victim::Node(*node), *times, *pause);
        }
        Trouble::Memory(_) | Trouble::Cgroup(_) | Trouble::Descriptors(_) | Trouble::Close(_) => done.injected = true,
        Trouble::None | Trouble::Call { .. } | Trouble::Delay { .. } => {}
    }
    done
}

/// Stops the victim again and again. If it is a node, the nodes are stopped in turn, beginning with it.
fn stop(plan: &Plan, target: &Target, victim: Victim, times: u64, pause: u64) -> bool {
    let mut stopped = false;
    for turn in 0..times as usize {
        let victim = match victim {
            Victim::Node(node) => Victim::Node((node + turn) % plan.nodes),
            other => other,
        };
        let victims = target.choose(victim);
        if victims.is_empty() {
            break;
        }
        stopped |= send(Signal::STOP, &victims);
        sleep(milliseconds(pause));
        send(Signal::CONT, &victims);
    }
    stopped
}

/// Puts the nodes on one core, or gives them different priorities. `processes` begins with the launcher. What this
/// process is not allowed to do is skipped, because no run depends on it.
fn crowd(processes: &[Pid], one_core: bool, nice: Option<&[i32]>) {
    let nodes = processes.get(1..).unwrap_or_default();
    for (rank, pid) in nodes.iter().enumerate() {
        if one_core {
            let mut first = CpuSet::new();
            first.set(0);
            for task in fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).into_iter().flatten().flatten() {
                let task = task.file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?));
                let _ = task.map(|task| sched_setaffinity(Some(task), &first));
            }
        }
        if let Some(nice) = nice.and_then(|nice| nice.get(rank)) {
            let _ = setpriority_process(Some(*pid), *nice);
        }
    }
}
