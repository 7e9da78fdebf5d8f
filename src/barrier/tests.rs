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
