//! Collectives in which every member has something for every other: gather_all, exchange.

#![allow(unsafe_code)] // client memory and mapped regions

use super::call::Call;
use super::moves::{Send, To, all};
use super::phase::{Context, Phase};
use super::recv::Recv;
use super::rooted::{blocks, enter, gather_up, leave, near_radix, pass_down};
use super::select::{Algorithm, DIRECT_MEMBERS};
use super::span::{Buffer, Span};
use super::tree::Order;
use crate::sci::Mapped;

/// The most bytes of a host that many leaders exchange in rounds. Beyond, what is sent counts, and not how often.
const ROUNDS: usize = 4096;

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
        Algorithm::Rounds => {
            let ring = Ring { at: cx.me(), count: cx.members(), member: |m| m, place: |m| place(cx, call, 0, m) };
            gather_rounds(ph, ring, &call.sources()).await;
        }
        Algorithm::Levels => gather_levels(ph, call).await,
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

/// Those that exchange blocks in rounds: each member, or each host's leader.
struct Ring<M: Fn(usize) -> usize, P: Fn(usize) -> Span> {
    /// The caller's number among them, and their count.
    at: usize,
    count: usize,
    /// The member of a number.
    member: M,
    /// The place of its bytes in the destination.
    place: P,
}

/// Rounds of doubling distance. In each round a member sends all that it has to the member that far before it, and
/// gets as much from the member that far behind it. The blocks are then in the order of members from this one on. At
/// the end they are moved to their places.
async fn gather_rounds<A: Mapped>(
    ph: Phase<'_, A>,
    ring: Ring<impl Fn(usize) -> usize, impl Fn(usize) -> Span>,
    own: &Span,
) {
    let Ring { at, count, member, place } = ring;
    let from_me = |n: usize| (0..n).map(|d| place((at + d) % count).len()).sum::<usize>();
    let buffer = Buffer::new(from_me(count));
    let have = Span::of(&buffer);
    have.copy_from(own);
    let mut distance = 1;
    while distance < count {
        let more = distance.min(count - distance);
        let (to, from) = (member((at + count - distance) % count), member((at + distance) % count));
        let (old, new) = (from_me(distance), from_me(distance + more));
        let sends = vec![Send::new(ph, To::One(to), have.part(0, from_me(more)))];
        all(sends, vec![Recv::new(ph, from, have.part(old, new - old))], || ()).await;
        distance *= 2;
    }
    let mut done = 0;
    for number in (0..count).map(|d| (at + d) % count) {
        let to = place(number);
        to.copy_from(&have.part(done, to.len()));
        done += to.len();
    }
}

/// Each host's leader gathers the host's blocks, leaders exchange theirs, and each sends all down its host. So every block crosses
/// to each other host once.
async fn gather_levels<A: Mapped>(ph: Phase<'_, A>, call: &Call) {
    let cx = ph.cx;
    let Some(hosts) = &cx.team.hosts else { return };
    let host = hosts.host(cx.me());
    let order = Order::of(hosts.of(host));
    gather_up(&ph, call, &order, near_radix(cx), &call.sources()).await;
    let leaders: Vec<usize> = hosts.leaders().map(|leader| leader as usize).collect();
    let part = |host: usize| blocks(cx, call, call.dst[0], hosts.of(host).iter().map(|m| *m as usize));
    let own = || part(host);
    match leaders[host] == cx.me() {
        true if leaders.len() > DIRECT_MEMBERS && own().len() <= ROUNDS => {
            let ring = Ring { at: host, count: leaders.len(), member: |h: usize| leaders[h], place: part };
            gather_rounds(ph, ring, &own()).await;
        }
        true => {
            let others = || (1..leaders.len()).map(|d| (host + d) % leaders.len());
            let sends = vec![Send::new(ph, To::List(others().map(|h| leaders[h]).collect()), own())];
            let recvs = others().map(|h| Recv::new(ph, leaders[h], part(h))).collect();
            all(sends, recvs, || ()).await;
        }
        false => {}
    }
    pass_down(ph, &order, near_radix(cx), &call.dst(0, cx.team.images.total() * call.each), || ()).await;
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
