//! Starts the command itself as a job, and measures what can be seen of jobs from outside.

use super::hosts::Hosts;
use super::node::{IN_TURNS, ROUND, Samples, Touched};
use super::plan::{self, Job};
use super::result::{self, Row};
use gasnet_sci_place::progress::Progress;
use std::env::current_exe;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// What the lines of progress begin with.
pub const NAME: &str = "gasnet-sci bench";

/// Steps that a job takes until it measures, and for each of its nodes. A step of progress is about a microsecond.
const START: u64 = 100_000;
const START_OF_NODE: u64 = 5_000;

/// Settings that all jobs have in common.
#[derive(Clone)]
pub struct Settings {
    pub rounds: u32,
    pub quick: bool,
    /// One CPU of each core that is used.
    pub cpus: Vec<usize>,
    pub sections: String,
    /// Number of nodes of the largest job.
    pub most: u32,
    /// The hosts of jobs on two.
    pub hosts: Hosts,
    /// How far all of it is.
    pub progress: Progress,
}

/// The lines that node 0 of a job printed.
#[derive(Default)]
pub struct Printed {
    pub samples: Vec<Samples>,
    pub touched: Option<Touched>,
}

impl Settings {
    // Microseconds per batch. Nodes or threads that share cores need longer batches, because each gets its turn only
    // every few milliseconds.
    fn budget(&self, job: Job) -> u32 {
        match (job, self.quick) {
            (Job::Crowd(_) | Job::Threads | Job::NearOfTwo | Job::NearOfOne, true) => 4000,
            (Job::Crowd(_) | Job::Threads | Job::NearOfTwo | Job::NearOfOne, false) => 20_000,
            // System calls, which vary more than loads and stores do.
            (Job::Hosts(..), true) => 500,
            (Job::Hosts(..), false) => 2000,
            (Job::Layers, _) => self.layers_budget(),
            // Of the hardware's time, which the slowness does not shorten.
            (Job::Timed, _) => 4000,
            (_, true) => 200,
            (_, false) => 400,
        }
    }

    /// The same for each of the programs that are layers.
    pub fn layers_budget(&self) -> u32 {
        if self.quick { 300 } else { 2000 }
    }

    // The node's command line without the name of the command.
    fn arguments(&self, job: Job) -> Vec<String> {
        let cpus: Vec<String> = self.hosts.cpus(job, &self.cpus).iter().map(ToString::to_string).collect();
        let options = [
            ("--job", job.name().to_string()),
            ("--nodes", job.nodes().to_string()),
            ("--rounds", self.rounds.to_string()),
            ("--budget", self.budget(job).to_string()),
            ("--cpus", cpus.join(",")),
            ("--sections", self.sections.clone()),
        ];
        let options = options.into_iter().flat_map(|(name, value)| [name.into(), value]);
        ["bench-node".to_string()].into_iter().chain(options).collect()
    }

    fn command(&self, job: Job) -> io::Result<Command> {
        let mut command = self.hosts.command(job)?;
        command.args(self.arguments(job)).stdin(Stdio::null());
        if job == Job::Timed {
            command.env("GASNET_SCI_SPIN", u32::MAX.to_string()); // each node has a core: no wait becomes a sleep
        } else {
            command.env("GASNET_SCI_EXTENDED", if job == Job::Reference { "ref" } else { "native" });
        }
        // Limits that are copies need the peer's segment to be mapped.
        command.env("GASNET_SUPERNODE_MAXSIZE", "0");
        Ok(command)
    }

    /// Runs a job to its end and returns what node 0 printed.
    pub fn run(&self, job: Job) -> io::Result<Printed> {
        self.progress.say(format!("{} nodes, {}", job.nodes(), job.name()));
        let steps = self.steps(job, self.measures(job));
        let end = self.progress.done() + steps;
        let mut child = self.command(job)?.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut printed = Printed::default();
        let mut fault = None;
        for line in lines {
            match line? {
                line if line == ROUND => self.progress.advance(steps / (u64::from(self.rounds) + 1)),
                line => fault = fault.or(printed.add(job, &line).err()),
            }
        }
        let status = child.wait()?;
        if !status.success() {
            return Err(failed(job, &status));
        }
        self.progress.reach(end);
        fault.map_or(Ok(printed), Err)
    }

