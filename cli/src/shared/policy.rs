//! What an administrator, or the user, allows jobs of several hosts on a host: `agent.conf`. A standing agent also reads there where it
//! listens.

#![allow(dead_code)] // each command uses a part

use super::registry::{Entry, Found};
use gasnet_sci::base::config::AGENT_CONF;
use gasnet_sci::os::{host, sys};
use std::path::{Path, PathBuf};

/// What `agent.conf` and a second file of the user's allow, each limit with the name of the file that it comes from. The agent of a host
/// reads it before it starts nodes, and checks the job beside the others on that host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    // Names or numbers of those who may run nodes here. Each list must have the user.
    users: Vec<(Vec<String>, String)>,
    jobs: Option<(u32, String)>,
    processes: Option<(u32, String)>,
    cpus: Option<(u32, String)>,
    /// Where a standing agent listens, and the file of its secret. The last file counts.
    pub listen: Option<String>,
    /// See `listen`.
    pub secret: Option<PathBuf>,
}

impl Policy {
    /// Reads the administrator's file, if there is one, and `others`, which must exist. Of two limits the tighter one counts.
    pub fn read(others: &[Option<&str>]) -> Result<Policy, String> {
        let mut limits = Policy::default();
        let others = others.iter().flatten().map(|file| (*file, true));
        for (file, must_exist) in [(AGENT_CONF, false)].into_iter().chain(others) {
            match std::fs::read_to_string(Path::new(file)) {
                Ok(text) => limits.add(&text, file)?,
                Err(error) if must_exist || error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(format!("{file}: {error}"));
                }
                Err(_) => {}
            }
        }
        Ok(limits)
    }

    fn add(&mut self, text: &str, file: &str) -> Result<(), String> {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let problem = |what: &str| format!("{file}, line {number}: {what}: '{line}'");
            let (name, value) = line.split_once('=').ok_or_else(|| problem("it is no 'name = value'"))?;
            let (name, value) = (name.trim(), value.trim());
            let words = value.split([',', ' ']).filter(|word| !word.is_empty()).map(String::from);
            match name {
                "users" => self.users.push((words.collect(), file.into())),
                "listen" => self.listen = Some(value.into()),
                "secret" => self.secret = Some(value.into()),
                _ => self.limit(name, value, file).map_err(problem)?,
            }
        }
        Ok(())
    }

    fn limit(&mut self, name: &str, value: &str, file: &str) -> Result<(), &'static str> {
        let limit = value.parse().map_err(|_| "the value is no number")?;
        let place = match name {
            "jobs" => &mut self.jobs,
            "processes" => &mut self.processes,
            "cpus" => &mut self.cpus,
            _ => return Err("the name is none of users, jobs, processes, cpus, listen and secret"),
        };
        if place.as_ref().is_none_or(|(known, _)| limit < *known) {
            *place = Some((limit, file.into()));
        }
        Ok(())
    }

    /// Checks a job that has just been registered, `own`, beside the other jobs on this host. The error names the limit.
    pub fn check(&self, own: &Entry, all: &[Found]) -> Result<(), String> {
        let (number, name) = (sys::effective_user(), host::user());
        for (users, file) in &self.users {
            if !users.iter().any(|user| *user == number.to_string() || Some(user) == name.as_ref()) {
                let who = name.unwrap_or_else(|| number.to_string());
                return Err(format!("user {who} may not run nodes here ({file}: users)"));
            }
        }
        let others: Vec<&Found> = all.iter().filter(|found| found.id != own.id && found.nodes > 0).collect();
        let sum =
            |count: fn(&Entry) -> u32| others.iter().fold(count(own), |sum, found| sum.saturating_add(count(found)));
        for (limit, what, value) in [
            (&self.jobs, "jobs", sum(|_| 1)),
            (&self.processes, "processes", sum(|entry| entry.nodes)),
            (&self.cpus, "cpus", sum(|entry| entry.cpus)),
        ] {
            if let Some((most, file)) = limit
                && value > *most
            {
                return Err(format!(
                    "too many {what}: with this job there would be {value}, the limit is {most} ({file}: {what})"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::registry::Role;
    use super::*;

    fn entry(id: u64, nodes: u32) -> Entry {
        Entry { id, role: Role::Agent, nodes, all: 8, cpus: nodes, program: "p".into() }
    }

    fn found(id: u64, nodes: u32) -> Found {
        Found { entry: entry(id, nodes), pid: 1, is_near: true, since: 0 }
    }

    fn limits(text: &str) -> Result<Policy, String> {
        let mut limits = Policy::default();
        limits.add(text, "file").map(|()| limits)
    }

    #[test]
    fn excess_is_refused_and_the_limit_named() {
        let all = [found(1, 4), found(2, 4)];
        for (text, part) in [
            ("jobs = 1", "too many jobs: with this job there would be 2, the limit is 1 (file: jobs)"),
            ("processes = 7 # all", "would be 8, the limit is 7 (file: processes)"),
            ("cpus=7\ncpus = 9", "the limit is 7 (file: cpus)"),
            ("users = nobody-at-all, 4294967294", "may not run nodes here (file: users)"),
        ] {
            let refusal = limits(text).unwrap().check(&entry(1, 4), &all).unwrap_err();
            assert!(refusal.contains(part), "{refusal}");
        }
        let me = format!("users = x, {}\njobs = 2\nprocesses = 8\ncpus = 8\n", sys::effective_user());
        assert_eq!(limits(&me).unwrap().check(&entry(1, 4), &all), Ok(()));
    }

    #[test]
    fn files_that_make_no_sense_are_told_with_the_line() {
        for (text, part) in [("\njobs", "file, line 2"), ("jobs = x", "no number"), ("job = 1", "none of users")] {
            assert!(limits(text).unwrap_err().contains(part), "{text}");
        }
        assert!(Policy::read(&[None, Some("/nonsuch")]).unwrap_err().contains("/nonsuch"));
    }
}
