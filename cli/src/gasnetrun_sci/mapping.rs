//! `--map FILE`: where the user wants each node. Reads the file, and finds what its places are on a host.
//!
//! Must not know: what a line looks like (`map`), how nodes are bound (`launch`).

use super::format::{self, Format};
use super::hosts::Host;
use super::map::{self, Line, Spot};
use super::place::Place;
use gasnet_sci::os::host;
use gasnet_sci::os::topology::{Binding, Topology};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

/// A position is below this. SCI has 16 bits for a node, and keeps the last 16 numbers.
const POSITIONS: usize = 65_520;

/// A map file, read. Agents are told its name and text, and read that themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// Its name, for messages.
    pub name: String,
    /// What is in it.
    pub text: String,
    #[serde(skip)]
    lines: Vec<Line>,
}

impl Mapping {
    /// Reads `file` for a job of `nodes` nodes. The error says what is wrong with it, and in which line.
    pub fn read(file: &Path, nodes: u32) -> Result<Mapping, String> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| format!("--map {name}: cannot read it: {error}"))?;
        Mapping::parse(name, text, nodes)
    }

    /// The same for text that was read before.
    pub fn parse(name: String, text: String, nodes: u32) -> Result<Mapping, String> {
        format::check(&text, "--map", &[Format::Map]).map_err(|other| format!("--map {name}: {other}"))?;
        let lines = map::parse(&text, nodes as usize).map_err(|problem| {
            // The message begins with the line, as `map::parse` promises.
            let number = problem.strip_prefix("line ").and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
            let shown = number.and_then(|number| text.lines().nth(number.checked_sub(1)?));
            format!("--map {name}: {problem}{}", shown.map_or(String::new(), |line| format!(": '{}'", line.trim())))
        })?;
        let mapping = Mapping { name, text, lines };
        let far = |line: &&Line| matches!(line.place.spot, Spot::Position(at) if at >= POSITIONS);
        match mapping.lines.iter().find(far) {
            Some(line) => Err(mapping.problem(line, format!("positions are below {POSITIONS}"))),
            None => Ok(mapping),
        }
    }

    fn problem(&self, line: &Line, what: String) -> String {
        let text = self.text.lines().nth(line.line - 1).unwrap_or_default().trim();
        format!("--map {}: line {}: {what}: '{text}'", self.name, line.line)
    }

    /// The position of each node, by rank; `None`: the map gives it none.
    pub fn positions(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        self.lines.iter().map(|line| match line.place.spot {
            Spot::Position(at) => u32::try_from(at).ok(),
            _ => None,
        })
    }

    /// The place of node `rank`, as the map has it.
    pub fn place(&self, rank: u32) -> &map::Place {
        &self.lines[rank as usize].place
    }

    /// In a job on this host: refuses places on others.
    pub fn check_own(&self) -> Result<(), String> {
        let own = host::name().to_string_lossy();
        let is_own = |name: &str| name == "localhost" || name == own || Some(name) == own.split('.').next();
        match self.lines.iter().find(|line| line.place.host.as_deref().is_some_and(|name| !is_own(name))) {
            Some(line) => Err(self.problem(line, format!("the job runs on {own} alone (see --host)"))),
            None => Ok(()),
        }
    }

    /// In a job of several hosts: how nodes are placed on `hosts`. `None`: the map names no hosts.
    pub fn hosts(&self, hosts: &[Host]) -> Result<Option<Place>, String> {
        if self.lines.iter().all(|line| line.place.host.is_none()) {
            return Ok(None);
        }
        let of = |line: &Line| {
            let Some(name) = &line.place.host else {
                return Err(self.problem(line, "it names no host, as other lines do".into()));
            };
            let at = hosts.iter().position(|host| host.name == *name);
            at.map(|at| at as u32).ok_or_else(|| self.problem(line, format!("the job has no host {name}")))
        };
        Ok(Some(Place::List(self.lines.iter().map(of).collect::<Result<_, _>>()?)))
    }

    /// The CPUs and memory of the nodes `ranks`, which run on the host of `topology`. `None`: the node is not bound. The error is
    /// about a place that the host does not have, or a CPU that two nodes would have.
    pub fn bindings(&self, topology: &Topology, ranks: &[u32]) -> Result<Vec<Option<Binding>>, String> {
        let mut taken: HashMap<usize, usize> = HashMap::new();
        let mut lines: Vec<(usize, &Line)> = ranks.iter().map(|rank| &self.lines[*rank as usize]).enumerate().collect();
        lines.sort_by_key(|(_, line)| line.line); // so that of two lines the later one is at fault
        let mut all = vec![None; ranks.len()];
        for (at, line) in lines {
            let binding = binding(topology, &line.place.spot).map_err(|what| self.problem(line, what))?;
            for cpu in binding.iter().flat_map(|binding| &binding.cpus) {
                if let Some(first) = taken.insert(*cpu, line.line) {
                    return Err(self.problem(line, format!("CPU {cpu} is taken by line {first}")));
                }
            }
            all[at] = binding;
        }
        Ok(all)
    }
}

