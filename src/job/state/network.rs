//! The network of a job of several hosts: which one, where this node listens, and what its peers may write here.
//!
//! Must not know: how a wire works.

use crate::am::region::{DECK, PAYLOAD, layout_version};
use crate::base::config::{Config, Secure, Transport, variable};
use crate::base::error::Error;
use crate::base::log;
use crate::boot::contact::address::Endpoint;
use crate::boot::contact::book::Book;
use crate::boot::{Bootstrap, JobMemory, Key};
use crate::job::limits;
use crate::os::own_threads;
use crate::sci::far::Far;
use crate::sci::far::ofi::{OfiWire, has_rdma_hardware};
use crate::sci::far::seal;
use crate::sci::far::sisci::{SisciWire, Wishes};
use crate::sci::far::tcp::Tcp;
use crate::sci::far::udp::Udp;
use crate::sci::far::udp::mode::Mode;
use crate::sci::far::wire::{ADDRESS, Wire};
use crate::sci::hosts::Hosts;
use crate::sci::shm::Shm;
use crate::sci::{Adapter, IS_TIMED, JobAdapter};
use std::time::Duration;

/// The key of a node's address: the first letter of its wire's name, by which nodes see that they use different wires (t: tcp, u: udp,
/// s: seed-udp, o: ofi, i: sisci; a new wire needs another letter), one byte of length, then as many bytes, then zeros. The highest bits of the letter and
/// of the length are the lower and the higher one of the node's [`wish`].
const WIRE: Key = Key::new("wire");
/// The letters of wires whose addresses are cards.
const CARDS: &[u8] = b"tus";

/// This node's way to all nodes: to those of this host by `near`, to those that `is_far` says by a network.
pub(super) fn join(config: &Config, memory: &JobMemory, near: Shm, is_far: Option<Vec<bool>>) -> Result<Hosts, Error> {
    let Some(is_far) = is_far.filter(|_| !IS_TIMED) else { return Ok(Hosts::one(near)) }; // timing mode refuses other hosts later
    let count = is_far.iter().filter(|is_far| **is_far).count() as u32;
    let (me, nodes) = (u32::from(near.node().0), is_far.len() as u32);
    let far = open(config, me, nodes, count, memory.secret())?;
    Ok(Hosts::several(near, far, is_far, memory.header().cookie()))
}

/// Opens this node's network to other hosts, as the settings say.
///
/// # Errors
/// What does not work, or which limit stands against connections to `far` nodes.
fn open(config: &Config, me: u32, nodes: u32, far: u32, secret: [u8; 16]) -> Result<&'static Far, Error> {
    let transport = config.hosts.transport(has_rdma_hardware);
    if transport != Transport::Udp {
        limits::make_room_for_connections(far).map_err(no_network)?; // over UDP peers share a socket
    }
    let wire = match transport {
        Transport::Tcp => tcp(config, me, nodes, secret)?,
        Transport::Udp => udp(config, me, nodes, secret)?,
        Transport::Sisci => sisci(config, me, nodes, secret)?,
        Transport::Ofi(provider) => {
            let wire = own_threads::of_library(|| OfiWire::open(provider, secret, me, nodes)).map_err(no_network)?;
            Box::new(wire) as Box<dyn Wire>
        }
        Transport::OfiElseTcp(hardware) => automatic(&hardware, config, me, nodes, secret)?,
    };
    Ok(Far::new(nodes, wire, [PAYLOAD, DECK]))
}

fn no_network(problem: String) -> Error {
    Error::resource(format_args!("no network to other hosts: {problem}"))
}

/// libfabric for this hardware if it works, else TCP. Node 0 says which.
fn automatic(hardware: &str, config: &Config, me: u32, nodes: u32, secret: [u8; 16]) -> Result<Box<dyn Wire>, Error> {
    match own_threads::of_library(|| OfiWire::open(None, secret, me, nodes)) {
        Ok(wire) => {
            if me == 0 {
                log::advise(&format!("network between hosts: {} ({hardware})", wire.name()));
            }
            Ok(Box::new(wire))
        }
        Err(problem) => {
            if me == 0 {
                log::advise(&format!(
                    "{hardware} is here, but {problem}; TCP is taken (GASNET_SCI_NETWORK=tcp says so)"
                ));
            }
            tcp(config, me, nodes, secret)
        }
    }
}

