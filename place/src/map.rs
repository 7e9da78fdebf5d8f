//! The map file: which rank runs at which place. `gasnet-sci place` writes it, `gasnetrun_sci --map` and `place --from`
//! read it.
//!
//! The file is text. `#` starts a comment. Each rank has one line, `RANK PLACE`, in any order. A place is `pos:K` (a
//! position of the topology), `core:K` (the K-th core that may be used), `cpu:LIST` (CPUs by the system's numbers) or
//! `numa:K` (a NUMA node by the system's number); `HOST/` before it names the host.
//!
//! Must not know: which places a host or a topology has.

use gasnet_sci::os::topology::{format_list, parse_list};
use std::fmt;
use std::str::FromStr;

/// What a line of a map names, on its host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Spot {
    /// A position of the topology, from 0.
    Position(usize),
    /// A core, counted over those that may be used, from 0.
    Core(usize),
    /// CPUs, by the system's numbers, in ascending order.
    Cpus(Vec<usize>),
    /// A NUMA node, by the system's number.
    Numa(usize),
}

/// A place for a rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The host; `None`: the only one.
    pub host: Option<String>,
    /// What it is on that host.
    pub spot: Spot,
}

impl Place {
    /// A place on the only host.
    pub fn here(spot: Spot) -> Place {
        Place { host: None, spot }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = &self.host {
            write!(out, "{host}/")?;
        }
        match &self.spot {
            Spot::Position(at) => write!(out, "pos:{at}"),
            Spot::Core(core) => write!(out, "core:{core}"),
            Spot::Cpus(cpus) => write!(out, "cpu:{}", format_list(cpus)),
            Spot::Numa(node) => write!(out, "numa:{node}"),
        }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let problem =
            || format!("'{text}' is no place: pos:K, core:K, cpu:LIST or numa:K, after HOST/ if there are several");
        let (host, rest) = match text.rsplit_once('/') {
            Some((host, rest)) if !host.is_empty() => (Some(host.to_string()), rest),
            Some(_) => return Err(problem()),
            None => (None, text),
        };
        let (kind, value) = rest.split_once(':').ok_or_else(problem)?;
        let number = || value.parse().map_err(|_| problem());
        let spot = match kind {
            "pos" => Spot::Position(number()?),
            "core" => Spot::Core(number()?),
            "numa" => Spot::Numa(number()?),
            "cpu" => Spot::Cpus(cpus(value).ok_or_else(problem)?),
            _ => return Err(problem()),
        };
        Ok(Place { host, spot })
    }
}

// A list of CPUs in ascending order. `None`: it is empty, has a part that is no number or range, or names a CPU twice.
fn cpus(text: &str) -> Option<Vec<usize>> {
    let is_number = |part: &str| part.parse::<u16>().is_ok();
    let is_range = |part: &str| match part.split_once('-') {
        Some((low, high)) => is_number(low) && is_number(high),
        None => is_number(part),
    };
    if !text.split(',').all(is_range) {
        return None;
    }
    let mut cpus = parse_list(text);
    cpus.sort_unstable();
    let twice = cpus.windows(2).any(|pair| pair[0] == pair[1]);
    (!cpus.is_empty() && !twice).then_some(cpus)
}

/// A line of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its number in the file, from 1.
    pub line: usize,
    /// Where its rank runs.
    pub place: Place,
}

/// Reads a map for `ranks` ranks. The result has a line for each rank, by rank.
///
/// # Errors
/// A line has another form, or a rank comes twice, is too large or has no line, or two ranks have the same place. The
/// message begins with the line. Whether a place exists is for the caller to say.
pub fn parse(text: &str, ranks: usize) -> Result<Vec<Line>, String> {
    let mut lines: Vec<Option<Line>> = vec![None; ranks];
    for (number, full) in (1..).zip(text.lines()) {
        let mut words = full.split('#').next().unwrap_or("").split_whitespace();
        let Some(rank) = words.next() else { continue };
        let told = |what: String| format!("line {number}: {what}");
        let (Some(place), None) = (words.next(), words.next()) else {
            return Err(told("a line is RANK PLACE".into()));
        };
        let rank: usize = rank.parse().map_err(|_| told(format!("'{rank}' is no rank")))?;
        let place: Place = place.parse().map_err(told)?;
        let Some(entry) = lines.get_mut(rank) else {
            return Err(told(format!("there is no rank {rank}: the job has {ranks}")));
        };
        if let Some(first) = entry {
            return Err(told(format!("rank {rank} is in line {} already", first.line)));
        }
        *entry = Some(Line { line: number, place });
    }
    if let Some(missing) = lines.iter().position(Option::is_none) {
        let last = text.lines().count();
        return Err(format!("line {last}: the map ends without rank {missing}; it needs a line for each of {ranks}"));
    }
    let lines: Vec<Line> = lines.into_iter().flatten().collect();
    distinct(&lines)?;
    Ok(lines)
}

