//! The bare connection of TCP and the bare datagrams of UDP that rows of jobs on two hosts are compared with: made by the nodes, used by
//! `kernels/tcp.c` and `udp.c`.

use super::kernels::Node;
use gasnet_sci::base::config::Config;
use gasnet_sci::boot::contact::address::{Endpoint, Listening};
use gasnet_sci::boot::contact::book::ways;
use gasnet_sci::boot::contact::card::{CARD, Card};
use gasnet_sci::os::tcp::choose_congestion;
use gasnet_sci::os::udp;
use gasnet_sci::sci::far::udp::size::MOST;
use std::collections::HashSet;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long the nodes may take until they are connected.
const PATIENCE: Duration = Duration::from_secs(10);
/// What the system is asked to keep of datagrams.
const ROOM: usize = 8 << 20;

/// Connects node 0 and the first node of the second host, and gives the kernels the connection, and sockets for datagrams along it. All
/// nodes call it, after `touch`.
pub fn connect(node: &Node) -> io::Result<()> {
    let hosts = Config::survey().config.hosts;
    let endpoint = Endpoint::choose(hosts.interface.as_deref(), hosts.ports).map_err(failed)?;
    let connected = match node.me {
        0 => accept(&endpoint, |card| words(card).iter().for_each(|word| _ = node.told(*word)))?,
        me => {
            let card = bytes([0; WORDS].map(|_| node.told(0)));
            if me != node.nodes / 2 {
                return Ok(());
            }
            reach(&endpoint, &card)?
        }
    };
    connected.set_nodelay(true)?;
    connected.set_read_timeout(Some(PATIENCE))?;
    beside(&connected, node)?;
    // As the library's own connections have it, so that rows compare what is done over a connection, not its options.
    choose_congestion(connected.as_fd(), &Config::survey().config.hosts.congestion)?;
    connected.set_nonblocking(true)?;
    node.take_connection(connected.into());
    Ok(())
}

// Sockets of UDP at the addresses of a connection, over which the two sides tell each other their ports.
fn beside(mut connected: &TcpStream, node: &Node) -> io::Result<()> {
    let (mut here, mut there) = (connected.local_addr()?, connected.peer_addr()?);
    here.set_port(0);
    let socket = udp::bind(here, ROOM)?;
    let mut port = socket.local_addr()?.port().to_le_bytes();
    connected.write_all(&port)?;
    connected.read_exact(&mut port)?;
    there.set_port(u16::from_le_bytes(port));
    let datagram = udp::most(there)?.min(MOST);
    // The system counts more than the bytes of a datagram.
    let room = (udp::room(&socket) / 4).max(1 << 17);
    node.take_datagrams(socket.into(), &there.into(), datagram, room);
    Ok(())
}

fn failed(why: String) -> Error {
    Error::new(ErrorKind::NotConnected, format!("the bare TCP connection between two nodes: {why}"))
}

// Connects to the process with this card, at the first of its addresses that answers.
fn reach(endpoint: &Endpoint, card: &[u8]) -> io::Result<TcpStream> {
    let card = Card::read(card).ok_or_else(|| failed("node 0 told no card".into()))?;
    let mut why = "there is no way to it".to_string();
    for way in ways(&endpoint.card(), &card, &HashSet::new()) {
        match TcpStream::connect_timeout(&way.to, PATIENCE) {
            Ok(connected) => return Ok(connected),
            Err(error) => why = error.to_string(),
        }
    }
    Err(failed(format!("cannot connect to node 0 at {}: {why}", card.addresses())))
}

// Listens where the job's nodes do (GASNET_SCI_IFACE, GASNET_SCI_PORTS), tells it, and takes the first who comes.
fn accept(endpoint: &Endpoint, tell: impl FnOnce(&[u8])) -> io::Result<TcpStream> {
    let Listening { listeners, card } = endpoint.listen(1).map_err(failed)?;
    tell(&card.bytes());
    let end = Instant::now() + PATIENCE;
    loop {
        for listener in &listeners {
            match listener.accept() {
                Ok((stream, _)) => return Ok(stream),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(_) => {}
            }
        }
        if Instant::now() > end {
            return Err(failed(format!("nobody has connected to node 0 at {}", card.addresses())));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A card in words, behind its length.
const WORDS: usize = 1 + CARD.div_ceil(8);

fn words(card: &[u8]) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    words[0] = card.len() as u64;
    for (word, part) in words[1..].iter_mut().zip(card.chunks(8)) {
        let mut eight = [0; 8];
        eight[..part.len()].copy_from_slice(part);
        *word = u64::from_le_bytes(eight);
    }
    words
}

fn bytes(words: [u64; WORDS]) -> Vec<u8> {
    let len = usize::try_from(words[0]).unwrap_or(CARD).min(CARD);
    words[1..].iter().flat_map(|word| word.to_le_bytes()).take(len).collect()
}

#[cfg(test)]
mod tests {
    use super::{CARD, bytes, words};

    #[test]
    fn a_card_goes_in_words() {
        for len in [0, 1, 8, 27, CARD] {
            let card: Vec<u8> = (1..=len as u8).collect();
            assert_eq!(bytes(words(&card)), card);
        }
    }
}
