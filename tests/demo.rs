//! `ci/demo --tables`: what is shown is the median of all rounds, with what a bare line takes and how busy the machine was.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Rows of one round in which everything takes `factor` times as long, as `testam`, `testsmall` and `testlarge` print them.
fn round(factor: f64) -> [String; 3] {
    let mut messages = String::new();
    for (section, us) in "AGMCIOEKQ".chars().zip(1..) {
        for bytes in [0, 1024] {
            let us = f64::from(us) * factor * if bytes > 0 { 3.0 } else { 1.0 };
            let rate = f64::from(bytes) / us * 1e6;
            messages += &format!("testam,0,{section},c,p,{bytes},400,{us},{rate}\n");
            messages += &format!("testam,1,{section},c,p,{bytes},400,99999,99999\n"); // another node's row
        }
    }
    let small = ["put", "get", "put_nbi", "get_nbi"].map(|call| format!("testsmall,0,A,{call},k,8,4000,{factor},1\n"));
    let large = ["put_bulk", "get_bulk", "put_nbi_bulk", "get_nbi_bulk"]
        .map(|call| format!("testlarge,0,A,{call},k,1048576,5,1,{}\n", 1000.0 / factor));
    [messages, small.concat(), large.concat()]
}

fn tables(directory: &Path, others: u32) -> String {
    fs::create_dir_all(directory).unwrap();
    // One round in five met another program.
    let rounds = [1.0, 1.1, 50.0, 1.2, 0.9].map(round);
    for (at, name) in ["am", "small", "large"].into_iter().enumerate() {
        let text: String = rounds.iter().map(|round| round[at].clone() + "PASS\n").collect();
        for nodes in [2, 4] {
            fs::write(directory.join(format!("{name}.{nodes}")), &text).unwrap();
        }
    }
    fs::write(directory.join("machine"), format!("cores 2\nload 0.31\nothers {others}\n")).unwrap();
    fs::write(directory.join("line"), "0.2468\n").unwrap();
    fs::write(directory.join("rounds"), "5\n").unwrap();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/demo");
    let output = Command::new(demo).arg("--tables").arg(directory).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn words<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(start));
    line.unwrap_or_else(|| panic!("no line {start} in\n{text}")).split_whitespace().collect()
}

#[test]
fn tables_show_medians_beside_the_bare_line() {
    let text = tables(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo"), 4);
    assert!(text.contains("medians of 5 rounds"), "{text}");
    // The median factor is 1.1; the outlier of 50 would make the mean 11.
    assert_eq!(words(&text, "2 Short")[2..], ["0", "1.10", "4.400", "7.700"], "{text}");
    assert_eq!(words(&text, "4 Long")[2..], ["0", "3.30", "6.600", "9.900", "103", "52", "34"], "{text}");
    assert_eq!(words(&text, "2 line")[2..4], ["64", "0.25"], "{text}");
    assert_eq!(words(&text, "4 put")[2..], ["1100.00", "1100.00", "909", "909"], "{text}");
}

#[test]
fn tables_say_how_busy_the_machine_was() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let quiet = tables(&directory.join("demo-quiet"), 4);
    let line = "2 cores, load average 0.31 before; other programs took 4 % of the CPU time during the runs";
    assert!(quiet.contains(&format!("{line}\n")), "{quiet}");
    let busy = tables(&directory.join("demo-busy"), 40);
    assert!(busy.contains("took 40 % of the CPU time during the runs: on a quiet machine times are lower\n"), "{busy}");
}
