//! What clients' inline code may do without a call of the library: decided here and nowhere else.
//!
//! | inline | for the whole job | per peer |
//! |---|---|---|
//! | transfers: put, get, memset, values | native, not EVERYTHING, not traced; the adapter maps, orders stores and allows it | its segment is mapped |
//! | vector, indexed, strided of few pieces | the same, and not counted | the same |
//! | the value as handle of a value get | as for transfers, and all peers are mapped | – |
//! | syncs of implicit operations | as for transfers, all peers are mapped, no DMA thread | – |
//! | polls | not traced, not counted, threads not limited; the adapter orders stores, needs no progress and allows it | it was active last |
//! | requests and replies that are Shorts | the same | the library has made a way with room (`am::direct`) |
//!
//! Everything else is a call. Rules: 1. The decision is made in attach. Afterwards it changes from inline to a call at most
//! (`api::shared::reach`): clients keep handles that were made inline, and those are complete. 2. A call decides again by itself, so that a client may always call instead. 3. A sync that may have to
//! wait for a call's transfer is a call.
//!
//! Must not know: how C sees it (`api::shared::reach`, `api::shared::direct`).

use crate::sci::Properties;

/// Entry of [`Shortcuts::offsets`] for a peer whose segment is not mapped here. No real offset is odd: segments and maps begin
/// on pages.
pub const FAR: usize = 1;

/// Largest number of pieces that are inline. A call costs 15 ns, a piece 0.5 to 1: from here on it is below a twentieth
/// (testvisperf, 2026-11, Xeon).
const FEW: usize = 512;

/// What the decision depends on, besides the way to each peer.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Transfers use mapped memory (GASNET_SCI_EXTENDED).
    pub native: bool,
    /// All memory of a node is its segment (GASNET_SEGMENT_EVERYTHING).
    pub everything: bool,
    /// Calls are recorded (GASNET_TRACEFILE, GASNET_STATSFILE, GASNET_SCI_MATRIX).
    pub traced: bool,
    /// Calls are counted (GASNET_SCI_STATS).
    pub counted: bool,
    /// The library counts the threads that call (GASNET_MAX_THREADS).
    pub limited: bool,
    /// What the adapter can do.
    pub properties: Properties,
    /// Bytes from which the DMA thread may take a transfer, if there is one.
    pub queued: Option<usize>,
}

/// The decision. `Default`: every transfer and every message is a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shortcuts {
    /// The segments of nodes below this one are mapped here at their owners' addresses.
    pub window: u32,
    /// For each node, the number to add to an address in its segment, or [`FAR`]. Empty: every transfer is a call.
    pub offsets: Box<[usize]>,
    /// The segments of all nodes are mapped here, and transfers inline.
    pub whole: bool,
    /// Bytes from which a non-blocking transfer is a call, although the segment is mapped. `usize::MAX`: no transfer is a call;
    /// one less: some are, by their peer; 0: each is.
    pub queued: usize,
    /// Largest number of pieces that are inline.
    pub few: usize,
    /// Looks for messages, in polls and waits; requests and replies that are Shorts.
    pub messages: bool,
}

impl Conditions {
    /// True if the client's own loads and stores may take the place of calls.
    fn transfers(&self) -> bool {
        let adapter = self.properties;
        let able = adapter.maps_remote && adapter.orders_stores && adapter.allows_shortcuts;
        able && self.native && !self.everything && !self.traced
    }

    /// True if the client's own looks may be polls, and its own stores messages.
    fn messages(&self) -> bool {
        let adapter = self.properties;
        let able = adapter.orders_stores && adapter.allows_shortcuts && !adapter.needs_progress;
        able && !self.traced && !self.counted && !self.limited
    }
}

