//! `gasnet-sci bench --layers`: what a message costs on each layer that programs use, from Active Messages up to PVM. It is table 3 of the
//! ParaStation2 paper, which its authors made to show what each layer adds to the one below.
//!
//! The layers take turns: each pass runs all of them once. Figures are medians over the rounds of all passes. A layer that this host does
//! not have is a line that says so.

mod curve;
mod peers;
mod text;

pub use text::write;

use super::jobs::Settings;
use super::plan::{self, Job, Trip};
use crate::results::{Bench, Host, VERSION};
use curve::Curve;
use gasnet_sci_place::progress::Progress;
use peers::Place;
use std::io;

/// The layers, from the lowest to the highest: the name, and what the paper has for it.
const LAYERS: [(&str, Option<Paper>); 8] = [
    (plan::HAL, Some(Paper { latency: 14.5, rate: 90.0, half: 512.0 })),
    (plan::PORTS, Some(Paper { latency: 18.7, rate: 78.0, half: 1000.0 })),
    (RINGS, Some(Paper { latency: 20.2, rate: 76.0, half: 1000.0 })),
    (TCP, None),
    (MPI[0].0, Some(Paper { latency: 25.0, rate: 73.0, half: 2000.0 })),
    (MPI[1].0, None),
    (MPI[2].0, None),
    (PVM, Some(Paper { latency: 30.0, rate: 58.0, half: 2000.0 })),
];

const RINGS: &str = "TCP by rings";
const TCP: &str = "TCP";
/// The ways of Open MPI, and the name of each component.
const MPI: [(&str, &str); 3] = [("MPI, sci", "sci"), ("MPI, vader", "vader"), ("MPI, tcp", "tcp")];
const PVM: &str = "PVM";

/// The paper's figures on Pentiums of 350 MHz with Linux: microseconds, MB/s, bytes.
struct Paper {
    latency: f64,
    rate: f64,
    half: f64,
}

/// How often all layers have their turn.
const PASSES: u32 = 5;
const QUICK_PASSES: u32 = 2;

/// Measures all layers.
pub fn run(settings: &Settings) -> io::Result<Bench> {
    let passes = settings.rounds.min(if settings.quick { QUICK_PASSES } else { PASSES });
    let each = settings.rounds.div_ceil(passes);
    let settings = Settings { rounds: each, sections: "layers".into(), ..settings.clone() };
    let place = Place::new(&settings)?;
    // A step for each layer's turn, and one for ours, whose jobs have no steps of their own here.
    let progress = Progress::new(super::jobs::NAME, u64::from(passes) * (1 + place.programs().len() as u64));
    let mut curves: Vec<Curve> = LAYERS.iter().map(|(who, _)| Curve::new(who)).collect();
    let mut missing: Vec<(&str, String)> = Vec::new();
    for pass in 0..passes {
        progress.say("layers of this library");
        own(&settings, &mut curves)?;
        progress.advance(1);
        let mut others = place.programs();
        if pass % 2 == 1 {
            others.reverse(); // who comes behind whom changes
        }
        for (who, run) in others {
            progress.say(who);
            progress.advance(1);
            if missing.iter().any(|(other, _)| *other == who) {
                continue;
            }
            match run() {
                Ok(samples) => {
                    samples.into_iter().for_each(|(trip, bytes, ns)| of(&mut curves, who).add(trip, bytes, ns))
                }
                Err(why) => missing.push((who, why)),
            }
        }
    }
    let found = curves.iter().filter(|curve| missing.iter().all(|(who, _)| *who != curve.who));
    let results = found.flat_map(Curve::rows).collect();
    missing.sort_by_key(|(who, _)| LAYERS.iter().position(|(layer, _)| layer == who));
    let missing = missing.into_iter().map(|(who, why)| format!("{who}: {why}")).collect();
    let host = Host::look(settings.cpus.len());
    let tricks = Some(super::tricks::look()?);
    Ok(Bench { version: VERSION, host, tricks, rounds: each * passes, results, missing })
}

fn of<'a>(curves: &'a mut [Curve], who: &str) -> &'a mut Curve {
    curves.iter_mut().find(|curve| curve.who == who).expect("all layers have a curve")
}

/// The layers of this library, in a job of two nodes.
fn own(settings: &Settings, curves: &mut [Curve]) -> io::Result<()> {
    let samples = settings.run(Job::Layers)?.samples;
    for (plan::Layer { who, trip, bytes, .. }, samples) in plan::layers().zip(samples) {
        let part = if trip == Trip::Exchange { 1.0 } else { 2.0 };
        samples.ours.into_iter().for_each(|ns| of(curves, who).add(trip, bytes, ns / part));
    }
    Ok(())
}
