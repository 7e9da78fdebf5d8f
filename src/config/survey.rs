//! The environment as a whole: for people who look at their settings, and for nodes that take another's. Must not know who
//! uses a value.

use super::{Config, VARS, Var};

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
    /// The value makes sense.
    pub valid: bool,
}

impl Config {
    /// Every variable as the process environment has it, and the settings that result; values that make no sense count as
    /// unset.
    pub fn survey() -> (Config, Vec<Setting>) {
        Self::survey_of(super::variable)
    }

    fn survey_of(get: impl Fn(&str) -> Option<String>) -> (Config, Vec<Setting>) {
        let mut config = Config::default();
        let look = |var: &'static Var| {
            let names = std::iter::once(&var.name).chain(var.aliases);
            let found = names.map(|name| (name.to_string(), get(name))).find_map(|(name, value)| {
                let value = value.filter(|value| !value.trim().is_empty())?;
                Some((name, value))
            });
            let valid = found.as_ref().is_none_or(|(_, value)| (var.set)(&mut config, value).is_some());
            Setting { var, found, valid }
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
        let (config, settings) = Config::survey_of(get);
        assert_eq!((config.nodes, config.slots), (1, 16));
        let of = |name| settings.iter().find(|setting| setting.var.name == name).unwrap();
        assert!(!of("GASNET_SCI_NODES").valid);
        assert_eq!(of("GASNET_SCI_SLOTS").found, Some(("GASNET_NETWORKDEPTH".into(), "16".into())));
        assert!(of("GASNET_QUIET").found.is_none() && of("GASNET_QUIET").valid);
    }
}
