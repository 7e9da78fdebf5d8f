//! Reduction and scan of vectors (contract: coll.md §8). Vectors are combined in image order, and for the same sizes
//! always in the same way.
//!
//! A vector that is too long to be sent ahead is combined where it lies. So a leaf's collective is done only when its
//! vector has been combined, even with `OUT_MYSYNC`: before that the source may not be changed (contract: coll.md §5
//! lets a mode be stronger).

use super::call::{Call, Kind};
use super::combine::{Combine, Reduction};
use super::moves::{Send, To, all, arrived, landing, pushed, recv, send};
use super::phase::{Context, Phase};
use super::recv::Recv;
use super::rooted::{enter, leave, near_radix, pass_down};
use super::select::{self, Algorithm, DIRECT_MEMBERS};
use super::span::{Buffer, Span};
use super::tree::Order;
use crate::am::region::LINE;
use crate::barrier::grouping::Grouping;
use crate::sci::Mapped;
use smallvec::SmallVec;

/// A buffer with a copy of `from`.
fn copied(from: &Span) -> Buffer {
    let buffer = Buffer::new(from.len());
    Span::of(&buffer).copy_from(from);
    buffer
}

/// The vectors of this node's images, combined.
fn own(call: &Call, how: &Combine) -> Buffer {
    let vector = |image| copied(&call.src(image, call.each));
    (1..call.src.len()).fold(vector(0), |sum, image| how.join(sum, vector(image)))
}

/// Reduction.
pub async fn reduce<A: Mapped>(cx: &Context<A>, call: &Call, how: &Combine, algorithm: Algorithm) {
    match algorithm {
        Algorithm::Levels if is_direct(cx, call) => reduce_levels(cx, call, how).await,
        Algorithm::Levels => reduce_up(cx, call, how, 2).await,
        Algorithm::Tree(radix) => reduce_up(cx, call, how, radix).await,
        Algorithm::Shared => reduce_shared(cx, call, how).await,
        _ => reduce_flat(cx, call, how).await,
    }
}

/// The root gets all vectors.
async fn reduce_flat<A: Mapped>(cx: &Context<A>, call: &Call, how: &Combine) {
    let root = cx.team.images.owner(call.root).0;
    let (me, members) = (cx.me(), cx.members());
    let ph = cx.phase(0).await;
    enter(&ph, call).await;
    let summed = (call.src.len() > 1).then(|| own(call, how));
    let own = summed.as_ref().map_or_else(|| call.src(0, call.each), Span::of);
    if me != root {
        send(Send::new(ph, To::Only(root), own)).await;
    } else {
        let mut recvs: Vec<_> = cx.others().map(|from| Recv::lent(ph, from, call.each)).collect();
        arrived(&mut Vec::new(), &mut recvs).await;
        fold(how, &in_order(me, members, &own, &recvs), &call.dst(0, call.each));
        recvs.iter().for_each(Recv::give_back);
    }
    leave(&ph, call).await;
}

/// The vectors of all members, in member order. `own` is this member's. `recvs` begins with the members after this
/// one.
fn in_order<'a, A: Mapped>(me: usize, members: usize, own: &'a Span, recvs: &'a [Recv<'_, A>]) -> Vec<&'a Span> {
    (0..members).map(|m| if m == me { own } else { recvs[(m + members - me - 1) % members].bytes() }).collect()
}

