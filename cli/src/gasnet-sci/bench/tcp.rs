//! The bare connection of TCP that rows of jobs on two hosts are compared with: made by the nodes, used by `kernels/tcp.c`.

use super::kernels::Node;
use gasnet_sci::base::config::Config;
use gasnet_sci::boot::contact::address::Endpoint;
use gasnet_sci::os::tcp::choose_congestion;
use std::io::{self, Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long the nodes may take until they are connected.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connects node 0 and the first node of the second host, and gives the kernels the connection. All nodes call it, after `touch`.
pub fn connect(node: &Node) -> io::Result<()> {
    let connected = match node.me {
        0 => accept(|at| node.told(packed(at)))?,
        me => {
            let at = unpacked(node.told(0));
            if me != node.nodes / 2 {
                return Ok(());
            }
            let problem = |error| failed(format!("cannot connect to node 0 at {at}: {error}"));
            TcpStream::connect_timeout(&at, PATIENCE).map_err(problem)?
        }
    };
    connected.set_nodelay(true)?;
    // As the library's own connections have it, so that rows compare what is done over a connection, not its options.
    choose_congestion(connected.as_fd(), &Config::survey().config.hosts.congestion)?;
    connected.set_nonblocking(true)?;
    node.take_connection(connected.into());
    Ok(())
}

fn failed(why: String) -> Error {
    Error::new(ErrorKind::NotConnected, format!("the bare TCP connection between two nodes: {why}"))
}

// Listens where the job's nodes do (GASNET_SCI_IFACE, GASNET_SCI_PORTS), tells it, and takes the first who comes.
fn accept(tell: impl FnOnce(SocketAddr) -> u64) -> io::Result<TcpStream> {
    let hosts = Config::survey().config.hosts;
    let endpoint = Endpoint::choose(hosts.interface.as_deref(), hosts.ports).map_err(failed)?;
    let listener =
        endpoint.listen(1).map_err(|error| failed(format!("cannot listen at {}: {error}", endpoint.address)))?;
    tell(listener.local_addr()?);
    let end = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            Err(_) if Instant::now() > end => return Err(failed("nobody has connected to node 0".into())),
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

// `Endpoint` chooses addresses of IPv4 only.
fn packed(at: SocketAddr) -> u64 {
    match at.ip() {
        IpAddr::V4(ip) => u64::from(u32::from(ip)) << 16 | u64::from(at.port()),
        IpAddr::V6(_) => 0,
    }
}

fn unpacked(word: u64) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::from((word >> 16) as u32).into(), word as u16)
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_address_fits_a_word() {
        let at = "10.1.2.3:40001".parse().unwrap();
        assert_eq!(super::unpacked(super::packed(at)), at);
    }
}
