//! Where a supervisor brings what its nodes print: to its own stdout and stderr, or to the launcher of a job of several hosts.

use super::output::Output;
use super::relay::Relay;
use super::tasks;
use crate::base::log;
use libc::pollfd;
use std::io::{self, PipeReader};
use std::time::{Duration, Instant};

// How streams of nodes are shown.
#[derive(Clone, Copy)]
pub(super) struct Show {
    // Each line begins with the node's number.
    pub tag: bool,
    // The node that has stdin.
    pub prompts: u32,
    // The number of nodes of the job.
    pub nodes: u32,
}

/// The way out.
pub enum Outlet {
    /// To this process's stdout and stderr.
    Own(Box<Output>),
    /// To the launcher.
    Launcher(Relay),
}

impl Outlet {
    // Takes the read ends of the nodes' stdout and stderr, with their ranks.
    pub(super) fn own(streams: impl Iterator<Item = (u32, [Option<PipeReader>; 2])>, show: Show) -> io::Result<Outlet> {
        let mut output = Output::new(show.nodes)?;
        for (rank, pair) in streams {
            for (stream, pipe) in pair.into_iter().enumerate() {
                let Some(pipe) = pipe else { continue };
                let tag = if show.tag { format!("[{rank}] ") } else { String::new() };
                output.add_pipe(pipe, stream, tag, rank == show.prompts, Some(log::name(rank, show.nodes)))?;
            }
        }
        Ok(Outlet::Own(Box::new(output)))
    }

    /// Takes the read ends of the stdout and stderr of a task.
    pub(super) fn add_task(&mut self, task: u32, nodes: u32, tag: bool, pipes: [PipeReader; 2]) -> io::Result<()> {
        for (stream, pipe) in (0..).zip(pipes) {
            match self {
                Outlet::Own(output) => output.add_pipe(pipe, stream.into(), tasks::tag(task, tag), false, None)?,
                Outlet::Launcher(relay) => relay.add(nodes + task, stream, pipe)?,
            }
        }
        Ok(())
    }

    /// Prints a line of this process's own.
    pub fn report(&mut self, line: &str) {
        match self {
            Outlet::Own(output) => output.report(line),
            Outlet::Launcher(relay) => relay.report(line),
        }
    }

    /// Whether the nodes wait for a slow reader.
    pub fn is_clogged(&self) -> bool {
        match self {
            Outlet::Own(output) => output.is_clogged(),
            Outlet::Launcher(relay) => relay.is_clogged(),
        }
    }

    /// Begins to look whether the reader stands still. True: the nodes wait for it. An agent need not know, as below.
    pub fn watch_reader(&mut self) -> bool {
        match self {
            Outlet::Own(output) => output.watch_reader(),
            Outlet::Launcher(_) => false,
        }
    }

    /// How much of this time, in which the nodes waited, the reader stood still.
    pub fn stood_still(&self, time: Duration) -> Duration {
        match self {
            Outlet::Own(output) => output.stood_still(time),
            Outlet::Launcher(_) => Duration::ZERO,
        }
    }

    /// Whether nodes may be waiting, in the middle of what they print, for their bytes to be taken. The launcher decides when a job of
    /// several hosts ends, so an agent need not know.
    pub fn is_awaited(&mut self) -> bool {
        match self {
            Outlet::Own(output) => output.is_awaited(),
            Outlet::Launcher(_) => false,
        }
    }

    /// Whether bytes wait for a reader.
    pub fn is_holding(&self) -> bool {
        match self {
            Outlet::Own(output) => output.is_holding(),
            Outlet::Launcher(relay) => relay.is_holding(),
        }
    }

    /// Whether output of nodes was lost because of a write error here.
    pub fn has_lost(&self) -> bool {
        matches!(self, Outlet::Own(output) if output.has_lost())
    }

    /// Whether any stream may bring more.
    pub fn has_sources(&self) -> bool {
        match self {
            Outlet::Own(output) => output.has_sources(),
            Outlet::Launcher(relay) => relay.has_sources(),
        }
    }

    /// Adds what to poll for now.
    pub fn interests(&self, set: &mut Vec<pollfd>) {
        match self {
            Outlet::Own(output) => output.interests(set),
            Outlet::Launcher(relay) => relay.interests(set),
        }
    }

    /// When `transfer` has something to do even if nothing is readable.
    pub fn next(&self) -> Option<Instant> {
        match self {
            Outlet::Own(output) => output.next(),
            Outlet::Launcher(_) => None,
        }
    }

    /// Passes on what poll(2) found. True if anything was read.
    pub fn transfer(&mut self, polled: &[pollfd]) -> bool {
        match self {
            Outlet::Own(output) => output.transfer(polled),
            Outlet::Launcher(relay) => relay.transfer(polled),
        }
    }

    /// Ends lines that other streams wait for. False: there are none.
    pub fn give_way(&mut self) -> bool {
        match self {
            Outlet::Own(output) => output.give_way(),
            Outlet::Launcher(_) => false,
        }
    }

    /// Gives up streams that do not end because a process outside the job holds them.
    pub fn close_sources(&mut self) {
        match self {
            Outlet::Own(output) => output.close_sources(),
            Outlet::Launcher(relay) => relay.close_sources(),
        }
    }
}
