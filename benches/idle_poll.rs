//! What does a poll cost that finds nothing, in jobs of 2 to 1,024 nodes?
//!
//! One process plays node 0; its peers exist as far as it can see, and are silent. Each row is the least and the median of
//! many rounds, so that what else the machine does hardly shows. `cargo bench --bench idle_poll`.

use gasnet_sci::am::peers::Reach;
use gasnet_sci::am::{Am, Wiring};
use gasnet_sci::config::Config;
use gasnet_sci::error::Error;
use gasnet_sci::region::{COMMAND, CONTROL, Layout};
use gasnet_sci::sci::heap::{Heap, HeapFabric};
use gasnet_sci::sci::{Adapter, LocalSegment, NodeId, Placement};
use gasnet_sci::wait::Waiter;
use std::time::Instant;

const ROUNDS: usize = 400;
const POLLS: u32 = 10_000;

/// Nobody is ever sent anything.
struct Silence;

impl Reach<Heap> for Silence {
    fn post(&self, peer: u32) -> Result<(<Heap as Adapter>::Remote, <Heap as Adapter>::RemoteInterrupt), Error> {
        Err(Error::resource(format_args!("node {peer} was sent something")))
    }

    fn queue(&self, peer: u32) -> Result<<Heap as Adapter>::Remote, Error> {
        Err(Error::resource(format_args!("node {peer} was sent something")))
    }
}

fn nanoseconds(nodes: u32) -> Result<Vec<f64>, Error> {
    let adapter = Heap::join(&HeapFabric::new(nodes), NodeId(0))?;
    let config = Config::default();
    let layout = Layout::new(nodes, config.slots);
    let control = adapter.create(CONTROL, layout.control_len())?;
    let command = adapter.create(COMMAND, layout.command_len())?;
    let wiring = Wiring {
        me: 0,
        threaded: false,
        layout,
        command: command.map(Placement::Anywhere)?,
        control: control.map(Placement::Anywhere)?,
        interrupt: adapter.interrupt()?,
        reach: Box::new(Silence),
        queue: adapter.dma_queue(1)?,
    };
    // SAFETY: one thread.
    let am = unsafe { Am::new(wiring, &config, &adapter, Waiter::new(nodes, 2, None)) };
    let round = |_| {
        let start = Instant::now();
        (0..POLLS).for_each(|_| am.poll_in_loop());
        start.elapsed().as_nanos() as f64 / f64::from(POLLS)
    };
    let mut rounds: Vec<f64> = (0..ROUNDS).map(round).collect();
    rounds.sort_unstable_by(f64::total_cmp);
    Ok(rounds)
}

fn main() -> Result<(), String> {
    println!(
        "{:>6} {:>9} {:>9}   ns per poll that finds nothing, of {ROUNDS} rounds of {POLLS}",
        "nodes", "least", "median"
    );
    for nodes in [2, 4, 8, 64, 65, 256, 1024] {
        let rounds = nanoseconds(nodes).map_err(|error| error.to_string())?;
        println!("{nodes:>6} {:>9.2} {:>9.2}", rounds[0], rounds[ROUNDS / 2]);
    }
    Ok(())
}