fn tcp(config: &Config, me: u32, nodes: u32, secret: [u8; 16]) -> Result<Box<dyn Wire>, Error> {
    let hosts = &config.hosts;
    let endpoint = Endpoint::choose(hosts.interface.as_deref(), hosts.ports.clone()).map_err(no_network)?;
    let tcp = Tcp::new(me, nodes, layout_version(), secret, &endpoint).map_err(no_network)?;
    let [silence, contact] = [hosts.link_timeout, hosts.start_timeout].map(Duration::from_secs_f64);
    Ok(Box::new(tcp.with_silence(silence).with_contact(contact).with_congestion(hosts.congestion.clone())))
}

fn udp(config: &Config, me: u32, nodes: u32, secret: [u8; 16]) -> Result<Box<dyn Wire>, Error> {
    let hosts = &config.hosts;
    let endpoint = Endpoint::choose(hosts.interface.as_deref(), hosts.ports.clone()).map_err(no_network)?;
    let mode = if hosts.udp_seed { Mode::SEED } else { Mode::NORMAL };
    let udp = Udp::new(me, nodes, secret, &endpoint, mode).map_err(no_network)?;
    let [silence, contact] = [hosts.udp_dead, hosts.start_timeout].map(Duration::from_secs_f64);
    Ok(Box::new(udp.with_times(silence, contact).with_faults(hosts.udp_faults)))
}

fn sisci(config: &Config, me: u32, nodes: u32, secret: [u8; 16]) -> Result<Box<dyn Wire>, Error> {
    let hosts = &config.hosts;
    let contact = Duration::from_secs_f64(hosts.start_timeout);
    // With these our own libsisci waits for acknowledgements, or lets the times of cards pass, in a transfer of any length.
    let is_slow = ["SISCI_NODES", "SISCI_TIMING"].into_iter().any(|name| variable(name).is_some());
    let (library, dma_from) = (hosts.libsisci.as_deref(), hosts.sisci_dma.map(|n| n as usize));
    let wishes = Wishes { library, dma_from, straight: !is_slow && dma_from.is_none(), contact };
    let wire = own_threads::of_library(|| SisciWire::open(&wishes, secret, me, nodes)).map_err(no_network)?;
    if me == 0 && config.verbose_env {
        log::advise(&wire.says());
    }
    Ok(Box::new(wire))
}

/// The letter of a wire's name, see [`WIRE`].
fn letter(name: &str) -> u8 {
    match name {
        "sisci" => b'i', // its first one is that of seed-udp
        name => name.as_bytes()[0],
    }
}

/// What a node wants of GASNET_SCI_SECURE, as it goes through the exchange: a value of the setting, and of `auto` whether the processor has
/// instructions for it.
fn wish(secure: Secure, is_fast: bool) -> u8 {
    match secure {
        Secure::No => 0,
        Secure::Yes => 1,
        Secure::Auto => 2 + u8::from(is_fast),
    }
}

/// Whether what goes between hosts is protected, by the wishes of all nodes. Every node decides here, and alike.
///
/// # Errors
/// The first node that has another setting than node 0.
fn is_protected(wishes: &[u8], is_one_machine: bool) -> Result<bool, usize> {
    let first = wishes.first().copied().unwrap_or(0);
    match wishes.iter().position(|wish| (*wish).min(2) != first.min(2)) {
        Some(node) => Err(node),
        None if first < 2 => Ok(first == 1),
        None => Ok(!is_one_machine && wishes.iter().all(|wish| *wish == 3)),
    }
}

