//! What the nodes print: whole lines, in the order of each stream, to the supervisor's own stdout and stderr.
//!
//! Rules:
//! 1. An unfinished line is kept back, until it ends or until it uses up its stream's share of memory.
//! 2. One that has used it up goes out as it comes. Until it ends no other stream writes to that sink: the others wait in their
//!    shares, and then their nodes wait as they would for any full pipe. No byte is put into a line, however long it is.
//! 3. There are two exceptions. The node that has stdin may leave a prompt: a line of it that stays unfinished for a tenth of a second
//!    is shown. And a node may never end its line, and even wait for one that waits here: if an open line grows no more
//!    for `COURTESY` while others wait, or is a prompt for as long, a newline ends it.
//! 4. A line of the library that many nodes print for one cause is printed once (`fold`).
//!
//! Nothing here waits for a reader. A full sink keeps its bytes, and takes no more; then the nodes' output is not read.
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

/// How long others wait for the end of a line that is shown unfinished. Not for ever, because that line may end only after something
/// that those nodes do. A guess.
const COURTESY: Duration = Duration::from_secs(1);
/// Memory for what is kept back of all streams together.
const MEMORY: usize = 64 << 20;
/// The least and the most that one stream gets of it: with more than 32,768 nodes the least counts.
const SHARE: [usize; 2] = [1 << 10, 1 << 20];
/// What the supervisor itself says is like a stream with this number.
const OWN: i32 = -1;

