//! Settings of jobs on several hosts.
//!
//! Must not know: the variables.

use crate::os::tcp::Congestion;
use std::ops::RangeInclusive;

/// The file in which a host's administrator says who may run nodes of jobs of several hosts there, and how many. Agents read it.
pub const AGENT_CONF: &str = "/etc/gasnet-sci/agent.conf";

/// What the user wants to carry bytes between hosts: the value of GASNET_SCI_NETWORK.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// libfabric where there is RDMA hardware, else TCP.
    Auto,
    /// This library's own protocol over TCP.
    Tcp,
    /// This library's own protocol over UDP.
    Udp,
    /// A library of SISCI's.
    Sisci,
    /// libfabric, with this provider or the one that suits best.
    Ofi(Option<String>),
}

/// What [`Network`] means on one host, once it is known which hardware that host has. [`Hosts::transport`] makes it; the job opens its wire by
/// it (`job/state/network.rs`), and `gasnet-sci info` prints it.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport<'a> {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// A library of SISCI's, or no job.
    Sisci,
    /// libfabric with this provider, or no job.
    Ofi(Option<&'a str>),
    /// libfabric for this hardware, or TCP if libfabric does not work.
    OfiElseTcp(String),
}

impl Network {
    /// What it means on a host. `hardware` names that host's hardware for libfabric, if there is any.
    fn on(&self, hardware: impl FnOnce() -> Option<String>) -> Transport<'_> {
        match self {
            Network::Tcp => Transport::Tcp,
            Network::Udp => Transport::Udp,
            Network::Sisci => Transport::Sisci,
            Network::Ofi(provider) => Transport::Ofi(provider.as_deref()),
            Network::Auto => hardware().map_or(Transport::Tcp, Transport::OfiElseTcp),
        }
    }

    /// The network of this name.
    pub fn parse(text: &str) -> Option<Network> {
        match text.trim() {
            "auto" => Some(Network::Auto),
            "tcp" => Some(Network::Tcp),
            "udp" => Some(Network::Udp),
            "sisci" => Some(Network::Sisci),
            "ofi" => Some(Network::Ofi(None)),
            other => other.strip_prefix("ofi:").filter(|p| !p.is_empty()).map(|p| Network::Ofi(Some(p.into()))),
        }
    }
}

/// Whether what goes between hosts is encrypted and authenticated: the value of GASNET_SCI_SECURE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secure {
    /// It is not.
    No,
    /// It is, or there is no job.
    Yes,
    /// It is where all processors are made for it, and the hosts are different machines.
    Auto,
}

impl Secure {
    /// What this word means.
    pub fn parse(text: &str) -> Option<Secure> {
        match text.trim().to_ascii_lowercase().as_str() {
            "auto" => Some(Secure::Auto),
            other => super::yes_no(other).map(|yes| if yes { Secure::Yes } else { Secure::No }),
        }
    }
}

/// What goes wrong on wish between hosts over UDP: the value of GASNET_SCI_UDP_FAULTS.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct UdpFaults {
    /// Datagrams that are lost, in per cent.
    pub loss: f64,
    /// That come twice.
    pub twice: f64,
    /// Of which a bit is flipped.
    pub damage: f64,
    /// So many others overtake one in ten datagrams, at most.
    pub depth: u32,
    /// µs that each datagram takes at most; half of it at least.
    pub delay: u64,
    /// Another number gives other chances.
    pub seed: u64,
}

impl UdpFaults {
    /// From `loss=5,dup=1,reorder=8,flip=0.1,delay=2ms,seed=7`, each of them if it is wanted.
    pub fn parse(text: &str) -> Option<UdpFaults> {
        let mut faults = UdpFaults::default();
        for word in text.split(',') {
            let (name, value) = word.trim().split_once('=')?;
            let per_cent = || value.parse().ok().filter(|part| (0.0..100.0).contains(part));
            match name {
                "loss" => faults.loss = per_cent()?,
                "dup" => faults.twice = per_cent()?,
                "flip" => faults.damage = per_cent()?,
                "reorder" => faults.depth = value.parse().ok().filter(|depth| *depth <= 64)?,
                "delay" => {
                    let ms: f64 = value.strip_suffix("ms")?.parse().ok()?;
                    faults.delay = (0.0..=200.0).contains(&ms).then_some((ms * 1000.0) as u64)?;
                }
                "seed" => faults.seed = value.parse().ok()?,
                _ => return None,
            }
        }
        Some(faults)
    }
}