fn binding(topology: &Topology, spot: &Spot) -> Result<Option<Binding>, String> {
    let host = host::name().to_string_lossy();
    match spot {
        Spot::Position(_) => Ok(None),
        Spot::Core(core) => match topology.cores.get(*core) {
            Some(cpus) => Ok(Some(topology.binding(cpus.clone()))),
            None => Err(format!("{host} has cores 0 to {} that may be used", topology.cores.len().saturating_sub(1))),
        },
        Spot::Cpus(cpus) => {
            let usable = |cpu: &usize| topology.cores.iter().any(|core| core.contains(cpu));
            match cpus.iter().find(|cpu| !usable(cpu)) {
                Some(cpu) => Err(format!("{host} has no CPU {cpu} that may be used")),
                None => Ok(Some(topology.binding(cpus.clone()))),
            }
        }
        Spot::Numa(id) => match topology.numa.iter().find(|node| node.id == *id) {
            Some(node) => Ok(Some(Binding { cpus: node.cpus.clone(), memory: Some(*id) })),
            None => Err(format!("{host} has no NUMA node {id} with CPUs that may be used")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet_sci::os::topology::NumaNode;

    fn topology() -> Topology {
        let numa = |id, cpus: &[usize]| NumaNode { id, cpus: cpus.into() };
        Topology {
            cores: vec![vec![0, 4], vec![2, 6], vec![1, 5], vec![3, 7]],
            numa: vec![numa(0, &[0, 2, 4, 6]), numa(1, &[1, 3, 5, 7])],
        }
    }

    fn mapping(text: &str, nodes: u32) -> Result<Mapping, String> {
        Mapping::parse("m".into(), text.into(), nodes)
    }

    fn bound(text: &str, nodes: u32) -> Result<Vec<Option<Binding>>, String> {
        mapping(text, nodes)?.bindings(&topology(), &(0..nodes).collect::<Vec<_>>())
    }

    #[test]
    fn places_become_cpus_and_memory() {
        let at = |cpus: &[usize], memory| Some(Binding { cpus: cpus.into(), memory });
        let found = bound("3 pos:9\n0 core:2\n1 cpu:0,4\n2 cpu:2-3\n", 4).unwrap();
        assert_eq!(found, [at(&[1, 5], Some(1)), at(&[0, 4], Some(0)), at(&[2, 3], None), None]);
        assert_eq!(bound("0 numa:1\n1 numa:0\n", 2).unwrap()[0], at(&[1, 3, 5, 7], Some(1)));
        let positions: Vec<_> = mapping("0 pos:7\n1 core:0\n", 2).unwrap().positions().collect();
        assert_eq!(positions, [Some(7), None]);
    }

    #[test]
    fn errors_name_file_line_and_text() {
        for (text, error) in [
            ("0 core:0\n0 core:1 # again\n", "--map m: line 2: rank 0 is in line 1 already: '0 core:1 # again'"),
            ("0 core:1\n1 core:1\n", "--map m: line 2: core:1 is taken by line 1: '1 core:1'"),
            (
                "# all\n0 core:1\n",
                "--map m: line 2: the map ends without rank 1; it needs a line for each of 2: '0 core:1'",
            ),
            ("1 cpu:4\n0 core:0\n", "--map m: line 2: CPU 4 is taken by line 1: '0 core:0'"),
            ("0 pos:65520\n1 pos:0\n", "--map m: line 1: positions are below 65520: '0 pos:65520'"),
        ] {
            assert_eq!(bound(text, 2).unwrap_err(), error);
        }
        for (text, part) in
            [("0 core:4\n", "has cores 0 to 3"), ("0 cpu:7-8\n", "has no CPU 8"), ("0 numa:2\n", "no NUMA node 2")]
        {
            let error = bound(text, 1).unwrap_err();
            assert!(error.starts_with("--map m: line 1: ") && error.contains(part), "{error}");
        }
    }

    #[test]
    fn hosts_are_those_of_the_job() {
        let hosts: Vec<Host> = ["a", "b"].map(|name| Host { name: name.into(), slots: None }).into();
        assert_eq!(mapping("0 b/core:0\n1 a/core:0\n", 2).unwrap().hosts(&hosts), Ok(Some(Place::List(vec![1, 0]))));
        assert_eq!(mapping("0 core:0\n1 core:1\n", 2).unwrap().hosts(&hosts), Ok(None));
        assert!(
            mapping("0 c/core:0\n1 a/core:0\n", 2).unwrap().hosts(&hosts).unwrap_err().contains("no host c: '0 c/")
        );
        assert!(
            mapping("0 b/core:0\n1 core:0\n", 2).unwrap().hosts(&hosts).unwrap_err().contains("line 2: it names no")
        );
        assert!(mapping("0 localhost/core:0\n", 1).unwrap().check_own().is_ok());
        assert!(
            mapping("0 elsewhere/core:0\n", 1).unwrap().check_own().unwrap_err().contains("line 1: the job runs on")
        );
    }
}
