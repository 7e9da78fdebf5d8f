//! Texts that users write: environment variables, node sets, sizes, numbers, escapes.

use super::Input;
use crate::base::config::{Config, VARS, memory_size, signal_number, yes_no};
use crate::tools::{number, settings};
use std::time::Duration;

pub(super) fn run(data: &[u8]) {
    crate::base::log::set_quiet(true);
    let mut input = Input::new(data);
    match input.u8() % 4 {
        0 => variables(&mut input),
        1 => {
            let unit = input.any();
            let text = String::from_utf8_lossy(input.rest());
            let _ = (memory_size(&text, unit), signal_number(&text), yes_no(&text));
            let _ = (number::parse_strict(&text, unit), number::parse_float(&text));
            if let Ok(value) = number::parse_forgiving(&text, unit) {
                assert_eq!(number::parse_forgiving(&number::format(value, false), 0), Ok(value));
                let _ = number::format(value, true);
            }
        }
        2 => {
            let text = input.rest();
            if let Some(decoded) = settings::decoded(text) {
                assert!(decoded.len() < text.len());
            }
        }
        _ => {
            let text = input.text();
            let (size, float) = (input.u8() & 1, settings::float("A", &text));
            let _ = settings::integer("A", &text, size.into()).map(|n| settings::shown_integer(Some(&text), n, true));
            let _ = float.map(|n| settings::shown_float(Some(&text), n));
            let _ = settings::yes_no("A", &text);
        }
    }
}

/// Sets some variables to some values and reads the settings from them.
fn variables(input: &mut Input<'_>) {
    let mut pairs = Vec::new();
    for _ in 0..1 + input.below(4) {
        let var = &VARS[input.below(VARS.len())];
        let name = if input.u8() & 1 == 0 { var.name } else { var.aliases.first().unwrap_or(&var.name) };
        pairs.push((name, input.text()));
    }
    let found = Config::read(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone()));
    let config = match found {
        Ok((config, _)) => config,
        Err(error) => return drop(error.to_string()),
    };
    assert!(config.slots_among(config.nodes).is_power_of_two() && config.nodes > 0);
    for nodes in [1, 65_536] {
        let _ = Duration::from_secs_f64(config.exit_seconds(nodes));
        let _ = config.supernode_max.checked_rem(nodes);
        let _ = config.backtrace_nodes.contains(nodes) || config.no_catch.contains(11);
    }
    let _ = crate::coll::area::Area::new(65_536, config.coll_scratch, true).bytes();
    let _ = crate::am::region::Layout::new(config.nodes, config.slots_among(config.nodes)).command_len();
    let _ = crate::vis::Vis::new(&config);
    let _ = crate::am::wait::Waiter::new(config.nodes, config.nodes, 1, config.spin);
}
