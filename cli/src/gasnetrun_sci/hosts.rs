//! Which hosts a job has, and how many nodes each may take: from options, files, and the lists of batch systems.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

/// A host that may take nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The name by which it is reached.
    pub name: String,
    /// How many nodes it may take, if that is said.
    pub slots: Option<u32>,
}

/// Where the user wants the list from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// `--host a:16,b:16`.
    List(String),
    /// `-H FILE`.
    File(PathBuf),
    /// The list of the batch system under which this runs.
    Batch,
    /// A variable with which users name hosts for other launchers of the family.
    Family(Family, String),
}

/// Such a variable: its name, and whether it names a file (contract: environment.md §2.4).
type Family = (&'static str, bool);

const FAMILY: [Family; 4] =
    [("GASNET_SSH_NODEFILE", true), ("GASNET_SSH_SERVERS", false), ("GASNET_NODEFILE", true), ("SSH_SERVERS", false)];

impl Source {
    /// The hosts, in order, each once. The error says what is wrong, and where.
    pub fn read(&self) -> Result<Vec<Host>, String> {
        let hosts = match self {
            Source::List(text) => list(text).map_err(|problem| format!("--host {text}: {problem}"))?,
            Source::File(path) => {
                let problem = |problem: String| format!("--hostfile {}: {problem}", path.display());
                let text = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
                file(&text).map_err(problem)?
            }
            Source::Batch => batch(variable)?.ok_or("there is no list of hosts of Slurm, PBS or LSF")?,
            Source::Family((name, is_file), value) => {
                let problem = |problem: String| format!("{name}={value}: {problem}");
                let hosts = match is_file {
                    true => family_file(&std::fs::read_to_string(value).map_err(|error| problem(error.to_string()))?),
                    false => family_list(value),
                };
                match hosts.map_err(problem)? {
                    none if none.is_empty() => return Err(problem("no host is named".into())),
                    hosts => hosts,
                }
            }
        };
        match hosts.is_empty() {
            true => Err("the list of hosts is empty".into()),
            false => Ok(hosts),
        }
    }

    /// Whether a batch system has given this process more than one host.
    pub fn is_batch() -> bool {
        batch(variable).map_or(true, |hosts| hosts.is_some_and(|hosts| hosts.len() > 1))
    }

    /// The list in a variable of the family of launchers, if there is one. `GASNET_SPAWNFN=L` says that all nodes run on this host.
    pub fn family() -> Option<Source> {
        family(variable)
    }
}

fn family(variable: impl Fn(&str) -> Option<String>) -> Option<Source> {
    if variable("GASNET_SPAWNFN").is_some_and(|way| way.trim().eq_ignore_ascii_case("L")) {
        return None;
    }
    FAMILY.iter().find_map(|one| Some(Source::Family(*one, variable(one.0)?)))
}

fn variable(name: &str) -> Option<String> {
    #[allow(clippy::disallowed_methods)] // the batch system's variables, not settings of ours
    let value: Option<OsString> = std::env::var_os(name);
    value.map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.trim().is_empty())
}

// A host that is named twice has the slots of both.
fn joined(hosts: impl IntoIterator<Item = Host>) -> Vec<Host> {
    let mut all: Vec<Host> = Vec::new();
    let mut at: HashMap<String, usize> = HashMap::new();
    for host in hosts {
        if let Some(at) = at.get(&host.name) {
            let known: &mut Host = &mut all[*at];
            known.slots = Some(known.slots.unwrap_or(1).saturating_add(host.slots.unwrap_or(1)));
        } else {
            at.insert(host.name.clone(), all.len());
            all.push(host);
        }
    }
    all
}

// A name that begins with a dash would be an option of the command that starts the agent.
fn name(text: &str) -> Result<String, String> {
    let is_ok = |c: char| c.is_alphanumeric() || "._-@%[]:".contains(c);
    if text.is_empty() || text.starts_with('-') || !text.chars().all(is_ok) {
        return Err(format!("'{text}' is no name of a host"));
    }
    Ok(text.into())
}

fn slots(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=65_535).contains(count));
    count.ok_or_else(|| format!("'{text}' is no number of nodes from 1 to 65535"))
}

// An IPv6 address, perhaps with an interface behind it: `fe80::1%eth0`.
fn is_ipv6(text: &str) -> bool {
    let (address, interface) =
        text.split_once('%').map_or((text, None), |(address, interface)| (address, Some(interface)));
    address.parse::<Ipv6Addr>().is_ok() && interface.is_none_or(|interface| !interface.is_empty())
}

