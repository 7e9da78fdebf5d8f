//! A run in timing mode: the adapter alone, then jobs, then what the model and the papers say of the same operations.

use super::super::plan::{self, Job};
use super::super::tricks;
use super::super::{hosts, jobs};
use super::raw::{By, Fabric};
use super::{documents, row};
use crate::results::{Bench, Host, Row, VERSION};
use clap::ArgMatches;
use gasnet_sci::base::config::Config;
use gasnet_sci::deck::LINE_MOST;
use gasnet_sci::os::topology::Topology as Cpus;
use gasnet_sci::sci::model::{Parameters, Route, Timing, Topology, fields_of_file};
use gasnet_sci_place::progress::Progress;
use std::io;

const PIO: [usize; 10] = [16, 32, 64, 256, 1 << 10, 2 << 10, 16 << 10, 32 << 10, 128 << 10, 1 << 20];
const DMA: [usize; 7] = [64, 1 << 10, 2 << 10, 16 << 10, 32 << 10, 128 << 10, 1 << 20];
const READ: [usize; 3] = [8, 64, 4 << 10];
/// Without a topology all pairs are neighbours.
const NEXT: Route = Route { hops: 1, turns: 0 };
/// Of streams over links that they share.
const STREAM: usize = 1 << 20;

/// What is measured.
struct Run {
    who: &'static str,
    hardware: Parameters,
    scale: f64,
    rounds: u64,
    rows: Vec<Row>,
}

/// Measures the sections.
pub fn run(profile: &str, options: &ArgMatches, sections: &[&str]) -> io::Result<Bench> {
    let timing = Timing::parse(profile, fields_of_file).map_err(|e| io::Error::other(format!("--timing: {e}")))?;
    let Some(timing) = timing else { return Err(io::Error::other("--timing: off is no profile")) };
    let config = Config::from_env().map_err(|error| io::Error::other(error.to_string()))?.0;
    let cpus: Vec<usize> = Cpus::read().cores.iter().map(|cpus| cpus[0]).collect();
    if cpus.len() < 2 {
        return Err(io::Error::other(format!("timing mode needs 2 cores, {} may be used", cpus.len())));
    }
    let rounds = options.get_one::<u32>("rounds").copied().unwrap_or(5);
    let who: &'static str = format!("timed {profile}").leak();
    let scale = f64::from(config.timing.scale);
    let mut run = Run { who, hardware: timing.hardware, scale, rounds: rounds.into(), rows: Vec::new() };
    let settings = jobs::Settings {
        rounds,
        quick: false,
        cpus: cpus[..2].to_vec(),
        hosts: hosts::Hosts::of(options)?,
        sections: sections.join(","),
        most: 2,
        progress: Progress::none(),
    };
    // The adapter alone counts as much as all jobs, roughly.
    let measures = plan::measures(Job::Timed, &|section| sections.contains(&section)).len();
    let [job_steps, raw] = [(measures, measures > 0), (1, sections.contains(&"sci"))]
        .map(|(many, any)| if any { settings.steps(Job::Timed, many.max(measures)) } else { 0 });
    let settings = jobs::Settings { progress: Progress::new(jobs::NAME, job_steps + raw), ..settings };
    if raw > 0 {
        settings.progress.say("the adapter alone");
        run.raw([cpus[0], cpus[1]])?;
        settings.progress.reach(raw);
    }
    run.jobs(&settings, sections, &config)?;
    run.rows.extend(documents::points(profile, sections).iter().map(documents::Point::row));
    let host = Host::look(cpus.len());
    Ok(Bench { version: VERSION, host, tricks: Some(tricks::look()?), rounds, results: run.rows, missing: Vec::new() })
}

impl Run {
    /// The rows of an operation, its time and its rate: measured, and by the model. Times are nanoseconds of the hardware.
    fn both(&mut self, section: &'static str, operations: [&str; 2], bytes: usize, measured: Vec<f64>, model: f64) {
        for (who, times) in [(self.who, measured), ("model", vec![model])] {
            let micros: Vec<f64> = times.iter().map(|time| time / 1e3).collect();
            self.rows.push(row(section, operations[0], who, bytes, "us", &micros));
            if bytes >= 64 && !operations[1].is_empty() && times.iter().all(|time| *time > 0.0) {
                let rates: Vec<f64> = times.iter().map(|time| bytes as f64 * 1e3 / time).collect();
                self.rows.push(row(section, operations[1], who, bytes, "MB/s", &rates));
            }
        }
    }

    /// Repetitions of something that takes `time` nanoseconds on the hardware: a fifth of a second for all, three at least.
    fn count(&self, time: f64) -> u64 {
        ((2e8 / (time * self.scale).max(1e3)) as u64).clamp(3, 20 * self.rounds)
    }

    /// Times of the host as times of the hardware.
    fn unscaled(&self, times: Vec<f64>) -> Vec<f64> {
        times.into_iter().map(|time| time / self.scale).collect()
    }

