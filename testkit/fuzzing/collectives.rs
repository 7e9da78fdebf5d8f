//! A member writes whatever it likes into the collective region of node 0, while all members call collectives.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::Input;
use super::scene::{Seat, act, has_slot, seats, source, with_args};
use crate::am::library::{COLL_DATA, COLL_STORE};
use crate::am::region::COLLECTIVE;
use crate::coll::area::Area;
use crate::coll::combine::{Combine, Reduction};
use crate::coll::operator::{Number, Operation, Operator};
use crate::coll::reach::{Connect, MemberReach};
use crate::coll::{ALL, Addresses, Call, Coll, Kind, Setting};
use crate::peers::places::Places;
use crate::sci::fickle;
use crate::sci::heap::Heap;
use crate::sci::{Adapter, NodeId, Placement, RemoteMap, RemoteSegment};
use crate::testkit::world::Shape;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a member's destination, and of its source.
const SIDE: usize = 80 << 10;
/// Untouched bytes on both sides of private memory.
const GUARD: usize = 64;
/// The number of collectives of one run, and their bytes. They are so few that no queue fills up, because no node
/// waits here.
const CALLS: usize = 10;
const BYTES: usize = 180_000;

struct Member {
    seat: &'static Seat,
    coll: &'static Coll<Heap>,
    /// Destination and source in memory that peers cannot reach.
    private: Box<[u8]>,
}

/// The client's reduction. Its operands may hold anything; nothing outside them may be read.
unsafe extern "C" fn combine(
    result: *mut c_void,
    count: usize,
    left: *const c_void,
    _: usize,
    right: *const c_void,
    size: usize,
    _: c_int,
    _: c_int,
) {
    for at in 0..count * size {
        // SAFETY: the operands have `count` elements of `size` bytes.
        let l = unsafe { left.cast::<u8>().wrapping_add(at).read() };
        // SAFETY: `right` has as many readable bytes.
        let r = unsafe { right.cast::<u8>().wrapping_add(at).read() };
        // SAFETY: `result` has as many writable bytes.
        unsafe { result.cast::<u8>().wrapping_add(at).write(l ^ r) };
    }
}

pub(super) fn run(data: &[u8]) {
    let _ = outcome(data);
}

/// Runs one input. Returns the fatal error that ended the run, if there was one.
pub(super) fn outcome(data: &[u8]) -> Result<(), String> {
    let mut input = Input::new(data);
    let flags = input.u8();
    let (direct, debug) = (flags & 3 != 0, flags & 12 == 4);
    let nodes = 2 + u32::from(flags >> 4 & 1);
    let mut shape = Shape { segment: 2 * SIDE, ..Shape::new(nodes, 128) };
    shape.config.spin = Some(0);
    let area = Area::new(nodes, 64 << 10, debug);
    let seats = Box::leak(seats(&shape, area.bytes()).into_boxed_slice());
    let members = members(seats, area, direct, debug);
    let result = play(&members, &mut input);
    fickle::plan(0, 0);
    for member in &members {
        let (first, last) = (&member.private[..GUARD], &member.private[GUARD + 2 * SIDE..]);
        assert!(first.iter().chain(last).all(|byte| *byte == 0), "bytes beside private memory: {result:?}");
        // SAFETY: leaked in `members`; no code uses it after this call.
        let _ = act(member.seat, 0, |_| unsafe { member.coll.free() });
    }
    drop(members);
    // SAFETY: leaked above; the members that used the seats are gone.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(seats).cast_mut()) });
    result
}

/// Makes the collectives of all nodes as `Job::make_coll` does.
fn members(seats: &'static [Seat], area: Area, direct: bool, debug: bool) -> Vec<Member> {
    let nodes = seats.len() as u32;
    let member = |seat: &'static Seat| {
        let adapter = seat.node.am.adapter.clone();
        let connect: Connect<Heap> = Box::new(move |rank| {
            let segment = adapter.connect(NodeId(rank as u16), COLLECTIVE, Duration::ZERO)?;
            Ok(segment.map(0, area.bytes(), Placement::Anywhere)?)
        });
        let am = &seat.node.am;
        let setting = Setting {
            am,
            region: seat.coll.region.clone(),
            landings: seat.coll.landings.clone(),
            reach: MemberReach::new(0, nodes, Arc::new(Places::on(&[0])), direct.then_some(connect)),
            area,
            threaded: false,
            debug,
            mapped: direct,
        };
        // SAFETY: one thread.
        let coll: &'static Coll<Heap> = Box::leak(Box::new(unsafe { Coll::new(setting) }));
        am.set_background(|| coll.progress());
        if debug {
            am.background(1);
        }
        Member { seat, coll, private: vec![0; 2 * (SIDE + GUARD)].into() }
    };
    seats.iter().map(member).collect()
}

