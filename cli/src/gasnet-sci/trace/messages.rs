//! Which run of a handler belongs to which message.
//!
//! Messages between two nodes arrive in the order in which they were sent. So of all messages of one node to another with the same
//! handler and length the first that was sent is the first that runs. What several threads of a node send at once may stand in the
//! trace in another order than it went; then two messages that look the same may have changed places.

use super::kinds::Class;
use super::run::{NONE, Run};
use std::collections::{HashMap, VecDeque};

/// Handlers below this number are the library's own, whose messages are not recorded when they are sent. 0: not known.
const FIRST_CLIENT: u8 = 128;

/// What is known of the messages of a run.
#[derive(Debug, Default)]
pub struct Messages {
    /// For each node, for each of its events: if it is the run of a handler, the place of the event that sent the message,
    /// among those of the sender; else [`NONE`].
    pub origin: Vec<Vec<u32>>,
    /// Messages whose arrival was found, those whose was not, and runs of handlers without a message.
    pub matched: u64,
    pub lost: u64,
    pub stray: u64,
}

/// What all messages have in common that take their turns: sender, receiver, whether they are replies, handler, length.
type Lane = (u32, u32, bool, u8, u64);

/// Finds the message of each run of a handler.
pub fn find(run: &Run) -> Messages {
    let mut lanes: HashMap<Lane, VecDeque<u32>> = HashMap::new();
    let mut found = Messages::default();
    for node in &run.nodes {
        for (place, event) in node.events.iter().enumerate() {
            let kind = run.kind(event);
            if kind.class == Class::Send && event.peer != NONE {
                let lane = (node.rank, event.peer, kind.is_reply(), event.handler, event.bytes);
                lanes.entry(lane).or_default().push_back(place as u32);
            }
        }
    }
    for node in &run.nodes {
        let mut origin = vec![NONE; node.events.len()];
        for (place, event) in node.events.iter().enumerate() {
            let kind = run.kind(event);
            if kind.class != Class::Handler || (1..FIRST_CLIENT).contains(&event.handler) {
                continue;
            }
            let lane = (event.peer, node.rank, kind.is_reply(), event.handler, event.bytes);
            match lanes.get_mut(&lane).and_then(VecDeque::pop_front) {
                Some(sent) => origin[place] = sent,
                None => found.stray += 1,
            }
            found.matched += u64::from(origin[place] != NONE);
        }
        found.origin.push(origin);
    }
    found.lost = lanes.values().map(|lane| lane.len() as u64).sum();
    found
}

#[cfg(test)]
mod tests {
    use super::super::read::of_lines;
    use super::*;

    #[test]
    fn messages_of_a_lane_take_their_turns_and_lanes_do_not_mix() {
        let run = of_lines(&[
            "0 0.000001> (A) AMREQUEST_MEDIUM node=1 bytes=8 handler=200",
            "0 0.000002> (A) AMREQUEST_SHORT node=1 handler=201",
            "0 0.000003> (A) AMREQUEST_MEDIUM node=1 bytes=8 handler=200",
            "0 0.000004> (A) AMREQUEST_SHORT node=1 handler=201",
            "1 0.000005> (A) AMREQUEST_HANDLER node=0 bytes=0 handler=201",
            "1 0.000006> (A) AMREPLY_SHORT node=0 handler=201",
            "1 0.000007> (A) AMREQUEST_HANDLER node=0 bytes=8 handler=200",
            "1 0.000008> (A) AMREQUEST_HANDLER node=0 bytes=8 handler=200",
            "1 0.000009> (A) AMREQUEST_HANDLER node=0 bytes=8 handler=200",
            "1 0.000010> (A) AMREQUEST_HANDLER node=0 bytes=8 handler=3",
            "0 0.000011> (A) AMREPLY_HANDLER node=1 bytes=0 handler=201",
        ]);
        let found = find(&run);
        assert_eq!(found.origin[1], [1, NONE, 0, 2, NONE, NONE]);
        assert_eq!(found.origin[0], [NONE, NONE, NONE, NONE, 1]);
        assert_eq!((found.matched, found.lost, found.stray), (4, 1, 1));
    }

    #[test]
    fn traces_without_handlers_numbers_are_matched_by_length() {
        let run = of_lines(&[
            "0 0.1> (A) AMREQUEST_LONG node=0 bytes=64",
            "0 0.2> (A) AMREQUEST_HANDLER node=0 bytes=64",
            "0 0.3> (A) AMREQUEST_HANDLER node=7 bytes=64",
        ]);
        let found = find(&run);
        assert_eq!((&found.origin[0][..], found.stray), (&[NONE, 0, NONE][..], 1));
    }
}
