//! What the nodes print, as whole lines. Each stream of a node (a source) goes to this process's own stdout or stderr (a sink), and its
//! lines stay in their order.
//!
//! Rules:
//! 1. A line is shown once its end has come. Until then its source keeps it, in a share of memory that is the same for all sources.
//! 2. A line that fills the share is shown as it comes: it is open. Until it ends, its sink takes nothing from other sources, so that
//!    no byte gets into it, however long it is. The others fill their shares. Then nobody reads their pipes, and their nodes wait
//!    as they would for any slow reader.
//! 3. Two exceptions, because a line may never end:
//!    - The node that has stdin may print a prompt. An unfinished line of it is shown after a tenth of a second, and is open then.
//!    - If others wait for the end of an open line, and it has not grown for `COURTESY`, this process ends it with a newline: its node
//!      may be waiting for one of them. A prompt is ended that long after the first of them has begun to wait.
//! 4. A line of the library that many nodes print for one cause is shown once (`fold`).
//!
//! Nothing here waits for a reader. A sink that is full keeps its bytes and takes no more, so that the nodes' output is not read.
//! Must not know: ranks, endings.

use crate::os::sys;
use fold::Folds;
use libc::pollfd;
use sink::Sink;
use source::Source;
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

mod fold;
mod sink;
mod source;
#[cfg(test)]
mod tests;

/// How long others wait for the end of an open line that does not grow (rule 3). A guess.
const COURTESY: Duration = Duration::from_secs(1);
/// A reader that takes nothing for longer stands still. A guess.
const PAUSE: Duration = Duration::from_millis(100);
/// Memory for what all sources together keep.
const MEMORY: usize = 64 << 20;
/// The smallest and the largest share of a source. For more than 32,768 nodes even the smallest shares are more than [`MEMORY`] together.
const SHARE: [usize; 2] = [1 << 10, 1 << 20];
/// A node that brings so many bytes at once prints in bulk: what its pipe still takes (64 KiB) it fills before it goes on.
const BULK: usize = 32 << 10;
/// The number of the source that has this process's own lines.
const OWN: i32 = -1;

// Of the memory, for each of so many streams.
fn share(streams: usize) -> usize {
    (MEMORY / streams.max(1)).clamp(SHARE[0], SHARE[1])
}

/// All streams of the job.
pub struct Output {
    // One sink if stdout and stderr are the same file; two sinks could tear each other's lines.
    sinks: Vec<Sink>,
    sources: Vec<Source>,
    // This process's own lines.
    own: Source,
    folds: Folds,
    // How many bytes one source may keep, and of how many streams the job's nodes have.
    share: usize,
    streams: usize,
    // The source whose turn is first in the next round.
    first: usize,
    scratch: Vec<u8>,
    // A sink has refused bytes.
    lost: bool,
    // A node has printed in bulk since this was asked for.
    in_bulk: bool,
}

impl Output {
    /// For a job of `nodes` nodes. Without any stream, reports still go to stderr.
    pub fn new(nodes: u32) -> io::Result<Output> {
        let (out, err) = (Sink::open(1)?, Sink::open(2)?);
        let same = out.identity()? == err.identity()?;
        Ok(Output::of(if same { vec![out] } else { vec![out, err] }, nodes))
    }

    fn of(sinks: Vec<Sink>, nodes: u32) -> Output {
        let own = Source::new(OWN, None, sinks.len() - 1, String::new(), false, None);
        Output {
            sinks,
            sources: Vec::new(),
            own,
            folds: Folds::new(nodes),
            share: share(2 * nodes as usize),
            streams: 2 * nodes as usize,
            first: 0,
            scratch: vec![0; 64 << 10],
            lost: false,
            in_bulk: false,
        }
    }

    /// Adds the read end of a stream of node `name` that goes to stdout (0) or stderr (1), with `tag` in front of each line.
    /// `prompts`: the node has stdin. Without a name it is the stream of no node: each of its lines stands for itself, and no end of nodes
    /// waits for it.
    ///
    /// # Errors
    /// Those of fcntl(2).
    pub fn add_pipe(
        &mut self,
        pipe: PipeReader,
        stream: usize,
        tag: String,
        prompts: bool,
        name: Option<String>,
    ) -> io::Result<()> {
        sys::set_nonblocking(pipe.as_fd())?;
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        self.add(pipe.as_raw_fd(), Some(pipe), stream, tag, prompts, name);
        Ok(())
    }

    /// Adds a stream whose bytes [`Output::feed`] brings. `number` is above that of any descriptor.
    pub fn add_fed(&mut self, number: i32, stream: usize, tag: String, prompts: bool, name: Option<String>) {
        self.add(number, None, stream, tag, prompts, name);
    }

    fn add(
        &mut self,
        number: i32,
        pipe: Option<File>,
        stream: usize,
        tag: String,
        prompts: bool,
        name: Option<String>,
    ) {
        let sink = stream.min(self.sinks.len() - 1);
        let is_nodes = name.is_some();
        let name = name.filter(|_| stream == 1); // the library prints to stderr only
        let mut source = Source::new(number, pipe, sink, tag, prompts, name);
        source.is_nodes = is_nodes;
        self.sources.push(source);
        self.share_out();
    }

