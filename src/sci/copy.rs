//! The copy of the header's inline transfers, where its length is no short constant, and of messages' payloads.
//!
//! It is memmove, but for 64 bytes to 16 KiB on the processors that it was measured on: a put of 1 KiB takes 20 cycles
//! there, so each cycle that the header spends before it costs 5 % of the bandwidth. This copy wins them back, because it
//! tests nothing but the length. Bandwidth beside glibc 2.36, whose variant for this processor is as wide (Xeon with AVX512-FP16,
//! 2026-11; means of 23 misalignments, bytes in L1, L2, L3): 512 B 1.00, 1.04, 1.08; 1 KiB 1.06, 1.16, 1.14; 2 KiB
//! 1.04, 1.07, 1.09; 4 KiB 1.24, 1.03, 0.97; 8 KiB 1.10, 1.02, 0.98; 16 KiB 1.02, 1.01, 0.98. Below 64 bytes nothing
//! can be gained, and beyond 16 KiB no gain was found. Time of a put with memmove to that with this copy (EPYC 9004, 2026-11,
//! pages aligned, bytes in L1 and L2): 256 B 1.15, 1 KiB 1.15, 2 KiB 1.00, 4 KiB 1.18, 8 KiB 1.03, 16 KiB 1.07.
//!
//! Both processors have AVX512-BF16. Of the older Xeons with AVX512, on which this copy was not measured, Cooper Lake alone has it.
//!
//! In assembly, because the places of branches decide: the same in Rust, where the compiler chooses them, took 25 %
//! longer.
//! Must not know: segments, nodes.

#![allow(unsafe_code)] // mapped memory, system calls

use std::ffi::c_void;
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use crate::sync::fixed::{AtomicU64, Ordering};

/// So many lengths from 64 on are copied here: none before [`prepare`], or where the processor is another one.
#[cfg(target_arch = "x86_64")]
static LENGTHS: AtomicU64 = AtomicU64::new(0);

/// Looks what the processor has.
pub(crate) fn prepare() {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512bf16") {
        LENGTHS.store(16384 - 64 + 1, Ordering::Relaxed); // relaxed: nothing depends on it, the bytes arrive either way
    }
}

/// The lengths that are copied here on this processor; empty: every copy is memmove's.
pub fn own_lengths() -> Range<u64> {
    prepare();
    #[cfg(target_arch = "x86_64")]
    return 64..64 + LENGTHS.load(Ordering::Relaxed); // relaxed: as in `prepare`
    #[cfg(not(target_arch = "x86_64"))]
    return 64..64;
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn memmove(to: *mut c_void, from: *const c_void, nbytes: usize) -> *mut c_void;
}