/// Settings of jobs on several hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// The command that runs another command on a host, if the user names one.
    pub rsh: Option<String>,
    /// The same as other launchers of the family take it, and the options that they add to it.
    pub ssh: String,
    /// See `ssh`.
    pub ssh_options: String,
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
    /// The file of a SISCI library, if the user names one.
    pub libsisci: Option<String>,
    /// Over SISCI: bytes from which on they go by DMA, if at all.
    pub sisci_dma: Option<u32>,
    /// Whether what goes over it is protected.
    pub secure: Secure,
    /// The network interface for other hosts, by name or address.
    pub interface: Option<String>,
    /// The congestion control of connections over TCP.
    pub congestion: Congestion,
    /// Over UDP: ParaStation2's rules instead of this library's.
    pub udp_seed: bool,
    /// Over UDP: seconds of silence after which a peer counts as lost.
    pub udp_dead: f64,
    /// Over UDP: what goes wrong on wish.
    pub udp_faults: Option<UdpFaults>,
    /// The ports at which to listen for other hosts; 0: any.
    pub ports: RangeInclusive<u16>,
    /// Whether a thread serves the network while the client computes.
    pub progress_thread: bool,
    /// As how many hosts each host counts.
    pub split: u32,
}

/// What runs a command on a host, unless the user says something else.
const SSH: &str = "ssh";
/// Without this ssh may wait for somebody to type a password.
const NOBODY_TYPES: [&str; 2] = ["-o", "BatchMode=yes"];

impl Hosts {
    /// What carries bytes between hosts. `hardware` names this host's hardware for libfabric, if there is any: libfabric protects nothing, so
    /// it is not taken by itself where protection is wanted.
    pub fn transport(&self, hardware: impl FnOnce() -> Option<String>) -> Transport<'_> {
        match self {
            Hosts { network: Network::Auto, secure: Secure::Yes, .. } => Transport::Tcp,
            _ => self.network.on(hardware),
        }
    }

    /// The words of the command that runs another command on a host; the host follows.
    pub fn reach(&self) -> Vec<String> {
        let words = |text: &str| -> Vec<String> { text.split_whitespace().map(String::from).collect() };
        if let Some(rsh) = &self.rsh {
            return words(rsh);
        }
        let mut all = words(&self.ssh);
        if all.first().and_then(|word| word.rsplit('/').next()) == Some(SSH) {
            all.splice(1..1, NOBODY_TYPES.map(String::from));
        }
        all.extend(words(&self.ssh_options));
        all
    }
}

impl Default for Hosts {
    fn default() -> Self {
        Hosts {
            rsh: None,
            ssh: SSH.into(),
            ssh_options: String::new(),
            start_timeout: 60.0,
            link_timeout: 5.0,
            tree: 64,
            agent_conf: None,
            network: Network::Auto,
            libsisci: None,
            sisci_dma: None,
            secure: Secure::No,
            interface: None,
            congestion: Congestion::Auto,
            udp_seed: false,
            udp_dead: 10.0,
            udp_faults: None,
            ports: 0..=0,
            progress_thread: false,
            split: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_on_wish_are_words_with_numbers() {
        let faults = UdpFaults { loss: 5.0, twice: 1.0, damage: 0.1, depth: 8, delay: 2000, seed: 7 };
        assert_eq!(UdpFaults::parse("loss=5,dup=1,reorder=8,flip=0.1,delay=2ms,seed=7"), Some(faults));
        assert_eq!(UdpFaults::parse(" loss=0.5"), Some(UdpFaults { loss: 0.5, ..UdpFaults::default() }));
        for wrong in ["", "loss", "loss=100", "loss=-1", "delay=2", "delay=201ms", "reorder=65", "drop=1", "seed=x"] {
            assert_eq!(UdpFaults::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_network_that_protects_nothing_is_taken_on_wish_alone() {
        let of = |network, secure| {
            let hosts = Hosts { network, secure, ..Hosts::default() };
            format!("{:?}", hosts.transport(|| Some("device".into())))
        };
        assert_eq!(of(Network::Auto, Secure::No), "OfiElseTcp(\"device\")");
        assert_eq!(of(Network::Auto, Secure::Auto), "OfiElseTcp(\"device\")");
        assert_eq!(of(Network::Auto, Secure::Yes), "Tcp");
        assert_eq!(of(Network::Ofi(None), Secure::Yes), "Ofi(None)");
        for (text, secure) in [("Yes", Secure::Yes), ("0", Secure::No), (" AUTO ", Secure::Auto)] {
            assert_eq!(Secure::parse(text), Some(secure));
        }
        assert_eq!(Secure::parse("maybe"), None);
    }

    #[test]
    fn the_command_that_reaches_hosts_is_what_the_user_says() {
        let reach = |rsh: Option<&str>, ssh: &str, ssh_options: &str| {
            let (ssh, ssh_options) = (ssh.into(), ssh_options.into());
            Hosts { rsh: rsh.map(String::from), ssh, ssh_options, ..Hosts::default() }.reach().join(" ")
        };
        assert_eq!(Hosts::default().reach().join(" "), "ssh -o BatchMode=yes");
        assert_eq!(reach(None, "ssh", "-p 2222  -x"), "ssh -o BatchMode=yes -p 2222 -x");
        assert_eq!(reach(None, "/usr/bin/ssh -4", "-x"), "/usr/bin/ssh -o BatchMode=yes -4 -x");
        assert_eq!(reach(None, "rsh", "-l me"), "rsh -l me");
        assert_eq!(reach(Some("other -1"), "rsh", "-l me"), "other -1");
    }
}
