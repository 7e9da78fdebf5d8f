//! What a job on several hosts would use on this host: network, interface, what starts nodes elsewhere, what it may.

#![allow(unsafe_code)] // the loader of libraries

use crate::report::{AgentConf, HostsReport, LibraryFound};
use gasnet_sci::base::config::{AGENT_CONF, Config, Hosts, Network, Secure, Transport};
use gasnet_sci::boot::contact::address::Endpoint;
use gasnet_sci::sci::far::ofi::has_rdma_hardware;
use gasnet_sci::sci::far::seal;
use gasnet_sci::sci::far::sisci::SisciLibrary;
use std::ffi::CStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Looks at this host, with the settings of this shell.
pub fn look(config: &Config) -> HostsReport {
    let hosts = &config.hosts;
    let libfabric = library(c"libfabric.so.1");
    let hardware = has_rdma_hardware();
    let (network, why) = choice(hosts, hardware.as_deref(), libfabric.file.as_deref());
    let endpoint = Endpoint::choose(hosts.interface.as_deref(), hosts.ports.clone());
    let (found, problem) = match endpoint {
        Ok(endpoint) => (endpoint.interfaces, None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    let is_alone = !found.is_empty() && found.iter().all(|interface| interface.address.is_loopback());
    let files = [Some(AGENT_CONF), hosts.agent_conf.as_deref()];
    HostsReport {
        protected: protected(hosts.secure),
        network,
        is_refused: why.is_err(),
        why: why.unwrap_or_else(|problem| format!("GASNET_SCI_NETWORK says so, BUT {problem}: a job would not start")),
        hardware,
        libfabric,
        interface: found.first().map(|interface| interface.name.clone()),
        address: found.first().map(|interface| interface.address.to_string()),
        addresses: found.iter().map(|interface| format!("{} ({})", interface.address, interface.name)).collect(),
        only_loopback: is_alone,
        problem,
        ports: match (hosts.ports.start(), hosts.ports.end()) {
            (0, _) => "any".into(),
            (low, high) if low == high => low.to_string(),
            (low, high) => format!("{low}-{high}"),
        },
        link_timeout_seconds: hosts.link_timeout,
        rsh: hosts.reach().join(" "),
        agent_conf: files.into_iter().flatten().map(agent_conf).collect(),
        pmix: library(c"libpmix.so.2"),
    }
}

/// The network that GASNET_SCI_NETWORK means here, and why. The error is why a job would not start with it.
fn choice(hosts: &Hosts, hardware: Option<&str>, libfabric: Option<&str>) -> (String, Result<String, String>) {
    const UNPROTECTED: &str = "IT CANNOT PROTECT (GASNET_SCI_SECURE)";
    let wanted = || Ok("GASNET_SCI_NETWORK says so".into());
    let ofi = |provider: Option<&str>| provider.map_or("ofi".into(), |provider| format!("ofi:{provider}"));
    let is_auto = hosts.network == Network::Auto;
    match (hosts.transport(|| hardware.map(String::from)), libfabric) {
        (Transport::Tcp, _) if is_auto && hosts.secure == Secure::Yes => {
            ("tcp".into(), Ok("GASNET_SCI_SECURE wants it".into()))
        }
        (Transport::Tcp, _) if is_auto => ("tcp".into(), Ok("there is no RDMA hardware".into())),
        (Transport::Tcp, _) => ("tcp".into(), wanted()),
        (Transport::Udp, _) => ("udp".into(), wanted()),
        (Transport::Sisci, _) if hosts.secure == Secure::Yes => ("sisci".into(), Err(UNPROTECTED.into())),
        (Transport::Sisci, _) => {
            let library = SisciLibrary::get(hosts.libsisci.as_deref());
            let why = library.map(|library| format!("GASNET_SCI_NETWORK says so; {}", library.describe()));
            ("sisci".into(), why.map_err(|problem| problem.to_string()))
        }
        (Transport::Ofi(provider), _) if hosts.secure == Secure::Yes => (ofi(provider), Err(UNPROTECTED.into())),
        (Transport::Ofi(provider), Some(_)) => (ofi(provider), wanted()),
        (Transport::Ofi(provider), None) => (ofi(provider), Err("LIBFABRIC IS NOT FOUND".into())),
        (Transport::OfiElseTcp(device), Some(_)) => ("ofi".into(), Ok(format!("there is {device}, and libfabric"))),
        (Transport::OfiElseTcp(device), None) => {
            let advice = "but no libfabric: install it (Debian: libfabric1) to use the device";
            ("tcp".into(), Ok(format!("there is {device}, {advice}")))
        }
    }
}

/// Whether a job protects what goes between hosts, as far as this host alone knows.
fn protected(secure: Secure) -> String {
    match (secure, seal::is_fast()) {
        (Secure::No, _) => "no (GASNET_SCI_SECURE)".into(),
        (Secure::Yes, true) => seal::CIPHER.into(),
        (Secure::Yes, false) => format!("{}, SLOWLY: the processor has no instructions for it", seal::CIPHER),
        (Secure::Auto, true) => {
            format!("{} if the others' processors have instructions for it, too, over tcp and udp", seal::CIPHER)
        }
        (Secure::Auto, false) => "no: the processor has no instructions for it".into(),
    }
}

// Loads it as a node would. It stays loaded for the rest of this short process.
fn library(name: &CStr) -> LibraryFound {
    let text = name.to_string_lossy();
    // SAFETY: a string that ends with 0; what the library's constructors do is its business, as in a node.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return LibraryFound { name: text.into(), file: None };
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let stem = text.split(".so").next().unwrap_or_default();
    let file = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|file| {
        Path::new(file)
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(&format!("{stem}.so")))
    });
    LibraryFound { file: Some(file.unwrap_or(&text).into()), name: text.into() }
}