/// Copies bytes. Source and target may be the same memory; if they overlap in part, the bytes that arrive are undefined.
/// Pointers to no bytes may be null. Checks nothing, counts nothing.
///
/// # Safety
/// As memcpy.
#[unsafe(no_mangle)]
#[cfg_attr(target_arch = "x86_64", unsafe(naked))]
pub unsafe extern "C" fn gasneti_sci_memcpy(to: *mut c_void, from: *const c_void, nbytes: usize) {
    // rdi: to, rsi: from, rdx: nbytes. No caller keeps values in zmm16 and up, and they need no vzeroupper. The symbols go by the global
    // offset table, because clients may link the archive into libraries of theirs.
    #[cfg(target_arch = "x86_64")]
    std::arch::naked_asm!(
        "lea rax, [rdx - 64]",
        "mov rcx, [rip + {lengths}@GOTPCREL]",
        "cmp rax, [rcx]",
        "jae 9f",
        "cmp rdx, 512",
        "ja 5f",
        // Up to 512 bytes: lines from both ends, which may overlap; all loads before the first store.
        "vmovdqu64 zmm16, [rsi]",
        "vmovdqu64 zmm17, [rsi + rdx - 64]",
        "cmp rdx, 128",
        "ja 2f",
        "vmovdqu64 [rdi], zmm16",
        "vmovdqu64 [rdi + rdx - 64], zmm17",
        "ret",
        "2:",
        "vmovdqu64 zmm18, [rsi + 64]",
        "vmovdqu64 zmm19, [rsi + rdx - 128]",
        "cmp rdx, 256",
        "ja 3f",
        "vmovdqu64 [rdi], zmm16",
        "vmovdqu64 [rdi + 64], zmm18",
        "vmovdqu64 [rdi + rdx - 128], zmm19",
        "vmovdqu64 [rdi + rdx - 64], zmm17",
        "ret",
        "3:",
        "vmovdqu64 zmm20, [rsi + 128]",
        "vmovdqu64 zmm21, [rsi + 192]",
        "vmovdqu64 zmm22, [rsi + rdx - 256]",
        "vmovdqu64 zmm23, [rsi + rdx - 192]",
        "vmovdqu64 [rdi], zmm16",
        "vmovdqu64 [rdi + 64], zmm18",
        "vmovdqu64 [rdi + 128], zmm20",
        "vmovdqu64 [rdi + 192], zmm21",
        "vmovdqu64 [rdi + rdx - 256], zmm22",
        "vmovdqu64 [rdi + rdx - 192], zmm23",
        "vmovdqu64 [rdi + rdx - 128], zmm19",
        "vmovdqu64 [rdi + rdx - 64], zmm17",
        "ret",
        // Longer ones: the first line as it lies, then whole lines of the target, two at a time, until 256 bytes at
        // most are left; the last 256 as they lie, loaded late: a page apart from what was stored just before, as
        // in a transfer between the same places of two segments, they would wait. rcx: place in the target, rsi:
        // from - to. The loop lies within one line of code: across two it takes half as long again while somebody else
        // has the other half of the core (2 KiB 16.8 -> 25.5 ns; memmove's own does so too).
        "5:",
        "vmovdqu64 zmm16, [rsi]",
        "mov rcx, rdi",
        "or rcx, 63",
        "inc rcx",
        "sub rsi, rdi",
        "vmovdqu64 [rdi], zmm16",
        "lea rdx, [rdi + rdx - 256]",
        ".p2align 6",
        "6:",
        "vmovdqu64 zmm16, [rsi + rcx]",
        "vmovdqu64 zmm17, [rsi + rcx + 64]",
        "vmovdqa64 [rcx], zmm16",
        "vmovdqa64 [rcx + 64], zmm17",
        "sub rcx, -128",
        "cmp rcx, rdx",
        "jb 6b",
        "vmovdqu64 zmm16, [rsi + rdx]",
        "vmovdqu64 zmm17, [rsi + rdx + 64]",
        "vmovdqu64 zmm18, [rsi + rdx + 128]",
        "vmovdqu64 zmm19, [rsi + rdx + 192]",
        "vmovdqu64 [rdx], zmm16",
        "vmovdqu64 [rdx + 64], zmm17",
        "vmovdqu64 [rdx + 128], zmm18",
        "vmovdqu64 [rdx + 192], zmm19",
        "ret",
        "9:",
        "jmp [rip + {memmove}@GOTPCREL]",
        lengths = sym LENGTHS,
        memmove = sym memmove,
    );
    // SAFETY: the caller promises what memcpy wants; `copy`, because the two may coincide.
    #[cfg(not(target_arch = "x86_64"))]
    unsafe {
        std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), nbytes)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_arrives_whole_and_alone() {
        const ROOM: usize = 17_000;
        prepare();
        let source: Vec<u8> = (0..ROOM + 200).map(|i| (i * 7 + i / 256) as u8).collect();
        let mut target = vec![0u8; ROOM + 200];
        let lengths = (0..700)
            .chain((700..5000).step_by(13))
            .chain((5000..16_500).step_by(977))
            .chain([4095, 4096, 4097, 16_383, 16_384, 16_385]);
        for len in lengths {
            for (to, from) in [(64, 64), (65, 64), (64, 65), (71, 71), (127, 100)] {
                target.fill(0xee);
                let (place, bytes) = (target[to..to + len].as_mut_ptr(), source[from..from + len].as_ptr());
                // SAFETY: `len` bytes of each vector.
                unsafe { gasneti_sci_memcpy(place.cast(), bytes.cast(), len) };
                assert!(target[to..to + len] == source[from..from + len], "{len} bytes from {from} to {to}");
                assert!(
                    target[..to].iter().chain(&target[to + len..]).all(|&byte| byte == 0xee),
                    "{len} bytes to {to}"
                );
            }
        }
    }

    #[test]
    fn a_copy_onto_itself_changes_nothing_and_nothing_is_copied_from_nowhere() {
        prepare();
        let source: Vec<u8> = (0..5000).map(|i| (i % 251) as u8).collect();
        let mut both = source.clone();
        for len in [1, 64, 100, 300, 512, 513, 1024, 4096, 5000] {
            let place = both.as_mut_ptr();
            // SAFETY: inside the vector.
            unsafe { gasneti_sci_memcpy(place.cast(), place.cast(), len) };
            assert_eq!(both, source);
        }
        // SAFETY: no bytes.
        unsafe { gasneti_sci_memcpy(std::ptr::null_mut(), std::ptr::null(), 0) };
    }
}
