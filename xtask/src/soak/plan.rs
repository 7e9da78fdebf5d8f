//! Everything that a run does. It is made from the seed and the number of the run alone.

use super::program::{Listed, Program, ROLES, one};
use clap::ValueEnum;
use fastrand::Rng;

/// Families of faults, as `--kind` names them.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Kind {
    None,
    Kill,
    Stop,
    StopKill,
    Call,
    Delay,
    Memory,
    Cgroup,
    Descriptors,
    Close,
    Scheduling,
}

impl Kind {
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Whether the job is under a limit from its start on. Then the moment at which the limit strikes is unknown.
    pub fn is_limit(self) -> bool {
        matches!(self, Kind::Memory | Kind::Cgroup | Kind::Descriptors)
    }
}

/// How often each kind comes if all are wanted. Failing calls come most often, because they differ most from each
/// other.
#[rustfmt::skip] // a table
pub const WEIGHTS: [Kind; 13] = {
    use Kind::*;
    [Kill, Call, Call, Call, Stop, StopKill, Delay, Memory, Cgroup, Descriptors, Close, Scheduling, None]
};

/// How a job is started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    Fork,
    Launcher,
}

/// The target of a signal. A node is given by its rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Victim {
    Node(usize),
    /// This node and the next one.
    Several(usize),
    Launcher,
    Everything,
}

/// A fault or disturbance of the job. Times are in milliseconds after its start.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    None,
    Kill {
        signal: &'static str,
        victim: Victim,
        delay: u64,
    },
    /// Stops the node after `node`, then kills `node`.
    StopKill {
        node: usize,
        delay: u64,
    },
    /// Stops the victim for `pause`, this many times.
    Stop {
        victim: Victim,
        times: u64,
        pause: u64,
        delay: u64,
    },
    /// Does that to one node, while all nodes are on one core or have the priorities `nice`.
    Scheduling {
        node: usize,
        times: u64,
        pause: u64,
        delay: u64,
        one_core: bool,
        nice: Option<Vec<i32>>,
    },
    /// The setting of c-tests/soak/faults.c: PROCESS CALL NTH ERRNO TIMES.
    Call {
        call: &'static str,
        fault: String,
    },
    Delay {
        fault: String,
    },
    /// RLIMIT_AS in megabytes.
    Memory(u64),
    /// A cgroup's limit in megabytes.
    Cgroup(u64),
    /// RLIMIT_NOFILE.
    Descriptors(u64),
    /// The client closes all descriptors or uses them all up, as its argument says.
    Close(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub program: Program,
    pub trouble: Trouble,
    pub how: How,
    /// Directory of the program, named after thread mode and segment mode.
    pub build: &'static str,
    pub nodes: usize,
    pub program_seed: u32,
    /// NAME=VALUE.
    pub settings: Vec<&'static str>,
    /// Of [`Program::Death`]: the bytes of its messages.
    pub rounds: u64,
}

const CALLS: [&str; 21] = [
    "mmap", "mmap", "futex_wait", "futex_wake", "memfd_create", "fork", "ftruncate", "pwrite", "pipe2", "dup2",
    "fcntl", "signalfd", "poll", "pthread_create", "prctl", "open64", "membarrier", "process_vm_readv",
    "process_vm_writev", "syscall", "fallocate",
];

const DELAYED: [&str; 9] =
    ["mmap", "futex_wait", "futex_wake", "membarrier", "pwrite", "fork", "syscall", "poll", "fcntl"];

