//! The cells of collectives under loom. It tries every order in which the accesses of two members can fall, with at
//! most two preemptions. The window is two, so that the third number uses the first one's slot again. Tests are named
//! after the rules of `coll/cells.rs`.

#![allow(unsafe_code)] // handlers and memory as clients have them

use super::lent::Lent;
use super::models::{Bells, adapters};
use super::world::{Node, Shape, create, nodes_with};
use crate::am::region::COLLECTIVE;
use crate::coll::area::{self, Block};
use crate::coll::cells::{CellPath, Cells, WORDS, Word};
use crate::coll::handlers;
use crate::coll::reach::{Connect, MemberReach};
use crate::coll::team::{Images, Team};
use crate::explore::explore;
use crate::peers::places::Places;
use crate::sci::heap::Heap;
use crate::sci::{Adapter, Interrupt, LocalMap, NodeId, Placement, RemoteMap, RemoteSegment};
use crate::sync::Ordering;
use loom::thread;
use std::sync::Arc;
use std::time::Duration;

struct Member {
    node: Node<Heap>,
    team: Team<Heap>,
    /// The other member's region, for stores of bytes beside the cells.
    other: <Heap as Adapter>::Remote,
    own: <Heap as Adapter>::Local,
    /// The other member's region as this member maps it, for loads.
    others: <Heap as Adapter>::Local,
    /// Who touches the lines of a number: the member that writes them, or the one that reads them.
    lent: Arc<Lent>,
    _region: <Heap as Adapter>::LocalSegment,
}

/// Offset in the region of the bytes that cells announce: behind the block of cells.
fn beside() -> usize {
    Block::new(2, false).bytes().next_multiple_of(64)
}

/// Offset of the bytes sent ahead: those of one buffer.
const AHEAD: usize = area::BUFFER;

/// `direct`: members store cells; otherwise cells go as messages.
fn members(direct: bool, threaded: bool, bells: Bells) -> Vec<Member> {
    let mut shape = Shape { threaded, ..Shape::new(2, 2) };
    shape.config.spin = Some(3);
    let adapters = adapters(2, bells);
    let block = Block::new(2, false);
    let regions: Vec<_> = adapters.iter().map(|adapter| create(adapter, COLLECTIVE, beside() + AHEAD)).collect();
    let locals: Vec<_> = regions.iter().map(|(_, map)| map.clone()).collect();
    let made = nodes_with(&shape, &adapters, |rank, library| {
        handlers::register(library, locals[rank as usize].clone(), Arc::default());
    });
    let lent = Arc::new(Lent::default());
    let member = |((me, node), (segment, own)): ((usize, Node<Heap>), (_, <Heap as Adapter>::Local))| {
        let reach = |rank: u16| {
            let segment = adapters[me].connect(NodeId(rank), COLLECTIVE, Duration::ZERO).unwrap();
            segment.map(0, beside() + AHEAD, Placement::Anywhere).unwrap()
        };
        let adapter = adapters[me].clone();
        let connect: Connect<Heap> = Box::new(move |rank| {
            let segment = adapter.connect(NodeId(rank as u16), COLLECTIVE, Duration::ZERO)?;
            Ok(segment.map(0, beside() + AHEAD, Placement::Anywhere)?)
        });
        let paths = (0..2).map(|rank| CellPath::new(rank, 0)).collect();
        let to_all = MemberReach::new(me as u32, 2, Arc::new(Places::on(&[0, 0])), direct.then_some(connect));
        let cells = Cells::new(me, block, own.clone(), paths, Arc::new(to_all));
        (0..2).for_each(|member| drop(cells.map(member))); // connecting is not part of the models
        // SAFETY: one thread uses each member.
        let team = unsafe { Team::new(false, false, cells, Images::One(2), 0) };
        Member {
            node,
            team,
            other: reach(1 - me as u16),
            own,
            others: locals[1 - me].clone(),
            lent: lent.clone(),
            _region: segment,
        }
    };
    made.into_iter().enumerate().zip(regions).map(member).collect()
}

/// Checks `first` on member 0 against `second` on member 1.
fn model(first: impl Fn(&Member) + Sync + Send + 'static, second: impl Fn(&Member) + Sync + Send + 'static) {
    model_of(true, Bells::Silent, first, second);
}

