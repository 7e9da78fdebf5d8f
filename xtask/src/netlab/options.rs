//! Options that several commands of `cargo xtask netlab` share.

use super::hosts::Network;
use super::job::Layout;
use super::spec::Spec;
use crate::options::Seed;
use clap::{Args, ValueEnum};
use std::env;
use std::sync::LazyLock;

#[derive(Args)]
pub struct Links {
    /// delay=1ms,jitter=1ms,loss=1%,dup=1%,reorder=1%,corrupt=0.1%,rate=100mbit,cut=1s/20s (random) or cut=1s@5s (once);
    /// with "hA>hB:" or "hA-hB:" in front for one direction or one pair. The last that fits counts
    #[arg(long = "link", value_name = "FAULTS")]
    pub specs: Vec<Spec>,
    #[command(flatten)]
    pub seed: Seed,
}

/// The library's own networks between hosts. TCP is that of the settings, which may be another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wire {
    Tcp,
    Udp,
    /// A library of SISCI's joins "hosts" of this machine, for a layout of one host. LIBSISCI names its file, as for ci/hosts.
    Sisci,
}

impl Wire {
    /// The settings of a job. Over UDP its nodes count what happens, and a silent peer is lost as soon as over TCP.
    pub fn settings(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Wire::Tcp => Vec::new(),
            Wire::Udp => vec![("GASNET_SCI_NETWORK", "udp"), ("GASNET_SCI_UDP_DEAD", "5"), ("GASNET_SCI_STATS", "yes")],
            Wire::Sisci => {
                static LIBRARY: LazyLock<String> =
                    LazyLock::new(|| env::var("LIBSISCI").unwrap_or("libsisci.so".into()));
                vec![("GASNET_SCI_NETWORK", "sisci"), ("GASNET_SCI_LIBSISCI", &LIBRARY), ("GASNET_SCI_SPLIT", "2")]
            }
        }
    }
}

impl Links {
    pub fn relay(&self) -> Network {
        Network::Relay(self.specs.clone(), self.seed.seed)
    }
}

/// A value of --layout. The error has its cause in it.
pub fn layout(text: &str) -> Result<Layout, String> {
    text.parse().map_err(|error: anyhow::Error| format!("{error:#}"))
}
