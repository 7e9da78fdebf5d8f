//! The shape of transfers: the client's lists and strides as sequences of bytes, and the runs that two of them have
//! in common.
//!
//! Byte k of one sequence goes to byte k of the other. A run is a range that is contiguous on both sides. This module
//! never accesses the memory that is described.
//!
//! Must not know: nodes, messages, which side is remote.

#![forbid(unsafe_code)]

use smallvec::SmallVec;

/// One entry of a vector list (C's `gasnet_memvec_t`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Address of the first byte. Any value if `len` is 0.
    pub addr: usize,
    /// Number of bytes.
    pub len: usize,
}

/// A list of pieces of one length.
#[derive(Clone, Copy, Debug)]
pub struct Indexed<'a> {
    /// The addresses, in order.
    pub list: &'a [usize],
    /// Number of bytes of each piece.
    pub len: usize,
}

/// Bytes that are contiguous on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Address of the destination.
    pub to: usize,
    /// Address of the source.
    pub from: usize,
    /// Number of bytes; not 0.
    pub len: usize,
}

/// One level of a section: the number of repetitions, and on each side the distance between them in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Number of repetitions; more than 1.
    pub count: usize,
    /// Distance at the destination.
    pub to: usize,
    /// Distance at the source.
    pub from: usize,
}

/// Levels that need no allocation. The contract sets no limit; programs use 1 to 3.
const LEVELS: usize = 6;

/// A strided transfer, folded: every level repeats at least twice, and no level continues the one below it on both
/// sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Address of the first byte at the destination.
    pub to: usize,
    /// Address of the first byte at the source.
    pub from: usize,
    /// Number of bytes of each run.
    pub run: usize,
    /// Levels, innermost first.
    pub dims: SmallVec<[Dim; LEVELS]>,
}

/// A strided transfer as the client describes it. In each pair the destination comes first.
#[derive(Clone, Copy)]
pub struct Levels<'a> {
    /// Addresses of the first bytes.
    pub start: [usize; 2],
    /// Distances in bytes. They mean nothing if a count is 0.
    pub strides: [&'a [usize]; 2],
    /// Number of bytes of a run, then numbers of repetitions: one entry more than there are strides.
    pub count: &'a [usize],
}

/// A transfer: the descriptions of destination and source.
pub enum What<'a> {
    /// Lists of addresses and lengths.
    Vector(&'a [Piece], &'a [Piece]),
    /// Lists of addresses, with one length for each list.
    Indexed(Indexed<'a>, Indexed<'a>),
    /// A regular section.
    Strided(Section),
}

impl Section {
    /// Folds a client's description (contract: vis.md §4). `count` has one entry more than the strides. `None`:
    /// nothing moves.
    pub fn fold(
        to: usize,
        to_strides: &[usize],
        from: usize,
        from_strides: &[usize],
        count: &[usize],
    ) -> Option<Section> {
        let (&run, repeats) = count.split_first()?;
        if count.contains(&0) {
            return None;
        }
        let mut section = Section { to, from, run, dims: SmallVec::new() };
        for ((&count, &to), &from) in repeats.iter().zip(to_strides).zip(from_strides) {
            section.push(Dim { count, to, from });
        }
        Some(section)
    }

    /// Adds a level outside the others.
    pub(super) fn push(&mut self, dim: Dim) {
        if dim.count == 1 {
            return;
        }
        // A run that would have more bytes than there are addresses is not joined, because a run of 2⁶⁴ bytes would
        // get length 0.
        match self.dims.last_mut() {
            None if dim.to == self.run && dim.from == self.run => match self.run.checked_mul(dim.count) {
                Some(run) => self.run = run,
                None => self.dims.push(dim),
            },
            Some(last) if last.continues(&dim) => match last.count.checked_mul(dim.count) {
                Some(count) => last.count = count,
                None => self.dims.push(dim),
            },
            _ => self.dims.push(dim),
        }
    }

    /// Number of bytes that move, modulo 2⁶⁴.
    pub fn total(&self) -> usize {
        self.dims.iter().fold(self.run, |n, d| n.wrapping_mul(d.count))
    }

    /// All runs, innermost level first.
    pub fn runs(&self) -> Odometer<'_> {
        let first = Run { to: self.to, from: self.from, len: self.run };
        Odometer { dims: &self.dims, index: SmallVec::from_elem(0, self.dims.len()), next: Some(first) }
    }

    /// The section without its `inner` innermost levels. Its runs begin where the inner ones begin.
    pub fn outer(&self, inner: usize) -> Odometer<'_> {
        let dims = &self.dims[inner..];
        let first = Run { to: self.to, from: self.from, len: self.run };
        Odometer { dims, index: SmallVec::from_elem(0, dims.len()), next: Some(first) }
    }
}

