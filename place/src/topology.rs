//! Reads topologies: a word (`ring:8`, `torus:4x2`, `switch:4`, `host`) or a JSON file.
//!
//! The file is an object whose `kind` is `ring` or `switch` (`nodes`), `torus` (`x`, `y`), `host`, `hosts`, `links` (names of
//! `machines`, and `links` between them), or `matrix` (`alpha` in ns and `beta` in ns per byte, a row per position). Those of links may name a `model`. `host` and each of
//! `hosts` takes `sys`, a copy of /sys/devices/system; `hosts` also takes numbers: `packages` with `numa` NUMA nodes
//! with `l3` caches with `cores` cores, and `count` for several alike. `costs` replaces lines by tier (`host.rs`), `between` those
//! between hosts.
//!
//! Must not know: traffic, searching.

use super::host::{self, Costs, Host, Tier};
use super::links::Shape;
use super::machine::Machine;
use super::matrix::MOST;
use super::model::{Line, Model};
use super::net::{Cable, Net};
use crate::format::{self, Format};
use crate::map::{Place, Spot};
use gasnet_sci::sci::model::{Topology, is_file};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// What the user wants of a topology.
#[derive(Default)]
pub struct Wanted<'a> {
    /// The model of SCI links.
    pub model: Option<&'a str>,
    /// Costs of this host are measured.
    pub measure: bool,
    /// It is for so many ranks.
    pub ranks: usize,
}

/// Reads `text`.
///
/// # Errors
/// It is no topology, or has too few positions. The message names it.
pub fn read(text: &str, wanted: &Wanted<'_>) -> Result<Machine, String> {
    let described = if is_file(text) {
        let json = fs::read_to_string(text).map_err(|error| format!("{text}: {error}"))?;
        of_json(&json).map_err(|error| format!("{text}: {error}"))?
    } else {
        Described { form: word(text)?, model: None }
    };
    finish(text, described, wanted)
}

/// Takes the topology that another file holds, as JSON. `name` is what the answer calls it.
///
/// # Errors
/// As for `read`.
pub fn of_value(name: &str, value: &Value, wanted: &Wanted<'_>) -> Result<Machine, String> {
    match value {
        Value::String(word) => read(word, wanted),
        Value::Object(_) => {
            let described = of_object(value.clone()).map_err(|error| format!("{name}: {error}"))?;
            finish(name, described, wanted)
        }
        _ => Err(format!("{name}: a topology is a word or an object")),
    }
}

/// No machines yet.
pub fn none() -> Machine {
    join("nothing yet", Net::default())
}

fn finish(text: &str, described: Described, wanted: &Wanted<'_>) -> Result<Machine, String> {
    let ranks = wanted.ranks;
    let machine = build(text, described, wanted).map_err(|error| format!("{text}: {error}"))?;
    match machine.positions() {
        0 => Err(format!("{text}: it has no positions")),
        few if few < ranks => Err(format!("{text}: {ranks} ranks need as many positions, it has {few}")),
        many if many > MOST => Err(format!("{text}: {many} positions; this program takes {MOST} at most")),
        _ => Ok(machine),
    }
}

/// Reads `text` for tests.
#[cfg(test)]
pub fn of(text: &str, model: Option<&str>, ranks: usize) -> Result<Machine, String> {
    read(text, &Wanted { model, ranks, measure: false })
}

