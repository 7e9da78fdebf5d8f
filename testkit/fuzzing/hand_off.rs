//! Memory and texts that nodes get from others at the start: the hand-off, the job's header, bulletins, the
//! environment, extents of segments.
//! segments.

use super::Input;
use crate::boot::{self, Bootstrap, Key, Shared, launcher};
use crate::job::environment;
use crate::job::state::attach::is_possible;
use crate::job::state::wiring::{InitCard, check_agreement};
use crate::sci::Placement;
use crate::supervise::JobHeader;
use crate::sync::Ordering;
use std::sync::OnceLock;

const NODES: u32 = 3;
const KEY: Key = Key::new("key");

/// One header serves all runs, because headers are never unmapped.
fn header() -> &'static JobHeader {
    static HEADER: OnceLock<JobHeader> = OnceLock::new();
    HEADER.get_or_init(|| JobHeader::create(NODES).expect("memory for a header").1)
}

pub(super) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.u8() % 4 {
        0 => {
            let text = String::from_utf8_lossy(input.rest());
            if let Ok(place) = launcher::parse(&text) {
                assert!(place.rank < place.nodes);
                let _ = JobHeader::bytes(place.nodes);
            }
        }
        1 => {
            let block = input.rest();
            let names = environment::parsed(block);
            assert!(names.keys().all(|name| !name.is_empty()) && names.len() <= block.len());
        }
        2 => words(&mut input),
        _ => segments(&mut input),
    }
}

/// Writes any words of the header, as any node may.
fn words(input: &mut Input<'_>) {
    let header = header();
    let all = header.words();
    for _ in 0..input.below(40) {
        let at = input.below(256);
        // The first of 512 words are those of the fixed part and of the records.
        all[at % all.len()].store(input.any(), Ordering::Relaxed); // Relaxed: one thread
    }
    let _ = header.verify(NODES, input.any());
    let _ = (header.cookie(), header.supervisor(), header.exit_code());
    for record in header.records() {
        let _ = (record.pid(), record.phase(), record.exit_code());
    }
    let shared = Shared::new(*header, 1);
    for rank in 0..NODES + 1 {
        let mut value = vec![0; input.below(256)];
        let _ = shared.get(rank, KEY, &mut value);
    }
    let cards: Vec<InitCard> = (0..NODES).map(|rank| boot::get_words(&shared, rank, KEY).unwrap_or_default()).collect();
    for me in 0..NODES {
        let _ = check_agreement(me, &cards);
    }
    let cores = crate::job::crowd::cores(header.cpus(), input.any() as u32);
    assert!(cores > 0, "each node has a core at least");
    let _ = crate::am::wait::Waiter::new(NODES, NODES, cores, None);
    let _ = boot::put_words(&shared, KEY, &cards[0]);
    header.record_exit(input.u8());
}

/// Extents that peers claim for their segments.
fn segments(input: &mut Input<'_>) {
    let (base, len) = (input.any() as usize, input.any() as usize);
    let place = if input.u8() & 1 == 0 { Placement::Anywhere } else { Placement::At(input.any() as usize) };
    if is_possible(base, len, place) {
        assert!(base.is_multiple_of(4096) && len.is_multiple_of(4096) && base.checked_add(len).is_some());
        assert!(!matches!(place, Placement::At(address) if address != base));
    }
}
