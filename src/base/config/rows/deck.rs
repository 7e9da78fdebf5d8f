//! Variables of DECK (docs/deck.md).
//!
//! Must not know: which code uses a value.

use super::super::settings::{Var, put};
use super::super::{memory_size, parse};

/// This part of the table.
pub(super) const VARS: &[Var] = &[
    Var {
        name: "GASNET_SCI_DECK_MSG_BUF_LIMIT",
        aliases: &["DECK_MSG_BUF_LIMIT"],
        default: "8K",
        doc: "bytes of a DECK message from which on it lies in the DECK heap, which the nodes of a host share; shorter ones go \
              through the queues",
        form: "a memory size from 64 to 64 KB",
        set: |c, v| {
            let size = memory_size(v, 1).filter(|n| (64..=64 << 10).contains(n));
            put(&mut c.deck_limit, size)
        },
    },
    Var {
        name: "GASNET_SCI_DECK_HEAP",
        aliases: &[],
        default: "64M",
        doc: "bytes of each node's DECK heap, for messages in shared memory; committed as it is used; all nodes have the same",
        form: "a memory size from 1 MB to 1 TB",
        set: |c, v| {
            let size = memory_size(v, 1).filter(|n| (1 << 20..=1 << 40).contains(n));
            put(&mut c.deck_heap, size)
        },
    },
    Var {
        name: "GASNET_SCI_DECK_BOXES",
        aliases: &[],
        default: "1024",
        doc: "the most DECK mail boxes of a node",
        form: "an integer from 1 to 65535",
        set: |c, v| {
            let count = parse::integer(v, 1, 65535);
            put(&mut c.deck_boxes, count)
        },
    },
];
