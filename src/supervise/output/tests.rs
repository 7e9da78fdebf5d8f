//! What of the streams goes out, in which order, and who waits for whom.

use super::*;
use std::io::Read;

const OUT: usize = 0;

// Nodes of one sink, each with one stream, whose number is the rank.
fn nodes(count: u32) -> Output {
    let mut output = Output::of(vec![Sink::keeping()], count);
    (0..count as i32).for_each(|rank| output.add_fed(rank, OUT, String::new(), false, Some("node".into())));
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
fn a_node_that_prints_in_bulk_or_waits_for_its_turn_is_awaited() {
    let (mut output, now) = (nodes(2), Instant::now());
    output.feed(0, b"a line\n");
    assert!(!output.is_awaited(), "whoever prints a line is not in the middle of much");
    output.feed(0, &[b'x'; BULK]);
    assert!(output.is_awaited());
    assert!(!output.is_awaited(), "it has not brought more since");
    let part = "x".repeat(output.share);
    output.feed(0, part.as_bytes());
    output.feed(1, part.as_bytes());
    shown(&mut output, now);
    for _ in 0..3 {
        assert!(output.is_awaited(), "node 1 has no room until node 0's line has ended");
    }
}

#[test]
fn a_task_that_prints_in_bulk_is_not_awaited() {
    let mut output = nodes(1);
    output.add_fed(1, OUT, String::new(), false, None);
    output.feed(1, &[b'x'; BULK]);
    assert!(!output.is_awaited());
}

#[test]
fn streams_of_tasks_take_no_more_memory_than_those_of_nodes() {
    let (mut output, count) = (nodes(1), 4096);
    assert_eq!(output.share, SHARE[1]);
    (1..=count).for_each(|task| output.add_fed(task, OUT, String::new(), false, None));
    assert!(output.share * (count as usize + 1) <= MEMORY, "{}", output.share);
    (1..=count).for_each(|task| output.feed(task, b""));
    output.settle();
    assert_eq!(output.share, SHARE[1], "they have ended");
}

#[test]
fn a_reader_that_takes_nothing_stands_still_and_one_that_takes_a_little_does_not() {
    let (mut reader, writer) = io::pipe().unwrap();
    let mut output = nodes(1);
    output.sinks = vec![Sink::to_pipe(writer)];
    assert!(!output.watch_reader(), "nobody waits");
    let part = "x".repeat(output.share);
    for _ in 0..4 {
        output.feed(0, part.as_bytes());
        output.settle();
    }
    assert!(output.watch_reader(), "what the pipe had room for was before this");
    output.settle();
    let second = Duration::from_secs(1);
    assert_eq!(output.stood_still(second), second);
    reader.read_exact(&mut [0; 8192]).unwrap();
    output.settle();
    assert_eq!(output.stood_still(second), second - PAUSE, "it stood still until then");
    assert_eq!(output.stood_still(PAUSE / 2), Duration::ZERO, "it is slow");
    assert!(output.watch_reader());
    output.settle();
    assert_eq!(output.stood_still(PAUSE), PAUSE, "it has taken no more since");
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
        output.feed(rank, format!("a{rank}\n*** Caught a signal: SIGTERM(15) on {}\nz{rank}\n", name(rank)).as_bytes());
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
