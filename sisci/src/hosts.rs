//! The nodes that SISCI_NODES names, which of them are on other hosts, and the secret by which hosts know each other.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::time::Duration;

/// The port of a host whose line names none.
const PORT: u16 = 17_339;
/// Bytes that a secret has at least: whoever hears a greeting may try secrets at home.
const SHORTEST: usize = 16;
/// Bytes that are read of a secret, at most.
const LONGEST: u64 = 4096;

/// Where the processes of a host are reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its name or address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Place {
    /// `host`, `host:port`, `[address]:port`, or an address of IPv6 alone.
    fn parse(text: &str) -> Option<Place> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']')?;
                (host, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some(""))?)
            }
            None if text.matches(':').count() > 1 => (text, ""),
            None => text.split_once(':').unwrap_or((text, "")),
        };
        let port = if port.is_empty() { PORT } else { port.parse().ok().filter(|&port| port != 0)? };
        (!host.is_empty()).then(|| Place { host: host.to_owned(), port })
    }
}

/// What a file of nodes says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// The nodes with their names; one may have several.
    pub names: Vec<(u32, String)>,
    /// Where they are.
    pub places: BTreeMap<u32, Place>,
}

impl Nodes {
    /// Parses lines `id host[:port] [name]`, or Dolphin's file, of which HOSTNAME and ADAPTER count. The error is the line that is neither.
    pub fn parse(text: &str, is_node: impl Fn(u32) -> bool) -> Result<Nodes, String> {
        let mut found = Nodes::default();
        let mut host = String::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            let wrong = || line.to_owned();
            match words[..] {
                [] => {}
                ["HOSTNAME:", name, ..] => name.clone_into(&mut host),
                ["ADAPTER:", name, id, ..] => {
                    let id = id.parse().ok().filter(|&id| is_node(id)).ok_or_else(wrong)?;
                    found.names.push((id, name.to_owned()));
                    found.names.push((id, host.clone()));
                    found.places.extend(Place::parse(&host).map(|place| (id, place)));
                }
                [word, ..] if word.ends_with(':') => {}
                [id, place, ref names @ ..] => {
                    let id = id.parse().ok().filter(|&id| is_node(id)).ok_or_else(wrong)?;
                    let place = Place::parse(place).ok_or_else(wrong)?;
                    found.names.push((id, place.host.clone()));
                    found.names.extend(names.first().map(|name| (id, (*name).to_owned())));
                    found.places.insert(id, place);
                }
                _ => return Err(wrong()),
            }
        }
        Ok(found)
    }
}

/// What all hosts know, and nobody else. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Secret")
    }
}

impl Secret {
    /// What the file `path` holds, without the ends of lines behind it. Nobody else may read the file.
    pub fn read(path: &str) -> Result<Secret, String> {
        use std::os::unix::fs::MetadataExt;
        let wrong = |what: &str| format!("SISCI_COOKIE_FILE={path}: {what}");
        let file = std::fs::File::open(path).map_err(|error| wrong(&error.to_string()))?;
        let meta = file.metadata().map_err(|error| wrong(&error.to_string()))?;
        if !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o077 != 0 {
            return Err(wrong("it has to be a file of your own with mode 0600"));
        }
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).map_err(|error| wrong(&error.to_string()))?;
        bytes.truncate(bytes.trim_ascii_end().len());
        if bytes.len() < SHORTEST { Err(wrong("it has to hold 16 bytes at least")) } else { Ok(Secret(bytes)) }
    }
}

/// The other hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// This host.
    pub own: Place,
    /// Where each node is.
    places: BTreeMap<u32, Place>,
    /// What hosts prove to each other.
    pub secret: Secret,
    /// How long another host may give no sign of life.
    pub timeout: Duration,
}

