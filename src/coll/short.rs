//! A shorter implementation of blocking collectives, for few bytes and few members that send everything directly to
//! each other. It needs no future. While bytes travel in messages or ahead of their receivers, it needs neither
//! allocations nor answers. The messages are those of the full collectives, so some members may use this code and
//! others the full one.
//!
//! This code only waits for heads of messages. Every member sends these as soon as it calls. If something takes more
//! than one step (a stage, or Active Messages because no buffer is free), the full implementation does the rest.

#![allow(unsafe_code)] // client memory and mapped regions

use super::Coll;
use super::call::{Kind, flags};
use super::cells::Word;
use super::combine::Reduction;
use super::moves::{Send, To, all, send_inline};
use super::phase::{Context, Phase};
use super::recv::{Recv, receive_inline};
use super::select::{self, Algorithm, DIRECT_MEMBERS, Form, INLINE};
use super::span::{Buffer, Carried, Span};
use super::team::{Images, TeamRef};
use crate::am::wait::Rest;
use crate::sci::Mapped;
use crate::sync::spin_loop;
use std::cell::RefCell;
use std::iter::once;

/// The number of looks at a line between two polls of the message engine. After those polls, a node that shares its
/// core soon yields. Broadcast, and reduction with broadcast, of 8 bytes on 4 nodes and 2 cores: 8 looks take 1.13
/// and 3.5, 4 looks 1.15 and 2.9, 2 looks 1.05 and 2.6 µs. On cores of their own it makes no difference.
const LOOKS: u32 = 2;
/// The most bytes of a block for this implementation. Longer ones are better moved in steps.
const SHORT: usize = 8 << 10;

/// The receivers of this member's bytes.
enum Out {
    Nobody,
    /// All others get the same.
    Same,
    /// Each other member gets its own part.
    Parts,
    /// The root gets them.
    Root(usize),
}

/// A call of one image with one address on each side.
pub struct Plain {
    /// The kind of collective.
    pub kind: Kind,
    /// Root image.
    pub root: usize,
    /// Bytes of a block; of reductions: of a vector.
    pub each: usize,
    /// Flags of [`super::call::flags`].
    pub flags: u32,
    /// Destination, if there is one.
    pub dst: usize,
    /// Source, if there is one.
    pub src: usize,
    /// How reductions combine.
    pub reduction: Option<Reduction>,
}

impl Plain {
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    fn dst(&self, len: usize) -> Span {
        // SAFETY: the caller of the collective promises that its memory stays accessible until the collective is done.
        unsafe { Span::one(self.dst, len) }
    }

    fn src(&self, len: usize) -> Span {
        // SAFETY: the caller of the collective promises a readable source until the collective is done.
        unsafe { Span::one(self.src, len) }
    }
}

impl<A: Mapped> Coll<A> {
    /// Makes the blocking call if it is short enough. Returns whether it did.
    #[inline]
    pub fn run_short(&'static self, team: &TeamRef<A>, call: &Plain) -> bool {
        let members = team.members();
        let all_sync = call.flags & (flags::IN_ALLSYNC | flags::OUT_ALLSYNC) != 0;
        let most = if call.kind == Kind::Broadcast && !all_sync { usize::MAX } else { DIRECT_MEMBERS };
        // In a long gather, a member that uses the full implementation waits for an address, which this
        // implementation never sends.
        let longest = if call.kind == Kind::Gather { SHORT.min(select::PUSH - 1) } else { SHORT };
        let short = call.each <= longest && members <= most && call.root < members && call.kind != Kind::Scan;
        if !short || !team.direct || self.debug || call.has(flags::AGGREGATE) || team.images != Images::One(members) {
            return false;
        }
        let form = Form { mapped: true, levels: false, members };
        if select::algorithm(call.kind, form, call.each) != Algorithm::Flat || self.is_aggregate_open(team) {
            return false;
        }
        perform(&Context::new(self, team.clone(), 1, None), call);
        true
    }
}

fn perform<A: Mapped>(cx: &Context<A>, call: &Plain) {
    let (me, members, each) = (cx.me(), cx.members(), call.each);
    let root = if call.kind.is_rooted() { call.root } else { me };
    let ph = cx.phase_at_once();
    if call.has(flags::IN_ALLSYNC) {
        enter(&ph, call, root);
    }
    let (src, dst) = (|| call.src(each), || call.dst(each));
    let src_of = |m: usize| call.src(members * each).part(m * each, each);
    let dst_of = |m: usize| call.dst(members * each).part(m * each, each);
    let (others, nobody) = (cx.others(), cx.others().take(0));
    match (call.kind, &call.reduction) {
        (Kind::Broadcast, _) if me == root => {
            moves(&ph, each, Out::Same, |_| src(), nobody, |_| dst(), || dst().copy_from(&src()));
        }
        (Kind::Broadcast | Kind::Scatter, _) if me != root => {
            moves(&ph, each, Out::Nobody, |_| dst(), once(root), |_| dst(), || ());
        }
        (Kind::Scatter, _) => {
            moves(&ph, each, Out::Parts, src_of, nobody, dst_of, || dst().copy_from(&src_of(me)));
        }
        (Kind::Gather | Kind::Reduce, _) if me != root => {
            moves(&ph, each, Out::Root(root), |_| src(), nobody, |_| src(), || ());
        }
        (Kind::Gather, _) => {
            moves(&ph, each, Out::Nobody, |_| src(), others, dst_of, || dst_of(me).copy_from(&src()));
        }
        (Kind::GatherAll, _) => {
            moves(&ph, each, Out::Same, |_| src(), others, dst_of, || dst_of(me).copy_from(&src()));
        }
        (Kind::Exchange, _) => {
            moves(&ph, each, Out::Parts, src_of, others, dst_of, || dst_of(me).copy_from(&src_of(me)));
        }
        (Kind::Reduce, Some(how)) => reduce(&ph, call, how),
        _ => {} // `run_short` takes no other calls
    }
    if call.has(flags::OUT_ALLSYNC) {
        wait_for_all(&ph, Word::Leave);
    }
}

