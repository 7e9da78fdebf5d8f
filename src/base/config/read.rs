//! Reads the environment and the tune file into a [`Config`].
//!
//! Must not know: what a variable means.

use super::{Config, Tuned, VARS, tune};
use std::fmt;

/// A variable with a value that makes no sense. It is fatal at init, because a setting that is silently ignored costs
/// its user a day.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigError {
    /// The name, as found in the environment.
    pub name: String,
    /// The value.
    pub value: String,
    /// The form that the value should have.
    pub form: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "environment variable {}='{}' is not valid: expected {}", self.name, self.value, self.form)
    }
}

/// The setting of one variable, for the verbose report.
pub struct Reported {
    /// The documented name.
    pub name: &'static str,
    /// The value in force, as text.
    pub value: String,
    /// Whether neither the environment nor the tune file sets it.
    pub is_default: bool,
    /// Whether the tune file sets it.
    pub is_tuned: bool,
}

/// The value of a variable that is not in the table: of the system, or of a family with open names. In a process with
/// more rights than its caller it is always `None`, because a setting can name files to write and programs to run.
pub fn variable(name: &str) -> Option<String> {
    #[cfg(not(loom))] // models have no process around them
    if crate::os::sys::is_privileged() {
        return None;
    }
    #[allow(clippy::disallowed_methods)] // this is the place that reads it
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

impl Config {
    /// Reads the environment of this process, and the tune file.
    pub fn from_env() -> Result<(Config, Vec<Reported>), ConfigError> {
        let (tuned, problem) = find_tuned();
        let (mut config, report) = Self::read_over(tuned.as_ref(), variable)?;
        config.tune_problem = problem;
        Ok((config, report))
    }

    /// Reads from any source of values. An empty value counts as unset.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<(Config, Vec<Reported>), ConfigError> {
        Self::read_over(None, get)
    }

    /// Reads from `get`, and where that has no value, from a tune file.
    fn read_over(
        tuned: Option<&Tuned>,
        get: impl Fn(&str) -> Option<String>,
    ) -> Result<(Config, Vec<Reported>), ConfigError> {
        let mut config = Config::default();
        let mut report = Vec::with_capacity(VARS.len());
        for var in VARS {
            let found = std::iter::once(&var.name)
                .chain(var.aliases)
                .find_map(|name| get(name).filter(|v| !v.trim().is_empty()).map(|value| (name.to_string(), value)));
            let measured = tuned.and_then(|tuned| tuned.get(var.name)).filter(|_| found.is_none());
            let is_default = found.is_none() && measured.is_none();
            let (name, value) = match (found, measured) {
                (Some(found), _) => found,
                (None, Some(value)) => (var.name.into(), value.into()),
                (None, None) => (var.name.into(), var.default.into()),
            };
            if !is_default && (var.set)(&mut config, &value).is_none() {
                return Err(ConfigError { name, value, form: var.form });
            }
            report.push(Reported { name: var.name, value, is_default, is_tuned: measured.is_some() });
        }
        Ok((config, report))
    }
}

