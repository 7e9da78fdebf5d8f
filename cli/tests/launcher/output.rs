//! The output of nodes, and where it goes.

use super::driver::{self, Start, at_once, every, expect, expect_in_one_of_three, launched, run};
use super::node;
use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn lines_stay_whole_and_ordered_under_heavy_output_from_eight_nodes() {
    const LINES: usize = 3000;
    for start in every(8, &format!("join fence lines:{LINES} exit:0")) {
        let outcome = run(start);
        assert_eq!(outcome.status, 0, "{}", outcome.err);
        node::check_lines(&outcome.out, 8, LINES);
    }
}

#[test]
fn lines_stay_whole_when_both_streams_go_to_one_file() {
    let outcome = run(launched(4, "join fence lines:2000 exit:0").with_streams_joined());
    assert_eq!(outcome.status, 0);
    node::check_lines(&outcome.out, 4, 2000);
}

#[test]
fn buffered_output_without_newline_appears_however_the_node_is_ended() {
    for script in ["join attach fence buffer:x exit:0", "join attach buffer:x fence @1:exit:0 @0,2,3:spin"] {
        for outcome in expect(4, script, 0) {
            assert_eq!(outcome.out.matches('x').count(), 4, "{script}: {outcome:?}");
        }
    }
}

#[test]
fn reader_that_goes_away_ends_the_job() {
    for start in every(3, "join attach fence lines:10000000 exit:0") {
        let outcome = run(start.with_reader_that_leaves());
        assert_ne!(outcome.status, 0);
    }
}

#[test]
fn slow_reader_loses_nothing() {
    for start in every(3, "join attach fence lines:60000 exit:0") {
        let outcome = run(start.with_reader_that_waits(Duration::from_millis(1500)));
        assert_eq!(outcome.status, 0, "{}", outcome.err);
        node::check_lines(&outcome.out, 3, 60000);
    }
}

#[test]
fn what_a_node_prints_when_another_has_left_is_waited_for() {
    // Longer than the second that nodes have after the first has left, but shorter than the exit timeout.
    for start in every(2, "join attach fence @0:exit:0 long:5 exit:0") {
        let text = format!("{start:?}");
        let outcome = run(start.with_reader_that_waits(Duration::from_millis(2500)));
        assert_eq!((outcome.status, outcome.out.len()), (0, 5 << 20), "{} {}", outcome.err, text);
    }
}

#[test]
fn a_reader_that_stands_still_costs_no_node_its_output() {
    // For longer than that second and the exit timeout together.
    for start in every(2, "join attach fence @0:exit:0 long:5 exit:0") {
        let start = start.with_env("GASNET_EXITTIMEOUT", "0.5").with_reader_that_waits(Duration::from_millis(2500));
        let text = format!("{start:?}");
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.out.len()), (0, 5 << 20), "{} {}", outcome.err, text);
    }
}

#[test]
fn process_that_holds_a_stream_does_not_hold_up_the_end() {
    let outcome = run(Start::launcher(&["-n", "2", "sh", "-c", "sleep 60 & echo done"]));
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "done\ndone\n"));
}

#[test]
fn tagged_lines_begin_with_the_node_in_one_node_jobs_too() {
    for nodes in [1, 3] {
        let mut start = launched(nodes, "join fence lines:500 exit:0");
        start.insert_option(&["--tag-output"]);
        let outcome = run(start);
        assert_eq!(outcome.status, 0, "{}", outcome.err);
        let mut untagged = String::new();
        for line in outcome.out.lines() {
            let (tag, rest) = line.split_once("] ").unwrap_or_else(|| panic!("no tag: {line:?}"));
            assert_eq!(tag.strip_prefix('['), rest.split(' ').next(), "{line:?}");
            untagged += &format!("{rest}\n");
        }
        node::check_lines(&untagged, nodes as usize, 500);
        assert!(!outcome.err.is_empty() && outcome.err.lines().all(|line| line.starts_with('[')), "{}", outcome.err);
    }
}

