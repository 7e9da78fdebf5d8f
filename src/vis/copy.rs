//! Inner loops: copies between addresses of this process.
//!
//! Runs of a common size are copied by loops in which the size is a constant. So a piece costs a few loads and
//! stores. Each copy reads a run before it writes it. If areas overlap against the contract, their bytes are
//! undefined, but nothing outside them is written.
//!
//! Invariant: no reference to copied memory is ever made, because peers may write it at any time.

#![allow(unsafe_code)] // client memory and mapped segments

use super::groups::{Group, Places};
use super::shape::{Dim, Indexed, Levels, Piece, Run, Section, What, vector_runs};

/// The number of bytes that a loop copies at a time.
trait Width: Copy {
    /// Bytes.
    fn bytes(self) -> usize;

    /// # Safety
    /// `from` is readable and `to` writable, both for [`Width::bytes`] bytes.
    unsafe fn copy(self, to: *mut u8, from: *const u8);
}

/// A width that is known when the loop is compiled.
#[derive(Clone, Copy)]
struct Fixed<const N: usize>;

impl<const N: usize> Width for Fixed<N> {
    #[inline(always)]
    fn bytes(self) -> usize {
        N
    }

    #[inline(always)]
    unsafe fn copy(self, to: *mut u8, from: *const u8) {
        // In blocks from the front. From one large block LLVM would make stores of the last bytes first, and such
        // stores are slow (runs of 64 bytes at half the speed, Xeon, testvisperf). 1, 2, 4 and 8 bytes are one load
        // and one store.
        let mut at = 0;
        while at < N {
            let block = match N - at {
                0..16 => 1 << (N - at).ilog2(),
                _ => 16,
            };
            // SAFETY: the caller promises N bytes on both sides, and at + block ≤ N.
            unsafe { std::ptr::copy(from.wrapping_add(at), to.wrapping_add(at), block) };
            at += block;
        }
    }
}

/// A width that is known at run time only.
#[derive(Clone, Copy)]
struct Any(usize);

impl Width for Any {
    #[inline(always)]
    fn bytes(self) -> usize {
        self.0
    }

    #[inline(always)]
    unsafe fn copy(self, to: *mut u8, from: *const u8) {
        macro_rules! ends {
            ($t:ty) => {
                // SAFETY: the caller promises both sides for `self.0` bytes, here between one `$t` and two.
                unsafe { from_both_ends::<$t>(to, from, self.0) }
            };
        }
        match self.0 {
            0 => {}
            1 => ends!(u8),
            2..4 => ends!(u16),
            4..8 => ends!(u32),
            8..16 => ends!(u64),
            16..32 => ends!([u64; 2]),
            32..=64 => ends!([u64; 4]),
            // SAFETY: the caller promises both sides for `n` bytes.
            n => unsafe { std::ptr::copy(from, to, n) },
        }
    }
}

/// Copies `n` bytes, at least one `T` and at most two, as the first and the last `T`: cheaper than a call.
///
/// # Safety
/// `from` is readable and `to` writable, both for `n` bytes.
#[inline(always)]
unsafe fn from_both_ends<T>(to: *mut u8, from: *const u8, n: usize) {
    let last = n - size_of::<T>();
    // SAFETY: `from` is readable for `n` bytes (the caller), at least one `T`.
    let head = unsafe { from.cast::<T>().read_unaligned() };
    // SAFETY: the last `T` of the `n` readable bytes.
    let tail = unsafe { from.wrapping_add(last).cast::<T>().read_unaligned() };
    // SAFETY: `to` is writable for `n` bytes (the caller), at least one `T`.
    unsafe { to.cast::<T>().write_unaligned(head) };
    // SAFETY: the last `T` of the `n` writable bytes.
    unsafe { to.wrapping_add(last).cast::<T>().write_unaligned(tail) };
}

/// A loop over runs of one size.
trait Kernel {
    /// # Safety
    /// All pieces that the kernel describes are readable at their sources and writable at their destinations.
    unsafe fn run<W: Width>(self, width: W);
}

/// Runs `kernel` in the version for runs of `len` bytes.
///
/// # Safety
/// The contract of [`Kernel::run`] holds for `kernel`.
#[inline(always)]
unsafe fn by_width<K: Kernel>(len: usize, kernel: K) {
    macro_rules! versions {
        ($($n:literal)*) => {
            match len {
                // SAFETY: the caller promises that what the kernel describes is readable and writable; its runs have `$n`
                // bytes.
                $($n => unsafe { kernel.run(Fixed::<$n>) },)*
                // SAFETY: the caller promises that what the kernel describes is readable and writable; its runs have `len`
                // bytes.
                _ => unsafe { kernel.run(Any(len)) },
            }
        };
    }
    versions!(1 2 4 8 12 16 24 32 48 64 96 128 192 256)
}

