//! The thread that stands in for a supervisor: a foreign launcher knows nothing of exit codes in the job's memory, and
//! lets nodes live whose job is over.
//!
//! It waits for the job's exit code. Then it gives its own node the time that a supervisor gives (`supervise/ending`),
//! asks it to end (SIGQUIT), and at last ends the process. It also makes the calls of PMIx with which a node leaves,
//! because a node may leave from a signal handler, or while it holds locks of PMIx.
//!
//! Rules:
//! 1. A node records the job's code before it calls [`depart`], so this thread is awake then or will be.
//! 2. A node that leaves waits for this thread, but not for ever.
//! 3. The thread takes no signals and holds no lock of the library.

use super::library::Library;
use super::links;
use crate::os::{own_threads, sys};
use crate::supervise::ending::{Ending, Step};
use crate::supervise::exit::{self, Departure};
use crate::supervise::{JobHeader, Phase, node, signals, spawn};
use crate::sync::{AtomicU32, Ordering};
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a node that leaves waits for this thread. PMIx needs a few ms; a guess for a busy host.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a sleeping thread looks by itself, in case the kernel refuses to wake it.
const NO_NEWS: Duration = Duration::from_secs(1);

// How this node leaves: 0: it stays; else a `Departure` plus one.
static WANTED: AtomicU32 = AtomicU32::new(0);
// Becomes 1 when PMIx has been told.
static TOLD: AtomicU32 = AtomicU32::new(0);

/// What the thread knows of its node.
#[derive(Clone, Copy)]
pub struct Watch {
    /// The session.
    pub library: &'static Library,
    /// The job, as seen on this host.
    pub header: JobHeader,
    /// The node.
    pub rank: u32,
    /// Whether this process tells the other hosts (`links`).
    pub tells_hosts: bool,
    /// How long an orderly exit may take.
    pub exit_time: Duration,
}

/// Starts the thread. From here on this node leaves through it.
///
/// # Errors
/// There is no thread.
pub fn start(watch: Watch) -> io::Result<()> {
    own_threads::spawn("sci-watch", own_threads::STACK, move || watch.run())?;
    exit::set_departure(depart);
    Ok(())
}

/// For a guest's process, whose runtime and launcher watch it: no thread, and this node leaves by the calls of PMIx themselves.
pub fn stand_aside(library: &'static Library) {
    static SESSION: OnceLock<&Library> = OnceLock::new();
    SESSION.get_or_init(|| library);
    exit::set_departure(|how| {
        let Some(library) = SESSION.get() else { return };
        match how {
            Departure::Orderly => library.finalize(),
            Departure::Failed => library.abort(node::current().map_or(1, |node| node.record().exit_code())),
        }
    });
}

/// Tells the thread how this node leaves, and waits until PMIx knows. Async-signal-safe.
fn depart(how: Departure) {
    let deadline = sys::clock_ns() + PATIENCE.as_nanos() as u64;
    // Relaxed: nothing is handed over but the word.
    WANTED.store(how as u32 + 1, Ordering::Relaxed);
    sys::futex_wake_all(&WANTED);
    // Relaxed: nothing is handed over.
    while TOLD.load(Ordering::Relaxed) == 0 && sys::clock_ns() < deadline {
        sys::futex_wait(&TOLD, 0, Duration::from_millis(100));
    }
}

impl Watch {
    fn run(self) {
        let code = loop {
            if let Some(code) = self.header.wait_for_exit(NO_NEWS) {
                break code;
            }
        };
        if self.tells_hosts {
            links::await_told();
        }
        let mut ending = Ending::new(self.header.nodes(), self.exit_time);
        ending.orderly(Instant::now());
        loop {
            // Relaxed: nothing is handed over.
            match WANTED.load(Ordering::Relaxed) {
                0 => {}
                how => return self.tell(how),
            }
            for step in ending.steps(Instant::now()) {
                match step {
                    Step::Ask => self.ask(code),
                    Step::Kill => self.force(code),
                    // A supervisor would print it once; here each node that is late would.
                    Step::Print(_) => {}
                }
            }
            let until = ending.next().map_or(NO_NEWS, |at| at.saturating_duration_since(Instant::now()));
            sys::futex_wait(&WANTED, 0, until.clamp(Duration::from_millis(1), NO_NEWS));
        }
    }

    fn tell(&self, how: u32) {
        if how == Departure::Orderly as u32 + 1 {
            self.library.finalize();
        } else {
            // The node's own code, because the job's may be another one that came first.
            self.library.abort(self.header.record(self.rank).exit_code());
        }
        TOLD.store(1, Ordering::Relaxed); // Relaxed: nothing is handed over
        sys::futex_wake_all(&TOLD);
    }

    // Between joining and the end of gasnet_init, and if the client took SIGQUIT away, nobody would leave at SIGQUIT.
    fn ask(&self, code: u8) {
        if self.header.record(self.rank).phase() < Phase::Inited || sys::is_default(libc::SIGQUIT) {
            self.force(code);
        }
        // One SIGQUIT is enough, and the launcher may have sent the SIGTERM that became one.
        if !signals::was_told_to_end() {
            sys::queue_signal(sys::pid(), libc::SIGQUIT, spawn::MARKER);
        }
    }

    fn force(&self, code: u8) -> ! {
        exit::force(code, || self.library.finalize())
    }
}

/// Ends this process, because the launcher's daemon is gone and with it the job. PMIx calls it on a thread of its own.
pub fn launcher_is_gone() {
    if node::current().is_some() && !exit::is_leaving() {
        sys::exit_now(1);
    }
}