/// A topology before its costs are known.
struct Described {
    form: Form,
    model: Option<Value>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Form {
    /// SCI links, which the library reads.
    #[serde(skip)]
    Sci(Topology),
    Host(HostForm),
    Hosts(HostsForm),
    /// Machines and links.
    Links {
        machines: Vec<String>,
        #[serde(default)]
        links: Vec<Cable>,
    },
    Matrix {
        alpha: Vec<Vec<f64>>,
        beta: Vec<Vec<f64>>,
    },
}

#[derive(Deserialize, Default)]
struct HostForm {
    #[serde(default)]
    sys: Option<PathBuf>,
    #[serde(default)]
    costs: BTreeMap<String, [f64; 2]>,
}

#[derive(Deserialize)]
struct HostsForm {
    hosts: Vec<OneHost>,
    #[serde(default)]
    costs: BTreeMap<String, [f64; 2]>,
    #[serde(default)]
    between: Option<Between>,
}

#[derive(Deserialize)]
struct OneHost {
    name: String,
    #[serde(default = "one")]
    count: usize,
    #[serde(default)]
    sys: Option<PathBuf>,
    #[serde(default = "one")]
    packages: usize,
    #[serde(default = "one")]
    numa: usize,
    #[serde(default = "one")]
    l3: usize,
    #[serde(default = "one")]
    cores: usize,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Between {
    Same { alpha: f64, beta: f64 },
    Each { alpha: Vec<Vec<f64>>, beta: Vec<Vec<f64>> },
}

fn one() -> usize {
    1
}

fn word(text: &str) -> Result<Form, String> {
    if text == "host" {
        return Ok(Form::Host(HostForm::default()));
    }
    let other = |error| format!("{error}, nor host, nor a JSON file (its name has a / or ends in .json)");
    Topology::parse(text).map(Form::Sci).map_err(other)
}

fn of_json(text: &str) -> Result<Described, String> {
    format::check(text, "--topology", &[Format::Topology, Format::Costs])?;
    of_object(serde_json::from_str(text).map_err(|error| error.to_string())?)
}

fn of_object(mut value: Value) -> Result<Described, String> {
    let fields = value.as_object_mut().ok_or("a topology is an object")?;
    let model = fields.remove("model");
    if fields.contains_key("alpha") {
        fields.entry("kind").or_insert("matrix".into());
    }
    let form = match value["kind"].as_str() {
        Some("ring" | "torus" | "switch") => Form::Sci(Topology::of_json(&value)?),
        _ => serde_json::from_value(value).map_err(|error| error.to_string())?,
    };
    Ok(Described { form, model })
}

fn build(text: &str, described: Described, wanted: &Wanted<'_>) -> Result<Machine, String> {
    let Wanted { model: chosen, measure, ranks } = *wanted;
    let is_sci = matches!(described.form, Form::Sci(_));
    if chosen.is_some() && !is_sci {
        return Err("--model is for ring, torus and switch; this topology has costs of its own".into());
    }
    if measure && !matches!(&described.form, Form::Host(form) if form.sys.is_none()) {
        return Err("--measure is for this host: --topology host, or a file of that kind without sys".into());
    }
    let sci = |topology: Topology| {
        let positions = topology.positions().map_or(0, |all| all as usize);
        if positions > MOST {
            return Err(format!("more than {MOST} positions"));
        }
        let model = match (chosen, &described.model) {
            (Some(name), _) => Model::parse(name)?,
            (None, Some(value)) => Model::of_json(value)?,
            (None, None) => Model::parse("scipos")?,
        };
        Ok(Machine::sci(text, topology, positions, &model))
    };
    match described.form {
        Form::Sci(topology) => sci(topology),
        Form::Matrix { alpha, beta } => matrix(text, &alpha, &beta),
        Form::Links { machines, links } => Ok(join(text, Net::new(machines, links)?)),
        Form::Host(form) => {
            let host = match &form.sys {
                Some(root) => Host::copied("host", root)?,
                None => Host::this("host"),
            };
            let known = if measure { host.measured(host::assumed())? } else { host::assumed() };
            Ok(host::machine(text, &[host], ranks, &costs(known, &form.costs)?, |_, _| Line::default()))
        }
        Form::Hosts(form) => hosts(text, &form, ranks),
    }
}

fn hosts(text: &str, form: &HostsForm, ranks: usize) -> Result<Machine, String> {
    let mut hosts = Vec::new();
    for one in &form.hosts {
        for number in 0..one.count {
            let name = if one.count > 1 { format!("{}{number}", one.name) } else { one.name.clone() };
            let sizes = [one.packages, one.numa, one.l3, one.cores];
            hosts.push(match &one.sys {
                Some(root) => Host::copied(&name, root)?,
                None if sizes.iter().try_fold(1, |all: usize, n| all.checked_mul(*n)).is_none_or(|all| all > MOST) => {
                    return Err(format!("{name}: more than {MOST} cores"));
                }
                None => Host::described(&name, sizes),
            });
            if hosts.len() > MOST {
                return Err(format!("more than {MOST} hosts"));
            }
        }
    }
    let mut names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("two hosts have the name {}", twice[0]));
    }
    let costs = costs(host::assumed(), &form.costs)?;
    match &form.between {
        None => Ok(host::machine(text, &hosts, ranks, &costs, |_, _| costs[Tier::Network as usize])),
        Some(Between::Same { alpha, beta }) => {
            let line = line(*alpha, *beta)?;
            Ok(host::machine(text, &hosts, ranks, &costs, |_, _| line))
        }
        Some(Between::Each { alpha, beta }) => {
            let lines = lines(alpha, beta, hosts.len())?;
            Ok(host::machine(text, &hosts, ranks, &costs, |a, b| lines[a][b]))
        }
    }
}

