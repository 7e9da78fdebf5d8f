//! What a process tells others so that they can reach it: a card with the addresses at which it listens.
//!
//! ```text
//! FORM u8 | machine, 7 bytes | for each address: length of its network's prefix, +64 for IPv6, u8 | 4 or 16 bytes | port u16
//! ```
//! Must not know: interfaces, sockets.

use crate::os::{host, net};
use sha2::{Digest, Sha256};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The most bytes of a card.
pub const CARD: usize = 94;
/// The most addresses of each family on a card, so that it has at most [`CARD`] bytes.
pub const MOST: [usize; 2] = [4, 3];

/// The form of a card. Another one is none that this library reads.
const FORM: u8 = 1;
/// Added to the length of a prefix of IPv6.
const SIX: u8 = 64;

/// What an address is good for, in the order in which addresses are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// IPv4 on one link.
    Link4,
    /// IPv6 on one link.
    Link6,
    /// This host alone.
    Loopback,
}

impl Reach {
    /// That of `address`.
    pub fn of(address: IpAddr) -> Reach {
        match address {
            address if address.is_loopback() => Reach::Loopback,
            IpAddr::V4(address) if address.is_link_local() => Reach::Link4,
            IpAddr::V6(address) if address.is_unicast_link_local() => Reach::Link6,
            IpAddr::V4(_) => Reach::V4,
            IpAddr::V6(_) => Reach::V6,
        }
    }

    /// In words, before "addresses".
    pub fn name(self) -> &'static str {
        match self {
            Reach::V4 => "IPv4",
            Reach::V6 => "IPv6",
            Reach::Link4 => "IPv4 link-local",
            Reach::Link6 => "IPv6 link-local",
            Reach::Loopback => "loopback",
        }
    }
}

/// An address at which a process listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Address and port. The number of an interface in it means something on its own host alone, and does not travel.
    pub at: SocketAddr,
    /// How many leading bits the addresses of its network have in common.
    pub prefix: u8,
}

impl Spot {
    /// What it is good for.
    pub fn reach(&self) -> Reach {
        Reach::of(self.at.ip())
    }

    /// True if both are addresses of one network.
    pub fn is_beside(&self, other: &Spot) -> bool {
        let prefix = u32::from(self.prefix.min(other.prefix));
        match (self.at.ip(), other.at.ip()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => prefix > 0 && (a.to_bits() ^ b.to_bits()).leading_zeros() >= prefix,
            (IpAddr::V6(a), IpAddr::V6(b)) => prefix > 0 && (a.to_bits() ^ b.to_bits()).leading_zeros() >= prefix,
            _ => false,
        }
    }
}

/// What a process publishes so that others of its job can connect to it: its machine and the addresses at which it listens. The
/// process makes it when it begins to listen (`address.rs`); it goes through the exchange as bytes; a peer reads it and chooses addresses
/// that both can use (`book.rs`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Processes with the same number have the same addresses, because they share a network namespace of one boot of one system.
    pub machine: u64,
    /// Where the process listens, the first one first.
    pub spots: Vec<Spot>,
}

impl Card {
    /// A card of this machine.
    pub fn here(spots: Vec<Spot>) -> Card {
        Card { machine: machine(), spots }
    }

