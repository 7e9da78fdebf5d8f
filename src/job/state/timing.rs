//! Timing mode (docs/timing.md): the library that is built for it wraps the job's adapter; the normal one refuses the setting.
//!
//! Must not know: what the hardware's times are.

#![cfg_attr(feature = "timed", allow(unsafe_code))] // the calendars of links, which lie in a mapped segment

use crate::base::config::Config;
use crate::base::error::Error;
use crate::peers::places::Places;
use crate::sci::hosts::Hosts;
use crate::sci::{Host, IS_TIMED};
use crate::supervise::JobHeader;

#[cfg(not(feature = "timed"))]
mod this {
    use super::*;

    /// What timing mode needs of the settings: nothing, here.
    pub struct Wanted;

    /// Refuses timing mode.
    pub fn wanted(config: &mut Config) -> Result<Wanted, Error> {
        match &config.timing.profile {
            None => Ok(Wanted),
            Some(profile) => Err(Error::resource(format_args!(
                "GASNET_SCI_TIMING={profile}: this is the normal library, which has no timing mode: start the program with \
                 gasnetrun_sci, which loads the other one (a program with a static library: link libgasnet_sci_timed.a instead), or \
                 unset the variable"
            ))),
        }
    }

    /// The job's adapter.
    #[inline(always)]
    pub fn wrap(hosts: Hosts, _: Wanted, _: &Places, _: &JobHeader) -> Result<Host, Error> {
        Ok(hosts)
    }

    /// What has gone to `node` over the hardware: not known, here.
    pub fn traffic(_: &Host, _node: u32) -> Option<String> {
        None
    }
}

#[cfg(feature = "timed")]
mod this {
    use super::super::CONNECT;
    use super::*;
    use crate::am::region::LINKS;
    use crate::base::config::Dma;
    use crate::sci::model::{Parameters, Timing, Topology, fields_of_file};
    use crate::sci::timed::links::Links;
    use crate::sci::timed::{Setup, Timed, Traffic};
    use crate::sci::{Adapter, LocalSegment, NodeId, Placement, RemoteRead, RemoteSegment};
    use std::sync::Arc;

    /// What the settings ask for.
    pub struct Wanted {
        hardware: Parameters,
        topology: Topology,
    }

    /// Reads the settings, and switches off what would go round the adapter.
    pub fn wanted(config: &mut Config) -> Result<Wanted, Error> {
        config.cma = false;
        config.dma = Dma::Sync;
        let text = config.timing.profile.as_deref().unwrap_or("count");
        let bad = |error: String| Error::resource(format_args!("GASNET_SCI_TIMING: {error}"));
        let timing = Timing::parse(text, fields_of_file).map_err(bad)?;
        let hardware = match timing {
            Some(Timing { hardware, .. }) => hardware.scaled(config.timing.scale.into()),
            None => return Err(bad(format!("'{text}' names no profile"))),
        };
        let topology = match &config.timing.topology {
            None => Topology::Apart,
            Some(text) => {
                Topology::read(text).map_err(|error| Error::resource(format_args!("GASNET_SCI_TOPOLOGY: {error}")))?
            }
        };
        Ok(Wanted { hardware, topology })
    }

    /// The job's adapter, made as slow as the settings say. A map may have given the nodes their positions.
    pub fn wrap(hosts: Hosts, wanted: Wanted, places: &Places, header: &JobHeader) -> Result<Host, Error> {
        let Wanted { hardware, topology } = wanted;
        let nodes = header.records().len() as u32;
        let positions = positions(&header.records().iter().map(|record| record.position()).collect::<Vec<_>>())?;
        if places.far_from(hosts.node().0.into()).is_some() {
            return Err(Error::resource(
                "timing mode is for one host: start all nodes on this one, or unset GASNET_SCI_TIMING",
            ));
        }
        if let Some(count) = topology.positions() {
            if count < nodes {
                return Err(Error::resource(format_args!(
                    "GASNET_SCI_TOPOLOGY={topology} has {count} positions for {nodes} nodes"
                )));
            }
            if let Some(position) = positions.iter().find(|position| **position >= count) {
                return Err(Error::resource(format_args!(
                    "GASNET_SCI_TOPOLOGY={topology} has no position {position}, which the map names"
                )));
            }
        }
        let links = links(&hosts, topology.links() as usize)?;
        Ok(Timed::new(
            hosts,
            Setup { hardware, topology, positions: positions.into(), links, survives: header.survives() },
        ))
    }