// `name` or `name:slots`. An IPv6 address stands in brackets if slots follow; they are no part of the name by which it is reached. A user
// may stand before the address, as before a name.
fn entry(text: &str) -> Result<Host, String> {
    let (user, rest) = text.rsplit_once('@').map_or(("", text), |(user, rest)| (&text[..=user.len()], rest));
    let Some(rest) = rest.strip_prefix('[') else {
        return match text.split_once(':') {
            Some((host, count)) if !count.contains(':') => Ok(Host { name: name(host)?, slots: Some(slots(count)?) }),
            Some(_) if !is_ipv6(rest) => Err(format!("'{text}' is neither a name, NAME:SLOTS, nor an IPv6 address")),
            _ => Ok(Host { name: name(text)?, slots: None }),
        };
    };
    let (address, rest) = rest.split_once(']').ok_or_else(|| format!("'{text}': a bracket is not closed"))?;
    if !is_ipv6(address) {
        return Err(format!("'{text}': in brackets there must be an IPv6 address, such as [fe80::1%eth0]:4"));
    }
    let slots = match rest {
        "" => None,
        rest => Some(slots(rest.strip_prefix(':').ok_or_else(|| format!("'{text}': ':SLOTS' is wanted behind ']'"))?)?),
    };
    Ok(Host { name: name(&format!("{user}{address}"))?, slots })
}

fn list(text: &str) -> Result<Vec<Host>, String> {
    Ok(joined(text.split(',').map(|item| entry(item.trim())).collect::<Result<Vec<_>, _>>()?))
}

// A line for each host: `name`, `name:slots`, `name slots=N`, `name N`. `#` begins a comment.
fn file(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(first) = words.next() else { continue };
        let problem = |problem: String| format!("line {number}: {problem}");
        let mut host = entry(first).map_err(problem)?;
        for word in words {
            let count = word.strip_prefix("slots=").unwrap_or(word);
            match word.contains('=') && !word.starts_with("slots=") {
                true => {} // a word of another launcher, such as max_slots=
                false => host.slots = Some(slots(count).map_err(problem)?),
            }
        }
        hosts.push(host);
    }
    Ok(joined(hosts))
}

// Other launchers of the family take the names in turn, however often they come round. So a name that is there twice says nothing of slots.
fn once(hosts: impl Iterator<Item = Result<Host, String>>) -> Result<Vec<Host>, String> {
    let mut seen = HashSet::new();
    let mut hosts = hosts.collect::<Result<Vec<_>, _>>()?;
    hosts.retain(|host| seen.insert(host.name.clone()));
    Ok(hosts)
}

// Names with blanks or one of `,;/` between, or with a colon, unless a number of slots follows that.
fn family_list(text: &str) -> Result<Vec<Host>, String> {
    let words = text.split(|c: char| c.is_whitespace() || ",;/".contains(c)).filter(|word| !word.is_empty());
    let hosts = words.flat_map(|word| match word.split_once(':') {
        Some((_, rest)) if !word.contains('[') && !is_ipv6(word) && !rest.starts_with(|c: char| c.is_ascii_digit()) => {
            word.split(':').filter(|part| !part.is_empty()).map(entry).collect()
        }
        _ => vec![entry(word)],
    });
    once(hosts)
}

// The first word of each line is a name; what batch systems write behind it does not count.
fn family_file(text: &str) -> Result<Vec<Host>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let hosts = (1..).zip(lines).filter_map(|(number, line)| Some((number, line.split_whitespace().next()?)));
    once(hosts.map(|(number, word)| entry(word).map_err(|problem| format!("line {number}: {problem}"))))
}