    /// The adapter alone.
    fn raw(&mut self, cpus: [usize; 2]) -> io::Result<()> {
        let hardware = self.hardware.clone();
        let scaled = hardware.scaled(self.scale);
        let fabric = Fabric::new(2, &scaled, Topology::Apart)?;
        for bytes in PIO {
            let model = hardware.write(bytes, NEXT);
            let times = fabric.pio(bytes, self.count(model), cpus)?;
            self.both("sci", ["PIO write, one way", "PIO write bandwidth"], bytes, self.unscaled(times), model);
        }
        for bytes in DMA {
            let model = hardware.dma(bytes, NEXT);
            let times = fabric.dma(bytes, self.count(model))?;
            self.both("sci", ["DMA, from call to end", "DMA bandwidth"], bytes, self.unscaled(times), model);
        }
        for bytes in READ {
            let model = hardware.read_of(bytes, NEXT, NEXT);
            let times = fabric.read(bytes, self.count(model))?;
            self.both("sci", ["read", ""], bytes, self.unscaled(times), model);
        }
        if hardware.link.is_finite() && !hardware.staged {
            self.shared_links(&scaled)?;
        }
        Ok(())
    }

    /// Streams on a ring of four, of which all pass the link from position 1 to 2.
    fn shared_links(&mut self, scaled: &Parameters) -> io::Result<()> {
        let fabric = Fabric::new(4, scaled, Topology::Ring(4))?;
        let (hardware, link) = (self.hardware.clone(), self.hardware.link * 64.0 / 88.0);
        for (name, by, time) in
            [("DMA", By::Dma, hardware.dma(STREAM, NEXT)), ("PIO", By::Pio, hardware.write(STREAM, NEXT))]
        {
            for (streams, ends) in [("two", &[(0, 2), (1, 3)][..]), ("three", &[(0, 2), (1, 3), (3, 2)])] {
                let rate = fabric.streams(ends, by, STREAM, self.count(time))? * 1e3 * self.scale;
                let operation = format!("{streams} {name} streams over one link, together");
                let model = link.min(STREAM as f64 * 1e3 / time * ends.len() as f64);
                for (who, rate) in [(self.who, rate), ("model", model)] {
                    self.rows.push(Row { nodes: 4, ..row("sci", &operation, who, STREAM, "MB/s", &[rate]) });
                }
            }
        }
        Ok(())
    }

    /// Messages and transfers of a job of two nodes.
    fn jobs(&mut self, settings: &jobs::Settings, sections: &[&str], config: &Config) -> io::Result<()> {
        let measures = plan::measures(Job::Timed, &|section| sections.contains(&section));
        if measures.is_empty() {
            return Ok(());
        }
        let samples = settings.run(Job::Timed)?.samples;
        for (measure, samples) in measures.into_iter().zip(samples) {
            let view = &measure.views[0];
            let model = self.model_of(&view.operation, measure.bytes, config);
            let rate =
                if view.operation.contains("trip") { String::new() } else { format!("{} bandwidth", view.operation) };
            self.both(measure.section, [&view.operation, &rate], measure.bytes, samples.ours.clone(), model);
            // What the papers say of their software: how much longer a message takes than the hardware alone, there and back.
            if view.operation.ends_with("reply round trip") && measure.bytes <= 64 {
                let (above, raw) =
                    (format!("{}, above the raw one", view.operation), 2.0 * self.hardware.write(64, NEXT));
                let ours = samples.ours.iter().map(|time| time - raw).collect();
                self.both(measure.section, [&above, ""], measure.bytes, ours, model - raw);
            }
        }
        Ok(())
    }

    /// What the model says of an operation of the jobs, our own time aside.
    fn model_of(&self, operation: &str, bytes: usize, config: &Config) -> f64 {
        let hardware = &self.hardware;
        let dma_min = usize::try_from(config.dma_min).unwrap_or(usize::MAX);
        let message = hardware.message_of(NEXT);
        let written = hardware.write(bytes, NEXT) + hardware.barrier_after();
        match operation {
            _ if operation.starts_with("short") => 2.0 * message,
            _ if operation.starts_with("medium") => 2.0 * (written + hardware.message_behind(written, NEXT)),
            // One packet, or the bytes behind which one goes.
            "mail box round trip" if bytes <= LINE_MOST => 2.0 * message,
            "mail box round trip" => 2.0 * (written + hardware.message_behind(written, NEXT)),
            "mail box flood, one way" => hardware.write(bytes, NEXT),
            _ if operation.starts_with("long request") => 2.0 * hardware.long(bytes, dma_min, NEXT),
            _ if operation.starts_with("long flood") => hardware.long(bytes, dma_min, NEXT) - message,
            // A put over messages is a message or a Long, and the answer.
            _ if !config.native && bytes <= 64 => 2.0 * message,
            _ if !config.native => hardware.long(bytes, dma_min, NEXT) + message,
            _ => written,
        }
    }
}