#[inline(always)]
fn target(address: usize) -> *mut u8 {
    address as *mut u8
}

#[inline(always)]
fn source(address: usize) -> *const u8 {
    address as *const u8
}

/// Copies all of `what`; `to` and `from` are added to the addresses of each side.
///
/// # Safety
/// Every piece is readable at its source and writable at its destination.
#[inline]
pub unsafe fn all(what: &What<'_>, to: usize, from: usize) {
    match what {
        // SAFETY: the caller promises readable sources and writable destinations for all pieces of both lists.
        What::Vector(dst, src) => unsafe { vector(dst, to, src, from) },
        // SAFETY: the caller promises readable sources and writable destinations for all pieces of both lists.
        What::Indexed(dst, src) => unsafe { indexed(*dst, to, *src, from) },
        // SAFETY: the caller promises readable sources and writable destinations for all runs of the section.
        What::Strided(section) => unsafe { strided(section, to, from) },
    }
}

/// # Safety
/// The run is readable at its source and writable at its destination.
#[inline(always)]
unsafe fn one(run: Run) {
    // SAFETY: the caller promises a readable and writable run of `run.len` bytes.
    unsafe { Any(run.len).copy(target(run.to), source(run.from)) }
}

/// The pieces at the front of both lists that have the loop's length. There is at least one.
struct Alike<'a> {
    dst: &'a [Piece],
    src: &'a [Piece],
    offsets: [usize; 2],
    done: &'a mut usize,
}

impl Kernel for Alike<'_> {
    #[inline(always)]
    unsafe fn run<W: Width>(self, width: W) {
        let [to, from] = self.offsets;
        for (d, s) in self.dst.iter().zip(self.src) {
            if d.len != width.bytes() || s.len != width.bytes() {
                break;
            }
            // SAFETY: the caller promises both lists' pieces; these two have the loop's length.
            unsafe { width.copy(target(d.addr.wrapping_add(to)), source(s.addr.wrapping_add(from))) };
            *self.done += 1;
        }
    }
}

/// # Safety
/// The contract of [`all`] holds for the pieces of both lists.
#[inline]
unsafe fn vector(mut dst: &[Piece], to: usize, mut src: &[Piece], from: usize) {
    // Most lists are cut alike: here come stretches in which the pieces of both have one length.
    while let ([d, ..], [s, ..]) = (dst, src) {
        if d.len != s.len {
            break;
        }
        let mut done = 0;
        // SAFETY: the caller promises the pieces of both lists; the loop takes those of length `d.len`.
        unsafe { by_width(d.len, Alike { dst, src, offsets: [to, from], done: &mut done }) };
        (dst, src) = (&dst[done..], &src[done..]);
    }
    for run in vector_runs(dst, src) {
        // SAFETY: a run that lies in a piece of each list, which the caller promises.
        unsafe { one(Run { to: run.to.wrapping_add(to), from: run.from.wrapping_add(from), len: run.len }) };
    }
}

/// Pieces of one side that are each a whole number of pieces of the other.
struct Lists<'a> {
    small: &'a [usize],
    large: &'a [usize],
    ratio: usize,
    small_is_target: bool,
    offsets: [usize; 2],
}

impl Kernel for Lists<'_> {
    #[inline(always)]
    unsafe fn run<W: Width>(self, width: W) {
        let [to, from] = self.offsets;
        let copy = |dst: usize, src: usize| {
            // SAFETY: a small piece and the part of a large one that corresponds to it, which the caller promises.
            unsafe { width.copy(target(dst.wrapping_add(to)), source(src.wrapping_add(from))) }
        };
        if self.ratio == 1 && self.small_is_target {
            for (&dst, &src) in self.small.iter().zip(self.large) {
                copy(dst, src);
            }
            return;
        }
        for (few, &start) in self.small.chunks(self.ratio).zip(self.large) {
            let mut at = start;
            for &small in few {
                let (dst, src) = if self.small_is_target { (small, at) } else { (at, small) };
                copy(dst, src);
                at = at.wrapping_add(width.bytes());
            }
        }
    }
}

/// # Safety
/// The contract of [`all`] holds for the pieces of both lists.
#[inline]
unsafe fn indexed(dst: Indexed<'_>, to: usize, src: Indexed<'_>, from: usize) {
    if dst.len == 0 || src.len == 0 {
        return;
    }
    let small_is_target = dst.len <= src.len;
    let (small, large) = if small_is_target { (dst, src) } else { (src, dst) };
    if large.len % small.len == 0 {
        let ratio = large.len / small.len;
        let lists = Lists { small: small.list, large: large.list, ratio, small_is_target, offsets: [to, from] };
        // SAFETY: the caller promises the pieces of both lists; each large one is whole small ones.
        unsafe { by_width(small.len, lists) };
        return;
    }
    for run in super::shape::indexed_runs(dst, src) {
        // SAFETY: a run that lies in a piece of each list, which the caller promises.
        unsafe { one(Run { to: run.to.wrapping_add(to), from: run.from.wrapping_add(from), len: run.len }) };
    }
}