/// Combines up a tree of those that `order` counts, whose subtrees are runs of members. Returns the sum at its root.
async fn sum_up<A: Mapped>(
    ph: Phase<'_, A>,
    call: &Call,
    how: &Combine,
    (order, radix): (&Order<'_>, usize),
) -> Option<Buffer> {
    let tree = order.tree(radix, order.place(ph.cx.me()));
    let parts: Vec<Buffer> = tree.children.iter().map(|_| Buffer::new(call.each)).collect();
    let part = |((first, _), part): (&(usize, usize), &Buffer)| Recv::new(ph, order.member(*first), Span::of(part));
    all(Vec::new(), tree.children.iter().zip(&parts).map(part).collect(), || ()).await;
    let sum = parts.into_iter().fold(own(call, how), |sum, part| how.join(sum, part));
    let Some(parent) = tree.parent else { return Some(sum) };
    send(Send::new(ph, To::One(order.member(parent)), Span::of(&sum))).await;
    None
}

/// The order of a tree of all members, from member 0 on. It goes by hosts if that keeps the order of members.
fn ascending<A: Mapped>(cx: &Context<A>) -> Order<'_> {
    Order::from(0, cx.members(), cx.team.hosts.as_ref().filter(|hosts| hosts.are_in_order()))
}

/// The radix of the trees in which members of one host combine.
fn near_sum_radix<A: Mapped>(cx: &Context<A>, call: &Call) -> usize {
    select::near_sum_radix(cx.team.cells.maps(cx.me()), call.each)
}

/// True if the hosts' leaders send their vectors directly to who combines them: they are few, or the vectors so long that they
/// share the work.
fn is_direct<A: Mapped>(cx: &Context<A>, call: &Call) -> bool {
    let hosts = cx.team.hosts.as_ref().map_or(1, Grouping::count);
    hosts <= DIRECT_MEMBERS || (call.kind == Kind::ReduceAll && call.each > select::SHARED_REDUCE)
}

/// Each host's leader combines the host's vectors, and the root those of the leaders.
async fn reduce_levels<A: Mapped>(cx: &Context<A>, call: &Call, how: &Combine) {
    let Some(hosts) = &cx.team.hosts else { return };
    let root = cx.team.images.owner(call.root).0;
    let ph = cx.phase(0).await;
    enter(&ph, call).await;
    let sum = sum_up(ph, call, how, (&Order::of(hosts.of(hosts.host(cx.me()))), near_sum_radix(cx, call))).await;
    let last = cx.phase(1).await;
    let sum = sum.as_ref().map(Span::of);
    if cx.me() == root {
        let leaders = || hosts.leaders().map(|leader| leader as usize);
        let mut recvs: Vec<_> =
            leaders().filter(|m| *m != root).map(|from| Recv::lent(last, from, call.each)).collect();
        arrived(&mut Vec::new(), &mut recvs).await;
        let mut received = recvs.iter().map(Recv::bytes);
        let operands: Vec<&Span> =
            leaders().filter_map(|m| if m == root { sum.as_ref() } else { received.next() }).collect();
        fold(how, &operands, &call.dst(0, call.each));
        recvs.iter().for_each(Recv::give_back);
    } else if let Some(sum) = sum {
        send(Send::new(last, To::Only(root), sum)).await;
    }
    leave(&last, call).await;
}

/// Combines up a tree. The result then moves to the root.
async fn reduce_up<A: Mapped>(cx: &Context<A>, call: &Call, how: &Combine, radix: usize) {
    let root = cx.team.images.owner(call.root).0;
    let ph = cx.phase(0).await;
    enter(&ph, call).await;
    let sum = sum_up(ph, call, how, (&ascending(cx), radix)).await;
    let last = cx.phase(1).await;
    match sum {
        Some(sum) if root == 0 => call.dst(0, call.each).copy_from(&Span::of(&sum)),
        Some(sum) => send(Send::new(last, To::One(root), Span::of(&sum))).await,
        None => {}
    }
    if cx.me() == root && root != 0 {
        recv(Recv::new(last, 0, call.dst(0, call.each))).await;
    }
    leave(&last, call).await;
}

