//! Collectives in which every member has something for every other: gather_all, exchange.

#![allow(unsafe_code)] // client memory and mapped regions

use super::Mapped;
use super::call::Call;
use super::moves::{Send, To, all};
use super::phase::{Context, Phase};
use super::recv::Recv;
use super::rooted::{enter, leave};
use super::select::Algorithm;
use super::span::{Buffer, Span};

/// Bytes that member `m` contributes to a gather_all.
fn share<A: Mapped>(cx: &Context<A>, call: &Call, m: usize) -> usize {
    cx.team.images.count(m) * call.each
}

/// The place of these bytes in destination `i` of this node.
fn place<A: Mapped>(cx: &Context<A>, call: &Call, i: usize, m: usize) -> Span {
    let at = cx.team.images.first(m) * call.each;
    call.dst(i, cx.team.images.total() * call.each).part(at, share(cx, call, m))
}

/// Gather to all.
pub async fn gather_all<A: Mapped>(cx: &Context<A>, call: &Call, algorithm: Algorithm) {
    let ph = cx.phase(0).await;
    enter(&ph, call).await;
    match algorithm {
        Algorithm::Rounds => gather_rounds(&ph, call).await,
        _ => {
            let own = call.sources();
            // A short message is sent whole in one step. A longer one is read by the others from where the source
            // lies.
            let sends = vec![Send::new(ph, To::Others, own.clone())];
            let recvs = cx.others().map(|from| Recv::new(ph, from, place(cx, call, 0, from))).collect();
            all(sends, recvs, || place(cx, call, 0, cx.me()).copy_from(&own)).await;
        }
    }
    let whole = call.dst(0, cx.team.images.total() * call.each);
    for i in 1..call.dst.len() {
        call.dst(i, whole.len()).copy_from(&whole);
    }
    leave(&ph, call).await;
}

/// Rounds of doubling distance. In each round a member sends all that it has to the member that far before it, and
/// gets as much from the member that far behind it. The blocks are then in the order of members from this one on. At
/// the end they are moved to their places.
async fn gather_rounds<A: Mapped>(ph: &Phase<'_, A>, call: &Call) {
    let cx = ph.cx;
    let (me, members) = (cx.me(), cx.members());
    let from_me = |count: usize| (0..count).map(|d| share(cx, call, (me + d) % members)).sum::<usize>();
    let buffer = Buffer::new(from_me(members));
    let have = Span::of(&buffer);
    have.copy_from(&call.sources());
    let mut distance = 1;
    while distance < members {
        let more = distance.min(members - distance);
        let (to, from) = ((me + members - distance) % members, (me + distance) % members);
        let (old, new) = (from_me(distance), from_me(distance + more));
        let sends = vec![Send::new(*ph, To::One(to), have.part(0, from_me(more)))];
        all(sends, vec![Recv::new(*ph, from, have.part(old, new - old))], || ()).await;
        distance *= 2;
    }
    let mut at = 0;
    for m in (0..members).map(|d| (me + d) % members) {
        place(cx, call, 0, m).copy_from(&have.part(at, share(cx, call, m)));
        at += share(cx, call, m);
    }
}

/// Exchange.
pub async fn exchange<A: Mapped>(cx: &Context<A>, call: &Call) {
    let ph = cx.phase(0).await;
    enter(&ph, call).await;
    let me = cx.me();
    let sends = cx.others().map(|to| Send::new(ph, To::One(to), outgoing(cx, call, to))).collect();
    let recvs = cx.others().map(|from| Recv::new(ph, from, incoming(cx, call, from))).collect();
    all(sends, recvs, || incoming(cx, call, me).copy_from(&outgoing(cx, call, me))).await;
    leave(&ph, call).await;
}

/// Blocks that this node's images send to `to`'s images: for each of ours, one for each of its.
fn outgoing<A: Mapped>(cx: &Context<A>, call: &Call, to: usize) -> Span {
    let images = &cx.team.images;
    if call.src.len() == 1 {
        return call
            .src(0, images.total() * call.each)
            .part(images.first(to) * call.each, images.count(to) * call.each);
    }
    let theirs = images.first(to)..images.first(to) + images.count(to);
    let block = |(src, image): (usize, usize)| src + image * call.each;
    let list: Vec<usize> = call.src.iter().flat_map(|s| theirs.clone().map(|i| block((*s, i)))).collect();
    // SAFETY: these are blocks of the arrays that the collective's caller promised to keep accessible.
    unsafe { Span::many(&list, call.each) }
}

/// The places of the blocks of `from`, in the same order.
fn incoming<A: Mapped>(cx: &Context<A>, call: &Call, from: usize) -> Span {
    let images = &cx.team.images;
    let theirs = images.first(from)..images.first(from) + images.count(from);
    let list: Vec<usize> = theirs.flat_map(|i| call.dst.iter().map(move |dst| dst + i * call.each)).collect();
    // SAFETY: these are blocks of the arrays that the collective's caller promised to keep accessible.
    unsafe { Span::many(&list, call.each) }
}