/// Copies a strided transfer of few levels straight from the client's arrays, because making a [`Section`] costs as
/// much as copying ten small runs. Returns false, without having copied, if too many levels are left after folding.
/// No count may be 0.
///
/// # Safety
/// The contract of [`all`] holds for the runs of the transfer.
#[inline]
pub unsafe fn few_levels(start: [usize; 2], levels: &Levels<'_>) -> bool {
    let Levels { strides, count, .. } = *levels;
    let once = Dim { count: 1, to: 0, from: 0 };
    let (mut run, mut levels) = (count[0], [once, once]);
    let mut used = 0;
    for (i, &repeats) in count[1..].iter().enumerate() {
        let dim = Dim { count: repeats, to: strides[0][i], from: strides[1][i] };
        if repeats == 1 {
            continue;
        }
        if used == 0 && dim.to == run && dim.from == run {
            run = run.wrapping_mul(repeats);
        } else if used < levels.len() {
            levels[used] = dim;
            used += 1;
        } else {
            return false;
        }
    }
    let [inner, outer] = levels;
    // SAFETY: the caller promises every run of the transfer, and the plane's runs are these.
    unsafe { by_width(run, Plane { to: start[0], from: start[1], inner, outer }) };
    true
}

/// The two innermost levels of a section.
struct Plane {
    to: usize,
    from: usize,
    inner: Dim,
    outer: Dim,
}

impl Kernel for Plane {
    #[inline(always)]
    unsafe fn run<W: Width>(self, width: W) {
        let Plane { mut to, mut from, inner, outer } = self;
        for _ in 0..outer.count {
            let (mut dst, mut src) = (to, from);
            for _ in 0..inner.count {
                // SAFETY: a run of the plane, which the caller promises to be readable and writable.
                unsafe { width.copy(target(dst), source(src)) };
                dst = dst.wrapping_add(inner.to);
                src = src.wrapping_add(inner.from);
            }
            to = to.wrapping_add(outer.to);
            from = from.wrapping_add(outer.from);
        }
    }
}

/// # Safety
/// The contract of [`all`] holds for the runs of the section.
#[inline]
unsafe fn strided(section: &Section, to: usize, from: usize) {
    let once = Dim { count: 1, to: 0, from: 0 };
    let (inner, outer) = match section.dims[..] {
        [] => (once, once),
        [inner] => (inner, once),
        [inner, outer, ..] => (inner, outer),
    };
    for start in section.outer(section.dims.len().min(2)) {
        let plane = Plane { to: start.to.wrapping_add(to), from: start.from.wrapping_add(from), inner, outer };
        // SAFETY: the plane's runs are runs of the section, which the caller promises.
        unsafe { by_width(section.run, plane) };
    }
}

/// Copies a group's pieces to or from bytes that lie together.
struct Packing<'a> {
    places: Places<'a>,
    packed: usize,
    gather: bool,
}

impl Kernel for Packing<'_> {
    #[inline(always)]
    unsafe fn run<W: Width>(self, width: W) {
        let mut packed = self.packed;
        for place in self.places {
            let (to, from) = if self.gather { (packed, place) } else { (place, packed) };
            // SAFETY: a piece of the group and as many packed bytes, which the caller promises.
            unsafe { width.copy(target(to), source(from)) };
            packed = packed.wrapping_add(width.bytes());
        }
    }
}

/// Copies a group's pieces to `packed` (`gather`), or from there to the pieces. Returns the address behind the last
/// packed byte.
///
/// # Safety
/// With `gather` the pieces are readable, and as many bytes at `packed` are writable. Otherwise the other way round.
pub unsafe fn group(group: Group<'_>, packed: usize, gather: bool) -> usize {
    // SAFETY: the caller promises the group's pieces and as many bytes at `packed`.
    unsafe { by_width(group.len, Packing { places: group.places(), packed, gather }) };
    packed + group.len * group.count
}

#[cfg(test)]
mod tests {
    use super::super::groups::{Groups, Reader};
    use super::*;
    use proptest::prelude::*;

    const ROOM: usize = 1 << 14;