/// Reduction to all. Each part of the result is combined by one member, or by all in the same order, so all members have the
/// same bits.
pub async fn reduce_all<A: Mapped>(cx: &Context<A>, call: &Call, how: &Combine, algorithm: Algorithm) {
    match algorithm {
        Algorithm::Levels if is_direct(cx, call) => reduce_all_levels(cx, call, how).await,
        Algorithm::Levels => reduce_all_up(cx, call, how, 2).await,
        Algorithm::Tree(radix) => reduce_all_up(cx, call, how, radix).await,
        Algorithm::Shared => reduce_all_shared(cx, call, how).await,
        _ => reduce_all_flat(cx, call, how).await,
    }
}

/// Every member gets all vectors. What `exchange` does for few bytes.
async fn reduce_all_flat<A: Mapped>(cx: &Context<A>, call: &Call, how: &Combine) {
    let ph = cx.phase(0).await;
    // The others may read the vector after the result is here, and the result may stand in its place.
    let kept = copied(&call.src(0, call.each));
    join_all(ph, &Circle::of_all(cx), how, &Span::of(&kept), &call.dst(0, call.each)).await;
}

/// Members that combine their vectors, in this order, and the caller's number among them.
struct Circle {
    list: Vec<usize>,
    at: usize,
}

impl Circle {
    /// All members.
    fn of_all<A: Mapped>(cx: &Context<A>) -> Circle {
        Circle { list: (0..cx.members()).collect(), at: cx.me() }
    }

    /// The others, beginning with the next one.
    fn others(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        let (at, count) = (self.at, self.list.len());
        (1..count).map(move |d| self.list[(at + d) % count])
    }
}

/// Each member of the circle gets all their vectors, and combines them.
async fn join_all<A: Mapped>(ph: Phase<'_, A>, circle: &Circle, how: &Combine, own: &Span, dst: &Span) {
    let mut sends = vec![Send::new(ph, To::List(circle.others().collect()), own.clone())];
    let mut recvs: Vec<_> = circle.others().map(|from| Recv::lent(ph, from, own.len())).collect();
    arrived(&mut sends, &mut recvs).await;
    fold(how, &in_order(circle.at, circle.list.len(), own, &recvs), dst);
    recvs.iter().for_each(Recv::give_back);
    all(sends, Vec::new(), || ()).await;
}

/// Combines up a tree, and sends the result down a tree.
async fn reduce_all_up<A: Mapped>(cx: &Context<A>, call: &Call, how: &Combine, radix: usize) {
    let (ph, order) = (cx.phase(0).await, ascending(cx));
    let sum = sum_up(ph, call, how, (&order, radix)).await;
    let last = cx.phase(1).await;
    let dst = call.dst(0, call.each);
    if let Some(sum) = &sum {
        dst.copy_from(&Span::of(sum));
    }
    pass_down(last, &order, radix, &dst, || ()).await;
}

/// Each host's leader combines the host's vectors. Leaders combine theirs, and send the result down their hosts.
async fn reduce_all_levels<A: Mapped>(cx: &Context<A>, call: &Call, how: &Combine) {
    let Some(hosts) = &cx.team.hosts else { return };
    let host = hosts.host(cx.me());
    let order = Order::of(hosts.of(host));
    let ph = cx.phase(0).await;
    let sum = sum_up(ph, call, how, (&order, near_sum_radix(cx, call))).await;
    let last = cx.phase(1).await;
    let dst = call.dst(0, call.each);
    if let Some(sum) = &sum {
        let circle = Circle { list: hosts.leaders().map(|leader| leader as usize).collect(), at: host };
        let sum = Span::of(sum);
        if call.each > select::SHARED_REDUCE {
            share_all(ph, last, &circle, call, how, (&sum, &dst)).await;
        } else {
            join_all(ph, &circle, how, &sum, &dst).await;
        }
    }
    pass_down(last, &order, near_radix(cx), &dst, || ()).await;
}

/// Each member combines its part of all vectors, and sends the result to all.
async fn reduce_all_shared<A: Mapped>(cx: &Context<A>, call: &Call, how: &Combine) {
    let ph = cx.phase(0).await;
    let last = cx.phase(1).await;
    let vectors = (&call.src(0, call.each), &call.dst(0, call.each));
    share_all(ph, last, &Circle::of_all(cx), call, how, vectors).await;
}