    /// How long a job of so many measures takes, in steps of progress: each round of each measure has two batches, with a shorter
    /// one before each.
    pub fn steps(&self, job: Job, measures: usize) -> u64 {
        let batches = u64::from(self.rounds) * measures as u64 * 2;
        START + START_OF_NODE * u64::from(job.nodes()) + batches * u64::from(self.budget(job))
    }

    fn measures(&self, job: Job) -> usize {
        plan::measures(job, &|section| self.sections.split(',').any(|wanted| wanted == section)).len()
    }

    /// Runs two jobs at once whose node 0 waits for a line before each round and prints one after it ([`super::node::IN_TURNS`]). They get
    /// these lines in turns.
    pub fn run_in_turns(&self, jobs: [Job; 2]) -> io::Result<[Printed; 2]> {
        self.progress.say(format!("{} and {}, in turns", jobs[0].name(), jobs[1].name()));
        let steps = self.steps(jobs[0], 2 * self.measures(jobs[0]));
        let end = self.progress.done() + steps;
        let [first, second] = jobs;
        let mut players = [Player::start(self, first)?, Player::start(self, second)?];
        for round in 0..self.rounds as usize {
            // Which of them begins changes, too.
            for turn in [round % 2, (round + 1) % 2] {
                players[turn].play()?;
            }
            self.progress.advance(steps / (u64::from(self.rounds) + 1));
        }
        self.progress.reach(end);
        let [first, second] = players.map(Player::finish);
        Ok([first?, second?])
    }
}

fn failed(job: Job, why: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("job '{}' of {} nodes: {why}", job.name(), job.nodes()))
}

impl Printed {
    fn add(&mut self, job: Job, line: &str) -> io::Result<()> {
        if let Ok(touched) = serde_json::from_str(line) {
            self.touched = Some(touched);
        } else {
            self.samples.push(serde_json::from_str(line).map_err(|error| failed(job, &format!("{error}: {line}")))?);
        }
        Ok(())
    }
}

