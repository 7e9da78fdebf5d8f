//! Variables of jobs on several hosts. Contract: environment.md §3.
//!
//! Must not know: which code uses a value.

use super::super::hosts::{Network, Secure, UdpFaults};
use super::super::parse;
use super::super::settings::{Var, put, row};
use crate::os::tcp::Congestion;
use std::ops::RangeInclusive;

/// One port, or two with a dash between.
fn ports(text: &str) -> Option<RangeInclusive<u16>> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high): (u16, u16) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high && (low > 0 || high == 0)).then_some(low..=high)
}

fn congestion(text: &str) -> Option<Congestion> {
    let is_name = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    match text {
        "auto" => Some(Congestion::Auto),
        "system" => Some(Congestion::System),
        name => is_name.then(|| Congestion::Named(name.into())),
    }
}

/// This part of the table.
pub(super) const VARS: &[Var] = &[
    row! { "GASNET_SCI_RSH", "ssh -o BatchMode=yes",
    "the command with which gasnetrun_sci starts its agent on a host; the host and the agent's command line follow it. If it is \
      set, this host is reached by it too. standing: by standing agents, gasnet-sci agent, whose options --listen PORT and \
      --secret FILE may follow",
    "a command, words separated by blanks, or standing",
    |c, v| put(&mut c.hosts.rsh, Some(v.trim()).filter(|v| !v.is_empty()).map(|v| Some(v.to_string()))) },
    row! { "GASNET_SSH_CMD", "ssh",
    "the same command as other launchers of the family take it; used if GASNET_SCI_RSH is not set. ssh gets -o BatchMode=yes",
    "a command, words separated by blanks",
    |c, v| put(&mut c.hosts.ssh, Some(v.trim()).filter(|v| !v.is_empty()).map(String::from)) },
    row! { "GASNET_SSH_OPTIONS", "", "options that follow GASNET_SSH_CMD",
    "words separated by blanks", |c, v| put(&mut c.hosts.ssh_options, Some(v.trim().into())) },
    row! { "GASNET_SCI_START_TIMEOUT", "60",
    "seconds; how long a host may take until its agent answers, and until its system answers a node's first contact",
    "a number of seconds, 1 or more",
    |c, v| put(&mut c.hosts.start_timeout, parse::float(v).filter(|n| (1.0..1e6).contains(n))) },
    row! { "GASNET_SCI_LINK_TIMEOUT", "5",
    "seconds; a host from which nothing is heard for so long counts as lost, and the job ends",
    "a number of seconds, 2 or more",
    |c, v| put(&mut c.hosts.link_timeout, parse::float(v).filter(|n| (2.0..1e6).contains(n))) },
    row! { "GASNET_SCI_AGENT_CONF", "none",
    "a file of limits on this host's part of jobs of several hosts, besides /etc/gasnet-sci/agent.conf (gasnetrun_sci --help); of \
      two limits the tighter one counts",
    "a file name, or none",
    |c, v| put(&mut c.hosts.agent_conf, Some(Some(v.trim().to_string()).filter(|file| file != "none"))) },
    row! { "GASNET_SCI_TREE", "64",
    "as many hosts gasnetrun_sci reaches itself; if there are more, it divides them into as many groups, and the first host of \
      each group reaches the others of the group",
    "an integer, 1 or more", |c, v| put(&mut c.hosts.tree, parse::integer(v, 1, u32::MAX.into())) },
    row! { "GASNET_SCI_NETWORK", "auto",
    "network between hosts: tcp; udp; sisci, by a SISCI library; ofi, libfabric with the provider that suits best, or ofi:PROVIDER; \
      auto: ofi where there is RDMA hardware, else tcp",
    "auto, tcp, udp, sisci, ofi, or ofi: and a libfabric provider", |c, v| put(&mut c.hosts.network, Network::parse(v)) },
    row! { "GASNET_SCI_LIBSISCI", "libsisci.so, or /opt/DIS/lib64/libsisci.so",
    "the file of the library for GASNET_SCI_NETWORK=sisci",
    "a file name", |c, v| (!v.trim().is_empty()).then(|| c.hosts.libsisci = Some(v.trim().into())) },
    row! { "GASNET_SCI_SISCI_DMA", "never",
    "over SISCI: records (messages, pieces of puts and gets) of so many bytes or more go by the adapter's DMA, if it says that its \
      alignment divides 64 bytes, and never below what it suggests; no record is longer than 32832 bytes; then no put goes straight to the target's segment",
    "never, or an integer from 0 to 65536", |c, v| {
        put(&mut c.hosts.sisci_dma, match v.trim() { "never" => Some(None), v => parse::integer(v, 0, 65536).map(Some) })
    } },
    row! { "GASNET_SCI_SECURE", "no",
    "between hosts over tcp and udp: yes, all that goes is encrypted and authenticated; auto, that if all nodes have processors with \
      instructions for it, and the hosts are different machines",
    "yes, no or auto", |c, v| put(&mut c.hosts.secure, Secure::parse(v)) },
    row! { "GASNET_SCI_TCP_CONGESTION", "auto",
    "congestion control of connections between hosts over TCP, as the system names it; system: the system's choice; auto: that, \
      but cubic or reno instead of bbr, which holds back what is sent after a pause",
    "auto, system, or a name: letters, digits, - and _", |c, v| put(&mut c.hosts.congestion, congestion(v.trim())) },
    row! { "GASNET_SCI_UDP_MODE", "normal",
    "the protocol over UDP: normal; seed, that of ParaStation2, with a window of 8 packets",
    "normal or seed",
    |c, v| put(&mut c.hosts.udp_seed, ["normal", "seed"].iter().position(|w| *w == v.trim()).map(|n| n == 1)) },
    row! { "GASNET_SCI_UDP_DEAD", "10",
    "seconds; over UDP, a node that gives no sign for so long although it was asked for one is lost, and the job ends",
    "a number of seconds, 2 or more",
    |c, v| put(&mut c.hosts.udp_dead, parse::float(v).filter(|n| (2.0..1e6).contains(n))) },
    row! { "GASNET_SCI_UDP_FAULTS", "none",
    "over UDP, for tests: in per cent, datagrams that are lost (loss), sent twice (dup) or damaged (flip); how many overtake one \
      (reorder, to 64); how long one takes (delay, to 200ms); seed, for other chances",
    "none, or such as loss=5,dup=1,reorder=8,flip=0.1,delay=2ms,seed=7",
    |c, v| put(&mut c.hosts.udp_faults, match v.trim() { "none" => Some(None), v => UdpFaults::parse(v).map(Some) }) },
    row! { "GASNET_SCI_IFACE", "all that reach other hosts",
    "network interface for nodes of other hosts, by its name or its address",
    "a name such as eth0, or an address of IPv4 or IPv6 such as fe80::1%eth0",
    |c, v| (!v.trim().is_empty()).then(|| c.hosts.interface = Some(v.trim().into())) },
    row! { "GASNET_SCI_PORTS", "any", "ports of TCP or UDP at which the nodes of a job on several hosts listen",
    "a port, or a range such as 40000-40100; one for each node of a host",
    |c, v| put(&mut c.hosts.ports, if v.trim() == "any" { Some(0..=0) } else { ports(v) }) },
    row! { "GASNET_SCI_PROGRESS", "poll",
    "jobs on several hosts: poll, what other hosts send and ask for is served in calls of the library; thread, a thread \
      serves it while the client computes, which needs a free core",
    "poll or thread", |c, v| {
        put(&mut c.hosts.progress_thread, ["poll", "thread"].iter().position(|w| *w == v.trim()).map(|n| n == 1))
    } },
    row! { "GASNET_SCI_SPLIT", "1",
    "as how many hosts each host counts: its nodes, in blocks, reach each other over the network (for tests)",
    "an integer from 1 to 65535", |c, v| put(&mut c.hosts.split, parse::integer(v, 1, 65535)) },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_one_or_a_range() {
        assert_eq!(ports("40000-40100"), Some(40000..=40100));
        assert_eq!(ports("7"), Some(7..=7));
        for wrong in ["", "9-8", "0-7", "x", "1-70000"] {
            assert_eq!(ports(wrong), None, "{wrong}");
        }
    }
}
