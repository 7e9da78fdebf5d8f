//! Floods to mail boxes: many messages are run in a row, while the numbers of requests wrap round and slots are given back.

use crate::deck::owner::Credit;
use crate::deck::{Failure, LINE_MOST, Until};
use crate::sci::heap::Heap;
use crate::sci::reorder::Reorder;
use crate::testkit::party::{Options, Party, letter, pattern};
use crate::testkit::shipping::{Apart, Paired, Together};
use crate::testkit::world::{Kit, Shape, Watchdog, tests_over};

/// Messages of a run, so many that each kind of wrap lies within.
const MANY: u32 = 700;

/// The bytes of message `number`. One in eight is too long for a line, and so ends a run of messages of one form.
fn content(number: u32) -> Vec<u8> {
    let len = if number % 8 == 5 { LINE_MOST + 40 } else { number as usize % (LINE_MOST + 1) };
    pattern(1, number, len)
}

/// Node 1 posts as much as it can, then node 0 polls and retrieves all that has come. `burst`: messages that are posted in a row, at most.
fn flood<A: Kit>(start: u32, slots: u32, burst: u32) {
    let mut shape = Shape { start, ..Shape::new(2, slots) };
    shape.config.spin = Some(0);
    let options = Options { limit: 1000, boxes: 4, heap: 64 << 10, near: true };
    let party = Party::new(&shape, &A::kit(2, start.into()), options, |_, _| ());
    let own = party.help(0, |deck| deck.open(None, Credit { messages: 128, bytes: 1 << 20 })).unwrap();
    let to = party.help(1, |deck| deck.handle(own.id, false));
    let (mut posted, mut retrieved) = (0, 0);
    while retrieved < MANY {
        for _ in 0..burst.min(MANY - posted) {
            match party.alone(1, |deck| deck.post(&to, &letter(&content(posted)), Until::Now)) {
                Ok(()) => posted += 1,
                Err(Failure::Again) => break, // no room, or no credits yet
                Err(failure) => panic!("message {posted}: {failure:?}"),
            }
        }
        party.poll(0);
        while let Ok(message) = party.alone(0, |deck| deck.take(&own, Until::Now)) {
            assert_eq!(message.bytes(), content(retrieved), "message {retrieved}, start {start:#x}, {slots} slots");
            retrieved += 1;
        }
        party.poll(1);
        party.tables(0); // checks the credits
    }
    party.settle();
    assert_eq!([0, 1].map(|node| party.tables(node).due), [0, 0], "nothing is left to be sent");
}

fn from_starts<A: Kit>(all_slots: &[u32], bursts: &[u32]) {
    let _watch = Watchdog::start();
    for slots in all_slots.iter().copied() {
        let laps = |n: u32| n.wrapping_mul(slots);
        // Where the count wraps, where the batch of 65,536 does, and where the sequence does.
        for start in [0, 0u32.wrapping_sub(300), 0xffff - 300, laps(0xffff) - 50, laps(0x8000) - 50] {
            for burst in bursts {
                flood::<A>(start, slots, *burst);
            }
        }
    }
}

#[test]
fn floods_to_boxes_keep_order_and_bytes_where_numbers_wrap() {
    let (slots, bursts) = ([4, 64, 256], [1, 7, 40, 300]);
    from_starts::<Heap>(&slots, &bursts);
    from_starts::<Reorder<Heap>>(&slots, &bursts);
    // Numbers wrap in the engine. What is left to see here are the short and the long runs of stores.
    from_starts::<Together>(&slots, &bursts[2..]);
    from_starts::<Apart>(&slots[1..], &bursts[2..]);
    from_starts::<Paired>(&slots[1..2], &bursts[2..3]);
}

fn retrievals_in_a_row_give_room_although_no_call_follows<A: Kit>() {
    let _watch = Watchdog::start();
    // `before`: messages retrieved earlier, so that polls after so many calls fall at different places among those that follow.
    for (before, taken) in [(0u32, 32), (0, 64), (10, 33), (10, 64), (40, 49), (40, 64), (63, 63), (63, 64)] {
        let mut shape = Shape::new(2, 256);
        shape.config.spin = Some(0);
        let options = Options { limit: 1000, boxes: 4, heap: 64 << 10, near: true };
        let party = Party::new(&shape, &A::kit(2, 0), options, |_, _| ());
        let own = party.help(0, |deck| deck.open(None, Credit { messages: 64, bytes: 1 << 20 })).unwrap();
        let to = party.help(1, |deck| deck.handle(own.id, false));
        let post = || party.alone(1, |deck| deck.post(&to, &letter(&[1]), Until::Now)).is_ok();
        let fill = |count: u32| {
            for _ in 0..count {
                while !post() {
                    party.settle();
                }
            }
            party.settle();
        };
        let take =
            |count: u32| (0..count).for_each(|_| drop(party.alone(0, |deck| deck.take(&own, Until::Now)).unwrap()));
        fill(before);
        take(before);
        fill(64);
        assert!(!post(), "the box is full");
        take(taken);
        party.poll(1);
        // Credits go back a quarter of the box at a time: less than that is still due.
        let room = (0..64).filter(|_| post()).count();
        assert!(room + 16 > taken as usize, "{room} after {taken} were taken, {before} before");
    }
}

tests_over! { [Heap, Together, Apart, Paired]:
    retrievals_in_a_row_give_room_although_no_call_follows,
}
