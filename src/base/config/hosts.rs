//! Settings of jobs on several hosts.
//!
//! Must not know: the variables.

use crate::os::tcp::Congestion;
use std::ops::RangeInclusive;

/// What carries bytes between hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// libfabric where there is RDMA hardware, else TCP.
    Auto,
    /// This library's own protocol over TCP.
    Tcp,
    /// libfabric, with this provider or the one that suits best.
    Ofi(Option<String>),
}

impl Network {
    /// The network of this name.
    pub fn parse(text: &str) -> Option<Network> {
        match text.trim() {
            "auto" => Some(Network::Auto),
            "tcp" => Some(Network::Tcp),
            "ofi" => Some(Network::Ofi(None)),
            other => other.strip_prefix("ofi:").filter(|p| !p.is_empty()).map(|p| Network::Ofi(Some(p.into()))),
        }
    }
}

/// Settings of jobs on several hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// The command that runs another command on a host, if the user names one.
    pub rsh: Option<String>,
    /// Seconds until a host's agent must have answered.
    pub start_timeout: f64,
    /// Seconds of silence after which a host counts as lost.
    pub link_timeout: f64,
    /// As many hosts the launcher reaches itself; others through these.
    pub tree: u32,
    /// The file of limits on this host, if the user names one.
    pub agent_conf: Option<String>,
    /// The network between hosts.
    pub network: Network,
    /// The network interface for other hosts, by name or address.
    pub interface: Option<String>,
    /// The congestion control of connections over TCP.
    pub congestion: Congestion,
    /// The TCP ports at which to listen for other hosts; 0: any.
    pub ports: RangeInclusive<u16>,
    /// Whether a thread serves the network while the client computes.
    pub progress_thread: bool,
    /// As how many hosts each host counts.
    pub split: u32,
}

impl Default for Hosts {
    fn default() -> Self {
        Hosts {
            rsh: None,
            start_timeout: 60.0,
            link_timeout: 5.0,
            tree: 64,
            agent_conf: None,
            network: Network::Auto,
            interface: None,
            congestion: Congestion::Auto,
            ports: 0..=0,
            progress_thread: false,
            split: 1,
        }
    }
}
