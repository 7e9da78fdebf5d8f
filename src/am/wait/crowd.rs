//! Waiting where many nodes share a core: those that wait would take the core from those that work. So they yield less often, and their sleeps
//! grow with their number.
//!
//! Must not know: how a node waits, and for what.

use super::Rest;

/// A node that waits sleeps at least so long between two looks, in microseconds, for each node of its core. A look with the sleep around it takes
/// 15 to 24 µs of processor time. While 127 nodes waited for one on 2 cores they took 23 % of them so, and 94 % with sleeps of 1 ms; 31 nodes
/// took 13 %, 255 took 25 % (getrusage over 3 s of `GASNET_BLOCKUNTIL`, EPYC VM, 2026-11).
const LOOK_US: u64 = 100;

/// The most yields of all nodes of a core that wait for one: of very many nodes, a yield lets in others that only yield, too.
const YIELDS_OF_CORE: u64 = 1280;

/// True where so many nodes share a core that their sleeps are longer. There a sleeper leaves it to senders to fence, too (`sci/interrupt.rs`):
/// membarrier(2) interrupts the other cores, and a wait in which hundreds of nodes sleep was that for a fifth of its time (1.1 of 5.6
/// seconds of processor time of a job of 256 nodes on 2 cores, EPYC VM, 2026-11).
pub fn is_crowded(nodes: u32, cores: u32) -> bool {
    longest_sleep(nodes, cores) > Rest::Short as u64
}

/// The longest sleep of [`Rest::Short`] of one of so many nodes, in microseconds.
pub(super) fn longest_sleep(nodes: u32, cores: u32) -> u64 {
    (Rest::Short as u64).max(LOOK_US * per_core(nodes, cores))
}

/// How often one of so many nodes yields before it sleeps, which is `most` where they are few.
pub(super) fn yields(nodes: u32, cores: u32, most: u32) -> u32 {
    let share = YIELDS_OF_CORE / per_core(nodes, cores).max(1);
    most.min(share.max(2) as u32)
}

fn per_core(nodes: u32, cores: u32) -> u64 {
    u64::from(nodes.div_ceil(cores.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_nodes_of_a_core_sleep_longer_and_yield_less() {
        let longest = |nodes| longest_sleep(nodes, 2);
        assert_eq!([2, 16, 20].map(longest), [Rest::Short as u64; 3]);
        assert_eq!([64, 256, 1024].map(longest), [32, 128, 512].map(|nodes| nodes * LOOK_US));
        assert!(!is_crowded(20, 2) && is_crowded(21, 2));
        assert_eq!([3, 64, 256, 4096].map(|nodes| yields(nodes, 2, 40)), [40, 40, 10, 2]);
    }
}
