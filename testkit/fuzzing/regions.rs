//! A peer writes whatever it likes into the control and command regions of node 0. It can write where, and in the
//! ways, that a peer can: any word, whole messages that look right, and words that change between two looks. All
//! nodes continue meanwhile.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::Input;
use super::scene::{Seat, act, has_slot, seats, source, with_args};
use crate::am::region::{Layout, MAX_MEDIUM, RING};
use crate::am::slot::{Carry, Meta};
use crate::am::wait::SLEEPING;
use crate::sci::fickle;
use crate::sci::{LocalMap, RemoteMap};
use crate::testkit::world::Shape;
use crate::verbs::{Flags, Target};
use crate::vis::Verb;
use crate::vis::shape::{Indexed, What};
use crate::xfer::op::{Op, OpId};
use crate::xfer::{Completion, Counted, Engines, Landing, Rma, home, reference};

const SEGMENT: usize = 4096;
/// Bytes of the victim's private memory.
const PRIVATE: usize = 1024;
const SECRET: u8 = 0x5a;
/// Bytes of the collective region.
const REGION: usize = 4096;

struct Scene {
    seats: Vec<Seat>,
    layout: Layout,
    op: (OpId, &'static Op),
    rma: Rma,
    /// Memory for the results of gets, between bytes that must not change.
    landing: Box<[u8]>,
    private: Box<[u8]>,
}

pub(super) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let flags = input.u8();
    let start = input.pick(&[0, 0xffff - 3, 0u32.wrapping_sub(6), 0x7fff * 4 - 2, 0x4000 * 4 - 2, 1_000_000]);
    // Mostly few nodes, because making nodes takes longer than a run.
    let nodes = if flags & 7 == 2 { 3 } else { 2 };
    let mut shape = Shape { start, segment: SEGMENT, ..Shape::new(nodes, 4) };
    if flags & 63 == 1 {
        shape = Shape { active: vec![0, 1, 64], nodes: 66, ..shape };
    }
    shape.config.spin = Some(0);
    let seats = seats(&shape, REGION);
    let Some(op) = home::take() else { return };
    let scene = Scene {
        layout: Layout::new(shape.nodes, shape.slots),
        seats,
        op,
        rma: Rma::new(false, None),
        landing: vec![0; PRIVATE].into(),
        private: vec![SECRET; PRIVATE].into(),
    };
    let _ = scene.play(&mut input);
    fickle::plan(0, 0);
    assert!(scene.private.iter().all(|byte| *byte == SECRET), "private memory was written");
    if op.1.is_done() {
        home::give(op.0, op.1);
    }
}

impl Scene {
    fn play(&self, input: &mut Input<'_>) -> Result<(), String> {
        while let Some(step) = input.next() {
            self.step(step, input)?;
        }
        for _ in 0..3 {
            self.poll(0, 0, false)?;
        }
        Ok(())
    }

    fn poll(&self, who: usize, script: u64, last: bool) -> Result<(), String> {
        act(&self.seats[who], script, |seat| {
            if last {
                // A thorough look, then a sleep of 50 µs.
                seat.node.am.wait_step(SLEEPING);
            } else {
                seat.node.am.poll();
            }
        })
    }