#[test]
fn tagged_last_lines_without_newline_are_lines_of_their_own() {
    let mut start = launched(3, "join attach fence buffer:x exit:0");
    start.insert_option(&["--tag-output"]);
    let outcome = run(start);
    let mut lines: Vec<&str> = outcome.out.lines().collect();
    lines.sort_unstable();
    assert_eq!((outcome.status, lines), (0, vec!["[0] x", "[1] x", "[2] x"]), "{outcome:?}");
}

#[test]
fn every_node_may_have_files_of_its_own() {
    let directory = driver::scratch("output-dir").join("made/here");
    for _ in 0..2 {
        // The second job starts with empty files.
        let mut start = launched(3, "join fence lines:1000 exit:0");
        start.insert_option(&["--output-dir", directory.to_str().unwrap()]);
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.out.as_str(), outcome.err.as_str()), (0, "", ""));
        let read = |stream: &str| -> String {
            (0..3).map(|rank| fs::read_to_string(directory.join(format!("node-{rank}.{stream}"))).unwrap()).collect()
        };
        node::check_lines(&read("out"), 3, 1000);
        assert_eq!(read("err").lines().count(), 300);
        assert!(fs::read_to_string(directory.join("node-1.err")).unwrap().lines().all(|line| line.starts_with("1 ")));
    }
}

#[test]
fn one_file_per_node_holds_both_streams() {
    let directory = driver::scratch("output-file");
    let name = directory.join("log.%n.txt");
    let mut start = launched(2, "join fence lines:100 exit:0");
    start.insert_option(&["--output", name.to_str().unwrap()]);
    let outcome = run(start);
    assert_eq!((outcome.status, outcome.out.as_str(), outcome.err.as_str()), (0, "", ""));
    for rank in 0..2 {
        let text = fs::read_to_string(directory.join(format!("log.{rank}.txt"))).unwrap();
        assert_eq!(text.lines().count(), 100);
        assert!(text.lines().all(|line| line.starts_with(&format!("{rank} "))), "{text}");
    }
    let mut start = launched(1, "join lines:100 exit:0");
    start.insert_option(&["--output", directory.join("alone").to_str().unwrap()]);
    assert_eq!(run(start).status, 0);
    assert_eq!(fs::read_to_string(directory.join("alone")).unwrap().lines().count(), 100);
}

#[test]
fn file_that_cannot_be_written_is_told_before_anything_runs() {
    let directory = driver::scratch("output-bad");
    let file = driver::write_script(&directory.join("file"), "", 0o644);
    let ran = directory.join("ran");
    let touch = format!("touch {}", ran.display());
    for option in [["--output-dir", &file[..]], ["--output", &format!("{file}/x%n")]] {
        let mut start = Start::launcher(&["-n", "2", "sh", "-c", &touch]);
        start.insert_option(&option);
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.err.lines().count()), (1, 1), "{outcome:?}");
        assert!(outcome.err.contains(&file) && outcome.err.contains("output of node 0"), "{outcome:?}");
        assert!(!ran.exists());
    }
}

/// Runs a job, reads its output as it comes, and notes when each of `texts` appeared.
fn watch(start: Start, texts: &[&str]) -> (driver::Outcome, Vec<Option<Duration>>) {
    let begin = Instant::now();
    let mut seen = vec![None; texts.len()];
    let outcome = driver::run_watched(start, |out| {
        let out = String::from_utf8_lossy(out);
        for (moment, text) in seen.iter_mut().zip(texts) {
            if moment.is_none() && out.contains(text) {
                *moment = Some(begin.elapsed());
            }
        }
    });
    (outcome, seen)
}

