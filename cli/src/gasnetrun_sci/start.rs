//! What the launcher tells the agent of a host: the body of the frame START. It is read with as little trust as any frame.

use super::mapping::Mapping;
use super::options::Order;
use gasnet_sci::os::topology::Bind;
use gasnet_sci::supervise::channel;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A host's part of a job.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The job's number in lists of jobs.
    pub id: u64,
    /// The secret by which nodes of several hosts know each other.
    pub secret: [u64; 2],
    /// The number of the agent's host.
    pub host: u32,
    /// The host of each node.
    pub hosts: Vec<u32>,
    #[serde(with = "path")]
    pub directory: PathBuf,
    /// `name=value` entries, each ended by a zero byte.
    #[serde(with = "serde_bytes")]
    pub environment: Vec<u8>,
    pub umask: u32,
    /// A bit for each signal that the launcher ignores.
    pub ignored: u64,
    /// Whether the nodes write parts of a traffic matrix, which the agent sends.
    pub matrix: bool,
    /// The map of the nodes.
    pub mapping: Option<Mapping>,
    #[serde(with = "path")]
    pub file: PathBuf,
    pub zeroth: OsString,
    pub order: Order,
}

impl Start {
    /// The body.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default() // every value has an encoding
    }

    /// Reads a body; `None`: it makes no sense.
    pub fn decode(body: &[u8]) -> Option<Start> {
        let mut start = channel::read::<Start>(body).filter(Start::makes_sense)?;
        let nodes = start.order.nodes;
        let debug = &mut start.order.debug;
        debug.iter_mut().for_each(|debug| debug.node = debug.node.filter(|node| *node < nodes));
        if let Some(Mapping { name, text, .. }) = start.mapping.take() {
            start.mapping = Some(Mapping::parse(name, text, nodes).ok()?);
        }
        Some(start)
    }

    fn makes_sense(&self) -> bool {
        let order = &self.order;
        let are_hosts = (1..=65_535).contains(&order.nodes)
            && self.hosts.len() == order.nodes as usize
            && self.hosts.iter().all(|host| *host < order.nodes)
            && self.hosts.contains(&self.host);
        let words = [self.file.as_os_str(), &self.zeroth, &order.program].into_iter();
        let mut words = words.chain(order.arguments.iter().map(OsString::as_os_str));
        let is_large = |each: usize| u32::try_from(each).is_err();
        are_hosts
            && !matches!(order.bind, Bind::Cores(each) | Bind::Cpus(each) if is_large(each))
            && !words.any(|word| word.as_bytes().contains(&0)) // as in any command line
    }

    /// The ranks of the nodes on the agent's host.
    pub fn ranks(&self) -> Vec<u32> {
        (0..).zip(&self.hosts).filter(|(_, host)| **host == self.host).map(|(rank, _)| rank).collect()
    }
}

// A path in all its bytes, which need not be UTF-8.
mod path {
    use super::{Deserialize, OsString, Path, PathBuf, Serialize};
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(to)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(from).map(PathBuf::from)
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::{Debug, Output};
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStringExt;

    fn start(hosts: Vec<u32>, bytes: Vec<u8>, number: u64, output: Output, debug: Option<Debug>) -> Start {
        let text = OsString::from_vec(bytes.iter().copied().filter(|byte| *byte != 0).collect());
        let order = Order {
            nodes: hosts.len() as u32,
            hosts: None,
            bind: [Bind::None, Bind::Cores(3), Bind::Cpus(2), Bind::Numa][number as usize % 4],
            bind_is_wish: number & 4 != 0,
            map: None,
            matrix: None,
            aslr: number & 8 != 0,
            output,
            time_limit: None,
            debug,
            verbose: number & 16 != 0,
            survive: false,
            dry: false,
            program: text.clone(),
            arguments: vec![text.clone(), "".into(), text.clone()],
        };
        let map = (0..order.nodes).map(|rank| format!("{rank} pos:{rank}\n")).collect();
        Start {
            id: number,
            secret: [number, !number],
            host: hosts[0],
            hosts,
            directory: PathBuf::from(text.clone()),
            environment: bytes,
            umask: number as u32,
            ignored: number,
            matrix: number & 32 != 0,
            mapping: (number & 64 != 0).then(|| Mapping::parse("m".into(), map, order.nodes).unwrap()),
            file: PathBuf::from(text.clone()),
            zeroth: text,
            order,
        }
    }

    proptest! {
        #[test]
        fn what_is_told_is_what_is_heard(
            hosts in prop::collection::vec(0..1u32, 1..9), bytes in prop::collection::vec(any::<u8>(), 0..50),
            number in any::<u64>(), files in any::<Option<[String; 2]>>(), command in any::<Option<String>>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let output = files.map_or(Output::Here { tag: number & 1 == 1 }, Output::Files);
            let debug = command.map(|command| Debug { command, node: (number & 2 != 0).then_some(0) });
            let start = start(hosts, bytes, number, output, debug);
            let body = start.encode();
            let back = Start::decode(&body);
            prop_assert_eq!(back.as_ref(), Some(&start));
            prop_assert_eq!(Start::decode(&body[..cut.index(body.len())]), None);
        }

        #[test]
        fn any_body_is_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Start::decode(&body);
        }
    }

    #[test]
    fn a_body_with_something_that_cannot_be_is_refused() {
        let changes: [fn(&mut Start); 8] = [
            |_| (),
            |start| start.order.nodes = 0,
            |start| start.order.nodes = 4,
            |start| start.host = 2,
            |start| start.hosts[1] = 3,
            |start| start.order.bind = Bind::Cores(1 << 32),
            |start| start.order.arguments[1] = "a\0b".into(),
            |start| start.file = "\0".into(),
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut start = start(vec![1, 0, 1], Vec::new(), 1, Output::Here { tag: false }, None);
            change(&mut start);
            assert_eq!(Start::decode(&start.encode()).is_some(), at == 0, "{at}");
        }
        let start = start(vec![0], Vec::new(), 1, Output::Here { tag: false }, None);
        assert_eq!(Start::decode(&[start.encode(), vec![0]].concat()), None, "a byte too many");
    }

    #[test]
    fn ranks_are_those_of_the_agents_host() {
        let start = start(vec![1, 0, 1], Vec::new(), 0, Output::Here { tag: false }, None);
        assert_eq!(start.ranks(), [0, 2]);
    }
}
