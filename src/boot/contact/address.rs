//! Where a process listens: at the interface that the user names, else at those that reach other hosts.
//!
//! Must not know: connections, peers.

use super::card::{Card, MOST, Reach, Spot};
use crate::os::net::{self, Interface, interfaces};
use crate::os::udp;
use socket2::{Domain, Socket, Type};
use std::io::{self, Error, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::ops::RangeInclusive;

/// Addresses of this host, and the ports that may be taken; 0: any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The addresses, the first one first.
    pub interfaces: Vec<Interface>,
    /// The ports.
    pub ports: RangeInclusive<u16>,
}

/// What a process listens with, and what it tells others about that.
pub struct Listening<S = TcpListener> {
    /// One for each address of the card, in the same order.
    pub listeners: Vec<S>,
    /// What others must know. Its addresses have the numbers of their interfaces.
    pub card: Card,
}

impl Endpoint {
    /// The endpoint that the settings ask for: an interface by its name or by its address, and a range of ports.
    pub fn choose(interface: Option<&str>, ports: RangeInclusive<u16>) -> Result<Endpoint, String> {
        let list = interfaces().map_err(|error| format!("cannot list the network interfaces: {error}"))?;
        Ok(Endpoint { interfaces: among(&list, interface)?, ports })
    }

    /// One address, for tests.
    pub fn at(address: IpAddr, port: u16) -> Endpoint {
        let (prefix, is_loopback) = (if address.is_ipv4() { 32 } else { 128 }, address.is_loopback());
        let one = Interface { name: "?".into(), address, prefix, scope: 0, is_loopback, is_running: true };
        Endpoint { interfaces: vec![one], ports: port..=port }
    }

    /// Listens at each address, at the first of the ports that is free there. An address that the system does not give, such as one of
    /// IPv6 whose uniqueness it still finds out, is left out if there is another one.
    ///
    /// # Errors
    /// What was tried, the reason, and the settings.
    pub fn listen(&self, backlog: i32) -> Result<Listening, String> {
        self.open(|at| listen_at(at, backlog), TcpListener::local_addr)
    }

    /// The same for datagrams. `room`: bytes for what comes to each.
    ///
    /// # Errors
    /// As of [`Endpoint::listen`].
    pub fn bind(&self, room: usize) -> Result<Listening<UdpSocket>, String> {
        self.open(|at| udp::bind(at, room), UdpSocket::local_addr)
    }

    fn open<S>(
        &self,
        open_at: impl Fn(SocketAddr) -> io::Result<S>,
        address: impl Fn(&S) -> io::Result<SocketAddr>,
    ) -> Result<Listening<S>, String> {
        let (mut listeners, mut spots, mut last) = (Vec::new(), Vec::new(), None);
        for interface in &self.interfaces {
            match self.ports.clone().try_fold(Error::from(ErrorKind::AddrInUse), |_, port| {
                match open_at(interface.at(port)) {
                    Ok(listener) => Err(listener),
                    Err(error) => Ok(error),
                }
            }) {
                Err(listener) => {
                    let port = address(&listener).map_err(|error| error.to_string())?.port();
                    spots.push(Spot { at: interface.at(port), prefix: interface.prefix });
                    listeners.push(listener);
                }
                Ok(error) => last = Some(error),
            }
        }
        match last {
            Some(error) if listeners.is_empty() => {
                Err(format!("cannot listen at {}: {error} (GASNET_SCI_IFACE, GASNET_SCI_PORTS)", self.addresses()))
            }
            _ => Ok(Listening { listeners, card: Card::here(spots) }),
        }
    }

    /// The card of a process at these addresses: of one that connects from them, and listens nowhere.
    pub fn card(&self) -> Card {
        let spot = |interface: &Interface| Spot { at: interface.at(*self.ports.start()), prefix: interface.prefix };
        Card::here(self.interfaces.iter().map(spot).collect())
    }

    /// Its addresses, for people.
    pub fn addresses(&self) -> String {
        let shown: Vec<String> = self.interfaces.iter().map(text).collect();
        shown.join(", ")
    }
}

fn listen_at(at: SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM.nonblocking(), None)?;
    socket.set_reuse_address(true)?; // a job that has just ended may have used the port
    socket.bind(&at.into())?;
    socket.listen(backlog)?;
    Ok(socket.into())
}

/// The address as `ip address` writes it, with the interface where it needs that.
fn text(interface: &Interface) -> String {
    match interface.scope {
        0 => interface.address.to_string(),
        scope => format!("{}%{}", interface.address, net::interface_name(scope)),
    }
}

/// The addresses to listen at, in the order in which others try them.
fn among(list: &[Interface], wanted: Option<&str>) -> Result<Vec<Interface>, String> {
    let is_named = |i: &&Interface| match wanted {
        Some(wanted) => i.name == wanted || i.address.to_string() == wanted || text(i) == wanted,
        None => !i.is_loopback,
    };
    let mut found: Vec<Interface> = list.iter().filter(is_named).cloned().collect();
    if found.is_empty() && wanted.is_none() {
        found = list.to_vec(); // the loopback alone: it reaches what runs on this machine
    }
    if found.is_empty() {
        let names: Vec<String> = list.iter().map(|i| format!("{} ({})", i.name, text(i))).collect();
        let what = wanted
            .map_or("no interface is up".into(), |name| format!("no interface is called {name}, or has that address"));
        return Err(format!("{what}; there are: {}", names.join(", ")));
    }
    // An interface to which nothing is connected, such as a bridge of containers that do not run, comes last.
    found.sort_by_key(|i| (Reach::of(i.address), !i.is_running));
    Ok(bounded(found))
}

