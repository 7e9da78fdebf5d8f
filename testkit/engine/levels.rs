//! Collectives of jobs of several hosts: each node on a thread of its own. Near members' memory is mapped, or none is; words to far
//! members are messages.

#![allow(unsafe_code)] // memory as clients have it

use super::world::{Kit, Node, Shape, Watchdog, create, nodes_with};
use crate::am::region::COLLECTIVE;
use crate::coll::area::Area;
use crate::coll::call::flags;
use crate::coll::combine::{Combine, Reduction};
use crate::coll::handlers;
use crate::coll::landing::Landings;
use crate::coll::operator::Operator;
use crate::coll::reach::{Connect, MemberReach};
use crate::coll::team::Members;
use crate::coll::{ALL, Addresses, Call, Coll, Kind, Setting};
use crate::peers::places::Places;
use crate::sci::heap::Heap;
use crate::sci::{Mapped, NodeId, Placement, RemoteSegment};
use crate::testkit::payload::{mix, payload};
use crate::testkit::shipping::{Apart, Paired, Together};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of the largest block.
const MOST: usize = 70_000;
/// Bytes of a block: in one message, in two lines, ahead, by rounds, shared.
const SIZES: [usize; 6] = [8, 80, 96, 3000, 5000, MOST];
/// The hosts of the nodes of some jobs.
const HOSTS: [&[u32]; 6] =
    [&[0, 1], &[0, 1, 1, 2, 2, 2], &[0, 1, 2], &[0, 1, 2, 3, 4], &[0, 1, 2, 0, 1, 0], &[0, 0, 0, 0, 1, 1, 2]];

struct Member<A: Kit + Mapped> {
    node: Node<A>,
    coll: std::sync::OnceLock<Coll<A>>,
    /// The node's segment, and memory that peers cannot reach: for a destination of all blocks, then a source of as many.
    memory: [usize; 2],
    half: usize,
}

/// Makes the nodes of a job on these hosts, and their collectives. They are not freed, because their polls keep them.
fn members<A: Kit + Mapped>(hosts: &[u32], maps: bool) -> &'static [Member<A>] {
    let nodes = hosts.len() as u32;
    let half = hosts.len() * MOST;
    let mut shape = Shape { segment: 2 * half, hosts: hosts.to_vec(), ..Shape::new(nodes, 16) };
    shape.config.spin = Some(3);
    let adapters = A::kit(nodes, 0);
    let area = Area::new(nodes, 256 << 10, false);
    let regions: &'static [_] =
        adapters.iter().map(|adapter| create(adapter, COLLECTIVE, area.bytes())).collect::<Vec<_>>().leak();
    let landings: Vec<Arc<Landings>> = (0..nodes).map(|_| Arc::default()).collect();
    let made = nodes_with(&shape, &adapters, |rank, library| {
        handlers::register(library, regions[rank as usize].1.clone(), landings[rank as usize].clone());
    });
    let member = |node: Node<A>| {
        let own = node.bases[node.me as usize];
        let private = vec![0u8; 2 * half].leak().as_ptr().addr();
        Member { node, coll: Default::default(), memory: [own, private], half }
    };
    let members: &'static [Member<A>] = made.into_iter().map(member).collect::<Vec<_>>().leak();
    for (me, member) in members.iter().enumerate() {
        let adapter = adapters[me].clone();
        let connect: Connect<A> = Box::new(move |rank| {
            let segment = adapter.connect(NodeId(rank as u16), COLLECTIVE, Duration::ZERO)?;
            Ok(segment.map(0, area.bytes(), Placement::Anywhere)?)
        });
        let setting = Setting {
            am: &member.node.am,
            region: regions[me].1.clone(),
            landings: landings[me].clone(),
            reach: MemberReach::new(me as u32, nodes, Arc::new(Places::on(hosts)), maps.then_some(connect)),
            area,
            threaded: false,
            debug: false,
            mapped: maps,
        };
        // SAFETY: one thread uses each member.
        let coll = member.coll.get_or_init(|| unsafe { Coll::new(setting) });
        member.node.am.set_background(|| coll.progress());
    }
    members
}