/// Each member of the circle combines its part of all their vectors, and sends the result to all of them.
async fn share_all<A: Mapped>(
    ph: Phase<'_, A>,
    last: Phase<'_, A>,
    circle: &Circle,
    call: &Call,
    how: &Combine,
    (vector, dst): (&Span, &Span),
) {
    let (at, count) = (circle.at, circle.list.len());
    let parts = Parts::new(call, how, count);
    let others = || (1..count).map(|d| (at + d) % count);
    let member = |number: usize| circle.list[number];
    let mut sends = others().map(|to| Send::new(ph, To::One(member(to)), parts.of(vector, to))).collect();
    let mut recvs: Vec<_> = others().map(|from| Recv::lent(ph, member(from), parts.width(at))).collect();
    let mut results: Vec<_> = others().map(|from| Recv::new(last, member(from), parts.of(dst, from))).collect();
    results.iter_mut().for_each(Recv::announce);
    arrived(&mut sends, &mut recvs).await;
    let (own, into) = (parts.of(vector, at), parts.of(dst, at));
    fold(how, &in_order(at, count, &own, &recvs), &into);
    recvs.iter().for_each(Recv::give_back);
    sends.push(Send::new(last, To::List(circle.others().collect()), into));
    all(sends, results, || ()).await;
}

/// The parts of a vector that members combine.
struct Parts {
    each: usize,
    elem_size: usize,
    /// Elements; and the number of them at whose multiples parts begin.
    count: usize,
    step: usize,
    members: usize,
}

impl Parts {
    fn new(call: &Call, how: &Combine, members: usize) -> Parts {
        let elem_size = how.elem_size();
        Parts { each: call.each, elem_size, count: call.each / elem_size, step: aligned(how), members }
    }

    fn bound(&self, m: usize) -> usize {
        if m == self.members {
            self.each
        } else {
            m * self.count / self.members / self.step * self.step * self.elem_size
        }
    }

    /// Bytes of member `m`'s part.
    fn width(&self, m: usize) -> usize {
        self.bound(m + 1) - self.bound(m)
    }

    /// Member `m`'s part of a vector.
    fn of(&self, vector: &Span, m: usize) -> Span {
        vector.part(self.bound(m), self.width(m))
    }
}

/// Each member combines its part of all vectors. It reads them where they lie, if it can. The root gets the parts.
async fn reduce_shared<A: Mapped>(cx: &Context<A>, call: &Call, how: &Combine) {
    let root = cx.team.images.owner(call.root).0;
    let (me, members) = (cx.me(), cx.members());
    let ph = cx.phase(0).await;
    enter(&ph, call).await;
    let last = cx.phase(1).await;
    // A single vector is used where it lies, because peers may be able to reach it there.
    let summed = (call.src.len() > 1).then(|| own(call, how));
    let vector = summed.as_ref().map_or_else(|| call.src(0, call.each), Span::of);
    let parts = Parts::new(call, how, members);
    let width = |m: usize| parts.width(m);
    let part = |of: &Span, m: usize| parts.of(of, m);
    let push = |m: usize| width(m) >= select::PUSH;
    let dst = (me == root).then(|| call.dst(0, call.each));
    let result = |from: usize, dst: &Span| match part(dst, from) {
        into if push(from) => Recv::landed(last, from, into),
        into => Recv::new(last, from, into),
    };
    let mut results: Vec<_> = dst.iter().flat_map(|dst| cx.others().map(|from| result(from, dst))).collect();
    results.iter_mut().for_each(Recv::announce);
    let mut sends = cx.others().map(|to| Send::new(ph, To::One(to), part(&vector, to))).collect();
    let mut recvs: Vec<_> = cx.others().map(|from| Recv::lent(ph, from, width(me))).collect();
    arrived(&mut sends, &mut recvs).await;
    let own = part(&vector, me);
    let operands = in_order(me, members, &own, &recvs);
    let there = match &dst {
        Some(dst) => Some(part(dst, me)),
        None if push(me) => landing(last, root, width(me)).await,
        None => None,
    };
    let sum = there.is_none().then(|| Buffer::new(width(me)));
    let Some(into) = there.clone().or_else(|| sum.as_ref().map(Span::of)) else { return };
    fold(how, &operands, &into);
    recvs.iter().for_each(Recv::give_back);
    match there {
        _ if me == root => {}
        Some(_) => pushed(last, root),
        None if push(me) => sends.push(Send::push(last, root, into)),
        None => sends.push(Send::new(last, To::One(root), into)),
    }
    all(sends, results, || ()).await;
    leave(&last, call).await;
}

