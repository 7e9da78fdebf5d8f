//! Processes that are waited for, with the time of the processors that they and their children took.

use crate::leftovers::go_on;
use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Instant;

pub struct Ended {
    /// The status as a shell has it.
    pub status: i32,
    pub seconds: f64,
    pub processors: f64,
}

impl Ended {
    pub fn times(&self) -> String {
        format!("{:.2} {:.2}", self.seconds, self.processors)
    }
}

pub fn run(command: &mut Command) -> Result<Ended> {
    go_on();
    let begin = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let pid = Pid::from_child(&child);
    // Does not reap the process: the kernel has its times until then.
    while waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        .is_err_and(|error| error == Errno::INTR)
    {}
    let (seconds, processors) = (begin.elapsed().as_secs_f64(), processors(pid));
    let status = child.wait()?;
    go_on();
    Ok(Ended { status: status.code().unwrap_or(128 + status.signal().unwrap_or_default()), seconds, processors })
}

/// User and system time of a process, and of its children that it waited for.
fn processors(pid: Pid) -> f64 {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = after_name.split_whitespace().skip(11).take(4).flat_map(str::parse::<u64>).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Runs a command without input, and returns what it prints on either stream. Files hold that, not pipes: a process that is left behind
/// keeps nobody waiting.
pub fn logged(command: &mut Command) -> Result<(Ended, String)> {
    let mut out = tempfile::tempfile()?;
    let ended = run(command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out.try_clone()?))?;
    Ok((ended, text_of(&mut out)?))
}

/// The same with a text for each stream.
pub fn separate(command: &mut Command) -> Result<(Ended, String, String)> {
    let (mut out, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let ended = run(command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(errors.try_clone()?))?;
    Ok((ended, text_of(&mut out)?, text_of(&mut errors)?))
}

fn text_of(file: &mut fs::File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last `count` lines, each cut at `width` characters, behind `before`.
pub fn last_lines(text: &str, count: usize, width: usize, before: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| indented(line, width, before)).collect()
}

pub fn indented(line: &str, width: usize, before: &str) -> String {
    format!("{before}{}\n", line.chars().take(width).collect::<String>())
}
