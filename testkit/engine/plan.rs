//! The plan of the messages between nodes. Both sides compute it, so the receiver can check every argument and byte.

use crate::am::region::MAX_ARGS;
use crate::testkit::payload::{mix, payload};
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    Short = 0,
    Medium = 1,
    Long = 2,
}

/// One message: a request or a reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub category: Category,
    pub args: usize,
    pub len: usize,
    /// Distance in bytes of the source from a 64-byte boundary.
    pub from: usize,
    /// The same distance for a Long's target.
    pub to: usize,
}

impl Leg {
    pub const fn short(args: usize) -> Leg {
        Leg { category: Category::Short, args, len: 0, from: 0, to: 0 }
    }

    pub const fn medium(args: usize, len: usize) -> Leg {
        Leg { category: Category::Medium, args, len, from: 0, to: 0 }
    }

    pub const fn long(args: usize, len: usize) -> Leg {
        Leg { category: Category::Long, args, len, from: 0, to: 0 }
    }
}

/// A request, and the reply that it gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub request: Leg,
    pub reply: Option<Leg>,
}

/// Message number `m` from one node to another; `None` after the last one.
pub(super) type Plan<'a> = &'a (dyn Fn(u32, u32, u32) -> Option<Message> + Sync);

/// Names one leg: seed, sender of the request, its receiver, number, 1 for the reply.
pub(super) type Name = [u64; 5];

pub(super) fn args(name: Name, count: usize) -> Vec<i32> {
    let value = |i: usize| mix(&[&name[..], &[7, i as u64]].concat()) as i32;
    (0..count.min(MAX_ARGS)).map(value).collect()
}

/// The payload's bytes.
pub(super) fn bytes(name: Name, len: usize) -> Vec<u8> {
    payload(mix(&name), len)
}

/// Lengths around those at which the engine changes its way, up to `most`, in order.
pub(super) fn lengths(most: usize) -> &'static [usize] {
    static ALL: LazyLock<Vec<usize>> = LazyLock::new(|| {
        let edges: [usize; 21] =
            [0, 8, 16, 24, 32, 48, 56, 64, 80, 96, 100, 112, 128, 192, 256, 300, 1024, 4096, 65536, 65_600, 131_072];
        let mut all: Vec<usize> = edges.into_iter().flat_map(|edge| edge.saturating_sub(1)..=edge + 1).collect();
        all.dedup();
        all
    });
    &ALL[..ALL.partition_point(|len| *len <= most)]
}

/// A leg drawn by `bits`, with a payload of at most `most` bytes.
pub(super) fn any_leg(bits: u64, most: usize) -> Leg {
    let lengths = lengths(most);
    let len = match bits >> 60 {
        0..=7 => lengths[(bits >> 8) as usize % lengths.len()],
        8..=14 => (bits >> 8) as usize % 400.min(most + 1),
        _ => (bits >> 8) as usize % (most + 1),
    };
    let args = (bits >> 40) as usize % (MAX_ARGS + 1);
    let (from, to) = ((bits >> 50) as usize % 16, (bits >> 54) as usize % 16);
    match bits % 3 {
        0 => Leg::short(args),
        1 => Leg { from, ..Leg::medium(args, len.min(crate::am::region::MAX_MEDIUM)) },
        _ => Leg { from, to, ..Leg::long(args, len) },
    }
}