    // Tasks come and go. If there are more of their streams than there is memory for, each stream has less of it.
    fn share_out(&mut self) {
        self.share = share(self.sources.len().max(self.streams));
    }

    /// Brings bytes of the stream with this number; none: it has ended. [`Output::settle`] shows them.
    pub fn feed(&mut self, number: i32, bytes: &[u8]) {
        let Output { sources, folds, .. } = self;
        let Some(source) = sources.iter_mut().find(|source| source.number == number) else { return };
        self.in_bulk |= source.is_nodes && bytes.len() >= BULK;
        if bytes.is_empty() { source.end() } else { source.bring(bytes, folds) }
    }

    /// Of the streams that are fed: those that have filled their share since the last call (true), and those that had, and have
    /// room again (false).
    pub fn turns(&mut self) -> Vec<(i32, bool)> {
        let share = self.share;
        let turn = |source: &mut Source| {
            let room = source.room(share);
            let stops = if source.stopped { room < share / 2 } else { room == 0 };
            (std::mem::replace(&mut source.stopped, stops) != stops).then_some((source.number, stops))
        };
        self.sources.iter_mut().filter(|source| source.is_fed && !source.ended).filter_map(turn).collect()
    }

    /// Prints a line of this process's own to stderr, behind the lines of nodes that have come before.
    pub fn report(&mut self, line: &str) {
        let now = Instant::now();
        self.folds.hurry_all(now);
        self.rounds(now);
        let sink = &mut self.sinks[self.own.sink];
        if sink.open.is_some_and(|open| open.is_prompt) {
            sink.end_line(true);
        }
        if !sink.closed {
            self.own.bring(format!("{line}\n").as_bytes(), &mut self.folds);
        }
        self.settle();
    }

    /// Whether the nodes wait for a slow reader.
    pub fn is_clogged(&self) -> bool {
        self.sinks.iter().any(Sink::is_full)
    }

    /// Begins to look whether the reader stands still. True: the nodes wait for it.
    pub fn watch_reader(&mut self) -> bool {
        self.sinks.iter_mut().for_each(|sink| sink.has_moved = false);
        self.is_clogged()
    }

    /// Of the `time` since [`Output::watch_reader`] found that the nodes wait: how long the reader stood still. One that takes something each
    /// 0.1 s does not, however little it is.
    pub fn stood_still(&self, time: Duration) -> Duration {
        let has_moved = self.sinks.iter().any(|sink| sink.has_moved);
        if has_moved { time.saturating_sub(PAUSE) } else { time }
    }

    /// Whether a node may be waiting, in the middle of what it prints, for its bytes to be taken: by a slow reader, behind another node's
    /// open line, or by this process, which has taken much of it since this was asked last.
    pub fn is_awaited(&mut self) -> bool {
        let queues = |source: &Source| {
            source.is_nodes && source.room(self.share) == 0 && self.sinks[source.sink].is_busy_for(source.number)
        };
        std::mem::take(&mut self.in_bulk) || self.is_clogged() || self.sources.iter().any(queues)
    }

    /// Whether bytes wait for a reader, or for the end of another node's line.
    pub fn is_holding(&self) -> bool {
        self.sinks.iter().any(Sink::is_holding)
            || self.own.is_holding()
            || self.sources.iter().any(|source| source.ended && source.is_holding())
    }

    /// Whether output of nodes was lost because of a write error. A reader that has gone does not count.
    pub fn has_lost(&self) -> bool {
        self.lost
    }

    /// Whether the reader of stdout (0) or stderr (1) has gone.
    pub fn is_closed(&self, stream: usize) -> bool {
        self.sinks[stream.min(self.sinks.len() - 1)].closed
    }

    /// Whether any stream may bring more.
    pub fn has_sources(&self) -> bool {
        self.sources.iter().any(|source| !source.ended)
    }

    /// Adds what to poll for now.
    pub fn interests(&self, set: &mut Vec<pollfd>) {
        let with_room = |source: &&Source| !self.sinks[source.sink].is_full() && source.room(self.share) > 0;
        let readable = self.sources.iter().filter(|source| source.pipe.is_some()).filter(with_room);
        set.extend(readable.map(|source| pollfd { fd: source.number, events: libc::POLLIN, revents: 0 }));
        self.sinks.iter().for_each(|sink| sink.interests(set));
    }

    /// The time when [`Output::transfer`] has something to do even if nothing is readable.
    pub fn next(&self) -> Option<Instant> {
        let takes = |source: &&Source| self.sinks[source.sink].takes_from(source.number);
        let prompts = self.sources.iter().filter(takes).filter_map(Source::prompts_at);
        let lines = (0..self.sinks.len()).filter_map(|at| self.breaks_at(at));
        // A sink that takes nothing now will take them, if they are due then, as soon as it takes anything.
        let folds = self.sources.iter().filter(takes).filter_map(|source| source.folds_at(&self.folds));
        prompts.chain(lines).chain(folds).min()
    }

