//! The supervisor as the agent of a job of several hosts: it does what the launcher says, and reports.
//!
//! The launcher judges how nodes end, and says when the others are asked or killed. If it falls silent, the channel ends,
//! or the outer one of the agent's two processes was killed, the agent kills its nodes. Then no process waits for an orderly end any more.

use super::Supervisor;
use crate::os::sys;
use crate::supervise::channel::{Channel, End, Frame, How};
use crate::supervise::conductor::{self, Hands, readable};
use crate::supervise::header::{JobHeader, Phase};
use crate::supervise::outlet::Outlet;
use libc::{c_int, pollfd};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How often the thread that listens for fences looks by itself, in case the kernel refuses to wake it.
const LISTEN: Duration = Duration::from_millis(100);

/// The status of a shell whose program was killed.
const KILLED: u8 = 128 + libc::SIGKILL as u8;

/// The agent's side of the channel, and what belongs to it.
pub struct Link {
    channel: Rc<RefCell<Channel>>,
    /// Silence of the launcher after which the nodes are killed.
    timeout: Duration,
    // The writing end of the stdin of a node, and what it has not taken.
    stdin: Option<PipeWriter>,
    input: VecDeque<u8>,
    input_ends: bool,
    // Readable when the nodes of this host wait in a fence.
    bell: Option<PipeReader>,
    // The fence that was reported last.
    reported: Option<u32>,
    // How far the nodes were when it was last reported.
    phases: Vec<(u32, Phase)>,
    paused: bool,
    lost: bool,
    // Before the job killed its nodes, one was killed.
    has_killed: bool,
}

impl Link {
    /// `stdin`: the end into which the stdin of the node that has it is written, if that is one of this host's.
    pub fn new(channel: Channel, timeout: Duration, stdin: Option<PipeWriter>) -> Link {
        Link {
            channel: Rc::new(RefCell::new(channel)),
            timeout,
            stdin,
            input: VecDeque::new(),
            input_ends: false,
            bell: None,
            reported: None,
            phases: Vec::new(),
            paused: false,
            lost: false,
            has_killed: false,
        }
    }

    pub(super) fn channel(&self) -> Rc<RefCell<Channel>> {
        self.channel.clone()
    }

    /// Begins to listen for fences: a thread sleeps on the fence's word, for a node may have closed every descriptor.
    pub(super) fn listen(&mut self, header: JobHeader) -> io::Result<()> {
        if let Some(stdin) = &self.stdin {
            sys::set_nonblocking(stdin.as_fd())?;
        }
        let (bell, mut rope) = io::pipe()?;
        sys::set_nonblocking(bell.as_fd())?;
        self.bell = Some(bell);
        let listen = move || {
            let mut seen = 0;
            loop {
                let now = header.wait_asked(seen, LISTEN);
                if now != seen && rope.write_all(&[1]).is_err() {
                    return;
                }
                seen = now;
            }
        };
        std::thread::Builder::new().name("fences".into()).stack_size(64 << 10).spawn(listen).map(drop)
    }

    pub(super) fn send(&self, frame: &Frame) {
        self.channel.borrow_mut().send(frame);
    }

    pub(super) fn interests(&self, set: &mut Vec<pollfd>) {
        self.channel.borrow().interests(set);
        set.extend(self.bell.as_ref().map(readable));
        if let Some(stdin) = self.stdin.as_ref().filter(|_| !self.input.is_empty()) {
            set.push(pollfd { fd: stdin.as_raw_fd(), events: libc::POLLOUT, revents: 0 });
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        let (channel, now) = (self.channel.borrow(), Instant::now());
        let silent_at = now + self.timeout.saturating_sub(channel.silence(now)) + Duration::from_millis(1);
        let silent_at = (!self.paused).then_some(silent_at);
        (!self.lost).then(|| silent_at.map_or(channel.next_beat(), |at| at.min(channel.next_beat())))
    }

    // Writes what the node's stdin takes, and says so.
    fn feed(&mut self) {
        let Some(mut stdin) = self.stdin.as_ref() else { return };
        let mut taken = 0;
        let mut broken = false;
        while !self.input.is_empty() {
            match stdin.write(self.input.as_slices().0) {
                Ok(n) => {
                    self.input.drain(..n);
                    taken += n;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    broken = true; // no process reads it any more: the rest is dropped, as a terminal would
                    taken += self.input.len();
                    self.input.clear();
                }
            }
        }
        if broken || (self.input_ends && self.input.is_empty()) {
            self.stdin = None;
        }
        if taken > 0 {
            self.send(&Frame::Taken(taken as u32));
        }
    }
}

impl Supervisor {
    // What the link brings and needs, once in each turn of the loop. `polled`: what poll(2) found.
    pub(super) fn serve_launcher(&mut self, polled: &[pollfd]) {
        if self.link.as_ref().is_none_or(|link| link.lost) {
            return;
        }
        let frames = self.link.as_mut().map_or(Ok(Vec::new()), |link| {
            let mut channel = link.channel.borrow_mut();
            channel.flush();
            channel.beat(Instant::now());
            if channel.is_readable(polled) { channel.receive() } else { Ok(Vec::new()) }
        });
        for frame in frames.unwrap_or_default() {
            self.obey(frame);
        }
        self.report_fence();
        self.report_phases();
        let Some(link) = &mut self.link else { return };
        link.feed();
        let channel = link.channel.borrow();
        let silent = !link.paused && channel.silence(Instant::now()) > link.timeout;
        if channel.is_over() || silent {
            drop(channel);
            link.lost = true;
            link.stdin = None;
            link.channel.borrow_mut().give_up();
            self.lead.requested.get_or_insert(libc::SIGKILL);
            self.lead.ending.abandoned(Instant::now());
        }
    }