/// Like [`model`]. `direct` says whether cells are stored or go as messages.
fn model_of(
    direct: bool,
    bells: Bells,
    first: impl Fn(&Member) + Sync + Send + 'static,
    second: impl Fn(&Member) + Sync + Send + 'static,
) {
    let (first, second) = (Arc::new(first), Arc::new(second));
    explore(move || {
        let made = Arc::new(members(direct, false, bells));
        let (others, second) = (made.clone(), second.clone());
        let peer = thread::spawn(move || second(&others[1]));
        first(&made[0]);
        peer.join().unwrap();
    });
}

fn until(ready: impl Fn() -> bool) {
    while !ready() {
        thread::yield_now();
    }
}

impl Member {
    /// Takes the next number and waits until it may be used.
    fn begin(&self) -> u32 {
        let seq = self.team.reserve(1);
        until(|| self.team.is_usable(seq));
        seq
    }

    fn send(&self, seq: u32) {
        let values = [u64::from(seq) * 10, u64::from(seq) * 10 + 1];
        self.team.cells.send(&self.node.am, 1 - self.team.me(), seq, seq + 100, &values);
    }

    /// Waits for the message of `seq` and checks that it is whole.
    fn take(&self, seq: u32) {
        let from = 1 - self.team.me();
        until(|| self.team.cells.head(seq, from).is_some());
        assert_eq!(self.team.cells.head(seq, from), Some(seq + 100));
        assert_eq!(self.team.cells.body(seq, from, 2)[..2], [u64::from(seq) * 10, u64::from(seq) * 10 + 1]);
    }

    fn end(&self, seq: u32) {
        self.team.retire(&self.node.am, seq, 1);
    }
}

#[test]
fn loom_cells_are_written_again_only_when_their_reader_has_retired_them() {
    model(
        |a| {
            for _ in 0..4 {
                let seq = a.begin();
                a.lent.fill(seq);
                a.send(seq);
                a.end(seq);
            }
        },
        |b| {
            for _ in 0..4 {
                let seq = b.begin();
                b.take(seq);
                b.lent.read(seq);
                b.end(seq);
            }
        },
    );
}

#[test]
fn loom_cells_carry_both_ways_over_a_window_and_a_half() {
    fn both(m: &Member) {
        for _ in 0..3 {
            let seq = m.begin();
            m.send(seq);
            m.take(seq);
            m.end(seq);
        }
    }
    model(both, both);
}

/// The answers of the second number use the same lines as those of the first. Tags tell them apart.
#[test]
fn loom_cells_announce_bytes_beside_them_and_answers_free_those() {
    model(
        |a| {
            let seq = a.begin();
            for chunk in 1..=3u32 {
                // There is room for one chunk. It is free when the reader has taken the chunk before.
                until(|| chunk == 1 || a.team.cells.answered(seq, 1, Word::Taken) == Some(chunk - 1));
                a.other.store(beside(), &[u64::from(chunk) * 7]);
                match chunk {
                    1 => a.team.cells.send(&a.node.am, 1, seq, chunk, &[9]),
                    _ => a.team.cells.update(&a.node.am, 1, seq, chunk),
                }
            }
            a.end(seq);
        },
        |b| {
            let seq = b.begin();
            for chunk in 1..=3u32 {
                until(|| b.team.cells.head(seq, 0) == Some(chunk));
                // Relaxed: ordered by the Acquire in `head`.
                let word = b.own.word(beside()).load(Ordering::Relaxed);
                assert_eq!((word, b.team.cells.body(seq, 0, 1)[0]), (u64::from(chunk) * 7, 9));
                b.team.cells.answer(&b.node.am, 0, seq, Word::Taken, chunk);
            }
            b.end(seq);
        },
    );
}

/// The receiver's handler stores the cells, as it does for the library's own messages.
#[test]
fn loom_cells_that_go_as_messages_arrive_whole_and_both_ways() {
    fn both(m: &Member) {
        for _ in 0..2 {
            let seq = m.team.reserve(1);
            m.send(seq);
            until(|| {
                m.node.am.poll();
                m.team.cells.head(seq, 1 - m.team.me()).is_some()
            });
            m.take(seq);
        }
    }
    model_of(false, Bells::Silent, both, both);
}

