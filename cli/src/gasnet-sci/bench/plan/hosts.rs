//! Rows of jobs on two hosts. The limit of most is a bare connection of TCP between the same two nodes, whatever network the job
//! uses.

use super::super::kernels as k;
use super::measure::{Limit, NEAR_COST, Plan, Unit, limit};

static TRIP: Limit = limit("raw TCP round trip", k::TCP_TRIP, 8, Unit::Us, 8e3);
static TRIP_OF_AS_MANY: Limit = limit("raw TCP round trip", k::TCP_TRIP, 0, Unit::Us, 8e3);
static STREAM: Limit = limit("raw TCP stream", k::TCP_STREAM, 0, Unit::Rate, 2e3);
static POST: Limit = limit("mail box post, two hosts", k::DECK_POST, 0, Unit::Rate, 3e4);
static POST_WORK: Limit = limit("mail box post, processor time, two hosts", k::DECK_POST_WORK, 0, Unit::Us, 3e4);
/// Measured in a job of its own (`hosts`).
pub static ONE_HOST: Limit = limit("short round trip in a job on one host", k::NEAR_TRIP, 0, Unit::Us, NEAR_COST);

/// The rows of a job of one node on each host.
pub(super) fn pair(plan: &mut Plan<'_>) {
    let trip = Some(&TRIP);
    let mut small = |operation: &str, kernel, bytes, target| {
        plan.row("hosts", operation, kernel, 8e3, bytes, trip, Unit::Us, Some(target));
    };
    small("short request-reply round trip, two hosts", k::SHORT_REPLY_TRIP, 0, 1.10);
    small("put, two hosts", k::PUT, 8, 1.15);
    small("get, two hosts", k::GET, 8, 1.15);
    small("barrier, two hosts", k::BARRIERS, 0, 1.1);
    let flood = "short flood, one way, two hosts";
    plan.row("hosts", flood, k::SHORT_FLOOD, 1.5e3, 0, trip, Unit::Ns, Some(0.35));
    let (medium, as_many) = ("medium request-reply round trip, two hosts", Some(&TRIP_OF_AS_MANY));
    plan.row("hosts", medium, k::MEDIUM_REPLY_TRIP, 9e3, 1 << 10, as_many, Unit::Us, None);
    let (medium, stream) = ("medium flood, one way, two hosts", Some(&STREAM));
    plan.row("hosts", medium, k::MEDIUM_FLOOD, 1.5e3, 1 << 10, stream, Unit::Rate, None);
    for bytes in [64 << 10, 1 << 20] {
        let floods =
            [("long flood, one way", k::LONG_FLOOD), ("put nb bandwidth", k::PUT_NB), ("get nb bandwidth", k::GET_NB)];
        for (name, kernel) in floods {
            let operation = format!("{name}, two hosts");
            plan.row("hosts", &operation, kernel, 4e3, bytes, stream, Unit::Rate, Some(0.9));
        }
    }
    mail(plan);
}

/// Blocks that go to a mail box on the other host: posted and given beside the bare connection, and given beside posted.
fn mail(plan: &mut Plan<'_>) {
    for bytes in [256 << 10, 1 << 20] {
        let stream = Some(&STREAM);
        plan.row("hosts", POST.operation, k::DECK_POST, 3e4, bytes, stream, Unit::Rate, None);
        plan.row("hosts", "mail box give, two hosts", k::DECK_GIVE, 3e4, bytes, stream, Unit::Rate, None);
        let beside = "mail box give beside post, two hosts";
        plan.row(
            "hosts",
            beside,
            k::DECK_GIVE,
            3e4,
            bytes,
            Some(&POST),
            Unit::Rate,
            (bytes == 1 << 20).then_some(0.95),
        );
        let work = "mail box give, processor time, two hosts";
        plan.row(
            "hosts",
            work,
            k::DECK_GIVE_WORK,
            3e4,
            bytes,
            Some(&POST_WORK),
            Unit::Us,
            (bytes == 1 << 20).then_some(0.5),
        );
    }
}

/// The rows of a job of two nodes on each host. There is no target, because four nodes may have to share two cores.
pub(super) fn two_each(plan: &mut Plan<'_>) {
    plan.row("hosts", "barrier, two hosts", k::BARRIERS, 20e3, 0, Some(&TRIP), Unit::Us, None);
}

/// The row of two nodes that share a host while the job's other two sleep, here or on another host.
pub(super) fn near(plan: &mut Plan<'_>) {
    let operation = "short request-reply round trip within a host, two hosts";
    plan.row("hosts", operation, k::NEAR_TRIP, NEAR_COST, 0, None, Unit::Us, Some(1.03));
}