fn agent_conf(file: &str) -> AgentConf {
    let (lines, problem) = match fs::read_to_string(file) {
        Ok(text) => {
            let line = |line: &str| line.split('#').next().unwrap_or_default().trim().to_string();
            (text.lines().map(line).filter(|line| !line.is_empty()).collect(), None)
        }
        Err(error) if error.kind() == ErrorKind::NotFound && file == AGENT_CONF => (Vec::new(), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    AgentConf { file: file.into(), exists: Path::new(file).exists(), lines, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libfabric_is_for_hardware_unless_the_user_wants_it() {
        let of = |network, hardware, libfabric| choice(&Hosts { network, ..Hosts::default() }, hardware, libfabric);
        assert_eq!(of(Network::Auto, None, Some("lib")).0, "tcp");
        assert_eq!(of(Network::Auto, Some("device"), Some("lib")).0, "ofi");
        let (network, why) = of(Network::Auto, Some("RDMA device mlx5_0"), None);
        let why = why.unwrap();
        assert!(network == "tcp" && why.contains("mlx5_0") && why.contains("install"), "{why}");
        assert_eq!(of(Network::Tcp, Some("device"), Some("lib")).0, "tcp");
        assert_eq!(of(Network::Ofi(Some("net".into())), None, Some("lib")).0, "ofi:net");
        assert!(of(Network::Ofi(None), None, None).1.unwrap_err().contains("NOT FOUND"));
        let nowhere =
            Hosts { network: Network::Sisci, libsisci: Some("/nowhere/libsisci.so".into()), ..Hosts::default() };
        let (network, why) = choice(&nowhere, None, None);
        assert!(network == "sisci" && why.unwrap_err().contains("/nowhere/libsisci.so"));
        let secure =
            |network| choice(&Hosts { network, secure: Secure::Yes, ..Hosts::default() }, Some("device"), Some("lib"));
        assert_eq!(secure(Network::Auto).0, "tcp");
        assert!(secure(Network::Ofi(None)).1.unwrap_err().contains("CANNOT PROTECT"));
    }

    #[test]
    fn a_library_has_a_file_or_none() {
        assert!(library(c"libc.so.6").file.unwrap().contains("libc.so"));
        assert_eq!(library(c"libgasnet-sci-nowhere.so.9").file, None);
    }

    #[test]
    fn a_file_of_limits_is_shown_without_its_comments() {
        let file = std::env::temp_dir().join(format!("gasnet-sci-agent-{}", std::process::id()));
        fs::write(&file, "# of the administrator\njobs = 2 # at most\n\nusers = a, b\n").unwrap();
        let found = agent_conf(file.to_str().unwrap());
        fs::remove_file(&file).unwrap();
        assert!(found.exists && found.lines == ["jobs = 2", "users = a, b"], "{:?}", found.lines);
        assert!(agent_conf("/nowhere/agent.conf").problem.is_some());
    }
}
