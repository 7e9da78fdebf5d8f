//! Rows of jobs on two hosts, over each network, and protected. Their limits are a bare connection of TCP, or bare datagrams, between the
//! same two nodes. What Open MPI does between two hosts is measured by `ci/bench-peers --sections hosts`.

use super::super::kernels::{self as k, Kernel};
use super::measure::{Limit, NEAR_COST, Plan, Unit, limit};

static TCP_TRIP: Limit = limit("raw TCP round trip", k::TCP_TRIP, 8, Unit::Us, 8e3);
static TCP_TRIP_OF_AS_MANY: Limit = limit("raw TCP round trip", k::TCP_TRIP, 0, Unit::Us, 8e3);
static TCP_STREAM: Limit = limit("raw TCP stream", k::TCP_STREAM, 0, Unit::Rate, 2e3);
static UDP_TRIP: Limit = limit("bare UDP round trip", k::UDP_TRIP, 8, Unit::Us, 8e3);
static UDP_TRIP_OF_AS_MANY: Limit = limit("bare UDP round trip", k::UDP_TRIP, 0, Unit::Us, 8e3);
static UDP_STREAM: Limit = limit("bare UDP stream", k::UDP_STREAM, 0, Unit::Rate, 2e3);
static UDP_PLAIN: Limit = limit("bare UDP by plain sendmmsg", k::UDP_STREAM_PLAIN, 0, Unit::Rate, 2e3);
/// Measured in a job of its own (`hosts`).
pub static ONE_HOST: Limit = limit("short round trip in a job on one host", k::NEAR_TRIP, 0, Unit::Us, NEAR_COST);

