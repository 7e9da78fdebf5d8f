//! Announcements, the looks for them, and first contact under loom, in the manner of `models`. These are jobs in
//! which not all peers are predicted, jobs of more than one group, nodes that have never talked to each other, and
//! nodes of several threads.

use super::models::{Bells, ECHO, NOTE, act, made};
use super::world::{Node, Shape};
use crate::am::wait::Look;
use crate::explore::explore;
use crate::sci::Interrupt;
use crate::sci::heap::Heap;
use loom::thread;
use std::sync::Arc;
use std::time::Duration;

/// The part of one thread.
type Part = fn(&Node<Heap>);

/// A job of `nodes` nodes, of which only those in `active` take part.
fn job(nodes: u32, active: &[u32], threaded: bool) -> Vec<Node<Heap>> {
    let mut shape = Shape { active: active.to_vec(), threaded, ..Shape::new(nodes, 2) };
    shape.config.spin = Some(1);
    made(&shape, Bells::Wake)
}

/// Checks parts against each other. Each part is a thread of the active node with its number. `last` runs when all
/// are done.
fn model<const PARTS: usize>(
    job: fn() -> Vec<Node<Heap>>,
    parts: [(usize, Part); PARTS],
    last: fn(&[Node<Heap>], Vec<i32>),
) {
    explore(move || {
        let made = Arc::new(job());
        let play = |(node, part): (usize, Part)| {
            let made = made.clone();
            move || {
                act(&made[node], part);
                made[node].noted()
            }
        };
        let others: Vec<_> = parts[1..].iter().map(|part| thread::spawn(play(*part))).collect();
        let mut noted = play(parts[0])();
        others.into_iter().for_each(|other| noted.extend(other.join().unwrap()));
        noted.sort_unstable();
        last(&made, noted);
    });
}

impl Node<Heap> {
    /// Waits until handlers of this thread have noted `count` values. Each round is a thorough poll, a quick look,
    /// and a sleep without end. Loom reports it if no peer wakes the thread.
    fn sleep_until(&self, count: usize) {
        let mut noted = Vec::new();
        while noted.len() < count {
            self.am.poll();
            self.am.poll();
            self.am.interrupt.arm();
            noted.extend(self.noted());
            if noted.len() < count && !self.am.look(Look::Last).did {
                assert!(self.am.interrupt.wait(Duration::MAX));
            }
            self.am.interrupt.disarm();
            noted.extend(self.noted());
        }
        noted.iter().for_each(|value| super::models::log(*value));
    }
}

/// Rank 3 of 4 is not predicted. Its ready count announces the message.
#[test]
fn loom_news_of_a_peer_that_is_not_predicted_ends_a_sleep() {
    let parts: [(usize, Part); 2] = [(0, |a| a.sleep_until(2)), (1, |b| (1..=2).for_each(|i| b.short(0, NOTE, i)))];
    model(|| job(4, &[0, 3], false), parts, |_, noted| assert_eq!(noted, [1, 2]));
}

#[test]
fn loom_news_of_two_peers_on_one_line_ends_a_sleep() {
    let parts: [(usize, Part); 3] =
        [(0, |a| a.sleep_until(2)), (1, |b| b.short(0, NOTE, 1)), (2, |c| c.short(0, NOTE, 2))];
    model(|| job(5, &[0, 3, 4], false), parts, |_, noted| assert_eq!(noted, [1, 2]));
}

/// Ranks 8 and 9 of 10 write the same exist word. The receiver clears it for one of them while the other writes it.
#[test]
fn loom_news_of_two_peers_by_one_exist_word_ends_a_sleep() {
    let parts: [(usize, Part); 2] = [(0, |a| a.sleep_until(2)), (1, |b| b.short(0, NOTE, 1))];
    let job = || {
        let made = job(10, &[0, 8, 9], false);
        act(&made[2], |c| c.short(0, NOTE, 2));
        made
    };
    model(job, parts, |_, noted| assert_eq!(noted, [1, 2]));
}

#[test]
fn loom_news_that_come_while_an_exist_word_is_cleared_end_a_sleep() {
    let parts: [(usize, Part); 2] = [(0, |a| a.sleep_until(2)), (1, |b| (1..=2).for_each(|i| b.short(0, NOTE, i)))];
    model(|| job(10, &[0, 8], false), parts, |_, noted| assert_eq!(noted, [1, 2]));
}

#[test]
fn loom_an_answer_announced_by_an_exist_word_ends_a_sleep() {
    let asks = |a: &Node<Heap>| {
        a.short(8, ECHO, 1);
        a.sleep_until(1);
    };
    model(|| job(10, &[0, 8], false), [(0, asks), (1, |b| b.sleep_until(1))], |_, noted| assert_eq!(noted, [1, 101]));
}

#[test]
fn loom_first_contact_may_come_from_both_sides_at_once() {
    let parts: [(usize, Part); 2] = [
        (0, |a| {
            a.short(1, ECHO, 1);
            a.sleep_until(2);
        }),
        (1, |b| {
            b.short(0, ECHO, 2);
            b.sleep_until(2);
        }),
    ];
    model(|| job(2, &[0, 1], false), parts, |_, noted| assert_eq!(noted, [1, 2, 101, 102]));
}

fn threads() -> Vec<Node<Heap>> {
    job(2, &[0, 1], true)
}

/// Two threads make the queue to a peer at once. Both use the one that is kept.
#[test]
fn loom_first_contact_of_two_threads_makes_one_way() {
    let parts: [(usize, Part); 2] = [(0, |a| a.short(1, NOTE, 1)), (0, |a| a.short(1, NOTE, 2))];
    model(threads, parts, |made, _| {
        assert_eq!(made[0].am.peers[1].outstanding(), 2);
        act(&made[1], |b| {
            let mut noted = b.serve_until(2);
            noted.sort_unstable();
            assert_eq!(noted, [1, 2]);
        });
    });
}

/// One thread makes the queue and sends; the other polls, and runs the answer.
#[test]
fn loom_who_polls_beside_a_first_contact_knows_the_way() {
    let parts: [(usize, Part); 3] =
        [(0, |a| a.short(1, ECHO, 1)), (0, |a| (0..2).for_each(|_| drop(a.am.poll()))), (1, |b| b.sleep_until(1))];
    model(threads, parts, |made, mut noted| {
        if noted == [1] {
            act(&made[0], |a| drop(a.serve_until(1)));
            noted.push(101);
        }
        assert_eq!(noted, [1, 101]);
        assert_eq!(made[0].am.peers[1].outstanding(), 0);
    });
}

/// Two threads poll and one of them runs the message. A thread that returned because the other held the inbox finds
/// the next message.
#[test]
fn loom_two_threads_that_poll_run_each_message_once() {
    let polls = |b: &Node<Heap>| (0..2).for_each(|_| drop(b.am.poll()));
    let parts: [(usize, Part); 3] = [(0, |a| a.short(1, NOTE, 1)), (1, polls), (1, polls)];
    model(threads, parts, |made, noted| {
        act(&made[1], |b| {
            b.am.look(Look::Last);
            assert_eq!([&noted[..], &b.noted()].concat(), [1]);
        });
    });
}