#[test]
fn prompt_of_node_zero_appears_while_it_waits() {
    at_once(every(3, "join fence @0:buffer:name? @0:flush sleep_ms:4000 @0:buffer:done exit:0"), |start| {
        let (outcome, seen) = watch(start, &["name?", "done"]);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        let (prompt, end) = (seen[0].expect("the prompt appears"), seen[1].expect("and the rest"));
        assert!(end - prompt > Duration::from_millis(1000), "the prompt came with the end: {prompt:?} {end:?}");
        assert!(outcome.out.starts_with("name?done"), "{outcome:?}");
    });
}

#[test]
fn lines_of_others_are_not_torn_by_a_prompt_nor_kept_for_ever() {
    // Node 1 writes while node 0's line is open. At first it waits, for a second, then it gets a line of its own.
    let script =
        "join fence @0:buffer:name? @0:flush @1:sleep_ms:2000 @1:lines:100 @0:sleep_ms:6000 fence @0:buffer:end exit:0";
    at_once(every(2, script), |start| {
        let (outcome, seen) = watch(start, &["name?", "1 98 ", "end"]);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        let lines: Vec<&str> = outcome.out.lines().collect();
        assert_eq!((lines[0], lines[lines.len() - 1]), ("name?", "end"), "{outcome:?}");
        assert_eq!(lines.len(), 92, "90 of its 100 lines go to stdout: {outcome:?}");
        let (others, end) = (seen[1].expect("node 1's lines"), seen[2].expect("node 0's end"));
        assert!(end - others > Duration::from_millis(500), "node 1 waited for node 0: {others:?} {end:?}");
    });
}

#[test]
fn line_that_is_ended_in_time_stays_whole() {
    // Node 1 writes when the launcher has taken node 0's text for a prompt, and it has written when node 0 ends its line.
    // The line is ended for node 0 if that takes it more than a second.
    let script = "join fence @0:buffer:name? @0:flush @1:sleep_ms:2000 @1:lines:10 fence @0:sleep_ms:100 @0:buffer:end \
                  exit:0";
    at_once(every(2, script), |start| {
        expect_in_one_of_three(&start, |outcome| {
            assert!(outcome.out.starts_with("name?"), "{outcome:?}");
            outcome.out.starts_with("name?end")
        });
    });
}

#[test]
fn unfinished_lines_of_several_ended_nodes_behind_a_prompt_all_appear() {
    // Node 0's line is open when the others end with unfinished lines. Only node 0 may continue its line. If it takes more
    // than a second to end, that line is ended for it.
    let script = "join fence @0:buffer:name? @0:flush @0:sleep_ms:2400 @1,2,3:sleep_ms:2000 @1:buffer:one @2:buffer:two \
                  @3:buffer:three exit:0";
    at_once(every(4, script), |start| {
        let outcome = run(start);
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
        let parts = ["name?", "one", "two", "three"];
        assert!(outcome.out.starts_with("name?"), "{outcome:?}");
        assert!(parts.iter().all(|part| outcome.out.matches(part).count() == 1), "{outcome:?}");
        let text = outcome.out.trim();
        assert_eq!(text.replacen("name?\n", "name?", 1).len(), parts.concat().len(), "{outcome:?}");
    });
}

#[test]
fn streams_that_are_closed_when_the_job_starts_take_nothing_else() {
    // The nodes' output must not go into a pipe of the launcher that got the number of a closed stream.
    for closed in [">&-", "<&- >&-", "<&-"] {
        let shell = ["sh", "-c", &format!("exec \"$@\" {closed}"), "sh"];
        for start in every(3, "join attach fence buffer:x flush fence exit:5") {
            let outcome = run(start.under(&shell));
            assert_eq!((outcome.status, outcome.err.as_str()), (5, ""), "{closed}: {outcome:?}");
        }
    }
}

#[test]
fn output_that_cannot_be_written_is_no_success() {
    for (code, status) in [(0, 1), (3, 3)] {
        // Only one node writes, because one that writes after the failure gets SIGPIPE.
        for start in every(2, &format!("join attach fence @0:buffer:x @0:flush fence exit:{code}")) {
            let outcome = run(start.under(&["sh", "-c", "exec \"$@\" >/dev/full", "sh"]));
            assert_eq!(outcome.status, status, "{outcome:?}");
            assert!(outcome.err.contains("writing stdout failed: No space left on device"), "{outcome:?}");
        }
    }
}

