//! The two sets of rules of the reliable protocol, and counters of what happens in it.
//!
//! | rule | seed: ParaStation2's | normal |
//! |---|---|---|
//! | numbers | 8 bits, from 0 | 32 bits, from a number that the caller chooses |
//! | packets under way | 8 | what congestion and the peer's window allow, at most 4,096 |
//! | acknowledgement | of each packet, alone | of all before a number, and of 64 behind it; rides on packets |
//! | a packet behind a gap | is refused (NACK), and all under way are sent again | is kept, and what is missing is sent again |
//! | no memory for a packet | NACK | BUSY; the sender asks (PING) until there is some |
//! | a timeout | of each packet, 20 ms | of the link, by its round trips |
//! | the peer is dead | never | after a time without any sign |

/// The rules of a link. Both ends have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Seed mode.
    pub is_seed: bool,
    /// Bits of a number that travel.
    bits: u32,
    /// The most packets under way.
    pub window: u32,
}

impl Mode {
    /// ParaStation2's.
    pub const SEED: Mode = Mode { is_seed: true, bits: 8, window: 8 };
    /// Selective, with congestion control.
    pub const NORMAL: Mode = Mode { is_seed: false, bits: 32, window: 4096 };

    /// A mode small enough to try everything.
    #[cfg(test)]
    pub(super) fn tiny(is_seed: bool) -> Mode {
        Mode { is_seed, bits: if is_seed { 2 } else { 32 }, window: 2 }
    }

    /// The number that is nearest to `near` of those that travel as `told`.
    pub fn number(self, near: u32, told: u32) -> u32 {
        let rest = 32 - self.bits;
        near.wrapping_add_signed((told.wrapping_sub(near) << rest).cast_signed() >> rest)
    }

    /// As a number travels.
    pub fn told(self, number: u32) -> u32 {
        number << (32 - self.bits) >> (32 - self.bits)
    }
}

/// How far `number` is ahead of `of`, around the end of the numbers.
pub fn ahead(number: u32, of: u32) -> i32 {
    number.wrapping_sub(of).cast_signed()
}

/// How often each case of the protocol's table has occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent for the first time.
    pub sent: u64,
    /// Packets sent again.
    pub repeated: u64,
    /// DATA before the number that is expected: its acknowledgement was late or lost.
    pub data_before: u64,
    /// DATA as expected.
    pub data_expected: u64,
    /// DATA behind a gap.
    pub data_behind: u64,
    /// DATA for which there was no memory.
    pub data_refused: u64,
    /// DATA behind a gap that has come before.
    pub data_twice: u64,
    /// ACK of what was acknowledged before.
    pub ack_before: u64,
    /// ACK that frees packets.
    pub ack_expected: u64,
    /// ACK of a packet behind one that is not acknowledged.
    pub ack_behind: u64,
    /// ACK of what was never sent.
    pub ack_of_nothing: u64,
    /// NACK with packets under way; without.
    pub nack: u64,
    /// NACK without packets under way.
    pub nack_of_nothing: u64,
    /// BUSY.
    pub busy: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Times that a packet was found to be lost by later ones.
    pub lost: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bits_name_the_nearest_number() {
        for near in [0u32, 5, 127, 128, 250, 255, 256, 1000, u32::MAX] {
            for step in -100..100 {
                let number = near.wrapping_add_signed(step);
                assert_eq!(Mode::SEED.number(near, Mode::SEED.told(number)), number);
                assert_eq!(ahead(number, near), step);
            }
        }
    }
}
