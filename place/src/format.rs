//! What a file is. Commands read files of several formats, and whoever names the wrong one should be told which it is, instead of
//! which field is missing. So each reader asks here first.
//!
//! Must not know: how files are read.

use super::map::Place;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The formats of the files that commands read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // `name` says what each is
pub enum Format {
    Results,
    Traffic,
    Segments,
    Placement,
    Costs,
    Topology,
    Model,
    Map,
    Qaplib,
}

impl Format {
    /// What a text is, by its first fields or words. `None`: nothing that is known, so its reader says what is wrong with it.
    pub fn of(text: &str) -> Option<Format> {
        if text.trim_start().starts_with('{') { Format::of_object(text) } else { Format::of_words(text) }
    }

    fn of_object(text: &str) -> Option<Format> {
        let keys: Keys = serde_json::from_str(text).ok()?;
        match keys.format.as_ref().and_then(Value::as_str) {
            Some("gasnet-sci matrix") => return Some(Format::Traffic),
            Some("gasnet-sci segments") => return Some(Format::Segments),
            Some("gasnet-sci placement") => return Some(Format::Placement),
            _ => {}
        }
        match keys {
            Keys { version: Some(_), host: Some(_), results: Some(_), .. } => Some(Format::Results),
            Keys { alpha: Some(_), beta: Some(_), .. } => Some(Format::Costs),
            Keys { kind: Some(_), .. } => Some(Format::Topology),
            Keys { profile: Some(_), .. } => Some(Format::Model),
            _ => None,
        }
    }

    fn of_words(text: &str) -> Option<Format> {
        let without_comment = |line: &str| line.split('#').next().unwrap_or("").trim().to_owned();
        let first = text.lines().map(without_comment).find(|line| !line.is_empty())?;
        let (rank, place) = first.split_once(char::is_whitespace).unwrap_or((&first, ""));
        if rank.parse::<usize>().is_ok() && place.trim().parse::<Place>().is_ok() {
            return Some(Format::Map);
        }
        // A size and two tables.
        let mut words = text.split_whitespace();
        let size: usize = words.next()?.parse().ok()?;
        let numbers = size.checked_mul(size)?.checked_mul(2)?;
        let are_tables = words.clone().count() == numbers && words.all(|word| word.parse::<f64>().is_ok());
        (size > 0 && are_tables).then_some(Format::Qaplib)
    }

    /// Its name, and the command that writes or takes it.
    fn name(self) -> &'static str {
        match self {
            Format::Results => "results of measurements (gasnet-sci bench --json)",
            Format::Traffic => "a traffic matrix (gasnetrun_sci --matrix)",
            Format::Segments => "processes and segments (gasnet-sci place --segments)",
            Format::Placement => "a placement (gasnet-sci place --json)",
            Format::Costs => "costs of pairs, alpha and beta (gasnet-sci place --topology)",
            Format::Topology => "a topology (gasnet-sci place --topology)",
            Format::Model => "a model of links (gasnet-sci place --model)",
            Format::Map => "a map of ranks (gasnet-sci place --map)",
            Format::Qaplib => "a quadratic assignment problem (gasnet-sci place --qaplib)",
        }
    }
}

/// Fields by which objects are told apart.
#[derive(Deserialize)]
struct Keys {
    format: Option<Value>,
    version: Option<IgnoredAny>,
    host: Option<IgnoredAny>,
    results: Option<IgnoredAny>,
    alpha: Option<IgnoredAny>,
    beta: Option<IgnoredAny>,
    kind: Option<IgnoredAny>,
    profile: Option<IgnoredAny>,
}

/// Asked before `text` is read. `reader` is the command or option that reads it, as formats `wanted`, the usual one first.
///
/// # Errors
/// The text is of another format that is known.
pub fn check(text: &str, reader: &str, wanted: &[Format]) -> Result<(), String> {
    match Format::of(text) {
        Some(other) if !wanted.contains(&other) => {
            Err(format!("it holds {}, and {reader} reads {}", other.name(), wanted[0].name()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Format::*;

    /// A file of each format, as short as it can be.
    const FILES: [(Format, &str); 11] = [
        (Results, r#"{"version":1,"host":{"cpu":"c"},"rounds":1,"results":[]}"#),
        (Traffic, r#"{"format":"gasnet-sci matrix","version":1,"nodes":2,"rows":[]}"#),
        (Segments, r#"{"format":"gasnet-sci segments","version":1,"processes":[],"segments":[]}"#),
        (Placement, r#"{"format":"gasnet-sci placement","version":1,"kinds":[],"mappings":[]}"#),
        (Costs, r#"{"alpha":[[0]],"beta":[[0]]}"#),
        (Costs, r#"{"kind":"matrix","alpha":[[0]],"beta":[[0]]}"#),
        (Topology, "\n {\"kind\":\"torus\",\"x\":4,\"y\":2}"),
        (Model, r#"{"profile":"d339","setup":"12us"}"#),
        (Map, "# a comment\n\n  0 pos:1 # and one more\n1 nothing\n"),
        (Map, "3\ta/cpu:1-2\n"),
        (Qaplib, "2\n0 1\n1 0\n\n0 2.5\n2.5 0\n"),
    ];

    #[test]
    fn each_format_is_known_by_its_fields_or_words() {
        for (format, text) in FILES {
            assert_eq!(Format::of(text), Some(format), "{text}");
        }
        for text in [
            "",
            "{",
            "[]",
            "7",
            "{}",
            r#"{"format":"other"}"#,
            r#"["gasnet-sci matrix"]"#,
            "0 1\n1 0\n",
            "a b\n",
            "0 pos:1 2",
        ] {
            assert_eq!(Format::of(text), None, "{text}");
        }
    }

    #[test]
    fn a_reader_refuses_every_format_but_its_own_and_names_both() {
        for (format, text) in FILES {
            for (other, _) in FILES {
                let refused = check(text, "--it", &[other]).err();
                let expected = format!("it holds {}, and --it reads {}", format.name(), other.name());
                assert_eq!(refused, (format != other).then_some(expected));
            }
            assert_eq!(check(text, "--it", &[Placement, format]), Ok(()));
        }
        assert_eq!(check("what nobody knows", "--it", &[Map]), Ok(()));
    }
}