    /// The positions of all nodes: those of a map, or else their ranks.
    pub(super) fn positions(mapped: &[Option<u32>]) -> Result<Vec<u32>, Error> {
        if mapped.iter().all(Option::is_none) {
            return Ok((0..mapped.len() as u32).collect());
        }
        let all = mapped.iter().enumerate().map(|(rank, position)| {
            position.ok_or_else(|| {
                Error::resource(format_args!(
                    "the map gives node {rank} no position, but others: in timing mode each node needs one (pos:K), or none"
                ))
            })
        });
        all.collect()
    }

    /// What has gone to `node` over the hardware, as an object of the traffic matrix; `None`: nothing.
    pub fn traffic(adapter: &Host, node: u32) -> Option<String> {
        let traffic = adapter.traffic(NodeId(node as u16));
        let Traffic { p64, p16, pio, dma: [transfers, moved], read: [reads, bytes], irq } = traffic;
        (traffic != Traffic::default() && NodeId(node as u16) != adapter.node()).then(|| {
            format!(
                "{{\"p64\":{p64},\"p16\":{p16},\"pio\":{pio},\"dma\":[{transfers},{moved}],\"read\":[{reads},{bytes}],\"irq\":{irq}}}"
            )
        })
    }

    /// The calendars of `count` links. Node 0 makes them, and all nodes map them.
    fn links(hosts: &Hosts, count: usize) -> Result<Links, Error> {
        if count == 0 {
            return Ok(Links::own(0));
        }
        let own = match hosts.node() {
            NodeId(0) => {
                let own = hosts.create(LINKS, Links::bytes(count))?;
                own.set_available()?;
                Some(own)
            }
            _ => None,
        };
        let segment = hosts.connect(NodeId(0), LINKS, CONNECT)?;
        let map = segment.map(0, segment.len(), Placement::Anywhere)?;
        let Some(words) = map.memory().filter(|_| segment.len() >= Links::bytes(count)) else {
            return Err(Error::resource("the calendars of the links are not mapped"));
        };
        // SAFETY: page-aligned memory of at least so many bytes, mapped as long as `map` lives. Only `Links` uses it.
        Ok(unsafe { Links::mapped(words, count, Arc::new((map, segment, own))) })
    }
}

/// How the nodes are connected, as the user wrote it, if this is a job in timing mode.
pub fn topology(config: &Config) -> Option<&str> {
    let timing = &config.timing;
    timing.topology.as_deref().filter(|_| IS_TIMED && timing.profile.is_some())
}

/// The position that a node without a map has: its rank, where there is a topology.
pub fn own_position(config: &Config, rank: u32) -> Option<u32> {
    topology(config).map(|_| rank)
}

pub use this::{Wanted, traffic, wanted, wrap};

#[cfg(test)]
mod tests {
    use super::*;

    fn with(profile: &str) -> Config {
        let get = |name: &str| (name == "GASNET_SCI_TIMING").then(|| profile.to_owned());
        Config::read(get).unwrap().0
    }

    #[test]
    #[cfg(not(feature = "timed"))]
    fn the_normal_library_refuses_timing_mode_and_says_how_to_get_it() {
        assert!(wanted(&mut with("off")).is_ok());
        let error = wanted(&mut with("d339")).err().expect("refused").to_string();
        assert!(error.contains("GASNET_SCI_TIMING=d339") && error.contains("gasnetrun_sci"), "{error}");
        assert!(error.contains("libgasnet_sci_timed.a"), "{error}");
    }

    #[test]
    #[cfg(feature = "timed")]
    fn a_map_gives_all_nodes_positions_or_none() {
        assert_eq!(this::positions(&[None, None, None]).unwrap(), [0, 1, 2]);
        assert_eq!(this::positions(&[Some(2), Some(0)]).unwrap(), [2, 0]);
        let error = this::positions(&[Some(1), None]).expect_err("refused").to_string();
        assert!(error.contains("node 1 no position"), "{error}");
    }

    #[test]
    #[cfg(feature = "timed")]
    fn settings_are_read_at_init_and_what_would_go_round_is_off() {
        let mut config = with("d339,setup=1us");
        assert!(wanted(&mut config).is_ok());
        assert!(!config.cma && config.dma == crate::base::config::Dma::Sync);
        for text in ["d340", "./none.json"] {
            let error = wanted(&mut with(text)).err().expect("refused").to_string();
            assert!(error.contains("GASNET_SCI_TIMING") && error.contains(text), "{error}");
        }
        config.timing.topology = Some("ring".into());
        let error = wanted(&mut config).err().expect("refused").to_string();
        assert!(error.contains("GASNET_SCI_TOPOLOGY"), "{error}");
    }
}
