//! Credits and turns of a box.

use super::*;

impl Own {
    /// A message of `node` has come. False: it had no credit for it.
    fn arrived(&mut self, node: u32, item: Item) -> bool {
        let Item { content, len } = item;
        let is_taken = self.deliver(node, len, None::<fn(&mut Message)>, || content).is_some();
        self.check_credits();
        is_taken
    }
}

const ID: BoxId = BoxId { owner: 1, index: 2, serial: 3 };

fn own(messages: u64, bytes: u64) -> Own {
    Own::new(ID, None, Credit { messages, bytes })
}

fn lacks(bytes: u64) -> Credit {
    Credit { messages: 1, bytes }
}

#[test]
fn who_lacks_bytes_alone_gets_no_messages() {
    let mut own = own(2, 1000);
    assert_eq!(own.ask(1, lacks(10), true), Credit { messages: 1, bytes: 500 });
    assert_eq!(own.ask(1, lacks(0), true).messages, 1);
    let more = own.ask(1, Credit { messages: 0, bytes: 400 }, true);
    assert_eq!(more, Credit { messages: 0, bytes: 400 }, "although no message is free");
}

#[test]
fn while_senders_wait_all_return_what_they_have_and_what_they_get() {
    let mut own = own(100, 1000);
    assert_eq!(own.ask(1, lacks(900), true).bytes, 900);
    assert_eq!(own.ask(2, lacks(200), true), Credit::default());
    assert_eq!(own.ask(3, lacks(50), true), Credit::default(), "there is enough, but it is not its turn");
    assert_eq!(recalled(&mut own), [1]);
    assert!(recalled(&mut own).is_empty(), "once");
    assert!(own.answered(1) && !own.answered(1) && own.returned(1, Credit { messages: 25, bytes: 150 }));
    let (two, three) = (own.serve_next().unwrap(), own.ask(4, lacks(1000), true));
    assert_eq!((two.0, two.1.bytes, three), (2, 200, Credit::default()));
    assert_eq!(own.serve_next().map(|(node, credit)| (node, credit.bytes)), Some((3, 50)));
    assert_eq!(recalled(&mut own), [1, 2, 3], "who has got something since");
    assert!(own.returned(1, Credit { messages: 0, bytes: 750 }) && own.returned(2, two.1));
    assert!(own.serve_next().is_none(), "50 bytes of node 3 are missing");
    assert!(own.answered(3) && own.returned(3, Credit { messages: 0, bytes: 50 }));
    assert_eq!(own.serve_next().unwrap().0, 4);
    assert!(recalled(&mut own).is_empty(), "nobody waits");
}

fn recalled(own: &mut Own) -> Vec<u32> {
    let mut all = Vec::new();
    own.recall(|node| all.push(node));
    all
}

fn item(len: usize) -> Item {
    Item { content: Content::Line([0; 7]), len }
}

#[test]
fn all_room_is_given_before_anybody_waits() {
    let mut own = own(10, 1000);
    let mut sum = Credit::default();
    for _ in 0..100 {
        let got = own.ask(7, lacks(1), true);
        if got == Credit::default() {
            break;
        }
        sum = Credit { messages: sum.messages + got.messages, bytes: sum.bytes + got.bytes };
    }
    assert_eq!(sum.messages, 10);
    assert!(sum.bytes <= 1000 && own.is_awaited());
    assert!(own.arrived(7, item(5)), "it has the credit");
    assert!(own.serve_next().is_none());
    assert_eq!(own.take().unwrap().0, 7);
    assert_eq!(own.serve_next().unwrap().0, 7);
    assert!(!own.is_awaited());
}

#[test]
fn what_others_do_not_use_comes_back() {
    let mut own = own(4, 100);
    let first = own.ask(1, lacks(100), true);
    assert_eq!(first, Credit { messages: 1, bytes: 100 });
    assert_eq!(own.ask(2, lacks(1), true), Credit::default());
    assert_eq!(recalled(&mut own), [1]);
    assert!(!own.returned(1, Credit { messages: 2, bytes: 0 }) && own.returned(1, first));
    assert_eq!(own.serve_next().unwrap().0, 2);
}