    /// As it travels.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![FORM];
        bytes.extend_from_slice(&self.machine.to_le_bytes()[..7]);
        for Spot { at, prefix } in &self.spots {
            match at.ip() {
                IpAddr::V4(address) => {
                    bytes.push(*prefix);
                    bytes.extend_from_slice(&address.octets());
                }
                IpAddr::V6(address) => {
                    bytes.push(SIX + prefix);
                    bytes.extend_from_slice(&address.octets());
                }
            }
            bytes.extend_from_slice(&at.port().to_le_bytes());
        }
        bytes
    }

    /// The card that a peer sent. `None`: these bytes are none.
    pub fn read(bytes: &[u8]) -> Option<Card> {
        let (form, bytes) = bytes.split_first()?;
        let (machine, mut rest) = bytes.split_first_chunk::<7>()?;
        if *form != FORM {
            return None;
        }
        let mut spots = Vec::new();
        while let Some((prefix, bytes)) = rest.split_first() {
            let (address, prefix, bytes): (IpAddr, u8, &[u8]) = match prefix {
                0..=32 => {
                    let (address, bytes) = bytes.split_first_chunk::<4>()?;
                    (Ipv4Addr::from(*address).into(), *prefix, bytes)
                }
                SIX..=192 => {
                    let (address, bytes) = bytes.split_first_chunk::<16>()?;
                    (Ipv6Addr::from(*address).into(), *prefix - SIX, bytes)
                }
                _ => return None,
            };
            let (port, bytes) = bytes.split_first_chunk::<2>()?;
            spots.push(Spot { at: SocketAddr::new(address, u16::from_le_bytes(*port)), prefix });
            rest = bytes;
        }
        let mut eight = [0; 8];
        eight[..7].copy_from_slice(machine);
        Some(Card { machine: u64::from_le_bytes(eight), spots })
    }

    /// Its addresses, for people.
    pub fn addresses(&self) -> String {
        let shown: Vec<String> = self.spots.iter().map(|spot| net::shown(spot.at)).collect();
        shown.join(", ")
    }
}

/// The number of this machine: of this boot of its system, and of this network namespace.
fn machine() -> u64 {
    let mut boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    if boot.is_empty() {
        boot = host::name().as_bytes().into();
    }
    let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let digest = Sha256::new().chain_update(boot).chain_update(network.as_os_str().as_encoded_bytes()).finalize();
    digest.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight)) & ((1 << 56) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(at: &str, prefix: u8) -> Spot {
        Spot { at: at.parse().unwrap(), prefix }
    }

    #[test]
    fn cards_travel_and_a_full_one_fits() {
        let mut spots = vec![spot("10.1.2.3:4567", 0); MOST[0]];
        spots.extend(vec![spot("[2001:db8::1]:65535", 128); MOST[1]]);
        let card = Card { machine: (1 << 56) - 1, spots };
        let bytes = card.bytes();
        assert!(bytes.len() <= CARD, "{}", bytes.len());
        assert_eq!(Card::read(&bytes), Some(card));
        for end in (0..bytes.len()).filter(|end| *end < 8 || (end - 8) % 7 != 0 && *end < 36) {
            assert_eq!(Card::read(&bytes[..end]), None, "{end}");
        }
        for wrong in [33, 63, 193, 255] {
            let card = [&[FORM, 1, 2, 3, 4, 5, 6, 7, wrong][..], &[0; 18]].concat();
            assert_eq!(Card::read(&card), None, "{wrong}");
        }
        assert_eq!(Card::read(&[&[FORM + 1][..], &[0; 7]].concat()), None);
        assert_eq!(Card::here(Vec::new()), Card::read(&Card::here(Vec::new()).bytes()).unwrap());
    }

    #[test]
    fn addresses_of_one_network_are_beside_each_other() {
        assert!(spot("10.1.2.3:1", 24).is_beside(&spot("10.1.2.9:2", 16)));
        assert!(!spot("10.1.2.3:1", 24).is_beside(&spot("10.1.3.3:2", 24)));
        assert!(spot("[fd00::1]:1", 64).is_beside(&spot("[fd00::ff:2]:2", 64)));
        assert!(!spot("[fd00::1]:1", 64).is_beside(&spot("[fd00:0:0:1::1]:2", 64)));
        assert!(!spot("[::1]:1", 0).is_beside(&spot("[::1]:1", 0)));
        assert!(!spot("10.1.2.3:1", 8).is_beside(&spot("[fd00::1]:1", 8)));
    }

    #[test]
    fn an_address_reaches_as_far_as_its_form_says() {
        for (address, reach) in [
            ("10.0.0.1", Reach::V4),
            ("127.3.0.1", Reach::Loopback),
            ("169.254.1.1", Reach::Link4),
            ("::1", Reach::Loopback),
            ("fd00::1", Reach::V6),
            ("2001:db8::1", Reach::V6),
            ("fe80::1", Reach::Link6),
        ] {
            assert_eq!(Reach::of(address.parse().unwrap()), reach, "{address}");
        }
    }
}