/// Plans of neighbouring runs must differ, so the generator's start differs in all bits.
fn random_of(seed: u64, number: u64) -> Rng {
    Rng::with_seed((seed ^ number.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl Plan {
    /// The plan of run `number`.
    pub fn make(program: Program, seed: u64, number: u64, kinds: &[Kind]) -> Plan {
        let random = &mut random_of(seed, number);
        let kind = one(random, kinds);
        let mut plan = Plan {
            program,
            trouble: Trouble::None,
            how: one(random, &[How::Fork, How::Launcher]),
            build: one(random, program.builds()),
            nodes: one(random, program.nodes()),
            program_seed: random.u32(1..1 << 30),
            settings: settings(random),
            rounds: program.rounds(random),
        };
        plan.trouble = plan.trouble(kind, random);
        plan.settings.extend(program.settings(random));
        plan
    }

    /// The plan of run `number` of --rounds: each program of the list, by turns of builds and starts.
    pub fn listed(program: &'static Listed, number: u64, round: u64) -> Plan {
        let program = Program::Listed(program);
        let plan = Plan::make(program, 0, number, &[Kind::None]);
        let how = [How::Fork, How::Launcher][round as usize % 2];
        Plan { how, build: program.builds()[round as usize % 3], settings: Vec::new(), ..plan }
    }

    /// The plan of run `number` of --kills: SIGKILL at a random moment for one node, the launcher, or everything at once.
    pub fn killed(floods: &[&'static Listed], seed: u64, number: u64) -> Plan {
        // Not the generator of `make`: else the start would say which nodes are hit.
        let random = &mut random_of(!seed, number);
        let plan = Plan::make(Program::Listed(one(random, floods)), seed, number, &[Kind::None]);
        let node = random.usize(..plan.nodes);
        let victim = one(random, &[Victim::Node(node), Victim::Launcher, Victim::Everything]);
        let trouble = Trouble::Kill { signal: "KILL", victim, delay: random.u64(..700) };
        Plan { trouble, settings: Vec::new(), ..plan }
    }

    fn role(&self) -> (&'static str, usize) {
        ROLES[self.program_seed as usize % ROLES.len()]
    }

    /// The program's arguments.
    pub fn arguments(&self) -> Vec<String> {
        match (self.program, &self.trouble) {
            (Program::Listed(program), _) => program.arguments.split_whitespace().map(str::to_owned).collect(),
            (Program::Death, _) => vec![self.role().0.into(), i32::MAX.to_string(), self.rounds.to_string()],
            (_, Trouble::Close(argument)) => {
                vec![self.program_seed.to_string(), self.rounds.to_string(), (*argument).into()]
            }
            _ => vec![self.program_seed.to_string(), self.rounds.to_string()],
        }
    }

    // May change rounds, nodes and build, so that the job still runs when the fault strikes.
    fn trouble(&mut self, kind: Kind, random: &mut Rng) -> Trouble {
        if self.program == Program::Death {
            return Trouble::Kill { signal: "KILL", victim: Victim::Node(self.role().1), delay: random.u64(..200) };
        }
        let node = random.usize(..self.nodes);
        match kind {
            Kind::None => Trouble::None,
            Kind::Kill | Kind::StopKill => {
                // During start-up and attach; in the middle; close to the end of a short program.
                let (delay, rounds) = match random.u8(..3) {
                    0 => (random.u64(..40), 100_000),
                    1 => (50 + random.u64(..400), 100_000),
                    _ => (random.u64(..150), random.u64(..20)),
                };
                self.rounds = rounds;
                if kind == Kind::StopKill {
                    return Trouble::StopKill { node, delay };
                }
                let near = Victim::Node(node);
                let victims = [near, near, near, Victim::Several(node), Victim::Launcher, Victim::Everything];
                let signal = one(random, &["KILL", "KILL", "TERM", "SEGV", "ABRT"]);
                Trouble::Kill { signal, victim: one(random, &victims), delay }
            }
            Kind::Stop => {
                let near = Victim::Node(node);
                let victim = one(random, &[near, near, Victim::Everything, Victim::Launcher]);
                let (times, pause, delay) = (1 + random.u64(..4), 10 + random.u64(..200), random.u64(..60));
                self.rounds = self.fewer_rounds(random);
                Trouble::Stop { victim, times, pause, delay }
            }
            Kind::Scheduling => {
                // Many threads on one core of a busy machine are slow, which is not a fault.
                self.nodes = self.nodes.min(5);
                let trick = random.u8(..4);
                let nice = (trick & 2 != 0).then(|| (0..self.nodes).map(|_| random.i32(0..20)).collect());
                let (times, pause, delay) = (5 + random.u64(..20), 1 + random.u64(..5), random.u64(..60));
                self.rounds = self.fewer_rounds(random);
                Trouble::Scheduling { node: node % self.nodes, times, pause, delay, one_core: trick & 1 != 0, nice }
            }
            Kind::Call => self.failing_call(node, random),
            Kind::Delay => {
                let (process, call) = (random.usize(..=self.nodes), one(random, &DELAYED));
                let (nth, milliseconds) = (1 + random.u64(..10), 10 + random.u64(..200));
                Trouble::Delay { fault: format!("{process} {call} {nth} 0 {milliseconds}") }
            }
            Kind::Memory | Kind::Cgroup | Kind::Descriptors => {
                self.rounds = random.u64(..20);
                match kind {
                    Kind::Memory => Trouble::Memory(8 + random.u64(..200)),
                    Kind::Cgroup => Trouble::Cgroup(2 + random.u64(..60)),
                    _ => Trouble::Descriptors(4 + random.u64(..40)),
                }
            }
            Kind::Close => Trouble::Close(one(random, &["close", "full"])),
        }
    }

    fn fewer_rounds(&self, random: &mut Rng) -> u64 {
        (100 + random.u64(..200)) * 4 / (self.nodes as u64 + 2)
    }

    /// Chooses a call that fails, in a process that makes it, and about as often as it is made.
    fn failing_call(&mut self, node: usize, random: &mut Rng) -> Trouble {
        let call = one(random, &CALLS);
        let error = one(random, &[12, 12, 22, 1, 38, 4, 24, 11]);
        let times = one(random, &[1, 1, 3, 1_000_000]);
        let of_node = node as i64 + 1;
        // 0 is the launcher, -1 any process.
        let process = one(random, &[0, -1, of_node, of_node, of_node]);
        let most = one(random, &[4, 30, 200]);
        let nth = 1 + random.u64(..most);
        let (process, nth) = match call {
            "memfd_create" | "ftruncate" | "signalfd" => (0, 1),
            "fork" => (0, 1 + random.u64(..self.nodes as u64)),
            "pipe2" => (0, 1 + random.u64(..3 * self.nodes as u64)),
            "dup2" | "prctl" | "pwrite" | "fallocate" | "membarrier" | "pthread_create" => {
                (of_node, 1 + random.u64(..3))
            }
            "process_vm_readv" | "process_vm_writev" => {
                self.build = "par-everything";
                self.settings.retain(|setting| !setting.starts_with("GASNET_SCI_CMA="));
                (of_node, nth)
            }
            _ => (process, nth),
        };
        Trouble::Call { call, fault: format!("{process} {call} {nth} {error} {times}") }
    }

    pub fn kind(&self) -> Kind {
        match self.trouble {
            Trouble::None => Kind::None,
            Trouble::Kill { .. } => Kind::Kill,
            Trouble::StopKill { .. } => Kind::StopKill,
            Trouble::Stop { .. } => Kind::Stop,
            Trouble::Scheduling { .. } => Kind::Scheduling,
            Trouble::Call { .. } => Kind::Call,
            Trouble::Delay { .. } => Kind::Delay,
            Trouble::Memory(_) => Kind::Memory,
            Trouble::Cgroup(_) => Kind::Cgroup,
            Trouble::Descriptors(_) => Kind::Descriptors,
            Trouble::Close(_) => Kind::Close,
        }
    }

    /// The row of the table that counts this run.
    pub fn row(&self) -> String {
        match &self.trouble {
            // Without a fault the ways to run are what differs.
            Trouble::None if self.program == Program::Mixed => {
                let ways = if self.settings.contains(&"GASNET_SCI_EXTENDED=ref") { "ref" } else { "native" };
                format!("none: {} {ways}", self.build)
            }
            Trouble::None if matches!(self.program, Program::Listed(_)) => {
                format!("none: {} {:?}", self.build, self.how)
            }
            Trouble::Kill { .. } if self.program == Program::Death => {
                format!("killed as {}, messages of {} bytes", self.role().0, self.rounds)
            }
            Trouble::Kill { signal, .. } => format!("kill SIG{signal}"),
            Trouble::Call { call, .. } => format!("call {call}"),
            _ => self.kind().name(),
        }
    }

    /// The kind, and what happens.
    pub fn describe(&self) -> String {
        let what = match &self.trouble {
            Trouble::None => return "none".into(),
            Trouble::Kill { signal, victim, delay } => format!("SIG{signal} for {victim:?} after {delay} ms"),
            Trouble::StopKill { node, delay } => {
                format!("SIGKILL for node {node} beside a stopped one after {delay} ms")
            }
            Trouble::Stop { victim, times, pause, delay } => {
                format!("{times} times SIGSTOP for {victim:?} for {pause} ms after {delay} ms")
            }
            Trouble::Scheduling { node, times, pause, delay, one_core, nice } => format!(
                "{times} times SIGSTOP for node {node} for {pause} ms after {delay} ms, all on one core: {one_core}, nice: {nice:?}"
            ),
            Trouble::Call { fault, .. } | Trouble::Delay { fault } => format!("SOAK_FAULT='{fault}'"),
            Trouble::Memory(megabytes) => format!("RLIMIT_AS {megabytes} MB"),
            Trouble::Cgroup(megabytes) => format!("cgroup memory.max {megabytes} MB"),
            Trouble::Descriptors(count) => format!("RLIMIT_NOFILE {count}"),
            Trouble::Close(argument) => format!("the client closes or takes all descriptors: {argument}"),
        };
        format!("{}: {what}", self.kind().name())
    }
}

/// Settings that make the job use other ways. Each keeps its default in two of three runs, or in three of four.
fn settings(random: &mut Rng) -> Vec<&'static str> {
    let rare: [(u8, &[&str]); 6] = [
        (3, &["GASNET_SCI_EXTENDED=ref"]),
        (3, &["GASNET_SCI_WINDOW=no"]),
        (4, &["GASNET_SCI_SLOTS=4"]),
        (4, &["GASNET_SCI_DMA_MIN=2K", "GASNET_SCI_BOUNCE_MIN=2K"]),
        (4, &["GASNET_SCI_MEMBARRIER=no"]),
        (4, &["GASNET_SCI_CMA=no"]),
    ];
    let mut settings = Vec::new();
    for (of, words) in rare {
        if random.u8(..of) == 0 {
            settings.extend(words);
        }
    }
    let spin: [&[&str]; 4] = [&["GASNET_SCI_SPIN=100"], &["GASNET_SCI_SPIN=0"], &[], &[]];
    settings.extend(one(random, &spin));
    settings
}

#[cfg(test)]
mod tests {
    use super::super::program::{FLOODS, LENGTHS};
    use super::*;
    use std::collections::BTreeSet;

    const PROGRAMS: [Program; 2] = [Program::Soak, Program::Mixed];

    #[test]
    fn a_seed_makes_one_plan() {
        for program in PROGRAMS {
            for number in 0..200 {
                assert_eq!(Plan::make(program, 7, number, &WEIGHTS), Plan::make(program, 7, number, &WEIGHTS));
            }
            assert_ne!(Plan::make(program, 7, 1, &WEIGHTS), Plan::make(program, 8, 1, &WEIGHTS));
        }
    }

    #[test]
    fn all_kinds_come() {
        for &kind in Kind::value_variants() {
            assert!((0..500).any(|number| Plan::make(Program::Soak, 1, number, &WEIGHTS).kind() == kind), "{kind:?}");
            assert!((0..50).all(|number| Plan::make(Program::Soak, 1, number, &[kind]).kind() == kind), "{kind:?}");
        }
    }

    #[test]
    fn every_role_dies_with_messages_of_every_length() {
        let rows: BTreeSet<String> =
            (0..200).map(|number| Plan::make(Program::Death, 7, number, &[Kind::Kill]).row()).collect();
        assert_eq!(rows.len(), ROLES.len() * LENGTHS.len(), "{rows:?}");
    }

    #[test]
    fn rounds_take_turns_and_every_flood_and_victim_is_hit() {
        let program = Listed::of("testam", "20 4096", false);
        let ways: BTreeSet<String> = (0..6).map(|round| Plan::listed(program, round, round).row()).collect();
        assert_eq!(ways.len(), 6, "{ways:?}");
        let floods: Vec<&Listed> =
            FLOODS.into_iter().map(|(name, arguments)| Listed::of(name, arguments, false)).collect();
        let hits: BTreeSet<String> = (0..300)
            .map(|number| Plan::killed(&floods, 7, number))
            .map(|plan| match plan.trouble {
                Trouble::Kill { victim, .. } => format!("{} {:?} {victim:?}", plan.arguments().join(" "), plan.how),
                _ => unreachable!("it kills"),
            })
            .collect();
        assert_eq!(hits.len(), FLOODS.len() * 2 * 6, "four nodes, the launcher, everything: {hits:?}");
    }

    #[test]
    fn nodes_that_are_named_exist() {
        for number in 0..2000 {
            let plan = Plan::make(PROGRAMS[number as usize % 2], 3, number, &WEIGHTS);
            match plan.trouble {
                Trouble::Kill { victim: Victim::Node(node), .. }
                | Trouble::StopKill { node, .. }
                | Trouble::Scheduling { node, .. } => assert!(node < plan.nodes),
                _ => {}
            }
        }
    }
}
