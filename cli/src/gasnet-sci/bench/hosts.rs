//! Jobs on two hosts: how they start, and the rows of the section `hosts`.

use super::jobs::Settings;
use super::node::Samples;
use super::plan::{self, Job, Measure, NETS};
use super::result::{self, Row};
use clap::ArgMatches;
use gasnet_sci::base::config::{Config, Network};
use std::env::current_exe;
use std::io;
use std::process::Command;

/// The hosts of jobs on two.
#[derive(Clone)]
pub enum Hosts {
    /// This host counts as two, which reach each other over the network (GASNET_SCI_SPLIT).
    Split,
    /// These, by the launcher.
    Named([String; 2]),
}

/// Rounds of the two jobs whose near messages are compared, for each round of the others.
const ROUNDS: u32 = 4;

impl Hosts {
    /// As `--hosts` says.
    pub fn of(options: &ArgMatches) -> io::Result<Hosts> {
        let words: Vec<&String> = options.get_many("hosts").into_iter().flatten().collect();
        match words[..] {
            [word] if word == "split" => Ok(Hosts::Split),
            [first, second] => Ok(Hosts::Named([first.clone(), second.clone()])),
            _ => Err(io::Error::other("--hosts: two hosts, as in --hosts a,b, or the word split")),
        }
    }

    /// What starts a job; the nodes' arguments follow.
    pub fn command(&self, job: Job) -> io::Result<Command> {
        let mut command = self.launch(job)?;
        if let Job::Hosts(net, _) = job {
            command.envs(NETS[net].settings.iter().copied());
        }
        if matches!(job, Job::NearOfTwo | Job::NearOfOne) {
            // Where all four nodes are here, they may be more than cores. But two of them rest, so the others need not yield.
            command.env("GASNET_SCI_SPIN", "500");
        }
        Ok(command)
    }

    fn launch(&self, job: Job) -> io::Result<Command> {
        let this = current_exe()?;
        let (nodes, several) = (job.nodes(), matches!(job, Job::Hosts(..) | Job::NearOfTwo | Job::NearOfOne));
        let Hosts::Named(hosts) = self else {
            let mut command = Command::new(this);
            command.env("GASNET_SCI_NODES", nodes.to_string());
            if several {
                command.env("GASNET_SCI_SPLIT", job.hosts().to_string());
            }
            return Ok(command);
        };
        if !several {
            return Hosts::Split.launch(job);
        }
        let mut command = Command::new(this.with_file_name("gasnetrun_sci"));
        let each = nodes / job.hosts();
        let list: Vec<String> = hosts[..job.hosts() as usize].iter().map(|host| format!("{host}:{each}")).collect();
        command.args(["-n", &nodes.to_string(), "-N", &job.hosts().to_string(), "--host", &list.join(","), "--"]);
        command.arg(this);
        Ok(command)
    }

    /// The CPUs of a job's nodes, by rank. Empty: each node looks for itself.
    pub fn cpus(&self, job: Job, two: &[usize]) -> Vec<usize> {
        match (self, job) {
            (Hosts::Named(_), Job::Hosts(..) | Job::NearOfTwo | Job::NearOfOne) => Vec::new(),
            // Neither the first two nor the first nodes of two halves share a CPU.
            (Hosts::Split, Job::Hosts(_, 4) | Job::NearOfTwo | Job::NearOfOne) => vec![two[0], two[1], two[1], two[0]],
            _ => two.to_vec(),
        }
    }
}

/// The rows of jobs on two hosts. What they were measured beside is added to `beside`.
pub fn rows(settings: &Settings, beside: &mut Vec<(Measure, Samples)>) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for job in jobs() {
        let measured = measures(job).into_iter().zip(settings.run(job)?.samples);
        add(job, measured.collect(), &mut rows, beside);
    }
    let near = near(settings)?;
    add(Job::NearOfTwo, near, &mut rows, beside);
    Ok(rows)
}

/// How long `rows` will take, in steps of the jobs' progress.
pub fn steps(settings: &Settings) -> u64 {
    let near = Settings { rounds: settings.rounds * ROUNDS, ..settings.clone() };
    let near = near.steps(Job::NearOfTwo, 2 * measures(Job::NearOfTwo).len());
    jobs().map(|job| settings.steps(job, measures(job).len())).sum::<u64>() + near
}

// The jobs that measure something on two hosts.
fn jobs() -> impl Iterator<Item = Job> {
    let is_named = Config::survey().config.hosts.network != Network::Auto;
    let nets = if is_named { 0..1 } else { 1..NETS.len() };
    nets.flat_map(|net| [Job::Hosts(net, 2), Job::Hosts(net, 4)]).filter(|job| !measures(*job).is_empty())
}

fn measures(job: Job) -> Vec<Measure> {
    plan::measures(job, &|section| section == "hosts")
}

fn add(job: Job, measured: Vec<(Measure, Samples)>, rows: &mut Vec<Row>, beside: &mut Vec<(Measure, Samples)>) {
    for (measure, samples) in measured {
        let row = |view| result::row(job, &measure, view, &samples.ours, &samples.limit);
        rows.extend(measure.views.iter().map(row));
        beside.push((measure, samples));
    }
}

// The limit of messages within a host is the same job on one host. Both jobs are there at once, and their rounds take turns: a machine
// whose speed changes within a second hits both.
fn near(settings: &Settings) -> io::Result<Vec<(Measure, Samples)>> {
    let settings = Settings { rounds: settings.rounds * ROUNDS, ..settings.clone() };
    let [ours, limit] = settings.run_in_turns([Job::NearOfTwo, Job::NearOfOne])?;
    let both = ours.samples.into_iter().zip(limit.samples).map(|(ours, limit)| Samples { limit: limit.ours, ..ours });
    let mut measures = measures(Job::NearOfTwo);
    measures.iter_mut().for_each(|measure| measure.limit = Some(&plan::ONE_HOST));
    Ok(measures.into_iter().zip(both).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> Vec<&str> {
        command.get_args().filter_map(|word| word.to_str()).collect()
    }

    #[test]
    fn named_hosts_are_the_launchers_business() {
        let hosts = Hosts::Named(["a".into(), "b".into()]);
        let command = hosts.command(Job::Hosts(1, 4)).unwrap();
        assert_eq!(words(&command)[..7], ["-n", "4", "-N", "2", "--host", "a:2,b:2", "--"]);
        let command = hosts.command(Job::NearOfOne).unwrap();
        assert_eq!(words(&command)[..7], ["-n", "4", "-N", "1", "--host", "a:4", "--"]);
        assert!(words(&hosts.command(Job::Native).unwrap()).is_empty(), "all else is measured here");
    }

    #[test]
    fn busy_nodes_have_cores_of_their_own() {
        let cpus = |job| Hosts::Split.cpus(job, &[2, 5]);
        for (job, a, b) in
            [(Job::Hosts(1, 2), 0, 1), (Job::Hosts(2, 4), 0, 2), (Job::NearOfTwo, 0, 1), (Job::NearOfOne, 0, 1)]
        {
            assert_ne!(cpus(job)[a], cpus(job)[b], "{}", job.name());
        }
    }
}