impl Shortcuts {
    /// Decides for the whole job. `offsets` has, for each node by rank, this one included, the number to add to an address in its segment;
    /// `None`: no address of this process reaches it.
    pub fn decide(conditions: &Conditions, offsets: impl Iterator<Item = Option<usize>>) -> Shortcuts {
        let messages = conditions.messages();
        if !conditions.transfers() {
            return Shortcuts { messages, ..Shortcuts::default() };
        }
        let offsets: Box<[usize]> = offsets.map(|offset| offset.unwrap_or(FAR)).collect();
        debug_assert!(offsets.iter().all(|offset| *offset == FAR || offset % 2 == 0), "maps begin on pages");
        let window = offsets.iter().take_while(|offset| **offset == 0).count() as u32;
        let whole = !offsets.contains(&FAR);
        let queued = match conditions.queued {
            Some(bytes) => bytes,
            None if whole => usize::MAX,
            None => usize::MAX - 1, // longer than any transfer; a sync asks whether it is the largest number
        };
        let few = if conditions.counted { 0 } else { FEW };
        Shortcuts { window, offsets, whole, queued, few, messages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPPED: [Option<usize>; 4] = [Some(0); 4];

    fn all() -> Conditions {
        let properties = Properties {
            dma_alignment: 8,
            dma_min: 8,
            maps_remote: true,
            orders_stores: true,
            needs_progress: false,
            allows_shortcuts: true,
        };
        Conditions {
            native: true,
            everything: false,
            traced: false,
            counted: false,
            limited: false,
            properties,
            queued: None,
        }
    }

    fn decide(conditions: &Conditions) -> Shortcuts {
        Shortcuts::decide(conditions, MAPPED.into_iter())
    }

    #[test]
    fn where_all_is_mapped_in_one_window_nothing_is_a_call() {
        let shortcuts = decide(&all());
        let expected =
            Shortcuts { window: 4, offsets: [0; 4].into(), whole: true, queued: usize::MAX, few: FEW, messages: true };
        assert_eq!(shortcuts, expected);
    }

    #[test]
    fn a_peer_that_is_not_mapped_is_a_call_and_syncs_are() {
        let offsets = [Some(0), Some(0), None, Some(0), Some(0x2000)];
        let shortcuts = Shortcuts::decide(&all(), offsets.into_iter());
        assert_eq!((shortcuts.window, &shortcuts.offsets[..]), (2, &[0, 0, FAR, 0, 0x2000][..]));
        assert!(!shortcuts.whole && shortcuts.queued == usize::MAX - 1, "{shortcuts:?}");
        assert!(shortcuts.few > 0 && shortcuts.messages, "the mapped ones stay inline: {shortcuts:?}");
    }

    #[test]
    fn without_a_window_each_peer_has_its_offset() {
        let offsets = [Some(0x1000), Some(0), Some(0usize.wrapping_sub(0x3000))];
        let shortcuts = Shortcuts::decide(&all(), offsets.into_iter());
        assert_eq!((shortcuts.window, shortcuts.whole), (0, true));
        assert_eq!(&shortcuts.offsets[..], [0x1000, 0, 0usize.wrapping_sub(0x3000)]);
    }

    #[test]
    fn long_transfers_are_calls_where_a_thread_may_take_them() {
        let shortcuts = decide(&Conditions { queued: Some(4096), ..all() });
        assert!(shortcuts.queued == 4096 && shortcuts.whole);
    }

    #[test]
    fn each_condition_turns_off_what_it_is_about() {
        let of = |change: &dyn Fn(&mut Conditions)| {
            let mut conditions = all();
            change(&mut conditions);
            let shortcuts = decide(&conditions);
            (!shortcuts.offsets.is_empty(), shortcuts.few > 0, shortcuts.messages)
        };
        assert_eq!(of(&|_| ()), (true, true, true));
        assert_eq!(of(&|c| c.native = false), (false, false, true));
        assert_eq!(of(&|c| c.everything = true), (false, false, true));
        assert_eq!(of(&|c| c.traced = true), (false, false, false));
        assert_eq!(of(&|c| c.counted = true), (true, false, false));
        assert_eq!(of(&|c| c.limited = true), (true, true, false));
        assert_eq!(of(&|c| c.properties.maps_remote = false), (false, false, true));
        assert_eq!(of(&|c| c.properties.orders_stores = false), (false, false, false));
        assert_eq!(of(&|c| c.properties.needs_progress = true), (true, true, false));
        assert_eq!(of(&|c| c.properties.allows_shortcuts = false), (false, false, false));
    }

    #[test]
    fn where_no_transfer_is_inline_every_one_is_a_call_and_every_sync() {
        let shortcuts = decide(&Conditions { native: false, ..all() });
        assert_eq!(shortcuts, Shortcuts { messages: true, ..Shortcuts::default() });
        assert_eq!((shortcuts.window, shortcuts.whole, shortcuts.queued), (0, false, 0));
    }
}