/// A network of the library, and what it is compared with.
pub struct Net {
    /// The job's name on the node's command line.
    pub job: &'static str,
    /// What the names of the rows end in.
    name: &'static str,
    /// The variables that choose it.
    pub settings: &'static [(&'static str, &'static str)],
    /// It has the rows alone that show what protection costs.
    is_protected: bool,
    trip: &'static Limit,
    trip_of_as_many: &'static Limit,
    stream: &'static Limit,
    /// What many know the figures of.
    known: (&'static str, Kernel),
    /// Longs of 64 KiB are measured beside it, too.
    plain: Option<&'static Limit>,
    /// Posts to mail boxes: their rate, their processor time.
    posts: [Limit; 2],
    /// Of Short round trips, of put and get, of barriers, of floods of Shorts, of bandwidths.
    targets: [Option<f64>; 5],
}

macro_rules! posts {
    ($net:literal) => {
        [
            limit(concat!("mail box post, two hosts", $net), k::DECK_POST, 0, Unit::Rate, 3e4),
            limit(concat!("mail box post, processor time, two hosts", $net), k::DECK_POST_WORK, 0, Unit::Us, 3e4),
        ]
    };
}

const TCP: Net = Net {
    job: "hosts-tcp",
    name: ", tcp",
    settings: &[("GASNET_SCI_NETWORK", "tcp"), ("GASNET_SCI_SECURE", "no")],
    is_protected: false,
    trip: &TCP_TRIP,
    trip_of_as_many: &TCP_TRIP_OF_AS_MANY,
    stream: &TCP_STREAM,
    known: ("raw TCP as iperf3 sends", k::TCP_STREAM),
    plain: None,
    posts: posts!(", tcp"),
    targets: [Some(1.10), Some(1.15), Some(1.1), Some(0.35), Some(0.9)],
};

const UDP: Net = Net {
    job: "hosts-udp",
    name: ", udp",
    settings: &[("GASNET_SCI_NETWORK", "udp"), ("GASNET_SCI_SECURE", "no")],
    is_protected: false,
    trip: &UDP_TRIP,
    trip_of_as_many: &UDP_TRIP_OF_AS_MANY,
    stream: &UDP_STREAM,
    known: ("bare UDP by plain sendmmsg", k::UDP_STREAM_PLAIN),
    plain: Some(&UDP_PLAIN),
    posts: posts!(", udp"),
    targets: [Some(1.25), None, None, None, Some(0.9)],
};

/// The networks that are measured. The first is that of the settings, which is measured alone if they name one.
pub static NETS: [Net; 5] = [
    Net { job: "hosts", name: "", settings: &[], posts: posts!(""), targets: [None; 5], ..TCP },
    TCP,
    Net {
        job: "hosts-tcp-protected",
        name: ", tcp, protected",
        settings: &[("GASNET_SCI_NETWORK", "tcp"), ("GASNET_SCI_SECURE", "yes")],
        is_protected: true,
        posts: posts!(", tcp, protected"),
        ..TCP
    },
    UDP,
    Net {
        job: "hosts-udp-protected",
        name: ", udp, protected",
        settings: &[("GASNET_SCI_NETWORK", "udp"), ("GASNET_SCI_SECURE", "yes")],
        is_protected: true,
        posts: posts!(", udp, protected"),
        ..UDP
    },
];

/// The rows of a job of one node on each host.
pub(super) fn pair(plan: &mut Plan<'_>, net: &'static Net) {
    if net.is_protected {
        return protected(plan, net);
    }
    let [short, small, barrier, flood, bulk] = net.targets;
    let named = |operation: &str| format!("{operation}, two hosts{}", net.name);
    for (operation, kernel, bytes, target) in [
        ("short request-reply round trip", k::SHORT_REPLY_TRIP, 0, short),
        ("put", k::PUT, 8, small),
        ("get", k::GET, 8, small),
        ("barrier", k::BARRIERS, 0, barrier),
    ] {
        plan.row("hosts", &named(operation), kernel, 8e3, bytes, Some(net.trip), Unit::Us, target);
    }
    let operation = named("short flood, one way");
    plan.row("hosts", &operation, k::SHORT_FLOOD, 1.5e3, 0, Some(net.trip), Unit::Ns, flood);
    let (operation, as_many) = (named("medium request-reply round trip"), Some(net.trip_of_as_many));
    plan.row("hosts", &operation, k::MEDIUM_REPLY_TRIP, 9e3, 1 << 10, as_many, Unit::Us, None);
    let operation = named("medium flood, one way");
    plan.row("hosts", &operation, k::MEDIUM_FLOOD, 1.5e3, 1 << 10, Some(net.stream), Unit::Rate, None);
    for bytes in [64 << 10, 1 << 20] {
        for (name, kernel) in
            [("long flood, one way", k::LONG_FLOOD), ("put nb bandwidth", k::PUT_NB), ("get nb bandwidth", k::GET_NB)]
        {
            plan.row("hosts", &named(name), kernel, 4e3, bytes, Some(net.stream), Unit::Rate, bulk);
        }
    }
    let (operation, kernel) = net.known;
    plan.row("hosts", &named(operation), kernel, 2e3, 128 << 10, None, Unit::Rate, None);
    plan.bare();
    if let Some(plain) = net.plain {
        let operation = named("long flood beside plain sendmmsg");
        plan.row("hosts", &operation, k::LONG_FLOOD, 4e3, 64 << 10, Some(plain), Unit::Rate, bulk);
    }
    mail(plan, net, &[256 << 10, 1 << 20]);
}

/// Those of them that show what protection costs. Their limits are as bare as the others', so the same row without protection says the rest.
fn protected(plan: &mut Plan<'_>, net: &'static Net) {
    for (operation, kernel, cost, bytes, limit, unit) in [
        ("short request-reply round trip", k::SHORT_REPLY_TRIP, 8e3, 0, net.trip, Unit::Us),
        ("long flood, one way", k::LONG_FLOOD, 4e3, 64 << 10, net.stream, Unit::Rate),
        ("put nb bandwidth", k::PUT_NB, 4e3, 1 << 20, net.stream, Unit::Rate),
    ] {
        let operation = format!("{operation}, two hosts{}", net.name);
        plan.row("hosts", &operation, kernel, cost, bytes, Some(limit), unit, None);
    }
    mail(plan, net, &[1 << 20]);
}

/// Blocks that go to a mail box on the other host: posted and given beside the bare connection, and given beside posted. Given ones are not
/// copied, which `c-tests/deck/scenarios.txt` counts.
fn mail(plan: &mut Plan<'_>, net: &'static Net, sizes: &[usize]) {
    let named = |operation: &str| format!("mail box {operation}, two hosts{}", net.name);
    let [post, post_work] = &net.posts;
    for bytes in sizes.iter().copied() {
        let target = |least: f64| (bytes == 1 << 20).then_some(least);
        for (operation, kernel, limit, unit, target) in [
            ("post", k::DECK_POST, net.stream, Unit::Rate, None),
            ("give", k::DECK_GIVE, net.stream, Unit::Rate, None),
            ("give beside post", k::DECK_GIVE, post, Unit::Rate, target(0.95)),
            ("give, processor time", k::DECK_GIVE_WORK, post_work, Unit::Us, target(0.5)),
        ] {
            plan.row("hosts", &named(operation), kernel, 3e4, bytes, Some(limit), unit, target);
        }
    }
}

/// The rows of a job of two nodes on each host. There is no target, because four nodes may have to share two cores.
pub(super) fn two_each(plan: &mut Plan<'_>, net: &Net) {
    if !net.is_protected {
        let operation = format!("barrier, two hosts{}", net.name);
        plan.row("hosts", &operation, k::BARRIERS, 20e3, 0, Some(net.trip), Unit::Us, None);
    }
}

/// The row of two nodes that share a host while the job's other two sleep, here or on another host.
pub(super) fn near(plan: &mut Plan<'_>) {
    let operation = "short request-reply round trip within a host, two hosts";
    plan.row("hosts", operation, k::NEAR_TRIP, NEAR_COST, 0, None, Unit::Us, Some(1.03));
}