    /// Memory of both sides before the copy; `runs` tell the model what must be copied.
    fn check(what: &What<'_>, mut runs: Vec<Run>, memory: &mut [Vec<u8>; 2]) -> Result<(), TestCaseError> {
        let [dst, src] = memory;
        let mut expected = dst.clone();
        for run in runs.drain(..) {
            expected[run.to..run.to + run.len].copy_from_slice(&src[run.from..run.from + run.len]);
        }
        // SAFETY: the description's addresses are offsets that lie in the two vectors.
        unsafe { all(what, dst.as_mut_ptr() as usize, src.as_ptr() as usize) };
        prop_assert!(*dst == expected);
        Ok(())
    }

    fn memory() -> [Vec<u8>; 2] {
        [vec![0xEE; ROOM], (0..ROOM).map(|i| (i * 7 + i / 251) as u8).collect()]
    }

    proptest! {
        #[test]
        fn every_width_fills_its_runs_and_nothing_beside(len in 1usize..300, n in 1usize..9, gaps: [u8; 2], levels in 0usize..4) {
            let gap = |k: usize| len + gaps[k] as usize % 40;
            let (mut to, mut from, mut count) = (vec![gap(0)], vec![gap(1)], vec![len, n]);
            for level in 1..levels {
                count.push(2);
                to.push(to[level - 1] * count[level] + level);
                from.push(from[level - 1] * count[level] + 2 * level);
            }
            let section = Section::fold(16, &to, 33, &from, &count).expect("no count is 0");
            let extent = |s: &[usize]| 50 + len + s.iter().zip(&count[1..]).map(|(s, c)| s * (c - 1)).sum::<usize>();
            prop_assume!(extent(&to) < ROOM && extent(&from) < ROOM);
            let runs = section.runs().collect();
            check(&What::Strided(section), runs, &mut memory())?;
        }

        #[test]
        fn lists_of_unequal_chunks(len in 1usize..70, ratio in 1usize..4, odd in 0usize..2, n in 0usize..5, swap: bool) {
            // `odd`: the lengths of large chunks are no multiples of those of small ones.
            let (small, large) = (len * (1 + odd), len * (ratio * (1 + odd) + odd));
            let few: Vec<usize> = (0..n * small / len).rev().map(|i| 5 + i * (large + 3)).collect();
            let many: Vec<usize> = (0..n * large / len).map(|i| 9 + i * (small + 1)).collect();
            let (a, b) = (Indexed { list: &few, len: large }, Indexed { list: &many, len: small });
            let (to, from) = if swap { (b, a) } else { (a, b) };
            let runs: Vec<Run> = super::super::shape::indexed_runs(to, from).collect();
            prop_assume!(runs.iter().all(|r| r.to + r.len < ROOM && r.from + r.len < ROOM));
            check(&What::Indexed(to, from), runs, &mut memory())?;
        }

        #[test]
        fn lists_that_are_cut_alike_and_then_not(lens in prop::collection::vec(0usize..100, 0..20), tail in 1usize..90) {
            let list = |lens: &[usize], gap: usize| {
                let mut at = 3;
                lens.iter().map(|&len| { at += len + gap; Piece { addr: at - len, len } }).collect::<Vec<_>>()
            };
            let cut = |end: &[usize]| lens.iter().chain(end).copied().collect::<Vec<_>>();
            let (to, from) = (list(&cut(&[tail, 0, tail]), 1), list(&cut(&[2 * tail]), 7));
            let runs: Vec<Run> = vector_runs(&to, &from).collect();
            check(&What::Vector(&to, &from), runs, &mut memory())?;
        }

        #[test]
        fn groups_are_gathered_and_scattered_back(pieces in prop::collection::vec((0usize..30, 1usize..70), 1..40)) {
            let [mut there, here] = memory();
            let (base, mut groups, mut at, mut expected) = (here.as_ptr() as usize, Groups::default(), 0, Vec::new());
            let mut scattered = Groups::default();
            for (gap, len) in &pieces {
                at += gap;
                groups.push(base + at, *len);
                scattered.push(there.as_mut_ptr() as usize + at, *len);
                expected.extend_from_slice(&here[at..at + len]);
                at += len;
            }
            let mut packed = vec![0u8; expected.len()];
            let mut place = packed.as_mut_ptr() as usize;
            for g in Reader(groups.finish()).flatten() {
                // SAFETY: pieces of `here`, to as many bytes.
                place = unsafe { group(g, place, true) };
            }
            prop_assert_eq!(&packed, &expected);
            let mut place = packed.as_ptr() as usize;
            for g in Reader(scattered.finish()).flatten() {
                // SAFETY: pieces of `there`, from as many bytes.
                place = unsafe { group(g, place, false) };
            }
            let mut at = 0;
            for (gap, len) in &pieces {
                at += gap;
                prop_assert_eq!(&there[at..at + len], &here[at..at + len]);
                at += len;
            }
            prop_assert!(there.iter().filter(|b| **b != 0xEE).count() <= expected.len());
        }
    }
}