/// A job under way whose rounds wait for their turns.
struct Player {
    job: Job,
    child: Child,
    turns: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Drop for Player {
    fn drop(&mut self) {
        // It has ended already, unless the other job has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Player {
    fn start(settings: &Settings, job: Job) -> io::Result<Player> {
        let mut command = settings.command(job)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let (turns, lines) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Ok(Player { job, child, turns, lines: BufReader::new(lines).lines() })
    }

    /// Lets the job make one round.
    fn play(&mut self) -> io::Result<()> {
        let line = match writeln!(self.turns, "{IN_TURNS}") {
            Ok(()) => self.lines.next().transpose()?,
            Err(_) => None,
        };
        match line {
            Some(line) if line == IN_TURNS => Ok(()),
            line => Err(failed(self.job, &line.unwrap_or_else(|| "it ended in its turn".into()))),
        }
    }

    /// After the last round: what node 0 prints then.
    fn finish(mut self) -> io::Result<Printed> {
        let mut printed = Printed::default();
        while let Some(line) = self.lines.next().transpose()? {
            printed.add(self.job, &line)?;
        }
        let status = self.child.wait()?;
        if status.success() { Ok(printed) } else { Err(failed(self.job, &status)) }
    }
}

fn powers(most: u32) -> impl Iterator<Item = u32> + use<> {
    (1..).map(|power| 1 << power).take_while(move |nodes| *nodes <= most)
}

/// The jobs of idle polls.
pub fn poll_jobs(settings: &Settings) -> impl Iterator<Item = Job> + use<> {
    let played = [64, plan::PLAYED].into_iter().map(Job::Played);
    played.chain(powers(settings.most).map(Job::Silent))
}

/// The jobs of the memory that silent peers take.
pub fn memory_jobs(settings: &Settings) -> impl Iterator<Item = Job> + use<> {
    let times = memory_runs(settings);
    memory_sizes(settings).flat_map(move |nodes| (0..times).flat_map(move |_| [nodes, FEW])).map(Job::Silent)
}

/// How long `starts` will take, in steps of progress.
pub fn start_steps(settings: &Settings) -> u64 {
    let of = |nodes| u64::from(start_runs(settings)) * settings.steps(Job::Start(nodes), 0);
    powers(settings.most).map(of).sum()
}

/// Rows of idle polls.
pub fn polls(settings: &Settings, wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for job in poll_jobs(settings) {
        let printed = settings.run(job)?;
        for (measure, samples) in plan::measures(job, wanted).iter().zip(&printed.samples) {
            rows.extend(measure.views.iter().map(|view| result::row(job, measure, view, &samples.ours, &[])));
        }
    }
    Ok(rows)
}

/// Number of nodes of the small job that larger ones are compared with. Smaller jobs would not do: each poll looks at
/// the queues of four peers whatever the number of nodes, so with few nodes some of that memory would be missing.
const FEW: u32 = 8;

fn memory_sizes(settings: &Settings) -> impl Iterator<Item = u32> + use<> {
    powers(settings.most).filter(|nodes| *nodes >= 4 * FEW)
}

fn memory_runs(settings: &Settings) -> u32 {
    settings.rounds.min(9)
}

/// Rows of the memory that a node touches per silent peer: the memory beyond that of the small job, divided by the
/// number of nodes beyond it.
pub fn memory(settings: &Settings) -> io::Result<Vec<Row>> {
    let settings = Settings { sections: "memory".into(), ..settings.clone() };
    let touched = |nodes| {
        let printed = settings.run(Job::Silent(nodes))?;
        printed.touched.map(|t| t.touched).ok_or_else(|| io::Error::other("node 0 did not say what it has touched"))
    };
    let mut rows = Vec::new();
    // Memory comes in pages, so a few peers more do not show what one takes.
    for nodes in memory_sizes(&settings) {
        // The size of page tables depends on where the system puts the maps. That is random, but the same for all
        // nodes of a job, and makes 8 KiB more or less. Hence several jobs.
        let per_peer = |_| Ok((touched(nodes)? - touched(FEW)?) / f64::from(nodes - FEW));
        let per_peer = (0..memory_runs(&settings)).map(per_peer).collect::<io::Result<Vec<f64>>>()?;
        let target = (nodes == 64).then_some(1.0);
        rows.push(result::plain("memory", "touched per silent peer", nodes, "KiB", &per_peer, target));
    }
    Ok(rows)
}

/// Rows of the seconds from start to end of a job that does nothing, with the launcher and by fork.
pub fn starts(settings: &Settings) -> io::Result<Vec<Row>> {
    let launcher = current_exe()?.with_file_name("gasnetrun_sci");
    let launcher: Option<PathBuf> = if launcher.exists() { Some(launcher) } else { None };
    if launcher.is_none() {
        eprintln!("gasnet-sci bench: gasnetrun_sci is not beside this command: jobs that it starts are left out");
    }
    let mut rows = Vec::new();
    for nodes in powers(settings.most) {
        settings.progress.say(format!("{nodes} nodes, start"));
        let target = (nodes == 64).then_some(0.5);
        let job = Job::Start(nodes);
        let end = settings.progress.done() + u64::from(start_runs(settings)) * settings.steps(job, 0);
        let forked = time(settings, || settings.command(job))?;
        rows.push(result::plain("start", "start and exit, by fork", nodes, "s", &forked, target));
        if let Some(launcher) = &launcher {
            let launched = time(settings, || {
                let mut command = Command::new(launcher);
                command.args(["-n", &nodes.to_string(), "--"]).arg(current_exe()?).args(settings.arguments(job));
                Ok(command)
            })?;
            rows.push(result::plain("start", "start and exit, by gasnetrun_sci", nodes, "s", &launched, target));
        }
        settings.progress.reach(end);
    }
    rows.sort_by(|a, b| a.operation.cmp(&b.operation));
    Ok(rows)
}

// Runs of a job that starts and ends; half of them with the launcher.
fn start_runs(settings: &Settings) -> u32 {
    2 * settings.rounds.min(5)
}

// Seconds of each of a few runs.
fn time(settings: &Settings, command: impl Fn() -> io::Result<Command>) -> io::Result<Vec<f64>> {
    let once = |_| {
        let mut command = command()?;
        let start = Instant::now();
        let status = command.stdin(Stdio::null()).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("a job that starts and exits: {status}")));
        }
        Ok(start.elapsed().as_secs_f64())
    };
    (0..settings.rounds.min(5)).map(once).collect()
}
