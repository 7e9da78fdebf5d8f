//! The relay: a thread that moves frames between the TAP devices of the hosts, as the switch says.

use super::fault::Moment;
use super::spec::Spec;
use super::switch::Switch;
use super::tap::Tap;
use anyhow::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// The largest frame: an MTU of 64 KiB and the head.
const FRAME: usize = 65536 + 14;
/// Frames read from one host before it is the others' turn.
const TURN: usize = 64;

/// A running relay. It ends when this value is dropped.
pub struct Relay {
    shared: Arc<Shared>,
    /// Closing it ends the thread.
    lifeline: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    switch: Mutex<Switch>,
    start: Instant,
}

impl Shared {
    fn now(&self) -> Moment {
        self.start.elapsed()
    }

    fn switch(&self) -> MutexGuard<'_, Switch> {
        self.switch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay {
    /// Starts the relay between hosts, one TAP each.
    pub fn start(taps: Vec<Tap>, specs: &[Spec], seed: u64) -> Result<Relay> {
        let switch = Mutex::new(Switch::new(taps.len(), specs, seed));
        let shared = Arc::new(Shared { switch, start: Instant::now() });
        let (ear, lifeline) = pipe_with(PipeFlags::CLOEXEC)?;
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || run(&shared, &taps, &ear))
        };
        Ok(Relay { shared, lifeline: Some(lifeline), thread: Some(thread) })
    }

    /// Other faults, a new seed; counts begin at 0.
    pub fn renew(&self, specs: &[Spec], seed: u64) {
        let now = self.shared.now();
        self.shared.switch().renew(now, specs, seed);
    }

    /// Cuts or heals both directions between two hosts.
    pub fn set_dead(&self, a: usize, b: usize, dead: bool) {
        let mut switch = self.shared.switch();
        switch.set_dead(a, b, dead);
        switch.set_dead(b, a, dead);
    }

    /// Frames that have come out of the link from one host to another.
    pub fn passed(&self, from: usize, to: usize) -> u64 {
        self.shared.switch().passed(from, to)
    }

    pub fn report(&self) -> Vec<String> {
        self.shared.switch().report()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.lifeline.take();
        // A panic of the thread has been printed.
        self.thread.take().map(JoinHandle::join);
    }
}

fn run(shared: &Shared, taps: &[Tap], ear: &OwnedFd) {
    let mut buffer = vec![0; FRAME];
    loop {
        let next = shared.switch().next();
        let wait = next.map(|due| due.saturating_sub(shared.now()));
        let timeout = wait.map(|wait| Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() });
        let mut files: Vec<PollFd> = taps.iter().map(|tap| PollFd::from_borrowed_fd(tap.fd(), PollFlags::IN)).collect();
        files.push(PollFd::new(ear, PollFlags::IN));
        // An error is EINTR; then nothing is ready.
        let _ = poll(&mut files, timeout.as_ref());
        if !files[taps.len()].revents().is_empty() {
            return;
        }
        for (from, tap) in taps.iter().enumerate() {
            for _ in 0..TURN {
                let Some(frame) = tap.read(&mut buffer) else { break };
                let now = shared.now();
                shared.switch().offer(now, from, frame);
            }
        }
        let now = shared.now();
        let out = shared.switch().take(now);
        out.iter().for_each(|(to, frame)| taps[*to].write(frame));
    }
}
