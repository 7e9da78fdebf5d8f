//! Variables of DECK (docs/deck.md).
//!
//! Must not know: which code uses a value.

use super::super::settings::{Var, put, row};
use super::super::{memory_size, parse};

/// This part of the table.
pub(super) const VARS: &[Var] = &[
    row! { "GASNET_SCI_DECK_MSG_BUF_LIMIT" | "DECK_MSG_BUF_LIMIT", "8K",
    "bytes of a DECK message from which on it lies in the DECK heap, which the nodes of a host share; shorter ones go \
      through the queues",
    "a memory size from 64 to 64 KB",
    |c, v| put(&mut c.deck_limit, memory_size(v, 1).filter(|n| (64..=64 << 10).contains(n))) },
    row! { "GASNET_SCI_DECK_HEAP", "64M",
    "bytes of each node's DECK heap, for messages in shared memory; committed as it is used; all nodes have the same",
    "a memory size from 1 MB to 1 TB",
    |c, v| put(&mut c.deck_heap, memory_size(v, 1).filter(|n| (1 << 20..=1 << 40).contains(n))) },
    row! { "GASNET_SCI_DECK_BOXES", "1024", "the most DECK mail boxes of a node",
    "an integer from 1 to 65535",
    |c, v| put(&mut c.deck_boxes, parse::integer(v, 1, 65535)) },
];
