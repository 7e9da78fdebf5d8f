use super::*;
use std::collections::HashSet;
use std::sync::Mutex;

/// The board of many members, who are all this thread.
struct Board<'a>(&'a Mutex<Vec<[u64; 2]>>, usize, Mutex<HashSet<usize>>);

impl ArrivalCells for Board<'_> {
    fn members(&self) -> usize {
        self.0.lock().unwrap().len()
    }
    fn me(&self) -> usize {
        self.1
    }
    fn arrive(&self, member: usize, _: usize, _: u64) {
        panic!("member {member} is told")
    }
    fn arrival(&self, member: usize, _: usize) -> u64 {
        panic!("member {member} is heard")
    }
    fn post(&self, parity: usize, word: u64) {
        self.0.lock().unwrap()[self.1][parity] = word;
    }
    fn posted(&self, member: usize, parity: usize) -> u64 {
        self.0.lock().unwrap()[member][parity]
    }
    fn wake(&self, member: usize) {
        assert!(self.2.lock().unwrap().insert(member), "woken twice");
    }
}

#[test]
fn each_of_many_members_tells_once_and_the_last_one_wakes_all_others() {
    const MANY: usize = 300;
    let cells = Mutex::new(vec![[0; 2]; MANY]);
    let boards: Vec<_> = (0..MANY).map(|me| Board(&cells, me, Mutex::default())).collect();
    // SAFETY: one thread.
    let new = |me| unsafe { Barrier::new(false, Plan::board(me, MANY)) };
    let barriers: Vec<_> = (0..MANY).map(new).collect();
    for phase in 0..5 {
        let last = phase * 71 % MANY;
        for me in (0..MANY).filter(|me| *me != last) {
            barriers[me].notify(&boards[me], 7, 0).unwrap();
            assert_eq!(barriers[me].finished(&boards[me], 7, 0).unwrap(), None);
            assert!(boards[me].2.lock().unwrap().is_empty());
        }
        barriers[last].notify(&boards[last], if phase == 3 { 8 } else { 7 }, 0).unwrap();
        let woken = std::mem::take(&mut *boards[last].2.lock().unwrap());
        assert_eq!(woken, (0..MANY).filter(|me| *me != last).collect());
        for me in 0..MANY {
            assert_eq!(barriers[me].finished(&boards[me], 7, 0).unwrap(), Some(phase != 3));
        }
    }
}

#[test]
fn cells_keep_all_bits_of_name_and_phase() {
    for phase in [1, 2, 0x3fff_ffff] {
        for c in [Consensus::Anonymous, Consensus::Mismatch, Consensus::Named(0), Consensus::Named(i32::MIN)] {
            assert_eq!(CellWord::new(phase, c).arrival(phase), Some(c));
            assert_eq!(CellWord::new(phase, c).arrival(phase - 1), None);
        }
    }
}

#[test]
fn consensus_follows_the_table() {
    use Consensus::*;
    for (a, b, both) in [
        (Anonymous, Anonymous, Anonymous),
        (Anonymous, Named(0), Named(0)),
        (Named(7), Named(7), Named(7)),
        (Named(0), Named(-1), Mismatch),
        (Named(1), Named(1 | 1 << 31 >> 1), Mismatch),
        (Mismatch, Anonymous, Mismatch),
        (Named(1), Mismatch, Mismatch),
    ] {
        assert_eq!(a.and(b), both);
        assert_eq!(b.and(a), both);
    }
    assert_eq!(Consensus::of(3, MISMATCH | ANONYMOUS), Mismatch);
}

/// Who arrives on the board wakes nobody but when it sees that all are there. Nobody may sleep through that.
#[cfg(loom)]
mod loom_models {
    use super::super::*;
    use crate::explore::explore;
    use crate::sync::{AtomicBool, AtomicU64};
    use loom::thread;
    use std::sync::Arc;

    const MEMBERS: usize = 3;

    #[derive(Default)]
    struct Board {
        cells: [AtomicU64; MEMBERS],
        sleeps: [AtomicBool; MEMBERS],
        is_woken: [AtomicBool; MEMBERS],
    }

    /// One member's view. One phase, so one parity.
    struct Member(Arc<Board>, usize);

    impl ArrivalCells for Member {
        fn members(&self) -> usize {
            MEMBERS
        }
        fn me(&self) -> usize {
            self.1
        }
        fn arrive(&self, _: usize, _: usize, _: u64) {
            unreachable!("nobody is told")
        }
        fn arrival(&self, _: usize, _: usize) -> u64 {
            unreachable!("nobody is heard but on the board")
        }
        fn post(&self, _: usize, word: u64) {
            self.0.cells[self.1].store(word, Ordering::Release); // ORDERING: as that of `Am`
        }
        fn posted(&self, member: usize, _: usize) -> u64 {
            self.0.cells[member].load(Ordering::Acquire) // ORDERING: as that of `Am`
        }
        // As a bell: it looks whether anybody sleeps there.
        fn wake(&self, member: usize) {
            if self.0.sleeps[member].load(Ordering::Relaxed) {
                self.0.is_woken[member].store(true, Ordering::Relaxed);
            }
        }
    }

    /// Arrives, and falls asleep if it does not see that all are there. Returns whether it sleeps.
    fn arrive_and_sleep(board: &Arc<Board>, me: usize) -> bool {
        let member = Member(board.clone(), me);
        // SAFETY: one thread for each member.
        let barrier = unsafe { Barrier::new(false, Plan::board(me, MEMBERS)) };
        barrier.notify(&member, 1, 0).unwrap();
        board.sleeps[me].store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst); // ORDERING: as that of a sleeper (`sci/interrupt.rs`)
        barrier.finished(&member, 1, 0).unwrap().is_none()
    }

    #[test]
    fn loom_nobody_sleeps_through_the_last_arrival_on_a_board() {
        explore(|| {
            let board = Arc::new(Board::default());
            let others: Vec<_> = (1..MEMBERS)
                .map(|me| {
                    let board = board.clone();
                    thread::spawn(move || arrive_and_sleep(&board, me))
                })
                .collect();
            let first = arrive_and_sleep(&board, 0);
            let mut sleep = vec![first];
            sleep.extend(others.into_iter().map(|other| other.join().unwrap()));
            for (me, sleeps) in sleep.into_iter().enumerate() {
                assert!(!sleeps || board.is_woken[me].load(Ordering::Relaxed), "member {me} sleeps for ever");
            }
        });
    }
}