/// Number of elements whose bytes are whole lines. Parts that begin at multiples of it have the alignment of the
/// vectors.
fn aligned(how: &Combine) -> usize {
    LINE >> how.elem_size().trailing_zeros().min(LINE.trailing_zeros())
}

/// Bytes that are combined at a time. That much of each operand stays in the first-level cache or close to it.
const FOLD: usize = 16 << 10;

/// Combines the operands in their order, block by block. `into` may be one of them, and may lie in a peer's memory.
fn fold(how: &Combine, operands: &[&Span], into: &Span) {
    if into.is_empty() {
        return; // an element may have 0 bytes
    }
    let block = (FOLD / how.elem_size()).next_multiple_of(aligned(how)).max(1) * how.elem_size();
    let sum = Buffer::new(block.min(into.len()));
    for at in (0..into.len()).step_by(block) {
        let n = block.min(into.len() - at);
        let parts: SmallVec<[Span; 8]> = operands.iter().map(|operand| operand.part(at, n)).collect();
        let sum = Span::of(&sum).part(0, n);
        how.fold(&parts, &sum);
        into.part(at, n).copy_from(&sum);
    }
}

/// Scan: image i gets the combined vectors of images 0 to i, or 0 to i − 1 (exclusive; image 0 gets nothing). It runs
/// in rounds: at distance d each member gets the combination of up to 2d members that end with itself.
pub async fn scan<A: Mapped>(cx: &Context<A>, call: &Call, how: &Reduction) {
    let (me, members) = (cx.me(), cx.members());
    let ph = cx.phase(0).await;
    enter(&ph, call).await;
    let mut upto = own(call, &Combine::Table(*how));
    let mut before: Option<Buffer> = None;
    let mut distance = 1;
    while distance < members {
        let mut sends = Vec::new();
        if me + distance < members {
            sends.push(Send::new(ph, To::One(me + distance), Span::of(&upto)));
        }
        let lower = Buffer::new(call.each);
        let mut recvs = Vec::new();
        if me >= distance {
            recvs.push(Recv::new(ph, me - distance, Span::of(&lower)));
        }
        all(sends, recvs, || ()).await;
        if me >= distance {
            // Lower members stand on the left, and the result must not overlap the right operand.
            let sum = copied(&Span::of(&lower));
            how.combine(&sum, &Span::of(&upto));
            upto = sum;
            if let Some(before) = &before {
                how.combine(&lower, &Span::of(before));
            }
            before = Some(lower);
        }
        distance *= 2;
    }
    for image in 0..call.src.len() {
        let vector = call.src(image, call.each);
        let next = match &before {
            None => copied(&vector),
            Some(before) => {
                let sum = copied(&Span::of(before));
                how.combine(&sum, &vector);
                sum
            }
        };
        let dst = call.dst(image, call.each);
        match &before {
            _ if !how.is_exclusive() => dst.copy_from(&Span::of(&next)),
            Some(before) => dst.copy_from(&Span::of(before)),
            None => {}
        }
        before = Some(next);
    }
    leave(&ph, call).await;
}
