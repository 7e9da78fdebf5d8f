//! The processes of a run: it has a mark, the value of an environment variable, which they inherit.

use std::fs;

/// Numbers of the live processes, but this one, whose `variable` is `mark`, or begins with `mark` and a dot: a run that a run has started.
pub fn processes(variable: &str, mark: &str) -> Vec<i32> {
    let wanted = format!("{variable}={mark}");
    let is_mark =
        |text: &[u8]| text.strip_prefix(wanted.as_bytes()).is_some_and(|rest| matches!(rest, [] | [b'.', ..]));
    let is_marked = |number: &i32| {
        // Unreadable if the process is just ending.
        let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        *number != std::process::id() as i32 && environment.split(|byte| *byte == 0).any(is_mark)
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_marked).collect()
}