fn batch(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Vec<Host>>, String> {
    if let Some(nodes) = variable("SLURM_JOB_NODELIST").or_else(|| variable("SLURM_NODELIST")) {
        let names = slurm_names(&nodes).map_err(|problem| format!("SLURM_JOB_NODELIST={nodes}: {problem}"))?;
        let tasks = variable("SLURM_TASKS_PER_NODE");
        let counts = tasks.as_deref().map(slurm_counts).transpose();
        let counts = counts.map_err(|problem| format!("SLURM_TASKS_PER_NODE: {problem}"))?.unwrap_or_default();
        let hosts = names.into_iter().enumerate();
        let hosts = hosts.map(|(at, name)| Host { name, slots: counts.get(at).or(counts.last()).copied() });
        return Ok(Some(joined(hosts)));
    }
    if let Some(path) = variable("PBS_NODEFILE") {
        let text = std::fs::read_to_string(Path::new(&path)).map_err(|e| format!("PBS_NODEFILE={path}: {e}"))?;
        return each(text.split_whitespace()).map(Some).map_err(|problem| format!("PBS_NODEFILE: {problem}"));
    }
    if let Some(text) = variable("LSB_MCPU_HOSTS") {
        let words: Vec<&str> = text.split_whitespace().collect();
        let pairs = words.chunks(2).map(|pair| match pair {
            [host, count] => Ok(Host { name: name(host)?, slots: Some(slots(count)?) }),
            _ => Err("a number is missing".to_string()),
        });
        let hosts =
            pairs.collect::<Result<Vec<_>, _>>().map_err(|problem| format!("LSB_MCPU_HOSTS={text}: {problem}"))?;
        return Ok(Some(joined(hosts)));
    }
    let Some(text) = variable("LSB_HOSTS") else { return Ok(None) };
    each(text.split_whitespace()).map(Some).map_err(|problem| format!("LSB_HOSTS: {problem}"))
}

// A host for each slot.
fn each<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<Host>, String> {
    let hosts = names.map(|word| Ok(Host { name: name(word)?, slots: Some(1) }));
    Ok(joined(hosts.collect::<Result<Vec<_>, String>>()?))
}

/// The most hosts that a list may name.
const MOST: usize = 65_535;

// `a,n[1-3,05-07]x,b[1-2]-[3-4]`.
fn slurm_names(text: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in text.char_indices().chain([(text.len(), ',')]) {
        match c {
            '[' => depth += 1,
            ']' if depth == 0 => return Err("a bracket is not opened".into()),
            ']' => depth -= 1,
            ',' if depth == 0 => {
                expand(text[begin..at].trim(), String::new(), &mut names)?;
                begin = at + 1;
            }
            _ => {}
        }
    }
    match depth {
        0 => names.into_iter().map(|text| name(&text)).collect(),
        _ => Err("a bracket is not closed".into()),
    }
}

fn expand(text: &str, before: String, names: &mut Vec<String>) -> Result<(), String> {
    let Some((prefix, rest)) = text.split_once('[') else {
        if names.len() == MOST {
            return Err(format!("there are more than {MOST} hosts"));
        }
        names.push(before + text);
        return Ok(());
    };
    let (ranges, after) = rest.split_once(']').ok_or("a bracket is not closed")?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse::<u32>().map_err(|_| format!("'{range}' is no range of numbers"));
        let (from, to) = (number(first)?, number(last)?);
        if to < from || (to - from) as usize >= MOST {
            return Err(format!("'{range}' is no range of numbers"));
        }
        for value in from..=to {
            expand(after, format!("{before}{prefix}{value:0width$}", width = first.len()), names)?;
        }
    }
    Ok(())
}