fn join(text: &str, net: Net) -> Machine {
    let places = (0..net.machines.len()).map(|at| Place::here(Spot::Position(at))).collect();
    let rates = net.rates();
    let costs = net.clone();
    Machine::plain(text, Shape::Net(net), places, rates, |p, q| {
        let (alpha, beta) = costs.cost(p, q);
        (format!("{alpha} ns, {beta} ns a byte"), Line { alpha, beta })
    })
}

fn matrix(text: &str, alpha: &[Vec<f64>], beta: &[Vec<f64>]) -> Result<Machine, String> {
    let lines = lines(alpha, beta, alpha.len())?;
    let places = (0..alpha.len()).map(|at| Place::here(Spot::Position(at))).collect();
    Ok(Machine::plain(text, Shape::Points, places, Vec::new(), |p, q| {
        let line = lines[p][q];
        (format!("{} ns, {} ns a byte", line.alpha, line.beta), line)
    }))
}

// Square tables of `size` rows, as lines.
fn lines(alpha: &[Vec<f64>], beta: &[Vec<f64>], size: usize) -> Result<Vec<Vec<Line>>, String> {
    let is_square = |table: &[Vec<f64>]| table.len() == size && table.iter().all(|row| row.len() == size);
    if !is_square(alpha) || !is_square(beta) || size > MOST {
        return Err(format!("alpha and beta need {size} rows of {size} numbers, {MOST} at most"));
    }
    let row = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| line(*a, *b)).collect();
    alpha.iter().zip(beta).map(row).collect()
}

fn line(alpha: f64, beta: f64) -> Result<Line, String> {
    let fits = |value: f64| value.is_finite() && value >= 0.0;
    let line = Line { alpha, beta };
    (fits(alpha) && fits(beta)).then_some(line).ok_or(format!("{alpha}, {beta}: costs are numbers from 0 on"))
}