impl Hosts {
    /// The hosts of these nodes, of which `own` are this process's. They have to be on one host.
    pub fn new(places: BTreeMap<u32, Place>, own: &[u32], secret: Secret, timeout: Duration) -> Result<Hosts, String> {
        let of = |node: &u32| {
            places.get(node).ok_or(format!("SISCI_COOKIE_FILE is set, but SISCI_NODES has no line of node {node}"))
        };
        let here = of(own.first().unwrap_or(&0))?.clone();
        for node in own {
            if *of(node)? != here {
                return Err(format!("SISCI_NODES: the nodes {own:?} of this process have to be on one host"));
            }
        }
        Ok(Hosts { own: here, places, secret, timeout })
    }

    /// Where a node is, if that is another host.
    pub fn far(&self, node: u32) -> Option<&Place> {
        self.places.get(&node).filter(|place| **place != self.own)
    }

    /// All other hosts.
    pub fn others(&self) -> BTreeSet<&Place> {
        self.places.values().filter(|place| **place != self.own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(host: &str, port: u16) -> Place {
        Place { host: host.into(), port }
    }

    #[test]
    fn both_forms_of_node_files() {
        let own = Nodes::parse("# ours\n8 hosta:1234 left\n12 hostb\n", |_| true).unwrap();
        assert_eq!(own.names, [(8, "hosta".into()), (8, "left".into()), (12, "hostb".into())]);
        assert_eq!(own.places, BTreeMap::from([(8, place("hosta", 1234)), (12, place("hostb", PORT))]));
        let dolphin = Nodes::parse("DISHOSTVERSION: 3\nHOSTNAME: alpha\nADAPTER: alpha_a0 4 0 4\n", |_| true).unwrap();
        assert_eq!(dolphin.names, [(4, "alpha_a0".into()), (4, "alpha".into())]);
        assert_eq!(dolphin.places, BTreeMap::from([(4, place("alpha", PORT))]));
        assert!(Nodes::parse("x hosta", |_| true).is_err());
        assert!(Nodes::parse("8 hosta:0", |_| true).is_err());
        assert!(Nodes::parse("8 hosta", |id| id != 8).is_err());
    }

    #[test]
    fn addresses_of_both_kinds() {
        for (text, host, port) in [
            ("10.0.0.1:7", "10.0.0.1", 7),
            ("[fe80::1]:8", "fe80::1", 8),
            ("fe80::1", "fe80::1", PORT),
            ("[::1]", "::1", PORT),
        ] {
            assert_eq!(Place::parse(text), Some(place(host, port)), "{text}");
        }
        for text in ["", ":7", "[::1", "[::1]x", "host:x", "host:70000"] {
            assert_eq!(Place::parse(text), None, "{text}");
        }
    }

    #[test]
    fn which_nodes_are_far() {
        let nodes = Nodes::parse("4 a\n8 a\n12 b\n16 a:9", |_| true).unwrap();
        let hosts = |own: &[u32]| Hosts::new(nodes.places.clone(), own, Secret(vec![]), Duration::ZERO);
        let here = hosts(&[4, 8]).unwrap();
        assert_eq!([4, 8, 12, 16, 20].map(|node| here.far(node).is_some()), [false, false, true, true, false]);
        assert_eq!(here.others().len(), 2);
        assert!(hosts(&[4, 12]).is_err() && hosts(&[20]).is_err());
    }

    #[test]
    fn a_secret_that_others_may_read_is_none() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("sisci-secret-{}", std::process::id()));
        let name = path.to_str().unwrap();
        let with = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            Secret::read(name)
        };
        assert_eq!(with("0123456789abcdef\n", 0o600), Ok(Secret(b"0123456789abcdef".to_vec())));
        assert!(with("0123456789abcdef\n", 0o640).unwrap_err().contains("0600"));
        assert!(with("0123456789abcde\n", 0o600).unwrap_err().contains("16 bytes"));
        std::fs::remove_file(&path).unwrap();
        assert!(Secret::read(name).is_err());
    }
}