#[test]
fn a_message_longer_than_the_box_goes_alone() {
    let mut own = own(4, 100);
    let all = Credit { messages: 4, bytes: 100 };
    assert_eq!(own.ask(1, lacks(5000), true), all);
    assert!(own.arrived(1, item(5000)));
    assert_eq!((own.ask(2, lacks(1), false), own.ask(2, lacks(0), false)), Default::default());
    assert!(own.take().is_some() && own.ask(2, lacks(0), false).messages > 0);
    assert!(own.arrived(2, item(0)));
    assert_eq!(own.ask(1, lacks(101), true), Credit::default(), "a message of 0 bytes is there");
    assert_eq!(own.ask(3, lacks(0), false), Credit::default(), "the longer one is next");
    assert!(own.take().is_some() && own.serve_next().is_none(), "node 2 has credits");
    let others = own.account(2).granted;
    assert!(own.returned(2, others));
    assert_eq!(own.serve_next(), Some((1, all)));
    // A node that has some already, and only tries, lacks the rest.
    assert!(own.returned(1, Credit { messages: 3, bytes: 99 }));
    assert_eq!(own.ask(1, Credit { messages: 3, bytes: 99 }, false), Credit { messages: 3, bytes: 99 });
    assert!(own.arrived(1, item(101)));
}

#[test]
fn credits_of_the_dead_are_free_and_their_whole_messages_stay() {
    let mut own = own(8, 100);
    own.ask(1, lacks(100), true);
    assert!(own.arrived(1, item(60)) && own.piece(1, 0, 30, (0, 10), |_| ()).is_ok());
    assert_eq!((own.ask(1, lacks(50), true), own.ask(2, lacks(40), true)), Default::default());
    own.bury(1);
    own.bury(3);
    assert_eq!(own.serve_next(), Some((2, Credit { messages: 1, bytes: 40 })), "node 1 waited first");
    assert!(own.piece(1, 0, 30, (10, 20), |_| ()).is_err(), "of no message");
    assert!(own.pending() == 1 && own.take().is_some_and(|(node, _)| node == 1));
    assert!(own.serve_next().is_none() && !own.is_awaited());
}

/// Takes the next message out, as a retrieval does. Returns what its sender gets back at once.
fn retrieve(own: &mut Own) -> Option<(u32, Credit)> {
    let payer = own.next(&mut Message::new(Storage::default(), 0, false), &mut None).unwrap();
    let back = if payer.is_due { own.give_back(payer.place) } else { None };
    own.check_credits();
    back
}

#[test]
fn the_messages_of_a_sender_go_back_a_quarter_of_the_box_at_a_time() {
    let mut own = own(8, 1 << 20);
    for _ in 0..8 {
        own.ask(1, lacks(1), true);
        assert!(own.arrived(1, item(1)));
    }
    assert_eq!(retrieve(&mut own), None);
    assert_eq!(own.ask(1, lacks(1), false).messages, 1, "it asks before that is due");
    assert_eq!(retrieve(&mut own), None, "that begins to count again when it gets some");
    assert_eq!(retrieve(&mut own), Some((1, Credit { messages: 2, bytes: 2 })));
}

#[test]
fn the_only_sender_gets_half_of_the_bytes_and_back_what_it_has_used_of_them() {
    let mut own = own(1024, 16 << 20);
    let long = |own: &mut Own, node, bytes| assert!(own.arrived(node, item(bytes)));
    assert_eq!(own.ask(1, lacks(4 << 20), true), Credit { messages: 256, bytes: 8 << 20 });
    long(&mut own, 1, 4 << 20);
    assert_eq!(retrieve(&mut own), None, "it has enough for another one");
    long(&mut own, 1, 4 << 20);
    assert_eq!(retrieve(&mut own), Some((1, Credit { messages: 2, bytes: 8 << 20 })));
    for _ in 0..10 {
        long(&mut own, 1, 5 << 20);
        assert_eq!(retrieve(&mut own).unwrap().1.bytes, 5 << 20, "it has not enough for another one");
    }
    assert_eq!(own.ask(2, lacks(1 << 20), true).bytes, 2 << 20, "a quarter of what is free");
    long(&mut own, 2, 2 << 20);
    assert_eq!(retrieve(&mut own), None);
    assert_eq!(own.ask(2, lacks(2 << 20), true).bytes, 2 << 20);
    long(&mut own, 2, 2 << 20);
    assert_eq!(retrieve(&mut own), None, "that begins to count again when it gets some");
    // The first one has 8 MiB of credits, and is no longer the only one.
    for (bytes, back) in [(4, None), (4, Some(8)), (4, Some(0)), (4, Some(4)), (3, None), (1, Some(4))] {
        long(&mut own, 1, bytes << 20);
        assert_eq!(retrieve(&mut own).map(|(_, credit)| credit.bytes), back.map(|mib| mib << 20), "{bytes}");
    }
}

#[test]
fn who_asks_for_messages_alone_leaves_bytes_to_others() {
    for (senders, left) in [(1, 500), (2, 250)] {
        let mut own = own(1 << 20, 1000);
        for _ in 0..20 {
            (1..=senders).for_each(|node| assert!(own.ask(node, lacks(0), true).messages > 0));
        }
        assert!(own.ask(3, lacks(left), false).bytes >= left, "{senders}");
    }
}

