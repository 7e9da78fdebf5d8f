//! Where a supervisor brings what its nodes print: to its own stdout and stderr, or to the launcher of a job of several hosts.

use super::output::Output;
use super::relay::Relay;
use libc::pollfd;
use std::time::Instant;

pub(super) enum Outlet {
    Own(Output),
    Launcher(Relay),
}

impl Outlet {
    // Prints a line of the supervisor's own.
    pub(super) fn report(&mut self, line: &str) {
        match self {
            Outlet::Own(output) => output.report(line),
            Outlet::Launcher(relay) => relay.report(line),
        }
    }

    // Whether the nodes wait for a slow reader.
    pub(super) fn is_clogged(&self) -> bool {
        match self {
            Outlet::Own(output) => output.is_clogged(),
            Outlet::Launcher(relay) => relay.is_clogged(),
        }
    }

    // Whether bytes wait for a reader.
    pub(super) fn is_holding(&self) -> bool {
        match self {
            Outlet::Own(output) => output.is_holding(),
            Outlet::Launcher(relay) => relay.is_holding(),
        }
    }

    // Whether output of nodes was lost because of a write error here.
    pub(super) fn has_lost(&self) -> bool {
        matches!(self, Outlet::Own(output) if output.has_lost())
    }

    // Whether any stream may bring more.
    pub(super) fn has_sources(&self) -> bool {
        match self {
            Outlet::Own(output) => output.has_sources(),
            Outlet::Launcher(relay) => relay.has_sources(),
        }
    }

    // Adds what to poll for now.
    pub(super) fn interests(&self, set: &mut Vec<pollfd>) {
        match self {
            Outlet::Own(output) => output.interests(set),
            Outlet::Launcher(relay) => relay.interests(set),
        }
    }

    // When `transfer` has something to do even if nothing is readable.
    pub(super) fn next(&self) -> Option<Instant> {
        match self {
            Outlet::Own(output) => output.next(),
            Outlet::Launcher(_) => None,
        }
    }

    // Passes on what poll(2) found. True if anything was read.
    pub(super) fn transfer(&mut self, polled: &[pollfd]) -> bool {
        match self {
            Outlet::Own(output) => output.transfer(polled),
            Outlet::Launcher(relay) => relay.transfer(polled),
        }
    }

    // Gives up streams that do not end because a process outside the job holds them.
    pub(super) fn close_sources(&mut self) {
        match self {
            Outlet::Own(output) => output.close_sources(),
            Outlet::Launcher(relay) => relay.close_sources(),
        }
    }
}
