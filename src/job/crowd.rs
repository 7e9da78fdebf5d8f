//! How many nodes share how many cores of this machine.
//!
//! Hosts of a job may be one machine: somebody tries several hosts where there is one, or each container has a network of its own. Then
//! nodes of different hosts need each other's cores, though the network alone connects them. So nodes of several hosts tell each other
//! on which machine they are, and on which CPUs.
//!
//! Must not know: what waiting nodes do about it.

use super::JobHeader;
use crate::am::wait;
use crate::boot::{self, BootError, Bootstrap, Key};
use crate::os::host;
use crate::peers::places::Places;

/// The key under which a node of several hosts puts its [`MachineCard`].
const MACHINE: Key = Key::new("machine");

/// Words for a node's CPUs, one bit each. A CPU whose number is 256 or more counts as the one 256 below it, or 512, and so on. There is no
/// room for more words: one round of the exchange carries this card and that of `state/wiring.rs`.
const WORDS: usize = 4;

/// What a node of several hosts tells all others of its machine: first the number of the machine's boot (0: unknown), then the CPUs that
/// the node may use, one bit each. [`card`] makes it in `gasnet_init`; [`machine_of`] reads all of them, to find the nodes that share cores.
pub(super) type MachineCard = [u64; 1 + WORDS];

/// The nodes of this machine and their cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Nodes of the job, of whatever host.
    pub nodes: u32,
    /// Cores that they have together.
    pub cores: u32,
    /// There are more nodes than cores, and a client cannot tell: on the host that it knows there are not.
    pub is_hidden: bool,
}

/// Tells the others about this node, which may use `cpus`. Call it before the fence after which [`Crowd::of`] is called.
///
/// # Errors
/// The exchange failed.
pub fn publish(boot: &dyn Bootstrap, header: &JobHeader, cpus: &[usize]) -> Result<(), BootError> {
    header.add_cpus(cpus);
    if header.hosts() == 1 { Ok(()) } else { boot::put_words(boot, MACHINE, &card(&host::boot_id(), cpus)) }
}

impl Crowd {
    /// The crowd around node `me`, which may use `cpus`.
    ///
    /// # Errors
    /// The exchange failed.
    pub fn of(boot: &dyn Bootstrap, header: &JobHeader, places: &Places, cpus: &[usize]) -> Result<Crowd, BootError> {
        let (mut nodes, mut together) = (header.local_count(), header.cpus());
        if header.hosts() > 1 {
            let cards =
                (0..boot.size()).map(|rank| boot::get_words(boot, rank, MACHINE)).collect::<Result<Vec<_>, _>>()?;
            let (all, theirs) = machine_of(&cards, boot.rank() as usize);
            (nodes, together) = (nodes.max(all), together.max(theirs));
        }
        let own = places.host(boot.rank());
        let seen = (0..boot.size()).filter(|node| places.host(*node) == own).count() as u32;
        Ok(Crowd::counted(nodes, seen, cores(together, cpus.len() as u32)))
    }

    fn counted(nodes: u32, seen: u32, cores: u32) -> Crowd {
        Crowd { nodes, cores, is_hidden: nodes > cores && seen <= cores }
    }
}

fn card(boot: &str, cpus: &[usize]) -> MachineCard {
    let digits: String = boot.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    let mut card = [0; 1 + WORDS];
    card[0] = u64::from_str_radix(&digits, 16).unwrap_or(0);
    cpus.iter().for_each(|cpu| card[1 + cpu / 64 % WORDS] |= 1 << (cpu % 64));
    card
}

/// How many nodes are on the machine of node `me`, and how many CPUs they may use together. 0, 0: it is not known.
fn machine_of(cards: &[MachineCard], me: usize) -> (u32, u32) {
    let machine = cards[me][0];
    let here = || cards.iter().filter(|card| machine != 0 && card[0] == machine);
    let cpus = (1..=WORDS).map(|word| here().fold(0, |all, card| all | card[word]).count_ones()).sum();
    (here().count() as u32, cpus)
}

/// Number of cores for nodes whose affinity masks name `together` CPUs, and this node's mask `own` of them. The
/// cgroup's quota may cut it. Nodes that a launcher binds to one core each do not share it.
pub(crate) fn cores(together: u32, own: u32) -> u32 {
    // A quota shows: fewer cores than our own mask has.
    let allowed = wait::cores();
    if own == 0 || allowed < own { allowed } else { together.max(own) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_of_bound_nodes_add_up_and_a_quota_cuts() {
        let here = wait::cores();
        assert_eq!(cores(300, here), 300);
        assert_eq!(cores(300, here + 1), here, "a quota");
        assert_eq!(cores(0, 0), here, "the system did not say");
        assert_eq!(cores(0, here), here, "numbers that were not counted");
    }

    #[test]
    fn hosts_that_are_one_machine_share_its_cores() {
        let this = |cpus: &[usize]| card("0123abcd-4567-89ab-cdef-000000000000", cpus);
        let other = |cpus: &[usize]| card("1123abcd-4567-89ab-cdef-000000000000", cpus);
        assert_eq!(this(&[])[0], 0x0123_abcd_4567_89ab);
        let cards = [this(&[0, 1]), other(&[0, 1, 2, 3]), this(&[0, 1]), this(&[1, 64, 255])];
        assert_eq!(machine_of(&cards, 0), (3, 4));
        assert_eq!(machine_of(&cards, 1), (1, 4));
        assert_eq!(
            machine_of(&[card("", &[0]), card("", &[0])], 0),
            (0, 0),
            "machines that do not say are not the same"
        );
        assert_eq!(machine_of(&[this(&[0, 256, 511])], 0), (1, 2), "numbers above 255");
    }

    #[test]
    fn a_client_sees_only_the_nodes_of_its_host() {
        assert!(Crowd::counted(4, 2, 2).is_hidden, "two hosts of two nodes on two cores");
        assert!(!Crowd::counted(4, 2, 4).is_hidden, "a core for each");
        assert!(!Crowd::counted(4, 4, 2).is_hidden, "one host: the client can count");
        assert!(!Crowd::counted(8, 4, 2).is_hidden, "it knows that it shares");
    }
}