fn costs(mut costs: Costs, changes: &BTreeMap<String, [f64; 2]>) -> Result<Costs, String> {
    for (name, [alpha, beta]) in changes {
        let tier = Tier::named(name).ok_or_else(|| format!("costs: there is no tier '{name}'"))?;
        costs[tier as usize] = line(*alpha, *beta)?;
    }
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::of as read;
    use super::*;

    fn json(text: &str, ranks: usize) -> Result<Machine, String> {
        of_json(text).and_then(|described| build("file.json", described, &Wanted { ranks, ..Wanted::default() }))
    }

    #[test]
    fn words_and_their_files_are_the_same_topology() {
        let word = read("torus:4x2", Some("d312"), 8).unwrap();
        let file = json(r#"{"kind":"torus","x":4,"y":2,"model":"d312"}"#, 8).unwrap();
        assert_eq!((word.level, word.levels, word.shape), (file.level, file.levels, file.shape));
        assert_eq!(read("switch:5", None, 5).unwrap().levels.len(), 2);
        assert_eq!(read("ring:5", None, 2).unwrap().positions(), 5);
    }

    #[test]
    fn hosts_are_counted_named_and_priced() {
        let text = r#"{"kind":"hosts","hosts":[{"name":"n","count":2,"cores":3},{"name":"big","packages":2,"cores":2}],
            "costs":{"l3":[70,0.01]},"between":{"alpha":[[0,1,2],[3,0,4],[5,6,0]],"beta":[[0,0,0],[0,0,0],[0,0,0]]}}"#;
        let machine = json(text, 10).unwrap();
        let names: Vec<String> = machine.places.iter().map(|place| place.to_string()).collect();
        assert_eq!((&names[0][..], &names[5][..], &names[9][..]), ("n0/core:0", "n1/core:2", "big/core:3"));
        let alpha = |p, q| machine.levels[machine.level(p, q)].lines[0].alpha;
        assert_eq!([alpha(0, 1), alpha(0, 3), alpha(3, 9), alpha(6, 0), alpha(6, 8)], [70.0, 1.0, 4.0, 5.0, 250.0]);
    }

    #[test]
    fn matrices_give_each_pair_its_line() {
        let machine = json(r#"{"alpha":[[0,5],[7,0]],"beta":[[0,1],[2,0]]}"#, 2).unwrap();
        assert_eq!(machine.levels[machine.level(1, 0)].lines[3], Line { alpha: 7.0, beta: 2.0 });
        assert_eq!(machine.shape.count(), 0);
    }

    #[test]
    fn machines_with_links_of_their_own_cost_what_the_way_does() {
        let text = r#"{"kind":"links","machines":["a","b","c"],"links":[
            {"name":"ab","ends":[0,1],"alpha":100,"beta":0.5},{"ends":[1,2]}]}"#;
        let machine = json(text, 3).unwrap();
        assert_eq!(machine.levels[machine.level(2, 0)].lines[1], Line { alpha: 2100.0, beta: 0.5 });
        assert_eq!((machine.rates[0], machine.shape.links()[1].from.as_str()), (2.0, "b"));
        let held = of_value("s.json", &serde_json::from_str(text).unwrap(), &Wanted::default()).unwrap();
        assert_eq!((held.level, held.levels), (machine.level, machine.levels));
        let word = of_value("s.json", &"ring:3".into(), &Wanted::default()).unwrap();
        assert_eq!(word.topology, "ring:3");
        let number = of_value("s.json", &3.into(), &Wanted::default());
        assert!(number.unwrap_err().contains("s.json: a topology is"));
        assert_eq!(none().positions(), 0);
    }

    #[test]
    fn what_is_no_topology_is_refused_by_name() {
        for text in ["ring", "ring:x", "torus:4", "torus:4x", "mesh:3", "", "/nonexistent.json"] {
            assert!(read(text, None, 1).unwrap_err().contains(text), "{text}");
        }
        assert!(read("ring:3", None, 4).unwrap_err().contains("4 ranks need as many positions, it has 3"));
        assert!(read("ring:0", None, 0).unwrap_err().contains("ring:0"));
        assert!(read("torus:9999x9", None, 1).unwrap_err().contains("SCI has"));
        assert!(read("ring:60000", None, 1).unwrap_err().contains("more than"));
        assert!(read("host", Some("d339"), 1).unwrap_err().contains("--model is for"));
        let measured = Wanted { measure: true, ranks: 1, model: None };
        assert!(super::read("ring:3", &measured).unwrap_err().contains("--measure is for this host"));
        for (text, what) in [
            (r#"{"alpha":[[0,1],[1]],"beta":[[0,1],[1,0]]}"#, "2 rows of 2 numbers"),
            (r#"{"alpha":[[0,-1],[1,0]],"beta":[[0,1],[1,0]]}"#, "from 0 on"),
            (r#"{"kind":"hosts","hosts":[{"name":"a"},{"name":"a"}]}"#, "two hosts have the name a"),
            (r#"{"kind":"hosts","hosts":[{"name":"a","cores":100000}]}"#, "more than"),
            (r#"{"kind":"host","costs":{"l9":[1,1]}}"#, "no tier 'l9'"),
            (r#"{"kind":"host","sys":"/nonexistent"}"#, "/nonexistent"),
            (r#"{"kind":"links","machines":["a","b"]}"#, "no links lead from a to b"),
            (r#"{"kind":"mesh"}"#, "mesh"),
            (r#"{"kind":"ring","nodes":4,"model":"x"}"#, "'x' is not off"),
            ("[]", "an object"),
        ] {
            let error = json(text, 1).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
