//! Rows of GASNet-EX. Where GASNet-1 has the same call, that call is the limit: both take the same way through the library, so
//! the ratio says what the other face costs. Clients of SEQ, as in the other rows without a mark.

use super::super::kernels as k;
use super::measure::{COPY_FROM, COPY_TO, LINE_TRIP, LOAD, Limit, Plan, STORE, Unit, limit};

static SHORT_TRIP: Limit = limit("short round trip, GASNet-1", k::SHORT_REPLY_TRIP, 0, Unit::Us, 300.0);
static SHORT_FLOOD: Limit = limit("short flood, GASNet-1", k::SHORT_FLOOD, 0, Unit::Ns, 30.0);
static PACKED_FLOOD: Limit = limit("medium packed and sent, GASNet-1", k::PACKED_FLOOD, 0, Unit::Rate, 150.0);
static PUT: Limit = limit("put, GASNet-1", k::PUT, 0, Unit::Ns, 3.0);
static GET: Limit = limit("get, GASNet-1", k::GET, 0, Unit::Ns, 3.0);
static COPY_ANY_TO: Limit = limit("copy to the peer's segment, length not known", k::COPY_ANY_TO, 0, Unit::Ns, 3.0);
static COPY_ANY_FROM: Limit =
    limit("copy from the peer's segment, length not known", k::COPY_ANY_FROM, 0, Unit::Ns, 3.0);
static BARE_FADD: Limit = limit("locked add in the peer's segment", k::BARE_FADD, 8, Unit::Ns, 8.0);
static BARE_FADD_BOTH: Limit = limit("locked add, both nodes", k::BARE_FADD_BOTH, 8, Unit::Ns, 60.0);
static BARRIERS: Limit = limit("barrier, GASNet-1", k::BARRIERS, 0, Unit::Us, 300.0);

/// Adds the rows of the wanted sections.
pub(super) fn rows(plan: &mut Plan<'_>) {
    let (trip, flood) = ("short request-reply round trip, EX", "short flood, one way, EX");
    plan.row("am", trip, k::EX_SHORT_REPLY_TRIP, 300.0, 0, Some(&SHORT_TRIP), Unit::Us, Some(1.03));
    plan.row("am", flood, k::EX_SHORT_FLOOD, 30.0, 0, Some(&SHORT_FLOOD), Unit::Ns, Some(1.03));
    let (packed, kernel) = ("medium packed in the library's buffer, flood, EX", k::PACKED_IN_PLACE_FLOOD);
    plan.row("am", packed, kernel, 150.0, 4 << 10, Some(&PACKED_FLOOD), Unit::Rate, Some(1.2));

    for bytes in [8, 1 << 10] {
        plan.row("am", "medium to oneself, EX", k::EX_MEDIUM_SELF, 15.0, bytes, Some(&COPY_TO), Unit::Ns, None);
        plan.view("am", "medium to oneself, above the copy, EX", Unit::NsOver, Some(20.0));
    }

    for (name, kernel, call, copy) in [("put", k::EX_PUT, &PUT, &COPY_TO), ("get", k::EX_GET, &GET, &COPY_FROM)] {
        plan.row("rma", &format!("{name}, EX"), kernel, 3.0, 8, Some(call), Unit::Ns, None);
        plan.view("rma", &format!("{name}, above GASNet-1's, EX"), Unit::NsOver, Some(0.5));
        let bandwidth = format!("{name} bandwidth, EX");
        plan.row("rma", &bandwidth, kernel, 3.0, 4 << 10, Some(copy), Unit::Rate, Some(0.97));
    }

    let unknown = "8 bytes, length not known";
    for (name, kernel, bare, most) in [
        (format!("put, {unknown}"), k::EX_PUT_ANY, &COPY_ANY_TO, 0.5),
        (format!("get, {unknown}"), k::EX_GET_ANY, &COPY_ANY_FROM, 0.5),
        ("put value".into(), k::EX_PUT_VAL, &STORE, 1.0),
        ("get value".into(), k::EX_GET_VAL, &LOAD, 1.0),
    ] {
        plan.row("rma", &format!("{name}, EX"), kernel, 3.0, 8, Some(bare), Unit::Ns, None);
        plan.view("rma", &format!("{name}, above the bare one, EX"), Unit::NsOver, Some(most));
    }
    plan.row("rma", "put nbi, EX", k::EX_PUT_NBI, 3.0, 4 << 10, Some(&COPY_TO), Unit::Ns, Some(0.95));

    plan.row("atomic", "fetch and add", k::FADD, 12.0, 8, Some(&BARE_FADD), Unit::Ns, None);
    plan.view("atomic", "fetch and add, above the locked add", Unit::NsOver, Some(4.0));
    plan.row("atomic", "fetch and add, opcode not known", k::FADD_ANY, 12.0, 8, Some(&BARE_FADD), Unit::Ns, None);
    plan.view("atomic", "fetch and add, opcode not known, above the locked add", Unit::NsOver, Some(3.0));
    let both = "fetch and add, both nodes";
    plan.row("atomic", both, k::FADD_BOTH, 60.0, 8, Some(&BARE_FADD_BOTH), Unit::Ns, Some(1.05));

    plan.row("barrier", "barrier, EX", k::EX_BARRIERS, 300.0, 0, Some(&BARRIERS), Unit::Us, Some(1.1));
    plan.row("coll", "reduce to all, EX", k::REDUCE_TO_ALL, 300.0, 8, Some(&LINE_TRIP), Unit::Us, None);
}