impl Dim {
    /// True if `above` continues this level at its end, on both sides.
    fn continues(&self, above: &Dim) -> bool {
        self.to.checked_mul(self.count) == Some(above.to) && self.from.checked_mul(self.count) == Some(above.from)
    }
}

/// The runs of a section.
pub struct Odometer<'a> {
    dims: &'a [Dim],
    index: SmallVec<[usize; LEVELS]>,
    next: Option<Run>,
}

impl Iterator for Odometer<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let run = self.next?;
        let (mut to, mut from) = (run.to, run.from);
        for (dim, i) in self.dims.iter().zip(&mut self.index) {
            if *i + 1 < dim.count {
                *i += 1;
                self.next = Some(Run { to: to.wrapping_add(dim.to), from: from.wrapping_add(dim.from), len: run.len });
                return Some(run);
            }
            to = to.wrapping_sub(dim.to.wrapping_mul(*i));
            from = from.wrapping_sub(dim.from.wrapping_mul(*i));
            *i = 0;
        }
        self.next = None;
        Some(run)
    }
}

/// The runs that two lists of pieces have in common. Ends with the shorter list.
pub struct Lockstep<I, J> {
    to: I,
    from: J,
    at: [Piece; 2],
}

impl<I: Iterator<Item = Piece>, J: Iterator<Item = Piece>> Lockstep<I, J> {
    /// `to` and `from` must have no empty pieces.
    fn new(to: I, from: J) -> Self {
        Lockstep { to, from, at: [Piece { addr: 0, len: 0 }; 2] }
    }
}

impl<I: Iterator<Item = Piece>, J: Iterator<Item = Piece>> Iterator for Lockstep<I, J> {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        let [to, from] = &mut self.at;
        if to.len == 0 {
            *to = self.to.next()?;
        }
        if from.len == 0 {
            *from = self.from.next()?;
        }
        let len = to.len.min(from.len);
        let run = Run { to: to.addr, from: from.addr, len };
        for side in [to, from] {
            side.addr = side.addr.wrapping_add(len);
            side.len -= len;
        }
        Some(run)
    }
}

/// Runs of two vector lists.
pub fn vector_runs<'a>(to: &'a [Piece], from: &'a [Piece]) -> impl Iterator<Item = Run> + use<'a> {
    let full = |list: &'a [Piece]| list.iter().copied().filter(|p| p.len > 0);
    Lockstep::new(full(to), full(from))
}

/// Runs of two indexed lists.
pub fn indexed_runs<'a>(to: Indexed<'a>, from: Indexed<'a>) -> impl Iterator<Item = Run> + use<'a> {
    Lockstep::new(to.pieces(), from.pieces())
}

impl<'a> Indexed<'a> {
    /// The pieces; none if their length is 0.
    pub fn pieces(self) -> impl Iterator<Item = Piece> + use<'a> {
        let list = if self.len > 0 { self.list } else { &[] };
        list.iter().map(move |&addr| Piece { addr, len: self.len })
    }
}

/// Joins runs that follow each other on both sides.
pub struct Joined<I> {
    runs: I,
    held: Option<Run>,
}

/// Runs that are joined as far as possible.
pub fn joined<I: Iterator<Item = Run>>(mut runs: I) -> Joined<I> {
    let held = runs.next();
    Joined { runs, held }
}

impl<I: Iterator<Item = Run>> Iterator for Joined<I> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let mut run = self.held?;
        loop {
            self.held = self.runs.next();
            match self.held {
                Some(next)
                    if run.to.wrapping_add(run.len) == next.to
                        && run.from.wrapping_add(run.len) == next.from
                        && run.len.checked_add(next.len).is_some() =>
                {
                    run.len += next.len;
                }
                _ => return Some(run),
            }
        }
    }
}

impl What<'_> {
    /// True if nothing moves.
    pub fn is_empty(&self) -> bool {
        match self {
            What::Vector(to, from) => to.iter().all(|p| p.len == 0) || from.iter().all(|p| p.len == 0),
            What::Indexed(to, from) => to.list.is_empty() || from.list.is_empty() || to.len == 0 || from.len == 0,
            What::Strided(_) => false, // `fold` makes no section if nothing moves
        }
    }

    /// Number of bytes that move, modulo 2⁶⁴.
    pub fn total(&self) -> usize {
        match self {
            What::Vector(to, _) => to.iter().fold(0, |n, p| n.wrapping_add(p.len)),
            What::Indexed(to, _) => to.list.len().wrapping_mul(to.len),
            What::Strided(section) => section.total(),
        }
    }

    /// About the number of its runs; at least 1.
    pub fn runs(&self) -> usize {
        match self {
            What::Vector(to, from) => to.len().max(from.len()).max(1),
            What::Indexed(to, from) => to.list.len().max(from.list.len()).max(1),
            What::Strided(section) => (section.total() / section.run).max(1),
        }
    }
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
