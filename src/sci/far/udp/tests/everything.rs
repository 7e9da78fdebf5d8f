//! Every order in which a small link can lose, repeat and overtake datagrams, and in which its timers can run out.

use super::*;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Packets of each run.
const PACKETS: u32 = 3;
/// Steps that a schedule chooses; then everything that is sent arrives. With keys, which cannot be copied, each schedule begins anew, and an
/// exchange of them takes longer than all the rest.
const STEPS: usize = 9;
const STEPS_OF_EXCHANGE: usize = 6;

/// What a schedule does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// The datagram at a place of a direction's list arrives; `true`: a copy of it stays.
    Arrive(usize, usize, bool),
    /// It is lost.
    Lose(usize, usize),
    /// The time goes on to the next timer.
    Wait,
}

#[derive(Clone)]
struct State {
    ends: [End; 2],
    now: u64,
    flying: [Vec<Vec<u8>>; 2],
}

impl State {
    fn begin(mode: Mode, protection: Protection) -> State {
        let first = if mode.is_seed { 0 } else { u32::MAX };
        let mut ends = match protection {
            Protection::Made(_) => [0, 1].map(|me| End::new(mode, me, first, 100, protection)),
            _ => open(mode, first, protection),
        };
        (0..PACKETS).for_each(|_| ends[0].push(0, false));
        let mut state = State { ends, now: 100, flying: Default::default() };
        state.send();
        state
    }

    fn send(&mut self) {
        for from in [0, 1] {
            self.ends[from].pipe.on_timer(self.now);
            self.flying[1 - from].extend(self.ends[from].datagrams(self.now));
        }
    }

    fn acts(&self) -> Vec<Act> {
        let mut acts = vec![Act::Wait];
        for to in [0, 1] {
            // The first two can overtake each other; copies of more would only make it longer.
            for at in 0..self.flying[to].len().min(2) {
                acts.extend([Act::Arrive(to, at, false), Act::Lose(to, at)]);
                if self.flying[to].len() < 4 {
                    acts.push(Act::Arrive(to, at, true));
                }
            }
        }
        acts
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Arrive(to, at, stays) => {
                let datagram = self.flying[to][at].clone();
                if !stays {
                    self.flying[to].remove(at);
                }
                self.now += 500;
                self.ends[to].hear(self.now, &datagram);
            }
            Act::Lose(to, at) => drop(self.flying[to].remove(at)),
            Act::Wait => {
                let at = self.ends.iter().map(|end| end.pipe.timer()).min().unwrap_or(0);
                self.now = at.max(self.now + 1);
                self.ends.iter_mut().for_each(|end| end.pipe.on_timer(self.now));
            }
        }
        self.send();
    }

    fn is_over(&self) -> bool {
        self.ends[0].pipe.waiting() == 0
    }

    /// From here on nothing is lost: the packets must arrive.
    fn finish(&mut self, path: &[Act]) {
        for _ in 0..200 {
            if self.is_over() {
                break;
            }
            let to = usize::from(!self.flying[1].is_empty());
            self.act(if self.flying[to].is_empty() { Act::Wait } else { Act::Arrive(to, 0, false) });
        }
        assert!(self.is_over() && self.ends[1].got.is_whole(PACKETS as usize), "it hangs after {path:?}");
    }

    /// What decides all that can follow, without the times of the past.
    fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let kinds = |list: &Vec<Vec<u8>>| list.iter().map(|d| (d[3], d[20..36].to_vec())).collect::<Vec<_>>();
        (kinds(&self.flying[0]), kinds(&self.flying[1]), &self.ends[1].got.times).hash(&mut hasher);
        (self.ends[0].pipe.waiting(), self.ends[0].pipe.describe()).hash(&mut hasher);
        self.ends[1].pipe.describe().hash(&mut hasher);
        hasher.finish()
    }
}

fn replay(mode: Mode, protection: Protection, path: &[Act]) -> State {
    let mut state = State::begin(mode, protection);
    path.iter().for_each(|act| state.act(*act));
    state
}

fn try_everything(mode: Mode, protection: Protection, steps: usize) -> usize {
    let mut known = HashSet::new();
    let mut front = vec![Vec::new()];
    for _ in 0..steps {
        let mut next = Vec::new();
        for path in front {
            let before = replay(mode, protection, &path);
            for act in before.acts() {
                let mut longer: Vec<Act> = path.clone();
                longer.push(act);
                let mut state = match protection {
                    Protection::None => before.clone(),
                    _ => replay(mode, protection, &path),
                };
                state.act(act);
                if known.insert(state.key()) {
                    let is_over = state.is_over();
                    state.finish(&longer);
                    if !is_over {
                        next.push(longer);
                    }
                }
            }
        }
        front = next;
    }
    known.len()
}

#[test]
fn three_packets_arrive_once_and_in_order_whatever_is_lost_repeated_or_late() {
    for is_seed in [true, false] {
        let states = try_everything(Mode::tiny(is_seed), Protection::None, STEPS);
        assert!(states > 1_000, "{states} states");
    }
}

#[test]
fn protected_packets_arrive_once_and_in_order_whatever_is_lost_repeated_or_late() {
    for is_seed in [true, false] {
        let states = try_everything(Mode::tiny(is_seed), Protection::Known, STEPS - 2);
        assert!(states > 300, "{states} states");
    }
}

#[test]
fn nodes_make_keys_and_meet_whatever_is_lost_repeated_or_late() {
    let states = try_everything(Mode::tiny(false), Protection::Made(SECRET), STEPS_OF_EXCHANGE);
    assert!(states > 30, "{states} states");
}