/// Exchanges the addresses of all nodes, and protects the network if they want it.
pub(super) fn meet(far: &Far, boot: &dyn Bootstrap, config: &Config) -> Result<(), Error> {
    let address = far.wire().address();
    let name = far.wire().name();
    let mut card = [0; 2 + ADDRESS];
    let wish = wish(config.hosts.secure, seal::is_fast());
    card[..2].copy_from_slice(&[letter(&name) | wish << 7, address.len() as u8 | wish >> 1 << 7]);
    card[2..2 + address.len()].copy_from_slice(&address);
    let own = letter(&name);
    boot.put(WIRE, &card)?;
    boot.fence()?;
    let of = |node| {
        let mut card = [0; 2 + ADDRESS];
        boot.get(node, WIRE, &mut card)?;
        let wish = card[0] >> 7 | card[1] >> 7 << 1;
        if card[0] & 0x7f != own {
            return Err(Error::resource(format_args!(
                "node {node} has another network than this one ({name}); GASNET_SCI_NETWORK sets one for all"
            )));
        }
        Ok((wish, card[2..][..usize::from(card[1] & 0x7f).min(ADDRESS)].to_vec()))
    };
    let (wishes, addresses): (Vec<_>, Vec<_>) = (0..boot.size()).map(of).collect::<Result<_, Error>>()?;
    if CARDS.contains(&own) {
        no_gap(&addresses, boot)?;
    }
    protect(far, boot, &wishes, Book::read(&addresses).is_of_one_machine())?;
    if boot.rank() == 0 && config.verbose_env {
        log::advise(&format!("network between hosts: {}", far.wire().name()));
    }
    far.wire().set_peers(addresses);
    Ok(())
}

/// Protects the wire, if the nodes want it.
fn protect(far: &Far, boot: &dyn Bootstrap, wishes: &[u8], is_one_machine: bool) -> Result<(), Error> {
    let why = match is_protected(wishes, is_one_machine) {
        Ok(false) => return Ok(()),
        Ok(true) if far.wire().protect() => return Ok(()),
        Ok(true) if wishes[0] != 1 => return Ok(()), // auto, over a wire that cannot
        Ok(true) => format!(
            "GASNET_SCI_SECURE=yes, but {} protects nothing; set GASNET_SCI_NETWORK to tcp or udp, or GASNET_SCI_SECURE=no",
            far.wire().name()
        ),
        Err(node) => format!("nodes 0 and {node} differ in GASNET_SCI_SECURE; set it to the same for all nodes"),
    };
    one_says(boot, 0, why)
}

/// An error that all nodes have: node `rank` says so, and the others wait in the exchange until the job ends.
fn one_says(boot: &dyn Bootstrap, rank: u32, why: String) -> Result<(), Error> {
    if rank != boot.rank() {
        boot.fence()?;
    }
    Err(no_network(why))
}

/// Whether the nodes can meet at what they have told.
fn no_gap(cards: &[Vec<u8>], boot: &dyn Bootstrap) -> Result<(), Error> {
    Book::read(cards).gap().map_or(Ok(()), |(rank, why)| one_says(boot, rank, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_protect_what_all_of_them_want_to_and_none_decides_alone() {
        let [no, yes, slow, fast] =
            [(Secure::No, true), (Secure::Yes, false), (Secure::Auto, false), (Secure::Auto, true)]
                .map(|(s, f)| wish(s, f));
        for one_machine in [true, false] {
            assert_eq!(is_protected(&[no; 3], one_machine), Ok(false));
            assert_eq!(is_protected(&[yes; 3], one_machine), Ok(true));
            assert_eq!(is_protected(&[fast; 3], one_machine), Ok(!one_machine));
            assert_eq!(is_protected(&[fast, slow, fast], one_machine), Ok(false));
            for wrong in [[no, yes], [yes, no], [fast, yes], [yes, slow], [no, fast], [slow, no]] {
                assert_eq!(is_protected(&[wrong[0], wrong[0], wrong[1]], one_machine), Err(2), "{wrong:?}");
            }
        }
    }
}
