//! The network of a job of several hosts: which one, where this node listens, and what its peers may write here.
//!
//! Must not know: how a wire works.

use crate::am::region::{LAYOUT_VERSION, Layout, PAYLOAD};
use crate::base::config::Config;
use crate::base::error::Error;
use crate::boot::{Bootstrap, Key};
use crate::sci::far::Far;
use crate::sci::far::tcp::{Tcp, address::Endpoint};
use crate::sci::far::wire::{ADDRESS, Wire};

/// The key of a node's address: one byte of length, then as many bytes, then zeros.
const WIRE: Key = Key::new("wire");

/// Opens this node's door to other hosts, as the settings say.
pub(super) fn open(config: &Config, me: u32, nodes: u32, secret: [u8; 16]) -> Result<&'static Far, Error> {
    let no_network = |problem| Error::resource(format_args!("no network to other hosts: {problem}"));
    let endpoint = Endpoint::choose(config.hosts.interface.as_deref(), config.hosts.ports.clone()).map_err(no_network)?;
    let at = endpoint.address;
    let tcp = Tcp::new(me, nodes, LAYOUT_VERSION, secret, endpoint)
        .map_err(|error| no_network(format!("cannot listen at {at}: {error} (GASNET_SCI_IFACE, GASNET_SCI_PORTS)")))?;
    let wire: Box<dyn Wire> = Box::new(tcp);
    Ok(Far::new(me, nodes, wire, PAYLOAD))
}

/// Exchanges the addresses of all nodes.
pub(super) fn meet(far: &Far, boot: &dyn Bootstrap) -> Result<(), Error> {
    let address = far.wire().address();
    let mut card = [0; 1 + ADDRESS];
    card[0] = address.len() as u8;
    card[1..=address.len()].copy_from_slice(&address);
    boot.put(WIRE, &card)?;
    boot.fence()?;
    let of = |node| {
        let mut card = [0; 1 + ADDRESS];
        boot.get(node, WIRE, &mut card)?;
        Ok(card[1..][..usize::from(card[0]).min(ADDRESS)].to_vec())
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
