//! Collectives with a root that move bytes: broadcast, scatter, gather. They are flat, or go over a tree.
//!
//! Trees count members from the root on. So the members of a subtree are consecutive.
//!
//! | flag | effect |
//! |---|---|
//! | NOSYNC | the same as MYSYNC |
//! | IN_ALLSYNC, the root sends | the root waits for all before it sends, and no member is done before that |
//! | IN_ALLSYNC, other members send | all wait for all |

#![allow(unsafe_code)] // client memory and mapped regions

use super::Mapped;
use super::call::{Call, flags};
use super::cells::Word;
use super::moves::{Send, To, all, recv, send, send_beside};
use super::phase::{Context, Phase};
use super::recv::Recv;
use super::select::{self, Algorithm};
use super::span::{Buffer, Span};

/// The place of one member in a tree of `members`, counted from the root: its parent, and its children with their
/// subtrees.
pub struct Tree {
    /// `None` at the root.
    pub parent: Option<usize>,
    /// First member and number of members of each child's subtree, the smallest subtree first.
    pub children: Vec<(usize, usize)>,
    /// Number of members of this member's subtree.
    pub size: usize,
}

impl Tree {
    /// The k-nomial tree: a member's parent has the same number with its lowest non-zero digit (base `radix`)
    /// cleared.
    pub fn new(radix: usize, place: usize, members: usize) -> Tree {
        let mut children = Vec::new();
        let mut level = 1;
        while level < members && place.is_multiple_of(level * radix) {
            let firsts = (1..radix).map(|digit| place + digit * level).filter(|first| *first < members);
            children.extend(firsts.map(|first| (first, level.min(members - first))));
            level *= radix;
        }
        let parent = (place != 0).then(|| place - place % (level * radix));
        let size = if place == 0 { members } else { level.min(members - place) };
        Tree { parent, children, size }
    }
}

/// The member with number `place`, counted from the root.
fn member<A: Mapped>(cx: &Context<A>, root: usize, place: usize) -> usize {
    (root + place) % cx.members()
}

/// The tree of this member below `root`, with places as members; and this member's place.
fn tree<A: Mapped>(cx: &Context<A>, root: usize, radix: usize) -> (Tree, usize) {
    let place = (cx.me() + cx.members() - root) % cx.members();
    (Tree::new(radix, place, cx.members()), place)
}

/// With IN_ALLSYNC: each member tells the root that it has called, and the root waits for all.
async fn enter_at_root<A: Mapped>(ph: &Phase<'_, A>, root: usize, call: &Call) {
    if !call.has(flags::IN_ALLSYNC) {
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
        Algorithm::Tree(radix) => {
            let (tree, _) = tree(cx, root, radix);
            if let Some(parent) = tree.parent {
                recv(Recv::new(ph, member(cx, root, parent), first.clone())).await;
            }
            // The largest subtree comes first.
            let children: Vec<_> = tree.children.iter().rev().map(|(first, _)| member(cx, root, *first)).collect();
            send_beside(Send::new(ph, To::List(children), first.clone()), copy_here).await;
        }
        _ if cx.me() == root => send_beside(Send::new(ph, To::Others, first.clone()), copy_here).await,
        _ => {
            recv(Recv::new(ph, root, first.clone())).await;
            copy_here();
        }
    }
    leave(&ph, call).await;
}

/// The blocks of all images of `members`, in order. They are part of an array of blocks at `base`.
fn blocks<A: Mapped>(cx: &Context<A>, call: &Call, base: usize, members: impl Iterator<Item = usize>) -> Span {
    let images = &cx.team.images;
    let numbers = members.flat_map(|m| images.first(m)..images.first(m) + images.count(m));
    let addresses: Vec<usize> = numbers.map(|image| base + image * call.each).collect();
    // SAFETY: blocks of an array that the collective's caller promised to keep accessible.
    unsafe { Span::many(&addresses, call.each) }
}

/// Bytes of the blocks of all images of `members`.
fn bytes<A: Mapped>(cx: &Context<A>, call: &Call, members: impl Iterator<Item = usize>) -> usize {
    members.map(|m| cx.team.images.count(m) * call.each).sum()
}

