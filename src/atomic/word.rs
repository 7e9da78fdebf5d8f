//! An operation on one word of memory that this process reaches.
//!
//! Integer operations that the processor has are one instruction. The others, and floating point, are a loop around a
//! compare-and-swap of the word's bits. On x86-64 AND, OR and XOR are such a loop, too, because they return the old value here.
//!
//! Every operation is a release and an acquire, so that no caller needs a fence beside it. On x86-64 that costs nothing.

#![allow(unsafe_code)] // client memory and mapped segments

use crate::sync::fixed::{AtomicU32, AtomicU64, Ordering, fence};

/// The type of a word; the value is the bit of its `GEX_DT_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `int32_t`.
    I32 = 0,
    /// `uint32_t`.
    U32 = 1,
    /// `int64_t`.
    I64 = 2,
    /// `uint64_t`.
    U64 = 3,
    /// `float`.
    F32 = 4,
    /// `double`.
    F64 = 5,
}

impl Kind {
    /// All, by their bits.
    pub const ALL: [Kind; 6] = [Kind::I32, Kind::U32, Kind::I64, Kind::U64, Kind::F32, Kind::F64];

    /// That of a bit.
    pub fn of(bit: u32) -> Option<Kind> {
        Kind::ALL.get(bit as usize).copied()
    }

    /// Bytes of a word.
    pub fn bytes(self) -> usize {
        if matches!(self, Kind::I32 | Kind::U32 | Kind::F32) { 4 } else { 8 }
    }

    /// Are its bits a number's in floating point?
    pub fn is_float(self) -> bool {
        matches!(self, Kind::F32 | Kind::F64)
    }
}

/// What becomes of a word `a`. The value is the number of the bit of the `GEX_OP_*` that does not fetch; the bit of the one that
/// fetches is 15 higher. GET, which only fetches, has bit 27.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `a & x`.
    And = 0,
    /// `a | x`.
    Or = 1,
    /// `a ^ x`.
    Xor = 2,
    /// `a + x`.
    Add = 3,
    /// `a - x`.
    Sub = 4,
    /// `a * x`.
    Mult = 5,
    /// `a < x ? a : x`.
    Min = 6,
    /// `a > x ? a : x`.
    Max = 7,
    /// `a + 1`.
    Inc = 8,
    /// `a - 1`.
    Dec = 9,
    /// `x`.
    Set = 10,
    /// `a == x ? y : a`.
    Cas = 11,
    /// `a`.
    Get = 12,
}

impl Verb {
    /// All, by their bits.
    pub const ALL: [Verb; 13] = {
        use Verb::*;
        [And, Or, Xor, Add, Sub, Mult, Min, Max, Inc, Dec, Set, Cas, Get]
    };

    /// That of a bit.
    pub fn of(bit: u32) -> Option<Verb> {
        Verb::ALL.get(bit as usize).copied()
    }

    /// True if it has a meaning for words of `kind`.
    pub fn fits(self, kind: Kind) -> bool {
        !(kind.is_float() && matches!(self, Verb::And | Verb::Or | Verb::Xor))
    }
}

/// An operation with its operands, which are the bits of values of `kind`.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The type of the word.
    pub kind: Kind,
    /// What becomes of it.
    pub verb: Verb,
    /// First operand.
    pub x: u64,
    /// Second operand.
    pub y: u64,
}

/// Does the operation on the word at `at`, and returns the old bits. `And`, `Or` and `Xor` of floating point, which nobody asks
/// for, change nothing.
///
/// # Safety
/// `at` is aligned, and valid for reads and writes that are atomic.
pub unsafe fn apply(operation: Operation, at: *mut u8) -> u64 {
    let Operation { kind, verb, x, y } = operation;
    if kind.bytes() == 4 {
        // SAFETY: the caller promises an aligned word.
        let word = unsafe { AtomicU32::from_ptr(at.cast()) };
        let (x, y) = (x as u32, y as u32);
        return u64::from(match kind {
            Kind::F32 => float32(word, verb, x, y),
            Kind::I32 => integer32(word, verb, x, y, |a, x| (a as i32).cmp(&(x as i32))),
            _ => integer32(word, verb, x, y, |a, x| a.cmp(&x)),
        });
    }
    // SAFETY: the caller promises an aligned word.
    let word = unsafe { AtomicU64::from_ptr(at.cast()) };
    match kind {
        Kind::F64 => float64(word, verb, x, y),
        Kind::I64 => integer64(word, verb, x, y, |a, x| (a as i64).cmp(&(x as i64))),
        _ => integer64(word, verb, x, y, |a, x| a.cmp(&x)),
    }
}

// One function for the integers of a width, whose signs matter in comparisons only.
/// A load that the caller's earlier accesses come before.
fn load<T>(acquire: impl FnOnce() -> T) -> T {
    // ORDERING: SeqCst: an operation is a release too, which a load alone is not (contract: ex-coll.md §4).
    fence(Ordering::SeqCst);
    acquire()
}

