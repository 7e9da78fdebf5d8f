//! The environment as a whole, for users who look at their settings, and for nodes that take over that of another
//! node. Must not know: which code uses a value.

use super::read::find_tuned;
use super::{Config, Tuned, VARS, Var};

/// This process's environment: entries `name=value`, each ended by a zero byte, and one more zero byte at the end.
pub fn environment() -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut block = Vec::new();
    for (name, value) in std::env::vars_os() {
        block.extend_from_slice(&[name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    }
    block.push(0);
    block
}

/// What the environment and the tune file say about one variable.
pub struct Setting {
    /// The row of the table.
    pub var: &'static Var,
    /// The name under which it is set, which may be an alias, and its value. `None`: it is not set.
    pub found: Option<(String, String)>,
    /// The tune file's value, if the file has one and the environment does not set the variable.
    pub tuned: Option<String>,
    /// Whether the value makes sense.
    pub valid: bool,
}

/// All settings of this process.
pub struct Survey {
    /// The resulting settings.
    pub config: Config,
    /// Every variable.
    pub settings: Vec<Setting>,
    /// The tune file that is used.
    pub tuned: Option<Tuned>,
    /// The fault in a tune file that is therefore not used.
    pub problem: Option<String>,
}

impl Config {
    /// Reads every variable from the environment and the tune file, and the settings that result. An invalid value
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
        assert_eq!((config.nodes, config.slots), (1, Some(16)));
        let of = |name| settings.iter().find(|setting| setting.var.name == name).unwrap();
        assert!(!of("GASNET_SCI_NODES").valid);
        assert_eq!(of("GASNET_SCI_SLOTS").found, Some(("GASNET_NETWORKDEPTH".into(), "16".into())));
        assert!(of("GASNET_QUIET").found.is_none() && of("GASNET_QUIET").valid);
    }
}