    /// Reads what poll(2) found, shows lines that were kept back long enough, and writes what can be written without
    /// waiting. True if anything was read.
    pub fn transfer(&mut self, polled: &[pollfd]) -> bool {
        let ready: Vec<i32> = polled.iter().filter(|entry| entry.revents != 0).map(|entry| entry.fd).collect();
        let mut any = false;
        for source in self.sources.iter_mut().filter(|source| source.pipe.is_some() && ready.contains(&source.number)) {
            let got = source.read(&mut self.scratch, self.share, &mut self.folds);
            self.in_bulk |= source.is_nodes && got >= BULK;
            any = true;
        }
        self.settle();
        any
    }

    /// Shows what may be shown now, and writes what can be written without waiting.
    pub fn settle(&mut self) {
        let mut has_room = true;
        while std::mem::take(&mut has_room) {
            self.rounds(Instant::now());
            for at in 0..self.sinks.len() {
                let was_full = self.sinks[at].is_full();
                if let Some(error) = self.sinks[at].flush() {
                    self.lost = true;
                    self.report_failure(at, &error);
                    has_room = true;
                }
                has_room |= was_full && !self.sinks[at].is_full();
            }
        }
        // Closing their streams lets nodes that write to a closed stream get SIGPIPE from their own pipe.
        let sinks = &self.sinks;
        self.sources.retain(|source| !sinks[source.sink].closed && !source.is_over(&sinks[source.sink]));
        self.share_out();
    }

    /// Ends lines that other streams wait for. False: there are none.
    pub fn give_way(&mut self) -> bool {
        let awaited = self.sinks.iter_mut().filter(|sink| sink.awaited_since.is_some());
        let any = awaited.map(|sink| sink.end_line(true)).count() > 0;
        self.settle();
        any
    }

    /// Gives up streams that do not end because a process outside the job holds them.
    pub fn close_sources(&mut self) {
        self.sources.iter_mut().for_each(Source::end);
        self.settle();
    }

    // Gives the sources turns until none of them can show anything more now.
    fn rounds(&mut self, now: Instant) {
        if !self.has_sources() {
            self.folds.hurry_all(now); // nobody can say it any more
        }
        loop {
            for at in 0..self.sinks.len() {
                if self.sinks[at].is_full() {
                    self.forgive(at, now);
                } else if self.breaks_at(at).is_some_and(|at| at <= now) {
                    self.sinks[at].end_line(true);
                }
            }
            if !self.round(now) {
                return;
            }
        }
    }

    // Gives each source one turn. If one of them had to stop, because its open line has ended or its sink is full, the next round
    // begins behind it, so that none is always the last. True: an open line has ended, and others may have waited for that.
    fn round(&mut self, now: Instant) -> bool {
        let Output { sinks, sources, own, folds, share, .. } = self;
        own.move_on(&mut sinks[own.sink], folds, *share, now);
        let (count, mut next, mut has_ended) = (sources.len(), None, false);
        for at in (0..count).map(|turn| (self.first + turn) % count) {
            let source = &mut sources[at];
            let sink = &mut sinks[source.sink];
            let had_line = sink.open.is_some_and(|open| open.source == source.number);
            source.move_on(sink, folds, *share, now);
            let ends = had_line && sink.open.is_none_or(|open| open.source != source.number);
            has_ended |= ends;
            if ends || sink.is_full() {
                next.get_or_insert((at + 1) % count);
            }
        }
        for source in sources.iter().chain([&*own]) {
            let sink = &mut sinks[source.sink];
            if sink.is_busy_for(source.number) && source.is_waiting(*share) {
                sink.awaited_since.get_or_insert(now);
            }
        }
        self.first = next.unwrap_or(self.first);
        has_ended
    }

    // The reader of a sink is slow. An open line cannot grow then, so that this time does not count for rule 3.
    fn forgive(&mut self, sink: usize, now: Instant) {
        self.sources.iter_mut().filter(|source| source.sink == sink).for_each(|source| source.active_at = now);
        self.sinks[sink].awaited_since = self.sinks[sink].awaited_since.map(|_| now);
    }

    // When the open line of a sink is ended for the sake of others (rule 3).
    fn breaks_at(&self, sink: usize) -> Option<Instant> {
        let sink = &self.sinks[sink];
        let (open, since) = (sink.open?, sink.awaited_since?);
        let writer = self.sources.iter().find(|source| source.number == open.source);
        let grown_at = writer.filter(|_| !open.is_prompt).map(|source| source.active_at);
        Some(grown_at.map_or(since, |at| at.max(since)) + COURTESY)
    }

    fn report_failure(&mut self, failed: usize, error: &io::Error) {
        let last = self.sinks.len() - 1;
        if failed != last && !self.sinks[last].closed {
            self.own.bring(format!("gasnet-sci: writing stdout failed: {error}\n").as_bytes(), &mut self.folds);
        }
    }
}