/// If this member must send first, it waits for all members.
#[cold]
fn enter<A: Mapped>(ph: &Phase<'_, A>, call: &Plain, root: usize) {
    match call.kind {
        Kind::Broadcast | Kind::Scatter if ph.cx.me() != root => ph.answer(root, Word::Enter, 1),
        Kind::Broadcast | Kind::Scatter => hear_all(ph, Word::Enter),
        _ => wait_for_all(ph, Word::Enter),
    }
}

#[cold]
fn wait_for_all<A: Mapped>(ph: &Phase<'_, A>, what: Word) {
    ph.cx.others().for_each(|to| ph.answer(to, what, 1));
    hear_all(ph, what);
}

fn hear_all<A: Mapped>(ph: &Phase<'_, A>, what: Word) {
    for from in ph.cx.others() {
        ph.cx.coll.wait_until(|| ph.answered(from, what).is_some());
    }
}

/// Sends each receiver its `part`, and receives `each` bytes from each of `sources` `into` their place. Calls `keep`
/// in between.
#[inline(always)]
fn moves<A: Mapped>(
    ph: &Phase<'_, A>,
    each: usize,
    out: Out,
    part: impl Fn(usize) -> Span,
    sources: impl Iterator<Item = usize>,
    into: impl Fn(usize) -> Span,
    keep: impl FnOnce(),
) {
    if each > INLINE {
        return long_moves(ph, out, part, sources, into, keep);
    }
    match out {
        Out::Nobody => {}
        Out::Same => send_inline(ph, ph.cx.others(), &part(0)),
        Out::Parts => ph.cx.others().for_each(|to| send_inline(ph, once(to), &part(to))),
        Out::Root(root) => send_inline(ph, once(root), &part(root)),
    }
    keep();
    for from in sources {
        ph.cx.coll.wait_until(|| ph.head(from).is_some());
        receive_inline(ph, from, &into(from));
    }
}

#[inline(never)]
fn long_moves<A: Mapped>(
    ph: &Phase<'_, A>,
    out: Out,
    part: impl Fn(usize) -> Span,
    mut sources: impl Iterator<Item = usize>,
    into: impl Fn(usize) -> Span,
    keep: impl FnOnce(),
) {
    let coll = ph.cx.coll;
    let mut sends = Vec::new();
    let mut begin = |to: To, part: Span| {
        let mut send = Send::new(*ph, to, part);
        if !send.step() {
            sends.push(send);
        }
    };
    match out {
        Out::Nobody => {}
        Out::Same => begin(To::Others, part(0)),
        Out::Parts => ph.cx.others().for_each(|to| begin(To::One(to), part(to))),
        Out::Root(root) => begin(To::Only(root), part(root)),
    }
    keep();
    while let Some(from) = sources.next() {
        coll.wait_until(|| ph.head(from).is_some());
        let mut recv = Recv::new(*ph, from, into(from));
        if !recv.step() {
            let rest = sources.map(|from| Recv::new(*ph, from, into(from)));
            return coll.block_on(all(sends, once(recv).chain(rest).collect(), || ()));
        }
    }
    if !sends.is_empty() {
        let sends = RefCell::new(sends);
        coll.wait_until(|| {
            let mut sends = sends.borrow_mut();
            sends.retain_mut(|send| !send.step());
            sends.is_empty()
        });
    }
}

/// At the root: combines the vectors in member order, while the next one is on its way.
fn reduce<A: Mapped>(ph: &Phase<'_, A>, call: &Plain, how: &Reduction) {
    let (coll, me, members) = (ph.cx.coll, ph.cx.me(), ph.cx.members());
    let (own, dst) = (call.src(call.each), call.dst(call.each));
    if members == 1 {
        return dst.copy_from(&own);
    }
    // A right operand must not overlap the results.
    let apart = (me != 0 && dst.overlaps(&own)).then(|| Buffer::new(call.each));
    let sum = apart.as_ref().map_or_else(|| dst.clone(), Span::of);
    let carried = [Carried::default(), Carried::default()];
    let receive = |from: usize| {
        coll.wait_until(|| ph.head(from).is_some());
        let mut recv = match call.each {
            0..=INLINE => Recv::new(*ph, from, carried[from.min(1)].span(call.each)),
            _ => Recv::lent(*ph, from, call.each),
        };
        if !recv.step() {
            coll.block_on(super::phase::until(|| recv.step()));
        }
        recv
    };
    let first = (me != 0).then(|| receive(0));
    for m in 1..members {
        let recv = (m != me).then(|| receive(m));
        let left = if m > 1 { &sum } else { first.as_ref().map_or(&own, Recv::bytes) };
        how.combine_into(&sum, left, recv.as_ref().map_or(&own, Recv::bytes));
        let done = recv.iter().chain(first.iter().filter(|_| m == 1));
        done.for_each(Recv::give_back);
    }
    if apart.is_some() {
        dst.copy_from(&sum);
    }
}

impl<A: Mapped> Coll<A> {
    /// Waits until `ready`, and serves messages meanwhile.
    #[inline]
    pub(super) fn wait_until(&self, ready: impl Fn() -> bool) {
        if ready() {
            self.serve_now_and_then();
            return;
        }
        let mut failed = 0;
        loop {
            for _ in 0..LOOKS {
                if ready() {
                    return;
                }
                spin_loop();
            }
            failed = self.am.wait_step_with(failed, Rest::Short, &ready);
        }
    }
}