#[test]
fn megabytes_without_a_newline_from_every_node_end() {
    for start in every(3, "join fence long:20 exit:0") {
        let outcome = run(start);
        assert_eq!(outcome.status, 0, "{}", outcome.err);
        assert_eq!(outcome.out.matches('y').count(), 60 << 20);
    }
}

#[test]
fn lines_of_any_length_stay_unbroken_whoever_else_writes() {
    for start in every(3, "join fence long_lines:4 exit:0") {
        let outcome = run(start);
        assert_eq!(outcome.status, 0, "{}", outcome.err);
        let mut count = [0; 3];
        for line in outcome.out.lines() {
            let rank = usize::from(line.as_bytes()[0] - b'0');
            let is_whole = line.len() == node::LONG && line.bytes().all(|byte| usize::from(byte - b'0') == rank);
            assert!(is_whole, "{} bytes of node {rank}", line.len());
            count[rank] += 1;
        }
        assert_eq!(count, [4; 3]);
    }
}

#[test]
fn a_line_that_is_not_ended_keeps_no_node_for_ever() {
    // Node 0 has more of its line out than the launcher keeps back before the others write, and ends it only when they have written more than the launcher keeps back. So a newline
    // is put into that line. A node that gets no core for a second gets one into its line, too. When exactly is tested with a clock of its
    // own in `supervise::output`. Whatever the machine does: no byte is lost, and each of these newlines tears one line.
    const LINES: usize = 54_000; // of 60,000; each tenth goes to stderr
    for start in every(3, "join @0:long:6 fence @0:long:1 @1,2:lines:60000 fence @0:buffer:end exit:0") {
        let text = format!("{start:?}");
        let outcome = run(start);
        assert_eq!(outcome.status, 0, "{}", outcome.err);
        let is_of_node_0 = |line: &&str| line.ends_with('y') || line.ends_with("end");
        // What a node leaves unfinished at its end gets no newline, so that a line of another may follow it at once.
        let out = outcome.out.replacen("end", "end\n", 1);
        let (pieces, others): (Vec<&str>, Vec<&str>) =
            out.lines().filter(|line| !line.is_empty()).partition(is_of_node_0);
        assert!(pieces.len() > 1, "node 0's line was ended for the others: {text}");
        assert!(pieces.concat() == format!("{}end", "y".repeat(7 << 20)), "node 0's bytes, in {} pieces", pieces.len());
        let written = |rank: u32| (0..60_000).filter(|n| n % 10 != 9).map(move |n| node::line(rank, n));
        let expected: HashSet<String> = written(1).chain(written(2)).collect();
        let whole: HashSet<&str> = others.iter().copied().filter(|line| expected.contains(*line)).collect();
        let put_in = others.len().checked_sub(2 * LINES).expect("no line is missing");
        assert!(whole.len() + put_in >= 2 * LINES, "{} whole lines, {put_in} newlines put in", whole.len());
        let bytes = |lines: &mut dyn Iterator<Item = usize>| lines.sum::<usize>();
        assert_eq!(
            bytes(&mut others.iter().map(|line| line.len())),
            bytes(&mut expected.iter().map(String::len)),
            "bytes without newlines"
        );
    }
}

#[test]
fn reader_of_both_streams_that_leaves_does_not_keep_the_job() {
    // The launcher finds out by node 0's second line. What it then reports of the crash has nowhere to go.
    let script = "join ignore:PIPE attach fence @0:lines:1 sleep_ms:300 @0:lines:1 sleep_ms:300 raise:ABRT";
    for start in every(2, script) {
        let start = start.with_streams_joined().with_reader_that_leaves();
        let outcome = run(start);
        assert_eq!(outcome.status, 128 + libc::SIGABRT, "{outcome:?}");
    }
}
