//! The environment as a whole: for people who look at their settings, and for nodes that take another's. Must not know
//! which code uses a value.

use super::{Config, Tuned, VARS, Var, find_tuned};

/// The process environment as it is now: entries `name=value`, each ended by a zero byte, and one more at the end.
pub fn environment() -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut block = Vec::new();
    for (name, value) in std::env::vars_os() {
        block.extend_from_slice(&[name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    }
    block.push(0);
    block
}

/// What the environment says about one variable, for people who look at their settings.
pub struct Setting {
    /// The row of the table.
    pub var: &'static Var,
    /// Name under which it is set, which may be an alias, and its value; `None`: the default stands.
    pub found: Option<(String, String)>,
    /// The tune file's value, if it has one and the environment does not set it.
    pub tuned: Option<String>,
    /// The value makes sense.
    pub valid: bool,
}

/// The settings of this process.
pub struct Survey {
    /// What results.
    pub config: Config,
    /// Every variable.
    pub settings: Vec<Setting>,
    /// The tune file that counts.
    pub tuned: Option<Tuned>,
    /// What is wrong with it, so that none counts.
    pub problem: Option<String>,
}

impl Config {
    /// Every variable as the process environment and the tune file have it, and the settings that result. An invalid value
    /// counts as unset.
    pub fn survey() -> Survey {
        let (tuned, problem) = find_tuned();
        let (config, settings) = Self::survey_of(tuned.as_ref(), super::variable);
        Survey { config, settings, tuned, problem }
    }

    fn survey_of(tuned: Option<&Tuned>, get: impl Fn(&str) -> Option<String>) -> (Config, Vec<Setting>) {
        let mut config = Config::default();
        let look = |var: &'static Var| {
            let names = std::iter::once(&var.name).chain(var.aliases);
            let found = names.map(|name| (name.to_string(), get(name))).find_map(|(name, value)| {
                let value = value.filter(|value| !value.trim().is_empty())?;
                Some((name, value))
            });
            let tuned = tuned.and_then(|tuned| tuned.get(var.name)).filter(|_| found.is_none()).map(String::from);
            let value = found.as_ref().map(|(_, value)| value).or(tuned.as_ref());
            let valid = value.is_none_or(|value| (var.set)(&mut config, value).is_some());
            Setting { var, found, tuned, valid }
        };
        let settings = VARS.iter().map(look).collect();
        (config, settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survey_goes_on_behind_a_value_that_makes_no_sense() {
        let get = |name: &str| match name {
            "GASNET_SCI_NODES" => Some("many".to_string()),
            "GASNET_NETWORKDEPTH" => Some("16".to_string()),
            _ => None,
        };
        let (config, settings) = Config::survey_of(None, get);
        assert_eq!((config.nodes, config.slots), (1, 16));
        let of = |name| settings.iter().find(|setting| setting.var.name == name).unwrap();
        assert!(!of("GASNET_SCI_NODES").valid);
        assert_eq!(of("GASNET_SCI_SLOTS").found, Some(("GASNET_NETWORKDEPTH".into(), "16".into())));
        assert!(of("GASNET_QUIET").found.is_none() && of("GASNET_QUIET").valid);
    }
}