    fn obey(&mut self, frame: Frame) {
        match frame {
            Frame::Release(generation, halves) => drop(self.header.release(generation, &halves)),
            Frame::Input(bytes) => {
                let Some(link) = &mut self.link else { return };
                link.input_ends |= bytes.is_empty();
                link.input.extend(bytes);
                if link.stdin.is_none() {
                    let count = link.input.len() as u32;
                    link.input.clear();
                    link.send(&Frame::Taken(count));
                }
            }
            Frame::Taken(count) => {
                if let Outlet::Launcher(relay) = &mut self.lead.output {
                    relay.taken(count as usize);
                }
            }
            Frame::Hold(rank, stream, hold) => {
                if let Outlet::Launcher(relay) = &mut self.lead.output {
                    relay.hold(rank, stream, hold);
                }
            }
            Frame::Shut(stream) => {
                if let Outlet::Launcher(relay) = &mut self.lead.output {
                    relay.shut(stream);
                }
            }
            Frame::Signal(signal) => self.send(signal, false),
            Frame::Pause(pause) => {
                self.pause(pause, false);
                let Some(link) = &mut self.link else { return };
                link.paused = pause;
                link.channel.borrow_mut().forgive();
            }
            Frame::Ask(code) => {
                if let Some(code) = code {
                    self.header.record_exit(code);
                }
                conductor::ask(self);
            }
            Frame::Kill => conductor::kill(self),
            Frame::Answer(guest, answer) => drop(self.tasks.answer(guest, &answer)),
            Frame::Run(first, count, program) => self.begin_tasks(first, count, program, None),
            _ => {} // a beat, or what launchers do not say
        }
    }

    fn report_fence(&mut self) {
        let Some(link) = &mut self.link else { return };
        if let Some(bell) = &mut link.bell {
            while matches!(bell.read(&mut [0; 64]), Ok(1..)) {}
        }
        let asked = self.header.asked();
        if let Some(generation) = asked.filter(|_| asked != link.reported) {
            link.reported = asked;
            link.send(&Frame::Bulletin(generation, self.header.local_halves()));
        }
    }

    fn report_phases(&mut self) {
        let Some(link) = &mut self.link else { return };
        if link.phases.is_empty() {
            link.phases = self.header.locals().map(|rank| (rank, Phase::Unborn)).collect();
        }
        for at in 0..link.phases.len() {
            let (rank, before) = link.phases[at];
            let now = self.header.record(rank).phase();
            if now != before {
                link.phases[at].1 = now;
                link.send(&Frame::Phase(rank, now));
            }
        }
    }

    // Leaves the judgement of a node's end to the launcher. False if there is none.
    pub(super) fn tell_end(&mut self, end: &End) -> bool {
        let Some(link) = &mut self.link else { return false };
        let is_killed = matches!(end.how, How::Signal(libc::SIGKILL) | How::Status(KILLED));
        link.has_killed |= is_killed && self.lead.killed_at.is_none();
        link.send(&Frame::Ended(*end, self.header.exit_code()));
        true
    }

    // Leaves a signal to the launcher, since it concerns the whole job. False if there is none.
    pub(super) fn tell_signal(&self, signal: c_int) -> bool {
        let Some(link) = self.link.as_ref().filter(|link| !link.lost) else { return false };
        if signal != libc::SIGTSTP {
            link.send(&Frame::Signal(signal));
        }
        true
    }

    // Leaves a failure, such as a program that cannot be executed, to the launcher. False if there is none.
    pub(super) fn tell_failure(&self, status: u8, line: &str) -> bool {
        let Some(link) = &self.link else { return false };
        link.send(&Frame::Failed(status, line.into()));
        true
    }

    // Says what is to be said at the end, and that nothing is left here, and waits until the launcher has it, or is silent.
    pub(super) fn tell_done(&mut self) {
        let farewell = self.options.farewell.take();
        let Some(link) = &mut self.link else { return };
        if let Some(farewell) = farewell.filter(|_| !link.lost) {
            farewell(link.has_killed).iter().for_each(|frame| link.send(frame));
        }
        link.send(&Frame::Done(self.header.exit_code()));
        link.channel.borrow_mut().forgive();
        loop {
            let mut channel = link.channel.borrow_mut();
            if !channel.is_holding() || channel.silence(Instant::now()) > link.timeout {
                return;
            }
            let mut set = Vec::new();
            channel.interests(&mut set);
            let _ = sys::poll(&mut set, Some(super::TICK));
            if channel.is_readable(&set) {
                let _ = channel.receive();
            }
            channel.flush();
        }
    }
}
