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

/// Makes the counters and their list, so that none is forgotten in it.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident = $shown:literal,)*) => {
        /// How often each case of the protocol's table has occurred.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counts {
            /// All of them, with the names that the statistics have.
            pub fn list(self) -> Vec<(&'static str, u64)> {
                vec![$(($shown, self.$name)),*]
            }

            /// Adds those of another link.
            pub fn add(&mut self, other: Counts) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counts! {
    /// Packets sent for the first time.
    sent = "UDP packets",
    /// Packets sent again.
    repeated = "UDP packets sent again",
    /// DATA before the number that is expected: its acknowledgement was late or lost.
    data_before = "UDP data before",
    /// DATA as expected.
    data_expected = "UDP data as expected",
    /// DATA behind a gap.
    data_behind = "UDP data behind a gap",
    /// DATA for which there was no memory.
    data_refused = "UDP data refused",
    /// DATA behind a gap that has come before.
    data_twice = "UDP data twice",
    /// ACK of what was acknowledged before.
    ack_before = "UDP ack before",
    /// ACK that frees packets.
    ack_expected = "UDP ack as expected",
    /// ACK of a packet behind one that is not acknowledged.
    ack_behind = "UDP ack behind a gap",
    /// ACK of what was never sent.
    ack_of_nothing = "UDP ack of nothing",
    /// NACK with packets under way.
    nack = "UDP nack",
    /// NACK without packets under way.
    nack_of_nothing = "UDP nack of nothing",
    /// BUSY.
    busy = "UDP busy",
    /// Timeouts.
    timeouts = "UDP timeouts",
    /// Packets found to be lost by later ones.
    lost = "UDP packets found lost",
    /// Datagrams that were damaged, or not the peer's.
    damaged = "UDP datagrams damaged",
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
