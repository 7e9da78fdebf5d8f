//! Descriptions by clients: vector, indexed and strided transfers; and the choice of algorithm for a collective.

use super::Input;
use super::scene::{Seat, seats};
use crate::coll::team::Images;
use crate::coll::tree::Tree;
use crate::coll::{Kind, select};
use crate::testkit::world::Shape;
use crate::vis::shape::{Indexed, Levels, Piece, Run, Section, What, indexed_runs, joined, vector_runs};
use crate::vis::{Verb, check};

thread_local!(static SEATS: Vec<Seat> = seats(&Shape::new(2, 4), 64));

/// The number of runs that are looked at. A description may have 2⁶⁴.
const RUNS: usize = 300;

fn no_empty(runs: impl Iterator<Item = Run>) {
    for run in runs.take(RUNS) {
        assert!(run.len > 0, "a run of nothing");
    }
}

pub(super) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.u8() % 5 {
        0 => lists(&mut input),
        1 => indexed(&mut input),
        2 | 3 => strided(&mut input),
        _ => ways(&mut input),
    }
}

/// Any address, inside the segment of node 1 or not.
fn address(input: &mut Input<'_>) -> usize {
    let base = SEATS.with(|seats| seats[0].node.bases[1]);
    match input.u8() & 3 {
        0 => base + input.below(4096),
        1 => base + input.below(64) * 64,
        _ => input.any() as usize,
    }
}

fn checked(f: impl Fn(&Seat, Verb) -> bool) {
    for call in [Verb::PutV, Verb::GetV] {
        SEATS.with(|seats| f(&seats[0], call));
    }
}

fn lists(input: &mut Input<'_>) {
    let mut pieces = [Vec::new(), Vec::new()];
    for list in &mut pieces {
        for _ in 0..input.below(12) {
            list.push(Piece { addr: address(input), len: input.any() as usize });
        }
    }
    let [to, from] = &pieces;
    no_empty(joined(vector_runs(to, from)));
    let what = What::Vector(to, from);
    let _ = (what.is_empty(), what.total() / what.runs());
    checked(|seat, call| check::vector(&seat.node.am, call, 1, [to, from]).is_ok());
}

fn indexed(input: &mut Input<'_>) {
    let mut lists = [(Vec::new(), 0), (Vec::new(), 0)];
    for (list, len) in &mut lists {
        *len = input.any() as usize;
        for _ in 0..input.below(12) {
            list.push(address(input));
        }
    }
    let [to, from] = [0, 1].map(|i| Indexed { list: &lists[i].0, len: lists[i].1 });
    no_empty(joined(indexed_runs(to, from)));
    let what = What::Indexed(to, from);
    let _ = (what.is_empty(), what.total() / what.runs());
    checked(|seat, call| check::indexed(&seat.node.am, call, 1, [to, from]).is_ok());
}

fn strided(input: &mut Input<'_>) {
    let levels = input.below(10);
    let count: Vec<usize> = (0..=levels).map(|_| input.any() as usize).collect();
    let mut strides = || (0..levels).map(|_| input.any() as usize).collect::<Vec<_>>();
    let strides = [strides(), strides()];
    let start = [address(input), address(input)];
    let section = Section::fold(start[0], &strides[0], start[1], &strides[1], &count);
    assert_eq!(section.is_none(), count.contains(&0));
    if let Some(section) = section {
        assert!(section.run > 0 && section.dims.iter().all(|dim| dim.count > 1));
        no_empty(section.runs());
        no_empty(section.outer(section.dims.len() / 2));
        let total = count.iter().fold(1usize, |n, c| n.wrapping_mul(*c));
        assert_eq!(section.total(), total);
        let what = What::Strided(section);
        let _ = (what.is_empty(), what.total() / what.runs());
    }
    let levels = Levels { start, strides: [&strides[0], &strides[1]], count: &count };
    checked(|seat, call| check::strided(&seat.node.am, call, 1, &levels).is_ok());
}

fn ways(input: &mut Input<'_>) {
    let (members, place) = (input.below(2000) + 1, input.below(2000));
    if let Some(kind) = Kind::from_number(input.u8().into()) {
        let bits = input.u8();
        let form = select::Form { mapped: bits & 1 == 0, levels: bits & 2 != 0, members };
        let _ = select::algorithm(kind, form, input.any() as usize);
    }
    let place = place % members;
    let tree = Tree::new(2 + input.below(7), place, members);
    assert!(tree.parent.is_none_or(|parent| parent < place));
    assert!(tree.children.iter().all(|(first, count)| *first > place && first + count <= members));
    let counts: Vec<u32> = (0..1 + input.below(8)).map(|_| 1 + u32::from(input.u8())).collect();
    let ends = counts.iter().scan(0, |sum, n| {
        *sum += n;
        Some(*sum)
    });
    let images = Images::Many(std::iter::once(0).chain(ends).collect());
    for image in 0..images.total() {
        let (member, which) = images.owner(image);
        assert!(which < images.count(member) && images.first(member) + which == image);
    }
}