macro_rules! integer {
    ($name:ident, $word:ident, $bits:ident) => {
        #[inline(always)]
        fn $name(
            word: &$word,
            verb: Verb,
            x: $bits,
            y: $bits,
            order: impl Fn($bits, $bits) -> std::cmp::Ordering,
        ) -> $bits {
            // ORDERING: AcqRel ↔ itself, on the same word, in any process: see the head. A `Get` only acquires.
            const BOTH: Ordering = Ordering::AcqRel;
            let update = |f: &dyn Fn($bits) -> $bits| {
                loop_until(word.load(Ordering::Relaxed), |old| {
                    word.compare_exchange_weak(old, f(old), BOTH, Ordering::Relaxed) // Relaxed: tried again
                })
            };
            match verb {
                Verb::And => word.fetch_and(x, BOTH),
                Verb::Or => word.fetch_or(x, BOTH),
                Verb::Xor => word.fetch_xor(x, BOTH),
                Verb::Add => word.fetch_add(x, BOTH),
                Verb::Sub => word.fetch_sub(x, BOTH),
                Verb::Inc => word.fetch_add(1, BOTH),
                Verb::Dec => word.fetch_sub(1, BOTH),
                Verb::Set => word.swap(x, BOTH),
                Verb::Get => load(|| word.load(Ordering::Acquire)), // ORDERING: ↔ BOTH of who stored the value
                // ORDERING: SeqCst ↔ itself, because one that fails stores nothing that could release (contract: ex-coll.md §4).
                Verb::Cas => match word.compare_exchange(x, y, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(old) | Err(old) => old,
                },
                Verb::Mult => update(&|a| a.wrapping_mul(x)),
                Verb::Min => update(&|a| if order(a, x).is_lt() { a } else { x }),
                Verb::Max => update(&|a| if order(a, x).is_gt() { a } else { x }),
            }
        }
    };
}
integer!(integer32, AtomicU32, u32);
integer!(integer64, AtomicU64, u64);

macro_rules! float {
    ($name:ident, $word:ident, $bits:ident, $value:ident) => {
        fn $name(word: &$word, verb: Verb, x: $bits, y: $bits) -> $bits {
            // ORDERING: as for integers.
            const BOTH: Ordering = Ordering::AcqRel;
            let (x_value, one) = ($value::from_bits(x), 1.0);
            let new = |bits: $bits| {
                let a = $value::from_bits(bits);
                match verb {
                    Verb::Add => (a + x_value).to_bits(),
                    Verb::Sub => (a - x_value).to_bits(),
                    Verb::Mult => (a * x_value).to_bits(),
                    Verb::Min => {
                        if a < x_value {
                            bits
                        } else {
                            x
                        }
                    }
                    Verb::Max => {
                        if a > x_value {
                            bits
                        } else {
                            x
                        }
                    }
                    Verb::Inc => (a + one).to_bits(),
                    Verb::Dec => (a - one).to_bits(),
                    // Values are compared, so +0 is equal to -0.
                    Verb::Cas => {
                        if a == x_value {
                            y
                        } else {
                            bits
                        }
                    }
                    Verb::And | Verb::Or | Verb::Xor | Verb::Set | Verb::Get => bits,
                }
            };
            match verb {
                Verb::Set => word.swap(x, BOTH),                    // any bits
                Verb::Get => load(|| word.load(Ordering::Acquire)), // ORDERING: ↔ BOTH of who stored the value
                _ => loop_until(word.load(Ordering::Relaxed), |old| {
                    word.compare_exchange_weak(old, new(old), BOTH, Ordering::Relaxed) // Relaxed: tried again
                }),
            }
        }
    };
}
float!(float32, AtomicU32, u32, f32);
float!(float64, AtomicU64, u64, f64);