    fn step(&self, step: u8, input: &mut Input<'_>) -> Result<(), String> {
        // The attacker of this step.
        let from = 1 + usize::from(step >> 7) % (self.seats.len() - 1);
        let attacker = &self.seats[from].node;
        let peer = attacker.me as usize;
        let victim = &attacker.am.peers[0];
        match step & 31 {
            0..=5 => self.poll(0, input.number(2), false)?,
            6 => self.poll(0, input.number(2), true)?,
            7..=9 => self.poll(from, input.number(2), false)?,
            10 => {
                let at = input.below(self.layout.control_len() / 8) * 8;
                victim.control.publish(at, input.any());
            }
            11..=13 => self.poke_count(peer, victim, input),
            14 => {
                let at = input.below(self.layout.queue_len() / 8) * 8;
                victim.queue.publish(at, input.any());
            }
            15..=17 => {
                let (slot, _) = self.slot(peer, input);
                let value = self.value(input);
                victim.queue.publish(slot + 8 * input.below(16), value);
            }
            18..=22 => self.forge(peer, victim, input),
            23..=25 => self.send(0, from, input)?,
            26 => self.send(from, 0, input)?,
            27 => self.transfer(from, input)?,
            28 => {
                let (id, flags) = (i32::from(input.u8() & 3), u32::from(input.u8() & 3));
                act(&self.seats[0], 0, |seat| seat.node.barrier.notify(&seat.node.am, id, flags).is_ok())?;
                act(&self.seats[0], 0, |seat| seat.node.barrier.finished(&seat.node.am, id, flags).is_ok())?;
            }
            29 => {
                fickle::plan(1 + u32::from(input.u8() & 31), input.any());
                self.poll(0, input.number(2), false)?;
                fickle::plan(0, 0);
            }
            30 => {
                // The count of a stream, and the first word that places a stream or a bounced payload.
                let (slot, _) = self.slot(peer, input);
                victim.queue.publish(slot + 8 * 15, input.any());
            }
            _ => {
                act(&self.seats[0], 0, |seat| {
                    // Polls as a reply does that waits for room.
                    seat.node.am.inbox.with(|inbox| inbox.poll_replies(&seat.node.am))
                })?;
            }
        }
        Ok(())
    }

    /// A request or reply slot near the next one, and the number of its request.
    fn slot(&self, peer: usize, input: &mut Input<'_>) -> (usize, u32) {
        let bits = input.u8();
        let delta = [0, 0, 0, 1, 2, 3, 4, 0u32.wrapping_sub(1)][usize::from(bits >> 1 & 7)];
        let next = self.seats[0].node.am.inbox.with(|inbox| {
            let from = &inbox.from[peer];
            if bits & 1 == 0 { from.next_request.get() } else { from.next_reply.get() }
        });
        let index = next.wrapping_add(delta);
        (if bits & 1 == 0 { self.layout.request(index) } else { self.layout.reply(index) }, index)
    }

    /// A value that a message may carry: an address, an offset, or anything.
    fn value(&self, input: &mut Input<'_>) -> u64 {
        let node = &self.seats[0].node;
        let near = |base: usize, input: &mut Input<'_>| (base as u64).wrapping_add(input.number(2)).wrapping_sub(64);
        match input.u8() & 7 {
            0 => near(node.bases[0], input),
            1 => near(node.bases[0] + SEGMENT, input),
            2 => input.number(2) * 64,
            3 => near(RING, input) / 64 * 64,
            4 => near(self.private.as_ptr().addr(), input),
            5 => near(self.landing.as_ptr().addr(), input),
            6 => input.number(1),
            _ => input.any(),
        }
    }

    fn poke_count(&self, peer: usize, victim: &crate::am::outbox::Peer<crate::sci::heap::Heap>, input: &mut Input<'_>) {
        let l = &self.layout;
        let parity = usize::from(input.u8() & 1);
        let at =
            input.pick(&[l.ready(peer), l.credit(peer), l.reply_credit(peer), l.barrier(parity, peer), l.exist(peer)]);
        let delta = input.any();
        let now = self.seats[0].node.am.control.word(at).load(crate::sync::Ordering::Relaxed); // Relaxed: one thread
        let value = match input.u8() & 3 {
            0 => delta,
            1 => now.wrapping_add(delta),
            2 => now.wrapping_add(delta << 32),
            _ => now ^ delta,
        };
        victim.control.publish(at, value);
    }