/// One thread of the receiver polls, and so stores the cells, while another looks at them.
#[test]
fn loom_cells_that_go_as_messages_are_whole_for_a_thread_that_does_not_poll() {
    explore(|| {
        let made = Arc::new(members(false, true, Bells::Silent));
        made[0].send(1);
        let (poller, reader) = (made.clone(), made.clone());
        let poller = thread::spawn(move || drop(poller[1].node.am.poll()));
        if reader[1].team.cells.head(1, 0).is_some() {
            reader[1].take(1);
        }
        poller.join().unwrap();
    });
}

/// No member answers. Each number uses the only part again.
#[test]
fn loom_cells_announce_bytes_sent_ahead_which_stay_until_their_number_is_retired() {
    fn at(m: &Member, seq: u32) -> usize {
        beside() + area::part(m.team.cells.window(), seq).0
    }
    model(
        |a| {
            for _ in 0..4 {
                let seq = a.begin();
                until(|| a.team.is_part_free(seq));
                // Relaxed: as bytes of a client are copied; the message orders them.
                a.own.word(at(a, seq)).store(u64::from(seq) * 7, Ordering::Relaxed);
                a.team.cells.send(&a.node.am, 1, seq, seq, &[at(a, seq) as u64]);
                a.end(seq);
            }
        },
        |b| {
            for _ in 0..4 {
                let seq = b.begin();
                until(|| b.team.cells.head(seq, 0).is_some());
                let at = b.team.cells.body(seq, 0, 1)[0] as usize;
                // Relaxed: ordered by the Acquire in `head`.
                assert_eq!(b.others.word(at).load(Ordering::Relaxed), u64::from(seq) * 7);
                b.end(seq);
            }
        },
    );
}

/// The messages use their second line too, while the same member writes an answer beside them.
#[test]
fn loom_cells_carry_messages_of_two_lines_whole() {
    let words = |seq: u32| std::array::from_fn::<u64, WORDS, _>(|i| u64::from(seq) << 8 | i as u64);
    model(
        move |a| {
            for _ in 0..3 {
                let seq = a.begin();
                a.team.cells.answer(&a.node.am, 1, seq, Word::Enter, 5);
                a.team.cells.send(&a.node.am, 1, seq, seq, &words(seq));
                a.end(seq);
            }
        },
        move |b| {
            for _ in 0..3 {
                let seq = b.begin();
                until(|| b.team.cells.head(seq, 0).is_some());
                assert_eq!(b.team.cells.body(seq, 0, WORDS), words(seq));
                assert_eq!(b.team.cells.answered(seq, 0, Word::Enter), Some(5));
                b.end(seq);
            }
        },
    );
}

/// Loom reports it if the sleeper is never woken.
#[test]
fn loom_cells_lose_no_wake_up_between_a_message_and_a_sleeper() {
    model_of(
        true,
        Bells::Wake,
        |a| {
            let seq = a.begin();
            a.send(seq);
        },
        |b| {
            let seq = b.begin();
            b.node.am.interrupt.arm();
            if b.team.cells.head(seq, 0).is_none() {
                assert!(b.node.am.interrupt.wait(Duration::MAX));
                assert!(b.team.cells.head(seq, 0).is_some(), "a woken member finds the message");
            }
            b.node.am.interrupt.disarm();
        },
    );
}

#[test]
fn loom_cells_lose_no_wake_up_between_a_credit_and_who_waits_for_it() {
    model_of(
        true,
        Bells::Wake,
        |a| {
            (0..2).for_each(|_| {
                let seq = a.begin();
                a.send(seq);
                a.end(seq);
            });
            let seq = a.team.reserve(1);
            a.node.am.interrupt.arm();
            if !a.team.is_usable(seq) {
                assert!(a.node.am.interrupt.wait(Duration::MAX));
                assert!(a.team.is_usable(seq), "a woken member finds the credit");
            }
            a.node.am.interrupt.disarm();
        },
        |b| {
            let seq = b.begin();
            b.take(seq);
            b.end(seq);
        },
    );
}