/// As many as a card has room for: the first ones, but one that counts on its link alone has a place in any case, since hosts without
/// others have such a one.
fn bounded(list: Vec<Interface>) -> Vec<Interface> {
    let is_of = |i: &Interface, family: usize| i.address.is_ipv6() == (family == 1);
    let on_link = |i: &Interface| matches!(Reach::of(i.address), Reach::Link4 | Reach::Link6);
    let mut left = MOST;
    for (family, left) in left.iter_mut().enumerate() {
        *left -= usize::from(list.iter().any(|i| is_of(i, family) && on_link(i)));
    }
    let (mut kept, mut links) = (Vec::new(), [false; 2]);
    for interface in list {
        let family = usize::from(interface.address.is_ipv6());
        let is_first_link = on_link(&interface) && !std::mem::replace(&mut links[family], true);
        if is_first_link || left[family] > 0 {
            left[family] -= usize::from(!is_first_link);
            kept.push(interface);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn interface(name: &str, address: &str) -> Interface {
        let address: IpAddr = address.parse().unwrap();
        Interface {
            name: name.into(),
            address,
            prefix: 24,
            scope: u32::from(Reach::of(address) == Reach::Link6),
            is_loopback: name == "lo",
            is_running: true,
        }
    }

    fn chosen(list: &[Interface], wanted: Option<&str>) -> String {
        match among(list, wanted) {
            Ok(interfaces) => Endpoint { interfaces, ports: 0..=0 }.addresses(),
            Err(refusal) => refusal,
        }
    }

    #[test]
    fn the_interface_is_the_users_or_those_that_reach_others() {
        let list = [
            interface("lo", "127.0.0.1"),
            interface("eth0", "10.0.0.7"),
            interface("ib0", "10.1.0.7"),
            interface("lo", "::1"),
            interface("eth0", "fd00::7"),
            interface("eth0", "fe80::7"), // its scope is the loopback's number in this test
        ];
        assert_eq!(chosen(&list, None), "10.0.0.7, 10.1.0.7, fd00::7, fe80::7%lo");
        assert_eq!(chosen(&list, Some("ib0")), "10.1.0.7");
        assert_eq!(chosen(&list, Some("eth0")), "10.0.0.7, fd00::7, fe80::7%lo");
        assert_eq!(chosen(&list, Some("127.0.0.1")), "127.0.0.1");
        assert_eq!(chosen(&list, Some("fd00::7")), "fd00::7");
        assert_eq!(chosen(&list, Some("fe80::7%lo")), "fe80::7%lo");
        let refusal = chosen(&list, Some("eth9"));
        assert!(refusal.contains("eth9") && refusal.contains("ib0 (10.1.0.7), lo (::1)"), "{refusal}");
        assert!(chosen(&[], None).contains("no interface is up"));
    }

    #[test]
    fn a_host_without_others_has_its_loopback_and_one_without_ipv4_its_ipv6() {
        let [lo, lo6] = [interface("lo", "127.0.0.1"), interface("lo", "::1")];
        assert_eq!(chosen(&[lo.clone(), lo6.clone()], None), "127.0.0.1, ::1");
        let six = interface("eth0", "fd00::7");
        let link = interface("eth0", "fe80::7");
        assert_eq!(chosen(&[lo.clone(), lo6.clone(), link.clone(), six], None), "fd00::7, fe80::7%lo");
        assert_eq!(chosen(&[lo, lo6, link], None), "fe80::7%lo");
    }

    #[test]
    fn of_many_interfaces_the_first_ones_count_and_those_without_a_link_come_last() {
        let mut list: Vec<Interface> = (1..9).map(|n| interface("br", &format!("10.{n}.0.1"))).collect();
        list[0].is_running = false;
        list.extend((1..9).map(|n| interface("eth", &format!("fd00::{n}"))));
        list.extend((1..9).map(|n| interface("veth", &format!("fe80::{n}"))));
        let kept = chosen(&list, None);
        assert_eq!(kept, "10.2.0.1, 10.3.0.1, 10.4.0.1, 10.5.0.1, fd00::1, fd00::2, fe80::1%lo");
        assert_eq!(chosen(&list[16..], None), "fe80::1%lo, fe80::2%lo, fe80::3%lo");
        assert_eq!(chosen(&list[..2], None), "10.2.0.1, 10.1.0.1");
    }

    #[test]
    fn a_port_of_the_range_is_taken_and_then_it_is_not_free() {
        let any = Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0);
        let port = any.listen(8).unwrap().card.spots[0].at.port();
        let mut one = Endpoint { ports: port..=port, ..any };
        let held = one.listen(8).unwrap();
        assert_eq!(held.listeners[0].local_addr().unwrap(), held.card.spots[0].at);
        let refusal = one.listen(8).err().unwrap();
        assert!(refusal.contains("127.0.0.1: Address already in use") && refusal.contains("_PORTS"), "{refusal}");
        // Another address is enough.
        one.interfaces.extend(Endpoint::at(Ipv4Addr::new(127, 0, 0, 2).into(), 0).interfaces);
        let second = one.listen(8).unwrap();
        assert_eq!((second.listeners.len(), second.card.addresses()), (1, format!("127.0.0.2:{port}")));
    }
}