/// Tries until no other value came between, and returns the old one.
#[inline(always)]
fn loop_until<T: Copy>(first: T, attempt: impl Fn(T) -> Result<T, T>) -> T {
    let mut old = first;
    loop {
        match attempt(old) {
            Ok(old) => return old,
            Err(now) => old = now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The word and the fetched bits after an operation on `a`.
    fn after(kind: Kind, verb: Verb, a: u64, x: u64, y: u64) -> u64 {
        let mut word = a;
        let operation = Operation { kind, verb, x, y };
        // SAFETY: an aligned word of this function's.
        let old = unsafe { apply(operation, (&raw mut word).cast()) };
        let mask = if kind.bytes() == 4 { u64::from(u32::MAX) } else { u64::MAX };
        assert_eq!(old, a & mask, "{kind:?} {verb:?} fetches the old value");
        assert_eq!(word & !mask, a & !mask, "{kind:?} {verb:?} leaves the bytes behind alone");
        word & mask
    }

    #[test]
    fn integers_wrap_and_are_compared_with_their_sign() {
        for (kind, ones) in [(Kind::I32, u64::from(u32::MAX)), (Kind::I64, u64::MAX)] {
            let unsigned = if kind == Kind::I32 { Kind::U32 } else { Kind::U64 };
            for kind in [kind, unsigned] {
                let is = |verb, a, x, expected| assert_eq!(after(kind, verb, a, x, 9), expected, "{kind:?} {verb:?}");
                is(Verb::And, 0b1100, 0b1010, 0b1000);
                is(Verb::Or, 0b1100, 0b1010, 0b1110);
                is(Verb::Xor, 0b1100, 0b1010, 0b0110);
                is(Verb::Add, ones, 3, 2);
                is(Verb::Sub, 1, 3, ones - 1);
                is(Verb::Mult, ones, 5, ones - 4);
                is(Verb::Inc, ones, 77, 0);
                is(Verb::Dec, 0, 77, ones);
                is(Verb::Set, 5, 6, 6);
                is(Verb::Get, 5, 6, 5);
                is(Verb::Cas, 5, 5, 9);
                is(Verb::Cas, 5, 6, 5);
            }
            assert_eq!(after(kind, Verb::Min, ones, 1, 0), ones, "-1 is less");
            assert_eq!(after(kind, Verb::Max, ones, 1, 0), 1);
            assert_eq!(after(unsigned, Verb::Min, ones, 1, 0), 1);
            assert_eq!(after(unsigned, Verb::Max, ones, 1, 0), ones);
        }
        assert_eq!(
            after(Kind::U32, Verb::Add, 7 << 32 | 1, 1 << 32 | 2, 0),
            3,
            "the high half of an operand is nothing"
        );
    }

    #[test]
    fn floating_point_computes_compares_values_and_carries_all_bits() {
        let bits =
            |kind, value: f64| if kind == Kind::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() };
        for kind in [Kind::F32, Kind::F64] {
            let is = |verb, a, x, expected| {
                let found = after(kind, verb, bits(kind, a), bits(kind, x), bits(kind, 9.0));
                assert_eq!(found, bits(kind, expected), "{kind:?} {verb:?} {a} {x}");
            };
            is(Verb::Add, 1.5, -4.0, -2.5);
            is(Verb::Sub, 1.5, -4.0, 5.5);
            is(Verb::Mult, 1.5, -4.0, -6.0);
            is(Verb::Min, 1.5, -4.0, -4.0);
            is(Verb::Max, 1.5, -4.0, 1.5);
            is(Verb::Min, 0.0, -0.0, -0.0);
            is(Verb::Inc, -0.5, 77.0, 0.5);
            is(Verb::Dec, 0.5, 77.0, -0.5);
            is(Verb::Set, 0.5, -0.0, -0.0);
            is(Verb::Get, 0.5, 77.0, 0.5);
            is(Verb::Cas, -0.0, 0.0, 9.0);
            is(Verb::Cas, 0.5, 0.25, 0.5);
            is(Verb::And, 0.5, 0.25, 0.5);
            let nan = bits(kind, f64::NAN) | 0x1234;
            assert_eq!(after(kind, Verb::Set, 0, nan, 0), nan);
            assert_eq!(after(kind, Verb::Get, nan, 0, 0), nan);
        }
        assert!(!Verb::Xor.fits(Kind::F32) && Verb::Xor.fits(Kind::I32) && Verb::Max.fits(Kind::F64));
    }

    #[test]
    fn threads_lose_no_update() {
        const EACH: u64 = if cfg!(miri) { 50 } else { 20_000 };
        for kind in Kind::ALL {
            let word = Box::new(AtomicU64::new(0));
            let one = match kind {
                Kind::F32 => u64::from(1f32.to_bits()),
                Kind::F64 => 1f64.to_bits(),
                _ => 1,
            };
            std::thread::scope(|scope| {
                for verb in [Verb::Add, Verb::Inc] {
                    let word = &word;
                    scope.spawn(move || {
                        for _ in 0..EACH {
                            // SAFETY: an aligned word that lives longer than the threads.
                            unsafe { apply(Operation { kind, verb, x: one, y: 0 }, word.as_ptr().cast()) };
                        }
                    });
                }
            });
            let found = word.load(Ordering::Relaxed);
            let found = match kind {
                Kind::F32 => f64::from(f32::from_bits(found as u32)),
                Kind::F64 => f64::from_bits(found),
                _ => found as f64,
            };
            assert_eq!(found, 2.0 * EACH as f64, "{kind:?}");
        }
    }

    #[test]
    fn bits_name_kinds_and_verbs() {
        assert!(Kind::ALL.iter().all(|kind| Kind::of(*kind as u32) == Some(*kind)) && Kind::of(6).is_none());
        assert!(Verb::ALL.iter().all(|verb| Verb::of(*verb as u32) == Some(*verb)) && Verb::of(13).is_none());
    }
}