fn play(members: &[Member], input: &mut Input<'_>) -> Result<(), String> {
    let (mut calls, mut room) = (vec![0; members.len()], vec![BYTES; members.len()]);
    while let Some(step) = input.next() {
        let attacker = 1 + usize::from(step >> 7) % (members.len() - 1);
        match step & 15 {
            0..=3 => {
                // All members call it in the same way, or one calls it in another way, or some call something else.
                let how = input.u8();
                let bits = input.number(4);
                for (me, member) in members.iter().enumerate() {
                    let mine = if how & 7 == 1 && me == attacker { bits ^ input.number(3) } else { bits };
                    if (how & 7 != 0 || me == 0) && calls[me] < CALLS {
                        calls[me] += 1;
                        begin(member, members.len(), mine, &mut room[me])?;
                    }
                }
            }
            4..=8 => poll(&members[0])?,
            9..=12 => poke(members, attacker, input),
            13 => {
                fickle::plan(1 + u32::from(input.u8() & 31), input.any());
                poll(&members[0])?;
                fickle::plan(0, 0);
            }
            14 => forge(&members[attacker], input)?,
            _ => {}
        }
        for member in &members[1..] {
            poll(member)?;
        }
    }
    for _ in 0..4 {
        members.iter().try_for_each(poll)?;
    }
    Ok(())
}

fn poll(member: &Member) -> Result<(), String> {
    act(member.seat, 0, |seat| seat.node.am.poll()).map(|_| ())
}

/// Starts the collective that `bits` describe.
fn begin(member: &Member, members: usize, bits: u64, room: &mut usize) -> Result<(), String> {
    let digit = |shift: u32, of: usize| (bits >> shift) as usize % of;
    let Some(kind) = Kind::from_number(digit(0, 8) as u32) else { return Ok(()) };
    let most = if matches!(kind, Kind::Broadcast | Kind::Reduce | Kind::Scan | Kind::ReduceAll) { 9 } else { 7 };
    let each = [0, 8, 56, 64, 304, 5000, 17_000, 40_000, 70_000][digit(3, most)];
    let each = if each * members > *room { 64 } else { each };
    *room -= (each * members).min(*room);
    let flags = 1 << digit(10, 3) | 8 << digit(13, 3);
    let node = &member.seat.node;
    let place = |mapped: bool, at: usize| match mapped {
        true => node.bases[node.me as usize] + at,
        false => member.private.as_ptr().addr() + GUARD + at,
    };
    // SAFETY: `combine` accepts operands with any bytes.
    let how = unsafe { Reduction::new(combine, 0, 8, 0, bits >> 20 & 1 == 1) };
    let call = Call {
        kind,
        root: digit(16, members),
        each,
        flags,
        dst: Addresses::one(place(bits >> 18 & 1 == 1, 0)),
        src: Addresses::one(place(bits >> 19 & 1 == 1, SIDE)),
        lists: false,
        reduction: match kind {
            Kind::Reduce | Kind::Scan => Some(Combine::Table(how)),
            Kind::ReduceAll => Operator::numbers(Number::U64, Operation::Add).map(Combine::Operator),
            _ => None,
        },
        origin: None,
    };
    act(member.seat, 0, |_| {
        let team = member.coll.team(ALL).expect("the team of all nodes");
        member.coll.run(team, call, false).expect("a collective that does not block");
    })
}

/// Writes a word of the victim's region. Most often it is a cell of `from` with a fitting tag.
fn poke(members: &[Member], from: usize, input: &mut Input<'_>) {
    let Some(map) = members[from].coll.reach.map(0) else { return };
    let block = members[0].coll.area.all();
    let seq = u32::from(input.u8() % 12);
    let tagged = |value: u64| u64::from(seq) << 32 | value & u64::from(u32::MAX);
    let segment = members[from].seat.node.bases[from] as u64;
    let value = match input.u8() & 7 {
        0 => segment.wrapping_add(input.number(2)),
        1 => segment.wrapping_add((2 * SIDE) as u64).wrapping_sub(input.number(1)),
        2 => (members[0].coll.area.bytes() as u64).wrapping_sub(input.number(2)),
        3 => input.number(2),
        _ => input.any(),
    };
    let (at, word) = match input.u8() & 15 {
        0..=4 => (block.message(seq, from), tagged(value & 7 | (value >> 3 & 31) << 3)),
        5 => (block.message(seq, from), tagged(value)),
        6 | 7 => (block.message(seq, from) + 8 * (1 + input.below(7)), value),
        8..=10 => (block.answer(seq, from) + 8 * input.below(4), tagged(value)),
        11 => (block.answer(seq, from) + 32, value),
        12 => (block.credit(from), value),
        13 => (block.barrier(usize::from(seq & 1 == 1), from), value),
        14 => (block.message(seq, 0) + 8 * input.below(64), value),
        _ => (input.below(block.bytes() / 8) * 8, value),
    };
    if at + 8 <= map.len() {
        map.publish(at, word);
    }
}

/// Sends messages to the collectives' own handlers, with any place in them.
fn forge(attacker: &Member, input: &mut Input<'_>) -> Result<(), String> {
    let at = match input.u8() & 3 {
        0 => input.number(2) * 8,
        1 => attacker.coll.area.bytes() as u64 - input.number(1),
        2 => attacker.seat.node.bases[0] as u64 + input.number(2),
        _ => input.any(),
    };
    let handler = input.pick(&[COLL_STORE, COLL_DATA]);
    let bytes = vec![0x77; input.below(100)];
    act(attacker.seat, 0, |seat| {
        if has_slot(seat, 0, bytes.len()) {
            let halves = [at as i32, (at >> 32) as i32];
            let sent = with_args(&halves, |args| seat.node.am.request_medium(0, handler, source(&bytes), args));
            sent.expect("room, as just seen");
        }
    })
}