/// The tune file that this process uses, or why it cannot use one.
pub(super) fn find_tuned() -> (Option<Tuned>, Option<String>) {
    #[cfg(loom)]
    return (None, None);
    #[cfg(not(loom))]
    match tune::find(variable(tune::VARIABLE).as_deref(), &tune::Asker::here()) {
        Ok(tuned) => (tuned, None),
        Err(problem) => (None, Some(problem)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::read(|n| pairs.iter().find(|(k, _)| *k == n).map(|(_, v)| v.to_string())).map(|(c, _)| c)
    }

    #[test]
    fn documented_defaults_parse_to_the_default_config() {
        let numeric = |d: &str| !d.is_empty() && !d.contains(' ') && d != "unlimited" && d != "never";
        for var in VARS.iter().filter(|v| numeric(v.default)) {
            assert_eq!(with(&[(var.name, var.default)]).unwrap(), Config::default(), "{}", var.name);
        }
    }

    #[test]
    fn alias_is_honoured_and_the_documented_name_wins() {
        assert_eq!(with(&[("GASNET_PSHM_NODES", "3")]).unwrap().nodes, 3);
        assert_eq!(with(&[("GASNET_PSHM_NODES", "3"), ("GASNET_SCI_NODES", "2")]).unwrap().nodes, 2);
    }

    #[test]
    fn bad_value_names_variable_value_and_form() {
        let text = with(&[("GASNET_SCI_STATS", "maybe")]).unwrap_err().to_string();
        assert!(text.contains("GASNET_SCI_STATS") && text.contains("maybe") && text.contains("yes or no"), "{text}");
        assert!(with(&[("GASNET_SCI_NODES", "0")]).is_err());
        assert!(with(&[("GASNET_BARRIER", "fancy")]).is_err());
    }

    #[test]
    fn the_environment_goes_before_the_tune_file_and_that_before_the_default() {
        let text = "GASNET_SCI_DMA_MIN = 16K\nGASNET_VIS_MAXCHUNK = 3K\n";
        let tuned = Tuned { file: "x".into(), values: tune::parse(text).unwrap() };
        let get = |name: &str| match name {
            "GASNET_VIS_MAXCHUNK" => Some("5K".to_string()),
            "GASNET_SCI_DMA_MIN" => Some(" ".to_string()),
            _ => None,
        };
        let (config, report) = Config::read_over(Some(&tuned), get).unwrap();
        assert_eq!((config.dma_min, config.vis_maxchunk), (16 << 10, 5 << 10));
        assert_eq!(config.dma_thread_min, Config::default().dma_thread_min);
        let of = |name| {
            report.iter().find(|r| r.name == name).map(|r| (r.value.as_str(), r.is_default, r.is_tuned)).unwrap()
        };
        assert_eq!(of("GASNET_SCI_DMA_MIN"), ("16K", false, true));
        assert_eq!(of("GASNET_VIS_MAXCHUNK"), ("5K", false, false));
        assert_eq!(of("GASNET_SCI_DMA_THREAD_MIN"), ("64K", true, false));
    }

    #[test]
    fn unmapped_peers_are_named_by_a_word() {
        let hidden = |word: &str| {
            let unmapped = with(&[("GASNET_SCI_UNMAPPED", word)]).unwrap().unmapped;
            (0..5).filter(|peer| *peer != 2 && unmapped.hides(2, *peer)).collect::<Vec<u32>>()
        };
        assert!(hidden("no").is_empty());
        assert_eq!(hidden("odd"), [1, 3]);
        assert_eq!(hidden("Higher"), [3, 4]);
        assert_eq!(hidden("all"), [0, 1, 3, 4]);
        assert!(with(&[("GASNET_SCI_UNMAPPED", "yes")]).is_err());
    }

    #[test]
    fn empty_value_counts_as_unset() {
        assert_eq!(with(&[("GASNET_MAX_SEGSIZE", " ")]).unwrap(), Config::default());
    }

    #[test]
    fn exit_timeout_follows_the_formula_unless_set() {
        assert_eq!(with(&[]).unwrap().exit_seconds(8), 12.0);
        assert_eq!(with(&[]).unwrap().exit_seconds(1000), 20.0);
        assert_eq!(with(&[("GASNET_EXITTIMEOUT", "3/2")]).unwrap().exit_seconds(8), 1.5);
        assert_eq!(with(&[("GASNET_EXITTIMEOUT", "1e300")]).unwrap().exit_seconds(8), 1e9);
        assert!(with(&[("GASNET_EXITTIMEOUT", "1e300/1e-300")]).is_err(), "no number");
    }

    #[test]
    fn slots_are_a_power_of_two() {
        assert_eq!(with(&[("GASNET_NETWORKDEPTH", "33")]).unwrap().slots, Some(64));
        assert_eq!(with(&[("GASNET_SCI_SLOTS", "1")]).unwrap().slots, Some(4));
    }
}
