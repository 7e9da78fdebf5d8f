//! Timing mode: the nodes load another library of the same name.

use super::cli::NAME;
use super::stop::Stop;
use super::timed;
use gasnet_sci::base::config::{Config, variable};
use gasnet_sci::sci::model::{Timing, Topology, fields_of_file};
use std::ffi::OsString;

/// The variable by which the loader finds a library before all others.
pub const LOADER: &str = "LD_LIBRARY_PATH";

/// Value of [`LOADER`] for nodes in timing mode; `None`: the settings ask for none.
pub fn library_path(config: &Config, nodes: u32) -> Result<Option<OsString>, Stop> {
    let Some(text) = &config.timing.profile else { return Ok(None) };
    let bad = |variable: &str, error| Stop::new(1, format!("{NAME}: {variable}: {error}"));
    Timing::parse(text, fields_of_file).map_err(|error| bad("GASNET_SCI_TIMING", error))?;
    if let Some(text) = &config.timing.topology {
        let topology = Topology::read(text).map_err(|error| bad("GASNET_SCI_TOPOLOGY", error))?;
        if let Some(positions) = topology.positions().filter(|positions| *positions < nodes) {
            return Err(bad("GASNET_SCI_TOPOLOGY", format!("{topology} has {positions} positions for {nodes} nodes")));
        }
    }
    let library = timed::file("libgasnet_sci.so").map_err(|error| bad("GASNET_SCI_TIMING", error))?;
    let mut path = OsString::from(library.parent().unwrap_or(&library));
    if let Some(more) = variable(LOADER).filter(|more| !more.is_empty()) {
        path.push(":");
        path.push(more);
    }
    Ok(Some(path))
}