/// Runs `body` for each node of such jobs, on a thread of its own, and then until all are done.
fn run<A: Kit + Mapped>(hosts: &[u32], maps: bool, body: impl Fn(&'static Member<A>) + Sync) {
    let _watch = Watchdog::start();
    std::thread::scope(|scope| {
        for member in members::<A>(hosts, maps) {
            let body = &body;
            scope.spawn(move || {
                body(member);
                member.coll().barrier_at_once(member.coll().team(ALL).unwrap()).unwrap();
                // What others still need of this member.
                for _ in 0..2000 {
                    member.node.am.wait_step(0);
                }
            });
        }
    });
}

impl<A: Kit + Mapped> Member<A> {
    fn coll(&'static self) -> &'static Coll<A> {
        self.coll.get().unwrap()
    }

    /// Calls a collective of a team, with bytes in this memory, and returns the destination's.
    fn call(&'static self, team: usize, what: &What, source: &[u8], destination: usize) -> Vec<u8> {
        let (to, from) = (self.memory[what.memory], self.memory[what.memory] + self.half);
        // SAFETY: inside the node's memory, which nobody else uses now.
        unsafe { (from as *mut u8).copy_from(source.as_ptr(), source.len()) };
        // SAFETY: as above.
        unsafe { (to as *mut u8).write_bytes(0xee, destination) };
        let call = Call {
            kind: what.kind,
            root: what.root,
            each: what.each,
            flags: what.flags,
            dst: Addresses::one(to),
            src: Addresses::one(from),
            lists: false,
            reduction: what.reduction,
            origin: None,
        };
        self.coll().run(self.coll().team(team).unwrap(), call, true).unwrap();
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(to as *const u8, destination) }.to_vec()
    }
}

struct What {
    kind: Kind,
    root: usize,
    each: usize,
    flags: u32,
    memory: usize,
    reduction: Option<Combine>,
}

/// The bytes that `member` gives for `to` in a call.
fn bytes(call: u64, member: usize, to: usize, len: usize) -> Vec<u8> {
    payload(mix(&[call, member as u64, to as u64]), len)
}

/// x ↦ ax + b after x ↦ cx + d, as two halves of a word: it does not commute.
fn after(left: u64, right: u64) -> u64 {
    let (a, b, c, d) = (left as u32, (left >> 32) as u32, right as u32, (right >> 32) as u32);
    u64::from(a.wrapping_mul(c)) | u64::from(b.wrapping_mul(c).wrapping_add(d)) << 32
}

unsafe extern "C" fn function(
    results: *mut c_void,
    count: usize,
    left: *const c_void,
    _: usize,
    right: *const c_void,
    _: usize,
    _: c_int,
    _: c_int,
) {
    for i in 0..count {
        // SAFETY: the operands have `count` elements.
        let l = unsafe { left.cast::<u64>().wrapping_add(i).read() };
        // SAFETY: as above.
        let r = unsafe { right.cast::<u64>().wrapping_add(i).read() };
        // SAFETY: as above.
        unsafe { results.cast::<u64>().wrapping_add(i).write(after(l, r)) };
    }
}

unsafe extern "C" fn ex_function(left: *const c_void, right: *mut c_void, count: usize, _: *const c_void) {
    // SAFETY: as the contract has it; results replace the right operand.
    unsafe { function(right, count, left, count, right, 8, 0, 0) };
}

/// The vectors of all members, combined in their order.
fn sum(call: u64, members: usize, len: usize) -> Vec<u8> {
    let mut sum = bytes(call, 0, 0, len);
    for member in 1..members {
        for (left, right) in sum.chunks_mut(8).zip(bytes(call, member, 0, len).chunks(8)) {
            let [l, r] = [&*left, right].map(|word| u64::from_le_bytes(word.try_into().unwrap()));
            left.copy_from_slice(&after(l, r).to_le_bytes());
        }
    }
    sum
}

/// Calls every collective on a team in which this node has place `me` of `count`, and checks what it gets.
fn all_kinds<A: Kit + Mapped>(
    member: &'static Member<A>,
    sizes: &[usize],
    team: usize,
    me: usize,
    count: usize,
    seed: u64,
) {
    let syncs = [flags::IN_MYSYNC | flags::OUT_MYSYNC, flags::IN_ALLSYNC | flags::OUT_ALLSYNC];
    let mut number = seed << 32;
    for (each, sync) in sizes.iter().flat_map(|each| syncs.map(|sync| (*each, sync))) {
        for turn in 0..2 {
            number += 1;
            let root = mix(&[number]) as usize % count;
            let call = |kind, reduction| What { kind, root, each, flags: sync, memory: turn, reduction };
            let mine = |to| bytes(number, me, to, each);
            let all_mine = (0..count).map(mine).collect::<Vec<_>>().concat();
            let from_all = |to| (0..count).map(|m| bytes(number, m, to, each)).collect::<Vec<_>>().concat();
            let at_root = |expected: Vec<u8>| if me == root { expected } else { vec![0xee; expected.len()] };
            let context = |what| format!("{what} of {each} bytes, member {me} of {count}, root {root}");

            let got = member.call(team, &call(Kind::Broadcast, None), &mine(0), each);
            assert!(got == bytes(number, root, 0, each), "{}", context("broadcast"));
            let got = member.call(team, &call(Kind::Scatter, None), &all_mine, each);
            assert!(got == bytes(number, root, me, each), "{}", context("scatter"));
            let got = member.call(team, &call(Kind::Gather, None), &mine(0), each * count);
            assert!(got == at_root(from_all(0)), "{}", context("gather"));
            let got = member.call(team, &call(Kind::GatherAll, None), &mine(0), each * count);
            assert!(got == from_all(0), "{}", context("gather_all"));
            let got = member.call(team, &call(Kind::Exchange, None), &all_mine, each * count);
            assert!(got == from_all(me), "{}", context("exchange"));
            // SAFETY: it combines words.
            let table = unsafe { Reduction::new(function, 2, 8, 0, false) };
            let combined = sum(number, count, each);
            let got = member.call(team, &call(Kind::Reduce, Some(Combine::Table(table))), &mine(0), each);
            assert!(got == at_root(combined.clone()), "{}", context("reduce"));
            // SAFETY: it combines words.
            let operator = unsafe { Operator::client(ex_function, std::ptr::null(), 8) };
            for kind in [Kind::Reduce, Kind::ReduceAll] {
                let got = member.call(team, &call(kind, Some(Combine::Operator(operator))), &mine(0), each);
                let expected = combined.clone();
                let expected = if kind == Kind::Reduce { at_root(expected) } else { expected };
                assert!(got == expected, "{}", context("reduction of GASNet-EX"));
            }
            let got = member.call(team, &call(Kind::Scan, Some(Combine::Table(table))), &mine(0), each);
            assert!(got == sum(number, me + 1, each), "{}", context("scan"));
        }
    }
}

#[test]
fn collectives_give_the_same_on_several_hosts_as_on_one() {
    for (hosts, maps) in HOSTS.into_iter().flat_map(|hosts| [(hosts, true), (hosts, false)]) {
        run::<Heap>(hosts, maps, |member| all_kinds(member, &SIZES, ALL, member.node.me as usize, hosts.len(), 1));
    }
}

#[test]
fn more_hosts_than_tell_each_other_directly_work_as_well() {
    let hosts: Vec<u32> = (0..22).map(|node| node / 2).collect();
    run::<Heap>(&hosts, true, |member| all_kinds(member, &SIZES, ALL, member.node.me as usize, hosts.len(), 2));
}

/// Words and bytes to far members go over a wire here, as in a job of several hosts, and those to near ones through mapped files.
#[test]
fn collectives_give_the_same_over_the_adapter_that_ships() {
    fn over<A: Kit + Mapped>(hosts: &[u32], sizes: &[usize]) {
        run::<A>(hosts, true, |member| all_kinds(member, sizes, ALL, member.node.me as usize, hosts.len(), 1));
    }
    over::<Together>(&[0, 0, 0], &SIZES);
    over::<Apart>(&[0, 1, 2], &SIZES);
    over::<Paired>(&[0, 0, 1, 1, 2], &SIZES);
}

#[test]
fn teams_mix_hosts_in_any_order_or_are_on_one() {
    let hosts = [0, 0, 0, 1, 1, 2, 2];
    run::<Heap>(&hosts, true, |member| {
        let (coll, me) = (member.coll(), member.node.me);
        // All, backwards; every other one; those of a host; all but the first, by turns of hosts.
        let splits: [&dyn Fn(u32) -> Option<(u32, u32)>; 4] = [
            &|node| Some((0, 100 - node)),
            &|node| Some((node % 2, node)),
            &|node| Some((hosts[node as usize], node)),
            &|node| (node > 0).then_some((0, node % 3)),
        ];
        for (seed, split) in (3..).zip(splits) {
            let team = coll.split(ALL, split(me)).unwrap();
            let Some(team) = team else { continue };
            let mut list: Vec<(u32, u32)> = (0..7)
                .filter(|n| split(*n).map(|s| s.0) == split(me).map(|s| s.0))
                .map(|n| (split(n).unwrap().1, n))
                .collect();
            list.sort_unstable();
            let place = list.iter().position(|(_, node)| *node == me).unwrap();
            let is_near = list.iter().all(|(_, node)| hosts[*node as usize] == hosts[me as usize]);
            assert_eq!(coll.team(team).unwrap().direct, is_near, "words of near members are stores");
            all_kinds(member, &SIZES, team, place, list.len(), seed);
            named(member, team, place, list.len());
            coll.destroy(team).unwrap();
        }
    });
}

/// Phases of a team's named barrier, in some of which a member gives another name.
fn named<A: Kit + Mapped>(member: &'static Member<A>, handle: usize, me: usize, count: usize) {
    let team = member.coll().team(handle).unwrap();
    let cells = Members(&team, &member.node.am);
    for phase in 0..30 {
        let odd = phase % 3 == 1 && me == phase % count;
        let id = if odd && count > 1 { 99 } else { phase as i32 };
        team.barrier.notify(&cells, id, 0).unwrap();
        if team.barrier.owes() {
            member.coll().carry_on(handle).unwrap();
        }
        let expected = count == 1 || phase % 3 != 1;
        let matches = if phase % 2 == 0 {
            team.barrier.wait(&member.node.am, &cells, id, 0).unwrap()
        } else {
            loop {
                member.node.am.poll();
                match team.barrier.finished(&cells, id, 0).unwrap() {
                    Some(matches) => break matches,
                    None => std::thread::yield_now(),
                }
            }
        };
        assert_eq!(matches, expected, "phase {phase} of member {me}");
    }
}

#[test]
fn meetings_begin_when_the_last_one_comes_and_any_number_may_be_under_way() {
    use std::sync::atomic::{AtomicU32, Ordering};
    fn over<A: Kit + Mapped>(hosts: &[u32], maps: bool) {
        let arrived = AtomicU32::new(0);
        run::<A>(hosts, maps, |member| {
            let coll = member.coll();
            for round in 0..20 {
                // Relaxed: the meeting orders it.
                arrived.fetch_add(1, Ordering::Relaxed);
                coll.barrier_at_once(coll.team(ALL).unwrap()).unwrap();
                assert!(arrived.load(Ordering::Relaxed) >= (round + 1) * hosts.len() as u32);
            }
            let events: Vec<usize> = (0..8).map(|_| coll.barrier(coll.team(ALL).unwrap()).unwrap()).collect();
            for event in events.into_iter().rev() {
                coll.wait_for(|| crate::xfer::event::test(event, crate::xfer::event::Whose::Any)).unwrap();
            }
        });
    }
    for (hosts, maps) in HOSTS.into_iter().flat_map(|hosts| [(hosts, true), (hosts, false)]) {
        over::<Heap>(hosts, maps);
    }
    over::<Together>(&[0, 0, 0], true);
    over::<Apart>(&[0, 1, 2], true);
    over::<Paired>(&[0, 0, 1, 1, 2, 2], true);
}

/// Messages that each node of two hosts has sent in `times` calls of `act`. Words to near members are stores, so all messages are far.
fn far_messages(hosts: &[u32], times: u64, act: impl Fn(&'static Member<Heap>) + Sync) -> Vec<u64> {
    let counts = std::sync::Mutex::new(vec![0; hosts.len()]);
    run::<Heap>(hosts, true, |member| {
        let before = member.node.counter("requests sent");
        (0..times).for_each(|_| act(member));
        counts.lock().unwrap()[member.node.me as usize] = member.node.counter("requests sent") - before;
    });
    counts.into_inner().unwrap()
}

#[test]
fn only_leaders_send_to_other_hosts() {
    let hosts = [0, 0, 0, 0, 1, 1, 1, 1];
    let meet = |member: &'static Member<Heap>| member.coll().barrier_at_once(member.coll().team(ALL).unwrap()).unwrap();
    assert_eq!(far_messages(&hosts, 5, meet), [5, 0, 0, 0, 5, 0, 0, 0]);
    let both = flags::IN_MYSYNC | flags::OUT_MYSYNC;
    let call = |kind| {
        far_messages(&hosts, 1, move |member| {
            let what = What { kind, root: 1, each: 8, flags: both, memory: 0, reduction: None };
            member.call(ALL, &what, &[7; 64], 64);
        })
    };
    assert_eq!(call(Kind::Broadcast), [0, 1, 0, 0, 0, 0, 0, 0], "from the root to a leader");
    assert_eq!(call(Kind::Gather), [0, 0, 0, 0, 1, 0, 0, 0], "from a leader to the root");
    assert_eq!(call(Kind::GatherAll), [1, 0, 0, 0, 1, 0, 0, 0], "between leaders");
    let all = far_messages(&hosts, 1, |member| {
        // SAFETY: it combines words.
        let reduction = Some(Combine::Operator(unsafe { Operator::client(ex_function, std::ptr::null(), 8) }));
        let what = What { kind: Kind::ReduceAll, root: 0, each: 8, flags: both, memory: 0, reduction };
        member.call(ALL, &what, &[7; 8], 8);
    });
    assert_eq!(all, [1, 0, 0, 0, 1, 0, 0, 0], "between leaders");
}
