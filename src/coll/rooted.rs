//! Collectives with a root that move bytes: broadcast, scatter, gather. They are flat, or go over a tree.
//!
//! Trees count members from the root on, host by host ([`Order`]). So the members of a subtree are consecutive.
//!
//! | flag | effect |
//! |---|---|
//! | NOSYNC | the same as MYSYNC |
//! | IN_ALLSYNC, the root sends | the root waits for all before it sends, and no member is done before that |
//! | IN_ALLSYNC, other members send | all wait for all |

#![allow(unsafe_code)] // client memory and mapped regions

use super::call::{Call, flags};
use super::cells::Word;
use super::moves::{Send, To, all, recv, send, send_beside};
use super::phase::{Context, Phase};
use super::recv::Recv;
use super::select::{self, Algorithm};
use super::span::{Buffer, Span};
use super::tree::Order;
use crate::sci::Mapped;

/// The order in which trees below `root` count this team's members.
fn order<A: Mapped>(cx: &Context<A>, root: usize) -> Order<'_> {
    Order::from(root, cx.members(), cx.team.hosts.as_ref()).near(near_radix(cx))
}

/// The radix of trees inside this member's host.
pub fn near_radix<A: Mapped>(cx: &Context<A>) -> usize {
    select::near_radix(cx.team.cells.maps(cx.me()))
}

/// With IN_ALLSYNC: each member tells the root that it has called, and the root waits for all.
async fn enter_at_root<A: Mapped>(ph: &Phase<'_, A>, root: usize, call: &Call) {
    if !call.has(flags::IN_ALLSYNC) {
        return;
    }
    if ph.cx.team.hosts.is_some() {
        // Each tells its parent when its children have told it, so that one word comes from each host.
        let order = order(ph.cx, root);
        let tree = order.tree(2, order.place(ph.cx.me()));
        for (child, _) in &tree.children {
            ph.wait_for(order.member(*child), Word::Enter).await;
        }
        if let Some(parent) = tree.parent {
            ph.answer(order.member(parent), Word::Enter, 1);
        }
        return;
    }
    if ph.cx.me() != root {
        ph.answer(root, Word::Enter, 1);
        return;
    }
    for from in ph.cx.others() {
        ph.wait_for(from, Word::Enter).await;
    }
}

/// With IN_ALLSYNC: each member waits for all.
pub async fn enter<A: Mapped>(ph: &Phase<'_, A>, call: &Call) {
    if call.has(flags::IN_ALLSYNC) {
        ph.wait_for_all(Word::Enter).await;
    }
}

/// With OUT_ALLSYNC: each member waits until all are done.
pub async fn leave<A: Mapped>(ph: &Phase<'_, A>, call: &Call) {
    if call.has(flags::OUT_ALLSYNC) {
        ph.wait_for_all(Word::Leave).await;
    }
}

/// Broadcast.
pub async fn broadcast<A: Mapped>(cx: &Context<A>, call: &Call, algorithm: Algorithm) {
    let root = cx.team.images.owner(call.root).0;
    let ph = cx.phase(0).await;
    enter_at_root(&ph, root, call).await;
    let first = if cx.me() == root { call.src(0, call.each) } else { call.dst(0, call.each) };
    let copy_here = || (0..call.dst.len()).for_each(|image| call.dst(image, call.each).copy_from(&first));
    match algorithm {
        Algorithm::Tree(radix) => pass_down(ph, &order(cx, root), radix, &first, copy_here).await,
        _ if cx.me() == root => send_beside(Send::new(ph, To::Others, first.clone()), copy_here).await,
        _ => {
            recv(Recv::new(ph, root, first.clone())).await;
            copy_here();
        }
    }
    leave(&ph, call).await;
}

/// Moves the root's bytes down a tree. They lie `at` each member, which calls `work` when it has them.
pub async fn pass_down<A: Mapped>(ph: Phase<'_, A>, order: &Order<'_>, radix: usize, at: &Span, work: impl FnOnce()) {
    let tree = order.tree(radix, order.place(ph.cx.me()));
    if let Some(parent) = tree.parent {
        recv(Recv::new(ph, order.member(parent), at.clone())).await;
    }
    // The largest subtree comes first.
    let children: Vec<_> = tree.children.iter().rev().map(|(first, _)| order.member(*first)).collect();
    if ph.cx.team.direct {
        return send_beside(Send::new(ph, To::List(children), at.clone()), work).await;
    }
    // Other hosts come first. This one's members read the bytes meanwhile.
    let (near, far): (Vec<_>, _) = children.into_iter().partition(|to| ph.cx.team.cells.maps(*to));
    let sends = [far, near].map(|to| Send::new(ph, To::List(to), at.clone()));
    all(sends.into(), Vec::new(), work).await;
}

/// The blocks of all images of `members`, in order. They are part of an array of blocks at `base`.
pub fn blocks<A: Mapped>(cx: &Context<A>, call: &Call, base: usize, members: impl Iterator<Item = usize>) -> Span {
    let images = &cx.team.images;
    let numbers = members.flat_map(|m| images.first(m)..images.first(m) + images.count(m));
    let addresses: Vec<usize> = numbers.map(|image| base + image * call.each).collect();
    // SAFETY: blocks of an array that the collective's caller promised to keep accessible.
    unsafe { Span::many(&addresses, call.each) }
}

