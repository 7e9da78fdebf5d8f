//! What nodes read of each other at the start: the hand-off, the job's header, bulletins, the environment, extents.

use super::Input;
use crate::job::header::{BULLETIN, JobHeader};
use crate::job::state::attach::is_possible;
use crate::job::state::wiring::check_agreement;
use crate::job::{boot, environment};
use crate::sci::Placement;
use crate::sync::Ordering;
use std::sync::OnceLock;

const NODES: u32 = 3;

/// One header for all runs: headers stay mapped for ever.
fn header() -> &'static JobHeader {
    static HEADER: OnceLock<JobHeader> = OnceLock::new();
    HEADER.get_or_init(|| JobHeader::create(NODES).expect("memory for a header").1)
}

pub(super) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.u8() % 4 {
        0 => {
            let text = String::from_utf8_lossy(input.rest());
            if let Ok(place) = boot::parse(&text) {
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

/// Any node may write any word of the header.
fn words(input: &mut Input<'_>) {
    let header = header();
    let all = header.words();
    for _ in 0..input.below(40) {
        let at = input.below(256);
        // Of 512 words those of the fixed part and of the records are the first ones.
        all[at % all.len()].store(input.any(), Ordering::Relaxed); // Relaxed: one thread
    }
    let _ = header.verify(NODES, input.any());
    let _ = (header.cookie(), header.supervisor(), header.exit_code());
    for record in header.records() {
        let _ = (record.pid(), record.phase(), record.exit_code());
    }
    let posted: Vec<[u64; BULLETIN]> = (0..header.nodes()).map(|rank| header.posted(rank)).collect();
    for me in 0..NODES {
        let _ = check_agreement(me, &posted);
    }
    let cores = crate::am::wait::shared_cores(header.cpus(), input.any() as u32);
    assert!(cores > 0, "each node has a core at least");
    let _ = crate::am::wait::Waiter::new(NODES, cores, None);
    header.post(1, &posted[0]);
    header.record_exit(input.u8());
}

/// Where a peer says that its segment is.
fn segments(input: &mut Input<'_>) {
    let (base, len) = (input.any() as usize, input.any() as usize);
    let place = if input.u8() & 1 == 0 { Placement::Anywhere } else { Placement::At(input.any() as usize) };
    if is_possible(base, len, place) {
        assert!(base.is_multiple_of(4096) && len.is_multiple_of(4096) && base.checked_add(len).is_some());
        assert!(!matches!(place, Placement::At(address) if address != base));
    }
}
