//! What the launcher tells agents before there are nodes: each its part of the job.

use super::super::place::{self, Load, Place};
use super::super::start::Start;
use super::remote::{Remote, State};
use super::{Director, next};
use gasnet_sci::base::config::environment;
use gasnet_sci::os::sys;
use gasnet_sci::supervise::channel::Frame;

impl Director {
    // Tells all agents their parts, once all have answered.
    pub(super) fn tell(&mut self) {
        let waits = |remote: &Remote| matches!(remote.state, State::Waiting | State::Starting);
        if self.told || self.lead.ending.has_begun() || self.remotes.iter().any(waits) {
            return;
        }
        self.told = true;
        if let Err(problem) = self.place_and_tell() {
            self.fail(1, problem);
        }
    }

    fn place_and_tell(&mut self) -> Result<(), String> {
        let map = match self.plan.map.take() {
            Some(map) => map,
            None => {
                let loads: Vec<Load> = self.remotes[..self.hosts.len()].iter().map(Remote::load).collect();
                place::place(&self.plan.place, self.plan.order.nodes, &self.hosts, false, None, &loads)?
            }
        };
        if self.plan.place == Place::Next {
            next::write(&self.hosts[map[map.len() - 1] as usize].name);
        }
        // Hosts without nodes have no number.
        let mut numbers = vec![None; self.hosts.len()];
        let used = (0..self.hosts.len()).filter(|at| map.contains(&(*at as u32)));
        for (number, at) in (0..).zip(used) {
            numbers[at] = Some(number);
            let here = (0..).zip(&map).filter(|(_, of)| **of as usize == at);
            self.remotes[at].ranks = here.map(|(rank, _)| rank).collect();
        }
        let hosts: Vec<u32> = map.iter().map(|at| numbers[*at as usize].unwrap_or(0)).collect();
        let directory = std::env::current_dir().map_err(|error| format!("no current directory: {error}"))?;
        let secret = || sys::secret().map_err(|error| format!("no random bytes for the job's secret: {error}"));
        let mut start = Start {
            id: self.plan.id,
            secret: [secret()?, secret()?],
            host: 0,
            hosts,
            directory,
            environment: environment(),
            umask: current_umask(),
            ignored: self.ignored,
            matrix: self.matrix.is_some(),
            mapping: self.plan.mapping.clone(),
            file: self.plan.file.clone(),
            zeroth: self.plan.zeroth.clone(),
            order: self.plan.order.clone(),
        };
        for (remote, number) in self.remotes.iter_mut().zip(numbers) {
            match number {
                Some(number) => {
                    start.host = number;
                    remote.send(&Frame::Start(start.encode()));
                    remote.state = State::Running;
                }
                None if remote.state == State::Greeted => {
                    remote.send(&Frame::Kill);
                    remote.let_go();
                }
                None => {}
            }
        }
        Ok(())
    }
}

fn current_umask() -> u32 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = text.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("Umask:")?.trim(), 8).ok());
    value.unwrap_or(0o077)
}