/// All streams of the job.
pub struct Output {
    // One sink if stdout and stderr are the same file; two sinks could tear each other's lines.
    sinks: Vec<Sink>,
    sources: Vec<Source>,
    // The supervisor's own lines.
    own: Source,
    folds: Folds,
    // How much one stream may keep back.
    share: usize,
    // The source that has its turn first.
    first: usize,
    scratch: Vec<u8>,
    lost: bool,
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
            share: (MEMORY / (2 * nodes.max(1) as usize)).clamp(SHARE[0], SHARE[1]),
            first: 0,
            scratch: vec![0; 64 << 10],
            lost: false,
        }
    }

    /// Adds the read end of a stream of node `name` that goes to stdout (0) or stderr (1), with `tag` in front of each line.
    /// `prompts`: the node has stdin. Without a name each of its lines stands for itself.
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
        let name = name.filter(|_| stream == 1); // the library prints to stderr only
        self.sources.push(Source::new(number, pipe, sink, tag, prompts, name));
    }

    /// Brings bytes of the stream with this number; none: it has ended. [`Output::settle`] shows them.
    pub fn feed(&mut self, number: i32, bytes: &[u8]) {
        let Output { sources, folds, .. } = self;
        let Some(source) = sources.iter_mut().find(|source| source.number == number) else { return };
        if bytes.is_empty() { source.end() } else { source.bring(bytes, folds) }
    }

    /// The streams that are fed and have used up their share (true), or have room again (false), since the last call.
    pub fn turns(&mut self) -> Vec<(i32, bool)> {
        let share = self.share;
        let turn = |source: &mut Source| {
            let room = source.room(share);
            let stops = if source.stopped { room < share / 2 } else { room == 0 };
            (std::mem::replace(&mut source.stopped, stops) != stops).then_some((source.number, stops))
        };
        self.sources.iter_mut().filter(|source| source.is_fed && !source.ended).filter_map(turn).collect()
    }

    /// Prints a line of the supervisor's own to stderr, behind what nodes have said of its cause.
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

    /// Whether nodes wait until another one has ended its line.
    pub fn is_queueing(&self) -> bool {
        let waits =
            |source: &Source| source.room(self.share) == 0 && self.sinks[source.sink].is_busy_for(source.number);
        self.sources.iter().any(waits)
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
        // Those of a sink that takes nothing now are looked at when it does.
        let folds = self.sources.iter().filter(takes).filter_map(|source| source.folds_at(&self.folds));
        prompts.chain(lines).chain(folds).min()
    }

    /// Reads what poll(2) found, shows lines that were kept back long enough, and writes what can be written without
    /// waiting. True if anything was read.
    pub fn transfer(&mut self, polled: &[pollfd]) -> bool {
        let ready: Vec<i32> = polled.iter().filter(|entry| entry.revents != 0).map(|entry| entry.fd).collect();
        let mut any = false;
        for source in self.sources.iter_mut().filter(|source| source.pipe.is_some() && ready.contains(&source.number)) {
            source.read(&mut self.scratch, self.share, &mut self.folds);
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

    // Lets all sources have their turn until none has anything to say that may be said now.
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

    // One turn for each source. Where one of them had to stop, the next round begins behind it. True: a line has ended that others
    // may have waited for.
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

    // A sink's reader is slow: the silence of nodes, which wait for it, does not count.
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

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: usize = 0;

    // Nodes of one sink, each with one stream, whose number is the rank.
    fn nodes(count: u32) -> Output {
        let mut output = Output::of(vec![Sink::keeping()], count);
        (0..count as i32).for_each(|rank| output.add_fed(rank, OUT, String::new(), false, None));
        output
    }

    // What goes out of what has been fed by a moment.
    fn shown(output: &mut Output, now: Instant) -> String {
        output.rounds(now);
        output.sinks[OUT].take_held()
    }

    #[test]
    fn a_line_waits_for_its_end_and_lines_of_others_pass_it() {
        let (mut output, now) = (nodes(3), Instant::now());
        output.feed(0, b"be");
        output.feed(1, b"one\ntw");
        assert_eq!(shown(&mut output, now), "one\n");
        output.feed(0, b"gun\n");
        output.feed(1, b"");
        assert_eq!(shown(&mut output, now), "begun\ntw");
    }

    #[test]
    fn a_line_that_is_longer_than_its_share_stays_unbroken_and_the_others_wait() {
        let (mut output, now) = (nodes(3), Instant::now());
        let part = "x".repeat(output.share);
        output.feed(2, part.as_bytes());
        output.feed(1, b"one\n");
        assert!(shown(&mut output, now) == format!("one\n{part}"));
        output.feed(0, b"zero\n");
        assert_eq!(shown(&mut output, now), "");
        for _ in 0..5 {
            output.feed(1, part.as_bytes());
            output.feed(2, part.as_bytes());
            assert!(shown(&mut output, now) == part);
        }
        output.feed(2, b"end\nnext\n");
        // The others have waited, so node 2 goes on behind them.
        assert!(shown(&mut output, now) == format!("end\nzero\n{}", part.repeat(5)));
        output.feed(1, b"\n");
        assert_eq!(shown(&mut output, now), "\nnext\n");
    }

    #[test]
    fn long_lines_take_turns() {
        let (mut output, now) = (nodes(2), Instant::now());
        let line = format!("{}\n", "x".repeat(output.share));
        for node in [0, 1, 0] {
            output.feed(node, &line.as_bytes()[..output.share]);
            shown(&mut output, now);
        }
        output.feed(0, b"\n");
        output.feed(0, &line.as_bytes()[..output.share]);
        // Node 0 has begun another long line, but node 1 waited.
        shown(&mut output, now);
        assert_eq!(output.sinks[OUT].open.map(|open| open.source), Some(1));
    }

    #[test]
    fn a_long_line_that_grows_no_more_does_not_keep_the_others_for_ever() {
        let (mut output, now) = (nodes(2), Instant::now());
        let part = "x".repeat(output.share);
        output.feed(0, part.as_bytes());
        shown(&mut output, now);
        output.feed(1, b"one\n");
        assert_eq!(shown(&mut output, now), "");
        let due = output.next().expect("somebody waits");
        output.feed(0, b"x"); // it grows
        assert_eq!(shown(&mut output, due), "x");
        assert_eq!(shown(&mut output, due + COURTESY), "\none\n");
    }

    /// Node 0 never ends its line. The lines of nodes 1 and 2 are longer than their shares.
    #[test]
    fn a_line_that_grows_in_time_is_not_ended_however_long_others_wait() {
        let (mut output, start) = (nodes(3), Instant::now());
        let part = "x".repeat(output.share);
        for node in 0..3 {
            output.feed(node, part.as_bytes());
            output.sources[node as usize].active_at = start;
        }
        assert!(shown(&mut output, start) == part, "node 0 begins");
        let (mut now, nearly) = (start + COURTESY, COURTESY - Duration::from_millis(1));
        assert_eq!(shown(&mut output, start + nearly), "");
        assert!(shown(&mut output, now) == format!("\n{part}"), "node 0's line is ended for node 1");
        for _ in 0..20 {
            now += nearly;
            output.feed(1, b"x");
            output.sources[1].active_at = now;
            assert_eq!(shown(&mut output, now), "x", "node 2 goes on waiting");
        }
        assert_eq!(shown(&mut output, now + nearly), "");
        assert!(shown(&mut output, now + COURTESY) == format!("\n{part}"), "node 1's line has grown no more");
    }

    #[test]
    fn whoever_feeds_more_than_a_share_is_told_to_stop_and_to_go_on() {
        let (mut output, now) = (nodes(2), Instant::now());
        let part = "x".repeat(output.share);
        output.feed(0, part.as_bytes());
        shown(&mut output, now);
        assert_eq!(output.turns(), []);
        output.feed(1, part.as_bytes());
        shown(&mut output, now);
        assert_eq!(output.turns(), [(1, true)]);
        assert_eq!(output.turns(), []);
        output.feed(0, b"\n");
        shown(&mut output, now);
        assert_eq!(output.turns(), [(1, false)]);
    }

    #[test]
    fn the_memory_of_all_shares_is_bounded() {
        for nodes in [1, 32, 2048, 65_535] {
            let share = Output::of(vec![Sink::keeping()], nodes).share;
            assert!(
                (SHARE[0]..=SHARE[1]).contains(&share) && share * 2 * nodes as usize <= 2 * MEMORY + SHARE[1],
                "{nodes}"
            );
        }
    }

    #[test]
    fn one_cause_is_one_line_in_its_place() {
        let mut output = Output::of(vec![Sink::keeping()], 3);
        let name = |rank| format!("node {rank}/3");
        (0..3).for_each(|rank| output.add_fed(rank, 1, format!("[{rank}] "), false, Some(name(rank))));
        let now = Instant::now();
        for rank in [1, 0, 2] {
            output.feed(
                rank,
                format!("a{rank}\n*** Caught a signal: SIGTERM(15) on {}\nz{rank}\n", name(rank)).as_bytes(),
            );
            output.rounds(now);
        }
        let text = shown(&mut output, Instant::now());
        let expected = "[1] a1\n[0] a0\n[0] z0\n[2] a2\n[2] z2\n[1] *** Caught a signal: SIGTERM(15) on node 1/3 (and 2 other nodes)\n\
                        [1] z1\n";
        assert_eq!(text, expected);
    }

    // Nodes whose streams are folded.
    fn folding(nodes: i32) -> Output {
        let mut output = Output::of(vec![Sink::keeping()], nodes as u32);
        (0..nodes).for_each(|rank| {
            output.add_fed(rank, 1, String::new(), false, Some(format!("node {rank}/{nodes}")));
        });
        output
    }

    // A line of node `rank` that may become one of many.
    fn fatal(rank: i32, nodes: i32, what: impl std::fmt::Display) -> String {
        format!("*** FATAL ERROR: node {rank}/{nodes}: {what}\n")
    }

    #[test]
    fn the_work_grows_with_the_number_of_lines_alone() {
        // What is said by one node, by one node again and again, and by each node another thing.
        const LINES: usize = 1000;
        let floods: [fn(usize, i32) -> String; 3] = [
            |_, rank| fatal(rank, 64, "one cause"),
            |at, rank| fatal(rank, 64, at),
            |at, rank| fatal(rank, 64, format!("{at} of {rank}")),
        ];
        for flood in floods {
            let (mut output, now) = (folding(64), Instant::now());
            let (mut lines, mut bytes) = (0, 0);
            for rank in 0..64 {
                let text: String = (0..LINES / if rank < 2 { 1 } else { 50 }).map(|at| flood(at, rank)).collect();
                lines += text.lines().count();
                bytes += text.len();
                output.feed(rank, text.as_bytes());
            }
            (0..10).for_each(|_| output.rounds(now));
            let moved: usize = output.sources.iter().map(|source| source.moved).sum();
            assert!(output.folds.looks <= lines, "{} looks at {lines} lines", output.folds.looks);
            assert!(moved <= bytes, "{moved} bytes moved of {bytes}");
        }
    }

    #[test]
    fn lines_that_came_together_wait_together() {
        let (mut output, now) = (folding(3), Instant::now());
        let text: String = (0..100).map(|at| fatal(1, 3, at)).collect();
        output.feed(1, text.as_bytes());
        output.feed(2, fatal(2, 3, 1).as_bytes());
        assert_eq!(shown(&mut output, now), "");
        let due = output.next().expect("a line waits");
        let expected = text.replacen("1/3: 1\n", "1/3: 1 (and 1 other node)\n", 1);
        assert_eq!(shown(&mut output, due + Duration::from_secs(1)), expected);
    }
}