// `2(x3),1`.
fn slurm_counts(text: &str) -> Result<Vec<u32>, String> {
    let mut counts = Vec::new();
    for item in text.split(',') {
        let (count, times) = match item.trim().split_once("(x") {
            Some((count, times)) => (count, slots(times.trim_end_matches(')'))?),
            None => (item.trim(), 1),
        };
        let count = slots(count)?;
        counts.extend((0..times).map(|_| count));
        if counts.len() > MOST {
            return Err(format!("there are more than {MOST} hosts"));
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn show(hosts: &[Host]) -> String {
        let text = |host: &Host| format!("{}:{}", host.name, host.slots.map_or("-".into(), |slots| slots.to_string()));
        hosts.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    fn with(variables: &[(&str, &str)]) -> Result<Option<Vec<Host>>, String> {
        batch(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn lists_and_files_have_all_their_forms() {
        for (text, hosts) in [
            ("a:16,b:16", "a:16 b:16"),
            ("a, b", "a:- b:-"),
            ("a,b,a", "a:2 b:-"),
            ("[fe80::1%eth0]:3,fe80::2", "fe80::1%eth0:3 fe80::2:-"),
            ("user@host:2", "user@host:2"),
            ("[fe80::1%eth0]:4", "fe80::1%eth0:4"),
            ("[fd00::1],::1,me@[fd00::2]:7,me@fd00::3", "fd00::1:- ::1:- me@fd00::2:7 me@fd00::3:-"),
        ] {
            assert_eq!(show(&list(text).unwrap()), hosts, "{text}");
        }
        let text = "# hosts\n a slots=4 max_slots=9 # fast\n\nb:2\nc 3\nd\na\n";
        assert_eq!(show(&file(text).unwrap()), "a:5 b:2 c:3 d:-");
    }

    #[test]
    fn what_is_no_host_is_told() {
        for (text, part) in [
            ("a,,b", "'' is no name"),
            ("-oProxyCommand=x", "'-oProxyCommand=x' is no name"),
            ("a:0", "'0' is no number"),
            ("a b", "'a b'"),
            ("[fd00::1", "not closed"),
            ("[fd00::1]4", "':SLOTS' is wanted"),
            ("[fd00::1]:0", "'0' is no number"),
            ("[a]:4", "must be an IPv6 address"),
            ("[fe80::1%]:4", "must be an IPv6 address"),
            ("a:b:c", "nor an IPv6 address"),
        ] {
            assert!(list(text).unwrap_err().contains(part), "{text}");
        }
        assert!(file("a\nb slots=x").unwrap_err().contains("line 2: 'x'"));
        assert!(Source::File("/nonsuch".into()).read().unwrap_err().contains("/nonsuch"));
    }

    #[test]
    fn batch_systems_lists_are_understood() {
        let slurm = [("SLURM_JOB_NODELIST", "n[1-2,09-10]x,m"), ("SLURM_TASKS_PER_NODE", "2(x3),1,5")];
        assert_eq!(show(&with(&slurm).unwrap().unwrap()), "n1x:2 n2x:2 n09x:2 n10x:1 m:5");
        assert_eq!(
            show(&with(&[("SLURM_JOB_NODELIST", "r[1-2]-[3-4]")]).unwrap().unwrap()),
            "r1-3:- r1-4:- r2-3:- r2-4:-"
        );
        assert_eq!(show(&with(&[("LSB_MCPU_HOSTS", "a 4 b 2")]).unwrap().unwrap()), "a:4 b:2");
        assert_eq!(show(&with(&[("LSB_HOSTS", "a a b a")]).unwrap().unwrap()), "a:3 b:1");
        assert_eq!(with(&[]), Ok(None));
        for (variable, value) in [
            ("SLURM_JOB_NODELIST", "n[1-"),
            ("SLURM_JOB_NODELIST", "n[3-1]"),
            ("LSB_MCPU_HOSTS", "a 4 b"),
            ("PBS_NODEFILE", "/nonsuch"),
        ] {
            assert!(with(&[(variable, value)]).unwrap_err().contains(variable), "{value}");
        }
    }

    #[test]
    fn variables_of_the_family_name_hosts_unless_all_nodes_run_here() {
        let source = |variables: &[(&str, &str)]| {
            family(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string()))
        };
        for (name, text, hosts) in [
            ("GASNET_SSH_SERVERS", "h1 h2,h3", "h1:- h2:- h3:-"),
            ("SSH_SERVERS", " h1\th2 ", "h1:- h2:-"),
            ("GASNET_SSH_SERVERS", "h1, h2:4, h1", "h1:- h2:4"),
            ("GASNET_SSH_SERVERS", "fd00::1 fe80::2%eth0,[fd00::3]:2", "fd00::1:- fe80::2%eth0:- fd00::3:2"),
            ("GASNET_SSH_SERVERS", "h1:h2;h3/h4\r\n[fe80::1]:2", "h1:- h2:- h3:- h4:- fe80::1:2"),
        ] {
            assert_eq!(show(&source(&[(name, text)]).unwrap().read().unwrap()), hosts, "{text}");
        }
        let both = source(&[("SSH_SERVERS", "no"), ("GASNET_NODEFILE", "/nonsuch"), ("GASNET_SSH_SERVERS", "yes")]);
        assert_eq!(show(&both.unwrap().read().unwrap()), "yes:-", "the first of the list counts");
        let lines = "h1 4 queue@h1 UNDEFINED\n\n# h9\nh2\nh1\n";
        assert_eq!(show(&family_file(lines).unwrap()), "h1:- h2:-", "as SGE writes it");
        assert!(source(&[("SSH_SERVERS", " , ")]).unwrap().read().unwrap_err().starts_with("SSH_SERVERS= , : no host"));
        let missing = source(&[("GASNET_NODEFILE", "/nonsuch")]).unwrap().read().unwrap_err();
        assert!(missing.starts_with("GASNET_NODEFILE=/nonsuch: "), "{missing}");
        let wrong = source(&[("GASNET_SSH_SERVERS", "a -oProxyCommand=x")]).unwrap().read().unwrap_err();
        assert!(wrong.contains("'-oProxyCommand=x' is no name"), "{wrong}");
        assert_eq!(source(&[("GASNET_SPAWNFN", "l"), ("GASNET_SSH_SERVERS", "h1 h2")]), None);
        assert_eq!(source(&[]), None);
    }

    #[test]
    fn a_pbs_file_names_a_host_for_each_slot() {
        let path = std::env::temp_dir().join(format!("gasnet-sci-pbs-{}", std::process::id()));
        std::fs::write(&path, "a\na\nb\n").unwrap();
        let hosts = with(&[("PBS_NODEFILE", path.to_str().unwrap())]).unwrap().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(show(&hosts), "a:2 b:1");
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_or_an_error(text in "[a-c0-9\\[\\],:() x=#@.\n-]{0,40}") {
            let _ = (list(&text), file(&text), slurm_counts(&text), family_file(&text), family_list(&text));
            if let Ok(names) = slurm_names(&text) {
                prop_assert!(names.iter().all(|name| !name.starts_with('-') && !name.is_empty()));
            }
        }
    }
}
