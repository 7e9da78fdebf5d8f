//! Numbers that wrap round: request counts after 2³², sequences after 2¹⁵ laps.

use super::steps::{ECHO, NOTE, Steps, note_of};
use super::traffic::{mixed, travel};
use super::world::{Kit, Shape, Steady, over_all_adapters, tests_over};
use crate::sci::heap::Heap;
use crate::testkit::shipping::Together;

fn from_start<A: Kit>(start: u32, slots: u32, answers: u64) {
    let shape = Shape { start, ..Shape::new(2, slots) };
    travel::<A>(&shape, 500, 5, &mixed(u64::from(start), 600, answers, 500), &|_| {});
}

fn from_starts<A: Kit>(answers: u64) {
    for slots in [4, 64] {
        let laps = |n: u32| n.wrapping_mul(slots);
        // Where the count wraps, where the batch of 65,536 does, and where the sequence does.
        for start in [0u32.wrapping_sub(200), 0xffff - 200, laps(0xffff) - 50, laps(0x7fff) - 50, laps(0x8000) - 50] {
            from_start::<A>(start, slots, answers);
        }
    }
}

#[test]
fn counts_of_requests_wrap() {
    for answers in [0, 8, 16] {
        over_all_adapters!(from_starts, answers);
    }
}

/// `laps` laps of requests without answer, then one request with an answer.
fn silent_laps<A: Steady>(steps: &Steps<A>, laps: u32) {
    for i in 0..laps * 4 {
        steps.request(0, 1, NOTE, i as i32);
        steps.poll(1);
        assert_eq!(steps.take_log(), [(0, i as i32)], "request {i}");
    }
}

fn a_reply_slot_never_written_is_no_reply_when_the_sequence_comes_round<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(2, 4));
    silent_laps(&steps, 0x1_0004);
    steps.request(0, 1, ECHO, 7);
    assert_eq!(steps.poll_until_quiet(1), [(0, 7)]);
    assert_eq!(steps.poll_until_quiet(0), [(1, note_of(7))]);
}

fn an_old_reply_is_not_run_again_when_the_sequence_comes_round<A: Steady>() {
    let steps = Steps::<A>::new(&Shape::new(2, 4));
    for i in 0..4 {
        steps.request(0, 1, ECHO, i);
        assert_eq!(steps.poll_until_quiet(1), [(0, i)]);
        assert_eq!(steps.poll_until_quiet(0), [(1, note_of(i))]);
    }
    for _ in 0..3 {
        silent_laps(&steps, 0x7fff);
        assert_eq!(steps.poll_until_quiet(0), []);
        silent_laps(&steps, 1);
        assert_eq!(steps.poll_until_quiet(0), []);
        silent_laps(&steps, 1);
        assert_eq!(steps.poll_until_quiet(0), []);
    }
}

// A wire would carry each of some hundred thousand messages by itself.
tests_over! { [Heap, Together]:
    a_reply_slot_never_written_is_no_reply_when_the_sequence_comes_round,
    an_old_reply_is_not_run_again_when_the_sequence_comes_round,
}
