//! What a sender does with answers by the rules of the seed.
//!
//! Must not know: what packets carry, sockets.

use super::{Outbox, State, ahead};

impl Outbox {
    /// Seed mode: exactly this packet has come.
    pub fn acknowledged_one(&mut self, told: u32) {
        let number = self.mode.number(self.first, told);
        match ahead(number, self.first) {
            0 if self.begun > 0 => {
                self.counts.ack_expected += 1;
                self.free(number.wrapping_add(1));
                self.limit = self.first.wrapping_add(self.mode.window);
            }
            step if step > 0 && (step as usize) < self.begun => {
                // An earlier acknowledgement is lost. Both are made again: this packet is sent again, and the other one after its timeout.
                self.counts.ack_behind += 1;
                let at = step as usize;
                if self.packets[at].state == State::Flying {
                    self.packets[at].state = State::Lost;
                    (self.flying, self.lost) = (self.flying - 1, self.lost + 1);
                }
            }
            step if step >= 0 => self.counts.ack_of_nothing += 1,
            _ => self.counts.ack_before += 1,
        }
    }

    /// Seed mode: something was refused. All that are under way are sent again.
    pub fn refused(&mut self) {
        match self.lose(|_| true) {
            0 => self.counts.nack_of_nothing += 1,
            _ => self.counts.nack += 1,
        }
    }
}