/// Bytes of the blocks of all images of `members`.
pub fn bytes<A: Mapped>(cx: &Context<A>, call: &Call, members: impl Iterator<Item = usize>) -> usize {
    members.map(|m| cx.team.images.count(m) * call.each).sum()
}

/// Scatter.
pub async fn scatter<A: Mapped>(cx: &Context<A>, call: &Call, algorithm: Algorithm) {
    let root = cx.team.images.owner(call.root).0;
    let ph = cx.phase(0).await;
    enter_at_root(&ph, root, call).await;
    let own = call.destinations();
    match algorithm {
        Algorithm::Tree(radix) => scatter_down(&ph, call, &order(cx, root), radix, &own).await,
        _ if cx.me() == root => {
            let part = |to| Send::new(ph, To::One(to), blocks(cx, call, call.src[0], std::iter::once(to)));
            let keep = || own.copy_from(&blocks(cx, call, call.src[0], std::iter::once(root)));
            all(cx.others().map(part).collect(), Vec::new(), keep).await;
        }
        _ => recv(Recv::new(ph, root, own)).await,
    }
    leave(&ph, call).await;
}

async fn scatter_down<A: Mapped>(ph: &Phase<'_, A>, call: &Call, order: &Order<'_>, radix: usize, own: &Span) {
    let cx = ph.cx;
    let place = order.place(cx.me());
    let tree = order.tree(radix, place);
    if let (Some(parent), []) = (tree.parent, &tree.children[..]) {
        return recv(Recv::new(*ph, order.member(parent), own.clone())).await;
    }
    let run = |first: usize, count: usize| (first..first + count).map(|place| order.member(place));
    // Blocks of this member's subtree, in tree order. The root's are in place; those of an inner member go through a
    // buffer.
    let buffer = tree.parent.map(|_| Buffer::new(bytes(cx, call, run(place, tree.size))));
    if let (Some(parent), Some(buffer)) = (tree.parent, &buffer) {
        recv(Recv::new(*ph, order.member(parent), Span::of(buffer))).await;
    }
    let part = |first: usize, count: usize| match &buffer {
        None => blocks(cx, call, call.src[0], run(first, count)),
        Some(buffer) => {
            let at = bytes(cx, call, run(place, first - place));
            Span::of(buffer).part(at, bytes(cx, call, run(first, count)))
        }
    };
    let down = |(first, count): &(usize, usize)| Send::new(*ph, To::One(order.member(*first)), part(*first, *count));
    all(tree.children.iter().rev().map(down).collect(), Vec::new(), || own.copy_from(&part(place, 1))).await;
}

/// Gather.
pub async fn gather<A: Mapped>(cx: &Context<A>, call: &Call, algorithm: Algorithm) {
    let root = cx.team.images.owner(call.root).0;
    let ph = cx.phase(0).await;
    enter(&ph, call).await;
    let own = call.sources();
    match algorithm {
        Algorithm::Tree(radix) => gather_up(&ph, call, &order(cx, root), radix, &own).await,
        _ if cx.me() == root => {
            let part = |from| {
                let into = blocks(cx, call, call.dst[0], std::iter::once(from));
                if into.len() >= select::PUSH { Recv::landed(ph, from, into) } else { Recv::new(ph, from, into) }
            };
            let keep = || blocks(cx, call, call.dst[0], std::iter::once(root)).copy_from(&own);
            all(Vec::new(), cx.others().map(part).collect(), keep).await;
        }
        _ if own.len() >= select::PUSH => send(Send::push(ph, root, own)).await,
        _ => send(Send::new(ph, To::One(root), own)).await,
    }
    leave(&ph, call).await;
}

/// Moves the blocks of all that `order` counts up a tree, to their places in the destination of its root.
pub async fn gather_up<A: Mapped>(ph: &Phase<'_, A>, call: &Call, order: &Order<'_>, radix: usize, own: &Span) {
    let cx = ph.cx;
    let place = order.place(cx.me());
    let tree = order.tree(radix, place);
    if let (Some(parent), []) = (tree.parent, &tree.children[..]) {
        return send(Send::new(*ph, To::One(order.member(parent)), own.clone())).await;
    }
    let run = |first: usize, count: usize| (first..first + count).map(|place| order.member(place));
    let buffer = tree.parent.map(|_| Buffer::new(bytes(cx, call, run(place, tree.size))));
    let part = |first: usize, count: usize| match &buffer {
        None => blocks(cx, call, call.dst[0], run(first, count)),
        Some(buffer) => {
            let at = bytes(cx, call, run(place, first - place));
            Span::of(buffer).part(at, bytes(cx, call, run(first, count)))
        }
    };
    let up = |(first, count): &(usize, usize)| Recv::new(*ph, order.member(*first), part(*first, *count));
    all(Vec::new(), tree.children.iter().map(up).collect(), || part(place, 1).copy_from(own)).await;
    if let (Some(parent), Some(buffer)) = (tree.parent, &buffer) {
        send(Send::new(*ph, To::One(order.member(parent)), Span::of(buffer))).await;
    }
}