    /// Writes a message that looks right in some or all respects.
    fn forge(&self, peer: usize, victim: &crate::am::outbox::Peer<crate::sci::heap::Heap>, input: &mut Input<'_>) {
        let (slot, index) = self.slot(peer, input);
        let handler = match input.u8() {
            n @ 0..=99 => input.pick(&[64, 65, 66, 67, 68, 69, 70, 96, 97, 98, 112, 113]) + (n & 128),
            100..=199 => 128 + input.u8() % 120,
            _ => input.u8(),
        };
        let bits = input.u8();
        let args = match bits >> 3 {
            n @ 0..=16 => usize::from(n),
            n => [1, 2, 4, 6, 7][usize::from(n % 5)],
        };
        let carry = [Carry::Short, Carry::Inline, Carry::Ring, Carry::Long, Carry::Bounced, Carry::Stream];
        let carry = carry[usize::from(bits & 7).min(5)];
        let len = match input.u8() {
            n @ 0..=127 => u64::from(n),
            128..=191 => input.number(2),
            192..=223 => MAX_MEDIUM as u64 + input.number(1),
            _ => input.any(),
        };
        for i in 1..1 + input.below(16) {
            let value = self.value(input);
            victim.queue.publish(slot + 8 * i, value);
        }
        let meta = Meta::new(self.layout.sequence(index), handler, args, carry, len as u32 as usize);
        // A kind that no sender of ours writes.
        let odd = if bits & 7 == 7 { 1 << 31 | 1 << 30 } else { 0 };
        victim.queue.publish(slot, meta.bits() | odd);
    }

    /// Sends an honest request.
    fn send(&self, who: usize, to: usize, input: &mut Input<'_>) -> Result<(), String> {
        let (bits, len, script) = (input.u8(), input.number(2) as usize, input.number(1));
        let to = self.seats[to].node.me;
        let values = [9; 16];
        let args = usize::from(bits >> 3) % 17;
        act(&self.seats[who], script, |seat| {
            let am = &seat.node.am;
            let bytes = vec![3u8; len % 3000];
            let base = seat.node.bases[to as usize] + len % 8;
            with_args(&values[..args], |args| match bits & 3 {
                _ if !has_slot(seat, to, bytes.len()) => Ok(()),
                0 | 1 => am.request_short(to, 128 + bits % 100, args),
                2 => am.request_medium(to, 128 + bits % 100, source(&bytes), args),
                _ => am.request_long(to, 128 + bits % 100, source(&bytes), base, args),
            })
            .expect("an honest request");
        })
    }

    /// Lets node 0 start a put, a get, a memset, or packets of puts and gets.
    fn transfer(&self, to: usize, input: &mut Input<'_>) -> Result<(), String> {
        let (kind, len) = (input.u8() % 5, usize::from(input.u8()) + 1);
        let to = self.seats[to].node.me;
        act(&self.seats[0], 0, |seat| {
            let am = &seat.node.am;
            if am.peers[to as usize].outstanding() > 0 || !has_slot(seat, to, MAX_MEDIUM) {
                return;
            }
            let c = Counted { id: self.op.0, op: self.op.1 };
            let there = seat.node.bases[to as usize] + len;
            let here = self.landing.as_ptr().cast_mut();
            let far: [usize; 3] = std::array::from_fn(|i| there + 600 * i);
            let near: [usize; 3] = std::array::from_fn(|i| here.addr() + 300 * i);
            let (far, near) = (Indexed { list: &far, len }, Indexed { list: &near, len });
            // SAFETY: the landing memory lives as long as the scene.
            let landing = unsafe { Landing::new(here, len) };
            let vis = |call, what| {
                let (on, c) = (Engines { am, rma: &self.rma }, Completion::at_return(c));
                seat.vis.start(on, Target::node(to), call, &what, Flags::NONE, c).map(|_| ())
            };
            match kind {
                0 => reference::put(am, to, there, source(&self.private[..len]), c),
                1 => reference::get(am, to, there, landing, c),
                2 => reference::set(am, to, there, 1, len, c),
                3 => vis(Verb::PutI, What::Indexed(far, near)),
                _ => vis(Verb::GetI, What::Indexed(near, far)),
            }
            .expect("an honest transfer");
        })
    }
}
