//! What the launcher tells the agent of a host: the body of the frame START. It is read with as little trust as any frame.

use super::mapping::Mapping;
use super::options::{Debug, Order, Output};
use gasnet_sci::os::topology::Bind;
use gasnet_sci::supervise::channel::{Reader, Writer};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A host's part of a job.
#[derive(Debug, PartialEq)]
pub struct Start {
    /// The job's number in lists of jobs.
    pub id: u64,
    /// The secret by which nodes of several hosts know each other.
    pub secret: [u64; 2],
    /// The number of the agent's host.
    pub host: u32,
    /// The host of each node.
    pub hosts: Vec<u32>,
    pub directory: PathBuf,
    /// `name=value` entries, each ended by a zero byte.
    pub environment: Vec<u8>,
    pub umask: u32,
    /// A bit for each signal that the launcher ignores.
    pub ignored: u64,
    /// Whether the nodes write parts of a traffic matrix, which the agent sends.
    pub matrix: bool,
    /// The map of the nodes.
    pub mapping: Option<Mapping>,
    pub file: PathBuf,
    pub zeroth: OsString,
    pub order: Order,
}

impl Start {
    /// The body.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.long(self.id);
        self.secret.iter().for_each(|word| w.long(*word));
        w.word(self.host);
        w.word(self.hosts.len() as u32);
        self.hosts.iter().for_each(|host| w.word(*host));
        w.bytes(self.directory.as_os_str().as_bytes());
        w.bytes(&self.environment);
        w.word(self.umask);
        w.long(self.ignored);
        w.byte(u8::from(self.matrix));
        w.byte(u8::from(self.mapping.is_some()));
        if let Some(Mapping { name, text, .. }) = &self.mapping {
            w.bytes(name.as_bytes());
            w.bytes(text.as_bytes());
        }
        w.bytes(self.file.as_os_str().as_bytes());
        w.bytes(self.zeroth.as_bytes());
        let order = &self.order;
        w.bytes(order.program.as_bytes());
        w.word(order.arguments.len() as u32);
        order.arguments.iter().for_each(|argument| w.bytes(argument.as_bytes()));
        let (bind, each) = match order.bind {
            Bind::None => (0, 0),
            Bind::Cores(each) => (1, each),
            Bind::Cpus(each) => (2, each),
            Bind::Numa => (3, 0),
        };
        w.byte(bind);
        w.word(each as u32);
        [order.bind_is_wish, order.aslr, order.verbose].into_iter().for_each(|flag| w.byte(u8::from(flag)));
        match &order.output {
            Output::Here { tag } => w.byte(u8::from(*tag)),
            Output::Files(names) => {
                w.byte(2);
                names.iter().for_each(|name| w.bytes(name.as_bytes()));
            }
        }
        w.byte(u8::from(order.debug.is_some()));
        if let Some(Debug { command, node }) = &order.debug {
            w.bytes(command.as_bytes());
            w.byte(u8::from(node.is_some()));
            w.word(node.unwrap_or(0));
        }
        w.0
    }

    /// Reads a body; `None`: it makes no sense.
    pub fn decode(body: &[u8]) -> Option<Start> {
        let r = &mut Reader(body);
        let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_os_string();
        let (id, secret, host) = (r.long()?, [r.long()?, r.long()?], r.word()?);
        let nodes = r.word().filter(|nodes| (1..=65_535).contains(nodes))?;
        let hosts = (0..nodes).map(|_| r.word().filter(|host| *host < nodes)).collect::<Option<Vec<_>>>()?;
        if !hosts.contains(&host) {
            return None;
        }
        let (directory, environment) = (text(r.bytes()?), r.bytes()?.to_vec());
        let (umask, ignored, matrix) = (r.word()?, r.long()?, r.flag()?);
        let mapping = match r.flag()? {
            false => None,
            true => Some(Mapping::parse(r.text()?, r.text()?, nodes).ok()?),
        };
        // Words of a command line have no zero bytes.
        let word = |r: &mut Reader<'_>| {
            r.bytes().filter(|bytes| !bytes.contains(&0)).map(|bytes| OsString::from_vec(bytes.into()))
        };
        let (file, zeroth, program) = (word(r)?, word(r)?, word(r)?);
        let arguments = (0..r.word()?).map(|_| word(r)).collect::<Option<Vec<_>>>()?;
        let bind = match (r.byte()?, r.word()? as usize) {
            (0, 0) => Bind::None,
            (1, each) => Bind::Cores(each),
            (2, each) => Bind::Cpus(each),
            (3, 0) => Bind::Numa,
            _ => return None,
        };
        let (bind_is_wish, aslr, verbose) = (r.flag()?, r.flag()?, r.flag()?);
        let output = match r.byte()? {
            tag @ (0 | 1) => Output::Here { tag: tag == 1 },
            2 => Output::Files([r.text()?, r.text()?]),
            _ => return None,
        };
        let debug = match r.flag()? {
            false => None,
            true => {
                let (command, one, node) = (r.text()?, r.flag()?, r.word()?);
                Some(Debug { command, node: one.then_some(node).filter(|node| *node < nodes) })
            }
        };
        let order = Order {
            nodes,
            hosts: None,
            bind,
            bind_is_wish,
            map: None,
            matrix: None,
            aslr,
            output,
            time_limit: None,
            debug,
            verbose,
            survive: false,
            dry: false,
            program,
            arguments,
        };
        let (directory, file) = (directory.into(), file.into());
        let start = Start {
            id,
            secret,
            host,
            hosts,
            directory,
            environment,
            umask,
            ignored,
            matrix,
            mapping,
            file,
            zeroth,
            order,
        };
        r.0.is_empty().then_some(start)
    }

    /// The ranks of the nodes on the agent's host.
    pub fn ranks(&self) -> Vec<u32> {
        (0..).zip(&self.hosts).filter(|(_, host)| **host == self.host).map(|(rank, _)| rank).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn ranks_are_those_of_the_agents_host() {
        let start = start(vec![1, 0, 1], Vec::new(), 0, Output::Here { tag: false }, None);
        assert_eq!(start.ranks(), [0, 2]);
    }
}