/// Scatter.
pub async fn scatter<A: Mapped>(cx: &Context<A>, call: &Call, algorithm: Algorithm) {
    let root = cx.team.images.owner(call.root).0;
    let ph = cx.phase(0).await;
    enter_at_root(&ph, root, call).await;
    let own = call.destinations();
    match algorithm {
        Algorithm::Tree(radix) => scatter_down(&ph, call, root, radix, &own).await,
        _ if cx.me() == root => {
            let part = |to| Send::new(ph, To::One(to), blocks(cx, call, call.src[0], std::iter::once(to)));
            let keep = || own.copy_from(&blocks(cx, call, call.src[0], std::iter::once(root)));
            all(cx.others().map(part).collect(), Vec::new(), keep).await;
        }
        _ => recv(Recv::new(ph, root, own)).await,
    }
    leave(&ph, call).await;
}

async fn scatter_down<A: Mapped>(ph: &Phase<'_, A>, call: &Call, root: usize, radix: usize, own: &Span) {
    let cx = ph.cx;
    let (tree, place) = tree(cx, root, radix);
    let run = |first: usize, count: usize| (first..first + count).map(|place| member(cx, root, place));
    // Blocks of this member's subtree, in tree order. The root's are in place; those of an inner member go through a
    // buffer.
    let buffer = tree.parent.map(|_| Buffer::new(bytes(cx, call, run(place, tree.size))));
    if let (Some(parent), Some(buffer)) = (tree.parent, &buffer) {
        recv(Recv::new(*ph, member(cx, root, parent), Span::of(buffer))).await;
    }
    let part = |first: usize, count: usize| match &buffer {
        None => blocks(cx, call, call.src[0], run(first, count)),
        Some(buffer) => {
            let at = bytes(cx, call, run(place, first - place));
            Span::of(buffer).part(at, bytes(cx, call, run(first, count)))
        }
    };
    let down =
        |(first, count): &(usize, usize)| Send::new(*ph, To::One(member(cx, root, *first)), part(*first, *count));
    all(tree.children.iter().rev().map(down).collect(), Vec::new(), || own.copy_from(&part(place, 1))).await;
}

/// Gather.
pub async fn gather<A: Mapped>(cx: &Context<A>, call: &Call, algorithm: Algorithm) {
    let root = cx.team.images.owner(call.root).0;
    let ph = cx.phase(0).await;
    enter(&ph, call).await;
    let own = call.sources();
    match algorithm {
        Algorithm::Tree(radix) => gather_up(&ph, call, root, radix, &own).await,
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

async fn gather_up<A: Mapped>(ph: &Phase<'_, A>, call: &Call, root: usize, radix: usize, own: &Span) {
    let cx = ph.cx;
    let (tree, place) = tree(cx, root, radix);
    let run = |first: usize, count: usize| (first..first + count).map(|place| member(cx, root, place));
    let buffer = tree.parent.map(|_| Buffer::new(bytes(cx, call, run(place, tree.size))));
    let part = |first: usize, count: usize| match &buffer {
        None => blocks(cx, call, call.dst[0], run(first, count)),
        Some(buffer) => {
            let at = bytes(cx, call, run(place, first - place));
            Span::of(buffer).part(at, bytes(cx, call, run(first, count)))
        }
    };
    let up = |(first, count): &(usize, usize)| Recv::new(*ph, member(cx, root, *first), part(*first, *count));
    all(Vec::new(), tree.children.iter().map(up).collect(), || part(place, 1).copy_from(own)).await;
    if let (Some(parent), Some(buffer)) = (tree.parent, &buffer) {
        send(Send::new(*ph, To::One(member(cx, root, parent)), Span::of(buffer))).await;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_member_of_a_tree_has_one_parent_and_its_run_is_its_children_s() {
        for (radix, members) in [(2, 1), (2, 2), (2, 7), (2, 16), (3, 20), (4, 65), (8, 9)] {
            let mut seen = vec![0; members];
            for place in 0..members {
                let tree = Tree::new(radix, place, members);
                assert_eq!(tree.parent.is_none(), place == 0);
                let mut next = place + 1;
                for (first, count) in &tree.children {
                    assert_eq!((*first, Tree::new(radix, *first, members).parent), (next, Some(place)));
                    assert_eq!(Tree::new(radix, *first, members).size, *count);
                    seen[*first] += 1;
                    next += count;
                }
                assert_eq!(next - place, tree.size, "{place} of {members}");
            }
            assert!(seen[1..].iter().all(|n| *n == 1));
        }
    }
}