fn distinct(lines: &[Line]) -> Result<(), String> {
    let mut seen = std::collections::HashMap::new();
    let mut in_order: Vec<&Line> = lines.iter().collect();
    in_order.sort_by_key(|line| line.line);
    for line in in_order {
        // Positions are those of the whole job's topology, whatever host is named.
        let own = match line.place.spot {
            Spot::Position(_) => Place::here(line.place.spot.clone()),
            _ => line.place.clone(),
        };
        if let Some(first) = seen.insert(own, line.line) {
            return Err(format!("line {}: {} is taken by line {first}", line.line, line.place));
        }
    }
    Ok(())
}

/// The text of a map. `heading` becomes a comment, `places` are those of the ranks from 0 on. `segments`, with their names, come
/// after them as comments, for whoever makes them in the program.
pub fn format(heading: &str, places: &[Place], segments: &[(&str, &Place)]) -> String {
    let comment: String = heading.lines().map(|line| format!("# {line}\n")).collect();
    let lines = places.iter().enumerate().map(|(rank, place)| format!("{rank} {place}\n"));
    // A line end in a name would end the comment.
    let one_line = |name: &str| name.split(|c: char| c.is_whitespace() || c.is_control()).collect::<Vec<_>>().join(" ");
    let remarks = segments.iter().map(|(name, place)| format!("# segment {} at {place}\n", one_line(name)));
    comment + &lines.chain(remarks).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_may_come_in_any_order_between_comments() {
        let lines = parse("# two\n1 cpu:3,1-2 # last\n\n0 a/b/core:4\n", 2).unwrap();
        assert_eq!(lines[0], Line { line: 4, place: Place { host: Some("a/b".into()), spot: Spot::Core(4) } });
        assert_eq!(lines[1], Line { line: 2, place: Place::here(Spot::Cpus(vec![1, 2, 3])) });
    }

    #[test]
    fn errors_name_the_line() {
        for (text, begin) in [
            ("0 pos:1\n0 pos:2\n", "line 2: rank 0 is in line 1"),
            ("0 pos:1\n1 pos:1\n", "line 2: pos:1 is taken by line 1"),
            ("0 pos:1\n1 localhost/pos:1\n", "line 2: localhost/pos:1 is taken by line 1"),
            ("0 a/pos:1\n1 b/pos:1\n", "line 2: b/pos:1 is taken by line 1"),
            ("1 cpu:2,1\n0 cpu:1-2\n", "line 2: cpu:1-2 is taken by line 1"),
            ("0 pos:1\n", "line 1: the map ends without rank 1"),
            ("2 pos:1\n", "line 1: there is no rank 2"),
            ("0 pos:1 2\n", "line 1: a line is RANK PLACE"),
            ("0\n", "line 1: a line is RANK PLACE"),
            ("x pos:1\n", "line 1: 'x' is no rank"),
            ("0 pos:-1\n", "line 1: 'pos:-1' is no place"),
            ("0 cpu:\n", "line 1: 'cpu:' is no place"),
            ("0 cpu:1,1\n", "line 1: 'cpu:1,1' is no place"),
            ("0 cpu:3-1\n", "line 1: 'cpu:3-1' is no place"),
            ("0 /pos:1\n", "line 1: '/pos:1' is no place"),
            ("0 node:1\n", "line 1: 'node:1' is no place"),
        ] {
            let error = parse(text, 2).unwrap_err();
            assert!(error.starts_with(begin), "{text:?}: {error}");
        }
    }

    fn place() -> impl Strategy<Value = Place> {
        let spot = prop_oneof![
            (0..99usize).prop_map(Spot::Position),
            (0..99usize).prop_map(Spot::Core),
            (0..99usize).prop_map(Spot::Numa),
            prop::collection::btree_set(0..99usize, 1..9).prop_map(|set| Spot::Cpus(set.into_iter().collect())),
        ];
        (prop::option::of("[a-z][a-z0-9.-]{0,8}"), spot).prop_map(|(host, spot)| Place { host, spot })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(places in prop::collection::hash_set(place(), 0..40), name in any::<String>()) {
            let mut positions = std::collections::HashSet::new();
            let is_free = |place: &Place| !matches!(place.spot, Spot::Position(at) if !positions.insert(at));
            let places: Vec<Place> = places.into_iter().filter(is_free).collect();
            let segments: Vec<(&str, &Place)> = places.iter().map(|place| (&name[..], place)).collect();
            let text = format("made\nhere", &places, &segments);
            prop_assert_eq!(text.lines().filter(|line| line.starts_with("# segment ")).count(), segments.len());
            let lines = parse(&text, places.len()).unwrap();
            prop_assert_eq!(lines.into_iter().map(|line| line.place).collect::<Vec<_>>(), places);
        }

        #[test]
        fn no_text_breaks_the_reader(text in "[ -~\n]{0,200}", ranks in 0..9usize) {
            if let Ok(lines) = parse(&text, ranks) {
                prop_assert_eq!(lines.len(), ranks);
            }
        }
    }
}
