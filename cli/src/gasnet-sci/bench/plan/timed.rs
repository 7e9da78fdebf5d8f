//! What a job in timing mode measures. It has no limits beside it: the model and the papers are.

use super::super::kernels as k;
use super::measure::{Plan, Unit};

const MEDIUM: [usize; 4] = [64, 256, 1 << 10, 4 << 10];
const LONG: [usize; 8] = [64, 1 << 10, 2040, 2 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10];
/// Of mail boxes: those that take one packet, and longer ones.
const BOX: [usize; 8] = [1, 8, 16, 32, 52, 256, 1 << 10, 8 << 10];
const BLOCK: [usize; 3] = [16 << 10, 128 << 10, 1 << 20];
const PUT: [usize; 5] = [8, 64, 1 << 10, 32 << 10, 128 << 10];

/// Nanoseconds, about, of a message there and back on such hardware.
const MESSAGE: f64 = 15e3;
/// Nanoseconds of a batch's operations besides the bytes, of which each takes about 10.
fn cost(bytes: usize) -> f64 {
    MESSAGE + 20.0 * bytes as f64
}

pub fn rows(plan: &mut Plan<'_>) {
    let mut row = |section, operation: &str, kernel, bytes| {
        plan.row(section, operation, kernel, cost(bytes), bytes, None, Unit::Us, None);
    };
    row("am", "short request-reply round trip", k::SHORT_REPLY_TRIP, 0);
    row("am", "short request-reply round trip, 14 arguments", k::FULL_SHORT_REPLY_TRIP, 0);
    for bytes in MEDIUM {
        row("am", "medium request-reply round trip", k::MEDIUM_REPLY_TRIP, bytes);
    }
    for bytes in LONG {
        row("am", "long request-request round trip", k::LONG_REQUEST_TRIP, bytes);
        row("am", "long flood, one way", k::LONG_FLOOD, bytes);
    }
    for bytes in PUT {
        row("rma", "put", k::PUT, bytes);
    }
    for bytes in [8, 64] {
        row("rma", "get", k::GET, bytes);
    }
    for bytes in BOX {
        row("boxes", "mail box round trip", k::BOX_TRIP, bytes);
    }
    for bytes in BLOCK {
        row("boxes", "mail box flood, one way", k::DECK_POST, bytes);
    }
}
