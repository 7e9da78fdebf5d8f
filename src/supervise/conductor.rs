//! The one loop above a job: over signals, output and deadlines until all that runs for it has ended. It says when that is asked to
//! end, is killed, is stopped, and with which status the job ends. What is done then is the part of its [`Hands`]:
//!
//! | whose loop | what it has hands on | in |
//! |---|---|---|
//! | the supervisor of a host | processes | `supervise/supervisor` |
//! | the launcher of a job of several hosts | agents | `gasnetrun_sci/director` |
//!
//! Must not know: processes, agents, frames.

use super::ending::{Ending, Step};
use super::outlet::Outlet;
use super::spawn::MARKER;
use crate::os::poller::Poller;
use crate::os::sys;
use libc::{c_int, pollfd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Status of a job that was ended by its time limit. timeout(1) uses the same one.
pub const OVERDUE: u8 = 124;

/// The guard may have been about to stop when it was woken, and the kernel drops a SIGCONT that comes just before a SIGSTOP.
const WAKE_AGAIN: Duration = Duration::from_millis(50);

/// What the loop does its work with.
pub trait Hands {
    /// What the loop knows.
    fn lead(&mut self) -> &mut Lead;

    /// Whether anything still runs that the loop waits for. It is asked once in each turn, so it may also do what is due at its
    /// beginning.
    fn goes_on(&mut self, now: Instant) -> bool;

    /// Adds what to poll for, and when something is due even if nothing comes.
    fn interests(&mut self, now: Instant, set: &mut Vec<pollfd>, dues: &mut Vec<Option<Instant>>);

    /// Handles what poll(2) found.
    fn serve(&mut self, polled: &[pollfd]);

    /// The kernel tells this process nothing any more. That must end the job, with a line.
    fn deaf(&mut self, error: &io::Error);

    /// The job's exit code, if it has one.
    fn code(&self) -> Option<u8>;

    /// Enters an exit code of the job, by the rule of [`header::replaces`](super::header::replaces).
    fn record(&mut self, code: u8);

    /// Asks all nodes to end.
    fn ask(&mut self);

    /// Kills all nodes.
    fn kill(&mut self);

    /// Passes a signal on to all nodes. `from_terminal`: those that have this process's terminal have got it already.
    fn send(&mut self, signal: c_int, from_terminal: bool);

    /// Leaves a signal to a launcher above, since it concerns the whole job. False if there is none.
    fn leave(&mut self, signal: c_int) -> bool;

    /// Stops (true) or continues all that runs for the job. `from_terminal`: as for [`Hands::send`].
    fn pause(&mut self, pause: bool, from_terminal: bool);
}

/// What the loop knows.
pub struct Lead {
    /// The plan of the job's end.
    pub ending: Ending,
    /// What the nodes print, on its way.
    pub output: Outlet,
    /// The loop's poll(2).
    pub poller: Poller,
    /// The signal that asked for the end of the job.
    pub requested: Option<c_int>,
    /// The job has failed without a code.
    pub failed: bool,
    /// When all nodes were killed, if they were.
    pub killed_at: Option<Instant>,
    /// The number of this process's guard, if it has one; 0: it is in an outer PID namespace.
    pub guard: Option<i32>,
    prefix: &'static str,
    signals: OwnedFd,
    time_limit: Option<Duration>,
    // The time at which the time limit is over, if there is one.
    overdue_at: Option<Instant>,
    // How often each signal has come: from the guard, and from other senders.
    received: [[u32; 2]; 32],
    // When the guard is woken once more.
    wake_again_at: Option<Instant>,
    // A first poll, which does not wait, has been made. So a system that refuses to tell of ends is noticed at once.
    has_polled: bool,
}

impl Lead {
    /// `prefix`: the text in front of the loop's own lines. `signals`: the blocked signals that the loop reads, SIGCHLD with them, and
    /// SIGCONT if there is a guard. The time limit counts from now on.
    pub fn new(
        prefix: &'static str,
        output: Outlet,
        ending: Ending,
        signals: OwnedFd,
        time_limit: Option<Duration>,
    ) -> Lead {
        Lead {
            ending,
            output,
            poller: Poller::default(),
            requested: None,
            failed: false,
            killed_at: None,
            prefix,
            signals,
            time_limit,
            overdue_at: time_limit.and_then(|limit| Instant::now().checked_add(limit)),
            received: [[0; 2]; 32],
            guard: None,
            wake_again_at: None,
            has_polled: false,
        }
    }

    /// Prints a line of the loop's own.
    pub fn report(&mut self, line: &str) {
        let prefix = self.prefix;
        self.output.report(&format!("{prefix}: {line}"));
    }

    /// What to poll for to hear of signals.
    pub fn signals(&self) -> pollfd {
        readable(&self.signals)
    }

    // The guard stops when this process stops. Whoever continues this process may not know the guard, for example `gasnet-sci kill`.
    fn wake_guard(&self) {
        if self.guard.is_some_and(|guard| guard > 0 && guard == sys::parent_pid()) {
            sys::kill(sys::parent_pid(), libc::SIGCONT);
        }
    }

    // The next signal from the user. The second part is true if the kernel sent it for a terminal, to the whole
    // process group: then the nodes have got it already. A signal to a process group also reaches the guard, which
    // passes on what has already come here. Of two such twins the second one is dropped.
    fn next_signal(&mut self) -> Option<(c_int, bool)> {
        loop {
            let info = sys::read_signal(self.signals.as_fd())?;
            let signal = info.ssi_signo as c_int;
            if signal == libc::SIGCHLD {
                continue;
            }
            let passed_on = info.ssi_code == libc::SI_QUEUE && info.ssi_ptr as usize == MARKER;
            if signal == libc::SIGCONT {
                if !passed_on {
                    self.wake_guard();
                    self.wake_again_at = Instant::now().checked_add(WAKE_AGAIN);
                }
                continue;
            }
            if info.ssi_code == libc::SI_KERNEL {
                return Some((signal, true)); // the guard passes on none of these
            }
            let [from_guard, from_others] = &mut self.received[signal as usize % 32];
            let (count, twins) = if passed_on { (from_guard, *from_others) } else { (from_others, *from_guard) };
            *count += 1;
            if *count > twins {
                return Some((signal, false));
            }
        }
    }
}

/// What to poll for to hear of `fd`.
pub fn readable(fd: &impl AsRawFd) -> pollfd {
    pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

/// Runs the loop until nothing goes on any more.
pub fn run(hands: &mut impl Hands) {
    while hands.goes_on(Instant::now()) {
        turn(hands);
        look_at_time(hands);
        take_steps(hands);
    }
}

// Makes one poll, and handles all that it brings.
fn turn(hands: &mut impl Hands) {
    let now = Instant::now();
    let mut set = vec![hands.lead().signals()];
    let mut dues = Vec::new();
    hands.interests(now, &mut set, &mut dues);
    let lead = hands.lead();
    if lead.output.is_clogged() {
        lead.ending.extend(now);
    }
    // Before the poll: poll(2) returns when the reader takes something.
    let is_watched = lead.output.watch_reader();
    lead.output.interests(&mut set);
    let at_once = (!std::mem::replace(&mut lead.has_polled, true)).then_some(now);
    dues.extend([lead.ending.next(), lead.overdue_at, lead.output.next(), lead.wake_again_at, at_once]);
    let due = dues.into_iter().flatten().min().map(|at| at.saturating_duration_since(now));
    if let Err(error) = lead.poller.poll(&mut set, due) {
        hands.deaf(&error);
    }
    let lead = hands.lead();
    lead.output.transfer(&set);
    if is_watched {
        lead.ending.put_off_latest(lead.output.stood_still(now.elapsed()));
    }
    if lead.output.is_awaited() {
        lead.ending.await_output(Instant::now());
    }
    if set[0].revents != 0 {
        take_signals(hands);
    }
    hands.serve(&set);
}

fn look_at_time(hands: &mut impl Hands) {
    let (lead, now) = (hands.lead(), Instant::now());
    if lead.wake_again_at.take_if(|at| *at <= now).is_some() {
        lead.wake_guard();
    }
    if let Some(limit) = lead.time_limit
        && lead.overdue_at.take_if(|at| *at <= now).is_some()
    {
        let line = format!("the job did not end within {} s (--timeout); ending it", limit.as_secs_f64());
        lead.ending.overdue(now, line);
        hands.record(OVERDUE);
    }
}

/// Takes the steps that are due by now.
pub fn take_steps(hands: &mut impl Hands) {
    for step in hands.lead().ending.steps(Instant::now()) {
        match step {
            Step::Print(line) => hands.lead().report(&line),
            Step::Ask => ask(hands),
            Step::Kill => kill(hands),
        }
    }
}

/// Asks all nodes to end.
pub fn ask(hands: &mut impl Hands) {
    if hands.code().is_none() && hands.lead().requested.is_none() {
        hands.lead().failed = true;
    }
    hands.ask();
}

/// Kills all nodes.
pub fn kill(hands: &mut impl Hands) {
    hands.lead().killed_at = Some(Instant::now());
    hands.kill();
}

fn take_signals(hands: &mut impl Hands) {
    while let Some((signal, from_terminal)) = hands.lead().next_signal() {
        match signal {
            _ if hands.leave(signal) => {}
            libc::SIGTSTP => stop(hands, from_terminal),
            _ => signalled(hands, signal, from_terminal),
        }
    }
}

/// A signal for the job has come, here or to whom it belongs.
pub fn signalled(hands: &mut impl Hands, signal: c_int, from_terminal: bool) {
    if matches!(signal, libc::SIGUSR1 | libc::SIGUSR2) {
        return hands.send(signal, false);
    }
    let lead = hands.lead();
    let is_first = lead.requested.is_none();
    lead.requested.get_or_insert(signal);
    lead.ending.request(Instant::now());
    if is_first {
        hands.send(signal, from_terminal);
    }
    hands.send(libc::SIGCONT, false); // a stopped node does not notice that it must end
}

/// Once all has ended: handles the signals that have come. True: one of them asks for the end.
pub fn ends_by_signal(hands: &mut impl Hands) -> bool {
    let mut ends = false;
    while let Some((signal, from_terminal)) = hands.lead().next_signal() {
        match signal {
            _ if hands.leave(signal) => {}
            libc::SIGUSR1 | libc::SIGUSR2 => {}
            libc::SIGTSTP => stop(hands, from_terminal),
            _ => {
                hands.lead().requested.get_or_insert(signal);
                ends = true;
            }
        }
    }
    ends
}

// Stops the job and this process. Returns when this process is continued. The time that has passed counts for no deadline.
fn stop(hands: &mut impl Hands, from_terminal: bool) {
    let began = Instant::now();
    hands.pause(true, from_terminal);
    sys::raise(libc::SIGSTOP);
    let (time, lead) = (began.elapsed(), hands.lead());
    lead.overdue_at = lead.overdue_at.and_then(|at| at.checked_add(time));
    lead.ending.put_off(time);
    lead.received[libc::SIGTSTP as usize] = [0; 2]; // SIGCONT has removed signals that had not been read yet
    hands.pause(false, from_terminal);
}

/// The status with which the job ends.
pub fn status(hands: &mut impl Hands) -> i32 {
    let code = hands.code();
    let lead = hands.lead();
    let status = match (lead.requested, code) {
        (Some(signal), _) => 128 + signal,
        (None, Some(code)) => code.into(),
        (None, None) => lead.failed.into(),
    };
    // A job whose output could not be written, for example on a full disk, must not end with success.
    if status == 0 { lead.output.has_lost().into() } else { status }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervise::header::replaces;
    use crate::supervise::output::Output;

    // Hands that only note what they are told. Their nodes end when they are killed.
    struct Notes {
        lead: Lead,
        code: Option<u8>,
        has_launcher: bool,
        told: Vec<&'static str>,
    }

    impl Notes {
        fn new(time_limit: Option<Duration>) -> Notes {
            let output = Outlet::Own(Box::new(Output::new(2).unwrap()));
            let ending = Ending::new(2, Duration::from_secs(10));
            let signals = sys::SignalSet::new(&[libc::SIGCHLD]).descriptor().unwrap();
            let lead = Lead::new("test", output, ending, signals, time_limit);
            Notes { lead, code: None, has_launcher: false, told: Vec::new() }
        }
    }

    impl Hands for Notes {
        fn lead(&mut self) -> &mut Lead {
            &mut self.lead
        }
        fn goes_on(&mut self, _now: Instant) -> bool {
            self.lead.killed_at.is_none()
        }
        fn interests(&mut self, _now: Instant, _set: &mut Vec<pollfd>, _dues: &mut Vec<Option<Instant>>) {}
        fn serve(&mut self, _polled: &[pollfd]) {}
        fn deaf(&mut self, _error: &io::Error) {
            self.told.push("deaf");
        }
        fn code(&self) -> Option<u8> {
            self.code
        }
        fn record(&mut self, code: u8) {
            self.code = if replaces(self.code, code) { Some(code) } else { self.code };
        }
        fn ask(&mut self) {
            self.told.push("ask");
        }
        fn kill(&mut self) {
            self.told.push("kill");
        }
        fn send(&mut self, signal: c_int, from_terminal: bool) {
            self.told.push(match (signal, from_terminal) {
                (libc::SIGCONT, false) => "continue",
                (_, false) => "signal",
                (_, true) => "signal of a terminal",
            });
        }
        fn leave(&mut self, _signal: c_int) -> bool {
            self.has_launcher
        }
        fn pause(&mut self, pause: bool, _from_terminal: bool) {
            self.told.push(if pause { "pause" } else { "go on" });
        }
    }

    #[test]
    fn a_job_whose_time_is_over_is_asked_then_killed_and_has_its_own_status() {
        let mut notes = Notes::new(Some(Duration::ZERO));
        run(&mut notes);
        assert_eq!(notes.told, ["ask", "kill"]);
        assert_eq!((status(&mut notes), notes.code, notes.lead.failed), (124, Some(OVERDUE), false));
    }

    #[test]
    fn a_signal_is_passed_on_once_and_the_third_one_kills() {
        let mut notes = Notes::new(None);
        signalled(&mut notes, libc::SIGUSR1, false);
        assert_eq!((status(&mut notes), &notes.told[..]), (0, &["signal"][..]));
        signalled(&mut notes, libc::SIGTERM, true);
        assert_eq!(notes.told[1..], ["signal of a terminal", "continue"]);
        for step in ["ask", "kill"] {
            signalled(&mut notes, libc::SIGINT, false);
            take_steps(&mut notes);
            assert_eq!(notes.told[notes.told.len() - 2..], ["continue", step]);
        }
        assert_eq!(status(&mut notes), 128 + libc::SIGTERM, "the first one counts");
    }

    #[test]
    fn who_is_asked_without_a_code_has_failed_and_a_code_says_more() {
        let mut notes = Notes::new(None);
        ask(&mut notes);
        assert_eq!(status(&mut notes), 1);
        let statuses = [0, 7, 0, 9].map(|code| {
            notes.record(code);
            status(&mut notes)
        });
        assert_eq!(statuses, [0, 7, 7, 7]);
    }
}