#[test]
fn the_dead_get_nothing_back() {
    let mut own = own(1, 100);
    own.ask(1, lacks(1), true);
    assert!(own.arrived(1, item(1)));
    own.bury(1);
    assert_eq!(retrieve(&mut own), None);
    assert_eq!(own.ask(2, lacks(100), false), Credit { messages: 1, bytes: 100 });
}

#[test]
fn senders_have_their_turns() {
    let mut own = own(1024, 1 << 20);
    for node in 0..3 {
        for _ in 0..(node + 1) * 4 {
            own.ask(node, lacks(1), true);
            assert!(own.arrived(node, item(1)));
        }
    }
    let order: Vec<u32> = std::iter::from_fn(|| own.take().map(|(node, _)| node)).collect();
    assert_eq!(order[..12], [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(order.len(), 24);
    assert!(own.first().is_none() && own.pending() == 0);
}

#[test]
fn nobody_sends_without_credit() {
    let mut own = own(1024, 1 << 20);
    assert!(!own.arrived(3, item(1)));
    assert_eq!(own.piece(3, 0, 100, (0, 10), |_| ()).unwrap_err(), Refused::Nonsense);
}

#[test]
fn pieces_come_in_their_order_and_fit() {
    let mut own = own(1024, 1 << 20);
    own.ask(3, lacks(1000), true);
    let put = |at: *mut u8| assert!(!at.is_null());
    let refused = |own: &mut Own, stream, place| own.piece(3, stream, 100, place, put).is_err();
    assert!(own.piece(3, 9, 100, (0, 60), put).unwrap().is_none());
    assert!(refused(&mut own, 9, (0, 60)), "it has begun");
    assert!(refused(&mut own, 9, (50, 40)), "not the next bytes");
    assert!(refused(&mut own, 9, (60, 41)), "too many");
    assert!(refused(&mut own, 8, (60, 40)), "another thread");
    let whole = own.piece(3, 9, 100, (60, 40), put).unwrap().unwrap();
    assert_eq!(whole.len, 100);
    assert!(own.arrived(3, whole));
}

#[test]
fn no_more_messages_begin_than_there_are_credits_for() {
    let mut own = own(8, 200);
    assert_eq!(own.ask(3, lacks(100), true), Credit { messages: 2, bytes: 100 });
    let put = |_| ();
    assert!(own.piece(3, 1, 60, (0, 10), put).is_ok());
    assert!(own.piece(3, 2, 60, (0, 10), put).is_err(), "both would take 120 bytes");
    assert!(own.piece(3, 2, 40, (0, 10), put).is_ok());
    assert!(own.piece(3, 3, 0, (0, 0), put).is_err(), "a third message");
    let whole = own.piece(3, 1, 60, (10, 50), put).unwrap().unwrap();
    assert!(own.arrived(3, whole));
    assert!(own.piece(3, 3, 0, (0, 0), put).is_err(), "there are credits for the one that has begun alone");
}

#[test]
fn a_thread_that_waits_gets_a_message_in_its_memory_or_as_an_item_or_not_at_all() {
    use crate::deck::receive_slot::ReceiveSlot;
    let mut own = own(8, 1000);
    let fixed = |capacity| Message::new(Storage::Local(Bytes::new(capacity).unwrap()), capacity, true);
    let bytes = || Content::Bytes(Bytes::new(100).unwrap());
    for (mut message, stores, item) in [(fixed(200), true, false), (fixed(200), false, true), (fixed(99), true, false)]
    {
        let is_too_small = message.capacity < 100;
        assert!(own.ask(1, lacks(100), true).messages > 0);
        let slot = ReceiveSlot::new(&mut message);
        own.receive_slot = Some(slot.listed());
        let store = stores.then_some(|message: &mut Message| message.filled(100, 1));
        let came = own.deliver(1, 100, store, bytes);
        own.check_credits();
        assert_eq!(matches!(came, Some(Came::Granted(..))), !is_too_small);
        assert_eq!((slot.is_granted(), own.receive_slot.is_some()), (!is_too_small, is_too_small));
        let taken = slot.into_taken();
        assert_eq!(taken.is_some(), item);
        assert!(
            taken.is_none_or(|(node, item)| node == 1 && item.len == 100 && matches!(item.content, Content::Bytes(_)))
        );
        assert_eq!(message.size, if stores && !is_too_small { 100 } else { 0 });
        own.receive_slot = None;
    }
    assert_eq!(own.pending(), 1, "the one that was too long for its thread waits in the box");
}
