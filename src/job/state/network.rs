//! The network of a job of several hosts: which one, where this node listens, and what its peers may write here.
//!
//! Must not know: how a wire works.

use crate::am::region::{LAYOUT_VERSION, Layout, PAYLOAD};
use crate::base::config::Config;
use crate::base::config::hosts::Network;
use crate::base::error::Error;
use crate::base::log;
use crate::boot::contact::address::Endpoint;
use crate::boot::{Bootstrap, Key};
use crate::job::limits;
use crate::sci::far::Far;
use crate::sci::far::ofi::{OfiWire, has_rdma_hardware};
use crate::sci::far::tcp::Tcp;
use crate::sci::far::wire::{ADDRESS, Wire};
use std::time::Duration;

/// The key of a node's address: the first letter of its wire's name, by which nodes see that they use different wires (t: tcp, o: ofi;
/// a new wire needs another letter), one byte of length, then as many bytes, then zeros.
const WIRE: Key = Key::new("wire");

/// Opens this node's network to other hosts, as the settings say.
///
/// # Errors
/// What does not work, or which limit stands against connections to `far` nodes.
pub(super) fn open(config: &Config, me: u32, nodes: u32, far: u32, secret: [u8; 16]) -> Result<&'static Far, Error> {
    limits::make_room_for_connections(far).map_err(no_network)?;
    let wire = match &config.hosts.network {
        Network::Tcp => tcp(config, me, nodes, secret)?,
        Network::Ofi(provider) => {
            let wire = OfiWire::open(provider.as_deref(), secret, me, nodes).map_err(no_network)?;
            Box::new(wire) as Box<dyn Wire>
        }
        Network::Auto => automatic(config, me, nodes, secret)?,
    };
    Ok(Far::new(nodes, wire, PAYLOAD))
}

fn no_network(problem: String) -> Error {
    Error::resource(format_args!("no network to other hosts: {problem}"))
}

/// libfabric where there is hardware that needs it, else TCP. Node 0 says what was taken if that is not TCP.
fn automatic(config: &Config, me: u32, nodes: u32, secret: [u8; 16]) -> Result<Box<dyn Wire>, Error> {
    let Some(hardware) = has_rdma_hardware() else { return tcp(config, me, nodes, secret) };
    match OfiWire::open(None, secret, me, nodes) {
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
    let endpoint =
        Endpoint::choose(config.hosts.interface.as_deref(), config.hosts.ports.clone()).map_err(no_network)?;
    let at = endpoint.address;
    let tcp = Tcp::new(me, nodes, LAYOUT_VERSION, secret, endpoint)
        .map_err(|error| no_network(format!("cannot listen at {at}: {error} (GASNET_SCI_IFACE, GASNET_SCI_PORTS)")))?;
    let silence = Duration::from_secs_f64(config.hosts.link_timeout);
    Ok(Box::new(tcp.with_silence(silence).with_congestion(config.hosts.congestion.clone())))
}

/// Exchanges the addresses of all nodes.
pub(super) fn meet(far: &Far, boot: &dyn Bootstrap) -> Result<(), Error> {
    let address = far.wire().address();
    let name = far.wire().name();
    let mut card = [0; 2 + ADDRESS];
    card[..2].copy_from_slice(&[name.as_bytes()[0], address.len() as u8]);
    card[2..2 + address.len()].copy_from_slice(&address);
    let own = card[0];
    boot.put(WIRE, &card)?;
    boot.fence()?;
    let of = |node| {
        let mut card = [0; 2 + ADDRESS];
        boot.get(node, WIRE, &mut card)?;
        if card[0] != own {
            return Err(Error::resource(format_args!(
                "node {node} has another network than this one ({name}); GASNET_SCI_NETWORK sets one for all"
            )));
        }
        Ok(card[2..][..usize::from(card[1]).min(ADDRESS)].to_vec())
    };
    far.wire().set_peers((0..boot.size()).map(of).collect::<Result<_, Error>>()?);
    Ok(())
}

/// May `peer` write there in the control region of a job of this layout? The words are its own, but for the exist word of its
/// group.
pub(super) fn may_write_control(layout: Layout) -> impl Fn(u32, usize, usize) -> bool + Send + Sync {
    move |peer, offset, len| {
        let peer = peer as usize;
        let words = [layout.ready(peer), layout.credit(peer), layout.reply_credit(peer), layout.exist(peer)];
        let barrier = [layout.barrier(0, peer), layout.barrier(1, peer)];
        words.iter().chain(&barrier).any(|word| offset >= *word && offset + len <= word + 8)
    }
}

/// May `peer` write there in the command region? Its queue is its own.
pub(super) fn may_write_command(layout: Layout) -> impl Fn(u32, usize, usize) -> bool + Send + Sync {
    move |peer, offset, len| {
        let queue = layout.queue(peer as usize);
        offset >= queue && offset + len <= queue + layout.queue_len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_writes_its_own_words_and_its_own_queue() {
        let layout = Layout::new(3, 64);
        let (control, command) = (may_write_control(layout), may_write_command(layout));
        for peer in 0..3 {
            let at = peer as usize;
            assert!(control(peer, layout.ready(at) + 4, 4) && control(peer, layout.credit(at), 8));
            assert!(control(peer, layout.barrier(1, at), 8) && control(peer, layout.exist(at), 8));
            assert!(!control(peer, 0, 8) && !control(peer, layout.ready(at), 16));
            assert!(!control(peer, layout.credit((at + 1) % 3), 8));
            assert!(command(peer, layout.queue(at), layout.queue_len()));
            assert!(!command(peer, layout.queue(at) + 1, layout.queue_len()));
            assert!(!command(peer, layout.queue((at + 1) % 3), 8));
        }
    }
}
