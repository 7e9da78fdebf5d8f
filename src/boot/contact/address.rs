//! Where a node listens: on the interface that the user names, else on the first that reaches other hosts.
//!
//! Must not know: connections, peers.

use crate::os::net::{Interface, interfaces};
use socket2::{Domain, Socket, Type};
use std::io::{self, Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;

/// An address and the ports that may be taken; 0: any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub address: IpAddr,
    /// The ports.
    pub ports: RangeInclusive<u16>,
}

impl Endpoint {
    /// The endpoint that the settings ask for: an interface by its name or its address, and a range of ports.
    pub fn choose(interface: Option<&str>, ports: RangeInclusive<u16>) -> Result<Endpoint, String> {
        let list = interfaces().map_err(|error| format!("cannot list the network interfaces: {error}"))?;
        let address = among(&list, interface)?;
        Ok(Endpoint { address: address.into(), ports })
    }

    /// Listens at the first of the ports that is free.
    pub fn listen(&self, backlog: i32) -> io::Result<TcpListener> {
        let mut last = Error::from(ErrorKind::AddrInUse);
        for port in self.ports.clone() {
            let at = SocketAddr::new(self.address, port);
            let socket = Socket::new(Domain::for_address(at), Type::STREAM.nonblocking(), None)?;
            socket.set_reuse_address(true)?; // a job that has just ended may have used the port
            match socket.bind(&at.into()).and_then(|()| socket.listen(backlog)) {
                Ok(()) => return Ok(socket.into()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// As it travels to peers: four bytes of address (or 16), two of the first port.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = match self.address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        bytes.extend_from_slice(&self.ports.start().to_le_bytes());
        bytes
    }
}

/// The address that a peer sent. `None`: it has none, or these bytes are none.
pub fn read(bytes: &[u8]) -> Option<SocketAddr> {
    let (address, port) = bytes.split_last_chunk::<2>()?;
    let address: IpAddr = match address.len() {
        4 => Ipv4Addr::from(*address.first_chunk::<4>()?).into(),
        16 => std::net::Ipv6Addr::from(*address.first_chunk::<16>()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_le_bytes(*port)))
}

fn among(list: &[Interface], wanted: Option<&str>) -> Result<Ipv4Addr, String> {
    let found = match wanted {
        Some(wanted) => list.iter().find(|i| i.name == wanted || i.address.to_string() == wanted),
        None => list.iter().find(|i| !i.is_loopback).or(list.first()),
    };
    found.map(|i| i.address).ok_or_else(|| {
        let names: Vec<String> = list.iter().map(|i| format!("{} ({})", i.name, i.address)).collect();
        let what = wanted
            .map_or("no interface is up".into(), |name| format!("no interface is called {name}, or has that address"));
        format!("{what}; there are: {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, address: [u8; 4], is_loopback: bool) -> Interface {
        Interface { name: name.into(), address: address.into(), is_loopback }
    }

    #[test]
    fn the_interface_is_the_users_or_the_first_that_reaches_others() {
        let list = [
            interface("lo", [127, 0, 0, 1], true),
            interface("eth0", [10, 0, 0, 7], false),
            interface("ib0", [10, 1, 0, 7], false),
        ];
        assert_eq!(among(&list, None), Ok([10, 0, 0, 7].into()));
        assert_eq!(among(&list, Some("ib0")), Ok([10, 1, 0, 7].into()));
        assert_eq!(among(&list, Some("127.0.0.1")), Ok([127, 0, 0, 1].into()));
        assert_eq!(among(&list[..1], None), Ok([127, 0, 0, 1].into()));
        let refusal = among(&list, Some("eth9")).unwrap_err();
        assert!(refusal.contains("eth9") && refusal.contains("ib0 (10.1.0.7)"), "{refusal}");
    }

    #[test]
    fn addresses_travel() {
        for text in ["10.1.2.3:4567", "[fe80::1]:9"] {
            let at: SocketAddr = text.parse().unwrap();
            let sent = Endpoint { address: at.ip(), ports: at.port()..=at.port() }.bytes();
            assert_eq!(read(&sent), Some(at));
        }
        for wrong in [&[][..], &[1], &[1, 2, 3, 4, 5], &[0; 19]] {
            assert_eq!(read(wrong), None);
        }
    }

    #[test]
    fn a_port_of_the_range_is_taken_and_then_it_is_not_free() {
        let any = Endpoint { address: Ipv4Addr::LOCALHOST.into(), ports: 0..=0 };
        let port = any.listen(8).unwrap().local_addr().unwrap().port();
        let one = Endpoint { ports: port..=port, ..any };
        let held = one.listen(8).unwrap();
        assert_eq!(held.local_addr().unwrap().port(), port);
        assert!(one.listen(8).is_err());
    }
}
